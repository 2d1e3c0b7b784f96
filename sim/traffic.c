/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the DRAM pieces of every DMA instruction. A transfer whose bytes were walked before (K and V tiles are read again
 * and again) costs a look-up. */
#include "sim/traffic.h"

#include "isa/access.h"
#include "sim/traffic_spans.h"

#include <stdlib.h>
#include <string.h>

/* An instruction walked before whose DRAM bytes all lie in one row. */
struct seen {
	uint32_t insn; /* + 1; 0: an empty slot */
	uint32_t row;
};

struct walk {
	const struct npu_program *program;
	struct traffic *traffic;
	struct traffic_spans *spans; /* [nrows] */
	uint32_t *order;             /* tensors by address */
	uint64_t *reach;             /* by order: the highest end of the tensors up to here */
	struct seen *seen;           /* open-addressed, never more than half full */
	uint64_t seen_mask;
	uint32_t unnamed; /* row */
};

static const struct npu_tensor *tensor_at(const struct walk *w, uint32_t at)
{
	return &w->program->tensors[w->order[at]];
}

/* Row of the byte at `address`, and in `*end` how far that holds. Where tensors overlap the one that begins last counts. */
static uint32_t row_of(const struct walk *w, uint64_t address, uint64_t *end)
{
	uint32_t lo = 0, hi = w->program->ntensors; /* first tensor that begins after the address */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (tensor_at(w, mid)->addr <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	*end = lo < w->program->ntensors ? tensor_at(w, lo)->addr : UINT64_MAX;
	for (uint32_t i = lo; i > 0 && w->reach[i - 1] > address; i--) {
		const struct npu_tensor *t = tensor_at(w, i - 1);
		if (t->addr + t->bytes > address) {
			if (t->addr + t->bytes < *end)
				*end = t->addr + t->bytes;
			return w->order[i - 1];
		}
	}
	return w->unnamed;
}

static void count(struct walk *w, uint32_t row, bool write, uint64_t bytes)
{
	struct traffic_row *r = &w->traffic->rows[row];
	if (write) {
		r->write_bytes += bytes;
		w->traffic->write_bytes += bytes;
	} else {
		r->read_bytes += bytes;
		w->traffic->read_bytes += bytes;
	}
}

/* Bytes [lo, hi); `*row` becomes the row of all bytes so far, or the number of rows once they lie in several. */
static bool count_bytes(struct walk *w, uint64_t lo, uint64_t hi, bool write, uint32_t *row)
{
	while (lo < hi) {
		uint64_t end;
		uint32_t found = row_of(w, lo, &end);
		if (end > hi)
			end = hi;
		if (!traffic_spans_add(&w->spans[found], lo, end))
			return false;
		count(w, found, write, end - lo);
		if (*row == UINT32_MAX)
			*row = found;
		else if (*row != found)
			*row = w->traffic->nrows;
		lo = end;
	}
	return true;
}

static bool walk_pieces(struct walk *w, const struct npu_insn *insn, bool write, uint32_t *row)
{
	struct npu_piece_walk pieces;
	struct npu_piece piece;
	uint64_t lo = 0, hi = 0; /* pieces that follow each other in DRAM are counted together */
	npu_piece_walk_init(&pieces, w->program, insn);
	while (npu_piece_next(&pieces, &piece)) {
		if (piece.dram == hi) {
			hi += piece.bytes;
			continue;
		}
		if (!count_bytes(w, lo, hi, write, row))
			return false;
		lo = piece.dram;
		hi = piece.dram + piece.bytes;
	}
	return count_bytes(w, lo, hi, write, row);
}

/* What decides the bytes in DRAM: everything but the local address and the semaphores. */
struct key {
	uint64_t words[NPU_INSN_WORDS];
};

static struct key key_of(const struct npu_insn *insn)
{
	struct npu_insn plain = *insn;
	struct key key;
	memset(plain.wait, 0, sizeof(plain.wait));
	memset(plain.post, 0, sizeof(plain.post));
	npu_insn_encode(&plain, key.words);
	key.words[3] &= ~0xffffffffull; /* the local address of both formats */
	return key;
}

/* The slot of the instruction with this key, an empty one when there is none. */
static struct seen *find_seen(const struct walk *w, const struct key *key)
{
	uint64_t slot = 1;
	for (unsigned i = 0; i < NPU_INSN_WORDS; i++) {
		slot = (slot ^ key->words[i]) * 0x9e3779b97f4a7c15ull;
		slot ^= slot >> 32;
	}
	for (;; slot++) {
		struct seen *s = &w->seen[slot & w->seen_mask];
		if (s->insn == 0)
			return s;
		struct key other = key_of(&w->program->insns[s->insn - 1]);
		if (memcmp(&other, key, sizeof(other)) == 0)
			return s;
	}
}

static bool is_transfer(const struct npu_insn *insn)
{
	enum npu_format_index format = npu_op_format(insn->op);
	return format == NPU_FORMAT_dma || format == NPU_FORMAT_paged;
}

static bool make_seen(struct walk *w)
{
	uint64_t transfers = 0, size = 16;
	for (uint32_t i = 0; i < w->program->ninsns; i++)
		transfers += is_transfer(&w->program->insns[i]);
	while (size < 2 * transfers)
		size *= 2;
	w->seen_mask = size - 1;
	w->seen = calloc(size, sizeof(*w->seen));
	return w->seen != NULL;
}

static bool count_insn(struct walk *w, uint32_t i, uint64_t bytes)
{
	const struct npu_insn *insn = &w->program->insns[i];
	bool write = npu_op_engine(insn->op) == NPU_ENGINE_STORE;
	struct key key = key_of(insn);
	struct seen *s = find_seen(w, &key);
	if (s->insn != 0) {
		count(w, s->row, write, bytes);
		return true;
	}
	uint32_t row = UINT32_MAX;
	if (!walk_pieces(w, insn, write, &row))
		return false;
	if (row < w->traffic->nrows)
		*s = (struct seen){ i + 1, row };
	return true;
}

static bool count_table(struct walk *w, uint32_t row, const struct npu_insn *insn, uint64_t bytes)
{
	const struct npu_paged *paged = &insn->paged;
	uint64_t lo = w->program->tables[paged->table].addr + 4ull * (paged->first / paged->page_rows);
	count(w, row, false, bytes);
	return traffic_spans_add(&w->spans[row], lo, lo + bytes);
}

static bool count_program(struct walk *w, uint64_t fetch_bytes)
{
	const struct npu_program *p = w->program;
	uint32_t tables = w->unnamed + 1, instructions = w->unnamed + 2;
	for (uint32_t i = 0; i < p->ninsns; i++) {
		if (!is_transfer(&p->insns[i]))
			continue;
		uint64_t bytes = npu_insn_dram_bytes(&p->insns[i]);
		if (bytes > 0 && !count_insn(w, i, bytes))
			return false;
		uint64_t table_bytes = npu_insn_table_bytes(&p->insns[i]);
		if (table_bytes > 0 && !count_table(w, tables, &p->insns[i], table_bytes))
			return false;
	}
	count(w, instructions, false, fetch_bytes);
	return fetch_bytes == 0 || traffic_spans_add(&w->spans[instructions], 0, fetch_bytes);
}

/* qsort has no context, so what it sorts carries the address. */
struct by_address {
	uint64_t addr, bytes;
	uint32_t tensor;
};

static int by_address(const void *a, const void *b)
{
	const struct by_address *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static bool sort_tensors(struct walk *w)
{
	uint32_t n = w->program->ntensors;
	struct by_address *sorted = malloc((n + 1ull) * sizeof(*sorted));
	w->order = malloc((n + 1ull) * sizeof(*w->order));
	w->reach = malloc((n + 1ull) * sizeof(*w->reach));
	bool ok = sorted && w->order && w->reach;
	if (ok) {
		for (uint32_t i = 0; i < n; i++)
			sorted[i] = (struct by_address){ w->program->tensors[i].addr, w->program->tensors[i].bytes, i };
		qsort(sorted, n, sizeof(*sorted), by_address);
		uint64_t reach = 0;
		for (uint32_t i = 0; i < n; i++) {
			w->order[i] = sorted[i].tensor;
			if (sorted[i].addr + sorted[i].bytes > reach)
				reach = sorted[i].addr + sorted[i].bytes;
			w->reach[i] = reach;
		}
	}
	free(sorted);
	return ok;
}

/* Rows that are not tensors are left out when nothing was read or written. */
static void finish_rows(struct walk *w)
{
	struct traffic *t = w->traffic;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < t->nrows; i++) {
		struct traffic_row row = t->rows[i];
		row.unique_bytes = traffic_spans_bytes(&w->spans[i]);
		if (i < w->program->ntensors || row.read_bytes + row.write_bytes > 0)
			t->rows[kept++] = row;
	}
	t->nrows = kept;
}

static bool make_rows(struct walk *w)
{
	struct traffic *t = w->traffic;
	uint32_t n = w->program->ntensors;
	t->nrows = n + 3;
	t->rows = calloc(t->nrows, sizeof(*t->rows));
	w->spans = calloc(t->nrows, sizeof(*w->spans));
	if (!t->rows || !w->spans)
		return false;
	for (uint32_t i = 0; i < n; i++)
		t->rows[i].name = w->program->tensors[i].name;
	t->rows[n].name = "(unnamed)";
	t->rows[n + 1].name = "(block tables)";
	t->rows[n + 2].name = "(instructions)";
	w->unnamed = n;
	return true;
}

bool traffic_init(struct traffic *t, const struct npu_program *program, uint64_t fetch_bytes)
{
	struct walk w = { .program = program, .traffic = t };
	memset(t, 0, sizeof(*t));
	bool ok = make_rows(&w) && sort_tensors(&w) && make_seen(&w) && count_program(&w, fetch_bytes);
	if (ok)
		finish_rows(&w);
	for (uint32_t i = 0; w.spans && i < program->ntensors + 3; i++)
		traffic_spans_fini(&w.spans[i]);
	free(w.spans);
	free(w.order);
	free(w.reach);
	free(w.seen);
	if (!ok)
		traffic_fini(t);
	return ok;
}

void traffic_fini(struct traffic *t)
{
	free(t->rows);
	memset(t, 0, sizeof(*t));
}
