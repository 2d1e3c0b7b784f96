# SPDX-License-Identifier: Apache-2.0
# The opening of tests that meet the program at a shell: a folder of their own to work in, and a count of what failed.
# Read with: . "$SRC/tests/support/cli.sh"
# shellcheck shell=bash disable=SC2034
set -uo pipefail
unset NPUSIM_PRESETS NO_COLOR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0 checks=0

fail() {
    printf 'FAIL: %s\n' "$*" >&2
    failures=$((failures + 1))
}

# refuses STATUS TEXT ARGUMENT...: exit status and the whole of stderr, "npusim: TEXT"; nothing on stdout.
refuses() {
    local want=$1 text=$2 status=0
    shift 2
    checks=$((checks + 1))
    "$NPUSIM" "$@" >out 2>err </dev/null || status=$?
    [ "$status" = "$want" ] || fail "$*: exit status $status, not $want"
    [ "$(cat err)" = "npusim: $text" ] || fail "$*:"$'\n'"  said   $(cat err)"$'\n'"  wanted npusim: $text"
    [ ! -s out ] || fail "$*: prints on stdout"
}
