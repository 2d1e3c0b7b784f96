/* SPDX-License-Identifier: Apache-2.0 */
/* docs/hardware.md from the tables that declare the keys. */
#ifndef NPU_SIM_CMD_HW_REFERENCE_H
#define NPU_SIM_CMD_HW_REFERENCE_H

#include <stdio.h>

/* Prints the page; an exit status. */
int hw_reference(FILE *);

#endif
