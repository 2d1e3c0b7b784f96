#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Options of npusim sweep: none is ignored, no output takes away what a sweep is made of, scripts hold for any path, charts are of what
# was asked for and end for axes of any length.
. "$SRC/tests/support/cli.sh"
odd="a b's {} {1} {.} {= \$_=1 =}"$'\n\xff'
mkdir "$odd"
printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64}' 'axes: {tile_m: [16, 32], tile_n: [16, 32], sram.size: [512KiB, 1MiB]}' >"$odd/s.yaml"
cp "$odd/s.yaml" s.yaml
sed 's/32\]/64]/' s.yaml >other.yaml
"$NPUSIM" sweep run s.yaml -q -o s >/dev/null || fail 's'

# What a part does not take is refused.
while read -r part rest; do
    # shellcheck disable=SC2086
    refuses 2 "sweep $part takes no --$(sed 's/^[^-]*--//; s/ .*//' <<<"$rest")" sweep $part $rest
done <<'END2'
best s --csv x.csv
figures --by cycles
run s.yaml --top 3
merge s --where 1
plot s --shards 3
submit s.yaml --csv x
END2

# merge takes no file that the sweep needs, nor one twice; anything else that a person names.
cp -r s before && cp s.yaml s.keep
for path in s/sweep.json ./s/../s/sweep.json "$(ls s/points-* | sed 1q)" s/lock s.yaml; do
    for option in -o --csv --json; do
        "$NPUSIM" sweep merge s $option "$path" >out 2>err && fail "merge $option $path is done"
        grep -qx "npusim: $option $path: the sweep itself is in that file; another one would be right" err || fail "$(cat err)"
        checks=$((checks + 1))
    done
done
diff -r s before && cmp s.yaml s.keep || fail 'a sweep has lost something'
# What is no file is not replaced by one: a pipe, a folder, stdout; nor a device, by who may.
mkfifo pipe && mkdir taken
for path in pipe taken -; do
    refuses 2 "-o $path: a file would be right, that is none" sweep merge s -o $path
done
[ -p pipe ] && [ -d taken ] || fail 'merge puts a file where a pipe was'
refuses 2 '--csv and --json: both are x' sweep merge s --csv x --json x
refuses 2 '-o and --csv: both are x' sweep merge s -o x --csv x
echo old >x.csv
"$NPUSIM" sweep merge s --csv x.csv >/dev/null && [ "$(wc -l <x.csv)" = 9 ] || fail 'a file that a person named is not written'
(trap '' XFSZ; ulimit -f 4; "$NPUSIM" sweep merge s -o full.sqlite >out 2>err) && fail 'a full disk'
grep -q '^npusim: full.sqlite: ' err && [ ! -e full.sqlite ] || fail "a full disk: $(cat err)"
checks=$((checks + 3))

# submit: not into a folder of another sweep; the line without Slurm, as it stands, for any path.
"$NPUSIM" sweep submit other.yaml -o s --dry-run >out 2>err && fail 'submit into a folder of another sweep'
grep -qx "npusim: $PWD/s holds results of another sweep; another folder (-o) would be right" err && [ ! -e s/array.sbatch ] || fail "$(cat err)"
"$NPUSIM" sweep submit "$odd/s.yaml" -o "s" --dry-run --shards 2 -j 2 >out 2>err || fail "the same sweep elsewhere: $(cat err)"
"$NPUSIM" sweep submit "$odd/s.yaml" -o 'p{}{1}' --dry-run --shards 2 -j 3 >out || fail 'submit'
grep -q ' --shard {1}/2 -j 3 ::: ' out || fail "-j is dropped: $(cat out)"
if command -v parallel >/dev/null && parallel --version 2>/dev/null | grep -q '^GNU parallel'; then
    (cd / && bash -c "$(tail -n 1 "$folder/out")") >done 2>err </dev/null || fail "the line for GNU parallel: $(cat err)"
    grep -q '8 points: 8 run' done || fail "the line for GNU parallel: $(cat done)"
    checks=$((checks + 1))
fi
# The scripts as tasks run them.
rm -f 'p{}{1}'/points-*
for task in 1 2; do
    (cd / && SLURM_ARRAY_TASK_ID=$task bash "$folder/p{}{1}/array.sbatch") >done 2>err </dev/null || fail "task $task: $(cat err)"
done
(cd / && bash "$folder/p{}{1}/merge.sbatch") >done 2>err && grep -q '8 points: 8 run' done || fail "the tasks of an array: $(cat done err)"
# What it does, without it: a shard that is not there is told.
merge=$(tail -n 1 out | sed 's/.*; //')
rm -rf p* && mkdir 'p{}{1}' && cp s/sweep.json 'p{}{1}/'
bash -c "$merge" >done 2>err && fail 'missing points are no failure'
grep -q '8 of 8 points are missing' err || fail "$(cat done err)"
checks=$((checks + 8))

# Specifications: values that are one, names that are two things, a byte order mark.
printf '%s\n' 'run: gemm' 'axes: {sram.size: [1MiB, 1024KiB, 1048576]}' >w.yaml
refuses 2 'w.yaml:2:26: sram.size: 1024KiB stands there already, as 1MiB' sweep run w.yaml
# twice AXES MESSAGE: of keys that go together the tuple is there once, by its values; without a message it is taken.
cp "$SRC/models/presets/edge-1mb.yaml" mine.yaml
printf '%s\n' '.param n=16, w=x' '.tensor A[64, n] fp16 in' '.sram a[64, n] fp16' '  load a, A[:, :]' >n.npu
ln -s mine.yaml same.yaml
twice() {
    printf '%s\n' "run: ${3:-gemm}" "axes: $1" >w.yaml
    [ -n "$2" ] && refuses 2 "w.yaml:2:$2" sweep run w.yaml || ends 0 sweep run w.yaml --dry-run -q
}
twice '{array: {zip: {matrix.rows: [16, 32, 32], matrix.cols: [16, 16, 32]}}}' ''
twice '{array: {zip: {matrix.rows: [16, 32, 32, 32], matrix.cols: [16, 16, 32, 16]}}}' '48: array: 32x16 stands there twice'
twice '{a: {zip: {dram.ideal: [yes, no, true], sram.size: [1MiB, 1MiB, 1048576]}}}' '40: a: true,1048576 stands there already, as yes,1MiB'
twice '{dram.ideal: [yes, true]}' '26: dram.ideal: true stands there already, as yes'
twice '{tile_m: [032, 32]}' '22: tile_m: 32 stands there already, as 032'
twice '{npu.clock_mhz: [500, 5e2]}' '29: npu.clock_mhz: 5e2 stands there already, as 500'
twice '{a: {zip: {n: [16, 0016, 16], w: [x, y, x]}}}' '32: a: 16,x stands there twice' n.npu
twice '{hw: [mine.yaml, ./same.yaml]}' '24: hw: ./same.yaml stands there already, as mine.yaml'
twice '{hw: [edge-1mb, edge-2mb, edge-1mb]}' '33: hw: edge-1mb stands there twice'
# Far behind, where a comparison of each with each would take long.
{ printf 'run: gemm\naxes: {m: [' && seq -s, 1 30000 && printf ', 5]}\n'; } | tr -d '\n' | sed 's/axes/\naxes/' >w.yaml
begun=$SECONDS
"$NPUSIM" sweep run w.yaml >out 2>err && fail 'a value that stands there twice'
grep -q ': m: 5 stands there twice$' err && [ $((SECONDS - begun)) -le 20 ] || fail "far behind: $(cat err)"
checks=$((checks + 1))
printf '%s\n' 'run: gemm' 'axes: {tile_k: {zip: {tile_m: [16], tile_n: [16]}}}' >w.yaml
refuses 2 'w.yaml:2:8: tile_k is a key itself: keys that go together are called by a name of their own' sweep run w.yaml
printf '\xef\xbb\xbf' | cat - s.yaml >bom.yaml
"$NPUSIM" sweep run bom.yaml -o s >out 2>err && grep -qx '8 points are in s already' err || fail "a byte order mark: $(cat err)"
checks=$((checks + 1))

# Figures that no point of it can have.
for part in 'best s --by' 'plot s --by' 'plot s --against'; do
    for figure in tokens_per_s ms_per_token; do
        # shellcheck disable=SC2086
        refuses 2 "--${part#* s --} $figure: runs of a kernel or program have no such figure" sweep $part $figure
    done
done

# Charts.
if command -v gnuplot >/dev/null; then
    "$NPUSIM" sweep plot s --by energy.total_uj --against dram.bus_bytes --x tile_m --y tile_n -o q >out 2>err || fail "plot: $(cat err)"
    grep -qx "set xlabel 'tile_m'" q/plots.gp && grep -qx "set ylabel 'tile_n'" q/plots.gp && grep -qx "set xlabel 'dram.bus_bytes, KiB'" q/plots.gp &&
        grep -qx "set title 'best energy.total_uj for each tile_n'" q/plots.gp || fail "other charts than those: $(grep '^set [xyt].*[el] ' q/plots.gp)"
    refuses 2 '--x: no axis tile_w; did you mean tile_m?' sweep plot s --x tile_w
    refuses 2 '--x and --y: two axes would be right' sweep plot s --x tile_m --y tile_m
    refuses 2 '--against: unknown figure cycle; did you mean cycles?' sweep plot s --against cycle
    refuses 2 '--against cycles: that is what is made best' sweep plot s --against cycles
    # 9,000,000 cells
    printf '%s\n' 'run: gemm' 'with: {k: 64}' 'axes: {m: {range: [1, 3000, 1]}, n: {range: [1, 3000, 1]}}' 'where: m * n < 100000' 'sample: 200' >long.yaml
    "$NPUSIM" sweep run long.yaml -q -o long >/dev/null || fail 'long axes'
    begun=$SECONDS
    "$NPUSIM" sweep plot long >out 2>err || fail "long axes: $(cat err)"
    [ $((SECONDS - begun)) -le 60 ] || fail "a chart of long axes takes $((SECONDS - begun)) s"
    [ "$(sed -n '/^$map/{n;p;q}' long/plots/plots.gp | grep -o '"[0-9][0-9]*"' | wc -l)" -le 17 ] || fail 'labels stand over each other'
    (trap '' XFSZ; ulimit -f 8; "$NPUSIM" sweep plot s -o small >out 2>err) && fail 'a full disk'
    for f in small/*.svg; do [ ! -e "$f" ] || grep -q '</svg>' "$f" || fail "$f is left half written"; done
    checks=$((checks + 5))
fi
[ $failures = 0 ] && echo "$checks checks of options"
[ $failures = 0 ]
