#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim sweep plot: pictures of gnuplot, the same ones each time, and a page that holds every point and stands alone.
. "$SRC/tests/support/cli.sh"
command -v gnuplot >/dev/null || exit 77
cat >s.yaml <<'END'
run: flash_attention
with: {seq: 256, heads: 1}
axes: {sram.size: [256KiB, 1MiB], tile_q: {pow2: [32, 128]}, tile_kv: {pow2: [32, 256]}}
report: [cycles, mac_utilization]
END
"$NPUSIM" sweep run s.yaml -q >/dev/null || fail 'the sweep fails'
"$NPUSIM" sweep plot s.sweep >out 2>err || fail "plot: $(cat err)"
for f in heatmap pareto sensitivity best; do
    grep -q '</svg>' "s.sweep/plots/$f.svg" || fail "$f.svg is no picture"
    [ "$(head -c 4 "s.sweep/plots/$f.png" | tail -c 3)" = PNG ] || fail "$f.png is no picture"
    checks=$((checks + 2))
done
"$NPUSIM" sweep plot s.sweep -o again >/dev/null || fail 'again'
for f in heatmap.svg pareto.svg sensitivity.svg best.svg index.html; do
    cmp "s.sweep/plots/$f" "again/$f" || fail "$f is another one"
    checks=$((checks + 1))
done
# The front of cycles and SRAM, by the figures.
"$NPUSIM" sweep merge s.sweep --json p.json >/dev/null
jq '[.[] | select(.status == "run")] as $p | [$p[] | . as $x | select(all($p[]; .cycles > $x.cycles or ."sram.peak_bytes" > $x."sram.peak_bytes" or
    (.cycles == $x.cycles and ."sram.peak_bytes" == $x."sram.peak_bytes")))] | map([."sram.peak_bytes", .cycles]) | unique | length' p.json >want
sed -n '/^$front/,/^EOD/p' s.sweep/plots/plots.gp | sed '1d;$d' | wc -l | diff want - || fail 'the front is another one'
page=s.sweep/plots/index.html
grep -Eq '(src|href)=["'"'"'][^#]' $page && fail 'the page needs something beside it'
run=$(jq '[.[] | select(.status == "run")] | length' p.json)
[ "$(grep -o '"run":"npusim run ' $page | wc -l)" = "$run" ] || fail "not $run points in the page"
checks=$((checks + 3))
if command -v chromium >/dev/null; then
    chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$folder/chromium" --virtual-time-budget=2000 --dump-dom "file://$folder/$page" 2>/dev/null >dom
    [ "$(grep -o '<circle[^>]*data-point' dom | wc -l)" = "$run" ] || fail 'the browser does not draw every point'
    checks=$((checks + 1))
fi
mkdir empty && cp s.sweep/sweep.json empty/
"$NPUSIM" sweep plot empty 2>err && fail 'a chart of nothing'
grep -qx 'npusim: empty: no point was run, so there is nothing to draw' err || fail "$(cat err)"
checks=$((checks + 1))
[ $failures = 0 ] && echo "$checks checks of sweep plot"
[ $failures = 0 ]
