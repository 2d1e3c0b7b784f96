/* SPDX-License-Identifier: Apache-2.0 */
/* What a DMA engine moves, and when.
 *
 *   load   accept, start_cycles, descriptor_cycles, issue -> cdc -> DRAM -> cdc -> beats cross the port: the burst ends
 *   store  accept, start_cycles, descriptor_cycles, issue: beats cross the port -> cdc -> DRAM accepts -> cdc: it ends
 *
 * A burst takes one of `outstanding` slots from issue to end; one is issued a cycle, round robin over the channels.
 *
 * The engine is looked at only when something can change for others: bursts are issued ahead while nothing can come
 * between, and the end of a burst is noted when it is needed, with the cycle in which it was. */
#include "models/dma_core.h"

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Answers come and beats cross: notes for the next step. */

/* Whether its next burst reads its block table. */
static bool reads_table(const struct dma_channel *c)
{
	return c->entry < c->entries_end;
}

/* Whether more bursts or table entries of this channel are to be issued. */
static bool has_more(const struct dma_channel *c)
{
	return c->walk.more || reads_table(c);
}

/* Whether the oldest instruction only waits for bursts whose way is known to the end (load: at the port; store: answered). */
static bool is_ending(const struct dma *d)
{
	const struct dma_channel *c = &d->channel[d->age[0]];
	return !has_more(c) && !c->away;
}

/* Latest first; most come in order, so the search from the front is short. */
static void note_answer(struct dma *d, uint32_t tag, uint64_t at, uint64_t order)
{
	uint32_t i = d->nanswers++;
	for (; i > 0; i--) {
		const struct dma_answer *a = &d->answers[i - 1];
		if (a->at > at || (a->at == at && a->order > order))
			break;
		d->answers[i] = *a;
	}
	d->answers[i] = (struct dma_answer){ .at = at, .order = order, .tag = tag };
}

/* Data of a load has its way to the port: it crosses in the order in which it comes back. */
static uint64_t push_runs(struct dma *d, uint32_t tag, uint64_t at)
{
	struct dma_flight *f = &d->flight[tag];
	const struct dma_run *runs = &d->runs[(uint64_t)tag * d->max_runs];
	struct memory_burst burst = { .at = at, .order = f->order, .channel = f->channel, .write = !d->store, .tag = tag };
	uint64_t beats = 0;
	uint32_t nruns = f->nruns;
	f->runs_left = nruns;
	d->at_memory += nruns;
	for (uint32_t i = 0; i < nruns; i++) {
		burst.local = runs[i].local;
		burst.bytes = runs[i].bytes;
		beats += memory_push(d->memory, d->id, &burst);
	}
	return at + beats;
}

/* A request will leave at `leaves` or later, of an instruction in service. */
static void expect(struct dma *d, uint64_t leaves)
{
	if (leaves != NPU_NEVER)
		crossing_expect(d->crossing, d->port, leaves, d->dram_begin, d->dram_end);
}

static void load_answer(struct dma *d, uint32_t tag, uint64_t at)
{
	struct dma_flight *f = &d->flight[tag];
	struct dma_channel *c = &d->channel[f->channel];
	uint64_t over = at;
	if (f->table)
		note_answer(d, tag, at, f->order);
	else
		over = push_runs(d, tag, at);
	/* What its end gives room for leaves then or later. */
	if (f->table || d->free == DMA_NO_BURST) {
		d->next_request = min(d->next_request, over);
		expect(d, over);
	}
	if (!c->away && is_ending(d) && c == &d->channel[d->age[0]])
		machine_wake_up(&d->wake, d->id, memory_channel_end(d->memory, d->id, d->age[0]));
}

static void store_answer(struct dma *d, uint32_t tag, uint64_t at)
{
	struct dma_flight *f = &d->flight[tag];
	struct dma_channel *c = &d->channel[f->channel];
	note_answer(d, tag, at, f->order);
	c->last_answer = at > c->last_answer ? at : c->last_answer;
	if (f->table || d->free == DMA_NO_BURST) {
		d->next_request = min(d->next_request, at);
		machine_wake_up(&d->wake, d->id, at);
	} else if (is_ending(d)) {
		machine_wake_up(&d->wake, d->id, d->channel[d->age[0]].last_answer);
	}
}

static void answer_told(void *ctx, uint32_t tag, uint64_t at)
{
	struct dma *d = ctx;
	struct dma_flight *f = &d->flight[tag];
	f->answer = at;
	d->channel[f->channel].away--;
	if (d->store)
		store_answer(d, tag, at);
	else
		load_answer(d, tag, at);
}

static void memory_span(void *ctx, enum npu_engine port, enum npu_state state, uint64_t from, uint64_t to)
{
	struct dma *d = ctx;
	(void)port;
	uint64_t n = ring_count(&d->beats);
	struct dma_beats *last = n ? ring_at(&d->beats, n - 1) : NULL;
	if (last && last->state == state && last->to == from)
		last->to = to;
	else
		*(struct dma_beats *)ring_push(&d->beats) = (struct dma_beats){ state, from, to };
}

static void memory_done(void *ctx, enum npu_engine port, uint32_t tag, uint64_t cycle)
{
	struct dma *d = ctx;
	(void)port;
	d->at_memory--;
	if (--d->flight[tag].runs_left)
		return;
	*(struct dma_crossed *)ring_push(&d->crossed) = (struct dma_crossed){ tag, cycle };
	d->next_crossed = min(d->next_crossed, cycle);
}

static uint64_t next_crossed(const struct dma *d)
{
	return d->next_crossed;
}

static uint64_t next_answer(const struct dma *d)
{
	return d->nanswers ? d->answers[d->nanswers - 1].at : NPU_NEVER;
}

/* How early this port can send again, see dma_crossing.h. What is not known comes with an answer that is not told yet. */
static uint64_t next_burst_at(const struct dma *d)
{
	return d->free == DMA_NO_BURST ? NPU_NEVER : max(d->soonest, d->next_issue);
}

static bool waits_for_table(const struct dma *d)
{
	if (!d->paged)
		return false;
	for (unsigned i = 0; i < d->in_service; i++) {
		const struct dma_channel *c = &d->channel[d->age[i]];
		if (c->ready == NPU_NEVER && has_more(c))
			return true;
	}
	return false;
}

/* How early a burst can have crossed the port that is not taken yet. */
static uint64_t next_crossing(const struct dma *d)
{
	uint64_t at = next_crossed(d);
	return d->at_memory ? min(at, memory_next(d->memory, d->id)) : at;
}

/* How early a request can leave of which the instruction is in service. */
static uint64_t next_request(const struct dma *d)
{
	uint64_t at = next_burst_at(d);
	bool by_end = d->free == DMA_NO_BURST;
	if (d->store || by_end)
		at = min(at, next_crossing(d));
	return by_end || waits_for_table(d) ? min(at, next_answer(d)) : at;
}

static uint64_t earliest_request(const void *ctx, uint64_t now)
{
	const struct dma *d = ctx;
	uint64_t at = min(d->brought_up ? next_request(d) : d->next_request, now + d->hw->dma.start_cycles);
	return max(at, d->time);
}

static void bring_up(void *self, uint64_t until, uint64_t now);

/* Construction. */

static bool allocate(struct dma *d)
{
	uint64_t slots = d->hw->dma.outstanding;
	d->max_runs = dma_most_runs(d->hw);
	d->channel = calloc(d->nchannels, sizeof(*d->channel));
	d->age = calloc(d->nchannels, sizeof(*d->age));
	d->flight = calloc(slots, sizeof(*d->flight));
	d->answers = calloc(slots, sizeof(*d->answers));
	d->runs = calloc(slots * d->max_runs, sizeof(*d->runs));
	if (!d->channel || !d->age || !d->flight || !d->answers || !d->runs)
		return false;
	for (uint32_t i = 0; i < slots; i++)
		d->flight[i].next = i + 1 < slots ? i + 1 : DMA_NO_BURST;
	return true;
}

struct dma *dma_new(enum npu_engine id, const struct hw *hw, const struct npu_program *program, struct memory *memory,
		    struct crossing *crossing, const struct body_listener *listener, const struct machine_wake *wake)
{
	struct dma *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	bool store = id == NPU_ENGINE_STORE;
	*d = (struct dma){ .id = id, .port = store ? CROSSING_STORE : CROSSING_LOAD, .store = store, .hw = hw,
			   .program = program, .memory = memory, .crossing = crossing, .listener = *listener,
			   .wake = *wake, .next_request = NPU_NEVER, .next_crossed = NPU_NEVER, .asked = PROBE_NOBODY, .blocker = PROBE_NOBODY };
	d->nchannels = (unsigned)(store ? hw->dma.store_channels : hw->dma.load_channels);
	ring_init(&d->crossed, sizeof(struct dma_crossed));
	ring_init(&d->beats, sizeof(struct dma_beats));
	if (!allocate(d)) {
		dma_free(d);
		return NULL;
	}
	crossing_attach(crossing, d->port,
			&(struct crossing_user){ .ctx = d, .done = answer_told, .earliest = earliest_request,
						 .bring_up = bring_up });
	memory_listen(memory, id, &(struct memory_listener){ .ctx = d, .span = listener->span ? memory_span : NULL,
							     .done = memory_done });
	return d;
}

void dma_free(struct dma *d)
{
	if (!d)
		return;
	ring_fini(&d->crossed);
	ring_fini(&d->beats);
	free(d->channel);
	free(d->age);
	free(d->flight);
	free(d->answers);
	free(d->runs);
	free(d);
}

uint64_t dma_table_bytes(const struct dma *d)
{
	return d->table_bytes;
}

/* Instructions. */

static uint32_t free_channel(const struct dma *d)
{
	uint32_t c = 0;
	while (d->channel[c].busy)
		c++;
	return c;
}

/* The youngest in service that `insn` must follow. Ends are in order, so when that one has ended all have. */
static uint32_t find_blocker(struct dma *d, uint32_t insn)
{
	d->has_hull = d->in_service != 0;
	if (!d->in_service)
		return PROBE_NOBODY;
	d->hull = dma_hull(d->program, &d->program->insns[insn]);
	for (unsigned i = d->in_service; i-- > 0;) {
		struct dma_channel *c = &d->channel[d->age[i]];
		if (!c->has_hull)
			c->hull = dma_hull(d->program, &d->program->insns[c->insn]);
		c->has_hull = true;
		if (dma_hulls_meet(&c->hull, &d->hull) &&
		    dma_conflict(d->program, &d->program->insns[c->insn], &d->program->insns[insn]))
			return c->insn;
	}
	return PROBE_NOBODY;
}

static uint64_t accept_at(void *self, uint64_t now, uint32_t insn)
{
	struct dma *d = self;
	if (d->in_service == d->nchannels)
		return NPU_NEVER;
	if (d->asked != insn) {
		d->asked = insn;
		d->blocker = find_blocker(d, insn);
	}
	return d->blocker == PROBE_NOBODY ? now : NPU_NEVER;
}

static bool is_paged(const struct npu_insn *insn)
{
	return insn->op == NPU_OP_GATHER || insn->op == NPU_OP_SCATTER;
}

/* Whether the table entry of the next burst has come, if it needs one. */
static bool has_entry(const struct dma *d, const struct dma_channel *c)
{
	const struct dma_flight *oldest = c->oldest == DMA_NO_BURST ? NULL : &d->flight[c->oldest];
	return !is_paged(c->walk.insn) || c->walk.piece.entry < (oldest && oldest->table ? oldest->entry : c->entry);
}

/* When the next burst of the channel may be issued, its address generator being at rest from `at` on. A new row or page is
 * worked out first, a page when its entry is there; bursts of one row follow one another by a cycle. */
static inline void set_ready(struct dma *d, struct dma_channel *c, uint64_t at, uint64_t not_before)
{
	uint64_t before = c->ready, ready;
	if (reads_table(c))
		ready = not_before;
	else if (!c->walk.more || (d->paged && !has_entry(d, c)))
		ready = NPU_NEVER;
	else
		ready = max(at + (dma_walk_is_at_descriptor(&c->walk) ? d->hw->dma.descriptor_cycles : 0), not_before);
	c->ready = ready;
	if (ready > d->soonest && before <= d->soonest) {
		d->soonest = NPU_NEVER;
		for (unsigned i = 0; i < d->in_service; i++)
			d->soonest = min(d->soonest, d->channel[d->age[i]].ready);
	}
	d->soonest = min(d->soonest, ready);
}

/* A store's bursts are put to the port in time; only their requests may leave late. */
static uint64_t next_to_leave(const struct dma *d)
{
	return d->store ? next_crossing(d) : d->next_request;
}

/* Where in the DRAM loads in service read: anywhere, when one is paged. */
static void find_bytes(struct dma *d)
{
	if (d->store)
		return;
	d->dram_begin = d->paged ? 0 : UINT64_MAX;
	d->dram_end = d->paged ? UINT64_MAX : 0;
	for (unsigned i = 0; i < d->in_service && !d->paged; i++) {
		const struct dma_channel *c = &d->channel[d->age[i]];
		d->dram_begin = min(d->dram_begin, c->walk.insn->dma.dram);
		d->dram_end = max(d->dram_end, c->dram_end);
	}
}

static void accept(void *self, uint64_t now, uint32_t number)
{
	struct dma *d = self;
	const struct npu_insn *insn = &d->program->insns[number];
	uint32_t slot = free_channel(d);
	struct dma_channel *c = &d->channel[slot];
	if (!d->in_service)
		d->settled = now;
	c->insn = number;
	c->start = c->last_issue = now;
	c->busy = true;
	c->oldest = c->youngest = DMA_NO_BURST;
	c->entry = c->entries_end = 0;
	c->away = 0;
	c->last_answer = 0;
	c->has_hull = d->asked == number && d->has_hull;
	c->hull = d->hull;
	d->paged += is_paged(insn);
	if (!d->store && !is_paged(insn)) {
		const struct npu_dma *p = &insn->dma;
		struct npu_matrix m = { p->rows, p->cols, (enum npu_dtype)p->dtype, p->dram_layout, p->dram_stride };
		c->dram_end = p->dram + npu_matrix_extent(&m);
	}
	if (is_paged(insn)) {
		c->table = insn->paged.table;
		c->entry = insn->paged.first / insn->paged.page_rows;
		c->entries_end = c->entry + (uint32_t)(npu_insn_table_bytes(insn) / 4);
	}
	dma_walk_init(&c->walk, d->hw, d->program, insn);
	d->age[d->in_service++] = slot;
	find_bytes(d);
	set_ready(d, c, now + d->hw->dma.start_cycles, now + d->hw->dma.start_cycles);
	if (d->free != DMA_NO_BURST)
		d->next_request = min(d->next_request, max(c->ready, d->next_issue));
	if (!d->store)
		expect(d, next_to_leave(d));
}

static void end_oldest(struct dma *d, uint64_t now)
{
	uint32_t slot = d->age[0];
	struct dma_channel *c = &d->channel[slot];
	c->busy = false;
	d->paged -= is_paged(c->walk.insn);
	d->in_service--;
	memmove(d->age, d->age + 1, d->in_service * sizeof(*d->age));
	if (d->blocker == c->insn)
		d->blocker = PROBE_NOBODY;
	find_bytes(d);
	d->listener.ended(d->listener.ctx, c->insn, slot, c->start, now, now);
}

static bool is_over(const struct dma_channel *c)
{
	return c->oldest == DMA_NO_BURST && !has_more(c);
}

/* Bursts. */

static void send(struct dma *d, uint32_t tag, uint64_t now)
{
	struct dma_flight *f = &d->flight[tag];
	f->sent = true;
	crossing_send(d->crossing, d->port, now, f->addr, f->bytes, d->store && !f->table, tag);
}

/* The next granule's worth of block-table entries. */
static void table_burst(struct dma *d, struct dma_channel *c, struct dma_flight *f)
{
	uint64_t granule = dram_burst_bytes(&d->hw->dram);
	f->table = true;
	f->entry = c->entry;
	f->addr = d->program->tables[c->table].addr + 4 * (uint64_t)c->entry;
	uint64_t left = 4 * (uint64_t)(c->entries_end - c->entry), room = granule - f->addr % granule;
	/* An entry that lies across two granules is read with the first. */
	f->bytes = (uint32_t)(left < room ? left : (room + 3) / 4 * 4);
	c->entry += f->bytes / 4;
	d->table_bytes += f->bytes;
}

static void issue(struct dma *d, uint32_t slot, uint64_t at)
{
	struct dma_channel *c = &d->channel[slot];
	uint32_t tag = d->free;
	struct dma_flight *f = &d->flight[tag];
	d->free = f->next;
	f->order = d->order++;
	f->issued = at;
	f->answer = NPU_NEVER;
	f->next = DMA_NO_BURST;
	f->channel = (uint16_t)slot;
	f->table = f->sent = false;
	bool table = reads_table(c);
	if (table) {
		table_burst(d, c, f);
	} else {
		struct dma_burst burst;
		dma_walk_next(&c->walk, &burst, &d->runs[(uint64_t)tag * d->max_runs]);
		f->addr = burst.addr;
		f->bytes = burst.bytes;
		f->nruns = burst.nruns;
	}
	if (c->youngest == DMA_NO_BURST)
		c->oldest = tag;
	else
		d->flight[c->youngest].next = tag;
	c->youngest = tag;
	c->away++;
	if (d->store && !table)
		push_runs(d, tag, at);
	else
		send(d, tag, at);
	c->last_issue = at;
	d->next_issue = at + 1;
	set_ready(d, c, at, at + 1);
}

/* There is one, for next_burst_at() was not later. */
static uint32_t whose_turn(const struct dma *d, uint64_t at)
{
	unsigned slot = d->turn;
	while (!d->channel[slot].busy || d->channel[slot].ready > at)
		slot = slot + 1 < d->nchannels ? slot + 1 : 0;
	return slot;
}

/* Issues what is due before `until` and, where no table entry is awaited, which may come at any time, before `ahead`. A table
 * read of a store is not issued ahead: data that leaves before it has yet to cross the port. */
static void issue_before(struct dma *d, uint64_t until, uint64_t ahead, uint64_t now)
{
	for (;;) {
		uint64_t at = max(next_burst_at(d), d->time);
		if (at >= until && (at >= ahead || waits_for_table(d)))
			return;
		uint32_t slot = whose_turn(d, at);
		if (at >= until && d->store && reads_table(&d->channel[slot]))
			return;
		d->turn = slot + 1 < d->nchannels ? slot + 1 : 0;
		dma_settle(d, min(at, now), now);
		issue(d, slot, at);
	}
}

/* Gives back its slot and takes it out of its channel's list, of which the front is always the oldest in flight. */
static void end_burst(struct dma *d, uint32_t tag, uint64_t at)
{
	struct dma_flight *f = &d->flight[tag];
	struct dma_channel *c = &d->channel[f->channel];
	bool table = f->table;
	uint32_t before = DMA_NO_BURST;
	for (uint32_t t = c->oldest; t != tag; t = d->flight[t].next)
		before = t;
	if (before == DMA_NO_BURST)
		c->oldest = f->next;
	else
		d->flight[before].next = f->next;
	if (c->youngest == tag)
		c->youngest = before;
	f->next = d->free;
	d->free = tag;
	/* Issued ahead, the burst before may leave after this answer. */
	if (table && c->ready == NPU_NEVER)
		set_ready(d, c, max(at, c->last_issue), max(at, c->last_issue + 1));
}

static void take_answer(struct dma *d, uint64_t now)
{
	/* Before anything moves: to settle may let the DRAM decide, which asks how early this port can send. */
	dma_settle(d, next_answer(d), now);
	struct dma_answer a = d->answers[--d->nanswers];
	end_burst(d, a.tag, a.at);
}

static void take_crossed(struct dma *d, uint64_t now)
{
	struct dma_crossed done = *(struct dma_crossed *)ring_at(&d->crossed, 0);
	dma_settle(d, done.at, now);
	ring_pop(&d->crossed);
	d->next_crossed = ring_count(&d->crossed) ? ((struct dma_crossed *)ring_at(&d->crossed, 0))->at : NPU_NEVER;
	if (d->store)
		send(d, done.tag, done.at);
	else
		end_burst(d, done.tag, done.at);
}

/* Takes what happens before `until` (<= now + 1) and issues what it allows, each thing in its cycle; of one cycle beats come
 * first, then answers, then issues. */
static void bring_up(void *self, uint64_t until, uint64_t now)
{
	struct dma *d = self;
	if (!d->in_service || d->brought_up)
		return;
	if (d->time >= until) {
		expect(d, next_to_leave(d));
		return;
	}
	d->brought_up = true;
	if (d->at_memory)
		memory_advance(d->memory, now);
	for (;;) {
		uint64_t crossed = next_crossed(d), answer = next_answer(d), event = min(crossed, answer);
		if (event >= until)
			break;
		if (max(next_burst_at(d), d->time) < event)
			issue_before(d, event, event, now);
		d->time = event;
		if (crossed <= answer)
			take_crossed(d, now);
		else
			take_answer(d, now);
	}
	/* An instruction not yet accepted needs start_cycles, so nothing can come before what is issued ahead. */
	uint64_t ahead = until < now ? until : now + d->hw->dma.start_cycles;
	if (next_burst_at(d) < max(until, ahead))
		issue_before(d, until, ahead, now);
	d->time = min(until, now);
	d->brought_up = false;
	d->next_request = next_request(d);
	expect(d, next_to_leave(d));
}

/* When a change can come that others must see in its cycle: the end of the oldest instruction, a burst of a store at the port.
 * Requests may leave late, until the DRAM decides. */
static uint64_t next_look(const struct dma *d)
{
	if (!d->store)
		return is_ending(d) ? memory_channel_end(d->memory, d->id, d->age[0]) : NPU_NEVER;
	uint64_t next = next_burst_at(d);
	if (d->free == DMA_NO_BURST || waits_for_table(d))
		return min(next, next_answer(d));
	return is_ending(d) ? min(next, d->channel[d->age[0]].last_answer) : next;
}

/* Whether a step before next_look() has nothing to do: its engine may have been woken for the sake of its queue, or for an
 * end that was thought to come earlier. Not when an instruction accepted now issues at once, for what others issue now comes
 * first; nor when the beats of the oldest have crossed, and its end has only to be taken. */
static bool may_wait(const struct dma *d)
{
	return d->hw->dma.start_cycles && !ring_count(&d->crossed);
}

static uint64_t step(void *self, uint64_t now)
{
	struct dma *d = self;
	if (!d->in_service)
		return NPU_NEVER;
	/* All answers of this cycle are told before the first is taken, so they are taken in one order. */
	crossing_step(d->crossing, now);
	uint64_t next = next_look(d);
	if (next > now && may_wait(d))
		return next;
	bring_up(d, now + 1, now);
	if (is_over(&d->channel[d->age[0]]))
		dma_put_down(d, now, now);
	while (d->in_service && is_over(&d->channel[d->age[0]]))
		end_oldest(d, now);
	return d->in_service ? next_look(d) : NPU_NEVER;
}

static unsigned in_service(const void *self)
{
	return ((const struct dma *)self)->in_service;
}

const struct body_ops dma_ops = { .accept_at = accept_at, .accept = accept, .step = step, .in_service = in_service };
