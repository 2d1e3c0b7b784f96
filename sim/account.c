/* SPDX-License-Identifier: Apache-2.0 */
/* Figures from sums. What needs the program alone (MACs, traffic) is read from it; what needs time is in the record. */
#include "sim/account.h"

#include "isa/access.h"
#include "sim/account_bound.h"
#include "sim/account_regions.h"
#include "sim/energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct state_info {
	const char *name, *doc;
	enum account_group group;
};

static const struct state_info states[NPU_STATES] = {
#define STATE(NAME, text, group, doc) [NPU_STATE_##NAME] = { text, doc, ACCOUNT_##group },
#include "models/states.def"
};

static const char *const sequencer_names[NPU_SEQ_STATES] = {
#define SEQ_STATE(NAME, text, doc) [NPU_SEQ_##NAME] = text,
#include "models/states.def"
};

enum account_group account_state_group(enum npu_state s) { return states[s].group; }
const char *account_state_name(enum npu_state s) { return states[s].name; }
const char *account_state_doc(enum npu_state s) { return states[s].doc; }
bool account_state_is_stall(enum npu_state s) { return s != NPU_STATE_BUSY && s != NPU_STATE_IDLE; }
bool account_state_is_decided(enum npu_state s) { return account_state_is_stall(s) && account_state_group(s) != ACCOUNT_EMPTY; }
const char *account_sequencer_name(enum npu_seq_state s) { return sequencer_names[s]; }

uint64_t account_active(const uint64_t cycles[NPU_STATES])
{
	uint64_t sum = 0;
	for (unsigned s = 0; s < NPU_STATES; s++)
		if (states[s].group == ACCOUNT_ACTIVE)
			sum += cycles[s];
	return sum;
}

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

/* Of an empty run, where nothing happened in no time. */
static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

struct products {
	uint64_t macs, masked;
	uint64_t by_type[NPU_DTYPES]; /* of the streamed operand */
};

static struct products count_products(const struct npu_program *p)
{
	struct products sum = { 0 };
	for (uint32_t i = 0; i < p->ninsns; i++) {
		if (npu_op_engine(p->insns[i].op) != NPU_ENGINE_MATRIX)
			continue;
		uint64_t macs = npu_insn_macs(&p->insns[i]);
		if (macs == 0)
			continue;
		sum.macs += macs;
		sum.by_type[p->insns[i].matmul.a_type] += macs;
		sum.masked += p->insns[i].matmul.masked < macs ? p->insns[i].matmul.masked : macs;
	}
	return sum;
}

/* Cycles that an array without a lost cycle takes for these products. */
static double full_cycles(const struct hw *hw, const uint64_t macs[NPU_DTYPES])
{
	double cycles = 0;
	for (unsigned t = 0; t < NPU_DTYPES; t++)
		if (macs[t] > 0)
			cycles += (double)macs[t] / (double)hw_macs_per_cycle(hw, (enum npu_dtype)t);
	return cycles;
}

static enum npu_dtype default_dtype(const struct hw *hw)
{
	switch (hw->matrix.dtype) {
	case HW_MATRIX_BF16:
		return NPU_BF16;
	case HW_MATRIX_INT8:
		return NPU_INT8;
	}
	return NPU_FP16;
}

static double clk_ps(const struct hw *hw) { return (double)hw->dram.tck_num / (double)hw->dram.tck_den; }

static double peak_gb_per_s(const struct hw *hw) { return dram_peak_bytes_per_clk(&hw->dram) * 1000.0 / clk_ps(hw); }

static void account_products(struct account *a, const struct hw *hw, const struct products *p)
{
	double full = full_cycles(hw, p->by_type);
	a->macs = p->macs;
	a->useful_macs = p->macs - p->masked;
	a->mac_utilization = share(full, (double)a->cycles);
	double macs_per_cycle = full > 0 ? (double)p->macs / full : (double)hw_macs_per_cycle(hw, default_dtype(hw));
	a->ridge_macs_per_byte = macs_per_cycle * hw->npu.clock_mhz * 1e6 / (peak_gb_per_s(hw) * 1e9);
}

static void account_dram(struct account *a, const struct simulation_request *request, const struct machine_totals *totals)
{
	const struct hw *hw = request->hw;
	bool ideal = request->ideal & MACHINE_IDEAL_DRAM || hw->dram.ideal, part = !ideal && !request->memory;
	const struct dram_stats *d = &totals->dram;
	double bytes = (double)(d->read_bytes + d->write_bytes);
	a->dram_read_bytes = d->read_bytes;
	a->dram_write_bytes = d->write_bytes;
	a->dram_bus_bytes = d->bus_bytes;
	a->dram_gb_per_s = share(bytes, a->time_us * 1e3);
	a->dram_peak_gb_per_s = peak_gb_per_s(hw);
	double on_bus = share(bytes - (double)d->forwarded_bytes, a->time_us * 1e3);
	a->dram_peak_fraction = part ? on_bus / a->dram_peak_gb_per_s : NAN;
	double bus_us = (double)d->bus_busy_clk * clk_ps(hw) / 1e6;
	a->dram_bus_fraction = part ? share(bus_us, a->time_us * hw->dram.channels) : NAN;
	/* An ideal DRAM has no rows, and answers at once; a memory of the user's keeps its rows to itself. */
	a->dram_row_hit_fraction = part ? ratio((double)d->row_hits, (double)d->bursts) : NAN;
	a->dram_mean_latency_ns = ideal ? NAN : ratio((double)d->read_latency_sum * clk_ps(hw) / 1e3, (double)d->reads);
	a->macs_per_dram_byte = ratio((double)a->macs, bytes);
}

static void account_time(struct account *a, const struct hw *hw, const struct record *r)
{
	memcpy(a->states, r->states, sizeof(a->states));
	memcpy(a->sequencer, r->sequencer, sizeof(a->sequencer));
	memcpy(a->instructions, r->insns, sizeof(a->instructions));
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		a->active[e] = account_active(a->states[e]);
		a->sram_conflict_cycles += a->states[e][NPU_STATE_SRAM_CONFLICT];
		a->accum_conflict_cycles += a->states[e][NPU_STATE_ACCUM_CONFLICT];
	}
	a->time_us = (double)a->cycles / hw->npu.clock_mhz;
	a->matrix_active_fraction = share((double)a->active[NPU_ENGINE_MATRIX], (double)a->cycles);
	a->neither = r->overlap.cycles[OVERLAP_NEITHER];
	a->dma_only = r->overlap.cycles[OVERLAP_DMA];
	a->compute_only = r->overlap.cycles[OVERLAP_COMPUTE];
	a->both = r->overlap.cycles[OVERLAP_BOTH];
	a->hidden_fraction = ratio((double)a->both, (double)(a->both + a->dma_only));
	a->sram_peak_bytes = live_peak_bytes(r->live, LIVE_SRAM);
	a->accum_peak_bytes = live_peak_bytes(r->live, LIVE_ACCUM);
}

static void account_energy(struct account *a, const struct hw *hw, const struct products *p,
			   const struct machine_totals *totals)
{
	double active = 0;
	for (unsigned i = 0; i < NPU_ENGINES; i++)
		active += share((double)a->active[i], (double)a->cycles) / NPU_ENGINES;
	struct energy e = energy_of(hw, p->by_type, totals, a->time_us, active);
	a->energy_total_uj = e.total_uj;
	a->energy_mac_uj = e.mac_uj;
	a->energy_vector_uj = e.vector_uj;
	a->energy_sram_uj = e.sram_uj;
	a->energy_accum_uj = e.accum_uj;
	a->energy_dram_uj = e.dram_uj;
	a->energy_idle_uj = e.idle_uj;
	a->energy_idle_gated_uj = e.idle_gated_uj;
}

bool account_init(struct account *a, const struct simulation_request *request, const struct record *r,
		  const struct machine_totals *totals, struct npu_error *err)
{
	const struct npu_program *program = request->program;
	struct products products = count_products(program);
	memset(a, 0, sizeof(*a));
	a->cycles = totals->cycles;
	account_time(a, request->hw, r);
	account_products(a, request->hw, &products);
	account_dram(a, request, totals);
	account_energy(a, request->hw, &products, totals);
	account_bound(a);
	if (!traffic_init(&a->traffic, program, totals->fetch_bytes) || !account_regions(a, program, r)) {
		account_fini(a);
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the report");
	}
	if (!account_check(a, err)) {
		account_fini(a);
		return false;
	}
	return true;
}

void account_fini(struct account *a)
{
	traffic_fini(&a->traffic);
	for (uint32_t i = 0; i < a->nregions; i++)
		free(a->regions[i].name);
	free(a->regions);
	free(a->row_of_region);
	memset(a, 0, sizeof(*a));
}
