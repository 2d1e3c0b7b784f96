/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's life, its memories, and which function computes which instruction. */
#include "isa/exec/state.h"

#include <stdlib.h>
#include <string.h>

static bool allocate(struct npu_image *image, uint64_t nbytes)
{
	image->nbytes = nbytes;
	image->bytes = calloc(1, nbytes ? nbytes : 1);
	return image->bytes != NULL;
}

struct npu_exec *npu_exec_new(const struct npu_program *program, const struct npu_exec_options *options,
			      struct npu_error *err)
{
	const struct npu_exec_options initial = { 0 };
	if (!options)
		options = &initial;
	struct npu_exec *e = calloc(1, sizeof *e);
	uint64_t sram = options->sram_bytes ? options->sram_bytes : program->needs.sram_bytes;
	uint64_t accum = options->accum_bytes ? options->accum_bytes : program->needs.accum_bytes;
	if (!e || !allocate(&e->sram, sram) || !allocate(&e->accum, accum)) {
		npu_exec_free(e);
		npu_fail(err, NPU_ERR_MEMORY, "out of memory for %llu bytes of SRAM and %llu of accumulators",
			 (unsigned long long)sram, (unsigned long long)accum);
		return NULL;
	}
	e->program = program;
	e->options = *options;
	npu_dram_init(&e->dram, options->max_dram_bytes, options->writers);
	npu_math_init(&e->math, (int)options->exp);
	return e;
}

void npu_exec_free(struct npu_exec *e)
{
	if (!e)
		return;
	npu_dram_fini(&e->dram);
	for (unsigned i = 0; i < NPU_SCRATCHES; i++)
		free(e->scratch[i].bytes);
	free(e->sram.bytes);
	free(e->accum.bytes);
	free(e);
}

static bool execute(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	switch ((enum npu_op)insn->op) {
	case NPU_OP_SYNC_LOAD:
	case NPU_OP_SYNC_STORE:
	case NPU_OP_SYNC_MATRIX:
	case NPU_OP_SYNC_VECTOR:
		return true;
	case NPU_OP_LOAD:
	case NPU_OP_STORE:
		return npu_exec_dma(e, insn, err);
	case NPU_OP_GATHER:
	case NPU_OP_SCATTER:
		return npu_exec_paged(e, insn, err);
	case NPU_OP_MATMUL:
		return npu_exec_matmul(e, insn, err);
	case NPU_OP_VADD:
		return npu_exec_ew(e, insn, npu_row_add, err);
	case NPU_OP_VSUB:
		return npu_exec_ew(e, insn, npu_row_sub, err);
	case NPU_OP_VMUL:
		return npu_exec_ew(e, insn, npu_row_mul, err);
	case NPU_OP_VDIV:
		return npu_exec_ew(e, insn, insn->ew.guard ? npu_row_div_guarded : npu_row_div, err);
	case NPU_OP_VMAX:
		return npu_exec_ew(e, insn, npu_row_max, err);
	case NPU_OP_VMIN:
		return npu_exec_ew(e, insn, npu_row_min, err);
	case NPU_OP_VCOPY:
		return npu_exec_un(e, insn, npu_row_copy, err);
	case NPU_OP_VEXP:
		return npu_exec_un(e, insn, npu_row_exp, err);
	case NPU_OP_VRECIP:
		return npu_exec_un(e, insn, npu_row_recip, err);
	case NPU_OP_VRSQRT:
		return npu_exec_un(e, insn, npu_row_rsqrt, err);
	case NPU_OP_VSILU:
		return npu_exec_un(e, insn, npu_row_silu, err);
	case NPU_OP_VGELU:
		return npu_exec_un(e, insn, npu_row_gelu, err);
	case NPU_OP_VTANH:
		return npu_exec_un(e, insn, npu_row_tanh, err);
	case NPU_OP_VSIGMOID:
		return npu_exec_un(e, insn, npu_row_sigmoid, err);
	case NPU_OP_VRELU:
		return npu_exec_un(e, insn, npu_row_relu, err);
	case NPU_OP_VTRANSPOSE:
		return npu_exec_transpose(e, insn, err);
	case NPU_OP_VREDMAX:
		return npu_exec_red(e, insn, npu_fold_max, npu_row_max, err);
	case NPU_OP_VREDSUM:
		return npu_exec_red(e, insn, npu_fold_sum, npu_row_add, err);
	case NPU_OP_VREDSUMSQ:
		return npu_exec_red(e, insn, npu_fold_sumsq, npu_row_add, err);
	case NPU_OP_VQUANT:
		return npu_exec_quant(e, insn, err);
	case NPU_OP_VDEQUANT:
		return npu_exec_dequant(e, insn, err);
	case NPU_OP_VROPE:
		return npu_exec_rope(e, insn, err);
	case NPU_OP_VRMSNORM:
		return npu_exec_rmsnorm(e, insn, err);
	case NPU_OP_VLAYERNORM:
		return npu_exec_layernorm(e, insn, err);
	case NPU_OP_VMASK:
		return npu_exec_mask(e, insn, err);
	case NPU_OP_VSOFTMAX:
		return npu_exec_softmax(e, insn, err);
	case NPU_OP_VSOFTMAX_ONLINE:
		return npu_exec_softmax_online(e, insn, err);
	case NPU_OP_VFILL:
		return npu_exec_fill(e, insn, err);
	}
	return npu_fail(err, NPU_ERR_OPERAND, "#%u: unknown opcode 0x%02x", e->insn, insn->op);
}

bool npu_exec_step(struct npu_exec *e, uint32_t insn, struct npu_error *err)
{
	if (insn >= e->program->ninsns)
		return npu_fail(err, NPU_ERR_BOUNDS, "instruction %u of a program of %u", insn, e->program->ninsns);
	e->insn = insn;
	e->nscratch = 0;
	return execute(e, &e->program->insns[insn], err);
}

bool npu_exec_run(struct npu_exec *e, struct npu_error *err)
{
	for (uint32_t step = 0; step < e->program->ninsns; step++) {
		uint32_t insn = e->options.order ? e->options.order(e->options.order_context, step) : step;
		if (!npu_exec_step(e, insn, err))
			return false;
	}
	return true;
}

static bool below_end(uint64_t addr, uint64_t nbytes)
{
	const uint64_t end = (uint64_t)1 << NPU_DRAM_BITS;
	return addr <= end && nbytes <= end - addr;
}

bool npu_exec_dram_read(const struct npu_exec *e, uint64_t addr, void *out, uint64_t nbytes)
{
	if (!below_end(addr, nbytes))
		return false;
	npu_dram_read(&e->dram, addr, out, nbytes);
	return true;
}

bool npu_exec_dram_write(struct npu_exec *e, uint64_t addr, const void *bytes, uint64_t nbytes)
{
	return below_end(addr, nbytes) && npu_dram_write(&e->dram, addr, bytes, nbytes, NPU_EXEC_NOBODY);
}

/* NULL when out of bounds. */
static uint8_t *local_bytes(const struct npu_exec *e, uint32_t local, uint64_t nbytes)
{
	const struct npu_image *image = npu_is_acc(local) ? &e->accum : &e->sram;
	uint64_t offset = npu_local_offset(local);
	return offset <= image->nbytes && nbytes <= image->nbytes - offset ? image->bytes + offset : NULL;
}

bool npu_exec_local_read(const struct npu_exec *e, uint32_t local, void *out, uint64_t nbytes)
{
	const uint8_t *bytes = local_bytes(e, local, nbytes);
	if (bytes && nbytes)
		memcpy(out, bytes, nbytes);
	return bytes != NULL;
}

bool npu_exec_local_write(struct npu_exec *e, uint32_t local, const void *bytes, uint64_t nbytes)
{
	uint8_t *to = local_bytes(e, local, nbytes);
	if (to && nbytes)
		memcpy(to, bytes, nbytes);
	return to != NULL;
}

uint32_t npu_exec_dram_writer(const struct npu_exec *e, uint64_t addr)
{
	return below_end(addr, 1) ? npu_dram_writer(&e->dram, addr) : NPU_EXEC_NOBODY;
}

uint64_t npu_exec_dram_touched(const struct npu_exec *e)
{
	return e->dram.pages * NPU_DRAM_PAGE_BYTES;
}
