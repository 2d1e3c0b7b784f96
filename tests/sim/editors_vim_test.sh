#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What Vim makes of .npu files with docs/editors/vim: the group of each kind of word, :make, and no error in the samples.
set -uo pipefail
vim=$(command -v vim || command -v nvim) || { echo 'vim is not here'; exit 77; }
"$vim" --version | grep -q '+syntax\|^NVIM' || { echo 'this vim has no syntax'; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
fail() { echo "$*" >&2; status=1; }
export HOME=$folder
PATH=${NPUSIM%/*}:$PATH

# Behind each line the words in it and their groups.
cat >"$folder/lines" <<'EOF'
.param seq=64, rows=seq ; a .for comment|.param npuDirective|64 npuNumber|; npuComment|for npuComment
.let b = 2 * 32KiB + 0x1f|.let npuDirective|* npuOperator|32KiB npuNumber|0x1f npuNumber
.require seq >= 2, "seq={seq + 1} is \"short\" {{"|"seq npuString|{seq npuBrace|+ npuOperator|1 npuNumber|\" npuEscape|{{ npuEscape
.tensor Q[8, 64] fp16 in layout=block16 seed=7|.tensor npuDirective|fp16 npuType|in npuDirection|layout npuOption|block16 npuValue|seed npuOption
.sram q[2][64, 64] fp16 bank=0|.sram npuDirective|bank npuOption|0 npuNumber
.page K 0..4 owned 7|.page npuDirective|owned npuState|7 npuNumber
.macro load_k h, t=0|.macro npuDirective|load_k npuMacroName
  load q[t%2], Q[h, 0:+64, :].T dtype=fp16 rows=64   wait free[0]:2   post full ; wait|load npuMnemonic|.T npuTurn|dtype npuField|fp16 npuType|rows npuField|wait npuSync|post npuSync|; npuComment
  vadd sram:0x0, acc:16 b_bcast=imm imm=-inf|vadd npuMnemonic|sram npuSpace|acc npuSpace|0x0 npuNumber|b_bcast npuField|=imm npuOperator|inf npuSpecial
.end|.end npuDirective
.for i in min(1, 2)..8 step 2|.for npuDirective|in npuRange|min npuFunction|step npuRange|8 npuNumber
  load_k i, t=1 ; again|load_k npuMacroUse|t npuArgument|1 npuNumber|again npuComment
  loads i|loads npuMacroUse
  sync.vector wait full|sync npuMnemonic|vector npuMnemonic|wait npuSync
.include once "gemm.npu"|.include npuDirective|once npuInclude|"gemm npuString
.endregion|.endregion npuDirective
EOF
sed 's/|.*//' "$folder/lines" >"$folder/t.npu"

cat >"$folder/ask.vim" <<'EOF'
set nocompatible
filetype plugin on
syntax on
let s:out = []
execute 'edit' $FOLDER . '/t.npu'
call add(s:out, 'filetype ' . &filetype)
let s:number = 0
for s:line in readfile($FOLDER . '/lines')
  let s:number += 1
  for s:word in split(s:line, '|')[1:]
    let [s:text, s:group] = split(s:word, '\%( \S\+$\)\@=')
    let s:group = trim(s:group)
    let s:at = stridx(getline(s:number), s:text)
    let s:found = s:at < 0 ? 'nothing' : synIDattr(synID(s:number, s:at + 1, 1), 'name')
    call add(s:out, s:found ==# s:group ? 'right' : printf('line %d: %s is %s, not %s', s:number, s:text, s:found, s:group))
  endfor
endfor
" In the samples a line of code begins with a directive, an instruction or the use of a macro.
for s:file in glob($SRC . '/traces/*.npu', 0, 1)
  execute 'edit' s:file
  for s:number in range(1, line('$'))
    let s:at = match(getline(s:number), '^\s*\zs[.A-Za-z]')
    let s:group = s:at < 0 ? '' : synIDattr(synID(s:number, s:at + 1, 1), 'name')
    if s:at >= 0 && s:group !~# '^npu\%(Directive\|Mnemonic\|MacroUse\)$'
      call add(s:out, printf('%s:%d: begins with "%s"', s:file, s:number, s:group))
    endif
  endfor
  call add(s:out, 'right')
endfor
execute 'edit' $FOLDER . '/bad.npu'
set shellpipe=>%s\ 2>&1
silent make
for s:error in getqflist()
  if s:error.valid
    call add(s:out, printf('error %s:%d:%d', fnamemodify(bufname(s:error.bufnr), ':t'), s:error.lnum, s:error.col))
  endif
endfor
call writefile(s:out, $FOLDER . '/out')
qall!
EOF
printf '.sem s\n  frobnicate s\n' >"$folder/bad.npu"
FOLDER=$folder timeout 60 "$vim" -Nu NONE -i NONE -n -es --cmd "set runtimepath^=$SRC/docs/editors/vim" -S "$folder/ask.vim" </dev/null ||
    fail 'vim fails'
[ "$(head -n 1 "$folder/out")" = 'filetype npu' ] || fail "$(head -n 1 "$folder/out")"
grep -v '^right$\|^filetype\|^error' "$folder/out" && fail 'words have other groups'
right=$(grep -c '^right$' "$folder/out")
[ "$right" -ge 55 ] || fail "only $right words were looked at"
grep -qx 'error bad.npu:2:3' "$folder/out" || fail ":make finds: $(grep '^error' "$folder/out")"
[ $status -ne 0 ] || echo "$right words and samples are coloured as they should be"
exit $status
