/* SPDX-License-Identifier: Apache-2.0 */
/* A second simulator of the same machine, slow and simple: every block is stepped in every cycle, nothing is worked out
 * ahead. It shares the configuration and the instruction set with models/, no rule of time. Tests compare the two. */
#ifndef NPU_TESTS_GOLDEN_TWIN_H
#define NPU_TESTS_GOLDEN_TWIN_H

#include "models/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct twin_result {
	uint64_t cycles;
	uint64_t state[NPU_ENGINES][NPU_STATES]; /* cycles */
	uint64_t line[NPU_SEQ_STATES];
	uint64_t *start; /* [ninsns]; of a sync: its end */
	uint64_t *end;   /* [ninsns] */
};

/* False, and a line on stderr, when nothing moves any more (a deadlock) or no instruction starts or ends for millions
 * of cycles. The result is the caller's to free, also then. */
bool twin_run(const struct hw *hw, const struct npu_program *program, struct twin_result *out);
void twin_result_free(struct twin_result *);

#ifdef __cplusplus
}
#endif

#endif
