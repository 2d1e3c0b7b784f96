/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for strings, in order of first use, up to a limit: what comes later and is new goes without a number. */
#ifndef NPU_SIM_TIMELINE_INTERN_H
#define NPU_SIM_TIMELINE_INTERN_H

#include <stdbool.h>
#include <stdint.h>

struct intern;

/* At most `limit` strings. NULL when out of memory. */
struct intern *intern_new(uint32_t limit);
void intern_free(struct intern *);
/* The number of `text`, from 1; `*fresh` when this is its first use. 0: not numbered (the limit, or out of memory). */
uint32_t intern(struct intern *, const char *text, bool *fresh);

#endif
