#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim compare: the differences of two reports are those of the figures in them, and the keys that differ are all there.
. "$SRC/tests/support/cli.sh"

"$NPUSIM" run gemm m=256 n=256 k=256 -q --report a.json
"$NPUSIM" run gemm m=256 n=256 k=256 buffering=single sram.size=2MiB -q --report b.json

# refuse STATUS TEXT ARGUMENT...: exit status and the whole of stderr.
refuse() {
    local want=$1 text=$2 status=0
    shift 2
    checks=$((checks + 1))
    "$NPUSIM" "$@" >out 2>err </dev/null || status=$?
    [ "$status" = "$want" ] || fail "$*: exit status $status, not $want"
    [ "$(cat err)" = "npusim: $text" ] || fail "$*: said $(cat err), wanted npusim: $text"
}

# figure REPORT KEY: a number of the top level.
figure() { sed -n "s/^  \"$2\": \([0-9]*\),\$/\1/p" "$1"; }
grouped() { sed -E ':again; s/^([0-9]+)([0-9]{3})/\1,\2/; t again' <<<"$1"; }

"$NPUSIM" compare a.json b.json >out 2>err || fail "compare: $(cat err)"
a=$(figure a.json cycles) b=$(figure b.json cycles)
checks=$((checks + 1))
grep -qE "^cycles +$(grouped "$a") +$(grouped "$b") +$(grouped $((b - a))) " out || fail "cycles $a $b: $(grep '^cycles' out)"
checks=$((checks + 1))
[ "$(sed -n '/^differs/,$p' out | sed -E 's/ +/ /g')" = $'differs A B\nbuffering double single\nsram.size 1048576 2097152' ] ||
    fail "what differs: $(sed -n '/^differs/,$p' out)"
# A column of engine cycles adds up to nothing: each engine has all cycles in both runs
checks=$((checks + 1))
"$NPUSIM" compare a.json b.json --report c.json >/dev/null
sum=$(sed -n '/"engines"/,/]/s/.*"difference": \(-\{0,1\}[0-9.]*\).*/\1/p' c.json | awk '{ sum += $1 } END { print sum + 0 }')
[ "$sum" = $((4 * (b - a))) ] || fail "changes of engine cycles add up to $sum, not four times $((b - a))"
# Nothing changes from a report to itself
"$NPUSIM" compare a.json a.json >out
checks=$((checks + 1))
grep -q '^no parameter and no hardware key differs$' out && ! grep -q '^cycles of engines' out || fail "a run against itself: $(cat out)"
# Regions that only one of the runs has
"$NPUSIM" run gemm m=128 n=128 k=128 -q --report small.json
"$NPUSIM" compare a.json small.json >out
checks=$((checks + 1))
grep -qE '^tile 1,1 +[0-9,]+ +\. ' out || fail "a region that is gone: $(cat out)"

refuse 2 'missing.json: No such file or directory' compare a.json missing.json
refuse 2 '- and -: one report can come from stdin' compare - -
echo '{"schema": "npusim.dram/1"}' >dram.json
refuse 2 'dram.json: no report of a run; npusim run ... --report FILE.json writes one' compare a.json dram.json

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
