#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Conditions of `where` and of best --where: what can never hold is refused, a division by 0 is a reason of its own, and axes, parameters
# as resolved, figures and words of each have their names.
. "$SRC/tests/support/cli.sh"
# spec CONDITION
spec() { printf '%s\n' 'run: flash_attention' 'with: {seq: 128, heads: 1}' 'axes: {tile_q: [16, 32, 64], buffering: [single, double]}' "where: $1" >s.yaml; }
spec '20 < tile_q < 70'
refuses 2 's.yaml:4:20: where: two comparisons in a row: a < b && b < c would be right, or parentheses' sweep run s.yaml
spec 'buffering < 3'
refuses 2 's.yaml:4:8: where: buffering is a word, neither less nor more than 3; == or != would be right' sweep run s.yaml
spec 'tile_q > 16 && buffering == 2'
refuses 2 's.yaml:4:23: where: buffering is a word and 2 a number: they are never equal' sweep run s.yaml
spec 'tile_q == "64" && 64 % (tile_q - 32) == 0'
"$NPUSIM" sweep run s.yaml -q -o s.d >out 2>err || fail "$(cat err)"
grep -q '^2 run, 4 not legal (4: where)' out || fail "tile_q == \"64\": $(cat out)"
spec '64 % (tile_q - 32) == 0'
"$NPUSIM" sweep run s.yaml -q -o divides >out 2>err || fail "$(cat err)"
grep -q '^4 run, 2 not legal (2: where divides by 0)' out || fail "a division by 0: $(cat out)"
checks=$((checks + 2))

# The same after a sweep, about more.
printf '%s\n' 'run: flash_attention' 'with: {seq: 128, heads: 1, tile: auto}' 'axes: {hw: [edge-1mb, edge-2mb], buffering: [single, double]}' >b.yaml
"$NPUSIM" sweep run b.yaml -q -o b >/dev/null || fail 'b'
all=$("$NPUSIM" sweep merge b --json -)
# holds CONDITION JQ: the points that are left are those of the filter.
holds() {
    "$NPUSIM" sweep best b --top 9 --where "$1" >out 2>err || fail "$1: $(cat err)"
    sed '1d;/^$/,$d' out | awk '{print $1}' | sort -n >got
    jq -r "[.[] | select($2).point] | sort | .[]" <<<"$all" | diff - got >/dev/null || fail "$1 leaves $(xargs <got)"
    [ -s got ] || fail "$1 leaves nothing, which shows nothing"
    checks=$((checks + 1))
}
holds 'hw == edge-2mb' '.hw == "edge-2mb"'
holds 'buffering == single && tile_q >= 1' '.buffering == "single"'
holds 'seq == 128 && heads < 2' true
bound=$(jq -r '.[0].bound' <<<"$all")
holds "bound == $bound" ".bound == \"$bound\""
holds 'axis.hw != edge-1mb || figure.cycles < 1' '.hw != "edge-1mb"'
refuses 2 '--where: unknown name bounds; did you mean bound?' sweep best b --where "bounds == $bound"
refuses 2 '--where: unknown name dramm; axes, parameters, hardware keys and figures are known' sweep best b --where 'bound == dramm'
refuses 2 "--where 'bound < 3', character 1: bound is a word, neither less nor more than 3; == or != would be right" sweep best b --where 'bound < 3'
refuses 2 "--where '1 < cycles < 3', character 12: two comparisons in a row: a < b && b < c would be right, or parentheses" sweep best b --where '1 < cycles < 3'

# What a part of an axis gives.
printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64}' 'axes: {dram.part: [LPDDR4X-4266, LPDDR5-6400]}' >d.yaml
"$NPUSIM" sweep run d.yaml -q -o d >/dev/null || fail 'd'
for part in LPDDR4X-4266 LPDDR5-6400; do
    clock=$("$NPUSIM" run gemm m=64 n=64 k=64 dram.part=$part --report - | jq .hw.dram.tck_num)
    "$NPUSIM" sweep best d --top 9 --where "dram.tck_num == $clock" >out 2>err || fail "$part: $(cat err)"
    is "the part with tck_num $clock" "$(sed '1d;/^$/,$d' out | awk '{print $2}')" $part
done

# An axis that is called like a figure.
printf '%s\n' '.param cycles=1' '.tensor A[64, 64] fp16 in' '.sram a[64, 64] fp16' '  load a, A[:, :]' >c.npu
printf '%s\n' 'run: c.npu' 'axes: {cycles: [1, 2]}' >c.yaml
"$NPUSIM" sweep run c.yaml -q -o c >/dev/null || fail 'c'
refuses 2 '--where: cycles is an axis and a figure; axis.cycles or figure.cycles would be right' sweep best c --where 'cycles < 2'
"$NPUSIM" sweep best c --where 'axis.cycles == 2 && figure.cycles > 2' | tail -n 1 | grep -q 'cycles=2$' || fail 'axis.cycles'

# Points that are missing are said to be.
sed -n '/^{/{p;q}' b/points-*.jsonl >x && rm b/points-* && mv x b/points-1-1-0.1.jsonl
"$NPUSIM" sweep best b >out 2>err || fail 'a folder with one point'
grep -qx 'npusim: warning: 3 of 4 points are missing in b: the best may be among them' err || fail "$(cat err)"
checks=$((checks + 2))
[ $failures = 0 ] && echo "$checks checks of conditions"
[ $failures = 0 ]
