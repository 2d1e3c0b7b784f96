#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run that a signal ends in the middle of writing leaves what was there and nothing else, beside its files and in TMPDIR;
# killed outright it leaves one file with a telling name, which the next run takes away.
. "$SRC/tests/support/cli.sh" || exit 1
mkdir out tmp
cd out || exit 1
export TMPDIR=$folder/tmp

# A timeline of some ten thousand instructions is written for long enough to be met in the middle: its temporary file is
# there, and holds a part of it.
interrupted=(run flash_attention seq=1024 heads=8 head_dim=64 tile_q=32 tile_kv=32 --quiet --timeline t.pftrace)
interrupt() {
    local signal=$1 status=0
    printf 'old' >t.pftrace
    # A background job of a script ignores INT, and what is ignored stays ignored.
    env --default-signal=TERM,INT,HUP "$NPUSIM" "${interrupted[@]}" 2>../err &
    local pid=$!
    until compgen -G 't.pftrace.npusim-*' >/dev/null || ! kill -0 $pid 2>/dev/null; do :; done
    kill -STOP $pid 2>/dev/null
    [ -n "$(find . -name 't.pftrace.npusim-*')" ] || fail "$signal: the run was not met while writing"
    kill "-$signal" $pid
    kill -CONT $pid 2>/dev/null
    wait $pid 2>/dev/null || status=$?
    [ "$status" = $((128 + $(kill -l "$signal"))) ] || fail "$signal: exit status $status"
    [ "$(head -c 4 t.pftrace | tr -d '\0')" = old ] || fail "$signal: the old file is gone"
}

for signal in TERM INT HUP; do
    interrupt "$signal"
    [ "$(find . -type f | sort | tr '\n' ' ')" = './t.pftrace ' ] || fail "$signal: files are left: $(find . -type f)"
done
interrupt KILL
[ "$(find . -type f -name 't.pftrace.npusim-??????' | wc -l)" = 1 ] && [ "$(find . -type f | wc -l)" = 2 ] ||
    fail "KILL: files are left: $(find . -type f)"
"$NPUSIM" run gemm m=32 n=32 k=32 --quiet --timeline t.pftrace || fail 'the next run'
[ "$(find . -type f)" = './t.pftrace' ] || fail "the next run leaves $(find . -type f)"
[ -z "$(ls "$TMPDIR")" ] || fail "files in TMPDIR: $(ls "$TMPDIR")"
[ "$failures" = 0 ]
