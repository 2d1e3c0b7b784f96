/* SPDX-License-Identifier: Apache-2.0 */
/* Searches tile sizes by placing buffers on trial: what is chosen fits by construction. */
#include "kernels/tiles.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct search {
	const struct npu_kernel *kernel;
	const struct npu_capacity *capacity;
	const struct tile_dim *dims;
	unsigned ndims;
	tile_trial *trial;
	int index[TILE_DIMS]; /* parameter of each dimension */
	bool open[TILE_DIMS]; /* to be chosen */
	struct npu_args *args;
	struct npu_args best;
	uint64_t best_product; /* 0: none yet */
};

static bool fits(const struct search *s, const struct npu_args *args, struct npu_error *err)
{
	struct npu_builder *b = npu_builder_new(s->kernel->name, s->capacity);
	if (!b)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	bool ok = s->trial(b, args) && !npu_builder_failed(b);
	if (!ok && err && npu_builder_error(b))
		*err = *npu_builder_error(b);
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

/* Tries all sizes of dimension `dim` and those after it, large ones first. */
static void search_from(struct search *s, unsigned dim, uint64_t product)
{
	if (dim == s->ndims) {
		if (product > s->best_product && fits(s, s->args, NULL)) {
			s->best = *s->args;
			s->best_product = product;
		}
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
	search_from(s, 0, 1);
	return s->best_product > 0;
}

/* "tile_q=64 tile_kv=128" of the tiles in `args`: all of them, or those that were named. */
static const char *print_tiles(const struct search *s, const struct npu_args *args, bool all, char out[128])
{
	size_t length = 0;
	out[0] = '\0';
	for (unsigned d = 0; d < s->ndims && length < 128; d++)
		if (all || !s->open[d])
			length += (size_t)snprintf(out + length, 128 - length, "%s%s=%" PRId64, length ? " " : "",
						   s->dims[d].param, args->value[s->index[d]]);
	return out;
}

/* Below an error of buffers: how large each named tile could be, the others as they are or chosen. */
static void note_named(struct search *s, struct npu_error *err)
{
	char text[128];
	for (unsigned d = 0; d < s->ndims; d++) {
		int64_t *tile = &s->args->value[s->index[d]];
		int64_t named = *tile, low = 1, high = named;
		struct npu_args fitting;
		bool found = false;
		if (s->open[d])
			continue;
		while (low <= high) {
			*tile = low + (high - low) / 2;
			if (any_fits(s)) {
				fitting = s->best;
				found = true;
				low = *tile + 1;
			} else {
				high = *tile - 1;
			}
		}
		*tile = named;
		if (found)
			npu_error_note(err, "would fit: %s", print_tiles(s, &fitting, true, text));
	}
}

bool tiles_resolve(const struct npu_kernel *kernel, const struct npu_capacity *capacity, struct npu_args *args,
		   const struct tile_dim *dims, unsigned ndims, tile_trial *trial, struct npu_error *err)
{
	struct npu_args scratch = *args;
	struct search s = {
		.kernel = kernel, .capacity = capacity, .dims = dims, .ndims = ndims, .trial = trial, .args = &scratch
	};
	char named[128];
	for (unsigned d = 0; d < ndims; d++) {
		s.index[d] = npu_param_index(kernel, dims[d].param);
		s.open[d] = !args->named[s.index[d]];
	}
	if (any_fits(&s)) {
		for (unsigned d = 0; d < ndims; d++)
			args->value[s.index[d]] = s.best.value[s.index[d]];
		return true;
	}

	/* The error of the smallest tiles that were possible. */
	for (unsigned d = 0; d < ndims; d++)
		if (s.open[d])
			scratch.value[s.index[d]] = 1;
	struct npu_error buffers = { 0 };
	fits(&s, &scratch, &buffers);
	const char *map = strchr(buffers.text, '\n');
	int first_line = map ? (int)(map - buffers.text) : (int)strlen(buffers.text);
	print_tiles(&s, args, false, named);
	npu_fail(err, buffers.code, "%s: %.*s", named[0] ? named : "even with the smallest tiles", first_line,
		 buffers.text);
	note_named(&s, err);
	memset(s.open, true, sizeof s.open);
	if (named[0] && any_fits(&s))
		npu_error_note(err, "would fit: %s, chosen when none is named", print_tiles(&s, &s.best, true, named));
	if (map)
		npu_error_notes(err, map + 1);
	return false;
}
