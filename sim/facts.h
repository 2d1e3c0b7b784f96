/* SPDX-License-Identifier: Apache-2.0 */
/* What every format tells of one instruction: its text, where it was written, its times, its cycles by state, its work. */
#ifndef NPU_SIM_FACTS_H
#define NPU_SIM_FACTS_H

#include "sim/simulate_parts.h"
#include "sim/insn_states.h"

enum { FACTS_TEXT = 512 };

struct facts {
	const struct simulation *s;
	struct insn_states states;
	char text[FACTS_TEXT], source[FACTS_TEXT];
};

struct insn_facts {
	uint32_t insn;
	const struct probe_insn *event;
	const char *text;             /* flat assembly */
	const char *source;           /* "gemm.c:120"; "" when it has no line */
	const char *region;           /* path of the innermost one; "" when it has none */
	uint64_t bytes;               /* that it asks DRAM for, those of its block table too */
	uint64_t macs;
	uint64_t states[NPU_STATES];  /* cycles of its engine whose state it decided */
};

/* The simulation was recorded. False when out of memory. */
bool facts_init(struct facts *, const struct simulation *);
void facts_fini(struct facts *);
/* The texts hold until the next call. */
struct insn_facts facts_of(struct facts *, uint32_t insn);

/* Of what it works on, for people: "128 x 64 by 64 x 256, fp16 by int8", "128 x 64, fp16 of fp32", "" of a sync. Into `out`. */
void facts_shape(const struct npu_insn *, char *out, size_t size);

/* Tells all facts but empty ones, in one order and under one name each ("at head", "stall wait_load"). */
struct facts_teller {
	void *ctx;
	void (*number)(void *ctx, const char *name, uint64_t);
	void (*text)(void *ctx, const char *name, const char *);
};
void facts_tell(const struct insn_facts *, const struct facts_teller *);

#endif
