#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The house rules that no compiler checks: which room may include which, where C++ and SystemC may be, folders, licences.
# First shows on a small bad tree that each rule can fail, then checks the real tree (SRC, or this checkout).
set -euo pipefail
export LC_ALL=C
SRC=${SRC:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}

# Prints FILE:LINE: what is wrong, for each violation in the tree $1, sorted.
violations() (
    cd "$1"
    {
        # Folders: those of the design, and those that git ignores.
        for folder in $(find . -mindepth 1 -maxdepth 1 -type d -printf '%f\n'); do
            case $folder in
            isa | models | kernels | traces | sim | tests | docs | .ci | .git) ;;
            *) grep -qsFx "/$folder/" .gitignore || echo "$folder:1: unexpected top-level folder" ;;
            esac
        done

        local rooms=()
        for folder in isa models kernels traces sim tests; do
            [ ! -d "$folder" ] || rooms+=("$folder")
        done

        # Licence: line 1, or line 2 of a script. Inputs of tests and samples of others keep their own bytes.
        find CMakeLists.txt quickstart .ci "${rooms[@]}" -type f -not -path 'tests/fuzz/corpus/*' \( \
            -name '*.[ch]' -o -name '*.cpp' -o -name '*.def' -o -name '*.js' -o -name '*.css' -o -name '*.proto' -o -name '*.sh' -o -name '*.py' \
            -o -name CMakeLists.txt -o -path 'models/presets/*.yaml' -o -path quickstart -o -path '.ci/*' \) -print0 |
            while IFS= read -r -d '' file; do
                case $file in
                *.[ch] | *.cpp | *.def | *.js | *.css)
                    head -n 1 "$file" | grep -qFx '/* SPDX-License-Identifier: Apache-2.0 */' ||
                        echo "$file:1: does not begin with /* SPDX-License-Identifier: Apache-2.0 */"
                    ;;
                *)
                    head -n 2 "$file" | grep -q '^\(#\|//\) SPDX-License-Identifier: Apache-2.0$' ||
                        echo "$file:1: does not begin with SPDX-License-Identifier: Apache-2.0"
                    ;;
                esac
            done

        # C++: SystemC shells and tests only.
        find "${rooms[@]}" -type f -regex '.*\.\(cpp\|cc\|cxx\|hpp\|hh\|hxx\)' \
            -not -name '*_sc.cpp' -not -path 'tests/*.cpp' -printf '%p:1: C++ outside *_sc.cpp and tests\n'

        # Includes.
        find "${rooms[@]}" -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.def' \) -print0 | xargs -0r awk '
            BEGIN {
                allowed["isa"] = " isa "
                allowed["kernels"] = " kernels isa "
                allowed["models"] = " models isa "
                allowed["traces"] = " traces isa "
                allowed["sim"] = " sim kernels models traces isa "
                allowed["tests"] = " tests sim kernels models traces isa "
                # libc: C17 and the POSIX files that glibc itself provides.
                libc = " assert complex ctype errno fcntl fenv float inttypes limits locale math setjmp signal stdalign" \
                       " stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings sys/mman" \
                       " sys/stat sys/types tgmath threads time uchar unistd wchar wctype "
            }
            function report(text) { print FILENAME ":" FNR ": " text }
            /^[ \t]*#[ \t]*include[ \t]*["<]/ {
                room = FILENAME
                sub(/\/.*/, "", room)
                system_header = $0 ~ /include[ \t]*</
                header = $0
                sub(/^[^"<]*["<]/, "", header)
                sub(/[">].*/, "", header)
                target = header
                sub(/\/.*/, "", target)
                shell = FILENAME ~ /_sc\.(cpp|h)$/ || room == "tests"
                if (header ~ /^(systemc|sysc\/|tlm)/ && !shell)
                    report("SystemC outside *_sc.cpp, *_sc.h and tests: " header)
                else if (system_header && room == "isa") {
                    sub(/\.h$/, "", header)
                    if (!index(libc, " " header " "))
                        report("isa uses libc and libm only, not <" header ".h>")
                } else if (!system_header && (header !~ /\// || !(target in allowed)))
                    report("an include names its room, as in \"" room "/...\": " header)
                else if (!system_header && !index(allowed[room], " " target " "))
                    report(room " may not include " target ": " header)
            }'
    } | sort -t : -k 1,1 -k 2,2n
)

# The rules can fail: a tree with one violation of each kind gives exactly these lines.
self_check() (
    local spdx='/* SPDX-License-Identifier: Apache-2.0 */'
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    cd "$tree"
    mkdir -p isa/text kernels models traces sim/timeline tests/models docs .ci .git build extras
    echo '/build/' >.gitignore
    for file in CMakeLists.txt quickstart .ci/run isa/CMakeLists.txt; do
        printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n' >"$file"
    done

    # Everything here is right.
    printf '%s\n' "$spdx" '#include <math.h>' '#include <sys/mman.h>' '#include "isa/text/lex.h"' >isa/exec.c
    printf '%s\n' "$spdx" '#include "isa/insn.h"' '#include "kernels/kernel.h"' '#include <systems.h>' >kernels/gemm.c
    printf '%s\n' "$spdx" '#include <systemc>' '#include "models/hw.h"' >models/matrix_sc.h
    printf '%s\n' "$spdx" '#include <tlm.h>' '#include "sim/run.h"' >tests/models/twin_test.cpp
    printf '// SPDX-License-Identifier: Apache-2.0\n' >sim/timeline/perfetto.proto

    # And here each rule is broken.
    printf '%s\n' "$spdx" '' '#include "models/hw.h"' '#  include <yaml.h>' '#include "insn.h"' >isa/text/asm.c
    printf '%s\n' "$spdx" '#include "models/hw.h"' '#include "sim/run.h"' >kernels/qk.c
    printf '%s\n' "$spdx" '#include "kernels/kernel.h"' '#include <systemc.h>' >models/dma.c
    printf '%s\n' "$spdx" '#include "sim/run.h"' '#include "../isa/insn.h"' >traces/scalesim.h
    printf '%s\n' "$spdx" '#include "tests/support/suite.h"' '#include <sysc/kernel/sc_time.h>' >sim/run.c
    printf '%s\n' "$spdx" >sim/page.cpp
    printf '%s\n' "$spdx" >models/port.hpp
    printf '%s\n' '/* Late. */' "$spdx" >models/late.def
    : >tests/models/empty_test.c
    printf '#!/bin/sh\necho\n' >tests/models/bare_test.sh

    cat >expected <<'END'
extras:1: unexpected top-level folder
isa/text/asm.c:3: isa may not include models: models/hw.h
isa/text/asm.c:4: isa uses libc and libm only, not <yaml.h>
isa/text/asm.c:5: an include names its room, as in "isa/...": insn.h
kernels/qk.c:2: kernels may not include models: models/hw.h
kernels/qk.c:3: kernels may not include sim: sim/run.h
models/dma.c:2: models may not include kernels: kernels/kernel.h
models/dma.c:3: SystemC outside *_sc.cpp, *_sc.h and tests: systemc.h
models/late.def:1: does not begin with /* SPDX-License-Identifier: Apache-2.0 */
models/port.hpp:1: C++ outside *_sc.cpp and tests
sim/page.cpp:1: C++ outside *_sc.cpp and tests
sim/run.c:2: sim may not include tests: tests/support/suite.h
sim/run.c:3: SystemC outside *_sc.cpp, *_sc.h and tests: sysc/kernel/sc_time.h
tests/models/bare_test.sh:1: does not begin with SPDX-License-Identifier: Apache-2.0
tests/models/empty_test.c:1: does not begin with /* SPDX-License-Identifier: Apache-2.0 */
traces/scalesim.h:2: traces may not include sim: sim/run.h
traces/scalesim.h:3: an include names its room, as in "traces/...": ../isa/insn.h
END
    violations . | diff -u expected -
)

if ! self_check; then
    echo 'arrows_test: the self-check does not report what it should' >&2
    exit 1
fi
found=$(violations "$SRC")
if [ -n "$found" ]; then
    printf '%s\n' "$found" >&2
    exit 1
fi
echo 'every house rule can fail, and none is broken'
