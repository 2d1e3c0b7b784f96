#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every example of docs/npu.md assembles, and every directive and function of the language is on the page.
set -uo pipefail
unset NPUSIM_PRESETS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0 n=0

awk -v folder="$folder" '/^```npu$/ { n++; inside = 1; next } /^```$/ { inside = 0 } inside { print > (folder "/" n ".npu") }' \
    "$SRC/docs/npu.md"
for file in "$folder"/*.npu; do
    n=$((n + 1))
    "$NPUSIM" asm "$file" -o "$folder/out.npub" || { cat "$file"; status=1; }
done
[ "$n" -ge 6 ] || { echo "docs/npu.md has only $n examples" >&2; status=1; }

names=$(grep -o '{ "\.[a-z]*"' "$SRC/isa/text/macro/read_stmt.c" | tr -d '{ "')
names+=" $(sed -n 's/^\tF([A-Z]*, "\([a-z]*\)".*/\1/p' "$SRC/isa/text/macro/tree.h")"
[ "$(wc -w <<<"$names")" -ge 25 ] || { echo 'the lists of directives and functions were not found' >&2; status=1; }
for page in docs/npu.md docs/man/npu.5; do
    for name in $names; do
        grep -qF -- "$name" "$SRC/$page" || { echo "$page does not tell of $name" >&2; status=1; }
    done
done
if command -v groff >/dev/null; then
    warnings=$(groff -man -ww -z "$SRC/docs/man/npu.5" 2>&1) || true
    [ -z "$warnings" ] || { echo "$warnings" >&2; status=1; }
fi
[ $status -ne 0 ] || echo "$n examples assemble"
exit $status
