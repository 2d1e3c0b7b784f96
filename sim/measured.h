/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody's measured times: a CSV file with a column of names and a column of times or cycles, as profilers export them. */
#ifndef NPU_SIM_MEASURED_H
#define NPU_SIM_MEASURED_H

#include "isa/error.h"

#include <stdint.h>

struct measured_row {
	char *name;
	double value; /* us, or cycles */
	uint64_t count; /* rows of that name, whose values are added up */
};

struct measured {
	struct measured_row *rows; /* in order of their first appearance */
	uint32_t n;
	bool in_cycles;
};

/* "-" is stdin. The first line names the columns: one of name, operator, op, op name, region, kernel; and one of cycles, ns, us, ms, s,
 * with or without time, duration or task duration before it, as time_us, Duration(us), Task Duration(us). Other columns are
 * left alone. False with an error that names file and line. */
bool measured_read(struct measured *, const char *path, struct npu_error *);
void measured_fini(struct measured *);

#endif
