#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plug-ins that are well: kernel show, emit, check, run --values. Plug-ins that are not: each way of going wrong is one
# line on stderr and an exit status, and never takes npusim along.
. "$SRC/tests/support/cli.sh" || exit 1
unset MISHAP
# A crash shall be one, in a build with a sanitizer too.
export ASAN_OPTIONS=handle_segv=0:handle_abort=0:handle_sigbus=0:detect_leaks=0

# build FILE OPTION...: a plug-in from mishap.c. It is not linked to libnpu.
build() {
    local file=$1
    shift
    cc -std=c17 -Wall -Wextra -Werror -Wno-unused-const-variable -I"$BUILD/kernels/api" -fPIC -shared "$@" \
        -o "$file" "$SRC/tests/api/mishap.c" || fail "$file does not compile"
}

# says STATUS TEXT ARGUMENT...: npusim ARGUMENT... ends with that status and prints that one line on stderr, nothing on stdout.
says() {
    local want=$1 text=$2 got=0
    shift 2
    timeout 60 "$NPUSIM" "$@" >out 2>err </dev/null || got=$?
    [ "$got" = "$want" ] || fail "MISHAP=${MISHAP:-} npusim $*: exit status $got, not $want"
    printf 'npusim: %s\n' "$text" | diff - err >&2 || fail "MISHAP=${MISHAP:-} npusim $*: other words"
    [ ! -s out ] || fail "MISHAP=${MISHAP:-} npusim $*: something on stdout: $(head -3 out)"
}

runs() {
    timeout 60 "$NPUSIM" "$@" >out 2>err </dev/null || fail "npusim $*: exit status $?: $(cat err)"
}

build good.so -DSTRUCT=GOOD

# ---- it is a kernel as any other ----

runs kernel show ./good.so
diff - out >&2 <<'END' || fail 'kernel show'
mishap: Y = X, or not

parameter  default  on edge-1mb  legal      unit  meaning
rows            16           16  1 to 1000  row   rows to copy
how           none         none  none|some        a choice
END
runs emit good.so rows=4
grep -q '^\.tensor X\[4, 64\] fp16 in' out && grep -q '"mishap.c"' out || fail "emit: $(cat out)"
runs check ./good.so how=some
grep -qx 'mishap: clean; 2 instructions, 1 semaphore; values compared' out || fail "check: $(cat out)"
runs run ./good.so rows=4 --values --check --timeline t.pftrace --report r.json
grep -q '^mishap  *rows=4 how=none$' out && grep -Eq '^Y +fp16 +256 +\. +exact ' out || fail "run --values: $(cat out)"
grep -q '"subject": "mishap"' r.json || fail "the report names something else: $(head -20 r.json)"
cp good.so plug_in
runs kernel show ./plug_in
says 2 'mishap has no parameter row, did you mean rows?' run good.so row=4
says 2 'rows=4000: too large; rows must be 1 to 1000 rows' run good.so rows=4000
MISHAP=resolve:error says 1 'rows=16 are too many today' run good.so

# What it prints does not end up in a report.
MISHAP=emit:print runs run ./good.so --json
[ "$(head -c 1 out)" = '{' ] && ! grep -q printed out && grep -qx 'printed by the plug-in' err || fail 'stdout of a plug-in'

# ---- its functions ----

for call in resolve emit reference; do
    MISHAP=$call:crash says 1 "./good.so: $call crashed: Segmentation fault (signal 11)" run ./good.so --values -q
    MISHAP=$call:abort says 1 "./good.so: $call crashed: Aborted (signal 6)" run ./good.so --values -q
    MISHAP=$call:exit says 1 "./good.so: $call called exit(0)" run ./good.so --values -q
    MISHAP=$call:loop says 1 "./good.so: $call has not returned after 1 s (--plugin-timeout sets the limit)" \
        run ./good.so --values -q --plugin-timeout 1
    MISHAP=$call:sleep says 1 "./good.so: $call has not returned after 1 s (--plugin-timeout sets the limit)" \
        run ./good.so --values -q --plugin-timeout 1
    MISHAP=$call:memory says 1 "./good.so: $call took more than 64 MiB of memory (--plugin-memory sets the limit)" \
        run ./good.so --values -q --plugin-memory 64MiB
done
for command in 'kernel show' emit check; do
    # shellcheck disable=SC2086
    MISHAP=resolve:crash says 1 './good.so: resolve crashed: Segmentation fault (signal 11)' $command ./good.so
done
MISHAP=load:crash says 1 './good.so: loading it crashed: Segmentation fault (signal 11)' check ./good.so
MISHAP=load:exit says 1 './good.so: loading it called exit(0)' check ./good.so

# Without its descriptors the child cannot say anything.
for what in close closeall stderr; do
    for call in load resolve emit reference; do
        text=$call
        [ $call = load ] && text='loading it'
        MISHAP=$call:$what says 1 "./good.so: $text closed a descriptor that it had not opened" run ./good.so --values -q
    done
done

# Where sizes are looked for, simulations run in processes of their own: what it does in one of them is told as well.
build tiled.so -DSTRUCT=TILED
runs run tiled.so tile=auto -q
MISHAP_ROWS=64 MISHAP=emit:crash says 1 'tiled.so: emit crashed: Segmentation fault (signal 11)' run tiled.so tile=auto -q
MISHAP_ROWS=64 MISHAP=emit:loop says 1 'tiled.so: emit has not returned after 1 s (--plugin-timeout sets the limit)' \
    run tiled.so tile=auto -q --plugin-timeout 1
MISHAP_ROWS=64 MISHAP=emit:memory says 1 'tiled.so: emit took more than 64 MiB of memory (--plugin-memory sets the limit)' \
    run tiled.so tile=auto -q --plugin-memory 64MiB
MISHAP_ROWS=64 MISHAP=emit:closeall says 1 'tiled.so: emit closed a descriptor that it had not opened' run tiled.so tile=auto -q

# What it does when the process ends, after all is printed, is a call as any other.
runs run ./good.so
cp out printed
at_end='./good.so: a destructor or atexit function of it'
# leaves TEXT: npusim run ./good.so prints everything, ends with 1, says that.
leaves() {
    timeout 60 "$NPUSIM" run ./good.so --plugin-timeout 1 >out 2>err </dev/null
    [ $? = 1 ] || fail "MISHAP=$MISHAP: not ended with 1"
    echo "npusim: $at_end $1" | diff - err >&2 || fail "MISHAP=$MISHAP: other words"
    cmp out printed || fail "MISHAP=$MISHAP: other output"
}
for mishap in emit:atexit load:atexit unload:loop unload:sleep; do
    MISHAP=$mishap leaves 'has not returned after 1 s (--plugin-timeout sets the limit)'
done
MISHAP=unload:crash leaves 'crashed: Segmentation fault (signal 11)'
MISHAP=unload:abort leaves 'crashed: Aborted (signal 6)'
MISHAP=unload:loop timeout 60 "$NPUSIM" kernel show ./good.so --plugin-timeout 1 >out 2>err
[ $? = 1 ] && grep -qx "npusim: $at_end has not returned after 1 s .*" err || fail "kernel show: $(cat err)"

# Of what it forks nothing stays, and nothing prints a report twice.
# gone PID: that process ends.
gone() {
    for ((i = 0; i < 100000; i++)); do
        [ -d "/proc/$1" ] || return 0
        [ "$(awk '/^State/ { print $2 }' "/proc/$1/status" 2>/dev/null)" != Z ] || return 0
    done
    return 1
}
# when_there FILE
when_there() {
    for ((i = 0; i < 1000000; i++)); do
        [ ! -e "$1" ] || return 0
    done
    fail "no $1"
}
MISHAP=emit:twin runs run ./good.so
cmp out printed || fail 'a fork of the plug-in prints, too'
for call in load emit unload; do
    rm -f forked
    MISHAP=$call:fork timeout 60 "$NPUSIM" run ./good.so >out 2>err </dev/null || fail "MISHAP=$call:fork: exit status $?: $(cat err)"
    cmp out printed || fail "MISHAP=$call:fork: other output"
    # It may be ended before it has written its number.
    [ ! -e forked ] || gone "$(cat forked)" || fail "MISHAP=$call:fork: a process stays behind"
done

# Whoever ends npusim ends the plug-in, and what it forked.
for signal in INT TERM HUP KILL; do
    rm -f forked
    # A shell without job control has INT ignored in the background.
    MISHAP=emit:forkloop python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$NPUSIM" run ./good.so >out 2>err &
    parent=$!
    when_there forked
    descendants=$(ps -e -o pid=,ppid= | awk -v top=$parent '{ of[$1] = $2 }
        END { for (p in of) { for (q = p; q in of && q != top; q = of[q]) ; if (q == top && p != top) print p } }')
    [ "$(wc -w <<<"$descendants")" -ge 3 ] || fail "the plug-in does not run in a child with a watcher: $descendants"
    kill -$signal $parent && wait $parent 2>/dev/null
    for pid in $descendants $(cat forked); do
        gone "$pid" || fail "SIG$signal: process $pid outlives npusim"
    done
done
MISHAP=emit:parent says 1 './good.so: the process that watched it was ended: Killed (signal 9)' run ./good.so

# A program that comes through a named pipe is read once.
mkfifo program.fifo
"$NPUSIM" emit ./good.so rows=2 -o program.npu
cat program.npu >program.fifo &
runs run ./program.fifo -q

MISHAP=resolve:false says 1 './good.so: resolve failed without an error' run ./good.so
MISHAP=resolve:range says 1 './good.so: its parameter rows: resolve made it 5000, outside of 1 to 1000' run ./good.so
MISHAP=resolve:choice says 1 './good.so: its parameter how: resolve made it -1, outside of 0 to 1' run ./good.so
MISHAP=emit:false says 1 './good.so: emit failed without an error' run ./good.so
MISHAP=emit:opcode says 1 "$SRC/tests/api/mishap.c:7: opcode 0xee is not known to libnpu $("$NPUSIM" --version | cut -d ' ' -f 2)" run ./good.so
MISHAP=emit:newer says 1 "$SRC/tests/api/mishap.c:8: vfill has operands that libnpu $("$NPUSIM" --version | cut -d ' ' -f 2) does not know" \
    run ./good.so
MISHAP=emit:operand timeout 60 "$NPUSIM" run ./good.so >out 2>err && fail 'an illegal operand is taken'
grep -q '^npusim: mishap.c:[0-9]*: #2 load: ' err || fail "an illegal operand is not placed: $(cat err)"

# What no program may have, and what has no end.
MISHAP=emit:nameless says 1 'a tensor has no name' run ./good.so
MISHAP=emit:rank says 1 'tensor Z has 77 dimensions, 1 to 5 are possible' run ./good.so
MISHAP=emit:type says 1 'tensor Z: no such type, layout or direction' run ./good.so
MISHAP=emit:twice says 1 'two tensors are called X' run ./good.so
MISHAP=emit:long says 1 "the name of a semaphore is longer than 255 bytes: $(printf 'a%.0s' {1..40})..." run ./good.so
MISHAP=emit:open says 1 'the region "left open" is still open at the end of the program' run ./good.so
MISHAP=emit:unopened says 1 'a region is closed that was never opened' run ./good.so
MISHAP=emit:semaphores says 1 'more than 65,535 semaphores' run ./good.so
MISHAP=emit:tensors says 1 'more than 1,048,576 tensors' run ./good.so
MISHAP=emit:tables says 1 'more than 1,048,576 block tables' run ./good.so
MISHAP=emit:regions says 1 'the region "n64" lies too deep: regions nest at most 64 deep' run ./good.so
MISHAP=emit:pages says 1 'more than 16,777,216 records of pages' run ./good.so
MISHAP=emit:instructions says 1 'more than 16,777,216 instructions: larger tiles or shorter lengths need fewer' run ./good.so
MISHAP=emit:short says 1 './good.so: emit took more than 1,024 KiB of memory (--plugin-memory sets the limit)' run ./good.so --plugin-memory 1MiB

MISHAP=reference:tensor says 1 'the reference of mishap failed: it found a tensor missing, of another size, or an input to write, or no memory' \
    run ./good.so --values -q
MISHAP=reference:input says 1 'the reference of mishap failed: it found a tensor missing, of another size, or an input to write, or no memory' \
    run ./good.so --values -q
MISHAP=reference:nothing says 1 'the reference of mishap does not write Y' run ./good.so --values -q
MISHAP=reference:wrong timeout 60 "$NPUSIM" run ./good.so --values -q >out 2>err && fail 'wrong values are taken'
grep -q 'Y\[1,6\]' err || fail "wrong values are not told: $(cat err)"

# ---- what is no plug-in ----

says 2 './none.so: cannot be read: No such file or directory' run ./none.so
says 2 'none.so: cannot be read: No such file or directory' run none.so
echo 'not a shared object' >text.so
timeout 60 "$NPUSIM" run text.so >out 2>err
[ $? = 2 ] && grep -q '^npusim: text.so: cannot be loaded: ' err || fail "a text file: $(cat err)"
head -c 4096 good.so >cut.so
says 1 'cut.so: loading it crashed: Bus error (signal 7)' run cut.so
build unresolved.so -DCALLS_NOBODY
says 2 'unresolved.so: cannot be loaded: undefined symbol: a_function_that_nobody_has' check unresolved.so
build nameless.so -DWITHOUT_SYMBOL -Wno-unused-function -Wno-unused-variable
says 2 'nameless.so: is no plug-in: it does not export npu_plugin, a struct npu_kernel (see npu.h)' check nameless.so

# ---- its struct ----

# wrong STATUS STRUCT TEXT
wrong() {
    build "$2.so" -DSTRUCT="$2"
    says "$1" "$2.so: $3" kernel show "$2.so"
}

wrong 2 OTHER_ABI 'built for version 7 of the plug-in interface, and this npusim has 1: build it with the npu.h of this npusim'
wrong 2 NO_HEADER 'built for version 0 of the plug-in interface, and this npusim has 1: build it with the npu.h of this npusim (its struct has to begin with NPU_PLUGIN)'
wrong 2 SHORT 'its struct npu_kernel has to begin with NPU_PLUGIN'
wrong 1 NO_NAME 'its kernel: the name is missing'
wrong 1 BAD_NAME 'its kernel: the name is to have 1 to 63 letters, digits and _, and no digit first'
wrong 1 WILD_NAME 'loading it crashed: Segmentation fault (signal 11)'
wrong 1 NO_SUMMARY 'its kernel: the summary is missing'
wrong 1 LONG_SUMMARY 'its kernel: the summary is longer than 1,023 bytes'
wrong 1 NO_EMIT 'its kernel has no emit'
wrong 1 MANY 'its kernel has 65 parameters, 64 are possible'
wrong 1 NO_LIST 'its kernel has 2 parameters and no list of them'
wrong 1 NO_PARAM_NAME 'its parameter number 0: the name is missing'
wrong 1 TWICE 'its parameter rows is there twice'
wrong 1 MIN_MAX 'its parameter rows has a min of 2000 above its max of 1000'
wrong 1 OUTSIDE 'its parameter rows: the initial value is 2000, outside of 1 to 1000'
wrong 1 NO_CHOICES 'its parameter how has no choices'
wrong 1 WITH 'its parameter rows has a `with` that is no choice of another parameter'
wrong 1 UNDERIVED 'its parameter rows is derived, and there is no resolve to derive it'
wrong 1 NO_MEANING 'its parameter rows: the meaning is missing'
wrong 1 LINES 'its parameter rows: the unit is more than one line'
wrong 1 EMPTY_CHOICE 'its parameter how: the name of choice 1 is empty'
wrong 1 BAD_TYPE 'its parameter rows has a type that is neither NPU_PARAM_INT nor NPU_PARAM_CHOICE'

# A unit may be left out.
build unitless.so -DSTRUCT=NO_UNIT
says 2 'rows=4000: too large; rows must be 1 to 1000' run unitless.so rows=4000
runs kernel show unitless.so

# A later npu.h: what is zero means nothing, what is not needs a later npusim.
build later.so -DLATER -DSTRUCT=LONGER
runs run later.so --values -q
build later.so -DLATER -DSTRUCT=NEWER
says 2 'later.so: uses what a newer npu.h has; this npusim is too old for it' run later.so

# ---- options ----

says 2 '--plugin-timeout soon: seconds would be right, 0 for no limit' run ./good.so --plugin-timeout soon
for size in much 1KiB; do
    says 2 "--plugin-memory $size: 1MiB or more would be right, 0 for no limit" run ./good.so --plugin-memory $size
done
runs run ./good.so -q --plugin-timeout 0 --plugin-memory 0

[ $failures = 0 ] || exit 1
echo 'a plug-in is a kernel as any other, and what it does wrong is told'
