/* SPDX-License-Identifier: Apache-2.0 */
/* The three ways to compute exp and what is made of it, against libm in double. The bounds are those of docs/values.md.
 */
#include "tests/isa/exec_twin.h"

enum { CHUNK = 4096 };

/* y = op(x) of CHUNK values. */
static void run(enum npu_op op, enum npu_exp how, const float *x, float *y)
{
	struct npu_insn insn = { .op = (uint8_t)op,
				 .un = { .dst = CHUNK * 4,
					 .a = 0,
					 .scale = 1,
					 .rows = 1,
					 .cols = CHUNK,
					 .dst_type = NPU_FP32,
					 .a_type = NPU_FP32 } };
	struct npu_program program = { .ninsns = 1, .insns = &insn, .needs = { 2 * CHUNK * 4, 0, 0 } };
	struct npu_exec_options options = { .exp = how };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, &options, &err);
	npu_exec_local_write(e, 0, x, CHUNK * 4);
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, CHUNK * 4, y, CHUNK * 4);
	npu_exec_free(e);
}

static float float_of(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

struct figures {
	double worst_relative; /* where the result is a normal number */
	uint64_t inexact;      /* results that differ from the nearest fp32 */
	uint64_t count;
};

/* All over the range in which exp is neither 0 nor infinity: every `step`-th fp32 of both signs. */
static struct figures sweep(enum npu_exp how, uint32_t step)
{
	struct figures f = { 0 };
	float x[CHUNK], y[CHUNK];
	const uint32_t last = 0x42b20000; /* 89 */
	for (bool negative = false;; negative = true) {
		for (uint32_t bits = 0x30000000; bits < last;) {
			for (unsigned i = 0; i < CHUNK; i++, bits += step)
				x[i] = float_of(bits | (negative ? 0x80000000u : 0));
			run(NPU_OP_VEXP, how, x, y);
			for (unsigned i = 0; i < CHUNK; i++) {
				double exact = exp(x[i]);
				if (exact < 0x1p-126 || exact > 0x1.fffffep127)
					continue;
				double relative = fabs(y[i] / exact - 1);
				f.count++;
				f.inexact += y[i] != (float)exact;
				f.worst_relative = fmax(f.worst_relative, relative);
			}
		}
		if (negative)
			return f;
	}
}

START_TEST(exact_exp_is_the_nearest_fp32)
{
	struct figures f = sweep(NPU_EXP_EXACT, 61);
	ck_assert_uint_gt(f.count, 1000000);
	ck_assert_uint_eq(f.inexact, 0);
}
END_TEST

START_TEST(lut_exp_is_within_its_bound)
{
	struct figures f = sweep(NPU_EXP_LUT, 61);
	/* linear interpolation over 1/64 of an octave errs by (ln 2 / 64)^2 / 8 = 1.47e-5 */
	ck_assert(f.worst_relative > 1.4e-5 && f.worst_relative < 0x1p-15);
}
END_TEST

START_TEST(poly_exp_is_within_its_bound)
{
	struct figures f = sweep(NPU_EXP_POLY, 61);
	/* the polynomial alone errs by 3.56e-6 */
	ck_assert(f.worst_relative > 3.5e-6 && f.worst_relative < 0x1p-18);
}
END_TEST

START_TEST(exp_at_the_borders)
{
	float x[CHUNK] = { 0,         -0.0f,     INFINITY, -INFINITY, NAN,   88.7228f, 88.7229f,
			   -87.3365f, -87.3366f, -103.9f,  -104.1f,   1e30f, -1e30f };
	float y[CHUNK];
	for (int how = 0; how < NPU_EXP_CHOICES; how++) {
		run(NPU_OP_VEXP, (enum npu_exp)how, x, y);
		ck_assert(y[0] == 1 && y[1] == 1);
		ck_assert(isinf(y[2]) && y[3] == 0 && isnan(y[4]));
		ck_assert(y[5] < INFINITY && y[5] > 3.4e38f && isinf(y[6]));
		ck_assert(y[7] > 0);
		/* below 2^-126 the approximations flush, exact keeps subnormals down to 2^-149 = exp(-103.28) */
		ck_assert(how == NPU_EXP_EXACT ? y[8] > 0 : y[8] == 0);
		ck_assert(y[10] == 0);
		ck_assert(isinf(y[11]) && y[12] == 0);
	}
}
END_TEST

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double silu(double x)
{
	return x / (1 + exp(-x));
}

static double gelu(double x)
{
	return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/* GELU by its own formula loses the left tail to cancellation, so it gets an absolute bound besides. */
static const struct {
	enum npu_op op;
	double (*exact)(double);
	double absolute[NPU_EXP_CHOICES];
} functions[] = {
	{ NPU_OP_VSIGMOID, sigmoid, { 0, 8e-6, 2e-6 } },
	{ NPU_OP_VSILU, silu, { 0, 3e-5, 8e-6 } },
	{ NPU_OP_VGELU, gelu, { 1e-13, 3e-5, 8e-6 } },
	{ NPU_OP_VTANH, tanh, { 0, 8e-6, 2e-6 } },
};

START_TEST(functions_of_exp_are_within_their_bounds)
{
	float x[CHUNK], y[CHUNK];
	uint64_t random = 5;
	for (unsigned f = 0; f < sizeof functions / sizeof *functions; f++)
		for (int how = 0; how < NPU_EXP_CHOICES; how++) {
			for (int trial = 0; trial < 50; trial++) {
				for (unsigned i = 0; i < CHUNK; i++)
					x[i] = (float)ldexp(pick_real(&random, 1), (int)pick(&random, 0, 20) - 15);
				run(functions[f].op, (enum npu_exp)how, x, y);
				for (unsigned i = 0; i < CHUNK; i++) {
					double exact = functions[f].exact(x[i]), off = fabs(y[i] - exact);
					double allowed =
						fabs(exact) * 0x1.00001p-24 + 0x1p-150 + functions[f].absolute[how];
					MUST(off <= allowed, "%s %s(%.9g) = %.9g, not %.9g", npu_exp_names[how],
					     npu_op_mnemonic(functions[f].op), x[i], y[i], exact);
				}
			}
		}
}
END_TEST

START_TEST(functions_of_exp_at_infinity)
{
	float x[CHUNK] = { INFINITY, -INFINITY, NAN, 0, -0.0f, 200, -200 }, y[CHUNK];
	run(NPU_OP_VSIGMOID, NPU_EXP_EXACT, x, y);
	ck_assert(y[0] == 1 && y[1] == 0 && isnan(y[2]) && y[3] == 0.5f);
	run(NPU_OP_VTANH, NPU_EXP_EXACT, x, y);
	ck_assert(y[0] == 1 && y[1] == -1 && isnan(y[2]) && y[3] == 0 && signbit(y[4]));
	run(NPU_OP_VSILU, NPU_EXP_EXACT, x, y);
	/* -inf / (1 + inf) is NaN: the formula, not the limit */
	ck_assert(isinf(y[0]) && isnan(y[1]) && isnan(y[2]) && y[3] == 0 && y[5] == 200 && y[6] == 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exec_exp");
	TCase *t = tcase_create("exec_exp");
	tcase_add_test(t, exact_exp_is_the_nearest_fp32);
	tcase_add_test(t, lut_exp_is_within_its_bound);
	tcase_add_test(t, poly_exp_is_within_its_bound);
	tcase_add_test(t, exp_at_the_borders);
	tcase_add_test(t, functions_of_exp_are_within_their_bounds);
	tcase_add_test(t, functions_of_exp_at_infinity);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
