/* SPDX-License-Identifier: Apache-2.0 */
/* Results that overlap their operands: as if all operands had been read before anything was written. Each instruction
 * runs with its result apart and with its result on top of an operand, at many offsets, and must give the same. */
#include "tests/isa/exec_twin.h"

enum { ROWS = 7, COLS = 24, AT = 32768, APART = 131072 };

struct form {
	const char *name;
	struct npu_insn insn; /* dst and strides are filled in */
	uint32_t *dst;
	uint32_t *dst_stride;
	uint32_t *dst_type;
	uint32_t *a_stride;
	uint32_t *a_type;
	bool turned;
};

/* Points the common fields of form `f` into its own instruction. */
#define COMMON(f, format)                                                                                              \
	do {                                                                                                           \
		(f)->dst = &(f)->insn.format.dst;                                                                      \
		(f)->dst_stride = &(f)->insn.format.dst_stride;                                                        \
		(f)->dst_type = &(f)->insn.format.dst_type;                                                            \
		(f)->a_stride = &(f)->insn.format.a_stride;                                                            \
		(f)->a_type = &(f)->insn.format.a_type;                                                                \
		(f)->insn.format.a = AT;                                                                               \
		(f)->insn.format.rows = ROWS;                                                                          \
	} while (0)

enum { FORMS = 9 };

/* Other operands lie on A too, where the instruction has them. */
static void make(struct form *f, unsigned which)
{
	*f = (struct form){ .name = "" };
	struct npu_insn *insn = &f->insn;
	switch (which) {
	case 0: /* B is A, shifted */
		insn->op = NPU_OP_VADD;
		COMMON(f, ew);
		insn->ew.cols = COLS, insn->ew.b = AT + 100, insn->ew.b_stride = 131, insn->ew.b_type = NPU_FP16;
		break;
	case 1:
		insn->op = NPU_OP_VMUL;
		COMMON(f, ew);
		insn->ew.cols = COLS, insn->ew.b = AT + 64, insn->ew.b_bcast = NPU_BCAST_COL, insn->ew.b_stride = 8;
		insn->ew.b_type = NPU_FP16;
		break;
	case 2:
		insn->op = NPU_OP_VMAX;
		COMMON(f, ew);
		insn->ew.cols = COLS, insn->ew.b = AT + 64, insn->ew.b_bcast = NPU_BCAST_ROW,
		insn->ew.b_type = NPU_FP16;
		break;
	case 3:
		insn->op = NPU_OP_VCOPY;
		COMMON(f, un);
		insn->un.cols = COLS, insn->un.scale = 1;
		break;
	case 4:
		insn->op = NPU_OP_VTRANSPOSE;
		COMMON(f, un);
		insn->un.cols = COLS, insn->un.scale = 1;
		f->turned = true;
		break;
	case 5:
		insn->op = NPU_OP_VSOFTMAX;
		COMMON(f, softmax);
		insn->softmax.cols = COLS, insn->softmax.scale = 0.5f;
		break;
	case 6:
		insn->op = NPU_OP_VRMSNORM;
		COMMON(f, norm);
		insn->norm.cols = COLS, insn->norm.weight = AT + 40, insn->norm.weight_type = NPU_FP16,
		insn->norm.eps = 1;
		break;
	case 7:
		insn->op = NPU_OP_VROPE;
		COMMON(f, rope);
		insn->rope.heads = 2, insn->rope.dim = COLS / 2, insn->rope.rotary = 8,
		insn->rope.table_type = NPU_FP16;
		insn->rope.cosine = AT + 30, insn->rope.sine = AT + 60, insn->rope.table_stride = 50;
		break;
	case 8:
		insn->op = NPU_OP_VQUANT;
		COMMON(f, quant);
		insn->quant.cols = COLS, insn->quant.scale = NPU_SCALE_GROUP, insn->quant.group = 8,
		insn->quant.scales = AT + 16;
		insn->quant.scale_type = NPU_FP16;
		break;
	}
}

/* The result as bits, in order. */
static void collect(struct twin *t, const struct form *f, uint64_t *out)
{
	struct twin_matrix d = {
		*f->dst,        f->turned ? COLS : ROWS, f->turned ? ROWS : COLS, (enum npu_dtype) * f->dst_type,
		NPU_LAYOUT_ROW, *f->dst_stride
	};
	twin_run(t, &f->insn);
	for (uint32_t i = 0; i < d.rows; i++)
		for (uint32_t j = 0; j < d.cols; j++)
			*out++ = twin_raw(&t->after, &d, i, j);
}

START_TEST(operands_are_read_before_anything_is_written)
{
	static const enum npu_dtype types[] = { NPU_FP16, NPU_FP32, NPU_INT8, NPU_INT4 };
	struct twin *t = twin_new(1);
	for (int trial = 0; trial < 1500; trial++) {
		struct form f;
		uint64_t apart[ROWS * COLS], over[ROWS * COLS];
		make(&f, (unsigned)trial % FORMS);
		twin_shuffle(t);
		/* fp16 numbers near 1 whatever type reads them */
		for (uint32_t i = 0; i < 8192; i += 2) {
			uint16_t half = (uint16_t)(0x3800 | (next_random(&t->random) & 0x87ff));
			memcpy(t->before.sram + AT - 4096 + i, &half, sizeof half);
		}
		*f.a_type = f.insn.op == NPU_OP_VQUANT || trial % 2 ? NPU_FP16 : NPU_FP32;
		*f.dst_type = PICK(&t->random, types);
		*f.a_stride = trial % 3 ? 100 : 0;
		*f.dst_stride = trial % 5 ? 100 : 0;
		*f.dst = APART;
		collect(t, &f, apart);
		*f.dst = trial % 4 == 0 ? AT : AT - 200 + pick(&t->random, 0, 400);
		collect(t, &f, over);
		MUST(memcmp(apart, over, sizeof apart) == 0, "%s with its result at %d of A",
		     npu_op_mnemonic(f.insn.op), (int)*f.dst - AT);
	}
	free(t);
}
END_TEST

START_TEST(a_reduction_may_overwrite_its_row_and_the_state_its_scores)
{
	float a[4] = { 1, 2, 3, 4 }, got[4];
	struct npu_insn insns[] = {
		{ .op = NPU_OP_VREDSUM, .red = { .dst = 0, .a = 0, .rows = 2, .cols = 2, .accumulate = 1 } },
		{ .op = NPU_OP_VREDSUM, .red = { .dst = 4, .a = 0, .rows = 2, .cols = 2 } },
	};
	/* rows (1, 2) and (3, 4); D starts as (1, 2): 1 + 3, 2 + 7. Then rows (4, 9) and (3, 4) into the second element
	 * on */
	const float first[4] = { 4, 9, 3, 4 }, second[4] = { 4, 13, 7, 4 };
	struct npu_program program = { .ninsns = 2, .insns = insns, .needs = { 64, 0, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	npu_exec_local_write(e, 0, a, sizeof a);
	twin_must(npu_exec_step(e, 0, &err), &err);
	npu_exec_local_read(e, 0, got, sizeof got);
	ck_assert(memcmp(got, first, sizeof got) == 0);
	twin_must(npu_exec_step(e, 1, &err), &err);
	npu_exec_local_read(e, 0, got, sizeof got);
	ck_assert(memcmp(got, second, sizeof got) == 0);
	npu_exec_free(e);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exec_overlap");
	TCase *t = tcase_create("exec_overlap");
	tcase_add_test(t, operands_are_read_before_anything_is_written);
	tcase_add_test(t, a_reduction_may_overwrite_its_row_and_the_state_its_scores);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
