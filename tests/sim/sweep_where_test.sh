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
refuses 2 "--where 'bound == dramm', character 10: bound is never dramm; did you mean dram?" sweep best b --where 'bound == dramm'
refuses 2 '--where: unknown name dramm; axes, parameters, hardware keys and figures are known' sweep best b --where 'dramm == 3'
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

# The same for keys of the machine that follow from such a part, in a specification, too, and for machines of a zip, wherever hw stands.
channels=$("$NPUSIM" run gemm m=64 n=64 k=64 dram.part=LPDDR5-6400 --report - | jq .hw.dram.channels)
"$NPUSIM" sweep best d --top 9 --where "dram.channels == $channels" | grep -q 'dram.part=LPDDR5-6400$' || fail 'dram.channels of a part'
printf '%s\n' 'run: gemm' 'with: {n: 64, k: 64}' 'axes: {a: {zip: {m: [32, 64], hw: [edge-1mb, edge-2mb]}}, tile_m: [16, 32]}' >z.yaml
"$NPUSIM" sweep run z.yaml -q -o z >/dev/null || fail 'z'
for pair in 'sram<=1MiB:edge-1mb' 'sram.size > 1MiB:edge-2mb' 'vector.lanes >= 1 && sram == 2MiB:edge-2mb'; do
    "$NPUSIM" sweep best z --top 9 --where "${pair%:*}" >out 2>err || fail "$pair: $(cat err)"
    is "points of ${pair%:*}" "$(sed -n '/^npusim /s/.*--hw \([^ ]*\).*/\1/p' out | xargs)" "${pair##*:} ${pair##*:}"
done

# Words are known whether a point has them or not, bare or in quotes; so is what a name is in another place.
none='no point that was run and fits --where has a value of cycles'
for word in matrix vector sram dma dram dispatch latency; do
    for quote in '' "'" '"'; do
        status=0
        "$NPUSIM" sweep best b --where "bound == $quote$word$quote" >out 2>err || status=$?
        has=$(jq "any(.[]; .bound == \"$word\")" <<<"$all")
        is "bound == $quote$word$quote: $(cat err)" "$status:$has" "$([ $has = true ] && echo 0 || echo 1):$has"
        [ $has = true ] || is "bound == $word" "$(cat err)" "npusim: $none"
    done
done
refuses 1 "$none" sweep best b --where 'hw == tiny-256k'
refuses 1 "$none" sweep best b --where 'dram.part == LPDDR5X-8533'
refuses 1 "$none" sweep best b --where "bound == sram && sram <= 1KiB"
refuses 1 "$none" sweep best b --where "mask == padding && tile_q > 100000"
holds 'dram.part == LPDDR4X-4266 && sram >= 1MiB && bound != sram' '.hw == "edge-1mb"'
holds 'dram.ideal == no && dram.ideal != true' true
holds 'sram == 2MiB && (bound == sram || bound != sram)' '.hw == "edge-2mb"'
refuses 2 "--where 'buffering == doubel', character 14: buffering is never doubel; did you mean double?" sweep best b --where 'buffering == doubel'
refuses 2 "--where 'hw != \"edge-3mb\"', character 8: hw is never edge-3mb; did you mean edge-1mb?" sweep best b --where 'hw != "edge-3mb"'
refuses 2 "--where 'bound == double', character 10: bound is never double; there are matrix, vector, sram, dma, dram, dispatch, latency" sweep best b --where 'bound == double'
# A port that is 0, "as wide as the array", is what its report says.
port=$("$NPUSIM" run gemm m=64 n=64 k=64 --report - | jq .hw.matrix.activation_port)
printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64, matrix.weight_port: 0}' 'axes: {tile_m: [16, 32]}' >port.yaml
"$NPUSIM" sweep run port.yaml -q -o port >/dev/null || fail 'port'
for key in activation_port weight_port; do
    port=$("$NPUSIM" run gemm m=64 n=64 k=64 --report - | jq .hw.matrix.$key)
    [ "$port" -gt 0 ] || fail "$key is $port in a report"
    is "points of matrix.$key == $port" "$("$NPUSIM" sweep best port --top 9 --where "matrix.$key == $port" | grep -c '^npusim run')" 2
    refuses 1 "$none" sweep best port --where "matrix.$key == 0"
    { cat port.yaml && echo "where: matrix.$key == $port && tile_m == 16"; } >port2.yaml
    rm -rf port2 && "$NPUSIM" sweep run port2.yaml -q -o port2 >out 2>err && grep -q '^1 run, 1 not legal (1: where)' out || fail "where: matrix.$key == $port: $(cat out err)"
done
# Two names of words: each has its own.
printf '%s\n' 'run: flash_attention' 'with: {seq: 64, heads: 1}' 'axes: {a: {zip: {tile_q: [16, 32], tile_kv: [16, 16]}}, b: {zip: {matrix.rows: [16, 32], matrix.cols: [16, 32]}}, mask: [none, causal], buffering: [single, double]}' >two.yaml
for pair in 'mask == buffering:0' 'mask != buffering:16' 'a == b:4' 'a != b:12' 'dram.part == matrix.dataflow:0' 'mask == mask:16'; do
    { cat two.yaml && echo "where: ${pair%:*}"; } >two2.yaml
    if [ "${pair##*:}" = 0 ]; then
        "$NPUSIM" sweep run two2.yaml -q -o two2 >out 2>err
        grep -Eq "excludes all 16 points|no point is legal" err || fail "$pair: $(cat out err)"
        checks=$((checks + 1))
    else
        is "points where ${pair%:*}" "$("$NPUSIM" sweep run two2.yaml -q -o two2 2>&1 | sed -n '2s/ run.*//p')" "${pair##*:}"
    fi
    rm -rf two2
done
# YAML takes a tag away, and with a blank behind it without a word: the condition would be its own opposite.
for condition in '!(tile_m == 16)' '! (tile_m == 16)' '! "tile_m == 16"'; do
    printf '%s\n' '# é' 'run: gemm' 'axes: {tile_m: [16, 32]}' "where: $condition" >tag.yaml
    refuses 2 "tag.yaml:4:8: where: YAML takes a ! at the beginning for itself; the condition in quotes would be right, as in '!(a == b)'" sweep run tag.yaml
    printf '%s\n' '# é' 'run: gemm' 'axes: {tile_m: [16, 32]}' 'where:' '  - tile_m > 0' "  - $condition" >tag.yaml
    refuses 2 "tag.yaml:6:5: where: YAML takes a ! at the beginning for itself; the condition in quotes would be right, as in '!(a == b)'" sweep run tag.yaml
done
printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64}' 'axes: {tile_m: [16, 32]}' "where: '!(tile_m == 16)'" >tag.yaml
"$NPUSIM" sweep run tag.yaml -q >out 2>err && grep -q '^1 run, 1 not legal' out || fail "in quotes: $(cat out err)"
# The same in a specification.
printf '%s\n' '.param buffering=double|single, how=any, n=16' '.tensor A[64, n] fp16 in' '.sram a[64, n] fp16' '  load a, A[:, :]' >w.npu
while IFS='~' read -r condition want; do
    printf '%s\n' 'run: w.npu' 'axes: {n: [16, 32]}' "where: $condition" >w.yaml
    rm -rf w
    "$NPUSIM" sweep run w.yaml -q -o w >out 2>err
    is "where: $condition: $(head -n 1 err)" "$(sed -n 2p out | sed 's/,.*//')" "$want run"
done <<'END2'
dram.part == LPDDR4X-4266 && n > 16~1
dram.part != "LPDDR4X-4266" || n > 16~1
dram.part == LPDDR4X-4266~2
hw == edge-1mb && hw != edge-2mb~2
buffering == double~2
buffering != single && n == 32~1
how == any~2
how == "any" && dram.ideal != yes~2
dram.ideal == false~2
sram >= 1MiB && accum.size == accum && n == 16~1
END2
printf '%s\n' 'run: w.npu' 'axes: {n: [16, 32]}' 'where: buffering == doubel' >w.yaml
refuses 2 'w.yaml:3:21: where: buffering is never doubel; did you mean double?' sweep run w.yaml
printf '%s\n' 'run: w.npu' 'axes: {n: [16, 32]}' 'where: n == m' >w.yaml
refuses 2 'w.yaml:3:13: where: unknown name m; did you mean n?' sweep run w.yaml
printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64}' 'axes: {dram.ideal: [true, false], tile_m: [16, 32]}' 'where: dram.ideal == yes' >w.yaml
rm -rf w && "$NPUSIM" sweep run w.yaml -q -o w >out 2>err && grep -q '^2 run, 2 not legal (2: where)' out || fail "yes and true: $(cat out err)"
is 'true is yes' "$("$NPUSIM" sweep best w --top 9 --where 'dram.ideal == yes' | grep -c 'dram.ideal=true')" 2
checks=$((checks + 2))

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
