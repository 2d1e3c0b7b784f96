#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A process that runs points is killed: another one goes on, nothing is lost, and somebody is told. A dry run takes seconds, whatever
# its points take, and counts what is left to do.
. "$SRC/tests/support/cli.sh"
printf '%s\n' 'run: flash_attention' 'with: {seq: 512, heads: 1}' 'axes:' '  tile_q: {pow2: [16, 128]}' '  tile_kv: {pow2: [16, 128]}' '  sram.size: [512KiB, 1MiB]' \
    'where: tile_q + tile_kv > 32' >s.yaml
"$NPUSIM" sweep run s.yaml -q -o whole >/dev/null && "$NPUSIM" sweep merge whole --csv whole.csv >/dev/null || fail 'a sweep fails'

# kill -9 of the first worker, among the first points, of several later on.
"$NPUSIM" sweep run s.yaml -q --each -j 2 -o killed >out 2>err &
sweep=$!
killed=0
for _ in $(seq 400); do
    [ -e "/proc/$sweep" ] || break
    worker=$(cut -d' ' -f1 "/proc/$sweep/task/$sweep/children" 2>/dev/null)
    [ -n "$worker" ] && [ "$(cat killed/points-* 2>/dev/null | wc -l)" -ge $((2 + 5 * killed)) ] && kill -KILL "$worker" 2>/dev/null && killed=$((killed + 1))
    [ $killed -lt 3 ] || break
    sleep 0.02
done
wait $sweep
status=$?
# A point that lost its process twice has failed, and is tried again by the same command.
[ $status = 0 ] || { [ $status = 1 ] && "$NPUSIM" sweep run s.yaml -q --each -j 2 -o killed >out 2>again; } ||
    fail "a sweep whose processes are killed ends with $status: $(cat err again)"
"$NPUSIM" sweep merge killed --csv killed.csv >/dev/null 2>merge.err || fail "merge: $(cat merge.err)"
cmp whole.csv killed.csv || fail 'a sweep whose processes were killed ends otherwise'
[ $killed -gt 0 ] || echo "note: all was done before a kill"
[ $killed = 0 ] || [ "$(grep -c '^npusim: warning: a process that runs points has ended by signal 9' err)" -ge 1 ] || fail "nothing is said of $killed killed processes: $(cat err)"
checks=$((checks + 4))

# What is to go: 2 of 32 points are excluded, 4 are there.
"$NPUSIM" sweep run s.yaml --dry-run -j 2 -o none >out 2>err || fail "$(cat err)"
grep -qx '2 excluded by where' out && grep -qx '30 to go' out && grep -q '^30 points to go on 2 processes: at most ' err || fail "a dry run says: $(cat out err)"
[ ! -e none ] || fail 'a dry run keeps something'
"$NPUSIM" sweep run s.yaml --dry-run -o whole >out 2>err || fail "$(cat err)"
grep -qx '0 to go' out && ! grep -q 'points to go' err || fail "a sweep that is done: $(cat out err)"
printf '%s\n' 'run: gemm' 'with: {m: 1024, n: 1024, k: 1024, tile_m: 8, tile_n: 8}' 'axes: {tile_k: [8, 9, 10, 11, 12, 13]}' >long.yaml
begun=$SECONDS
"$NPUSIM" sweep run long.yaml --dry-run -j 2 >out 2>err || fail "$(cat err)"
[ $((SECONDS - begun)) -le 40 ] || fail "a dry run takes $((SECONDS - begun)) s"
grep -Eq '^6 points to go on 2 processes: (more than|about) ' err || fail "$(cat err)"
checks=$((checks + 5))
[ $failures = 0 ] && echo "$checks checks of workers"
[ $failures = 0 ]
