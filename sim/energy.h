/* SPDX-License-Identifier: Apache-2.0 */
/* Energy from counted events and the prices of the hardware's energy section. */
#ifndef NPU_SIM_ENERGY_H
#define NPU_SIM_ENERGY_H

#include "models/machine.h"

struct energy {
	double total_uj, mac_uj, vector_uj, sram_uj, accum_uj, dram_uj, idle_uj;
	double idle_gated_uj; /* idle_uj with energy.idle=gated, whatever the key says */
};

/* Event prices are pJ; leakage and clocks are mW over the run's time. `macs` by the type of the
 * streamed operand; `active_fraction`: of the time, the mean of the engines. */
struct energy energy_of(const struct hw *, const uint64_t macs[NPU_DTYPES], const struct machine_totals *, double time_us,
			 double active_fraction);

#endif
