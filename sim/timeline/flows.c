/* SPDX-License-Identifier: Apache-2.0 */
/* A counting sort of all waits by the instruction whose post they took. */
#include "sim/timeline/flows.h"

#include <stdlib.h>
#include <string.h>

/* The instruction whose post a wait took, when that is shown; else PROBE_NOBODY. */
static uint32_t poster_of(const struct record *r, const uint8_t *shown, uint32_t i, unsigned w)
{
	uint32_t poster = r->events[i].enabled_by[w];
	return poster < r->program->ninsns && flow_shown(shown, poster, i) ? poster : PROBE_NOBODY;
}

bool flows_init(struct flows *f, const struct record *r, const uint8_t *shown)
{
	uint32_t n = r->program->ninsns;
	f->first = calloc(n + 2ull, sizeof(*f->first));
	f->items = NULL;
	if (!f->first)
		return false;
	for (uint32_t i = 0; i < n; i++)
		for (unsigned w = 0; w < NPU_SYNC_SLOTS; w++)
			if (poster_of(r, shown, i, w) < n)
				f->first[r->events[i].enabled_by[w] + 2]++;
	for (uint32_t i = 2; i <= n + 1; i++)
		f->first[i] += f->first[i - 1];
	f->items = malloc((f->first[n + 1] + 1) * sizeof(*f->items));
	if (!f->items)
		return false;
	/* first[p + 1] walks from the beginning of p's flows to their end, where it stays. */
	for (uint32_t i = 0; i < n; i++)
		for (unsigned w = 0; w < NPU_SYNC_SLOTS; w++)
			if (poster_of(r, shown, i, w) < n)
				f->items[f->first[r->events[i].enabled_by[w] + 1]++] = flow_of(i, w);
	return true;
}

void flows_fini(struct flows *f)
{
	free(f->first);
	free(f->items);
	memset(f, 0, sizeof(*f));
}
