/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a report that was read back is what reports are: somebody may have edited it. */
#ifndef NPU_SIM_REPORT_CHECK_H
#define NPU_SIM_REPORT_CHECK_H

#include "isa/error.h"

#include <jansson.h>

/* What is there of the keys of report.def has their types, and the sums that they promise hold: the states of an engine and of
 * the sequencer, the parts of the overlap and of the critical path add up to `cycles`, tensors and regions to the totals,
 * instructions to their engines. A key that is not there is no fault: reports grow. False with an error that names `path` and
 * the first key that is wrong. */
bool report_check(const json_t *report, const char *path, struct npu_error *err);

#endif
