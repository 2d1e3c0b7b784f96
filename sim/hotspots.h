/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a program the cycles are: the instruction rows of a report, summed by instruction, source line or region. */
#ifndef NPU_SIM_HOTSPOTS_H
#define NPU_SIM_HOTSPOTS_H

#include "sim/account.h"

#include <jansson.h>

enum hotspots_by {
	HOTSPOTS_LINE,
	HOTSPOTS_INSTRUCTION,
	HOTSPOTS_REGION,
	HOTSPOTS_WAYS
};
/* "line", "instruction", "region"; NULL past the last one. */
const char *hotspots_way(unsigned by);

struct hotspot {
	const char *place; /* of the report: a source line, the instruction's text, a region; "(none)" */
	const char *engine; /* of its instructions; "mixed" when they differ; "sequencer" */
	uint32_t first;     /* instruction */
	uint64_t count, dram_bytes, macs;
	uint64_t cycles; /* of its engines in service: busy and the stalls there */
	uint64_t states[NPU_STATES];
};

struct hotspots {
	struct hotspot *items; /* most cycles first, then in program order */
	uint32_t n;
};

/* Of a report with rows of instructions, which must live as long. Where these were fetched from DRAM the last row, of no
 * instruction, has the bytes. False with an error when there are none or memory is short. */
bool hotspots_init(struct hotspots *, const json_t *report, const char *path, enum hotspots_by, struct npu_error *);
void hotspots_fini(struct hotspots *);

#endif
