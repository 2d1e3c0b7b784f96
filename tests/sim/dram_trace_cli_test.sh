#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim run --dram-trace: what npusim dram replays moves the same bytes in the same time.
. "$SRC/tests/support/cli.sh"

figure() { sed -n "s/^ *\"$2\": \([0-9.]*\),*\$/\1/p" "$1" | head -n 1; }

# replay NAME ARGUMENT...: a run's trace, alone.
replay() {
    local name=$1 cycles bytes clocks want moved
    shift
    "$NPUSIM" run "$@" --dram-trace "$name.trace" --report "$name.json" -q || fail "$name: run"
    "$NPUSIM" dram "$name.trace" --hw edge-1mb --report "$name.dram.json" >/dev/null 2>err || fail "$name: $(cat err)"
    cycles=$(figure "$name.json" cycles) bytes=$(figure "$name.json" bus_bytes) clocks=$(figure "$name.dram.json" clocks)
    # Whole lines of 64 bytes: as many as the buses moved; block tables, which are read by 32, take a little more
    moved=$(figure "$name.dram.json" bytes)
    checks=$((checks + 2))
    [ "$moved" = "$bytes" ] || { [ "$name" = pages ] && [ "$moved" -gt "$bytes" ] && [ "$moved" -lt $((bytes * 101 / 100)) ]; } ||
        fail "$name: $moved bytes, not $bytes"
    # LPDDR4X-4266: 2.133 clocks a cycle of 1 GHz, more where more is moved. The run ends after DRAM; it is at most 1 % longer than
    # the trace
    want=$(awk -v c="$cycles" -v m="$moved" -v b="$bytes" 'BEGIN { printf "%d", c * 2.1333 * m / b }')
    [ "$clocks" -le "$want" ] && [ "$clocks" -ge $((want * 98 / 100)) ] || fail "$name: $clocks clocks, not about $want"
}

replay gemm gemm m=256 n=256 k=256
replay flash flash_attention seq=256 heads=2
replay pages kv_fetch_paged seq=256 page=16
# In order of time, one line a request of 64 bytes, with what it is above
checks=$((checks + 3))
[ "$(head -n 1 gemm.trace)" = '# gemm on edge-1mb: address, direction, clock of LPDDR4X-4266; 64 bytes a line' ] || fail "$(head -n 1 gemm.trace)"
sed 1d gemm.trace | sort -c -n -s -k3,3 || fail 'not in order of time'
[ "$(sed 1d gemm.trace | grep -vcE '^0x[0-9a-f]+ [RW] [0-9]+$')" = 0 ] || fail 'a line is no request'
# Of 34 bytes that begin at 62: two lines; twice the same
cat >odd.npu <<'END'
.tensor A[4, 64] int8 in
.sram a[1, 34] int8
load a, A[0:1, 30:64]
END
"$NPUSIM" run odd.npu --dram-trace - | sed 1d >a
"$NPUSIM" run odd.npu --dram-trace - | sed 1d >b
checks=$((checks + 2))
cmp a b || fail 'two traces of a run differ'
[ "$(cut -d ' ' -f 1,2 a)" = "0x0 R" ] || fail "34 bytes from 30 on: $(cat a)"
# Instructions fetched from DRAM are requests, too
checks=$((checks + 1))
n=$("$NPUSIM" run odd.npu sequencer.fetch=dram --dram-trace - | sed 1d | wc -l)
[ "$n" = 2 ] || fail "with fetch: $n lines"
# The report does not change
checks=$((checks + 1))
"$NPUSIM" run gemm m=256 n=256 k=256 --report plain.json -q
cmp plain.json gemm.json || fail 'a trace changes the report'
checks=$((checks + 1))
"$NPUSIM" run odd.npu --dram-trace no/such/folder -q 2>err && fail 'no such folder'
grep -q '^npusim: no/such/folder: ' err || fail "no such folder: $(cat err)"

# Sixteen channels of HBM2 read 4 MiB one after the other at 95 % or more of sixteen times what one reads: none of them starves
for i in {0..65535}; do echo "$((i * 64)) R"; done >stream.trace
for channels in 1 16; do
    "$NPUSIM" dram stream.trace --hw server dram.channels=$channels --report "$channels.json" >/dev/null || fail "$channels channels"
done
checks=$((checks + 1))
one=$(figure 1.json clocks) all=$(figure 16.json clocks)
[ $((all * 16 * 95)) -le $((one * 100)) ] || fail "16 channels take $all clocks, one $one"

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
