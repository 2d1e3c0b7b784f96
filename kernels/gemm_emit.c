/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of gemm: loads, conversions, products and stores of a step, and the walk over all steps. */
#include <inttypes.h>

#include "isa/layout.h"
#include "kernels/gemm.h"
#include "kernels/tiles.h"

/* One product: a tile of C and a tile of k. */
struct step {
	uint64_t i, j, l;           /* first row, column and element of k */
	uint64_t step, tile, outer; /* how many came before */
	uint32_t m, n, k;
	bool first_pass; /* of what is held */
};

/* Rows and columns of a matrix [.., width] in DRAM, from (row, col) on. */
static struct npu_dma block(struct layout layout, uint64_t dram, enum npu_dtype type, uint64_t width, uint64_t row,
			    uint64_t col, uint32_t rows, uint32_t cols)
{
	struct npu_matrix whole = { 0, width, type, layout.dram, 0 };
	return (struct npu_dma){
		.dram = dram + npu_matrix_bit(&whole, row, col) / 8,
		.rows = rows,
		.cols = cols,
		.dram_stride = (uint32_t)npu_matrix_strip_bytes(&whole),
		.dtype = type,
		.dram_layout = layout.dram,
		.local_layout = layout.local,
	};
}

static uint32_t held_at(const struct gemm *g, const struct held *h, const struct step *s)
{
	uint64_t tile = s->outer * g->deep + s->l / g->tile_k;
	return h->at + (uint32_t)(tile % h->slots * h->bytes);
}

/* Where the operands of a step lie: what is loaded, and what is multiplied. */
struct places {
	uint32_t a, loaded_b, loaded_s, b, s;
};

static struct places places_of(const struct gemm *g, const struct step *s)
{
	unsigned buffer = ring_at(&g->ab, s->step).index;
	struct places p = { .a = g->ab.at[buffer], .loaded_b = g->b_at[buffer], .loaded_s = g->s_at[buffer] };
	if (g->order == ACTIVATION)
		p.a = held_at(g, &g->panel, s);
	if (g->order == WEIGHT && !g->linear.convert) {
		p.loaded_b = held_at(g, &g->panel, s);
		p.loaded_s = g->linear.group ? held_at(g, &g->panel_scales, s) : 0;
	}
	p.b = p.loaded_b;
	p.s = p.loaded_s;
	if (g->linear.convert)
		p.b = g->order == WEIGHT ? held_at(g, &g->panel, s) : g->converted_at[buffer];
	return p;
}

static bool converts(const struct gemm *g, const struct step *s)
{
	return g->linear.convert && (g->order != WEIGHT || s->first_pass);
}

static unsigned slot_of(const struct gemm *g, const struct step *s)
{
	return ring_at(&g->ab, s->step).index / g->ab.panel;
}

/* Posted when all operands of a step are there, for whoever takes them. */
static struct npu_semaphore loaded(const struct gemm *g, const struct step *s)
{
	return converts(g, s) ? g->raw[slot_of(g, s)] : ring_at(&g->ab, s->step).full;
}

/* Loads end in queue order: when the last one of a step is there, so are the others. */
static void load(const struct gemm *g, const struct step *s, const struct places *p)
{
	const struct linear *w = &g->linear;
	struct slot ab = ring_at(&g->ab, s->step);
	struct npu_dma loads[3];
	unsigned n = 0;
	if (g->order != ACTIVATION || s->first_pass) {
		loads[n] = block(g->a_layout, g->A.addr, w->act, g->k, s->i, s->l, s->m, s->k);
		loads[n++].local = p->a;
	}
	if (g->order != WEIGHT || s->first_pass) {
		loads[n] = block(g->b_layout, g->B.addr, w->type, g->n, s->l, s->j, s->k, s->n);
		loads[n].local_stride = (uint32_t)g->b_stride;
		loads[n++].local = p->loaded_b;
		if (w->group)
			loads[n++] = (struct npu_dma){ .local = p->loaded_s,
						       .dram = g->S.addr + 2 * (s->l / w->group * g->n + s->j),
						       .rows = (uint32_t)linear_groups(w, s->k),
						       .cols = s->n,
						       .dram_stride = (uint32_t)(2 * g->n),
						       .dtype = NPU_FP16 };
	}
	for (unsigned i = 0; i < n; i++)
		npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = loads[i] },
			 &(struct npu_order){ .wait = { i == 0 ? ab.take : NPU_NO_SEMAPHORE },
					      .post = { i + 1 == n ? loaded(g, s) : NPU_NO_SEMAPHORE } });
}

/* A number for each column of a tile. */
static void load_vector(const struct gemm *g, const struct step *s, struct npu_dram from, enum npu_dtype type,
			const uint32_t *at)
{
	struct npu_dma dma = {
		.local = at[s->tile % g->nscales], .dram = from.addr + 2 * s->j, .rows = 1, .cols = s->n, .dtype = type
	};
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = dma }, NULL);
}

/* Loads and conversion of a step. What is converted comes back with the step's other operands. */
static void prepare(const struct gemm *g, const struct step *s)
{
	struct places p = places_of(g, s);
	struct linear_tile tile = { .at = p.loaded_b, .scales = p.loaded_s, .converted = p.b, .n = s->n, .k = s->k };
	if (g->linear.channel && !s->l)
		load_vector(g, s, g->S, NPU_FP16, g->scale_at);
	if (g->linear.bias && !s->l)
		load_vector(g, s, g->bias, g->linear.out, g->bias_at);
	load(g, s, &p);
	if (converts(g, s))
		linear_convert(
		    g->b, &g->linear, &tile,
		    &(struct npu_order){ .wait = { loaded(g, s) }, .post = { g->converted[slot_of(g, s)] } });
}

/* With conversions of every step and two accumulators the array waits for one behind the end of these sums. */
static bool acc_comes_back(const struct gemm *g)
{
	return g->linear.convert && g->order != WEIGHT && g->acc.n > 1;
}

static struct npu_semaphore acc_free(const struct gemm *g, uint64_t tile)
{
	return acc_comes_back(g) ? NPU_NO_SEMAPHORE : ring_at(&g->acc, tile).free;
}

static void multiply(const struct gemm *g, const struct step *s)
{
	struct slot ab = ring_at(&g->ab, s->step), acc = ring_at(&g->acc, s->tile);
	struct places p = places_of(g, s);
	bool first = s->l == 0, last = s->l + s->k == g->k;
	struct npu_matmul product = {
		.dst = acc.at,
		.a = p.a,
		.b = p.b,
		.scales = p.s,
		.m = s->m,
		.n = s->n,
		.k = s->k,
		.group = g->linear.convert ? 0 : (uint32_t)g->linear.group,
		.a_type = g->linear.act,
		.b_type = g->linear.product,
		.accumulate = !first,
		.a_layout = g->a_layout.local,
		.b_layout = g->b_layout.local,
		.b_stride = (uint32_t)g->b_stride,
	};
	struct npu_order order = {
		.wait = { converts(g, s) ? g->converted[slot_of(g, s)] : loaded(g, s),
			  first ? acc_free(g, s->tile) : NPU_NO_SEMAPHORE },
		.post = { ab.give, last ? acc.full : NPU_NO_SEMAPHORE },
	};
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product }, &order);
}

static void store(struct gemm *g, const struct step *s, struct slot from)
{
	struct npu_dma c = block(g->c_layout, g->C.addr, g->linear.out, g->n, s->i, s->j, s->m, s->n);
	struct npu_order order = { .wait = { from.full }, .post = { from.free } };
	c.local = from.at;
	if (g->k || g->linear.bias)
		npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = c }, &order);
	else
		zeros_store(g->b, &g->zeros, c, NPU_NO_SEMAPHORE);
}

/* The sums of a tile become its result. */
static void finish(struct gemm *g, const struct step *s)
{
	struct slot acc = ring_at(&g->acc, s->tile), from = acc;
	if (!linear_raw(&g->linear)) {
		from = ring_at(&g->c, s->tile);
		unsigned buffer = (unsigned)(s->tile % g->nscales);
		struct linear_vectors vectors = { g->scale_at[buffer], g->bias_at[buffer] };
		linear_finish(g->b, &g->linear, from.at, acc.at, &vectors, s->m, s->n,
			      &(struct npu_order){ .wait = { acc.full, from.free },
						   .post = { from.full, acc_free(g, s->tile) } });
	}
	store(g, s, from);
}

/* ---- the walk ---- */

static void measure(const struct gemm *g, struct step *s)
{
	s->m = (uint32_t)least(g->tile_m, g->m - s->i);
	s->n = (uint32_t)least(g->tile_n, g->n - s->j);
	s->k = (uint32_t)least(g->tile_k, g->k - s->l);
	s->first_pass = g->order == WEIGHT ? s->i == 0 : s->j == 0;
}

/* The next tile of C; false past the last one. */
static bool next_tile(const struct gemm *g, struct step *s)
{
	bool by_column = g->order == WEIGHT;
	uint64_t *inner = by_column ? &s->i : &s->j, *outer = by_column ? &s->j : &s->i;
	s->tile++;
	s->l = 0;
	*inner += by_column ? g->tile_m : g->tile_n;
	if (*inner >= (by_column ? g->m : g->n)) {
		*inner = 0;
		*outer += by_column ? g->tile_n : g->tile_m;
		s->outer++;
	}
	if (s->i >= g->m || s->j >= g->n)
		return false;
	measure(g, s);
	return true;
}

static bool next_step(const struct gemm *g, struct step *s)
{
	s->step++;
	s->l += s->k;
	if (s->l >= g->k)
		return next_tile(g, s);
	measure(g, s);
	return true;
}

static void open_region(const struct gemm *g, const struct step *s)
{
	npu_region(g->b, "tile %u,%u", (unsigned)(s->i / g->tile_m), (unsigned)(s->j / g->tile_n));
}

static void emit_zeros(struct gemm *g, struct step s)
{
	bool more = true;
	zeros_fill(g->b, &g->zeros, g->tile_m * g->tile_n * g->out_bytes, NPU_NO_SEMAPHORE);
	for (; more && !npu_builder_failed(g->b); more = next_tile(g, &s)) {
		open_region(g, &s);
		store(g, &s, (struct slot){ 0 });
		npu_region_end(g->b);
	}
}

/* The tiles of a column of C are all the same, as far as rows go. */
static void emit_bias_column(struct gemm *g, struct step s, uint64_t column)
{
	struct slot bias = ring_at(&g->biases, column), c = ring_at(&g->c, column);
	struct npu_dma load = {
		.local = bias.at, .dram = g->bias.addr + 2 * s.j, .rows = 1, .cols = s.n, .dtype = g->linear.out
	};
	struct npu_ew add = {
		.dst = c.at, .a = g->zeros.at, .b = bias.at, .rows = (uint32_t)g->tile_m, .cols = s.n, .b_bcast = NPU_BCAST_ROW
	};
	add.dst_type = add.a_type = add.b_type = g->linear.out;
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = load },
		 &(struct npu_order){ .wait = { bias.free }, .post = { bias.full } });
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_VADD, .ew = add },
		 &(struct npu_order){ .wait = { bias.full, c.free }, .post = { bias.free, c.full } });
	for (s.i = 0; s.i < g->m && !npu_builder_failed(g->b); s.i += g->tile_m) {
		measure(g, &s);
		open_region(g, &s);
		store(g, &s, (struct slot){ .at = c.at,
					    .full = s.i ? NPU_NO_SEMAPHORE : c.full,
					    .free = s.i + s.m == g->m ? c.free : NPU_NO_SEMAPHORE });
		npu_region_end(g->b);
	}
}

static void emit_biases(struct gemm *g, struct step s)
{
	uint64_t column = 0;
	struct npu_fill fill = { .dst = g->zeros.at, .rows = (uint32_t)g->tile_m, .cols = (uint32_t)g->tile_n };
	fill.dst_type = g->linear.out;
	ring_init(g->b, &g->biases, "bias");
	ring_init(g->b, &g->c, "c");
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_VFILL, .fill = fill }, NULL);
	for (; s.j < g->n && !npu_builder_failed(g->b); s.j += g->tile_n, column++) {
		measure(g, &s);
		emit_bias_column(g, s, column);
		s.i = 0;
	}
}

/* A conversion of the next tile comes before the end of this one, so that the vector engine does not wait for the
 * array. */
static void emit_steps(struct gemm *g, struct step s)
{
	bool more = true;
	open_region(g, &s);
	prepare(g, &s);
	while (more && !npu_builder_failed(g->b)) {
		struct step after = s;
		more = next_step(g, &after);
		bool ends = !more || after.tile != s.tile, ahead = more && (!ends || g->linear.convert);
		multiply(g, &s);
		if (ahead)
			prepare(g, &after);
		if (ends) {
			finish(g, &s);
			npu_region_end(g->b);
			if (more)
				open_region(g, &after);
		}
		if (more && !ahead)
			prepare(g, &after);
		s = after;
	}
}

static void init_semaphores(struct gemm *g)
{
	static const char *const raw[] = { "b_full[0]", "b_full[1]", "b_full[2]" };
	static const char *const converted[] = { "converted_full[0]", "converted_full[1]", "converted_full[2]" };
	ring_init(g->b, &g->ab, "ab");
	for (unsigned i = 0; i < g->ab.n && g->linear.convert; i++) {
		/* Later passes over held weights convert nothing: there the array takes what is loaded. */
		g->raw[i] = g->order == WEIGHT ? npu_semaphore(g->b, raw[i], 0) : g->ab.full[i];
		g->converted[i] = npu_semaphore(g->b, converted[i], 0);
	}
	if (acc_comes_back(g))
		ring_init_full(g->b, &g->acc, "acc");
	else
		ring_init(g->b, &g->acc, "acc");
	if (!linear_raw(&g->linear))
		ring_init(g->b, &g->c, "c");
}

static struct npu_dram tensor(const struct gemm *g, const char *name, struct layout layout, enum npu_dtype type,
			      enum npu_tensor_dir dir, uint64_t rows, uint64_t cols)
{
	return npu_tensor_at(g->b, name, type, dir, 2, (uint64_t[]){ rows, cols }, layout.dram, NPU_ANYWHERE);
}

bool gemm_emit(struct npu_builder *b, const struct npu_args *args)
{
	struct gemm g = gemm_of(args);
	const struct linear *w = &g.linear;
	struct step first = { 0 };

	g.b = b;
	g.A = tensor(&g, "A", g.a_layout, w->act, NPU_TENSOR_IN, g.m, g.k);
	g.B = tensor(&g, "B", g.b_layout, w->type, NPU_TENSOR_IN, g.k, g.n);
	if (w->group)
		g.S = npu_tensor(b, "S", NPU_FP16, NPU_TENSOR_IN, 2, (uint64_t[]){ linear_groups(w, g.k), g.n });
	if (w->channel)
		g.S = npu_tensor(b, "S", NPU_FP16, NPU_TENSOR_IN, 1, (uint64_t[]){ g.n });
	if (w->bias)
		g.bias = npu_tensor(b, "bias", w->out, NPU_TENSOR_IN, 1, (uint64_t[]){ g.n });
	g.C = tensor(&g, "C", g.c_layout, w->out, NPU_TENSOR_OUT, g.m, g.n);
	if (!gemm_place(&g))
		return false;
	measure(&g, &first);
	if (g.down && g.across && !g.k) {
		if (w->bias)
			emit_biases(&g, first);
		else
			emit_zeros(&g, first);
	} else if (g.down && g.across) {
		init_semaphores(&g);
		emit_steps(&g, first);
	}
	return !npu_builder_failed(b);
}
