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
	if (status == SWEEP_RUN && r->nnames)
		figures = make_room(r->figures, r->nfigures, &r->figures_room, r->nnames * sizeof *figures);
	r->figures = figures ? figures : r->figures;
	if (!rows || (status == SWEEP_RUN && r->nnames && !figures))
		return npu_fail(reading->err, NPU_ERR_MEMORY, "out of memory");
	const char *key = json_string_value(json_object_get(record, "key"));
	r->row[r->n++] = (struct sweep_row){ point, key ? strtoull(key, NULL, 16) : 0, (uint32_t)r->nfigures, (uint8_t)status,
					     reason ? reason_of(r, reason) : 0 };
	for (unsigned i = 0; status == SWEEP_RUN && i < r->nnames; i++)
		r->figures[r->nfigures * r->nnames + i] = sweep_record_figure(record, r->names[i]);
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
			rank += before.refused[j] > before.refused[i] ||
				(before.refused[j] == before.refused[i] && strcmp(before.reasons[j], before.reasons[i]) < 0);
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

bool sweep_rows_fetch(const char *path, const struct sweep_space *space, const uint64_t *points, unsigned n, json_t **out,
		      struct npu_error *err)
{
	struct fetching f = { points, n, out };
	for (unsigned i = 0; i < n; i++)
		out[i] = NULL;
	return sweep_store_read(path, space, fetch, &f, NULL, err);
}
