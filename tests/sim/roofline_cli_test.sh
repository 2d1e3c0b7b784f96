#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim roofline: points follow from the report's figures; the chart is drawn, and is the same each time.
. "$SRC/tests/support/cli.sh"

"$NPUSIM" run gemm m=256 n=256 k=256 -q --report r.json
"$NPUSIM" roofline r.json --report p.json >out 2>err || fail "roofline: $(cat err)"
# 256^3 MACs and 4 tiles of 2 x (128 x 256) and 128 x 128 elements of 2 bytes: 16,777,216 over 655,360 is 25.6; below the ridge
# of 1,024 GMAC/s over 17.07 GB/s, so the roof is 25.6 x 17.07 GB/s = 436.9
checks=$((checks + 3))
cycles=$(sed -n 's/^  "cycles": \([0-9]*\),$/\1/p' r.json)
achieved=$(awk -v c="$cycles" 'BEGIN { printf "%.2f", 16777216 / c }')
grep -qE "^whole +[0-9,]+ +16,777,216 +655,360 +25\.60 +${achieved/./\\.} +436\.9[0-9] +[0-9.]+ % +memory$" out || fail "the whole: $(grep ^whole out)"
[ "$(grep -cE '^tile [01],[01] .* 25\.60 ' out)" = 4 ] || fail "four tiles alike: $(cat out)"
grep -q '"ridge_macs_per_byte": 59.99\|"ridge_macs_per_byte": 60' p.json || fail "the ridge: $(cat p.json)"
# More of the same operands: right of the ridge the roof is the array's
"$NPUSIM" run gemm m=256 n=256 k=4096 tile_m=256 tile_n=256 accum.size=2MiB sram.size=4MiB dram.channels=16 -q --report c.json
checks=$((checks + 1))
"$NPUSIM" roofline c.json | grep -qE '^whole .* 1024\.00 +[0-9.]+ % +compute$' || fail "compute: $("$NPUSIM" roofline c.json)"
# No traffic, no intensity; no MACs, no roof to speak of
"$NPUSIM" run kv_fetch_paged seq=256 -q --report kv.json
checks=$((checks + 1))
"$NPUSIM" roofline kv.json | grep -qE '^whole .* no MACs$' || fail "no MACs: $("$NPUSIM" roofline kv.json)"

# A perfect DRAM has no peak: what is left are two DMA ports of 32 B at 1 GHz, and nothing is above its roof
"$NPUSIM" run gemm m=256 n=256 k=256 --ideal dram,sram -q --report i.json
"$NPUSIM" run gemm m=256 n=256 k=256 dram.ideal=yes -q --report j.json
for report in i j; do
    checks=$((checks + 2))
    "$NPUSIM" roofline $report.json --report ip.json >out
    grep -q 'DMA ports 64.00 GB/s, ridge 16.00 MAC/B$' out || fail "an ideal DRAM: $(head -1 out)"
    awk '/"roof_fraction"/ { gsub(/[^0-9.]/, ""); if ($0 > 1) exit 1; n++ } END { exit n != 5 }' ip.json || fail "above the roof: $(cat ip.json)"
done
# Regions that overlap are no faster than the machine
"$NPUSIM" run attention seq=256 --hw server -q --report o.json
checks=$((checks + 1))
"$NPUSIM" roofline o.json --report op.json >/dev/null
awk '/"roof_fraction"/ { gsub(/[^0-9.]/, ""); if ($0 > 1) exit 1; n++ } END { exit n < 5 }' op.json || fail "a region above the roof: $(grep -c roof_fraction op.json)"
# A run without a cycle has no rate, and no instruction
"$NPUSIM" run gemm m=0 -q --report e.json --instructions
checks=$((checks + 4))
"$NPUSIM" roofline e.json --report ep.json >out 2>err && [ ! -s err ] && grep -qE '^whole +\. +\. +\. +\. +\. +1024\.00 +no MACs$' out ||
    fail "no cycle: $(cat out err)"
grep -q '"gmac_per_s": null' ep.json || fail "no rate: $(cat ep.json)"
[ "$("$NPUSIM" hotspots e.json --format csv | wc -l)" = 1 ] || fail 'hot spots of nothing'
"$NPUSIM" hotspots e.json >out 2>err && [ ! -s err ] && [ "$(cat out)" = 'the program has no instruction' ] || fail "a table of nothing: $(cat err)"

refuses 2 'a.pdf: a chart is .svg or .png' roofline r.json -o a.pdf
refuses 2 '--rows x: a number of rows would be right, 0 for all' roofline r.json --rows x
echo '{"schema": "npusim.report/1", "cycles": 5}' >short.json
refuses 2 'short.json: a roofline needs cycles, time_us, dram.peak_gb_per_s and ridge_macs_per_byte, which this report does not have' \
    roofline short.json

if command -v gnuplot >/dev/null; then
    checks=$((checks + 3))
    "$NPUSIM" roofline r.json -o a.svg >/dev/null && "$NPUSIM" roofline r.json -o b.svg >/dev/null
    cmp a.svg b.svg || fail 'two charts of one report differ'
    grep -q 'ridge 60.00 MAC/B' a.svg && grep -q '>whole and 3 more<' a.svg && grep -q '>tile 0,0<' a.svg || fail 'the chart has neither ridge nor point'
    "$NPUSIM" roofline kv.json -o kv.png >/dev/null && [ "$(head -c 4 kv.png | tail -c 3)" = PNG ] || fail 'no chart without a point'
    # Names may hold anything
    printf '.region "a'"'"'b \\" c"\n.tensor A[128,128] fp16 in\n.sram a[128,128] fp16\n.acc c[128,128] fp32\n.sem f\nload a, A post f\nmatmul c, a, a wait f\n.endregion\n' >q.npu
    checks=$((checks + 1))
    "$NPUSIM" run q.npu -q --report q.json && "$NPUSIM" roofline q.json -o q.svg >/dev/null || fail 'a name with quotes'
fi

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
