#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim tune: what it refuses, that it keeps what is named, the same answer for any number of processes, and one grid in full.
. "$SRC/tests/support/cli.sh"
. "$SRC/tests/support/exhaustive.sh"

refuse() {
    local want=$1 text=$2 status=0
    shift 2
    checks=$((checks + 1))
    "$NPUSIM" tune "$@" >out 2>err </dev/null || status=$?
    [ "$status" = "$want" ] && [ "$(head -n 1 err)" = "npusim: $text" ] || fail "tune $*: $status, $(cat err)"
}
refuse 2 'unknown kernel "gem"; did you mean gemm?' gem
refuse 2 'gemm has no parameter tile_q, did you mean tile_m?' gemm tile_q=3
refuse 2 'flash_attention: tiles and buffering are all named; nothing is left to tune' flash_attention tile_q=64 tile_kv=64 buffering=double
refuse 2 '--simulations 0: 1 to 40 would be right' gemm -n 0

"$NPUSIM" tune gemm m=64 n=128 k=128 buffering=double tile_k=32 -n 5 -j 1 >one || fail 'tune'
"$NPUSIM" tune gemm m=64 n=128 k=128 buffering=double tile_k=32 -n 5 -j 3 >three || fail 'tune'
cmp one three || fail 'three processes tune otherwise'
tail -n 1 one | grep -Eq '^npusim run gemm m=64 n=128 k=128 buffering=double tile_k=32 tile_m=[0-9]+ tile_n=[0-9]+( order=[a-z]+)?$' || fail "$(tail -n 1 one)"
checks=$((checks + 2))
exhaust edge-1mb flash_attention 'seq=256 heads=1' tile_q tile_kv
[ $failures = 0 ] && echo "$checks checks of tune"
[ $failures = 0 ]
