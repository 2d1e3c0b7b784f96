/* SPDX-License-Identifier: Apache-2.0 */
/* A counting sort of all spans by instruction. */
#include "sim/insn_states.h"

#include <stdlib.h>
#include <string.h>

static bool counts(const struct record *r, const struct record_span *s)
{
	return s->insn < r->program->ninsns;
}

static void fill(struct insn_states *st, const struct record *r, const struct record_spans *spans)
{
	uint64_t from = 0;
	for (uint64_t i = 0; i < spans->count; i++) {
		const struct record_span *s = &spans->items[i];
		if (counts(r, s))
			st->items[st->first[s->insn + 1]++] = (struct insn_state){ s->to - from, s->state };
		from = s->to;
	}
}

bool insn_states_init(struct insn_states *st, const struct record *r)
{
	uint32_t n = r->program->ninsns;
	st->first = calloc(n + 2ull, sizeof(*st->first));
	st->items = NULL;
	if (!st->first)
		return false;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (uint64_t i = 0; i < r->spans[e].count; i++)
			if (counts(r, &r->spans[e].items[i]))
				st->first[r->spans[e].items[i].insn + 2]++;
	for (uint32_t i = 2; i <= n + 1; i++)
		st->first[i] += st->first[i - 1];
	st->items = malloc((st->first[n + 1] + 1) * sizeof(*st->items));
	if (!st->items)
		return false;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		fill(st, r, &r->spans[e]);
	return true;
}

void insn_states_fini(struct insn_states *st)
{
	free(st->first);
	free(st->items);
	memset(st, 0, sizeof(*st));
}

void insn_states_of(const struct insn_states *st, uint32_t insn, uint64_t cycles[NPU_STATES])
{
	memset(cycles, 0, NPU_STATES * sizeof(*cycles));
	for (uint64_t i = st->first[insn]; i < st->first[insn + 1]; i++)
		cycles[st->items[i].state] += st->items[i].cycles;
}
