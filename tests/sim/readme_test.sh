#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The output shown in README.md is what the program prints. UPDATE=1 NPUSIM=... SRC=. bash tests/sim/readme_test.sh writes it.
set -euo pipefail
readme=$SRC/README.md
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT

# A fenced block after a line "<!-- npusim ARGUMENTS -->" is replaced by what that command prints.
awk -v npusim="$NPUSIM" '
	/^<!-- npusim .* -->$/ { command = $0; sub(/^<!-- npusim /, "", command); sub(/ -->$/, "", command); shown++ }
	/^```/ && command != "" { print; print "$ npusim " command; run = npusim " " command; while ((run | getline line) > 0) print line; close(run); command = ""; skip = 1; next }
	skip && !/^```/ { next }
	{ skip = 0; print }
	END { exit shown == 0 }' "$readme" >"$tmp"

if [ -n "${UPDATE:-}" ]; then
	cat "$tmp" >"$readme"
elif ! diff -u "$readme" "$tmp"; then
	echo "README.md is stale; UPDATE=1 NPUSIM=... SRC=. bash tests/sim/readme_test.sh writes it"
	exit 1
fi
echo "README.md shows what the program prints"
