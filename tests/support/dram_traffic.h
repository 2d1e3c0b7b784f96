/* SPDX-License-Identifier: Apache-2.0 */
/* Random traffic on the DRAM core, every command of it judged by the naive checker. */
#ifndef NPU_TESTS_SUPPORT_DRAM_TRAFFIC_H
#define NPU_TESTS_SUPPORT_DRAM_TRAFFIC_H

#include "tests/support/dram_checker.h"

enum { TRAFFIC_CHANNELS = 4 };

/* Runs `requests` requests of three ports and ends the test when a rule is broken or one does not complete once. */
void traffic_check(const struct dram_config *, const char *part, uint64_t seed, uint32_t requests);
/* The same for every refresh and mapping that the part can do; then with channels, ranks, hashes, caps, delays and odd
 * queues. */
void traffic_check_part(const char *part, uint64_t seed, uint32_t requests);
void traffic_check_options(const char *part, uint64_t seed, uint32_t requests);

#endif
