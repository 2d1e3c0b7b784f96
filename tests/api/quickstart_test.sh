#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `./quickstart && cmake --install build/release` works: what quickstart builds is all that the install rules ask for.
# quickstart runs here with commands that only write down what they are asked; the build files say what that builds.
set -euo pipefail
export LC_ALL=C
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    printf 'FAIL: %s\n' "$*" >&2
    exit 1
}

[ -f "$BUILD/build.ninja" ] && command -v ninja >/dev/null || exit 77

mkdir -p bin build/release
cp "$SRC/quickstart" .
printf '#!/bin/sh\necho "$*" >>%s/asked\n' "$folder" >bin/cmake
printf '#!/bin/sh\necho installed\n' >bin/dpkg-query
printf '#!/bin/sh\necho "a report"\n' >build/release/npusim
chmod +x bin/* build/release/npusim
PATH=$folder/bin:$PATH bash ./quickstart >said 2>&1 || fail "quickstart: $(cat said)"
targets=$(sed -n 's/.* --target //p' asked)
[ -n "$targets" ] || fail "quickstart builds nothing: $(cat asked)"

# shellcheck disable=SC2086
ninja -C "$BUILD" -t commands $targets | tr -s ' "' '\n' | sed "s|^$BUILD/||" | sort -u >built # words of the commands
ninja -C "$BUILD" -t targets all | sed -n 's/^\(.*\): [^:]*$/\1/p' | sed "s|^$BUILD/||" | sort -u >buildable
find "$BUILD" -name cmake_install.cmake -exec cat {} + | grep -o "\"$BUILD/[^\";]*\"" | tr -d '"' | sed "s|^$BUILD/||" |
    grep -v 'cmake_install\.cmake$\|MANIFEST' | sort -u >installed
[ "$(grep -c . installed)" -ge 8 ] || fail "the install rules name next to nothing: $(cat installed)"
comm -12 installed buildable >needed
[ "$(grep -c . needed)" -ge 6 ] || fail "next to nothing of what is installed is built: $(cat needed)"
comm -23 needed built >missing
[ ! -s missing ] || fail "quickstart builds $targets, which leaves out what is installed: $(tr '\n' ' ' <missing)"

# What no rule builds was written when the build was configured.
comm -23 installed buildable | while IFS= read -r file; do
    [ -e "$BUILD/$file" ] || fail "no rule builds $file, which is installed"
done

echo 'quickstart builds what is installed'
