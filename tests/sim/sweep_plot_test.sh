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
sed -n '/^$front0 /,/^EOD/p' s.sweep/plots/plots.gp | sed '1d;$d' | wc -l | diff want - || fail 'the front is another one'
# Against SRAM, energy and what goes over the bus; the part is the same one everywhere, so its bandwidth has no chart.
grep -o 'against [a-z_.]*:' s.sweep/plots/pareto.svg | sort -u | xargs | diff - <(echo 'against dram.bus_bytes: against energy.total_uj: against sram.peak_bytes:') ||
    fail 'the fronts are others'
# Bytes are in KiB, and each cell of the heat map says its cycles.
grep -q '>sram.peak_bytes, KiB<' s.sweep/plots/pareto.svg || fail 'bytes have no unit'
least=$(jq '[.[] | select(.status == "run" and .tile_kv == 64 and ."sram.size" == 1048576).cycles] | min' p.json | awk '{ printf "%.1f", $1 / 1000 }')
grep -q ">${least}k<" s.sweep/plots/heatmap.svg || fail "no cell says ${least}k"
checks=$((checks + 2))
page=s.sweep/plots/index.html
grep -Eq '(src|href)=["'"'"'][^#]' $page && fail 'the page needs something beside it'
run=$(jq '[.[] | select(.status == "run")] | length' p.json)
[ "$(grep -o '"run":"npusim run ' $page | wc -l)" = "$run" ] || fail "not $run points in the page"
checks=$((checks + 3))
printf '%s\n' 'model: stories260k' 'with: {context: 32}' 'axes: {phase: [prefill, decode], sram.size: [512KiB, 1MiB]}' >m.yaml
"$NPUSIM" sweep run m.yaml -q >/dev/null && "$NPUSIM" sweep plot m.sweep >/dev/null || fail 'a model'
# A person points at one point and clicks on two: the copy does it by itself.
# pointed FOLDER: what is told then, as lines of text.
pointed() {
    cp "$1/plots/index.html" user.html
    cat >>user.html <<'END'
<script>
{const c=n=>document.querySelectorAll('#plot circle')[n];c(0).dispatchEvent(new MouseEvent('mousemove',{clientX:5,clientY:5}));
const told=document.getElementById('tip').textContent;c(0).dispatchEvent(new MouseEvent('click'));c(1).dispatchEvent(new MouseEvent('click'));
document.body.innerText=told+'\n--\n'+document.getElementById('pins').innerText}
</script>
END
    chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$folder/chromium" --virtual-time-budget=2000 --dump-dom "file://$folder/user.html" \
        2>/dev/null | sed 's/<br>/\n/g; s/&amp;/\&/g'
}
if command -v chromium >/dev/null; then
    chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$folder/chromium" --virtual-time-budget=2000 --dump-dom "file://$folder/$page" 2>/dev/null >dom
    [ "$(grep -o '<circle[^>]*data-point' dom | wc -l)" = "$run" ] || fail 'the browser does not draw every point'
    pointed s.sweep >told
    sed '/^--/,$d' told | grep -q 'sram.size=256KiB' || fail "a point does not tell its configuration: $(cat told)"
    [ "$(grep -c '^change\|change$' told)" = 1 ] && [ "$(sed '1,/^--/d' told | grep -c '^npusim run ')" = 2 ] || fail "two points are not compared: $(cat told)"
    # The command of the first point, as it stands, and the figure beside it.
    command=$(sed '/^--/,$d' told | grep -o 'npusim run .*')
    # shellcheck disable=SC2086
    "$NPUSIM" ${command#npusim } --report r.json >/dev/null && compgen -G "point-*.pftrace" >/dev/null || fail "$command leaves no timeline"
    sed '/^--/,$d' told | grep -q "^cycles  $(jq .cycles r.json | sed ':a; s/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/; ta')\$" || fail "$command takes $(jq .cycles r.json) cycles: $(cat told)"
    rm -f point-*.pftrace
    pointed m.sweep >told
    sed '/^--/,$d' told | grep '^npusim' >commands
    [ "$(cut -d' ' -f2 commands | xargs)" = 'model run' ] && ! grep -q 'model.*--timeline' commands || fail "a step of a model: $(cat told)"
    while read -r _ command; do
        # shellcheck disable=SC2086
        "$NPUSIM" $command >/dev/null </dev/null || fail "npusim $command fails"
    done <commands
    compgen -G "point-*.pftrace" >/dev/null || fail 'the longest operator leaves no timeline'
    checks=$((checks + 8))
fi
# What stands there without a browser is the same: best tells it, too.
command=$("$NPUSIM" sweep best m.sweep | grep -- '--timeline')
# shellcheck disable=SC2086
"$NPUSIM" ${command#npusim } >/dev/null || fail "$command"
mkdir empty && cp s.sweep/sweep.json empty/
"$NPUSIM" sweep plot empty 2>err && fail 'a chart of nothing'
grep -qx 'npusim: empty: no point was run, so there is nothing to draw' err || fail "$(cat err)"
checks=$((checks + 1))
# What an axis changes is the worst of its values against the best point, of those that were tried; what nobody tried is no 0.
# bars NAME LINE...: runs flash_attention with these lines into NAME.d and draws it.
bars() {
    local name=$1
    shift
    printf '%s\n' 'run: flash_attention' "$@" >"$name.yaml"
    "$NPUSIM" sweep run "$name.yaml" -q -o "$name.d" >/dev/null && "$NPUSIM" sweep plot "$name.d" >/dev/null 2>err || fail "$name: $(cat err)"
    sed -n '/^$axes/,/^EOD/p' "$name.d/plots/plots.gp" | sed '1d;$d' >"$name.bars"
}
axes='axes: {sram.size: [512KiB, 1MiB], tile_q: [128, 16, 64, 32], tile_kv: {pow2: [16, 128]}}'
bars full 'with: {seq: 128, heads: 1}' "$axes"
bars part 'with: {seq: 128, heads: 1}' "$axes" 'sample: 9' 'seed: 2'
for name in full part; do
    "$NPUSIM" sweep merge $name.d --json - 2>/dev/null | jq -r --slurpfile all <("$NPUSIM" sweep merge full.d --json -) '
        ["sram.size", "tile_q", "tile_kv"] as $axes | [.[] | select(.status == "run")] as $p | ($p | min_by(.cycles, .point)) as $best |
        $axes[] as $a | ([$all[0][][$a]] | unique | length) as $values |
        [$p[] | . as $x | select(all($axes[]; . == $a or $x[.] == $best[.]))] as $line |
        [.[] | . as $x | select(.status != "missing" and .status != "failed" and all($axes[]; . == $a or $x[.] == $best[.]))] as $known |
        "\"" + $a + (if ($known | length) < $values then "\\n\($known | length) of \($values) tried" else "" end) + "\" " +
        (if ($line | length) < 2 then "NaN" else (([$line[].cycles] | max) / $best.cycles - 1) * 100 * 10 | round / 10 | tostring end)' >want
    awk '{ if ($NF != "NaN") $NF = sprintf("%.1f", $NF) + 0; print }' $name.bars | diff want - || fail "$name: the sensitivity is another one"
done
grep -q 'NaN$' part.bars && grep -q '[1-9]$' part.bars || fail "this sample shows nothing: $(cat part.bars)"
grep -q 'at the best point, of what was tried' part.d/plots/sensitivity.svg && grep -q 'of all other axes, of what was tried' part.d/plots/heatmap.svg ||
    fail 'a chart of a sample is told as of all'
grep -q 'what was tried' full.d/plots/sensitivity.svg && fail 'a chart of all is told as of a part'
# Values stand in their order in a chart.
grep -A1 '^$map' full.d/plots/plots.gp | grep -q '^- "16" "32" "64" "128"$' || fail "a heat map in the order of a list: $(grep -A1 '^$map' full.d/plots/plots.gp)"
# Of a best of 0 there is no share.
bars zero 'with: {seq: 512, heads: 2, buffering: double}' 'axes: {tile_q: [32, 64, 128]}' 'report: [engines.matrix.wait_vector]'
most=$("$NPUSIM" sweep merge zero.d --json - | jq '[.[]."engines.matrix.wait_vector"] | if min == 0 then max else "no 0" end')
[ "$(cat zero.bars)" = "\"tile_q\" $most" ] || fail "from 0 to $most: $(cat zero.bars)"
# What runs have no value of is no chart, and said so.
printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64, dram.ideal: yes}' 'axes: {tile_m: [16, 32]}' >ideal.yaml
"$NPUSIM" sweep run ideal.yaml -q -o ideal >/dev/null || fail 'ideal'
refuses 1 'no point that was run has a value of dram.bus_fraction' sweep plot ideal --against dram.bus_fraction
refuses 1 'no point that was run has a value of dram.bus_fraction' sweep plot ideal --by dram.bus_fraction
checks=$((checks + 7))
grep -q '^<p id="counts">[0-9]* run, [0-9]* not legal, 0 failed\.</p>$' full.d/plots/index.html && grep -q 'run, [0-9]* not legal, 0 failed\.</p>' part.d/plots/index.html ||
    fail "the page does not tell what became of the points: $(grep counts full.d/plots/index.html)"
[ $failures = 0 ] && echo "$checks checks of sweep plot"
[ $failures = 0 ]
