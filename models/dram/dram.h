/* SPDX-License-Identifier: Apache-2.0 */
/* DRAM controller and device timing at burst level: open page, FR-FCFS over a window, write drain, refresh. It knows
 * the DRAM clock only (uint64_t clk, from 0) and no data value; it never ticks: it goes from one command to the next.
 * Not here: the clock crossing to the NPU, the splitting of tensors into bursts (models/dma), SystemC. */
#ifndef NPU_MODELS_DRAM_DRAM_H
#define NPU_MODELS_DRAM_DRAM_H

#include <stdbool.h>
#include <stdint.h>

enum dram_mapping { DRAM_RoBaBgCo, DRAM_RoBaCoBg, DRAM_RoBaCo };
enum dram_refresh { DRAM_REFRESH_NONE, DRAM_REFRESH_ALLBANK, DRAM_REFRESH_PERBANK };
enum dram_refresh_order { DRAM_REFRESH_FIXED, DRAM_REFRESH_IDLE };

/* A part and its controller; every field is a key `dram.NAME`. */
struct dram_config {
#define DRAM_FIELD_uint                                 uint32_t
#define DRAM_FIELD_enum                                 uint32_t
#define DRAM_FIELD_size                                 uint64_t
#define DRAM_FIELD_bool                                 bool
#define DRAM_KEY(name, kind, dflt, min, max, unit, doc) DRAM_FIELD_##kind name;
#include "models/dram/keys.def"
#undef DRAM_KEY
#define DRAM_TIMING(name, min, doc) uint32_t name;
#include "models/dram/timing.def"
#undef DRAM_TIMING
#undef DRAM_FIELD_uint
#undef DRAM_FIELD_enum
#undef DRAM_FIELD_size
#undef DRAM_FIELD_bool
};

/* Every key at its default, every interval 0 (a part must state them). */
void dram_config_init(struct dram_config *);
/* No interval of a part is longer, clk. */
enum { DRAM_TIMING_MAX = 500000 };
/* NULL when the configuration can be built; else what is wrong, with *key (may be NULL) the key it is about. */
const char *dram_config_check(const struct dram_config *, const char **key);

/* Derived figures of a checked configuration. */
uint32_t dram_burst_bytes(const struct dram_config *);        /* access granule */
uint32_t dram_burst_clk(const struct dram_config *);          /* clocks of data a burst */
uint32_t dram_peak_bytes_per_clk(const struct dram_config *); /* of the whole part */
uint64_t dram_capacity(const struct dram_config *);           /* bytes of the whole part */

enum { DRAM_PORTS = 8, DRAM_REQUEST_MAX = 4096 };

/* Any bytes [addr, addr + nbytes), 1..DRAM_REQUEST_MAX; addresses wrap at the capacity. A tag is the caller's name for
 * it, unique among its port's requests in flight (small consecutive numbers are looked up fastest). */
struct dram_request {
	uint64_t addr;
	uint32_t nbytes;
	uint32_t tag;
	uint8_t write; /* 0 or 1 */
	uint8_t port;  /* < DRAM_PORTS */
};

enum dram_command_op { DRAM_ACT, DRAM_ACT2, DRAM_PRE, DRAM_PREAB, DRAM_RD, DRAM_WR, DRAM_REFAB, DRAM_REFPB };

/* One command on a channel's command bus, first clock at clk. `bank` counts over the ranks of the channel:
 * (rank x bank_groups + group) x banks + bank; of PREAB and REFAB it is the rank's first. Commands of one channel come
 * in order of clk; a REFPB that covers two banks is told once for each, at the same clk. */
struct dram_command {
	uint64_t clk;
	uint32_t channel, rank, bank_group, bank, row, column;
	enum dram_command_op op;
};

/* Whom the core tells. `done` is required; the others may be NULL and then cost nothing. No hook may call back into the
 * same struct dram.
 *   done      a read: its last data beat is delivered at clk, back_delay included. A write: at clk the write queue has
 *             taken the whole of it; a read that arrives from then on sees it. clk may lie ahead of the horizon.
 *   transfer  the data bus of a channel carries nbytes in [from, to); a call a run of back-to-back bursts of a request
 *   command   each command issued (tests, waveforms)
 *   reaction_clk  how soon after a completion a request can arrive because of it; dram_run() never decides past
 * (earliest completion it reports in this call) + reaction_clk, whatever its horizon. 0 is always safe; UINT64_MAX:
 *             requests do not depend on completions (a trace). */
struct dram_hooks {
	void *ctx;
	void (*done)(void *ctx, uint8_t port, uint32_t tag, uint64_t clk);
	void (*transfer)(void *ctx, uint32_t channel, uint64_t from, uint64_t to, uint32_t nbytes, bool write);
	void (*command)(void *ctx, const struct dram_command *);
	uint64_t reaction_clk;
};

struct dram;
/* Copies both; NULL when memory is short or dram_config_check() refuses. */
struct dram *dram_new(const struct dram_config *, const struct dram_hooks *);
void dram_free(struct dram *);
/* The channel in which a byte lies. */
uint32_t dram_channel_of(const struct dram *, uint64_t addr);
/* Where a byte lies. `bank` counts as in struct dram_command. */
struct dram_location {
	uint32_t channel, bank, row;
};
struct dram_location dram_locate(const struct dram *, uint64_t addr);

/* Never refuses: what the controller's queue cannot hold waits in order before it. Arrivals of one port do not decrease
 * and lie at or after every horizon already passed. */
void dram_push(struct dram *, uint64_t arrival_clk, const struct dram_request *);

/* Take decisions that only requests arriving before horizon_clk can influence, all of them that can bring a completion
 * before it; others may wait, since a channel is the faster the more it decides at a time. Returns the clk before which
 * nothing is left to complete and from which on a larger horizon may bring more, UINT64_MAX when nothing is left to do
 * (an idle device stays idle: refreshes are caught up at the next request). */
uint64_t dram_run(struct dram *, uint64_t horizon_clk);

/* Finish everything, writes included; the clk at which the last data left the bus (0 when none ever did). */
uint64_t dram_drain(struct dram *);

/* Why a request took the time it took; first cause that holds, in this order:
 *   REFRESH    it is there, and a bank (or the rank) of a burst of it that waits for RD or WR refreshes or waits to
 *   BANDWIDTH  its channel's data bus carries data, its own included, or it is outside because the queue is full
 *   LATENCY    everything else: activation, turnaround, fixed delays, on the way to and from the controller */
enum dram_wait { DRAM_WAIT_REFRESH, DRAM_WAIT_BANDWIDTH, DRAM_WAIT_LATENCY };

/* Divide [from, to) of request (port, tag) among the causes by its oldest piece unfinished at each clk; emits maximal
 * runs in order that cover it exactly. Spans of a port come in time order, and [from, to) must not pass the last
 * horizon; a completed request may be asked for until its tag is used again (the last 1,024 requests at least, over the
 * last 1,024 intervals of data on its channel's bus). Before its arrival the first piece answers, after its end the
 * last: the address alone says which channel's bus it meets. A request unknown, or of the ideal part, is LATENCY. */
void dram_explain(struct dram *, uint8_t port, uint32_t tag, uint64_t from, uint64_t to,
		  void (*emit)(void *ctx, enum dram_wait, uint64_t from, uint64_t to), void *ctx);

/* When the queues had taken the whole of a completed request, whose tag is remembered as for dram_explain(); its arrival
 * with the ideal part, 0 for one unknown. */
uint64_t dram_taken_clk(const struct dram *, uint8_t port, uint32_t tag);

struct dram_stats {
	uint64_t reads, writes;           /* requests completed (writes: accepted) */
	uint64_t read_bytes, write_bytes; /* asked for */
	uint64_t bus_bytes;               /* moved so far: whole granules; a forwarded read moves none */
	uint64_t bursts;                  /* column bursts; row_hits + row_misses + row_conflicts == bursts */
	uint64_t row_hits, row_misses, row_conflicts; /* row open | bank closed | another row was open */
	uint64_t forwarded, forwarded_bytes;          /* reads, and what was asked, answered from the write queue */
	uint64_t activates, precharges, refreshes;    /* commands; a refresh is one REFab or REFpb */
	uint64_t turnarounds;                         /* data-bus direction changes */
	uint64_t read_latency_sum, read_latency_max;  /* clk, arrival to done */
	uint64_t bus_busy_clk;                        /* data-bus clocks, sum over channels */
	uint64_t last_data_clk;
};
void dram_stats(const struct dram *, struct dram_stats *);
uint64_t dram_channel_busy_clk(const struct dram *, uint32_t channel);

#endif
