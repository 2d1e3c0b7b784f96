/* SPDX-License-Identifier: Apache-2.0 */
/* The order of operands and the shape of names. */
#include "isa/text/syntax.h"

#include "isa/operand.h"
#include "isa/text/lex.h"

#include <assert.h>
#include <string.h>

unsigned npu_syntax_positional(const struct npu_op_info *info, const struct npu_field *out[NPU_MAX_POSITIONAL])
{
	bool to_dram = info->engine == NPU_ENGINE_STORE;
	unsigned n = 0;
	for (unsigned pass = 0; pass < 2; pass++)
		for (const struct npu_field *field = info->format->fields; field->name; field++) {
			bool first = (field->kind == NPU_KIND_DRAM) == to_dram;
			if (!npu_syntax_is_positional(field) || first != (pass == 0))
				continue;
			assert(n < NPU_MAX_POSITIONAL);
			out[n++] = field;
		}
	return n;
}

bool npu_syntax_uses(const struct npu_insn *insn, const struct npu_field *field)
{
	struct npu_operand operands[NPU_MAX_ACCESSES];
	if (field->required)
		return true;
	unsigned n = npu_insn_operands(insn, operands);
	for (unsigned i = 0; i < n; i++)
		if (strcmp(operands[i].name, field->name) == 0)
			return true;
	return false;
}

bool npu_syntax_is_plain_name(const char *name)
{
	static const char *const reserved[] = { "wait", "post", "sram", "acc", "dram" };
	struct npu_lexer lexer = { name, name + strlen(name) };
	struct npu_token token = npu_lex(&lexer);
	if (token.kind != NPU_TOKEN_NAME || token.begin != name)
		return false;
	for (unsigned i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
		if (npu_token_is(&token, reserved[i]))
			return false;
	if (*token.end == '\0')
		return true;
	/* an index: decimal, as .sem NAME[n] counts */
	size_t digits = strspn(token.end + 1, "0123456789");
	bool leading_zero = digits > 1 && token.end[1] == '0';
	return *token.end == '[' && digits > 0 && digits < 10 && !leading_zero &&
	       strcmp(token.end + 1 + digits, "]") == 0;
}
