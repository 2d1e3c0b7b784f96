/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation and back with every way to share a scale, against q = round(x / scale) + zero written out. */
#include "tests/isa/exec_twin.h"

static const enum npu_dtype reals[] = { NPU_FP32, NPU_FP16, NPU_BF16 };
static const enum npu_dtype integers[] = { NPU_INT8, NPU_UINT8, NPU_INT4, NPU_UINT4 };

struct quant {
	struct npu_insn insn;
	struct twin_matrix d, a, scales, zeros; /* scales and zeros: one dense row */
};

static uint32_t groups_of(const struct npu_quant *p)
{
	return (p->cols + p->group - 1) / p->group;
}

static uint32_t count_of(const struct npu_quant *p)
{
	return p->scale == NPU_SCALE_ROW ? p->rows : p->scale == NPU_SCALE_COL ? p->cols : p->rows * groups_of(p);
}

static struct quant make(struct twin *t, enum npu_op op, enum npu_dtype from, enum npu_dtype to)
{
	struct quant x = { .insn = { .op = (uint8_t)op } };
	struct npu_quant *p = &x.insn.quant;
	enum npu_dtype integer = op == NPU_OP_VQUANT ? to : from;
	*p = (struct npu_quant){ .rows = pick(&t->random, 1, 8),
				 .cols = pick(&t->random, 1, 40),
				 .scale = pick(&t->random, 0, 3),
				 .asymmetric = pick(&t->random, 0, 1),
				 .imm = 0.25f,
				 .scale_type = PICK(&t->random, reals) };
	p->zero = (int32_t)pick(&t->random, 0, 15) - (npu_int_min(integer) < 0 ? 8 : 0);
	p->group = p->scale == NPU_SCALE_GROUP ? pick(&t->random, 1, 50) : 0;
	x.d = twin_place(t, false, p->rows, p->cols, to, NPU_LAYOUT_ROW);
	x.a = twin_place(t, false, p->rows, p->cols, from, NPU_LAYOUT_ROW);
	twin_fill(t, &x.a, 20);
	p->dst = x.d.local, p->dst_stride = x.d.stride, p->dst_type = to;
	p->a = x.a.local, p->a_stride = x.a.stride, p->a_type = from;
	if (p->scale == NPU_SCALE_TENSOR)
		return x;
	x.scales = twin_place(t, false, 1, count_of(p), (enum npu_dtype)p->scale_type, NPU_LAYOUT_ROW);
	x.zeros = twin_place(t, false, 1, count_of(p), npu_int_min(integer) < 0 ? NPU_INT8 : NPU_UINT8, NPU_LAYOUT_ROW);
	p->scales = x.scales.local, p->zeros = x.zeros.local;
	for (uint32_t i = 0; i < count_of(p); i++) {
		twin_set(&t->before, &x.scales, 0, i, i % 11 == 10 ? 0 : 0.05 + fabs(pick_real(&t->random, 1)));
		twin_set(&t->before, &x.zeros, 0, i, pick_real(&t->random, 8) + (npu_int_min(integer) < 0 ? 0 : 8));
	}
	return x;
}

static uint32_t shared(const struct npu_quant *p, uint32_t row, uint32_t col)
{
	return p->scale == NPU_SCALE_ROW ? row : p->scale == NPU_SCALE_COL ? col : row * groups_of(p) + col / p->group;
}

static float scale_at(struct twin_memory *memory, const struct quant *x, uint32_t row, uint32_t col)
{
	const struct npu_quant *p = &x->insn.quant;
	return p->scale == NPU_SCALE_TENSOR ? p->imm : (float)twin_get(memory, &x->scales, 0, shared(p, row, col));
}

static double zero_at(struct twin_memory *memory, const struct quant *x, uint32_t row, uint32_t col)
{
	const struct npu_quant *p = &x->insn.quant;
	if (!p->asymmetric)
		return 0;
	return p->scale == NPU_SCALE_TENSOR ? p->zero : twin_get(memory, &x->zeros, 0, shared(p, row, col));
}

static double quantised(struct twin_memory *memory, const struct quant *x, enum npu_dtype type, double value,
			uint32_t row, uint32_t col)
{
	float scale = scale_at(memory, x, row, col), ratio = scale == 0 ? 0 : (float)value / scale;
	double rounded = ratio != ratio ? 0 : nearbyint(ratio), q = rounded + zero_at(memory, x, row, col);
	return fmin(fmax(q, npu_int_min(type)), npu_int_max(type));
}

START_TEST(values_are_divided_rounded_and_shifted)
{
	struct twin *t = twin_new(1);
	for (int trial = 0; trial < 600; trial++) {
		twin_shuffle(t);
		enum npu_dtype type = integers[trial % 4];
		struct quant x = make(t, NPU_OP_VQUANT, PICK(&t->random, reals), type);
		twin_run(t, &x.insn);
		twin_only(t, &x.d, 1);
		for (uint32_t i = 0; i < x.d.rows; i++)
			for (uint32_t j = 0; j < x.d.cols; j++) {
				double a = twin_get(&t->before, &x.a, i, j), got = twin_get(&t->after, &x.d, i, j);
				double want = quantised(&t->before, &x, type, a, i, j);
				MUST(got == want, "%s [%u, %u] of %g: %g, not %g", npu_dtype_name(type), i, j, a, got,
				     want);
			}
	}
	free(t);
}
END_TEST

START_TEST(integers_are_shifted_back_and_multiplied)
{
	struct twin *t = twin_new(2);
	for (int trial = 0; trial < 600; trial++) {
		twin_shuffle(t);
		enum npu_dtype type = trial % 9 == 8 ? NPU_INT32 : integers[trial % 4];
		struct quant x = make(t, NPU_OP_VDEQUANT, type, PICK(&t->random, reals));
		twin_run(t, &x.insn);
		twin_only(t, &x.d, 1);
		for (uint32_t i = 0; i < x.d.rows; i++)
			for (uint32_t j = 0; j < x.d.cols; j++) {
				float q = (float)twin_get(&t->before, &x.a, i, j),
				      zero = (float)zero_at(&t->before, &x, i, j);
				float want = (q - zero) * scale_at(&t->before, &x, i, j);
				MUST(twin_get(&t->after, &x.d, i, j) == twin_round(x.d.dtype, want), "[%u, %u]", i, j);
			}
	}
	free(t);
}
END_TEST

/* Range of the elements that share the scale of (row, col), 0 among them. */
static void range_of(struct twin *t, const struct quant *x, uint32_t row, uint32_t col, double *least, double *most)
{
	*least = *most = 0;
	for (uint32_t i = 0; i < x->a.rows; i++)
		for (uint32_t j = 0; j < x->a.cols; j++) {
			if (shared(&x->insn.quant, i, j) != shared(&x->insn.quant, row, col))
				continue;
			*least = fmin(*least, twin_get(&t->before, &x->a, i, j));
			*most = fmax(*most, twin_get(&t->before, &x->a, i, j));
		}
}

START_TEST(dynamic_scales_span_the_values_and_are_written)
{
	struct twin *t = twin_new(3);
	for (int trial = 0; trial < 300; trial++) {
		twin_shuffle(t);
		enum npu_dtype type = integers[trial % 4];
		struct quant x = make(t, NPU_OP_VQUANT, PICK(&t->random, reals), type);
		struct npu_quant *p = &x.insn.quant;
		if (p->scale == NPU_SCALE_TENSOR)
			continue;
		p->dynamic = 1;
		twin_run(t, &x.insn);
		struct twin_matrix results[] = { x.d, x.scales, x.zeros };
		twin_only(t, results, p->asymmetric ? 3 : 2);
		double lo = npu_int_min(type), hi = npu_int_max(type);
		for (uint32_t i = 0; i < x.d.rows; i++)
			for (uint32_t j = 0; j < x.d.cols; j++) {
				double least, most, a = twin_get(&t->before, &x.a, i, j),
						    got = twin_get(&t->after, &x.d, i, j);
				range_of(t, &x, i, j, &least, &most);
				float exact = p->asymmetric ? ((float)most - (float)least) / (float)(hi - lo)
							    : (float)fmax(-least, most) / (float)hi;
				float scale = scale_at(&t->after, &x, i, j);
				MUST(scale == twin_round(x.scales.dtype, exact), "scale %g, not %g", (double)scale,
				     (double)exact);
				if (p->asymmetric) {
					double shift = scale == 0 ? 0 : nearbyint((float)least / scale);
					MUST(zero_at(&t->after, &x, i, j) == fmin(fmax(lo - shift, lo), hi),
					     "zero point");
				}
				MUST(got == quantised(&t->after, &x, type, a, i, j), "[%u, %u]", i, j);
				/* back again, a value is at most half a step off; a step more for a scale rounded down,
				 * and in unsigned symmetric types negative values are lost */
				double back = (got - zero_at(&t->after, &x, i, j)) * scale;
				if (lo < 0 || p->asymmetric)
					MUST(fabs(back - a) <= 1.6 * scale + 1e-6, "%g came back as %g", a, back);
			}
	}
	free(t);
}
END_TEST

START_TEST(a_row_of_zeros_has_scale_0_and_stays_zeros)
{
	struct twin *t = twin_new(4);
	for (uint32_t asymmetric = 0; asymmetric < 2; asymmetric++) {
		twin_shuffle(t);
		struct quant x = make(t, NPU_OP_VQUANT, NPU_FP16, NPU_INT8);
		struct npu_quant *p = &x.insn.quant;
		twin_fill(t, &x.a, 0);
		p->scale = NPU_SCALE_ROW;
		p->scale_type = NPU_FP32;
		p->asymmetric = asymmetric;
		p->dynamic = 1;
		x.scales = twin_place(t, false, 1, p->rows, NPU_FP32, NPU_LAYOUT_ROW);
		x.zeros = twin_place(t, false, 1, p->rows, NPU_INT8, NPU_LAYOUT_ROW);
		p->scales = x.scales.local, p->zeros = x.zeros.local;
		twin_run(t, &x.insn);
		ck_assert(scale_at(&t->after, &x, 0, 0) == 0);
		ck_assert(twin_get(&t->after, &x.d, 0, 0) == zero_at(&t->after, &x, 0, 0));
	}
	free(t);
}
END_TEST

START_TEST(ties_saturation_infinity_and_nan)
{
	float a[8] = { 0.5f, 1.5f, 2.5f, -2.5f, 1e9f, -INFINITY, NAN, 126.6f };
	int8_t d[8];
	struct npu_insn insn = { .op = NPU_OP_VQUANT,
				 .quant = { .dst = 64,
					    .a = 0,
					    .rows = 1,
					    .cols = 8,
					    .imm = 1,
					    .asymmetric = 1,
					    .zero = 1,
					    .dst_type = NPU_INT8,
					    .a_type = NPU_FP32 } };
	struct npu_program program = { .ninsns = 1, .insns = &insn, .needs = { 128, 0, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	npu_exec_local_write(e, 0, a, sizeof a);
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, 64, d, sizeof d);
	const int8_t want[8] = { 1, 3, 3, -1, 127, -128, 1, 127 };
	ck_assert(memcmp(d, want, sizeof d) == 0);
	npu_exec_free(e);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
	struct npu_insn insns[] = {
		{ .op = NPU_OP_VQUANT, .quant = { .rows = 1, .cols = 8, .dynamic = 1, .dst_type = NPU_INT8 } },
		{ .op = NPU_OP_VQUANT,
		  .quant = { .rows = 1, .cols = 8, .scale = NPU_SCALE_GROUP, .dst_type = NPU_INT8 } },
	};
	struct npu_program program = { .ninsns = 2, .insns = insns, .needs = { 128, 0, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert(!npu_exec_step(e, i, &err));
		ck_assert_int_eq(err.code, NPU_ERR_OPERAND);
	}
	npu_exec_free(e);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exec_quant");
	TCase *t = tcase_create("exec_quant");
	tcase_add_test(t, values_are_divided_rounded_and_shifted);
	tcase_add_test(t, integers_are_shifted_back_and_multiplied);
	tcase_add_test(t, dynamic_scales_span_the_values_and_are_written);
	tcase_add_test(t, a_row_of_zeros_has_scale_0_and_stays_zeros);
	tcase_add_test(t, ties_saturation_infinity_and_nan);
	tcase_add_test(t, what_cannot_be_is_refused);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
