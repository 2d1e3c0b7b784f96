#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What ends a sweep from outside loses nothing but points in flight: kills at any moment, files cut at any byte, a disk that is full or
# read-only, another sweep in the same folder.
. "$SRC/tests/support/cli.sh"
cat >s.yaml <<'END'
run: gemm
with: {m: 128, n: 64, k: 128}
axes: {tile_m: [16, 32, 64], tile_n: [16, 32, 64], tile_k: [16, 32, 64], dma.max_burst: [64, 256]}
END
begun=$(date +%s%3N)
"$NPUSIM" sweep run s.yaml -q -j 2 -o whole >/dev/null || fail 'whole'
whole_ms=$(($(date +%s%3N) - begun))
"$NPUSIM" sweep merge whole --csv whole.csv >/dev/null || fail 'whole'

# same FOLDER WHAT: the same command again ends, and with the same results.
same() {
    flock -w 20 "$1/lock" true || fail "$2: workers outlive their sweep"
    "$NPUSIM" sweep run s.yaml -q -j 2 -o "$1" >out 2>err || fail "$2: $(cat err)"
    "$NPUSIM" sweep merge "$1" --csv "$1.csv" >out 2>err || fail "$2: $(cat out err)"
    cmp whole.csv "$1.csv" || fail "$2: other results"
    ! compgen -G "$1/*.part" >/dev/null || fail "$2: a worker's file was not put away"
    checks=$((checks + 1))
}

# kill -9 again and again, at moments within what the whole takes; the seed is fixed, the moments are the machine's.
RANDOM=7
kills=0 before=-1 grew=0
for round in $(seq 30); do
    at=$((1 + RANDOM % whole_ms))
    # --foreground: the sweep alone; its workers shall see for themselves.
    timeout --foreground -s KILL "$(printf '%d.%03d' $((at / 1000)) $((at % 1000)))" "$NPUSIM" sweep run s.yaml -q -j 2 -o killed >/dev/null 2>&1
    [ $? != 137 ] || kills=$((kills + 1))
    [ -e killed/lock ] || continue
    flock -w 20 killed/lock true || fail "round $round: workers outlive their sweep"
    lines=$(cat killed/points-* 2>/dev/null | wc -l)
    [ "$lines" -ge "$before" ] || fail "round $round: $before points were there, $lines are"
    [ "$lines" -gt "$before" ] && grew=$((grew + 1))
    before=$lines
    [ "$lines" -lt 54 ] && continue
    [ $kills = 0 ] || break
    # It was faster than its first kill.
    rm -rf killed
    before=-1
done
[ $kills -ge 1 ] && [ $grew -ge 1 ] || fail "$kills kills, and $grew times more points"
same killed "$kills kills"

# A power cut: the last file ends anywhere, or its end is zeros. Points before the cut are not run again.
file=$(ls -S whole/points-*.jsonl | head -n 1)
size=$(stat -c %s "$file")
for cut in 0 1 2 $((size / 3)) $((size / 2)) $((size - 2)) $((size - 1)) $((RANDOM % size)) $((RANDOM % size)); do
    rm -rf cut && cp -r whole cut && rm -f cut/*.sqlite
    head -c "$cut" "$file" >"cut/points-1-1-0.part" && rm "cut/${file#whole/}"
    [ $((cut % 2)) = 0 ] || head -c 700 /dev/zero >>"cut/points-1-1-0.part"
    "$NPUSIM" sweep run s.yaml -o cut >out 2>err </dev/null
    kept=$(($(cat whole/points-*.jsonl | wc -l) - $(wc -l <"$file") + $(head -c "$cut" "$file" | wc -l)))
    [ $kept = 0 ] || grep -Eq "^$kept points? (are|is) in cut already" err || fail "cut at $cut: not $kept points: $(cat err)"
    same cut "a file cut at byte $cut"
done
# A hole in the middle, as of a block that never reached the disk: those points are run again, and told to be damaged until then.
rm -rf cut && cp -r whole cut
dd if=/dev/zero of="cut/${file#whole/}" bs=1 seek=$((size / 2)) count=1000 conv=notrunc 2>/dev/null
"$NPUSIM" sweep merge cut >out 2>err && fail 'a hole is not missed'
grep -q 'points are missing' err && grep -q 'damaged line' err || fail "a hole: $(cat out err)"
same cut 'a hole'

# Two at once: one of them runs, the other one says so, and both leave the same.
for round in 1 2 3 4 5; do
    rm -rf two
    "$NPUSIM" sweep run s.yaml -q -j 1 -o two >out.1 2>err.1 & one=$!
    "$NPUSIM" sweep run s.yaml -q -j 1 -o two >out.2 2>err.2 & other=$!
    wait $one; a=$?
    wait $other; b=$?
    # Or one has ended before the other began.
    case $a$b in
    02) grep -qx 'npusim: two: another sweep is running in this folder' err.2 || fail "two: $(cat err.2)" ;;
    20) grep -qx 'npusim: two: another sweep is running in this folder' err.1 || fail "two: $(cat err.1)" ;;
    00) ;;
    *) fail "two: $a and $b: $(cat err.1 err.2)" ;;
    esac
    same two 'two at once'
done

# Disks. Where a person may mount one of their own.
mkdir disk
cat >disk.sh <<'END'
set -u
. "$SRC/tests/support/cli.sh"
cd "$1" || exit 1
mount -t tmpfs -o size=64k none disk || exit 77
"$NPUSIM" sweep run s.yaml -q -o disk/full >out 2>err </dev/null
[ $? = 2 ] && grep -q '^npusim: disk/full/points-[-0-9]*.part: cannot be written: No space left on device$' err || fail "a full disk: $(cat err)"
kept=$(cat disk/full/points-* | grep -c '"sum"')
[ "$kept" -ge 5 ] && [ "$kept" -lt 54 ] || fail "a full disk keeps $kept points"
"$NPUSIM" sweep run s.yaml -q -o disk/none >out 2>err </dev/null
[ $? = 2 ] && grep -q '^npusim: disk/none.*: No space left on device' err || fail "a disk without room: $(cat err)"
"$NPUSIM" sweep merge disk/full --csv part.csv >out 2>err </dev/null
[ $? = 2 ] && grep -q '^npusim: disk/full/sweep.sqlite: ' err || fail "a merge on a full disk: $(cat out err)"
[ ! -e disk/full/sweep.sqlite ] || fail 'a merge that failed leaves a file'
mount -o remount,size=8m none disk
"$NPUSIM" sweep run s.yaml -o disk/full >out 2>err </dev/null || fail "with more room: $(cat err)"
grep -Eq "^$kept points? (are|is) in disk/full already" err || fail "with more room $kept points are not there: $(cat err)"
"$NPUSIM" sweep merge disk/full --csv full.csv >out 2>err </dev/null || fail "with more room: $(cat out err)"
cmp whole.csv full.csv || fail 'a disk that was full: other results'
"$NPUSIM" sweep plot disk/full >/dev/null 2>&1
mount -o remount,ro none disk
for c in "run s.yaml -q -o disk/full" "run s.yaml -q -o disk/new" "merge disk/full" "submit s.yaml -o disk/new --slurm --dry-run"; do
    # shellcheck disable=SC2086
    "$NPUSIM" sweep $c >out 2>err </dev/null
    [ $? = 2 ] && [ "$(grep -c '^npusim: disk/' err)" = 1 ] || fail "read-only: sweep $c: $(cat err)"
done
"$NPUSIM" sweep best disk/full >out 2>err </dev/null || fail "read-only: best: $(cat err)"
"$NPUSIM" sweep merge disk/full -o here.sqlite --csv here.csv >out 2>err </dev/null || fail "read-only: merge elsewhere: $(cat err)"
cmp whole.csv here.csv || fail 'read-only: other results'
[ $failures = 0 ]
END
status=0
if command -v unshare >/dev/null && unshare -rm true 2>/dev/null; then
    unshare -rm bash disk.sh "$PWD" || status=$?
    if [ $status = 77 ]; then echo 'note: no disks of one'\''s own here'; else
        [ $status = 0 ] || fail 'disks'
        checks=$((checks + 12))
    fi
else
    echo 'note: no disks of one'\''s own here: full and read-only ones were not tried'
fi
[ $failures = 0 ] && echo "$checks checks of what ends a sweep"
[ $failures = 0 ]
