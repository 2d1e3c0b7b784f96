#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim tune: what it refuses, that it keeps what is named, the same answer for any number of processes, and one grid in full.
. "$SRC/tests/support/cli.sh"
. "$SRC/tests/support/exhaustive.sh"

# refuse STATUS TEXT ARGUMENT...: as says, of the command.
refuse() { says "$1" "$2" tune "${@:3}"; }
refuse 2 'unknown kernel "gem"; did you mean gemm?' gem
refuse 2 './asm/qk.npu: tune takes kernels and plug-ins, not files; npusim sweep does, with axes over their parameters' ./asm/qk.npu
refuse 2 'qk.npub: tune takes kernels and plug-ins, not files; npusim sweep does, with axes over their parameters' qk.npub
refuse 2 'gemm has no parameter tile_q, did you mean tile_m?' gemm tile_q=3
refuse 2 'flash_attention: tiles and buffering are all named; nothing is left to tune' flash_attention tile_q=64 tile_kv=64 buffering=double
refuse 2 '--simulations 0: 1 to 64 would be right' gemm -n 0

"$NPUSIM" tune gemm m=64 n=128 k=128 buffering=double tile_k=32 -n 5 -j 1 >one || fail 'tune'
"$NPUSIM" tune gemm m=64 n=128 k=128 buffering=double tile_k=32 -n 5 -j 3 >three || fail 'tune'
cmp one three || fail 'three processes tune otherwise'
tail -n 1 one | grep -Eq '^npusim run gemm m=64 n=128 k=128 buffering=double tile_k=32 tile_m=[0-9]+ tile_n=[0-9]+( order=[a-z]+)?$' || fail "$(tail -n 1 one)"
# Nothing to do is a program of its own, and what became of the others adds up.
"$NPUSIM" tune gemm m=0 >none || fail 'tune of nothing'
sum_is_whole none && grep -q ' 0 cycles, the kernel.s own choice$' none || fail "m=0: $(tail -n 4 none)"
sum_is_whole one || fail "do not add up: $(grep legal one)"
checks=$((checks + 5))
exhaust edge-1mb flash_attention 'seq=256 heads=1' tile_q tile_kv
[ $failures = 0 ] && echo "$checks checks of tune"
[ $failures = 0 ]
