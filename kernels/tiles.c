/* SPDX-License-Identifier: Apache-2.0 */
/* Searches tile sizes by placing buffers on trial: what is chosen fits by construction. */
#include "kernels/tiles.h"

#include "kernels/pingpong.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A 16th more is still about the same cost, or a 64th where few tiles leave little to overlap. */
enum { TOLERANCE = 16, FEW_TILES = 4, FEW_TOLERANCE = 64, TILES_BYTES = 128 };

struct search {
	const struct npu_kernel *kernel;
	const struct npu_capacity *capacity;
	const struct tile_dim *dims;
	unsigned ndims;
	tile_trial *trial;
	tile_costing *cost;
	int index[TILE_DIMS];         /* parameter of each dimension */
	bool open[TILE_DIMS];         /* to be chosen */
	struct npu_args *args;        /* tried */
	const struct npu_args *named; /* as they were given */
	struct npu_args best;
	uint64_t best_product; /* 0: none yet */
	unsigned best_unpaired;
	struct tile_cost limit; /* for smaller tiles with more second buffers */
};

uint64_t tile_traffic(uint64_t rows, uint64_t row_bytes, uint64_t tile_bytes, uint64_t granule)
{
	if (!row_bytes)
		return 0;
	uint64_t tiles = tiles_of(row_bytes, tile_bytes), rest = row_bytes - (tiles - 1) * tile_bytes;
	if (tiles == 1 || granule <= 1)
		return rows * row_bytes;
	/* Off the granule: a run of bytes begins anywhere in one. */
	if (row_bytes % granule)
		return rows * (row_bytes + tiles * (granule - 1));
	return rows * granule * ((tiles - 1) * tiles_of(tile_bytes, granule) + tiles_of(rest, granule));
}

/* The sum over all tiles of `length` of their size in units, at least `least` each. */
static uint64_t units_of(uint64_t length, uint64_t tile, uint64_t unit, uint64_t least_each)
{
	uint64_t full = length / tile, rest = length % tile, whole = tiles_of(tile, unit), part = tiles_of(rest, unit);
	whole = whole > least_each ? whole : least_each;
	part = !rest || part > least_each ? part : least_each;
	return full * whole + part;
}

uint64_t tile_steps(const struct npu_capacity *c, uint64_t m, uint64_t tile_m, uint64_t n, uint64_t tile_n, uint64_t k,
		    uint64_t tile_k)
{
	uint64_t rows = c->array_rows ? c->array_rows : 1, cols = c->array_cols ? c->array_cols : 1;
	/* While fewer rows stream than the array has, the next weights are not there yet. */
	return units_of(m, tile_m, 1, rows) * units_of(n, tile_n, cols, 1) * units_of(k, tile_k, rows, 1);
}

unsigned tile_panel(const struct npu_capacity *c, uint64_t steps, uint64_t turns, unsigned buffers, uint64_t bytes,
		    uint64_t others)
{
	uint64_t enough = 2 * ((uint64_t)c->array_rows + c->array_cols), padding = 2 * (uint64_t)c->sram_word_bytes;
	unsigned panel = 1;
	if (buffers < 2)
		return 1;
	while (panel < PANEL_BUFFERS && panel * steps < enough)
		panel *= 2;
	panel = (unsigned)least(panel, tiles_of(turns, buffers));
	uint64_t room =
	    c->limits.sram_bytes > others ? (c->limits.sram_bytes - others) / (buffers * (bytes + padding)) : 0;
	panel = (unsigned)least(panel, room);
	return panel > 1 ? panel : 1;
}

static bool fits(const struct search *s, const struct npu_args *args, unsigned *unpaired, struct npu_error *err)
{
	struct npu_builder *b = npu_builder_new(s->kernel->name, s->capacity);
	if (!b)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	bool ok = s->trial(b, args) && !npu_builder_failed(b);
	if (!ok && err && npu_builder_error(b))
		*err = *npu_builder_error(b);
	if (unpaired)
		*unpaired = npu_builder_unpaired(b);
	npu_builder_discard(b);
	return ok;
}

static int64_t largest_tile(uint64_t length)
{
	int64_t tile = 1;
	while (tile < TILE_LARGEST && (uint64_t)tile < length)
		tile *= 2;
	return tile;
}

/* Takes the tiles in `args` if they are better: of the largest product that fits; or, once there is a limit of what
 * they may cost, with the fewest second buffers missing. */
static void consider(struct search *s, uint64_t product)
{
	unsigned unpaired;
	bool larger = product > s->best_product;
	if (!larger && !(s->limit.dram && s->best_unpaired))
		return;
	if (s->limit.dram) {
		struct tile_cost cost = s->cost(s->capacity, s->args);
		uint64_t most = cost.second ? s->limit.dram : s->limit.dram + s->limit.second;
		if (cost.dram > most || cost.array > s->limit.array)
			return;
	}
	if (!fits(s, s->args, &unpaired, NULL))
		return;
	if (s->limit.dram && !(unpaired < s->best_unpaired || (unpaired == s->best_unpaired && larger)))
		return;
	s->best = *s->args;
	s->best_product = product;
	s->best_unpaired = unpaired;
}

/* Tries all sizes of dimension `dim` and those after it, large ones first. */
static void search_from(struct search *s, unsigned dim, uint64_t product)
{
	if (dim == s->ndims) {
		consider(s, product);
		return;
	}
	int64_t *tile = &s->args->value[s->index[dim]];
	if (!s->open[dim]) {
		search_from(s, dim + 1, product);
		return;
	}
	for (*tile = largest_tile(s->dims[dim].length); *tile >= 1; *tile /= 2)
		search_from(s, dim + 1, product * (uint64_t)*tile);
}

static bool any_fits(struct search *s)
{
	s->best_product = 0;
	s->limit = (struct tile_cost){ 0 };
	search_from(s, 0, 1);
	return s->best_product > 0;
}

/* Of the tiles that cost about what the best ones do, those that leave room for the most second buffers. */
static void find_pairs(struct search *s)
{
	if (!s->best_unpaired || !s->cost)
		return;
	struct tile_cost cost = s->cost(s->capacity, &s->best);
	uint64_t tiles = 1, part;
	for (unsigned d = 0; d < s->ndims; d++)
		tiles *= tiles_of(s->dims[d].length, (uint64_t)s->best.value[s->index[d]]);
	part = tiles < FEW_TILES ? FEW_TOLERANCE : TOLERANCE;
	s->limit.dram = cost.dram + cost.dram / part;
	s->limit.array = cost.array + cost.array / part;
	s->limit.second = cost.second;
	search_from(s, 0, 1);
}

/* Doubles the best tile of a dimension, if that pays. */
static bool widen(struct search *s, unsigned dim)
{
	struct tile_cost before = s->cost(s->capacity, &s->best);
	unsigned unpaired;
	*s->args = s->best;
	s->args->value[s->index[dim]] *= 2;
	struct tile_cost after = s->cost(s->capacity, s->args);
	if (after.tiles < WIDE_TILES || after.dram > before.dram || after.array > before.array)
		return false;
	if (!fits(s, s->args, &unpaired, NULL) || unpaired > s->best_unpaired)
		return false;
	s->best = *s->args;
	return true;
}

/* False when a tile of the dimension stays smaller than it might be. */
static bool widen_as_far_as_may_be(struct search *s, unsigned dim)
{
	const struct tile_dim *d = &s->dims[dim];
	const int64_t *tile = &s->best.value[s->index[dim]];
	while (s->open[dim] && *tile >= TILE_LARGEST && *tile < d->widest && (uint64_t)*tile < d->length)
		if (!widen(s, dim))
			return false;
	return *tile >= d->widest;
}

/* The tiles that nobody named, by the rule; false when none fit. */
static bool choose(struct search *s)
{
	if (!any_fits(s))
		return false;
	find_pairs(s);
	for (unsigned d = 0; d < s->ndims; d++)
		if (s->dims[d].widest && !widen_as_far_as_may_be(s, d))
			break;
	return true;
}

/* "tile_q=64 tile_kv=128" of the tiles in `args`: all of them, or those that are open, or those that were named. */
enum which_tiles { ALL_TILES, OPEN_TILES, NAMED_TILES };
static const char *print_tiles(const struct search *s, const struct npu_args *args, enum which_tiles which,
			       char out[TILES_BYTES])
{
	size_t length = 0;
	out[0] = '\0';
	for (unsigned d = 0; d < s->ndims && length < TILES_BYTES; d++)
		if (which == ALL_TILES || s->open[d] == (which == OPEN_TILES))
			length += (size_t)snprintf(out + length, TILES_BYTES - length, "%s%s=%" PRId64,
						   length ? " " : "", s->dims[d].param, args->value[s->index[d]]);
	return out;
}

/* What the rule chooses when one of the named tiles is left open, then when all of them are. */
static void note_choices(struct search *s, struct npu_error *err)
{
	bool named[TILE_DIMS];
	char all[TILES_BYTES], one[TILES_BYTES];
	unsigned nnamed = 0;
	for (unsigned d = 0; d < s->ndims; d++) {
		named[d] = !s->open[d];
		nnamed += named[d];
		s->open[d] = true;
	}
	if (!nnamed || !choose(s))
		return;
	print_tiles(s, &s->best, ALL_TILES, all);
	for (unsigned left = 0; left < s->ndims && nnamed > 1; left++) {
		for (unsigned d = 0; d < s->ndims; d++) {
			s->open[d] = !named[d] || d == left;
			s->args->value[s->index[d]] = s->named->value[s->index[d]];
		}
		if (named[left] && choose(s) && strcmp(print_tiles(s, &s->best, ALL_TILES, one), all) != 0)
			npu_error_note(err, "would fit: %s", one);
	}
	npu_error_note(err, "would fit: %s, chosen when none is named", all);
}

/* The error of the smallest tiles that were possible. */
static bool fail_fit(struct search *s, struct npu_error *err)
{
	struct npu_error buffers = { 0 };
	char named[TILES_BYTES], open[TILES_BYTES];
	for (unsigned d = 0; d < s->ndims; d++)
		if (s->open[d])
			s->args->value[s->index[d]] = 1;
	fits(s, s->args, NULL, &buffers);
	print_tiles(s, s->args, NAMED_TILES, named);
	print_tiles(s, s->args, OPEN_TILES, open);
	const char *map = strchr(buffers.text, '\n');
	int first_line = map ? (int)(map - buffers.text) : (int)strlen(buffers.text);
	if (!named[0])
		npu_fail(err, buffers.code, "even with the smallest tiles: %.*s", first_line, buffers.text);
	else
		npu_fail(err, buffers.code, "%s%s%s: %.*s", named, open[0] ? ", even with " : "", open, first_line,
			 buffers.text);
	note_choices(s, err);
	if (map)
		npu_error_notes(err, map + 1);
	return false;
}

bool tiles_resolve(const struct npu_kernel *kernel, const struct npu_capacity *capacity, struct npu_args *args,
		   const struct tile_dim *dims, unsigned ndims, tile_trial *trial, tile_costing *cost,
		   struct npu_error *err)
{
	struct npu_args scratch = *args;
	struct search s = {
		.kernel = kernel,
		.capacity = capacity,
		.dims = dims,
		.ndims = ndims,
		.trial = trial,
		.cost = cost,
		.args = &scratch,
		.named = args,
	};
	for (unsigned d = 0; d < ndims; d++) {
		s.index[d] = npu_param_index(kernel, dims[d].param);
		s.open[d] = !args->named[s.index[d]];
	}
	if (!choose(&s))
		return fail_fit(&s, err);
	for (unsigned d = 0; d < ndims; d++)
		args->value[s.index[d]] = s.best.value[s.index[d]];
	return true;
}
