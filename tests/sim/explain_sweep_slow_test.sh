#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cycles at stake are an upper bound: over kernels and machines by chance, of fixed seeds, no try that is simulated wins more
# than was at stake before anything was run, but for 2 % of the run (banks and DRAM rows fall otherwise); and no rule that a
# perfect part answers for promises more than three times what that part or a try wins, but for 3 % of the run
# (phases that follow one another leave more than their longest engine).
. "$SRC/tests/support/cli.sh"

state=1
# pick WORD...: one of them, by chance, in $picked.
pick() {
    state=$(((state * 1103515245 + 12345) & 0x7fffffff))
    local n=$(((state >> 16) % $#))
    shift $n
    picked=$1
}
# chosen KEY VALUE...: KEY= and one of the values, behind the words of the run.
chosen() {
    local key=$1
    shift
    pick "$@"
    words+=("$key=$picked")
}

# Reports of explain without and with --what-if, a line each of what is wrong.
judge='
function value() { sub(/^[^:]*: */, ""); sub(/,$/, ""); gsub(/"/, ""); return $0 }
FNR == 1 { file++ }
/^  "cycles":/ { run = value() + 0 }
/^  "what_if"/ { table = 1 }
/^      "rule":/ { rule = value() }
/^      "cycles":/ { n = value() + 0; if (table) row = n; else if (file == 1) stake[rule] = n }
/^      "energy_uj":/ && !table && value() + 0 > 0 { delete stake[rule] }
/^          "simulated":/ { simulated = value() }
/^          "cycles":/ { tried = value() + 0 }
/^          "settings":/ && file == 2 && simulated == "true" {
	if (run - tried > won[rule]) { won[rule] = run - tried; by[rule] = value() }
}
/^      "simulated":/ { simulated = value() }
/^      "ideal":/ && simulated == "true" { ideal[value()] = run - row }
END {
	split("dram dram latency dram misaligned dram sram sram vector vector array matrix drain matrix dispatch dispatch", pairs, " ")
	for (i = 1; i in pairs; i += 2)
		part[pairs[i]] = pairs[i + 1]
	for (rule in stake) {
		found++
		if (won[rule] > stake[rule] + 0.02 * run)
			print rule ": " stake[rule] " of " run " at stake, " by[rule] " wins " won[rule]
		if (rule in part) {
			perfect = ideal[part[rule]] > won[rule] ? ideal[part[rule]] : won[rule]
			if (stake[rule] > 3 * perfect + 0.03 * run)
				print rule ": " stake[rule] " of " run " at stake, a perfect part wins " perfect
		}
	}
	print "found " found + 0
}'

findings=0
for seed in {1..48}; do
    state=$(((seed * 2654435761) & 0x7fffffff))
    pick gemm gemv flash_attention attention qk_tiled pv_tiled mask_softmax decode_attention_paged prefill_attention_paged kv_fetch_paged rope
    words=("$picked")
    case $picked in
    gemm) chosen m 1 16 64 128 256 && chosen n 64 128 256 && chosen k 64 128 256 && chosen buffering single double triple && chosen dtype fp16 int8 ;;
    gemv) chosen n 256 512 && chosen k 256 512 1024 && chosen m 1 2 8 ;;
    flash_attention | attention) chosen seq 128 256 384 && chosen heads 1 2 && chosen buffering single double ;;
    mask_softmax) chosen seq 128 256 && chosen heads 1 2 && chosen fused 0 1 ;;
    decode_attention_paged) chosen seq 128 256 && chosen page 1 4 16 ;;
    prefill_attention_paged) words+=(heads=2 kv_heads=1 chunk=128) && chosen seq 128 256 ;;
    kv_fetch_paged) chosen seq 128 256 && chosen page 1 4 16 ;;
    rope) chosen rows 16 64 ;;
    *) chosen seq 128 256 && chosen heads 1 2 ;;
    esac
    pick 0 1 1 2
    n=$picked
    while [ "$n" -gt 0 ]; do
        pick dma.outstanding dma.port dram.channels matrix.rows vector.lanes sram.banks sequencer.issue_cycles dma.max_burst dma.start_cycles
        case $picked in
        dma.outstanding) chosen dma.outstanding 1 2 4 16 ;;
        dma.port) chosen dma.port 4 8 64 ;;
        dram.channels) chosen dram.channels 1 4 ;;
        matrix.rows) chosen matrix.rows 8 16 64 ;;
        vector.lanes) chosen vector.lanes 8 128 ;;
        sram.banks) chosen sram.banks 8 32 ;;
        sequencer.issue_cycles) chosen sequencer.issue_cycles 16 64 ;;
        dma.max_burst) chosen dma.max_burst 64 512 ;;
        dma.start_cycles) chosen dma.start_cycles 0 200 ;;
        esac
        n=$((n - 1))
    done
    "$NPUSIM" explain "${words[@]}" --report raw.json >/dev/null 2>err && "$NPUSIM" explain "${words[@]}" --what-if --report run.json >/dev/null 2>err ||
        { fail "explain ${words[*]}: $(cat err)"; continue; }
    awk "$judge" raw.json run.json >told
    checks=$((checks + 1))
    ! grep -v '^found' told >wrong || fail "explain ${words[*]}: $(cat wrong)"
    findings=$((findings + $(sed -n 's/^found //p' told)))
done
# Most runs have something to say, else nothing was tested.
checks=$((checks + 1))
[ "$findings" -ge 48 ] || fail "$findings findings in 48 runs"

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
