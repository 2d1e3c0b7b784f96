/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold between the figures of every run. */
#include "sim/account.h"

#include <inttypes.h>

static bool adds_up(struct npu_error *err, const char *what, const char *which, uint64_t sum, uint64_t whole)
{
	if (sum == whole)
		return true;
	return npu_fail(err, NPU_ERR_INTERNAL, "internal: %s%s%s add up to %" PRIu64 ", not %" PRIu64, what,
			which[0] ? " of " : "", which, sum, whole);
}

static bool check_engine(const struct account *a, enum npu_engine e, struct npu_error *err)
{
	uint64_t all = 0, stalls_in_service = 0;
	for (unsigned s = 0; s < NPU_STATES; s++) {
		all += a->states[e][s];
		if (account_state_group((enum npu_state)s) == ACCOUNT_ACTIVE && s != NPU_STATE_BUSY)
			stalls_in_service += a->states[e][s];
	}
	return adds_up(err, "the states", npu_engine_name(e), all, a->cycles) &&
	       adds_up(err, "busy and the stalls in service", npu_engine_name(e),
		       a->states[e][NPU_STATE_BUSY] + stalls_in_service, a->active[e]);
}

static bool check_sequencer(const struct account *a, struct npu_error *err)
{
	uint64_t all = 0;
	for (unsigned s = 0; s < NPU_SEQ_STATES; s++)
		all += a->sequencer[s];
	return adds_up(err, "the states", "the sequencer", all, a->cycles);
}

static bool check_overlap(const struct account *a, struct npu_error *err)
{
	uint64_t dma = a->active[NPU_ENGINE_LOAD] + a->active[NPU_ENGINE_STORE];
	uint64_t compute = a->active[NPU_ENGINE_MATRIX] + a->active[NPU_ENGINE_VECTOR];
	if (!adds_up(err, "the parts", "the overlap", a->both + a->dma_only + a->compute_only + a->neither, a->cycles))
		return false;
	/* A union lies between its larger member and the sum; this ties the overlap to the engines' own sums. */
	if (a->both + a->dma_only > dma || 2 * (a->both + a->dma_only) < dma ||
	    a->both + a->compute_only > compute || 2 * (a->both + a->compute_only) < compute)
		return npu_fail(err, NPU_ERR_INTERNAL, "internal: the overlap contradicts the engines");
	return true;
}

/* Region by region, as they lie in memory: there may be as many as tiles. */
static bool check_region_states(const struct account *a, struct npu_error *err)
{
	uint64_t sum[NPU_ENGINES][NPU_STATES] = { 0 };
	for (uint32_t i = 0; i < a->nregions; i++)
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			for (unsigned s = 0; s < NPU_STATES; s++)
				sum[e][s] += a->regions[i].states[e][s];
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++)
			if (!adds_up(err, account_state_name((enum npu_state)s), npu_engine_name((enum npu_engine)e),
				     sum[e][s], a->states[e][s]))
				return false;
	return true;
}

static bool check_regions(const struct account *a, struct npu_error *err)
{
	if (a->nregions == 0)
		return true;
	uint64_t instructions = 0, all = 0, macs = 0, reads = 0, writes = 0;
	for (uint32_t i = 0; i < a->nregions; i++) {
		instructions += a->regions[i].instructions;
		macs += a->regions[i].macs;
		reads += a->regions[i].dram_read_bytes;
		writes += a->regions[i].dram_write_bytes;
	}
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		all += a->instructions[e];
	return check_region_states(a, err) &&
	       adds_up(err, "the instructions", "the regions", instructions, all) &&
	       adds_up(err, "the MACs", "the regions", macs, a->macs) &&
	       adds_up(err, "the bytes read", "the regions", reads, a->dram_read_bytes) &&
	       adds_up(err, "the bytes written", "the regions", writes, a->dram_write_bytes);
}

static bool check_tensors(const struct account *a, struct npu_error *err)
{
	uint64_t reads = 0, writes = 0;
	for (uint32_t i = 0; i < a->traffic.nrows; i++) {
		reads += a->traffic.rows[i].read_bytes;
		writes += a->traffic.rows[i].write_bytes;
	}
	return adds_up(err, "the bytes read", "the tensors", reads, a->dram_read_bytes) &&
	       adds_up(err, "the bytes written", "the tensors", writes, a->dram_write_bytes);
}

/* Rounding of the division alone may pass 1. NaN (no meaning) passes. */
static bool check_fraction(const char *name, double value, struct npu_error *err)
{
	if (value < 0 || value > 1 + 1e-9)
		return npu_fail(err, NPU_ERR_INTERNAL, "internal: %s is %g", name, value);
	return true;
}

static bool check_fractions(const struct account *a, struct npu_error *err)
{
	return check_fraction("mac_utilization", a->mac_utilization, err) &&
	       check_fraction("matrix_active_fraction", a->matrix_active_fraction, err) &&
	       check_fraction("dram.row_hit_fraction", a->dram_row_hit_fraction, err) &&
	       check_fraction("dram.bus_fraction", a->dram_bus_fraction, err);
}

bool account_check(const struct account *a, struct npu_error *err)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		if (!check_engine(a, (enum npu_engine)e, err))
			return false;
	return check_sequencer(a, err) && check_overlap(a, err) && check_regions(a, err) && check_tensors(a, err) &&
	       check_fractions(a, err);
}
