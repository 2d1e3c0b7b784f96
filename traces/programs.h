/* SPDX-License-Identifier: Apache-2.0 */
/* The sample programs of this folder, as text that is part of the program. */
#ifndef NPU_TRACES_PROGRAMS_H
#define NPU_TRACES_PROGRAMS_H

#include <stdint.h>

struct traces_program {
	const char *name; /* of the file, without .npu */
	const char *text; /* not NUL-terminated */
	uint64_t nbytes;
};

/* NULL when there is none of that name. */
const struct traces_program *traces_program_find(const char *name);
/* In the order of their names; NULL past the last one. */
const struct traces_program *traces_program_at(unsigned i);

#endif
