#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim explain: each rule finds the program that has its fault, and that fault alone, and not the one without; what-if is
# what a run with these settings takes.
. "$SRC/tests/support/cli.sh"
programs=$SRC/tests/sim/explain

# rules ARGUMENT...: the rules that find something, on one line.
rules() {
    "$NPUSIM" explain "$@" --report found.json >found.txt 2>err || fail "explain $*: $(cat err)"
    sed -n 's/.*"rule": "\(.*\)",/\1/p' found.json | tr '\n' ' ' | sed 's/ $//'
}

# cycles ARGUMENT...: of a run.
cycles() { "$NPUSIM" run "$@" --report - | sed -n 's/^  "cycles": \([0-9]*\),$/\1/p'; }
# stake RULE: what the latest explanation says is at stake, in cycles.
stake() { sed -n "/\"rule\": \"$1\"/,/\"cycles_fraction\"/s/^ *\"cycles\": \([0-9]*\),\$/\1/p" found.json; }

# fault RULE FAULTY CLEAN KEY=VALUE...: settings that make the fault, settings that do not, of the rule's program. Little leaks,
# so that only the fault speaks. The program without it does the same work, so that what it wins is what was at stake: no more,
# and not much less.
fault() {
    local rule=$1 with=$2 without=$3 found promised won
    shift 3
    checks=$((checks + 2))
    found=$(rules "$programs/$rule.npu" energy.idle_mw=10 "$@" $with)
    [ "$found" = "${also:-}$rule" ] || fail "$rule.npu $with: found \"$found\""
    if [ -n "${least_won:-}" ]; then
        checks=$((checks + 1))
        promised=$(stake "$rule")
        won=$(($(cycles "$programs/$rule.npu" "$@" $with) - $(cycles "$programs/$rule.npu" "$@" $without)))
        [ "$won" -le "$promised" ] && [ $((100 * won)) -ge $((least_won * promised)) ] ||
            fail "$rule.npu: $promised cycles at stake, $won won"
    fi
    found=$(rules "$programs/$rule.npu" energy.idle_mw=10 "$@" $without)
    case " $found " in *" $rule "*) fail "$rule.npu $without: found it, too" ;; esac
}

least_won=60
for rule in overlap chain page layout sram reread vector drain prefetch ramp; do
    fault $rule fault=1 fault=0
done
# Faults of the machine
fault latency dma.outstanding=1 dma.outstanding=32
fault port dma.port=4 dma.port=32
fault matrix 'matrix.rows=16 matrix.cols=16' 'matrix.rows=128 matrix.cols=128'
fault dispatch fault=1 fault=0 sequencer.issue_cycles=64
# DRAM at its limit has a reason here.
also='dram ' fault misaligned fault=1 fault=0
# DRAM that waits for its requests is not the limit. Beside loads the store moves its bytes all the same, and holds these up.
least_won=30
also='latency ' fault write_back fault=1 fault=0 dma.outstanding=2
# Those without the fault do other work.
least_won=
fault dram fault=1 fault=0
fault array fault=1 fault=0
also='matrix ' fault idle energy.idle_mw=20000 energy.idle_mw=10
# An engine whose own streams meet is told so, and what it wins by writing elsewhere.
printf '%s\n' '.param fault=1' '.sram a[256, 128] fp16 bank=0' '.sram b[256, 128] fp16 bank=2' 'vfill a imm=1' 'vfill b imm=1' \
    '.for i in 0..64' '.if fault' 'vexp a, a' '.else' 'vexp b, a' '.end' '.end' >own.npu
rules own.npu energy.idle_mw=10 >/dev/null
checks=$((checks + 2))
grep -q '^2  Streams of the vector engine meet in one group of SRAM banks' found.txt || fail "own streams: $(cat found.txt)"
[ "$(stake sram)" = $(($(cycles own.npu) - $(cycles own.npu fault=0))) ] || fail "own streams: $(stake sram) at stake"
# A wider type, fewer buffers are no remedy; a narrower one is.
checks=$((checks + 2))
rules gemv k=1024 n=1024 weights=int4 >/dev/null
grep -q 'try .*weights=' found.txt && fail "wider weights: $(grep try found.txt)"
rules gemv k=2048 n=2048 m=8 weights=int8 >/dev/null
grep -q '^   try       weights=int4$' found.txt || fail "narrower weights: $(cat found.txt)"
# says PATTERN EXPECTED ARGUMENT...: the explanation has so many lines like that.
says() {
    local pattern=$1 expected=$2 n
    shift 2
    checks=$((checks + 1))
    rules "$@" >/dev/null
    n=$(grep -cE "$pattern" found.txt)
    [ "$n" = "$expected" ] || fail "explain $*: $n lines like '$pattern', not $expected: $(cat found.txt)"
}
# A DMA that waits for DRAM burst by burst comes first, and its remedy is more of them; the machine as it is has enough.
says '^1  The DMA waits for DRAM.s latency' 1 gemm m=256 n=256 k=256 dma.outstanding=1
says '^   try       dma.outstanding=2$' 1 gemm m=256 n=256 k=256 dma.outstanding=1
says '^gemm .* bound by latency;' 1 gemm m=256 n=256 k=256 dma.outstanding=1
says '^gemm .* bound by dram;' 1 gemm m=256 n=256 k=256
says 'latency: too few' 0 gemm m=256 n=256 k=256
# The port on chip is not DRAM
says '^1  The DMA.s port on chip is at its limit' 1 qk_tiled seq=256 dma.port=8
says 'DRAM is at its limit' 0 qk_tiled seq=256 dma.port=8
says '^   try       dma.port=16$' 1 qk_tiled seq=256 dma.port=8
# A run that an array limits is told so
says '^1  The array is the limit' 1 gemm m=256 n=256 k=256 matrix.rows=8 matrix.cols=8
says 'The array is the limit' 0 gemm m=256 n=256 k=256
# What attention stores between its steps is no cache; the new rows of K are one
says 'write-back of KV' 0 attention seq=256 heads=2 dram.channels=4
says 'Loads wait for stores: S is written to DRAM and read back' 1 attention seq=256 heads=2 dram.channels=4
says '1,572,864 of 2,359,296 bytes are written and read back: S, P$' 1 attention seq=256 heads=2
says '^   advice    keep it on chip .*flash_attention' 1 attention seq=256 heads=2
says 'write-back of KV' 1 "$programs/write_back.npu" dma.outstanding=2
says 'written and read back:' 0 flash_attention seq=256 heads=2
# A buffer that a store still reads is neither. Four of them win what was at stake, in 1 % of the run.
cat >held.npu <<'END'
.param fault=1
.let copies = fault ? 1 : 4
.tensor A[64, 128, 128] fp16 in
.tensor B[64, 128, 128] fp16 out
.sram a[copies][128, 128] fp16 bank=0
.sem  full[copies], free[copies]=1
.for i in 0..64
  .let x = i % copies
  load a[x], A[i, :, :]        wait free[x]   post full[x]
  store B[i, :, :], a[x]       wait full[x]   post free[x]
.end
END
says 'Loads wait for stores to free their buffers' 0 held.npu fault=0 dram.channels=8
says 'Loads wait for stores to free their buffers' 1 held.npu dram.channels=8
won=$(($(cycles held.npu dram.channels=8) - $(cycles held.npu fault=0 dram.channels=8)))
checks=$((checks + 1))
[ $((100 * (won - $(stake write_back)))) -le "$(cycles held.npu dram.channels=8)" ] && [ $((100 * won)) -ge $((60 * $(stake write_back))) ] ||
    fail "held: $(stake write_back) at stake, $won won"
# Each tensor that is read often has its own remedy, and none of them is a tile of more than there is; another model is none.
says '^   try       tile_n=256$' 1 gemm m=64 n=2048 k=64 dram.channels=1
says '^   try       tile_m=' 0 gemm m=64 n=2048 k=64 dram.channels=1
says '^   try       tile_m=256$' 1 gemm m=2048 n=64 k=64 dram.channels=1
says '^   try       tile_n=' 0 gemm m=2048 n=64 k=64 dram.channels=1
says '^   try       fused=1$' 1 mask_softmax seq=256 heads=2 fused=0
says 'kv_heads=' 0 decode_attention_paged seq=512
# Where every buffer has its copies, the first load and the last result are no turns that are taken
says 'take turns' 0 gemm m=256 n=256 k=256
says 'take turns' 1 gemm m=256 n=256 k=256 buffering=single
# But of one tile they are, and smaller ones win by it
says '^1  The first load and the last store are much of a short run' 1 qk_tiled seq=128 heads=1
says '^   try       tile_kv=64$' 1 qk_tiled seq=128 heads=1
checks=$((checks + 1))
[ "$(cycles qk_tiled seq=128 heads=1 tile_kv=64)" -lt "$(cycles qk_tiled seq=128 heads=1)" ] || fail 'smaller tiles win nothing'
# An engine without an instruction that another sequencer would not help
says 'wait for the sequencer' 0 prefill_attention_paged seq=512 chunk=128
# With an ideal DRAM no rule speaks of DRAM, and the first line says so
"$NPUSIM" run gemm m=256 n=256 k=256 --ideal dram,sram --report ideal.json --instructions -q
says '^gemm on .*; ideal dram, sram; the array' 1 ideal.json
says 'read 2.0 times|DRAM is at its limit' 0 ideal.json
# What is tried in place of a layout is all that it can win
"$NPUSIM" explain "$programs/layout.npu" energy.idle_mw=10 --what-if >a
checks=$((checks + 1))
grep -q 'rearranges' a || fail "layout without a try is bounded: $(cat a)"

# No rule without such a pair.
checks=$((checks + 1))
want=$(sed -n 's/^RULE([A-Z_]*, "\([a-z_]*\)".*/\1/p' "$SRC/sim/explain.def" | sort | tr '\n' ' ')
have=$(cd "$programs" && printf '%s\n' *.npu | sed 's/\.npu$//' | sort | tr '\n' ' ')
[ "$want" = "$have" ] || fail "rules $want, programs $have"

# Figures that can be worked out: 256 products of one row on a 32x32 array hold it 128 / 32 x 4 = 16 folds of 32 cycles of
# weights each, 512 cycles, and 256 x 128 x 128 / 1,024 = 4,096 would do
checks=$((checks + 3))
rules "$programs/array.npu" energy.idle_mw=10 >/dev/null
grep -q '256 of [0-9]* products have fewer than the array.s 32 rows, 1.0 on average' found.txt || fail "array: $(cat found.txt)"
grep -q 'they take 131,[0-9]* cycles of the array, and 4,096 if it were full' found.txt || fail "array: $(cat found.txt)"
grep -q 'mostly .*array.npu:15  matmul' found.txt || fail "array is in another place: $(cat found.txt)"
# 32 loads of a tile and of the other one, 64 x 32,768 bytes, of which 2 are new
checks=$((checks + 1))
rules "$programs/reread.npu" >/dev/null
grep -q 'A: 1,048,576 bytes read, 32,768 of them different, 32.0 times each' found.txt || fail "reread: $(cat found.txt)"
# The line to change and the buffer to double
checks=$((checks + 2))
rules "$programs/overlap.npu" energy.idle_mw=10 >/dev/null
grep -q 'loaded again and again into one copy: a$' found.txt || fail "overlap: $(cat found.txt)"
grep -q 'overlap.npu:15  matmul' found.txt || fail "overlap is in another place: $(cat found.txt)"

grouped() { sed -E ':again; s/^([0-9]+)([0-9]{3})/\1,\2/; t again' <<<"$1"; }

# From the report of a kernel and from the kernel itself the same is found
"$NPUSIM" run gemm m=256 n=256 k=256 buffering=single sram.banks=32 --report r.json --instructions -q
"$NPUSIM" explain r.json --what-if >a 2>err || fail "what-if of a report: $(cat err)"
"$NPUSIM" explain gemm m=256 n=256 k=256 buffering=single sram.banks=32 --what-if >b 2>err || fail "what-if of a kernel: $(cat err)"
checks=$((checks + 1))
cmp a b || fail "a report and its kernel differ: $(diff a b)"
# What is tabulated is what runs take
for ideal in dram sram vector matrix dispatch dram,vector matrix,dispatch; do
    checks=$((checks + 1))
    n=$(cycles gemm m=256 n=256 k=256 buffering=single sram.banks=32 --ideal $ideal)
    grep -qE "^$ideal +$(grouped "$n") " a || fail "--ideal $ideal: $n, tabulated $(grep "^$ideal " a)"
done
checks=$((checks + 2))
n=$(cycles gemm m=256 n=256 k=256 buffering=double sram.banks=32)
grep -q "try       buffering=double   simulated: $(grouped "$n") cycles" a || fail "buffering=double takes $n: $(grep try a)"
[ "$(sed -n '/^what if/,/^$/p' a | grep -c '[0-9]')" = 15 ] || fail "five parts and ten pairs: $(sed -n '/^what if/,/^$/p' a)"
# A program in a file, by --program; another one is refused
"$NPUSIM" run "$programs/dram.npu" --report d.json --instructions -q
"$NPUSIM" explain d.json --what-if --program "$programs/dram.npu" >a 2>err || fail "--program: $(cat err)"
checks=$((checks + 1))
grep -qE "^dram +$(grouped "$(cycles "$programs/dram.npu" --ideal dram)") " a || fail "--program: $(cat a)"

# Without rows the rules that need them are counted
"$NPUSIM" run gemm m=128 n=128 k=128 -q --report bare.json
checks=$((checks + 1))
"$NPUSIM" explain bare.json | grep -q '^5 rules were not asked: the report has no rows of instructions; npusim run' || fail "a report without rows"

# refuse STATUS TEXT ARGUMENT...: exit status and the first line on stderr.
refuse() {
    local want=$1 text=$2 status=0
    shift 2
    checks=$((checks + 1))
    "$NPUSIM" "$@" >out 2>err </dev/null || status=$?
    [ "$status" = "$want" ] || fail "$*: exit status $status, not $want"
    [ "$(head -n 1 err)" = "npusim: $text" ] || fail "$*: said $(cat err), wanted npusim: $text"
}
refuse 2 'missing.json: No such file or directory' explain missing.json
refuse 2 'r.json: a report has its machine and its parameters; a kernel or program takes others' explain r.json m=128
refuse 2 'd.json: a report does not say where dram.npu is, and it is neither beside the report nor in this folder; --program FILE would say' \
    explain d.json --what-if
# It is found beside the report, and in this folder, where it is the one that was run
mkdir beside
cp d.json beside && cp "$programs/dram.npu" beside
checks=$((checks + 3))
"$NPUSIM" explain d.json --what-if --program beside/dram.npu >a && "$NPUSIM" explain beside/d.json --what-if >b 2>err || fail "beside: $(cat err)"
cmp a b || fail 'found beside the report it is another'
printf '.param fault=1\nsync.load\n' >beside/dram.npu
cp "$programs/dram.npu" .
"$NPUSIM" explain beside/d.json --what-if >b 2>err || fail "in this folder: $(cat err)"
cmp a b || fail 'found in this folder it is another'
cp beside/dram.npu .
refuse 2 "beside/d.json: ./dram.npu is not the program that was run: its hash is $(
    "$NPUSIM" run dram.npu --report - | sed -n 's/.*"hash": "\(.*\)",/\1/p'), not $(sed -n 's/.*"hash": "\(.*\)",/\1/p' d.json); --program FILE would say where it is" \
    explain beside/d.json --what-if
refuse 2 '--program x.npu: of a report; gemm is the program' explain gemm --program x.npu
echo '{"schema": "npusim.report/1"}' >empty.json
refuse 2 'the report tells of a run without a cycle: there is nothing to explain' explain empty.json
refuse 2 "the run cannot be repeated: $programs/array.npu is not the program that was run: its hash is $(
    "$NPUSIM" run "$programs/array.npu" --report - | sed -n 's/.*"hash": "\(.*\)",/\1/p'), not $(sed -n 's/.*"hash": "\(.*\)",/\1/p' d.json)" \
    explain d.json --what-if --program "$programs/array.npu"
# Of a model the operator with most cycles, or the one that is named: what its kernel's own run says
"$NPUSIM" model tinyllama-1.1b phase=decode context=64 weights=int8 --report model.json >/dev/null 2>&1
"$NPUSIM" explain model.json >a 2>err || fail "a model: $(cat err)"
checks=$((checks + 3))
head -n 1 a | grep -qE '^gate_up_proj of tinyllama-1.1b: [0-9,]+ of [0-9,]+ cycles, 22 times$' || fail "the longest operator: $(head -n 1 a)"
"$NPUSIM" explain model.json --operator 'attention (paged)' | sed 1d >a
"$NPUSIM" explain decode_attention_paged seq=64 heads=32 kv_heads=4 head_dim=64 >b
cmp a b || fail "an operator and its kernel differ: $(diff a b)"
grep -q '^decode_attention_paged on edge-1mb: ' a || fail "the operator: $(cat a)"
refuse 2 'model.json: no operator nothing' explain model.json --operator nothing
refuse 2 '--operator: of a report of npusim model' explain r.json --operator o_proj
refuse 2 '--operator: of a report of npusim model' explain gemm --operator o_proj
# Somebody else's rows are refused
echo '{"schema": "npusim.report/1", "cycles": 100, "instructions": [1, {"engine": "load", "busy": -5, "stalls": [1]}, {"text": 3}],
 "semaphores": 3, "buffers": [7], "tensors": [{"name": 1}], "engines": {"load": 7}}' >foreign.json
refuse 2 'foreign.json: engines.load: an object would be right' explain foreign.json

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
