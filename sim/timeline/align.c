/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs by path and turn; the longest chain of pairs whose beginnings rise in both runs. */
#include "sim/timeline/align.h"

#include "sim/record_grow.h"
#include "sim/timeline/region_lanes.h"

#include <jansson.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/* ---- regions of one path ---- */

/* Numbers for paths, the same in both programs. */
struct paths {
	json_t *number_of; /* "number of the parent's path/name" */
	json_int_t count;
};

/* The number of each region's path, into [nregions]. Parents come before their children. */
static bool number_paths(struct paths *paths, const struct npu_program *p, uint32_t *numbers)
{
	for (uint32_t i = 0; i < p->nregions; i++) {
		uint32_t parent = p->regions[i].parent;
		size_t size = strlen(p->regions[i].name) + 32;
		char *key = malloc(size);
		if (!key)
			return false;
		snprintf(key, size, "%lld/%s", parent < i ? (long long)numbers[parent] : -1ll, p->regions[i].name);
		json_t *number = json_object_get(paths->number_of, key);
		bool ok = true;
		if (!number)
			ok = json_object_set_new_nocheck(paths->number_of, key, json_integer(paths->count)) == 0;
		numbers[i] = (uint32_t)(number ? json_integer_value(number) : paths->count);
		paths->count += !number;
		free(key);
		if (!ok)
			return false;
	}
	return true;
}

/* The region of the second program for each of the first: of one path, and as many of that path before it. */
static bool match(const struct npu_program *const p[ALIGN_RUNS], uint32_t *other)
{
	struct paths paths = { .number_of = json_object() };
	uint32_t *numbers[ALIGN_RUNS], *first = NULL, *next = calloc(p[1]->nregions + 1ull, sizeof(*next));
	bool ok = paths.number_of && next;
	for (unsigned r = 0; r < ALIGN_RUNS; r++) {
		numbers[r] = calloc(p[r]->nregions + 1ull, sizeof(*numbers[r]));
		ok = ok && numbers[r] && number_paths(&paths, p[r], numbers[r]);
	}
	ok = ok && (first = malloc(((size_t)paths.count + 1) * sizeof(*first)));
	if (ok) {
		memset(first, 0xff, ((size_t)paths.count + 1) * sizeof(*first));
		for (uint32_t i = p[1]->nregions; i-- > 0;) {
			next[i] = first[numbers[1][i]];
			first[numbers[1][i]] = i;
		}
		for (uint32_t i = 0; i < p[0]->nregions; i++) {
			other[i] = first[numbers[0][i]];
			if (other[i] != NONE)
				first[numbers[0][i]] = next[other[i]];
		}
	}
	for (unsigned r = 0; r < ALIGN_RUNS; r++)
		free(numbers[r]);
	free(first);
	free(next);
	json_decref(paths.number_of);
	return ok;
}

/* ---- pairs ---- */

/* The slice of each region, by its number; NULL where it takes no time. */
static const struct region_slice **slices_by_region(const struct region_lanes *l, uint32_t nregions)
{
	const struct region_slice **slices = calloc(nregions + 1ull, sizeof(*slices));
	for (uint32_t i = 0; slices && i < l->nslices; i++)
		slices[l->slices[i].region] = &l->slices[i];
	return slices;
}

/* Where the first run begins several at once the latest of the second comes first, so that a chain takes one of them. */
static int by_beginning(const void *p, const void *q)
{
	const struct align_pair *a = p, *b = q;
	if (a->from[0] != b->from[0])
		return a->from[0] < b->from[0] ? -1 : 1;
	if (a->from[1] != b->from[1])
		return a->from[1] > b->from[1] ? -1 : 1;
	return (a->region[0] > b->region[0]) - (a->region[0] < b->region[0]);
}

static void add_pair(struct align *a, const struct region_slice *const slices[ALIGN_RUNS])
{
	struct align_pair *pair = &a->pairs[a->npairs++];
	for (unsigned r = 0; r < ALIGN_RUNS; r++) {
		pair->region[r] = slices[r]->region;
		pair->lane[r] = slices[r]->lane; /* lanes of regions are the first ones of a walk */
		pair->from[r] = slices[r]->from;
		pair->to[r] = slices[r]->to;
	}
}

static bool find_pairs(struct align *a, const struct simulation *const runs[ALIGN_RUNS])
{
	const struct npu_program *p[ALIGN_RUNS] = { runs[0]->request.program, runs[1]->request.program };
	struct region_lanes lanes[ALIGN_RUNS] = { 0 };
	const struct region_slice **slices[ALIGN_RUNS] = { 0 };
	uint32_t *other = malloc((p[0]->nregions + 1ull) * sizeof(*other));
	a->pairs = calloc(p[0]->nregions + 1ull, sizeof(*a->pairs));
	bool ok = other && a->pairs && match(p, other);
	for (unsigned r = 0; r < ALIGN_RUNS && ok; r++)
		ok = region_lanes_init(&lanes[r], &runs[r]->record) &&
		     (slices[r] = slices_by_region(&lanes[r], p[r]->nregions)) != NULL;
	for (uint32_t i = 0; ok && i < p[0]->nregions; i++)
		if (other[i] != NONE && slices[0][i] && slices[1][other[i]])
			add_pair(a, (const struct region_slice *const[]){ slices[0][i], slices[1][other[i]] });
	qsort(a->pairs, a->npairs, sizeof(*a->pairs), by_beginning);
	for (unsigned r = 0; r < ALIGN_RUNS; r++) {
		free(slices[r]);
		region_lanes_fini(&lanes[r]);
	}
	free(other);
	return ok;
}

/* ---- the chain ---- */

/* The longest chain of pairs whose beginnings strictly rise in both runs, as marks behind the one at 0. `last[n]` is the pair
 * that ends the chain of n + 1 that begins earliest in the second run. */
static bool find_chain(struct align *a)
{
	uint32_t *last = malloc((a->npairs + 1) * sizeof(*last)), *before = malloc((a->npairs + 1) * sizeof(*before));
	uint64_t length = 0;
	a->marks = calloc(a->npairs + 1, sizeof(*a->marks));
	bool ok = last && before && a->marks;
	for (uint64_t i = 0; ok && i < a->npairs; i++) {
		uint64_t low = 0, high = length;
		if (a->pairs[i].from[0] == 0 || a->pairs[i].from[1] == 0)
			continue;
		while (low < high) {
			uint64_t middle = (low + high) / 2;
			if (a->pairs[last[middle]].from[1] < a->pairs[i].from[1])
				low = middle + 1;
			else
				high = middle;
		}
		before[i] = low > 0 ? last[low - 1] : NONE;
		last[low] = (uint32_t)i;
		length += low == length;
	}
	uint32_t pair = ok && length > 0 ? last[length - 1] : NONE;
	for (uint64_t m = length; ok && m > 0; m--, pair = before[pair])
		memcpy(a->marks[m].at, a->pairs[pair].from, sizeof(a->marks[m].at));
	a->nmarks = length + 1;
	free(last);
	free(before);
	return ok;
}

/* The later of the two says where a mark is shown. */
static void place_marks(struct align *a)
{
	for (uint64_t m = 1; m < a->nmarks; m++) {
		struct align_mark *mark = &a->marks[m];
		uint64_t steps[ALIGN_RUNS] = { mark->at[0] - mark[-1].at[0], mark->at[1] - mark[-1].at[1] };
		mark->shown = mark[-1].shown + (steps[0] > steps[1] ? steps[0] : steps[1]);
	}
	for (uint64_t i = 0; i < a->npairs; i++) {
		struct align_pair *pair = &a->pairs[i];
		const struct align_mark *mark = &a->marks[align_mark_of(a, 0, pair->from[0])];
		pair->together = memcmp(mark->at, pair->from, sizeof(mark->at)) == 0;
	}
}

static bool index_pairs(struct align *a, const struct simulation *const runs[ALIGN_RUNS])
{
	for (unsigned r = 0; r < ALIGN_RUNS; r++) {
		size_t nbytes = (runs[r]->request.program->nregions + 1ull) * sizeof(**a->pair_of);
		if (!(a->pair_of[r] = malloc(nbytes)))
			return false;
		memset(a->pair_of[r], 0xff, nbytes);
		for (uint64_t i = 0; i < a->npairs; i++)
			a->pair_of[r][a->pairs[i].region[r]] = (uint32_t)i;
	}
	return true;
}

bool align_init(struct align *a, const struct simulation *const runs[ALIGN_RUNS])
{
	memset(a, 0, sizeof(*a));
	if (!find_pairs(a, runs) || !find_chain(a) || !index_pairs(a, runs)) {
		align_fini(a);
		return false;
	}
	place_marks(a);
	return true;
}

void align_fini(struct align *a)
{
	free(a->marks);
	free(a->pairs);
	for (unsigned r = 0; r < ALIGN_RUNS; r++)
		free(a->pair_of[r]);
	memset(a, 0, sizeof(*a));
}

uint64_t align_mark_of(const struct align *a, unsigned run, uint64_t time)
{
	uint64_t low = 0, high = a->nmarks;
	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;
		if (a->marks[middle].at[run] <= time)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* ---- the writer ---- */

static uint64_t shift(const struct align_writer *w, uint64_t mark)
{
	return w->align->marks[mark].shown - w->align->marks[mark].at[w->run];
}

static bool on_lane(void *ctx, const struct timeline_lane *lane)
{
	struct align_writer *w = ctx;
	if (lane->kind == TIMELINE_COUNTER && strcmp(lane->unit, "GB/s") == 0 && w->nrates < ALIGN_RATES)
		w->rates[w->nrates++] = lane->id;
	return w->out.lane(w->out.ctx, lane);
}

/* Arrows arrive at the first part and leave from the last. */
static bool on_slice(void *ctx, const struct timeline_slice *slice)
{
	struct align_writer *w = ctx;
	const struct align *a = w->align;
	struct timeline_slice part = *slice;
	uint64_t mark = align_mark_of(a, w->run, slice->from), from = slice->from;
	for (bool first = true;; first = false) {
		uint64_t end = mark + 1;
		while (end < a->nmarks && shift(w, end) == shift(w, mark))
			end++;
		bool last = end == a->nmarks || a->marks[end].at[w->run] >= slice->to;
		uint64_t to = last ? slice->to : a->marks[end].at[w->run];
		part.from = from + shift(w, mark);
		part.to = to + shift(w, mark);
		part.details = slice->details && first;
		part.flows.nin = first ? slice->flows.nin : 0;
		part.flows.nout = last ? slice->flows.nout : 0;
		if (!w->out.slice(w->out.ctx, &part))
			return false;
		if (last)
			return true;
		mark = end;
		from = to;
	}
}

static bool is_rate(const struct align_writer *w, uint32_t lane)
{
	for (unsigned i = 0; i < w->nrates; i++)
		if (w->rates[i] == lane)
			return true;
	return false;
}

/* Nothing moves while a run stands still. */
static bool rest(struct align_writer *w, uint32_t lane, uint64_t time)
{
	const struct align *a = w->align;
	for (uint64_t m = align_mark_of(a, w->run, w->latest) + 1; m < a->nmarks && a->marks[m].at[w->run] <= time; m++) {
		if (shift(w, m) == shift(w, m - 1))
			continue;
		uint64_t at = a->marks[m].at[w->run];
		if (!w->out.counter(w->out.ctx, lane, at + shift(w, m - 1), 0) ||
		    (at < time && !w->out.counter(w->out.ctx, lane, at + shift(w, m), w->value)))
			return false;
	}
	return true;
}

static bool on_counter(void *ctx, uint32_t lane, uint64_t time, double value)
{
	struct align_writer *w = ctx;
	/* A curve begins at 0. */
	if (is_rate(w, lane) && time > 0 && w->value > 0 && !rest(w, lane, time))
		return false;
	w->latest = time;
	w->value = value;
	return w->out.counter(w->out.ctx, lane, time + shift(w, align_mark_of(w->align, w->run, time)), value);
}

struct timeline_writer align_writer(struct align_writer *w, const struct align *a, unsigned run,
				    const struct timeline_writer *out)
{
	*w = (struct align_writer){ .out = *out, .align = a, .run = run };
	return (struct timeline_writer){
		.ctx = w, .deciders = out->deciders, .lane = on_lane, .slice = on_slice, .counter = on_counter,
	};
}
