# SPDX-License-Identifier: Apache-2.0
# A report as npusim prints it, one value a line, as lines of path, tab, value: operators.0.cycles<TAB>208.0. Strings without quotes.

{
    sub(/^ +/, "")
    sub(/,$/, "")
}

/^[]}]$/ {
    depth--
    next
}

{
    key = depth ? count[depth]++ : ""
    if (match($0, /^"([^"\\]|\\.)*": /)) {
        key = substr($0, 2, RLENGTH - 4)
        $0 = substr($0, RLENGTH + 1)
    }
    place = depth > 1 ? path[depth] "." key : key
    if ($0 == "{" || $0 == "[") {
        path[++depth] = place
        count[depth] = 0
        next
    }
    gsub(/^"|"$/, "")
    print place "\t" $0
}
