/* SPDX-License-Identifier: Apache-2.0 */
/* The highest byte a program touches in each memory, found by going through everything once. */
#include "isa/reach.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUN = 256 };
static const uint64_t FAR = (uint64_t)1 << 62;

/* Largest page number of any range of a table, from the maxima of runs of RUN entries: a program may gather thousands
 * of times through a table of a million entries. */
struct table_maxima {
	uint32_t *runs;
	uint32_t count;
};

static bool maxima_init(struct table_maxima *maxima, const struct npu_table *table)
{
	maxima->count = table->count / RUN;
	maxima->runs = calloc(maxima->count ? maxima->count : 1, sizeof *maxima->runs);
	if (!maxima->runs)
		return false;
	for (uint32_t i = 0; i < maxima->count * RUN; i++)
		if (table->entries[i] > maxima->runs[i / RUN])
			maxima->runs[i / RUN] = table->entries[i];
	return true;
}

static uint32_t largest_entry(const struct npu_table *table, const struct table_maxima *maxima, uint32_t from,
			      uint32_t to)
{
	uint32_t largest = 0;
	while (from < to) {
		bool whole_run = from % RUN == 0 && to - from >= RUN;
		uint32_t value = whole_run ? maxima->runs[from / RUN] : table->entries[from];
		largest = value > largest ? value : largest;
		from += whole_run ? RUN : 1;
	}
	return largest;
}

static uint64_t page_address(const struct npu_paged *p, uint32_t page)
{
	if (page > FAR / p->page_stride)
		return FAR;
	return p->dram + (uint64_t)page * p->page_stride;
}

/* End of the rows of pages [from, to) when each holds rows up to in-page row `last_row`. */
static uint64_t pages_end(const struct npu_paged *p, const struct npu_table *table, const struct table_maxima *maxima,
			  uint32_t from, uint32_t to, uint32_t last_row)
{
	uint64_t row_bytes = npu_dtype_bytes((enum npu_dtype)p->dtype, p->cols);
	uint64_t stride = p->row_stride ? p->row_stride : row_bytes;
	if (from >= to)
		return 0;
	return page_address(p, largest_entry(table, maxima, from, to)) + last_row * stride + row_bytes;
}

static uint64_t paged_end(const struct npu_paged *p, const struct npu_table *table, const struct table_maxima *maxima)
{
	uint64_t last = (uint64_t)p->first + p->rows - 1;
	uint32_t first_page = p->first / p->page_rows, last_page = (uint32_t)(last / p->page_rows);
	uint64_t full = pages_end(p, table, maxima, first_page, last_page, p->page_rows - 1);
	uint64_t partial = pages_end(p, table, maxima, last_page, last_page + 1, (uint32_t)(last % p->page_rows));
	return full > partial ? full : partial;
}

static void extend(struct npu_reach *reach, uint64_t begin, uint64_t end, enum npu_reacher by, uint32_t index,
		   const char *operand)
{
	if (end > reach->end)
		*reach = (struct npu_reach){ begin, end, by, index, operand };
}

static void reach_of_names(const struct npu_program *program, struct npu_reach out[NPU_SPACES])
{
	for (uint32_t i = 0; i < program->nbuffers; i++) {
		const struct npu_buffer *b = &program->buffers[i];
		uint64_t begin = npu_local_offset(b->local);
		extend(&out[npu_is_acc(b->local) ? NPU_SPACE_ACCUM : NPU_SPACE_SRAM], begin, begin + b->bytes,
		       NPU_REACHED_BY_BUFFER, i, NULL);
	}
	for (uint32_t i = 0; i < program->ntensors; i++) {
		const struct npu_tensor *t = &program->tensors[i];
		extend(&out[NPU_SPACE_DRAM], t->addr, t->addr + t->bytes, NPU_REACHED_BY_TENSOR, i, NULL);
	}
	for (uint32_t i = 0; i < program->ntables; i++) {
		const struct npu_table *t = &program->tables[i];
		extend(&out[NPU_SPACE_DRAM], t->addr, t->addr + 4 * (uint64_t)t->count, NPU_REACHED_BY_TABLE, i, NULL);
	}
}

static void reach_of_insn(const struct npu_program *program, uint32_t i, const struct table_maxima *maxima,
			  struct npu_reach out[NPU_SPACES])
{
	const struct npu_insn *insn = &program->insns[i];
	struct npu_operand operands[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_operands(insn, operands);
	for (unsigned j = 0; j < n; j++)
		extend(&out[operands[j].space], operands[j].addr, operands[j].addr + npu_matrix_extent(&operands[j].m),
		       NPU_REACHED_BY_INSN, i, operands[j].name);
	if (npu_op_format(insn->op) == NPU_FORMAT_paged) {
		const struct npu_paged *p = &insn->paged;
		extend(&out[NPU_SPACE_DRAM], p->dram, paged_end(p, &program->tables[p->table], &maxima[p->table]),
		       NPU_REACHED_BY_INSN, i, "dram");
	}
}

bool npu_program_reach(const struct npu_program *program, struct npu_reach out[NPU_SPACES])
{
	struct table_maxima *maxima = calloc(program->ntables ? program->ntables : 1, sizeof *maxima);
	bool ok = maxima != NULL;
	for (uint32_t i = 0; ok && i < program->ntables; i++)
		ok = maxima_init(&maxima[i], &program->tables[i]);
	for (unsigned space = 0; space < NPU_SPACES; space++)
		out[space] = (struct npu_reach){ 0 };
	if (ok) {
		/* Names first: they tell a reader more than an instruction that ends at the same byte. */
		reach_of_names(program, out);
		for (uint32_t i = 0; i < program->ninsns; i++)
			reach_of_insn(program, i, maxima, out);
	}
	for (uint32_t i = 0; maxima && i < program->ntables; i++)
		free(maxima[i].runs);
	free(maxima);
	return ok;
}

char *npu_reach_text(const struct npu_program *program, const struct npu_reach *reach, char *out, uint64_t size)
{
	switch (reach->by) {
	case NPU_REACHED_BY_NONE:
		snprintf(out, size, "nothing");
		break;
	case NPU_REACHED_BY_BUFFER:
		snprintf(out, size, "buffer %s", program->buffers[reach->index].name);
		break;
	case NPU_REACHED_BY_TENSOR:
		snprintf(out, size, "tensor %s", program->tensors[reach->index].name);
		break;
	case NPU_REACHED_BY_TABLE:
		snprintf(out, size, "table %s", program->tables[reach->index].name);
		break;
	case NPU_REACHED_BY_INSN:
		snprintf(out, size, "#%" PRIu32 " %s (%s)", reach->index,
			 npu_op_mnemonic(program->insns[reach->index].op), reach->operand);
		break;
	}
	return out;
}
