#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a sweep says at its end: something, whatever its axes are; nothing that only came of what was not tried; time, not cycles, where
# the clock is swept; and that an axis turns only where it does.
. "$SRC/tests/support/cli.sh"

# sweep NAME LINE...: runs gemm 64 x 64 x 64, what it says into NAME.
sweep() {
    local name=$1
    shift
    printf '%s\n' 'run: gemm' "$@" >$name.yaml
    "$NPUSIM" sweep run $name.yaml -q -o $name.d >$name 2>err || fail "$name: $(cat err)"
}

# A sample compares nothing; the same grid does.
axes='axes: {tile_m: [16, 32, 64], tile_n: [16, 32, 64], tile_k: [16, 32, 64], sram.size: [256KiB, 512KiB, 1MiB, 2MiB]}'
sweep sample 'with: {m: 64, n: 64, k: 64}' "$axes" 'sample: 12'
sweep grid 'with: {m: 64, n: 64, k: 64}' "$axes"
grep -Eq 'gain|^flat|^not monotonic|^more ' sample && fail "a sample tells what it cannot know: $(cat sample)"
grep -q '^fastest of what was tried for each sram.size; the other axes were not exhausted' sample || fail "a sample tells nothing: $(cat sample)"
grep -q '^flat: sram.size 256KiB -> 2MiB changes nothing' grid || fail "$(cat grid)"
checks=$((checks + 3))

# A search ends with its front: each row, and no other, is beaten by nothing.
sweep search 'with: {m: 64, n: 64, k: 64}' 'axes: {tile_m: [8, 16, 32, 64], tile_n: [8, 16, 32, 64], tile_k: [8, 16, 32, 64]}' 'search: {pareto: [cycles, sram.peak_bytes], points: 60}'
"$NPUSIM" sweep merge search.d --json - | jq -r '[.[] | select(.status == "run")] as $p | [$p[] | . as $x | select(all($p[]; .cycles > $x.cycles or ."sram.peak_bytes" > $x."sram.peak_bytes" or
    (.cycles == $x.cycles and ."sram.peak_bytes" == $x."sram.peak_bytes"))).cycles] | unique | .[]' >want
sed -n '/^Pareto front/,/^$/p' search | sed '1,2d;/^$/d' | awk '{gsub(",", "", $4); print $4}' | sort -n | diff want - || fail "the front: $(cat search)"
[ "$(wc -l <want)" -gt 1 ] || fail 'a front of one point shows nothing'
checks=$((checks + 2))

# A clock that is swept: 2,000 MHz take more cycles for the DRAM and less time.
sweep clock 'with: {m: 64, n: 64, k: 64}' 'axes: {npu.clock_mhz: [500, 1000, 2000]}'
grep -q '^npu.clock_mhz  time us ' clock && grep -q '^fastest for each npu.clock_mhz' clock || fail "$(cat clock)"
"$NPUSIM" sweep best clock.d | grep -q 'npu.clock_mhz=2000$' || fail "the fastest is not that of the least time: $("$NPUSIM" sweep best clock.d)"
printf '%s\n' 'extends: edge-1mb' 'npu: {clock_mhz: 500}' >slow.yaml
sweep machines 'with: {m: 64, n: 64, k: 64}' 'axes: {hw: [slow.yaml, edge-1mb]}'
grep -q '^hw  *time us' machines || fail "machines of two clocks: $(cat machines)"
sweep cycles 'with: {m: 64, n: 64, k: 64}' 'axes: {npu.clock_mhz: [500, 1000]}' 'report: [cycles]'
grep -q '^fewest cycles (clocks differ: time_us tells what is fastest) for each' cycles && ! grep -q '^fastest' cycles || fail "$(cat cycles)"
checks=$((checks + 4))

# Worse all the way is no turn; a value between two worse ones is.
sweep grows 'with: {m: 64, k: 64}' 'axes: {n: [16, 64, 256, 1024]}'
grep -q 'not monotonic' grows && fail "an axis that only grows: $(cat grows)"
grep -Eq '^more cycles with n, 16 -> 1024 \+[0-9.]+ %: ' grows || fail "$(cat grows)"
sweep turns 'with: {m: 128, n: 128, k: 128, tile_m: 128, tile_n: 128}' 'axes: {tile_k: [16, 32, 128]}'
cycles() { "$NPUSIM" run gemm m=128 n=128 k=128 tile_m=128 tile_n=128 tile_k="$1" --report - | jq .cycles; }
loss=$(jq -n "100 * ($(cycles 128) / $(cycles 32) - 1) * 10 | round / 10")
[ "$(cycles 32)" -lt "$(cycles 16)" ] && grep -q "^not monotonic: tile_k 32 -> 128 loses $loss %: " turns || fail "$loss %: $(cat turns)"
checks=$((checks + 3))

# Axes of very many values, of one value, of none that matters.
sweep many 'with: {m: 64, k: 64}' 'axes: {n: {range: [1, 300, 1]}}'
[ "$(grep -c '^[0-9]* *[0-9,]* *[+-]' many)" -ge 10 ] && [ "$(wc -l <many)" -le 30 ] || fail "an axis of 300 values: $(cat many)"
sweep one 'with: {m: 64, n: 64, k: 64}' 'axes: {sram.size: [1MiB], tile_k: [16, 32]}'
grep -q '^fastest for each tile_k' one || fail "a hardware axis of one value hides the others: $(cat one)"
sweep only 'with: {m: 64, n: 64, k: 64}' 'axes: {sram.size: [1MiB]}'
grep -q '^fastest$' only && grep -q '^1MiB ' only && grep -q ' = 1 point$' only || fail "one point: $(cat only)"
checks=$((checks + 3))

# A figure that the subject does not have is refused before anything is run.
printf '%s\n' 'run: gemm' 'axes: {tile_k: [16, 32]}' 'report: [tokens_per_s]' >no.yaml
refuses 2 'no.yaml:3:10: tokens_per_s: runs of a kernel or program have no such figure' sweep run no.yaml
printf '%s\n' 'model: stories260k' 'axes: {batch: [1, 2]}' 'search: {pareto: [dram.row_hit_fraction]}' >no.yaml
refuses 2 'no.yaml:3:19: dram.row_hit_fraction: steps of a model have no such figure' sweep run no.yaml
[ $failures = 0 ] && echo "$checks checks of answers"
[ $failures = 0 ]
