/* SPDX-License-Identifier: Apache-2.0 */
/* The regions table: what the record and the program hold by region number, by path. */
#ifndef NPU_SIM_ACCOUNT_REGIONS_H
#define NPU_SIM_ACCOUNT_REGIONS_H

#include "sim/account.h"

/* Fills in regions and nregions. False when out of memory; what was made is freed by account_fini(). */
bool account_regions(struct account *, const struct npu_program *, const struct record *);

#endif
