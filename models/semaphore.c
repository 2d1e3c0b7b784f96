/* SPDX-License-Identifier: Apache-2.0 */
/* Counting semaphores as queues of posts. */
#include "models/semaphore.h"

#include "models/machine_ring.h"

struct post {
	uint64_t seen;
	uint32_t insn;
	uint32_t count;
};

struct semaphore {
	struct ring posts;    /* struct post, oldest first; its front may be partly taken */
	uint64_t used;        /* counts taken from the front post */
	uint64_t initial;     /* initial counts left */
	uint64_t held;        /* counts not taken: initial + posts - used */
	uint64_t wanted;      /* what the waiting engine asked for in vain, 0: nothing */
	uint64_t level;       /* counts seen and not taken, as far as `checked` posts go */
	uint64_t checked;     /* running number of the first post whose effect on the level is open */
};

struct semaphores {
	const struct npu_program *program;
	struct machine_wake wake;
	uint64_t latency;
	uint32_t failed_sem; /* the first semaphore over its maximum, or PROBE_NOBODY */
	uint32_t failed_insn;
	uint64_t news[NPU_ENGINES];
	struct semaphore *sem;
};

struct semaphores *semaphores_new(const struct npu_program *program, uint64_t latency, const struct machine_wake *wake)
{
	struct semaphores *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct semaphores){ .program = program, .wake = *wake, .latency = latency, .failed_sem = PROBE_NOBODY };
	s->sem = calloc(program->nsems ? program->nsems : 1, sizeof(*s->sem));
	if (!s->sem) {
		free(s);
		return NULL;
	}
	for (uint32_t i = 0; i < program->nsems; i++) {
		struct semaphore *sem = &s->sem[i];
		ring_init(&sem->posts, sizeof(struct post));
		sem->initial = sem->held = sem->level = program->sems[i].initial;
	}
	return s;
}

void semaphores_free(struct semaphores *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->program->nsems; i++)
		ring_fini(&s->sem[i].posts);
	free(s->sem);
	free(s);
}

void semaphore_post(struct semaphores *s, struct npu_sem_ref what, uint32_t insn, uint64_t end)
{
	struct semaphore *sem = &s->sem[what.sem];
	struct post *post = ring_push(&sem->posts);
	*post = (struct post){ .seen = end + s->latency, .insn = insn, .count = what.count };
	sem->held += what.count;
	if (sem->wanted && sem->held >= sem->wanted) {
		enum npu_engine waiter = s->program->sems[what.sem].waiter;
		sem->wanted = 0;
		s->news[waiter]++;
		machine_wake_up(&s->wake, waiter, post->seen);
	}
}

uint64_t semaphores_news(const struct semaphores *s, enum npu_engine waiter)
{
	return s->news[waiter];
}

uint64_t semaphore_seen(struct semaphores *s, uint32_t number, uint64_t count, uint32_t *by)
{
	struct semaphore *sem = &s->sem[number];
	*by = PROBE_NOBODY;
	if (sem->held < count) {
		sem->wanted = count;
		return NPU_NEVER;
	}
	if (count <= sem->initial)
		return 0;
	uint64_t left = count - sem->initial + sem->used;
	for (uint64_t i = 0;; i++) {
		const struct post *post = ring_at(&sem->posts, i);
		if (post->count >= left) {
			*by = post->insn;
			return post->seen;
		}
		left -= post->count;
	}
}

/* Adds the posts seen before cycle `until` to the level. They are looked at no earlier than that cycle, when all that could
 * be taken before them has been, in whatever order the blocks of one cycle are stepped. */
static void raise_level(struct semaphores *s, uint32_t number, uint64_t until)
{
	struct semaphore *sem = &s->sem[number];
	for (; sem->checked < sem->posts.end; sem->checked++) {
		const struct post *post = ring_at(&sem->posts, sem->checked - sem->posts.first);
		if (post->seen >= until)
			return;
		sem->level += post->count;
		/* Takes of that cycle were already subtracted; what was taken ahead wraps and comes back here. */
		if ((int64_t)sem->level > (int64_t)s->program->sems[number].max && s->failed_sem == PROBE_NOBODY) {
			s->failed_sem = number;
			s->failed_insn = post->insn;
		}
	}
}

void semaphore_take(struct semaphores *s, struct npu_sem_ref what, uint64_t now)
{
	struct semaphore *sem = &s->sem[what.sem];
	assert(sem->held >= what.count);
	raise_level(s, what.sem, now);
	sem->held -= what.count;
	sem->level -= what.count;
	uint64_t left = what.count;
	uint64_t first = left < sem->initial ? left : sem->initial;
	sem->initial -= first;
	left -= first;
	sem->used += left;
	while (ring_count(&sem->posts)) {
		const struct post *post = ring_at(&sem->posts, 0);
		/* A post that is not yet in the level stays until it is. */
		if (sem->used < post->count || sem->checked == sem->posts.first)
			break;
		sem->used -= post->count;
		ring_pop(&sem->posts);
	}
}

uint64_t semaphore_count(const struct semaphores *s, uint32_t sem)
{
	return s->sem[sem].held;
}

bool semaphores_check(struct semaphores *s, struct npu_error *err)
{
	if (s->failed_sem == PROBE_NOBODY)
		return true;
	const struct npu_program *p = s->program;
	const struct npu_place *place = p->place ? &p->place[s->failed_insn] : NULL;
	return npu_fail_at(err, NPU_ERR_SEMAPHORE, place && place->file < p->nfiles ? p->files[place->file] : NULL,
			   place ? place->line : 0, 0, "semaphore %s goes over its maximum of %u when #%u posts it",
			   p->sems[s->failed_sem].name, p->sems[s->failed_sem].max, s->failed_insn);
}

bool semaphores_close(struct semaphores *s, struct npu_error *err)
{
	for (uint32_t i = 0; i < s->program->nsems; i++)
		raise_level(s, i, NPU_NEVER);
	return semaphores_check(s, err);
}
