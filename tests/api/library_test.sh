#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libnpu as it is installed: what it exports is what npu.h declares, and the example project outside the tree builds
# against it with CMake and with pkg-config, shared and static, as C and included from C++, and gives the same programs.
set -euo pipefail
unset NPUSIM_PRESETS NO_COLOR
export LC_ALL=C
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    printf 'FAIL: %s\n' "$*" >&2
    exit 1
}

cache() { sed -n "s/^$1:[A-Z]*=//p" "$BUILD/CMakeCache.txt"; }
flags=$(cache CMAKE_C_FLAGS)
CC=$(cache CMAKE_C_COMPILER)
CXX=$(cache CMAKE_CXX_COMPILER)
export CC CXX

cmake --install "$BUILD" --prefix first >install.log || fail "the build does not install: $(tail -3 install.log)"
mv first inst # it finds itself wherever it is
inst=$PWD/inst
header=$(find "$inst" -name npu.h) lib=$(find "$inst" -name libnpu.so -printf %h)

# ---- what is exported ----

# Functions of the header, by its declarations, one a line.
"$CC" -E -P -DNPU_DECLARATIONS_ONLY '-D__attribute__(x)=' "$header" >declarations.h
sed -n '/enum npu_error_code/,$p' declarations.h | tr '\n' ' ' | sed 's/{[^{}]*}//g; s/{[^{}]*}//g' | tr ';' '\n' |
    grep -o 'npu_[a-z0-9_]* *(.*' | sed 's/ *(.*//' | sort >declared
[ "$(wc -l <declared)" -gt 40 ] || fail "npu.h declares next to nothing: $(cat declared)"

nm -D --defined-only "$lib/libnpu.so" | sed -n 's/.* T \(.*\)@@NPU_[0-9.]*$/\1/p' | sort | diff declared - ||
    fail 'libnpu.so exports other functions than npu.h declares (<)'
nm -D --defined-only "$lib/libnpu.so" | grep -v ' T npu_' | grep -v ' A NPU_[0-9.]*' && fail 'libnpu.so exports more'
nm -g --defined-only "$lib/libnpu.a" | sed -n 's/.* T //p' | sort | diff declared - ||
    fail 'libnpu.a has other names than npu.h declares (<)'
nm -g --defined-only "$lib/libnpu.a" | grep ' [A-SU-Z] ' && fail 'libnpu.a has more names'
nm -D --defined-only "$inst/bin/npusim" | sed -n 's/.* T \(npu_.*\)$/\1/p' | sort | diff declared - ||
    fail 'npusim gives other functions to plug-ins than npu.h declares (<)'

# Its number is NPU_ABI; it needs no more than libc and libm; it has no state, as npu.h says of threads.
abi=$(sed -n 's/.*NPU_ABI = \([0-9]*\).*/\1/p' "$header")
readelf -d "$lib/libnpu.so" | grep -q "SONAME.*\[libnpu\.so\.$abi\]" || fail 'the soname is not libnpu.so.NPU_ABI'
if [ -z "$flags" ]; then
    readelf -d "$lib/libnpu.so" | grep NEEDED | grep -v '\[lib[cm]\.so' && fail 'libnpu.so needs more than libc and libm'
    ar p "$lib/libnpu.a" npu.o >npu.o
    size -A npu.o | awk '/^\.(data|bss|tdata|tbss) / && $2 > 0 { print; bad = 1 } END { exit bad }' ||
        fail 'libnpu has variables'
fi

# ---- the header alone ----

printf '#include <npu.h>\nint main(void) { return npu_abi() == NPU_ABI ? 0 : 1; }\n' >alone.c
sed 's/(void)/()/' alone.c >alone.cpp
for standard in c11 c17 gnu17; do
    "$CC" -std=$standard -Wall -Wextra -Wpedantic -Wshadow -Werror -I"$inst/include" -c alone.c || fail "npu.h as $standard"
done
for standard in c++11 c++20; do
    "$CXX" -std=$standard -Wall -Wextra -Wpedantic -Werror -I"$inst/include" -c alone.cpp -o alone_cpp.o || fail "npu.h as $standard"
done
# shellcheck disable=SC2086
"$CXX" $flags alone_cpp.o -L"$lib" -lnpu -Wl,-rpath,"$lib" -o alone && ./alone || fail 'a C++ program with libnpu'

# ---- macro assembly ----

cat >macro.c <<'END'
#include <npu.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	static char text[65536];
	struct npu_capacity machine = { .limits = { 1 << 20, 1 << 18, 1ull << 32 }, .sram_groups = 4, .sram_word_bytes = 32,
					.accum_banks = 8, .array_rows = 32, .array_cols = 32, .vector_lanes = 32 };
	struct npu_error err = { 0 };
	size_t n = fread(text, 1, sizeof text, stdin);
	struct npu_program *p =
	    npu_asm_macro(text, n, "gemm.npu", &machine, (const char *const *)argv + 2, (unsigned)argc - 2, &err);
	if (!p) {
		char line[4096];
		puts(npu_error_print(&err, line, sizeof line));
		return 1;
	}
	bool ok = npu_program_write(p, argv[1], &err);
	npu_program_free(p);
	return ok ? 0 : 1;
}
END
# shellcheck disable=SC2086
"$CC" $flags -Wall -Wextra -Werror macro.c -I"$inst/include" -L"$lib" -lnpu -Wl,-rpath,"$lib" -o macro
./macro macro.npub m=96 dtype=int8 <"$SRC/traces/gemm.npu" || fail 'macro assembly through libnpu'
"$inst/bin/npusim" disasm macro.npub >macro.txt
(cd "$SRC/traces" && "$inst/bin/npusim" asm gemm.npu m=96 dtype=int8 -o -) >asm.npub && "$inst/bin/npusim" disasm asm.npub >asm.txt
grep -v '^ *;\|^\.file\|^\.program' macro.txt >a && grep -v '^ *;\|^\.file\|^\.program' asm.txt >b
[ "$(wc -l <a)" -gt 100 ] && cmp a b || fail "macro assembly through libnpu is another program: $(diff a b | head -5)"
./macro x.npub mm=96 <"$SRC/traces/gemm.npu" >said && fail 'an unknown parameter is taken'
grep -qx 'mm=96: gemm.npu has no .param mm; did you mean m?' said || fail "an unknown parameter: $(cat said)"

# ---- the example ----

export CFLAGS="$flags -O1 -Wall -Wextra -Wshadow -Werror"
cp -r "$SRC/docs/examples/library" cmake
cp -r cmake make
cmake -S cmake -B cmake/build -DCMAKE_PREFIX_PATH="$inst" >cmake.log 2>&1 && cmake --build cmake/build >>cmake.log 2>&1 ||
    fail "the example with CMake: $(tail -20 cmake.log)"
pc=$(find "$inst" -name npu.pc -printf %h)
PKG_CONFIG_PATH=$pc make -C make CC="$CC" CFLAGS="$CFLAGS" >make.log 2>&1 || fail "the example with make: $(tail -20 make.log)"
[ "$(PKG_CONFIG_PATH=$pc pkg-config --modversion npu)" = "$("$inst/bin/npusim" --version | cut -d ' ' -f 2)" ] ||
    fail 'npu.pc has another version than npusim'
readelf -d cmake/build/emit | grep -q "NEEDED.*\[libnpu\.so\.$abi\]" || fail 'emit is not linked to the shared library'
readelf -d cmake/build/emit_static | grep -q libnpu && fail 'emit_static is linked to the shared library'

arguments=(rows=100 cols=96 tile_rows=32)
"$inst/bin/npusim" emit cmake/build/rms_norm.so "${arguments[@]}" -o plugin.npub
for program in cmake/build/emit cmake/build/emit_static make/emit make/emit_static; do
    LD_LIBRARY_PATH=$lib "$program" program.npub "${arguments[@]}" >said
    grep -qx "rms_norm rows=100 cols=96 tile_rows=32: 14 instructions, .* bytes of SRAM, libnpu .*" said || fail "$program: $(cat said)"
    cmp program.npub plugin.npub || fail "$program and the plug-in emit different programs"
done
for plugin in cmake/build/rms_norm.so make/rms_norm.so; do
    "$inst/bin/npusim" run $plugin rows=70 cols=80 --values --check >said || fail "npusim run $plugin: $(cat said)"
    grep -Eq '^Y +fp16 +5,600 .* \.$' said && grep -q '^rms_norm: clean; ' said || fail "npusim run $plugin: $(cat said)"
done
"$inst/bin/npusim" check program.npub >said || fail "$(cat said)"
"$inst/bin/npusim" run program.npub --report r.json >/dev/null && grep -q '"name": "rms_norm"' r.json || fail 'the program does not run'
status=0
LD_LIBRARY_PATH=$lib make/emit x.npub cols=65536 tile_rows=8 2>said || status=$?
[ $status = 1 ] && grep -qx 'emit: tile_rows=8 does not fit: 1 would' said || fail "an error of the kernel: $(cat said)"

# A plug-in that is linked to the shared library calls npusim's functions all the same: one copy of a builder's code.
# shellcheck disable=SC2086
(cd make && "$CC" $CFLAGS -I"$inst/include" -fPIC -shared rms_norm.c -o ../linked.so -L"$lib" -lnpu -lm)
LD_LIBRARY_PATH=$lib LD_DEBUG=bindings "$inst/bin/npusim" emit ./linked.so "${arguments[@]}" -o linked.npub 2>bindings
cmp linked.npub plugin.npub || fail 'a plug-in that is linked to libnpu emits another program'
grep 'binding file .*linked\.so .* symbol .npu_emit_op' bindings | grep -q 'npusim.*: normal symbol' || fail 'a plug-in brings its own builder'

echo 'libnpu is what npu.h says, from outside the tree'
