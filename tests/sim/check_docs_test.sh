#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/check.md lists every kind of finding as isa/check.def declares it, in its order.
set -euo pipefail
declared=$(sed -n 's/^CHECK([A-Z_]*, *\([A-Z]*\), *"\([a-z-]*\)", *"\(.*\)")$/| `\2` | \L\1\E | \3 |/p' "$SRC/isa/check.def")
listed=$(sed -n '/^| id | severity/,/^$/{/^| `/p}' "$SRC/docs/check.md")
[ -n "$declared" ]
diff -u <(printf '%s\n' "$declared") <(printf '%s\n' "$listed") || {
    echo "docs/check.md: its table of findings is not that of isa/check.def" >&2
    exit 1
}
echo 'the table is fresh'
