#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Both fold disciplines through npusim array: serial is SCALE-Sim's published count, overlapped what arrays with a second
# weight register reach.
set -euo pipefail
unset NPUSIM_PRESETS
: "${NPUSIM:=build/release/npusim}"
status=0

# expect CYCLES M K N KEY=VALUE...: cycles of the product on edge-1mb with these keys.
expect() {
    local want=$1 got
    shift
    got=$("$NPUSIM" array "$@" --report - | sed -n 's/^ *"cycles": \([0-9]*\).*/\1/p')
    [ "$got" = "$want" ] || { echo "array $*: $got, not $want" >&2; status=1; }
}

up() { echo $((($1 + $2 - 1) / $2)); }

# SCALE-Sim (analytical model, arXiv:1811.02883): cycles a fold on R x C, and folds
#   ws  M + 2R + C - 2   ceil(K / R) ceil(N / C)
#   is  N + 2R + C - 2   ceil(K / R) ceil(M / C)
#   os  K + 2R + C - 2   ceil(M / R) ceil(N / C)
for shape in '1 1 1' '2 2 2' '512 512 512' '7 130 33' '64 3 200' '100 32 32' '1 4096 64' '333 65 17'; do
    read -r m k n <<<"$shape"
    for array in '2 2' '8 8' '32 32' '16 64' '64 16'; do
        read -r r c <<<"$array"
        latency=$((2 * r + c - 2))
        keys="matrix.rows=$r matrix.cols=$c matrix.weight_load=serial"
        # shellcheck disable=SC2086 # the keys are words
        {
            expect $(((m + latency) * $(up "$k" "$r") * $(up "$n" "$c"))) "$m" "$k" "$n" $keys matrix.dataflow=ws
            expect $(((n + latency) * $(up "$k" "$r") * $(up "$m" "$c"))) "$m" "$k" "$n" $keys matrix.dataflow=is
            expect $(((k + latency) * $(up "$m" "$r") * $(up "$n" "$c"))) "$m" "$k" "$n" $keys matrix.dataflow=os
        }
    done
done

# 512 x 512 x 512 on 32 x 32: 256 folds of 512 + 64 + 32 - 2 = 606.
expect 155136 512 512 512 matrix.weight_load=serial
# Overlapped: 256 x 512 = 131,072 and one fill: load 32, latency 62.
expect $((131072 + 32 + 62)) 512 512 512
[ $status -ne 0 ] || echo 'as the laws say'
exit $status
