/* SPDX-License-Identifier: Apache-2.0 */
/* The request streams of the DRAM reference runs (reference/dram/make_streams.py beside the checkout), 64 B a request,
 * and a pump that feeds one to the core as fast as its queue takes it. */
#ifndef NPU_TESTS_SUPPORT_DRAM_STREAMS_H
#define NPU_TESTS_SUPPORT_DRAM_STREAMS_H

#include "models/dram/dram.h"

struct stream {
	const char *name;
	uint32_t kind; /* of the generator, see dram_streams.c */
	uint64_t size; /* block or stride, bytes */
	uint32_t requests;
	uint64_t rng, block; /* state */
	uint32_t at;
	uint32_t nbytes; /* of a request: 64, or a multiple for sequential streams */
};

/* The named stream from its beginning (name as in bandwidth.csv); false when there is none. */
bool stream_open(struct stream *, const char *name);
/* The next request's address and direction; false at the end. */
bool stream_next(struct stream *, uint64_t *addr, bool *write);

struct pump_result {
	uint64_t clocks; /* first push to last data */
	uint64_t completed;
	uint64_t mean_latency;
	struct dram_stats stats;
};

/* Keeps more requests waiting than the queue holds until the stream ends, then drains. `command` may be NULL. */
struct pump_result stream_pump(const struct dram_config *, struct stream *,
			       void (*command)(void *, const struct dram_command *), void *ctx);

/* xorshift64*, as make_streams.py */
uint64_t stream_random(uint64_t *state);

#endif
