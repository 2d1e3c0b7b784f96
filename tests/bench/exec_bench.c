/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the functional executor is on this host, in processor time: one line an instruction and shape. Prints;
 * judges nothing. */
#include "isa/exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SRAM = 4 << 20, ACCUM = 1 << 20, B_AT = 1 << 20, C_AT = 2 << 20, SCALES_AT = 3 << 20 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Small random bytes that are harmless numbers of every type: fp16 and bf16 near 1. */
static void fill(struct npu_exec *e, uint32_t local, uint64_t nbytes)
{
	uint32_t x = 12345;
	for (uint64_t i = 0; i + 4 <= nbytes; i += 4) {
		x = x * 1664525u + 1013904223u;
		uint32_t word = (x & 0x03ff03ffu) | 0x3c003c00u;
		npu_exec_local_write(e, local + (uint32_t)i, &word, sizeof word);
	}
}

static void measure(const char *name, struct npu_insn insn, double work, const char *unit, enum npu_exp exp)
{
	struct npu_program program = { .name = name, .ninsns = 1, .insns = &insn };
	struct npu_exec_options options = { .exp = exp, .sram_bytes = SRAM, .accum_bytes = ACCUM };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, &options, &err);
	if (!e)
		exit(1);
	fill(e, 0, SRAM);
	unsigned runs = 0;
	double start = now(), took = 0;
	while (took < 0.3) {
		if (!npu_exec_run(e, &err)) {
			fprintf(stderr, "%s: %s\n", name, err.text);
			exit(1);
		}
		runs++;
		took = now() - start;
	}
	printf("%-44s %9.2f %s/s\n", name, work * runs / took * 1e-9, unit);
	npu_exec_free(e);
}

static struct npu_insn product(uint32_t m, uint32_t n, uint32_t k, enum npu_dtype a, enum npu_dtype b, uint32_t group,
			       bool transpose_b)
{
	return (struct npu_insn){ .op = NPU_OP_MATMUL,
				  .matmul = { .dst = NPU_ACC_BIT,
					      .a = 0,
					      .b = B_AT,
					      .scales = SCALES_AT,
					      .m = m,
					      .n = n,
					      .k = k,
					      .group = group,
					      .a_type = a,
					      .b_type = b,
					      .transpose_b = transpose_b } };
}

static void products(void)
{
	static const struct {
		const char *name;
		uint32_t m, n, k;
		enum npu_dtype a, b;
		uint32_t group;
		bool transpose_b;
	} cases[] = {
		{ "matmul fp16 128x128x128", 128, 128, 128, NPU_FP16, NPU_FP16, 0, false },
		{ "matmul fp16 128x128x128, B transposed", 128, 128, 128, NPU_FP16, NPU_FP16, 0, true },
		{ "matmul fp16 256x256x1024", 256, 256, 1024, NPU_FP16, NPU_FP16, 0, false },
		{ "matmul fp16 1x256x1024", 1, 256, 1024, NPU_FP16, NPU_FP16, 0, false },
		{ "matmul bf16 128x128x128", 128, 128, 128, NPU_BF16, NPU_BF16, 0, false },
		{ "matmul int8 128x128x128", 128, 128, 128, NPU_INT8, NPU_INT8, 0, false },
		{ "matmul fp16 x int4, groups of 128", 128, 128, 512, NPU_FP16, NPU_INT4, 128, false },
		{ "matmul fp16 x int4, groups of 32", 128, 128, 512, NPU_FP16, NPU_INT4, 32, false },
		{ "matmul int8 x int4, 1x512x512, groups of 128", 1, 512, 512, NPU_INT8, NPU_INT4, 128, false },
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		measure(cases[i].name,
			product(cases[i].m, cases[i].n, cases[i].k, cases[i].a, cases[i].b, cases[i].group,
				cases[i].transpose_b),
			(double)cases[i].m * cases[i].n * cases[i].k, "GMAC", NPU_EXP_EXACT);
}

enum { ROWS = 128, COLS = 512 };

static void one_operand(const char *name, enum npu_op op, enum npu_dtype from, enum npu_dtype to, enum npu_exp exp)
{
	struct npu_insn insn = {
		.op = (uint8_t)op,
		.un = { .dst = C_AT, .a = 0, .scale = 1, .rows = ROWS, .cols = COLS, .dst_type = to, .a_type = from }
	};
	measure(name, insn, (double)ROWS * COLS, "Gelement", exp);
}

static void elementwise(void)
{
	struct npu_insn add = { .op = NPU_OP_VADD,
				.ew = { .dst = C_AT, .a = 0, .b = B_AT, .rows = ROWS, .cols = COLS } };
	measure("vadd fp32", add, (double)ROWS * COLS, "Gelement", NPU_EXP_EXACT);
	one_operand("vcopy fp32 to fp16", NPU_OP_VCOPY, NPU_FP32, NPU_FP16, NPU_EXP_EXACT);
	one_operand("vcopy fp16 to fp32", NPU_OP_VCOPY, NPU_FP16, NPU_FP32, NPU_EXP_EXACT);
	one_operand("vcopy fp32 to int8", NPU_OP_VCOPY, NPU_FP32, NPU_INT8, NPU_EXP_EXACT);
	one_operand("vcopy int4 to fp16", NPU_OP_VCOPY, NPU_INT4, NPU_FP16, NPU_EXP_EXACT);
	one_operand("vexp fp32, exact", NPU_OP_VEXP, NPU_FP32, NPU_FP32, NPU_EXP_EXACT);
	one_operand("vexp fp32, lut", NPU_OP_VEXP, NPU_FP32, NPU_FP32, NPU_EXP_LUT);
	one_operand("vexp fp32, poly", NPU_OP_VEXP, NPU_FP32, NPU_FP32, NPU_EXP_POLY);
	one_operand("vgelu fp32", NPU_OP_VGELU, NPU_FP32, NPU_FP32, NPU_EXP_EXACT);
	one_operand("vtranspose fp16", NPU_OP_VTRANSPOSE, NPU_FP16, NPU_FP16, NPU_EXP_EXACT);
	one_operand("vtranspose fp32 to fp16", NPU_OP_VTRANSPOSE, NPU_FP32, NPU_FP16, NPU_EXP_EXACT);
}

static void rows(void)
{
	struct npu_insn softmax = { .op = NPU_OP_VSOFTMAX_ONLINE,
				    .softmax = { .dst = C_AT,
						 .a = 0,
						 .state = SCALES_AT,
						 .scale = 0.125f,
						 .rows = ROWS,
						 .cols = COLS,
						 .first = 1,
						 .dst_type = NPU_FP16,
						 .a_type = NPU_FP32 } };
	measure("vsoftmax_online fp32 to fp16, exact", softmax, (double)ROWS * COLS, "Gelement", NPU_EXP_EXACT);
	measure("vsoftmax_online fp32 to fp16, poly", softmax, (double)ROWS * COLS, "Gelement", NPU_EXP_POLY);
	struct npu_insn norm = { .op = NPU_OP_VRMSNORM,
				 .norm = { .dst = C_AT,
					   .a = 0,
					   .weight = B_AT,
					   .rows = ROWS,
					   .cols = COLS,
					   .eps = 1e-5f,
					   .dst_type = NPU_FP16,
					   .a_type = NPU_FP16,
					   .weight_type = NPU_FP16 } };
	measure("vrmsnorm fp16", norm, (double)ROWS * COLS, "Gelement", NPU_EXP_EXACT);
	struct npu_insn quant = { .op = NPU_OP_VQUANT,
				  .quant = { .dst = C_AT,
					     .a = 0,
					     .scales = B_AT,
					     .rows = ROWS,
					     .cols = COLS,
					     .scale = NPU_SCALE_ROW,
					     .dst_type = NPU_INT8,
					     .a_type = NPU_FP16,
					     .scale_type = NPU_FP32,
					     .dynamic = 1 } };
	measure("vquant fp16 to int8, a scale a row", quant, (double)ROWS * COLS, "Gelement", NPU_EXP_EXACT);
}

static void transfers(void)
{
	struct npu_insn load = { .op = NPU_OP_LOAD,
				 .dma = { .local = 0, .dram = 4096, .rows = 1024, .cols = 512, .dtype = NPU_FP16 } };
	measure("load, rows", load, 1024 * 1024, "GB", NPU_EXP_EXACT);
	load.dma.local_layout = NPU_LAYOUT_BLOCK16;
	measure("load, rows into 16 x 16 blocks", load, 1024 * 1024, "GB", NPU_EXP_EXACT);
	load.dma.local_layout = NPU_LAYOUT_ROW;
	load.dma.transpose = 1;
	measure("load, transposed", load, 1024 * 1024, "GB", NPU_EXP_EXACT);
}

int main(void)
{
	products();
	elementwise();
	rows();
	transfers();
	return 0;
}
