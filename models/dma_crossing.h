/* SPDX-License-Identifier: Apache-2.0 */
/* The clock crossing between the NPU's ports (load, store, instruction fetch) and the DRAM controller: exact conversion of
 * cycles and clocks, the order of arrivals, and how far the controller may decide ahead. */
#ifndef NPU_MODELS_DMA_CROSSING_H
#define NPU_MODELS_DMA_CROSSING_H

#include "models/dram/dram.h"
#include "models/hw.h"
#include "models/machine_wake.h"
#include "models/outside.h"

#ifdef __cplusplus
extern "C" {
#endif

enum crossing_port { CROSSING_LOAD, CROSSING_STORE, CROSSING_FETCH, CROSSING_PORTS };

struct crossing_user {
	void *ctx;
	/* The answer to `tag` is back at the port at `cycle` (>= now, it may lie ahead). */
	void (*done)(void *ctx, uint32_t tag, uint64_t cycle);
	/* No request leaves this port before the cycle returned, as far as is known at `now`, unless an answer that was not
	 * yet told comes back. */
	uint64_t (*earliest)(const void *ctx, uint64_t now);
	/* May be NULL: requests are sent in the cycle in which they leave. Else they may be sent late, and this sends all
	 * that leave before `until` (<= now). Whatever the port plans it tells by crossing_expect. */
	void (*bring_up)(void *ctx, uint64_t until, uint64_t now);
};

struct crossing;
/* `ideal`: requests are done when they arrive. NULL when out of memory or the DRAM configuration is refused. */
struct crossing *crossing_new(const struct hw *hw, bool ideal, const struct probe *probe, const struct machine_wake *wake);
void crossing_free(struct crossing *);
void crossing_attach(struct crossing *, enum crossing_port port, const struct crossing_user *user);

/* Requests go to `memory` (copied) instead of models/dram, before the first. They arrive at an NPU edge, as the memory has a
 * clock of its own; why they take their time only it knows: the cause is dram_latency. */
void crossing_attach_outside(struct crossing *, const struct outside *memory);
/* An answer of the memory outside, at cycle `answer->done`. */
void crossing_answer(struct crossing *, const struct outside_answer *answer);

/* A request leaves the port at `now`. It arrives cdc_cycles later, at the first DRAM edge from then on; at one edge the
 * lower port comes first. Its answer takes the same way back. */
void crossing_send(struct crossing *, enum crossing_port port, uint64_t now, uint64_t addr, uint32_t bytes, bool write,
		   uint32_t tag);
/* Lets the controller decide all that no later request can change. Returns the next cycle to look. */
uint64_t crossing_step(struct crossing *, uint64_t now);
/* A request will leave this port, which has a bring_up, at `leaves` or later, and nobody has told so yet: sees to it that
 * the port is brought up before the answer can be back. CROSSING_LOAD: it reads bytes of [begin, end). */
void crossing_expect(struct crossing *, enum crossing_port port, uint64_t leaves, uint64_t begin, uint64_t end);
/* Divides cycles [from, to), to <= now, of a request among the causes of DESIGN's figures (dram_refresh, dram_bandwidth,
 * dram_latency). Calls for one port come in order of time. */
void crossing_explain(struct crossing *, enum crossing_port port, uint32_t tag, uint64_t from, uint64_t to, uint64_t now,
		      void (*emit)(void *ctx, enum npu_state state, uint64_t from, uint64_t to), void *ctx);
/* Finishes everything; the cycle at which the last data has left the bus. */
uint64_t crossing_drain(struct crossing *);
void crossing_stats(const struct crossing *, struct dram_stats *);

#ifdef __cplusplus
}
#endif

#endif
