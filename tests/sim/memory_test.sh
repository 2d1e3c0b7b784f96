#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A user's own memory: the example is built as its page says and takes the DRAM's place; broken ones are one clear line.
. "$SRC/tests/support/cli.sh" || exit 1

# refuse STATUS PATTERN OPTION
refuse() {
    ends "$1" run gemm m=32 n=32 k=32 --memory "$3"
    grep -qE -- "$2" err || fail "--memory $3 says $(cat err), not $2"
    [ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "--memory $3: more than one line"
}

cp -r "$SRC/docs/examples/memory" . && cmake -S memory -B build -G Ninja >log 2>&1 && cmake --build build >>log 2>&1 ||
    { cat log; fail "the example does not build"; exit 1; }

# A kernel that loads for most of its time: 64 x 512 B, each 16 granules of 32 B, one every 4 ns: the bandwidth is 8 GB/s.
"$NPUSIM" run qk_tiled seq=512 heads=4 head_dim=64 --memory ./build/libmemory.so,4,100 --report r.json >out 2>err ||
    fail "a run with the example: $(cat err)"
grep -q "^memory  *libmemory.so, in the DRAM's place" out || fail "the report does not name the memory"
grep -qE '^DRAM +[0-9.]+ GB/s   read ' out || fail "the report says what a memory of one's own could do at most: $(grep ^DRAM out)"
python3 - <<'PY' || fail "the report of a run with the example"
import json
r = json.load(open("r.json"))
assert r["command"]["memory"] == "libmemory.so", r["command"]
granules = r["dram"]["bus_bytes"] // 32
# A granule each 4 cycles at 1 GHz: never faster; and never much slower, as loads and stores overlap everything else.
assert granules * 4 <= r["cycles"] <= granules * 4 * 1.02, (granules * 4, r["cycles"])
# Reads of a queue that is always full wait for their turn behind others: longer than latency and interval alone.
assert r["dram"]["mean_latency_ns"] >= 104, r["dram"]["mean_latency_ns"]
assert r["dram"]["row_hit_fraction"] is None and r["dram"]["peak_fraction"] is None, r["dram"]
for e, row in r["engines"].items():
    assert row["busy"] + sum(row["stalls"].values()) + row["idle"] == r["cycles"], e
PY
"$NPUSIM" run qk_tiled seq=512 heads=4 head_dim=64 --memory ./build/libmemory.so,4,100 --report again.json --quiet
cmp -s r.json again.json || fail "two runs differ"

# Requests and answers keep their order when there is no time between them.
"$NPUSIM" run qk_tiled seq=512 heads=4 head_dim=64 --memory ./build/libmemory.so,0,0 --quiet || fail "a memory that takes no time"

refuse 2 "^npusim: ./absent.so: cannot be loaded: .*No such file" ./absent.so
refuse 2 "^npusim: memory/CMakeLists.txt: cannot be loaded: " memory/CMakeLists.txt
printf 'int other;\n' | cc -x c -shared -fPIC -o other.so -
refuse 2 '^npusim: ./other.so: no function npusim_memory: ' ./other.so
refuse 1 "FILE,INTERVAL,LATENCY in ns would be right" ./build/libmemory.so
printf 'extern "C" void npusim_memory(void *, const char *) {}\n' | c++ -x c++ -shared -fPIC -o unbound.so -
refuse 1 "memory" ./unbound.so
[ "$failures" = 0 ]
