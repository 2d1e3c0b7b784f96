/* SPDX-License-Identifier: Apache-2.0 */
/* Which edge would order two instructions, and which declared semaphore could carry it. */
#include "isa/check/checker.h"

#include <inttypes.h>
#include <stdio.h>

/* How well a post suits: the higher the better; 0: not at all. */
enum suit { SUITS_NOT, SUITS_OTHER, SUITS_UNWAITED, SUITS_STARTS_TOO_HIGH, SUITS_UNPOSTED };

struct offer {
	enum suit suit;
	uint32_t sem;
	uint32_t poster; /* instruction */
};

static bool uses(const struct npu_sem_ref refs[NPU_SYNC_SLOTS], uint32_t sem)
{
	return (refs[0].count && refs[0].sem == sem) || (refs[1].count && refs[1].sem == sem);
}

static bool waits_for(const struct npu_insn *insn, uint32_t sem)
{
	return uses(insn->wait, sem);
}

static bool posts(const struct npu_insn *insn, uint32_t sem)
{
	return uses(insn->post, sem);
}

static enum suit suit_of(const struct npu_checker *c, uint32_t sem, uint32_t second)
{
	const struct npu_insn *insn = &c->program->insns[second];
	const struct npu_sem *s = &c->program->sems[sem];
	if (s->waiter == NPU_ENGINES)
		return SUITS_UNWAITED;
	if (s->waiter != npu_op_engine(insn->op))
		return SUITS_NOT;
	/* It waits, and yet too early a unit satisfies it: there are more than the buffer has room for. */
	if (waits_for(insn, sem))
		return s->initial ? SUITS_STARTS_TOO_HIGH : SUITS_NOT;
	return SUITS_OTHER;
}

static void consider(const struct npu_checker *c, uint32_t poster, uint32_t second, struct offer *best)
{
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
		const struct npu_sem_ref *post = &c->program->insns[poster].post[slot];
		enum suit suit = post->count ? suit_of(c, post->sem, second) : SUITS_NOT;
		if (suit > best->suit)
			*best = (struct offer){ suit, post->sem, poster };
	}
}

/* The first instruction of the queue that posts something of use, from `first` on, as long as it comes before `second`.
 */
static struct offer find_offer(const struct npu_checker *c, uint32_t first, uint32_t second)
{
	enum { FAR = 64 };
	struct offer best = { .suit = SUITS_NOT };
	enum npu_engine e = npu_op_engine(c->program->insns[first].op);
	uint32_t at = c->order.position[first], end = c->order.length[e] < at + FAR ? c->order.length[e] : at + FAR;
	for (; at < end && best.suit == SUITS_NOT && c->order.queue[e][at] < second; at++)
		consider(c, c->order.queue[e][at], second, &best);
	return best;
}

/* A semaphore that the second one waits for already, and the first one does not post. */
static struct offer find_unposted(const struct npu_checker *c, uint32_t first, uint32_t second)
{
	const struct npu_insn *insn = &c->program->insns[second];
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
		const struct npu_sem *s = &c->program->sems[insn->wait[slot].sem];
		if (insn->wait[slot].count && !posts(&c->program->insns[first], insn->wait[slot].sem) &&
		    (s->poster == NPU_ENGINES || s->poster == npu_op_engine(c->program->insns[first].op)))
			return (struct offer){ SUITS_UNPOSTED, insn->wait[slot].sem, first };
	}
	return (struct offer){ .suit = SUITS_NOT };
}

static bool has_free_slot(const struct npu_sem_ref refs[NPU_SYNC_SLOTS])
{
	return !refs[0].count || !refs[1].count;
}

/* What is to wait: the instruction, or a sync in front of it when it has no slot left. */
static struct npu_check_name waiting(const struct npu_checker *c, uint32_t second)
{
	const struct npu_insn *insn = &c->program->insns[second];
	struct npu_check_name line = npu_check_line_name(c, second, second), name;
	if (has_free_slot(insn->wait))
		return line;
	snprintf(name.text, sizeof name.text, "a sync.%s before %.300s", npu_engine_name(npu_op_engine(insn->op)),
		 line.text);
	return name;
}

static const char *fix_by_offer(struct npu_checker *c, const struct offer *o, uint32_t first, uint32_t second)
{
	const char *sem = c->program->sems[o->sem].name, *last = "when it ends";
	if (o->suit == SUITS_STARTS_TOO_HIGH)
		return npu_checker_text(c, "fix: %s starts at %" PRIu32 "; with a lower count %s would wait for %s",
					sem, c->program->sems[o->sem].initial,
					npu_check_line_name(c, second, second).text,
					npu_check_line_name(c, o->poster, second).text);
	if (o->suit == SUITS_UNPOSTED)
		return npu_checker_text(c, "fix: %s posts %s, which %s waits for",
					npu_check_line_name(c, first, second).text, sem,
					npu_check_line_name(c, second, second).text);
	if (o->poster != first)
		last = npu_checker_text(c, "after %s", npu_check_line_name(c, first, second).text);
	return npu_checker_text(c, "fix: %s waits for %s, which %s posts %s", waiting(c, second).text, sem,
				npu_check_line_name(c, o->poster, second).text, last);
}

/* No post that is there would do. */
static const char *fix_without_post(struct npu_checker *c, uint32_t first, uint32_t second)
{
	enum npu_engine from = npu_op_engine(c->program->insns[first].op),
			to = npu_op_engine(c->program->insns[second].op);
	struct npu_check_name line = npu_check_line_name(c, first, second);
	if (!has_free_slot(c->program->insns[first].post))
		return npu_checker_text(c,
					"fix: a semaphore from %s to %s: a sync.%s after %s posts it, %s waits for it",
					npu_engine_name(from), npu_engine_name(to), npu_engine_name(from), line.text,
					waiting(c, second).text);
	return npu_checker_text(c, "fix: a semaphore from %s to %s: %s posts it, %s waits for it",
				npu_engine_name(from), npu_engine_name(to), line.text, waiting(c, second).text);
}

const char *npu_check_advice(struct npu_checker *c, uint32_t first, uint32_t second)
{
	struct offer offer = find_offer(c, first, second);
	if (offer.suit <= SUITS_OTHER && find_unposted(c, first, second).suit != SUITS_NOT)
		offer = find_unposted(c, first, second);
	const char *fix =
	    offer.suit == SUITS_NOT ? fix_without_post(c, first, second) : fix_by_offer(c, &offer, first, second);
	return npu_checker_text(c, "missing edge: %s -> %s\n%s", npu_check_insn_name(c, first).text,
				npu_check_insn_name(c, second).text, fix);
}
