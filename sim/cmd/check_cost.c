/* SPDX-License-Identifier: Apache-2.0 */
/* The cycles that redundant waits cost: the program is run with and without them. SystemC runs once a process, so each run
 * is a child that tells its cycles through a pipe. */
#include "sim/cmd/check_output.h"
#include "sim/simulate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_and_tell(const struct work *work, const struct npu_program *program, int fd)
{
	struct npu_error err = { 0 };
	struct simulation_request request = { .hw = &work->config.hw,
					      .dram_part = work->config.dram_part,
					      .program = program,
					      .command = "check",
					      .subject = work->subject };
	struct simulation *simulation = simulate(&request, &err);
	uint64_t cycles = simulation ? simulation_cycles(simulation) : 0;
	/* Buffers that were copied with this process are its parent's to flush. */
	_exit(write(fd, &cycles, sizeof cycles) == (ssize_t)sizeof cycles ? 0 : 1);
}

/* 0 when it does not run to its end, or no process can be made. */
static uint64_t cycles_of(const struct work *work, const struct npu_program *program)
{
	int ends[2], status;
	uint64_t cycles = 0;
	if (pipe(ends) != 0)
		return 0;
	pid_t child = fork();
	if (child == 0)
		run_and_tell(work, program, ends[1]);
	close(ends[1]);
	bool told = child > 0 && read(ends[0], &cycles, sizeof cycles) == (ssize_t)sizeof cycles;
	close(ends[0]);
	if (child > 0)
		waitpid(child, &status, 0);
	return told ? cycles : 0;
}

static void drop(struct npu_sem_ref refs[NPU_SYNC_SLOTS], const bool *out)
{
	unsigned kept = 0;
	for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++)
		if (refs[slot].count && !out[refs[slot].sem])
			refs[kept++] = refs[slot];
	while (kept < NPU_SYNC_SLOTS)
		refs[kept++] = (struct npu_sem_ref){ 0 };
}

/* The program without the semaphores `out`, which nobody declares less; NULL when it is not as right as it was. */
static struct npu_insn *without(const struct npu_program *program, const bool *out, struct npu_program *copy)
{
	struct npu_insn *insns = malloc(program->ninsns * sizeof *insns);
	struct npu_error err = { 0 };
	if (!insns)
		return NULL;
	memcpy(insns, program->insns, program->ninsns * sizeof *insns);
	for (uint32_t i = 0; i < program->ninsns; i++) {
		drop(insns[i].wait, out);
		drop(insns[i].post, out);
	}
	*copy = *program;
	copy->insns = insns;
	struct npu_check_report *report = npu_check(copy, NULL, &err);
	bool right = report && report->errors == 0;
	npu_check_free(report);
	if (!right) {
		free(insns);
		return NULL;
	}
	return insns;
}

/* The semaphores that a finding stands for: those whose first wait is written on its line. */
static bool *semaphores_of(const struct check_result *r, const struct npu_finding *f)
{
	const struct npu_program *p = r->work->program;
	const struct npu_place *here = &p->place[f->site[0].insn];
	bool *out = calloc(p->nsems + (size_t)1, sizeof *out);
	for (uint32_t s = 0; out && s < p->nsems; s++) {
		uint32_t first = r->report->redundant[s];
		if (first == NPU_CHECK_NOBODY)
			continue;
		const struct npu_place *place = &p->place[first];
		bool same_line = f->count > 1 && here->line && place->line == here->line && place->file == here->file;
		out[s] = s == f->sem || same_line;
	}
	return out;
}

static uint64_t cycles_without(const struct check_result *r, const struct npu_finding *f)
{
	struct npu_program copy;
	bool *out = semaphores_of(r, f);
	struct npu_insn *insns = out ? without(r->work->program, out, &copy) : NULL;
	uint64_t cycles = insns ? cycles_of(r->work, &copy) : 0;
	free(insns);
	free(out);
	return cycles;
}

void check_measure(struct check_result *r)
{
	const struct npu_check_report *report = r->report;
	unsigned measured = 0;
	if (!report->redundant || report->errors)
		return;
	for (uint32_t i = 0; i < report->nfindings && measured < CHECK_COSTS_MAX; i++) {
		if (report->findings[i].kind != NPU_CHECK_REDUNDANT)
			continue;
		if (!measured++) {
			r->cycles = cycles_of(r->work, r->work->program);
			r->costs = calloc(report->nfindings, sizeof *r->costs);
		}
		if (!r->cycles || !r->costs)
			return;
		r->costs[i].cycles = cycles_without(r, &report->findings[i]);
	}
}
