#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random command lines: whatever is typed, the program ends soon, with a status of its own, in its own words, and writes
# into no file that was not named. CLI_RANDOM_RUNS sets how many; the sequence is always the same.
set -uo pipefail
unset NPUSIM_PRESETS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/runs" "$folder/inputs"
cd "$folder/runs" || exit 1
printf 'extends: edge-1mb\nsram: {size: 2MiB}\n' >../inputs/good.yaml
printf 'sram: {size: [2MiB\n' >../inputs/bad.yaml
printf 'sync.load\n' >../inputs/p.npu
printf '\0NPU\377\1\2\3' >../inputs/p.npub
printf '0x0 R\n0x40 W\n' >../inputs/t.trace
printf '.program "\\033]0;\\007\377"\n.sem "s\\302\\233"\nsync.load post "s\\302\\233"\n' >../inputs/hostile.npu
chmod -R a-w ../inputs

words=(run run check kernel emit asm disasm hw array dram schema man help list show reference gemm gemm gemm qk_tiled kv_fetch_paged
    m=16 n=16 k=16 m=0 n=-1 k=x seq=16 heads=1 tile_m=16 dtype=int8 dtype= =x a.b= .=. sram.size=2MiB sram.size=1e3 sram.banks=0
    dram.part=DDR4-2400 dram.part= matrix.rows=8 vector.lanes=99999999999 npu.clock_mhz=nan
    --hw --hw=server --hw=../inputs/good.yaml --hw=../inputs/bad.yaml --hw= edge-1mb tiny-256k server --set --set=sram.banks=8 --set=x
    --report --report=r.json --report=- --report=/dev/null --report=. --timeline --timeline=t.pftrace --timeline=t
    --timeline=- --check --values --exp lut --seed=3 --seed --dump C=- --dump=C=c.bin --tensor A= --tensor=A=../inputs/p.npu --regions --werror
    --redundant --all --format json --format=sarif --format=x --markdown --json --quiet -q --time --ideal --ideal=dram,sram --ideal=, --output -o -oo.npub o.npu --part DDR4-2400 --part=
    --help -h --version -x --x --=y -- - '' ' ' '*' ../inputs/p.npu ../inputs/p.npub ../inputs/t.trace ../inputs /dev/null 16 16 16 0 -1
    99999999999999999999 $'\xff\xfe' $'a\nb=c' $'\e[31m' $'sram.size=\xff' dram.CL=0 dram.channels=3 dram.tck_num=1 dram.part=../inputs/good.yaml ../inputs/hostile.npu '%s%n' "$(printf 'x%.0s' {1..5000})")

RANDOM=20240229
runs=${CLI_RANDOM_RUNS:-300} failures=0
for ((i = 0; i < runs; i++)); do
    arguments=()
    # Most begin with a command, so that its own words are reached.
    ((RANDOM % 4)) && arguments+=("${words[RANDOM % 11]}")
    for ((n = RANDOM % 6; n > 0; n--)); do
        arguments+=("${words[RANDOM % ${#words[@]}]}")
    done
    status=0
    timeout 60 "$NPUSIM" "${arguments[@]}" >../out 2>../err </dev/null || status=$?
    # What names and arguments hold does not reach the terminal; programs, tensors and timelines on stdout are bytes.
    LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]' ../err && { printf 'FAIL: a control character on stderr\n' >&2; failures=$((failures + 1)); }
    first=$(head -n 1 ../err | tr -d '\0')
    if [ "$status" -gt 2 ] || grep -qE 'Sanitizer|runtime error|terminate called|SystemC|Assertion' ../out ../err ||
        { [ "$status" != 0 ] && [ ${#arguments[@]} -gt 0 ] && [[ $first != 'npusim: '* ]]; }; then
        printf 'FAIL: status %d:' "$status" >&2
        printf ' %q' "${arguments[@]}" | cut -c 1-300 >&2
        head -n 5 ../err >&2
        failures=$((failures + 1))
    fi
done
left=$(cd .. && find . -not -path './runs/*' | sort | tr '\n' ' ')
[ "$left" = '. ./err ./inputs ./inputs/bad.yaml ./inputs/good.yaml ./inputs/hostile.npu ./inputs/p.npu ./inputs/p.npub ./inputs/t.trace ./out ./runs ' ] ||
    { echo "FAIL: files that nobody named: $left" >&2; failures=$((failures + 1)); }
printf '%d command lines, %d failures\n' "$runs" "$failures"
[ "$failures" = 0 ]
