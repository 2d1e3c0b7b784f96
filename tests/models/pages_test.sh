#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pages of docs/models have one shape, every part of the model has a page that names its file, and every page says what
# its error was measured against.
set -euo pipefail
: "${SRC:=.}"
status=0

wrong() { echo "$*" >&2; status=1; }

shape='## What it models
## Formula
## Parameters
## What it leaves out
## Measured error'

for page in "$SRC"/docs/models/*.md; do
    # How to use a thing comes before all.
    found=$(grep '^## ' "$page" | grep -vx '## Use')
    [ "$found" = "$shape" ] || wrong "$page: its parts are $(tr '\n' ' ' <<<"$found")"
    for part in 'Formula' 'Parameters' 'What it leaves out' 'Measured error'; do
        body=$(awk -v part="## $part" '$0 == part { on = 1; next } /^## / { on = 0 } on' "$page" | tr -d ' \n')
        [ "${#body}" -ge 30 ] || wrong "$page: $part says nothing"
    done
    awk '/^## Measured error/ { on = 1 } on' "$page" | grep -Eq '^[Aa]gainst|Against|gives' ||
        wrong "$page: its error is measured against nothing"
done

for file in "$SRC"/models/*.c "$SRC"/models/dram/*.c; do
    name=$(basename "$file")
    stem=${name%.c}
    first=${stem%%_*}
    grep -qE "\`?(models/)?(dram/)?($name|${first}\*?\.c|${first}_[a-z]*\.c|$first\*\.c)" "$SRC"/docs/models/*.md ||
        wrong "$file: no page of docs/models names it"
done

# The table of the blocks has a row for each page that points there.
for row in load store matrix vector sequencer SRAM accumulators DRAM; do
    grep -qE "^\| $row \| [0-9]+ \|" "$SRC"/docs/models/machine.md || wrong "machine.md: no row for $row"
    grep -lE "rows? .*\`$row\`" "$SRC"/docs/models/*.md >/dev/null || wrong "no page points at the row $row"
done
[ $status -ne 0 ] || echo 'pages of one shape'
exit $status
