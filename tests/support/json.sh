# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Reports of npusim in scripts, with nothing but awk. Sourced; SRC is the source folder.

# json_lines FILE...: path, tab, value of each value.
json_lines() { awk -f "$SRC/tests/support/json_lines.awk" "$@"; }

# json_value PATH [FILE]: a value by its path, as it is printed; strings without quotes.
json_value() { json_lines "${2:--}" | awk -F '\t' -v path="$1" '$1 == path { print $2; found = 1 } END { exit !found }'; }

# json_holds EXPRESSION FILE: an expression of awk over v[PATH], sum(PATTERN) of all paths that match it whole, and
# near(A, B, SHARE).
json_holds() {
    json_lines "$2" | awk -F '\t' '
        function abs(x) { return x < 0 ? -x : x }
        function near(a, b, share) { return abs(a - b) <= share * abs(b) }
        function sum(pattern, key, s) {
            for (key in v) if (key ~ ("^" pattern "$")) s += v[key]
            return s + 0
        }
        { v[$1] = $2 }
        END { exit !(NR > 0 && ('"$1"')) }'
}

# json_adds_up FILE: wherever a report has cycles and engines, busy, stalls and idle of each engine are all cycles; no number is below
# 0. Says what is not so; false, too, without any.
json_adds_up() {
    json_lines "$1" | awk -F '\t' '
        $2 ~ /^-[0-9]/ { print $1 " is " $2; wrong = 1 }
        $1 ~ /\.cycles$/ { cycles[substr($1, 1, length($1) - 7)] = $2 }
        match($1, /\.engines\.[a-z]+\.(busy|idle|stalls\..*)$/) {
            split(substr($1, RSTART + 9), name, ".")
            sum[substr($1, 1, RSTART - 1) FS name[1]] += $2
        }
        END {
            for (i in sum) {
                split(i, of, FS)
                off = sum[i] - cycles[of[1]]
                n++
                if (off > 0.001 || off < -0.001) { print of[1] ": " of[2] " adds up to " sum[i] " of " cycles[of[1]] " cycles"; wrong = 1 }
            }
            exit wrong || !n
        }'
}
