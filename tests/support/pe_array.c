/* SPDX-License-Identifier: Apache-2.0 */
/* The array and the simplest controller that keeps it fed. All control enters at the corner PE (0, 0) and travels with the
 * operands, one PE a cycle, so PE (r, c) sees what the corner saw r + c cycles ago. */
#include "tests/support/pe_array.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 2, LINKS = 64, PRODUCTS_MAX = 64, REGISTERS_MAX = 16 };

/* Operands: small integers that tell rows and columns apart. */
static int64_t value_a(unsigned p, unsigned m, unsigned k) { return (int64_t)((m * 7 + k * 3 + p * 5) % 11) - 5; }
static int64_t value_b(unsigned p, unsigned k, unsigned n) { return (int64_t)((k * 5 + n * 9 + p * 3) % 13) - 6; }

/* What comes from the left with an operand, and from above. */
struct from_left {
	bool valid, swap, clear, take;
	int64_t a[LANES];
};
struct from_above {
	unsigned n; /* weights on their way down: row and value */
	unsigned row[LINKS];
	int64_t weight[LINKS][LANES];
	int64_t b[LANES]; /* OS */
	int64_t sum;      /* WS */
};
struct pe {
	struct from_left right;
	struct from_above down;
	int64_t weight[LANES], shadow[LANES];
	int64_t sum, out;
	bool out_valid;
};

struct tile {
	unsigned product, pass0, pass, stay0, stay, k0, k;
	bool last;
};

/* Sums that are on their way out, in the order in which they will leave: one a column and cycle. */
struct leaving {
	uint64_t cycle; /* in which column 0 lets it out */
	unsigned product, row, stay0, stay;
	unsigned shift; /* OS: how many sums of the fold left before it */
	bool last;
};

struct run {
	const struct pe_array *array;
	struct pe_product *product;
	unsigned n;
	struct pe pe[PE_ROWS_MAX][PE_COLS_MAX];
	int64_t *d[PRODUCTS_MAX];
	/* controller */
	unsigned accepted;
	struct tile load, stream, loaded_tile; /* tiles being loaded, streamed, waiting in the shadow registers */
	bool loading, streaming, loaded;
	unsigned load_step, load_wait, stream_step;
	bool streamed_last; /* the last fold of the newest product began to stream; all of it has entered */
	bool entered_last;
	struct tile next;   /* next tile to load */
	bool has_next;
	uint64_t last_take;   /* OS: when sums were last taken off at the corner */
	uint64_t last_block;  /* OS: when the last block of the newest fold began */
	bool took;
	struct leaving *leaving;
	unsigned first_leaving, nleaving, leaving_max;
	const char *wrong;
};

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

static struct tile first_tile(const struct run *r, unsigned product)
{
	const struct pe_product *p = &r->product[product];
	struct tile t = { .product = product };
	if (r->array->output_stationary) {
		t.pass = least(p->pass, r->array->rows);
		t.k = p->k;
	} else {
		t.pass = p->pass;
		t.k = least(p->k, r->array->rows * p->depth);
	}
	t.stay = least(p->stay, r->array->cols);
	t.last = (!r->array->output_stationary || t.pass == p->pass) && t.k == p->k && t.stay == p->stay;
	return t;
}

/* k innermost; then columns; of OS then rows. */
static struct tile next_tile(const struct run *r, struct tile t)
{
	const struct pe_product *p = &r->product[t.product];
	unsigned k_tile = r->array->output_stationary ? p->k : r->array->rows * p->depth;
	t.k0 += k_tile;
	if (t.k0 >= p->k) {
		t.k0 = 0;
		t.stay0 += r->array->cols;
		if (t.stay0 >= p->stay) {
			t.stay0 = 0;
			t.pass0 += r->array->rows;
		}
	}
	t.k = least(k_tile, p->k - t.k0);
	t.stay = least(r->array->cols, p->stay - t.stay0);
	if (r->array->output_stationary)
		t.pass = least(r->array->rows, p->pass - t.pass0);
	t.last = t.k0 + t.k == p->k && t.stay0 + t.stay == p->stay && t.pass0 + t.pass == p->pass;
	return t;
}

static void leave(struct run *r, uint64_t cycle, const struct tile *t, unsigned row, unsigned shift, bool last)
{
	if (r->nleaving == r->leaving_max) {
		r->leaving_max = r->leaving_max * 2 + 64;
		r->leaving = realloc(r->leaving, r->leaving_max * sizeof *r->leaving);
	}
	r->leaving[r->nleaving++] = (struct leaving){ cycle, t->product, row, t->stay0, t->stay, shift, last };
}

/* One cycle of all PEs: the last row and column first, so that every PE sees what its neighbours held before. `corner`
 * holds what enters each row and column, skewed by the caller. */
static void move(struct run *r, uint64_t t, struct from_left *left, struct from_above *above)
{
	unsigned rows = r->array->rows, cols = r->array->cols;
	for (unsigned i = rows; i-- > 0;)
		for (unsigned j = cols; j-- > 0;) {
			struct pe *pe = &r->pe[i][j];
			struct from_left in = j ? r->pe[i][j - 1].right : left[i];
			struct from_above down = i ? r->pe[i - 1][j].down : above[j];
			if (r->array->output_stationary) {
				if (in.take) {
					if (pe->out_valid)
						r->wrong = "a sum is overwritten on its way out";
					pe->out = pe->sum;
					pe->out_valid = true;
				}
				if (in.clear)
					pe->sum = 0;
				if (in.valid)
					for (unsigned l = 0; l < LANES; l++)
						pe->sum += in.a[l] * down.b[l];
			} else {
				if (in.swap)
					memcpy(pe->weight, pe->shadow, sizeof pe->weight);
				for (unsigned w = 0; w < down.n; w++)
					if (down.row[w] == i)
						memcpy(pe->shadow, down.weight[w], sizeof pe->shadow);
				if (in.valid)
					for (unsigned l = 0; l < LANES; l++)
						down.sum += in.a[l] * pe->weight[l];
			}
			pe->right = in;
			pe->down = down;
		}
	/* Sums that leave: row x of a fold leaves column j j cycles after column 0. */
	for (unsigned l = r->first_leaving; l < r->nleaving && r->leaving[l].cycle <= t; l++) {
		const struct leaving *out = &r->leaving[l];
		uint64_t j = t - out->cycle;
		if (j >= cols)
			continue;
		int64_t sum = r->pe[rows - 1][j].down.sum;
		if (r->array->output_stationary) {
			struct pe *bottom = &r->pe[rows - 1][j];
			if (!bottom->out_valid)
				r->wrong = "no sum to let out";
			sum = bottom->out;
			/* Everything moves down but in rows that have nothing left to pass on: there the next sum waits. */
			for (unsigned i = rows - 1; i > out->shift; i--)
				r->pe[i][j].out = r->pe[i - 1][j].out;
			r->pe[out->shift][j].out_valid = false;
		}
		const struct pe_product *p = &r->product[out->product];
		if (j < out->stay && out->row < p->pass)
			r->d[out->product][out->row * p->stay + out->stay0 + j] += sum;
		if (out->last && j == cols - 1)
			r->product[out->product].end = t + 1 + r->array->output_registers;
	}
	while (r->first_leaving < r->nleaving && r->leaving[r->first_leaving].cycle + cols <= t + 1)
		r->first_leaving++;
}

/* Operands of a tile's step x as they enter row i: WS: row x of A; OS: step x of k for row i. */
static struct from_left operand(const struct run *r, const struct tile *t, unsigned x, unsigned i)
{
	const struct pe_product *p = &r->product[t->product];
	struct from_left in = { .valid = true };
	for (unsigned l = 0; l < p->depth; l++) {
		if (r->array->output_stationary) {
			unsigned k = x * p->depth + l;
			if (i < t->pass && k < t->k)
				in.a[l] = value_a(t->product, t->pass0 + i, k);
		} else {
			unsigned k = i * p->depth + l;
			if (k < t->k)
				in.a[l] = value_a(t->product, x, t->k0 + k);
		}
	}
	return in;
}

/* ---- the controller: one decision a cycle, everything enters with a delay of i in row i and of j in column j ---- */

/* What entered the corner in the last cycles. */
struct slot {
	struct from_left control; /* swap, clear, take */
	bool operands;
	struct tile stream;
	unsigned x;
	unsigned loads;
	unsigned load_row[LINKS];
	struct tile load;
};

static bool all_drained(const struct run *r, uint64_t t)
{
	unsigned behind = r->array->cols + r->array->output_registers;
	return r->nleaving == 0 || r->leaving[r->nleaving - 1].cycle + behind <= t;
}

/* Steps of the tile that streams before the next tile may enter. */
static unsigned steps_before_load(const struct run *r)
{
	const struct pe_product *p = &r->product[r->stream.product];
	unsigned rows = r->array->output_stationary ? (r->stream.k + p->depth - 1) / p->depth : r->stream.pass;
	return r->array->last_block ? (rows - 1) / r->array->rows * r->array->rows * p->row_beats : 0;
}

static void accept_more(struct run *r, uint64_t t)
{
	if (r->accepted == r->n || t < r->product[r->accepted].ready)
		return;
	bool early = r->array->overlapped && !r->array->output_stationary;
	bool free = early ? r->streamed_last && (!r->streaming || r->stream_step >= steps_before_load(r)) : r->entered_last;
	if (r->accepted && !free)
		return;
	r->product[r->accepted].accepted = t;
	r->next = first_tile(r, r->accepted);
	r->has_next = true;
	r->streamed_last = r->entered_last = false;
	r->accepted++;
}

static void begin_load(struct run *r, uint64_t t)
{
	if (r->array->output_stationary || r->loading || r->loaded || !r->has_next)
		return;
	if (!r->array->overlapped && (r->streaming || !all_drained(r, t)))
		return;
	if (r->streaming && r->stream_step < steps_before_load(r))
		return;
	r->load = r->next;
	r->loading = true;
	r->load_step = 0;
	bool first = r->next.k0 == 0 && r->next.stay0 == 0;
	r->load_wait = first || !r->array->overlapped ? r->product[r->next.product].transposer : 0;
	r->has_next = !r->next.last;
	if (r->has_next)
		r->next = next_tile(r, r->next);
}

static void begin_stream(struct run *r, uint64_t t, struct slot *slot)
{
	if (r->streaming)
		return;
	if (r->array->output_stationary) {
		if (!r->has_next || (!r->array->overlapped && !all_drained(r, t)))
			return;
		/* Sums can be taken off `rows` cycles after the last ones at the earliest. */
		const struct pe_product *p = &r->product[r->next.product];
		unsigned steps = (r->next.k + p->depth - 1) / p->depth * p->row_beats;
		if (r->took && t + steps < r->last_take + r->array->rows)
			return;
		/* Initial sums enter in `rows` cycles beside the last block. */
		if (r->took && r->array->last_block && t < r->last_block + r->array->rows)
			return;
		r->stream = r->next;
		r->has_next = !r->next.last;
		if (r->has_next)
			r->next = next_tile(r, r->next);
		slot->control.clear = true;
	} else {
		if (!r->loaded)
			return;
		r->stream = r->loaded_tile;
		r->loaded = false;
		slot->control.swap = true;
	}
	r->streaming = true;
	r->stream_step = 0;
	struct tile *s = &r->stream;
	if (s->k0 == 0 && s->stay0 == 0 && s->pass0 == 0)
		r->product[s->product].first = t;
	if (s->last && s->product == r->accepted - 1)
		r->streamed_last = true;
}

static void stream_step(struct run *r, uint64_t t, struct slot *slot)
{
	const struct pe_product *p = &r->product[r->stream.product];
	bool os = r->array->output_stationary;
	unsigned rows = os ? (r->stream.k + p->depth - 1) / p->depth : r->stream.pass;
	unsigned x = r->stream_step / p->row_beats;
	if (r->stream_step == steps_before_load(r))
		r->last_block = t;
	if (r->stream_step % p->row_beats == p->row_beats - 1) {
		slot->operands = true;
		slot->stream = r->stream;
		slot->x = x;
		if (!os)
			leave(r, t + r->array->input_registers + r->array->rows - 1, &r->stream, x, 0,
			      r->stream.last && x == rows - 1);
	}
	if (++r->stream_step < rows * p->row_beats)
		return;
	r->streaming = false;
	if (os) {
		r->last_take = t + 1;
		r->took = true;
		for (unsigned i = 0; i < r->array->rows; i++)
			leave(r, t + r->array->input_registers + r->array->rows + i, &r->stream,
			      r->stream.pass0 + r->array->rows - 1 - i, i, r->stream.last && i == r->array->rows - 1);
	}
	if (r->stream.last) {
		p = &r->product[r->stream.product];
		r->product[r->stream.product].stream_end = t + 1;
		r->entered_last = r->stream.product == r->accepted - 1;
	}
}

static void load_step(struct run *r, struct slot *slot)
{
	const struct pe_product *p = &r->product[r->load.product];
	if (r->load_wait) {
		r->load_wait--;
		return;
	}
	slot->load = r->load;
	unsigned rows = r->array->rows;
	for (unsigned i = rows * r->load_step / p->load; i < rows * (r->load_step + 1) / p->load; i++)
		slot->load_row[slot->loads++] = i;
	if (++r->load_step == p->load) {
		r->loading = false;
		r->loaded = true;
		r->loaded_tile = r->load;
	}
}

static const char *check_values(struct run *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		const struct pe_product *p = &r->product[i];
		for (unsigned m = 0; m < p->pass; m++)
			for (unsigned n = 0; n < p->stay; n++) {
				int64_t sum = 0;
				for (unsigned k = 0; k < p->k; k++)
					sum += value_a(i, m, k) * value_b(i, k, n);
				if (sum != r->d[i][m * p->stay + n])
					return "a sum is wrong";
			}
	}
	return NULL;
}

const char *pe_array_run(const struct pe_array *array, struct pe_product *product, unsigned n)
{
	struct run *r = calloc(1, sizeof *r);
	enum { HISTORY = PE_ROWS_MAX + PE_COLS_MAX + REGISTERS_MAX };
	static struct slot history[HISTORY];
	memset(history, 0, sizeof history);
	r->array = array;
	r->product = product;
	r->n = n;
	for (unsigned i = 0; i < n; i++) {
		r->d[i] = calloc((size_t)product[i].pass * product[i].stay, sizeof **r->d);
		product[i].end = 0;
	}

	for (uint64_t t = 0; !product[n - 1].end && !r->wrong; t++) {
		struct slot *slot = &history[t % HISTORY];
		memset(slot, 0, sizeof *slot);
		if (r->took && r->last_take == t)
			slot->control.take = true;
		begin_stream(r, t, slot);
		accept_more(r, t);
		begin_load(r, t);
		begin_stream(r, t, slot);
		if (r->loading)
			load_step(r, slot);
		if (r->streaming)
			stream_step(r, t, slot);

		struct from_left left[PE_ROWS_MAX];
		struct from_above above[PE_COLS_MAX];
		memset(left, 0, sizeof left);
		memset(above, 0, sizeof above);
		uint64_t entered = t - array->input_registers; /* what is behind the registers now */
		for (unsigned i = 0; i < array->rows && array->input_registers + i <= t; i++) {
			const struct slot *s = &history[(entered - i) % HISTORY];
			if (s->operands)
				left[i] = operand(r, &s->stream, s->x, i);
			left[i].swap = s->control.swap;
			left[i].clear = s->control.clear;
			left[i].take = s->control.take;
		}
		for (unsigned j = 0; j < array->cols && array->input_registers + j <= t; j++) {
			const struct slot *s = &history[(entered - j) % HISTORY];
			above[j].n = s->loads;
			for (unsigned w = 0; w < s->loads; w++) {
				const struct pe_product *p = &product[s->load.product];
				above[j].row[w] = s->load_row[w];
				for (unsigned l = 0; l < p->depth; l++) {
					unsigned k = s->load_row[w] * p->depth + l;
					if (k < s->load.k && j < s->load.stay)
						above[j].weight[w][l] =
							value_b(s->load.product, s->load.k0 + k, s->load.stay0 + j);
				}
			}
			const struct pe_product *p = &product[s->stream.product];
			for (unsigned l = 0; array->output_stationary && s->operands && l < p->depth; l++) {
				unsigned k = s->x * p->depth + l;
				if (k < s->stream.k && j < s->stream.stay)
					above[j].b[l] = value_b(s->stream.product, k, s->stream.stay0 + j);
			}
		}
		move(r, t, left, above);
	}
	const char *wrong = r->wrong ? r->wrong : check_values(r);
	for (unsigned i = 0; i < n; i++)
		free(r->d[i]);
	free(r->leaving);
	free(r);
	return wrong;
}
