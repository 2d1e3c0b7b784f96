#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The output shown in README.md and in pages of docs is what the program prints, and docs/report.md and docs/model.md hold the tables of their
# schemas; pages with files of their own are tutorial_test.sh's. UPDATE=1 NPUSIM=... SRC=. bash tests/sim/readme_test.sh writes them.
set -euo pipefail
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
status=0

# fresh PAGE: $tmp is what it should be.
fresh() {
	if [ -n "${UPDATE:-}" ]; then
		cmp -s "$tmp" "$1" || cat "$tmp" >"$1"
	elif ! diff -u "$1" "$tmp"; then
		echo "$1 is stale; UPDATE=1 NPUSIM=... SRC=. bash tests/sim/readme_test.sh writes it"
		status=1
	fi
}

# A fenced block after a line "<!-- npusim ARGUMENTS -->" is replaced by what that command prints.
for page in "$SRC/README.md" $(grep -l "^<!-- npusim .* -->$" "$SRC"/docs/*.md | xargs grep -L "^<!-- file "); do
	awk -v npusim="$NPUSIM" '
		/^<!-- npusim .* -->$/ { command = $0; sub(/^<!-- npusim /, "", command); sub(/ -->$/, "", command); shown++ }
		/^```/ && command != "" { print; print "$ npusim " command; run = npusim " " command; while ((run | getline line) > 0) print line; close(run); command = ""; skip = 1; next }
		skip && !/^```/ { next }
		{ skip = 0; print }
		END { exit shown == 0 }' "$page" >"$tmp"
	fresh "$page"
done

# The tables begin with that of the keys and end before the next text.
for name in report model; do
	awk -v npusim="$NPUSIM" -v name="$name" '
		/^\| key \| unit \| meaning \|$/ { run = npusim " schema " name " --markdown"; while ((run | getline line) > 0) print line; close(run); skip = 1; next }
		skip && (/^\|/ || /^$/) { blank = /^$/; next }
		{ if (skip && blank) print ""; skip = 0; print }' "$SRC/docs/$name.md" >"$tmp"
	fresh "$SRC/docs/$name.md"
done

[ $status -ne 0 ] || echo "README.md and the pages show what the program prints"
exit $status
