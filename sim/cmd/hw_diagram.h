/* SPDX-License-Identifier: Apache-2.0 */
/* The configured machine as a drawing, in DOT. */
#ifndef NPU_SIM_CMD_HW_DIAGRAM_H
#define NPU_SIM_CMD_HW_DIAGRAM_H

#include "sim/config.h"

#include <stdio.h>

/* Engines, memories and what connects them, with sizes and bandwidths (GB/s decimal). */
void hw_diagram(const struct config *, FILE *);

#endif
