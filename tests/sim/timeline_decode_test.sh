#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real run's timeline, decoded by protoc instead of by us, adds up to the run's report.
set -euo pipefail
export LC_ALL=C.UTF-8
command -v protoc >/dev/null || { echo "no protoc here: skipped"; exit 77; }
NPUSIM=${NPUSIM:?} SRC=${SRC:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# check NAME RUN...: runs, decodes, compares every figure that the timeline can tell.
check() {
    local name=$1
    shift
    "$NPUSIM" run "$@" --quiet --report "$name.json" --timeline "$name.pftrace" --timeline "$name.pftrace.gz"
    gzip -dc "$name.pftrace.gz" | cmp - "$name.pftrace"
    decode "$name"
    expect_report "$name" "$name.json" ''
    expect "$name" instructions "$(instructions "$name.json")"
    echo "$name: $(wc -l <"$name.sums") sums, $(grep -c '^packet' "$name.txt") packets agree"
}

instructions() { sed -n '/"program": {/,/}/s/.*"instructions": \([0-9]*\).*/\1/p' "$1"; }

# decode NAME: NAME.pftrace into NAME.txt and sums in NAME.sums.
decode() {
    local name=$1
    protoc --decode=pf.Trace --proto_path="$SRC/sim/timeline" perfetto.proto <"$name.pftrace" >"$name.txt"

    # STATES ENGINE STATE CYCLES lines, instructions, flows; refuses what a timeline must not hold.
    awk '
        function fail(text) { print FILENAME ": " text; failed = 1; exit 1 }
        # A packet: its own fields first, then nested ones; a closing brace at column 0 ends it.
        /^packet/ { ts = type = track = name = uuid = parent = process = ""; next }
        /^}/ {
            # Of two runs a track is called by its process, too.
            if (uuid != "") tracks[uuid] = (parent in letter ? letter[parent] " " : "") track_name
            if (process ~ /^[AB]: /) letter[uuid] = substr(process, 1, 1)
            if (type == 1) {
                if (track in open) fail("a slice nests in " tracks[track])
                if (ts + 0 < last[track] + 0) fail(tracks[track] " goes back")
                open[track] = ts; opened[track] = name; slices++
            } else if (type == 2) {
                if (!(track in open)) fail("a slice of " tracks[track] " ends that never began")
                if (ts + 0 <= open[track] + 0) fail("an empty slice in " tracks[track])
                sum[track SUBSEP opened[track]] += ts - open[track]
                delete open[track]; last[track] = ts
            }
            next
        }
        /^  timestamp:/ { ts = $2 }
        /^  track_descriptor/ { uuid = "?" }
        /^    uuid:/ { uuid = $2 }
        /^    name:/ && uuid != "" { track_name = substr($0, index($0, "\"") + 1); sub(/"$/, "", track_name) }
        /^    parent_uuid:/ { parent = $2 }
        /^      process_name:/ { process = substr($0, index($0, "\"") + 1) }
        /^    type:/ { type = $2 }
        /^    track_uuid:/ { track = $2 }
        /^    name_iid:/ { name = $2 }
        /^    flow_ids:/ { out[$2]++; flows++ }
        /^    terminating_flow_ids:/ { into[$2]++ }
        /^    event_names/ { in_names = 1 }
        in_names && /^      iid:/ { iid = $2 }
        in_names && /^      name:/ { text = $2; gsub(/"/, "", text); names[iid] = text; in_names = 0 }
        /^    debug_annotation_names/ { in_annotations = 1 }
        in_annotations && /^      iid:/ { iid = $2 }
        in_annotations && /^      name:/ { if ($0 ~ /"issued"/) issued = iid; in_annotations = 0 }
        /^      name_iid:/ { annotation[$2]++ }
        END {
            if (failed) exit 1
            for (key in open) fail("a slice of " tracks[key] " never ends")
            for (id in out) if (out[id] != 1 || into[id] != 1) fail("flow " id " has " into[id] + 0 " ends")
            for (id in into) if (!(id in out)) fail("flow " id " comes from nowhere")
            for (key in sum) {
                split(key, part, SUBSEP)
                print tracks[part[1]] "/" names[part[2]], sum[key]
            }
            print "instructions", annotation[issued]
        }' "$name.txt" | sort >"$name.sums"

}

# expect_report NAME REPORT BEFORE: the states of its engines, on tracks whose names begin with BEFORE.
expect_report() {
    local engine state cycles
    for engine in load store matrix vector; do
        while read -r state cycles; do
            expect "$1" "$3$engine states/$state" "$cycles"
        done < <(states "$engine" "$2")
    done
}

# states ENGINE FILE: "STATE CYCLES" for busy, idle and each stall of the engine in the report's `engines`.
states() {
    sed -n '/^  "engines": {/,/^  }/p' "$2" |
        sed -n "/^    \"$1\": {/,/^    }/s/^ *\"\([a-z_]*\)\": \([0-9]*\),\{0,1\}\$/\1 \2/p" |
        grep -v '^\(active\|instructions\) '
}

# expect NAME KEY VALUE: a sum of the timeline; a value of 0 has none.
expect() {
    local found
    found=$(sed -n "s|^$2 ||p" "$1.sums")
    [ "${found:-0}" = "$3" ] || {
        echo "$1: $2 is ${found:-0} in the timeline and $3 in the report"
        exit 1
    }
}

check qk qk_tiled seq=256 heads=1
check flash flash_attention seq=256 heads=2
check gemm gemm m=128 n=128 k=128 --hw tiny-256k

# Two runs in one: the states of each are its report's, and what has the same region begins together.
"$NPUSIM" run flash_attention seq=256 heads=2 tile_kv=64 dram.part=LPDDR5-6400 --quiet --report other.json
"$NPUSIM" compare flash.json other.json --timeline both.pftrace --timeline both.pftrace.gz >/dev/null
gzip -dc both.pftrace.gz | cmp - both.pftrace
decode both
expect_report both flash.json 'A '
expect_report both other.json 'B '
expect both instructions $(($(instructions flash.json) + $(instructions other.json)))
grep -q 'process_name: "A: flash.json, flash_attention on edge-1mb"' both.txt
grep -q 'process_name: "B: other.json, flash_attention on edge-1mb, changed"' both.txt
echo "both: $(wc -l <both.sums) sums, $(grep -c '^packet' both.txt) packets agree"
