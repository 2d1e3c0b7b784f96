#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is installed holds the pages of docs/, whose links to one another lead somewhere, and the sample programs, which the
# installed npusim runs.
set -euo pipefail
unset NPUSIM_PRESETS NO_COLOR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source=$(cd "$SRC" && pwd)
cd "$folder"
failures=0

fail() {
    printf 'FAIL: %s\n' "$*" >&2
    failures=$((failures + 1))
}

cmake --install "$BUILD" --prefix inst >install.log || { cat install.log >&2; exit 1; }
docs=$(find inst -path '*/npusim/npu.md' -printf %h) traces=$(find inst -path '*/npusim/traces' -type d)
[ -n "$docs" ] && [ -n "$traces" ] || { fail "no npu.md, or no traces: $docs, $traces"; exit 1; }

(cd "$source/docs" && find . -name '*.md' -o -name '*.svg' -o -path './editors/*' -type f -o -path './examples/*' -type f) | sort >wanted
[ "$(wc -l <wanted)" -gt 20 ] || fail "docs/ has next to nothing: $(cat wanted)"
while read -r page; do
    cmp "$source/docs/$page" "$docs/$page" || fail "$page is not installed"
done <wanted
for page in npu isa kernels report tutorial models/dram; do
    [ -s "$docs/$page.md" ] || fail "$page.md is not installed"
done

# Links to files. What lies in the source tree outside of docs/ is not installed.
find "$docs" -name '*.md' ! -name CHANGELOG.md | while read -r page; do
    { grep -oE '\]\([^)#: ]+' "$page" || true; } | sed 's/^](//' | sort -u | while read -r link; do
        file=$(realpath -m --relative-to="$docs" "$(dirname "$page")/$link")
        [ "${file#../}" != "$file" ] || [ -e "$docs/$file" ] || echo "${page#"$docs/"} links to $link"
    done
done >broken
[ ! -s broken ] || fail "$(cat broken)"

for program in "$source"/traces/*.npu; do
    cmp "$program" "$traces/$(basename "$program")" || fail "$program is not installed"
    inst/bin/npusim check "$traces/$(basename "$program")" >said || fail "$(cat said)"
done

[ $failures = 0 ] || exit 1
echo 'documentation and sample programs are installed'
