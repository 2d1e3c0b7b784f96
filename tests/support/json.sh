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
