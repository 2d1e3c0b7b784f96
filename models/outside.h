/* SPDX-License-Identifier: Apache-2.0 */
/* The interface at which DMA and memory meet, for a memory that is not models/dram: a controller of a user's own, another
 * simulator's. Requests go out as they arrive at the memory, answers come back when they are there; nothing is decided
 * ahead. All times are NPU cycles. docs/models/outside.md. */
#ifndef NPU_MODELS_OUTSIDE_H
#define NPU_MODELS_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

/* What a port wants: load, store and instruction fetch are ports 0, 1, 2 (enum crossing_port). */
struct outside_request {
	uint64_t arrival; /* clock crossing done: it is at the memory */
	uint64_t addr;    /* byte address, below dram_capacity() */
	uint32_t bytes;   /* 1..dma.max_burst (fetch: a multiple of NPU_INSN_BYTES) */
	uint32_t tag;     /* unique among the port's requests under way */
	uint8_t port;
	bool write;
};

/* What became of it. */
struct outside_answer {
	struct outside_request request;
	uint64_t done;      /* read: the last byte is delivered; write: it is accepted, and reads that arrive from now on see it */
	uint64_t bus_bytes; /* moved for it: whole granules */
};

struct outside {
	void *ctx;
	/* Called no later than at cycle `arrival`; requests of a port come in order of arrival, those of different ports need
	 * not. The answer is machine_answer(), at `done`, never from inside this call. */
	void (*request)(void *ctx, const struct outside_request *);
};

#endif
