/* SPDX-License-Identifier: Apache-2.0 */
/* A segment tree over compressed addresses; positions only grow, so nothing ever needs to be pushed down. */
#include "isa/check/frontier.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

bool npu_cells_init(struct npu_cells *cells, const struct npu_ranges *all, enum npu_space space)
{
	uint64_t n = 0, kept = 0;
	for (uint64_t i = 0; i < all->count; i++)
		n += all->ranges[i].space == space;
	*cells = (struct npu_cells){ .bounds = calloc(2 * n + 1, sizeof *cells->bounds) };
	if (!cells->bounds || 2 * n > UINT32_MAX / 4)
		return false;
	n = 0;
	for (uint64_t i = 0; i < all->count; i++)
		if (all->ranges[i].space == space) {
			cells->bounds[n++] = all->ranges[i].base;
			cells->bounds[n++] = npu_range_end(&all->ranges[i]);
		}
	qsort(cells->bounds, n, sizeof *cells->bounds, by_value);
	for (uint64_t i = 0; i < n; i++)
		if (!i || cells->bounds[i] != cells->bounds[i - 1])
			cells->bounds[kept++] = cells->bounds[i];
	cells->count = (uint32_t)kept;
	return true;
}

void npu_cells_fini(struct npu_cells *cells)
{
	free(cells->bounds);
	*cells = (struct npu_cells){ 0 };
}

static uint32_t cell_of(const struct npu_cells *cells, uint64_t bound)
{
	uint32_t lo = 0, hi = cells->count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (cells->bounds[middle] < bound)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

static bool grow_tree(struct npu_frontier *f)
{
	if (f->leaves)
		return true;
	uint32_t leaves = 1;
	while (leaves < f->cells->count)
		leaves *= 2;
	f->latest = calloc(2 * (uint64_t)leaves, sizeof *f->latest);
	f->covered = calloc(2 * (uint64_t)leaves, sizeof *f->covered);
	f->leaves = f->latest && f->covered ? leaves : 0;
	return f->leaves != 0;
}

static bool grow_ranges(struct npu_frontier *f)
{
	if (f->count < f->capacity)
		return true;
	uint32_t capacity = f->capacity ? 2 * f->capacity : NPU_FRONTIER_BLOCK;
	const struct npu_range **ranges = realloc(f->ranges, capacity * sizeof *ranges);
	f->ranges = ranges ? ranges : f->ranges;
	struct npu_extent *blocks = realloc(f->blocks, capacity / NPU_FRONTIER_BLOCK * sizeof *blocks);
	f->blocks = blocks ? blocks : f->blocks;
	if (ranges && blocks)
		f->capacity = capacity;
	return ranges && blocks;
}

static void extend_block(struct npu_frontier *f, uint64_t lo, uint64_t hi)
{
	struct npu_extent *block = &f->blocks[f->count / NPU_FRONTIER_BLOCK];
	if (f->count % NPU_FRONTIER_BLOCK == 0)
		*block = (struct npu_extent){ lo, hi };
	block->lo = lo < block->lo ? lo : block->lo;
	block->hi = hi > block->hi ? hi : block->hi;
}

static bool same_shape(const struct npu_range *a, const struct npu_range *b)
{
	return a->base == b->base && a->row_bytes == b->row_bytes && a->rows == b->rows && a->stride == b->stride;
}

static uint32_t *shape_slot(const struct npu_frontier *f, const struct npu_range *r)
{
	uint64_t hash = (r->base * 0x9e3779b97f4a7c15u ^ r->row_bytes ^ (uint64_t)r->rows << 40) * 0x9e3779b97f4a7c15u;
	uint32_t mask = 2 * f->shape_capacity - 1,
		 at = (uint32_t)((hash ^ r->stride * 0xd6e8feb86659fd93u) >> 32) & mask;
	while (f->shape_slots[at] && !same_shape(f->shapes[f->shape_slots[at] - 1].range, r))
		at = (at + 1) & mask;
	return &f->shape_slots[at];
}

static bool grow_shapes(struct npu_frontier *f)
{
	if (f->nshapes < f->shape_capacity)
		return true;
	uint32_t capacity = f->shape_capacity ? 2 * f->shape_capacity : 64;
	struct npu_shape *shapes = realloc(f->shapes, capacity * sizeof *shapes);
	f->shapes = shapes ? shapes : f->shapes;
	uint32_t *slots = calloc(2 * (size_t)capacity, sizeof *slots);
	if (!shapes || !slots) {
		free(slots);
		return false;
	}
	free(f->shape_slots);
	f->shape_slots = slots;
	f->shape_capacity = capacity;
	for (uint32_t i = 0; i < f->nshapes; i++)
		*shape_slot(f, f->shapes[i].range) = i + 1;
	return true;
}

static bool add_shape(struct npu_frontier *f, const struct npu_range *range, uint32_t position)
{
	if (!grow_shapes(f))
		return false;
	uint32_t *slot = shape_slot(f, range);
	if (!*slot) {
		f->shapes[f->nshapes].range = range;
		*slot = ++f->nshapes;
	}
	f->shapes[*slot - 1].latest = position;
	return true;
}

bool npu_frontier_may_share(const struct npu_frontier *f, const struct npu_range *range, uint32_t from, uint32_t window)
{
	if (f->nshapes >= window)
		return true;
	struct npu_access access = npu_range_access(range);
	for (uint32_t i = 0; i < f->nshapes; i++) {
		struct npu_access other = npu_range_access(f->shapes[i].range);
		if (f->shapes[i].latest >= from && npu_access_overlap(&access, &other))
			return true;
	}
	return false;
}

bool npu_frontier_add(struct npu_frontier *f, const struct npu_range *range, uint32_t position)
{
	if (!grow_tree(f) || !grow_ranges(f) || !add_shape(f, range, position))
		return false;
	uint64_t lo = range->base, hi = npu_range_end(range);
	extend_block(f, lo, hi);
	f->ranges[f->count++] = range;

	uint32_t value = position + 1;
	uint32_t from = cell_of(f->cells, lo) + f->leaves, to = cell_of(f->cells, hi) + f->leaves;
	for (uint32_t l = from, r = to; l < r; l /= 2, r /= 2) {
		if (l & 1) {
			f->covered[l] = f->latest[l] = value;
			l++;
		}
		if (r & 1) {
			r--;
			f->covered[r] = f->latest[r] = value;
		}
	}
	/* No position is larger, so whatever holds a cell of the run now holds this one. */
	for (uint32_t node = from / 2; node; node /= 2)
		f->latest[node] = value;
	for (uint32_t node = (to - 1) / 2; node; node /= 2)
		f->latest[node] = value;
	return true;
}

bool npu_frontier_touches(const struct npu_frontier *f, const struct npu_range *range, uint32_t from)
{
	if (!f->leaves || f->latest[1] <= from)
		return false;
	uint32_t l = cell_of(f->cells, range->base) + f->leaves,
		 r = cell_of(f->cells, npu_range_end(range)) + f->leaves;
	/* Ranges that cover more than a part of the run cover its first or its last cell too. */
	for (uint32_t node = l; node; node /= 2)
		if (f->covered[node] > from)
			return true;
	for (uint32_t node = r - 1; node; node /= 2)
		if (f->covered[node] > from)
			return true;
	for (; l < r; l /= 2, r /= 2) {
		if ((l & 1) && f->latest[l++] > from)
			return true;
		if ((r & 1) && f->latest[--r] > from)
			return true;
	}
	return false;
}

void npu_frontier_fini(struct npu_frontier *f)
{
	free(f->latest);
	free(f->covered);
	free(f->ranges);
	free(f->blocks);
	free(f->shapes);
	free(f->shape_slots);
	*f = (struct npu_frontier){ 0 };
}
