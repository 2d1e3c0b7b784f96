#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tile=auto: never slower than the kernel's own tiles, what is named stays, the same choice every time, programs that check finds
# clean.
. "$SRC/tests/support/cli.sh" || exit 1
. "$SRC/tests/support/json.sh" || exit 1

# cycles ARGUMENT...
cycles() { "$NPUSIM" run "$@" --report - | json_value cycles; }

while read -r kernel; do
    # shellcheck disable=SC2086
    own=$(cycles $kernel) chosen=$(cycles $kernel tile=auto)
    checks=$((checks + 1))
    [ "$chosen" -le "$own" ] || fail "$kernel: $chosen cycles, $own without tile=auto"
    # shellcheck disable=SC2086
    "$NPUSIM" check $kernel tile=auto >/dev/null || fail "check $kernel tile=auto"
done <<'END'
gemm m=384 n=1024 k=1024 --hw edge-2mb
gemm m=128 n=256 k=512 dtype=int8 --hw tiny-256k
conv2d height=28 width=28 channels=64 filters=128
flash_attention seq=512 heads=2
gemm m=100 n=2048 k=8192 weights=int8 --hw edge-2mb
gemm m=64 n=64 k=64 --hw tiny-256k
gemm m=16 n=2048 k=2048 weights=int4 --hw edge-2mb
gemv m=4 n=2048 k=2048 weights=int4 --hw server
attention seq=256 heads=2 mask=causal
rmsnorm rows=300 cols=1000
embedding rows=300 cols=1000 --hw tiny-256k
END
# 384 rows of A and 1,024 columns of B pass 8 and 3 times in tiles of 128; larger tiles are worth a quarter at least.
own=$(cycles gemm m=384 n=1024 k=1024 tile_m=128 tile_n=128 tile_k=128 --hw edge-2mb)
chosen=$(cycles gemm m=384 n=1024 k=1024 tile=auto --hw edge-2mb)
checks=$((checks + 1))
[ $((chosen * 4)) -le $((own * 3)) ] || fail "$chosen cycles, $own with tiles of 128"

# No more than 2 % above the best tiles of all powers of two and all orders: what is loaded once must not be charged to the few
# tiles that a short run has.
while IFS='|' read -r kernel tiles; do
    # shellcheck disable=SC2086
    best=$(cycles $kernel $tiles) chosen=$(cycles $kernel tile=auto)
    checks=$((checks + 1))
    [ $((chosen * 50)) -le $((best * 51)) ] || fail "$kernel: $chosen cycles, $best with $tiles"
done <<'END'
gemm m=512 n=1152 k=896 weights=int8 group=channel|order=activation tile_m=256 tile_n=128 tile_k=512
gemm m=512 n=2048 k=2048 weights=int4|order=weight tile_m=128 tile_n=256 tile_k=512
gemm m=1024 n=512 k=512 weights=int8 group=128|order=weight tile_m=128 tile_n=256 tile_k=128
gemm m=256 n=4096 k=1024 --hw server|order=activation tile_m=256 tile_n=128 tile_k=512
conv2d height=28 width=28 channels=64 filters=128|tile_m=512 tile_n=128 tile_k=64
attention seq=512 heads=2|tile_q=512 tile_kv=64 tile_rows=32
END
checks=$((checks + 1))
"$NPUSIM" run attention --hw server tile=auto >/dev/null || fail 'no tiles of attention on server'

named=$("$NPUSIM" run gemm m=256 n=256 k=256 tile=auto tile_m=64 --report -)
checks=$((checks + 2))
[ "$(json_value params.tile_m <<<"$named")" = 64 ] || fail 'a tile that was named changed'
[ "$named" = "$("$NPUSIM" run gemm m=256 n=256 k=256 tile=auto tile_m=64 --report -)" ] || fail 'two searches differ'
checks=$((checks + 1))
said=$("$NPUSIM" run gemm tile=fast 2>&1)
[ "$said" = 'npusim: gemm has no parameter tile' ] || fail "tile=fast: $said"

# With 16 rows all tile_m are the same tile: what is simulated differs in the others.
chosen=$(cycles gemm m=16 n=2048 k=2048 weights=int4 tile=auto --hw edge-2mb)
own=$(cycles gemm m=16 n=2048 k=2048 weights=int4 tile_n=128 tile_k=128 --hw edge-2mb)
checks=$((checks + 1))
[ $((chosen * 2)) -le "$own" ] || fail "$chosen cycles, $own with tiles of 128"

# Too long to be run as a whole: the last comparison is drawn out from shorter runs.
own=$(cycles gemm m=2560 n=2048 k=512 dtype=int8 --hw edge-2mb)
chosen=$(cycles gemm m=2560 n=2048 k=512 dtype=int8 tile=auto --hw edge-2mb)
checks=$((checks + 1))
[ "$chosen" -le "$own" ] || fail "$chosen cycles, $own without tile=auto"

# A long product is searched in short runs: as a whole, 4e12 MACs in each of seven runs would take more than 3,000 times as long as 1e9 of them
# do, in whatever build; with its own writing it takes some 30 times as long.
# processor ARGUMENT...: hundredths of a second of this process and its children.
processor() {
    local TIMEFORMAT='%U %S'
    { time timeout 900 "$NPUSIM" "$@" >/dev/null; } 2>times || fail "npusim $*: $(cat times)"
    tail -n 1 times | awk '{print int(100 * ($1 + $2)) + 1}'
}
unit=$(processor run gemm m=1024 n=1024 k=1024 --hw edge-2mb)
for long in 'gemm m=4096 n=32768 k=32768 --hw edge-2mb' 'conv2d batch=256'; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    [ "$(processor emit $long tile=auto)" -le $((300 * unit)) ] || fail "the search of $long takes long"
done

[ $failures = 0 ] && echo "$checks checks of tile=auto"
[ $failures = 0 ]
