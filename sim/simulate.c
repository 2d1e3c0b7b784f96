/* SPDX-License-Identifier: Apache-2.0 */
/* The real machine behind simulate(). */
#include "sim/simulate.h"

#include "sim/memory_plugin.h"
#include "sim/played.h"
#include "sim/simulate_parts.h"

static bool run(const struct simulation_request *r, const struct probe *probe, struct machine_totals *totals,
		struct npu_error *err)
{
	if (r->played)
		return played_machine(r, probe, totals, err);
	if (r->memory)
		return machine_run_memory(r->hw, r->program, r->ideal, &r->memory->machine, probe, totals, err);
	return machine_run(r->hw, r->program, r->ideal, probe, totals, err);
}

struct simulation *simulate(const struct simulation_request *request, struct npu_error *err)
{
	return simulate_on(run, request, err);
}
