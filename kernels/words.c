/* SPDX-License-Identifier: Apache-2.0 */
/* From the structs of npu.h (order first, then the fields of a format) to an instruction and back. */
#include "kernels/words.h"

#include <stddef.h>
#include <string.h>

#include "kernels/kernel.h"

/* Where the fields of every format begin in an instruction, and in a struct of npu.h. */
enum { IN_INSN = offsetof(struct npu_insn, dma), IN_WORDS = sizeof(struct npu_order) };

static size_t field_bytes(unsigned op)
{
	switch ((enum npu_op)op) {
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	case NPU_OP_##OP:                                                                                              \
		return sizeof(struct npu_##f);
#include "isa/npu.def"
	}
	return 0;
}

static bool all_zero(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

void npu_emit_op(struct npu_builder *b, const char *file, unsigned line, unsigned op, const void *operands, size_t size)
{
	const unsigned char *bytes = operands;
	if (!npu_op_known(op)) {
		npu_builder_fail(b, NPU_ERR_OPERAND, "%s:%u: opcode 0x%x is not known to libnpu %s", file, line, op,
				 npu_version());
		return;
	}
	size_t known = field_bytes(op), given = size > IN_WORDS ? size - IN_WORDS : 0;
	if (size < IN_WORDS || (given > known && !all_zero(bytes + IN_WORDS + known, given - known))) {
		npu_builder_fail(b, NPU_ERR_OPERAND, "%s:%u: %s has operands that libnpu %s does not know", file, line,
				 npu_op_mnemonic(op), npu_version());
		return;
	}
	struct npu_insn insn = npu_insn_initial((enum npu_op)op);
	struct npu_order order;
	memcpy(&order, bytes, sizeof order);
	memcpy((unsigned char *)&insn + IN_INSN, bytes + IN_WORDS, given < known ? given : known);
	npu_emit_at(b, file, line, &insn, &order);
}

bool npu_operands_initial(unsigned op, void *operands, size_t size)
{
	unsigned char *bytes = operands;
	if (!npu_op_known(op))
		return false;
	struct npu_insn insn = npu_insn_initial((enum npu_op)op);
	size_t known = field_bytes(op), wanted = size > IN_WORDS ? size - IN_WORDS : 0;
	memset(bytes, 0, size);
	if (wanted)
		memcpy(bytes + IN_WORDS, (unsigned char *)&insn + IN_INSN, wanted < known ? wanted : known);
	return true;
}

const char *npu_version(void)
{
	return NPU_VERSION;
}

unsigned npu_abi(void)
{
	return NPU_ABI;
}
