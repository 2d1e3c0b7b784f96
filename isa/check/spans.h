/* SPDX-License-Identifier: Apache-2.0 */
/* Named ranges of one memory, in the order of their addresses; they may overlap. Private to isa/check. */
#ifndef NPU_ISA_CHECK_SPANS_H
#define NPU_ISA_CHECK_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct npu_span {
	uint64_t lo, hi;
	uint64_t reach; /* the largest hi up to here */
	uint32_t index; /* whatever it stands for */
};

struct npu_spans {
	struct npu_span *spans;
	uint32_t count, capacity;
};

/* False: out of memory. */
bool npu_spans_add(struct npu_spans *, uint64_t lo, uint64_t hi, uint32_t index);
/* Takes away the one that was added so. */
void npu_spans_remove(struct npu_spans *, uint64_t lo, uint32_t index);
/* The one that holds all of lo <= at < hi, else one that holds `lo` and reaches farthest; NULL when none holds it. */
const struct npu_span *npu_spans_holder(const struct npu_spans *, uint64_t lo, uint64_t hi);
/* Any one that shares bytes with lo <= at < hi; NULL when there is none. */
const struct npu_span *npu_spans_met(const struct npu_spans *, uint64_t lo, uint64_t hi);
void npu_spans_fini(struct npu_spans *);

#endif
