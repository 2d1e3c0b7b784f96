#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What random sweeps say at their end, reckoned again from their CSV by somebody who knows nothing but docs/sweep.md: the best points, gains,
# what is flat and what turns, with causes, and what each axis changes in a chart. SEED and SWEEPS choose others.
. "$SRC/tests/support/cli.sh"
command -v python3 >/dev/null || exit 77
cat >check.py <<'END'
import csv, json, math, os, random, re, subprocess, sys

NPUSIM, SEED, SWEEPS = os.environ["NPUSIM"], int(os.environ.get("SEED", "8")), int(os.environ.get("SWEEPS", "20"))
MORE = {"mac_utilization", "dram.gb_per_s"}
pick = random.Random(SEED)
seen = {"flat": 0, "turn": 0, "worse": 0, "cause": 0, "bar": 0, "row": 0}

def call(*args):
    r = subprocess.run([NPUSIM, *args], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"npusim {' '.join(args)}: {r.stderr}")
    return r.stdout

OWN = json.loads(call("run", "gemm", "m=16", "n=16", "k=16", "--report", "-"))["hw"]

def size(n):
    return pick.choice([str(n), f"{n // 1024}KiB"] + ([f"{n >> 20}MiB"] if n % 1048576 == 0 else []))

# An axis: name, keys, [(text, value) of each key, for each index], hardware.
def axis():
    kind = pick.choice(["sram.size", "dram.channels", "npu.clock_mhz", "energy.sram_byte_pj", "array", "tile", "tile", "sram.groups", "word"])
    lists = {"dram.channels": [1, 2, 4], "npu.clock_mhz": [500, 800, 1000, 2000], "energy.sram_byte_pj": [1, 2, 8], "sram.groups": [1, 2, 4, 8]}
    if kind == "array":
        rows = pick.sample([8, 16, 32, 64], 3)
        cols = pick.choice([rows, pick.sample([8, 16, 32, 64], 3)])
        return "array", ["matrix.rows", "matrix.cols"], [[(str(r), r), (str(c), c)] for r, c in zip(rows, cols)], True
    if kind == "sram.size":
        return kind, [kind], [[(size(v), v)] for v in pick.sample([1 << 18, 1 << 19, 1 << 20, 1 << 21], 3)], True
    if kind in lists:
        return kind, [kind], [[(str(v), v)] for v in pick.sample(lists[kind], pick.randint(2, len(lists[kind])))], True
    if kind == "word":
        return "word", ["?"], None, False
    return "tile", ["?"], None, False

SUBJECTS = {
    "gemm": (lambda: {"m": pick.choice([64, 96, 128]), "n": pick.choice([64, 128]), "k": pick.choice([64, 128])}, ["tile_m", "tile_n", "tile_k"], "order", ["output", "weight", "activation"]),
    "flash_attention": (lambda: {"seq": pick.choice([128, 192]), "heads": 1}, ["tile_q", "tile_kv"], "buffering", ["single", "double", "triple"]),
    "mask_softmax": (lambda: {"seq": 128, "heads": pick.choice([1, 2])}, ["tile_rows"], "mask", ["none", "causal"]),
}

def spec(name):
    subject = pick.choice(list(SUBJECTS))
    params, tiles, word, words = SUBJECTS[subject]
    axes, names = [], set()
    while len(axes) < pick.randint(1, 3):
        a = axis()
        if a[0] == "tile":
            key = pick.choice(tiles)
            a = key, [key], [[(str(v), v)] for v in pick.sample([16, 24, 32, 48, 64, 96], pick.randint(2, 5))], False
        if a[0] == "word":
            a = word, [word], [[(w, None)] for w in pick.sample(words, 2)], False
        if a[0] not in names:
            axes.append(a)
            names.add(a[0])
    goal = pick.choice(["cycles", "cycles", "time_us", "energy.total_uj", "engines.matrix.wait_load", "dram.bus_bytes", "mac_utilization", "engines.load.busy"])
    if subject == "mask_softmax" and goal == "mac_utilization":
        goal = "cycles"
    points = math.prod(len(a[2]) for a in axes)
    sample = pick.randint(2, points) if pick.random() < 0.25 else points
    with open(name, "w") as f:
        f.write(f"run: {subject}\nwith: {json.dumps(params())}\naxes:\n".replace('"', ""))
        for n, keys, values, _ in axes:
            lists = ["[" + ", ".join(v[k][0] for v in values) + "]" for k in range(len(keys))]
            f.write(f"  {n}: " + (lists[0] if len(keys) == 1 else "{zip: {" + ", ".join(f"{k}: {l}" for k, l in zip(keys, lists)) + "}}") + "\n")
        f.write(f"report: [{goal}]\n" + (f"sample: {sample}\n" if sample < points else ""))
    return axes, goal

class Wrong(Exception):
    pass

def need(holds, what):
    if not holds:
        raise Wrong(what)

def label(axis, i):
    texts = [t for t, _ in axis[2][i]]
    return ("x" if all(t.isdigit() for t in texts) else ",").join(texts)

# Indices in the order of numbers, None: there is none.
def order(axis):
    if any(v is None for value in axis[2] for _, v in value):
        return None
    numbers = [[v for _, v in value] for value in axis[2]]
    sign = -1 if len(axis[1]) > 1 and any((a[0] - b[0]) * (a[1] - b[1]) < 0 for a in numbers for b in numbers) else 1
    if sign < 0 and any((a[0] - b[0]) * (a[1] - b[1]) > 0 for a in numbers for b in numbers):
        return None
    return sorted(range(len(numbers)), key=lambda i: [numbers[i][0]] + [sign * n for n in numbers[i][1:]])

def better(goal, a, b):
    return a > b if goal in MORE else a < b

# How much better b is than a.
def gain(goal, a, b):
    d = b - a if goal in MORE else a - b
    return 0 if a == b == 0 else d / a if a else math.copysign(math.inf, d)

class Sweep:
    def __init__(self, axes, goal, rows):
        self.axes, self.goal, self.rows = axes, goal, rows
        self.points = math.prod(len(a[2]) for a in axes)
        self.run = [r for r in rows if r["status"] == "run" and r[goal] not in ("", None)]
        self.whole = sum(r["status"] in ("run", "not legal") for r in rows) == self.points

    def index(self, row, a):
        stride = math.prod(len(x[2]) for x in self.axes[a + 1:])
        return int(row["point"]) // stride % len(self.axes[a][2])

    def value(self, row):
        return float(row[self.goal])

    def best(self, fixed):
        there = [r for r in self.run if all(self.index(r, a) == i for a, i in fixed.items())]
        return min(there, key=lambda r: (-self.value(r) if self.goal in MORE else self.value(r), int(r["point"])), default=None)

    def home(self, a):
        name, keys, values, _ = self.axes[a]
        own = [OWN[k.split(".")[0]][k.split(".")[1]] for k in keys]
        at = [i for i, v in enumerate(values) if [n for _, n in v] == own]
        return at[0] if at else self.index(self.best({}), a)

STATES = [e + "." + s for e in ("engines.load", "engines.store", "engines.matrix", "engines.vector") for s in
          "busy wait_load wait_store wait_matrix wait_vector sram_conflict accum_conflict engine_latency dma_setup dram_refresh dram_bandwidth dram_latency dispatch_rate dispatch_blocked".split()]

def number(text):
    return float(text.replace(",", ""))

# The figure that changed most, by that much.
def most(names, a, b, up):
    return max((float(b[n] or 0) - float(a[n] or 0)) * (1 if up else -1) for n in names)

def check_cause(s, a, b, why):
    g = s.goal
    if g in ("cycles", "time_us"):
        clocks = float(a["cycles"]) / float(a["time_us"]), float(b["cycles"]) / float(b["time_us"])
        differ = abs(clocks[0] - clocks[1]) > 1e-3
        up = float(b["cycles"]) > float(a["cycles"])
        need(("a clock of" in why) == differ, f"the clock: {why}")
        if differ:
            m = re.search(r"a clock of (\S+) -> (\S+) MHz", why)
            need([float(m[1]), float(m[2])] == [round(c) for c in clocks], f"the clock: {why}")
        if differ and g == "time_us":
            m = re.match(r"(\S+) -> (\S+) cycles against", why)
            need(m and [number(m[1]), number(m[2])] == [float(a["cycles"]), float(b["cycles"])], f"cycles against the clock: {why}")
            seen["cause"] += 1
            return
        found = re.findall(r"(load|store|matrix|vector) (\w+) (\S+) -> (\S+) cycles", why)
        need(found, f"no state: {why}")
        for i, (engine, state, x, y) in enumerate(found):
            n = f"engines.{engine}.{state}"
            need([number(x), number(y)] == [float(a[n] or 0), float(b[n] or 0)], f"{n} is not {x} -> {y}")
            among = STATES if i == 0 else [t for t in STATES if ".wait_" not in t]
            need(abs(float(b[n] or 0) - float(a[n] or 0)) == most(among, a, b, up), f"{n} did not change most: {why}")
        own = most([t for t in STATES if ".wait_" not in t], a, b, up) > 0
        need((found[0][1].startswith("wait_") and own) == (len(found) > 1), f"a wait, or none: {why}")
    elif g == "energy.total_uj":
        parts = ["energy." + p + "_uj" for p in ("mac", "vector", "sram", "accum", "dram", "idle")]
        m = re.fullmatch(r"(\S+) (\S+) -> (\S+) uJ", why)
        need(m and m[1] in parts, f"no part of the energy: {why}")
        up = s.value(b) > s.value(a)
        need(math.isclose((float(b[m[1]]) - float(a[m[1]])) * (1 if up else -1), most(parts, a, b, up)), f"another part changed most: {why}")
    elif g.startswith("engines."):
        need(why == "", f"a state is its own cause: {why}")
    elif g == "dram.bus_bytes":
        need(re.fullmatch(r"(dram\.\w+_bytes \S+ \S+ -> \S+ \S+(, )?)+", why), f"no part of the traffic: {why}")
    seen["cause"] += 1

# What is said of an axis whose best points are `at` (by index), in lines.
def check_remarks(s, a, at, lines, around):
    axis, g = s.axes[a], s.goal
    name = re.escape(axis[0])
    ordered = order(axis)
    there = [i for i in (ordered or range(len(axis[2]))) if i in at]
    index = {label(axis, i): i for i in there}
    value = {i: s.value(at[i]) for i in there}
    place = {i: p for p, i in enumerate(there)}
    turns = flats = worse = 0
    suffix = " at the best point" if around else ""
    for line in lines:
        m = re.fullmatch(rf"not monotonic: {name} (\S+) -> (\S+) loses(?: ([\d.]+) %|, \S+(?: \S+)? -> \S+(?: \S+)?)({suffix}[^:]*)?(?:: (.*))?", line)
        n = re.fullmatch(rf"(?:more|less) \S+ with {name}, (\S+) -> (\S+) (?:([+-][\d.]+) %|.* -> .*?)(?:: (.*))?", line)
        if m or n:
            i, j = index[(m or n)[1]], index[(m or n)[2]]
            lost = -gain(g, value[i], value[j])
            need(ordered and place[i] < place[j] and lost > 0.01, f"it does not lose: {line}")
            if (m or n)[3]:
                need(abs((lost if m else value[j] / value[i] - 1) * 100 - float((m or n)[3])) < 0.051, f"not that much: {line}")
            if m:
                turns += 1
            else:
                worse += 1
            check_cause(s, at[i], at[j], (m[5] if m else n[4]) or "")
        m = re.match(rf"flat: {name} (\S+) -> (\S+) changes nothing", line)
        if m:
            part = [value[k] for k in there[place[index[m[1]]]:place[index[m[2]]] + 1]]
            need(len(part) > 1 and abs(gain(g, max(part, key=lambda v: v if g in MORE else -v), min(part, key=lambda v: v if g in MORE else -v))) <= 0.001, f"not flat: {line}")
            flats += 1
        if re.match(rf"flat: {name} changes nothing", line):
            need(all(abs(gain(g, value[i], value[j])) <= 0.0011 for i in there for j in there), f"not flat: {line}")
            flats += 1
    pairs = [(there[p], there[q]) for p in range(len(there)) for q in range(p + 1, len(there))]
    loses = bool(ordered) and any(gain(g, value[i], value[j]) < -0.01 for i, j in pairs)
    wins = bool(ordered) and any(gain(g, value[i], value[j]) > 0.01 for i, j in pairs)
    need((turns > 0) == (loses and wins), f"{axis[0]} turns, or does not: {turns}, {value}")
    if not around:
        need((worse > 0) == (loses and not wins), f"{axis[0]} is worse all the way, or is not: {value}")
        need((flats > 0) == any(abs(gain(g, *sorted((value[i], value[j]), reverse=g in MORE))) <= 0.001 for i, j in zip(there, there[1:])), f"{axis[0]} is flat, or is not: {value}")
    seen["turn"] += turns
    seen["flat"] += flats
    seen["worse"] += worse

def check_table(s, a, at, rows):
    axis, kernel = s.axes[a], [k for k in range(len(s.axes)) if k != a and not s.axes[k][3]]
    last = None
    ordered = order(axis) or list(range(len(axis[2])))
    for row in rows:
        words = row.split()
        i = next(i for i in range(len(axis[2])) if label(axis, i) == words[0])
        need(last is None or ordered.index(last) < ordered.index(i), f"not in order: {row}")
        for w, k in zip(words[1:], kernel):
            need(w == label(s.axes[k], s.index(at[i], k)), f"not the best point: {row}")
        m = re.search(r" ([+-][\d.]+) %", row)
        if not s.whole or last is None:
            need(not m, f"a gain of nothing: {row}")
        elif s.value(at[last]):
            need(m and abs((s.value(at[i]) / s.value(at[last]) - 1) * 100 - float(m[1])) < 0.051, f"another gain: {row}")
        last = i
        seen["row"] += 1

def check_bars(s, folder):
    call("sweep", "plot", folder)
    script = open(folder + "/plots/plots.gp").read()
    bars = re.search(r"\$axes << EOD\n(.*?)EOD", script, re.S)[1].splitlines()
    best = s.best({})
    for a, bar in enumerate(bars):
        line = [r for r in s.rows if all(k == a or s.index(r, k) == s.index(best, k) for k in range(len(s.axes)))]
        valued = [s.value(r) for r in line if r in s.run]
        known = sum(r["status"] in ("run", "not legal") for r in line)
        m = re.fullmatch(r'"(\S+?)(?:\\n(\d+) of (\d+) tried)?" (\S+)', bar)
        need(m and m[1] == s.axes[a][0] and (int(m[2]) if m[2] else len(s.axes[a][2])) == known, f"known {known}: {bar}")
        own = s.value(best)
        if len(valued) < 2:
            need(m[4] == "NaN", f"a bar of nothing: {bar}")
        elif own:
            need(math.isclose(max(-100 * gain(s.goal, own, v) for v in valued), float(m[4]), rel_tol=1e-5, abs_tol=1e-6), f"another bar: {bar}")
        seen["bar"] += 1

def check(s, text):
    hw = [a for a, x in enumerate(s.axes) if x[3] and len(x[2]) > 1]
    main = hw or [a for a, x in enumerate(s.axes) if len(x[2]) > 1]
    home = {a: s.home(a) for a in hw} if s.whole and s.run else {}
    lines = text.splitlines()
    if not s.whole:
        need(not any(l.startswith(("flat:", "not monotonic:", "more ", "less ")) for l in lines), "it compares what was not tried")
    for a in main:
        fixed = {k: i for k, i in home.items() if k != a}
        at = {i: s.best({**fixed, a: i}) for i in range(len(s.axes[a][2]))}
        at = {i: r for i, r in at.items() if r}
        heads = [n for n, l in enumerate(lines) if re.search(rf" for each {re.escape(s.axes[a][0])}(,|;|$)", l)]
        need(len(heads) == (1 if at else 0), f"{len(heads)} tables of {s.axes[a][0]}")
        if not at:
            continue
        block = lines[heads[0] + 1:]
        block = block[:block.index("")] if "" in block else block
        said = [l for l in block if l.startswith(("flat:", "not monotonic:", "more ", "less "))]
        check_table(s, a, at, [l for l in block[1:] if l not in said])
        if s.whole:
            check_remarks(s, a, at, [l for l in said if " at the best point" not in l], False)
    at_home = s.best(home)
    for a in range(len(s.axes)):
        if s.whole and hw and not s.axes[a][3] and at_home:
            at = {i: s.best({k: i if k == a else s.index(at_home, k) for k in range(len(s.axes))}) for i in range(len(s.axes[a][2]))}
            check_remarks(s, a, {i: r for i, r in at.items() if r}, [l for l in lines if " at the best point" in l], True)

wrong = 0
for n in range(SWEEPS):
    axes, goal = spec(f"{n}.yaml")
    r = subprocess.run([NPUSIM, "sweep", "run", f"{n}.yaml", "-q", "-o", f"{n}.d"], capture_output=True, text=True)
    if r.returncode:
        if "no point is legal" in r.stderr:
            continue
        sys.exit(f"{open(f'{n}.yaml').read()}{r.stderr}")
    rows = list(csv.DictReader(call("sweep", "merge", f"{n}.d", "--csv", "-").splitlines()))
    s = Sweep(axes, goal, rows)
    if not s.run:
        continue
    try:
        check(s, r.stdout)
        if os.environ.get("GNUPLOT") == "1" and n < 4:
            check_bars(s, f"{n}.d")
    except (Wrong, StopIteration, KeyError, TypeError) as e:
        print(f"FAIL: {e!r}\n{open(f'{n}.yaml').read()}{r.stdout}", file=sys.stderr)
        wrong += 1
print(f"{SWEEPS} sweeps: {seen}")
sys.exit(wrong > 0 or (SWEEPS >= 20 and min(seen[k] for k in ("flat", "turn", "cause", "row")) == 0))
END
GNUPLOT=$(command -v gnuplot >/dev/null && echo 1) python3 check.py
