#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the shells complete: the bash script, without bash-completion, on whole lines; every option and parameter that the
# program knows; zsh and fish where they are.
set -uo pipefail
unset NPUSIM_PRESETS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
fail() { echo "$*" >&2; status=1; }

mkdir -p "$folder/here/traces"
cd "$folder/here" || exit 1
touch mine.npub mine.yaml mine.json notes.txt 'two words.npu' traces/far.npu
printf '%s\n' '.param seq=64, mask=none|causal|window ; not=this' '.param tile=min(seq, 32), tiles=seq' >mine.npu
mkfifo pipe.npu
PATH=${NPUSIM%/*}:$PATH
"$NPUSIM" completion bash >"$folder/npusim.bash"

# bash_lines: for each line of stdin what bash would offer, one line of words. COMP_WORDS as readline makes them: blanks and
# the marks of COMP_WORDBREAKS part words, a run of marks is a word.
cat >"$folder/ask.bash" <<'EOF'
source "$1"
while IFS= read -r line; do
    COMP_WORDS=() COMP_LINE=$line COMP_POINT=${#line} rest=$line
    while [[ $rest =~ ^[[:blank:]]*([=:]+|[^=:[:blank:]]+) ]]; do
        COMP_WORDS+=("${BASH_REMATCH[1]}")
        rest=${rest#"${BASH_REMATCH[0]}"}
    done
    if [[ $line == *[[:blank:]] ]]; then COMP_WORDS+=(''); fi
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _npusim npusim "${COMP_WORDS[COMP_CWORD]}" ''
    echo "${COMPREPLY[*]}"
done
EOF

# expect LINE WORDS: bash offers these for the line.
lines=() wanted=()
expect() { lines+=("$1"); wanted+=("$2"); }
expect 'npusim ru' 'run'
expect 'npusim di' 'disasm'
expect 'npusim --v' '--version'
expect 'npusim run fl' 'flash_attention'
expect 'npusim run mi' 'mine.npu mine.npub'
expect 'npusim run tr' 'traces'
expect 'npusim run traces/f' 'traces/far.npu'
expect 'npusim run two' 'two words.npu'
expect 'npusim run --hw edge' 'edge-1mb edge-2mb'
expect 'npusim run --hw=edge-2' 'edge-2mb'
expect 'npusim run gemm --hw m' 'mine.yaml'
expect 'npusim run gemm tile_' 'tile_m= tile_n= tile_k='
expect 'npusim run gemm tile_m=64 tile_' 'tile_n= tile_k='
expect 'npusim run --hw edge-1mb flash_attention mask=' 'none causal padding window'
expect 'npusim run flash_attention mask=c' 'causal'
expect 'npusim run flash_attention seq=' ''
expect 'npusim run gemm sr' 'sram.'
expect 'npusim run gemm sram.si' 'sram.size='
expect 'npusim run gemm --set sram.si' 'sram.size='
expect 'npusim run gemm matrix.dataflow=' 'ws os is'
expect 'npusim run gemm sram.ideal=' 'yes no'
expect 'npusim run gemm dram.part=DDR4-2' 'DDR4-2400'
expect 'npusim run gemm --ideal dram,s' 'dram,sram'
expect 'npusim run gemm --exp ' 'exact lut poly'
expect 'npusim run gemm --tensor A=no' 'notes.txt'
expect 'npusim run gemm --report mi' 'mine.json'
expect 'npusim run gemm -omi' ''
expect 'npusim run -- gemm tile_' ''
expect 'npusim run mine.npu mask=w' 'window'
expect 'npusim check mine.npu seq=8 ti' 'tile= tiles='
expect 'npusim check mine.npu no' ''
expect 'npusim check mine.npu tiles=' ''
expect 'npusim asm pipe.npu se' 'sequencer.'
expect 'npusim check gemm --format ' 'text json sarif'
expect 'npusim emit gemm --style=m' 'macro'
expect 'npusim emit gemm -on' '-onotes.txt'
expect 'npusim asm -I tr' 'traces'
expect 'npusim dram --part HBM' 'HBM2-2000'
expect 'npusim kernel ' 'list show'
expect 'npusim kernel show qk' 'qk_tiled'
expect 'npusim hw s' 'show'
expect 'npusim kernel show qk_tiled se' 'seq= seq_q= sequencer.'
expect 'npusim kernel list qk' ''
expect 'npusim hw show gem' 'gemmini16'
expect 'npusim array 64 64 64 dtype=' 'fp16 bf16 int8'
expect 'npusim completion ' 'bash zsh fish'
expect 'npusim frobnicate ' ''
mapfile -t found < <(printf '%s\n' "${lines[@]}" | bash --norc --noprofile "$folder/ask.bash" "$folder/npusim.bash")
[ ${#found[@]} -eq ${#lines[@]} ] || fail "${#found[@]} answers to ${#lines[@]} lines"
for i in "${!lines[@]}"; do
    [ "${found[i]:-}" = "${wanted[i]}" ] || fail "${lines[i]}: ${found[i]:-}, not ${wanted[i]}"
done

# offers WORDS...: the first column of what the program offers.
offers() { "$NPUSIM" complete -- "$@" | cut -f1; }

[ -z "$(offers run gemm --tensor $'A\nB=')" ] || fail 'a word with a line break is completed'

# Whatever --help and kernel show list is offered: in the tables once, so in both.
options=0 parameters=0
for command in $(offers ''); do
    for option in $("$NPUSIM" "$command" --help | sed -n '/^options:/,$s/^  .*\(--[a-z-]*\).*  .*/\1/p'); do
        options=$((options + 1))
        offers "$command" --"${option:2:1}" | grep -qx -- "$option" || fail "npusim $command: $option is not offered"
    done
done
for kernel in $("$NPUSIM" kernel list | sed 1d | cut -d' ' -f1); do
    for parameter in $("$NPUSIM" kernel show "$kernel" | sed '1,/^parameter/d' | cut -d' ' -f1); do
        parameters=$((parameters + 1))
        offers run "$kernel" "$parameter" | grep -qx "$parameter=" || fail "$kernel: $parameter is not offered"
    done
done
[ $options -ge 40 ] && [ $parameters -ge 40 ] || fail "only $options options and $parameters parameters were found"

# A word on offer is one that the program takes.
for word in $(offers check gemm --format ''); do
    "$NPUSIM" check gemm m=64 n=64 k=64 --format "$word" >/dev/null || fail "check --format $word"
done
for word in $(offers emit gemm --style ''); do
    "$NPUSIM" emit gemm m=64 n=64 k=64 --style "$word" >/dev/null || fail "emit --style $word"
done
for word in $(offers array 8 8 8 dtype=); do
    "$NPUSIM" array 8 8 8 "$word" >/dev/null || fail "array $word"
done
for word in $(offers hw show '' | grep -v '[.]$'); do
    "$NPUSIM" hw show "$word" >/dev/null || fail "hw show $word"
done

"$NPUSIM" completion zsh >"$folder/_npusim"
"$NPUSIM" completion fish >"$folder/npusim.fish"
[ "$(head -n 1 "$folder/_npusim")" = '#compdef npusim' ] || fail 'zsh does not see what the script is for'
if command -v zsh >/dev/null; then
    zsh -n "$folder/_npusim" || fail 'zsh does not understand its script'
else
    echo 'zsh is not here: its script is not checked'
fi
if command -v fish >/dev/null; then
    export HOME=$folder XDG_CONFIG_HOME=$folder XDG_DATA_HOME=$folder
    for line in 'npusim run fl:flash_attention' 'npusim run flash_attention mask=c:mask=causal' \
        'npusim run --hw=edge-2:--hw=edge-2mb' 'npusim run gemm --tensor A=no:A=notes.txt' 'npusim run --hw m:mine.yaml' 'npusim asm -I t:traces/'; do
        word=$(fish -N -c "source $folder/npusim.fish; complete -C '${line%%:*}'" | cut -f1)
        [ "$word" = "${line#*:}" ] || fail "fish: ${line%%:*}: $word, not ${line#*:}"
    done
else
    echo 'fish is not here: its script is not checked'
fi

"$NPUSIM" completion tcsh 2>"$folder/error" && fail 'completion tcsh succeeds'
grep -q 'bash, zsh or fish would be right' "$folder/error" || fail "completion tcsh: $(cat "$folder/error")"
[ $status -ne 0 ] || echo "${#lines[@]} lines, $options options, $parameters parameters"
exit $status
