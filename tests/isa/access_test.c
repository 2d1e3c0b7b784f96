/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that instructions touch: worked examples, and random instructions against a twin that marks byte by byte what
 * the documentation of each field says. */
#include "isa/access.h"
#include "tests/isa/random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

enum { SPACES = 3, SPACE_BYTES = 1 << 18, BASES = 1 << 14, READ = 1, WRITTEN = 2 };

/* A bit READ or WRITTEN for each byte of each space. */
struct marks {
	uint8_t bytes[SPACES][SPACE_BYTES];
};

static struct marks *new_marks(void)
{
	struct marks *marks = calloc(1, sizeof *marks);
	ck_assert_ptr_nonnull(marks);
	return marks;
}

/* An assertion a byte would cost more than the test: Check records each one that holds, too. */
static void mark(struct marks *marks, unsigned space, uint64_t at, uint8_t how)
{
	if (at >= SPACE_BYTES)
		ck_abort_msg("byte %llu lies outside the test's memory", (unsigned long long)at);
	marks->bytes[space][at] |= how;
}

static void touch(struct marks *marks, uint8_t how, uint64_t local_or_dram, bool dram, uint64_t first_bit,
		  unsigned bits)
{
	unsigned space = dram ? NPU_SPACE_DRAM : npu_is_acc((uint32_t)local_or_dram) ? NPU_SPACE_ACCUM : NPU_SPACE_SRAM;
	uint64_t base = dram ? local_or_dram : npu_local_offset((uint32_t)local_or_dram);
	for (unsigned b = 0; b < bits; b += 4) {
		uint64_t at = base + (first_bit + b) / 8;
		mark(marks, space, at, how);
	}
}

struct twin_matrix {
	uint64_t base;
	bool dram;
	uint32_t rows, cols, dtype, layout;
	uint64_t stride;
};

static uint64_t dense_row(const struct twin_matrix *m)
{
	unsigned bits = npu_dtype_bits((enum npu_dtype)m->dtype);
	unsigned side = m->layout == NPU_LAYOUT_BLOCK16 ? 16 : m->layout == NPU_LAYOUT_BLOCK32 ? 32 : 1;
	uint64_t blocks = (m->cols + side - 1) / side;
	return blocks * side * side * bits / 8;
}

static uint64_t element_bit(const struct twin_matrix *m, uint32_t r, uint32_t c)
{
	unsigned bits = npu_dtype_bits((enum npu_dtype)m->dtype);
	unsigned side = m->layout == NPU_LAYOUT_BLOCK16 ? 16 : m->layout == NPU_LAYOUT_BLOCK32 ? 32 : 1;
	uint64_t stride = m->stride ? m->stride : dense_row(m);
	uint64_t block = c / side, inside = (r % side) * side + c % side;
	return 8 * (r / side) * stride + (block * side * side + inside) * bits;
}

static uint32_t padded(const struct twin_matrix *m, uint32_t n)
{
	unsigned side = m->layout == NPU_LAYOUT_BLOCK16 ? 16 : m->layout == NPU_LAYOUT_BLOCK32 ? 32 : 1;
	return (n + side - 1) / side * side;
}

static void touch_matrix(struct marks *marks, uint8_t how, struct twin_matrix m)
{
	for (uint32_t r = 0; r < padded(&m, m.rows); r++)
		for (uint32_t c = 0; c < padded(&m, m.cols); c++)
			touch(marks, how, m.base, m.dram, element_bit(&m, r, c),
			      npu_dtype_bits((enum npu_dtype)m.dtype));
}

static void touch_rows(struct marks *marks, uint8_t how, uint32_t local, uint32_t rows, uint32_t cols, uint32_t dtype,
		       uint64_t stride)
{
	touch_matrix(marks, how, (struct twin_matrix){ local, false, rows, cols, dtype, NPU_LAYOUT_ROW, stride });
}

static struct twin_matrix dma_local(const struct npu_dma *d)
{
	uint32_t rows = d->transpose ? d->cols : d->rows, cols = d->transpose ? d->rows : d->cols;
	return (struct twin_matrix){ d->local, false, rows, cols, d->dtype, d->local_layout, d->local_stride };
}

static struct twin_matrix dma_dram(const struct npu_dma *d)
{
	return (struct twin_matrix){ d->dram, true, d->rows, d->cols, d->dtype, d->dram_layout, d->dram_stride };
}

static struct twin_matrix paged_local(const struct npu_paged *p)
{
	uint32_t rows = p->transpose ? p->cols : p->rows, cols = p->transpose ? p->rows : p->cols;
	return (struct twin_matrix){ p->local, false, rows, cols, p->dtype, p->local_layout, p->local_stride };
}

/* Row by row where even and odd ones lie apart. */
static void touch_paged(struct marks *m, uint8_t how, const struct npu_paged *p)
{
	uint64_t row = npu_dtype_bytes((enum npu_dtype)p->dtype, p->cols), stride = p->local_stride ? p->local_stride : row;
	if (!p->odd)
		touch_matrix(m, how, paged_local(p));
	for (uint32_t r = 0; p->odd && r < p->rows; r++)
		touch_rows(m, how, (uint32_t)(p->local + r / 2 * stride + (r % 2 ? (uint64_t)(int64_t)p->odd : 0)), 1, p->cols,
			   p->dtype, 0);
}

static void touch_matmul(struct marks *m, const struct npu_matmul *p)
{
	touch_rows(m, p->accumulate ? READ | WRITTEN : WRITTEN, p->dst, p->m, p->n, NPU_FP32, p->dst_stride);
	touch_matrix(m, READ,
		     (struct twin_matrix){ p->a, false, p->transpose_a ? p->k : p->m, p->transpose_a ? p->m : p->k,
					   p->a_type, p->a_layout, p->a_stride });
	touch_matrix(m, READ,
		     (struct twin_matrix){ p->b, false, p->transpose_b ? p->n : p->k, p->transpose_b ? p->k : p->n,
					   p->b_type, p->b_layout, p->b_stride });
	if (p->group) /* element (row of k, n) uses scale (row / group, n) */
		for (uint32_t k = 0; k < p->k; k++)
			for (uint32_t n = 0; n < p->n; n++)
				touch(m, READ, p->scales, false, 16 * ((uint64_t)(k / p->group) * p->n + n), 16);
}

static void touch_ew(struct marks *m, const struct npu_ew *p)
{
	touch_rows(m, WRITTEN, p->dst, p->rows, p->cols, p->dst_type, p->dst_stride);
	touch_rows(m, READ, p->a, p->rows, p->cols, p->a_type, p->a_stride);
	if (p->b_bcast == NPU_BCAST_FULL)
		touch_rows(m, READ, p->b, p->rows, p->cols, p->b_type, p->b_stride);
	if (p->b_bcast == NPU_BCAST_ROW)
		touch_rows(m, READ, p->b, 1, p->cols, p->b_type, 0);
	if (p->b_bcast == NPU_BCAST_COL)
		touch_rows(m, READ, p->b, p->rows, 1, p->b_type, p->b_stride);
}

static void touch_quant(struct marks *m, const struct npu_quant *p)
{
	uint8_t how = p->dynamic ? WRITTEN : READ;
	uint32_t groups = p->group ? (p->cols + p->group - 1) / p->group : 0;
	touch_rows(m, WRITTEN, p->dst, p->rows, p->cols, p->dst_type, p->dst_stride);
	touch_rows(m, READ, p->a, p->rows, p->cols, p->a_type, p->a_stride);
	for (uint32_t r = 0; r < p->rows && p->scale != NPU_SCALE_TENSOR; r++)
		for (uint32_t c = 0; c < p->cols; c++) {
			uint64_t i = p->scale == NPU_SCALE_ROW   ? r
				     : p->scale == NPU_SCALE_COL ? c
								 : r * groups + c / p->group;
			unsigned bits = npu_dtype_bits((enum npu_dtype)p->scale_type);
			touch(m, how, p->scales, false, i * bits, bits);
			if (p->asymmetric)
				touch(m, how, p->zeros, false, i * 8, 8);
		}
}

static void touch_softmax(struct marks *m, const struct npu_softmax *p, bool online)
{
	uint64_t step = p->state_stride ? p->state_stride : p->rows * 4;
	touch_rows(m, WRITTEN, p->dst, p->rows, p->cols, p->dst_type, p->dst_stride);
	touch_rows(m, READ, p->a, p->rows, p->cols, p->a_type, p->a_stride);
	for (uint32_t r = 0; r < p->rows && online; r++)
		for (unsigned v = 0; v < 3; v++)
			touch(m, v < 2 && !p->first ? READ | WRITTEN : WRITTEN, p->state, false, 8 * (v * step + 4 * r),
			      32);
}

static void touch_rope(struct marks *m, const struct npu_rope *p)
{
	touch_rows(m, WRITTEN, p->dst, p->rows, p->heads * p->dim, p->dst_type, p->dst_stride);
	touch_rows(m, READ, p->a, p->rows, p->heads * p->dim, p->a_type, p->a_stride);
	touch_rows(m, READ, p->cosine, p->rows, p->rotary / 2, p->table_type, p->table_stride);
	touch_rows(m, READ, p->sine, p->rows, p->rotary / 2, p->table_type, p->table_stride);
}

static void touch_norm(struct marks *m, const struct npu_norm *p)
{
	touch_rows(m, WRITTEN, p->dst, p->rows, p->cols, p->dst_type, p->dst_stride);
	touch_rows(m, READ, p->a, p->rows, p->cols, p->a_type, p->a_stride);
	touch_rows(m, READ, p->weight, 1, p->cols, p->weight_type, 0);
	if (p->has_bias)
		touch_rows(m, READ, p->bias, 1, p->cols, p->weight_type, 0);
}

static void twin(struct marks *m, const struct npu_insn *insn)
{
	bool store = npu_op_engine(insn->op) == NPU_ENGINE_STORE;
	switch (npu_op_format(insn->op)) {
	case NPU_FORMAT_dma:
		touch_matrix(m, store ? READ : WRITTEN, dma_local(&insn->dma));
		touch_matrix(m, store ? WRITTEN : READ, dma_dram(&insn->dma));
		break;
	case NPU_FORMAT_paged:
		touch_paged(m, store ? READ : WRITTEN, &insn->paged);
		break;
	case NPU_FORMAT_matmul:
		touch_matmul(m, &insn->matmul);
		break;
	case NPU_FORMAT_ew:
		touch_ew(m, &insn->ew);
		break;
	case NPU_FORMAT_un: {
		const struct npu_un *p = &insn->un;
		bool turn = insn->op == NPU_OP_VTRANSPOSE;
		touch_rows(m, WRITTEN, p->dst, turn ? p->cols : p->rows, turn ? p->rows : p->cols, p->dst_type,
			   p->dst_stride);
		touch_rows(m, READ, p->a, p->rows, p->cols, p->a_type, p->a_stride);
		break;
	}
	case NPU_FORMAT_red:
		touch_rows(m, insn->red.accumulate ? READ | WRITTEN : WRITTEN, insn->red.dst, 1, insn->red.rows,
			   insn->red.dst_type, 0);
		touch_rows(m, READ, insn->red.a, insn->red.rows, insn->red.cols, insn->red.a_type, insn->red.a_stride);
		break;
	case NPU_FORMAT_quant:
		touch_quant(m, &insn->quant);
		break;
	case NPU_FORMAT_rope:
		touch_rope(m, &insn->rope);
		break;
	case NPU_FORMAT_norm:
		touch_norm(m, &insn->norm);
		break;
	case NPU_FORMAT_softmax:
		touch_softmax(m, &insn->softmax, insn->op == NPU_OP_VSOFTMAX_ONLINE);
		break;
	case NPU_FORMAT_fill:
		touch_rows(m, WRITTEN, insn->fill.dst, insn->fill.rows, insn->fill.cols, insn->fill.dst_type,
			   insn->fill.dst_stride);
		break;
	case NPU_FORMAT_none:
		break;
	}
}

static void mark_accesses(struct marks *marks, const struct npu_insn *insn)
{
	struct npu_access accesses[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_accesses(insn, accesses);
	ck_assert_uint_le(n, NPU_MAX_ACCESSES);
	for (unsigned i = 0; i < n; i++) {
		const struct npu_access *a = &accesses[i];
		ck_assert(i == 0 || !accesses[i - 1].write || a->write); /* reads first */
		ck_assert(a->rows == 1 || a->stride > a->row_bytes);     /* dense runs are one row */
		for (uint64_t r = 0; r < a->rows; r++)
			for (uint64_t b = 0; b < a->row_bytes; b++)
				mark(marks, a->space, a->base + r * a->stride + b, a->write ? WRITTEN : READ);
	}
}

/* Shrinks addresses and numbers; strides become 0 or a little more than needed, found by trying. */
static struct npu_insn small_insn(struct rng *rng, enum npu_op op, const struct npu_program *tables)
{
	struct npu_insn insn = random_insn(rng, op, tables);
	for (const struct npu_field *f = npu_op_info(op)->format->fields; f->name; f++) {
		uint64_t value = npu_field_get(f, &insn);
		if (f->kind == NPU_KIND_LOCAL)
			npu_field_set(f, &insn, (value & NPU_ACC_BIT) | (value % BASES));
		if (f->kind == NPU_KIND_DRAM)
			npu_field_set(f, &insn, value % BASES);
		if (f->kind == NPU_KIND_UINT && f->required && value > 96 && strcmp(f->name, "page_stride") != 0)
			npu_field_set(f, &insn, 2 * (1 + rng_below(rng, 40)));
		if (f->kind == NPU_KIND_UINT && !f->required && strcmp(f->unit, "byte") == 0)
			npu_field_set(f, &insn, 0);
		if (strcmp(f->name, "group") == 0)
			npu_field_set(f, &insn, value ? 1 + value % 20 : 0);
		if (strcmp(f->name, "heads") == 0)
			npu_field_set(f, &insn, 1 + value % 3);
		if (strcmp(f->name, "masked") == 0)
			npu_field_set(f, &insn, 0);
		if (strcmp(f->name, "odd") == 0)
			npu_field_set(f, &insn, value % 3 ? 0 : value % 2000);
	}
	if (npu_op_format(op) == NPU_FORMAT_rope)
		insn.rope.rotary = insn.rope.dim / 2 * 2;
	if (npu_op_format(op) == NPU_FORMAT_matmul && !insn.matmul.group)
		insn.matmul.scales = 0;
	return insn;
}

/* Gives about every second stride a value other than 0. */
static void widen_strides(struct rng *rng, const struct npu_program *tables, struct npu_insn *insn)
{
	for (const struct npu_field *f = npu_op_info(insn->op)->format->fields; f->name; f++) {
		if (strlen(f->name) < 8 || strcmp(f->name + strlen(f->name) - 7, "_stride") != 0 || rng_one_in(rng, 2))
			continue;
		for (uint64_t stride = 1 + rng_below(rng, 8); stride < 2048; stride += 1 + rng_below(rng, 40)) {
			struct npu_insn wider = *insn;
			npu_field_set(f, &wider, stride);
			if (is_legal(tables, &wider, NULL)) {
				*insn = wider;
				break;
			}
		}
	}
}

START_TEST(accesses_are_the_bytes_that_the_fields_say)
{
	const struct npu_op_info *info = &npu_ops[_i];
	struct rng rng = { (uint64_t)_i };
	struct npu_program *tables = tables_only();
	struct marks *wanted = new_marks(), *got = new_marks();
	for (unsigned round = 0; round < 30;) {
		struct npu_insn insn = small_insn(&rng, info->op, tables);
		if (!is_legal(tables, &insn, NULL))
			continue;
		widen_strides(&rng, tables, &insn);
		memset(wanted, 0, sizeof *wanted);
		memset(got, 0, sizeof *got);
		twin(wanted, &insn);
		mark_accesses(got, &insn);
		ck_assert_msg(memcmp(wanted, got, sizeof *got) == 0, "%s, round %u", info->mnemonic, round);
		round++;
	}
	free(wanted);
	free(got);
	npu_program_free(tables);
}
END_TEST

/* Marks what the pieces touch; checks each piece's local address against the twin. Returns their number. */
static unsigned mark_pieces(struct marks *marks, const struct npu_program *program, const struct npu_insn *insn,
			    uint64_t *descriptors)
{
	struct npu_piece_walk walk;
	struct npu_piece piece;
	uint64_t bytes = 0;
	unsigned n = 0;
	*descriptors = 0;
	npu_piece_walk_init(&walk, program, insn);
	while (npu_piece_next(&walk, &piece)) {
		bytes += piece.bytes;
		*descriptors += piece.new_descriptor;
		for (uint32_t b = 0; b < piece.bytes; b++) {
			if (piece.dram + b < SPACE_BYTES && marks->bytes[NPU_SPACE_DRAM][piece.dram + b])
				ck_abort_msg("a byte in two pieces");
			mark(marks, NPU_SPACE_DRAM, piece.dram + b,
			     npu_op_engine(insn->op) == NPU_ENGINE_STORE ? WRITTEN : READ);
		}
		n++;
	}
	ck_assert_uint_eq(bytes, npu_insn_dram_bytes(insn));
	return n;
}

START_TEST(pieces_of_a_dma_cover_its_bytes_once)
{
	struct rng rng = { 77 };
	struct npu_program *tables = tables_only();
	struct marks *wanted = new_marks(), *got = new_marks();
	for (unsigned round = 0; round < 400;) {
		struct npu_insn insn = small_insn(&rng, rng_one_in(&rng, 2) ? NPU_OP_LOAD : NPU_OP_STORE, tables);
		if (!is_legal(tables, &insn, NULL))
			continue;
		widen_strides(&rng, tables, &insn);
		memset(wanted, 0, sizeof *wanted);
		memset(got, 0, sizeof *got);
		twin(wanted, &insn);
		uint64_t descriptors;
		unsigned n = mark_pieces(got, NULL, &insn, &descriptors);
		ck_assert_uint_eq(descriptors, n);
		ck_assert(memcmp(wanted->bytes[NPU_SPACE_DRAM], got->bytes[NPU_SPACE_DRAM], SPACE_BYTES) == 0);
		round++;
	}
	free(wanted);
	free(got);
	npu_program_free(tables);
}
END_TEST

START_TEST(pieces_of_a_gather_are_the_rows_of_its_pages)
{
	struct rng rng = { 78 };
	struct npu_program *tables = tables_only();
	struct marks *wanted = new_marks(), *got = new_marks();
	for (unsigned round = 0; round < 400;) {
		struct npu_insn insn = small_insn(&rng, rng_one_in(&rng, 2) ? NPU_OP_GATHER : NPU_OP_SCATTER, tables);
		struct npu_paged *p = &insn.paged;
		p->rows = 1 + p->rows % 50; /* 50 rows of at least one row a page: at most 61 pages, which differ */
		p->first %= 10;
		p->page_rows = 1 + p->page_rows % 9;
		uint32_t row = (uint32_t)npu_dtype_bytes((enum npu_dtype)p->dtype, p->cols);
		p->row_stride = rng_one_in(&rng, 2) ? 0 : row + rng_below(&rng, 9);
		p->page_stride = (p->row_stride ? p->row_stride : row) * p->page_rows + rng_below(&rng, 3) * 64;
		if (!is_legal(tables, &insn, NULL))
			continue;
		memset(wanted, 0, sizeof *wanted);
		memset(got, 0, sizeof *got);
		const struct npu_table *table = &tables->tables[p->table];
		uint64_t pages = 0, before = UINT64_MAX;
		for (uint32_t i = 0; i < p->rows; i++) {
			uint32_t at = p->first + i;
			pages += at / p->page_rows != before;
			before = at / p->page_rows;
			uint64_t address = p->dram + (uint64_t)table->entries[at / p->page_rows] * p->page_stride +
					   at % p->page_rows * (p->row_stride ? p->row_stride : row);
			touch(wanted, insn.op == NPU_OP_SCATTER ? WRITTEN : READ, address, true, 0, 8 * row);
		}
		uint64_t descriptors;
		mark_pieces(got, tables, &insn, &descriptors);
		ck_assert(memcmp(wanted->bytes[NPU_SPACE_DRAM], got->bytes[NPU_SPACE_DRAM], SPACE_BYTES) == 0);
		ck_assert_uint_eq(descriptors, pages);
		ck_assert_uint_eq(npu_insn_table_bytes(&insn), 4 * pages);
		round++;
	}
	free(wanted);
	free(got);
	npu_program_free(tables);
}
END_TEST

static struct npu_insn plain_load(uint32_t rows, uint32_t cols)
{
	struct npu_insn insn = npu_insn_initial(NPU_OP_LOAD);
	insn.dma.local = 0x1000;
	insn.dma.dram = 0x4000;
	insn.dma.rows = rows;
	insn.dma.cols = cols;
	return insn;
}

static unsigned all_pieces(const struct npu_program *program, const struct npu_insn *insn, struct npu_piece out[],
			   unsigned room)
{
	struct npu_piece_walk walk;
	unsigned n = 0;
	npu_piece_walk_init(&walk, program, insn);
	while (n < room && npu_piece_next(&walk, &out[n]))
		n++;
	return n;
}

START_TEST(a_dense_load_is_one_piece)
{
	struct npu_insn insn = plain_load(128, 64);
	struct npu_piece p[4];
	ck_assert_uint_eq(all_pieces(NULL, &insn, p, 4), 1);
	ck_assert_uint_eq(p[0].bytes, 128 * 64 * 2);
	ck_assert_uint_eq(p[0].dram, 0x4000);
	ck_assert_uint_eq(p[0].local, 0x1000);
}
END_TEST

START_TEST(a_strided_load_is_a_piece_a_row)
{
	struct npu_insn insn = plain_load(3, 64);
	struct npu_piece p[8];
	insn.dma.dram_stride = 256;
	ck_assert_uint_eq(all_pieces(NULL, &insn, p, 8), 3);
	ck_assert_uint_eq(p[2].dram, 0x4000 + 2 * 256);
	ck_assert_uint_eq(p[2].local, 0x1000 + 2 * 128);
	ck_assert_uint_eq(p[2].bytes, 128);
	ck_assert(p[2].new_descriptor);
	insn.dma.dram_stride = 0; /* dense in DRAM, but rows 160 bytes apart in SRAM */
	insn.dma.local_stride = 160;
	ck_assert_uint_eq(all_pieces(NULL, &insn, p, 8), 3);
	ck_assert_uint_eq(p[1].dram, 0x4000 + 128);
	ck_assert_uint_eq(p[1].local, 0x1000 + 160);
}
END_TEST

START_TEST(a_transposing_load_puts_a_row_into_a_column)
{
	struct npu_insn insn = plain_load(3, 64);
	struct npu_piece p[8];
	insn.dma.transpose = 1; /* SRAM holds [64, 3]: row 2 begins at element (0, 2) */
	ck_assert_uint_eq(all_pieces(NULL, &insn, p, 8), 3);
	ck_assert_uint_eq(p[2].dram, 0x4000 + 2 * 128);
	ck_assert_uint_eq(p[2].local, 0x1000 + 2 * 2);
}
END_TEST

START_TEST(a_load_into_blocks_reads_rows)
{
	struct npu_insn insn = plain_load(20, 40);
	struct npu_piece p[32];
	insn.dma.local_layout = NPU_LAYOUT_BLOCK16;
	ck_assert_uint_eq(all_pieces(NULL, &insn, p, 32), 20);
	ck_assert_uint_eq(p[17].dram, 0x4000 + 17 * 80);
	/* row 17 is row 1 of the second row of blocks: 3 blocks of 16 * 16 * 2 B before it, then a row of 32 B */
	ck_assert_uint_eq(p[17].local, 0x1000 + 3 * 512 + 32);
	ck_assert_uint_eq(p[17].bytes, 80);
	struct npu_access a[NPU_MAX_ACCESSES];
	ck_assert_uint_eq(npu_insn_accesses(&insn, a), 2);
	ck_assert_str_eq(a[1].operand, "local");
	ck_assert_uint_eq(a[1].row_bytes * a[1].rows, 2 * 3 * 512); /* edge blocks are stored whole */
}
END_TEST

START_TEST(a_load_from_blocks_reads_rows_of_blocks)
{
	struct npu_insn insn = plain_load(20, 40);
	struct npu_piece p[8];
	insn.dma.dram_layout = NPU_LAYOUT_BLOCK16;
	ck_assert_uint_eq(all_pieces(NULL, &insn, p, 8), 2);
	ck_assert_uint_eq(p[1].dram, 0x4000 + 3 * 512);
	ck_assert_uint_eq(p[1].bytes, 3 * 512);
	ck_assert_uint_eq(p[1].local, 0x1000 + 16 * 80);
	ck_assert_uint_eq(npu_insn_dram_bytes(&insn), 2 * 3 * 512);
	insn.dma.local_layout = NPU_LAYOUT_BLOCK16; /* the same on both sides, dense: one piece */
	ck_assert_uint_eq(all_pieces(NULL, &insn, p, 8), 1);
	ck_assert_uint_eq(p[0].bytes, 2 * 3 * 512);
}
END_TEST

START_TEST(a_gather_of_dense_pages_is_a_piece_a_page)
{
	static const uint32_t entries[] = { 5, 2, 9 };
	struct npu_assembly *assembly = npu_assembly_new("kv");
	npu_assembly_table(assembly, &(struct npu_table){ "seq0", 0x100, 3, entries, 0 });
	struct npu_insn insn = npu_insn_initial(NPU_OP_GATHER);
	insn.paged = (struct npu_paged){ .local = 0x1000,
					 .dram = 0x10000,
					 .rows = 30,
					 .cols = 64,
					 .dtype = NPU_FP16,
					 .page_stride = 4096,
					 .page_rows = 16,
					 .first = 10 };
	npu_assembly_insn(assembly, &insn);
	struct npu_program *program = npu_assembly_finish(assembly, NULL);
	ck_assert_ptr_nonnull(program);
	struct npu_piece p[32];
	/* rows 10..15 of page 5, 0..15 of page 2, 0..7 of page 9; a row is 128 B */
	ck_assert_uint_eq(all_pieces(program, &insn, p, 32), 3);
	ck_assert_uint_eq(p[0].dram, 0x10000 + 5 * 4096 + 10 * 128);
	ck_assert_uint_eq(p[0].bytes, 6 * 128);
	ck_assert_uint_eq(p[1].dram, 0x10000 + 2 * 4096);
	ck_assert_uint_eq(p[1].bytes, 16 * 128);
	ck_assert_uint_eq(p[1].local, 0x1000 + 6 * 128);
	ck_assert_uint_eq(p[1].entry, 1);
	ck_assert_uint_eq(p[2].dram, 0x10000 + 9 * 4096);
	ck_assert_uint_eq(p[2].bytes, 8 * 128);
	ck_assert_uint_eq(npu_insn_table_bytes(&insn), 12);
	insn.paged.row_stride = 256; /* rows apart: a piece each, a descriptor a page */
	ck_assert_uint_eq(all_pieces(program, &insn, p, 32), 30);
	unsigned descriptors = 0;
	for (unsigned i = 0; i < 30; i++)
		descriptors += p[i].new_descriptor;
	ck_assert_uint_eq(descriptors, 3);
	insn.paged.row_stride = 0;
	insn.paged.odd = 0x4000; /* K and V in turns: likewise, every other one 16 KiB further on */
	ck_assert_uint_eq(all_pieces(program, &insn, p, 32), 30);
	for (unsigned i = 0; i < 30; i++)
		ck_assert_uint_eq(p[i].local, 0x1000 + i / 2 * 128 + i % 2 * 0x4000);
	npu_program_free(program);
}
END_TEST

START_TEST(only_products_have_macs)
{
	struct npu_insn insn = npu_insn_initial(NPU_OP_MATMUL);
	insn.matmul.m = 1000000;
	insn.matmul.n = 1000000;
	insn.matmul.k = 1000000;
	ck_assert_uint_eq(npu_insn_macs(&insn), 1000000000000000000u);
	insn = plain_load(2, 2);
	ck_assert_uint_eq(npu_insn_macs(&insn), 0);
	insn = npu_insn_initial(NPU_OP_SYNC_MATRIX);
	ck_assert_uint_eq(npu_insn_macs(&insn), 0);
	ck_assert_uint_eq(npu_insn_dram_bytes(&insn), 0);
	struct npu_access a[NPU_MAX_ACCESSES];
	ck_assert_uint_eq(npu_insn_accesses(&insn, a), 0);
}
END_TEST

static struct npu_access random_access(struct rng *rng)
{
	struct npu_access a = { .space = NPU_SPACE_SRAM, .base = rng_below(rng, 300), .rows = 1 + rng_below(rng, 6) };
	a.row_bytes = 1 + rng_below(rng, 30);
	a.stride = rng_one_in(rng, 3) ? 40 : a.row_bytes + rng_below(rng, 40);
	return a;
}

START_TEST(overlap_is_exact)
{
	struct rng rng = { 5 };
	unsigned met = 0;
	for (unsigned round = 0; round < 200000; round++) {
		struct npu_access a = random_access(&rng), b = random_access(&rng);
		bool shared = false, bytes[1024] = { false };
		for (uint64_t i = 0; i < a.rows * a.row_bytes; i++)
			bytes[a.base + i / a.row_bytes * a.stride + i % a.row_bytes] = true;
		for (uint64_t i = 0; i < b.rows * b.row_bytes; i++)
			shared = shared || bytes[b.base + i / b.row_bytes * b.stride + i % b.row_bytes];
		bool one = npu_access_overlap(&a, &b), other = npu_access_overlap(&b, &a);
		met += shared;
		b.space = NPU_SPACE_ACCUM;
		if (one != shared || other != shared || npu_access_overlap(&a, &b))
			ck_abort_msg("round %u", round);
	}
	ck_assert_uint_gt(met, 10000);
	ck_assert_uint_lt(met, 190000);
}
END_TEST

START_TEST(a_layout_knows_where_each_element_lies)
{
	/* element (18, 33) of [20, 40] fp16 in 16 x 16 blocks: strip 1, block 2, inside (2, 1) */
	struct npu_matrix m = { 20, 40, NPU_FP16, NPU_LAYOUT_BLOCK16, 0 };
	ck_assert_uint_eq(npu_matrix_bit(&m, 18, 33), 8 * (3 * 512) + 16 * (2 * 256 + 2 * 16 + 1));
	ck_assert_uint_eq(npu_matrix_extent(&m), 2 * 3 * 512);
	struct npu_matrix nibbles = { 4, 6, NPU_INT4, NPU_LAYOUT_ROW, 5 };
	ck_assert_uint_eq(npu_matrix_bit(&nibbles, 2, 3), 8 * 10 + 12);
	ck_assert_uint_eq(npu_matrix_extent(&nibbles), 3 * 5 + 3);
	ck_assert(!npu_matrix_is_dense(&nibbles));
}
END_TEST

static Suite *access_suite(void)
{
	Suite *suite = suite_create("isa.access");
	TCase *tests = tcase_create("access");
	tcase_add_loop_test(tests, accesses_are_the_bytes_that_the_fields_say, 0, (int)npu_nops);
	tcase_add_test(tests, pieces_of_a_dma_cover_its_bytes_once);
	tcase_add_test(tests, pieces_of_a_gather_are_the_rows_of_its_pages);
	tcase_add_test(tests, a_dense_load_is_one_piece);
	tcase_add_test(tests, a_strided_load_is_a_piece_a_row);
	tcase_add_test(tests, a_transposing_load_puts_a_row_into_a_column);
	tcase_add_test(tests, a_load_into_blocks_reads_rows);
	tcase_add_test(tests, a_load_from_blocks_reads_rows_of_blocks);
	tcase_add_test(tests, a_gather_of_dense_pages_is_a_piece_a_page);
	tcase_add_test(tests, only_products_have_macs);
	tcase_add_test(tests, overlap_is_exact);
	tcase_add_test(tests, a_layout_knows_where_each_element_lies);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return npu_suite_run(access_suite());
}
