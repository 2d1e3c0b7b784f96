/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels go over a few buffers again and again, so the instructions of a program have few shapes and places: each is tried once. */
#include "sim/sweep/alone.h"
#include "models/matrix.h"
#include "models/vector.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 10 };

struct known {
	bool is_known;
	struct npu_insn insn; /* without its waits and posts */
	uint64_t denied;
};

struct alone {
	const struct npu_program *program;
	struct memory *memory;
	struct matrix *matrix;
	struct vector *vector;
	uint64_t now, denied;
	struct known known[SLOTS]; /* a later one takes the place of another in its slot */
};

static void on_span(void *ctx, enum npu_state state, uint32_t insn, uint64_t from, uint64_t to)
{
	struct alone *a = ctx;
	(void)insn;
	if (state == NPU_STATE_SRAM_CONFLICT || state == NPU_STATE_ACCUM_CONFLICT)
		a->denied += to - from;
}

static void on_ended(void *ctx, uint32_t insn, uint32_t slot, uint64_t stream_begin, uint64_t stream_end, uint64_t end)
{
	(void)ctx, (void)insn, (void)slot, (void)stream_begin, (void)stream_end, (void)end;
}

struct alone *alone_new(const struct hw *hw, const struct npu_program *program)
{
	struct alone *a = calloc(1, sizeof *a);
	if (!a)
		return NULL;
	struct body_listener listener = { a, on_span, on_ended };
	a->program = program;
	a->memory = memory_new(hw, false);
	a->matrix = a->memory ? matrix_new(hw, program, a->memory, &listener, 0) : NULL;
	a->vector = a->matrix ? vector_new(hw, program, a->memory, &listener, 0) : NULL;
	if (a->vector)
		return a;
	alone_free(a);
	return NULL;
}

void alone_free(struct alone *a)
{
	if (!a)
		return;
	vector_free(a->vector);
	matrix_free(a->matrix);
	memory_free(a->memory);
	free(a);
}

static uint64_t try(struct alone *a, uint32_t insn)
{
	bool is_matrix = npu_op_engine(a->program->insns[insn].op) == NPU_ENGINE_MATRIX;
	const struct body_ops *ops = is_matrix ? &matrix_ops : &vector_ops;
	void *body = is_matrix ? (void *)a->matrix : (void *)a->vector;
	a->denied = 0;
	ops->accept(body, a->now, insn);
	for (uint64_t wake; (wake = ops->step(body, a->now)) != NPU_NEVER;)
		a->now = wake;
	return a->denied;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

uint64_t alone_denied(struct alone *a, uint32_t insn)
{
	struct npu_insn key = a->program->insns[insn];
	memset(key.wait, 0, sizeof key.wait);
	memset(key.post, 0, sizeof key.post);
	uint64_t hash = 0, word;
	for (size_t i = 0; i + sizeof word <= sizeof key; i += sizeof word) {
		memcpy(&word, (const char *)&key + i, sizeof word);
		hash = mix(hash, word);
	}
	struct known *k = &a->known[hash % SLOTS];
	if (!k->is_known || memcmp(&k->insn, &key, sizeof key)) {
		*k = (struct known){ .is_known = true, .denied = try(a, insn) };
		memcpy(&k->insn, &key, sizeof key);
	}
	return k->denied;
}
