#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A point of a model is `npusim model` with the same words: whole cycles, the same ones in its table, its report and the sweep, also where
# operators are drawn out; where they went adds up, and nothing is below 0.
. "$SRC/tests/support/cli.sh"

# adds_up POINT WHAT: cycles of the overlap and of each engine are all of them.
adds_up() {
    local part
    for part in overlap engines.load engines.store engines.matrix engines.vector; do
        is "$part of $2" "$(jq --arg p $part. '[to_entries[] | select((.key | startswith($p)) and .key != "overlap.hidden_fraction").value] | add' "$1")" "$(jq .cycles "$1")"
    done
    is "figures below 0 of $2" "$(jq '[to_entries[] | select((.value | type) == "number" and .value < 0)] | length' "$1")" 0
}

printf '%s\n' 'model: smollm2-135m' 'with: {phase: prefill}' 'axes: {context: [320, 640]}' >s.yaml
"$NPUSIM" sweep run s.yaml -q >/dev/null 2>err || fail "$(cat err)"
"$NPUSIM" sweep merge s.sweep --json s.json >/dev/null || fail 'merge'
for context in 320 640; do
    "$NPUSIM" model smollm2-135m phase=prefill context=$context --report r.json >table || fail 'model'
    jq --argjson c $context '.[] | select(.context == $c)' s.json >point.json
    is "operators of $context that are drawn out" "$(jq '[.operators[] | select(.drawn_out)] | length > 0' r.json)" true
    is "cycles of $context" "$(jq .cycles point.json)" "$(jq '.total.cycles | if . == floor then floor else "no whole number" end' r.json)"
    is "cycles of $context in the table" "$(awk '$1 == "total" && NF > 3 { gsub(",", "", $2); print $2 }' table)" "$(jq .cycles point.json)"
    is 'operators that add up' "$(jq '[.operators[].cycles] | add == $t' --argjson t "$(jq .total.cycles r.json)" r.json)" true
    # us = cycles at 1,000 MHz
    is 'time' "$(jq '.time_us * 1000 | round' point.json)" "$(jq .cycles point.json)"
    is 'traffic and work' "$(jq '[."dram.read_bytes", ."dram.write_bytes", .macs, .instructions]' -c point.json)" \
        "$(jq '.total | [.dram_read_bytes, .dram_write_bytes, .macs, .instructions] | map(floor)' -c r.json)"
    adds_up point.json $context
done

# What the machine could do is there as in the report, and a chart of it where the bandwidth is swept.
printf '%s\n' 'model: stories260k' 'with: {context: 32}' 'axes: {dram.channels: [1, 2], dram.ideal: [no, yes]}' 'report: [tokens_per_s, dram.peak_fraction]' >d.yaml
"$NPUSIM" sweep run d.yaml -q >/dev/null 2>err && "$NPUSIM" sweep merge d.sweep --json d.json >/dev/null || fail "$(cat err)"
for ideal in no yes; do
    for channels in 1 2; do
        "$NPUSIM" model stories260k context=32 dram.channels=$channels dram.ideal=$ideal --report r.json >/dev/null || fail 'model'
        jq --argjson c $channels --arg i $ideal '.[] | select(."dram.channels" == $c and ."dram.ideal" == $i)' d.json >point.json
        is "the DRAM of $channels channels, ideal=$ideal" "$(jq -c '[."dram.gb_per_s", ."dram.peak_fraction", .ridge_macs_per_byte | if . then . * 1e9 | round else . end]' point.json)" \
            "$(jq -c '[.total.dram_gb_per_s, .total.dram_peak_fraction, .ridge_macs_per_byte | if . then . * 1e9 | round else . end]' r.json)"
        is "its peak" "$(jq '."dram.peak_gb_per_s" * 1e6 | round' point.json)" "$("$NPUSIM" run gemm m=16 n=16 k=16 dram.channels=$channels dram.ideal=$ideal --report - | jq '.dram.peak_gb_per_s * 1e6 | round')"
    done
done
if command -v gnuplot >/dev/null; then
    "$NPUSIM" sweep plot d.sweep >/dev/null 2>err || fail "$(cat err)"
    is 'the charts' "$(grep -o 'against [a-z_.]*:' d.sweep/plots/pareto.svg | sort -u | grep -c 'against dram.peak_gb_per_s:')" 1
fi

# Of a shorter run with more of a wait than the longer one has, a straight line goes below 0.
printf '%s\n' 'model: tinyllama-1.1b' 'with: {phase: prefill, weights: int8}' 'axes: {context: [1000]}' >t.yaml
"$NPUSIM" sweep run t.yaml -q >/dev/null 2>err || fail "$(cat err)"
"$NPUSIM" sweep merge t.sweep --json - | jq '.[0]' >point.json
adds_up point.json 'tinyllama-1.1b'
[ $failures = 0 ] && echo "$checks checks of models"
[ $failures = 0 ]
