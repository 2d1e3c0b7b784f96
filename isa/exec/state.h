/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the executor share: its state, the operands of the instruction at hand, scratch memory. */
#ifndef NPU_ISA_EXEC_STATE_H
#define NPU_ISA_EXEC_STATE_H

#include "isa/exec.h"
#include "isa/exec/dram.h"
#include "isa/exec/math.h"
#include "isa/number.h"
#include "isa/operand.h"

enum { NPU_SCRATCHES = 16 };

struct npu_image {
	uint8_t *bytes;
	uint64_t nbytes;
};

struct npu_scratch {
	void *bytes;
	uint64_t nbytes;
};

struct npu_exec {
	const struct npu_program *program;
	struct npu_exec_options options;
	struct npu_dram_image dram;
	struct npu_image sram;
	struct npu_image accum;
	struct npu_math math;
	struct npu_scratch scratch[NPU_SCRATCHES]; /* kept from instruction to instruction */
	unsigned nscratch;                         /* in use by this one */
	uint32_t insn;                             /* the instruction at hand */
};

/* A matrix in an image. `m.stride` is never 0. */
struct npu_view {
	const char *name;
	enum npu_space space;
	uint64_t addr;
	uint8_t *bytes; /* of element (0, 0); NULL in DRAM */
	struct npu_matrix m;
};

struct npu_views {
	struct npu_view view[NPU_MAX_ACCESSES];
	unsigned n;
};

/* Finds the operands of an instruction and checks that they lie inside their memories. */
bool npu_views_bind(struct npu_exec *, const struct npu_insn *, struct npu_views *, struct npu_error *);
/* By field name; of two with one name the later, which is the wider. NULL: the instruction does not use it. */
struct npu_view *npu_views_find(struct npu_views *, const char *name);

/* Makes `src` a private copy when writing `dst` row by row, each row after reading that row of `src`, could change what
 * is still to be read. Exactly overlapping rows need none. */
bool npu_view_unshare(struct npu_exec *, struct npu_view *src, const struct npu_view *dst, struct npu_error *);
/* The same when `dst` is written in any order. */
bool npu_view_detach(struct npu_exec *, struct npu_view *src, const struct npu_view *dst, struct npu_error *);

static inline uint8_t *npu_view_row(const struct npu_view *v, uint64_t row)
{
	return v->bytes + row * v->m.stride;
}

/* A row of a row-major view as fp32, and back. */
static inline void npu_view_get(const struct npu_view *v, uint64_t row, float *out)
{
	npu_row_to_f32(v->m.dtype, npu_view_row(v, row), out, v->m.cols);
}

static inline void npu_view_set(const struct npu_view *v, uint64_t row, const float *x)
{
	npu_row_from_f32(v->m.dtype, x, npu_view_row(v, row), v->m.cols);
}

/* Elements col .. col + n of a row in any layout of a local view. */
void npu_view_get_run(const struct npu_view *, uint64_t row, uint64_t col, uint64_t n, float *out);

/* Memory until the instruction ends, aligned for vectors, not cleared; NULL with an error. */
void *npu_scratch(struct npu_exec *, uint64_t nbytes, struct npu_error *);
/* Room for `n` elements and for what whole vectors reach past them. */
float *npu_scratch_row(struct npu_exec *, uint64_t n, struct npu_error *);

/* An error about the instruction at hand; returns false. */
bool npu_exec_fail(const struct npu_exec *, struct npu_error *, enum npu_error_code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* One of each, a format. `insn` is of that format. */
bool npu_exec_dma(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_paged(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_matmul(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_ew(struct npu_exec *, const struct npu_insn *, npu_binary_fn *, struct npu_error *);
bool npu_exec_un(struct npu_exec *, const struct npu_insn *, npu_unary_fn *, struct npu_error *);
bool npu_exec_transpose(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_red(struct npu_exec *, const struct npu_insn *, npu_fold_fn *, npu_binary_fn *combine,
		  struct npu_error *);
bool npu_exec_quant(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_dequant(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_rope(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_rmsnorm(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_layernorm(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_mask(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_softmax(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_softmax_online(struct npu_exec *, const struct npu_insn *, struct npu_error *);
bool npu_exec_fill(struct npu_exec *, const struct npu_insn *, struct npu_error *);

#endif
