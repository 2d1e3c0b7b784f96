/* SPDX-License-Identifier: Apache-2.0 */
/* isa/npu.def turned into arrays. */
#include "isa/field.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* No field has this initial value: 44 bits and floats above -2^127 are all there is between. */
#define REQUIRED          (-0x1p+200)
#define NPU_REQUIRED      REQUIRED
#define INITIAL_LOCAL(x)  (x)
#define INITIAL_DRAM(x)   (x)
#define INITIAL_UINT(x)   (x)
#define INITIAL_INT(x)    (x)
#define INITIAL_F32(x)    (x)
#define INITIAL_FLAG(x)   (x)
#define INITIAL_TABLE(x)  (x)
#define INITIAL_DTYPE(x)  NPU_##x
#define INITIAL_LAYOUT(x) NPU_LAYOUT_##x
#define INITIAL_BCAST(x)  NPU_BCAST_##x
#define INITIAL_ACT(x)    NPU_ACT_##x
#define INITIAL_SCALE(x)  NPU_SCALE_##x

/* clang-format off */
#define FORMAT(f, doc) static const struct npu_field fields_of_##f[] = {
#define FIELD(f, ctype, name_, word_, lsb_, width_, kind_, initial_, unit_, doc_) \
	{ \
		.name = #name_, \
		.kind = NPU_KIND_##kind_, \
		.word = word_, \
		.lsb = lsb_, \
		.width = width_, \
		.required = (double)INITIAL_##kind_(initial_) == REQUIRED, \
		.size = sizeof(ctype), \
		.offset = offsetof(struct npu_insn, f.name_), \
		.initial = (double)INITIAL_##kind_(initial_), \
		.unit = unit_, \
		.doc = doc_, \
	},
#define END_FORMAT(f) { .name = NULL } };
/* clang-format on */
#include "isa/npu.def"

const struct npu_format npu_formats[] = {
#define FORMAT(f, doc) { #f, doc, fields_of_##f, sizeof fields_of_##f / sizeof fields_of_##f[0] - 1 },
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc)
#define END_FORMAT(f)
#include "isa/npu.def"
};
const unsigned npu_nformats = sizeof npu_formats / sizeof npu_formats[0];

const struct npu_op_info npu_ops[] = {
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	{ NPU_OP_##OP, mnemonic, &npu_formats[NPU_FORMAT_##f], NPU_ENGINE_##engine, doc },
#include "isa/npu.def"
};
const unsigned npu_nops = sizeof npu_ops / sizeof npu_ops[0];

enum op_index {
#define INSN(OP, mnemonic, opcode, f, engine, doc) OP_INDEX_##OP,
#include "isa/npu.def"
};

/* Position in npu_ops plus one, 0 for opcodes that are not used. */
static const uint8_t index_of_opcode[256] = {
#define INSN(OP, mnemonic, opcode, f, engine, doc) [opcode] = OP_INDEX_##OP + 1,
#include "isa/npu.def"
};

const struct npu_op_info *npu_op_info(unsigned op)
{
	return op < 256 && index_of_opcode[op] ? &npu_ops[index_of_opcode[op] - 1] : NULL;
}

const struct npu_op_info *npu_op_find(const char *text, uint64_t length)
{
	for (unsigned i = 0; i < npu_nops; i++)
		if (strncmp(npu_ops[i].mnemonic, text, length) == 0 && npu_ops[i].mnemonic[length] == '\0')
			return &npu_ops[i];
	return NULL;
}

uint64_t npu_field_get(const struct npu_field *field, const struct npu_insn *insn)
{
	const char *member = (const char *)insn + field->offset;
	if (field->size == sizeof(uint64_t)) {
		uint64_t value;
		memcpy(&value, member, sizeof value);
		return value;
	}
	assert(field->size == sizeof(uint32_t));
	uint32_t value;
	memcpy(&value, member, sizeof value);
	return field->kind == NPU_KIND_INT ? (uint64_t)(int64_t)(int32_t)value : value;
}

void npu_field_set(const struct npu_field *field, struct npu_insn *insn, uint64_t value)
{
	char *member = (char *)insn + field->offset;
	if (field->size == sizeof value) {
		memcpy(member, &value, sizeof value);
		return;
	}
	assert(field->size == sizeof(uint32_t));
	uint32_t half = (uint32_t)value;
	memcpy(member, &half, sizeof half);
}

uint64_t npu_field_initial(const struct npu_field *field)
{
	if (field->required)
		return 0;
	if (field->kind == NPU_KIND_F32) {
		float value = (float)field->initial;
		uint32_t bits;
		memcpy(&bits, &value, sizeof bits);
		return bits;
	}
	return (uint64_t)(int64_t)field->initial;
}

uint64_t npu_field_max(const struct npu_field *field)
{
	unsigned bits = field->kind == NPU_KIND_INT ? field->width - 1 : field->width;
	return ((uint64_t)1 << bits) - 1;
}

bool npu_field_fits(const struct npu_field *field, uint64_t value)
{
	const char *const *names;
	switch (field->kind) {
	case NPU_KIND_INT: {
		int64_t max = (int64_t)npu_field_max(field), wanted = (int64_t)value;
		return wanted >= -max - 1 && wanted <= max;
	}
	case NPU_KIND_LOCAL:
	case NPU_KIND_DRAM:
	case NPU_KIND_UINT:
	case NPU_KIND_F32:
	case NPU_KIND_FLAG:
	case NPU_KIND_TABLE:
		return value <= npu_field_max(field);
	case NPU_KIND_DTYPE:
	case NPU_KIND_LAYOUT:
	case NPU_KIND_BCAST:
	case NPU_KIND_ACT:
	case NPU_KIND_SCALE:
		return value < npu_kind_names(field->kind, &names);
	}
	return false;
}

static const char *const dtype_names[] = {
#define DTYPE(NAME, text, bits, is_float, is_signed) [NPU_##NAME] = text,
#include "isa/dtype.def"
};

/* The names of one KIND: the others of isa/enums.def expand to nothing. */
#define NAME_LAYOUT(kind, name, text)
#define NAME_BCAST(kind, name, text)
#define NAME_ACT(kind, name, text)
#define NAME_SCALE(kind, name, text)
#define ENTRY(kind, name, text) [NPU_##kind##_##name] = text,

#define ENUM(KIND, NAME, text, value, doc) NAME_##KIND(KIND, NAME, text)
#undef NAME_LAYOUT
#define NAME_LAYOUT ENTRY
static const char *const layout_names[] = {
#include "isa/enums.def"
};
#undef NAME_LAYOUT
#define NAME_LAYOUT(kind, name, text)

#define ENUM(KIND, NAME, text, value, doc) NAME_##KIND(KIND, NAME, text)
#undef NAME_BCAST
#define NAME_BCAST ENTRY
static const char *const bcast_names[] = {
#include "isa/enums.def"
};
#undef NAME_BCAST
#define NAME_BCAST(kind, name, text)

#define ENUM(KIND, NAME, text, value, doc) NAME_##KIND(KIND, NAME, text)
#undef NAME_ACT
#define NAME_ACT ENTRY
static const char *const act_names[] = {
#include "isa/enums.def"
};
#undef NAME_ACT
#define NAME_ACT(kind, name, text)

#define ENUM(KIND, NAME, text, value, doc) NAME_##KIND(KIND, NAME, text)
#undef NAME_SCALE
#define NAME_SCALE ENTRY
static const char *const scale_names[] = {
#include "isa/enums.def"
};

#define NAMES(array) (*names = array, (unsigned)(sizeof array / sizeof array[0]))

unsigned npu_kind_names(enum npu_field_kind kind, const char *const **names)
{
	switch (kind) {
	case NPU_KIND_DTYPE:
		return NAMES(dtype_names);
	case NPU_KIND_LAYOUT:
		return NAMES(layout_names);
	case NPU_KIND_BCAST:
		return NAMES(bcast_names);
	case NPU_KIND_ACT:
		return NAMES(act_names);
	case NPU_KIND_SCALE:
		return NAMES(scale_names);
	case NPU_KIND_LOCAL:
	case NPU_KIND_DRAM:
	case NPU_KIND_UINT:
	case NPU_KIND_INT:
	case NPU_KIND_F32:
	case NPU_KIND_FLAG:
	case NPU_KIND_TABLE:
		break;
	}
	*names = NULL;
	return 0;
}

struct npu_insn npu_insn_initial(enum npu_op op)
{
	struct npu_insn insn;
	memset(&insn, 0, sizeof insn); /* padding too: instructions are compared and hashed as bytes in tests */
	insn.op = (uint8_t)op;
	const struct npu_op_info *info = npu_op_info(op);
	for (const struct npu_field *field = info->format->fields; field->name; field++)
		npu_field_set(field, &insn, npu_field_initial(field));
	return insn;
}
