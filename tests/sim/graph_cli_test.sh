#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim graph: edges are the posts and the orders that the program has, red ones are the critical path, and a large program is
# drawn as few nodes; npusim hw diagram draws what the configuration says.
. "$SRC/tests/support/cli.sh"

cat >chain.npu <<'END'
.tensor A[128, 128] fp16 in
.tensor O[128, 128] fp32 out
.sram a[128, 128] fp16
.acc  c[128, 128] fp32
.sem  loaded, done
load a, A          post loaded
matmul c, a, a     wait loaded  post done
store O, c         wait done
END
"$NPUSIM" graph chain.npu >g.dot 2>err || fail "graph: $(cat err)"
# Three instructions of three engines, linked by two posts: all of it is the path
checks=$((checks + 4))
[ "$(grep -c '^	n[0-9]* \[label' g.dot)" = 3 ] || fail "three nodes: $(cat g.dot)"
[ "$(grep -- '->' g.dot | sed -E 's/, color="#cc3311", penwidth=2.5//')" = $'\tn0 -> n1 [label="loaded"];\n\tn1 -> n2 [label="done"];' ] ||
    fail "two edges: $(grep -- '->' g.dot)"
[ "$(grep -c -- '-> .*#cc3311' g.dot)" = 2 ] || fail "both are on the path: $(grep -- '->' g.dot)"
[ "$(sed -n 's/.*tooltip="\([0-9,]*\) cycles* of the critical path.*/\1/p' g.dot | tr -d , | awk '{ s += $1 } END { print s }')" = \
    "$("$NPUSIM" run chain.npu --critical --report - | awk '/"critical_path"/ { on = 1 } on && /"service"|"post"|"hand_off"|"dispatch"/ { gsub(/[^0-9]/, ""); s += $0 } /"lines"/ { on = 0 } END { print s }')" ] ||
    fail "the nodes' cycles are not those of the path: $(cat g.dot)"

# Above 300 instructions: regions; lines where there are none; a window where every line is another one
checks=$((checks + 3))
"$NPUSIM" graph flash_attention seq=512 heads=4 >f.dot
[ "$(grep -c '^	n[0-9]* \[label' f.dot)" -le 300 ] && grep -q '"head 0, q tile 0\\n' f.dot || fail "regions: $(head f.dot)"
sed '/^\.param/,$!d' >loop.npu <<'END'
.param n=400
.tensor A[128, 128] fp16 in
.sram a[128, 128] fp16
.for i in 0..n
  load a, A
.end
END
"$NPUSIM" graph loop.npu >l.dot
grep -q 'loop.npu:5\\n400 instructions' l.dot || fail "lines: $(cat l.dot)"
{ sed -n '1,3p' loop.npu; for i in $(seq 400); do echo 'load a, A'; done; } >long.npu
"$NPUSIM" graph long.npu -o w.dot >out
grep -q '300 nodes, a node an instruction, .*; instructions 0 to 299 of 400, --window shows others$' out || fail "a window: $(cat out)"
checks=$((checks + 2))
"$NPUSIM" graph flash_attention seq=512 heads=4 --window 10:20 >w.dot
[ "$(grep -c '^	n[0-9]* \[label="#1[0-9] ' w.dot)" = 10 ] || fail "a window of ten: $(cat w.dot)"
for kind in svg png; do "$NPUSIM" graph chain.npu -o g.$kind >/dev/null || fail "g.$kind"; done
grep -q '<title>n0&#45;&gt;n1</title>' g.svg && [ "$(head -c 4 g.png | tail -c 3)" = PNG ] || fail 'drawings'
# Names are only names
checks=$((checks + 1))
sed 's/^\.sem.*/.region "a\\"]; evil [x=\\"\\\\"\n&/; $a.endregion' chain.npu >evil.npu
"$NPUSIM" graph evil.npu -o evil.svg >/dev/null 2>err || { grep -q 'evil.npu:' err || fail "a name with quotes: $(cat err)"; }

refuses 2 'g.pdf: a drawing is .svg, .png or .dot' graph chain.npu -o g.pdf
refuses 2 '--window 5: FIRST:END of instructions would be right, as in 100:200' graph chain.npu --window 5
refuses 2 '--window 5:5: FIRST:END of instructions would be right, as in 100:200' graph chain.npu --window 5:5
refuses 2 '--window: the program has 3 instructions' graph chain.npu --window 5:9
refuses 2 'a window of 301 instructions: at most 300 can be read' graph long.npu --window 0:301
refuses 2 '--time-limit 0: 1 to 3600 seconds would be right' graph chain.npu --time-limit 0

# The machine: 48 x 16 MACs at 500 MHz are 384 GMAC/s; 8 banks of 64 bytes, 256 GB/s
"$NPUSIM" hw diagram tiny-256k matrix.rows=48 matrix.cols=16 npu.clock_mhz=500 sram.banks=8 sram.bank_bytes=64 >m.dot 2>err || fail "diagram: $(cat err)"
checks=$((checks + 4))
grep -q '48 x 16 MACs\\n384.0 GMAC/s fp16, 384.0 int8' m.dot || fail "the array: $(grep MACs m.dot)"
grep -q 'SRAM 256 KiB\\n8 banks of 64 B/cycle in 2 groups\\n256.0 GB/s' m.dot || fail "the SRAM: $(grep SRAM m.dot)"
peak=$("$NPUSIM" hw list | awk '$1 == "tiny-256k" { print $NF }')
grep -q "DRAM LPDDR4-3200\\\\n2 GiB\\\\n1 channel x16, $peak GB/s" m.dot || fail "the DRAM, $peak GB/s: $(grep 'DRAM ' m.dot)"
checks=$((checks + 2))
"$NPUSIM" hw diagram edge-1mb dram.ideal=yes sram.ideal=yes >ideal.dot
grep -q 'DRAM, ideal' ideal.dot && ! grep -q '17.07\|LPDDR' ideal.dot || fail 'an ideal DRAM has no part and no bandwidth'
grep -q 'no bank is ever denied' ideal.dot || fail 'an ideal SRAM'
"$NPUSIM" hw diagram -o m.svg && grep -q 'edge' m.svg || fail 'the diagram as SVG'
refuses 2 '--output: of hw diagram' hw list -o x.svg
refuses 2 'm.txt: a drawing is .svg, .png or .dot' hw diagram -o m.txt

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
