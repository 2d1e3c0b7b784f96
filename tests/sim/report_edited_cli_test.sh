#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A report that somebody edited, cut or wrote by hand is refused by all that read one, with one line that says what is wrong.
. "$SRC/tests/support/cli.sh"
command -v python3 >/dev/null || { echo 'no python3 here: skipped'; exit 77; }

"$NPUSIM" run flash_attention seq=128 heads=2 -q --report r.json --instructions --critical

# refused TEXT EDIT: the report after EDIT, a line of Python on r, is refused with TEXT by every reader.
refused() {
    local text=$1 status command
    printf 'import json\nr = json.load(open("r.json"))\n%s\njson.dump(r, open("e.json", "w"))\n' "$2" | python3 - || fail "the edit $2"
    for command in 'hotspots e.json' 'roofline e.json' 'explain e.json' 'compare e.json r.json' 'compare r.json e.json'; do
        status=0
        checks=$((checks + 1))
        # shellcheck disable=SC2086
        "$NPUSIM" $command >out 2>err </dev/null || status=$?
        [ "$status" = 2 ] && [ ! -s out ] || fail "$command after $2: exit status $status, not 2"
        [[ "$(cat err)" == "npusim: e.json: "$text ]] || fail "$command after $2: said $(cat err), wanted npusim: e.json: $text"
    done
}

cycles=$("$NPUSIM" run flash_attention seq=128 heads=2 --report - | sed -n 's/^  "cycles": \([0-9]*\),$/\1/p')
refused "the states of engines.load add up to 100000000000*, but cycles is $cycles: no report that npusim wrote" 'r["engines"]["load"]["busy"] = 10**17'
refused "the states of engines.load add up to $cycles, but cycles is 1000000000000000000: no report that npusim wrote" 'r["cycles"] = 10**18'
refused 'engines: an object would be right' 'r["engines"] = []'
refused 'engines.load is missing' 'r["engines"] = {}'
refused 'engines.tensor: load, store, matrix and vector, no other engine, would be right' 'r["engines"]["tensor"] = r["engines"]["load"]'
refused 'engines.load.stalls.tea: a state of the simulator would be right' 'r["engines"]["load"]["stalls"]["tea"] = 0'
refused 'engines.load.busy: a whole number, 0 or more, would be right' 'r["engines"]["load"]["busy"] = -1'
refused 'engines.load.busy: a whole number, 0 or more, would be right' 'r["engines"]["load"]["busy"] = 1.5'
refused 'busy and the stalls in service of engines.matrix add up to *, but active is 3: *' 'r["engines"]["matrix"]["active"] = 3'
refused "the parts of sequencer add up to *, but cycles is $cycles: *" 'r["sequencer"]["issue"] += 1'
refused "the parts of overlap add up to *, but cycles is $cycles: *" 'r["overlap"]["both"] += 1'
refused "tensors' read_bytes add up to *, but dram.read_bytes is *" 'r["tensors"][0]["read_bytes"] += 1'
refused "regions' cycles of matrix busy add up to *, but engines.matrix busy is *" 'r["regions"][0]["engines"]["matrix"]["busy"] += 1'
refused "regions' macs add up to *, but macs is *" 'r["regions"][0]["macs"] += 1'
refused "instructions' cycles of * busy add up to *" 'r["instructions"][0]["busy"] += 1'
refused 'instructions[[]0].engine: load, store, matrix or vector would be right' 'r["instructions"][0]["engine"] = "tensor"'
refused 'instructions[[]3].busy: a whole number, 0 or more, would be right' 'r["instructions"][3]["busy"] = "7"'
refused 'instructions[[]2]: an object would be right' 'r["instructions"][2] = 7'
refused "instructions[[]0] is from * to 1000000000000000000 of $cycles cycles: *" 'r["instructions"][0]["end"] = 10**18'
refused "the kinds of critical_path add up to *, but cycles is $cycles: *" 'r["critical_path"]["post"] += 1'
refused 'time_us: a number or null would be right' 'r["time_us"] = "fast"'
refused 'bound: a text would be right' 'r["bound"] = 7'
refused 'no report of a run*: its schema is npusim.report/2, and npusim.report/1*is known*' 'r["schema"] = "npusim.report/2"'
refused 'no report of a run; *' 'r = [1]'

# broken TEXT: so is e.json as it is.
broken() {
    local status=0
    checks=$((checks + 1))
    "$NPUSIM" hotspots e.json >out 2>err || status=$?
    [ "$status" = 2 ] && [[ "$(cat err)" == "npusim: e.json:"$1 ]] || fail "exit status $status, $(cat err), wanted $1"
}
printf '{"schema": "a\\u0000b"}' >e.json
broken '1:*: a character 0 in a text, which no report has'
printf '{"schema": "npusim.report/1", "a\\u0000b": 1}' >e.json
broken '1:*: a character 0 in a key, which no report has'
printf '{"cycles": 1, "cycles": 2}' >e.json
broken '1:*: a key that was there before'
printf '{"cycles": 99999999999999999999}' >e.json
broken '1:*: a number that is too large'
printf '{"cycles": 1} x' >e.json
broken '1:*: no JSON: something follows its end'
head -c 1000 r.json >e.json
broken '*: no JSON: it ends too early'
printf 'cycles' >e.json
broken '1:*: no JSON'

# A report of one that knew fewer keys is read: what is not there is no fault.
printf 'import json\nr = json.load(open("r.json"))\nfor k in ("critical_path", "buffers", "semaphores", "values", "energy"): del r[k]\njson.dump(r, open("e.json", "w"))\n' | python3 -
checks=$((checks + 1))
"$NPUSIM" hotspots e.json >/dev/null 2>err && [ ! -s err ] || fail "an older report: $(cat err)"

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
