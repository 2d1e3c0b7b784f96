/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a folder in memory: of each point what became of it and a few figures, in the order of points. */
#ifndef NPU_SIM_SWEEP_ROWS_H
#define NPU_SIM_SWEEP_ROWS_H

#include "sim/sweep/store.h"

enum { SWEEP_ROW_FIGURES = 64, SWEEP_REASONS = 32 };

struct sweep_row {
	uint64_t point;
	uint64_t key; /* of its program on its machine; 0: it did not run */
	uint32_t at;  /* of its figures, where it ran */
	uint8_t status, reason;
};

struct sweep_rows {
	const struct sweep_space *space;
	const char
	    *names[SWEEP_ROW_FIGURES]; /* of the figures that are kept; "params.NAME" is a parameter as resolved */
	unsigned nnames;
	struct sweep_row *row;
	double *figures; /* [nfigures][nnames], NaN: none, or a word */
	uint16_t *words; /* [nfigures][nnames], number + 1 of a word; 0: none */
	char **word;     /* [nwords] */
	unsigned nwords;
	uint64_t n, room, nfigures, figures_room;
	char *reasons[SWEEP_REASONS];
	uint64_t refused[SWEEP_REASONS];
	unsigned nreasons;
	uint64_t count[4]; /* by status; missing ones too */
	struct sweep_strays strays;
};

/* Reads a folder; names[] is set by the caller before. On failure, too, sweep_rows_fini() frees. */
bool sweep_rows_read(struct sweep_rows *, const char *path, struct npu_error *err);
/* Whether what became of every point of the grid is known, so that what they have can be compared: none was left out by
 * a sample or a search, is missing, or has failed. */
bool sweep_rows_whole(const struct sweep_rows *);
/* Those that are in a set stay. */
void sweep_rows_keep(struct sweep_rows *, const struct sweep_set *);
void sweep_rows_fini(struct sweep_rows *);
/* The row of a point, NULL: there is none. */
const struct sweep_row *sweep_rows_find(const struct sweep_rows *, uint64_t point);
double sweep_rows_figure(const struct sweep_rows *, const struct sweep_row *, unsigned figure);
/* The same, also where it is a word; a number NaN: none. */
struct expr_value sweep_rows_value(const struct sweep_rows *, const struct sweep_row *, unsigned figure);
/* Whole records of some points (run ones) into out[n], NULL where there is none; the caller drops them. */
bool sweep_rows_fetch(const char *path, const struct sweep_space *, const uint64_t *points, unsigned n, json_t **out,
		      struct npu_error *err);
/* A figure of a record, NaN: none. */
double sweep_record_figure(const json_t *record, const char *name);

#endif
