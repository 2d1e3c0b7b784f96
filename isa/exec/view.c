/* SPDX-License-Identifier: Apache-2.0 */
/* Operands as matrices in the memory images, checked against their bounds. */
#include "isa/exec/state.h"

#include "isa/units.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool npu_exec_fail(const struct npu_exec *e, struct npu_error *err, enum npu_error_code code, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	const struct npu_program *p = e->program;
	const char *mnemonic = npu_op_mnemonic(p->insns[e->insn].op);
	if (p->place && p->place[e->insn].file < p->nfiles)
		return npu_fail_at(err, code, p->files[p->place[e->insn].file], p->place[e->insn].line, 0, "#%u %s: %s",
				   e->insn, mnemonic, text);
	return npu_fail(err, code, "#%u %s: %s", e->insn, mnemonic, text);
}

void *npu_scratch(struct npu_exec *e, uint64_t nbytes, struct npu_error *err)
{
	assert(e->nscratch < NPU_SCRATCHES);
	struct npu_scratch *s = &e->scratch[e->nscratch++];
	if (s->bytes && nbytes <= s->nbytes)
		return s->bytes;
	free(s->bytes);
	s->bytes = calloc(1, nbytes ? nbytes : 1);
	s->nbytes = s->bytes ? nbytes : 0;
	if (!s->bytes)
		npu_exec_fail(e, err, NPU_ERR_MEMORY, "out of memory for %s of operands", npu_bytes_text(nbytes).text);
	return s->bytes;
}

float *npu_scratch_row(struct npu_exec *e, uint64_t n, struct npu_error *err)
{
	enum { REACH = 16 };
	return npu_scratch(e, (n + REACH) * sizeof(float), err);
}

static bool bind(struct npu_exec *e, const struct npu_operand *operand, struct npu_view *v, struct npu_error *err)
{
	static const char *const names[] = {
		[NPU_SPACE_SRAM] = "SRAM", [NPU_SPACE_ACCUM] = "accumulators", [NPU_SPACE_DRAM] = "DRAM"
	};
	const uint64_t sizes[] = { [NPU_SPACE_SRAM] = e->sram.nbytes,
				   [NPU_SPACE_ACCUM] = e->accum.nbytes,
				   [NPU_SPACE_DRAM] = (uint64_t)1 << NPU_DRAM_BITS };
	uint8_t *const images[] = {
		[NPU_SPACE_SRAM] = e->sram.bytes, [NPU_SPACE_ACCUM] = e->accum.bytes, [NPU_SPACE_DRAM] = NULL
	};
	uint64_t extent = npu_matrix_extent(&operand->m), size = sizes[operand->space];
	if (operand->addr > size || extent > size - operand->addr)
		return npu_exec_fail(e, err, NPU_ERR_BOUNDS, "%s is 0x%llx..0x%llx, but %s ends at 0x%llx",
				     operand->name, (unsigned long long)operand->addr,
				     (unsigned long long)(operand->addr + extent), names[operand->space],
				     (unsigned long long)size);
	*v = (struct npu_view){ operand->name, operand->space, operand->addr, NULL, operand->m };
	v->m.stride = npu_matrix_stride(&operand->m);
	if (images[operand->space])
		v->bytes = images[operand->space] + operand->addr;
	return true;
}

bool npu_views_bind(struct npu_exec *e, const struct npu_insn *insn, struct npu_views *views, struct npu_error *err)
{
	struct npu_operand operands[NPU_MAX_ACCESSES];
	views->n = npu_insn_operands(insn, operands);
	for (unsigned i = 0; i < views->n; i++)
		if (!bind(e, &operands[i], &views->view[i], err))
			return false;
	return true;
}

struct npu_view *npu_views_find(struct npu_views *views, const char *name)
{
	for (unsigned i = views->n; i-- > 0;)
		if (strcmp(views->view[i].name, name) == 0)
			return &views->view[i];
	return NULL;
}

static bool meet(const struct npu_view *a, const struct npu_view *b)
{
	return a->space == b->space && a->addr < b->addr + npu_matrix_extent(&b->m) &&
	       b->addr < a->addr + npu_matrix_extent(&a->m);
}

static bool copy(struct npu_exec *e, struct npu_view *v, struct npu_error *err)
{
	uint64_t extent = npu_matrix_extent(&v->m);
	uint8_t *bytes = npu_scratch(e, extent, err);
	if (!bytes)
		return false;
	memcpy(bytes, v->bytes, extent);
	v->bytes = bytes;
	return true;
}

bool npu_view_unshare(struct npu_exec *e, struct npu_view *src, const struct npu_view *dst, struct npu_error *err)
{
	bool in_step = src->addr == dst->addr && src->m.stride == dst->m.stride &&
		       npu_matrix_strip_bytes(&src->m) <= src->m.stride &&
		       npu_matrix_strip_bytes(&dst->m) <= dst->m.stride;
	return in_step || !meet(src, dst) || copy(e, src, err);
}

bool npu_view_detach(struct npu_exec *e, struct npu_view *src, const struct npu_view *dst, struct npu_error *err)
{
	return !meet(src, dst) || copy(e, src, err);
}

static void get_contiguous(const struct npu_view *v, uint64_t row, uint64_t col, uint64_t n, float *out)
{
	uint64_t bit = npu_matrix_bit(&v->m, row, col);
	const uint8_t *from = v->bytes + bit / 8;
	if (bit % 8) { /* a run of nibbles that starts in the middle of a byte */
		*out++ = (float)npu_number_get(v->m.dtype, from++, 1);
		n--;
	}
	npu_row_to_f32(v->m.dtype, from, out, n);
}

void npu_view_get_run(const struct npu_view *v, uint64_t row, uint64_t col, uint64_t n, float *out)
{
	unsigned block = npu_layout_block(v->m.layout);
	if (block == 1)
		block = UINT32_MAX;
	while (n > 0) {
		uint64_t run = block - col % block < n ? block - col % block : n;
		get_contiguous(v, row, col, run, out);
		col += run;
		out += run;
		n -= run;
	}
}
