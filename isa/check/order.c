/* SPDX-License-Identifier: Apache-2.0 */
/* Vector clocks over queues and counting semaphores; order.h says why they are exact. */
#include "isa/check/order.h"

#include <stdlib.h>
#include <string.h>

static enum npu_engine engine_of(const struct npu_order *o, uint32_t insn)
{
	return npu_op_engine(o->program->insns[insn].op);
}

static void *array_of(uint64_t n, uint64_t size)
{
	return calloc(n ? n : 1, size);
}

static void fill_queues(struct npu_order *o)
{
	for (uint32_t i = 0; i < o->program->ninsns; i++) {
		enum npu_engine e = engine_of(o, i);
		o->position[i] = o->length[e];
		o->queue[e][o->length[e]++] = i;
	}
}

/* Posts of each semaphore in queue order, those of semaphore s at first[s] to first[s + 1]. */
struct posts {
	uint32_t *first;
	struct post {
		uint32_t insn;
		uint64_t total; /* units posted up to here */
	} * posts;
	uint32_t *next;  /* [nsems] the post that the waits have reached */
	uint64_t *taken; /* [nsems] units taken by the waits so far */
};

static void posts_fini(struct posts *p)
{
	free(p->first);
	free(p->posts);
	free(p->next);
	free(p->taken);
}

static bool posts_init(struct posts *p, const struct npu_program *program)
{
	uint32_t n = program->nsems, all = 0;
	*p = (struct posts){ .first = array_of((uint64_t)n + 2, sizeof *p->first),
			     .next = array_of(n, sizeof *p->next),
			     .taken = array_of(n, sizeof *p->taken) };
	if (!p->first || !p->next || !p->taken)
		return false;
	for (uint32_t i = 0; i < program->ninsns; i++)
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
			if (program->insns[i].post[slot].count)
				p->first[program->insns[i].post[slot].sem + 1]++;
	for (uint32_t s = 0; s < n; s++)
		p->first[s + 1] += p->first[s];
	all = p->first[n];
	p->posts = array_of(all, sizeof *p->posts);
	if (!p->posts)
		return false;
	for (uint32_t s = 0; s < n; s++)
		p->next[s] = p->first[s];
	for (uint32_t i = 0; i < program->ninsns; i++)
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
			const struct npu_sem_ref *ref = &program->insns[i].post[slot];
			if (!ref->count)
				continue;
			uint32_t at = p->next[ref->sem]++;
			uint64_t before = at > p->first[ref->sem] ? p->posts[at - 1].total : 0;
			p->posts[at] = (struct post){ i, before + ref->count };
		}
	for (uint32_t s = 0; s < n; s++)
		p->next[s] = p->first[s];
	return true;
}

static uint32_t poster_of(struct posts *p, const struct npu_program *program, const struct npu_sem_ref *ref)
{
	uint64_t taken = p->taken[ref->sem] += ref->count;
	if (taken <= program->sems[ref->sem].initial)
		return NPU_ORDER_NOBODY;
	uint64_t needs = taken - program->sems[ref->sem].initial;
	uint32_t *next = &p->next[ref->sem], end = p->first[ref->sem + 1];
	while (*next < end && p->posts[*next].total < needs)
		++*next;
	return *next < end ? p->posts[*next].insn : (uint32_t)NPU_ORDER_NEVER;
}

static bool find_posters(struct npu_order *o, uint32_t without)
{
	struct posts posts;
	bool ok = posts_init(&posts, o->program);
	for (uint32_t i = 0; ok && i < o->program->ninsns; i++)
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
			const struct npu_sem_ref *ref = &o->program->insns[i].wait[slot];
			o->poster[i][slot] = ref->count && ref->sem != without ? poster_of(&posts, o->program, ref)
									       : (uint32_t)NPU_ORDER_NOBODY;
		}
	posts_fini(&posts);
	return ok;
}

static void join(struct npu_clock *clock, const struct npu_clock *other)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		if (other->ended[e] > clock->ended[e])
			clock->ended[e] = other->ended[e];
}

static bool is_insn(uint32_t poster)
{
	return poster < NPU_ORDER_NEVER;
}

/* What precedes the start of an instruction if only the waits in `slots` count. */
static struct npu_clock start_of(const struct npu_order *o, uint32_t insn, unsigned slots)
{
	struct npu_clock clock = { { 0 } };
	if (o->position[insn])
		clock = o->start[o->queue[engine_of(o, insn)][o->position[insn] - 1]];
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
		if ((slots >> slot & 1) && is_insn(o->poster[insn][slot]))
			join(&clock, &o->end[o->poster[insn][slot]]);
	return clock;
}

static void set_clocks(struct npu_order *o, uint32_t insn, unsigned slots)
{
	enum npu_engine e = engine_of(o, insn);
	o->start[insn] = start_of(o, insn, slots);
	o->end[insn] = o->start[insn];
	if (o->position[insn])
		join(&o->end[insn], &o->end[o->queue[e][o->position[insn] - 1]]);
	o->end[insn].ended[e] = o->position[insn] + 1;
}

static bool poster_has_ended(const struct npu_order *o, uint32_t poster, const uint32_t done[NPU_ENGINES])
{
	return poster == NPU_ORDER_NOBODY || (is_insn(poster) && o->position[poster] < done[engine_of(o, poster)]);
}

/* The earliest head of a queue whose waits hold (or of all heads, if `stuck`); NPU_ORDER_NOBODY when there is none. */
static uint32_t next_insn(const struct npu_order *o, const uint32_t done[NPU_ENGINES], bool stuck)
{
	uint32_t best = NPU_ORDER_NOBODY;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		if (done[e] == o->length[e])
			continue;
		uint32_t head = o->queue[e][done[e]];
		bool ready =
		    poster_has_ended(o, o->poster[head][0], done) && poster_has_ended(o, o->poster[head][1], done);
		if ((ready || stuck) && head < best)
			best = head;
	}
	return best;
}

static void remember_stuck(struct npu_order *o, const uint32_t done[NPU_ENGINES])
{
	for (unsigned e = 0; o->nstuck < NPU_ENGINES && e < NPU_ENGINES; e++)
		if (done[e] < o->length[e])
			o->stuck[o->nstuck++] = o->queue[e][done[e]];
}

static void run(struct npu_order *o)
{
	uint32_t done[NPU_ENGINES] = { 0 };
	for (uint32_t i = 0; i < o->program->ninsns; i++) {
		uint32_t insn = next_insn(o, done, false);
		unsigned slots = (1u << NPU_SYNC_SLOTS) - 1;
		if (insn == NPU_ORDER_NOBODY) {
			if (!o->nstuck)
				remember_stuck(o, done);
			insn = next_insn(o, done, true);
			for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
				if (!poster_has_ended(o, o->poster[insn][slot], done))
					slots &= ~(1u << slot);
		}
		set_clocks(o, insn, slots);
		o->sequence[i] = insn;
		done[engine_of(o, insn)]++;
	}
}

bool npu_order_init(struct npu_order *o, const struct npu_program *program, uint32_t without)
{
	uint32_t n = program->ninsns;
	*o = (struct npu_order){
		.program = program,
		.position = array_of(n, sizeof *o->position),
		.sequence = array_of(n, sizeof *o->sequence),
		.start = array_of(n, sizeof *o->start),
		.end = array_of(n, sizeof *o->end),
		.poster = array_of(n, sizeof *o->poster),
	};
	bool ok = o->position && o->sequence && o->start && o->end && o->poster;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		o->queue[e] = array_of(n, sizeof *o->queue[e]);
		ok = ok && o->queue[e];
	}
	if (ok)
		fill_queues(o);
	ok = ok && find_posters(o, without);
	if (ok)
		run(o);
	else
		npu_order_fini(o);
	return ok;
}

void npu_order_fini(struct npu_order *o)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		free(o->queue[e]);
	free(o->position);
	free(o->sequence);
	free(o->start);
	free(o->end);
	free(o->poster);
	*o = (struct npu_order){ 0 };
}

bool npu_clock_covers(const struct npu_order *o, const struct npu_clock *have, const struct npu_clock *want)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		uint32_t n = want->ended[e];
		while (n > have->ended[e] && npu_op_is_sync(o->program->insns[o->queue[e][n - 1]].op))
			n--;
		if (n > have->ended[e])
			return false;
	}
	return true;
}

bool npu_order_implied(const struct npu_order *o, uint32_t insn, unsigned slot)
{
	uint32_t poster = o->poster[insn][slot];
	if (!is_insn(poster))
		return poster == NPU_ORDER_NOBODY;
	struct npu_clock others = start_of(o, insn, ~(1u << slot));
	return npu_clock_covers(o, &others, &o->end[poster]);
}
