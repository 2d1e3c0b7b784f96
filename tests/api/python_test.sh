#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python example: reads npu.h as it is installed, emits a product, checks and runs it with the installed npusim.
set -euo pipefail
unset NPUSIM_PRESETS NO_COLOR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    printf 'FAIL: %s\n' "$*" >&2
    exit 1
}

python=$(command -v python3) || { echo 'skipped: there is no python3'; exit 77; }
if grep -q '^CMAKE_C_FLAGS:[A-Z]*=.*sanitize' "$BUILD/CMakeCache.txt"; then
    echo 'skipped: a library with a sanitizer is not for a Python without one'
    exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
cmake --install "$BUILD" --prefix inst >/dev/null
cp "$SRC"/docs/examples/library/*.py .

"$python" gemm.py "$PWD/inst" 128 >said || fail "gemm.py: exit status $?"
# 2 x 2 tiles of four instructions; 128^3 MACs in no less than 128^3 / 1024 cycles.
grep -qx 'gemm.npub: clean; 16 instructions, 8 semaphores' said || fail "$(cat said)"
cycles=$(sed -n 's/^\([0-9,]*\) cycles, 2,097,152 MACs, .* % of the array$/\1/p' said | tr -d ,)
[ "${cycles:-0}" -ge 2048 ] || fail "$(cat said)"

# Without the folder it says what it wants.
"$python" gemm.py >said 2>&1 && fail 'gemm.py without a prefix: status 0'
grep -q 'gemm.py PREFIX \[SIZE\]$' said && ! grep -q Traceback said || fail "$(cat said)"

# The same words in text: what a word leaves out is what the text form leaves out, and lines are those of Python.
inst/bin/npusim disasm gemm.npub >text
diff - <(grep -m 4 -E '^(load|matmul|store) ' text | sed 's/  *;.*//') >&2 <<'END' || fail 'other instructions'
load sram:0x0, dram:0x0 rows=64 cols=128   wait free0
load sram:0x80000, dram:0x8000 rows=128 cols=64 dram_stride=256   post full0
matmul acc:0x0, sram:0x0, sram:0x80000 m=64 n=64 k=128   wait full0, c_free0   post free0, c_full0
store dram:0x10000, acc:0x0 rows=64 cols=64 dtype=fp32 dram_stride=512   wait c_full0   post c_free0
END
grep -q '^\.loc "gemm.py" [0-9]*$' text || fail "no lines of gemm.py: $(head -30 text)"

# The product is right: from files of A and B to a file of C, on small integers, for which fp32 is exact.
cat >product.py <<'END'
import struct, sys
n = 128
a = [(3 * i + 5 * j) % 7 - 3 for i in range(n) for j in range(n)]
b = [(2 * i + 11 * j) % 5 - 2 for i in range(n) for j in range(n)]
if sys.argv[1] == "write":
    for name, values in (("A", a), ("B", b)):
        open(name, "wb").write(struct.pack(f"<{n * n}e", *values))
else:
    c = struct.unpack(f"<{n * n}f", open("C", "rb").read())
    wrong = [(i, j) for i in range(n) for j in range(n) if c[i * n + j] != sum(a[i * n + k] * b[k * n + j] for k in range(n))]
    sys.exit(f"{len(wrong)} wrong, the first at {wrong[0]}" if wrong else 0)
END
"$python" product.py write
inst/bin/npusim run gemm.npub -q --values --tensor A=A --tensor B=B --dump C=C
"$python" product.py check || fail 'C is not A B'

# Errors of the builder are exceptions.
"$python" - "$PWD/inst" >said 2>&1 <<'END' && fail 'an exception is missing'
import sys
from npu import Npu
b = Npu(sys.argv[1]).builder("large", limits=dict(sram_bytes=1024))
b.sram("x", 4096)
b.finish("large.npub")
END
grep -q '^npu.NpuError: buffers do not fit: 4,096 needed of 1,024 bytes of SRAM' said || fail "$(cat said)"

# cffi reads the same header, once the preprocessor has been over it.
if "$python" -c 'import cffi' 2>/dev/null; then
    cc -E -P -DNPU_DECLARATIONS_ONLY '-D__attribute__(x)=' inst/include/npu.h | sed -n '/enum npu_error_code/,$p' >declarations.h
    "$python" - "$PWD"/inst/lib*/libnpu.so <<'END' || fail 'cffi'
import cffi, sys
ffi = cffi.FFI()
ffi.cdef(open("declarations.h").read())
lib = ffi.dlopen(sys.argv[1])
assert lib.npu_abi() == lib.NPU_ABI
operands = ffi.new("struct npu_dma_operands *")
assert lib.npu_operands_initial(lib.NPU_OP_LOAD, operands, ffi.sizeof(operands[0])) and operands.dtype == lib.NPU_FP16
END
fi
echo 'a kernel in Python is checked, run and right'
