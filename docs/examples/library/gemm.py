# SPDX-License-Identifier: Apache-2.0
"""C = A B in Python, tile by tile, and what the simulator says about it: gemm.py PREFIX [SIZE]"""

import json
import subprocess
import sys

from npu import Npu

TILE = 64


def gemm(npu, size, path):
    b = npu.builder("gemm.py", limits=dict(sram_bytes=1 << 20, accum_bytes=256 << 10, dram_bytes=4 << 30), sram_groups=4,
                    sram_word_bytes=32, accum_banks=8, array_rows=32, array_cols=32, vector_lanes=32, dram_granule=32,
                    load_channels=2, store_channels=1)
    A, B = (b.tensor(name, "fp16", "in", size, size) for name in "AB")
    C = b.tensor("C", "fp32", "out", size, size)
    # Two slots of everything: one is filled while the other is used.
    slots = []
    for i in range(2):
        slots.append(dict(a=b.sram(f"a{i}", TILE * size * 2, i), b=b.sram(f"b{i}", size * TILE * 2, 2 + i),
                          c=b.acc(f"c{i}", TILE * TILE * 4, i)))
        for name, initial in dict(full=0, free=1, c_full=0, c_free=1).items():
            slots[i][name] = b.semaphore(f"{name}{i}", initial)
    turn = 0
    for row in range(0, size, TILE):
        for column in range(0, size, TILE):
            s = slots[turn % 2]
            b.load(local=s["a"], dram=A.addr + row * size * 2, rows=TILE, cols=size, wait=[s["free"]])
            b.load(local=s["b"], dram=B.addr + column * 2, rows=size, cols=TILE, dram_stride=size * 2, post=[s["full"]])
            b.matmul(dst=s["c"], a=s["a"], b=s["b"], m=TILE, n=TILE, k=size, wait=[s["full"], s["c_free"]],
                     post=[s["free"], s["c_full"]])
            b.store(local=s["c"], dram=C.addr + (row * size + column) * 4, rows=TILE, cols=TILE, dtype="fp32",
                    dram_stride=size * 4, wait=[s["c_full"]], post=[s["c_free"]])
            turn += 1
    b.finish(path)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    prefix, size = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 256
    gemm(Npu(prefix), size, "gemm.npub")
    subprocess.run([f"{prefix}/bin/npusim", "check", "gemm.npub"], check=True)
    run = subprocess.run([f"{prefix}/bin/npusim", "run", "gemm.npub", "--json"], check=True, stdout=subprocess.PIPE)
    report = json.loads(run.stdout)
    print(f"{report['cycles']:,} cycles, {report['macs']:,} MACs, {100 * report['mac_utilization']:.1f} % of the array")


if __name__ == "__main__":
    main()
