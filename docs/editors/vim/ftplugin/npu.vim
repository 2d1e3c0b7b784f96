" SPDX-License-Identifier: Apache-2.0
" Vim filetype plugin: NPU macro assembly. :make assembles and jumps to what is wrong; % goes through blocks with matchit.

if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal comments=:; commentstring=;\ %s
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal suffixesadd=.npu include=^\\s*\\.include
setlocal define=^\\s*\\.\\%(macro\\\|let\\\|param\\\|tensor\\\|sram\\\|acc\\\|sem\\)
setlocal makeprg=npusim\ asm\ %:S\ -o\ /dev/null
setlocal errorformat=npusim:\ %f:%l:%c:\ %m,npusim:\ %f:%l:\ %m,%-G%.%#

let b:match_words = '\.\<\%(for\|if\|macro\)\>:\.\<\%(elif\|else\)\>:\.\<end\>,\.\<region\>:\.\<endregion\>'
let b:match_skip = 's:comment\|string'
let b:undo_ftplugin = 'setlocal comments< commentstring< expandtab< shiftwidth< softtabstop< suffixesadd< include< define<'
      \ . ' makeprg< errorformat< | unlet! b:match_words b:match_skip'
