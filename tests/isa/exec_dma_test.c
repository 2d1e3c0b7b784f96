/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers against a twin that moves one bit pattern at a time, in all layouts, orientations and types. */
#include "tests/isa/exec_twin.h"

enum { DRAM_AT = 65536 - 999, DRAM_BYTES = 192 << 10 }; /* across pages, at no round address */

static uint8_t dram_before[DRAM_BYTES], dram_after[DRAM_BYTES];

static void shuffle(struct twin *t)
{
	twin_shuffle(t);
	for (unsigned i = 0; i < DRAM_BYTES; i++)
		dram_before[i] = (uint8_t)next_random(&t->random);
}

static void run(struct twin *t, const struct npu_insn *insn, const struct npu_table *table)
{
	struct npu_program program = { .ninsns = 1,
				       .insns = insn,
				       .ntables = table != NULL,
				       .tables = table,
				       .needs = { TWIN_SRAM, TWIN_ACCUM, 0 } };
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	twin_must(e, &err);
	npu_exec_local_write(e, 0, t->before.sram, TWIN_SRAM);
	npu_exec_local_write(e, NPU_ACC_BIT, t->before.accum, TWIN_ACCUM);
	npu_exec_dram_write(e, DRAM_AT, dram_before, DRAM_BYTES);
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_local_read(e, 0, t->after.sram, TWIN_SRAM);
	npu_exec_local_read(e, NPU_ACC_BIT, t->after.accum, TWIN_ACCUM);
	npu_exec_dram_read(e, DRAM_AT, dram_after, DRAM_BYTES);
	npu_exec_free(e);
}

struct transfer {
	struct npu_insn insn;
	struct twin_matrix local, dram; /* dram.local: offset in dram_before */
};

static const uint32_t layouts[] = { NPU_LAYOUT_ROW, NPU_LAYOUT_BLOCK16, NPU_LAYOUT_BLOCK32 };

static struct transfer make(struct twin *t, enum npu_op op, int trial)
{
	struct transfer x = { .insn = { .op = (uint8_t)op } };
	uint32_t rows = pick(&t->random, 1, 70), cols = pick(&t->random, 1, 70);
	enum npu_dtype type = (enum npu_dtype)(trial % NPU_DTYPES);
	uint32_t transpose = pick(&t->random, 0, 1);
	x.local = twin_place(t, op == NPU_OP_STORE && trial % 3 == 0, transpose ? cols : rows, transpose ? rows : cols,
			     type, PICK(&t->random, layouts));
	x.dram = (struct twin_matrix){ pick(&t->random, 0, 5000), rows, cols, type, PICK(&t->random, layouts), 0 };
	if (next_random(&t->random) % 2)
		x.dram.stride = (uint32_t)(twin_strip_bits(&x.dram) / 8) + pick(&t->random, 0, 70);
	x.insn.dma = (struct npu_dma){ .local = x.local.local,
				       .dram = DRAM_AT + x.dram.local,
				       .rows = rows,
				       .cols = cols,
				       .dtype = type,
				       .dram_layout = x.dram.layout,
				       .local_layout = x.local.layout,
				       .transpose = transpose,
				       .dram_stride = x.dram.stride,
				       .local_stride = x.local.stride };
	return x;
}

/* Every element of the destination, zeros in the padding of its blocks where the layout changed. */
static void compare(const struct transfer *x, const struct twin_matrix *src, const uint8_t *from,
		    const struct twin_matrix *dst, const uint8_t *to)
{
	uint32_t block = twin_block(dst->layout);
	bool turned = x->insn.dma.transpose, converted = turned || src->layout != dst->layout;
	for (uint32_t i = 0; i < (dst->rows + block - 1) / block * block; i++)
		for (uint32_t j = 0; j < (dst->cols + block - 1) / block * block; j++) {
			bool inside = i < dst->rows && j < dst->cols;
			if (!inside && !converted)
				continue;
			uint64_t want = inside ? twin_raw_at(from, src, turned ? j : i, turned ? i : j) : 0;
			MUST(twin_raw_at(to, dst, i, j) == want, "element [%u, %u] of [%u, %u]", i, j, dst->rows,
			     dst->cols);
		}
}

START_TEST(a_load_puts_every_element_in_its_place)
{
	struct twin *t = twin_new(1);
	for (int trial = 0; trial < 600; trial++) {
		shuffle(t);
		struct transfer x = make(t, NPU_OP_LOAD, trial);
		run(t, &x.insn, NULL);
		twin_only(t, &x.local, 1);
		ck_assert(memcmp(dram_before, dram_after, DRAM_BYTES) == 0);
		compare(&x, &x.dram, dram_before + x.dram.local, &x.local, twin_bytes(&t->after, x.local.local));
	}
	free(t);
}
END_TEST

/* Bytes of DRAM outside the strips of `m` are as before. */
static void only_dram(const struct twin_matrix *m)
{
	static uint8_t masked[DRAM_BYTES];
	memcpy(masked, dram_after, DRAM_BYTES);
	for (uint64_t strip = 0; strip < twin_strips(m); strip++) {
		uint64_t at = m->local + strip * twin_stride(m);
		memcpy(masked + at, dram_before + at, twin_strip_bits(m) / 8);
	}
	MUST(memcmp(masked, dram_before, DRAM_BYTES) == 0, "a byte of DRAM outside the result changed");
}

START_TEST(a_store_puts_every_element_in_its_place)
{
	struct twin *t = twin_new(2);
	for (int trial = 0; trial < 600; trial++) {
		shuffle(t);
		struct transfer x = make(t, NPU_OP_STORE, trial);
		run(t, &x.insn, NULL);
		twin_only(t, NULL, 0);
		only_dram(&x.dram);
		compare(&x, &x.local, twin_bytes(&t->before, x.local.local), &x.dram, dram_after + x.dram.local);
	}
	free(t);
}
END_TEST

START_TEST(a_transfer_without_change_of_layout_moves_bytes_with_their_padding)
{
	struct twin *t = twin_new(3);
	shuffle(t);
	/* 3 nibbles a row: the spare one comes along */
	struct npu_insn load = { .op = NPU_OP_LOAD,
				 .dma = { .local = 8,
					  .dram = DRAM_AT,
					  .rows = 2,
					  .cols = 3,
					  .dtype = NPU_INT4,
					  .dram_stride = 5,
					  .local_stride = 4 } };
	run(t, &load, NULL);
	ck_assert(memcmp(t->after.sram + 8, dram_before, 2) == 0);
	ck_assert(memcmp(t->after.sram + 12, dram_before + 5, 2) == 0);
	free(t);
}
END_TEST

enum { PAGES = 7, ENTRIES = 5 };

struct paged {
	struct npu_insn insn;
	struct twin_matrix local;
	struct npu_table table;
	uint32_t entries[ENTRIES];
	uint32_t row_bytes;
};

static struct paged make_paged(struct twin *t, enum npu_op op, int trial)
{
	struct paged x = { .insn = { .op = (uint8_t)op } };
	enum npu_dtype type = (enum npu_dtype)(trial % NPU_DTYPES);
	uint32_t page_rows = pick(&t->random, 1, 20), cols = pick(&t->random, 1, 50);
	uint32_t first = pick(&t->random, 0, page_rows * ENTRIES - 1);
	uint32_t rows = pick(&t->random, 1, page_rows * ENTRIES - first);
	bool transpose = pick(&t->random, 0, 1);
	x.row_bytes = (cols * twin_type_bits[type] + 7) / 8;
	uint32_t row_stride = pick(&t->random, 0, 1) ? x.row_bytes + pick(&t->random, 0, 9) : 0;
	uint32_t page_stride = page_rows * (row_stride ? row_stride : x.row_bytes) + pick(&t->random, 0, 64);
	/* no page twice: two rows in one place would depend on the order */
	for (uint32_t i = 0, from = pick(&t->random, 0, PAGES - 1); i < ENTRIES; i++)
		x.entries[i] = (from + 3 * i) % PAGES;
	x.table = (struct npu_table){ .name = "table", .count = ENTRIES };
	x.local =
		twin_place(t, false, transpose ? cols : rows, transpose ? rows : cols, type, PICK(&t->random, layouts));
	x.insn.paged = (struct npu_paged){ .local = x.local.local,
					   .cols = cols,
					   .dtype = type,
					   .local_layout = x.local.layout,
					   .transpose = transpose,
					   .dram = DRAM_AT + 11,
					   .rows = rows,
					   .page_stride = page_stride,
					   .row_stride = row_stride,
					   .local_stride = x.local.stride,
					   .first = first,
					   .page_rows = page_rows };
	return x;
}

/* Half of the rows, rounded down, behind a gap behind the others; in either order. */
static void take_apart(struct twin *t, struct paged *x)
{
	struct npu_paged *p = &x->insn.paged;
	if (p->transpose || p->local_layout != NPU_LAYOUT_ROW || p->rows < 2 || pick(&t->random, 0, 1))
		return;
	uint32_t stride = p->local_stride ? p->local_stride : x->row_bytes, gap = p->rows / 2 * stride;
	bool first = pick(&t->random, 0, 1); /* the odd rows */
	p->odd = (int32_t)(first ? gap : (p->rows - p->rows / 2) * stride);
	if (first) {
		p->local += gap;
		p->odd = -p->odd;
	}
}

/* Token `row` of the transfer as a matrix of one row in DRAM. */
static struct twin_matrix row_of(const struct paged *x, uint32_t row)
{
	const struct npu_paged *p = &x->insn.paged;
	uint32_t token = p->first + row, page = x->entries[token / p->page_rows];
	uint32_t at =
		11 + page * p->page_stride + token % p->page_rows * (p->row_stride ? p->row_stride : x->row_bytes);
	return (struct twin_matrix){ at, 1, p->cols, (enum npu_dtype)p->dtype, NPU_LAYOUT_ROW, 0 };
}

static uint64_t local_raw(const struct paged *x, struct twin_memory *memory, uint32_t row, uint32_t col)
{
	const struct npu_paged *p = &x->insn.paged;
	bool turned = p->transpose;
	if (p->odd) { /* rows of the room, which they fill: even ones first, or behind the odd ones */
		uint32_t before = p->odd > 0 ? p->rows - p->rows / 2 : p->rows / 2;
		row = row / 2 + ((row % 2 == 0) == (p->odd < 0) ? before : 0);
	}
	return twin_raw(memory, &x->local, turned ? col : row, turned ? row : col);
}

START_TEST(a_gather_finds_each_row_through_the_block_table)
{
	struct twin *t = twin_new(4);
	for (int trial = 0; trial < 400; trial++) {
		shuffle(t);
		struct paged x = make_paged(t, NPU_OP_GATHER, trial);
		take_apart(t, &x);
		x.table.entries = x.entries;
		run(t, &x.insn, &x.table);
		twin_only(t, &x.local, 1);
		for (uint32_t row = 0; row < x.insn.paged.rows; row++) {
			struct twin_matrix m = row_of(&x, row);
			for (uint32_t col = 0; col < m.cols; col++)
				MUST(local_raw(&x, &t->after, row, col) ==
					     twin_raw_at(dram_before + m.local, &m, 0, col),
				     "element [%u, %u]", row, col);
		}
	}
	free(t);
}
END_TEST

START_TEST(a_scatter_puts_each_row_into_its_page_and_touches_no_other)
{
	struct twin *t = twin_new(5);
	for (int trial = 0; trial < 400; trial++) {
		shuffle(t);
		struct paged x = make_paged(t, NPU_OP_SCATTER, trial);
		take_apart(t, &x);
		x.table.entries = x.entries;
		run(t, &x.insn, &x.table);
		for (uint32_t row = 0; row < x.insn.paged.rows; row++) {
			struct twin_matrix m = row_of(&x, row);
			for (uint32_t col = 0; col < m.cols; col++)
				MUST(local_raw(&x, &t->before, row, col) ==
					     twin_raw_at(dram_after + m.local, &m, 0, col),
				     "element [%u, %u]", row, col);
			memcpy(dram_after + m.local, dram_before + m.local, x.row_bytes);
		}
		ck_assert(memcmp(dram_after, dram_before, DRAM_BYTES) == 0);
	}
	free(t);
}
END_TEST

START_TEST(pages_out_of_reach_are_errors)
{
	uint32_t entries[] = { 0, 0xffffffff };
	struct npu_table table = { .name = "table", .count = 2, .entries = entries };
	struct npu_insn insn = {
		.op = NPU_OP_GATHER,
		.paged = { .local = 0, .cols = 8, .dtype = NPU_FP16, .rows = 4, .page_stride = 4096, .page_rows = 2 }
	};
	struct npu_program program = {
		.ninsns = 1, .insns = &insn, .ntables = 1, .tables = &table, .needs = { 4096, 0, 0 }
	};
	struct npu_error err;
	struct npu_exec *e = npu_exec_new(&program, NULL, &err);
	/* 2^32 - 1 pages of 4 KiB are beyond 2^40 */
	ck_assert(!npu_exec_run(e, &err));
	ck_assert_int_eq(err.code, NPU_ERR_BOUNDS);
	insn.paged.rows = 5;
	entries[1] = 1;
	ck_assert(!npu_exec_run(e, &err));
	ck_assert_str_eq(err.text, "#0 gather: row 4 lies in page 2 of a block table of 2");
	insn.paged.rows = 4;
	twin_must(npu_exec_run(e, &err), &err);
	npu_exec_free(e);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exec_dma");
	TCase *t = tcase_create("exec_dma");
	tcase_add_test(t, a_load_puts_every_element_in_its_place);
	tcase_add_test(t, a_store_puts_every_element_in_its_place);
	tcase_add_test(t, a_transfer_without_change_of_layout_moves_bytes_with_their_padding);
	tcase_add_test(t, a_gather_finds_each_row_through_the_block_table);
	tcase_add_test(t, a_scatter_puts_each_row_into_its_page_and_touches_no_other);
	tcase_add_test(t, pages_out_of_reach_are_errors);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
