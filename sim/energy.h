/* SPDX-License-Identifier: Apache-2.0 */
/* Energy from counted events and the prices of the hardware's energy section. */
#ifndef NPU_SIM_ENERGY_H
#define NPU_SIM_ENERGY_H

#include "models/machine.h"

struct energy {
	double total_uj, mac_uj, vector_uj, sram_uj, accum_uj, dram_uj, idle_uj;
};

/* Event prices are pJ; leakage is mW over the run's time. `macs` by the type of the streamed operand. */
struct energy energy_of(const struct hw *, const uint64_t macs[NPU_DTYPES], const struct machine_totals *, double time_us);

#endif
