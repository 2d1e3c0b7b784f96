/* SPDX-License-Identifier: Apache-2.0 */
/* The longest of the engines' sums. */
#include "sim/region_cycles.h"

#include "sim/account.h"
#include "sim/report_read.h"

#include <stdio.h>

uint64_t region_cycles(const json_t *row)
{
	uint64_t longest = 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		char path[64];
		const char *name;
		json_t *cycles;
		snprintf(path, sizeof path, "engines.%s", npu_engine_name((enum npu_engine)e));
		const json_t *engine = report_value(row, path);
		json_t *stalls = report_value(engine, "stalls");
		uint64_t sum = report_count(engine, "busy");
		json_object_foreach(stalls, name, cycles) {
			sum += report_count(stalls, name);
		}
		longest = sum > longest ? sum : longest;
	}
	return longest;
}
