#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Energy: every price of every preset has its source, and clocks that stop save what the report says.
. "$SRC/tests/support/cli.sh"

# A price set in a preset has its source beside it, one that is not in the meaning of its key
source='Horowitz|MICRO|JESD|design choice|as SRAM'
for preset in $("$NPUSIM" hw list | awk 'NR > 1 { print $1 }'); do
    checks=$((checks + 1))
    bare=$("$NPUSIM" hw show "$preset" | grep -E '^energy\.[a-z_0-9]+(_pj|_mw|_fraction) ' | grep -vE "$source")
    [ -z "$bare" ] || fail "$preset has prices without a source: $bare"
done
checks=$((checks + 1))
[ "$("$NPUSIM" hw show edge-1mb | grep -cE '^energy\.[a-z_0-9]+(_pj|_mw|_fraction) ')" = 8 ] || fail 'eight prices'

# figure REPORT KEY
figure() { sed -n "s/^ *\"$2\": \([0-9.e+-]*\),*$/\1/p" "$1" | head -n 1; }
run=(run flash_attention seq=256 heads=2 -q)
"$NPUSIM" "${run[@]}" --report polling.json
"$NPUSIM" "${run[@]}" energy.idle=gated --report gated.json
"$NPUSIM" "${run[@]}" energy.idle=gated energy.leakage_fraction=1 --report leaky.json
# same A B: figures equal but for rounding
same() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a > 0 && d < 1e-6 * a && d > -1e-6 * a) }'; }
checks=$((checks + 4))
same "$(figure polling.json idle_gated_uj)" "$(figure gated.json idle_uj)" || fail 'what polling foretells is not what gated takes'
same "$(figure leaky.json idle_uj)" "$(figure polling.json idle_uj)" || fail 'leakage alone cannot be stopped'
saved=$(awk -v a="$(figure polling.json total_uj)" -v b="$(figure gated.json total_uj)" 'BEGIN { print a - b }')
less=$(awk -v a="$(figure polling.json idle_uj)" -v b="$(figure gated.json idle_uj)" 'BEGIN { print a - b }')
same "$saved" "$less" || fail "the sum falls by $saved, idle by $less"
[ "$(figure polling.json cycles)" = "$(figure gated.json cycles)" ] || fail 'gating changes the time'

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
