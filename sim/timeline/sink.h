/* SPDX-License-Identifier: Apache-2.0 */
/* Where a timeline's bytes go: a stream, as they are or through gzip. The same bytes in give the same bytes out. */
#ifndef NPU_SIM_TIMELINE_SINK_H
#define NPU_SIM_TIMELINE_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sink;

/* The stream stays the caller's. NULL when out of memory. */
struct sink *sink_new(FILE *, bool gzip);
/* Room for `n` contiguous bytes to be filled before the next call; NULL when out of memory. */
uint8_t *sink_room(struct sink *, uint64_t n);
void sink_write(struct sink *, const void *bytes, uint64_t n);
/* Flushes and frees. False when memory was short or the stream failed at any time. */
bool sink_close(struct sink *);

#endif
