#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim check at the command line: its text to the letter, exit statuses, JSON and SARIF.
. "$SRC/tests/support/cli.sh" || exit 1

# status WANT ARGUMENT...: exit status of npusim check ARGUMENT...; its output is in out and err.
status() {
    local want=$1 got=0
    shift
    "$NPUSIM" check "$@" >out 2>err </dev/null || got=$?
    [ "$got" = "$want" ] || fail "npusim check $*: exit status $got, not $want: $(head -3 out err)"
}

says() {
    diff -u - out >difference || fail "npusim check says other things:"$'\n'"$(cat difference)"
}

# k is a pair of buffers; the load of tile 2 does not wait until the product of tile 0 has read k[0].
cat >qk.npu <<'END'
.tensor K[192, 64] fp16 in dram:0x0
.tensor S[64, 192] fp32 out dram:0x8000
.tensor Q[64, 64] fp16 in dram:0x20000
.buffer q sram:0x20000+8192 0..10
.buffer k[0] sram:0x0+8192 0..10
.buffer k[1] sram:0x10000+8192 0..10
.buffer s acc:0x0+16384 0..10
.sem k_full[2], k_free[2]=1
.sem s_full, s_free=1
  load   q, Q rows=64 cols=64
.region "tile 0"
  load   k[0], K rows=64 cols=64          wait k_free[0]   post k_full[0]
  matmul s, q, k[0] m=64 n=64 k=64 transpose_b=1   wait k_full[0], s_free   post k_free[0], s_full
  store  S, s rows=64 cols=64 dtype=fp32 dram_stride=768   wait s_full   post s_free
.endregion
.region "tile 1"
  load   k[1], K+0x2000 rows=64 cols=64   wait k_free[1]   post k_full[1]
  matmul s, q, k[1] m=64 n=64 k=64 transpose_b=1   wait k_full[1], s_free   post k_free[1], s_full
  store  S+0x100, s rows=64 cols=64 dtype=fp32 dram_stride=768   wait s_full   post s_free
.endregion
.region "tile 2"
  load   k[0], K+0x4000 rows=64 cols=64                    post k_full[0]
  matmul s, q, k[0] m=64 n=64 k=64 transpose_b=1   wait k_full[0], s_free   post s_full
  store  S+0x200, s rows=64 cols=64 dtype=fp32 dram_stride=768   wait s_full
.endregion
END
status 1 qk.npu
says <<'END'
qk.npu:22:10: error: race on k[0], SRAM 0x0..0x1fff (8,192 bytes)
     22 |   load   k[0], K+0x4000 rows=64 cols=64                    post k_full[0]
        |          ^~~~ #7 load, region "tile 2": writes
     13 |   matmul s, q, k[0] m=64 n=64 k=64 transpose_b=1   wait k_full[0], s_free   post k_free[0], s_full
        |                ^~~~ #2 matmul, region "tile 0": reads
  missing edge: #2 matmul -> #7 load
  fix: line 22 waits for k_free[0], which line 13 posts when it ends

qk.npu: 1 race; 10 instructions, 6 semaphores
END

# Binary programs keep places; without the file the instruction itself is shown.
"$NPUSIM" asm qk.npu -o qk.npub || fail "asm"
mkdir elsewhere
(cd elsewhere && "$NPUSIM" check ../qk.npub >../out)
grep -q '^     22 |   load   k\[0\], K+0x4000' out || fail "a source file beside the program is not found: $(cat out)"
mv qk.npu elsewhere/hidden
status 1 qk.npub
grep -q '^     #7 | load sram:0x0, dram:0x4000 rows=64 cols=64   post k_full\[0\]$' out || fail "no flat text: $(cat out)"
mv elsewhere/hidden qk.npu

sed '/tile 2/,$ s/    post k_full\[0\]/wait k_free[0] post k_full[0]/' qk.npu >good.npu
status 0 good.npu
says <<'END'
good.npu: clean; 10 instructions, 6 semaphores
END
"$NPUSIM" check - <good.npu | grep -q '^stdin: clean' || fail "stdin"

# Warnings fail only when asked to; notes never do.
printf '.sem a[2]\nsync.load post a[0]\nsync.load post a[1]\n' >warn.npu
status 0 warn.npu
says <<'END'
warn.npu:1:6: warning: a[0], a[1]: posted 1 time each, never waited for

warn.npu: 1 warning; 2 instructions, 2 semaphores
END
status 1 warn.npu --werror
# asm and run tell the same on stderr.
declared='npusim: warn.npu:1:6: warning: a[0], a[1]: posted 1 time each, never waited for'
for command in 'asm -o warn.npub' 'run -q'; do
    # shellcheck disable=SC2086
    { "$NPUSIM" $command warn.npu >out 2>err </dev/null && [ "$(cat err)" = "$declared" ] && [ ! -s out ]; } || fail "$command of warnings: $(cat out err)"
    got=0
    # shellcheck disable=SC2086
    "$NPUSIM" $command warn.npu --werror >out 2>err </dev/null || got=$?
    { [ $got = 1 ] && [ "$(cat err)" = "$declared" ]; } || fail "$command --werror of warnings: $got, $(cat err)"
done
printf '.sem s=1\nsync.load wait s\nsync.load wait s\n' >posts.npu
"$NPUSIM" asm posts.npu -o posts.npub 2>err || fail 'asm of a semaphore that nobody posts'
[ "$(cat err)" = 'npusim: posts.npu:3:16: warning: s: waited for and never posted; it starts at 1' ] || fail "$(cat err)"
rm -f posts.npub
"$NPUSIM" asm posts.npu -o posts.npub --werror 2>err && fail 'asm --werror: status 0'
[ ! -e posts.npub ] || fail 'asm --werror wrote a file'
# With --check they are among the findings, once.
"$NPUSIM" run -q --check warn.npu >out 2>err </dev/null || fail 'run --check of warnings'
[ "$(grep -c 'never waited for' err)" = 1 ] || fail "twice: $(cat err)"
printf 'load sram:0x0, dram:0x0 rows=1 cols=32\nload sram:0x0, dram:0x0 rows=1 cols=32\n' >dead.npu
status 0 dead.npu --redundant --werror
grep -q ': note: #0 load writes SRAM 0x0..0x3f (64 bytes), which #1 load overwrites' out || fail "no note: $(cat out)"

# However much is wrong, only so much is shown: every line differs, and every load races with every store.
awk 'BEGIN { for (i = 0; i < 40000; i++) printf("%s sram:0x%x, dram:0x%x rows=%d cols=32 dram_stride=%d\n", i % 2 ? "store" : "load",
    i * 64 % 8192, i * 4096, 1 + i % 7, 64 * (1 + i % 5)) }' | sed 's/^store \(sram[^,]*\), \(dram[^ ]*\)/store \2, \1/' >flood.npu
status 1 flood.npu
[ "$(grep -c ': error: race on' out)" = 100 ] || fail "$(grep -c ': error: race on' out) races are shown"
[ "$(wc -c <out)" -lt 200000 ] || fail "a flood of $(wc -c <out) bytes"
grep -qE '^[0-9,]+ more findings not shown: there are 100 of the kind already$' out || fail "no word of the rest: $(tail -4 out)"
grep -qF '100 races (more than 1,000,000 pairs)' out || fail "no number of pairs: $(tail -1 out)"
shown=$(sed -n 's/^\([0-9,]*\) more findings not.*/\1/p' out | tr -d ,)
status 1 flood.npu --format json -o flood.json
[ "$(jq -c '[(.findings | map(select(.kind == "race")) | length), .untold]' flood.json)" = "[100,$shown]" ] ||
    fail "JSON counts other findings than the text"
status 1 flood.npu --all
[ "$(grep -c ': error: race on' out)" = 10000 ] || fail "--all shows $(grep -c ': error: race on' out) races"

# A half of a pair that is swapped: nothing races, and the second tile is never stored.
"$NPUSIM" emit gemm m=256 n=128 k=256 -o gm.npu || fail 'emit'
status 0 gm.npu --werror
swap=$(grep -n '^ *store' gm.npu | tail -1 | cut -d: -f1)
sed "${swap}s/sram:0xc8000/sram:0xc0000/" gm.npu >swapped.npu
cmp -s gm.npu swapped.npu && fail 'the last store does not read the second half'
status 1 swapped.npu --werror
grep -q 'warning: nobody reads what #14 vcopy writes: c\[1\], SRAM 0xc8000..0xcffff (32,768 bytes)$' out ||
    fail "no word of what is never stored: $(cat out)"

# What only the values tell: every byte is ordered, written, read, inside a live buffer, and the wrong one.
cat >vals.npu <<'END'
.tensor A[64, 64] fp16 in
.tensor B[2, 64, 64] fp16 in
.tensor C[64, 64] fp32 out = A @ A.T
.sram a[2][64, 64] fp16
.acc  c[64, 64] fp32
.sem full, done
  load   a[0], A
  load   a[1], B[0]                     post full
  matmul c, a[0], a[1].T   wait full    post done
  store  C, c              wait done
END
status 1 vals.npu
says <<'END'
vals.npu:10:10: error: C[0,0] is -4.78513527, expected 57.5586347 within 0.000232; 4,095 of 4,096 elements are wrong
     10 |   store  C, c              wait done
        |          ^ #3 store: writes
  compared with the reference of the file, inputs from seed 1; run --values --dump C=FILE writes all of it

vals.npu: 1 error; 4 instructions, 2 semaphores; values compared
END
status 1 vals.npu --format sarif -o vals.sarif
[ "$(jq -c '.runs[0] | [.results[0].ruleId, .results[0].locations[0].physicalLocation.region.startLine, .properties.values]' vals.sarif)" = \
    '["values",10,"compared"]' ] || fail "SARIF of a mismatch: $(cat vals.sarif)"
status 1 vals.npu --format json
[ "$(jq -c '[.values, .values_why, .findings[0].kind, .findings[0].range.bytes]' out)" = '["compared",null,"values",4]' ] || fail 'JSON of a mismatch'
status 0 vals.npu --values no
says <<'END'
vals.npu: clean; 4 instructions, 2 semaphores
END
sed 's/a\[0\], a\[1\].T/a[0], a[0].T/' vals.npu >right.npu
status 0 right.npu
grep -q '; values compared$' out || fail "no word of the values: $(cat out)"
# run --check compares, too, but where --values does.
"$NPUSIM" run vals.npu --check -q >out 2>err </dev/null && fail 'run --check of wrong values: status 0'
grep -q 'error: C\[0,0\] is -4.78' err || fail "run --check: $(cat err)"
# What takes no long time is compared without being asked for: sizes by which kernels are known, and inputs far larger than what
# is done with them.
for kernel in gelu 'gemv n=8192'; do
    status 0 $kernel
    grep -q 'clean; .*; values compared$' out || fail "$kernel: $(cat out)"
done
# Too much work is told, not done; a file without a reference is no error unless it was asked for.
status 0 flash_attention seq=2048 heads=8 head_dim=128
grep -q '; values not compared: it would take about [0-9]* s (--values yes)$' out || fail "no word of what was left out: $(cat out)"
status 0 flash_attention seq=2048 heads=8 head_dim=128 --format json
[ "$(jq -r .values out)" = skipped ] || fail 'JSON of what was left out'
# Neither is a program that moves more than it multiplies: 40,000 loads of 64 KiB.
printf '.tensor A[64, 512] fp16 in\n.tensor C[64, 512] fp16 out = A\n.sram a[64, 512] fp16\n.sem s\n.for i in 0..40000\nload a, A\n.end\nload a, A post s\nstore C, a wait s\n' >moves.npu
status 0 moves.npu
grep -q '; values not compared: it would take about [0-9]* s' out || fail "$(tail -1 out)"
status 0 moves.npu --values no
status 2 gm.npu --values yes
[ "$(cat err)" = 'npusim: --values yes: gm.npu has no reference; a kernel has one, and so has an out tensor with = EXPRESSION' ] || fail "$(cat err)"
status 2 gm.npu --values maybe
[ "$(cat err)" = 'npusim: --values maybe: auto, no or yes would be right' ] || fail "$(cat err)"

# Page records are told by their own line, at the end of a file, in a macro and in a binary program, too.
cat >pages.npu <<'END'
.tensor pool[8, 32] fp16 inout dram:0x0
.page pool 3 owned 7
.page pool 3 free
.page pool 3 free
load sram:0x0, dram:0x40 rows=1 cols=32
.page pool 2..4 free
END
sed 's/^load.*/.for i in 0..1\n&\n.end/' pages.npu >turns.npu
"$NPUSIM" asm pages.npu -o bin.npub || fail 'asm pages.npu'
"$NPUSIM" disasm bin.npub -o flat.npu || fail 'disasm bin.npub'
for file in pages.npu turns.npu bin.npub flat.npu; do
    status 1 $file
    [ "$(sed -n 's/^[a-z]*.npu:\([0-9]*\):1: error: page \([0-9]*\) .*/\1 \2/p' out | tr '\n' ,)" = "$([ $file = turns.npu ] &&
        echo '4 3,8 2,8 3,' || echo '4 3,6 2,6 3,')" ] || fail "records of $file: $(cat out)"
done
[ "$(grep -A2 '^pages.npu:6:1: error: page 2 ' out)" = "pages.npu:6:1: error: page 2 of pool is freed, and was never in use, before #1
      6 | .page pool 2..4 free
        | ^~~~~ the record" ] || fail "no line of the record: $(cat out)"
status 1 pages.npu --format json
[ "$(jq -c '[.findings[] | select(.kind == "double-free") | [.line, .column]]' out)" = '[[4,1],[6,1],[6,1]]' ] || fail 'JSON of records'

# A page that the pool does not have is refused where the record stands, in flat text and in macro assembly.
printf '.tensor pool[8, 32] fp16 inout dram:0x0\n  .page pool 99 owned 7\nload sram:0x0, dram:0x40 rows=1 cols=32\n' >far.npu
printf '.let p = 99\n.tensor pool[8, 32] fp16 inout dram:0x0\n.macro own n\n  .page pool n owned 7\n.end\nown p\nload sram:0x0, dram:0x40 rows=1 cols=32\n' >far_macro.npu
status 1 far.npu
[ "$(cat err)" = 'npusim: far.npu:2:3: page 99 of pool does not exist: the pool has 8 pages
    2 |   .page pool 99 owned 7
      |   ^~~~~' ] || fail "$(cat err)"
status 1 far_macro.npu
grep -q '^npusim: far_macro.npu:4:3: page 99 of pool does not exist: the pool has 8 pages$' err || fail "$(cat err)"
grep -q '^      |   ^~~~~$' err || fail "no caret: $(cat err)"

# Findings inside macros name who used them, and the turns of the loops around that; binary and flat text keep the lines.
cat >tile.npu <<'END'
.tensor A[8, 64] fp16 in dram:0x0
.macro tile j
  load   sram:0x0, A post full[j]
  sync.matrix wait full[j]
  matmul acc:0x0, sram:0x0, sram:0x0 m=8 n=8 k=64 transpose_b=1
.end
.macro both
  tile 0
  tile 1
.end
.sem full[2]
.for i in 0..2
  both
.end
END
status 1 tile.npu
cp out whole
head -11 whole >out
says <<'END'
tile.npu:3:10: error: race on SRAM 0x0..0x3ff (1,024 bytes)
      3 |   load   sram:0x0, A post full[j]
        |          ^~~~~~~~ #3 load, i=0: writes
          in macro tile, used at tile.npu:9
          in macro both, used at tile.npu:13
      5 |   matmul acc:0x0, sram:0x0, sram:0x0 m=8 n=8 k=64 transpose_b=1
        |                   ^~~~~~~~ #2 matmul, i=0: reads
          in macro tile, used at tile.npu:8
          in macro both, used at tile.npu:13
  missing edge: #2 matmul -> #3 load
  fix: a semaphore from matrix to load: line 5 posts it, line 3 waits for it
END
sed 's/, i=[01]:/:/' whole >without
"$NPUSIM" asm tile.npu -o tile.npub && "$NPUSIM" disasm tile.npub -o tile_flat.npu || fail 'asm tile.npu'
grep -q '^.loc "tile.npu" 3 within "tile" "tile.npu" 8 within "both" "tile.npu" 13$' tile_flat.npu || fail "$(cat tile_flat.npu)"
for file in tile.npub tile_flat.npu; do
    status 1 $file
    sed "s/^$file:/tile.npu:/" out | diff without - >difference || fail "check $file: $(cat difference)"
done
status 1 tile.npu --format json
[ "$(jq -c '.findings[0].sites[0].macros' out)" = '[{"name":"tile","file":"tile.npu","line":9},{"name":"both","file":"tile.npu","line":13}]' ] ||
    fail "JSON of macros: $(jq -c .findings out)"
status 1 tile.npu --format sarif
jq -r '.runs[0].results[0].relatedLocations[0].message.text' out |
    grep -qx '#3 load, i=0: writes, in macro tile used at tile.npu:9, in macro both used at tile.npu:13' || fail 'SARIF of macros'

# What a redundant wait costs is measured: a program with it, and one without, on this machine.
cat >twice.npu <<'END'
.sem a, b
load sram:0x0, dram:0x0 rows=64 cols=64 post a
load sram:0x2000, dram:0x2000 rows=64 cols=64 post b
sync.matrix wait b
matmul acc:0x0, sram:0x0, sram:0x2000 m=64 n=64 k=64 wait a
END
cycles() { "$NPUSIM" run "$@" --json | jq .cycles; }
status 0 twice.npu --redundant --format json
with=$(cycles twice.npu) without=$(sed 's/ wait a$//; s/ post a$//; s/^.sem a, b/.sem b/' twice.npu | cycles -)
[ "$(jq -c '[.findings[] | [.semaphore, .waits, .cost_cycles]]' out)" = "[[\"a\",1,$((with - without))]]" ] ||
    fail "the cost of a wait is not $with - $without: $(jq -c .findings out)"
status 0 twice.npu --redundant --format sarif
[ "$(jq -c '[.runs[0].results[].properties | [.waits, .cost_cycles]]' out)" = "[[1,$((with - without))]]" ] || fail 'SARIF of a cost'
# Off the granule by where it begins, or only by its stride.
printf 'load sram:0x0, dram:0x10 rows=4 cols=16 dram_stride=64\nload sram:0x400, dram:0x1000 rows=4 cols=32 dram_stride=80\n' >off.npu
status 0 off.npu --format json
[ "$(jq -c '[.findings[] | select(.kind == "dram-granule") | [.text, .cost_bytes]]' out)" = \
    '[["#0 load (dram) begins off the DRAM granule of 32 bytes: 128 bytes moved in vain",128],["#1 load (dram) has a stride off the DRAM granule of 32 bytes: 64 bytes moved in vain",64]]' ] ||
    fail "granules: $(jq -c '[.findings[] | [.text, .cost_bytes]]' out)"
status 0 twice.npu --redundant
grep -qx "  costs no cycle of $(printf "%'d" "$with" | sed 's/^\([0-9]\)\([0-9]\{3\}\)$/\1,\2/') (1 wait)" out || fail "no cost: $(cat out)"
# Nothing is measured of a program with errors.
status 1 qk.npu --redundant
grep -q 'costs' out && fail 'costs of a program with errors'

# Resolved parameters, as in a report
status 0 gemm m=64 tile_k=32 --format json
[ "$(jq -c .command.params out)" = "$("$NPUSIM" run gemm m=64 tile_k=32 --json | jq -c .params)" ] || fail "params: $(jq -c .command out)"
[ "$(jq .command.params.tile_k out)" = 32 ] || fail 'no parameter'
status 0 twice.npu --format json
[ "$(jq -c .command.params out)" = '{}' ] || fail 'parameters of a file'

# Usage
status 2 qk.npu --format xml
[ "$(cat err)" = 'npusim: --format xml: text, json or sarif would be right' ] || fail "$(cat err)"
status 2 nosuch.npu
status 2 qk.npu seq=3

# Every shipped kernel
for kernel in $("$NPUSIM" kernel list | awk 'NR > 1 { print $1 }'); do
    status 0 "$kernel"
done

if command -v python3 >/dev/null; then
    status 1 qk.npu --format json
    python3 - out <<'END' || fail "JSON"
import json, sys
r = json.load(open(sys.argv[1]))
f = r["findings"][0]
assert r["schema"] == "npusim.check/1" and r["errors"] == 1 and r["race_pairs"] == 1
assert f["kind"] == "race" and f["sites"][0]["line"] == 22 and f["sites"][1]["region"] == "tile 0"
assert f["range"] == {"memory": "sram", "first": 0, "last": 8191, "bytes": 8192, "name": "k[0]"}
END
    status 1 qk.npu --format sarif -o qk.sarif
    [ ! -s out ] || fail "SARIF on stdout too"
    python3 - qk.sarif <<'END' || fail "SARIF"
import json, sys
s = json.load(open(sys.argv[1]))
run = s["runs"][0]
result = run["results"][0]
assert s["version"] == "2.1.0" and result["level"] == "error"
assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "race"
place = result["locations"][0]["physicalLocation"]
assert place["artifactLocation"]["uri"] == "qk.npu"
assert place["region"] == {"startLine": 22, "startColumn": 10, "endColumn": 14}
related = result["relatedLocations"]
assert [l["message"]["text"] for l in related] == ['#7 load, region "tile 2": writes', '#2 matmul, region "tile 0": reads']
assert result["properties"] == {"range": {"memory": "sram", "first": 0, "last": 8191, "bytes": 8192, "name": "k[0]"},
    "waits": None, "cost_bytes": None, "cost_cycles": None}
# A message has real line breaks, and no backslash that stands for one.
assert result["message"]["text"].split("\n")[1:] == ["missing edge: #2 matmul -> #7 load",
    "fix: line 22 waits for k_free[0], which line 13 posts when it ends"], result["message"]["text"]
assert "\\" not in result["message"]["text"]
END

    # npusim.check/1 is what its schema says: no key more or less, no other type.
    "$NPUSIM" schema check >schema.json || fail 'schema check'
    status 1 qk.npu --format json -o races.json
    status 0 twice.npu --redundant --format json -o twice.json
    status 0 warn.npu --format json -o warn.json
    python3 - schema.json races.json twice.json warn.json <<'END' || fail "the schema of check"
import json, sys
names = {dict: "object", list: "array", str: "string", int: "integer", bool: "boolean", type(None): "null"}
def hold(schema, value, path):
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert names[type(value)] in types, f"{path} is {value!r}, not {types}"
    if "properties" in schema:
        assert set(value) == set(schema["properties"]) == set(schema["required"]), (path, set(value) ^ set(schema["properties"]))
        for key in value:
            hold(schema["properties"][key], value[key], f"{path}.{key}")
    for i, item in enumerate(value if isinstance(value, list) else []):
        hold(schema["items"], item, f"{path}[{i}]")
for name in sys.argv[2:]:
    found = json.load(open(name))
    assert found["findings"]
    hold(json.load(open(sys.argv[1])), found, name)
END

    # Text, JSON and SARIF put a finding into one place, and name the turns of the loops.
    cat >loops.npu <<'END'
.sem	a[2], b
.for i in 0..2
  .for j in 0..2
    load sram:0x0, dram:0x0 rows=1 cols=32 post a[j]
  .end
.end
matmul acc:0x0, sram:0x0, sram:0x0 m=1 n=1 k=32
END
    status 1 loops.npu
    cp out loops.txt
    status 1 loops.npu --format json -o loops.json
    status 1 "$PWD/loops.npu" --format sarif -o loops.sarif
    python3 - loops.txt loops.json loops.sarif "$PWD" <<'END' || fail "places: $(cat loops.txt)"
import json, re, sys, urllib.parse
text = re.findall(r"^loops.npu:(\d+):(\d+): (?:error|warning): (.*)$", open(sys.argv[1]).read(), re.M)
found = json.load(open(sys.argv[2]))["findings"]
results = json.load(open(sys.argv[3]))["runs"][0]["results"]
assert len(text) == len(found) == len(results) >= 2, text
for (line, column, what), f, s in zip(text, found, results):
    place = s["locations"][0]["physicalLocation"]
    assert f["text"] == what and (str(f["line"]), str(f["column"])) == (line, column)
    assert (place["region"]["startLine"], place["region"]["startColumn"]) == (f["line"], f["column"])
    assert place["artifactLocation"]["uri"] == "file://" + urllib.parse.quote(sys.argv[4]) + "/loops.npu"
never = next(f for f in found if f["kind"] == "never-waited")
assert (never["line"], never["column"]) == (1, 6) and never["sites"][0]["line"] == 4
race = next(n for n, f in enumerate(found) if f["kind"] == "race")
site = next(n for n, s in enumerate(found[race]["sites"]) if s["mnemonic"] == "load")
loops = found[race]["sites"][site]["loops"]
assert set(loops) == {"i", "j"} and found[race]["sites"][1 - site]["loops"] == {}
assert f", i={loops['i']} j={loops['j']}: writes" in results[race]["relatedLocations"][site]["message"]["text"]
assert f", i={loops['i']} j={loops['j']}: writes" in open(sys.argv[1]).read()
END
fi

# The same findings after a run: below its tables, or on stderr when there are none.
"$NPUSIM" check qk.npu >found 2>&1 || true
"$NPUSIM" run qk.npu --check >out 2>err </dev/null && fail "run --check of a race: status 0"
grep -q '^cycles ' out || fail "run --check: no report"
tail -n "$(wc -l <found)" out | diff -u found - || fail "run --check finds other things than check"
"$NPUSIM" run qk.npu --check --quiet >out 2>err </dev/null && fail "run --check --quiet of a race: status 0"
[ ! -s out ] || fail "run --check --quiet wrote to stdout"
diff -u found err || fail "run --check --quiet finds other things than check"
"$NPUSIM" run gemm m=64 n=64 k=64 --check >out 2>err </dev/null || fail "run --check of a clean kernel: status $?"

# and in the report.
"$NPUSIM" check qk.npu --format json | jq 'del(.command)' >found
{ "$NPUSIM" run qk.npu --check --report - 2>err </dev/null || true; } | jq '.check | del(.command)' | diff -u found - || fail "the report of run --check"
[ "$("$NPUSIM" run qk.npu --json </dev/null | jq 'has("check")')" = false ] || fail "a report without --check has findings"
"$NPUSIM" schema report | jq -e '.properties.check.properties.findings.items.properties.sites' >/dev/null || fail "no schema of check in a report"

[ $failures -eq 0 ] && echo 'npusim check is as it should be'
exit $((failures > 0))
