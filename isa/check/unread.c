/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that work in vain: nobody reads a byte of all that they write before it is overwritten or given up. The
 * program is walked from its end to its beginning, with the bytes that from there on are written before they are read.
 */
#include "isa/check/byteset.h"
#include "isa/check/checker.h"

#include <stdlib.h>

enum { SPACES = NPU_SPACE_DRAM + 1 };

struct unread {
	struct npu_checker *c;
	struct npu_byteset dead[SPACES];
	uint32_t *by_first; /* buffers in the order in which their lives begin */
	uint32_t left;      /* those whose life begins at a later instruction are done */
};

static struct npu_byteset *set_of(struct unread *u, const struct npu_buffer *b)
{
	return &u->dead[npu_is_acc(b->local) ? NPU_SPACE_ACCUM : NPU_SPACE_SRAM];
}

/* At the end of the program local memories mean nothing, nor do temp tensors. The rest of DRAM is what the program is
 * for. */
static void begin(struct unread *u)
{
	const struct npu_program *program = u->c->program;
	const struct npu_ranges *all = &u->c->ranges;
	uint64_t reach[SPACES] = { 0 };
	for (uint64_t i = 0; i < all->count; i++) {
		uint64_t end = npu_range_end(&all->ranges[i]), *most = &reach[all->ranges[i].space];
		*most = end > *most ? end : *most;
	}
	npu_byteset_add(&u->dead[NPU_SPACE_SRAM], 0, reach[NPU_SPACE_SRAM]);
	npu_byteset_add(&u->dead[NPU_SPACE_ACCUM], 0, reach[NPU_SPACE_ACCUM]);
	for (uint32_t i = 0; i < program->ntensors; i++)
		if (program->tensors[i].dir == NPU_TENSOR_TEMP)
			npu_byteset_add(&u->dead[NPU_SPACE_DRAM], program->tensors[i].addr,
					program->tensors[i].addr + program->tensors[i].bytes);
}

/* Before its life a buffer's bytes are not its own. */
static void leave_lives(struct unread *u, uint32_t insn)
{
	const struct npu_buffer *buffers = u->c->program->buffers;
	for (; u->left && buffers[u->by_first[u->left - 1]].first > insn; u->left--) {
		const struct npu_buffer *b = &buffers[u->by_first[u->left - 1]];
		uint64_t from = npu_local_offset(b->local);
		npu_byteset_add(set_of(u, b), from, from + b->bytes);
	}
}

static bool is_dead(const struct unread *u, const struct npu_range *r)
{
	uint64_t first, last;
	for (uint32_t row = 0; row < r->rows; row++) {
		uint64_t lo = r->base + row * r->stride;
		if (npu_byteset_missing(&u->dead[r->space], lo, lo + r->row_bytes, &first, &last))
			return false;
	}
	return true;
}

static void change(struct unread *u, const struct npu_range *r)
{
	for (uint32_t row = 0; row < r->rows; row++) {
		uint64_t lo = r->base + row * r->stride, hi = lo + r->row_bytes;
		if (r->write)
			npu_byteset_add(&u->dead[r->space], lo, hi);
		else
			npu_byteset_remove(&u->dead[r->space], lo, hi);
	}
}

/* Whether an instruction writes, and nothing of that is read; steps over it. The reads of an instruction come before
 * its writes, so in this direction after them. */
static bool step_back(struct unread *u, uint32_t insn, bool *writes)
{
	const struct npu_ranges *all = &u->c->ranges;
	bool vain = true;
	*writes = false;
	for (uint64_t i = all->first[insn]; i < all->first[insn + 1]; i++)
		if (all->ranges[i].write) {
			*writes = true;
			vain = vain && is_dead(u, &all->ranges[i]);
		}
	for (uint64_t i = all->first[insn + 1]; i-- > all->first[insn];)
		change(u, &all->ranges[i]);
	return *writes && vain;
}

static void tell(struct npu_checker *c, uint32_t insn)
{
	const struct npu_range *r = &c->ranges.ranges[c->ranges.first[insn]];
	while (!r->write)
		r++;
	bool is_new;
	struct npu_finding like = npu_check_about(c, r);
	struct npu_finding_key key = { NPU_CHECK_UNREAD, { npu_checker_line(c, insn) } };
	struct npu_finding *f = npu_checker_add(c, &key, &like, &is_new);
	if (!f || !is_new)
		return;
	enum npu_space space = (enum npu_space)r->space;
	f->bytes = (struct npu_check_bytes){ space, r->base, npu_range_end(r) - 1, r->rows * r->row_bytes,
					     npu_check_holder(c->program, insn, space, r->base) };
	f->text = npu_checker_text(c, "nobody reads what %s writes: %s%s%s", npu_check_insn_name(c, insn).text,
				   f->bytes.name, f->bytes.name[0] ? ", " : "", npu_check_bytes_name(&f->bytes).text);
	f->notes =
	    npu_checker_text(c, "what other instructions of this kind write is read: is an address wrong, here or "
				"where it should be read?");
}

/* A program of which nothing is read, as one that only measures loads, is as it was meant: only those are told of whose
 * like is of use elsewhere. */
void npu_check_unread(struct npu_checker *c)
{
	struct unread u = { .c = c, .by_first = npu_checker_lives(c->program), .left = c->program->nbuffers };
	bool of_use[256] = { false }, writes, *vain = calloc(c->program->ninsns + (size_t)1, sizeof *vain);
	c->out_of_memory |= !vain || !u.by_first;
	if (!c->out_of_memory)
		begin(&u);
	for (uint32_t insn = c->program->ninsns; insn-- > 0 && !c->out_of_memory;) {
		leave_lives(&u, insn);
		vain[insn] = step_back(&u, insn, &writes);
		of_use[c->program->insns[insn].op] |= writes && !vain[insn];
	}
	for (unsigned space = 0; space < SPACES; space++) {
		c->out_of_memory |= u.dead[space].failed;
		npu_byteset_fini(&u.dead[space]);
	}
	for (uint32_t insn = 0; insn < c->program->ninsns && !c->out_of_memory; insn++)
		if (vain[insn] && of_use[c->program->insns[insn].op])
			tell(c, insn);
	free(vain);
	free(u.by_first);
}
