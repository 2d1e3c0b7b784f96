#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim run --values as a person meets it: options that are wrong, files in and out, what is printed and reported.
. "$SRC/tests/support/cli.sh" || exit 1

# ran STATUS TEXT ARGUMENT...: `npusim run ...` ends with that status, and stderr is "npusim: TEXT" (nothing for "").
ran() {
    ends "$1" run "${@:3}"
    [ "$(cat err)" = "${2:+npusim: $2}" ] || fail "run ${*:3}: said $(cat err), wanted $2"
}

same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

small=(gemm m=32 n=32 k=32)

# Wrong options are told before any work.
ran 2 '--seed goes with --values: without it nothing is computed' "${small[@]}" --seed 3
ran 2 '--dump goes with --values: without it nothing is computed' "${small[@]}" --dump C=c.bin
ran 2 '--seed x: a whole number from 0 to 9223372036854775807 would be right' "${small[@]}" --values --seed x
ran 2 '--seed -1: a whole number from 0 to 9223372036854775807 would be right' "${small[@]}" --values --seed -1
ran 2 '--exp fast: exact, lut or poly would be right' "${small[@]}" --values --exp fast
ran 2 '--tensor A: NAME=FILE would be right, as in Q=q.bin' "${small[@]}" --values --tensor A
ran 2 '--dump =c.bin: NAME=FILE would be right, as in Q=q.bin' "${small[@]}" --values --dump =c.bin
ran 2 'the program has no tensor "Q"; it has A, B, C' "${small[@]}" --values --tensor Q=q.bin
ran 2 'the program has no tensor "D"; it has A, B, C' "${small[@]}" --values --dump D=d.bin
ran 2 '--tensor C: the program fills it; inputs can be given' "${small[@]}" --values --tensor C=c.bin
ran 2 'none.bin: cannot be read: No such file or directory' "${small[@]}" --values --tensor A=none.bin
head -c 2047 /dev/zero >short.bin
head -c 2048 /dev/zero >zeros.bin
head -c 2049 /dev/zero >long.bin
ran 2 'short.bin: 2047 bytes; tensor A is exactly 2048' "${small[@]}" --values --tensor A=short.bin
ran 2 'long.bin: larger than tensor A, which is exactly 2048 bytes' "${small[@]}" --values --tensor A=long.bin

# The table comes behind the report.
ran 0 '' "${small[@]}" --values
has '^values    seed 1   exp exact   compared with the plain reference in double$' out
has '^C +fp16 +1,024 ' out
[ "$(sed -n '/^overlap/=' out)" -lt "$(sed -n '/^values/=' out)" ] || fail 'values stand before the report'
ran 0 '' "${small[@]}" --values -q
[ -s out ] && fail 'run --values -q prints'
ran 0 '' kv_fetch_paged seq=64 --values
has '^values .*nothing to compare: the program has no output$' out

# Bytes in, bytes out, the same for a seed.
ran 0 '' "${small[@]}" --values --tensor A=zeros.bin --dump A=a.bin --dump C=c.bin
same a.bin zeros.bin
same c.bin zeros.bin
ran 0 '' "${small[@]}" --values --dump A=a1.bin --dump B=b1.bin --dump C=c1.bin
ran 0 '' "${small[@]}" --values --seed 1 --dump A=a2.bin --dump C=c2.bin
same a1.bin a2.bin
same c1.bin c2.bin
ran 0 '' "${small[@]}" --values --seed 9 --tensor A=a1.bin --tensor B=b1.bin --dump C=c3.bin
same c1.bin c3.bin
ran 0 '' "${small[@]}" --values --seed 9 --dump C=c9.bin
cmp -s c1.bin c9.bin && fail 'the seed changes nothing'
ran 2 'none/c.bin: cannot be written: No such file or directory' "${small[@]}" --values --dump C=none/c.bin
has '^cycles ' out

# Timing decides nothing.
for hw in tiny-256k edge-2mb server; do
    "$NPUSIM" run "${small[@]}" --hw $hw --ideal dram --values --dump C=$hw.bin >/dev/null || fail "--hw $hw"
    same c1.bin $hw.bin
done

# The report.
ran 0 '' "${small[@]}" --values --report r.json
has '"reference": "kernel"' r.json
has '"checksum": "[0-9a-f]{16}"' r.json
has '"wrong": 0' r.json
ran 0 '' "${small[@]}" --report r.json
has '"tensors": \[\]' r.json

# A program from a file is executed; there is nothing to compare with.
"$NPUSIM" emit "${small[@]}" -o small.npub || fail emit
ran 0 '' small.npub --values --dump C=file.bin
has '^values .*not compared: this file has no reference$' out
has '^C +fp16 +1,024 .* [0-9a-f]{16}$' out
same c1.bin file.bin


printf '%d checks, %d failures\n' "$checks" "$failures"
[ "$failures" = 0 ]
