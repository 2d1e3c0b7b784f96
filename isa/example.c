/* SPDX-License-Identifier: Apache-2.0 */
/* Examples are found, not listed: usual values, then a search among the few that legality leaves. */
#include "isa/example.h"

#include "isa/text/syntax.h"

#include <stdio.h>
#include <string.h>

/* A tile as kernels move them: 64 rows of 128 elements. ROOM holds one in any type. */
enum { ROWS = 64, COLS = 128, ROOM = ROWS * COLS * 4, DRAM_ADDR = 0x40000, TABLE_ADDR = 0x1000 };

static uint64_t usual_number(const struct npu_field *field)
{
	if (strcmp(field->unit, "row") == 0 || strcmp(field->unit, "column") == 0)
		return ROWS;
	if (strcmp(field->unit, "element") == 0)
		return COLS;
	/* a page of fp16 */
	if (strcmp(field->unit, "byte") == 0)
		return ROWS * COLS * 2;
	return 1;
}

static struct npu_insn usual_insn(const struct npu_op_info *info)
{
	struct npu_insn insn = npu_insn_initial(info->op);
	uint64_t local = 0;
	for (const struct npu_field *field = info->format->fields; field->name; field++)
		if (field->kind == NPU_KIND_LOCAL) {
			npu_field_set(field, &insn, local);
			local += ROOM;
		} else if (field->kind == NPU_KIND_DRAM) {
			npu_field_set(field, &insn, DRAM_ADDR);
		} else if (field->required && field->kind == NPU_KIND_UINT) {
			npu_field_set(field, &insn, usual_number(field));
		}
	return insn;
}

static bool has_kind(const struct npu_format *format, enum npu_field_kind kind)
{
	for (const struct npu_field *field = format->fields; field->name; field++)
		if (field->kind == kind)
			return true;
	return false;
}

/* An assembly with what instructions of the format refer to: pages, or for those without operands two semaphores each,
 * start[i] and then done[i]. */
static struct npu_assembly *new_assembly(const struct npu_format *format, unsigned ninsns)
{
	static const uint32_t pages[] = { 3, 1, 4 };
	static const char *const sems[] = { "start", "done" };
	const struct npu_table table = { .name = "pages", .addr = TABLE_ADDR, .count = 3, .entries = pages };
	struct npu_assembly *assembly = npu_assembly_new("examples");
	char name[32];
	if (assembly && has_kind(format, NPU_KIND_TABLE))
		npu_assembly_table(assembly, &table);
	for (unsigned s = 0; assembly && !format->nfields && s < 2; s++)
		for (unsigned i = 0; i < ninsns; i++) {
			snprintf(name, sizeof name, "%s[%u]", sems[s], i);
			npu_assembly_sem(assembly, name, 0, 0);
		}
	return assembly;
}

static bool is_legal(const struct npu_format *format, const struct npu_insn *insn)
{
	struct npu_error err;
	struct npu_assembly *assembly = new_assembly(format, 0);
	if (!assembly)
		return false;
	npu_assembly_insn(assembly, insn);
	struct npu_program *program = npu_assembly_finish(assembly, &err);
	npu_program_free(program);
	return program != NULL;
}

/* The types that differ from their initial ones, by bit: int8, the type of quantised operands. */
static void set_types(const struct npu_format *format, unsigned changed, struct npu_insn *insn)
{
	for (const struct npu_field *field = format->fields; field->name; field++)
		if (field->kind == NPU_KIND_DTYPE) {
			npu_field_set(field, insn, changed & 1 ? NPU_INT8 : npu_field_initial(field));
			changed >>= 1;
		}
}

/* The first local address is the destination. */
static void set_place(const struct npu_format *format, bool accumulators, struct npu_insn *insn)
{
	for (const struct npu_field *field = format->fields; field->name; field++)
		if (field->kind == NPU_KIND_LOCAL) {
			npu_field_set(field, insn, accumulators ? NPU_ACC_BIT : 0);
			return;
		}
}

static bool make_legal(const struct npu_format *format, struct npu_insn *insn)
{
	unsigned types = 0;
	for (const struct npu_field *field = format->fields; field->name; field++)
		types += field->kind == NPU_KIND_DTYPE;
	for (unsigned changed = 0; changed < 1u << types; changed++)
		for (unsigned accumulators = 0; accumulators < 2; accumulators++) {
			set_types(format, changed, insn);
			set_place(format, accumulators, insn);
			if (is_legal(format, insn))
				return true;
		}
	return false;
}

/* Looks for a flag or a named value with which the instruction uses an address. */
static bool bring_into_use(const struct npu_format *format, const struct npu_field *address, struct npu_insn *insn)
{
	const char *const *names;
	for (const struct npu_field *field = format->fields; field->name; field++) {
		unsigned n = field->kind == NPU_KIND_FLAG ? 2 : npu_kind_names(field->kind, &names);
		for (unsigned value = 1; field->kind != NPU_KIND_DTYPE && value < n; value++) {
			struct npu_insn changed = *insn;
			npu_field_set(field, &changed, value);
			if (npu_syntax_uses(&changed, address) && is_legal(format, &changed)) {
				*insn = changed;
				return true;
			}
		}
	}
	return false;
}

static bool make_example(const struct npu_op_info *info, struct npu_insn *insn)
{
	*insn = usual_insn(info);
	if (!make_legal(info->format, insn))
		return false;
	for (const struct npu_field *field = info->format->fields; field->name; field++)
		if (field->kind == NPU_KIND_LOCAL && !npu_syntax_uses(insn, field) &&
		    !bring_into_use(info->format, field, insn))
			npu_field_set(field, insn, npu_field_initial(field));
	return true;
}

struct npu_program *npu_example_program(const struct npu_format *format, struct npu_error *err)
{
	uint16_t ninsns = 0, at = 0;
	for (unsigned i = 0; i < npu_nops; i++)
		ninsns += npu_ops[i].format == format;
	struct npu_assembly *assembly = new_assembly(format, ninsns);
	if (!assembly) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		return NULL;
	}
	for (unsigned i = 0; i < npu_nops; i++) {
		struct npu_insn insn;
		if (npu_ops[i].format != format)
			continue;
		if (!make_example(&npu_ops[i], &insn)) {
			npu_fail(err, NPU_ERR_OPERAND, "%s: no example is legal", npu_ops[i].mnemonic);
			npu_assembly_free(assembly);
			return NULL;
		}
		if (!format->nfields) {
			insn.wait[0] = (struct npu_sem_ref){ at, 1 };
			insn.post[0] = (struct npu_sem_ref){ (uint16_t)(ninsns + at), 1 };
		}
		npu_assembly_insn(assembly, &insn);
		at++;
	}
	return npu_assembly_finish(assembly, err);
}
