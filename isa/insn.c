/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding, decoding and the facts of the tables. */
#define NPU_INLINE /* here, for all callers that do not inline */
#include "isa/insn.h"

#include <string.h>

enum { OPCODE_BITS = 8, SEM_BITS = 16 };

static void put(uint64_t words[NPU_INSN_WORDS], unsigned word, unsigned lsb, unsigned width, uint64_t bits)
{
	words[word] |= (bits & (((uint64_t)1 << width) - 1)) << lsb;
}

static uint64_t get(const uint64_t words[NPU_INSN_WORDS], unsigned word, unsigned lsb, unsigned width)
{
	return words[word] >> lsb & (((uint64_t)1 << width) - 1);
}

static uint32_t float_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static float bits_float(uint64_t bits)
{
	uint32_t half = (uint32_t)bits;
	float value;
	memcpy(&value, &half, sizeof value);
	return value;
}

static int32_t sign_extend(uint64_t bits, unsigned width)
{
	uint64_t sign = (uint64_t)1 << (width - 1);
	return (int32_t)(int64_t)((bits ^ sign) - sign);
}

/* How a member becomes bits and back, a pair a kind. */
#define BITS_LOCAL(member)  (member)
#define BITS_DRAM(member)   (member)
#define BITS_UINT(member)   (member)
#define BITS_FLAG(member)   (member)
#define BITS_TABLE(member)  (member)
#define BITS_DTYPE(member)  (member)
#define BITS_LAYOUT(member) (member)
#define BITS_BCAST(member)  (member)
#define BITS_ACT(member)    (member)
#define BITS_SCALE(member)  (member)
#define BITS_INT(member)    ((uint64_t)(int64_t)(member))
#define BITS_F32(member)    float_bits(member)

#define MEMBER_LOCAL(bits, width, ctype)  ((ctype)(bits))
#define MEMBER_DRAM(bits, width, ctype)   ((ctype)(bits))
#define MEMBER_UINT(bits, width, ctype)   ((ctype)(bits))
#define MEMBER_FLAG(bits, width, ctype)   ((ctype)(bits))
#define MEMBER_TABLE(bits, width, ctype)  ((ctype)(bits))
#define MEMBER_DTYPE(bits, width, ctype)  ((ctype)(bits))
#define MEMBER_LAYOUT(bits, width, ctype) ((ctype)(bits))
#define MEMBER_BCAST(bits, width, ctype)  ((ctype)(bits))
#define MEMBER_ACT(bits, width, ctype)    ((ctype)(bits))
#define MEMBER_SCALE(bits, width, ctype)  ((ctype)(bits))
#define MEMBER_INT(bits, width, ctype)    sign_extend(bits, width)
#define MEMBER_F32(bits, width, ctype)    bits_float(bits)

#define FORMAT(f, doc)                                                                                                 \
	static void encode_##f(const struct npu_insn *insn, uint64_t *words)                                           \
	{                                                                                                              \
		(void)insn, (void)words;
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc)                                              \
	put(words, word, lsb, width, BITS_##kind(insn->f.name));
#define END_FORMAT(f) }
#include "isa/npu.def"

#define FORMAT(f, doc)                                                                                                 \
	static void decode_##f(const uint64_t *words, struct npu_insn *insn)                                           \
	{                                                                                                              \
		(void)insn, (void)words;
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc)                                              \
	insn->f.name = MEMBER_##kind(get(words, word, lsb, width), width, ctype);
#define END_FORMAT(f) }
#include "isa/npu.def"

static void put_refs(uint64_t words[NPU_INSN_WORDS], unsigned word, const struct npu_sem_ref refs[NPU_SYNC_SLOTS])
{
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++) {
		put(words, word, 2 * SEM_BITS * i, SEM_BITS, refs[i].sem);
		put(words, word, 2 * SEM_BITS * i + SEM_BITS, SEM_BITS, refs[i].count);
	}
}

static void get_refs(const uint64_t words[NPU_INSN_WORDS], unsigned word, struct npu_sem_ref refs[NPU_SYNC_SLOTS])
{
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++) {
		refs[i].sem = (uint16_t)get(words, word, 2 * SEM_BITS * i, SEM_BITS);
		refs[i].count = (uint16_t)get(words, word, 2 * SEM_BITS * i + SEM_BITS, SEM_BITS);
	}
}

void npu_insn_encode(const struct npu_insn *insn, uint64_t words[NPU_INSN_WORDS])
{
	memset(words, 0, NPU_INSN_BYTES);
	put(words, 0, 0, OPCODE_BITS, insn->op);
	put_refs(words, 1, insn->wait);
	put_refs(words, 2, insn->post);
	switch ((enum npu_op)insn->op) {
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	case NPU_OP_##OP:                                                                                              \
		encode_##f(insn, words);                                                                               \
		break;
#include "isa/npu.def"
	}
}

bool npu_insn_decode(const uint64_t words[NPU_INSN_WORDS], struct npu_insn *out)
{
	struct npu_insn insn;
	memset(&insn, 0, sizeof insn);
	insn.op = (uint8_t)get(words, 0, 0, OPCODE_BITS);
	if (!npu_op_known(insn.op))
		return false;
	get_refs(words, 1, insn.wait);
	get_refs(words, 2, insn.post);
	switch ((enum npu_op)insn.op) {
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	case NPU_OP_##OP:                                                                                              \
		decode_##f(words, &insn);                                                                              \
		break;
#include "isa/npu.def"
	}
	/* Whatever no field claims must be zero, so that later versions may use it. */
	uint64_t again[NPU_INSN_WORDS];
	npu_insn_encode(&insn, again);
	if (memcmp(again, words, NPU_INSN_BYTES) != 0)
		return false;
	memcpy(out, &insn, sizeof insn);
	return true;
}

bool npu_op_known(unsigned op)
{
	switch ((enum npu_op)op) {
#define INSN(OP, mnemonic, opcode, f, engine, doc) case NPU_OP_##OP:
#include "isa/npu.def"
		return true;
	}
	return false;
}

const char *npu_op_mnemonic(unsigned op)
{
	switch ((enum npu_op)op) {
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	case NPU_OP_##OP:                                                                                              \
		return mnemonic;
#include "isa/npu.def"
	}
	return "?";
}

bool npu_op_is_sync(unsigned op)
{
	return npu_op_known(op) && npu_op_format(op) == NPU_FORMAT_none;
}

const char *npu_engine_name(enum npu_engine e)
{
	switch (e) {
#define ENGINE(NAME, text, doc)                                                                                        \
	case NPU_ENGINE_##NAME:                                                                                        \
		return text;
#include "isa/engine.def"
	case NPU_ENGINES:
		break;
	}
	return "none";
}

const char *npu_dtype_name(enum npu_dtype t)
{
	switch (t) {
#define DTYPE(NAME, text, bits, is_float, is_signed)                                                                   \
	case NPU_##NAME:                                                                                               \
		return text;
#include "isa/dtype.def"
	case NPU_DTYPES:
		break;
	}
	return "?";
}

bool npu_dtype_is_float(enum npu_dtype t)
{
	switch (t) {
#define DTYPE(NAME, text, bits, is_float, is_signed)                                                                   \
	case NPU_##NAME:                                                                                               \
		return is_float;
#include "isa/dtype.def"
	case NPU_DTYPES:
		break;
	}
	return false;
}
