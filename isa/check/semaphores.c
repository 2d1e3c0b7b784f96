/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores by themselves: waits that do not find their count, deadlock, counts that overflow, sides that are missing.
 */
#include "isa/check/checker.h"
#include "isa/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What happened to each semaphore when the program is read in program order. */
struct tally {
	uint64_t posted, taken, posts;
	uint32_t first_post, first_wait;
};

static const struct npu_sem *sem_of(const struct npu_checker *c, const struct npu_sem_ref *ref)
{
	return &c->program->sems[ref->sem];
}

static struct npu_finding about(uint32_t insn, const char *role, uint32_t sem)
{
	return (struct npu_finding){ .nsites = 1, .site = { { insn, "", role } }, .sem = sem };
}

static const char *where_posted(struct npu_checker *c, uint32_t poster, uint32_t insn)
{
	if (poster == NPU_ORDER_NEVER)
		return "no post completes it";
	if (poster == insn)
		return "its own post completes it";
	return npu_checker_text(c, "%s completes it, later in program order (%s)", npu_check_insn_name(c, poster).text,
				npu_check_line_name(c, poster, insn).text);
}

static void tell_wait(struct npu_checker *c, uint32_t insn, const struct npu_sem_ref *ref, uint64_t has,
		      uint32_t poster)
{
	bool is_new, nobody = sem_of(c, ref)->poster == NPU_ENGINES;
	struct npu_finding like = about(insn, "waits", ref->sem);
	/* That nobody posts it is one mistake, wherever the waits are. */
	struct npu_finding_key key = { nobody ? NPU_CHECK_NEVER_POSTED : NPU_CHECK_WAIT_ORDER,
				       { ref->sem, nobody ? 0 : npu_checker_line(c, insn) } };
	struct npu_finding *f = npu_checker_add(c, &key, &like, &is_new);
	if (!f || !is_new)
		return;
	if (nobody) {
		const char *text = npu_checker_text(c, "%s: waited for and never posted; it starts at %" PRIu32,
						    sem_of(c, ref)->name, sem_of(c, ref)->initial);
		f->text = text;
		return;
	}
	f->text = npu_checker_text(c, "%s waits for %s, which has %" PRIu64 " of %u when the program is read in order",
				   npu_check_insn_name(c, insn).text, sem_of(c, ref)->name, has, ref->count);
	f->notes = where_posted(c, poster, insn);
}

static uint64_t units_left(const struct npu_checker *c, const struct tally *t, uint32_t sem)
{
	uint64_t put = c->program->sems[sem].initial + t->posted;
	return put > t->taken ? put - t->taken : 0;
}

static void read_waits(struct npu_checker *c, uint32_t insn, struct tally *tallies)
{
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
		const struct npu_sem_ref *ref = &c->program->insns[insn].wait[slot];
		struct tally *t = &tallies[ref->sem];
		if (!ref->count)
			continue;
		uint32_t poster = c->order.poster[insn][slot];
		if (poster != NPU_ORDER_NOBODY && poster >= insn)
			tell_wait(c, insn, ref, units_left(c, t, ref->sem), poster);
		if (!t->taken)
			t->first_wait = insn;
		t->taken += ref->count;
	}
}

static void read_posts(struct npu_checker *c, uint32_t insn, struct tally *tallies)
{
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
		const struct npu_sem_ref *ref = &c->program->insns[insn].post[slot];
		struct tally *t = &tallies[ref->sem];
		if (!ref->count)
			continue;
		if (!t->posts)
			t->first_post = insn;
		t->posts++;
		t->posted += ref->count;
	}
}

/* ---- deadlock ---- */

/* "#8 load (line 17)", and what its waits need. */
static void print_stuck(const struct npu_checker *c, uint32_t insn, FILE *out)
{
	const struct npu_insn *i = &c->program->insns[insn];
	bool first = true;
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
		uint32_t poster = c->order.poster[insn][slot];
		if (!i->wait[slot].count || poster == NPU_ORDER_NOBODY)
			continue;
		fprintf(out, "%s %s:%u (%s)", first ? " waits for" : ",", sem_of(c, &i->wait[slot])->name,
			i->wait[slot].count,
			poster == NPU_ORDER_NEVER ? "no post completes it" : npu_check_insn_name(c, poster).text);
		first = false;
	}
}

static void print_place_of(const struct npu_checker *c, uint32_t insn, FILE *out)
{
	fprintf(out, "%s (%s)", npu_check_insn_name(c, insn).text, npu_check_line_name(c, insn, insn).text);
}

/* The instructions that no queue gets to are those from its stuck head on. */
static uint64_t count_behind(const struct npu_order *o)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < o->nstuck; i++) {
		unsigned e = npu_op_engine(o->program->insns[o->stuck[i]].op);
		n += o->length[e] - o->position[o->stuck[i]] - 1;
	}
	return n;
}

static bool is_behind(const struct npu_order *o, uint32_t insn)
{
	for (uint32_t i = 0; i < o->nstuck; i++)
		if (npu_op_engine(o->program->insns[o->stuck[i]].op) == npu_op_engine(o->program->insns[insn].op))
			return o->position[insn] > o->position[o->stuck[i]];
	return false;
}

static void print_behind(const struct npu_checker *c, FILE *out)
{
	uint64_t all = count_behind(&c->order), most = c->options.waiting ? c->options.waiting : NPU_CHECK_WAITING,
		 named = 0;
	for (uint32_t i = 0; i < c->program->ninsns && named < most && named < all; i++)
		if (is_behind(&c->order, i)) {
			fputs("behind in its queue: ", out);
			print_place_of(c, i, out);
			print_stuck(c, i, out);
			fputc('\n', out);
			named++;
		}
	if (all > named)
		fprintf(out, "behind in their queues: %s more (--all names them)\n",
			npu_number_of(all - named, "instruction").text);
}

static const char *deadlock_notes(struct npu_checker *c)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out) {
		c->out_of_memory = true;
		return "";
	}
	for (uint32_t i = 0; i < c->order.nstuck; i++) {
		print_place_of(c, c->order.stuck[i], out);
		print_stuck(c, c->order.stuck[i], out);
		fputc('\n', out);
	}
	print_behind(c, out);
	const char *notes = fclose(out) == 0 && size ? npu_arena_text(c->arena, text, size - 1) : NULL;
	free(text);
	c->out_of_memory = c->out_of_memory || !notes;
	return notes ? notes : "";
}

static void tell_deadlock(struct npu_checker *c)
{
	bool is_new;
	uint32_t first = c->order.stuck[0];
	for (uint32_t i = 1; i < c->order.nstuck; i++)
		first = c->order.stuck[i] < first ? c->order.stuck[i] : first;
	struct npu_finding like = about(first, "waits", NPU_CHECK_NOBODY);
	struct npu_finding *f =
	    npu_checker_add(c, &(struct npu_finding_key){ .kind = NPU_CHECK_DEADLOCK }, &like, &is_new);
	if (!f)
		return;
	f->text = npu_checker_text(c, "deadlock: %" PRIu32 " queue%s for ever, whatever the timing", c->order.nstuck,
				   c->order.nstuck == 1 ? " waits" : "s wait");
	f->notes = deadlock_notes(c);
}

/* ---- overflow ---- */

/* Instructions that wait for or post each semaphore, in program order: those of semaphore s at first[s] to first[s +
 * 1]. */
struct uses {
	uint64_t *first;
	uint32_t *insns;
};

static uint64_t units(const struct npu_sem_ref refs[NPU_SYNC_SLOTS], uint32_t sem)
{
	uint64_t sum = 0;
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
		if (refs[slot].count && refs[slot].sem == sem)
			sum += refs[slot].count;
	return sum;
}

static void count_or_place_uses(const struct npu_program *program, uint64_t *at, uint32_t *insns)
{
	for (uint32_t i = 0; i < program->ninsns; i++)
		for (unsigned slot = 0; slot < 2 * NPU_SYNC_SLOTS; slot++) {
			const struct npu_insn *insn = &program->insns[i];
			bool post = slot >= NPU_SYNC_SLOTS;
			const struct npu_sem_ref *ref = post ? &insn->post[slot - NPU_SYNC_SLOTS] : &insn->wait[slot];
			if (!ref->count || (post && units(insn->wait, ref->sem)))
				continue;
			if (insns)
				insns[at[ref->sem]] = i;
			at[ref->sem]++;
		}
}

static bool uses_init(struct uses *u, const struct npu_program *program)
{
	uint32_t n = program->nsems;
	u->first = calloc(n + (uint64_t)2, sizeof *u->first);
	u->insns = calloc(2 * NPU_SYNC_SLOTS * (uint64_t)program->ninsns + 1, sizeof *u->insns);
	if (!u->first || !u->insns)
		return false;
	/* Counts shifted by two places become beginnings, and filling them moves each one to where the next one begins.
	 */
	count_or_place_uses(program, u->first + 2, NULL);
	for (uint32_t s = 1; s <= n; s++)
		u->first[s + 1] += u->first[s];
	count_or_place_uses(program, u->first + 1, u->insns);
	return true;
}

/* Whether an instruction must have started before another ends: one of its own queue when it comes no later, one of
 * another queue when it must have ended. */
static bool starts_before_end(const struct npu_order *o, uint32_t insn, uint32_t other)
{
	enum npu_engine e = npu_op_engine(o->program->insns[insn].op);
	if (e == npu_op_engine(o->program->insns[other].op))
		return o->position[insn] <= o->position[other];
	return o->end[other].ended[e] > o->position[insn];
}

/* The count is highest when only those waits have taken that must have when the post is made. */
static void check_overflow(struct npu_checker *c, uint32_t sem, const uint32_t *uses, uint64_t n)
{
	const struct npu_sem *s = &c->program->sems[sem];
	const struct npu_insn *insns = c->program->insns;
	uint64_t count = s->initial, at = 0;
	for (uint64_t i = 0; i < n; i++) {
		if (!units(insns[uses[i]].post, sem))
			continue;
		count += units(insns[uses[i]].post, sem);
		for (; at < n; at++) {
			uint64_t taken = units(insns[uses[at]].wait, sem);
			if (taken && !starts_before_end(&c->order, uses[at], uses[i]))
				break;
			count = count > taken ? count - taken : 0;
		}
		if (count <= s->max)
			continue;
		bool is_new;
		struct npu_finding like = about(uses[i], "posts", sem);
		struct npu_finding *f =
		    npu_checker_add(c, &(struct npu_finding_key){ NPU_CHECK_OVERFLOW, { sem } }, &like, &is_new);
		if (f && is_new)
			f->text = npu_checker_text(c, "%s can reach %" PRIu64 " here, its maximum is %" PRIu32, s->name,
						   count, s->max);
		return;
	}
}

/* Only those that could: most programs leave the maximum far away. */
static void check_overflows(struct npu_checker *c, const struct tally *tallies)
{
	struct uses uses = { 0 };
	c->out_of_memory |= !uses_init(&uses, c->program);
	for (uint32_t s = 0; s < c->program->nsems && !c->out_of_memory; s++)
		if (c->program->sems[s].initial + tallies[s].posted > c->program->sems[s].max)
			check_overflow(c, s, uses.insns + uses.first[s], uses.first[s + 1] - uses.first[s]);
	free(uses.first);
	free(uses.insns);
}

/* ---- never waited for ---- */

static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return hash;
}

enum { NAMES_SHOWN = 4 };

/* Members of one array that are posted equally often stand together; their names gather in the text. */
static void gather_unwaited(struct npu_checker *c, const struct tally *t, uint32_t sem)
{
	const char *name = c->program->sems[sem].name;
	bool is_new;
	struct npu_finding like = about(t->first_post, "posts", sem);
	struct npu_finding_key key = { NPU_CHECK_NEVER_WAITED,
				       { hash_of(name, strcspn(name, "[")), t->posts, name[strcspn(name, "[")] } };
	struct npu_finding *f = npu_checker_add(c, &key, &like, &is_new);
	if (f && is_new)
		f->text = name;
	else if (f && f->count <= NAMES_SHOWN)
		f->text = npu_checker_text(c, "%s, %s", f->text, name);
}

static void finish_unwaited(struct npu_checker *c, const struct tally *tallies)
{
	for (uint32_t i = 0; i < c->nfindings; i++) {
		struct npu_finding *f = &c->findings[i];
		if (f->kind != NPU_CHECK_NEVER_WAITED)
			continue;
		uint64_t posts = tallies[f->sem].posts;
		const char *more =
		    f->count > NAMES_SHOWN
			? npu_checker_text(c, " and %s more", npu_count_text(f->count - NAMES_SHOWN).text)
			: "";
		f->text =
		    npu_checker_text(c, "%s%s: posted %s time%s%s, never waited for", f->text, more,
				     npu_count_text(posts).text, posts == 1 ? "" : "s", f->count > 1 ? " each" : "");
	}
}

static void check_unwaited(struct npu_checker *c, const struct tally *tallies)
{
	for (uint32_t s = 0; s < c->program->nsems && !c->out_of_memory; s++)
		if (c->program->sems[s].waiter == NPU_ENGINES && tallies[s].posts)
			gather_unwaited(c, &tallies[s], s);
	finish_unwaited(c, tallies);
}

void npu_check_semaphores(struct npu_checker *c)
{
	struct tally *tallies = calloc(c->program->nsems + (uint64_t)1, sizeof *tallies);
	c->out_of_memory = !tallies;
	if (!tallies)
		return;
	for (uint32_t i = 0; i < c->program->ninsns && !c->out_of_memory; i++) {
		read_waits(c, i, tallies);
		read_posts(c, i, tallies);
	}
	if (c->order.nstuck)
		tell_deadlock(c);
	check_overflows(c, tallies);
	check_unwaited(c, tallies);
	free(tallies);
}

/* Without an order: whether a wait that nobody posts for exceeds the initial count can be told by adding. */
void npu_check_sides(struct npu_checker *c)
{
	struct tally *tallies = calloc(c->program->nsems + (uint64_t)1, sizeof *tallies);
	c->out_of_memory = !tallies;
	for (uint32_t i = 0; i < c->program->ninsns && !c->out_of_memory; i++) {
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
			const struct npu_sem_ref *ref = &c->program->insns[i].wait[slot];
			tallies[ref->sem].taken += ref->count;
			if (ref->count && sem_of(c, ref)->poster == NPU_ENGINES &&
			    tallies[ref->sem].taken > sem_of(c, ref)->initial)
				tell_wait(c, i, ref, 0, NPU_ORDER_NEVER);
		}
		read_posts(c, i, tallies);
	}
	if (!c->out_of_memory)
		check_unwaited(c, tallies);
	free(tallies);
}
