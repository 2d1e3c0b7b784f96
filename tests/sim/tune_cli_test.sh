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
refuse 1 "no candidate can be built, the kernel's own choice neither: flash_attention: 29,371,921 instructions, 16,777,216 are possible: larger tiles or shorter lengths need fewer" flash_attention seq=100000
refuse 2 '--simulations 0: 1 to 64 would be right' gemm -n 0

refuse 2 'llama-3-8b is a model; tune takes one of its kernels, and npusim model llama-3-8b --plan lists them with their tiles' llama-3-8b
refuse 2 'no/such/x.json: cannot be written: No such file or directory' gemm m=0 --json no/such/x.json

"$NPUSIM" tune gemm m=64 n=128 k=128 buffering=double tile_k=32 -n 5 -j 1 >one || fail 'tune'
"$NPUSIM" tune gemm m=64 n=128 k=128 buffering=double tile_k=32 -n 5 -j 3 >three || fail 'tune'
cmp one three || fail 'three processes tune otherwise'
tail -n 1 one | grep -Eq '^npusim run gemm m=64 n=128 k=128 buffering=double tile_k=32 tile_m=[0-9]+ tile_n=[0-9]+( order=[a-z]+)?$' || fail "$(tail -n 1 one)"
# Nothing to do is a program of its own, and what became of the others adds up.
"$NPUSIM" tune gemm m=0 >none || fail 'tune of nothing'
sum_is_whole none && grep -q ' 0 cycles, the kernel.s own choice$' none || fail "m=0: $(tail -n 4 none)"
sum_is_whole one || fail "do not add up: $(grep legal one)"
checks=$((checks + 5))

# Of one legal point that point is told; equal ones are one program.
"$NPUSIM" tune flash_attention seq=16 heads=1 tile_q=16 tile_kv=16 >point || fail 'tune of buffering alone'
sum_is_whole point || fail "do not add up: $(grep legal point)"
# JSON tells what the table does, and its command takes those cycles.
"$NPUSIM" tune gemv n=256 k=256 --hw edge-2mb sram.size=1MiB --json tune.json >table || fail 'tune --json'
"$NPUSIM" tune gemv n=256 k=256 --hw edge-2mb sram.size=1MiB --json - | cmp - tune.json || fail '--json - is not the file'
[ "$(jq -r .schema tune.json)" = npusim.tune/1 ] || fail "$(jq -r .schema tune.json)"
[ "$(jq -r .command tune.json)" = "$(tail -n 1 table)" ] || fail "$(jq -r .command tune.json)"
[ "$(jq '.tried | length' tune.json)" = "$(jq .simulated tune.json)" ] || fail 'tried is not simulated'
[ "$(jq '[.tried[].cycles] | min' tune.json)" = "$(jq .cycles tune.json)" ] || fail 'the best is not the least'
left=$(jq '.simulated + .same_program + .ruled_out + .left - .legal' tune.json)
[ "$left" = 0 ] || [ "$left" = 1 ] || fail "$left more than there are, the kernel's own apart"
# shellcheck disable=SC2046
[ "$("$NPUSIM" $(jq -r .command tune.json | sed 's/^npusim //') --report - | jq .cycles)" = "$(jq .cycles tune.json)" ] || fail 'its command takes other cycles'
# A name that a shell would take apart is quoted.
echo 'extends: edge-2mb' >"my machine's.yaml"
"$NPUSIM" tune gelu rows=64 cols=64 --hw "my machine's.yaml" -q >quoted || fail 'tune --hw'
eval "\"\$NPUSIM\" $(tail -n 1 quoted | sed 's/^npusim //') --report -" >quoted.json || fail "$(tail -n 1 quoted)"
grep -q " $(jq .cycles quoted.json | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta') cycles" quoted || fail "$(tail -n 3 quoted)"
# Interrupted, it tells the best so far; what it was told last is in the file.
"$NPUSIM" tune gemm m=1024 n=2048 k=2048 --hw edge-2mb --json stopped.json >stopped 2>why &
tuner=$!
until pgrep -P "$tuner" >/dev/null || ! kill -0 "$tuner" 2>/dev/null; do :; done # its first run has begun
kill -TERM "$tuner" 2>/dev/null
status=0
wait "$tuner" || status=$?
if [ "$status" = 0 ]; then
    [ "$(jq .stopped stopped.json)" = false ] || fail 'ended, and was stopped'
else
    [ "$status" = 130 ] || fail "interrupted: status $status, $(cat why)"
    grep -q '^npusim: interrupted; this is the best of the [0-9]* simulated so far$' why || fail "$(cat why)"
    [ "$(jq .stopped stopped.json)" = true ] && [ "$(jq '[.tried[].cycles] | min' stopped.json)" = "$(jq .cycles stopped.json)" ] || fail 'what was tried'
    tail -n 1 stopped | grep -q '^npusim run gemm m=1024' && sum_is_whole stopped || fail "$(tail -n 4 stopped)"
fi
checks=$((checks + 15))
exhaust edge-1mb flash_attention 'seq=256 heads=1' tile_q tile_kv
[ $failures = 0 ] && echo "$checks checks of tune"
[ $failures = 0 ]
