/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a loader lets pass can be executed: random instructions of every kind, made from the table alone. The
 * sanitizers say whether memory was respected. */
#include "isa/field.h"
#include "tests/isa/exec_twin.h"

enum { TRIALS = 3000, ENTRIES = 8 };

/* Numbers that are often small, so that many instructions are legal. */
static uint64_t pick_value(uint64_t *random, const struct npu_field *field)
{
	const char *const *names;
	unsigned n = npu_kind_names(field->kind, &names);
	if (n)
		return next_random(random) % n;
	uint64_t r = next_random(random);
	switch (r % 8) {
	case 0:
		return field->required ? 1 : npu_field_initial(field);
	case 1:
		return r >> 8 & npu_field_max(field);
	default:
		return (r >> 8) % (field->kind == NPU_KIND_LOCAL || field->kind == NPU_KIND_DRAM ? 20000 : 70) &
		       npu_field_max(field);
	}
}

static struct npu_insn pick_insn(uint64_t *random, const struct npu_op_info *info)
{
	struct npu_insn insn = npu_insn_initial(info->op);
	for (const struct npu_field *field = info->format->fields; field->name; field++)
		if (field->required || next_random(random) % 2)
			npu_field_set(field, &insn, pick_value(random, field));
	if (info->op == NPU_OP_MATMUL)
		insn.matmul.dst |= NPU_ACC_BIT;
	if (info->op == NPU_OP_VROPE) /* pairs turn: an odd number is never legal */
		insn.rope.rotary &= ~1u;
	if (info->format == npu_op_info(NPU_OP_GATHER)->format)
		insn.paged.table = 0;
	return insn;
}

/* 1 executed, 0 refused by the loader or out of bounds. */
static unsigned run(const struct npu_insn *insn)
{
	static const uint32_t entries[ENTRIES] = { 3, 0, 7, 100, 1, 2, 4000, 5 };
	uint32_t region = NPU_NO_REGION;
	struct npu_place place = { .line = 1 };
	const char *file = "any";
	struct npu_table table = { .name = "t", .addr = 1 << 20, .count = ENTRIES, .entries = entries };
	struct npu_program program = { .name = "any",
				       .ninsns = 1,
				       .ntables = 1,
				       .nfiles = 1,
				       .insns = insn,
				       .region = &region,
				       .place = &place,
				       .tables = &table,
				       .files = &file };
	struct npu_exec_options options = {
		.sram_bytes = TWIN_SRAM, .accum_bytes = TWIN_ACCUM, .max_dram_bytes = 64 << 20, .writers = true
	};
	struct npu_error err;
	if (!npu_program_check(&program, &err))
		return 0;
	struct npu_exec *e = npu_exec_new(&program, &options, &err);
	twin_must(e, &err);
	bool done = npu_exec_run(e, &err);
	if (!done && err.code != NPU_ERR_BOUNDS && err.code != NPU_ERR_MEMORY)
		ck_abort_msg("%s", err.text);
	npu_exec_free(e);
	return done;
}

START_TEST(every_legal_instruction_runs_or_names_what_is_out_of_bounds)
{
	uint64_t random = 1;
	for (unsigned op = 0; op < npu_nops; op++) {
		unsigned executed = 0;
		for (int trial = 0; trial < TRIALS && executed < TRIALS / 10; trial++) {
			struct npu_insn insn = pick_insn(&random, &npu_ops[op]);
			executed += run(&insn);
		}
		MUST(executed >= 20, "only %u of %s were executed", executed, npu_op_mnemonic(npu_ops[op].op));
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exec_any");
	TCase *t = tcase_create("exec_any");
	tcase_add_test(t, every_legal_instruction_runs_or_names_what_is_out_of_bounds);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return npu_suite_run(suite());
}
