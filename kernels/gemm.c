/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B with A[m,k] and B[k,n] streamed from DRAM tile by tile; C is fp16 or bf16 as they are, int32 for int8. B may
 * be weights of 8 or 4 bits with scales (kernels/linear.h).
 *
 *   for i in tiles of m                    order=weight: j outside, i inside
 *     for j in tiles of n
 *       for l in tiles of k
 *         load    a = A[i, l], b = B[l, j], scales of b
 *         vcopy   b = b                    int8 weights of floats; vdequant with groups
 *         matmul  acc (+)= a b
 *       vcopy   c = acc                    vmul with a scale a channel, vadd with a bias; int32: acc is stored as it is
 *       store   C[i, j] = c
 *
 * order=weight keeps the tiles of a column of B in SRAM while all rows of A pass, order=activation those of a row of A
 * while all columns of B pass: they are loaded, and converted, in the first pass alone. With k = 0 there are only
 * stores, of zeros or of the bias.
 *
 * a and b are a ping-pong pair of pairs, acc and c one each: the loads of step s + 1, the product of step s, and
 * conversion and store of the tile before run at the same time. On a large array a half of what is loaded, and of what
 * is converted, is a panel of several tiles. */
#include <inttypes.h>

#include "isa/layout.h"
#include "isa/units.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/reference.h"
#include "kernels/tiles.h"

enum { M, N, K, DTYPE, TILE_M, TILE_N, TILE_K, BUFFERING, WEIGHTS, GROUP, ORDER, LAYOUT, BIAS, A_LAYOUT, B_LAYOUT, C_LAYOUT };

/* Columns and rows of a tile of int4: 128 columns are 64 bytes, too short a run of DRAM, and A passes once for them. */
enum { WIDEST_INT4 = 512 };
/* Such tiles are widened as long as 8 times as many of them remain as of others: where the array is the bound, what the first one
 * takes to load is all that widening brings. */
enum { TILES_PER_WIDE = 8 };

static const char *const orders[] = { "output", "weight", "activation", NULL };
static const char *const layouts[] = { "row", "block16", "block32", NULL }; /* NPU_LAYOUT_* */
static const char *const operand_layouts[] = { "same", "row", "block16", "block32", NULL };

static const struct npu_param params[] = {
	[M] = PARAM_INT("m", 512, 0, MAX_LENGTH, "row", "rows of A and C"),
	[N] = PARAM_INT("n", 512, 0, MAX_LENGTH, "column", "columns of B and C"),
	[K] = PARAM_INT("k", 512, 0, MAX_LENGTH, "element", "columns of A, rows of B"),
	[DTYPE] = PARAM_OPERANDS,
	[TILE_M] = PARAM_TILE("tile_m", "rows of a tile of A and C"),
	[TILE_N] = PARAM_TILE("tile_n", "columns of a tile of B and C"),
	[TILE_K] = PARAM_TILE("tile_k", "columns of a tile of A, rows of a tile of B"),
	[BUFFERING] = PARAM_BUFFERING,
	[WEIGHTS] = PARAM_WEIGHTS,
	[GROUP] = PARAM_GROUP,
	[ORDER] = PARAM_CHOICE("order", OUTPUT, orders,
			       "what stays in SRAM: sums alone, a column of tiles of B (weight), a row of tiles of A"),
	[LAYOUT] = PARAM_CHOICE("layout", 0, layouts,
				"of A, B and C in DRAM; blocks that are no array's worth are rearranged by the DMA"),
	[BIAS] = PARAM_BIAS,
	[A_LAYOUT] = PARAM_CHOICE("a_layout", 0, operand_layouts, "of A alone; same: as layout"),
	[B_LAYOUT] = PARAM_CHOICE("b_layout", 0, operand_layouts, "of B alone"),
	[C_LAYOUT] = PARAM_CHOICE("c_layout", 0, operand_layouts, "of C alone"),
};

static uint64_t round_up(uint64_t x, uint64_t to)
{
	return tiles_of(x, to) * to;
}

/* The array takes rows, and blocks of its own side as they are: a block is what it holds at once. All others become
 * rows on their way in; so do blocks that the vector engine is to convert. */
static uint32_t local_layout(const struct npu_capacity *c, uint32_t layout)
{
	uint32_t side = npu_layout_block(layout);
	return c->array_rows == side && c->array_cols == side ? layout : NPU_LAYOUT_ROW;
}

/* The parameter that says how an operand lies in DRAM, and what it says. */
static unsigned layout_param(const struct npu_args *args, unsigned operand)
{
	return args->value[operand] ? operand : LAYOUT;
}
static uint32_t layout_value(const struct npu_args *args, unsigned operand)
{
	return (uint32_t)(args->value[operand] ? args->value[operand] - 1 : args->value[LAYOUT]);
}

/* The operand of two that has the larger blocks. */
static unsigned coarser(const struct npu_args *args, unsigned x, unsigned y)
{
	return npu_layout_block(layout_value(args, y)) > npu_layout_block(layout_value(args, x)) ? y : x;
}

/* Of the blocks that a tile of m, n or k is to consist of. */
static uint64_t side_of(const struct npu_args *args, unsigned x, unsigned y)
{
	return npu_layout_block(layout_value(args, coarser(args, x, y)));
}

struct gemm gemm_of(const struct npu_args *args)
{
	const int64_t *v = args->value;
	struct gemm g = { .m = (uint64_t)v[M], .n = (uint64_t)v[N], .k = (uint64_t)v[K] };
	g.buffers = (unsigned)v[BUFFERING] + 1;
	g.order = (enum order)v[ORDER];
	g.a_layout.dram = layout_value(args, A_LAYOUT);
	g.b_layout.dram = layout_value(args, B_LAYOUT);
	g.c_layout.dram = layout_value(args, C_LAYOUT);
	g.linear = linear_of(&npu_gemm, args);
	uint64_t m = round_up((uint64_t)v[TILE_M], side_of(args, A_LAYOUT, C_LAYOUT));
	uint64_t n = round_up((uint64_t)v[TILE_N], side_of(args, B_LAYOUT, C_LAYOUT));
	uint64_t k = round_up((uint64_t)v[TILE_K], side_of(args, A_LAYOUT, B_LAYOUT));
	g.tile_m = tile_within(m, g.m);
	g.tile_n = linear_tile_n(&g.linear, n, g.n);
	g.tile_k = linear_tile_k(&g.linear, k, g.k);
	g.down = tiles_of(g.m, g.tile_m);
	g.across = tiles_of(g.n, g.tile_n);
	g.deep = tiles_of(g.k, g.tile_k);
	g.in_bytes = npu_dtype_bytes(g.linear.act, 1);
	g.out_bytes = npu_dtype_bytes(g.linear.out, 1);
	return g;
}

/* Bytes of a dense matrix in a layout. */
static uint64_t bytes_of(uint64_t rows, uint64_t cols, enum npu_dtype type, uint32_t layout)
{
	return npu_matrix_extent(&(struct npu_matrix){ rows, cols, type, layout, 0 });
}

static uint64_t a_bytes(const struct gemm *g)
{
	return bytes_of(g->tile_m, g->tile_k, g->linear.act, g->a_layout.local);
}
static uint64_t b_bytes(const struct gemm *g)
{
	return g->b_stride ? g->tile_k * g->b_stride : bytes_of(g->tile_k, g->tile_n, g->linear.type, g->b_layout.local);
}
static uint64_t s_bytes(const struct gemm *g)
{
	return 2 * linear_groups(&g->linear, g->tile_k) * g->tile_n;
}

/* So many that a held tile needs no semaphore to come back: its place is loaded (or converted) anew by a step whose
 * panel was loaded only when the array was done with the step `ring` buffers before, and the last use of what lay there
 * is no later. */
static uint64_t held_slots(const struct gemm *g, unsigned ring)
{
	uint64_t panels = g->order == WEIGHT ? g->across : g->down, slots = g->deep > ring ? g->deep : ring;
	return least(slots, panels * g->deep);
}

/* As in gemv: the load of a tile's scales stands behind one that has waited long enough. */
static unsigned scale_slots(const struct gemm *g, unsigned ring, unsigned results)
{
	uint64_t slots = g->linear.convert && g->order != WEIGHT ? 1 + tiles_of(ring + 2, g->deep)
								 : results + tiles_of(ring + 1, g->deep);
	return (unsigned)least(slots, g->down * g->across);
}

/* The array takes a few bytes of each of its rows of weights at a time. Where those of int4 lie a multiple of several words
 * apart they meet in some banks while others rest: a word between them spreads them over all. */
static uint64_t spread_rows(const struct gemm *g)
{
	uint64_t row = linear_bytes(&g->linear, g->tile_n), word = npu_builder_capacity(g->b)->sram_word_bytes;
	bool rows = g->linear.type == NPU_INT4 && g->b_layout.local == NPU_LAYOUT_ROW;
	return rows && word && row % (2 * word) == 0 ? row + word : 0;
}

/* What has to be placed for the products. */
struct buffers {
	struct npu_request r[NPU_MAX_REQUESTS];
	unsigned n;
	unsigned ring, fewest; /* buffers of what each step loads or converts */
	unsigned rings;
	uint64_t ring_bytes; /* one buffer of each of them */
	uint64_t others;     /* all else in SRAM */
};

static void add(struct buffers *p, struct npu_request r)
{
	p->r[p->n++] = r;
	if (!r.accum)
		p->others += r.count * r.bytes;
}

/* Each tile begins at a word of the banks, as buffers do. */
static void add_held(const struct gemm *g, struct buffers *p, struct held *h, const char *name, uint64_t bytes,
		     uint64_t slots, int group)
{
	uint32_t word = npu_builder_capacity(g->b)->sram_word_bytes;
	h->bytes = round_up(bytes, word ? word : 1);
	h->slots = slots;
	add(p, (struct npu_request){ name, false, h->bytes * slots, 1, group, &h->at, .least = 1 });
}

static void add_ring(struct buffers *p, const char *name, uint64_t bytes, int group, uint32_t *at, unsigned *got)
{
	p->r[p->n++] = (struct npu_request){ name,       false,       bytes, p->ring, group, at, .least = p->fewest,
					     .got = got, .pair = !got };
	p->rings++;
	p->ring_bytes += bytes;
}

/* Operands of products. The halves of a pair lie in neighbouring groups, the operands of a product two groups apart. */
static void add_operands(struct gemm *g, struct buffers *p)
{
	const struct linear *w = &g->linear;
	uint64_t converted = npu_dtype_bytes(w->product, g->tile_k * g->tile_n), slots = held_slots(g, p->ring);
	bool weights_stay = g->order == WEIGHT;
	if (g->order == ACTIVATION)
		add_held(g, p, &g->panel, "a", a_bytes(g), slots, 0);
	if (weights_stay)
		add_held(g, p, &g->panel, w->convert ? "converted" : "b", w->convert ? converted : b_bytes(g), slots,
			 2);
	if (weights_stay && w->group && !w->convert)
		add_held(g, p, &g->panel_scales, "s", s_bytes(g), slots, 2);
	if (g->order != ACTIVATION)
		add_ring(p, "a", a_bytes(g), 0, g->ab.at, &g->ab.n);
	if (!weights_stay || w->convert)
		add_ring(p, "b", b_bytes(g), 2, g->b_at, g->order == ACTIVATION ? &g->ab.n : NULL);
	if (w->group && (!weights_stay || w->convert))
		add_ring(p, "s", s_bytes(g), 2, g->s_at, NULL);
	if (w->convert && !weights_stay)
		add_ring(p, "converted", converted, 1, g->converted_at, NULL);
}

/* All buffers, for `n` panels of `panel` tiles. */
static struct buffers buffers_of(struct gemm *g, unsigned n, unsigned panel, unsigned results)
{
	const struct linear *w = &g->linear;
	uint64_t sums = g->tile_m * g->tile_n;
	struct buffers p = { .ring = n * panel, .fewest = panel > 1 ? n * panel : 1 };
	add_operands(g, &p);
	g->nscales = scale_slots(g, p.ring, results);
	if (w->channel)
		add(&p, (struct npu_request){ "scale", false, 2 * g->tile_n, g->nscales, 3, g->scale_at,
					      .least = g->nscales });
	if (w->bias)
		add(&p, (struct npu_request){ "bias", false, 2 * g->tile_n, g->nscales, 3, g->bias_at,
					      .least = g->nscales });
	add(&p, (struct npu_request){ "acc", true, sums * 4, results, -1, g->acc.at, .least = 1, .got = &g->acc.n });
	if (!linear_raw(w))
		add(&p, (struct npu_request){ "c", false, sums * g->out_bytes, results, 2, g->c.at, .least = 1,
					      .got = &g->c.n });
	return p;
}

/* Tiles of a panel; what lies beside the ring is counted as the largest one needs it. */
static unsigned panel_of(struct gemm *g, unsigned n, uint64_t turns, unsigned results)
{
	const struct npu_capacity *c = npu_builder_capacity(g->b);
	struct buffers p = buffers_of(g, n, PANEL_BUFFERS, results);
	uint64_t steps = tile_steps(c, g->tile_m, g->tile_m, g->tile_n, g->tile_n, g->tile_k, g->tile_k);
	uint64_t words = p.rings > 2 ? (p.rings - 2) * (uint64_t)c->sram_word_bytes : 0; /* two are counted there */
	return tile_panel(c, steps, turns, n, p.ring_bytes + words, p.others);
}

/* Without products: zeros, to which the bias of a column of tiles is added where there is one. */
static bool place_empty(struct gemm *g)
{
	uint64_t bytes = g->tile_m * g->tile_n * g->out_bytes;
	const struct npu_request r[] = {
		zeros_request(&g->zeros, bytes),
		{ "bias", false, 2 * g->tile_n, load_slots(g->buffers, g->across), 1, g->biases.at, .least = 1,
		  .got = &g->biases.n },
		{ "c", false, bytes, result_slots(g->buffers, g->across), 2, g->c.at, .least = 1, .got = &g->c.n },
	};
	return npu_place(g->b, r, g->linear.bias ? 3 : 1);
}

bool gemm_place(struct gemm *g)
{
	uint64_t tiles = g->down * g->across, turns = tiles * g->deep;
	if (!tiles)
		return true;
	const struct npu_capacity *capacity = npu_builder_capacity(g->b);
	g->a_layout.local = local_layout(capacity, g->a_layout.dram);
	g->b_layout.local = g->linear.convert ? NPU_LAYOUT_ROW : local_layout(capacity, g->b_layout.dram);
	g->c_layout.local = NPU_LAYOUT_ROW;
	g->b_stride = spread_rows(g);
	if (!g->k)
		return place_empty(g);
	unsigned n = load_slots(g->buffers, turns), results = result_slots(g->buffers, tiles);
	unsigned panel = panel_of(g, n, turns, results);
	struct buffers p = buffers_of(g, n, panel, results);
	if (!npu_place(g->b, p.r, p.n))
		return false;
	ring_panels(&g->ab, panel);
	return true;
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct gemm g = gemm_of(args);
	g.b = b;
	return gemm_place(&g);
}

/* How often all of A and all of B pass. */
static uint64_t passes_of_a(const struct gemm *g)
{
	return g->order == ACTIVATION ? 1 : g->across;
}
static uint64_t passes_of_b(const struct gemm *g)
{
	return g->order == WEIGHT ? 1 : g->down;
}

static uint64_t matrix_traffic(struct layout layout, const struct npu_capacity *c, uint64_t rows, uint64_t cols,
			       uint64_t tile, enum npu_dtype type)
{
	uint64_t side = npu_layout_block(layout.dram);
	/* A row of blocks in DRAM is as good as a long row. */
	return tile_traffic(tiles_of(rows, side), npu_dtype_bytes(type, round_up(cols, side) * side),
			    npu_dtype_bytes(type, round_up(tile, side) * side), c->dram_granule);
}

/* Rows off the granule cost more than they count, above all stores. Those of blocks are whole. */
static bool off_granule(const struct gemm *g, uint64_t granule)
{
	uint64_t a = npu_dtype_bytes(g->linear.act, g->k), b = npu_dtype_bytes(g->linear.type, g->n);
	return granule && ((g->a_layout.dram == NPU_LAYOUT_ROW && a % granule) ||
			   (g->b_layout.dram == NPU_LAYOUT_ROW && b % granule));
}

/* What a second accumulator of sums that are stored as they are is worth in bytes of DRAM. With one, the array stands
 * still while they are stored, and DRAM, at seven eighths of its peak, has time for more loads as long as the array is
 * the slower of both; and stores that nothing else runs beside come at about half of the peak. */
static uint64_t second_accumulator(const struct gemm *g, const struct npu_capacity *c, uint64_t dram, uint64_t stores)
{
	if (2 * g->tile_m * g->tile_n * g->out_bytes <= c->limits.accum_bytes || off_granule(g, c->dram_granule))
		return 0;
	if (!c->int8_ridge)
		return 2 * stores;
	uint64_t moved = g->m * g->n * g->k / c->int8_ridge / 8 * 7;
	return moved + stores > dram ? moved - dram + 2 * stores : stores;
}

static struct tile_cost cost(const struct npu_capacity *c, const struct npu_args *args)
{
	struct gemm g = gemm_of(args);
	uint64_t stores = matrix_traffic(g.c_layout, c, g.m, g.n, g.tile_n, g.linear.out);
	uint64_t dram = passes_of_a(&g) * matrix_traffic(g.a_layout, c, g.m, g.k, g.tile_k, g.linear.act) +
			passes_of_b(&g) * matrix_traffic(g.b_layout, c, g.k, g.n, g.tile_n, g.linear.type) + stores;
	return (struct tile_cost){
		.dram = dram,
		.array = tile_steps(c, g.m, g.tile_m, g.n, g.tile_n, g.k, g.tile_k),
		.tiles = g.down * g.across * g.deep / TILES_PER_WIDE,
		.second = linear_raw(&g.linear) ? second_accumulator(&g, c, dram, stores) : 0,
	};
}

/* A named tile ends where a block of either operand does. */
static bool whole_blocks(const struct npu_args *args, unsigned tile, unsigned length, unsigned x, unsigned y,
			 struct npu_error *err)
{
	unsigned operand = coarser(args, x, y);
	int64_t side = npu_layout_block(layout_value(args, operand)), size = args->value[tile];
	if (!args->named[tile] || size % side == 0 || size >= args->value[length])
		return true;
	return npu_fail(err, NPU_ERR_VALUE,
			"%s=%" PRId64 ": must be a multiple of %" PRId64 " with %s=%s, or at least %s=%" PRId64,
			params[tile].name, size, side, params[layout_param(args, operand)].name,
			layouts[layout_value(args, operand)], params[length].name,
			args->value[length]);
}

/* What stays in SRAM has room there with the narrowest tiles. */
static bool panel_fits(const struct npu_capacity *c, struct npu_args *args, struct npu_error *err)
{
	struct npu_args narrow = *args;
	narrow.value[TILE_M] = args->named[TILE_M] ? args->value[TILE_M] : 1;
	narrow.value[TILE_N] = args->named[TILE_N] ? args->value[TILE_N] : 1;
	narrow.value[TILE_K] = 1;
	struct gemm g = gemm_of(&narrow);
	bool weight = g.order == WEIGHT;
	uint64_t bytes = weight ? npu_dtype_bytes(g.linear.product, g.k * g.tile_n) : g.tile_m * g.k * g.in_bytes;
	if (g.order == OUTPUT || !g.m || !g.n || bytes <= c->limits.sram_bytes)
		return true;
	return npu_fail(err, NPU_ERR_FIT,
			"k=%" PRIu64 ": order=%s keeps %s of %s in SRAM, %s bytes of %s; order=output keeps none", g.k,
			orders[g.order], weight ? "a column of tiles" : "a row of tiles", weight ? "B" : "A",
			npu_count_text(bytes).text, npu_count_text(c->limits.sram_bytes).text);
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	struct tile_dim dims[] = {
		{ "tile_m", (uint64_t)args->value[M], 0 },
		{ "tile_n", (uint64_t)args->value[N], 0 },
		{ "tile_k", (uint64_t)args->value[K], 0 },
	};
	if (!npu_args_check(&npu_gemm, args, err) || !linear_resolve_any_k(&npu_gemm, args, err) ||
	    !whole_blocks(args, TILE_M, M, A_LAYOUT, C_LAYOUT, err) ||
	    !whole_blocks(args, TILE_N, N, B_LAYOUT, C_LAYOUT, err) ||
	    !whole_blocks(args, TILE_K, K, A_LAYOUT, B_LAYOUT, err) || !panel_fits(capacity, args, err))
		return false;
	if (linear_of(&npu_gemm, args).type == NPU_INT4)
		dims[1].widest = dims[2].widest = WIDEST_INT4;
	return tiles_resolve(&npu_gemm, capacity, args, dims, 3, try_place, cost, err);
}

/* A passes once for each column of tiles of C, B once for each row of them, but for what is held, which passes once. */
static struct npu_expect expect(const struct npu_args *args)
{
	struct gemm g = gemm_of(args);
	const struct linear *w = &g.linear;
	/* Zeros are made once, biases loaded and added to them once a column of tiles. */
	if (!g.k && w->bias && g.m && g.n)
		return (struct npu_expect){
			.dram_read_bytes = 2 * g.n,
			.dram_write_bytes = bytes_of(g.m, g.n, w->out, g.c_layout.dram),
			.instructions = 1 + 2 * g.across + g.down * g.across,
		};
	uint64_t macs = g.m * g.n * g.k, tiles = g.down * g.across, conversions = 0;
	uint64_t scales = w->channel ? g.down * g.n : passes_of_b(&g) * linear_groups(w, g.k) * g.n;
	uint64_t loads_a = tiles ? passes_of_a(&g) * g.down * g.deep : 0;
	uint64_t loads_b = tiles ? passes_of_b(&g) * g.across : 0; /* of all k */
	uint64_t each = (linear_raw(w) || !g.k ? 1 : 1 + linear_finishes(w)) + (w->channel && g.k) + w->bias;
	for (uint64_t l = 0; w->convert && l < g.k; l += g.tile_k)
		conversions += linear_conversions(w, least(g.tile_k, g.k - l));
	return (struct npu_expect){
		.macs = macs,
		.useful_macs = macs,
		.dram_read_bytes = !macs ? 0
					 : passes_of_a(&g) * bytes_of(g.m, g.k, w->act, g.a_layout.dram) +
					       passes_of_b(&g) * bytes_of(g.k, g.n, w->type, g.b_layout.dram) + 2 * scales +
					       (w->bias ? 2 * g.down * g.n : 0),
		.dram_write_bytes = g.m && g.n ? bytes_of(g.m, g.n, w->out, g.c_layout.dram) : 0,
		/* Loads, conversions and products; what becomes of a tile; zeros are made by one. */
		.instructions = tiles * (g.deep + each) + loads_a +
				loads_b * (g.deep * (w->group ? 2 : 1) + conversions) + (tiles && !g.k),
	};
}

/* ---- reference ---- */

struct operands {
	const struct gemm *g;
	const double *A, *B, *S;
};

static struct linear_columns all_columns(const void *context, uint64_t first)
{
	const struct operands *o = context;
	return (struct linear_columns){ .first = first,
					.n = o->g->n - first,
					.at = o->B,
					.stride = o->g->n,
					.scales = o->S,
					.scale_stride = o->g->n };
}

static bool open_operands(const struct gemm *g, const struct npu_reference_io *io, struct operands *o)
{
	const struct linear *w = &g->linear;
	*o = (struct operands){ g, npu_reference_read(io, "A", g->m * g->k), npu_reference_read(io, "B", g->k * g->n),
				NULL };
	if (linear_scaled(w))
		o->S = npu_reference_read(io, "S", w->channel ? g->n : linear_groups(w, g->k) * g->n);
	return o->A && o->B && (o->S || !linear_scaled(w));
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct gemm g = gemm_of(args);
	struct operands o;
	double *C = npu_reference_write(io, "C", g.m * g.n);
	const double *bias = g.linear.bias ? npu_reference_read(io, "bias", g.n) : NULL;
	if (!C || !open_operands(&g, io, &o) || (g.linear.bias && !bias) ||
	    !linear_reference(&g.linear, g.m, g.n, g.k, o.A, all_columns, &o, C))
		return false;
	if (bias)
		linear_add_bias(g.m, g.n, bias, C);
	return true;
}

static bool bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, const char *tensor,
		  double *bound)
{
	struct gemm g = gemm_of(args);
	struct operands o;
	(void)exp_error, (void)tensor;
	const double *C = g.linear.bias ? npu_reference_read(io, "C", g.m * g.n) : NULL;
	if (!open_operands(&g, io, &o) || !linear_bound(&g.linear, g.m, g.n, g.k, o.A, all_columns, &o, bound))
		return false;
	if (C)
		linear_bias_bound(g.m, g.n, C, bound);
	return C || !g.linear.bias;
}

const struct npu_kernel npu_gemm = {
	.name = "gemm",
	.summary = "C = A B, tiles streamed through a ping-pong pair",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = gemm_emit,
	.expect = expect,
	.reference = reference,
	.bound = bound,
};
