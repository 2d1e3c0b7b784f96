/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the DRAM core alone: its parts from models/presets/dram/NAME.yaml, by a reader that knows no YAML but
 * `key: value  # source` lines. The program's own reader is sim's. */
#ifndef NPU_TESTS_SUPPORT_DRAM_PART_H
#define NPU_TESTS_SUPPORT_DRAM_PART_H

#include "models/dram/dram.h"

extern const char *const dram_part_names[]; /* every part, NULL at the end */

/* The part's configuration; prints what is wrong and exits when it cannot be read. */
struct dram_config dram_part(const char *name);

/* The root of the checkout: SRC in the environment, or the folder two above this file. */
const char *dram_part_root(void);

#endif
