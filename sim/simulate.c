/* SPDX-License-Identifier: Apache-2.0 */
/* The real machine behind simulate(). */
#include "sim/simulate.h"

#include "sim/simulate_parts.h"

struct simulation *simulate(const struct simulation_request *request, struct npu_error *err)
{
	return simulate_on(machine_run, request, err);
}
