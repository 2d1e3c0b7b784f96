# SPDX-License-Identifier: Apache-2.0
# The opening of tests that meet the program at a shell: a folder of their own to work in, and a count of what failed.
# Read with: . "$SRC/tests/support/cli.sh"
# shellcheck shell=bash disable=SC2034
set -uo pipefail
unset NPUSIM_PRESETS NO_COLOR
folder=$(mktemp -d)
trap 'status=$?; [ ! -e "$folder/unknown" ] || status=1; rm -rf "$folder"; exit $status' EXIT
cd "$folder" || exit 1
failures=0 checks=0

# A check whose name is wrong is no check that went well.
command_not_found_handle() {
    printf 'FAIL: there is no command %s\n' "$1" >&2
    : >"$folder/unknown"
    return 127
}

fail() {
    printf 'FAIL: %s\n' "$*" >&2
    failures=$((failures + 1))
}

# ends STATUS ARGUMENT...: npusim ends with that status. What it prints is in the files out and err.
ends() {
    local want=$1 status=0
    shift
    checks=$((checks + 1))
    "$NPUSIM" "$@" >out 2>err </dev/null || status=$?
    [ "$status" = "$want" ] || fail "npusim $*: exit status $status, not $want: $(head -n 3 err)"
}

# refuses STATUS TEXT ARGUMENT...: exit status and the whole of stderr, "npusim: TEXT"; nothing on stdout.
refuses() {
    ends "$1" "${@:3}"
    [ "$(cat err)" = "npusim: $2" ] || fail "npusim ${*:3}:"$'\n'"  said   $(cat err)"$'\n'"  wanted npusim: $2"
    [ ! -s out ] || fail "npusim ${*:3}: prints on stdout"
}

# says STATUS TEXT ARGUMENT...: exit status and the first line of stderr, "npusim: TEXT"; none for "".
says() {
    ends "$1" "${@:3}"
    [ "$(head -n 1 err)" = "${2:+npusim: $2}" ] || fail "npusim ${*:3}:"$'\n'"  said   $(cat err)"$'\n'"  wanted ${2:+npusim: $2}"
}

# is WHAT FOUND WANTED
is() {
    checks=$((checks + 1))
    [ "$2" = "$3" ] || fail "$1: $2, not $3"
}

# has PATTERN FILE: a line of the file matches (grep -E).
has() {
    checks=$((checks + 1))
    grep -qE -- "$1" "$2" || fail "$2 has no $1: $(tail -n 5 "$2")"
}
