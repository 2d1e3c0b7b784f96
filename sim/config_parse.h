/* SPDX-License-Identifier: Apache-2.0 */
/* One hardware value from text. */
#ifndef NPU_SIM_CONFIG_PARSE_H
#define NPU_SIM_CONFIG_PARSE_H

#include "sim/config.h"

/* Sets the field of `key` in *hw (of a PART key: nothing). On failure `text`, of `size` bytes, says what is wrong and
 * what would be right, and *hw is untouched. */
bool config_parse(const struct config_key *key, const char *value, struct hw *hw, char *text, unsigned size);
/* A size: "64", "64KiB", "1.5 MiB"; false when it is none, or no whole number of bytes, or above 2^64 - 1. */
bool config_parse_size(const char *value, uint64_t *bytes);

#endif
