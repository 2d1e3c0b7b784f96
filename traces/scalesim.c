/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of cells; which cell is what is told by the first row. */
#include "traces/scalesim.h"
#include "isa/plain.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = (1 << 20) - 1, CELLS = 32, NAMES = 4, LAYERS_MAX = 1 << 16 };

enum column {
	NAME, M, N, K,
	IFMAP_H, IFMAP_W, FILTER_H, FILTER_W, CHANNELS, FILTERS, STRIDE, STRIDE_H, STRIDE_W, BATCH, SPARSITY,
	COLUMNS,
};

static const struct {
	const char *names[NAMES]; /* letters alone, in lower case */
	const char *shown;
	uint32_t missing; /* 0: it must be there */
} columns[COLUMNS] = {
	[NAME] = { { "layer", "layername", "name", "l" }, "Layer name", 1 },
	[M] = { { "m" }, "M", 0 },
	[N] = { { "n" }, "N", 0 },
	[K] = { { "k" }, "K", 0 },
	[IFMAP_H] = { { "ifmapheight", "ifmaph" }, "IFMAP Height", 0 },
	[IFMAP_W] = { { "ifmapwidth", "ifmapw" }, "IFMAP Width", 0 },
	[FILTER_H] = { { "filterheight", "filterh" }, "Filter Height", 0 },
	[FILTER_W] = { { "filterwidth", "filterw" }, "Filter Width", 0 },
	[CHANNELS] = { { "channels", "channel" }, "Channels", 0 },
	[FILTERS] = { { "numfilter", "numfilters" }, "Num Filter", 0 },
	[STRIDE] = { { "strides", "stride" }, "Strides", 1 },
	[STRIDE_H] = { { "strideheight", "strideh" }, "Stride Height", 1 },
	[STRIDE_W] = { { "stridewidth", "stridew" }, "Stride Width", 1 },
	[BATCH] = { { "batchsize", "batch" }, "Batch Size", 1 },
	[SPARSITY] = { { "sparsity" }, "Sparsity", 1 },
};

struct cell {
	const char *text;
	unsigned length, column; /* of the file, from 1 */
};

struct reader {
	const char *path;
	uint32_t line;
	struct cell cells[CELLS];
	unsigned ncells;      /* those behind the last one with a text left out */
	unsigned at[COLUMNS]; /* the cell of each column; CELLS: it is not there */
	bool convolutions;
	struct scalesim *out;
	unsigned room;
	struct npu_error *err;
};

static bool fail(const struct reader *r, unsigned column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail(const struct reader *r, unsigned column, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return npu_fail_at(r->err, NPU_ERR_SYNTAX, r->path, r->line, column, "%s", text);
}

static const char *shown(const struct cell *cell, char out[64])
{
	npu_plain(cell->text, cell->length, out, 64);
	return out;
}

/* Cells of a line, blanks around them and then quotes taken off. */
static bool split(struct reader *r, const char *line, const char *end)
{
	r->ncells = 0;
	for (const char *at = line, *next; at <= end; at = next + 1) {
		next = memchr(at, ',', (size_t)(end - at));
		next = next ? next : end;
		const char *from = at, *to = next;
		while (from < to && isspace((unsigned char)*from))
			from++;
		while (from < to && isspace((unsigned char)to[-1]))
			to--;
		if (to - from > 1 && *from == '"' && to[-1] == '"') {
			from++;
			to--;
		}
		struct cell cell = { from, (unsigned)(to - from), (unsigned)(from - line) + 1 };
		if (cell.length && r->ncells == CELLS)
			return fail(r, cell.column, "more than %d cells", CELLS);
		if (r->ncells < CELLS)
			r->cells[r->ncells++] = cell;
	}
	while (r->ncells && !r->cells[r->ncells - 1].length)
		r->ncells--;
	return true;
}

static unsigned column_of(const struct cell *cell)
{
	char letters[32];
	unsigned n = 0;
	for (unsigned i = 0; i < cell->length && n + 1 < sizeof letters; i++)
		if (isalpha((unsigned char)cell->text[i]))
			letters[n++] = (char)tolower((unsigned char)cell->text[i]);
	letters[n] = '\0';
	for (unsigned c = 0; c < COLUMNS; c++)
		for (unsigned i = 0; i < NAMES && columns[c].names[i]; i++)
			if (strcmp(columns[c].names[i], letters) == 0)
				return c;
	return COLUMNS;
}

static bool read_header(struct reader *r)
{
	char text[64];
	for (unsigned c = 0; c < COLUMNS; c++)
		r->at[c] = CELLS;
	for (unsigned i = 0; i < r->ncells; i++) {
		unsigned c = column_of(&r->cells[i]);
		if (c == COLUMNS)
			return fail(r, r->cells[i].column,
				    "the column \"%s\" is not known; lists begin with Layer, M, N, K or Layer name, "
				    "IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
				    "Strides",
				    shown(&r->cells[i], text));
		if (r->at[c] != CELLS)
			return fail(r, r->cells[i].column, "a second column \"%s\"", columns[c].shown);
		r->at[c] = i;
	}
	r->convolutions = r->at[M] == CELLS;
	for (unsigned c = r->convolutions ? IFMAP_H : M; c <= (unsigned)(r->convolutions ? FILTERS : K); c++)
		if (r->at[c] == CELLS)
			return fail(r, 1, "there is no column \"%s\"", columns[c].shown);
	return true;
}

static bool number(const struct reader *r, enum column c, uint32_t *out)
{
	char text[64];
	const struct cell *cell = r->at[c] < r->ncells ? &r->cells[r->at[c]] : NULL;
	*out = columns[c].missing;
	if (!cell || !cell->length) {
		unsigned end = r->ncells ? r->cells[r->ncells - 1].column : 1;
		return columns[c].missing || fail(r, cell ? cell->column : end, "%s is missing", columns[c].shown);
	}
	uint64_t value = 0;
	unsigned i = 0;
	for (; i < cell->length && isdigit((unsigned char)cell->text[i]) && value <= LARGEST; i++)
		value = 10 * value + (uint64_t)(cell->text[i] - '0');
	if (i < cell->length || value < 1 || value > LARGEST)
		return fail(r, cell->column, "%s is \"%s\", a whole number from 1 to %d would be right",
			    columns[c].shown, shown(cell, text), LARGEST);
	*out = (uint32_t)value;
	return true;
}

/* N:M of the filters' elements are not zero, as the later lists have it; all of them are multiplied here. */
static bool is_dense(const struct reader *r)
{
	char text[64], copy[64];
	const struct cell *cell = r->at[SPARSITY] < r->ncells ? &r->cells[r->at[SPARSITY]] : NULL;
	if (!cell || !cell->length)
		return true;
	snprintf(copy, sizeof copy, "%.*s", (int)cell->length, cell->text);
	char *colon = strchr(copy, ':');
	if (!colon)
		return fail(r, cell->column, "Sparsity is \"%s\", N:M would be right", shown(cell, text));
	*colon = '\0';
	return strcmp(copy, colon + 1) == 0 ||
	       fail(r, cell->column, "Sparsity is \"%s\": no kernel leaves zeros out; as many of as many, 1:1, would be right",
		    shown(cell, text));
}

static bool read_convolution(const struct reader *r, struct scalesim_layer *l)
{
	uint32_t stride_h, stride_w;
	if (!number(r, IFMAP_H, &l->height) || !number(r, IFMAP_W, &l->width) || !number(r, FILTER_H, &l->filter_h) ||
	    !number(r, FILTER_W, &l->filter_w) || !number(r, CHANNELS, &l->channels) ||
	    !number(r, FILTERS, &l->filters) || !number(r, STRIDE, &l->stride) || !number(r, STRIDE_H, &stride_h) ||
	    !number(r, STRIDE_W, &stride_w) || !number(r, BATCH, &l->batch))
		return false;
	if (r->at[STRIDE_H] < CELLS && stride_h != stride_w)
		return fail(r, 1,
			    "Stride Height %" PRIu32 " and Stride Width %" PRIu32 " differ, which conv2d does not do",
			    stride_h, stride_w);
	l->stride = r->at[STRIDE_H] < CELLS ? stride_h : l->stride;
	if (l->filter_h > l->height || l->filter_w > l->width)
		return fail(r, r->cells[r->at[FILTER_H]].column,
			    "a filter of %" PRIu32 " x %" PRIu32 " is larger than its input of %" PRIu32 " x %" PRIu32,
			    l->filter_h, l->filter_w, l->height, l->width);
	uint64_t m = (uint64_t)((l->height - l->filter_h) / l->stride + 1) * ((l->width - l->filter_w) / l->stride + 1);
	uint64_t k = (uint64_t)l->filter_h * l->filter_w;
	/* Each of them is below 2^40, and so are the factors that follow below 2^20. */
	if (m * l->batch > LARGEST || k * l->channels > LARGEST)
		return fail(r, 1,
			    "%" PRIu64 " positions of the result and %" PRIu64
			    " elements a window: %d at most would be right",
			    m * l->batch, k * l->channels, LARGEST);
	l->m = (uint32_t)(m * l->batch);
	l->k = (uint32_t)(k * l->channels);
	l->n = l->filters;
	return true;
}

static bool add(struct reader *r, const struct scalesim_layer *layer)
{
	if (r->out->n == LAYERS_MAX)
		return fail(r, 1, "more than %d layers", LAYERS_MAX);
	if (r->out->n == r->room) {
		r->room = r->room ? 2 * r->room : 64;
		struct scalesim_layer *layers = realloc(r->out->layers, r->room * sizeof *layers);
		if (!layers)
			return npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
		r->out->layers = layers;
	}
	r->out->layers[r->out->n++] = *layer;
	return true;
}

static bool read_row(struct reader *r)
{
	struct scalesim_layer layer = { .line = r->line, .convolution = r->convolutions };
	/* A heading: a name at most. */
	if (r->ncells == 0 || (r->ncells == 1 && r->at[NAME] == 0))
		return true;
	for (unsigned i = 0; i < r->ncells; i++) {
		bool named = false;
		for (unsigned c = 0; c < COLUMNS; c++)
			named |= r->at[c] == i;
		if (!named && r->cells[i].length)
			return fail(r, r->cells[i].column, "a cell under no column");
	}
	const struct cell *name = r->at[NAME] < r->ncells ? &r->cells[r->at[NAME]] : NULL;
	if (name && name->length)
		npu_plain(name->text, name->length, layer.name, sizeof layer.name);
	else
		snprintf(layer.name, sizeof layer.name, "layer %u", r->out->n + 1);
	if (!is_dense(r))
		return false;
	if (r->convolutions ? !read_convolution(r, &layer)
			    : !number(r, M, &layer.m) || !number(r, N, &layer.n) || !number(r, K, &layer.k))
		return false;
	return add(r, &layer);
}

bool scalesim_read(const char *path, const char *text, uint64_t nbytes, struct scalesim *list, struct npu_error *err)
{
	struct reader r = { .path = path, .out = list, .err = err };
	const char *end = text + nbytes, *at = text;
	bool ok = true, header = false;
	*list = (struct scalesim){ 0 };
	if (nbytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		at += 3; /* a mark of UTF-8 */
	while (ok && at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		next = next ? next : end;
		r.line++;
		ok = split(&r, at, next);
		if (ok && r.ncells && !header) {
			header = true;
			ok = read_header(&r);
		} else if (ok && header) {
			ok = read_row(&r);
		}
		at = next + 1;
	}
	if (ok && list->n == 0)
		ok = npu_fail_at(err, NPU_ERR_SYNTAX, path, 0, 0, "no layer");
	if (!ok)
		scalesim_free(list);
	return ok;
}

void scalesim_free(struct scalesim *list)
{
	free(list->layers);
	*list = (struct scalesim){ 0 };
}
