/* SPDX-License-Identifier: Apache-2.0 */
/* Records to rows; of several of one point the best one counts: run, then not legal, then failed. */
#include "sim/sweep/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct sweep_rows *rows;
	struct npu_error *err;
};

double sweep_record_figure(const json_t *record, const char *name)
{
	const json_t *value = json_object_get(json_object_get(record, "figures"), name);
	if (!value && strncmp(name, "engines.", 8) == 0)
		return 0;
	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* "double" of "buffering=double" among the parameters of a record, or a figure that is a word; NULL: it is none. */
static const char *text_of(const json_t *record, const char *name, char *out, size_t size)
{
	if (strncmp(name, "params.", 7) != 0)
		return json_string_value(json_object_get(json_object_get(record, "figures"), name));
	const char *at = json_string_value(json_object_get(record, "params"));
	size_t n = strlen(name + 7);
	while (at && *at) {
		size_t word = strcspn(at, " ");
		if (word > n && strncmp(at, name + 7, n) == 0 && at[n] == '=') {
			snprintf(out, size, "%.*s", (int)(word - n - 1), at + n + 1);
			return out;
		}
		at += word + (at[word] == ' ');
	}
	return NULL;
}

static uint16_t intern(struct sweep_rows *r, const char *text)
{
	unsigned i = 0;
	while (i < r->nwords && strcmp(r->word[i], text) != 0)
		i++;
	if (i < r->nwords)
		return (uint16_t)(i + 1);
	char **more = i < UINT16_MAX ? realloc(r->word, (i + 1) * sizeof *more) : NULL;
	if (!more)
		return 0;
	r->word = more;
	r->word[i] = strdup(text);
	r->nwords += r->word[i] != NULL;
	return (uint16_t)(r->word[i] ? i + 1 : 0);
}

static void take_value(struct sweep_rows *r, const json_t *record, unsigned i)
{
	char scratch[256];
	uint64_t at = r->nfigures * r->nnames + i;
	const char *text = text_of(record, r->names[i], scratch, sizeof scratch);
	struct expr_value v =
	    text ? expr_value_of(text) : (struct expr_value){ .number = sweep_record_figure(record, r->names[i]) };
	r->figures[at] = v.text ? (double)NAN : v.number;
	r->words[at] = v.text ? intern(r, text) : 0;
}

static uint8_t reason_of(struct sweep_rows *r, const char *text)
{
	unsigned i = 0;
	while (i < r->nreasons && strcmp(r->reasons[i], text) != 0)
		i++;
	if (i == r->nreasons && i < SWEEP_REASONS - 1)
		r->reasons[r->nreasons++] = strdup(text);
	return (uint8_t)(i < r->nreasons ? i : r->nreasons - 1);
}

/* Room for one more of `size` bytes in an array of n, which `*room` says. */
static void *make_room(void *array, uint64_t n, uint64_t *room, size_t size)
{
	if (n < *room)
		return array;
	*room = *room ? *room + *room / 2 : 1024;
	return realloc(array, *room * size);
}

static bool take(void *context, uint64_t point, enum sweep_status status, const json_t *record)
{
	struct reading *reading = context;
	struct sweep_rows *r = reading->rows;
	const char *reason = json_string_value(json_object_get(record, "reason"));
	struct sweep_row *rows = make_room(r->row, r->n, &r->room, sizeof *rows);
	r->row = rows ? rows : r->row;
	double *figures = r->figures;
	uint16_t *words = r->words;
	uint64_t words_room = r->figures_room;
	if (status == SWEEP_RUN && r->nnames) {
		figures = make_room(r->figures, r->nfigures, &r->figures_room, r->nnames * sizeof *figures);
		words = make_room(r->words, r->nfigures, &words_room, r->nnames * sizeof *words);
	}
	r->figures = figures ? figures : r->figures;
	r->words = words ? words : r->words;
	if (!rows || (status == SWEEP_RUN && r->nnames && (!figures || !words)))
		return npu_fail(reading->err, NPU_ERR_MEMORY, "out of memory");
	const char *key = json_string_value(json_object_get(record, "key"));
	r->row[r->n++] = (struct sweep_row){ point, key ? strtoull(key, NULL, 16) : 0, (uint32_t)r->nfigures,
					     (uint8_t)status, reason ? reason_of(r, reason) : 0 };
	for (unsigned i = 0; status == SWEEP_RUN && i < r->nnames; i++)
		take_value(r, record, i);
	r->nfigures += status == SWEEP_RUN;
	return true;
}

static int by_point(const void *a, const void *b)
{
	const struct sweep_row *x = a, *y = b;
	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	return x->status != y->status ? x->status - y->status : x->at < y->at ? -1 : x->at > y->at;
}

static void sort(struct sweep_rows *r)
{
	uint64_t n = 0;
	if (r->n)
		qsort(r->row, r->n, sizeof *r->row, by_point);
	for (uint64_t i = 0; i < r->n; i++) {
		if (n && r->row[n - 1].point == r->row[i].point)
			continue;
		r->row[n++] = r->row[i];
		r->count[r->row[n - 1].status]++;
		r->refused[r->row[n - 1].reason] += r->row[n - 1].status == SWEEP_NOT_LEGAL;
	}
	r->n = n;
	r->count[SWEEP_MISSING] = r->space->count > n && !r->space->pareto ? r->space->count - n : 0;
}

/* Most refusals first, whatever was read first. */
static void sort_reasons(struct sweep_rows *r)
{
	uint8_t to[SWEEP_REASONS];
	struct sweep_rows before = *r;
	for (unsigned i = 0; i < r->nreasons; i++) {
		unsigned rank = 0;
		for (unsigned j = 0; j < r->nreasons; j++)
			rank +=
			    before.refused[j] > before.refused[i] || (before.refused[j] == before.refused[i] &&
								      strcmp(before.reasons[j], before.reasons[i]) < 0);
		to[i] = (uint8_t)rank;
		r->reasons[rank] = before.reasons[i];
		r->refused[rank] = before.refused[i];
	}
	for (uint64_t i = 0; r->nreasons && i < r->n; i++)
		r->row[i].reason = to[r->row[i].reason];
}

bool sweep_rows_read(struct sweep_rows *r, const char *path, struct npu_error *err)
{
	struct reading reading = { r, err };
	if (!sweep_store_read(path, r->space, take, &reading, &r->strays, err))
		return false;
	sort(r);
	sort_reasons(r);
	return true;
}

bool sweep_rows_whole(const struct sweep_rows *r)
{
	return r->count[SWEEP_RUN] + r->count[SWEEP_NOT_LEGAL] == r->space->points;
}

void sweep_rows_keep(struct sweep_rows *r, const struct sweep_set *set)
{
	uint64_t n = 0;
	memset(r->count, 0, sizeof r->count);
	for (uint64_t i = 0; i < r->n; i++)
		if (sweep_set_has(set, r->row[i].point)) {
			r->count[r->row[i].status]++;
			r->row[n++] = r->row[i];
		}
	r->n = n;
}

void sweep_rows_fini(struct sweep_rows *r)
{
	for (unsigned i = 0; i < r->nreasons; i++)
		free(r->reasons[i]);
	for (unsigned i = 0; i < r->nwords; i++)
		free(r->word[i]);
	free(r->word);
	free(r->words);
	free(r->row);
	free(r->figures);
}

const struct sweep_row *sweep_rows_find(const struct sweep_rows *r, uint64_t point)
{
	uint64_t low = 0, high = r->n;
	while (low < high) {
		uint64_t mid = (low + high) / 2;
		if (r->row[mid].point < point)
			low = mid + 1;
		else
			high = mid;
	}
	return low < r->n && r->row[low].point == point ? &r->row[low] : NULL;
}

double sweep_rows_figure(const struct sweep_rows *r, const struct sweep_row *row, unsigned figure)
{
	return row->status == SWEEP_RUN ? r->figures[(uint64_t)row->at * r->nnames + figure] : (double)NAN;
}

struct expr_value sweep_rows_value(const struct sweep_rows *r, const struct sweep_row *row, unsigned figure)
{
	uint16_t word = row->status == SWEEP_RUN ? r->words[(uint64_t)row->at * r->nnames + figure] : 0;
	return word ? (struct expr_value){ NAN, r->word[word - 1] }
		    : (struct expr_value){ .number = sweep_rows_figure(r, row, figure) };
}

struct fetching {
	const uint64_t *points;
	unsigned n;
	json_t **out;
};

static bool fetch(void *context, uint64_t point, enum sweep_status status, const json_t *record)
{
	struct fetching *f = context;
	for (unsigned i = 0; status == SWEEP_RUN && i < f->n; i++)
		if (f->points[i] == point && !f->out[i])
			f->out[i] = json_incref((json_t *)record);
	return true;
}

bool sweep_rows_fetch(const char *path, const struct sweep_space *space, const uint64_t *points, unsigned n,
		      json_t **out, struct npu_error *err)
{
	struct fetching f = { points, n, out };
	for (unsigned i = 0; i < n; i++)
		out[i] = NULL;
	return sweep_store_read(path, space, fetch, &f, NULL, err);
}
