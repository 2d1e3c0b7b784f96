# SPDX-License-Identifier: Apache-2.0
# npusim tune against every point of its own grid. Read after tests/support/cli.sh.
# shellcheck shell=bash

# sum_is_whole FILE: what tune says became of the legal combinations is all of them.
sum_is_whole() {
    sed -n 's/,\([0-9]\)/\1/g; s/^[0-9]* combinations, //p' "$1" |
        awk '{n = $1 + ($0 ~ /the kernel.s own/); sub(/^[^:]*: /, ""); m = split($0, part, ", "); for (i = 1; i <= m; i++) n -= part[i]} END {exit n != 0 || NR != 1}'
}

# exhaust HW KERNEL "PARAMETERS" TILE...: tune is never worse than the best of the grid, with a tenth of its simulations at most (of fewer
# than 50 points with 5, of fewer than 20 with any), and the bound that it prunes by holds for what was run.
exhaust() {
    local hw=$1 kernel=$2 parameters=$3 name best legal tuned simulated
    shift 3
    checks=$((checks + 4))
    name=$kernel$checks
    {
        echo "run: $kernel"
        [ -z "$parameters" ] || echo "with: {$(sed 's/ /, /g; s/=/: /g' <<<"$parameters")}"
        echo "hw: $hw"
        echo 'axes:'
        for tile in "$@"; do
            [ "$tile" = order ] && echo '  order: [output, weight, activation]' || echo "  $tile: {pow2: [16, 512]}"
        done
        echo '  buffering: [single, double, triple]'
    } >"$name.yaml"
    "$NPUSIM" sweep run "$name.yaml" -q >"$name.txt" || fail "$name: $(cat "$name.txt")"
    "$NPUSIM" sweep merge "$name.sweep" --json "$name.json" >/dev/null
    best=$(jq '[.[] | select(.status == "run").cycles] | min' "$name.json")
    legal=$(jq '[.[] | select(.status == "run")] | length' "$name.json")
    # shellcheck disable=SC2086
    "$NPUSIM" tune $kernel $parameters --hw "$hw" >"$name.tune" || fail "tune $name"
    tuned=$(sed -n 's/^best .*  \([0-9,]*\) cycles.*/\1/p' "$name.tune" | tr -d ,)
    simulated=$(sed -n 's/.*legal[^:]*: \([0-9]*\) simulated.*/\1/p' "$name.tune")
    [ "$tuned" -gt 0 ] && [ "$tuned" -le "$best" ] || fail "$kernel $parameters on $hw: tuned to $tuned cycles, the grid has $best"
    [ $((simulated * 10)) -le "$legal" ] || { [ "$legal" -lt 50 ] && [ "$simulated" -le 5 ]; } || [ "$legal" -lt 20 ] || fail "$kernel $parameters on $hw: $simulated simulations, the grid takes $legal"
    sum_is_whole "$name.tune" || fail "$kernel $parameters on $hw: $(grep legal "$name.tune") do not add up"
    awk '/^[0-9]+ /{gsub(",", ""); for (i = 2; i <= NF; i++) if ($i ~ /^(single|double|triple)$/) {j = i + 1 + ($(i + 1) ~ /^[a-z]/); if ($j + 0 > $(j + 2) + 0) exit 1}}' "$name.tune" ||
        fail "$kernel $parameters on $hw: faster than its bound"
    # What it prints runs, and takes what it says.
    # shellcheck disable=SC2046
    [ "$("$NPUSIM" $(tail -n 1 "$name.tune" | sed 's/^npusim //') --report - | jq .cycles)" = "$tuned" ] || fail "$name: its command takes other cycles"
}
