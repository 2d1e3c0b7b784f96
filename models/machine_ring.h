/* SPDX-License-Identifier: Apache-2.0 */
/* A first-in first-out ring that grows, of elements of one size. Out of memory ends the process: a simulation in its
 * middle has nothing better to do. */
#ifndef NPU_MODELS_MACHINE_RING_H
#define NPU_MODELS_MACHINE_RING_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ring {
	unsigned char *data;
	uint32_t element; /* bytes */
	uint32_t mask;    /* capacity - 1, a power of two; valid while data is set */
	uint64_t first;   /* running number of the oldest element */
	uint64_t end;     /* running number of the next one */
};

static inline void ring_init(struct ring *r, uint32_t element)
{
	*r = (struct ring){ .element = element };
}

static inline void ring_fini(struct ring *r)
{
	free(r->data);
	r->data = NULL;
}

static inline uint64_t ring_count(const struct ring *r)
{
	return r->end - r->first;
}

/* Element `i` from the oldest, 0 <= i < ring_count; valid until the next push. */
static inline void *ring_at(const struct ring *r, uint64_t i)
{
	return r->data + ((r->first + i) & r->mask) * r->element;
}

void ring_grow(struct ring *r);

/* Room for one more at the young end, to be filled by the caller. */
static inline void *ring_push(struct ring *r)
{
	if (!r->data || r->end - r->first > r->mask)
		ring_grow(r);
	return r->data + (r->end++ & r->mask) * r->element;
}

static inline void ring_pop(struct ring *r)
{
	assert(r->first != r->end);
	r->first++;
}

#endif
