/* SPDX-License-Identifier: Apache-2.0 */
/* O = softmax(mask(scale Q K^T)) V with online softmax: scores never leave the chip.
 *
 *   for h in heads
 *     for i in tiles of seq_q                          one row of tiles
 *       load      q = Q[h, i]
 *       for j in tiles of seq that the mask shows
 *         load    k = K[h, j], v = V[h, j]
 *         matmul  s = q k^T
 *         tanh    s = tanh(scale s / softcap)           with a softcap, which then is the scale
 *         softmax p = exp(scale s - max), state = max, sum, rescale
 *         vmul    acc *= rescale                       but for the first j
 *         matmul  acc (+)= p v
 *       vdiv      sum = 1 / sum
 *       vmul      o = acc * sum
 *       store     O[h, i] = o
 *
 * The tiles of all rows form one sequence t = 0, 1, ..., software-pipelined by one: the array multiplies s of tile t +
 * 1 before it needs p of tile t, so it does not stand still during softmax. Queues therefore hold
 *
 *   load     q k(0)       k(1) v(0)    k(2) v(1) ...
 *   matrix   s(0)         s(1) pv(0)   s(2) pv(1) ...
 *   vector                softmax(0)   softmax(1) rescale(1) ...      a row's last vmul takes the place of a rescale
 *
 * `buffering` is of what the DMA moves: q, k, v and o. s and p are always pairs; acc is one buffer, so the first
 * product of a row waits until the row before has left it. Of a tile, the first rows that see none of its keys are left
 * out. The first rows of a head that see no key at all come before all that, as stores of zeros; what is said of rows
 * here is of the others. */
#include "kernels/attn.h"
#include "kernels/kernels.h"
#include "kernels/params.h"
#include "kernels/pingpong.h"
#include "kernels/zeros.h"

static const struct npu_param params[] = {
	PARAM_SEQ,   PARAM_SEQ_Q,  PARAM_HEADS,   PARAM_KV_HEADS, PARAM_HEAD_DIM, PARAM_MASK,      PARAM_WINDOW,
	PARAM_VALID, PARAM_FLOATS, PARAM_SOFTCAP, PARAM_TILE_Q,   PARAM_TILE_KV,  PARAM_BUFFERING,
};

/* Rows of q for which K and V pass once: twice as many halve that traffic, where the accumulators have room for s twice
 * and acc. Keys: with no more of them than the array has columns a product is one fold, and only while that streams can
 * the next one's weights be turned and loaded; with two folds there is time for it. */
enum { WIDEST_Q = 256, WIDEST_FOLDS = 2 };

/* max, sum and rescale factor of each row, state_stride apart. */
enum { STATE_SUM = 1, STATE_RESCALE = 2, STATE_VECTORS = 3 };

struct flash {
	struct npu_builder *b;
	struct attn a;
	struct attn_tensors t;
	struct qk_operands in;
	struct ring v, o;
	unsigned turns;      /* of s, p and state: 2, or 1 when there is only one tile */
	uint32_t s[2], p[2]; /* of tiles in turn */
	uint32_t state[2];   /* of rows in turn: the next row starts before this one ends */
	uint32_t state_stride;
	uint32_t ones; /* a row of them as long as a tile, from which reciprocals are made */
	uint32_t acc;
	struct zeros zeros;           /* for rows that see no key */
	struct npu_semaphore s_full;  /* matrix to vector: s is there */
	struct npu_semaphore p_full;  /* vector to matrix: p is there, s is read, acc is rescaled or given back */
	struct npu_semaphore pv_done; /* matrix to vector: acc is complete up to this tile, p is read */
};

/* One tile of the sequence. */
struct tile {
	uint64_t head, i, j; /* positions */
	uint32_t rows, keys;
	uint32_t hidden;      /* of the rows, the first ones, which see none of the keys: they are left out */
	uint64_t row, number; /* rows of tiles and tiles before this one */
	bool first, last;     /* of its row */
};

/* Keys that the rows of a tile see, [first, end), as whole tiles. */
static uint64_t first_key(const struct attn *a, uint64_t i)
{
	return npu_mask_first(&a->mask, i) / a->tile_kv * a->tile_kv;
}

static uint64_t end_key(const struct attn *a, uint64_t i)
{
	uint64_t last_row = least(i + a->tile_q, a->seq_q) - 1;
	return least(tiles_of(npu_mask_end(&a->mask, last_row), a->tile_kv) * a->tile_kv, a->seq);
}

/* Rows from i on that see none of the keys from j on. The first row sees a key of the first tile, so no row is left out
 * before its state has begun. */
static uint64_t hidden_rows(const struct attn *a, uint64_t i, uint64_t j)
{
	uint64_t end = npu_mask_end(&a->mask, i);
	return j < end ? 0 : j - end + 1;
}

/* Tiles of the sequence, as far as buffers depend on them: RING_SLOTS or more are not told apart. */
static uint64_t few_tiles(const struct attn *a)
{
	uint64_t tiles = 0;
	for (uint64_t i = a->blind; i < a->seq_q && tiles < RING_SLOTS; i += a->tile_q)
		tiles += a->heads * tiles_of(end_key(a, i) - first_key(a, i), a->tile_kv);
	return tiles;
}

static bool place(struct flash *f)
{
	const struct attn *a = &f->a;
	uint64_t rows = a->tile_q * a->dim * a->bytes, keys = a->tile_kv * a->dim * a->bytes;
	uint64_t tile = a->tile_q * a->tile_kv, acc = a->tile_q * a->dim * 4;
	uint64_t state = STATE_VECTORS * a->tile_q * 4;
	uint64_t row_tiles = a->heads * tiles_of(a->seq_q - a->blind, a->tile_q), tiles = few_tiles(a);
	unsigned n = load_slots(a->buffers, tiles), nq = load_slots(a->buffers, row_tiles);
	struct npu_request zeros = zeros_request(&f->zeros, rows);
	if (a->blind && !npu_place(f->b, &zeros, 1))
		return false;
	if (!tiles)
		return true;
	f->turns = tiles > 1 ? 2 : 1;
	f->state_stride = (uint32_t)a->tile_q * 4;
	/* What streams at the same time lies in different groups. While a product reads q and k(t + 1), p(t) is written
	 * and v loads; while one reads p(t) and v(t), p(t + 1) is written and k(t + 2) loads. So with four groups (of
	 * eight: numbers are modulo their number) q has one, v another, and p and k the other two, in turn. */
	const struct npu_request requests[] = {
		{ "k", false, keys, n, 5, f->in.k.at, .least = 1, .got = &f->in.k.n },
		{ "v", false, keys, n, 3, f->v.at, .least = 1, .got = &f->v.n, .step = 4 },
		{ "q", false, rows, nq, 0, f->in.q, .least = 1, .got = &f->in.nq, .step = 4 },
		{ "p", false, tile * a->bytes, f->turns, 1, f->p, .least = f->turns },
		{ "o", false, rows, result_slots(a->buffers, row_tiles), 2, f->o.at, .least = 1, .got = &f->o.n,
		  .step = 4 },
		{ "state", false, state, f->turns, 7, f->state, .least = f->turns, .step = 4 },
		{ "ones", false, a->tile_q * 4, 1, 7, &f->ones, .least = 1 },
		{ "s", true, tile * 4, f->turns, -1, f->s, .least = f->turns },
		{ "acc", true, acc, 1, -1, &f->acc, .least = 1 },
	};
	return npu_place(f->b, requests, sizeof requests / sizeof requests[0]);
}

static struct tile tile_at(const struct attn *a, uint64_t head, uint64_t i, uint64_t j, uint64_t row, uint64_t number)
{
	uint64_t end = end_key(a, i), keys = least(a->tile_kv, end - j);
	struct tile t = { .head = head, .i = i, .j = j, .row = row, .number = number };
	t.rows = (uint32_t)least(a->tile_q, a->seq_q - i);
	t.keys = (uint32_t)keys;
	t.hidden = (uint32_t)hidden_rows(a, i, j);
	t.first = j == first_key(a, i);
	t.last = j + keys == end;
	return t;
}

/* The tile after `t`; false when there is none. */
static bool advance(const struct attn *a, struct tile *t)
{
	uint64_t head = t->head, i = t->i;
	if (!t->last) {
		*t = tile_at(a, head, i, t->j + t->keys, t->row, t->number + 1);
		return true;
	}
	i += t->rows;
	if (i == a->seq_q) {
		i = a->blind;
		head++;
	}
	if (head == a->heads)
		return false;
	*t = tile_at(a, head, i, first_key(a, i), t->row + 1, t->number + 1);
	return true;
}

static void load_k(struct flash *f, const struct tile *t)
{
	uint32_t k_at = ring_at(&f->in.k, t->number).at;
	struct npu_dma q = attn_q_rows(&f->a, f->t.Q, f->in.q[t->row % f->in.nq], t->head, t->i, t->rows);
	struct npu_dma k = attn_k_rows(f->b, &f->a, f->t.K, k_at, t->head, t->j, t->keys);
	load_qk(f->b, &f->in, q, k, t->first, t->row, t->number);
}

static void load_v(const struct flash *f, const struct tile *t)
{
	struct slot slot = ring_at(&f->v, t->number);
	struct npu_dma v = attn_kv_rows(&f->a, f->t.V, slot.at, t->head, t->j, t->keys);
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = v },
		 &(struct npu_order){ .wait = { slot.free, f->in.turn }, .post = { slot.full, f->in.turn } });
}

/* s was read two tiles ago: the product with p of that tile, before this one in the queue, has waited for it. */
static void multiply_qk(const struct flash *f, const struct tile *t)
{
	const struct attn *a = &f->a;
	struct slot k = ring_at(&f->in.k, t->number);
	struct npu_matmul product = {
		.dst = f->s[t->number % 2],
		.a = f->in.q[t->row % f->in.nq] + t->hidden * (uint32_t)(a->dim * a->bytes),
		.b = k.at,
		.m = t->rows - t->hidden,
		.n = t->keys,
		.k = (uint32_t)a->dim,
		.a_type = a->type,
		.b_type = a->type,
		.transpose_b = attn_array_turns_k(f->b),
		.masked = attn_masked_macs(a, t->i + t->hidden, t->rows - t->hidden, t->j, t->keys),
	};
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product },
		 &(struct npu_order){ .wait = { k.full }, .post = { k.free, f->s_full } });
}

/* p was read two tiles ago: the rescale, or the last vmul of a row, after the softmax before this one has waited for
 * that. */
static void softmax(const struct flash *f, const struct tile *t)
{
	const struct attn *a = &f->a;
	struct npu_softmax online = {
		.dst = f->p[t->number % 2],
		.a = f->s[t->number % 2],
		.state = f->state[t->row % 2] + 4 * t->hidden,
		.scale = (float)a->scale,
		.rows = t->rows - t->hidden,
		.cols = t->keys,
		.state_stride = f->state_stride,
		.first = t->first,
		.dst_type = a->type,
		.a_type = NPU_FP32,
	};
	/* Nothing stands between the very first softmax and its product. */
	struct npu_semaphore ready = t->number == 0 ? f->p_full : NPU_NO_SEMAPHORE, full = f->s_full;
	npu_mask_set(&a->mask, t->i + t->hidden, online.rows, t->j, t->keys, &online);
	if (a->softcap > 0) {
		attn_cap_scores(f->b, a->scale, a->softcap, online.a, online.rows, online.cols, full);
		online.scale = (float)a->softcap;
		full = NPU_NO_SEMAPHORE;
	}
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_VSOFTMAX_ONLINE, .softmax = online },
		 &(struct npu_order){ .wait = { full }, .post = { ready } });
}

/* From row `row` of a tile on. */
static uint32_t acc_at(const struct flash *f, uint32_t row)
{
	return f->acc + 4 * row * (uint32_t)f->a.dim;
}

static void rescale(const struct flash *f, const struct tile *t)
{
	struct npu_ew multiply = {
		.dst = acc_at(f, t->hidden),
		.a = acc_at(f, t->hidden),
		.b = f->state[t->row % 2] + STATE_RESCALE * f->state_stride + 4 * t->hidden,
		.rows = t->rows - t->hidden,
		.cols = (uint32_t)f->a.dim,
		.b_bcast = NPU_BCAST_COL,
	};
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_VMUL, .ew = multiply },
		 &(struct npu_order){ .wait = { f->pv_done }, .post = { f->p_full } });
}

static void multiply_pv(const struct flash *f, const struct tile *t)
{
	const struct attn *a = &f->a;
	struct slot v = ring_at(&f->v, t->number);
	struct npu_matmul product = {
		.dst = acc_at(f, t->hidden),
		.a = f->p[t->number % 2],
		.b = v.at,
		.m = t->rows - t->hidden,
		.n = (uint32_t)a->dim,
		.k = t->keys,
		.a_type = a->type,
		.b_type = a->type,
		.accumulate = !t->first,
		.masked = attn_masked_macs(a, t->i + t->hidden, t->rows - t->hidden, t->j, t->keys),
	};
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = product },
		 &(struct npu_order){ .wait = { f->p_full, v.full }, .post = { v.free, f->pv_done } });
}

/* The row that `t` closes: divided, converted, stored. acc is free then for the row that follows, which waits for it;
 * so it is multiplied by 1 / sum, for a division takes several times as long. */
static void finish_row(const struct flash *f, const struct tile *t, bool follows)
{
	struct slot o = ring_at(&f->o, t->row);
	uint32_t sum = f->state[t->row % 2] + STATE_SUM * f->state_stride;
	struct npu_ew reciprocal = {
		.dst = sum,
		.a = f->ones,
		.b = sum,
		.rows = 1,
		.cols = t->rows,
		.guard = 1,
	};
	struct npu_ew multiply = {
		.dst = o.at,
		.a = acc_at(f, 0),
		.b = sum,
		.rows = t->rows,
		.cols = (uint32_t)f->a.dim,
		.dst_type = f->a.type,
		.b_bcast = NPU_BCAST_COL,
	};
	struct npu_dma store = attn_q_rows(&f->a, f->t.O, o.at, t->head, t->i, t->rows);
	struct npu_semaphore ready = follows ? f->p_full : NPU_NO_SEMAPHORE;
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_VDIV, .ew = reciprocal }, NULL);
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_VMUL, .ew = multiply },
		 &(struct npu_order){ .wait = { o.free, f->pv_done }, .post = { o.full, ready } });
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_STORE, .dma = store },
		 &(struct npu_order){ .wait = { o.full }, .post = { o.free } });
}

static void fill_ones(const struct flash *f)
{
	struct npu_fill fill = { .dst = f->ones, .imm = 1, .rows = 1, .cols = (uint32_t)f->a.tile_q };
	npu_emit(f->b, &(struct npu_insn){ .op = NPU_OP_VFILL, .fill = fill }, NULL);
}

static void store_blind(struct flash *f)
{
	const struct attn *a = &f->a;
	npu_region(f->b, "rows that see nothing");
	zeros_fill(f->b, &f->zeros, a->tile_q * a->dim * a->bytes, NPU_NO_SEMAPHORE);
	for (uint64_t h = 0; h < a->heads; h++)
		for (uint64_t i = 0; i < a->blind && !npu_builder_failed(f->b); i += a->tile_q)
			zeros_store(f->b, &f->zeros,
				    attn_q_rows(a, f->t.O, 0, h, i, (uint32_t)least(a->tile_q, a->blind - i)),
				    NPU_NO_SEMAPHORE);
	npu_region_end(f->b);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	struct flash f = { .b = b, .a = attn_of(&npu_flash_attention, args) };
	f.t = (struct attn_tensors){ .Q = attn_q(b, &f.a), .K = attn_kv(b, &f.a, "K"), .V = attn_kv(b, &f.a, "V") };
	f.t.O = attn_o(b, &f.a);
	if (!place(&f))
		return false;
	if (f.a.blind)
		store_blind(&f);
	if (f.a.blind == f.a.seq_q)
		return !npu_builder_failed(b);
	ring_init(b, &f.in.k, "k");
	ring_init(b, &f.v, "v");
	ring_init(b, &f.o, "o");
	f.in.turn = loads_in_turn(b, 2, f.a.tile_kv * f.a.dim * f.a.bytes);
	f.s_full = npu_semaphore(b, "s_full", 0);
	f.p_full = npu_semaphore(b, "p_full", 0);
	f.pv_done = npu_semaphore(b, "pv_done", 0);

	struct tile now = tile_at(&f.a, 0, f.a.blind, first_key(&f.a, f.a.blind), 0, 0), before = now, next = now;
	bool more = true;
	fill_ones(&f);
	load_k(&f, &now);
	multiply_qk(&f, &now);
	while (more && !npu_builder_failed(b)) {
		more = advance(&f.a, &next);
		if (now.first)
			npu_region(b, "head %u, q tile %u", (unsigned)now.head,
				   (unsigned)((now.i - f.a.blind) / f.a.tile_q));
		if (more)
			load_k(&f, &next);
		load_v(&f, &now);
		softmax(&f, &now);
		if (more)
			multiply_qk(&f, &next);
		if (!now.first)
			rescale(&f, &now);
		else if (now.number > 0)
			finish_row(&f, &before, true);
		multiply_pv(&f, &now);
		if (!more)
			finish_row(&f, &now, false);
		if (now.last)
			npu_region_end(b);
		before = now;
		now = next;
	}
	return !npu_builder_failed(b);
}

/* Positions of the rows that tiles from row i on leave out. */
static uint64_t hidden_positions(const struct attn *a, uint64_t i)
{
	uint64_t end = end_key(a, i), sum = 0;
	for (uint64_t j = npu_mask_end(&a->mask, i) / a->tile_kv * a->tile_kv; j < end; j += a->tile_kv)
		sum += hidden_rows(a, i, j) * least(a->tile_kv, end - j);
	return sum;
}

/* A tile is five instructions and a rescale, but for the first of a row, and one more caps its scores; a row is a load,
 * a reciprocal, a product and a store. One fills the ones; of rows that see no key there is a store a tile, and one
 * makes the zeros. */
enum { TILE_INSNS = 6, ROW_INSNS = 3 };

static uint64_t tile_insns(const struct attn *a)
{
	return TILE_INSNS + (a->softcap > 0);
}

/* Q once; of K and V what each row of tiles sees, in whole tiles. */
static struct npu_expect expect(const struct npu_args *args)
{
	struct attn a = attn_of(&npu_flash_attention, args);
	uint64_t positions = 0, keys = 0, instructions = 0;
	for (uint64_t i = a.blind; i < a.seq_q; i += a.tile_q) {
		uint64_t seen = end_key(&a, i) - first_key(&a, i);
		positions += least(a.tile_q, a.seq_q - i) * seen - hidden_positions(&a, i);
		keys += seen;
		instructions += tile_insns(&a) * tiles_of(seen, a.tile_kv) + ROW_INSNS;
	}
	return (struct npu_expect){
		.macs = 2 * a.heads * positions * a.dim,
		.useful_macs = 2 * a.heads * npu_mask_seen(&a.mask) * a.dim,
		.dram_read_bytes = a.heads * (a.seq_q - a.blind + 2 * keys) * a.dim * a.bytes,
		.dram_write_bytes = a.heads * a.seq_q * a.dim * a.bytes,
		.instructions =
		    a.heads * (instructions + tiles_of(a.blind, a.tile_q)) + (a.blind < a.seq_q) + (a.blind > 0),
	};
}

/* What the mask hides is left out of the traffic alone: it takes about the same part of the steps. */
static struct tile_cost cost(const struct npu_capacity *c, const struct npu_args *args)
{
	struct attn a = attn_of(&npu_flash_attention, args);
	struct npu_expect e = expect(args);
	uint64_t rows = a.heads * tiles_of(a.seq_q - a.blind, a.tile_q);
	uint64_t stores = a.heads * tiles_of(a.blind, a.tile_q) + (a.blind > 0);
	if (a.blind == a.seq_q)
		return (struct tile_cost){ .dram = e.dram_write_bytes };
	return (struct tile_cost){
		.dram = e.dram_read_bytes + e.dram_write_bytes,
		.array = a.heads * (tile_steps(c, a.seq_q - a.blind, a.tile_q, a.seq, a.tile_kv, a.dim, a.dim) +
				    tile_steps(c, a.seq_q - a.blind, a.tile_q, a.dim, a.dim, a.seq, a.tile_kv)),
		.tiles = (e.instructions - 1 - stores - ROW_INSNS * rows) / tile_insns(&a),
	};
}

static bool try_place(struct npu_builder *b, const struct npu_args *args)
{
	struct flash f = { .b = b, .a = attn_of(&npu_flash_attention, args) };
	return place(&f);
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	struct wide_tiles wide = { WIDEST_Q, WIDEST_FOLDS * (int64_t)capacity->array_cols };
	return attn_resolve(&npu_flash_attention, capacity, args, try_place, cost, wide, err);
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	struct attn a = attn_of(&npu_flash_attention, args);
	return attn_reference(&a, io);
}

const struct npu_kernel npu_flash_attention = {
	.name = "flash_attention",
	.summary = "attention with online softmax, nothing spilled to DRAM",
	PARAMS_OF(params),
	.resolve = resolve,
	.emit = emit,
	.expect = expect,
	.reference = reference,
};
