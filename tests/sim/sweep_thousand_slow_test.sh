#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A thousand points of attention, SRAM x tiles x arrays, take less than a minute of two processors: less than two minutes of user and
# system time in all, however many others use the machine. More points take no more memory, and those that are simulated for
# themselves have the same figures as those that share.
. "$SRC/tests/support/cli.sh"
cat >s.yaml <<'END'
run: flash_attention
with: {seq: 512, heads: 8, head_dim: 128}
axes:
  sram.size: [256KiB, 512KiB, 1MiB, 2MiB, 4MiB]
  tile_q: {pow2: [32, 512]}
  tile_kv: {pow2: [32, 512]}
  array: {zip: {matrix.rows: [16, 32, 64, 128], matrix.cols: [16, 32, 64, 128]}}
  buffering: [single, double]
END
cat >usage.py <<'END'
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=open("out", "w"), stderr=open("err", "w")).returncode
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, round(u.ru_utime + u.ru_stime, 1), u.ru_maxrss)
END
read -r status seconds kib < <(python3 usage.py "$NPUSIM" sweep run s.yaml -q -j 2 -o all)
[ "$status" = 0 ] || fail "a thousand points: $(cat err)"
grep -q '= 1,000 points$' out || fail "$(head -n 1 out)"
awk -v s="$seconds" 'BEGIN{exit !(s < 120)}' || fail "a thousand points take $seconds s of the processors"
echo "1,000 points: $seconds s of user and system time, $kib KiB a process at most"
{ cat s.yaml; echo 'sample: 60'; } >few.yaml
read -r status _ few < <(python3 usage.py "$NPUSIM" sweep run few.yaml -q -j 2 --each -o few)
[ "$status" = 0 ] || fail "a sample: $(cat err)"
awk -v a="$kib" -v b="$few" 'BEGIN{exit !(a < 1.3 * b)}' || fail "1,000 points take $kib KiB, 60 of them $few"
"$NPUSIM" sweep merge all --json all.json >/dev/null && "$NPUSIM" sweep merge few --json few.json >/dev/null || fail 'merge'
jq -e --slurpfile all all.json 'length == 60 and all(.[]; . as $x | any($all[0][]; . == $x))' few.json >/dev/null || fail 'a point that shares has other figures'
# What answers at the end holds what a point is, not its record: some 24 bytes, twice that while they are put in order.
printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64}' 'axes: {tile_m: {range: [1, 500, 1]}, tile_n: {range: [1, 400, 1]}}' 'where: tile_m % 64 == 0 && tile_n % 64 == 0' >many.yaml
{ cat many.yaml && echo 'sample: 1000'; } >part.yaml
read -r status _ part < <(python3 usage.py "$NPUSIM" sweep run part.yaml -q -j 2 -o part)
read -r status _ many < <(python3 usage.py "$NPUSIM" sweep run many.yaml -q -j 2 -o many)
grep -q '^42 run, 199,958 not legal' out || fail "$(cat out err)"
awk -v a="$part" -v b="$many" 'BEGIN{exit !((b - a) * 1024 / 199000 < 64)}' || fail "200,000 points take $many KiB, 1,000 of them $part"
echo "200,000 points, 42 of them legal: $many KiB a process at most; 1,000 of them $part KiB"
checks=8
[ $failures = 0 ] && echo "$checks checks of a thousand points"
[ $failures = 0 ]
