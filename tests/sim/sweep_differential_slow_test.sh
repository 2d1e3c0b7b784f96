#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random specifications of all kinds, each run in many ways: by one process and by several, with every point simulated for itself, in shards
# in any order and in folders of their own, killed at random moments and gone on with. What is merged is the same to the byte (SQLite, CSV,
# JSON), and so are the answers. SWEEP_ROUNDS and SWEEP_SEED take others than these.
. "$SRC/tests/support/cli.sh"
command -v python3 >/dev/null || exit 77
cat >qk.npu <<'END'
.param   seq=128, d=64, tq=32, tk=32
.require seq % tq == 0 && seq % tk == 0, "tiles divide seq"
.tensor  Q[seq, d]   fp16 in
.tensor  K[seq, d]   fp16 in
.tensor  S[seq, seq] fp32 out
.sram    q[2][tq, d] fp16
.sram    k[2][tk, d] fp16
.acc     s[2][tq, tk] fp32
.sem     q_full[2], k_full[2], s_full[2], q_free[2]=1, k_free[2]=1, s_free[2]=1
.for i in 0..seq/tq
  load     q[i%2], Q[i*tq:+tq, :]                wait q_free[i%2]              post q_full[i%2]
  sync.matrix                                    wait q_full[i%2]
  .for j in 0..seq/tk
    load   k[j%2], K[j*tk:+tk, :]                wait k_free[j%2]              post k_full[j%2]
    matmul s[j%2], q[i%2], k[j%2].T              wait k_full[j%2], s_free[j%2] post k_free[j%2], s_full[j%2]
    store  S[i*tq:+tq, j*tk:+tk], s[j%2]         wait s_full[j%2]              post s_free[j%2]
  .end
  sync.matrix                                    post q_free[i%2]
.end
END
printf '%s\n' 'extends: edge-1mb' 'vector: {lanes: 16}' 'sram: {size: 512KiB}' >half.yaml
cat >differ.py <<'END'
import fcntl, os, random, re, shutil, signal, subprocess, sys, time

npusim, seed, rounds = os.environ["NPUSIM"], int(os.environ.get("SWEEP_SEED", 8)), int(os.environ.get("SWEEP_ROUNDS", 10))
rng = random.Random(seed)
subjects = [
    ("run", "gemm", {"m": 64, "n": 64, "k": 64}, {"tile_m": [8, 16, 32, 64, 128], "tile_n": [16, 32, 64], "tile_k": [16, 32, 64]}),
    ("run", "flash_attention", {"seq": 128, "heads": 1}, {"tile_q": [16, 32, 64, 128, 256], "tile_kv": [16, 32, 64], "mask": ["none", "causal"]}),
    ("run", "decode_attention_paged", {"seq": 128, "heads": 4, "kv_heads": 2, "head_dim": 64}, {"page": [8, 16, 32], "tile_kv": [16, 32, 64, 256]}),
    ("run", "rmsnorm", {"rows": 16, "cols": 256}, {"tile_rows": [1, 4, 16], "buffering": ["single", "double"]}),
    ("run", "./qk.npu", {}, {"tq": [16, 32, 48, 64], "tk": [16, 32, 64], "d": [64, 128]}),
    ("model", "stories260k", {"phase": "decode"}, {"context": [16, 32, 64], "weights": ["fp16", "int8"], "page": [8, 16]}),
]
hardware = {"sram.size": ["256KiB", "512KiB", "768KiB", "1MiB", "2MiB", "4MiB"], "sram.groups": [1, 2, 4, 3], "vector.lanes": [16, 32],
            "npu.clock_mhz": [800, 1000], "dram.part": ["LPDDR4X-4266", "LPDDR5-6400"], "accum.size": ["64KiB", "128KiB", "256KiB"]}
conditions = ["sram.size > 256KiB", "sram.size % 524288 == 0 || 1 / (sram.size - 262144) > 0", "sram.groups * vector.lanes <= 64", "dram.channels == 2"]

# A specification, and how many points it has.
def specification(kind, name, fixed, parameters):
    keys = {"sram.size", *rng.sample(sorted(hardware), rng.randint(0, 1))}
    axes = [(k, rng.sample(hardware[k], rng.randint(2, min(4, len(hardware[k]))))) for k in sorted(keys)]
    axes += [(k, rng.sample(parameters[k], rng.randint(1, len(parameters[k])))) for k in rng.sample(sorted(parameters), rng.randint(1, 2))]
    rng.shuffle(axes)
    words, points = ["%s: [%s]" % (k, ", ".join(map(str, v))) for k, v in axes], 1
    for _, values in axes:
        points *= len(values)
    lines = ["%s: %s" % (kind, name)]
    if name == "gemm" and rng.random() < .3:
        fixed = dict(fixed, tile="auto")
    if fixed:
        lines.append("with: {%s}" % ", ".join("%s: %s" % x for x in fixed.items()))
    if rng.random() < .3:
        words.append("array: {zip: {matrix.rows: [16, 32], matrix.cols: [16, 32]}}")
        points *= 2
    if rng.random() < .25:
        words.append("hw: [edge-1mb, tiny-256k, ./half.yaml]")
        points *= 3
    lines.append("axes: {%s}" % ", ".join(words))
    if rng.random() < .3:
        lines.append("where: " + rng.choice(conditions))
    plan = rng.random()
    if plan < .2 and points > 6:
        lines.append("sample: %d" % (points // 2))
    elif plan < .5 and points > 8:
        lines.append("search: {pareto: [cycles, %s], points: %d}" % (rng.choice(["sram.peak_bytes", "energy.total_uj"]), points // 3))
    return "\n".join(lines) + "\n", points

def sweep(*words):
    return subprocess.run([npusim, "sweep", *words, "-q"], capture_output=True, text=True)

def merged(*folders):
    files = ["m.sqlite", "m.csv", "m.json"]
    p = sweep("merge", *folders, "-o", files[0], "--csv", files[1], "--json", files[2])
    return [open(f, "rb").read() for f in files] if p.returncode < 2 else p.stderr

def answers(p):
    return p.returncode, re.sub(" {8}[0-9.]+ s, .*", "", p.stdout)

bad = looked = killed = 0
for n in range(rounds):
    text, points = specification(*subjects[n % len(subjects)])
    shutil.rmtree("w", ignore_errors=True)
    os.mkdir("w")
    open("s.yaml", "w").write(text)
    first = sweep("run", "s.yaml", "-j", "1", "-o", "w/one")
    if first.returncode == 2 and "no point is legal" not in first.stderr:
        print("FAIL: seed %d, round %d: %s%s" % (seed, n, text, first.stderr))
        bad += 1
        continue
    want = merged("w/one")

    def same(what, got, p=None):
        global bad, looked
        looked += 1
        if got != want or (p and answers(p) != answers(first)):
            print("FAIL: seed %d, round %d, %s:\n%s%s" % (seed, n, what, text, got if isinstance(got, str) else p and p.stdout + p.stderr))
            bad += 1

    for what, options in (("three processes", ["-j", "3"]), ("each for itself", ["-j", "2", "--each"])):
        p = sweep("run", "s.yaml", *options, "-o", "w/" + what)
        same(what, merged("w/" + what), p)
    if "search:" not in text:
        shards = rng.randint(2, 4)
        order = rng.sample(range(1, shards + 1), shards)
        folders = ["w/shard%s" % (k if n % 2 else "") for k in order]
        for k, folder in zip(order, folders):
            sweep("run", "s.yaml", "-j", str(rng.randint(1, 2)), "--shard", "%d/%d" % (k, shards), "-o", folder)
        same("%d shards" % shards, merged(*dict.fromkeys(folders)))
        sweep("run", "s.yaml", "--shard", "1/2", "-o", "w/half")
        p = sweep("run", "s.yaml", "-o", "w/half")
        same("half of it a shard", merged("w/half"), p)
    for _ in range(rng.randint(1, 3)):
        options = ["-j", str(rng.randint(1, 3))] + (["--each"] if rng.random() < .3 else [])
        q = subprocess.Popen([npusim, "sweep", "run", "s.yaml", "-q", "-o", "w/killed", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(.02 + rng.random() * .02 * points)
        q.send_signal(rng.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
        killed += q.wait() != 0
        if os.path.exists("w/killed/lock"):
            # Until its last process has ended.
            with open("w/killed/lock") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
    p = sweep("run", "s.yaml", "-j", "2", "-o", "w/killed")
    same("killed", merged("w/killed"), p)
    p = sweep("run", "s.yaml", "-o", "w/one")
    same("again", merged("w/one"), p)
print("%d ways to run %d sweeps, %d of them killed: %d differ" % (looked, rounds, killed, bad))
sys.exit(bad > 0 or looked < 4 * rounds)
END
python3 differ.py || fail 'results depend on how they were run'
checks=1
[ $failures = 0 ]
