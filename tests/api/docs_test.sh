#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The code in docs/library.md is that of the example, and the output shown is what the commands print, with an installed
# npusim. UPDATE=1 SRC=. BUILD=... bash tests/api/docs_test.sh writes it.
set -euo pipefail
unset NPUSIM_PRESETS NO_COLOR MISHAP
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
page=$(cd "$SRC" && pwd)/docs/library.md
if grep -q '^CMAKE_C_FLAGS:[A-Z]*=.*sanitize' "$BUILD/CMakeCache.txt"; then
    echo 'skipped: with a sanitizer a crash prints more'
    exit 77
fi
python3 -c '' 2>/dev/null || { echo 'skipped: there is no python3'; exit 77; }

cmake --install "$BUILD" --prefix "$folder/inst" >/dev/null
cp "$SRC"/docs/examples/library/* "$SRC/tests/api/mishap.c" "$folder"
cd "$folder"
cc -I inst/include -fPIC -shared mishap.c -o mishap.so
PKG_CONFIG_PATH=$(find inst -name npu.pc -printf "$PWD/%h") make -s
LD_LIBRARY_PATH=$PWD/$(find inst -name libnpu.so -printf %h)
export LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE=1
PATH=$PWD:$PWD/inst/bin:$PATH

# A fenced block after "<!-- sh COMMAND -->" or "<!-- lines FILE RANGE-OF-SED -->" is replaced.
while IFS= read -r line; do
    printf '%s\n' "$line"
    case $line in
    '<!-- sh '* | '<!-- lines '*) what=${line#<!-- } what=${what% -->} ;;
    '```'*)
        [ -n "${what:-}" ] || continue
        while IFS= read -r old && [ "$old" != '```' ]; do :; done
        if [ "${what%% *}" = sh ]; then
            what=${what#sh }
            printf '$ %s\n' "${what//PREFIX//usr/local}"
            (eval "${what//PREFIX/$PWD/inst}") 2>&1 </dev/null || true
        else
            read -r _ file range <<<"$what"
            sed -n "${range}p" "$file" | sed -e '/^\t\t/s/^\t\t//' -e 's/\t/    /g'
        fi
        printf '```\n'
        what=
        ;;
    esac
done <"$page" >fresh.md

if [ "${UPDATE:-}" = 1 ]; then
    cp fresh.md "$page"
elif ! diff -u "$page" fresh.md; then
    echo 'docs/library.md is stale; UPDATE=1 SRC=. BUILD=... bash tests/api/docs_test.sh writes it' >&2
    exit 1
fi
if command -v groff >/dev/null; then
    warnings=$(groff -man -ww -z "$SRC/docs/man/npu.3" 2>&1) || true
    [ -z "$warnings" ] || { printf 'docs/man/npu.3: %s\n' "$warnings" >&2; exit 1; }
fi
echo 'docs/library.md shows what there is'
