/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of a program as slices: from the first start to the last end of their instructions, inner regions included. */
#ifndef NPU_SIM_TIMELINE_REGION_LANES_H
#define NPU_SIM_TIMELINE_REGION_LANES_H

#include "sim/record.h"

struct region_slice {
	uint64_t from, to;
	uint32_t region;
	uint32_t depth;
	uint32_t lane; /* of all region lanes; lanes are ordered by depth */
};

struct region_lanes {
	struct region_slice *slices; /* by lane, then by time; regions that take no time are left out */
	uint32_t nslices;
	uint32_t *depth; /* [nlanes] */
	uint32_t *order; /* [nlanes] number of a lane among those of its depth */
	uint32_t nlanes;
};

/* False when out of memory. */
bool region_lanes_init(struct region_lanes *, const struct record *);
void region_lanes_fini(struct region_lanes *);

#endif
