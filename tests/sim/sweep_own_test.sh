#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Results belong to one sweep, wherever it is run from: what another one left in a folder is never taken for them, a plan that was
# edited is refused, names in a plan are no commands, and what is told to be typed runs the same point from anywhere.
. "$SRC/tests/support/cli.sh"

# spec FILE SEQ
spec() { printf '%s\n' 'run: qk_tiled' "with: {seq: $2, heads: 1, head_dim: 64}" 'axes: {tile_q: [16, 32, 64], sram.size: [512KiB, 1MiB]}' >"$1"; }
spec a.yaml 128
spec b.yaml 256
"$NPUSIM" sweep run a.yaml -q -o a >/dev/null || fail 'a'
"$NPUSIM" sweep run b.yaml -q -o b >/dev/null || fail 'b'
"$NPUSIM" sweep merge b --csv b.csv >/dev/null

# The plan is gone.
cp -r a gone && rm gone/sweep.json
"$NPUSIM" sweep run b.yaml -q -o gone >out 2>err && fail "results of a are taken for those of b: $(cat out)"
grep -qx 'npusim: gone holds results of another sweep, whose sweep.json is missing; another folder (-o) would be right' err || fail "$(cat err)"
[ ! -e gone/sweep.json ] || fail 'a plan stands beside results of another one'
"$NPUSIM" sweep run a.yaml -o gone >out 2>err || fail "its own results are refused: $(cat err)"
grep -qx '6 points are in gone already' err || fail "its own results are run again: $(cat err)"
# A run that was killed a moment ago still holds the lock: the next one waits for it, asleep with the file of the lock open.
waits() {
    local fd state
    read -r _ _ state _ <"/proc/$1/stat" 2>/dev/null || return 0
    for fd in "/proc/$1/fd/"*; do
        [[ $fd -ef a/lock && $state = S ]] && return 0
    done
    return 1
}
exec 9>a/lock && flock 9
"$NPUSIM" sweep run a.yaml -q -o a 9>&- >out 2>err &
until waits $!; do :; done
flock -u 9
wait $! || fail "a lock that is given back is not waited for: $(cat err)"
exec 9>&-
checks=$((checks + 1))
# Files of another sweep come in.
cp -r b mixed && for f in a/points-*; do cp "$f" "mixed/points-1-1-9.9${f##*/}"; done
"$NPUSIM" sweep merge mixed --csv mixed.csv >out 2>err || fail "merge: $(cat err)"
cmp b.csv mixed.csv || fail 'results of two sweeps are mixed'
grep -qx 'npusim: warning: 6 lines of another sweep are left out' err || fail "nothing is said of them: $(cat err)"
# The plan is edited.
cp -r b edited && sed -i 's/"32"/"128"/' edited/sweep.json
cmp -s b/sweep.json edited/sweep.json && fail 'nothing was edited'
for part in best plot merge; do
    "$NPUSIM" sweep $part edited >out 2>err && fail "$part takes an edited plan"
    grep -q '^npusim: edited/sweep.json: the plan of a sweep was changed: results are of identity ' err || fail "$part: $(cat err)"
done
checks=$((checks + 12))

# Names are no commands: in a specification, and in a folder of somebody else.
for name in "a'; system('touch PWNED') #" 'a\nEOD\nsystem(\"touch PWNED\")\n' '`touch PWNED`'; do
    printf '%s\n' 'run: qk_tiled' 'with: {seq: 128, heads: 1}' 'axes:' "  \"$name\": {zip: {tile_q: [16, 32], tile_kv: [16, 32]}}" >evil.yaml
    "$NPUSIM" sweep run evil.yaml -o evil >out 2>err && fail "an axis $name"
    grep -q '^npusim: evil.yaml:4:3: an axis is called by one word of letters, digits' err || fail "$(cat err)"
    cp -r b foreign && jq --arg n "$(printf '%b' "$name")" '.axes[0].name = $n | .version = "0"' b/sweep.json >foreign/sweep.json
    "$NPUSIM" sweep plot foreign >out 2>err && fail "a plan with an axis $name"
    grep -qx 'npusim: foreign/sweep.json: the plan of a sweep is damaged' err || fail "$(cat err)"
    rm -r foreign
    checks=$((checks + 4))
done
for edit in '.report = ["`touch PWNED`"]' '.axes[0].values[0] = "16\nEOD\nsystem(\"touch PWNED\")"' '.axes[0].keys[0] = "a b"' '.goals = ["x"]'; do
    cp -r b foreign && jq "$edit | .version = \"0\"" b/sweep.json >foreign/sweep.json
    "$NPUSIM" sweep plot foreign >out 2>err && fail "a plan with $edit"
    grep -qx 'npusim: foreign/sweep.json: the plan of a sweep is damaged' err || fail "$edit: $(cat err)"
    rm -r foreign
    checks=$((checks + 2))
done
if command -v gnuplot >/dev/null; then
    # A folder may be called anything.
    "$NPUSIM" sweep plot b -o "it's \`touch PWNED\` here" >out 2>err && [ -s "it's \`touch PWNED\` here/heatmap.svg" ] || fail "a folder with a quote: $(cat err)"
    checks=$((checks + 1))
fi
[ ! -e PWNED ] || fail 'a name was run'

# From another folder it is the same sweep, and the commands hold there.
mkdir -p at/there elsewhere
printf '%s\n' 'extends: edge-1mb' 'sram: {banks: 16}' >at/there/mine.yaml
printf '%s\n' '.param n=64' '.tensor A[64, n] fp16 in' '.sram a[64, n] fp16' '  load a, A[:, :]' >at/there/p.npu
printf '%s\n' 'run: p.npu' 'axes: {hw: [edge-1mb, ./mine.yaml], n: [32, 64]}' >at/there/p.yaml
(cd at/there && "$NPUSIM" sweep run p.yaml -q -o ../../here >/dev/null 2>&1) || fail 'beside its specification'
"$NPUSIM" sweep run at/there/p.yaml -q -o above >/dev/null || fail 'from above'
(cd elsewhere && "$NPUSIM" sweep run "$folder/at/there/p.yaml" -o ../here >/dev/null 2>err) || fail "from elsewhere: $(cat elsewhere/err)"
grep -qx '4 points are in ../here already' elsewhere/err || fail "another sweep from elsewhere: $(cat elsewhere/err)"
"$NPUSIM" sweep merge above here --csv - >two.csv 2>err || fail "two folders of one sweep: $(cat err)"
"$NPUSIM" sweep merge above >/dev/null && "$NPUSIM" sweep merge here >/dev/null && cmp above/sweep.sqlite here/sweep.sqlite || fail 'where it ran from changes what is merged'
for place in . at/there elsewhere; do
    command=$(cd $place && "$NPUSIM" sweep best "$folder/here" --where 'hw == "./mine.yaml"' | tail -n 1)
    # shellcheck disable=SC2086
    (cd $place && "$NPUSIM" ${command#npusim } --report -) >r.json || fail "in $place: $command"
    [ "$(jq -c '[.cycles, .hw.sram.banks]' r.json)" = "$("$NPUSIM" sweep merge here --json - | jq -c '[.[] | select(.hw == "./mine.yaml")] | min_by(.cycles) | [.cycles, 16]')" ] ||
        fail "in $place: $command is another point"
done
if command -v gnuplot >/dev/null; then
    (cd at/there && "$NPUSIM" sweep plot ../../here >/dev/null) && grep -q "npusim run $folder/at/there/p.npu --hw $folder/at/there/mine.yaml" here/plots/index.html ||
        fail 'a page tells a command that holds in one folder only'
fi
# Keys of a machine that is a file, from anywhere.
for place in . at/there elsewhere; do
    (cd $place && "$NPUSIM" sweep best "$folder/here" --where 'sram.banks == 16 && vector.lanes >= 1') >out 2>err || fail "a key of the machine, in $place: $(cat err)"
done
"$NPUSIM" sweep best here 2>err >/dev/null && [ ! -s err ] || fail "nothing has changed: $(cat err)"
sed -i 's/n=64/n=16/' at/there/p.npu
"$NPUSIM" sweep best here 2>err >/dev/null && grep -q 'warning: .*/at/there/p.npu has changed since these points were run' err || fail "a program that was edited: $(cat err)"
checks=$((checks + 12))

# Conditions and names of any bytes: what has been run is read again, the same command goes on, and what is printed runs.
printf '%s\n' 'run: gemm' 'with: {m: 64, n: 64, k: 64}' 'axes: {tile_m: [16, 32, 64], tile_n: [16, 32]}' >gemm.yaml
for where in '>
  tile_m * tile_n <= 1024
  && tile_m > 16' '|
  tile_m * tile_n <= 1024
  && tile_m > 16' '"tile_m * tile_n <= 1024\t&&\ttile_m > 16"'; do
    { cat gemm.yaml && echo "where: $where"; } >lines.yaml
    rm -rf lines
    "$NPUSIM" sweep run lines.yaml -q -o lines >out 2>err && grep -q '^3 run, 3 not legal (3: where)' out || fail "where: $where: $(cat out err)"
    "$NPUSIM" sweep best lines >out 2>err && [ ! -s err ] || fail "best of where: $where: $(cat err)"
    "$NPUSIM" sweep run lines.yaml -o lines >out 2>err && grep -qx '6 points are in lines already' err || fail "again: $(cat err)"
    "$NPUSIM" sweep submit lines.yaml -o lines --dry-run >/dev/null 2>err || fail "submit: $(cat err)"
    checks=$((checks + 4))
done
odd=$'a\nb\t\xff"'
mkdir "$odd" && printf '%s\n' '.param n=16' '.tensor A[64, n] fp16 in' '.sram a[64, n] fp16' '  load a, A[:, :]' >"$odd/"$'new\nline\xc3\xa9.npu'
printf '%s\n' 'run: "./new\nline\xe9.npu"' 'axes: {n: [16, 32, 100000]}' >"$odd/s.yaml"
"$NPUSIM" sweep run "$odd/s.yaml" -q -o odd >out 2>err || fail "$(cat err)"
grep -q '^2 run, 1 not legal' out || fail "$(cat out)"
command=$("$NPUSIM" sweep best odd | tail -n 1)
[ "$(cd elsewhere && NPUSIM=$NPUSIM bash -c "npusim() { \"\$NPUSIM\" \"\$@\"; }; $command --report -" | jq .cycles)" = "$("$NPUSIM" sweep merge odd --json - | jq 'map(.cycles | numbers) | min')" ] ||
    fail "what is told to be typed runs another point: $command"
"$NPUSIM" sweep merge odd --json - | jq -r .[2].error | grep -q 'xff.*new.nline' || fail "the error of a point is lost: $("$NPUSIM" sweep merge odd --json - | jq .[2])"
checks=$((checks + 4))

# All that points are made of is known, and what has changed is named: of machines what they extend and their DRAM part, of programs
# what they include, used or not, models, presets of one's own.
mkdir made && cp -r "$SRC/models/presets" own
export NPUSIM_PRESETS=$folder/own
echo 'extends: edge-1mb' >own/my.yaml
echo 'extends: ./base.yaml' >made/mm.yaml && echo 'dram: {part: ./p.yaml}' >>made/mm.yaml
printf '%s\n' 'extends: edge-1mb' 'sram: {banks: 16}' >made/base.yaml
cp "$SRC/models/presets/dram/LPDDR5-6400.yaml" made/p.yaml
cp "$SRC/models/presets/dram/LPDDR4X-4266.yaml" made/q.yaml
printf '%s\n' '.macro unused x' '  load x, A[:, :]' '.end' >made/i.npu
printf '%s\n' '.include "i.npu"' '.param n=64' '.tensor A[64, n] fp16 in' '.sram a[64, n] fp16' '  load a, A[:, :]' >made/m.npu
printf '%s\n' 'run: m.npu' 'axes: {hw: [./mm.yaml, my], n: [32, 64], dram.part: [LPDDR4-3200, ./q.yaml]}' >made/m.yaml
jq -n '{model_type: "llama", hidden_size: 256, intermediate_size: 512, num_hidden_layers: 1, num_attention_heads: 4, num_key_value_heads: 4, vocab_size: 512, max_position_embeddings: 256}' >made/c.json
printf '%s\n' 'model: ./c.json' 'with: {phase: decode, context: 32}' 'axes: {weights: [int8, int4]}' >made/c.yaml
cp -r made kept && cp -r own kept.own
for sweep in m c; do
    "$NPUSIM" sweep run made/$sweep.yaml -q -o made.$sweep >/dev/null 2>err || fail "$sweep: $(cat err)"
    "$NPUSIM" sweep best made.$sweep >out 2>err && [ ! -s err ] || fail "nothing has changed: $(cat err)"
done
is 'files of a sweep' "$(jq -r '.files[].path' made.m/sweep.json | sed "s|^$folder/||" | sort | xargs)" \
    'made/base.yaml made/i.npu made/m.npu made/mm.yaml made/p.yaml made/q.yaml presets/dram/LPDDR4-3200.yaml presets/dram/LPDDR4X-4266.yaml presets/edge-1mb.yaml presets/my.yaml'
# edit SWEEP FILE COMMAND: what sed makes of a file is told by its path.
edit() {
    sed -i "$3" "$2"
    local path=$folder/$2
    [ "${2%%/*}" = own ] && path=presets/${2#own/}
    "$NPUSIM" sweep best made.$1 2>err >/dev/null || fail "best: $(cat err)"
    grep -qx "npusim: warning: $path has changed since these points were run, or is gone" err || fail "$2 was edited: $(cat err)"
    for option in -q --dry-run; do
        "$NPUSIM" sweep run made/$1.yaml $option -o made.$1 >/dev/null 2>err && fail "$2 was edited: taken with $option"
        grep -qx "npusim: made.$1 holds results of another sweep: $path has changed since; another folder (-o) would be right" err || fail "$(cat err)"
    done
    rm -r made own && cp -r kept made && cp -r kept.own own
    checks=$((checks + 4))
}
edit m made/base.yaml 's/16/8/'
edit m made/mm.yaml '$asram: {groups: 2}'
edit m made/p.yaml 's/^banks: .*/banks: 2/'
edit m made/q.yaml 's/^banks: .*/banks: 4/'
edit m made/m.npu 's/n=64/n=16/'
edit m made/i.npu 's/load/store/'
edit m own/my.yaml '$asram: {groups: 2}'
edit m own/dram/LPDDR4-3200.yaml 's/^banks: .*/banks: 4/'
edit c made/c.json 's/256/128/'
# Moved, it is the same file.
cp -r made moved && sed -i 's/n=64/n=16/' moved/m.npu
"$NPUSIM" sweep run moved/m.yaml -q -o made.m >/dev/null 2>err && fail 'a program that was moved and edited'
grep -qx "npusim: made.m holds results of another sweep: $folder/moved/m.npu has changed since; another folder (-o) would be right" err || fail "$(cat err)"
# A comment decides nothing: the points are still those, and once that is known nothing is said of it.
sed -i '1i# mine' made/base.yaml
"$NPUSIM" sweep run made/m.yaml -o made.m >out 2>err && grep -qx '8 points are in made.m already' err || fail "a comment makes another sweep: $(cat err)"
"$NPUSIM" sweep best made.m >out 2>err && [ ! -s err ] || fail "a comment: $(cat err)"
checks=$((checks + 4))
unset NPUSIM_PRESETS

# Without -o: here, not beside the specification.
(cd elsewhere && "$NPUSIM" sweep run ../a.yaml -q >/dev/null) || fail 'no -o'
[ -e elsewhere/a.sweep/sweep.json ] && [ ! -e a.sweep ] || fail 'results are not in the current folder'
# Parameters that differ by capitals.
printf '%s\n' '.param Point=1, point=1, cycles=1, Cycles=1' '.tensor A[64, 64] fp16 in' '.sram a[64, 64] fp16' '  load a, A[:, :]' >c.npu
printf '%s\n' 'run: c.npu' 'axes: {Point: [1, 2], point: [1, 2], cycles: [3, 4], Cycles: [5, 6]}' >c.yaml
"$NPUSIM" sweep run c.yaml -q >/dev/null && "$NPUSIM" sweep merge c.sweep --csv - >c.csv 2>err || fail "names that differ by capitals: $(cat err)"
[ "$(sed 1q c.csv | tr ',' '\n' | tr '[:upper:]' '[:lower:]' | sort | uniq -d | wc -l)" = 0 ] || fail "a column stands there twice: $(sed 1q c.csv)"
checks=$((checks + 3))
[ $failures = 0 ] && echo "$checks checks of sweeps of their own"
[ $failures = 0 ]
