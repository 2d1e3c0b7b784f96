" SPDX-License-Identifier: Apache-2.0
" Vim syntax file: NPU macro assembly (.npu), the language of npusim's docs/npu.md.
" Generated from npusim's tables: npusim syntax vim

if exists('b:current_syntax')
  finish
endif
syntax case match
syntax sync minlines=1

syntax cluster npuExpression contains=npuNumber,npuString,npuFunction,npuTurn,npuSpace,npuType,npuOperator,npuComment

" The first word of a line: the use of a macro, unless something below knows it.
syntax match npuMacroUse /\v%(^\s*)@<=\h[0-9A-Za-z_.]*/ nextgroup=npuArguments
syntax region npuArguments start=/./ end=/$/ contained oneline keepend contains=@npuExpression,npuArgument
syntax match npuArgument /\v<\h\w*\ze\=[^=]/ contained
syntax region npuInstruction matchgroup=npuMnemonic start=/\v%(^\s*)@<=%(sync\.load|sync\.store|sync\.matrix|sync\.vector|load|store|gather|scatter|matmul|vadd|vsub|vmul|vdiv|vmax|vmin|vcopy|vexp|vrecip|vrsqrt|vsilu|vgelu|vtanh|vsigmoid|vrelu|vtranspose|vredmax|vredsum|vredsumsq|vquant|vdequant|vrope|vrmsnorm|vlayernorm|vmask|vsoftmax|vsoftmax_online|vfill)%([0-9A-Za-z_.])@!/ end=/$/ oneline keepend contains=@npuExpression,npuField,npuValue,npuSync,npuSpecial
syntax match npuField /\v<%(rows|cols|dtype|dram_layout|local_layout|transpose|dram_stride|local_stride|page_stride|row_stride|first|page_rows|table|odd|m|n|k|dst_stride|a_stride|group|a_type|b_stride|b_type|accumulate|transpose_a|transpose_b|a_layout|b_layout|masked|imm|dst_type|b_bcast|guard|act|scale|zero|asymmetric|scale_type|dynamic|heads|dim|rotary|interleaved|table_type|table_stride|has_bias|unit_offset|weight_type|eps|state_stride|causal|diagonal|window|valid|padded)\ze\=[^=]/ contained
syntax match npuValue /\v%(<%(layout|dtype|dram_layout|local_layout|a_type|b_type|a_layout|b_layout|dst_type|b_bcast|act|scale_type|table_type|weight_type)\=)@<=%(row|block16|block32|full|row|col|imm|none|silu|gelu|relu|exp|tensor|row|col|group)>/ contained
syntax keyword npuSync wait post contained
syntax match npuSpecial /\v<%(inf|nan|bits\ze:)>/ contained

syntax match npuDirective /\v%(^\s*)@<=%(\.program|\.param|\.let|\.require|\.tensor|\.sram|\.acc|\.buffer|\.free|\.sem|\.table|\.page|\.region|\.endregion|\.loc|\.for|\.if|\.macro|\.include|\.end|\.else|\.elif)>/
syntax region npuLine matchgroup=npuDirective start=/\v%(^\s*)@<=\.tensor>/ end=/$/ oneline keepend contains=@npuExpression,npuDirection,npuOption,npuValue
syntax region npuLine matchgroup=npuDirective start=/\v%(^\s*)@<=\.%(sram|acc)>/ end=/$/ oneline keepend contains=@npuExpression,npuOption,npuValue
syntax region npuLine matchgroup=npuDirective start=/\v%(^\s*)@<=\.page>/ end=/$/ oneline keepend contains=@npuExpression,npuState
syntax region npuLine matchgroup=npuDirective start=/\v%(^\s*)@<=\.for>/ end=/$/ oneline keepend contains=@npuExpression,npuRange
syntax match npuInclude /\v%(^\s*\.include\s+)@<=once>/
syntax match npuMacroName /\v%(^\s*\.macro\s+)@<=\h\w*/
syntax match npuDirection /\v<%(in|out|inout|temp)>/ contained
syntax match npuState /\v<%(free|owned|shared)>/ contained
syntax match npuOption /\v<%(at|layout|seed|file|bank|align|bytes|step|over)\ze\=[^=]/ contained
syntax match npuRange /\v<%(in|step)>/ contained

syntax match npuOperator /[-+*\/%<>=!&|^~?:@]/
syntax match npuNumber /\v%(\k\.)@2<!<%(0[xX]\x+|\d+%(\.\d+)?%([eE][-+]?\d+)?)%([KMG]iB)?>/
syntax match npuFunction /\v<%(min|max|ceil|abs|sqrt|exp|softmax|causal|padded|repeat|shuffle)\ze\(/
syntax match npuTurn /\v\.T>/
syntax match npuSpace /\v<%(sram|acc|dram)\ze:/
syntax match npuType /\v<%(fp32|fp16|bf16|int32|int8|uint8|int4|uint4)>/
syntax region npuString start=/"/ skip=/\\./ end=/"/ oneline contains=npuEscape,npuInterpolation
syntax region npuInterpolation matchgroup=npuBrace start=/{/ end=/}/ contained oneline contains=@npuExpression
syntax match npuEscape /\v\\%(["\\nt]|x\x\x)|\{\{|\}\}/ contained
syntax match npuComment /;.*/ contains=@Spell

highlight default link npuComment Comment
highlight default link npuString String
highlight default link npuEscape SpecialChar
highlight default link npuBrace Special
highlight default link npuNumber Number
highlight default link npuSpecial Float
highlight default link npuMnemonic Statement
highlight default link npuSync Special
highlight default link npuField Identifier
highlight default link npuArgument Identifier
highlight default link npuOption Identifier
highlight default link npuValue Constant
highlight default link npuDirective PreProc
highlight default link npuInclude PreProc
highlight default link npuMacroName Function
highlight default link npuMacroUse Function
highlight default link npuDirection StorageClass
highlight default link npuState StorageClass
highlight default link npuRange Repeat
highlight default link npuFunction Function
highlight default link npuTurn Operator
highlight default link npuOperator Operator
highlight default link npuSpace StorageClass
highlight default link npuType Type

let b:current_syntax = 'npu'
