#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim import: a layer costs what a run of its kernel does, programs that are written are legal and the same, counts of
# SCALE-Sim's formula, and what is refused.
. "$SRC/tests/support/cli.sh" || exit 1
. "$SRC/tests/support/json.sh" || exit 1

# refuse STATUS TEXT ARGUMENT...: as refuses, of the command.
refuse() { refuses "$1" "$2" import "${@:3}"; }

cat >gemm.csv <<'END'
Layer, M, N, K,
 a/b ,100, 70 ,50,
twice,100,70,50,
END
cat >conv.csv <<'END'
Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
,,,,,,,,
Net,
conv1, 14, 14, 3, 3, 16, 32, 1,
fc, 1, 1, 1, 1, 64, 10, 1
END
# Windows that lie one after the other are a product as they are: a filter of one position, whole rows, all of X; with rows left over, or steps of two, they are not.
cat >dense.csv <<'END'
Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides, Batch Size
point, 10, 10, 1, 1, 50, 70, 1, 1
rows, 200, 5, 2, 5, 5, 70, 2, 1
whole, 2, 5, 2, 5, 5, 70, 3, 100
ragged, 201, 5, 2, 5, 5, 70, 2, 1
columns, 2, 50, 1, 1, 50, 70, 1, 1
stride, 20, 20, 1, 1, 50, 70, 2, 1
END
"$NPUSIM" import scalesim gemm.csv --report gemm.json >out 2>err || fail "gemm.csv: $(cat err)"
"$NPUSIM" import scalesim conv.csv dtype=int8 --report conv.json >/dev/null 2>err || fail "conv.csv: $(cat err)"
# Less than a millisecond is told in microseconds, at the 1,000 MHz of edge-1mb.
checks=$((checks + 1))
want=$(awk -v c="$(json_value cycles gemm.json)" 'BEGIN { printf "%.2f us, one layer after the other", c / 1000 }')
[ "$(tail -n 1 out)" = "$want" ] || fail "the last line is not $want: $(tail -n 1 out)"
cycles() { "$NPUSIM" run "$@" --report - | json_value cycles; }
# whole PATH FILE: a figure of a report without its fraction.
whole() { json_value "$1" "$2" | sed 's/\..*//'; }
is 'a gemm' "$(whole layers.0.cycles gemm.json)" "$(cycles gemm m=100 n=70 k=50)"
is 'a conv2d' "$(whole layers.0.cycles conv.json)" \
    "$(cycles conv2d height=14 width=14 channels=16 filters=32 dtype=int8)"
checks=$((checks + 1))
json_holds 'v["runs"] == 1 && v["layers.1.cycles"] == v["layers.0.cycles"] && v["cycles"] == 2 * v["layers.0.cycles"]' gemm.json ||
    fail 'the same layer twice'
# 32 x 32, weights in the array: ceil(50 / 32) x ceil(70 / 32) folds of 2 x 32 + 32 + 100 - 2.
is "SCALE-Sim's formula" "$(whole layers.0.scalesim_cycles gemm.json)" $((2 * 3 * 194))
grep -q '^total ' out || fail 'there is no total'

"$NPUSIM" import scalesim dense.csv --report dense.json >/dev/null 2>err || fail "dense.csv: $(cat err)"
for i in 0 1 2 4; do
    is "windows that are rows, layer $i" "$(json_value layers.$i.kernel dense.json) $(whole layers.$i.cycles dense.json)" \
        "gemm $(cycles gemm m=100 n=70 k=50)"
done
for i in 3 5; do
    is "windows that are gathered, layer $i" "$(json_value layers.$i.kernel dense.json)" conv2d
done

# drawn_out SHARE M N K [ARGUMENT...]: a long product is drawn out from shorter ones, and within that share of what it takes as a whole.
drawn_out() {
    local full
    printf 'Layer,M,N,K\nlong,%s,%s,%s\n' "$2" "$3" "$4" >long.csv
    "$NPUSIM" import scalesim long.csv "${@:5}" --report long.json >/dev/null || fail "$2 x $3 x $4 fails"
    full=$("$NPUSIM" import scalesim long.csv "${@:5}" --exact --report - | json_value cycles | sed 's/\..*//')
    checks=$((checks + 1))
    json_holds "v[\"layers.0.drawn_out\"] == \"true\" && near(v[\"layers.0.cycles\"], $full, $1)" long.json ||
        fail "$2 x $3 x $4: drawn out $(json_value layers.0.cycles long.json), whole $full"
}
# From fewer columns or rows, of which there are more tiles; a ragged last tile is in both runs. Rows of 777 and 16,401 elements begin
# anywhere in a burst, those of 20,016 in other banks than those of a shorter one would: they lie as in the whole.
drawn_out 0.01 2048 1024 1024
drawn_out 0.005 5190 777 1024
drawn_out 0.01 130 16401 512
drawn_out 0.01 130 20016 256 --hw edge-2mb
# A single row of tiles is no reason to draw single rows out.
drawn_out 0.01 130 20016 1024 --hw edge-2mb tile=auto

# The schema has every key that a report has, and the report every key of the schema.
"$NPUSIM" schema import >schema.json || fail 'no schema'
checks=$((checks + 2))
json_lines schema.json | sed -nE 's/^properties\.layers\.items\.required\.[0-9]+\t//p' | sort >wanted
json_lines long.json | sed -nE 's/^layers\.0\.([^.\t]*).*/\1/p' | sort -u >found
[ -s wanted ] && diff found wanted || fail 'layers[] of report and schema differ'
json_lines schema.json | sed -nE 's/^required\.[0-9]+\t//p' | sort >wanted
json_lines long.json | sed -nE 's/^([^.\t]*).*/\1/p' | sort -u >found
[ -s wanted ] && diff found wanted || fail 'report and schema differ'

# Programs
"$NPUSIM" import scalesim gemm.csv -o programs 2>err || fail "-o: $(cat err)"
"$NPUSIM" import scalesim conv.csv -o programs 2>err || fail "-o: $(cat err)"
is 'files' "$(ls programs | tr '\n' ' ')" '001-a_b.npub 001-conv1.npub 002-fc.npub 002-twice.npub '
is 'a program' "$(cycles programs/001-a_b.npub)" "$(cycles gemm m=100 n=70 k=50)"
# They compute what the kernel does, which is compared with its reference.
same_values() {
    checks=$((checks + 1))
    "$NPUSIM" run "$1" --values --dump "$2=program.bin" >out 2>err && "$NPUSIM" run "${@:3}" --values --dump "$2=kernel.bin" >out 2>err ||
        fail "$1 --values: $(cat out err)"
    [ -s kernel.bin ] && cmp program.bin kernel.bin || fail "$1 and ${*:3} differ"
}
same_values programs/001-a_b.npub C gemm m=100 n=70 k=50
same_values programs/001-conv1.npub Y conv2d height=14 width=14 channels=16 filters=32
same_values programs/002-fc.npub C gemm m=1 n=10 k=64
for file in programs/*.npub; do
    checks=$((checks + 1))
    "$NPUSIM" check "$file" >out 2>err || fail "$file: $(cat out err)"
done
is 'a stream' "$("$NPUSIM" import scalesim - <gemm.csv | head -1)" 'stdin  2 layers, fp16, on edge-1mb: 32x32 MACs'

# Refused
refuse 2 'import onnx: scalesim would be right' onnx gemm.csv
refuse 2 'missing.csv: cannot be read: No such file or directory' scalesim missing.csv
refuse 2 'dtype=fp32: must be fp16|bf16|int8' scalesim gemm.csv dtype=fp32
refuse 2 '-o writes programs instead of running them, and --report has nothing to tell' scalesim gemm.csv -o x --report y.json
refuse 2 'gemm.csv/x: the folder cannot be made: Not a directory' scalesim gemm.csv -o gemm.csv/x
printf 'Layer,M,N,K\nx,1,2\n' >short.csv
refuse 2 'short.csv:2:5: K is missing' scalesim short.csv

[ $failures = 0 ] && echo "$checks checks of npusim import"
[ $failures = 0 ]
