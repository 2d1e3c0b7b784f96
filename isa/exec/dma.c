/* SPDX-License-Identifier: Apache-2.0 */
/* Moves matrices between DRAM and local memory. Elements keep their bits; layout and orientation may change. A band of
 * source rows at a time becomes raw elements (4-bit ones a byte each) and is then put into the destination. */
#include "isa/exec/state.h"

#include <string.h>

/* A multiple of every block, so that a band fills whole blocks of a transposed destination. */
enum { BAND = 32 };

/* One side of a transfer: a matrix, or rows of pages. */
struct side {
	struct npu_exec *e;
	struct npu_view v;
	const struct npu_view *apart[2]; /* even and odd rows; NULL: they lie in `v` together */
	const struct npu_paged *paged; /* NULL: `v` is the matrix; else `v` is the row that locate() was asked for */
};

static uint64_t page_row_addr(const struct npu_exec *e, const struct npu_paged *p, uint64_t row)
{
	uint64_t token = p->first + row;
	uint64_t page = e->program->tables[p->table].entries[token / p->page_rows];
	uint64_t row_bytes = npu_dtype_bytes((enum npu_dtype)p->dtype, p->cols);
	return p->dram + page * p->page_stride + token % p->page_rows * (p->row_stride ? p->row_stride : row_bytes);
}

/* The row of s->v that holds row `row` of the side. */
static uint64_t locate(struct side *s, uint64_t row)
{
	if (s->apart[1]) {
		s->v = *s->apart[row % 2];
		return row / 2;
	}
	if (!s->paged)
		return row;
	s->v.addr = page_row_addr(s->e, s->paged, row);
	return 0;
}

static void get_bytes(const struct side *s, uint64_t offset, void *out, uint64_t nbytes)
{
	if (s->v.bytes)
		memcpy(out, s->v.bytes + offset, nbytes);
	else
		npu_dram_read(&s->e->dram, s->v.addr + offset, out, nbytes);
}

static bool put_bytes(struct side *s, uint64_t offset, const void *bytes, uint64_t nbytes)
{
	if (!s->v.bytes)
		return npu_dram_write(&s->e->dram, s->v.addr + offset, bytes, nbytes, s->e->insn);
	memcpy(s->v.bytes + offset, bytes, nbytes);
	return true;
}

static bool is_4_bit(const struct npu_view *v)
{
	return npu_dtype_bits(v->m.dtype) == 4;
}

static uint64_t raw_bytes(const struct npu_view *v)
{
	return is_4_bit(v) ? 1 : npu_dtype_bits(v->m.dtype) / 8;
}

static void unpack(uint8_t *raw, uint64_t n)
{
	for (uint64_t i = n; i-- > 0;)
		raw[i] = i & 1 ? raw[i / 2] >> 4 : raw[i / 2] & 15;
}

static void pack(uint8_t *packed, const uint8_t *raw, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += 2)
		packed[i / 2] = (uint8_t)(raw[i] | (i + 1 < n ? raw[i + 1] << 4 : 0));
}

/* Elements from `col` that lie next to each other, at most `n`. */
static uint64_t run_of(const struct npu_view *v, uint64_t col, uint64_t n)
{
	unsigned block = npu_layout_block(v->m.layout);
	uint64_t run = block == 1 ? n : block - col % block;
	return run < n ? run : n;
}

/* `col` is even for 4-bit types. */
static void get_raw(struct side *s, uint64_t row, uint64_t col, uint64_t n, uint8_t *raw)
{
	uint64_t size = raw_bytes(&s->v);
	row = locate(s, row);
	while (n > 0) {
		uint64_t run = run_of(&s->v, col, n);
		get_bytes(s, npu_matrix_bit(&s->v.m, row, col) / 8, raw, npu_dtype_bytes(s->v.m.dtype, run));
		if (is_4_bit(&s->v))
			unpack(raw, run);
		col += run;
		raw += run * size;
		n -= run;
	}
}

/* Overwrites `raw`. */
static bool put_raw(struct side *s, uint64_t row, uint64_t col, uint64_t n, uint8_t *raw)
{
	uint64_t size = raw_bytes(&s->v);
	row = locate(s, row);
	while (n > 0) {
		uint64_t run = run_of(&s->v, col, n);
		if (is_4_bit(&s->v))
			pack(raw, raw, run);
		if (!put_bytes(s, npu_matrix_bit(&s->v.m, row, col) / 8, raw, npu_dtype_bytes(s->v.m.dtype, run)))
			return false;
		col += run;
		raw += run * size;
		n -= run;
	}
	return true;
}

static uint64_t padded(uint64_t n, uint64_t block)
{
	return (n + block - 1) / block * block;
}

struct band {
	uint8_t *raw;  /* [BAND][width] elements, padded with zeros */
	uint8_t *line; /* one column, or a copy of a row */
	uint64_t width;
	uint64_t size; /* bytes of a raw element */
};

static void get_band(struct side *src, struct band *b, uint64_t from)
{
	const struct npu_matrix *m = &src->v.m;
	uint64_t cols = m->cols, rows = src->paged ? src->paged->rows : m->rows;
	memset(b->raw, 0, BAND * b->width * b->size);
	for (uint64_t i = 0; i < BAND && from + i < rows; i++)
		get_raw(src, from + i, 0, cols, b->raw + i * b->width * b->size);
}

/* Rows from.. of the destination. */
static bool put_rows(struct side *dst, struct band *b, uint64_t from, uint64_t rows, uint64_t cols)
{
	for (uint64_t i = 0; i < rows; i++)
		if (!put_raw(dst, from + i, 0, cols, b->raw + i * b->width * b->size))
			return false;
	return true;
}

/* Column `row` of the band; inlined for each size of element. */
static inline __attribute__((always_inline)) void get_line(struct band *b, uint64_t row, uint64_t n, uint64_t size)
{
	const uint8_t *from = b->raw + row * size;
	for (uint64_t i = 0; i < n; i++)
		memcpy(b->line + i * size, from + i * b->width * size, size);
}

/* Columns from.. of the destination, whose rows are columns of the band. */
static bool put_columns(struct side *dst, struct band *b, uint64_t from, uint64_t rows, uint64_t cols)
{
	for (uint64_t row = 0; row < rows; row++) {
		if (b->size == 1)
			get_line(b, row, cols, 1);
		else if (b->size == 2)
			get_line(b, row, cols, 2);
		else
			get_line(b, row, cols, 4);
		if (!put_raw(dst, row, from, cols, b->line))
			return false;
	}
	return true;
}

/* `rows` and `cols` of the source. The padding of blocks at the edge of the destination becomes zeros. */
static bool convert(struct npu_exec *e, struct side *src, struct side *dst, bool transpose, uint64_t rows,
		    uint64_t cols, struct npu_error *err)
{
	unsigned block = npu_layout_block(dst->v.m.layout);
	uint64_t all_rows = padded(rows, block), all_cols = padded(cols, block);
	struct band b = { .width = padded(cols, BAND), .size = raw_bytes(&src->v) };
	if (!(b.raw = npu_scratch(e, BAND * b.width * b.size, err)) || !(b.line = npu_scratch(e, BAND * b.size, err)))
		return false;
	for (uint64_t from = 0; from < all_rows; from += BAND) {
		uint64_t n = all_rows - from < BAND ? all_rows - from : BAND;
		get_band(src, &b, from);
		if (!(transpose ? put_columns(dst, &b, from, all_cols, n) : put_rows(dst, &b, from, n, all_cols)))
			return npu_exec_fail(e, err, NPU_ERR_MEMORY, "out of memory for pages of DRAM");
	}
	return true;
}

/* Strips with the same layout on both sides, as bytes. */
static bool copy_strips(struct npu_exec *e, struct side *src, struct side *dst, uint64_t strips, struct npu_error *err)
{
	uint64_t nbytes = npu_matrix_strip_bytes(&src->v.m);
	uint8_t *buffer = npu_scratch(e, nbytes, err);
	if (!buffer)
		return false;
	for (uint64_t i = 0; i < strips; i++) {
		uint64_t from = locate(src, i), to = locate(dst, i);
		get_bytes(src, from * src->v.m.stride, buffer, nbytes);
		if (!put_bytes(dst, to * dst->v.m.stride, buffer, nbytes))
			return npu_exec_fail(e, err, NPU_ERR_MEMORY, "out of memory for pages of DRAM");
	}
	return true;
}

static bool transfer(struct npu_exec *e, struct side *local, struct side *dram, bool transpose,
		     const struct npu_matrix *whole, struct npu_error *err)
{
	bool store = npu_op_engine(e->program->insns[e->insn].op) == NPU_ENGINE_STORE;
	struct side *src = store ? local : dram, *dst = store ? dram : local;
	if (!transpose && src->v.m.layout == dst->v.m.layout)
		return copy_strips(e, src, dst, npu_matrix_strips(whole), err);
	bool turned = transpose && store; /* the source is the turned one */
	return convert(e, src, dst, transpose, turned ? whole->cols : whole->rows, turned ? whole->rows : whole->cols,
		       err);
}

bool npu_exec_dma(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	struct npu_views views;
	if (!npu_views_bind(e, insn, &views, err))
		return false;
	struct side local = { .e = e, .v = *npu_views_find(&views, "local") };
	struct side dram = { .e = e, .v = *npu_views_find(&views, "dram") };
	return transfer(e, &local, &dram, insn->dma.transpose, &dram.v.m, err);
}

/* Every row must lie below 2^40, every table entry exist. */
static bool check_pages(const struct npu_exec *e, const struct npu_paged *p, struct npu_error *err)
{
	const uint64_t end = (uint64_t)1 << NPU_DRAM_BITS;
	uint64_t row_bytes = npu_dtype_bytes((enum npu_dtype)p->dtype, p->cols);
	if (!p->page_rows || p->table >= e->program->ntables)
		return npu_exec_fail(e, err, NPU_ERR_OPERAND, "no block table, or pages of no rows");
	const struct npu_table *table = &e->program->tables[p->table];
	for (uint64_t row = 0; row < p->rows; row++) {
		uint64_t entry = (p->first + row) / p->page_rows;
		if (entry >= table->count)
			return npu_exec_fail(e, err, NPU_ERR_BOUNDS,
					     "row %llu lies in page %llu of a block table of %u",
					     (unsigned long long)row, (unsigned long long)entry, table->count);
		bool far = p->page_stride && table->entries[entry] > end / p->page_stride;
		uint64_t addr = far ? end : page_row_addr(e, p, row);
		if (addr > end || row_bytes > end - addr)
			return npu_exec_fail(e, err, NPU_ERR_BOUNDS, "row %llu in page %u reaches past the end of DRAM",
					     (unsigned long long)row, table->entries[entry]);
	}
	return true;
}

bool npu_exec_paged(struct npu_exec *e, const struct npu_insn *insn, struct npu_error *err)
{
	const struct npu_paged *p = &insn->paged;
	struct npu_views views;
	if (!check_pages(e, p, err) || !npu_views_bind(e, insn, &views, err))
		return false;
	enum npu_dtype dtype = (enum npu_dtype)p->dtype;
	struct npu_matrix whole = { p->rows, p->cols, dtype, NPU_LAYOUT_ROW, 0 };
	struct npu_matrix row = { 1, p->cols, dtype, NPU_LAYOUT_ROW, 0 };
	row.stride = npu_matrix_stride(&row);
	struct side local = { .e = e, .v = *npu_views_find(&views, "local") };
	struct side dram = { .e = e, .v = { "dram", NPU_SPACE_DRAM, 0, NULL, row }, .paged = p };
	local.apart[0] = npu_views_find(&views, "local");
	local.apart[1] = npu_views_find(&views, "odd");
	return transfer(e, &local, &dram, p->transpose, &whole, err);
}
