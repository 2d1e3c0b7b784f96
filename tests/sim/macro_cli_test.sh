#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Macro assembly as a person meets it: the kernels of traces/ take the cycles of the same kernels in C, compute the same
# values, and are clean; parameters, folders, and what is said about wrong ones.
traces=$(cd "$SRC" && pwd)/traces
. "$SRC/tests/support/cli.sh" || exit 1

# figures REPORT: what must be equal.
figures() {
    grep -E '^  "(cycles|macs|useful_macs)"|"(read_bytes|write_bytes|bus_bytes|instructions)"' "$1" | head -8
}

# same KERNEL [key=value...]: C and text take the same cycles, and move and multiply the same.
same() {
    local kernel=$1
    shift
    checks=$((checks + 1))
    "$NPUSIM" run "$kernel" "$@" -q --report c.json || fail "run $kernel $*"
    "$NPUSIM" run "$traces/$kernel.npu" "$@" -q --report npu.json || fail "run traces/$kernel.npu $*"
    [ "$(figures c.json | wc -l)" -ge 6 ] || fail "a report lacks figures: $(figures c.json)"
    diff <(figures c.json) <(figures npu.json) >diff || fail "$kernel $*: $(head -6 diff)"
}

same qk_tiled seq=512 heads=2 tile_q=128 tile_kv=128
same qk_tiled seq=300 seq_q=77 heads=4 kv_heads=2 head_dim=64 tile_q=32 tile_kv=64 dtype=int8 buffering=triple
same gemm m=256 n=256 k=256 tile_m=128 tile_n=128 tile_k=128
same gemm m=100 n=77 k=300 tile_m=32 tile_n=32 tile_k=64 dtype=bf16 buffering=single
same gemm m=96 n=64 k=300 tile_m=32 tile_n=32 tile_k=64 dtype=int8
for order in output weight activation; do
    for layout in row block16 block32; do
        same gemm m=100 n=77 k=300 tile_m=32 tile_n=32 tile_k=64 order=$order layout=$layout
        same gemm m=64 n=200 k=96 tile_m=32 tile_n=32 tile_k=32 dtype=int8 buffering=triple order=$order layout=$layout --hw server
    done
done
same gemm m=100 n=96 k=300 tile_m=32 tile_n=32 tile_k=64 a_layout=block32 c_layout=block16
same gemm m=100 n=96 k=300 tile_m=32 tile_n=32 tile_k=64 layout=block16 b_layout=row order=weight
same mask_softmax seq=512 heads=2 tile_rows=64
same mask_softmax seq=300 heads=2 mask=causal tile_rows=32 buffering=triple
same mask_softmax seq=300 seq_q=200 heads=2 mask=window window=70 tile_rows=64
same mask_softmax seq=300 heads=2 mask=padding valid=100 fused=0 tile_rows=32
same mask_softmax seq=300 seq_q=330 heads=2 mask=window window=33 fused=0 tile_rows=32
for mask in causal window padding; do
    same mask_softmax seq=300 heads=2 mask=$mask tile_rows=32 hidden=compute
done
same kv_fetch_paged seq=1024 tile_kv=128
same kv_fetch_paged seq=1000 page=24 tile_kv=100 seed=5 kv_heads=2 buffering=single
same flash_attention seq=512 heads=2 tile_q=128 tile_kv=128
same flash_attention seq=300 heads=4 kv_heads=2 head_dim=64 mask=causal tile_q=64 tile_kv=32 buffering=triple
same flash_attention seq=300 seq_q=130 heads=2 head_dim=64 mask=causal tile_q=32 tile_kv=64 buffering=single dtype=bf16
same flash_attention seq=256 heads=2 tile_q=64 tile_kv=64 --hw tiny-256k
same flash_attention seq=512 heads=2 mask=causal tile_q=256 tile_kv=128 --hw edge-2mb

# They compute what they say, and no order is missing.
for run in 'qk_tiled heads=4 kv_heads=2 tile_q=32 tile_kv=64' 'gemm m=96 n=64 k=100 tile_k=64' \
    'gemm m=96 n=64 k=96 tile_m=32 dtype=int8' 'gemm m=96 n=100 k=130 tile_m=32 tile_n=32 tile_k=64 order=weight layout=block16' \
    'gemm m=90 n=64 k=130 tile_m=32 tile_n=32 tile_k=64 order=activation layout=block32 dtype=bf16' 'mask_softmax heads=2 mask=window window=50' \
    'mask_softmax heads=2 mask=padding valid=100 fused=0 dtype=bf16' \
    'flash_attention heads=4 kv_heads=2 mask=causal tile_q=32 tile_kv=64' 'flash_attention heads=1 tile_q=64 tile_kv=32'; do
    read -ra words <<<"$run"
    size=(seq=192 head_dim=64)
    [ "${words[0]}" = gemm ] && size=()
    for exp in exact lut; do
        says 0 '' run "$traces/${words[0]}.npu" "${words[@]:1}" "${size[@]}" --values --exp "$exp" --check
        has 'compared with the plain reference in double' out
        has ' (0 errors|clean|[0-9]+ warnings?)' out
    done
done

# A wrong product is found, and the instruction that stored it is named.
sed 's/Q @ repeat(K, heads\/kv_heads).T/Q @ repeat(K, heads\/kv_heads).T + 1/' "$traces/qk_tiled.npu" >wrong.npu
says 1 'S[0,0,0] is -8.47686195, expected -7.47686307 within 0.000638; 16,384 of 16,384 elements are wrong' \
    run wrong.npu seq=128 heads=1 --values
has "wrong.npu:$(grep -n '^ *store' wrong.npu | cut -d: -f1)" err

# A whole kernel: it runs, is clean, computes what it says. Without one wait it is a race.
cat >qk.npu <<'END'
; S = Q K^T for one head. Tile j+1 loads while tile j multiplies and tile j-1 is stored.
.param   seq=1024, d=128, tq=128, tk=128
.require seq % tq == 0 && seq % tk == 0, "tq={tq} and tk={tk} must divide seq={seq}"
.tensor  Q[seq, d]   fp16 in
.tensor  K[seq, d]   fp16 in
.tensor  S[seq, seq] fp32 out = Q @ K.T          ; what --values compares with
.sram    q[2][tq, d] fp16                        ; the assembler places them;
.sram    k[2][tk, d] fp16                        ; [2] is a ping-pong pair
.acc     s[2][tq, tk] fp32
.sem     q_full[2], k_full[2], s_full[2], q_free[2]=1, k_free[2]=1, s_free[2]=1

.for i in 0..seq/tq
.region "q tile {i}"
  load     q[i%2], Q[i*tq:+tq, :]                wait q_free[i%2]             post q_full[i%2]
  sync.matrix                                    wait q_full[i%2]
  .for j in 0..seq/tk
    load   k[j%2], K[j*tk:+tk, :]                wait k_free[j%2]             post k_full[j%2]
    matmul s[j%2], q[i%2], k[j%2].T              wait k_full[j%2], s_free[j%2] post k_free[j%2], s_full[j%2]
    store  S[i*tq:+tq, j*tk:+tk], s[j%2]         wait s_full[j%2]             post s_free[j%2]
  .end
  sync.matrix                                    post q_free[i%2]
.endregion
.end
END
says 0 '' run qk.npu --values --check
has '^S +fp32 +1,048,576 .* \.$' out
has '^qk.npu: clean; 216 instructions, 12 semaphores$' out
sed 's/wait k_free\[j%2\] //' qk.npu >race.npu
says 1 '' check race.npu
has '^race.npu:17:12: error: race on k\[0\], SRAM 0x80000..0x87fff \(32,768 bytes\)$' out
has '\^~~~~~ #8 load, i=0 j=2, region "q tile 0": writes$' out
has '\^~~~~~~~ #3 matmul, i=0 j=0, region "q tile 0": reads$' out
has '^  the same two lines race in 320 pairs' out

# Parameters of a file.
says 2 'sq=512: '"$traces/qk_tiled.npu"' has no .param sq; did you mean seq?' run "$traces/qk_tiled.npu" sq=512
says 2 "$traces/qk_tiled.npu"':10:8: dtype=fp32: one of fp16, bf16, int8 would be right' run "$traces/qk_tiled.npu" dtype=fp32
says 0 '' run "$traces/qk_tiled.npu" seq=128 heads=1 --report r.json
has '"line": "run qk_tiled.npu seq=128 seq_q=128 heads=1 kv_heads=1 head_dim=128 dtype=fp16 tile_q=128' r.json
has '"seq": 128' r.json
has '"dtype": "fp16"' r.json
has '^qk_tiled.npu +seq=128 seq_q=128 heads=1 ' out

# Folders of .include; contents of tensors beside the source.
mkdir -p lib data
echo '.let n = 2' >lib/n.npu
printf '.include "n.npu"\n.for i in 0..n\nsync.load\n.end\n' >main.npu
says 2 'main.npu:1:10: n.npu is neither beside this file nor in a folder that -I would name' asm main.npu -o main.npub
says 0 '' asm main.npu -I lib -o main.npub
says 0 '' run main.npu --include lib
head -c 2048 /dev/zero | tr '\0' '\1' >data/ones.bin
printf '%s\n' '.tensor A[32, 32] fp16 in file="ones.bin"' '.tensor B[32, 32] fp16 out file="ones.bin"' \
    '.sram a[32, 32] fp16' '.sem full' 'load a, A post full' 'store B, a wait full' >data/copy.npu
says 0 '' run data/copy.npu --values
has '^B +fp16 +1,024 .* \.$' out
sed -i 's/^store B, a/store B, a{16, 64}/' data/copy.npu
says 1 'data/copy.npu:6:10: local is 16 x 64 and makes rows 16, but dram is 32 x 32 and makes it 32' run data/copy.npu --values
sed -i 's/{16, 64}//; s/32\] fp16 out/32] fp16 out seed=3/' data/copy.npu
says 2 'data/copy.npu:2:33: the program fills B: seed= is for inputs' run data/copy.npu --values

# A seed goes with the program, as text and as bytes; a file does not, and asm says so.
printf '%s\n' '.tensor A[32, 32] fp16 in seed=7' '.tensor B[32, 32] fp16 out' '.sram a[32, 32] fp16' '.sem full' \
    'load a, A post full' 'store B, a wait full' >data/seed.npu
sed 's/ seed=7//' data/seed.npu >data/other.npu
says 0 '' asm data/seed.npu -o data/seed.npub
says 0 '' disasm data/seed.npub -o data/flat.npu
grep -qx '\.tensor A\[32, 32\] fp16 in dram:0x0 seed=7' data/flat.npu || fail "flat text has no seed: $(cat data/flat.npu)"
says 0 '' asm data/flat.npu -o data/twice.npub
cmp data/seed.npub data/twice.npub || fail 'flat text with a seed makes other bytes'
for f in seed.npu seed.npub flat.npu other.npu; do
    says 0 '' run data/$f --values --dump B=$f.bin
done
cmp seed.npu.bin seed.npub.bin && cmp seed.npu.bin flat.npu.bin || fail 'the seed is not that of the source'
cmp -s seed.npu.bin other.npu.bin && fail 'the seed changes nothing'
printf '%s\n' '.tensor A[32, 32] fp16 in file="ones.bin"' '.sram a[32, 32] fp16' 'load a, A' >data/file.npu
says 0 'data/file.npu:1:32: warning: the bytes of data/ones.bin are not in the program: run --values --tensor A=data/ones.bin has them' \
    asm data/file.npu -o data/file.npub
says 1 'data/file.npu:1:32: warning: the bytes of data/ones.bin are not in the program: run --values --tensor A=data/ones.bin has them' \
    asm data/file.npu -o none.npub --werror
[ ! -e none.npub ] || fail 'asm --werror writes'
# Nothing is placed in the room behind a tensor.
printf '%s\n' '.tensor A[64, 64] fp16 in bytes=16384' '.tensor B[64, 64] fp16 in' >data/room.npu
says 0 '' asm data/room.npu -o room.npu
grep -q '^\.tensor B\[64, 64\] fp16 in dram:0x4000$' room.npu || fail "B lies in the room of A: $(cat room.npu)"

# What shares a part of its bytes is told at its line.
printf '%s\n' '.tensor A[64, 64] fp16 in' '.tensor B[64, 64] fp16 in at=0x100' '.sram a[64, 64] fp16' 'load a, A' 'load a, B' >data/part.npu
"$NPUSIM" check data/part.npu >out
has '^data/part.npu:2:9: warning: tensors A and B overlap in part, DRAM 0x100\.\.0x1fff \(7,936 bytes\); a view would lie inside$' out
has '^ +[|]         \^ is declared$' out

# A file that a tensor names is looked at where it is named, in every command.
for command in run check 'run --values' 'asm -o x.npub'; do
    printf '%s\n' '.sram a[32, 32] fp16' '.tensor A[32, 32] fp16 in file="none.bin"' 'load a, A' >data/file.npu
    says 2 'data/file.npu:2:32: data/none.bin: cannot be read: No such file or directory' $command data/file.npu
    has '^ +[|] {32}\^~{9}$' err
    sed -i 's/none.bin/ones.bin/; s/32, 32/32, 33/' data/file.npu
    says 2 'data/file.npu:2:32: data/ones.bin has 2,048 bytes; tensor A is exactly 2,112' $command data/file.npu
done
printf '%s\n' '.tensor A[32] fp16 in file="."' '.sram a[32] fp16' 'load a, A' >data/file.npu
says 2 'data/file.npu:1:28: data/. is a folder; name a file' run data/file.npu
# a pipe has no size before it is read
printf '%s\n' ".tensor A[32] fp16 in file=\"$PWD/pipe\"" '.sram a[32] fp16' 'load a, A' >data/file.npu
mkfifo pipe
head -c 10 /dev/zero >pipe &
says 2 "data/file.npu:1:28: $PWD/pipe: 10 bytes; tensor A is exactly 64" run data/file.npu --values
wait

# What is no program says so at once, however long it is: gigabytes are not read.
truncate -s 7G long.npub
says 2 'long.npub: not a .npub program: it does not begin with its magic number' run long.npub
truncate -s 20G long.npub
says 2 'long.npub: larger than 8388608 KiB, the most that is read' run long.npub
mv long.npub long.npu
says 2 'long.npu: larger than 1048576 KiB, the most that is read' run long.npu
truncate -s 1G long.npu
status=0
(ulimit -t 1; "$NPUSIM" asm long.npu -o x.npub 2>err >out) || status=$?
[ $status = 2 ] && [ "$(head -1 err)" = 'npusim: long.npu:1:1: byte 0x00: this is no text' ] || fail "a GiB of NULs: $status, $(head -1 err)"
rm long.npu
printf 'sync.load\nsync.load ; a\0b\n' >nul.npu
says 2 'nul.npu:2:14: byte 0x00: this is no text' check nul.npu

# What a reference may say: of a program that copies, every way to say "the same", and other things.
copies() {
    printf '%s\n' '.tensor A[2, 8, 16] fp16 in' '.tensor I[16, 16] fp16 in file="unit.bin"' ".tensor B[2, 8, 16] fp16 out = $1" \
        '.sram a[16, 16] fp16' '.sem full' 'load a, A post full' 'store B, a wait full'
}
for row in {0..15}; do
    for column in {0..15}; do
        [ "$row" = "$column" ] && printf '\x00\x3c' || printf '\x00\x00'
    done
done >unit.bin
for same in 'A' '-(-A)' '(A.T).T' 'A + 0 * A' '2 * A / 2' 'A - 0' 'repeat(A, 1)' 'A @ I' 'A @ I.T' 'exp(A) * 0 + A' \
    'softmax(A) * 0 + A' '1 ? A : I' 'A * sqrt(4) / max(1, 2)' 'padded(A, 16)'; do
    copies "$same" >copy.npu
    says 0 '' run copy.npu --values
    has '^B +fp16 +256 .* \.$' out
done
for other in 'A + 1' '2 * A' '-A' 'exp(A)' 'softmax(A)' 'padded(A, 15)' 'causal(A)' 'A / 3'; do
    copies "$other" >copy.npu
    checks=$((checks + 1))
    "$NPUSIM" run copy.npu --values >out 2>err && fail "a copy passed for $other"
    has 'elements are wrong$' err
done
# A softmax of which nothing is seen is zeros, as vsoftmax computes it.
cat >nothing.npu <<'END'
.param valid=0
.tensor S[4, 64] fp32 in
.tensor P[4, 64] fp16 out = softmax(padded(S, valid))
.sram s[4, 64] fp32
.sram p[4, 64] fp16
.sem full, done
load s, S post full
vsoftmax p, s padded=1 valid=0 wait full post done
store P, p wait done
END
says 0 '' run nothing.npu --values
has '^P +fp16 +256 .* \.$' out
says 1 '' check nothing.npu valid=1
copies 'A.T' >copy.npu
says 2 'copy.npu:3:32: the reference is 2 x 16 x 8, and B is 2 x 8 x 16' run copy.npu --values

# A race names the turns of the loops.
sed 's/wait k_free\[y\]:(j > 0 && waits), load_turn:turn  //; s/\(load q.*\)wait k_free.*/\1/' "$traces/qk_tiled.npu" >race.npu
says 1 '' check race.npu seq=512 heads=1
has '#[0-9]+ load, h=0 i=0 j=256, region "head 0, q tile 0": writes' out

# The source of a kernel, with the parameters of the command line, takes the cycles of the kernel.
says 0 '' emit flash_attention seq=256 heads=2 mask=causal dtype=bf16 tile_q=64 --style=macro -o mine.npu
has '^\.param dtype=bf16\|fp16$' mine.npu
has '^\.param mask=causal\|none\|padding\|window$' mine.npu
says 0 '' run mine.npu -q --report npu.json
says 0 '' run flash_attention seq=256 heads=2 mask=causal dtype=bf16 tile_q=64 -q --report c.json
diff <(figures c.json) <(figures npu.json) || fail 'emit --style=macro: other figures'
for kernel in qk_tiled gemm mask_softmax kv_fetch_paged; do
    says 0 '' emit "$kernel" --style=macro -o mine.npu
    cmp -s mine.npu "$traces/$kernel.npu" || says 0 '' asm mine.npu -o mine.npub
done
for run in 'order=weight m=300 n=300 k=300' 'order=activation layout=block16 m=17 n=330 k=65 dtype=bf16 --hw edge-2mb' \
    'order=weight layout=block32 m=200 n=64 k=400 dtype=int8 --hw tiny-256k'; do
    read -ra words <<<"$run"
    says 0 '' emit gemm "${words[@]}" --style=macro -o mine.npu
    hw=()
    [[ "$run" = *' --hw '* ]] && hw=(--hw "${words[-1]}")
    says 0 '' run mine.npu "${hw[@]}" -q --report npu.json
    says 0 '' run gemm "${words[@]}" -q --report c.json
    diff <(figures c.json) <(figures npu.json) >diff || fail "emit gemm $run --style=macro: $(head -6 diff)"
done
# Where there is no room for all second buffers, the source says which there are; on a large array it makes panels.
for run in 'gemm --hw tiny-256k' 'gemm m=256 n=256 k=600 --hw server' 'gemm m=100 n=90 k=80 dtype=int8 --hw server' \
    'qk_tiled seq=300 heads=3 head_dim=512 sram.size=512KiB' 'qk_tiled seq=47 heads=1 head_dim=88 --hw tiny-256k' \
    'flash_attention seq=99 heads=4 head_dim=96 mask=causal buffering=single' 'flash_attention seq=40 heads=1' \
    'flash_attention seq=300 heads=2 head_dim=256 --hw tiny-256k buffering=triple' \
    'mask_softmax seq=2000 heads=2 buffering=triple' 'kv_fetch_paged seq=1000 head_dim=512 --hw tiny-256k buffering=triple'; do
    read -ra words <<<"$run"
    hw=()
    [[ "$run" = *' --hw '* ]] && hw=(--hw "$(sed 's/.* --hw \([^ ]*\).*/\1/' <<<"$run")")
    [[ "$run" = *sram.size* ]] && hw+=("${words[-1]}")
    says 0 '' emit "${words[@]}" --style=macro -o mine.npu
    says 0 '' run mine.npu "${hw[@]}" -q --report npu.json
    says 0 '' run "${words[@]}" -q --report c.json
    checks=$((checks + 1))
    diff <(figures c.json) <(figures npu.json) >diff || fail "emit $run --style=macro: $(head -6 diff)"
done
for run in 'gemm m=0' 'gemm k=0 m=64 n=64' 'qk_tiled seq=0' 'flash_attention seq=0' 'kv_fetch_paged seq=0'; do
    read -ra words <<<"$run"
    says 2 "${words[1]}: the source of ${words[0]} has tiles of at least one element; --style=flat writes the instructions" emit "${words[@]}" --style=macro
    says 0 '' emit "${words[@]}" --style=flat -o empty.npu
done
says 2 'attention has no source in macro assembly; --style=flat writes its instructions' emit attention --style=macro
# Every parameter of such a kernel is one of its source, which also takes the number of each buffer. That of gemm multiplies
# what lies in DRAM, and adds nothing to it; that of flash_attention caps no scores: what else the kernels do is refused.
says 2 'softcap: the source of flash_attention has no such parameter; --style=flat takes it' emit flash_attention softcap=30 --style=macro
for words in 'weights=int4 group=64' 'weights=int8' bias=1; do
    # shellcheck disable=SC2086 # a list of assignments
    says 2 "${words%%=*}: the source of gemm has no such parameter; --style=flat takes it" emit gemm $words --style=macro
done
for kernel in qk_tiled flash_attention gemm mask_softmax kv_fetch_paged; do
    for source in "$kernel" "$traces/$kernel.npu"; do
        "$NPUSIM" kernel show "$source" | awk '/^parameter/ { on = 1; next } !NF { on = 0 } on && !/_buffers / { print $1 }' |
            sort >"of_${source##*.}"
    done
    case $kernel in
    gemm) beyond='bias|group|weights' lacks=3 ;;
    flash_attention) beyond=softcap lacks=1 ;;
    *) beyond=nothing lacks=0 ;;
    esac
    checks=$((checks + 1))
    [ "$(grep -cxE "$beyond" "of_$kernel")" = $lacks ] || fail "$kernel: its source lacks other parameters: $(cat "of_$kernel")"
    sed -i -E "/^($beyond)\$/d" "of_$kernel"
    mv "of_$kernel" of_c
    checks=$((checks + 1))
    [ -s of_c ] && cmp -s of_c of_npu || fail "$kernel: other parameters: $(diff of_c of_npu)"
done
says 0 '' kernel show "$traces/flash_attention.npu"
has '^valid +1024 +1024  a number +keys that are no padding with mask=padding$' out
for mask in 'mask=causal seq_q=100' 'mask=window window=100' 'mask=window window=7 seq_q=33' 'mask=padding valid=150' 'mask=none seq_q=300' \
    'mask=causal seq_q=230' 'mask=window window=9 seq_q=250' 'mask=padding valid=0'; do
    # shellcheck disable=SC2086 # a list of assignments
    for kernel in 'flash_attention tile_q=64 tile_kv=32 kv_heads=2' 'mask_softmax tile_rows=16'; do
        says 0 '' emit $kernel seq=200 heads=4 head_dim=64 $mask --style=macro -o mine.npu
        says 0 '' run mine.npu -q --values --report npu.json
        says 0 '' run $kernel seq=200 heads=4 head_dim=64 $mask -q --report c.json
        diff <(figures c.json) <(figures npu.json) || fail "$kernel $mask: other figures"
    done
done
says 2 '--style=macro writes text, and mine.npub would be binary' emit gemm --style=macro -o mine.npub
says 2 '--style loops: flat or macro would be right' emit gemm --style loops

# The cycles of a run beside each line: what instructions were busy adds up to what their engines were.
says 0 '' run "$traces/qk_tiled.npu" seq=256 heads=1 -q --report r.json --instructions
says 0 '' disasm "$traces/qk_tiled.npu" seq=256 heads=1 --annotate r.json
has "^ +[0-9]+ +[0-9]+ +2142 .* $(grep -n '^ *matmul' "$traces/qk_tiled.npu" | cut -d: -f1)  +matmul acc:" out
has '^ +;? *touches' out
added=$(awk '$1 ~ /^[0-9]+$/ { sum += $3 } END { print sum + 0 }' out)
busy=$(grep -A3 '^    "\(load\|store\|matrix\|vector\)": {' r.json | awk -F'[:,]' '/"busy"/ { sum += $2 } END { print sum }')
checks=$((checks + 1))
[ "$added" = "$busy" ] || fail "instructions were busy for $added cycles, engines for $busy"
checks=$((checks + 1))
"$NPUSIM" disasm "$traces/qk_tiled.npu" seq=512 heads=1 --annotate r.json 2>err && fail 'the report of another program passed'
has '^npusim: r.json: the report of another program, hash [0-9a-f]{16}; this one is [0-9a-f]{16}' err
says 0 '' run "$traces/qk_tiled.npu" seq=256 heads=1 -q --report r.json
says 2 'r.json: rows of 0 instructions, but the program has 14; npusim run --report r.json --instructions writes them' \
    disasm "$traces/qk_tiled.npu" seq=256 heads=1 --annotate r.json
echo '{}' >none.json
says 2 'none.json: no report of a run; npusim run ... --report FILE.json writes one' \
    disasm "$traces/qk_tiled.npu" seq=256 heads=1 --annotate none.json

# Hot spots of a report, as a table and as CSV; what they add up to is tested where reports are made
says 0 '' run "$traces/qk_tiled.npu" seq=256 heads=1 -q --report r.json --instructions
says 0 '' hotspots r.json
has '^line +engine +count +cycles +busy' out
"$NPUSIM" hotspots r.json --by region --format csv | head -n 1 >out
has '^region,engine,first_instruction,count,cycles,busy_cycles,wait_load_cycles,' out
says 2 '--by x: line, instruction or region would be right' hotspots r.json --by x
says 2 '--format x: table, csv or json would be right' hotspots r.json --format x
says 2 '--rows x: a number of rows would be right, 0 for all' hotspots r.json --rows x
says 2 'missing.json: No such file or directory' hotspots missing.json
printf '{"schema":\n' >half.json
says 2 'half.json:2:1: no JSON: it ends too early' hotspots half.json

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
