/* SPDX-License-Identifier: Apache-2.0 */
/* The systolic array, beat by beat. A beat is a cycle in which every word that the array wants is granted; else it
 * stands still.
 *
 * A product folds over the array. WS: a tile k x n of B stays, rows of A stream; IS: a tile of A stays, columns of B
 * stream; OS: a tile of D stays, both stream. A fold loads its tile (not OS), streams, and writes its results when they
 * have crossed the array. Overlapped, the next tile loads into second registers that are free once the fold before it
 * streams. */
#include "tests/golden/twin_parts.h"

#include <stdlib.h>

struct part {
	struct twin_walk walk;
	uint64_t from, to; /* beats */
};

/* A fold from its load on. */
struct fold {
	struct part load, load_scales, stream, stream2, stream_scales, read, write, result_scales;
	bool loads, streams;             /* begun */
	uint64_t loaded, streamed, done; /* beats at which that is over */
	uint64_t turning;                /* serial: 1 + the beat in which it leaves the transposer; 0: not begun */
};

struct product {
	uint32_t insn;
	uint32_t folds;
	uint32_t first, next; /* folds that have begun and not ended */
	uint64_t accepted;    /* beat */
	uint64_t k_group, k_tile, k_per_group, k_tiles, inner;
	uint64_t turn, load, stream, latency, results, used_rows, used_cols, depth;
	uint64_t before; /* beats of a fold's stream before the next tile, or OS initial sums, may enter */
	struct fold *fold;
};

struct twin_matrix {
	uint64_t beat;
	bool under_way;           /* the beat has been denied at least once */
	struct product **product; /* in service, oldest first */
	uint32_t n;
	uint64_t streamer_free, registers_free, sums_free, initial_free, results_free; /* beats */
};

static uint64_t up(uint64_t n, uint64_t d)
{
	return (n + d - 1) / d;
}
static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}
static uint64_t more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool is_os(const struct hw *hw)
{
	return hw->matrix.dataflow == HW_DATAFLOW_OS;
}
static bool is_is(const struct hw *hw)
{
	return hw->matrix.dataflow == HW_DATAFLOW_IS;
}
/* A beat's results are a column of D. */
static bool leaves_by_column(const struct hw *hw)
{
	return is_is(hw) || (is_os(hw) && hw->matrix.shift_out == HW_SHIFT_ACROSS);
}
static bool is_serial(const struct hw *hw)
{
	return hw->matrix.weight_load == HW_LOAD_SERIAL;
}

struct twin_matrix *twin_matrix_new(void)
{
	return twin_alloc(1, sizeof(struct twin_matrix));
}

static void free_part(struct part *p)
{
	twin_walk_free(&p->walk);
}

static void free_fold(struct fold *f)
{
	struct part *parts[] = { &f->load,          &f->load_scales, &f->stream, &f->stream2,
				 &f->stream_scales, &f->read,        &f->write,  &f->result_scales };
	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
		free_part(parts[i]);
}

static void free_product(struct product *p)
{
	for (uint32_t i = 0; i < p->folds; i++)
		free_fold(&p->fold[i]);
	free(p->fold);
	free(p);
}

void twin_matrix_free(struct twin_matrix *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free_product(m->product[i]);
	free(m->product);
	free(m);
}

/* ---- how long the parts of a fold take, in beats ---- */

/* preload=last_block: all but the last block of operand rows, which are `steps`. */
static uint64_t before_last_block(const struct hw *hw, uint64_t steps, uint64_t step)
{
	uint64_t blocks = up(steps, hw->matrix.rows);
	return hw->matrix.preload == HW_PRELOAD_LAST_BLOCK ? (blocks - 1) * hw->matrix.rows * step : 0;
}

static struct product *new_product(const struct hw *hw, const struct npu_matmul *q)
{
	struct product *p = twin_alloc(1, sizeof *p);
	uint64_t rows = hw->matrix.rows, cols = hw->matrix.cols;
	enum npu_dtype a = (enum npu_dtype)q->a_type, b = (enum npu_dtype)q->b_type;
	uint64_t a_port = hw_activation_port(hw), w_port = hw_weight_port(hw);
	uint64_t registers = hw->matrix.input_registers + hw->matrix.output_registers;
	bool used = hw->matrix.ragged == HW_RAGGED_USED, transposed;
	p->depth = a == NPU_INT8 ? hw->matrix.int8_macs_per_pe : 1;
	/* No sum mixes two groups of scales. */
	p->k_group = q->group ? q->group : q->k;
	p->k_tile = is_os(hw) ? p->k_group : less(rows * p->depth, p->k_group);
	p->k_per_group = up(p->k_group, p->k_tile);
	p->k_tiles = q->k / p->k_group * p->k_per_group + up(q->k % p->k_group, p->k_tile);
	p->inner = 1;
	p->used_rows = rows;
	p->used_cols = cols;
	if (is_os(hw)) {
		p->inner = up(q->n, cols);
		p->folds = (uint32_t)(up(q->m, rows) * p->inner * p->k_tiles);
		if (used) {
			p->used_rows = less(rows, q->m);
			p->used_cols = less(cols, q->n);
		}
		/* A column of A and a row of B a step, as long as the slower port takes. */
		uint64_t step = more(up(npu_dtype_bytes(a, p->used_rows * p->depth), a_port),
				     up(npu_dtype_bytes(b, p->used_cols * p->depth), w_port));
		p->stream = up(p->k_tile, p->depth) * step;
		/* The last pair meets in the far corner, then the sums leave through the columns or the rows. */
		p->results = leaves_by_column(hw) ? p->used_cols : p->used_rows;
		p->latency = p->used_rows + p->used_cols - 2 + registers + p->results;
		p->before = before_last_block(hw, up(p->k_tile, p->depth), step);
		return p;
	}
	uint64_t stay = is_is(hw) ? q->m : q->n, pass = is_is(hw) ? q->n : q->m;
	enum npu_dtype stays = is_is(hw) ? a : b, streams = is_is(hw) ? b : a;
	transposed = is_is(hw) ? q->transpose_a : q->transpose_b;
	p->folds = (uint32_t)(up(stay, cols) * p->k_tiles);
	if (used) {
		p->used_rows = less(rows, up(p->k_tile, p->depth));
		p->used_cols = less(cols, stay);
	}
	p->turn = transposed ? rows : 0;
	p->load = up(p->used_rows * p->depth * npu_dtype_bytes(stays, p->used_cols), w_port);
	if (hw->matrix.load_rows)
		p->load = more(p->load, up(p->used_rows, hw->matrix.load_rows));
	uint64_t step = up(npu_dtype_bytes(streams, p->used_rows * p->depth), a_port);
	p->stream = pass * step;
	p->results = p->stream;
	p->latency = p->used_rows + p->used_cols - 2 + registers;
	p->before = before_last_block(hw, pass, step);
	return p;
}

/* ---- which words they touch ---- */

/* Rows [row, row + rows) and columns [col, col + cols) of a stored matrix; of a blocked one as many bytes of every strip
 * of blocks that it lies in, in stored order. */
static void add_tile(struct part *part, const struct hw *hw, uint32_t local, const struct npu_matrix *m, uint64_t row,
		     uint64_t rows, uint64_t col, uint64_t cols, bool by_column, bool write)
{
	uint64_t block = npu_layout_block(m->layout), first = row / block, strips = up(row + rows, block) - first;
	struct twin_rows r = { .stride = npu_matrix_stride(m), .write = write };
	if (block == 1) {
		r.local = local + (uint32_t)(npu_matrix_bit(m, row, col) / 8);
		r.row_bytes = npu_dtype_bytes(m->dtype, cols);
		r.by_column = by_column;
	} else {
		r.local = local + (uint32_t)(npu_matrix_bit(m, first * block, col / block * block) / 8);
		r.row_bytes = more(1, npu_dtype_bytes(m->dtype, rows * cols) / strips);
	}
	r.rows = strips;
	twin_walk_add(&part->walk, hw, &r);
}

struct region {
	uint64_t m0, m, n0, n, k0, k;
	bool first_k;
};

static struct region region_of(const struct hw *hw, const struct npu_matmul *q, const struct product *p, uint64_t f)
{
	uint64_t kt = f % p->k_tiles, tile = f / p->k_tiles, group = kt / p->k_per_group;
	struct region r = { .m = q->m, .n = q->n, .first_k = kt == 0 };
	r.k0 = group * p->k_group + kt % p->k_per_group * p->k_tile;
	r.k = less(p->k_tile, less(q->k, (group + 1) * p->k_group) - r.k0);
	if (is_os(hw)) {
		r.m0 = tile / p->inner * hw->matrix.rows;
		r.m = less(hw->matrix.rows, q->m - r.m0);
		r.n0 = tile % p->inner * hw->matrix.cols;
		r.n = less(hw->matrix.cols, q->n - r.n0);
	} else if (is_is(hw)) {
		r.m0 = tile * hw->matrix.cols;
		r.m = less(hw->matrix.cols, q->m - r.m0);
	} else {
		r.n0 = tile * hw->matrix.cols;
		r.n = less(hw->matrix.cols, q->n - r.n0);
	}
	return r;
}

/* A[m, k]; by_k: it enters k by k. */
static void add_a(struct part *part, const struct hw *hw, const struct npu_matmul *q, const struct region *r, bool by_k)
{
	struct npu_matrix a = { q->transpose_a ? q->k : q->m, q->transpose_a ? q->m : q->k, (enum npu_dtype)q->a_type,
				q->a_layout, q->a_stride };
	if (q->transpose_a)
		add_tile(part, hw, q->a, &a, r->k0, r->k, r->m0, r->m, !by_k, false);
	else
		add_tile(part, hw, q->a, &a, r->m0, r->m, r->k0, r->k, by_k, false);
}

/* B[k, n]; by_n: it enters column by column. */
static void add_b(struct part *part, const struct hw *hw, const struct npu_matmul *q, const struct region *r, bool by_n)
{
	struct npu_matrix b = { q->transpose_b ? q->n : q->k, q->transpose_b ? q->k : q->n, (enum npu_dtype)q->b_type,
				q->b_layout, q->b_stride };
	if (q->transpose_b)
		add_tile(part, hw, q->b, &b, r->n0, r->n, r->k0, r->k, !by_n, false);
	else
		add_tile(part, hw, q->b, &b, r->k0, r->k, r->n0, r->n, by_n, false);
}

static void add_d(struct part *part, const struct hw *hw, const struct npu_matmul *q, const struct region *r,
		  bool write)
{
	struct npu_matrix d = { q->m, q->n, NPU_FP32, NPU_LAYOUT_ROW, q->dst_stride };
	add_tile(part, hw, q->dst, &d, r->m0, r->m, r->n0, r->n, leaves_by_column(hw), write);
}

static void add_scales(struct part *part, const struct hw *hw, const struct npu_matmul *q, const struct region *r)
{
	struct npu_matrix s = { up(q->k, q->group), q->n, NPU_FP16, NPU_LAYOUT_ROW, 0 };
	add_tile(part, hw, q->scales, &s, r->k0 / q->group, 1, r->n0, r->n, false, false);
}

static void span(struct part *part, uint64_t from, uint64_t beats)
{
	part->from = from;
	part->to = from + beats;
}

/* Real rows come at the pace of a full tile's, zeros afterwards. */
static uint64_t share(uint64_t beats, uint64_t real, uint64_t full)
{
	return real < full ? up(beats * real, full) : beats;
}

static void begin_load(const struct hw *hw, const struct npu_matmul *q, struct product *p, uint64_t at)
{
	struct region r = region_of(hw, q, p, p->next);
	struct fold *f = &p->fold[p->next++];
	bool rows_are_k = is_is(hw) ? q->transpose_a : !q->transpose_b;
	uint64_t beats = rows_are_k ? share(p->load, r.k, p->used_rows * p->depth)
				    : share(p->load, is_is(hw) ? r.m : r.n, p->used_cols);
	f->loads = true;
	f->loaded = at + p->load;
	span(&f->load, at, beats);
	if (is_is(hw)) /* as it is stored */
		add_a(&f->load, hw, q, &r, q->transpose_a);
	else
		add_b(&f->load, hw, q, &r, q->transpose_b);
	if (q->group && !is_is(hw)) {
		span(&f->load_scales, at, p->load);
		add_scales(&f->load_scales, hw, q, &r);
	}
}

static void begin_stream(const struct hw *hw, const struct npu_matmul *q, struct twin_matrix *m, struct product *p,
			 uint64_t fold, uint64_t at)
{
	struct region r = region_of(hw, q, p, fold);
	struct fold *f = &p->fold[fold];
	uint64_t beats = is_os(hw) ? share(p->stream, r.k, p->k_tile) : p->stream;
	f->streams = true;
	f->streamed = at + p->stream;
	span(&f->stream, at, beats);
	span(&f->stream2, at, beats);
	if (is_is(hw)) {
		add_b(&f->stream, hw, q, &r, true);
	} else {
		add_a(&f->stream, hw, q, &r, is_os(hw));
		if (is_os(hw))
			add_b(&f->stream2, hw, q, &r, false);
	}
	/* Results leave in order. */
	uint64_t results = more(f->streamed + p->latency - p->results, m->results_free);
	uint64_t real = p->results;
	if (is_os(hw))
		real = leaves_by_column(hw) ? share(real, r.n, p->used_cols) : share(real, r.m, p->used_rows);
	f->done = m->results_free = results + p->results;
	span(&f->write, results, real);
	add_d(&f->write, hw, q, &r, true);
	if (q->accumulate || !r.first_k) {
		span(&f->read, results, real);
		add_d(&f->read, hw, q, &r, false);
	}
	if (q->group && is_is(hw)) {
		span(&f->stream_scales, at, p->stream);
		add_scales(&f->stream_scales, hw, q, &r);
	} else if (q->group && is_os(hw)) {
		span(&f->result_scales, results, p->results);
		add_scales(&f->result_scales, hw, q, &r);
	}
}

/* ---- what begins in this beat ---- */

/* Serial: a fold begins when everything before has left the array. */
static void begin_serial(struct twin *t, struct twin_matrix *m, struct product *p)
{
	const struct npu_matmul *q = &t->program->insns[p->insn].matmul;
	uint64_t f = p->next;
	bool empty = m->beat >= m->results_free && (f == 0 || p->fold[f - 1].streams);
	if (f < p->folds && !p->fold[f].turning && empty)
		p->fold[f].turning = m->beat + p->turn + 1;
	if (!is_os(t->hw) && f < p->folds && p->fold[f].turning && m->beat + 1 >= p->fold[f].turning)
		begin_load(t->hw, q, p, m->beat);
	if (is_os(t->hw) && f < p->folds && p->fold[f].turning) {
		p->next++;
		begin_stream(t->hw, q, m, p, f, m->beat);
	}
	for (uint32_t i = p->first; i < p->next; i++)
		if (p->fold[i].loads && !p->fold[i].streams && m->beat >= p->fold[i].loaded)
			begin_stream(t->hw, q, m, p, i, m->beat);
}

static bool overlapped_may_load(const struct twin_matrix *m, const struct product *p)
{
	if (m->beat < m->registers_free)
		return false;
	if (!p->next)
		return m->beat >= p->accepted + p->turn;
	const struct fold *last = &p->fold[p->next - 1];
	return last->streams && m->beat >= last->stream.from + p->before;
}

static void begin_overlapped(struct twin *t, struct twin_matrix *m, struct product *p)
{
	const struct npu_matmul *q = &t->program->insns[p->insn].matmul;
	uint32_t i = p->first;
	if (is_os(t->hw)) {
		/* A fold's sums take `results` beats to leave before the next one's take their place; with
		 * preload=last_block the next one's initial sums enter on that way, as long, beside the last block. */
		if (p->next < p->folds && m->beat >= m->streamer_free && m->beat + p->stream >= m->sums_free &&
		    m->beat >= m->initial_free) {
			i = p->next++;
			begin_stream(t->hw, q, m, p, i, m->beat);
			m->streamer_free = p->fold[i].streamed;
			if (t->hw->matrix.preload == HW_PRELOAD_LAST_BLOCK)
				m->initial_free = m->beat + p->before + p->results;
			m->sums_free = p->fold[i].streamed + p->results;
		}
		return;
	}
	while (i < p->next && p->fold[i].streams)
		i++;
	if (i < p->next && m->beat >= p->fold[i].loaded && m->beat >= m->streamer_free) {
		begin_stream(t->hw, q, m, p, i, m->beat);
		m->streamer_free = p->fold[i].streamed;
	}
	if (p->next < p->folds && overlapped_may_load(m, p)) {
		begin_load(t->hw, q, p, m->beat);
		m->registers_free = p->fold[p->next - 1].loaded;
	}
}

static void begin(struct twin *t)
{
	struct twin_matrix *m = t->matrix;
	for (uint32_t i = 0; i < m->n; i++) {
		struct product *p = m->product[i];
		if (m->beat < p->accepted)
			continue;
		if (is_serial(t->hw)) {
			begin_serial(t, m, p);
			if (p->next < p->folds || p->fold[p->folds - 1].done > m->beat)
				return; /* the one behind waits */
		} else {
			begin_overlapped(t, m, p);
			if (p->next < p->folds)
				return;
		}
	}
}

/* ---- the engine ---- */

static bool in_service(const struct twin *t, enum npu_engine e)
{
	(void)e;
	return t->matrix->n > 0;
}

/* The next product is taken when the last operand row of the one before has entered; overlapped, when its last fold
 * streams. */
static bool may_start(struct twin *t, enum npu_engine e, uint32_t insn)
{
	struct twin_matrix *m = t->matrix;
	(void)e, (void)insn;
	if (!m->n)
		return true;
	if (!m->under_way)
		begin(t);
	const struct product *p = m->product[m->n - 1];
	const struct fold *last = &p->fold[p->folds - 1];
	if (!last->streams)
		return false;
	return is_serial(t->hw) || is_os(t->hw) ? m->beat >= last->streamed : m->beat >= last->stream.from + p->before;
}

static void start(struct twin *t, enum npu_engine e, uint32_t insn)
{
	struct twin_matrix *m = t->matrix;
	(void)e;
	struct product *p = new_product(t->hw, &t->program->insns[insn].matmul);
	p->insn = insn;
	p->accepted = m->beat + m->under_way;
	p->fold = twin_alloc(p->folds, sizeof *p->fold);
	m->product = twin_room(m->product, m->n, sizeof *m->product);
	m->product[m->n++] = p;
}

static uint32_t ended(struct twin *t, enum npu_engine e)
{
	struct twin_matrix *m = t->matrix;
	(void)e;
	if (!m->n || m->under_way)
		return TWIN_NOBODY;
	struct product *p = m->product[0];
	const struct fold *last = &p->fold[p->folds - 1];
	if (!last->streams || m->beat < last->done)
		return TWIN_NOBODY;
	uint32_t insn = p->insn;
	free_product(p);
	m->n--;
	for (uint32_t i = 0; i < m->n; i++)
		m->product[i] = m->product[i + 1];
	return insn;
}

static void ask_part(struct twin *t, struct part *p)
{
	if (p->walk.words && t->matrix->beat >= p->from && t->matrix->beat < p->to)
		twin_memory_ask(&t->memory, NPU_ENGINE_MATRIX, &p->walk, t->matrix->beat - p->from, p->to - p->from);
}

static void ask(struct twin *t, enum npu_engine e)
{
	struct twin_matrix *m = t->matrix;
	struct twin_walk nothing = { 0 };
	if (!m->n || m->under_way)
		return;
	begin(t);
	twin_memory_ask(&t->memory, e, &nothing, 0, 1);
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t f = m->product[i]->first; f < m->product[i]->next; f++) {
			struct fold *fold = &m->product[i]->fold[f];
			ask_part(t, &fold->load);
			ask_part(t, &fold->load_scales);
			ask_part(t, &fold->stream);
			ask_part(t, &fold->stream2);
			ask_part(t, &fold->stream_scales);
			ask_part(t, &fold->read);
			ask_part(t, &fold->write);
			ask_part(t, &fold->result_scales);
		}
}

/* Something loads, streams, is on its way through the array or drains. */
static bool works(const struct twin_matrix *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t f = m->product[i]->first; f < m->product[i]->next; f++) {
			const struct fold *fold = &m->product[i]->fold[f];
			if ((fold->loads && m->beat < fold->loaded) || (fold->streams && m->beat < fold->done))
				return true;
		}
	return false;
}

static enum npu_state state(struct twin *t, enum npu_engine e)
{
	struct twin_matrix *m = t->matrix;
	m->under_way = t->memory.outcome[e] != TWIN_PASSED;
	if (m->under_way)
		return t->memory.outcome[e] == TWIN_DENIED_SRAM ? NPU_STATE_SRAM_CONFLICT : NPU_STATE_ACCUM_CONFLICT;
	bool busy = works(m);
	m->beat++;
	for (uint32_t i = 0; i < m->n; i++) {
		struct product *p = m->product[i];
		for (; p->first < p->next && p->fold[p->first].streams && p->fold[p->first].done <= m->beat; p->first++)
			free_fold(&p->fold[p->first]);
	}
	return busy ? NPU_STATE_BUSY : NPU_STATE_ENGINE_LATENCY;
}

const struct twin_body twin_matrix_body = { may_start, start, ended, ask, state, in_service };
