#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the studies and writes what they measured into their pages: docs/experiments/run.sh [NAME...]. What stands outside of the marked
# block is written by hand and stays. NPUSIM names the program; CHECK=1 compares instead of writing.
set -euo pipefail
NPUSIM=${NPUSIM:-npusim}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
cd "$here"
[ $# -gt 0 ] || set -- $(printf '%s\n' *.yaml | sed 's/\.yaml$//')
for name in "$@"; do
    "$NPUSIM" sweep run "$name.yaml" -q -o "$work/$name" | sed 's/        [0-9.]* s, [0-9.]* points\/s$//' >"$work/$name.out"
    [ -f "$name.md" ] || printf '%s\n\n<!-- results -->\n<!-- end -->\n' "$(sed -n '1s/^# /# /p' "$name.yaml")" >"$work/$name.new"
    [ ! -f "$name.md" ] || cp "$name.md" "$work/$name.new"
    {
        sed '/^<!-- results -->$/q' "$work/$name.new"
        printf '```yaml\n'
        sed 1d "$name.yaml"
        printf '```\n```\n$ npusim sweep run docs/experiments/%s.yaml\n' "$name"
        cat "$work/$name.out"
        printf '```\n'
        sed -n '/^<!-- end -->$/,$p' "$work/$name.new"
    } >"$work/$name.md"
    if [ "${CHECK:-}" = 1 ]; then
        diff -u "$name.md" "$work/$name.md" || { echo "docs/experiments/$name.md is stale; docs/experiments/run.sh $name writes it" >&2; status=1; }
    else
        cp "$work/$name.md" "$name.md"
    fi
done
exit $status
