/* SPDX-License-Identifier: Apache-2.0 */
/* How long a run was at a region of its program. */
#ifndef NPU_SIM_REGION_CYCLES_H
#define NPU_SIM_REGION_CYCLES_H

#include <jansson.h>
#include <stdint.h>

/* Of a row of a report's `regions`: the longest time that an engine was at it, its cycles in any state that an instruction of
 * the region decided, working or waiting. Regions overlap: these add up to more than the run's cycles. */
uint64_t region_cycles(const json_t *row);

#endif
