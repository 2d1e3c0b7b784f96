/* SPDX-License-Identifier: Apache-2.0 */
/* A growing block of bytes that holds numbers, and its way into a text file. */
#ifndef NPU_SIM_TIMELINE_PAGE_BYTES_H
#define NPU_SIM_TIMELINE_PAGE_BYTES_H

#include "sim/timeline/intern.h"

#include <stdio.h>

struct page_bytes {
	uint8_t *items;
	uint64_t count, capacity;
	bool failed; /* out of memory; what follows is not kept */
};

void page_bytes_fini(struct page_bytes *);
/* LEB128. */
void page_put(struct page_bytes *, uint64_t value);
/* `to` - `from`, of numbers below 2^52, as 2d or -2d - 1. */
void page_put_change(struct page_bytes *, uint64_t from, uint64_t to);
/* The eight bytes of an IEEE number, little-endian. */
void page_put_real(struct page_bytes *, double value);
/* RFC 4648, with padding, on one line. The stream tells of failures. */
void page_base64(const struct page_bytes *, FILE *);

#endif
