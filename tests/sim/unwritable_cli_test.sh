#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What cannot be written is told once, with its name and the reason, whatever the format; a reader that went away is no error of
# ours; and nothing is left behind.
. "$SRC/tests/support/cli.sh"

small=(gemm m=256 n=256 k=256 -q)
for format in html json vcd csv pftrace pftrace.gz; do
    ln -s /dev/full "full.$format"
    refuses 2 "full.$format: cannot be written: No space left on device" run "${small[@]}" --timeline "full.$format"
done
ln -s /dev/full full.dram
refuses 2 'full.dram: cannot be written: No space left on device' run "${small[@]}" --dram-trace full.dram
refuses 2 'full.json: cannot be written: No space left on device' run "${small[@]}" --instructions --report full.json
refuses 2 'full.json: cannot be written: No space left on device' check gemm --format json -o full.json

# A limit on the size of files (1 KiB): no signal ends the program, no temporary file stays.
mkdir small
for format in html json vcd csv pftrace; do
    status=0 checks=$((checks + 1))
    (ulimit -f 1 && "$NPUSIM" run "${small[@]}" --timeline "small/f.$format" 2>err) || status=$?
    [ $status = 2 ] && [ "$(cat err)" = "npusim: small/f.$format: cannot be written: File too large" ] ||
        fail "a limit, $format: $status, $(cat err)"
done
checks=$((checks + 1))
[ -z "$(ls -A small)" ] || fail "left behind: $(ls -A small)"

# head takes ten bytes and goes; what is written does not fit into the pipe.
for what in '--timeline -' '--report - --instructions --critical' '--dram-trace -'; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    "$NPUSIM" run gemm $what 2>err | head -c 10 >/dev/null
    status=${PIPESTATUS[0]}
    [ "$status" = 141 ] && [ ! -s err ] || fail "$what into a pipe that is closed: $status, $(cat err)"
done

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
