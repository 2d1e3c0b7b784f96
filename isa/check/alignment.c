/* SPDX-License-Identifier: Apache-2.0 */
/* Bases and strides off the DRAM access granule or the SRAM bank word, with what that costs. */
#include "isa/check/checker.h"
#include "isa/units.h"

/* Bytes that the rows of a range move more than they would if each began at a multiple of `unit`. */
static uint64_t cost_of(const struct npu_range *r, uint64_t unit)
{
	uint64_t cost = 0;
	if (r->base % unit == 0 && (r->rows == 1 || r->stride % unit == 0))
		return 0;
	for (uint32_t row = 0; row < r->rows; row++) {
		uint64_t lo = r->base + row * r->stride, units = (r->row_bytes + unit - 1) / unit;
		uint64_t touched = (lo + r->row_bytes + unit - 1) / unit - lo / unit;
		cost += (touched - units) * unit;
	}
	return cost;
}

static void check(struct npu_checker *c, const struct npu_range *r, enum npu_check_kind kind, uint64_t unit)
{
	uint64_t cost = unit ? cost_of(r, unit) : 0;
	if (!cost)
		return;
	bool is_new;
	struct npu_finding like = npu_check_about(c, r);
	struct npu_finding_key key = { kind,
				       { npu_checker_line(c, r->insn), (uint64_t)(uintptr_t)like.site[0].operand } };
	struct npu_finding *f = npu_checker_add(c, &key, &like, &is_new);
	if (!f)
		return;
	f->cost += cost;
	if (!is_new)
		return;
	f->bytes =
	    (struct npu_check_bytes){ (enum npu_space)r->space, r->base, npu_range_end(r) - 1, r->rows * r->row_bytes,
				      npu_check_holder(c->program, r->insn, (enum npu_space)r->space, r->base) };
}

static const char *unit_name(enum npu_check_kind kind)
{
	return kind == NPU_CHECK_BANK_WORD ? "bank word" : "DRAM granule";
}

/* Texts come last: only then the cost is known. */
static void write_texts(struct npu_checker *c, enum npu_check_kind kind, uint64_t unit)
{
	for (uint32_t i = 0; i < c->nfindings; i++) {
		struct npu_finding *f = &c->findings[i];
		if (f->kind != kind)
			continue;
		f->text = npu_checker_text(c, "%s (%s) %s off the %s of %s%s%s: %s moved in vain",
					   npu_check_insn_name(c, f->site[0].insn).text, f->site[0].operand,
					   f->bytes.first % unit ? "begins" : "has a stride", unit_name(kind),
					   npu_bytes_text(unit).text, f->bytes.name[0] ? ", in " : "", f->bytes.name,
					   npu_number_of(f->cost, "byte").text);
	}
}

void npu_check_alignment(struct npu_checker *c)
{
	const struct npu_capacity *capacity = c->options.capacity;
	if (!capacity)
		return;
	for (uint64_t i = 0; i < c->ranges.count && !c->out_of_memory; i++) {
		const struct npu_range *r = &c->ranges.ranges[i];
		if (r->space == NPU_SPACE_DRAM)
			check(c, r, NPU_CHECK_DRAM_GRANULE, capacity->dram_granule);
		else if (r->space == NPU_SPACE_SRAM)
			check(c, r, NPU_CHECK_BANK_WORD, capacity->sram_word_bytes);
	}
	write_texts(c, NPU_CHECK_DRAM_GRANULE, capacity->dram_granule);
	write_texts(c, NPU_CHECK_BANK_WORD, capacity->sram_word_bytes);
}
