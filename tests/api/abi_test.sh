#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a compiled program knows of npu.h: offsets, sizes, numbers, prototypes. They are those of the tree's own headers,
# of which npu.h is made, and those on record for this NPU_ABI, tests/api/abi_N.txt. UPDATE=1 writes the record.
set -euo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
header=$BUILD/kernels/api/npu.h

fail() {
    printf 'FAIL: %s\n' "$*" >&2
    exit 1
}

# The declarations in one line; then a line each: MEMBER(struct, member), OPERAND(format, member), SIZE, NUMBER, or "; prototype".
cc -E -P -DNPU_DECLARATIONS_ONLY '-D__attribute__(x)=' "$header" | sed -n '/enum npu_error_code/,$p' |
    tr '\n\t' '  ' | tr -s ' ' >"$folder/declarations"
awk -v RS=';' '
    function member(text,    name) {
        if (match(text, /\(\*[a-z_0-9]+\)/)) {
            name = substr(text, RSTART + 2, RLENGTH - 3)
        } else {
            sub(/\[.*/, "", text)
            sub(/ *$/, "", text)
            name = text
            sub(/.*[ *]/, "", name)
        }
        if (name == "" || name == "wait" || name == "post")
            return
        if (now ~ /^npu_.*_operands$/)
            print "OPERAND(" substr(now, 5, length(now) - 13) ", " name ")"
        else
            print "MEMBER(" now ", " name ")"
    }
    /enum [a-z_]* *{|enum {/ {
        sub(/.*{/, "")
        sub(/}.*/, "")
        n = split($0, names, ",")
        for (i = 1; i <= n; i++) {
            sub(/=.*/, "", names[i])
            gsub(/ /, "", names[i])
            # A count of what there is may grow.
            if (names[i] != "" && names[i] != "NPU_DTYPES")
                print "NUMBER(" names[i] ")"
        }
        next
    }
    /^ *}/ {
        if (now !~ /_operands$/ && now != "npu_kernel" && now != "npu_param") # those may grow
            print "SIZE(" now ")"
        now = ""
        next
    }
    /struct [a-z_0-9]+ {/ {
        now = $0
        sub(/ {.*/, "", now)
        sub(/.*struct /, "", now)
        sub(/.*{ */, "")
        member($0)
        next
    }
    now { member($0); next }
    /\(/ { sub(/^ */, ""); print "; " $0 }
' "$folder/declarations" >"$folder/facts"
[ "$(grep -c '^MEMBER' "$folder/facts")" -gt 50 ] && [ "$(grep -c '^OPERAND' "$folder/facts")" -gt 100 ] &&
    [ "$(grep -c '^NUMBER' "$folder/facts")" -gt 60 ] && [ "$(grep -c '^;' "$folder/facts")" -gt 40 ] ||
    fail "the header is read as next to nothing: $(head -5 "$folder/facts")"

# ask NAME INCLUDES OFFSET_OF_OPERAND: the facts, as the compiler sees them.
ask() {
    {
        printf '#include <stddef.h>\n#include <stdio.h>\n%b\n' "$2"
        printf '#define BYTES(s, m) sizeof(((struct s *)0)->m)\n'
        printf '#define MEMBER(s, m) printf("%%s.%%s at %%zu, %%zu bytes\\n", #s, #m, offsetof(struct s, m), BYTES(s, m));\n'
        printf '#define OPERAND(f, m) printf("%%s operand %%s at %%zu, %%zu bytes\\n", #f, #m, (size_t)(%s), %s);\n' "$3" "$4"
        printf '#define SIZE(s) printf("%%s: %%zu bytes\\n", #s, sizeof(struct s));\n'
        printf '#define NUMBER(n) printf("%%s = %%d\\n", #n, (int)(n));\n'
        printf 'int main(void)\n{\n'
        grep -v '^;' "$folder/facts"
        printf 'return 0;\n}\n'
    } >"$folder/$1.c"
    cc -std=c17 -I"$SRC" -I"$BUILD/kernels/api" -o "$folder/$1" "$folder/$1.c" && "$folder/$1" >"$folder/$1.txt"
}
ask outside '#include <npu.h>' 'offsetof(struct npu_##f##_operands, m) - sizeof(struct npu_none_operands)' 'BYTES(npu_##f##_operands, m)'
ask inside '#include "kernels/kernel.h"\n#include "kernels/words.h"\n#include "kernels/reference.h"' \
    'offsetof(struct npu_##f, m)' 'BYTES(npu_##f, m)'
diff "$folder/inside.txt" "$folder/outside.txt" || fail 'npu.h (>) lays things out differently than the tree (<)'

# Pointers of another width make other layouts.
[ "$(uname -m)" = x86_64 ] || { echo 'npu.h is as the tree; the record is of x86_64'; exit 0; }
abi=$(sed -n 's/.*NPU_ABI = \([0-9]*\).*/\1/p' "$header")
record=$SRC/tests/api/abi_$abi.txt
{ cat "$folder/outside.txt"; sed -n 's/^; //p' "$folder/facts"; } | sort >"$folder/now"
[ "${UPDATE:-}" != 1 ] || cp "$folder/now" "$record"
[ -f "$record" ] || fail "there is no $record; UPDATE=1 writes it"
gone=$(comm -23 "$record" "$folder/now") new=$(comm -13 "$record" "$folder/now")
[ -z "$gone" ] || fail "what is compiled with npu.h relies on this; without it, NPU_ABI has to change:"$'\n'"$gone"
[ -z "$new" ] || fail "new, and not on record; UPDATE=1 SRC=. BUILD=... bash tests/api/abi_test.sh adds it:"$'\n'"$new"
echo "npu.h is as the tree, and as on record for NPU_ABI $abi"
