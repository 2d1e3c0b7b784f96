/* SPDX-License-Identifier: Apache-2.0 */
/* What the files share that emit attention over a paged cache: tiles, buffers, semaphores. */
#ifndef NPU_KERNELS_PAGED_EMIT_H
#define NPU_KERNELS_PAGED_EMIT_H

#include "kernels/paged.h"
#include "kernels/pingpong.h"

enum { STATE_MAX = 0, STATE_SUM = 1, STATE_RESCALE = 2, STATE_VECTORS = 3 };
/* New tokens that are staged at a time; parts of a buffer begin at multiples of PART; up to where tiles of keys grow: a
 * gather then takes much longer than what it waits for its table. */
enum { STAGED = 16, PART = 64, WIDEST_KV = 512 };

/* One tile of keys of one unit, which is `heads` kv heads from `head` on. */
struct step {
	uint64_t b, head, i, j, unit, number;
	uint64_t heads, rows, keys; /* kv heads; query rows of a head; keys */
	uint64_t tile;              /* of the unit */
	uint64_t split;
	bool opens, closes; /* the unit */
	bool first;         /* of its split */
};

/* The state of an emission. A semaphore that a mode does without is { 0 }, and waits and posts of it are nothing. */
struct emitter {
	struct npu_builder *b;
	struct paged p;
	struct npu_dram Q, K_new, V_new, O, pool, scales;
	uint32_t *tables;
	uint64_t k_part, q_part, p_part; /* bytes before the scales in a buffer of k or v, q8, p8 */
	uint64_t k_head, scale_head;     /* bytes from one kv head to the next: of k or v, of their scales */
	uint64_t fresh_q, fresh_scales;  /* offsets of what is quantised in a buffer of new tokens */
	uint64_t staged;                 /* tokens of it */
	uint32_t state_stride;

	struct ring k, v, q, o, fresh, vs;
	uint32_t k16[2], v16[2], q8[2], p_at[2], p32, s[2], part[2], state[2], ones, acc;
	uint64_t acc_bytes;
	struct npu_semaphore s_full, p_full, pv_done, k16_full, q8_full, fresh_q_full, appended;
	uint64_t fresh_turn;
	bool fresh_once; /* a slot is used once in a sequence: when `appended` has been waited for, it is free */
	uint64_t next_append;
	uint64_t waited; /* sequences whose new tokens a gather has waited for */
};

static inline uint64_t part_of(uint64_t bytes)
{
	return (bytes + PART - 1) / PART * PART;
}

/* ---- units and tiles ---- */

/* Keys that the unit sees: up to its last query. */
static inline uint64_t keys_of(const struct paged *p, uint64_t length, uint64_t i)
{
	return length - p->chunk + i + least(p->tile_q, p->chunk - i);
}

/* Whole tiles of keys before those that any query of the unit sees. */
static inline uint64_t hidden_tiles(const struct paged *p, uint64_t length, uint64_t i)
{
	struct npu_mask mask = paged_mask(p, length);
	return npu_mask_first(&mask, i) / p->tile_kv;
}

/* Tiles of keys of the unit. */
static inline uint64_t tiles_seen(const struct paged *p, uint64_t length, uint64_t i)
{
	return tiles_of(keys_of(p, length, i), p->tile_kv) - hidden_tiles(p, length, i);
}

static inline uint64_t splits_of(const struct paged *p, uint64_t tiles)
{
	return least(p->splits, tiles);
}

/* The first tile of a split. */
static inline uint64_t split_begin(uint64_t tiles, uint64_t splits, uint64_t split)
{
	return tiles * split / splits;
}

static inline struct step step_at(const struct paged *p, struct step s)
{
	uint64_t length = paged_length(p, s.b), end = keys_of(p, length, s.i), tiles = tiles_seen(p, length, s.i),
		 n = splits_of(p, tiles);
	s.rows = least(p->tile_q, p->chunk - s.i);
	s.heads = least(p->at_once, p->kv_heads - s.head);
	s.j = (hidden_tiles(p, length, s.i) + s.tile) * p->tile_kv;
	s.keys = least(p->tile_kv, end - s.j);
	s.opens = s.tile == 0;
	s.closes = s.tile == tiles - 1;
	s.split = 0;
	while (split_begin(tiles, n, s.split + 1) <= s.tile)
		s.split++;
	s.first = s.tile == split_begin(tiles, n, s.split);
	return s;
}

/* The tile after `s`; false when there is none. */
static inline bool advance(const struct paged *p, struct step *s)
{
	struct step next = *s;
	next.number++;
	next.tile++;
	if (s->closes) {
		next.tile = 0;
		next.unit++;
		next.i += p->tile_q;
		if (next.i >= p->chunk) {
			next.i = 0;
			next.head += p->at_once;
		}
		if (next.head >= p->kv_heads) {
			next.head = 0;
			next.b++;
		}
		if (next.b == p->batch)
			return false;
	}
	*s = step_at(p, next);
	return true;
}

static inline uint64_t active_splits(const struct paged *p, const struct step *s)
{
	return splits_of(p, tiles_seen(p, paged_length(p, s->b), s->i));
}

static inline bool is_in_last_unit(const struct paged *p, const struct step *s)
{
	return s->head + s->heads == p->kv_heads && s->i + p->tile_q >= p->chunk;
}

/* Rows of one kv head, and of all of the unit. */
static inline uint64_t head_rows(const struct paged *p, const struct step *s)
{
	return p->group * s->rows;
}

static inline uint64_t rows_of(const struct paged *p, const struct step *s)
{
	return s->heads * head_rows(p, s);
}

/* Units and tiles of the program, counted as far as buffers have use for: no further than MANY. */
enum { MANY = 8 };
struct totals {
	uint64_t units, tiles;
};

static inline struct totals totals_of(const struct paged *p)
{
	struct totals t = { 0 };
	for (uint64_t b = 0; b < p->batch && t.units < MANY; b++)
		for (uint64_t i = 0; i < p->chunk && t.units < MANY; i += p->tile_q) {
			t.units += tiles_of(p->kv_heads, p->at_once);
			t.tiles += tiles_of(p->kv_heads, p->at_once) * tiles_seen(p, paged_length(p, b), i);
		}
	return t;
}

/* Some query of the tile does not see all of its keys, as they are later than itself or lie before its window: a mask,
 * query head by query head. */
static inline bool is_masked(const struct paged *p, const struct step *s)
{
	struct npu_mask mask = paged_mask(p, paged_length(p, s->b));
	return npu_mask_end(&mask, s->i) < s->j + s->keys || npu_mask_first(&mask, s->i + s->rows - 1) > s->j;
}

/* Pairs of a query and a key of one kv head that the mask hides. */
static inline uint64_t hidden_of(const struct paged *p, const struct step *s)
{
	struct npu_mask mask = paged_mask(p, paged_length(p, s->b));
	return is_masked(p, s) ? npu_mask_hidden(&mask, s->i, s->rows, s->j, s->keys) * p->group : 0;
}

/* ---- places ---- */

static inline bool array_turns_k(const struct emitter *e)
{
	return !npu_builder_capacity(e->b)->no_transpose_b;
}

/* Bytes from the scales of one half of the columns to those of the other; a product wants them dense. */
static inline uint32_t scales_apart(const struct paged *p, const struct step *s, unsigned half)
{
	return (uint32_t)(p->mode == PAGED_MATRIX && half == 0 ? s->keys * 2 : part_of(p->tile_kv * 2));
}

static inline uint32_t p8_at(const struct emitter *e, const struct step *s, uint64_t part)
{
	return e->p_at[s->number % 2] +
	       (uint32_t)(part * part_of(e->p_part + e->p.at_once * e->p.group * e->p.tile_q * 4));
}

/* Whether the array takes k and v from where the vector engine puts them. */
static inline bool are_made(const struct paged *p)
{
	return p->whole || p->mode == PAGED_VECTOR;
}

/* Bytes of a token, and of k or v of a kv head, as the vector engine makes them. */
static inline uint64_t made_row(const struct paged *p)
{
	return p->mode == PAGED_MATRIX ? p->row_bytes : p->dim * 2;
}

/* Whether it makes head after head, not page after page. */
static inline bool makes_heads(const struct paged *p)
{
	return !p->whole || p->mode != PAGED_VECTOR || p->scope == PAGED_TOKEN;
}

static inline uint64_t made_head(const struct paged *p)
{
	return part_of(p->tile_kv * made_row(p));
}

/* Bytes from the scales that the vector engine puts behind them for one kv head to those for the next. */
static inline uint64_t made_scales(const struct paged *p)
{
	return p->mode == PAGED_MATRIX && p->scope != PAGED_TOKEN ? part_of(p->tile_kv * 2) : 0;
}

static inline uint32_t acc_at(const struct emitter *e, uint64_t split)
{
	return e->acc + (uint32_t)(split * e->acc_bytes);
}

/* ---- what is emitted ---- */

/* Places all buffers. */
bool paged_place(struct emitter *);
/* Rows of Q or O of a unit. */
struct npu_dma paged_query_rows(const struct emitter *, struct npu_dram, const struct step *, uint32_t local);
/* The new keys and values of a sequence: into the last pages. */
void paged_append(struct emitter *, uint64_t sequence);
/* q with the first tile of a unit, k, and v where they come together; v otherwise. */
void paged_load_k(struct emitter *, const struct step *);
void paged_load_v(const struct emitter *, const struct step *);
/* What the vector engine does to k or q before they are multiplied. */
void paged_prepare_k(const struct emitter *, const struct step *);
/* K of whole pages, head after head, and what comes with it; then V, where it comes so. */
void paged_order_k(const struct emitter *, const struct step *);
void paged_prepare_v(const struct emitter *, const struct step *);
/* Weights of tile `now`; then acc is made ready for their product. `before` is the tile before, which is still summed.
 */
void paged_weigh(const struct emitter *, const struct step *now, const struct step *before);
/* acc (+)= the integer sums of a tile, times the scales of p. */
void paged_add_part(const struct emitter *, const struct step *);
/* The unit that the tile closes: o, and its store. `ready` is posted once acc may be written again. */
void paged_finish(const struct emitter *, const struct step *, struct npu_semaphore sums, struct npu_semaphore ready);

#endif
