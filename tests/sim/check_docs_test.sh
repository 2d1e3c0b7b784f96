#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/check.md lists every kind of finding as isa/check.def declares it, in its order, and the keys of npusim.check/1.
set -euo pipefail
declared=$(sed -n 's/^CHECK([A-Z_]*, *\([A-Z]*\), *"\([a-z-]*\)", *"\(.*\)")$/| `\2` | \L\1\E | \3 |/p' "$SRC/isa/check.def")
listed=$(sed -n '/^| id | severity/,/^$/{/^| `/p}' "$SRC/docs/check.md")
[ -n "$declared" ]
diff -u <(printf '%s\n' "$declared") <(printf '%s\n' "$listed") || {
    echo "docs/check.md: its table of findings is not that of isa/check.def" >&2
    exit 1
}
keys=$(sed -n '/^| key | unit/,/^$/{/^|/p}' "$SRC/docs/check.md")
diff -u <("$NPUSIM" schema check --markdown) <(printf '%s\n' "$keys") || {
    echo "docs/check.md: its table of keys is not what npusim schema check --markdown prints" >&2
    exit 1
}
echo 'the tables are fresh'
