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
[ $failures = 0 ] && echo "$checks checks of sweep plot"
[ $failures = 0 ]
