#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a person meets at the command line: every kind of bad input with its exact message and exit status, outputs that
# cannot be written, pipes that close, and the commands that need no simulation.
. "$SRC/tests/support/cli.sh" || exit 1

# matches STATUS PATTERN ARGUMENT...: exit status and a pattern (grep -E) that a line of stderr matches.
matches() {
    ends "$1" "${@:3}"
    grep -qE -- "$2" err || fail "npusim ${*:3}:"$'\n'"  said   $(cat err)"$'\n'"  wanted $2"
}

# prints PATTERN ARGUMENT...: status 0, nothing on stderr, a line of stdout matches.
prints() {
    ends 0 "${@:2}"
    [ ! -s err ] || fail "npusim ${*:2}: says $(head -n 3 err)"
    grep -qE -- "$1" out || fail "npusim ${*:2}:"$'\n'"  printed $(head -n 5 out)"$'\n'"  wanted  $1"
}

small=(gemm m=32 n=32 k=32)

# Usage
refuses 2 'unknown command "ruin"; did you mean run?' ruin
refuses 2 'unknown command "frobnicate"; npusim --help lists the commands' frobnicate
refuses 2 'unknown option --hepl; did you mean --help?' --hepl
refuses 2 'usage: npusim run KERNEL|FILE.npu|FILE.npub|./PLUGIN.so|- [key=value...]' run
refuses 2 'b.npu: one word too many; usage: npusim run KERNEL|FILE.npu|FILE.npub|./PLUGIN.so|- [key=value...]' run a.npu b.npu
refuses 2 '=3: the name before = is missing' run gemm =3
refuses 2 'm: its value is missing, as in m=VALUE' run gemm m
refuses 2 'sram.size: its value is missing, as in sram.size=VALUE' run gemm sram.size
refuses 2 'm=: the value is missing' run gemm m=
refuses 2 'unknown option --tims; did you mean --time?' run gemm --tims
refuses 2 'unknown option --zzz; npusim run --help lists the options' run gemm --zzz
refuses 2 'unknown option -z; npusim run --help lists the options' run gemm -z
refuses 2 '--report FILE.json: the value is missing' run gemm --report
refuses 2 '--quiet takes no value' run gemm --quiet=yes
refuses 2 '--set foo: KEY=VALUE would be right, as in sram.size=2MiB' run gemm --set foo
refuses 2 '--ideal : dram, sram, vector, matrix, dispatch, with commas between, would be right' run gemm --ideal ''
refuses 2 '--ideal dram and --memory: one can be, what stands in the DRAM'"'s"' place' run gemm --ideal dram --memory x.so
refuses 2 '--memory : the shared object is missing' run gemm --memory ''
refuses 2 '--memory ,1,2: the shared object is missing' run gemm --memory ,1,2
refuses 2 'two outputs want the file x.pftrace' run gemm --report x.pftrace --timeline x.pftrace
refuses 2 'two outputs want the file c' run gemm --values --dump A=c --dump C=c
refuses 2 '--ideal fast: dram, sram, vector, matrix, dispatch, with commas between, would be right' run gemm --ideal dram,fast
refuses 2 'sram.size=2MiB: npusim schema takes no hardware keys' schema sram.size=2MiB report
refuses 2 'seq=3: npusim hw takes no parameters; a hardware key has a dot, as in sram.size=2MiB' hw list seq=3
refuses 2 'hw shw: list, show or diagram NAME|FILE.yaml would be right' hw shw

# Hardware
refuses 2 'unknown key sram.bank; did you mean sram.banks?' run gemm sram.bank=4
refuses 2 'sram.size=2MB: "MB" is no unit of a size here; write 2MiB (KiB, MiB, GiB or plain bytes)' run gemm sram.size=2MB
refuses 2 'sram.banks=0: out of range; 1 to 128 (bank) would be right' run gemm sram.banks=0
refuses 2 'matrix.dataflow=rs: ws, os or is would be right' run gemm --set matrix.dataflow=rs
refuses 2 'unknown hardware "edge-3mb"; did you mean edge-1mb? There are axis-sa, edge-1mb, edge-2mb, gemmini16, server, tiny-256k, tiny-tpu' run gemm --hw edge-3mb
refuses 2 './none.yaml: cannot be read: No such file or directory' run gemm --hw ./none.yaml
matches 2 '^npusim: sram\.size=1000000 ' run gemm sram.size=1000000
printf 'extends: edge-1mb\nsram:\n  banks: 0   # none at all\n' >m.yaml
refuses 2 'm.yaml:3:10: sram.banks=0: out of range; 1 to 128 (bank) would be right' run gemm --hw m.yaml
printf 'extends: edge-1mb\nsram: {size: 1000000}\n' >m.yaml
matches 2 '^npusim: m\.yaml:2:14: sram\.size=1000000 ' run gemm --hw m.yaml
: >empty.yaml
refuses 2 'empty.yaml: the file holds no keys; "extends: edge-1mb" would be a machine' hw show empty.yaml
refuses 2 './: cannot be read: it is a folder; name a file' hw show ./


# Relations between keys of the DRAM name every key and value, and the place of the one set last
refuses 2 'dram.CL=1000000: out of range; 1 to 500000 (clk) would be right' run gemm dram.CL=1000000
refuses 2 'dram.channels=3: must be a power of two' run gemm dram.channels=3
refuses 2 'dram.tRC=89: must not be shorter than tRAS; dram.tRAS=90' run gemm dram.tRC=89
refuses 2 'dram.bus_bits=16: bus_bits x burst_length must be a power of two; dram.burst_length=5' run gemm dram.burst_length=5
refuses 2 'dram.mapping=RoBaCo: RoBaCo is for parts without bank_groups; dram.bank_groups=2' run gemm dram.bank_groups=2
refuses 2 'dram.tREFI=4000: leaves no time between refreshes: it must be longer than tRFCab + tRC; dram.tRC=129, dram.tRFCab=4000' \
    run gemm dram.refresh=allbank dram.tREFI=4000 dram.tRFCab=4000
refuses 2 'dram.tck_num=1, dram.tck_den=4: a clock period of 0.25 ps; 100 to 100000 ps would be right' run gemm dram.tck_num=1
refuses 2 'dram.tck_num=1000000, dram.tck_den=4: a clock period of 2.5e+05 ps; 100 to 100000 ps would be right' run gemm dram.tck_num=1000000
printf 'extends: edge-1mb\ndram:\n  drain_low: 90\n' >m.yaml
refuses 2 'm.yaml:3:14: dram.drain_low=90: must lie below drain_high; dram.drain_high=80' run gemm --hw m.yaml
sed '/^CL:/d' "$SRC/models/presets/dram/DDR4-2400.yaml" >part.yaml
refuses 2 './part.yaml: dram.CL is missing: the part must state it' run gemm dram.part=./part.yaml

# A machine that is no longer a preset says so, in the heading, in the report and in the timeline
prints '^edge-1mb, changed  32x32 .* SRAM 2 MiB ' run "${small[@]}" sram.size=2MiB dram.CL=40
grep -qx 'changed            sram.size=2MiB dram.CL=40' out || fail "the changes are not listed: $(head -4 out)"
prints '^edge-1mb         32x32 ' run "${small[@]}"
grep -q '^changed' out && fail 'a preset is told to be changed'
printf 'extends: edge-2mb\nsram: {size: 4MiB}\n' >mine.yaml
prints '^changed          sram.size=4MiB matrix.rows=16, against edge-2mb$' run "${small[@]}" --hw mine.yaml matrix.rows=16
"$NPUSIM" run "${small[@]}" --hw mine.yaml matrix.rows=16 -q --report changed.json
is 'hw of a changed machine' "$(jq -c '[.hw.name, .hw.preset, .hw.changed, .hw.matrix.rows, .hw.matrix.activation_port, .hw.sram.size]' changed.json)" \
    '["mine.yaml","edge-2mb",["sram.size=4MiB","matrix.rows=16"],16,32,4194304]'
"$NPUSIM" run "${small[@]}" -q --report plain.json
is 'hw of a preset' "$(jq -c '[.hw.name, .hw.preset, .hw.changed]' plain.json)" '["edge-1mb","edge-1mb",[]]'
prints ' edge-1mb, changed' kernel show gemm sram.size=2MiB

# One output may go to stdout, and the tables make room for it
"$NPUSIM" run "${small[@]}" --timeline t.pftrace -q && "$NPUSIM" run "${small[@]}" --timeline - >piped 2>err
is 'a timeline on stdout' "$(cmp t.pftrace piped && cat err)" ''
refuses 2 'two outputs want stdout: of --json, --report -, --timeline -, --dram-trace - and --dump NAME=-, one can be' run "${small[@]}" --timeline - --json
refuses 2 'two outputs want stdout: of --json, --report -, --timeline -, --dram-trace - and --dump NAME=-, one can be' \
    run "${small[@]}" --report - --values --dump C=-
"$NPUSIM" run "${small[@]}" --values --dump C=- >piped 2>err
is 'a tensor on stdout' "$(stat -c %s piped)" 2048
refuses 2 '--timeline t.txt: the name must end in one of .pftrace, .pftrace.gz, .json, .csv, .html, .vcd, or be - for stdout' run "${small[@]}" --timeline t.txt
if command -v script >/dev/null; then
    script -qec "'$NPUSIM' run gemm m=32 n=32 k=32 --timeline -" /dev/null </dev/null >terminal
    is 'a timeline on a terminal' "$?" 2
    grep -q '^npusim: --timeline -: a timeline would garble the terminal; --timeline FILE.pftrace writes it' terminal ||
        fail "a timeline on a terminal: $(cat terminal)"
fi

# With everything ideal nothing is told of what is not there, and the limit is nothing that was made perfect
all=dram,sram,vector,matrix,dispatch
"$NPUSIM" run kv_fetch_paged seq=256 --ideal $all -q --report ideal.json || fail 'an ideal run'
is 'an ideal DRAM' "$(jq -c '[.bound, .dram.row_hit_fraction, .dram.mean_latency_ns, .dram.bus_fraction, .dram.peak_fraction]' ideal.json)" \
    '["dma",null,null,null,null]'
prints '^DRAM .* GB/s   ideal; read 1.0 MiB, written 0 B$' run kv_fetch_paged seq=256 --ideal $all
for kernel in $("$NPUSIM" kernel list | awk 'NR > 1 { print $1 }'); do
    "$NPUSIM" run "$kernel" --ideal $all -q --report ideal.json || fail "$kernel: an ideal run"
    case $(jq -r .bound ideal.json) in
    matrix | vector | dma | latency | dispatch) ;;
    *) fail "$kernel, all ideal, is bound by $(jq -r .bound ideal.json)" ;;
    esac
done
printf '0x0 R\n0x40 R\n' >ideal.trace
"$NPUSIM" dram ideal.trace --part DDR4-2400 dram.ideal=yes --report - >ideal.json
is 'an ideal part' "$(jq -c '[.row_hits, .peak_fraction]' ideal.json)" '[null,null]'

# Reads that the write queue answers cross no bus, and requests across bursts wait no longer than a full queue makes them
awk 'BEGIN { for (i = x = 1; i <= 20000; i++) { x = x * 69621 % 2147483647; printf "0x%x %s\n", x % 64 * 64, int(x / 64) % 2 ? "W" : "R" } }' >again.trace
"$NPUSIM" dram again.trace --part LPDDR4X-4266 dram.refresh=none --report - >again.json
is 'reads of what waits to be written' \
    "$(jq -c '[.bytes, .peak_fraction < 1, .latency.median > 100]' again.json)" '[1280000,true,true]'
awk 'BEGIN { for (i = 0; i < 4000; i++) printf "0x%x R\n", i * 64 + 32 }' >across.trace
"$NPUSIM" dram across.trace --part DDR4-2400 dram.refresh=none --report - >across.json
is 'requests across two bursts' "$(jq -c '[.bursts, .latency.max < 1000]' across.json)" '[8000,true]'
printf '0x0 R 18446744073709551615\n' >late.trace
refuses 2 'late.trace:1:1: cycle 18446744073709551615: 0 to 4503599627370496 would be right' dram late.trace

# Kernels
refuses 2 'unknown kernel "gemn"; did you mean gemm?' run gemn
refuses 2 'unknown kernel "zzzzz"; npusim kernel list names them, and a file would be ./FILE, FILE.npu or FILE.npub' run zzzzz
matches 2 '^npusim: gemm has no parameter tile_q.*tile_m' run gemm tile_q=3
matches 2 '^npusim: m=-1: ' run gemm m=-1

# A what-if is a run of another machine, no bound: this one is slower than the machine itself, as docs/report.md says it may be.
cycles() { "$NPUSIM" run "$@" --json | sed -n 's/^ *"cycles": \([0-9]*\),.*/\1/p' | head -1; }
[ "$(cycles gemv n=1024 --ideal matrix)" -gt "$(cycles gemv n=1024)" ] ||
    fail "--ideal matrix is no slower here: docs/report.md needs another case to warn of"
prints 'npusim isa-reference' asm --help
prints 'prints what every key means' hw --help
prints 'a run of another machine, no bound' run --help
matches 1 '^npusim: tile_m=1024 tile_n=1024, even with tile_k=1: .*SRAM' run gemm m=1024 n=1024 k=1024 tile_m=1024 tile_n=1024
refuses 2 'x.npu: cannot be read: No such file or directory' run x.npu m=3

# Programs
refuses 2 'none.npu: cannot be read: No such file or directory' run none.npu
refuses 2 './: cannot be read: it is a folder; name a file' run ./
: >empty.npu
refuses 2 'empty.npu: the file is empty; a program would be right' run empty.npu
printf 'loda sram:0x0, dram:0x0 rows=64 cols=64\n' >bad.npu
refuses 2 'bad.npu:1:1: no instruction and no macro is called loda; did you mean load?
    1 | loda sram:0x0, dram:0x0 rows=64 cols=64
      | ^~~~' run bad.npu
# Every message begins with the program's name; what belongs to it is below it, behind blanks.
printf 'load sram:0x700000, dram:0xfffffff000 rows=16 cols=64\n' >far.npu
refuses 1 'far needs 7,170 KiB of SRAM, the hardware has 1,024 KiB: 6,146 KiB too little; #0 load (local) reaches farthest, sram:0x700000 to 0x700800
npusim: far needs 1,073,741,822 KiB of DRAM, the hardware has 4 GiB: 1,069,547,518 KiB too little; #0 load (dram) reaches farthest, dram:0xfffffff000 to 0xfffffff800' run far.npu
# A file that is too large is told from its size, before anything is read.
truncate -s 20G large.npub && truncate -s 3G large.npu
refuses 2 'large.npub: larger than 8388608 KiB, the most that is read' run large.npub
refuses 2 'large.npu: larger than 1048576 KiB, the most that is read' run large.npu
rm -f large.npub large.npu
printf 'loda\n  .endregin ; misspelt\n' >two.npu
refuses 2 'two.npu:1:1: no instruction and no macro is called loda; did you mean load?
    1 | loda
      | ^~~~
npusim: two.npu:2:3: no directive is called .endregin; did you mean .endregion?
    2 |   .endregin ; misspelt
      |   ^~~~~~~~~' run two.npu
printf 'sync.load\n' >one.npu
prints '^cycles .* 1 instruction$' run one.npu
prints '^one.npu: clean; 1 instruction, 0 semaphores$' check one.npu
"$NPUSIM" emit "${small[@]}" -o small.npub && "$NPUSIM" emit "${small[@]}" -o small.npu || fail 'emit'
size=$(stat -c %s small.npub)
for cut in 1 7 $((size / 2)) $((size - 1)); do
    head -c "$cut" small.npub >cut.npub
    matches 2 '^npusim: cut\.npub: ' run cut.npub
done
head -c 4096 /dev/urandom >noise.npub
matches 2 '^npusim: noise\.npub: ' disasm noise.npub
head -c 4096 /dev/zero | tr '\0' '\377' >noise.npu
matches 2 '^npusim: noise\.npu:1:1: ' asm noise.npu
"$NPUSIM" asm small.npu -o again.npub && cmp small.npub again.npub || fail 'text and binary differ'
is 'disasm | asm' "$("$NPUSIM" disasm small.npub | "$NPUSIM" asm - | cksum)" "$(cksum <small.npub)"
sed 's/$/\r/' small.npu | "$NPUSIM" asm - -o crlf.npub && cmp small.npub crlf.npub || fail 'CRLF'
head -c -1 small.npu | "$NPUSIM" asm - -o cut.npub && cmp small.npub cut.npub || fail 'missing last newline'
"$NPUSIM" emit gemm m=512 n=512 k=512 --hw server -o large.npub
matches 1 'SRAM' run large.npub --hw tiny-256k

# Deadlock: load waits for matrix, matrix for load.
cat >deadlock.npu <<'END'
.sem a
.sem b
load sram:0x0, dram:0x0 rows=32 cols=32   wait a   post b
matmul acc:0x0, sram:0x0, sram:0x1000 m=32 n=32 k=32   wait b   post a
END
matches 1 '^npusim: (deadlock\.npu.*)?.*deadlock' run deadlock.npu
grep -q 'matmul' err && grep -q 'load' err || fail "the deadlock does not name both: $(cat err)"

# Runs
prints '^cycles ' run "${small[@]}"
prints '^cycles ' run small.npub
"$NPUSIM" run - <small.npu >out 2>err || fail "run -: $(cat err)"
prints '^cycles ' run "$SRC/traces/qk_two_tiles.npu" --hw tiny-256k
prints '"schema": "npusim.report/1"' run "${small[@]}" --json
prints '"schema": "npusim.report/1"' run "${small[@]}" --report -
"$NPUSIM" run "${small[@]}" --quiet >out 2>err && [ ! -s out ] && [ ! -s err ] || fail 'run --quiet is not quiet'
prints '^cycles ' run "${small[@]}" --report r.json
"$NPUSIM" run "${small[@]}" --json | cmp - r.json || fail '--report and --json differ'
"$NPUSIM" run "${small[@]}" --json | cmp - r.json || fail 'two runs differ'
prints '^timeline ' run "${small[@]}" --timeline t.pftrace --timeline t.pftrace.gz
[ -s t.pftrace ] && gzip -dc t.pftrace.gz | cmp - t.pftrace || fail 'timelines differ'
matches 0 '^simulated in [0-9.]+ s' run "${small[@]}" --time

# Outputs that cannot be written: the report is printed all the same.
for option in --report --timeline; do
    file=none/r.json
    [ $option = --report ] || file=none/t.pftrace
    matches 2 "^npusim: $file: cannot be written: No such file or directory\$" run "${small[@]}" $option $file
    grep -q '^cycles ' out || fail "$option $file: no report"
    is "$option: lines on stderr" "$(wc -l <err)" 1
done
mkdir folder.json
matches 2 '^npusim: folder.json: cannot be written: it is a folder; name a file$' run "${small[@]}" --report folder.json
matches 2 '^npusim: /dev/full: cannot be written: No space left on device$' run "${small[@]}" --report /dev/full
grep -q '^cycles ' out || fail '/dev/full: no report'
matches 2 'timeline|pftrace' run "${small[@]}" --timeline t.xyz
echo old >kept.json
refuses 2 'unknown key sram.bank; did you mean sram.banks?' run gemm sram.bank=1 --report kept.json
is 'a failed run and its report' "$(cat kept.json)" old

# stdout
for arguments in "run ${small[*]}" "run ${small[*]} --json" 'hw show' 'hw reference' 'kernel list' '--help' 'run --help' \
    "emit ${small[*]}" 'disasm small.npub' 'array 64 64 64'; do
    status=0
    # shellcheck disable=SC2086
    "$NPUSIM" $arguments >/dev/full 2>err || status=$?
    is "npusim $arguments >/dev/full" "$status: $(cat err)" \
        '2: npusim: standard output: cannot be written: No space left on device'
done
mkfifo gone
exec 3<>gone 4>gone 3<&- # a pipe that has no reader any more
status=0
"$NPUSIM" hw reference >&4 2>err || status=$?
exec 4>&-
is 'a reader that goes away' "$status: $(cat err)" '141: '

# Lists
prints '^edge-2mb +64x64 +2 MiB' hw list
prints '^sram.size +2MiB +byte +capacity +command line$' hw show edge-1mb sram.size=2MiB
prints '^dram.tRCD +[0-9]+ +clk ' hw show
prints '^gemm ' kernel list
prints '^tile_m +derived ' kernel show gemm
prints '^gemm.npu: 416 instructions on edge-1mb, 17 parameters$' kernel show "$SRC/traces/gemm.npu" dtype=int8 m=1k
grep -qx 'm  *512  *1024  *a number' out && grep -qx 'dtype  *fp16  *int8  *fp16|bf16|int8' out ||
    fail "the parameters of a file: $(cat out)"
refuses 2 "dtpe=1: $SRC/traces/gemm.npu has no .param dtpe; did you mean dtype?" kernel show "$SRC/traces/gemm.npu" dtpe=1
refuses 2 'unknown kernel "gem"; did you mean gemm?' kernel show gem
prints '^npusim [0-9]+\.[0-9]+\.[0-9]+$' --version
for command in '' run kernel emit asm disasm hw array dram schema; do
    # shellcheck disable=SC2086
    prints '^usage: npusim ' $command --help
done

# Pages
prints '"npusim.report/1"' schema report
prints '"npusim.model/1"' schema model
prints '"npusim.check/1"' schema check
prints '^# The instruction set$' isa-reference
refuses 2 'schema rapport: report, check, model, explain or import would be right' schema rapport

# The array and the DRAM alone
prints '^cycles ' array 128 128 128
prints '"cycles": [0-9]+,' array 128 128 128 dtype=int8 --report -
refuses 2 'M=0: a whole number from 1 to 1048575 would be right' array 0 1 1
refuses 2 'dtype=fp8: fp16, bf16 or int8 would be right' array 1 1 1 dtype=fp8
printf '# two\n0x0 R\n\n0x40 W\r\n64 read' >t.trace
prints '"requests": 3,' dram t.trace --part DDR4-2400 --report -
printf '0x0 R 0\n0x40 R 10\n' | "$NPUSIM" dram - --part DDR4-2400 >out 2>err || fail "dram -: $(cat err)"
# One read of a closed bank: tRCD 16, CL 16 and four clocks of data.
printf '0x1000 R' | "$NPUSIM" dram - --part DDR4-2400 --report - >out || fail 'dram -'
is 'latency of one read' "$(tr -d ' \n' <out | grep -o '"latency":{[^}]*}')" '"latency":{"mean":36.0,"median":36.0,"max":36}'
printf '0x1000 R 100\n' | "$NPUSIM" dram - --part DDR4-2400 --report - | cmp -s - out || fail 'a cycle that all share changes the report'
# The place is that of the key which was set last among those that do not fit together: here the command line, which has none.
printf 'extends: edge-1mb\ndma:\n  port: 128\n' >wide.yaml
refuses 2 'dma.port=128 is wider than the 64 bytes a cycle of an SRAM group (sram.banks=8 / sram.groups=4 x sram.bank_bytes=32)' \
    run gemm --hw wide.yaml sram.banks=8
# DDR4-2400: 16 banks x 65,536 rows x 8 KiB
printf '0x1ffffffc0 R\n' >t.trace
prints '"requests": 1,' dram t.trace --part DDR4-2400 --report -
printf '0x0 W\n0x1ffffffc1 R\n' >t.trace
refuses 2 "t.trace:2:1: 64 bytes from 0x1ffffffc1 end behind the last of the part's 8 GiB" dram t.trace --part DDR4-2400
printf '0xffffffffffffffff R\n' >t.trace
refuses 2 "t.trace:1:1: 64 bytes from 0xffffffffffffffff end behind the last of the part's 8 GiB" dram t.trace --part DDR4-2400
printf '0x0 X\n' >t.trace
refuses 2 't.trace:1:5: ADDRESS R|W [CYCLE] would be right, as in 0x1000 R' dram t.trace
printf '0x0 R\n  0x1zz R\n' >t.trace
refuses 2 't.trace:2:3: ADDRESS R|W [CYCLE] would be right, as in 0x1000 R' dram t.trace
printf '0x0 R 5 7\n' >t.trace
refuses 2 't.trace:1:9: ADDRESS R|W [CYCLE] would be right, as in 0x1000 R' dram t.trace
printf '0x0 R\000 0x40 R\n' >t.trace
refuses 2 't.trace:1:6: ADDRESS R|W [CYCLE] would be right, as in 0x1000 R' dram t.trace
printf '0x0 R 5\n 0x40 R\n' >t.trace
refuses 2 't.trace:2:2: a cycle on every line or on none would be right' dram t.trace
: >t.trace
prints '"requests": 0,' dram t.trace --part DDR4-2400 --report -
printf '0x0 R 9\n0x0 R 8\n' >t.trace
refuses 2 't.trace:2:1: cycle 8 comes after cycle 9; requests stand in order of time' dram t.trace
matches 2 '^npusim: unknown DRAM part "DDR9"' dram t.trace --part DDR9

# Nothing but what was asked for was written.
is 'files left over' "$(find . -name '.*.??????' | wc -l)" 0

printf '%d checks, %d failures\n' "$checks" "$failures"
[ "$failures" = 0 ]
