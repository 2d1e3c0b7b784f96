#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim sweep over a plug-in: points are its runs, whoever runs them; those at which it crashes or never returns fail alone,
# and nothing of it stays behind.
. "$SRC/tests/support/cli.sh"
unset MISHAP MISHAP_ROWS
# A crash shall be one, in a build with a sanitizer too.
export ASAN_OPTIONS=handle_segv=0:handle_abort=0:handle_sigbus=0:detect_leaks=0

# build FILE OPTION...: a plug-in from mishap.c.
build() {
    local file=$1
    shift
    cc -std=c17 -I"$BUILD/kernels/api" -fPIC -shared "$@" -o "$file" "$SRC/tests/api/mishap.c" || fail "$file does not compile"
}

# sweeps FOLDER ARGUMENT...: a sweep of spec/s.yaml that ends well; its table is FOLDER.csv.
sweeps() {
    local into=$1
    shift
    checks=$((checks + 1))
    timeout 100 "$NPUSIM" sweep run spec/s.yaml -q -o "$into" "$@" >out 2>err || fail "sweep $into $*: exit status $?: $(cat err out)"
    table "$into"
}

table() { "$NPUSIM" sweep merge "$1" --csv "$1.csv" --json "$1.json" >merged 2>&1; }

mkdir spec
build spec/good.so
cat >spec/s.yaml <<'END'
run: ./good.so
axes: {rows: [4, 8, 16, 32, 64, 128], how: [none, some], sram.size: [512KiB, 1MiB]}
where: rows * 2 <= 128
report: [cycles, dram.read_bytes]
END

# 6 x 2 x 2 points, 2 x 2 of them with 128 rows.
sweeps one -j 1
grep -q '^good.so: 6 rows x 2 how x 2 sram.size = 24 points$' out && grep -q '^20 run, 4 not legal (4: where), 0 failed ' out || fail "$(cat out)"
sweeps four -j 4
for i in 2 1; do sweeps shards --shard $i/2 -j 2; done
for f in four shards; do
    cmp one.csv $f.csv && cmp one/sweep.sqlite $f/sweep.sqlite || fail "$f is not as one process had it"
done
# Each is the run that its command makes: rows x 64 values of 2 bytes are read.
jq -e 'all(.[] | select(.status == "run"); ."dram.read_bytes" == .rows * 128)' one.json >/dev/null || fail 'not rows x 64 x 2 bytes'
"$NPUSIM" sweep best one --where 'rows == 32' >best
command=$(tail -n 1 best)
[[ $command == "npusim run $PWD/spec/good.so "* ]] || fail "best: $command"
# shellcheck disable=SC2086
[ "$("$NPUSIM" ${command#npusim } --report - | jq .cycles)" = "$(jq '[.[] | select(.rows == 32).cycles] | min' one.json)" ] ||
    fail "$command has other cycles"
checks=$((checks + 5))

# Its file is part of the sweep and of each key: the same program from another file is another point.
build other.so -O2
mkdir moved && cp spec/s.yaml moved/ && cp spec/good.so moved/
"$NPUSIM" sweep run moved/s.yaml -q -o one >out 2>err || fail "the same file elsewhere: $(cat err)"
cp other.so moved/good.so
"$NPUSIM" sweep run moved/s.yaml -q -o one >out 2>err && fail 'another file goes on in the folder'
grep -qx "npusim: one holds results of another sweep: $PWD/moved/good.so has changed since; another folder (-o) would be right" err || fail "another file: $(cat err)"
"$NPUSIM" sweep run moved/s.yaml -q -o moved/out >out 2>err || fail "$(cat err)"
table moved/out
jq -e -n --slurpfile a one.json --slurpfile b moved/out.json '[range(24) | select($a[0][.].status == "run") |
    $a[0][.].cycles == $b[0][.].cycles and $a[0][.].key != $b[0][.].key] | length == 20 and all' >/dev/null || fail 'keys and cycles of another file'
jq -e '[.[] | select(.status == "run").key] | length == 20' one.json >/dev/null || fail 'no keys'
checks=$((checks + 5))

# fails_alone "JOBS..." MISHAP TEXT [ARGUMENT...]: the points where it goes wrong fail, and the others are what they were.
fails_alone() {
    local jobs=$1 text=$3
    export MISHAP=$2 MISHAP_ROWS=16
    shift 3
    for j in $jobs; do
        rm -rf bad
        timeout 100 "$NPUSIM" sweep run spec/s.yaml -q -o bad -j $j "$@" >out$j 2>err
        [ $? = 1 ] || fail "$MISHAP -j $j: exit status"
        grep -q '^16 run, 4 not legal (4: where), 4 failed ' out$j || fail "$MISHAP -j $j: $(cat out$j)"
        [ "$(grep -c "^failed: spec/./good.so: $text\$" out$j)" = 4 ] || fail "$MISHAP -j $j: $(grep ^failed out$j)"
        sed -i 's/        [0-9.]* s, [0-9.]* points\/s$//' out$j
        table bad
        jq -e -n --slurpfile a one.json --slurpfile b bad.json \
            '[range(24) | select($b[0][.].status != "failed") | $a[0][.] == $b[0][.]] | length == 20 and all' >/dev/null ||
            fail "$MISHAP -j $j: other points are not what they were"
    done
    [ "$jobs" = 4 ] || cmp out1 out4 || fail "$MISHAP: -j 4 says something else than -j 1"
    # The command fails in the same way.
    command=$(grep -A 1 '^failed' out4 | sed -n 2p)
    # shellcheck disable=SC2086
    timeout 100 "$NPUSIM" ${command#  npusim } >out 2>err && fail "$command does not fail"
    [ "$(cat err)" = "npusim: $PWD/spec/good.so: ${text//\\/}" ] || fail "$command: $(cat err)"
    unset MISHAP MISHAP_ROWS
    checks=$((checks + 9))
}

fails_alone "1 4" emit:crash 'emit crashed: Segmentation fault (signal 11)'
fails_alone 4 resolve:abort 'resolve crashed: Aborted (signal 6)'
fails_alone 4 emit:exit 'emit called exit(0)'
fails_alone 4 emit:closeall 'emit closed a descriptor that it had not opened'
fails_alone 4 emit:memory 'emit took more than 64 MiB of memory (--plugin-memory sets the limit)' --plugin-memory 64MiB
fails_alone "1 4" emit:loop 'emit has not returned after 0.2 s (--plugin-timeout sets the limit)' --plugin-timeout 0.2
fails_alone 4 emit:false 'emit failed without an error'
# The next run tries the failed ones again, and only those.
"$NPUSIM" sweep run spec/s.yaml -o bad >out 2>err || fail "after failures: $(cat err)"
grep -q '^20 points are in bad already$' err && grep -q '^20 run, 4 not legal (4: where), 0 failed' out || fail "after failures: $(cat err out)"
table bad
cmp one.csv bad.csv || fail 'failures leave something behind'
checks=$((checks + 3))

# What says that it cannot be is not legal.
MISHAP=resolve:error MISHAP_ROWS=16 "$NPUSIM" sweep run spec/s.yaml -q -o refused >out 2>err || fail "$(cat err)"
grep -q '^16 run, 8 not legal (4: does not fit, 4: where), 0 failed' out || fail "refused: $(cat out)"
# What it prints is in no record.
MISHAP=emit:print sweeps printed -j 2
cmp one.csv printed.csv || fail 'what it prints'
grep -qx 'printed by the plug-in' err || fail 'what it prints is lost'
checks=$((checks + 3))

# gone PID: that process ends.
gone() {
    for ((i = 0; i < 100000; i++)); do
        [ -d "/proc/$1" ] || return 0
        [ "$(awk '/^State/ { print $2 }' "/proc/$1/status" 2>/dev/null)" != Z ] || return 0
    done
    return 1
}

# A sweep that ends in the middle takes all of it along, and the same command goes on.
for signal in TERM KILL; do
    rm -f forked
    MISHAP=emit:forkloop MISHAP_ROWS=16 "$NPUSIM" sweep run spec/s.yaml -q -j 2 -o $signal >out 2>err &
    parent=$!
    for ((i = 0; i < 2000000; i++)); do [ ! -e forked ] || break; done
    descendants=$(ps -e -o pid=,ppid= | awk -v top=$parent '{ of[$1] = $2 }
        END { for (p in of) { for (q = p; q in of && q != top; q = of[q]) ; if (q == top && p != top) print p } }')
    kill -$signal $parent
    wait $parent 2>/dev/null
    [ $? = $([ $signal = TERM ] && echo 130 || echo 137) ] || fail "SIG$signal: status"
    for pid in $descendants $(cat forked); do
        gone "$pid" || fail "SIG$signal: process $pid outlives the sweep: $(ps -o pid,ppid,args -p "$pid")"
    done
    sweeps $signal -j 2
    cmp one.csv $signal.csv || fail "after SIG$signal it ends otherwise"
    checks=$((checks + 3))
done

# A file that changes under a sweep gives no points of two kernels.
cp spec/good.so kept.so
MISHAP=emit:loop MISHAP_ROWS=16 "$NPUSIM" sweep run spec/s.yaml -q -j 1 -o changed --plugin-timeout 1 >out 2>err &
parent=$!
for ((i = 0; i < 2000; i++)); do ! grep -qs '"run"' changed/points-* || break; done
cp other.so new.so && mv new.so spec/good.so
wait $parent && fail 'a file that changed is not told'
mv kept.so spec/good.so
grep -q '^failed: spec/./good.so: the file has changed since this sweep began$' out || fail "changed: $(cat out)"
sweeps changed -j 2
cmp one.csv changed.csv || fail 'points of another file are kept'
checks=$((checks + 3))

# What is wrong with it is told at its line, before anything runs.
MISHAP=load:crash refuses 1 'spec/s.yaml:1:6: spec/./good.so: loading it crashed: Segmentation fault (signal 11)' sweep run spec/s.yaml -o no
MISHAP=load:sleep refuses 1 'spec/s.yaml:1:6: spec/./good.so: loading it has not returned after 0.2 s (--plugin-timeout sets the limit)' \
    sweep run spec/s.yaml -o no --plugin-timeout 0.2
[ ! -e no ] || fail 'a folder of a sweep that cannot be'
printf 'run: none.so\naxes: {rows: [1]}\n' >n.yaml
refuses 2 'n.yaml:1:6: ./none.so: cannot be read: No such file or directory' sweep run n.yaml
printf 'run: spec/good.so\naxes: {row: [1]}\n' >n.yaml
refuses 2 'n.yaml:2:8: spec/good.so has no parameter row; did you mean rows?' sweep run n.yaml
printf 'run: spec/good.so\naxes: {rows: [1, 1001]}\n' >n.yaml
refuses 2 'n.yaml:2:18: rows=1001: too large; rows must be 1 to 1000 rows' sweep run n.yaml
printf 'run: spec/good.so\naxes: {how: [none, all]}\n' >n.yaml
timeout 60 "$NPUSIM" sweep run n.yaml >out 2>err && fail 'a choice that is none'
grep -q '^npusim: n.yaml:2:20: how=all: must be none|some' err || fail "a choice: $(cat err)"
refuses 2 '--plugin-timeout soon: seconds would be right, 0 for no limit' sweep run spec/s.yaml --plugin-timeout soon
checks=$((checks + 2))

# A file without .so, a search, a script for Slurm with the limits.
cp spec/good.so spec/plug_in
printf '%s\n' 'run: ./plug_in' 'axes: {rows: {range: [1, 60, 1]}, sram.size: {pow2: [256KiB, 2MiB]}}' \
    'search: {pareto: [cycles, sram.peak_bytes], points: 30}' >spec/p.yaml
for j in 1 3; do
    "$NPUSIM" sweep run spec/p.yaml -q -j $j -o search$j >out 2>err || fail "search: $(cat err)"
    table search$j
done
cmp search1.csv search3.csv && [ "$(wc -l <search1.csv)" -gt 16 ] || fail 'a search depends on the number of processes'
"$NPUSIM" sweep submit spec/s.yaml -o cluster --slurm --dry-run --shards 2 -j 1 --plugin-timeout 5 --plugin-memory 1GiB >out || fail submit
grep -q -- '-j 1 --plugin-timeout 5 --plugin-memory 1073741824$' cluster/array.sbatch || fail "$(cat cluster/array.sbatch)"
for i in 1 2; do SLURM_ARRAY_TASK_ID=$i bash cluster/array.sbatch >/dev/null 2>&1 || fail "task $i"; done
bash cluster/merge.sbatch >out 2>err || fail "merge: $(cat err)"
table cluster
cmp one.csv cluster.csv || fail 'tasks of a cluster end otherwise'
checks=$((checks + 5))

[ $failures = 0 ] && echo "$checks checks of sweeps over a plug-in"
[ $failures = 0 ]
