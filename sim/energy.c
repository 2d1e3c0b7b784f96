/* SPDX-License-Identifier: Apache-2.0 */
/* events x price, part by part. */
#include "sim/energy.h"

static const double pj_per_uj = 1e6;
static const double uj_per_mw_us = 1e-3;

static uint64_t all_engines(const uint64_t bytes[NPU_ENGINES])
{
	uint64_t sum = 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		sum += bytes[e];
	return sum;
}

struct energy energy_of(const struct hw *hw, const uint64_t macs[NPU_DTYPES], const struct machine_totals *totals,
			double time_us, double active_fraction)
{
	const struct hw_energy *price = &hw->energy;
	struct energy e = { 0 };
	for (unsigned t = 0; t < NPU_DTYPES; t++) {
		double pj = npu_dtype_is_float((enum npu_dtype)t) ? price->mac_fp16_pj : price->mac_int8_pj;
		e.mac_uj += (double)macs[t] * pj / pj_per_uj;
	}
	e.vector_uj = (double)totals->vector_slots * price->vector_op_pj / pj_per_uj;
	e.sram_uj = (double)all_engines(totals->sram_bytes) * price->sram_byte_pj / pj_per_uj;
	e.accum_uj = (double)all_engines(totals->accum_bytes) * price->accum_byte_pj / pj_per_uj;
	e.dram_uj = (double)totals->dram.bus_bytes * price->dram_byte_pj / pj_per_uj;
	double polling_uj = time_us * price->idle_mw * uj_per_mw_us;
	/* Leakage all the time; each engine's clock while that engine is active. */
	e.idle_gated_uj = polling_uj * (price->leakage_fraction + (1 - price->leakage_fraction) * active_fraction);
	e.idle_uj = price->idle == HW_IDLE_GATED ? e.idle_gated_uj : polling_uj;
	e.total_uj = e.mac_uj + e.vector_uj + e.sram_uj + e.accum_uj + e.dram_uj + e.idle_uj;
	return e;
}
