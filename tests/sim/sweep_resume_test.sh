#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A folder that is gone on with: what it holds is used, also for points that are alike; a line that is damaged or of another point is
# left out, said so, and run again.
. "$SRC/tests/support/cli.sh"
cat >edit.py <<'END'
import json, sys
# A line with some of it changed, and the checksum of what it says now.
def line(text, change):
    o = json.loads(text)
    change(o)
    del o["sum"]
    body = json.dumps(o, separators=(",", ":"))[:-1]
    h = 0xcbf29ce484222325
    for b in body.encode():
        h = (h ^ b) * 0x100000001b3 & (1 << 64) - 1
    return '%s,"sum":"%016x"}\n' % (body, h)
lines = [l for f in sys.argv[3:] for l in open(f)]
run = [l for l in lines if json.loads(l)["status"] == "run"]
out = open(sys.argv[2], "w")
if sys.argv[1] == "one":      # of all only the first that ran, in 1 cycle
    out.write(line(run[0], lambda o: o["figures"].update(cycles=1)))
elif sys.argv[1] == "swap":   # the first two that ran each say that they are the other, all else as it was
    a, b = json.loads(run[0]), json.loads(run[1])
    out.writelines(l for l in lines if l not in run[:2])
    out.write(line(run[0], lambda o: o.update(point=b["point"])))
    out.write(line(run[1], lambda o: o.update(point=a["point"], at=b["at"])))
END

printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64, tile_m: 16, tile_n: 16, tile_k: 16}' 'axes: {sram.size: [256KiB, 512KiB, 1MiB, 2MiB], dram.part: [LPDDR4X-4266, LPDDR5-6400]}' >s.yaml
"$NPUSIM" sweep run s.yaml -q -o whole >/dev/null && "$NPUSIM" sweep merge whole --csv whole.csv >/dev/null || fail 'a sweep fails'

# Of one line that says 1 cycle come three more: the other sizes of the SRAM, which are alike. With --each none does.
for each in '' --each; do
    rm -rf one && mkdir one && cp whole/sweep.json one && python3 edit.py one one/points-1-1-0.1.jsonl whole/points-*.jsonl
    # shellcheck disable=SC2086
    "$NPUSIM" sweep run s.yaml -q -o one $each >/dev/null 2>err || fail "$(cat err)"
    is "points of 1 cycle${each:+ with --each}" "$("$NPUSIM" sweep merge one --json - | jq '[.[] | select(.cycles == 1)] | length')" $((${#each} ? 1 : 4))
done

# The same of a search.
printf '%s\n' 'search: {pareto: [cycles, energy.total_uj], points: 8}' >>s.yaml
"$NPUSIM" sweep run s.yaml -q -o searched >/dev/null 2>err || fail "$(cat err)"
mkdir two && cp searched/sweep.json two && python3 edit.py one two/points-1-1-0.1.jsonl searched/points-*.jsonl
"$NPUSIM" sweep run s.yaml -q -o two >/dev/null 2>err || fail "$(cat err)"
is 'points of a search of 1 cycle' "$("$NPUSIM" sweep merge two --json - | jq '[.[] | select(.cycles == 1)] | length')" 4
sed -i '$d' s.yaml

# Two lines that belong to each other's point, with checksums that hold.
mkdir swapped && cp whole/sweep.json swapped && python3 edit.py swap swapped/points-1-1-0.1.jsonl whole/points-*.jsonl
"$NPUSIM" sweep merge swapped >out 2>err && fail 'lines of other points are taken'
has 'npusim: warning: 2 lines that are not of their points are left out$' err
has 'npusim: 2 of 8 points are missing' err
"$NPUSIM" sweep run s.yaml -o swapped >out 2>err || fail "$(cat err)"
has '^6 points are in swapped already$' err
has '^2 lines that are not of their points are left out$' out
"$NPUSIM" sweep merge swapped --csv swapped.csv >/dev/null 2>&1
cmp whole.csv swapped.csv || fail 'lines of other points change results'
checks=$((checks + 2))
[ $failures = 0 ] && echo "$checks checks of a folder that is gone on with"
[ $failures = 0 ]
