#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The output shown in docs/tutorial.md is what the program prints about the files shown there.
# UPDATE=1 NPUSIM=... SRC=. bash tests/sim/tutorial_test.sh writes it.
set -euo pipefail
unset NPUSIM_PRESETS
export NO_COLOR=1
page=$(cd "$SRC" && pwd)/docs/tutorial.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$(cd "$(dirname "$NPUSIM")" && pwd)/$(basename "$NPUSIM")" "$folder/bin/npusim"
export PATH=$folder/bin:$PATH
cd "$folder"

# The block after "<!-- file NAME -->" is that file; "<!-- file NAME from OTHER EDIT -->" makes one with sed. The block after
# "<!-- npusim ARGUMENTS -->" is replaced by what that command prints, errors too.
awk '
	/^<!-- file [^ ]+ -->$/ { file = $3 }
	/^<!-- file [^ ]+ from / {
		edit = $0; sub(/^<!-- file [^ ]+ from [^ ]+ /, "", edit); sub(/ -->$/, "", edit); gsub(/\047/, "", edit)
		if (system("sed \047" edit "\047 " $5 " >" $3 "; ! cmp -s " $5 " " $3) != 0) { print "an edit that changes nothing: " edit >"/dev/stderr"; exit 1 }
	}
	/^<!-- npusim .* -->$/ { command = $0; sub(/^<!-- /, "", command); sub(/ -->$/, "", command); shown++ }
	/^```/ && command != "" {
		print; print "$ " command
		run = "{ " command "; } 2>&1"
		while ((run | getline line) > 0) { sub(/ +$/, "", line); print line }
		close(run); command = ""; skip = 1; next
	}
	skip && !/^```/ { next }
	{ skip = 0; print }
	/^```/ && writing { close(writing); writing = ""; next }
	writing { print >writing }
	/^```npu/ && file != "" { writing = file; file = "" }
	END { exit shown == 0 }' "$page" >page.md

if [ -n "${UPDATE:-}" ]; then
    cat page.md >"$page"
elif ! diff -u "$page" page.md; then
    echo "docs/tutorial.md is stale; UPDATE=1 NPUSIM=... SRC=. bash tests/sim/tutorial_test.sh writes it"
    exit 1
fi
echo "docs/tutorial.md shows what the program prints"
