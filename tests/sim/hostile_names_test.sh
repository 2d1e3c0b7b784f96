#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Names in a program may hold any byte but NUL. Whatever npusim prints or writes of them is UTF-8 without a control
# character, on stdout, on stderr, in JSON, SARIF and timelines.
. "$SRC/tests/support/cli.sh" || exit 1

# clean FILE WHAT: UTF-8, and no control character of C0 or C1 but line feed and tab, none that turns text.
clean() {
    iconv -f UTF-8 -t UTF-32LE "$1" >utf32 2>/dev/null || fail "$2: not UTF-8: $(od -c "$1" | head -3)"
    od -An -v -tx4 -w4 utf32 | tr -d ' ' |
        grep -qE '^0000000[0-8bcdef]$|^0000001.$|^0000007f$|^000000[89].$|^0000202[8-e]$|^0000206[6-9]$' &&
        fail "$2: a control character: $(grep -aoP '.{0,20}[\x00-\x08\x0b-\x1f\x7f].{0,20}' "$1" | head -2 | od -c | head -4)"
}

# try WANT ARGUMENT...: the exit status, and clean output.
try() {
    local want=$1 got=0
    shift
    "$NPUSIM" "$@" >out 2>err </dev/null || got=$?
    [ "$got" = "$want" ] || fail "npusim $*: exit status $got, not $want: $(head -3 out err)"
    clean out "stdout of npusim $*"
    clean err "stderr of npusim $*"
}

bad=$'\x1b[31m\x07\xff\xc2\x9b\xe2\x80\xae\r' # colour, bell, no UTF-8, C1, right to left
program() {
    printf '.program "p%s"\n.tensor "t%s"[64, 64] fp16 in dram:0x0\n.tensor "o%s"[64, 64] fp16 out dram:0x4000\n' "$1" "$1" "$1"
    printf '.buffer "b%s" sram:0x0+8192 0..3\n.sem "s%s"\n.sem "n%s"\n' "$1" "$1" "$1"
    printf '.region "r%s"\nload "b%s", "t%s" rows=64 cols=64 post "n%s"\n' "$1" "$1" "$1" "$1"
    printf '.region "q%s"\nstore "o%s", "b%s" rows=64 cols=64\nvadd "b%s", "b%s", "b%s" rows=64 cols=64 a_type=fp16 b_type=fp16 dst_type=fp16 %s\n.endregion\n.endregion\n' \
        "$1" "$1" "$1" "$1" "$1" "$1" "${2-}"
}
printf 'sync.load\n' >empty.npu
program "$bad" | tr -d '\r' >names.npu
name=$'file\x1b\xff.npu'
cp names.npu "$name"

for file in names.npu "$name"; do
    try 0 run "$file" --values --dump "$(printf 'o%s' '\x1b[31m\x07\xff\xc2\x9b\xe2\x80\xae')=dumped" --regions
    grep -qF 'p\x1b[31m\x07\xff\xc2\x9b\xe2\x80\xae' out || fail "the name is not shown: $(head -3 out)"
    try 0 run "$file" --report - --timeline t.pftrace --timeline t.html --timeline "t$bad.csv" --timeline-window 0:100
    clean t.html "the page"
    try 1 check "$file" --all --redundant
    try 1 check "$file" --format json
    try 1 check "$file" --format sarif
    try 0 disasm "$file"
    try 0 asm "$file" -o names.npub
    try 0 disasm names.npub
    "$NPUSIM" disasm names.npub | cmp -s - out || fail "disassembly differs"
    try 1 check names.npub --all --redundant
    try 0 run names.npub --json
done

# A name inside of a trace is one of its strings; those that the escapes would be made of are not there raw.
try 0 run names.npu --timeline t.pftrace
grep -qaF 'r\x1b[31m\x07\xff' t.pftrace || fail "the region is not in the timeline"
LC_ALL=C grep -qaP 'r\x1b\[31m' t.pftrace && fail "raw names in the timeline"

# Errors quote what they refuse: names, lines, bytes.
program "$bad" 'm=0' >wrong.npu
try 2 run wrong.npu
try 2 run "$name"$'\n'
try 2 run "none$bad.npu"
try 2 run gemm "m$bad=3"
try 2 run gemm "m=3$bad"
try 2 run gemm "sram.size=$bad"
try 2 run gemm --hw "$bad"
try 2 run gemm "--ideal=$bad"
try 2 "$bad"
try 2 run "--$bad"
printf 'a: "%s"\n' "$bad" >m.yaml
try 2 run gemm --hw m.yaml
printf '.tensor "t%s"[64, 64] fp16 in dram:0x0\nload sram:0x7ffffff0, "t%s" rows=64 cols=64\n' "$bad" "$bad" >far.npu
try 1 run far.npu
printf '.tensor "t%s"[1024, 1024] fp16 in dram:0x0\nload sram:0x0, "t%s" rows=1024 cols=1024\n' "$bad" "$bad" >big.npu
try 1 run big.npu
printf '.program "%s"\n.sem "s%s"\nsync.load wait "s%s"\nsync.matrix post "s%s"\nsync.load wait "s%s"\n' \
    "$bad" "$bad" "$bad" "$bad" "$bad" >dead.npu
try 1 run dead.npu
printf '%s R\n' "$bad" >t.trace
try 2 dram t.trace --part DDR4-2400

# A name with a line break cannot pretend to be a line of ours.
printf '.program "x\\nnpusim: all is well"\n.tensor "t\\nnpusim: y"[1024, 1024] fp16 in dram:0x0\nload sram:0x0, "t\\nnpusim: y" rows=1024 cols=1024\n' >lines.npu
try 1 run lines.npu
[ "$(grep -c '^npusim: ' err)" = 1 ] || fail "a name begins a line: $(cat err)"
[ "$failures" = 0 ]
