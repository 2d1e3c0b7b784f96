#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# search: pareto and sample: a search is the same one however often it was killed, spends its budget on different programs, finds among
# 10^8 points what a grid of powers of two has, and what answers say is what was found out.
. "$SRC/tests/support/cli.sh"
ten='{range: [8, 4096, 8]}'
printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64}' "axes: {tile_m: $ten, tile_n: $ten, tile_k: $ten}" 'search: {pareto: [cycles, sram.peak_bytes], points: 100}' >s.yaml
"$NPUSIM" sweep run s.yaml -q -j 2 -o whole >whole.txt || fail 'a search fails'
"$NPUSIM" sweep merge whole --csv whole.csv --json whole.json >/dev/null
[ "$(jq '[.[] | select(.status == "run").key] | unique | length' whole.json)" = 100 ] || fail 'the budget is not 100 programs'
printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64}' 'axes: {tile_m: {pow2: [16, 64]}, tile_n: {pow2: [16, 64]}, tile_k: {pow2: [16, 64]}}' >g.yaml
"$NPUSIM" sweep run g.yaml -q -o grid >/dev/null || fail 'a grid fails'
least=$("$NPUSIM" sweep merge grid --json - | jq '[.[].cycles] | min')
found=$(jq '[.[] | select(.status == "run").cycles] | min' whole.json)
[ "$found" -le "$least" ] || fail "100 points of 134,217,728 find $found cycles, 27 of a grid have $least"
checks=$((checks + 3))

# Killed at any time: its first records, in the order in which they were written, and the same command again.
cat whole/points-* >all
for keep in 3 30 60; do
    mkdir "cut$keep" && cp whole/sweep.json "cut$keep" && head -n $keep all >"cut$keep/points-1-1-0.1.jsonl"
    "$NPUSIM" sweep run s.yaml -q -j 3 -o "cut$keep" >cut.txt || fail "after $keep records"
    "$NPUSIM" sweep merge "cut$keep" --csv cut.csv >/dev/null
    cmp whole.csv cut.csv || fail "cut after $keep records it ends otherwise"
    checks=$((checks + 2))
done
# Goals are numbers, each once, that points have.
while IFS='~' read -r search column why; do
    printf '%s\n' 'run: gemm' 'axes: {tile_m: [16, 32]}' "search: $search" >goal.yaml
    refuses 2 "goal.yaml:3:$column: $why" sweep run goal.yaml
done <<'END2'
{pareto: [mac_utilization, bound]}~36~pareto: bound is a word, neither more nor less
{pareto: [bound]}~19~pareto: bound is a word, neither more nor less
{pareto: [cycles, cycles]}~27~cycles stands there twice
{pareto: [cycles], pareto: [energy.total_uj]}~36~a second pareto
{pareto: []}~9~search: pareto or {pareto: [cycles, sram.peak_bytes], points: 500} would be right
{pareto: [cycles, tokens_per_s]}~27~tokens_per_s: runs of a kernel or program have no such figure
END2
printf '%s\n' 'run: gemm' 'axes: {tile_m: [16, 32]}' 'report: [cycles, bound, cycles]' >goal.yaml
refuses 2 'goal.yaml:3:25: cycles stands there twice' sweep run goal.yaml
[ $failures = 0 ] && echo "$checks checks of searches"
[ $failures = 0 ]
