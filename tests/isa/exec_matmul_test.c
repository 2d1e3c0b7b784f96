/* SPDX-License-Identifier: Apache-2.0 */
/* Products against their definition, bit for bit: an fp32 (or int32) sum in the order of k, written out in three loops.
 */
#include "tests/isa/exec_twin.h"

struct product {
	struct npu_insn insn;
	struct twin_matrix d, a, b, scales; /* a and b as stored */
};

static const uint32_t layouts[] = { NPU_LAYOUT_ROW, NPU_LAYOUT_ROW, NPU_LAYOUT_BLOCK16, NPU_LAYOUT_BLOCK32 };

static struct twin_matrix place(struct twin *t, uint32_t rows, uint32_t cols, bool transposed, enum npu_dtype type)
{
	uint32_t layout = PICK(&t->random, layouts);
	return twin_place(t, false, transposed ? cols : rows, transposed ? rows : cols, type, layout);
}

static struct product make(struct twin *t, uint32_t m, uint32_t n, uint32_t k, enum npu_dtype a, enum npu_dtype b,
			   uint32_t group)
{
	struct product x = { .insn = { .op = NPU_OP_MATMUL } };
	struct npu_matmul *p = &x.insn.matmul;
	*p = (struct npu_matmul){ .m = m, .n = n, .k = k, .group = group, .a_type = a, .b_type = b };
	p->transpose_a = pick(&t->random, 0, 1);
	p->transpose_b = pick(&t->random, 0, 1);
	p->accumulate = pick(&t->random, 0, 1);
	x.d = twin_place(t, true, m, n, NPU_FP32, NPU_LAYOUT_ROW);
	x.a = place(t, m, k, p->transpose_a, a);
	x.b = place(t, k, n, p->transpose_b, b);
	p->dst = x.d.local, p->dst_stride = x.d.stride;
	p->a = x.a.local, p->a_stride = x.a.stride, p->a_layout = x.a.layout;
	p->b = x.b.local, p->b_stride = x.b.stride, p->b_layout = x.b.layout;
	twin_fill(t, &x.a, 4);
	twin_fill(t, &x.b, 4);
	if (npu_dtype_is_float(a) || group)
		twin_fill(t, &x.d, 10);
	if (group) {
		x.scales = twin_place(t, false, (k + group - 1) / group, n, NPU_FP16, NPU_LAYOUT_ROW);
		x.scales.stride = 0; /* scales are dense */
		p->scales = x.scales.local;
		twin_fill(t, &x.scales, 0.5);
	}
	return x;
}

static double a_at(struct twin *t, const struct product *x, uint32_t i, uint32_t k)
{
	bool turned = x->insn.matmul.transpose_a;
	return twin_get(&t->before, &x->a, turned ? k : i, turned ? i : k);
}

static double b_at(struct twin *t, const struct product *x, uint32_t k, uint32_t j)
{
	bool turned = x->insn.matmul.transpose_b;
	return twin_get(&t->before, &x->b, turned ? j : k, turned ? k : j);
}

static float d_before(struct twin *t, const struct product *x, uint32_t i, uint32_t j)
{
	return x->insn.matmul.accumulate ? (float)twin_get(&t->before, &x->d, i, j) : 0;
}

static uint32_t bits_of(float v)
{
	uint32_t bits;
	memcpy(&bits, &v, sizeof bits);
	return bits;
}

static uint32_t plain_sum(struct twin *t, const struct product *x, uint32_t i, uint32_t j)
{
	float sum = d_before(t, x, i, j);
	for (uint32_t k = 0; k < x->insn.matmul.k; k++)
		sum += (float)a_at(t, x, i, k) * (float)b_at(t, x, k, j);
	return bits_of(sum);
}

static uint32_t integer_sum(struct twin *t, const struct product *x, uint32_t i, uint32_t j)
{
	uint32_t sum = x->insn.matmul.accumulate ? (uint32_t)twin_raw(&t->before, &x->d, i, j) : 0;
	for (uint32_t k = 0; k < x->insn.matmul.k; k++)
		sum += (uint32_t)((int32_t)a_at(t, x, i, k) * (int32_t)b_at(t, x, k, j));
	return sum;
}

static uint32_t scaled_sum(struct twin *t, const struct product *x, uint32_t i, uint32_t j)
{
	const struct npu_matmul *p = &x->insn.matmul;
	float sum = d_before(t, x, i, j);
	for (uint32_t from = 0; from < p->k; from += p->group) {
		float part = 0;
		int32_t whole = 0;
		for (uint32_t k = from; k < from + p->group && k < p->k; k++) {
			part += (float)a_at(t, x, i, k) * (float)b_at(t, x, k, j);
			if (p->a_type == NPU_INT8)
				whole += (int32_t)a_at(t, x, i, k) * (int32_t)b_at(t, x, k, j);
		}
		part = p->a_type == NPU_INT8 ? (float)whole : part;
		sum += part * (float)twin_get(&t->before, &x->scales, from / p->group, j);
	}
	return bits_of(sum);
}

static void compare(struct twin *t, const struct product *x,
		    uint32_t (*expected)(struct twin *, const struct product *, uint32_t i, uint32_t j))
{
	twin_run(t, &x->insn);
	twin_only(t, &x->d, 1);
	for (uint32_t i = 0; i < x->insn.matmul.m; i++)
		for (uint32_t j = 0; j < x->insn.matmul.n; j++) {
			uint32_t got = (uint32_t)twin_raw(&t->after, &x->d, i, j), want = expected(t, x, i, j);
			MUST(got == want, "D[%u][%u] of m=%u n=%u k=%u: %08x, not %08x", i, j, x->insn.matmul.m,
			     x->insn.matmul.n, x->insn.matmul.k, got, want);
		}
}

START_TEST(fp32_sums_run_in_the_order_of_k_from_the_accumulator)
{
	static const enum npu_dtype types[][2] = {
		{ NPU_FP16, NPU_FP16 }, { NPU_BF16, NPU_BF16 }, { NPU_FP16, NPU_INT4 }, { NPU_BF16, NPU_INT8 }
	};
	struct twin *t = twin_new(1);
	for (int trial = 0; trial < 120; trial++) {
		twin_shuffle(t);
		const enum npu_dtype *pair = types[trial % 4];
		struct product x = make(t, pick(&t->random, 1, 40), pick(&t->random, 1, 40), pick(&t->random, 1, 90),
					pair[0], pair[1], 0);
		compare(t, &x, plain_sum);
	}
	free(t);
}
END_TEST

START_TEST(integer_sums_are_int32)
{
	static const enum npu_dtype types[] = { NPU_INT8, NPU_INT4 };
	struct twin *t = twin_new(2);
	for (int trial = 0; trial < 60; trial++) {
		twin_shuffle(t);
		struct product x = make(t, pick(&t->random, 1, 40), pick(&t->random, 1, 40), pick(&t->random, 1, 90),
					NPU_INT8, types[trial % 2], 0);
		twin_fill(t, &x.a, 200);
		twin_fill(t, &x.b, 200);
		compare(t, &x, integer_sum);
	}
	free(t);
}
END_TEST

START_TEST(a_group_is_summed_scaled_and_added)
{
	static const enum npu_dtype types[][2] = {
		{ NPU_FP16, NPU_INT4 }, { NPU_INT8, NPU_INT4 }, { NPU_INT8, NPU_INT8 }, { NPU_FP16, NPU_INT8 }
	};
	struct twin *t = twin_new(3);
	for (int trial = 0; trial < 80; trial++) {
		twin_shuffle(t);
		const enum npu_dtype *pair = types[trial % 4];
		/* ragged and odd groups too, and groups longer than k */
		struct product x = make(t, pick(&t->random, 1, 20), pick(&t->random, 1, 40), pick(&t->random, 1, 90),
					pair[0], pair[1], pick(&t->random, 1, 100));
		compare(t, &x, scaled_sum);
	}
	free(t);
}
END_TEST

START_TEST(products_larger_than_the_executors_blocks_are_the_same_sums)
{
	/* the executor works in blocks of 128 x 256 and stretches of 256: cross each border */
	static const uint32_t shapes[][4] = {
		{ 130, 9, 20, 0 }, { 5, 260, 20, 0 }, { 3, 9, 600, 0 }, { 4, 8, 700, 300 }
	};
	struct twin *t = twin_new(4);
	for (unsigned i = 0; i < 4; i++) {
		const uint32_t *s = shapes[i];
		twin_shuffle(t);
		struct product x = make(t, s[0], s[1], s[2], NPU_FP16, s[3] ? NPU_INT4 : NPU_FP16, s[3]);
		compare(t, &x, s[3] ? scaled_sum : plain_sum);
		twin_shuffle(t);
		x = make(t, s[0], s[1], s[2], NPU_INT8, NPU_INT8, s[3]);
		twin_fill(t, &x.a, 200);
		twin_fill(t, &x.b, 200);
		compare(t, &x, s[3] ? scaled_sum : integer_sum);
	}
	free(t);
}
END_TEST

START_TEST(an_int32_sum_wraps)
{
	struct twin *t = twin_new(5);
	twin_shuffle(t);
	struct product x = make(t, 1, 1, 1, NPU_INT8, NPU_INT8, 0);
	x.insn.matmul.accumulate = 1;
	twin_set(&t->before, &x.a, 0, 0, 2);
	twin_set(&t->before, &x.b, 0, 0, 1);
	x.d.dtype = NPU_INT32;
	twin_set(&t->before, &x.d, 0, 0, INT32_MAX);
	twin_run(t, &x.insn);
	/* 2^31 - 1 + 2 = 2^31 + 1 = -2^31 + 1 */
	ck_assert(twin_get(&t->after, &x.d, 0, 0) == INT32_MIN + 1.0);
	free(t);
}
END_TEST

START_TEST(infinities_and_nans_stay_in_their_row_and_column)
{
	struct twin *t = twin_new(6);
	twin_shuffle(t);
	struct product x = make(t, 6, 10, 5, NPU_FP16, NPU_FP16, 0);
	x.insn.matmul.accumulate = 0;
	twin_set(&t->before, &x.a, x.insn.matmul.transpose_a ? 3 : 2, x.insn.matmul.transpose_a ? 2 : 3, INFINITY);
	twin_set(&t->before, &x.b, x.insn.matmul.transpose_b ? 7 : 1, x.insn.matmul.transpose_b ? 1 : 7, NAN);
	twin_run(t, &x.insn);
	for (uint32_t i = 0; i < 6; i++)
		for (uint32_t j = 0; j < 10; j++) {
			double d = twin_get(&t->after, &x.d, i, j);
			ck_assert_int_eq(isnan(d) != 0, j == 7);
			ck_assert_int_eq(isinf(d) != 0, i == 2 && j != 7);
		}
	free(t);
}
END_TEST

/* Runs the instructions on one executor; D into out. */
static void run_all(struct twin *t, const struct npu_insn *insns, uint32_t n, const struct twin_matrix *d,
		    uint32_t *out)
{
	struct npu_program program = { .ninsns = n, .insns = insns, .needs = { TWIN_SRAM, TWIN_ACCUM, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	npu_exec_local_write(e, 0, t->before.sram, TWIN_SRAM);
	npu_exec_local_write(e, NPU_ACC_BIT, t->before.accum, TWIN_ACCUM);
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, NPU_ACC_BIT, t->after.accum, TWIN_ACCUM);
	npu_exec_free(e);
	for (uint32_t i = 0; i < d->rows; i++)
		for (uint32_t j = 0; j < d->cols; j++)
			out[i * d->cols + j] = (uint32_t)twin_raw(&t->after, d, i, j);
}

START_TEST(tiles_of_m_n_and_k_give_the_bits_of_one_product)
{
	enum { M = 37, N = 50, K = 96 };
	static uint32_t whole[M * N], tiled[M * N];
	struct twin *t = twin_new(7);
	for (int trial = 0; trial < 20; trial++) {
		twin_shuffle(t);
		struct twin_matrix d = twin_place(t, true, M, N, NPU_FP32, NPU_LAYOUT_ROW);
		struct twin_matrix a = twin_place(t, false, M, K, NPU_FP16, NPU_LAYOUT_ROW);
		struct twin_matrix b = twin_place(t, false, K, N, NPU_FP16, NPU_LAYOUT_ROW);
		twin_fill(t, &a, 4);
		twin_fill(t, &b, 4);
		struct npu_insn one = { .op = NPU_OP_MATMUL,
					.matmul = { .dst = d.local,
						    .dst_stride = (uint32_t)twin_stride(&d),
						    .a = a.local,
						    .a_stride = (uint32_t)twin_stride(&a),
						    .b = b.local,
						    .b_stride = (uint32_t)twin_stride(&b),
						    .m = M,
						    .n = N,
						    .k = K,
						    .a_type = NPU_FP16,
						    .b_type = NPU_FP16 } };
		run_all(t, &one, 1, &d, whole);
		struct npu_insn tiles[512];
		uint32_t n = 0, tm = pick(&t->random, 8, M), tn = pick(&t->random, 8, N), tk = pick(&t->random, 16, K);
		for (uint32_t i = 0; i < M; i += tm)
			for (uint32_t j = 0; j < N; j += tn)
				for (uint32_t k = 0; k < K; k += tk) {
					struct npu_insn tile = one;
					tile.matmul.dst += i * one.matmul.dst_stride + j * 4;
					tile.matmul.a += i * one.matmul.a_stride + k * 2;
					tile.matmul.b += k * one.matmul.b_stride + j * 2;
					tile.matmul.m = M - i < tm ? M - i : tm;
					tile.matmul.n = N - j < tn ? N - j : tn;
					tile.matmul.k = K - k < tk ? K - k : tk;
					tile.matmul.accumulate = k > 0;
					tiles[n++] = tile;
				}
		run_all(t, tiles, n, &d, tiled);
		ck_assert(memcmp(whole, tiled, sizeof whole) == 0);
	}
	free(t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exec_matmul");
	TCase *t = tcase_create("exec_matmul");
	tcase_add_test(t, fp32_sums_run_in_the_order_of_k_from_the_accumulator);
	tcase_add_test(t, integer_sums_are_int32);
	tcase_add_test(t, a_group_is_summed_scaled_and_added);
	tcase_add_test(t, products_larger_than_the_executors_blocks_are_the_same_sums);
	tcase_add_test(t, an_int32_sum_wraps);
	tcase_add_test(t, infinities_and_nans_stay_in_their_row_and_column);
	tcase_add_test(t, tiles_of_m_n_and_k_give_the_bits_of_one_product);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
