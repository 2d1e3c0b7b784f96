/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, norms and rotary embedding against double arithmetic, and the order of sums against its description. */
#include "tests/isa/exec_twin.h"

static const enum npu_dtype reals[] = { NPU_FP32, NPU_FP16, NPU_BF16 };

static struct twin_matrix place(struct twin *t, uint32_t rows, uint32_t cols, double range)
{
	struct twin_matrix m = twin_place(t, false, rows, cols, PICK(&t->random, reals), NPU_LAYOUT_ROW);
	twin_fill(t, &m, range);
	return m;
}

/* A matrix of one dense row. */
static struct twin_matrix place_vector(struct twin *t, uint32_t n, double range)
{
	struct twin_matrix m = place(t, 1, n, range);
	m.stride = 0;
	return m;
}

/* The documented order: lanes of 16, then halves onto halves. */
static float sum_of(struct twin *t, const struct twin_matrix *m, uint32_t row, bool squares)
{
	float lane[16] = { 0 };
	for (uint32_t i = 0; i < m->cols; i++) {
		float x = (float)twin_get(&t->before, m, row, i);
		lane[i % 16] += squares ? x * x : x;
	}
	for (uint32_t half = 8; half > 0; half /= 2)
		for (uint32_t l = 0; l < half; l++)
			lane[l] += lane[l + half];
	return lane[0];
}

static float max_of(struct twin *t, const struct twin_matrix *m, uint32_t row)
{
	float max = -INFINITY;
	for (uint32_t i = 0; i < m->cols; i++)
		max = fmaxf(max, (float)twin_get(&t->before, m, row, i));
	return max;
}

START_TEST(reductions_follow_their_documented_order_bit_for_bit)
{
	static const enum npu_op ops[] = { NPU_OP_VREDMAX, NPU_OP_VREDSUM, NPU_OP_VREDSUMSQ };
	struct twin *t = twin_new(1);
	for (int trial = 0; trial < 300; trial++) {
		twin_shuffle(t);
		struct twin_matrix a = place(t, pick(&t->random, 1, 9), pick(&t->random, 1, 90), 4);
		struct twin_matrix d = place_vector(t, a.rows, 4);
		struct npu_insn insn = { .op = (uint8_t)ops[trial % 3],
					 .red = { .dst = d.local,
						  .a = a.local,
						  .rows = a.rows,
						  .cols = a.cols,
						  .accumulate = pick(&t->random, 0, 1),
						  .a_stride = a.stride,
						  .dst_type = d.dtype,
						  .a_type = a.dtype } };
		twin_run(t, &insn);
		twin_only(t, &d, 1);
		for (uint32_t i = 0; i < a.rows; i++) {
			float old = (float)twin_get(&t->before, &d, 0, i);
			float want = insn.op == NPU_OP_VREDMAX ? max_of(t, &a, i)
							       : sum_of(t, &a, i, insn.op == NPU_OP_VREDSUMSQ);
			if (insn.red.accumulate)
				want = insn.op == NPU_OP_VREDMAX ? fmaxf(old, want) : old + want;
			ck_assert(twin_get(&t->after, &d, 0, i) == twin_round(d.dtype, want));
		}
	}
	free(t);
}
END_TEST

START_TEST(a_nan_makes_the_maximum_of_its_row_nan)
{
	struct twin *t = twin_new(2);
	for (uint32_t at = 0; at < 40; at++) {
		twin_shuffle(t);
		struct twin_matrix a = place(t, 2, 40, 4), d = place_vector(t, 2, 4);
		twin_set(&t->before, &a, 1, at, NAN);
		struct npu_insn insn = { .op = NPU_OP_VREDMAX,
					 .red = { .dst = d.local,
						  .a = a.local,
						  .rows = 2,
						  .cols = 40,
						  .a_stride = a.stride,
						  .dst_type = d.dtype,
						  .a_type = a.dtype } };
		twin_run(t, &insn);
		ck_assert(!isnan(twin_get(&t->after, &d, 0, 0)) && isnan(twin_get(&t->after, &d, 0, 1)));
	}
	free(t);
}
END_TEST

START_TEST(norms_are_within_a_few_roundings)
{
	struct twin *t = twin_new(3);
	for (int trial = 0; trial < 300; trial++) {
		twin_shuffle(t);
		bool layer = trial % 2;
		struct twin_matrix a = place(t, pick(&t->random, 1, 6), pick(&t->random, 2, 90), 4);
		struct twin_matrix d = place(t, a.rows, a.cols, 1), w = place_vector(t, a.cols, 2);
		struct twin_matrix b = w;
		b.local = t->next_sram;
		t->next_sram += 400;
		twin_fill(t, &b, 1);
		bool biased = pick(&t->random, 0, 1), offset = pick(&t->random, 0, 1);
		float eps = trial % 5 ? 1e-5f : 0.25f;
		struct npu_insn insn = { .op = layer ? NPU_OP_VLAYERNORM : NPU_OP_VRMSNORM,
					 .norm = { .dst = d.local,
						   .a = a.local,
						   .weight = w.local,
						   .bias = b.local,
						   .rows = a.rows,
						   .cols = a.cols,
						   .has_bias = biased,
						   .unit_offset = offset,
						   .dst_stride = d.stride,
						   .a_stride = a.stride,
						   .dst_type = d.dtype,
						   .a_type = a.dtype,
						   .weight_type = w.dtype,
						   .eps = eps } };
		twin_run(t, &insn);
		twin_only(t, &d, 1);
		for (uint32_t i = 0; i < a.rows; i++) {
			double mean = 0, square = 0;
			for (uint32_t j = 0; layer && j < a.cols; j++)
				mean += twin_get(&t->before, &a, i, j) / a.cols;
			for (uint32_t j = 0; j < a.cols; j++)
				square += pow(twin_get(&t->before, &a, i, j) - mean, 2) / a.cols;
			double r = 1 / sqrt(square + eps);
			for (uint32_t j = 0; j < a.cols; j++) {
				double weight = twin_get(&t->before, &w, 0, j) + offset;
				double bias = biased ? twin_get(&t->before, &b, 0, j) : 0;
				double want = (twin_get(&t->before, &a, i, j) - mean) * r * weight + bias;
				/* values up to 4 lose 2^-24 of that in the mean, and r as much again */
				double error = twin_fp32_error((4 + fabs(mean)) * r * fabs(weight) + fabs(bias), 16);
				double got = twin_get(&t->after, &d, i, j);
				MUST(twin_near(d.dtype, got, want, error), "%s [%u, %u]: %g, not %g",
				     npu_op_mnemonic(insn.op), i, j, got, want);
			}
		}
	}
	free(t);
}
END_TEST

START_TEST(rmsnorm_of_a_small_row)
{
	/* mean(9, 16, 0, 0) = 6.25, root 2.5: 3 and 4 become 1.2 and 1.6 */
	float x[4] = { 3, 4, 0, 0 }, w[4] = { 1, 10, 1, 1 }, y[4];
	struct npu_insn insn = { .op = NPU_OP_VRMSNORM,
				 .norm = { .dst = 0,
					   .a = 0,
					   .weight = 16,
					   .rows = 1,
					   .cols = 4,
					   .dst_type = NPU_FP32,
					   .a_type = NPU_FP32,
					   .weight_type = NPU_FP32,
					   .eps = 0 } };
	struct npu_program program = { .ninsns = 1, .insns = &insn, .needs = { 64, 0, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	npu_exec_local_write(e, 0, x, sizeof x);
	npu_exec_local_write(e, 16, w, sizeof w);
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, 0, y, sizeof y);
	ck_assert(fabsf(y[0] - 1.2f) < 1e-6f && fabsf(y[1] - 16) < 2e-6f && y[2] == 0);
	npu_exec_free(e);
}
END_TEST

START_TEST(rope_turns_pairs_of_both_conventions_and_copies_the_rest)
{
	struct twin *t = twin_new(4);
	for (int trial = 0; trial < 300; trial++) {
		twin_shuffle(t);
		uint32_t rows = pick(&t->random, 1, 5), heads = pick(&t->random, 1, 3), dim = pick(&t->random, 2, 20);
		uint32_t rotary = pick(&t->random, 1, dim / 2) * 2, half = rotary / 2;
		bool interleaved = trial % 2;
		struct twin_matrix a = place(t, rows, heads * dim, 4), d = place(t, rows, heads * dim, 4);
		struct twin_matrix c = place(t, rows, half, 1), s = c;
		s.local = t->next_sram;
		t->next_sram += (uint32_t)twin_extent(&s);
		twin_fill(t, &s, 1);
		struct npu_insn insn = { .op = NPU_OP_VROPE,
					 .rope = { .dst = d.local,
						   .a = a.local,
						   .cosine = c.local,
						   .sine = s.local,
						   .rows = rows,
						   .heads = heads,
						   .dim = dim,
						   .rotary = rotary,
						   .interleaved = interleaved,
						   .dst_stride = d.stride,
						   .a_stride = a.stride,
						   .dst_type = d.dtype,
						   .a_type = a.dtype,
						   .table_type = c.dtype,
						   .table_stride = c.stride } };
		twin_run(t, &insn);
		twin_only(t, &d, 1);
		for (uint32_t i = 0; i < rows; i++)
			for (uint32_t j = 0; j < heads * dim; j++) {
				uint32_t in_head = j % dim, head = j - in_head,
					 pair = interleaved ? in_head / 2 : in_head % half;
				bool second = interleaved ? in_head % 2 : in_head >= half;
				double want = twin_get(&t->before, &a, i, j), error = 0;
				if (in_head < rotary) {
					uint32_t first = head + (interleaved ? 2 * pair : pair),
						 other = first + (interleaved ? 1 : half);
					double x = twin_get(&t->before, &a, i, first),
					       y = twin_get(&t->before, &a, i, other);
					double cosine = twin_get(&t->before, &c, i, pair),
					       sine = twin_get(&t->before, &s, i, pair);
					want = second ? y * cosine + x * sine : x * cosine - y * sine;
					error = twin_fp32_error(fabs(x) + fabs(y), 2);
				}
				double got = twin_get(&t->after, &d, i, j);
				MUST(twin_near(d.dtype, got, want, error), "[%u, %u]: %g, not %g", i, j, got, want);
			}
	}
	free(t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exec_rows");
	TCase *t = tcase_create("exec_rows");
	tcase_add_test(t, reductions_follow_their_documented_order_bit_for_bit);
	tcase_add_test(t, a_nan_makes_the_maximum_of_its_row_nan);
	tcase_add_test(t, norms_are_within_a_few_roundings);
	tcase_add_test(t, rmsnorm_of_a_small_row);
	tcase_add_test(t, rope_turns_pairs_of_both_conventions_and_copies_the_rest);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
