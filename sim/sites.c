/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions by line, through a table that is open to the next free place. */
#include "sim/sites.h"

#include <stdlib.h>
#include <string.h>

enum { NOBODY = 0xffffffff };

static bool same_line(const struct npu_program *p, uint32_t a, uint32_t b)
{
	return p->place[a].line == p->place[b].line && p->place[a].file == p->place[b].file;
}

/* The place in the table of the instruction's line: empty, or holding the line's site. */
static uint64_t place_of(const struct sites *s, const struct npu_program *p, const uint32_t *table, uint64_t size, uint32_t insn)
{
	uint64_t key = (uint64_t)p->place[insn].file << 32 | p->place[insn].line;
	uint64_t at = (key * 0x9e3779b97f4a7c15ull) >> 24 & (size - 1);
	while (table[at] != NOBODY && !same_line(p, s->items[table[at]].first, insn))
		at = (at + 1) & (size - 1);
	return at;
}

bool sites_init(struct sites *s, const struct npu_program *p)
{
	uint64_t size = 64;
	while (size < 2ull * p->ninsns)
		size *= 2;
	uint32_t *table = malloc(size * sizeof(*table));
	s->n = 0;
	s->of = malloc((p->ninsns + 1ull) * sizeof(*s->of));
	s->items = malloc((p->ninsns + 1ull) * sizeof(*s->items));
	bool ok = table && s->of && s->items;
	if (ok)
		memset(table, 0xff, size * sizeof(*table));
	for (uint32_t i = 0; ok && i < p->ninsns; i++) {
		uint64_t at = p->place[i].line > 0 ? place_of(s, p, table, size, i) : 0;
		uint32_t site = p->place[i].line > 0 ? table[at] : NOBODY;
		if (site == NOBODY) {
			site = s->n++;
			s->items[site] = (struct site){ i, 0 };
			if (p->place[i].line > 0)
				table[at] = site;
		}
		s->of[i] = site;
		s->items[site].count++;
	}
	free(table);
	return ok;
}

void sites_fini(struct sites *s)
{
	free(s->of);
	free(s->items);
	memset(s, 0, sizeof(*s));
}
