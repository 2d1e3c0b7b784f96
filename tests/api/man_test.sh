#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manual page of the library lists every function that npu.h declares, each once, and no other; and those are what
# libnpu.so exports.
set -euo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cc -E -P -DNPU_DECLARATIONS_ONLY '-D__attribute__(x)=' "$BUILD/kernels/api/npu.h" | sed -n '/enum npu_error_code/,$p' |
    tr '\n' ' ' | tr ';{}' '\n\n\n' | grep -v '(\*' | sed -n 's/^[^(]*[ *]\(npu_[a-z_]*\)(.*/\1/p' | sort >"$folder/declared"
sed -n '/^\.SH FUNCTIONS/,/^\.SH ERRORS/p' "$SRC/docs/man/npu.3" | grep -o 'npu_[a-z_]*' | sort >"$folder/listed"
sed -n 's/^    \(npu_[a-z_]*\);$/\1/p' "$SRC/kernels/api/npu.map" | sort >"$folder/exported"
[ "$(wc -l <"$folder/declared")" -gt 50 ] || { echo "FAIL: npu.h is read as next to nothing" >&2; exit 1; }
diff "$folder/declared" "$folder/listed" || { echo 'FAIL: npu.h (<) and docs/man/npu.3 (>) have other functions' >&2; exit 1; }
diff "$folder/declared" "$folder/exported" || { echo 'FAIL: npu.h (<) and npu.map (>) have other functions' >&2; exit 1; }
echo "npu.3 lists the $(wc -l <"$folder/declared") functions of npu.h"
