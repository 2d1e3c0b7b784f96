/* SPDX-License-Identifier: Apache-2.0 */
/* Y = X W for a few rows of X, as decoding has them: the weights pass once, all rows of X share each tile of them.
 *
 *   load    x = X                                 stays in SRAM
 *   for j in tiles of n
 *     load    scale = S[j]                        group=channel
 *     for l in tiles of k
 *       load    w = W[j, l], s = S[j, l]          s: group=32|64|128
 *       vcopy   c = w, or vdequant                int8 weights for float activations: a vdequant a group
 *       matmul  acc (+)= x[:, l] w                int4 with s
 *     vcopy   y = acc, or vmul by scale           not where int32 sums are the result; vadd of a bias, loaded as scales
 * are store   Y[:, j] = y
 *
 * W lies in DRAM in panels of tile_n columns, the last one narrower, each [k, its columns] row after row: a tile is one
 * run of bytes, and the whole of W one stream. The scales of groups lie likewise, [groups of k, columns] a panel.
 *
 * w and s are a ping-pong pair of pairs. Only the loads of the first tile and the product, conversion and store of the
 * last one have nothing to hide them. With conversions, that of the next panel's first tile comes before the sums of
 * this one are finished, so that the vector engine does not wait for the array. */
#include <inttypes.h>

#include "isa/units.h"
#include "kernels/kernels.h"
#include "kernels/linear.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"
#include "kernels/reference.h"
#include "kernels/tiles.h"
#include "kernels/zeros.h"

enum { M, N, K, DTYPE, WEIGHTS, GROUP, BIAS, TILE_N, TILE_K, BUFFERING };

/* Long tiles make a descriptor of many bursts, and rarely leave the stream of weights for that of scales. Beyond that
 * the two that load at once meet in the banks of the DRAM. */
enum { WIDEST_BYTES = 128 << 10 };

/* What even tiles of k are a multiple of: groups of scales, and rows of the array. */
enum { EVEN = 128 };

/* Buffers for scales of channels. */
enum { SCALE_SLOTS = RING_SLOTS + 3 };

static const struct npu_param params[] = {
	[M] = PARAM_INT("m", 1, 0, MAX_LENGTH, "row", "rows of X and Y: sequences of a batch"),
	[N] = PARAM_INT("n", 4096, 0, MAX_LENGTH, "column", "columns of W and Y"),
	[K] = PARAM_INT("k", 4096, 0, MAX_LENGTH, "element", "columns of X, rows of W"),
	[DTYPE] = PARAM_CHOICE("dtype", 0, param_operands, "element type of X"),
	[WEIGHTS] = PARAM_WEIGHTS,
	[GROUP] = PARAM_GROUP,
	[BIAS] = PARAM_BIAS,
	[TILE_N] = PARAM_TILE("tile_n", "columns of a tile of W, and of a panel in DRAM"),
	[TILE_K] = PARAM_TILE("tile_k", "rows of a tile of W"),
	[BUFFERING] = PARAM_BUFFERING_BY_CHANNELS(" and no weights to convert"),
};

/* The parameters, resolved, and what the program is made of. */
struct gemv {
	uint64_t m, n, k;
	uint64_t tile_n, tile_k; /* no larger than the dimension, but 1 where that is 0 */
	unsigned buffers;
	struct linear linear;
	uint64_t act_bytes, out_bytes; /* an element */

	struct npu_builder *b;
	struct npu_dram X, W, S, bias, Y;
	uint32_t x;
	struct ring w; /* and the semaphores of s */
	uint32_t s_at[RING_SLOTS];
	struct ring converted;
	unsigned nscales; /* of channels, and of biases: buffers in use, without semaphores (scale_slots) */
	uint32_t scale_at[SCALE_SLOTS], bias_at[SCALE_SLOTS];
	struct ring acc;
	struct ring y;
	struct zeros zeros; /* instead of all these where k is 0 */
};

/* A tile of weights. */
struct step {
	uint64_t j, l; /* first column, first element of k */
	uint64_t tile, panel;
	uint32_t n, k;
};

static struct gemv gemv_of(const struct npu_args *args)
{
	const int64_t *v = args->value;
	struct gemv g = { .m = (uint64_t)v[M], .n = (uint64_t)v[N], .k = (uint64_t)v[K] };
	g.linear = linear_of(&npu_gemv, args);
	g.buffers = (unsigned)v[BUFFERING] + 1;
	g.tile_n = linear_tile_n(&g.linear, (uint64_t)v[TILE_N], g.n);
	g.tile_k = linear_tile_k(&g.linear, (uint64_t)v[TILE_K], g.k);
	g.act_bytes = npu_dtype_bytes(g.linear.act, 1);
	g.out_bytes = npu_dtype_bytes(g.linear.out, 1);
	return g;
}

static uint64_t panels_of(const struct gemv *g)
{
	return g->m ? tiles_of(g->n, g->tile_n) : 0;
}

static uint64_t tiles_in(const struct gemv *g)
{
	return panels_of(g) * tiles_of(g->k, g->tile_k);
}

/* So many that none needs a semaphore to come back. The load of panel q's scales follows that of the tile before it,
 * which waited until w.n tiles before that one the array (or conversion) was done; and that was later than the sums of
 * panel q - slots were finished: the array waits for them before it begins panel q - slots + acc.n, and with
 * conversions they are finished after the first tile of panel q - slots + 1 is converted. */
static unsigned scale_slots(const struct gemv *g)
{
	uint64_t panels = panels_of(g), w = load_slots(g->buffers, tiles_in(g)), acc = result_slots(g->buffers, panels);
	uint64_t tiles = tiles_of(g->k, g->tile_k); /* a panel */
	uint64_t slots = g->linear.convert ? 1 + tiles_of(w + 2, tiles) : acc + tiles_of(w + 1, tiles);
	return (unsigned)least(slots, panels);
}

static bool place(struct gemv *g)
{
	const struct linear *w = &g->linear;
	uint64_t panels = panels_of(g), elements = g->tile_k * g->tile_n, sums = g->m * g->tile_n;
	if (!panels)
		return true;
	if (!g->k) {
		const struct npu_request zeros = zeros_request(&g->zeros, sums * g->out_bytes);
		return npu_place(g->b, &zeros, 1);
	}
	unsigned n = load_slots(g->buffers, tiles_in(g)), converted = result_slots(g->buffers, tiles_in(g));
	unsigned results = result_slots(g->buffers, panels), used = 0;
	struct npu_request r[NPU_MAX_REQUESTS];
	g->nscales = scale_slots(g);
	r[used++] = (struct npu_request){ "x", false, g->m * g->k * g->act_bytes, 1, 0, &g->x, .least = 1 };
	r[used++] =
	    (struct npu_request){ "w", false, linear_bytes(w, elements), n, 1, g->w.at, .least = 1, .got = &g->w.n };
	if (w->group)
		r[used++] = (struct npu_request){ "s",        false,       2 * linear_groups(w, g->tile_k) * g->tile_n,
						  n,          0,           g->s_at,
						  .least = 1, .pair = true };
	if (w->convert)
		r[used++] = (struct npu_request){ "converted",
						  false,
						  npu_dtype_bytes(w->product, elements),
						  converted,
						  3,
						  g->converted.at,
						  .least = 1,
						  .got = &g->converted.n };
	if (w->channel)
		r[used++] = (struct npu_request){ "scale", false,       2 * g->tile_n,      g->nscales,
						  0,       g->scale_at, .least = g->nscales };
	if (w->bias)
		r[used++] = (struct npu_request){ "bias", false,      2 * g->tile_n,      g->nscales,
						  0,      g->bias_at, .least = g->nscales };
	r[used++] = (struct npu_request){ "acc", true, sums * 4, results, -1, g->acc.at, .least = 1, .got = &g->acc.n };
	if (!linear_raw(w))
		r[used++] = (struct npu_request){ "y", false,   sums * g->out_bytes, results,
						  0,   g->y.at, .least = 1,          .got = &g->y.n };
	return npu_place(g->b, r, used);
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct gemv g = gemv_of(args);
	g.b = b;
	return place(&g);
}

static struct npu_expect expect(const struct npu_args *args);

/* W is one stream whatever its tiles are; so larger ones cost no more. */
static struct tile_cost cost(const struct npu_capacity *c, const struct npu_args *args)
{
	struct gemv g = gemv_of(args);
	struct npu_expect e = expect(args);
	return (struct tile_cost){
		.dram =
		    e.dram_read_bytes + tile_traffic(g.m, g.n * g.out_bytes, g.tile_n * g.out_bytes, c->dram_granule),
		.array = tile_steps(c, g.m, tile_within(g.m, g.m), g.n, g.tile_n, g.k, g.tile_k),
		.tiles = tiles_in(&g),
	};
}

/* X stays in SRAM whatever the tiles are. */
static bool x_fits(const struct npu_capacity *capacity, const struct gemv *g, struct npu_error *err)
{
	uint64_t row = g->k * g->act_bytes, room = capacity->limits.sram_bytes;
	if (!g->n || g->m * row < room)
		return true;
	return npu_fail(err, NPU_ERR_FIT, "m=%" PRIu64 ": X stays in SRAM, %s x %s bytes, of which it has %s%s", g->m,
			npu_count_text(g->m).text, npu_count_text(row).text, npu_count_text(room).text,
			row < room ? "; gemm takes any number of rows" : "; gemm takes longer ones");
}

/* As many tiles, of about equal length: a short one behind each long one would leave its buffer half empty, and the
 * DRAM waiting. */
static int64_t even_tile(uint64_t k, uint64_t tile)
{
	uint64_t tiles = tiles_of(k, tile);
	return (int64_t)(tiles ? least(tile, tiles_of(tiles_of(k, tiles), EVEN) * EVEN) : tile);
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	if (!npu_args_check(&npu_gemv, args, err) || !linear_resolve(&npu_gemv, args, err))
		return false;
	const struct linear w = linear_of(&npu_gemv, args);
	/* Where the vector engine converts them, weights wait for it, and a third buffer shares a group with its. */
	if (!args->named[BUFFERING])
		args->value[BUFFERING] = w.convert ? 1 : buffering_of(capacity);
	const struct gemv g = gemv_of(args);
	if (!x_fits(capacity, &g, err))
		return false;
	const struct tile_dim dims[] = {
		{ "tile_k", (uint64_t)args->value[K], WIDEST_BYTES / (int64_t)linear_bytes(&w, TILE_LARGEST) },
		{ "tile_n", (uint64_t)args->value[N], 0 },
	};
	bool named = args->named[TILE_K];
	if (!tiles_resolve(&npu_gemv, capacity, args, dims, 2, try_place, cost, err))
		return false;
	if (!named)
		args->value[TILE_K] = even_tile((uint64_t)args->value[K], (uint64_t)args->value[TILE_K]);
	return true;
}

/* `elements` that follow one another, in as few rows as an instruction can have; `cols` divides them. */
static struct npu_dma run_of(uint32_t local, uint64_t dram, enum npu_dtype type, uint64_t elements, uint32_t cols)
{
	bool one = elements <= MAX_LENGTH;
	return (struct npu_dma){
		.local = local,
		.dram = dram,
		.rows = one ? 1 : (uint32_t)(elements / cols),
		.cols = one ? (uint32_t)elements : cols,
		.dtype = type,
	};
}

static void load(const struct gemv *g, struct npu_dma dma, struct npu_semaphore wait, struct npu_semaphore post)
{
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = dma },
		 &(struct npu_order){ .wait = { wait }, .post = { post } });
}

/* Loads a tile of weights and what scales it. Loads end in queue order: when the last one has ended, so have x and the
 * scales of the channels before it. */
static void load_tile(const struct gemv *g, const struct step *s)
{
	const struct linear *w = &g->linear;
	struct slot slot = ring_at(&g->w, s->tile);
	uint64_t at = s->j * g->k + s->l * s->n;
	if (w->channel && !s->l)
		load(g, run_of(g->scale_at[s->panel % g->nscales], g->S.addr + 2 * s->j, NPU_FP16, s->n, s->n),
		     NPU_NO_SEMAPHORE, NPU_NO_SEMAPHORE);
	if (w->bias && !s->l)
		load(g, run_of(g->bias_at[s->panel % g->nscales], g->bias.addr + 2 * s->j, w->out, s->n, s->n),
		     NPU_NO_SEMAPHORE, NPU_NO_SEMAPHORE);
	load(g, run_of(slot.at, g->W.addr + linear_bytes(w, at), w->type, (uint64_t)s->k * s->n, s->n), slot.free,
	     w->group ? NPU_NO_SEMAPHORE : slot.full);
	if (w->group) {
		uint64_t first = s->j * linear_groups(w, g->k) + s->l / w->group * s->n;
		load(g,
		     run_of(g->s_at[s->tile % g->w.n], g->S.addr + 2 * first, NPU_FP16, linear_groups(w, s->k) * s->n,
			    s->n),
		     NPU_NO_SEMAPHORE, slot.full);
	}
}

/* With one tile a panel and two buffers a conversion stands behind the end of the sums of what it overwrites. */
static bool converted_comes_back(const struct gemv *g)
{
	return g->tile_k >= g->k && g->converted.n > 1;
}

/* Converted weights. */
static struct slot converted_at(const struct gemv *g, uint64_t tile)
{
	struct slot slot = ring_at(&g->converted, tile);
	if (converted_comes_back(g))
		slot.free = NPU_NO_SEMAPHORE;
	return slot;
}

static void convert_tile(const struct gemv *g, const struct step *s)
{
	struct slot from = ring_at(&g->w, s->tile), to = converted_at(g, s->tile);
	struct linear_tile tile = {
		.at = from.at, .scales = g->s_at[s->tile % g->w.n], .converted = to.at, .n = s->n, .k = s->k
	};
	linear_convert(g->b, &g->linear, &tile,
		       &(struct npu_order){ .wait = { from.full, to.free }, .post = { from.free, to.full } });
}

static void prepare(const struct gemv *g, const struct step *s)
{
	load_tile(g, s);
	if (g->linear.convert)
		convert_tile(g, s);
}

/* The next panel but one may have the accumulators: the array waits for `free`, or, with conversions and two of them,
 * for a conversion behind the end of these sums. */
static bool acc_comes_back(const struct gemv *g)
{
	return g->linear.convert && g->acc.n > 1;
}

static struct npu_semaphore acc_free(const struct gemv *g, uint64_t panel)
{
	return acc_comes_back(g) ? NPU_NO_SEMAPHORE : ring_at(&g->acc, panel).free;
}

static void multiply(const struct gemv *g, const struct step *s)
{
	const struct linear *w = &g->linear;
	struct slot from = w->convert ? converted_at(g, s->tile) : ring_at(&g->w, s->tile);
	struct slot acc = ring_at(&g->acc, s->panel);
	bool first = s->l == 0, last = s->l + s->k == g->k;
	struct npu_matmul product = {
		.dst = acc.at,
		.a = g->x + (uint32_t)(s->l * g->act_bytes),
		.b = from.at,
		.scales = g->s_at[s->tile % g->w.n],
		.m = (uint32_t)g->m,
		.n = s->n,
		.k = s->k,
		.a_stride = (uint32_t)(g->k * g->act_bytes),
		.group = w->convert ? 0 : (uint32_t)w->group,
		.a_type = w->act,
		.b_type = w->product,
		.accumulate = !first,
	};
	struct npu_order order = {
		.wait = { from.full, first ? acc_free(g, s->panel) : NPU_NO_SEMAPHORE },
		.post = { from.free, last ? acc.full : NPU_NO_SEMAPHORE },
	};
	if (!order.post[0].count) {
		order.post[0] = order.post[1];
		order.post[1] = NPU_NO_SEMAPHORE;
	}
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product }, &order);
}

/* The sums of a panel become its result. */
static void finish(const struct gemv *g, const struct step *s)
{
	struct slot acc = ring_at(&g->acc, s->panel), from = acc;
	if (!linear_raw(&g->linear)) {
		unsigned buffer = (unsigned)(s->panel % g->nscales);
		struct linear_vectors vectors = { g->scale_at[buffer], g->bias_at[buffer] };
		from = ring_at(&g->y, s->panel);
		linear_finish(g->b, &g->linear, from.at, acc.at, &vectors, (uint32_t)g->m, s->n,
			      &(struct npu_order){ .wait = { acc.full, from.free },
						   .post = { from.full, acc_free(g, s->panel) } });
	}
	struct npu_dma y = {
		.local = from.at,
		.dram = g->Y.addr + s->j * g->out_bytes,
		.rows = (uint32_t)g->m,
		.cols = s->n,
		.dram_stride = (uint32_t)(g->n * g->out_bytes),
		.dtype = g->linear.out,
	};
	struct npu_order order = { .wait = { from.full }, .post = { from.free } };
	npu_emit(g->b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = y }, &order);
}

/* The tile after `s`; past the last one, j is n. */
static struct step next(const struct gemv *g, struct step s)
{
	s.l += s.k;
	s.tile++;
	if (s.l == g->k) {
		s.l = 0;
		s.j += s.n;
		s.panel++;
	}
	s.n = (uint32_t)least(g->tile_n, g->n - s.j);
	s.k = (uint32_t)least(g->tile_k, g->k - s.l);
	return s;
}

static void emit_zeros(struct gemv *g)
{
	zeros_fill(g->b, &g->zeros, g->m * g->tile_n * g->out_bytes, NPU_NO_SEMAPHORE);
	for (uint64_t j = 0; j < g->n && !npu_builder_failed(g->b); j += g->tile_n)
		zeros_store(g->b, &g->zeros,
			    (struct npu_dma){ .dram = g->Y.addr + j * g->out_bytes,
					      .rows = (uint32_t)g->m,
					      .cols = (uint32_t)least(g->tile_n, g->n - j),
					      .dram_stride = (uint32_t)(g->n * g->out_bytes),
					      .dtype = g->linear.out },
			    NPU_NO_SEMAPHORE);
}

static void emit_panels(struct gemv *g)
{
	struct npu_dma x = { .local = g->x, .dram = g->X.addr, .rows = (uint32_t)g->m, .cols = (uint32_t)g->k };
	struct step s = { .n = (uint32_t)g->tile_n, .k = (uint32_t)g->tile_k };
	x.dtype = g->linear.act;
	npu_region(g->b, "panel 0");
	load(g, x, NPU_NO_SEMAPHORE, NPU_NO_SEMAPHORE);
	prepare(g, &s);
	while (s.j < g->n && !npu_builder_failed(g->b)) {
		struct step after = next(g, s);
		bool ahead = after.j < g->n && (g->linear.convert || after.panel == s.panel);
		multiply(g, &s);
		if (ahead)
			prepare(g, &after);
		if (after.panel != s.panel) {
			finish(g, &s);
			npu_region_end(g->b);
			if (after.j < g->n)
				npu_region(g->b, "panel %u", (unsigned)after.panel);
		}
		if (!ahead && after.j < g->n)
			prepare(g, &after);
		s = after;
	}
}

static void init_semaphores(struct gemv *g)
{
	ring_init(g->b, &g->w, "w");
	if (acc_comes_back(g))
		ring_init_full(g->b, &g->acc, "acc");
	else
		ring_init(g->b, &g->acc, "acc");
	if (g->linear.convert && converted_comes_back(g))
		ring_init_full(g->b, &g->converted, "converted");
	else if (g->linear.convert)
		ring_init(g->b, &g->converted, "converted");
	if (!linear_raw(&g->linear))
		ring_init(g->b, &g->y, "y");
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct gemv g = gemv_of(args);
	const struct linear *w = &g.linear;

	g.b = b;
	g.X = npu_tensor(b, "X", w->act, NPU_TENSOR_IN, 2, (uint64_t[]){ g.m, g.k });
	g.W = npu_tensor(b, "W", w->type, NPU_TENSOR_IN, 1, (uint64_t[]){ g.k * g.n });
	if (w->group)
		g.S = npu_tensor(b, "S", NPU_FP16, NPU_TENSOR_IN, 1, (uint64_t[]){ linear_groups(w, g.k) * g.n });
	if (w->channel)
		g.S = npu_tensor(b, "S", NPU_FP16, NPU_TENSOR_IN, 1, (uint64_t[]){ g.n });
	if (w->bias)
		g.bias = npu_tensor(b, "bias", w->out, NPU_TENSOR_IN, 1, (uint64_t[]){ g.n });
	g.Y = npu_tensor(b, "Y", w->out, NPU_TENSOR_OUT, 2, (uint64_t[]){ g.m, g.n });
	if (!place(&g))
		return false;
	if (panels_of(&g) && !g.k) {
		emit_zeros(&g);
	} else if (panels_of(&g)) {
		init_semaphores(&g);
		emit_panels(&g);
	}
	return !npu_builder_failed(b);
}

/* Everything passes once. A tile is a load of weights, one of the scales of its groups, conversions and a product; a
 * panel what becomes of its sums. */
static struct npu_expect expect(const struct npu_args *args)
{
	struct gemv g = gemv_of(args);
	const struct linear *w = &g.linear;
	uint64_t panels = panels_of(&g), tiles = tiles_in(&g), macs = g.m * g.n * g.k;
	uint64_t scales = w->channel ? g.n : linear_groups(w, g.k) * g.n;
	uint64_t each = linear_raw(w) ? 1 : 1 + linear_finishes(w), conversions = 0;
	if (!tiles)
		return (struct npu_expect){ .dram_write_bytes = g.m * g.n * g.out_bytes,
					    .instructions = panels ? panels + 1 : 0 };
	for (uint64_t l = 0; l < g.k; l += g.tile_k)
		conversions += linear_conversions(w, least(g.tile_k, g.k - l));
	each += w->channel + w->bias; /* the loads of its scales and biases */
	return (struct npu_expect){
		.macs = macs,
		.useful_macs = macs,
		.dram_read_bytes =
		    g.m * g.k * g.act_bytes + linear_bytes(w, g.k * g.n) + 2 * scales + (w->bias ? 2 * g.n : 0),
		.dram_write_bytes = g.m * g.n * g.out_bytes,
		.instructions = 1 + tiles * (w->group ? 3 : 2) + panels * (conversions + each),
	};
}

/* ---- reference ---- */

struct panels {
	const struct gemv *g;
	const double *W, *S;
};

static struct linear_columns panel_view(const void *context, uint64_t first)
{
	const struct panels *p = context;
	const struct gemv *g = p->g;
	struct linear_columns c = { .first = first, .n = least(g->tile_n, g->n - first), .at = p->W + first * g->k };
	c.stride = c.scale_stride = c.n;
	if (p->S)
		c.scales = p->S + first * (g->linear.channel ? 1 : linear_groups(&g->linear, g->k));
	return c;
}

/* False when a tensor is missing. */
static bool open_panels(const struct gemv *g, const struct npu_reference_io *io, struct panels *p, const double **X)
{
	const struct linear *w = &g->linear;
	*p = (struct panels){ .g = g, .W = npu_reference_read(io, "W", g->k * g->n) };
	if (linear_scaled(w))
		p->S = npu_reference_read(io, "S", w->channel ? g->n : linear_groups(w, g->k) * g->n);
	*X = npu_reference_read(io, "X", g->m * g->k);
	return p->W && *X && (p->S || !linear_scaled(w));
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct gemv g = gemv_of(args);
	struct panels p;
	const double *X;
	double *Y = npu_reference_write(io, "Y", g.m * g.n);
	const double *bias = g.linear.bias ? npu_reference_read(io, "bias", g.n) : NULL;
	if (!Y || !open_panels(&g, io, &p, &X) || (g.linear.bias && !bias) ||
	    !linear_reference(&g.linear, g.m, g.n, g.k, X, panel_view, &p, Y))
		return false;
	if (bias)
		linear_add_bias(g.m, g.n, bias, Y);
	return true;
}

static bool bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, const char *tensor,
		  double *bound)
{
	struct gemv g = gemv_of(args);
	struct panels p;
	const double *X;
	(void)exp_error, (void)tensor;
	const double *Y = g.linear.bias ? npu_reference_read(io, "Y", g.m * g.n) : NULL;
	if (!open_panels(&g, io, &p, &X) || !linear_bound(&g.linear, g.m, g.n, g.k, X, panel_view, &p, bound))
		return false;
	if (Y)
		linear_bias_bound(g.m, g.n, Y, bound);
	return Y || !g.linear.bias;
}

const struct npu_kernel npu_gemv = {
	.name = "gemv",
	.summary = "Y = X W for a few rows of X, fp16, int8 or int4 weights in one stream from DRAM",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
	.bound = bound,
};
