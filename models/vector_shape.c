/* SPDX-License-Identifier: Apache-2.0 */
/* What vector instructions of one shape have in common, found once. */
#include "isa/field.h"
#include "models/vector_walk.h"

#include <stddef.h>
#include <string.h>

struct memory_walk vector_walk(const struct vector_operands *o, unsigned i, bool write, uint64_t begin, uint64_t end)
{
	const struct npu_operand *op = &o->operand[i];
	struct memory_walk walk = {
		.begin = begin,
		.end = end,
		.local = (uint32_t)op->addr | (op->space == NPU_SPACE_ACCUM ? NPU_ACC_BIT : 0),
		.row_bytes = (uint32_t)npu_dtype_bytes(op->m.dtype, op->m.cols),
		.rows = (uint32_t)op->m.rows,
		.stride = (uint32_t)npu_matrix_stride(&op->m),
		.write = write,
	};
	if (o->times[i] > 1) {
		walk.rows = (uint32_t)o->times[i];
		walk.stride = 0;
	} else if (npu_matrix_is_dense(&op->m)) {
		walk.row_bytes *= walk.rows;
		walk.rows = 1;
	}
	return walk;
}

/* Of an address only its space and how it lies in a word matter; of a mask, that there is one. */
static struct npu_insn key_of(const struct hw *hw, const struct npu_insn *insn)
{
	enum { FIELDS = offsetof(struct npu_insn, dma) };
	const uint64_t matters = NPU_ACC_BIT | (hw->sram.bank_bytes - 1);
	struct npu_insn key;
	memset(&key, 0, sizeof key);
	key.op = insn->op;
	memcpy((char *)&key + FIELDS, (const char *)insn + FIELDS, sizeof key - FIELDS);
	switch (npu_op_format(key.op)) {
#define FORMAT(f, doc) case NPU_FORMAT_##f:
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc) \
	if (NPU_KIND_##kind == NPU_KIND_LOCAL)                            \
		key.f.name = (ctype)((uint64_t)key.f.name & matters);
#define END_FORMAT(f) break;
#include "isa/npu.def"
	}
	if (npu_op_format(key.op) == NPU_FORMAT_softmax) {
		key.softmax.diagonal = 0;
		key.softmax.valid = 0;
		key.softmax.window = key.softmax.window != 0;
	}
	return key;
}

static struct vector_shape shape_of(const struct hw *hw, const struct memory *memory, const struct npu_insn *key)
{
	struct vector_shape shape = { .key = *key };
	struct vector_operands o;
	vector_operands(key, &o);
	shape.plan = vector_plan_of(hw, key, &o);
	shape.slots = vector_slots_of(&shape.plan);
	for (unsigned i = 0; i < o.n; i++) {
		struct memory_walk walk = vector_walk(&o, i, false, 0, 1);
		shape.extent[i] = (uint64_t)(walk.rows - 1) * walk.stride + walk.row_bytes;
	}
	for (unsigned p = 0; p < shape.plan.passes; p++) {
		const struct vector_pass *pass = &shape.plan.pass[p];
		for (unsigned i = 0; i < o.n; i++)
			for (unsigned write = 0; write < 2; write++) {
				if (!((write ? pass->writes : pass->reads) >> i & 1))
					continue;
				struct memory_walk walk = vector_walk(&o, i, write, 0, pass->cycles);
				struct memory_reach reach = memory_walk_reach(memory, &walk);
				bool meets = reach.self_sram | reach.self_accum_read | reach.self_accum_write;
				shape.meets_itself[p][write] |= (uint32_t)meets << i;
				shape.bytes[npu_is_acc(walk.local)] += o.bytes[i];
			}
	}
	return shape;
}

/* A place for each key; what was there before is forgotten. */
static unsigned place_of_key(const struct npu_insn *key)
{
	uint64_t word[sizeof *key / 8], hash = 0;
	memcpy(word, key, sizeof word);
	for (unsigned i = 0; i < sizeof word / 8; i++)
		hash = (hash ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return (unsigned)(hash >> 32) % VECTOR_SHAPES;
}

const struct vector_shape *vector_shape_of(struct vector_shapes *shapes, const struct hw *hw, const struct memory *memory,
					   const struct npu_insn *insn)
{
	struct npu_insn key = key_of(hw, insn);
	struct vector_shape *shape = &shapes->shape[place_of_key(&key)];
	if (memcmp(&shape->key, &key, sizeof key))
		*shape = shape_of(hw, memory, &key);
	return shape;
}
