/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the blocks of the machine together and takes them apart. No timing rule is here. */
#include "models/machine_core.h"

#include "models/dma.h"
#include "models/dma_crossing.h"
#include "models/machine_deadlock.h"
#include "models/matrix.h"
#include "models/vector.h"

#include <stdlib.h>

struct machine {
	struct hw hw; /* as configured, but for what is made ideal */
	const struct npu_program *program;
	struct probe probe;
	struct memory *memory;
	struct crossing *crossing;
	struct semaphores *semaphores;
	struct sequencer *sequencer;
	struct engine *engine[NPU_ENGINES];
	struct dma *load, *store;
	struct matrix *matrix;
	struct vector *vector;
	uint64_t now;
};

static void push(void *ctx, enum npu_engine e, uint32_t insn, uint64_t at)
{
	engine_push(((struct machine *)ctx)->engine[e], insn, at);
}

static void fetch(void *ctx, uint64_t now, uint64_t addr, uint32_t bytes, uint32_t tag)
{
	crossing_send(((struct machine *)ctx)->crossing, CROSSING_FETCH, now, addr, bytes, false, tag);
}

static void fetched(void *ctx, uint32_t tag, uint64_t at)
{
	sequencer_fetched(ctx, tag, at);
}

static uint64_t earliest_fetch(const void *ctx, uint64_t now)
{
	return sequencer_earliest_fetch(ctx, now);
}

/* Instructions lie at the end of DRAM, where programs put nothing. */
static uint64_t image_base(const struct machine *m)
{
	uint64_t bytes = ((uint64_t)m->program->ninsns * NPU_INSN_BYTES + 4095) / 4096 * 4096;
	uint64_t capacity = dram_capacity(&m->hw.dram);
	return bytes < capacity ? capacity - bytes : 0;
}

static struct sequencer_config sequencer_config(const struct machine *m, unsigned ideal)
{
	const struct hw_sequencer *s = &m->hw.sequencer;
	struct sequencer_config config = { .queue_depth = NPU_NEVER, .fetch_insns = 1 };
	if (ideal & MACHINE_IDEAL_DISPATCH)
		return config;
	config.launch_cycles = s->launch_cycles;
	config.issue_cycles = s->issue_cycles;
	config.queue_depth = s->queue_depth;
	if (s->fetch == HW_FETCH_DRAM) {
		uint64_t insns = m->hw.dma.max_burst / NPU_INSN_BYTES;
		insns = insns < s->fetch_buffer ? insns : s->fetch_buffer;
		config.fetch_buffer = s->fetch_buffer;
		config.fetch_insns = insns ? (uint32_t)insns : 1;
		config.fetch_base = image_base(m);
	}
	return config;
}

static bool build_engines(struct machine *m, unsigned ideal, const struct machine_wake *wake)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		m->engine[e] = engine_new((enum npu_engine)e, m->program, m->semaphores, &m->probe, wake);
		if (!m->engine[e])
			return false;
	}
	struct body_listener load = engine_listener(m->engine[NPU_ENGINE_LOAD]);
	struct body_listener store = engine_listener(m->engine[NPU_ENGINE_STORE]);
	/* The DMA accounts for its cycles whoever listens: it asks the DRAM, and how far that has decided may not depend on
	 * who watches. An ideal one has nothing to decide. */
	if (!m->probe.span && (ideal & MACHINE_IDEAL_DRAM || m->hw.dram.ideal))
		load.span = store.span = NULL;
	struct body_listener matrix = engine_listener(m->engine[NPU_ENGINE_MATRIX]);
	struct body_listener vector = engine_listener(m->engine[NPU_ENGINE_VECTOR]);
	m->load = dma_new(NPU_ENGINE_LOAD, &m->hw, m->program, m->memory, m->crossing, &load, wake);
	m->store = dma_new(NPU_ENGINE_STORE, &m->hw, m->program, m->memory, m->crossing, &store, wake);
	m->matrix = matrix_new(&m->hw, m->program, m->memory, &matrix, ideal);
	m->vector = vector_new(&m->hw, m->program, m->memory, &vector, ideal);
	if (!m->load || !m->store || !m->matrix || !m->vector)
		return false;
	engine_attach(m->engine[NPU_ENGINE_LOAD], &dma_ops, m->load, m->sequencer);
	engine_attach(m->engine[NPU_ENGINE_STORE], &dma_ops, m->store, m->sequencer);
	engine_attach(m->engine[NPU_ENGINE_MATRIX], &matrix_ops, m->matrix, m->sequencer);
	engine_attach(m->engine[NPU_ENGINE_VECTOR], &vector_ops, m->vector, m->sequencer);
	return true;
}

static bool build(struct machine *m, unsigned ideal, const struct machine_wake *wake)
{
	struct sequencer_config config = sequencer_config(m, ideal);
	struct sequencer_listener up = { .ctx = m, .push = push, .fetch = fetch };
	m->memory = memory_new(&m->hw, ideal & MACHINE_IDEAL_SRAM);
	m->crossing = crossing_new(&m->hw, ideal & MACHINE_IDEAL_DRAM, &m->probe, wake);
	m->semaphores = semaphores_new(m->program, ideal & MACHINE_IDEAL_DISPATCH ? 0 : m->hw.sequencer.sync_latency,
				       wake);
	m->sequencer = sequencer_new(m->program, &config, &up, &m->probe, wake);
	if (!m->memory || !m->crossing || !m->semaphores || !m->sequencer)
		return false;
	if (config.fetch_buffer)
		crossing_attach(m->crossing, CROSSING_FETCH,
				&(struct crossing_user){ .ctx = m->sequencer, .done = fetched,
							 .earliest = earliest_fetch });
	return build_engines(m, ideal, wake);
}

struct machine *machine_new(const struct hw *hw, const struct npu_program *program, unsigned ideal,
			    const struct probe *probe, const struct machine_wake *wake, struct npu_error *err)
{
	struct machine *m = calloc(1, sizeof(*m));
	if (m) {
		m->hw = *hw;
		m->program = program;
		if (probe)
			m->probe = *probe;
		if (build(m, ideal, wake))
			return m;
		machine_free(m);
	}
	npu_fail(err, NPU_ERR_MEMORY, "out of memory for the machine");
	return NULL;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		engine_free(m->engine[e]);
	dma_free(m->load);
	dma_free(m->store);
	matrix_free(m->matrix);
	vector_free(m->vector);
	sequencer_free(m->sequencer);
	semaphores_free(m->semaphores);
	crossing_free(m->crossing);
	memory_free(m->memory);
	free(m);
}

void machine_attach_memory(struct machine *m, const struct outside *memory)
{
	crossing_attach_outside(m->crossing, memory);
}

void machine_answer(struct machine *m, const struct outside_answer *answer)
{
	crossing_answer(m->crossing, answer);
}

void machine_start(struct machine *m)
{
	sequencer_start(m->sequencer);
}

uint64_t machine_step(struct machine *m, unsigned block, uint64_t now)
{
	m->now = now;
	if (block < NPU_ENGINES)
		return engine_step(m->engine[block], now);
	return block == MACHINE_SEQUENCER ? sequencer_step(m->sequencer, now) : crossing_step(m->crossing, now);
}

static void fill_totals(struct machine *m, struct machine_totals *totals)
{
	crossing_stats(m->crossing, &totals->dram);
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		totals->sram_bytes[e] = memory_bytes(m->memory, (enum npu_engine)e, false);
		totals->accum_bytes[e] = memory_bytes(m->memory, (enum npu_engine)e, true);
	}
	totals->vector_slots = vector_slots_used(m->vector);
	totals->table_bytes = dma_table_bytes(m->load) + dma_table_bytes(m->store);
	totals->fetch_bytes = sequencer_fetch_bytes(m->sequencer);
}

static bool is_complete(const struct machine *m)
{
	bool complete = sequencer_next(m->sequencer) == m->program->ninsns;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		complete = complete && !engine_unfinished(m->engine[e]);
	return complete;
}

bool machine_finish(struct machine *m, struct machine_totals *totals, struct npu_error *err)
{
	bool complete = is_complete(m);
	uint64_t cycles = crossing_drain(m->crossing), dead = m->now;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		uint64_t end = engine_last_end(m->engine[e]);
		cycles = end > cycles ? end : cycles;
	}
	if (!complete) {
		/* The account goes on to where the last instruction was issued, and one cycle into the wait. */
		uint64_t issued = sequencer_end(m->sequencer);
		dead = issued > dead ? issued : dead;
		cycles = dead + 1 > cycles ? dead + 1 : cycles;
	}
	*totals = (struct machine_totals){ .cycles = cycles };
	fill_totals(m, totals);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		engine_close(m->engine[e], cycles);
	sequencer_close(m->sequencer, cycles);
	if (!semaphores_close(m->semaphores, err))
		return false;
	return complete || machine_tell_deadlock(m->program, m->engine, m->semaphores, m->sequencer, dead, err);
}
