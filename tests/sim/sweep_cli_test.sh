#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim sweep: what a specification must say, that results are the runs' own, the same ones whatever runs them, and that a kill
# loses nothing but what was in flight.
. "$SRC/tests/support/cli.sh"

# refuse STATUS TEXT ARGUMENT...: exit status and the last line of stderr.
refuse() {
    local want=$1 text=$2 status=0
    shift 2
    checks=$((checks + 1))
    "$NPUSIM" sweep "$@" >out 2>err </dev/null || status=$?
    [ "$status" = "$want" ] || fail "sweep $*: exit status $status, not $want"
    [ "$(tail -n 1 err)" = "npusim: $text" ] || fail "sweep $*:"$'\n'"  said   $(cat err)"$'\n'"  wanted npusim: $text"
}

# spec LINE...: what is wrong is on line 4 and below.
spec() {
    {
        printf '%s\n' 'run: flash_attention' 'with: {seq: 128, heads: 1}' 'hw: edge-1mb'
        printf '%s\n' "$@"
    } >s.yaml
}

# Specifications
spec 'axes: {tile_q: [32, 64]}' 'axis: 3'
refuse 2 's.yaml:5:1: unknown key axis; did you mean axes?' run s.yaml
spec 'axes: {tile_qq: [32, 64]}'
refuse 2 's.yaml:4:8: flash_attention has no parameter tile_qq; did you mean tile_q?' run s.yaml
spec 'axes: {sram.sise: [1MiB]}'
refuse 2 's.yaml:4:8: unknown key sram.sise; did you mean sram.size?' run s.yaml
spec 'axes: {tile_q: []}'
refuse 2 's.yaml:4:16: tile_q: the axis is empty' run s.yaml
spec 'axes: {tile_q: }'
refuse 2 's.yaml:4:16: tile_q: the axis is empty' run s.yaml
spec 'axes: {}'
refuse 2 's.yaml:4:7: axes takes keys and their values: {tile_q: [64, 128]}' run s.yaml
spec 'axes: {tile_q: [32, 32]}'
refuse 2 's.yaml:4:21: tile_q: 32 stands there twice' run s.yaml
spec 'axes: {seq: [32, 64]}'
refuse 2 's.yaml:4:8: seq is set twice' run s.yaml
spec 'axes: {tile_q: [32, 0]}'
refuse 2 's.yaml:4:21: tile_q=0: too small; tile_q must be 1 to 1048575 elements' run s.yaml
spec 'axes: {sram.size: [1MB]}'
refuse 2 's.yaml:4:20: sram.size=1MB: "MB" is no unit of a size here; write 1MiB (KiB, MiB, GiB or plain bytes)' run s.yaml
spec 'axes: {dram.part: [LPDDR5-640]}'
refuse 2 's.yaml:4:20: unknown DRAM part LPDDR5-640; did you mean LPDDR5-6400?' run s.yaml
printf '%s\n' 'run: flash_attention' 'axes: {hw: [edge-1mb, edge-3mb]}' >h.yaml
"$NPUSIM" sweep run h.yaml 2>err && fail 'a machine that is not there'
grep -q "^npusim: h.yaml:2:23: unknown hardware \"edge-3mb\"" err || fail "$(cat err)"
printf '%s\n' 'run: flash_attention' 'with: {seq: 128, heads: 1, sram.size: 512KiB}' 'axes: {hw: [edge-1mb, edge-2mb, tiny-256k], tile_q: [32, 64]}' >h.yaml
"$NPUSIM" sweep run h.yaml -q >out 2>err || fail "machines: $(cat err)"
command=$("$NPUSIM" sweep best h.sweep --where 'hw == "tiny-256k"' | tail -n 1)
# shellcheck disable=SC2086
[ "$("$NPUSIM" ${command#npusim } --report - | jq '[.cycles, .hw.sram.size, .hw.matrix.rows]' -c)" = \
    "$("$NPUSIM" sweep merge h.sweep --json - | jq '[.[] | select(.hw == "tiny-256k")] | min_by(.cycles) | [.cycles, 524288, 16]' -c)" ] ||
    fail "$command is another machine"
checks=$((checks + 3))
spec 'axes: {tile_q: {pow2: [24, 64]}}'
refuse 2 's.yaml:4:23: pow2 takes two powers of two, the smaller one first' run s.yaml
spec 'axes: {tile_q: {range: [64, 32, 8]}}'
refuse 2 's.yaml:4:24: range takes a first value, a last one that is not smaller, and a step of 1 or more' run s.yaml
spec 'axes: {array: {zip: {matrix.rows: [16, 32], matrix.cols: [16]}}}'
refuse 2 's.yaml:4:45: matrix.cols: 1 value, 2 of the one before: zipped axes are equally long' run s.yaml
spec 'axes: {tile_q: [32, 64]}' 'where: tile_q * tile_k < 3'
refuse 2 's.yaml:5:17: where: unknown name tile_k; did you mean tile_q?' run s.yaml
spec 'axes: {tile_q: [32, 64]}' 'where: tile_q * (3'
refuse 2 's.yaml:5:19: where: a ) is missing' run s.yaml
spec 'axes: {tile_q: [32, 64]}' 'where: tile_q > 64'
refuse 2 's.yaml:5:8: where: excludes all 2 points' run s.yaml
spec 'axes: {tile_q: [32, 64]}' 'report: [cylces]'
refuse 2 's.yaml:5:10: unknown figure cylces; did you mean cycles?' run s.yaml
spec 'axes: {tile_q: [32, 64]}' 'report: [bound, cycles]'
refuse 2 's.yaml:5:9: report: the first figure is what is made best, and bound is a word' run s.yaml
spec 'axes: {tile_q: [32, 64]}' 'search: {pareto: [cycles, bound]}'
refuse 2 's.yaml:5:27: pareto: bound is a word, neither more nor less' run s.yaml
spec 'axes: {tile_q: [32, 64]}' 'search: {pareto: [cycles, cycles]}'
refuse 2 's.yaml:5:27: cycles stands there twice' run s.yaml
spec 'axes: {tile_q: [32, 64]}' 'seed: 3'
refuse 2 's.yaml:5:7: seed: a sample or a search has one; a whole grid is what it is' run s.yaml
spec 'axes: {tile_q: [32, 64], tile_kv: [32, 64]}' 'where: [tile_q <= 32, tile_k >= 64]'
refuse 2 's.yaml:5:23: where: unknown name tile_k; did you mean tile_q?' run s.yaml
spec 'axes: {tile_q: [32, 64]}' 'where: []'
refuse 2 's.yaml:5:8: where takes a condition, or a list of them: tile_q * tile_kv <= 65536' run s.yaml
spec 'axes: {tile_q: [32, 64], tile_kv: [32, 64]}' 'where: [tile_q <= 32, "tile_kv >= 64"]'
"$NPUSIM" sweep run s.yaml -q -o listed | grep -q '^1 run, 3 not legal (3: where), 0 failed' || fail 'a list of conditions'
# Fractions, where a key takes them.
spec 'axes: {npu.clock_mhz: {range: [500, 501.5, 0.5]}}'
"$NPUSIM" sweep run s.yaml -q -o fractions >/dev/null && [ "$("$NPUSIM" sweep merge fractions --json - | jq -c 'map(."npu.clock_mhz")')" = '[500,500.5,501,501.5]' ] ||
    fail "fractions: $("$NPUSIM" sweep merge fractions --csv - | cut -d, -f1-7)"
spec 'axes: {npu.clock_mhz: {range: [500, 400, 0.5]}}'
refuse 2 's.yaml:4:31: range takes a first value, a last one that is not smaller, and a step above 0' run s.yaml
# Nothing is legal: an example for each reason, the same one whoever ran it.
spec 'axes: {tile_q: [2048, 4096], sram.groups: [3, 4]}'
sed -i 's/seq: 128/seq: 8192/' s.yaml
for j in 1 3; do
    "$NPUSIM" sweep run s.yaml -q -j $j -o refused$j >out$j 2>err && fail 'nothing is legal, and no error'
    [ "$(grep -c ', as in: ' out$j)" = 2 ] && [ "$(grep -c '^  npusim run ' out$j)" = 2 ] || fail "no examples: $(cat out$j)"
done
diff <(sed '/points\/s/d' out1) <(sed '/points\/s/d' out3) || fail 'other examples'
checks=$((checks + 5))
# 10^12 points
ten='{range: [1, 10000, 1]}'
spec "axes: {tile_q: $ten, tile_kv: $ten, window: $ten}"
refuse 2 's.yaml:4:7: 1,000,000,000,000 points, 10,000,000 at most are run one by one: `sample: N` takes some of them, `search: pareto` looks for the good ones' run s.yaml
echo 'sample: 3' >>s.yaml
"$NPUSIM" sweep run s.yaml -q -o sampled >out 2>err
grep -q '= 1,000,000,000,000 points, a sample of 3' out || fail "$(cat out)"
[ "$("$NPUSIM" sweep merge sampled --csv - | wc -l)" = 4 ] || fail 'a sample of 3 points'
checks=$((checks + 2))
refuse 2 'missing.yaml: cannot be read: No such file or directory' run missing.yaml
refuse 2 'sweep rum: did you mean run?' rum s.yaml
refuse 2 '--shard 3/2: I/N, as in 1/4 to 4/4, would be right' run s.yaml --shard 3/2

# A grid whose points are runs: the same figures, sorted, whoever ran them.
spec 'axes:' '  sram.size: [256KiB, 512KiB, 1MiB]' '  tile_q: {pow2: [32, 128]}' '  tile_kv: {pow2: [32, 512]}' \
    '  array: {zip: {matrix.rows: [16, 32], matrix.cols: [16, 32]}}' 'where: tile_q * tile_kv <= 32768'
sed -i 's/seq: 128/seq: 256/' s.yaml
"$NPUSIM" sweep run s.yaml -q -j 1 -o one >one.txt || fail 'a sweep fails'
"$NPUSIM" sweep run s.yaml -q -j 3 -o three >/dev/null || fail 'a sweep of three processes fails'
for i in 2 1 3; do "$NPUSIM" sweep run s.yaml -q -j 2 --shard $i/3 -o shards >/dev/null || fail "shard $i"; done
for f in one three shards; do
    "$NPUSIM" sweep merge $f --csv $f.csv --json $f.json >$f.out || fail "merge $f: $(cat $f.out)"
    cmp one.csv $f.csv && cmp one.json $f.json && cmp one/sweep.sqlite $f/sweep.sqlite || fail "$f is not as one process had it"
    checks=$((checks + 3))
done
[ "$(jq length one.json)" = 90 ] || fail '3 x 3 x 5 x 2 points are not 90'
# 6 pairs of array and SRAM for 128 x 512, the only one above 32,768
[ "$(jq '[.[] | select(.reason == "where")] | length' one.json)" = 6 ] || fail 'where excludes 3 x 2 points of 128 x 512'
jq -e 'all(.[]; .status == "run" or (.status == "not legal" and .reason != null))' one.json >/dev/null || fail 'a point is neither'
jq -e '[.[] | select(.reason == "buffers exceed SRAM")] | length > 0 and all(.[]; .error | test("bytes of SRAM"))' one.json >/dev/null ||
    fail 'no point exceeds the SRAM'
checks=$((checks + 4))
"$NPUSIM" sweep best one --where 'sram<=512KiB && array==32x32' >best 2>err || fail "best: $(cat err)"
command=$(tail -n 1 best)
least=$(jq '[.[] | select(.status == "run" and .["sram.size"] <= 524288 and .["matrix.rows"] == 32).cycles] | min' one.json)
# shellcheck disable=SC2086
got=$("$NPUSIM" ${command#npusim } --report - | jq .cycles)
[ "$got" = "$least" ] || fail "best is $command: $got cycles, the least are $least"
# Its report, figure by figure.
# shellcheck disable=SC2086
"$NPUSIM" ${command#npusim } --report r.json >/dev/null
point=$(sed -n 2p best | awk '{print $1}')
jq -e --argjson p "$point" --slurpfile r r.json '.[] | select(.point == $p) | . as $x | $r[0] |
    .energy.total_uj - $x["energy.total_uj"] < 1e-6 and .dram.bus_bytes == $x["dram.bus_bytes"] and .bound == $x.bound and
    .engines.matrix.busy == $x["engines.matrix.busy"] and .engines.vector.stalls.wait_matrix == $x["engines.vector.wait_matrix"] and
    .program.instructions == $x.instructions' one.json >/dev/null || fail 'a point is not what its run reports'
sqlite3 one/sweep.sqlite 'select min(cycles) from points where "sram.size" <= 524288 and "matrix.rows" = 32' 2>/dev/null | grep -qx "$least" ||
    ! command -v sqlite3 >/dev/null || fail 'SQLite has another minimum'
# Conditions on what is not swept: parameters as resolved, keys of the machine, figures that are words.
for pair in 'buffering==double|1' 'buffering==triple|0' 'head_dim == 128 && vector.lanes >= 32|1' 'vector.lanes > 32|0' 'matrix.dataflow == ws|1' 'accum >= 256KiB|1' 'accum > 256KiB|0' \
    'cycles < 1e9|1' 'cycles < 1e1|0' 'bound == "dram" || bound == "matrix" || bound == "vector" || bound == "latency" || bound == "sram"|1' 'bound == "dispatch"|0'; do
    "$NPUSIM" sweep best one --where "${pair%|*}" >out 2>err
    [ $? = $((1 - ${pair##*|})) ] || fail "best --where '${pair%|*}': $(cat out err)"
    checks=$((checks + 1))
done
refuse 2 '--where: unknown name tile_w; did you mean tile_q?' best one --where 'tile_w < 3'
refuse 2 '--by: unknown figure cycle; did you mean cycles?' best one --by cycle
refuse 1 'no point that was run and fits --where has a value of cycles' best one --where 'cycles < 1'
refuse 2 'nothing: no sweep is in there (sweep.json is missing)' best nothing
checks=$((checks + 3))

# Answers: flat, not legal with the nearest legal point.
grep -q '^fastest for each sram.size, array 32x32$' one.txt || fail "no table of sram.size: $(cat one.txt)"
grep -q '^flat: sram.size .* -> 1MiB changes nothing, the best tiles use [0-9]* KiB$' one.txt || fail "not flat: $(cat one.txt)"
grep -Eq '^where +6 ' one.txt && grep -Eq '^buffers exceed SRAM ' one.txt || fail "no histogram of refusals: $(cat one.txt)"
checks=$((checks + 3))

# The same command again does nothing; another specification, two at once, a folder that cannot be.
"$NPUSIM" sweep run s.yaml -o one 2>err | grep -v points/s >again || fail 'again fails'
diff <(sed 's/        [0-9.]* s, [0-9.]* points\/s$//' one.txt) again >/dev/null || fail "again says: $(cat again)"
cp s.yaml other.yaml
sed -i 's/heads: 1/heads: 2/' other.yaml
refuse 2 'one holds results of another sweep; another folder (-o) would be right' run other.yaml -o one
sed 's/"version": "[^"]*"/"version": "0.0.1"/; s/"identity": "./"identity": "-/' one/sweep.json >x && mkdir old && cp x old/sweep.json
refuse 2 'old holds results of npusim 0.0.1, this is another version; another folder (-o) would be right' run s.yaml -o old
refuse 2 'old holds results of npusim 0.0.1, this is another version; another folder (-o) would be right' run s.yaml -o old --dry-run
# With its records, and nothing else changed: not gone on with, but read.
cp -r one elder && sed -i 's/"version": "[^"]*"/"version": "0.0.1"/' elder/sweep.json
refuse 2 'elder holds results of npusim 0.0.1, this is another version; another folder (-o) would be right' run s.yaml -o elder
"$NPUSIM" sweep merge elder --csv elder.csv >/dev/null 2>err && cmp one.csv elder.csv || fail "results of another version are not read: $(cat err)"
# Files beside the specification decide by what is in them, wherever they are named from: machine, DRAM part, program and what it includes.
mkdir beside
cp "$SRC/models/presets/dram/LPDDR4X-4266.yaml" beside/own.yaml
printf '%s\n' 'extends: edge-1mb' 'sram: {banks: 16}' >beside/m.yaml
printf '%s\n' '.macro move x' '  load x, A[:, :]' '.end' >beside/i.npu
printf '%s\n' '.include "i.npu"' '.param n=64' '.tensor A[64, n] fp16 in' '.sram a[64, n] fp16' 'move a' >beside/p.npu
cat >beside/with.yaml <<'END'
run: gemm
with: {m: 64, n: 64, k: 64, dram.part: own.yaml}
axes: {tile_m: [16, 32]}
END
cat >beside/axis.yaml <<'END'
run: ./p.npu
axes: {hw: [edge-1mb, m.yaml], dram.part: [LPDDR4X-4266, ./own.yaml]}
END
for f in with axis; do
    "$NPUSIM" sweep run beside/$f.yaml -q -o $f.d >out 2>err || fail "files beside $f.yaml: $(cat out err)"
    (cd beside && "$NPUSIM" sweep run $f.yaml -q -o ../$f.d >../out 2>../err) || fail "the same from another folder: $(cat err)"
done
# changed SPEC FILE SED
changed() {
    cp -r beside keep
    sed -i "$3" "beside/$2"
    cmp -s "beside/$2" "keep/$2" && fail "$3 changes nothing in $2"
    refuse 2 "$1.d holds results of another sweep: $PWD/beside/$2 has changed since; another folder (-o) would be right" run beside/$1.yaml -q -o $1.d
    rm -r beside && mv keep beside
}
changed with own.yaml 's/^CL: 36/CL: 40/'
changed axis own.yaml 's/^CL: 36/CL: 40/'
changed axis m.yaml 's/banks: 16/banks: 32/'
changed axis p.npu 's/n=64/n=32/'
changed axis i.npu 's/load x/load  x/'
checks=$((checks + 4))
exec 9>one/lock && flock 9
refuse 2 'one: another sweep is running in this folder' run s.yaml -o one
exec 9>&-
: >file
refuse 2 'file is no folder; results need one' run s.yaml -o file
refuse 2 '/proc/nothing: the folder cannot be made: No such file or directory' run s.yaml -o /proc/nothing
checks=$((checks + 1))

# kill -9 in the middle: what is on the disk stays, the tail that is no record goes, the same command goes on.
spec 'axes:' '  tile_q: {pow2: [16, 128]}' '  tile_kv: {pow2: [16, 128]}' '  sram.size: [512KiB, 1MiB]'
sed -i 's/seq: 128/seq: 512/' s.yaml
"$NPUSIM" sweep run s.yaml -q -o whole >/dev/null || fail 'whole'
"$NPUSIM" sweep run s.yaml -q -j 2 -o killed >/dev/null &
for _ in $(seq 200); do [ "$(cat killed/points-* 2>/dev/null | wc -l)" -ge 10 ] && break; sleep 0.02; done
kill -KILL $!
wait $! 2>/dev/null
left=$(cat killed/points-* | grep -c '"sum"')
[ "$left" -lt 32 ] || echo 'note: all was done before the kill'
printf '{"point":3,"status":"run"' >>"$(ls killed/points-* | head -n 1)"
flock -w 20 killed/lock true || fail 'workers outlive their sweep'
"$NPUSIM" sweep run s.yaml -o killed >out 2>err || fail "after a kill: $(cat err)"
grep -q 'points are in killed already' err || fail "after a kill nothing was there: $(cat err)"
for f in whole killed; do "$NPUSIM" sweep merge $f --csv $f.csv >/dev/null 2>merge.err || fail "merge $f: $(cat merge.err)"; done
cmp whole.csv killed.csv || fail 'a sweep that was killed ends otherwise'
# A record that was changed is none.
sed -i '0,/"cycles":[0-9]*/s//"cycles":1/' "$(ls whole/points-*.jsonl | head -n 1)"
"$NPUSIM" sweep merge whole >out 2>err && fail 'a damaged point is not missed'
grep -q '1 damaged line is left out' err && grep -q '1 of 32 points are missing' err || fail "damage: $(cat err)"
checks=$((checks + 5))

# Ctrl-C
"$NPUSIM" sweep run s.yaml -q -j 2 -o stopped >out 2>err &
for _ in $(seq 200); do [ -n "$(cat stopped/points-* 2>/dev/null)" ] && break; sleep 0.02; done
kill -TERM $!
wait $!
status=$?
[ $status = 130 ] || [ $status = 0 ] || fail "stopped: $status"
[ $status = 0 ] || grep -q 'interrupted; what is done is kept in stopped, the same command goes on' err || fail "stopped: $(cat err)"
"$NPUSIM" sweep run s.yaml -q -o stopped >/dev/null || fail 'after a stop'
"$NPUSIM" sweep merge stopped --csv stopped.csv >/dev/null
cmp killed.csv stopped.csv || fail 'a sweep that was stopped ends otherwise'
checks=$((checks + 3))

# A disk that is full: a limit on the size of files.
(trap '' XFSZ; ulimit -f 8; "$NPUSIM" sweep run s.yaml -q -j 1 -o full >out 2>err)
[ $? = 2 ] && grep -q 'cannot be written: File too large' err || fail "a full disk: $(cat err)"
"$NPUSIM" sweep run s.yaml -q -o full >/dev/null || fail 'after a full disk'
"$NPUSIM" sweep merge full --csv full.csv >/dev/null
cmp killed.csv full.csv || fail 'a sweep on a disk that was full ends otherwise'
checks=$((checks + 3))

# A point that fails, here for want of memory, is told with a command that runs it again.
printf '%s\n' 'run: flash_attention' 'with: {heads: 1, tile_q: 16, tile_kv: 16}' 'axes: {seq: [128, 16384]}' >f.yaml
if (ulimit -v 300000; "$NPUSIM" --version >/dev/null 2>&1); then
    (ulimit -v 300000; "$NPUSIM" sweep run f.yaml -q >out 2>err)
    [ $? = 1 ] && grep -q '^1 run, 0 not legal, 1 failed' out && grep -q '^failed: out of memory' out || fail "a failure: $(cat out)"
    grep -q '^  npusim run flash_attention heads=1 tile_q=16 tile_kv=16 --hw edge-1mb seq=16384$' out || fail "no command: $(cat out)"
    "$NPUSIM" sweep best f.sweep >/dev/null 2>err || fail 'a folder with a failure'
    grep -qx 'npusim: warning: 1 of 2 points have failed in f.sweep: the best may be among them' err || fail "nothing is said of a failure: $(cat err)"
    checks=$((checks + 4))
fi

# A program, its parameters; a search; a model.
cat >p.npu <<'END'
.param   n=64, rows=256
.require n >= 32, "n={n} is too small"
.tensor  A[rows, n] fp16 in
.tensor  B[rows, n] fp16 out
.sram    a[rows, n] fp16
.sem     full
  load   a, A[:, :]     post full
  store  B[:, :], a     wait full
END
printf '%s\n' 'run: p.npu' 'axes: {n: [16, 32, 64], dma.max_burst: [64, 256]}' 'report: [cycles, dram.gb_per_s, bound]' >p.yaml
"$NPUSIM" sweep run p.yaml -q >out 2>err || fail "a program: $(cat err)"
grep -q '^4 run, 2 not legal' out || fail "a program: $(cat out)"
printf '%s\n' 'run: p.npu' 'axes: {m: [16, 32]}' >q.yaml
refuse 2 'q.yaml:2:8: ./p.npu has no parameter m; did you mean n?' run q.yaml
printf '%s\n' 'run: flash_attention' 'with: {seq: 128, heads: 1}' 'axes: {tile_q: {range: [16, 256, 16]}, tile_kv: {range: [16, 256, 16]}, sram.size: {pow2: [256KiB, 4MiB]}, buffering: [single, double, triple]}' \
    'search: {pareto: [cycles, sram.peak_bytes], points: 60}' >f.yaml
for j in 1 3; do
    "$NPUSIM" sweep run f.yaml -q -j $j -o search$j >out 2>err || fail "search: $(cat err)"
    "$NPUSIM" sweep merge search$j --csv search$j.csv >/dev/null
done
cmp search1.csv search3.csv || fail 'a search depends on the number of processes'
keys=$("$NPUSIM" sweep merge search1 --json - | jq '[.[] | select(.status == "run").key] | unique | length')
[ "$keys" = 60 ] || fail "a search of 60 points runs $keys programs"
printf '%s\n' 'model: stories260k' 'with: {context: 64}' 'axes: {phase: [prefill, decode], batch: [1, 4]}' >m.yaml
"$NPUSIM" sweep run m.yaml -q >out 2>err || fail "a model: $(cat err)"
command=$("$NPUSIM" sweep best m.sweep --by tokens_per_s --where 'phase == decode' | tail -n 1)
# shellcheck disable=SC2086
want=$("$NPUSIM" ${command#npusim } --report - | jq .tokens_per_s)
[ "$("$NPUSIM" sweep merge m.sweep --json - | jq 'map(.key) | unique | length')" = 4 ] || fail 'steps of a model share a key'
"$NPUSIM" sweep merge m.sweep --json - | jq -e --argjson w "$want" \
    '[.[] | select(.phase == "decode").tokens_per_s] | max | (. - $w) / $w | fabs < 1e-9' >/dev/null || fail "$command: $want tokens/s"
checks=$((checks + 8))

# Scripts for Slurm, without it.
"$NPUSIM" sweep submit s.yaml -o cluster --slurm --dry-run --shards 4 --array-limit 2 -j 2 >out || fail 'submit'
grep -q '^#SBATCH --array=1-4%2$' cluster/array.sbatch && grep -q -- '--shard "$SLURM_ARRAY_TASK_ID/4" -j 2$' cluster/array.sbatch ||
    fail "$(cat cluster/array.sbatch)"
grep -q "parallel -0 -q .* --shard {1}/4 -j 2 ::: \$(seq 4) ::: .*; .* sweep merge '" out || fail "$(cat out)"
refuse 2 "$PWD/one holds results of another sweep; another folder (-o) would be right" submit s.yaml -o one --slurm --dry-run
for i in 1 2 3; do SLURM_ARRAY_TASK_ID=$i bash cluster/array.sbatch >/dev/null 2>&1 || fail "task $i"; done
bash cluster/merge.sbatch >out 2>err && fail 'a merge without the last shard says nothing'
grep -q '8 of 32 points are missing' err || fail "merge: $(cat err)"
SLURM_ARRAY_TASK_ID=4 bash cluster/array.sbatch >/dev/null 2>&1 && bash cluster/merge.sbatch >/dev/null 2>&1 || fail 'the last task'
"$NPUSIM" sweep merge cluster --csv cluster.csv >/dev/null
cmp killed.csv cluster.csv || fail 'shards end otherwise'
checks=$((checks + 6))

[ $failures = 0 ] && echo "$checks checks of sweep"
[ $failures = 0 ]
