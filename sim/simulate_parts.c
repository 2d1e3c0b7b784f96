/* SPDX-License-Identifier: Apache-2.0 */
/* A run from its parts: record, machine, account. */
#include "sim/simulate_parts.h"
#include "isa/units.h"
#include "sim/critical.h"
#include "sim/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Seconds until a run counts as long; between lines. */
static const double LONG_RUN = 2, EVERY = 0.2;

static bool watch(const struct simulation_request *r, const struct probe *probe, simulate_machine *machine,
		  struct machine_totals *totals, struct npu_error *err)
{
	struct progress progress;
	progress_begin(&progress, r->progress, probe, r->program->ninsns, LONG_RUN, EVERY);
	struct probe watched = progress_probe(&progress);
	bool ok = machine(r, &watched, totals, err);
	progress_end(&progress);
	return ok;
}

static bool find_critical(struct simulation *s, struct npu_error *err)
{
	s->critical = calloc(1, sizeof(*s->critical));
	if (!s->critical)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the critical path");
	return critical_init(s->critical, s, err);
}

static bool run(struct simulation *s, simulate_machine *machine, struct npu_error *err)
{
	const struct simulation_request *r = &s->request;
	if (!record_init(&s->record, r->program, r->hw->dram.channels, r->want_record))
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the record of %s",
				npu_number_of(r->program->ninsns, "instruction").text);
	s->record.keep_requests = r->want_requests;
	struct probe probe = record_probe(&s->record);
	bool ok = r->progress ? watch(r, &probe, machine, &s->totals, err) : machine(r, &probe, &s->totals, err);
	return ok && record_finish(&s->record, s->totals.cycles, err) &&
	       account_init(&s->account, r, &s->record, &s->totals, err) && (!r->want_record || find_critical(s, err));
}

struct simulation *simulate_on(simulate_machine *machine, const struct simulation_request *request,
			       struct npu_error *err)
{
	struct simulation *s = calloc(1, sizeof(*s));
	if (!s) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		return NULL;
	}
	s->request = *request;
	if (!run(s, machine, err)) {
		simulation_free(s);
		return NULL;
	}
	return s;
}

void simulation_free(struct simulation *s)
{
	if (!s)
		return;
	if (s->critical)
		critical_fini(s->critical);
	free(s->critical);
	account_fini(&s->account);
	record_fini(&s->record);
	free(s);
}

uint64_t simulation_cycles(const struct simulation *s) { return s->account.cycles; }

const char *simulate_arg_text(const struct npu_kernel *kernel, const struct npu_args *args, unsigned param,
			      char out[32])
{
	const struct npu_param *p = &kernel->params[param];
	switch (p->type) {
	case NPU_PARAM_CHOICE:
		return p->choices[args->value[param]];
	case NPU_PARAM_INT:
		break;
	}
	snprintf(out, 32, "%" PRId64, args->value[param]);
	return out;
}

const char *simulate_hw_name(const struct hw *hw)
{
	const char *slash = strrchr(hw->name, '/');
	return slash ? slash + 1 : hw->name;
}

const char *simulate_title(const struct simulation_request *r)
{
	return r->title ? r->title : simulate_hw_name(r->hw);
}

const char *simulate_ideal_name(unsigned bit)
{
	static const struct {
		enum machine_ideal part;
		const char *name;
	} parts[] = {
		{ MACHINE_IDEAL_DRAM, "dram" },     { MACHINE_IDEAL_SRAM, "sram" },         { MACHINE_IDEAL_VECTOR, "vector" },
		{ MACHINE_IDEAL_MATRIX, "matrix" }, { MACHINE_IDEAL_DISPATCH, "dispatch" },
	};
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].part == 1u << bit)
			return parts[i].name;
	return NULL;
}
