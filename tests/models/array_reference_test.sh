#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim array against the cycle counts of three arrays in RTL: every row within 1 % or 2 cycles, and no worse than
# docs/models/matrix.md says. Prints its error table.
set -euo pipefail
unset NPUSIM_PRESETS
: "${NPUSIM:=build/release/npusim}" "${SRC:=.}"
reference=$SRC/../shared/reference/rtl/array_cycles.csv

# Some of the rows, so that the test holds without the file: rtl, dataflow, array_dim, M, K, N, total_cycles. Simulated with
# Verilator, outputs checked; from the first operand in to the last result out.
embedded='gemmini_MeshWithDelays_16x16_int8,WS_double_buffered,16,32,16,16,81
gemmini_MeshWithDelays_16x16_int8,WS_double_buffered,16,1,64,64,290
gemmini_MeshWithDelays_16x16_int8,WS_double_buffered,16,33,64,64,802
gemmini_MeshWithDelays_16x16_int8,WS_double_buffered,16,256,64,256,16433
gemmini_MeshWithDelays_16x16_int8,OS_double_buffered,16,16,16,16,65
axis_sa_int8,OS,4,4,4,4,16
axis_sa_int8,OS,4,4,33,32,276
axis_sa_int8,OS,32,32,64,32,160
tiny-tpu_sysArr_int8,WS_serial_load_then_compute,4,2,4,4,12
tiny-tpu_sysArr_int8,WS_serial_load_then_compute,16,128,16,16,174'

if [ -e "$reference" ]; then
    rows=$(tail -n +2 "$reference")
else
    echo "no $reference: only the rows in this file are compared" >&2
    rows=$embedded
fi

measure() {
    local rtl flow dim m k n cycles rest preset ours
    while IFS=, read -r rtl flow dim m k n cycles rest; do
        case $rtl in
        gemmini*) preset=gemmini16 ;;
        axis_sa*) preset=axis-sa ;;
        tiny-tpu*) preset=tiny-tpu ;;
        *) echo "$rtl: no preset" >&2; return 1 ;;
        esac
        flow=${flow:0:2}
        ours=$("$NPUSIM" array "$m" "$k" "$n" --hw "$preset" "matrix.rows=$dim" "matrix.cols=$dim" "matrix.dataflow=${flow,,}" \
            --report - | sed -n 's/^ *"cycles": \([0-9]*\).*/\1/p')
        echo "$preset $m $k $n $cycles $ours"
    done
}

measured=$(measure <<<"$rows"; measure <<<"$embedded" | sed 's/^/again /')
awk '$1 != "again" { e = $6 - $5; if (e < 0) e = -e
         if (e > 2 && e > $5 / 100) { printf "%s %s x %s x %s: %s cycles, RTL %s\n", $1, $2, $3, $4, $6, $5 > "/dev/stderr"; bad = 1 } }
     $1 == "again" { e = $7 - $6; if (e > 2 || e < -2) bad = 1 }
     END { exit bad }' <<<"$measured"

table=$(awk 'BEGIN { print "| design | rows | mean error | worst error |\n| --- | --- | --- | --- |" }
    $1 != "again" { if (!($1 in n)) order[++designs] = $1
         e = ($6 - $5) / $5 * 100; if (e < 0) e = -e
         n[$1]++; sum[$1] += e; if (e > worst[$1]) worst[$1] = e }
    END { for (i = 1; i <= designs; i++) { d = order[i]
              printf "| `%s` | %d | %.2f %% | %.2f %% |\n", d, n[d], sum[d] / n[d], worst[d] } }' <<<"$measured")
echo "$table"
[ -e "$reference" ] || exit 0

# The page says what was measured.
while IFS= read -r line; do
    grep -qxF "$line" "$SRC/docs/models/matrix.md" || { echo "docs/models/matrix.md does not say: $line" >&2; exit 1; }
done <<<"$table"
