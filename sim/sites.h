/* SPDX-License-Identifier: Apache-2.0 */
/* The source lines of a program: a loop writes many instructions at one of them. */
#ifndef NPU_SIM_SITES_H
#define NPU_SIM_SITES_H

#include "isa/program.h"

struct site {
	uint32_t first; /* instruction */
	uint32_t count;
};

struct sites {
	uint32_t *of;       /* [ninsns] site of an instruction */
	struct site *items; /* in the order of their first instructions; one that has no line is a site by itself */
	uint32_t n;
};

/* False when out of memory. */
bool sites_init(struct sites *, const struct npu_program *);
void sites_fini(struct sites *);

#endif
