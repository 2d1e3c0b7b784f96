/* SPDX-License-Identifier: Apache-2.0 */
/* A bit a point of small spaces, a table of those that are in it of large ones. */
#include "sim/sweep/set.h"

#include <stdlib.h>

enum { BITMAP_MOST = 1 << 29 };

struct sweep_set {
	uint8_t *bits;   /* of small spaces */
	uint64_t *slots; /* point + 1, 0: free */
	uint64_t room, used;
};

struct sweep_set *sweep_set_new(uint64_t points)
{
	struct sweep_set *s = calloc(1, sizeof *s);
	if (s && points <= BITMAP_MOST)
		s->bits = calloc(points / 8 + 1, 1);
	else if (s)
		s->slots = calloc(s->room = 1024, sizeof *s->slots);
	if (s && (s->bits || s->slots))
		return s;
	free(s);
	return NULL;
}

void sweep_set_free(struct sweep_set *s)
{
	if (s) {
		free(s->bits);
		free(s->slots);
	}
	free(s);
}

static uint64_t slot_of(const struct sweep_set *s, uint64_t point)
{
	uint64_t at = point * 0x9e3779b97f4a7c15u >> 20;
	while (s->slots[at & (s->room - 1)] && s->slots[at & (s->room - 1)] != point + 1)
		at++;
	return at & (s->room - 1);
}

bool sweep_set_has(const struct sweep_set *s, uint64_t point)
{
	return s->bits ? s->bits[point / 8] >> point % 8 & 1 : s->slots[slot_of(s, point)] != 0;
}

static bool grow(struct sweep_set *s)
{
	struct sweep_set more = { .room = 2 * s->room };
	more.slots = calloc(more.room, sizeof *more.slots);
	if (!more.slots)
		return false;
	for (uint64_t i = 0; i < s->room; i++)
		if (s->slots[i])
			more.slots[slot_of(&more, s->slots[i] - 1)] = s->slots[i];
	free(s->slots);
	s->slots = more.slots;
	s->room = more.room;
	return true;
}

bool sweep_set_add(struct sweep_set *s, uint64_t point)
{
	if (s->bits) {
		s->bits[point / 8] |= (uint8_t)(1 << point % 8);
		return true;
	}
	if (2 * s->used >= s->room && !grow(s))
		return false;
	uint64_t at = slot_of(s, point);
	s->used += !s->slots[at];
	s->slots[at] = point + 1;
	return true;
}
