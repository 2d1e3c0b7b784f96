/* SPDX-License-Identifier: Apache-2.0 */
/* Masks and softmax against the field descriptions, element by element in double. */
#include "tests/isa/exec_twin.h"

static const enum npu_dtype reals[] = { NPU_FP32, NPU_FP16, NPU_BF16 };

struct tile {
	struct npu_insn insn;
	struct twin_matrix d, a, state;
};

static struct tile make(struct twin *t, enum npu_op op, uint32_t rows, uint32_t cols)
{
	struct tile x = { .insn = { .op = (uint8_t)op } };
	x.a = twin_place(t, pick(&t->random, 0, 1), rows, cols, PICK(&t->random, reals), NPU_LAYOUT_ROW);
	x.d = twin_place(t, false, rows, cols, PICK(&t->random, reals), NPU_LAYOUT_ROW);
	x.state = twin_place(t, false, 3, rows, NPU_FP32, NPU_LAYOUT_ROW);
	twin_fill(t, &x.a, 8);
	x.insn.softmax = (struct npu_softmax){ .dst = x.d.local,
					       .a = x.a.local,
					       .state = x.state.local,
					       .scale = (float)pick_real(&t->random, 2),
					       .rows = rows,
					       .cols = cols,
					       .state_stride = x.state.stride,
					       .dst_stride = x.d.stride,
					       .a_stride = x.a.stride,
					       .dst_type = x.d.dtype,
					       .a_type = x.a.dtype,
					       .valid = 0x1fffff };
	struct npu_softmax *p = &x.insn.softmax;
	p->causal = pick(&t->random, 0, 1);
	p->padded = pick(&t->random, 0, 1);
	p->diagonal = (int32_t)pick(&t->random, 0, cols + rows) - (int32_t)rows;
	p->window = pick(&t->random, 0, 2) ? 0 : pick(&t->random, 1, cols);
	if (p->padded)
		p->valid = pick(&t->random, 0, cols + 1);
	return x;
}

static bool hidden(const struct npu_softmax *p, int64_t row, int64_t col)
{
	bool after = p->causal && col > p->diagonal + row;
	bool before = p->window && col <= p->diagonal + row - p->window;
	return after || before || (p->padded && col >= p->valid);
}

static double score(struct twin *t, const struct tile *x, uint32_t row, uint32_t col)
{
	if (hidden(&x->insn.softmax, row, col))
		return -INFINITY;
	return (float)((float)twin_get(&t->before, &x->a, row, col) * x->insn.softmax.scale);
}

START_TEST(a_mask_scales_and_hides)
{
	struct twin *t = twin_new(1);
	for (int trial = 0; trial < 300; trial++) {
		twin_shuffle(t);
		struct tile x = make(t, NPU_OP_VMASK, pick(&t->random, 1, 12), pick(&t->random, 1, 30));
		twin_run(t, &x.insn);
		twin_only(t, &x.d, 1);
		for (uint32_t i = 0; i < x.d.rows; i++)
			for (uint32_t j = 0; j < x.d.cols; j++)
				MUST(twin_get(&t->after, &x.d, i, j) == twin_round(x.d.dtype, score(t, &x, i, j)),
				     "[%u, %u]", i, j);
	}
	free(t);
}
END_TEST

START_TEST(a_causal_mask_of_a_diagonal_tile_is_a_triangle)
{
	/* positions of row 0 and column 0 are equal: row r sees columns 0..r; a window of 2 leaves r - 1 and r */
	float a[16], d[16];
	for (int i = 0; i < 16; i++)
		a[i] = 1;
	struct npu_insn insn = { .op = NPU_OP_VMASK,
				 .softmax = { .dst = 0,
					      .a = 0,
					      .scale = 1,
					      .rows = 4,
					      .cols = 4,
					      .causal = 1,
					      .window = 2,
					      .dst_type = NPU_FP32,
					      .a_type = NPU_FP32 } };
	struct npu_program program = { .ninsns = 1, .insns = &insn, .needs = { 64, 0, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	npu_exec_local_write(e, 0, a, sizeof a);
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, 0, d, sizeof d);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			ck_assert(d[i * 4 + j] == (j == i || j == i - 1 ? 1 : -INFINITY));
	npu_exec_free(e);
}
END_TEST

struct row {
	double max;
	double sum; /* of exp(score - max) */
};

static struct row reduce(struct twin *t, const struct tile *x, uint32_t row, double max)
{
	struct row r = { max, 0 };
	for (uint32_t j = 0; j < x->d.cols; j++)
		r.max = fmax(r.max, score(t, x, row, j));
	for (uint32_t j = 0; j < x->d.cols && r.max != -INFINITY; j++)
		r.sum += exp(score(t, x, row, j) - r.max);
	return r;
}

START_TEST(softmax_of_visible_columns_sums_to_1_and_the_rest_is_0)
{
	struct twin *t = twin_new(2);
	unsigned hidden_rows = 0;
	for (int trial = 0; trial < 400; trial++) {
		twin_shuffle(t);
		struct tile x = make(t, NPU_OP_VSOFTMAX, pick(&t->random, 1, 12), pick(&t->random, 1, 60));
		twin_run(t, &x.insn);
		twin_only(t, &x.d, 1);
		for (uint32_t i = 0; i < x.d.rows; i++) {
			struct row r = reduce(t, &x, i, -INFINITY);
			hidden_rows += r.max == -INFINITY;
			for (uint32_t j = 0; j < x.d.cols; j++) {
				double want = r.max == -INFINITY ? 0 : exp(score(t, &x, i, j) - r.max) / r.sum;
				double got = twin_get(&t->after, &x.d, i, j);
				/* the difference of scores up to 32 is rounded, then exp, the sum and the quotient */
				MUST(twin_near(x.d.dtype, got, want, twin_fp32_error(want, 40)), "[%u, %u]: %g, not %g",
				     i, j, got, want);
				MUST(!hidden(&x.insn.softmax, i, j) || got == 0, "[%u, %u] is hidden", i, j);
			}
		}
	}
	ck_assert_uint_gt(hidden_rows, 50);
	free(t);
}
END_TEST

START_TEST(online_softmax_updates_its_state_tile_by_tile)
{
	struct twin *t = twin_new(3);
	for (int trial = 0; trial < 400; trial++) {
		twin_shuffle(t);
		struct tile x = make(t, NPU_OP_VSOFTMAX_ONLINE, pick(&t->random, 1, 12), pick(&t->random, 1, 40));
		x.insn.softmax.first = pick(&t->random, 0, 1);
		for (uint32_t i = 0; i < x.d.rows && !x.insn.softmax.first; i++) {
			bool fresh = pick(&t->random, 0, 3) == 0;
			twin_set(&t->before, &x.state, 0, i, fresh ? -INFINITY : pick_real(&t->random, 10));
			twin_set(&t->before, &x.state, 1, i, fresh ? 0 : 1 + pick_real(&t->random, 1));
		}
		twin_run(t, &x.insn);
		struct twin_matrix results[] = { x.d, x.state };
		twin_only(t, results, 2);
		for (uint32_t i = 0; i < x.d.rows; i++) {
			double old = x.insn.softmax.first ? -INFINITY : twin_get(&t->before, &x.state, 0, i);
			double old_sum = x.insn.softmax.first ? 0 : twin_get(&t->before, &x.state, 1, i);
			struct row r = reduce(t, &x, i, old);
			double rescale = old == -INFINITY ? 0 : exp(old - r.max), sum = old_sum * rescale + r.sum;
			MUST(twin_get(&t->after, &x.state, 0, i) == r.max, "max");
			MUST(twin_near(NPU_FP32, twin_get(&t->after, &x.state, 2, i), rescale,
				       twin_fp32_error(rescale, 40)),
			     "rescale");
			MUST(twin_near(NPU_FP32, twin_get(&t->after, &x.state, 1, i), sum, twin_fp32_error(sum, 40)),
			     "sum");
			for (uint32_t j = 0; j < x.d.cols; j++) {
				double want = r.max == -INFINITY ? 0 : exp(score(t, &x, i, j) - r.max);
				double got = twin_get(&t->after, &x.d, i, j);
				MUST(twin_near(x.d.dtype, got, want, twin_fp32_error(want, 40)), "[%u, %u]: %g, not %g",
				     i, j, got, want);
			}
		}
	}
	free(t);
}
END_TEST

START_TEST(online_tiles_together_are_the_softmax_of_the_whole_row)
{
	enum { ROWS = 8, TILE = 16, TILES = 4, COLS = TILE * TILES };
	static float a[ROWS * COLS], d[ROWS * COLS], state[3 * ROWS];
	uint64_t random = 4;
	for (unsigned i = 0; i < ROWS * COLS; i++)
		a[i] = (float)pick_real(&random, 20);
	/* causal with row 0 at position -2: rows 0 and 1 see nothing at all, and no row sees all tiles */
	struct npu_insn insns[TILES];
	for (uint32_t j = 0; j < TILES; j++)
		insns[j] = (struct npu_insn){ .op = NPU_OP_VSOFTMAX_ONLINE,
					      .softmax = { .dst = 8192 + j * TILE * 4,
							   .a = j * TILE * 4,
							   .state = 16384,
							   .scale = 0.5f,
							   .rows = ROWS,
							   .cols = TILE,
							   .causal = 1,
							   .first = j == 0,
							   .dst_stride = COLS * 4,
							   .a_stride = COLS * 4,
							   .dst_type = NPU_FP32,
							   .a_type = NPU_FP32,
							   .diagonal = -2 - (int32_t)(j * TILE) } };
	struct npu_program program = { .ninsns = TILES, .insns = insns, .needs = { 32768, 0, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	npu_exec_local_write(e, 0, a, sizeof a);
	float rescale[TILES][ROWS];
	for (uint32_t j = 0; j < TILES; j++) {
		twin_must(npu_exec_step(e, j, &err), &err);
		npu_exec_local_read(e, 16384 + 2 * ROWS * 4, rescale[j], sizeof rescale[j]);
	}
	npu_exec_local_read(e, 8192, d, sizeof d);
	npu_exec_local_read(e, 16384, state, sizeof state);
	npu_exec_free(e);
	for (int i = 0; i < ROWS; i++) {
		double sum = 0, max = -INFINITY;
		for (int j = 0; j <= i - 2; j++)
			max = fmax(max, 0.5 * a[i * COLS + j]);
		for (int j = 0; j <= i - 2; j++)
			sum += exp(0.5 * a[i * COLS + j] - max);
		ck_assert(state[i] == (float)max && fabs(state[ROWS + i] - sum) < 1e-5);
		for (int j = 0; j < COLS; j++) {
			/* what earlier tiles gave is rescaled by every later one */
			double p = d[i * COLS + j];
			for (int later = j / TILE + 1; later < TILES; later++)
				p *= rescale[later][i];
			double want = j <= i - 2 ? exp(0.5 * a[i * COLS + j] - max) : 0;
			ck_assert(fabs(p - want) < 1e-6);
		}
	}
}
END_TEST

START_TEST(a_nan_score_spoils_its_own_row_only)
{
	struct twin *t = twin_new(5);
	twin_shuffle(t);
	struct tile x = make(t, NPU_OP_VSOFTMAX, 3, 20);
	x.insn.softmax.causal = x.insn.softmax.window = 0;
	x.insn.softmax.padded = 1;
	x.insn.softmax.valid = 15;
	twin_set(&t->before, &x.a, 1, 4, NAN);
	twin_set(&t->before, &x.a, 2, 17, NAN); /* hidden: nobody looks */
	twin_run(t, &x.insn);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t j = 0; j < 20; j++)
			ck_assert_int_eq(isnan(twin_get(&t->after, &x.d, i, j)) != 0, i == 1 && j < 15);
	free(t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exec_softmax");
	TCase *t = tcase_create("exec_softmax");
	tcase_add_test(t, a_mask_scales_and_hides);
	tcase_add_test(t, a_causal_mask_of_a_diagonal_tile_is_a_triangle);
	tcase_add_test(t, softmax_of_visible_columns_sums_to_1_and_the_rest_is_0);
	tcase_add_test(t, online_softmax_updates_its_state_tile_by_tile);
	tcase_add_test(t, online_tiles_together_are_the_softmax_of_the_whole_row);
	tcase_add_test(t, a_nan_score_spoils_its_own_row_only);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
