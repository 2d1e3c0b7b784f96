#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim compare: the differences of two reports are those of the figures in them, and the keys that differ are all there.
. "$SRC/tests/support/cli.sh"

"$NPUSIM" run gemm m=256 n=256 k=256 -q --report a.json
"$NPUSIM" run gemm m=256 n=256 k=256 buffering=single sram.size=2MiB -q --report b.json

# figure REPORT KEY: a number of the top level.
figure() { sed -n "s/^  \"$2\": \([0-9]*\),\$/\1/p" "$1"; }
grouped() { sed -E ':again; s/^([0-9]+)([0-9]{3})/\1,\2/; t again' <<<"$1"; }

"$NPUSIM" compare a.json b.json >out 2>err || fail "compare: $(cat err)"
a=$(figure a.json cycles) b=$(figure b.json cycles)
checks=$((checks + 1))
grep -qE "^cycles +$(grouped "$a") +$(grouped "$b") +$(grouped $((b - a))) " out || fail "cycles $a $b: $(grep '^cycles' out)"
checks=$((checks + 1))
[ "$(sed -n '/^differs/,$p' out | sed -E 's/ +/ /g')" = $'differs A B\nbuffering double single\nsram.size 1048576 2097152' ] ||
    fail "what differs: $(sed -n '/^differs/,$p' out)"
# A column of engine cycles adds up to nothing: each engine has all cycles in both runs
checks=$((checks + 1))
"$NPUSIM" compare a.json b.json --report c.json >/dev/null
sum=$(sed -n '/"engines"/,/]/s/.*"difference": \(-\{0,1\}[0-9.]*\).*/\1/p' c.json | awk '{ sum += $1 } END { print sum + 0 }')
[ "$sum" = $((4 * (b - a))) ] || fail "changes of engine cycles add up to $sum, not four times $((b - a))"
# Nothing changes from a report to itself
"$NPUSIM" compare a.json a.json >out
checks=$((checks + 1))
grep -q '^no parameter and no hardware key differs$' out && ! grep -q '^cycles of engines' out || fail "a run against itself: $(cat out)"
# A number is what it is, however it is written
sed -E 's/^( *"[a-z_]*_mw": [0-9]+),/\1.0,/; s/^( *"[a-z_]*_mw": [0-9]+)\.0,/\1,/' a.json >written.json
"$NPUSIM" compare a.json written.json >out
checks=$((checks + 1))
! cmp -s a.json written.json && grep -q '^no parameter and no hardware key differs$' out || fail "numbers written otherwise: $(cat out)"
# Regions that only one of the runs has
"$NPUSIM" run gemm m=128 n=128 k=128 -q --report small.json
"$NPUSIM" compare a.json small.json >out
checks=$((checks + 1))
grep -qE '^tile 1,1 +[0-9,]+ +\. ' out || fail "a region that is gone: $(cat out)"

refuses 2 'missing.json: No such file or directory' compare a.json missing.json
refuses 2 '- and -: one report can come from stdin' compare - -
echo '{"schema": "npusim.dram/1"}' >dram.json
refuses 2 'dram.json: no report of a run: its schema is npusim.dram/1, and npusim.report/1 is known; npusim run ... --report FILE.json writes one' compare a.json dram.json

# Which keys explain it: each row is what A takes with that setting, and with all of them it is B
cycles() { "$NPUSIM" run "$@" --report - | sed -n 's/^  "cycles": \([0-9]*\),$/\1/p'; }
base=(gemm m=256 n=256 k=256)
"$NPUSIM" compare a.json b.json --explain --report e.json >out 2>err || fail "--explain: $(cat err)"
checks=$((checks + 4))
n=$(cycles "${base[@]}" buffering=single)
grep -qE "^buffering=single +$(grouped "$n") +$(grouped $((n - a))) " out || fail "buffering=single takes $n: $(cat out)"
grep -qE "^sram.size=2097152 +$(grouped "$(cycles "${base[@]}" sram.size=2MiB)") " out || fail "sram.size: $(cat out)"
grep -qE "^all of them +$(grouped "$b") +$(grouped $((b - a))) +100\.0 %$" out || fail "all of them: $(grep '^all' out)"
[ "$(grep -c '"settings": "' e.json)" = 3 ] || fail "JSON: $(cat e.json)"
# A part brings its timing along; an ideal part; a setting that alone is not legal
"$NPUSIM" run "${base[@]}" dram.part=LPDDR5-6400 --ideal sram,vector -q --report p.json
"$NPUSIM" compare a.json p.json --explain >out 2>err || fail "--explain: $(cat err)"
checks=$((checks + 3))
grep -qE "^dram.part=LPDDR5-6400 +$(grouped "$(cycles "${base[@]}" dram.part=LPDDR5-6400)") " out || fail "a part: $(cat out)"
grep -qE "^ideal +$(grouped "$(cycles "${base[@]}" --ideal sram,vector)") " out || fail "ideal: $(cat out)"
"$NPUSIM" compare p.json a.json --explain | grep -qE "^ideal +$(grouped "$(cycles "${base[@]}" dram.part=LPDDR5-6400)") " ||
    fail 'no longer ideal'
"$NPUSIM" run gemm m=300 n=300 k=300 tile_m=300 tile_n=300 accum.size=1MiB -q --report big.json
"$NPUSIM" run gemm m=300 n=300 k=300 tile_m=100 tile_n=300 -q --report bigger.json
checks=$((checks + 1))
"$NPUSIM" compare big.json bigger.json --explain 2>err | grep -qE '^accum.size=262144 alone cannot run: ' || fail 'what is not legal alone'
refuses 2 'gemm and gemv: settings explain what two runs of one program differ in' compare a.json <(
    "$NPUSIM" run gemv k=512 n=512 --report - ) --explain

# Both runs one above the other: the same bytes each time, of reports that a run can be made from again
"$NPUSIM" compare a.json b.json --timeline one.html --timeline one.pftrace >out 2>err || fail "--timeline: $(cat err)"
"$NPUSIM" compare a.json b.json --timeline two.html --timeline two.pftrace >/dev/null
checks=$((checks + 5))
cmp one.html two.html && cmp one.pftrace two.pftrace || fail 'two timelines of the same reports differ'
grep -qE '^timeline  one.html   ([0-9]+) regions of both runs, [0-9]+ of them shown beginning together$' out || fail "--timeline: $(cat out)"
"$NPUSIM" run "$SRC/tests/sim/explain/dram.npu" --report file.json -q
"$NPUSIM" compare file.json a.json --timeline file.html --program "$SRC/tests/sim/explain/dram.npu" >out 2>&1 ||
    fail "a file beside a kernel: $(cat out)"
grep -q '^timeline  file.html   0 regions of both runs, 0 of them' out || fail "nothing in common: $(cat out)"
rm file.html
# refuses_late TEXT ARGUMENT...: status 2 and that on stderr, behind the tables that it can print.
refuses_late() {
    local text=$1 status=0
    shift
    checks=$((checks + 1))
    "$NPUSIM" "$@" >out 2>err </dev/null || status=$?
    [ "$status" = 2 ] && [ "$(cat err)" = "npusim: $text" ] || fail "$*: $status, $(cat err), wanted $text"
}
refuses_late 'file.json: a report does not say where dram.npu is, and it is neither beside the report nor in this folder; --program FILE would say' \
    compare file.json file.json --timeline file.html
# That of another machine, which says that it is this one
"$NPUSIM" run gemm m=256 n=256 k=256 dma.start_cycles=99 -q --report wrong.json
sed -i 's/"start_cycles": 99/"start_cycles": 16/; s/dma.start_cycles=99/dma.start_cycles=16/' wrong.json
refuses_late "B takes $(grouped "$a") cycles, but its report tells of $(grouped "$(figure wrong.json cycles)"): it is not of this program, machine and version" \
    compare a.json wrong.json --timeline wrong.html
checks=$((checks + 1))
[ ! -e wrong.html ] && [ ! -e file.html ] || fail 'a timeline of runs that are not those of the reports'
refuses 2 '--timeline both.csv: of two runs the name must end in .html, .pftrace or .pftrace.gz' compare a.json b.json --timeline both.csv
refuses 2 '--program: of --explain and --timeline' compare a.json b.json --program x.npu
refuses 2 '--measured: one report and the measured times are compared' compare a.json --measured ops.csv --timeline m.html

# Measured times: rows of one name add up, the error is simulated over measured less 1
us=$(sed -n 's/^  "time_us": \([0-9.]*\),$/\1/p' a.json)
printf '\357\273\277Op Name,Type,Task Duration(us)\r\n"tile 0,0",x,10\r\n"tile 0,0",x,2.5\r\n# nothing\r\ntotal,,%s\r\nabsent,,1\r\n' \
    "$(awk -v us="$us" 'BEGIN { print us / 2 }')" >ops.csv
checks=$((checks + 4))
"$NPUSIM" compare a.json --measured ops.csv --report m.json >out 2>err || fail "--measured: $(cat err)"
grep -qE '^total +1 +[0-9.]+ +[0-9.]+ +[0-9.]+ +\+100\.0 %$' out || fail "the total is twice what was measured: $(grep total out)"
grep -qE '^tile 0,0 +2 +12\.500 ' out || fail "rows of a name add up: $(grep tile out)"
grep -q '^1 measured name is not in the report$' out || fail "absent: $(cat out)"
grep -q '"error_fraction": 1.0' m.json || fail "JSON: $(cat m.json)"
printf 'operator,cycles\ntotal,%s\n' "$a" >cycles.csv
checks=$((checks + 1))
"$NPUSIM" compare a.json --measured cycles.csv | grep -q '^error  mean of magnitudes 0.0 %, largest 0.0 %, of 1$' || fail 'its own cycles'
"$NPUSIM" model tinyllama-1.1b phase=decode context=64 --report model.json >/dev/null 2>&1 && {
    checks=$((checks + 1))
    name=$(sed -n '/"operators"/,/]/s/.*"name": "\(.*\)",/\1/p' model.json | head -n 1)
    printf 'name,ms\n"%s",1\n' "$name" >model.csv
    "$NPUSIM" compare model.json --measured model.csv | grep -q "^$name  *1  *1,*000.000 " || fail "an operator of a model: $name"
}
for bad in 'name,x=no column of times; name,us or operator,cycles would be right' 'x,us=no column of names; name,us or operator,cycles would be right'; do
    echo "${bad%%=*}" >bad.csv
    refuses 2 "bad.csv:1:1: ${bad#*=}" compare a.json --measured bad.csv
done
printf 'name;us\na;1\n' >bad.csv
refuses 2 'bad.csv:1:1: columns are separated by semicolons; commas between them would be right' compare a.json --measured bad.csv
printf 'name\tus\na\t1\n' >bad.csv
refuses 2 'bad.csv:1:1: columns are separated by tabs; commas between them would be right' compare a.json --measured bad.csv
printf 'name,us\na,-1\n' >bad.csv
refuses 2 'bad.csv:2:1: "-1" is no time' compare a.json --measured bad.csv
printf 'name,us\n"a,1\n' >bad.csv
refuses 2 'bad.csv:2:1: fewer fields than the first line has, or a quote without end' compare a.json --measured bad.csv
printf 'name,us\nelsewhere,1\n' >bad.csv
refuses 2 'bad.csv: 1 name, and none is a region or operator of a.json' compare a.json --measured bad.csv
: >bad.csv
refuses 2 'bad.csv: no measured times' compare a.json --measured bad.csv
refuses 2 '--measured: one report and the measured times are compared' compare a.json b.json --measured ops.csv
refuses 2 'compare A.json B.json, or R.json --measured OPS.csv, would be right' compare a.json

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
