/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes as they come, then the instructions that they show. */
#include "sim/timeline/page_data.h"

#include "isa/field.h"
#include "isa/plain.h"
#include "sim/record_grow.h"

#include <string.h>

static bool on_lane(void *ctx, const struct timeline_lane *lane)
{
	struct page_data *d = ctx;
	void *items = d->lanes;
	if (!record_grow(&items, &d->lane_room, d->nlanes + 1, sizeof(*d->lanes)))
		return false;
	d->lanes = items;
	struct page_lane *l = &d->lanes[d->nlanes++];
	*l = (struct page_lane){ .kind = lane->kind, .engine = lane->engine };
	return page_string(&d->strings, lane->name, &l->name) &&
	       page_string(&d->strings, lane->unit ? lane->unit : "", &l->unit);
}

/* States change with every beat of a DMA: most take a byte or two. */
static void put_state(struct page_lane *l, const struct timeline_slice *slice, uint32_t insn)
{
	enum { ROOM = 16 };
	_Static_assert((int)NPU_STATES <= ROOM && (int)NPU_SEQ_STATES <= ROOM, "a state has four bits");
	page_put(&l->bytes, ((slice->to - slice->from) * ROOM + slice->state) * 2 + (insn != l->insn));
	if (insn != l->insn)
		page_put_change(&l->bytes, l->insn, insn);
}

static bool took_slice(struct page_data *d, struct page_lane *l, const struct timeline_slice *slice, uint32_t insn)
{
	l->end = slice->to;
	l->insn = insn;
	l->count++;
	if (insn > 0)
		d->shown[slice->insn] = 1;
	return !l->bytes.failed;
}

static bool on_slice(void *ctx, const struct timeline_slice *slice)
{
	struct page_data *d = ctx;
	struct page_lane *l = &d->lanes[slice->lane];
	uint32_t insn = slice->insn + 1, name; /* 0: nobody's */
	if (l->kind == TIMELINE_STATES) {
		put_state(l, slice, insn);
		return took_slice(d, l, slice, insn);
	}
	page_put(&l->bytes, slice->from - l->end);
	page_put(&l->bytes, slice->to - slice->from);
	page_put_change(&l->bytes, l->insn, insn);
	switch (l->kind) {
	case TIMELINE_REGIONS:
	case TIMELINE_CRITICAL:
		if (!page_string(&d->strings, slice->name, &name))
			return false;
		page_put(&l->bytes, name);
		break;
	case TIMELINE_STATES:
	case TIMELINE_WORK:
	case TIMELINE_DRAIN:
	case TIMELINE_INSTANTS:
	case TIMELINE_COUNTER:
		break;
	}
	return took_slice(d, l, slice, insn);
}

/* Whole numbers below 2^52 by their change, less 1; after a 0 the eight bytes of any other. */
static bool on_counter(void *ctx, uint32_t lane, uint64_t time, double value)
{
	struct page_data *d = ctx;
	struct page_lane *l = &d->lanes[lane];
	page_put(&l->bytes, time - l->end);
	bool whole = value >= 0 && value < 4503599627370496.0 && value == (double)(uint64_t)value;
	if (whole) {
		uint64_t from = (uint64_t)l->value, to = (uint64_t)value;
		page_put(&l->bytes, to >= from ? 2 * (to - from) + 1 : 2 * (from - to));
		l->value = value;
	} else {
		page_put(&l->bytes, 0);
		page_put_real(&l->bytes, value);
	}
	l->end = time;
	l->count++;
	return !l->bytes.failed;
}

/* Writes the numbers of a text and a shape, a line each, and gives their template. */
static bool put_text(struct page_data *d, const char *text, const char *shape, uint32_t *template)
{
	char shown[2 * FACTS_TEXT * NPU_PLAIN_CHAR], made[2 * FACTS_TEXT * NPU_PLAIN_CHAR];
	uint64_t numbers[PAGE_NUMBERS], block = d->ninsns / PAGE_BLOCK + 1;
	uint64_t length = npu_plain(text, strlen(text), shown, sizeof(shown) - 1);
	shown[length++] = '\n';
	npu_plain(shape, strlen(shape), shown + length, sizeof(shown) - length);
	unsigned n = page_template(shown, made, numbers);
	if (!page_string(&d->templates, made, template))
		return false;
	void *items = d->last;
	uint64_t room = d->last_room;
	if (!record_grow(&items, &d->last_room, *template + 1ull, sizeof(*d->last)))
		return false;
	d->last = items;
	memset(d->last + room, 0, (d->last_room - room) * sizeof(*d->last));
	struct page_last *last = &d->last[*template];
	if (!last->numbers && !(last->numbers = calloc(n + 1ull, sizeof(*last->numbers))))
		return false;
	if (last->block != block)
		memset(last->numbers, 0, n * sizeof(*last->numbers));
	last->block = block;
	for (unsigned i = 0; i < n; i++) {
		page_put_change(&d->numbers, last->numbers[i], numbers[i]);
		last->numbers[i] = numbers[i];
	}
	return true;
}

static bool put_insn(struct page_data *d, uint32_t insn, uint32_t *before)
{
	struct insn_facts f = facts_of(&d->facts, insn);
	const struct npu_program *p = d->s->request.program;
	const struct probe_insn *e = f.event;
	char shape[FACTS_TEXT];
	uint32_t source, template;
	facts_shape(&p->insns[insn], shape, sizeof(shape));
	if (!page_string(&d->strings, f.source, &source) || !put_text(d, f.text, shape, &template))
		return false;
	uint64_t issued = d->ninsns > 0 ? d->s->record.events[*before].issued : 0;
	const uint64_t record[] = {
		d->ninsns > 0 ? insn - *before - 1 : insn,
		(uint64_t)(npu_op_info(p->insns[insn].op) - npu_ops),
		e->slot,
		source,
		p->region[insn] == NPU_NO_REGION ? 0 : p->region[insn] + 1ull,
		f.bytes,
		f.macs,
	};
	for (unsigned i = 0; i < sizeof(record) / sizeof(record[0]); i++)
		page_put(&d->fixed, record[i]);
	page_put_change(&d->fixed, issued, e->issued);
	page_put(&d->fixed, e->head - e->issued);
	page_put(&d->fixed, e->start - e->head);
	page_put(&d->fixed, e->end - e->start);
	/* A post is ahead of its wait in the program: its distance is never 0. */
	for (unsigned w = 0; w < NPU_SYNC_SLOTS; w++)
		page_put(&d->fixed, e->enabled_by[w] < insn ? insn - e->enabled_by[w] : 0);
	page_put(&d->fixed, template);
	*before = insn;
	d->ninsns++;
	return !d->fixed.failed && !d->numbers.failed;
}

static bool gather(struct page_data *d)
{
	const struct npu_program *p = d->s->request.program;
	const struct timeline_writer writer = {
		.ctx = d, .deciders = true, .lane = on_lane, .slice = on_slice, .counter = on_counter,
	};
	uint32_t before = 0;
	if (!timeline_walk(d->s, &writer))
		return false;
	for (uint32_t i = 0; i < p->ninsns; i++)
		if (d->shown[i] && !put_insn(d, i, &before))
			return false;
	for (uint32_t i = 0; i < p->nregions; i++) {
		uint32_t number;
		if (!page_string(&d->strings, p->regions[i].name, &number))
			return false;
	}
	return true;
}

bool page_data_init(struct page_data *d, const struct simulation *s)
{
	memset(d, 0, sizeof(*d));
	d->s = s;
	d->shown = calloc(s->request.program->ninsns + 1ull, 1);
	return d->shown && page_strings_init(&d->strings) && page_strings_init(&d->templates) && facts_init(&d->facts, s) &&
	       timeline_dropped(s, &d->dropped) && gather(d);
}

void page_data_fini(struct page_data *d)
{
	for (uint64_t i = 0; i < d->nlanes; i++)
		page_bytes_fini(&d->lanes[i].bytes);
	for (uint64_t i = 0; i < d->last_room; i++)
		free(d->last[i].numbers);
	free(d->last);
	free(d->lanes);
	free(d->shown);
	page_strings_fini(&d->strings);
	page_strings_fini(&d->templates);
	page_bytes_fini(&d->fixed);
	page_bytes_fini(&d->numbers);
	facts_fini(&d->facts);
	memset(d, 0, sizeof(*d));
}
