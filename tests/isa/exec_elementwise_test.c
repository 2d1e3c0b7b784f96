/* SPDX-License-Identifier: Apache-2.0 */
/* Element-by-element instructions against double arithmetic over random shapes, types and strides. */
#include "tests/isa/exec_twin.h"

static double silu(double x)
{
	return x / (1 + exp(-x));
}

static double gelu(double x)
{
	return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double relu(double x)
{
	return x != x ? x : x > 0 ? x : 0;
}

static double identity(double x)
{
	return x;
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double reciprocal(double x)
{
	return 1 / x;
}

static double rsqrt(double x)
{
	return 1 / sqrt(x);
}

static double add(double a, double b)
{
	return a + b;
}

static double sub(double a, double b)
{
	return a - b;
}

static double mul(double a, double b)
{
	return a * b;
}

static double divide(double a, double b)
{
	return a / b;
}

static double divide_guarded(double a, double b)
{
	return b == 0 ? 0 : a / b;
}

static double larger(double a, double b)
{
	return a != a || b != b ? NAN : a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a != a || b != b ? NAN : a < b ? a : b;
}

static const struct {
	enum npu_op op;
	double (*f)(double, double);
	uint32_t guard;
} binaries[] = { { NPU_OP_VADD, add, 0 },           { NPU_OP_VSUB, sub, 0 },    { NPU_OP_VMUL, mul, 0 },
		 { NPU_OP_VDIV, divide, 0 },        { NPU_OP_VMAX, larger, 0 }, { NPU_OP_VMIN, smaller, 0 },
		 { NPU_OP_VDIV, divide_guarded, 1 } };

static double (*const activations[])(double) = { [NPU_ACT_NONE] = identity,
						 [NPU_ACT_SILU] = silu,
						 [NPU_ACT_GELU] = gelu,
						 [NPU_ACT_RELU] = relu,
						 [NPU_ACT_EXP] = exp };

static const struct {
	enum npu_op op;
	double (*f)(double);
} unaries[] = { { NPU_OP_VCOPY, identity }, { NPU_OP_VEXP, exp },         { NPU_OP_VRECIP, reciprocal },
		{ NPU_OP_VRSQRT, rsqrt },   { NPU_OP_VSILU, silu },       { NPU_OP_VGELU, gelu },
		{ NPU_OP_VTANH, tanh },     { NPU_OP_VSIGMOID, sigmoid }, { NPU_OP_VRELU, relu } };

static enum npu_dtype pick_type(struct twin *t)
{
	return (enum npu_dtype)pick(&t->random, 0, NPU_DTYPES - 1);
}

static struct twin_matrix place(struct twin *t, uint32_t rows, uint32_t cols)
{
	struct twin_matrix m = twin_place(t, pick(&t->random, 0, 3) == 0, rows, cols, pick_type(t), NPU_LAYOUT_ROW);
	twin_fill(t, &m, 4);
	return m;
}

START_TEST(two_operands_combine_after_activation_and_broadcast)
{
	struct twin *t = twin_new(1);
	for (int trial = 0; trial < 1400; trial++) {
		twin_shuffle(t);
		uint32_t rows = pick(&t->random, 1, 9), cols = pick(&t->random, 1, 40), which = (uint32_t)trial % 7;
		uint32_t bcast = pick(&t->random, 0, 3), act = pick(&t->random, 0, 1) ? pick(&t->random, 0, 4) : 0;
		struct twin_matrix d = place(t, rows, cols), a = place(t, rows, cols);
		struct twin_matrix b = place(t, bcast == NPU_BCAST_ROW ? 1 : rows, bcast == NPU_BCAST_COL ? 1 : cols);
		float imm = (float)pick_real(&t->random, 4);
		struct npu_insn insn = { .op = (uint8_t)binaries[which].op,
					 .ew = { .dst = d.local,
						 .a = a.local,
						 .b = b.local,
						 .imm = imm,
						 .rows = rows,
						 .cols = cols,
						 .b_stride = b.stride,
						 .dst_stride = d.stride,
						 .a_stride = a.stride,
						 .dst_type = d.dtype,
						 .a_type = a.dtype,
						 .b_type = b.dtype,
						 .b_bcast = bcast,
						 .guard = binaries[which].guard,
						 .act = act } };
		twin_run(t, &insn);
		twin_only(t, &d, 1);
		twin_spare_is_zero(t, &d);
		for (uint32_t i = 0; i < rows; i++)
			for (uint32_t j = 0; j < cols; j++) {
				double x = activations[act](twin_get(&t->before, &a, i, j));
				double y = bcast == NPU_BCAST_IMM
						   ? imm
						   : twin_get(&t->before, &b, bcast == NPU_BCAST_ROW ? 0 : i,
							      bcast == NPU_BCAST_COL ? 0 : j);
				double want = binaries[which].f(x, y), off = twin_fp32_error(x, 1);
				double above = binaries[which].f(x + off, y), below = binaries[which].f(x - off, y);
				double error = isfinite(want) ? fmax(fabs(above - want), fabs(below - want)) : 0;
				double got = twin_get(&t->after, &d, i, j);
				MUST(twin_near(d.dtype, got, want, error + twin_fp32_error(want, 1)),
				     "%s act %u: %g, %g give %g, not %g", npu_op_mnemonic(insn.op), act, x, y, got,
				     want);
			}
	}
	free(t);
}
END_TEST

START_TEST(one_operand_is_scaled_and_mapped)
{
	static const float scales[] = { 1, 1, -0.5f, 1.7f };
	struct twin *t = twin_new(2);
	for (int trial = 0; trial < 1800; trial++) {
		twin_shuffle(t);
		uint32_t rows = pick(&t->random, 1, 9), cols = pick(&t->random, 1, 40), which = (uint32_t)trial % 9;
		struct twin_matrix d = place(t, rows, cols), a = place(t, rows, cols);
		float scale = PICK(&t->random, scales);
		struct npu_insn insn = { .op = (uint8_t)unaries[which].op,
					 .un = { .dst = d.local,
						 .a = a.local,
						 .scale = scale,
						 .rows = rows,
						 .cols = cols,
						 .dst_stride = d.stride,
						 .a_stride = a.stride,
						 .dst_type = d.dtype,
						 .a_type = a.dtype } };
		twin_run(t, &insn);
		twin_only(t, &d, 1);
		twin_spare_is_zero(t, &d);
		for (uint32_t i = 0; i < rows; i++)
			for (uint32_t j = 0; j < cols; j++) {
				double x = scale * twin_get(&t->before, &a, i, j), want = unaries[which].f(x);
				double off = scale == 1 ? 0 : twin_fp32_error(x, 1);
				double above = unaries[which].f(x + off), below = unaries[which].f(x - off);
				double error = isfinite(want) && isfinite(above) && isfinite(below)
						       ? fmax(fabs(above - want), fabs(below - want))
						       : 0;
				double got = twin_get(&t->after, &d, i, j);
				MUST(twin_near(d.dtype, got, want, error + twin_fp32_error(want, 1.001)),
				     "%s of %g: %g, not %g", npu_op_mnemonic(insn.op), x, got, want);
			}
	}
	free(t);
}
END_TEST

START_TEST(a_copy_between_equal_types_moves_bits)
{
	/* an int32 that fp32 cannot hold, and a signalling NaN */
	uint32_t words[2] = { 16777217, 0x7f800001 }, got[2];
	struct npu_insn insns[] = {
		{ .op = NPU_OP_VCOPY,
		  .un = { .dst = 100,
			  .a = 0,
			  .scale = 1,
			  .rows = 1,
			  .cols = 2,
			  .dst_type = NPU_INT32,
			  .a_type = NPU_INT32 } },
		{ .op = NPU_OP_VTRANSPOSE,
		  .un = { .dst = 200,
			  .a = 0,
			  .scale = 1,
			  .rows = 1,
			  .cols = 2,
			  .dst_type = NPU_FP32,
			  .a_type = NPU_FP32 } },
	};
	struct npu_program program = { .ninsns = 2, .insns = insns, .needs = { 4096, 0, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	npu_exec_local_write(e, 0, words, sizeof words);
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, 100, got, sizeof got);
	ck_assert(memcmp(words, got, sizeof words) == 0);
	npu_exec_local_read(e, 200, got, sizeof got);
	ck_assert(memcmp(words, got, sizeof words) == 0);
	npu_exec_free(e);
}
END_TEST

START_TEST(the_transposer_turns_converts_and_scales)
{
	struct twin *t = twin_new(3);
	for (int trial = 0; trial < 500; trial++) {
		twin_shuffle(t);
		uint32_t rows = pick(&t->random, 1, 40), cols = pick(&t->random, 1, 40);
		struct twin_matrix d = place(t, cols, rows), a = place(t, rows, cols);
		if (trial % 2) {
			a = twin_place(t, false, rows, cols, d.dtype, NPU_LAYOUT_ROW);
			twin_fill(t, &a, 4);
		}
		float scale = trial % 3 ? 1 : 0.5f; /* exact in every type that is not an integer */
		struct npu_insn insn = { .op = NPU_OP_VTRANSPOSE,
					 .un = { .dst = d.local,
						 .a = a.local,
						 .scale = scale,
						 .rows = rows,
						 .cols = cols,
						 .dst_stride = d.stride,
						 .a_stride = a.stride,
						 .dst_type = d.dtype,
						 .a_type = a.dtype } };
		twin_run(t, &insn);
		twin_only(t, &d, 1);
		twin_spare_is_zero(t, &d);
		for (uint32_t i = 0; i < rows; i++)
			for (uint32_t j = 0; j < cols; j++) {
				double want = scale * twin_get(&t->before, &a, i, j),
				       got = twin_get(&t->after, &d, j, i);
				MUST(got == twin_round(d.dtype, want), "element [%u, %u]: %g, not %g", i, j, got, want);
			}
	}
	free(t);
}
END_TEST

START_TEST(a_fill_writes_its_value_in_the_type_of_the_destination)
{
	struct twin *t = twin_new(4);
	for (int trial = 0; trial < 200; trial++) {
		twin_shuffle(t);
		struct twin_matrix d = place(t, pick(&t->random, 1, 9), pick(&t->random, 1, 40));
		float imm = trial % 10 == 0 ? -INFINITY : (float)pick_real(&t->random, 300);
		struct npu_insn insn = { .op = NPU_OP_VFILL,
					 .fill = { .dst = d.local,
						   .imm = imm,
						   .rows = d.rows,
						   .cols = d.cols,
						   .dst_stride = d.stride,
						   .dst_type = d.dtype } };
		twin_run(t, &insn);
		twin_only(t, &d, 1);
		twin_spare_is_zero(t, &d);
		for (uint32_t i = 0; i < d.rows; i++)
			for (uint32_t j = 0; j < d.cols; j++)
				MUST(twin_get(&t->after, &d, i, j) == twin_round(d.dtype, imm), "element [%u, %u]", i,
				     j);
	}
	free(t);
}
END_TEST

/* op(a, b) of single fp32 values. */
static float binary(enum npu_op op, float a, float b, uint32_t guard)
{
	struct npu_insn insn = { .op = (uint8_t)op,
				 .ew = { .dst = 0, .a = 0, .b = 4, .rows = 1, .cols = 1, .guard = guard } };
	struct npu_program program = { .ninsns = 1, .insns = &insn, .needs = { 64, 0, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	float x;
	npu_exec_local_write(e, 0, &a, sizeof a);
	npu_exec_local_write(e, 4, &b, sizeof b);
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, 0, &x, sizeof x);
	npu_exec_free(e);
	return x;
}

START_TEST(division_by_zero_is_ieee_unless_guarded)
{
	ck_assert(binary(NPU_OP_VDIV, 1, 0, 0) == INFINITY);
	ck_assert(isnan(binary(NPU_OP_VDIV, 0, 0, 0)));
	ck_assert(binary(NPU_OP_VDIV, 1, 0, 1) == 0);
	ck_assert(binary(NPU_OP_VDIV, 0, -0.0f, 1) == 0);
	ck_assert(binary(NPU_OP_VDIV, NAN, 0, 1) == 0);
	ck_assert(binary(NPU_OP_VDIV, 6, 3, 1) == 2);
	ck_assert(isnan(binary(NPU_OP_VDIV, NAN, 3, 1)));
}
END_TEST

START_TEST(max_and_min_keep_nans_and_order_zeros)
{
	ck_assert(isnan(binary(NPU_OP_VMAX, NAN, 1, 0)) && isnan(binary(NPU_OP_VMAX, 1, NAN, 0)));
	ck_assert(isnan(binary(NPU_OP_VMIN, NAN, 1, 0)) && isnan(binary(NPU_OP_VMIN, 1, NAN, 0)));
	ck_assert(!signbit(binary(NPU_OP_VMAX, -0.0f, 0, 0)) && !signbit(binary(NPU_OP_VMAX, 0, -0.0f, 0)));
	ck_assert(signbit(binary(NPU_OP_VMIN, -0.0f, 0, 0)) && signbit(binary(NPU_OP_VMIN, 0, -0.0f, 0)));
	ck_assert(binary(NPU_OP_VMAX, -INFINITY, -3, 0) == -3);
	ck_assert(binary(NPU_OP_VMIN, INFINITY, -3, 0) == -3);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exec_elementwise");
	TCase *t = tcase_create("exec_elementwise");
	tcase_add_test(t, two_operands_combine_after_activation_and_broadcast);
	tcase_add_test(t, one_operand_is_scaled_and_mapped);
	tcase_add_test(t, a_copy_between_equal_types_moves_bits);
	tcase_add_test(t, the_transposer_turns_converts_and_scales);
	tcase_add_test(t, a_fill_writes_its_value_in_the_type_of_the_destination);
	tcase_add_test(t, division_by_zero_is_ieee_unless_guarded);
	tcase_add_test(t, max_and_min_keep_nans_and_order_zeros);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
