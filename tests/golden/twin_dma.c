/* SPDX-License-Identifier: Apache-2.0 */
/* The DMA engines. An instruction becomes a list of bursts when it starts; a burst goes through
 *
 *   load    issued, DRAM and back, beats across the port        table    issued, DRAM and back
 *   store   issued, beats across the port, DRAM accepts and back
 *
 * and holds one of the engine's `outstanding` slots from its issue to its end. */
#include "tests/golden/twin_parts.h"

#include <stdlib.h>
#include <string.h>

enum { DRAM_PAGE = 4096, TURNED = 16 };

enum place { NOT_YET, AT_PORT, AWAY, OVER };

/* Beats of one contiguous run of local bytes. */
struct run {
	uint32_t local, bytes;
};

struct burst {
	uint64_t addr;
	uint32_t bytes;
	bool table, new_descriptor;
	uint32_t entry; /* table: first of `bytes` / 4; data: the one it needs */
	struct run *run;
	uint32_t nruns;

	enum place place;
	uint64_t came; /* table: its entries */
	uint32_t request;
	/* Beats of run `at_run` that have crossed. */
	uint32_t at_run;
	uint64_t beat;
	struct twin_walk walk;
};

struct channel {
	bool busy;
	uint32_t insn;
	uint64_t accepted;
	struct burst *burst;
	uint32_t nbursts, next; /* to be issued */
	uint64_t rests;         /* the address generator is free from then on */
	uint64_t not_before;
	uint32_t *port; /* bursts that may cross, a queue */
	uint32_t nport, port_head;
};

struct twin_dma {
	const struct hw *hw;
	bool store;
	unsigned nchannels, in_service, used; /* slots */
	struct channel channel[64];
	unsigned age[64]; /* channels in service, oldest first */
	unsigned turn, last;
	bool crossing;         /* a beat of channel `last` is under way */
	struct burst *crossed; /* store: its last beat has crossed, it leaves in the next cycle */
};

/* ---- which bursts and runs ---- */

static bool is_paged(const struct npu_insn *i)
{
	return npu_op_format(i->op) == NPU_FORMAT_paged;
}

struct shape {
	struct npu_matrix local;
	uint32_t base, bits, dram_block;
	uint32_t unit; /* elements of a row of a block, of the smaller one: what a beat of a layout change is about */
	uint64_t rows, cols;
	bool transpose, rearranged;
};

static struct shape shape_of(const struct npu_insn *i)
{
	struct shape s = { 0 };
	uint32_t layout;
	if (is_paged(i)) {
		const struct npu_paged *p = &i->paged;
		s = (struct shape){
			.base = p->local, .dram_block = 1, .rows = p->rows, .cols = p->cols, .transpose = p->transpose
		};
		s.local = (struct npu_matrix){ 0, 0, (enum npu_dtype)p->dtype, p->local_layout, p->local_stride };
		layout = NPU_LAYOUT_ROW;
	} else {
		const struct npu_dma *p = &i->dma;
		s = (struct shape){ .base = p->local,
				    .dram_block = npu_layout_block(p->dram_layout),
				    .rows = p->rows,
				    .cols = p->cols,
				    .transpose = p->transpose };
		s.local = (struct npu_matrix){ 0, 0, (enum npu_dtype)p->dtype, p->local_layout, p->local_stride };
		layout = p->dram_layout;
	}
	s.local.rows = s.transpose ? s.cols : s.rows;
	s.local.cols = s.transpose ? s.rows : s.cols;
	s.bits = npu_dtype_bits(s.local.dtype);
	s.rearranged = s.transpose || layout != s.local.layout;
	s.unit = layout == NPU_LAYOUT_BLOCK16 || s.local.layout == NPU_LAYOUT_BLOCK16 ? 16 : 32;
	return s;
}

static void add_run(struct burst *b, uint32_t local, uint64_t bytes)
{
	b->run = twin_room(b->run, b->nruns, sizeof *b->run);
	b->run[b->nruns++] = (struct run){ local, (uint32_t)bytes };
}

/* Where the transposer puts 16 elements of source row r from column c on: a piece of one of the local rows that the 16
 * x 16 tile fills, each of which gets one of its 16 source rows' turns. */
static uint64_t turned_bit(const struct shape *s, uint64_t r, uint64_t c, uint64_t bits)
{
	uint64_t row = c - c % TURNED + r % TURNED, col = r - r % TURNED,
		 last = s->rows < TURNED ? 0 : s->rows - TURNED;
	uint64_t end = npu_matrix_extent(&s->local) * 8;
	uint64_t bit = npu_matrix_bit(&s->local, row < s->cols ? row : s->cols - 1, col < last ? col : last);
	return bit + bits <= end ? bit : end > bits ? end - bits : 0;
}

/* A rearranged burst: elements [from, to) of strip `strip` as DRAM holds it. A beat carries what is contiguous on the
 * local side, of one row of a block. */
static void add_rearranged(struct burst *b, const struct shape *s, uint64_t strip, uint64_t from, uint64_t to)
{
	uint64_t run_bit = 0, run_end = 0, block = s->dram_block;
	bool open = false;
	for (uint64_t e = from; e < to; e++) {
		uint64_t inside = e % (block * block), r = strip, c = e;
		if (block > 1) {
			r = strip * block + inside / block;
			c = e / (block * block) * block + inside % block;
		}
		if (r >= s->rows || c >= s->cols)
			continue;
		if (s->transpose) {
			if (c % TURNED && e > from)
				continue;
			uint64_t n = TURNED - c % TURNED, left = to - e < s->cols - c ? to - e : s->cols - c;
			n = n < left ? n : left;
			add_run(b, s->base + (uint32_t)(turned_bit(s, r, c, n * s->bits) / 8), (n * s->bits + 7) / 8);
			continue;
		}
		uint64_t bit = npu_matrix_bit(&s->local, r, c);
		if (open && (bit != run_end || c % s->unit == 0)) {
			add_run(b, s->base + (uint32_t)(run_bit / 8), (run_end - run_bit + 7) / 8);
			open = false;
		}
		if (!open)
			run_bit = bit;
		open = true;
		run_end = bit + s->bits;
	}
	if (open)
		add_run(b, s->base + (uint32_t)(run_bit / 8), (run_end - run_bit + 7) / 8);
	if (!b->nruns)
		add_run(b, s->base, (s->bits + 7) / 8); /* padding alone: a beat */
}

static struct burst *add_burst(struct channel *c)
{
	c->burst = twin_room(c->burst, c->nbursts, sizeof *c->burst);
	c->burst[c->nbursts] = (struct burst){ 0 };
	return &c->burst[c->nbursts++];
}

/* The table, a granule at a time, before all data. */
static void add_table(struct twin *t, struct channel *c, const struct npu_insn *i)
{
	uint64_t at = t->program->tables[i->paged.table].addr + 4 * (uint64_t)(i->paged.first / i->paged.page_rows);
	uint64_t end = at + npu_insn_table_bytes(i), granule = dram_burst_bytes(&t->hw->dram);
	uint32_t entry = i->paged.first / i->paged.page_rows;
	while (at < end) {
		uint64_t room = (granule - at % granule + 3) / 4 * 4, n = end - at < room ? end - at : room;
		struct burst *b = add_burst(c);
		b->addr = at;
		b->bytes = (uint32_t)n;
		b->table = true;
		b->entry = entry;
		entry += (uint32_t)n / 4;
		at += n;
	}
}

static void add_data(struct twin *t, struct channel *c, const struct npu_insn *i)
{
	struct shape s = shape_of(i);
	struct npu_piece_walk walk;
	struct npu_piece piece;
	npu_piece_walk_init(&walk, t->program, i);
	for (uint64_t strip = 0; npu_piece_next(&walk, &piece); strip++)
		for (uint64_t at = 0, n; at < piece.bytes; at += n) {
			uint64_t page = DRAM_PAGE - (piece.dram + at) % DRAM_PAGE;
			n = piece.bytes - at < t->hw->dma.max_burst ? piece.bytes - at : t->hw->dma.max_burst;
			n = n < page ? n : page;
			struct burst *b = add_burst(c);
			b->addr = piece.dram + at;
			b->bytes = (uint32_t)n;
			b->new_descriptor = at == 0 && piece.new_descriptor;
			b->entry = piece.entry;
			if (s.rearranged)
				add_rearranged(b, &s, strip, at * 8 / s.bits, (at + n) * 8 / s.bits);
			else
				add_run(b, piece.local + (uint32_t)at, n);
		}
}

/* ---- the engine ---- */

struct twin_dma *twin_dma_new(const struct hw *hw, enum npu_engine e)
{
	struct twin_dma *d = twin_alloc(1, sizeof *d);
	d->hw = hw;
	d->store = e == NPU_ENGINE_STORE;
	d->nchannels = (unsigned)(d->store ? hw->dma.store_channels : hw->dma.load_channels);
	d->last = d->nchannels - 1;
	return d;
}

static void clear(struct channel *c)
{
	for (uint32_t i = 0; i < c->nbursts; i++) {
		free(c->burst[i].run);
		twin_walk_free(&c->burst[i].walk);
	}
	free(c->burst);
	free(c->port);
	*c = (struct channel){ 0 };
}

void twin_dma_free(struct twin_dma *d)
{
	for (unsigned i = 0; i < 64; i++)
		clear(&d->channel[i]);
	free(d);
}

/* What a DMA instruction writes: one access, of a scatter one a piece. The caller frees. */
static struct npu_access *written(const struct twin *t, uint32_t number, uint32_t *n)
{
	const struct npu_insn *insn = &t->program->insns[number];
	struct npu_access *list = NULL, all[NPU_MAX_ACCESSES];
	unsigned nall = npu_insn_accesses(insn, all);
	struct npu_piece_walk walk;
	struct npu_piece piece;
	*n = 0;
	for (unsigned i = 0; i < nall; i++)
		if (all[i].write) {
			list = twin_room(list, *n, sizeof *list);
			list[(*n)++] = all[i];
		}
	if (insn->op != NPU_OP_SCATTER)
		return list;
	npu_piece_walk_init(&walk, t->program, insn);
	while (npu_piece_next(&walk, &piece)) {
		list = twin_room(list, *n, sizeof *list);
		list[(*n)++] = (struct npu_access){ .space = NPU_SPACE_DRAM,
						    .write = true,
						    .base = piece.dram,
						    .row_bytes = piece.bytes,
						    .rows = 1,
						    .stride = piece.bytes };
	}
	return list;
}

static bool conflict(const struct twin *t, uint32_t x, uint32_t y)
{
	uint32_t nx, ny;
	struct npu_access *a = written(t, x, &nx), *b = written(t, y, &ny);
	bool meet = false;
	for (uint32_t i = 0; i < nx; i++)
		for (uint32_t j = 0; j < ny; j++)
			meet |= npu_access_overlap(&a[i], &b[j]);
	free(a);
	free(b);
	return meet;
}

/* A channel is free, and nothing in service writes the same bytes. */
static bool may_start(struct twin *t, enum npu_engine e, uint32_t insn)
{
	const struct twin_dma *d = t->dma[e];
	if (d->in_service == d->nchannels)
		return false;
	for (unsigned i = 0; i < d->in_service; i++)
		if (conflict(t, d->channel[d->age[i]].insn, insn))
			return false;
	return true;
}

static void start(struct twin *t, enum npu_engine e, uint32_t insn)
{
	struct twin_dma *d = t->dma[e];
	unsigned slot = 0;
	while (d->channel[slot].busy)
		slot++;
	struct channel *c = &d->channel[slot];
	clear(c);
	c->busy = true;
	c->insn = insn;
	c->accepted = t->now;
	c->rests = c->not_before = t->now + d->hw->dma.start_cycles;
	if (is_paged(&t->program->insns[insn]))
		add_table(t, c, &t->program->insns[insn]);
	add_data(t, c, &t->program->insns[insn]);
	d->age[d->in_service++] = slot;
}

static bool in_service(const struct twin *t, enum npu_engine e)
{
	return t->dma[e]->in_service > 0;
}

static void to_port(struct channel *c, uint32_t burst)
{
	c->burst[burst].place = AT_PORT;
	c->port = twin_room(c->port, c->nport, sizeof *c->port);
	c->port[c->nport++] = burst;
}

static void send(struct twin *t, struct twin_dma *d, struct burst *b)
{
	bool write = d->store && !b->table;
	b->request = twin_send(t, d->store ? 1 : 0, b->addr, b->bytes, write);
	b->place = AWAY;
}

static void finish(struct twin_dma *d, struct burst *b)
{
	b->place = OVER;
	d->used--;
}

/* When the table entry that this burst needs came. */
static uint64_t entry_came(const struct channel *c, const struct burst *b)
{
	uint64_t came = 0;
	for (uint32_t i = 0; i < c->nbursts && c->burst[i].table && c->burst[i].entry <= b->entry; i++)
		came = c->burst[i].place == OVER ? c->burst[i].came : TWIN_NEVER;
	return came;
}

void twin_dma_arrive(struct twin *t, enum npu_engine e)
{
	struct twin_dma *d = t->dma[e];
	for (unsigned a = 0; a < d->in_service; a++) {
		struct channel *c = &d->channel[d->age[a]];
		for (uint32_t i = 0; i < c->next; i++) {
			struct burst *b = &c->burst[i];
			if (b->place != AWAY || !twin_answered(t, b->request))
				continue;
			if (b->table)
				b->came = t->now;
			if (b->table || d->store)
				finish(d, b);
			else
				to_port(c, i);
		}
	}
}

/* The oldest instruction has ended when all its bursts have. */
static uint32_t ended(struct twin *t, enum npu_engine e)
{
	struct twin_dma *d = t->dma[e];
	if (!d->in_service)
		return TWIN_NOBODY;
	struct channel *c = &d->channel[d->age[0]];
	for (uint32_t i = 0; i < c->nbursts; i++)
		if (c->burst[i].place != OVER)
			return TWIN_NOBODY;
	c->busy = false;
	d->in_service--;
	memmove(d->age, d->age + 1, d->in_service * sizeof *d->age);
	return c->insn;
}

/* From when on the next burst of the channel may be issued. */
static uint64_t ready_at(const struct twin_dma *d, const struct channel *c)
{
	if (!c->busy || c->next == c->nbursts)
		return TWIN_NEVER;
	const struct burst *b = &c->burst[c->next];
	if (b->table)
		return c->not_before;
	uint64_t came = entry_came(c, b), begin = c->rests > came ? c->rests : came;
	if (came == TWIN_NEVER)
		return TWIN_NEVER;
	uint64_t at = begin + (b->new_descriptor ? d->hw->dma.descriptor_cycles : 0);
	return at > c->not_before ? at : c->not_before;
}

/* Whose burst goes: round robin. What was accepted in this cycle has what the others leave of it, the oldest first. */
static unsigned whose_turn(const struct twin *t, const struct twin_dma *d)
{
	for (unsigned i = 0; i < d->nchannels; i++) {
		unsigned slot = (d->turn + i) % d->nchannels;
		if (ready_at(d, &d->channel[slot]) <= t->now && d->channel[slot].accepted < t->now)
			return slot;
	}
	for (unsigned a = 0; a < d->in_service; a++)
		if (ready_at(d, &d->channel[d->age[a]]) <= t->now)
			return d->age[a];
	return TWIN_NOBODY;
}

static void issue(struct twin *t, struct twin_dma *d)
{
	unsigned slot = whose_turn(t, d);
	if (slot == TWIN_NOBODY || d->used == d->hw->dma.outstanding)
		return;
	struct channel *c = &d->channel[slot];
	struct burst *b = &c->burst[c->next++];
	d->used++;
	d->turn = (slot + 1) % d->nchannels;
	c->rests = t->now;
	c->not_before = t->now + 1;
	if (d->store && !b->table)
		to_port(c, c->next - 1);
	else
		send(t, d, b);
}

void twin_dma_leave(struct twin *t, enum npu_engine e)
{
	struct twin_dma *d = t->dma[e];
	if (d->crossed)
		send(t, d, d->crossed);
	d->crossed = NULL;
	issue(t, d);
}

static uint64_t beats_of(const struct twin_dma *d, const struct run *r)
{
	return (r->bytes + d->hw->dma.port - 1) / d->hw->dma.port;
}

static struct burst *front(struct channel *c)
{
	return &c->burst[c->port[c->port_head]];
}

/* Channels with a burst at the port take turns beat by beat; a denied beat keeps the port. */
static void ask(struct twin *t, enum npu_engine e)
{
	struct twin_dma *d = t->dma[e];
	if (d->crossing)
		return;
	for (unsigned i = 1; i <= d->nchannels; i++) {
		unsigned slot = (d->last + i) % d->nchannels;
		struct channel *c = &d->channel[slot];
		if (!c->busy || c->port_head == c->nport)
			continue;
		struct burst *b = front(c);
		const struct run *r = &b->run[b->at_run];
		if (!b->beat) {
			twin_walk_free(&b->walk);
			twin_walk_add(&b->walk, d->hw,
				      &(struct twin_rows){
					  .local = r->local, .row_bytes = r->bytes, .rows = 1, .write = !d->store });
		}
		twin_memory_ask(&t->memory, e, &b->walk, b->beat, beats_of(d, r));
		d->last = slot;
		d->crossing = true;
		return;
	}
}

/* The beat has crossed. */
static void crossed(struct twin_dma *d)
{
	struct channel *c = &d->channel[d->last];
	struct burst *b = front(c);
	d->crossing = false;
	if (++b->beat < beats_of(d, &b->run[b->at_run]))
		return;
	b->beat = 0;
	if (++b->at_run < b->nruns)
		return;
	c->port_head++;
	if (!d->store) {
		finish(d, b);
	} else {
		d->crossed = b;
	}
}

/* What a cycle without a beat is put down to: the oldest burst in flight of the oldest instruction. */
static enum npu_state waits_for(const struct twin *t, const struct twin_dma *d)
{
	const struct burst *oldest = NULL;
	for (unsigned a = 0; a < d->in_service && !oldest; a++) {
		const struct channel *c = &d->channel[d->age[a]];
		for (uint32_t i = 0; i < c->next && !oldest; i++)
			if (c->burst[i].place != OVER)
				oldest = &c->burst[i];
		/* The oldest instruction has none in flight: it works one out, or others hold all slots. */
		if (!oldest && a == 0 && (d->used < d->hw->dma.outstanding || ready_at(d, c) > t->now))
			return NPU_STATE_DMA_SETUP;
	}
	if (!oldest || oldest->table)
		return NPU_STATE_DMA_SETUP;
	if (oldest->place == AWAY)
		return twin_dram_why(t->dram, oldest->request, t->clk - 1);
	return NPU_STATE_ENGINE_LATENCY;
}

static enum npu_state state(struct twin *t, enum npu_engine e)
{
	struct twin_dma *d = t->dma[e];
	switch (t->memory.outcome[e]) {
	case TWIN_PASSED:
		crossed(d);
		return NPU_STATE_BUSY;
	case TWIN_DENIED_SRAM:
		return NPU_STATE_SRAM_CONFLICT;
	case TWIN_DENIED_ACCUM:
		return NPU_STATE_ACCUM_CONFLICT;
	case TWIN_NO_BEAT:
		break;
	}
	return waits_for(t, d);
}

const struct twin_body twin_dma_body = { may_start, start, ended, ask, state, in_service };
