#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pages that the program prints are fresh: docs/hardware.md, docs/man, what is generated in docs/editors. UPDATE=1 writes them instead.
set -euo pipefail
unset NPUSIM_PRESETS
cd "$SRC"
status=0

# page FILE ARGUMENT...: FILE is what npusim prints with these arguments.
page() {
    local file=$1
    shift
    if [ "${UPDATE:-}" = 1 ]; then
        "$NPUSIM" "$@" >"$file"
    elif ! "$NPUSIM" "$@" | diff -u "$file" -; then
        echo "$file is stale; UPDATE=1 NPUSIM=... SRC=. bash tests/sim/cmd_docs_test.sh writes it" >&2
        status=1
    fi
}

page docs/hardware.md hw reference
page docs/editors/vim/syntax/npu.vim syntax vim
page docs/editors/vscode/syntaxes/npu.tmLanguage.json syntax vscode
page docs/man/npusim.1 man
for command in $("$NPUSIM" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
    page "docs/man/npusim-$command.1" man "$command"
done

# A page of a command that is gone misleads.
for file in docs/man/npusim-*.1; do
    command=${file#docs/man/npusim-}
    "$NPUSIM" "${command%.1}" --help >/dev/null || { echo "$file: there is no such command" >&2; status=1; }
done

# And they are roff.
if command -v groff >/dev/null; then
    for file in docs/man/*.1; do
        warnings=$(groff -man -ww -z "$file" 2>&1) || true
        [ -z "$warnings" ] || { printf '%s:\n%s\n' "$file" "$warnings" >&2; status=1; }
    done
fi
[ $status -ne 0 ] || echo 'the pages are fresh'
exit $status
