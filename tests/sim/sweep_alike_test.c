/* SPDX-License-Identifier: Apache-2.0 */
/* Points that a sweep takes for alike have the same figures, to the last digit; and those are many. */
#include "isa/field.h"
#include "sim/config.h"
#include "sim/forks.h"
#include "sim/sweep/alike.h"
#include "sim/sweep/figures.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/machine_random.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 4, CASES = 150, PROGRAMS = 300, TEXT = 8192 };

struct run {
	struct config config;
	struct npu_program *program; /* NULL: it does not fit */
	struct alike alike;
};

struct told {
	char text[TEXT];
};

static bool run_there(void *context, unsigned i, void *answer, struct npu_error *err)
{
	const struct run *r = &((const struct run *)context)[i];
	struct told *told = answer;
	if (!r->program)
		return true;
	struct simulation_request request = { .hw = &r->config.hw, .dram_part = r->config.dram_part, .program = r->program,
					      .command = "sweep", .subject = "" };
	struct simulation *s = simulate(&request, err);
	if (!s)
		return false;
	char *text = json_dumps(sweep_figures_of(s), JSON_COMPACT | JSON_REAL_PRECISION(17));
	snprintf(told->text, sizeof told->text, "%s", text);
	return true;
}

static const char *no_name(void *context, unsigned i)
{
	(void)context;
	(void)i;
	return "run";
}

/* Runs all and compares those of the same kind; how many pairs were alike. */
static unsigned compare(struct run *runs, unsigned n, const char *what)
{
	struct told *told = calloc(n, sizeof *told);
	struct npu_error err = { 0 };
	unsigned pairs = 0;
	ck_assert_ptr_nonnull(told);
	ck_assert_msg(forks_run(&(struct forks){ .n = n, .parallel = 2, .ctx = runs, .answers = told, .answer_bytes = sizeof *told,
						 .run = run_there, .name = no_name }, &err), "%s: %s", what, err.text);
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = i + 1; runs[i].program && j < n; j++) {
			if (!runs[j].program || memcmp(&runs[i].alike, &runs[j].alike, sizeof runs[i].alike) != 0)
				continue;
			pairs++;
			ck_assert_msg(strlen(told[i].text) > 100 && strlen(told[i].text) + 1 < TEXT, "%s", told[i].text);
			ck_assert_msg(strcmp(told[i].text, told[j].text) == 0, "%s is alike, not the same:\n%s\n%s", what, told[i].text,
				      told[j].text);
		}
	free(told);
	return pairs;
}

static void set(struct config *config, const char *assignment)
{
	struct npu_error err = { 0 };
	ck_assert_msg(config_set(config, assignment, &err), "%s", err.text);
}

static void machine_of(struct config *config, const char *preset, const char *assignment)
{
	struct npu_error err = { 0 };
	config_init(config);
	ck_assert(config_base(config, preset, &err));
	set(config, assignment);
	ck_assert_msg(config_finish(config, &err), "%s", err.text);
}

START_TEST(kernels_that_are_alike_have_the_same_figures)
{
	static const char *const sizes[SIZES] = { "sram.size=256KiB", "sram.size=512KiB", "sram.size=1MiB", "sram.size=2MiB" };
	static const char *const presets[] = { "server", "edge-1mb", "edge-2mb" };
	struct case_rng rng = { 4711 };
	unsigned pairs = 0, kernels = 0;
	while (npu_kernels[kernels])
		kernels++;
	for (unsigned c = 0; c < CASES; c++) {
		const struct npu_kernel *kernel = npu_kernels[c % kernels];
		struct npu_args args;
		struct run runs[SIZES] = { 0 };
		const char *preset = presets[c / kernels % 3];
		npu_args_init(kernel, &args);
		random_args(kernel, &args, c % 2 ? 96 : 256, &rng);
		for (unsigned i = 0; i < SIZES; i++) {
			struct npu_args own = args;
			machine_of(&runs[i].config, preset, sizes[i]);
			struct npu_capacity capacity = hw_capacity(&runs[i].config.hw);
			runs[i].program = npu_kernel_build(kernel, &capacity, &own, NULL);
			if (runs[i].program && runs[i].program->ninsns <= 3000)
				runs[i].alike = alike_of(runs[i].program, &runs[i].config);
			else {
				npu_program_free(runs[i].program);
				runs[i].program = NULL;
			}
		}
		pairs += compare(runs, SIZES, kernel->name);
		for (unsigned i = 0; i < SIZES; i++) {
			npu_program_free(runs[i].program);
			config_fini(&runs[i].config);
		}
	}
	/* Of 6 pairs a case. */
	ck_assert_msg(pairs >= CASES, "%u pairs are alike", pairs);
}
END_TEST

static uint64_t moved(uint64_t address, uint64_t from, uint64_t to) { return address / from * to + address % from; }

/* The program with each group's bytes where a larger SRAM has that group. */
static struct npu_program *move(const struct npu_program *p, uint64_t from, uint64_t to)
{
	struct npu_program *q = malloc(sizeof *q);
	struct npu_insn *insns = malloc(p->ninsns * sizeof *insns);
	struct npu_buffer *buffers = calloc(p->nbuffers + 1, sizeof *buffers);
	ck_assert(q && insns && buffers);
	*q = *p;
	memcpy(insns, p->insns, p->ninsns * sizeof *insns);
	for (uint32_t i = 0; i < p->ninsns; i++) {
		const struct npu_format *format = npu_op_info(insns[i].op)->format;
		if (format == npu_op_info(NPU_OP_GATHER)->format && insns[i].paged.odd && !npu_is_acc(insns[i].paged.local)) {
			uint64_t local = insns[i].paged.local, odd = local + (uint64_t)insns[i].paged.odd;
			insns[i].paged.odd = (int32_t)(moved(odd, from, to) - moved(local, from, to));
		}
		for (unsigned f = 0; f < format->nfields; f++) {
			uint64_t at = npu_field_get(&format->fields[f], &insns[i]);
			if (format->fields[f].kind == NPU_KIND_LOCAL && !npu_is_acc((uint32_t)at))
				npu_field_set(&format->fields[f], &insns[i], moved(at, from, to));
		}
	}
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		buffers[i] = p->buffers[i];
		if (!npu_is_acc(buffers[i].local))
			buffers[i].local = (uint32_t)moved(buffers[i].local, from, to);
	}
	q->insns = insns;
	q->buffers = buffers;
	return q;
}

START_TEST(random_programs_that_are_alike_have_the_same_figures)
{
	unsigned pairs = 0;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		struct run runs[2] = { 0 };
		char what[32];
		snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
		runs[0].config.hw = runs[1].config.hw = machine_random_hw(seed);
		runs[1].config.hw.sram.size *= 3;
		runs[0].program = machine_random_program(seed, &runs[0].config.hw, 40);
		uint64_t group = runs[0].config.hw.sram.size / runs[0].config.hw.sram.groups;
		runs[1].program = move(runs[0].program, group, 3 * group);
		for (unsigned i = 0; i < 2; i++)
			runs[i].alike = alike_of(runs[i].program, &runs[i].config);
		pairs += compare(runs, 2, what);
		free((void *)runs[1].program->insns);
		free((void *)runs[1].program->buffers);
		free(runs[1].program);
		npu_program_free(runs[0].program);
	}
	ck_assert_msg(pairs >= PROGRAMS / 10, "%u of %d are alike", pairs, PROGRAMS);
}
END_TEST

START_TEST(what_decides_is_not_alike)
{
	struct config one, other;
	struct npu_args args;
	const struct npu_kernel *kernel = npu_kernel_find("gemm");
	npu_args_init(kernel, &args);
	machine_of(&one, "edge-1mb", "sram.size=1MiB");
	machine_of(&other, "edge-1mb", "sram.bank_bytes=16");
	struct npu_capacity capacity = hw_capacity(&one.hw);
	struct npu_program *p = npu_kernel_build(kernel, &capacity, &args, NULL);
	ck_assert_ptr_nonnull(p);
	struct alike a = alike_of(p, &one), b = alike_of(p, &other);
	ck_assert(a.machine != b.machine);
	/* The same place in another group meets others. */
	struct npu_program q = *p;
	struct npu_insn *insns = malloc(p->ninsns * sizeof *insns);
	memcpy(insns, p->insns, p->ninsns * sizeof *insns);
	q.insns = insns;
	uint32_t load = 0;
	while (insns[load].op != NPU_OP_LOAD)
		load++;
	insns[load].dma.local ^= (uint32_t)(one.hw.sram.size / one.hw.sram.groups);
	ck_assert(alike_of(&q, &one).program != a.program);
	/* What crosses the end of a group depends on where that is. */
	insns[load].dma.local = (uint32_t)(one.hw.sram.size / one.hw.sram.groups) - 16;
	struct config larger;
	machine_of(&larger, "edge-1mb", "sram.size=2MiB");
	ck_assert(alike_of(&q, &one).machine != alike_of(&q, &larger).machine);
	ck_assert(alike_of(p, &one).machine == alike_of(p, &larger).machine);
	free(insns);
	npu_program_free(p);
	config_fini(&one);
	config_fini(&other);
	config_fini(&larger);
}
END_TEST

START_TEST(a_table_gives_what_was_put_in_until_it_is_full)
{
	struct known *k = known_new();
	unsigned kept = 0;
	ck_assert_ptr_nonnull(k);
	ck_assert_ptr_null(known_find(k, (struct alike){ 1, 2 }));
	for (uint64_t i = 0; i < 40000; i++) {
		json_t *o = json_pack("{s:I}", "cycles", (json_int_t)i);
		known_add(k, (struct alike){ i * 7919, i }, o);
		json_decref(o);
	}
	for (uint64_t i = 0; i < 40000; i++) {
		json_t *o = known_find(k, (struct alike){ i * 7919, i });
		kept += o != NULL;
		ck_assert(!o || (uint64_t)json_integer_value(json_object_get(o, "cycles")) == i);
		json_decref(o);
	}
	ck_assert_msg(kept > 12000 && kept <= 16384, "%u kept", kept);
	known_free(k);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sweep_alike");
	TCase *t = tcase_create("alike");
	tcase_set_timeout(t, 300);
	tcase_add_test(t, kernels_that_are_alike_have_the_same_figures);
	tcase_add_test(t, random_programs_that_are_alike_have_the_same_figures);
	tcase_add_test(t, what_decides_is_not_alike);
	tcase_add_test(t, a_table_gives_what_was_put_in_until_it_is_full);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
