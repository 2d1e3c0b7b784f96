/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's configuration as the models see it; reading it from files and the command line is sim's. */
#ifndef NPU_MODELS_HW_H
#define NPU_MODELS_HW_H

#include "isa/error.h"
#include "isa/insn.h"
#include "isa/limits.h"
#include "models/dram/dram.h"

#define HW_TYPE_UINT uint64_t
#define HW_TYPE_SIZE uint64_t
#define HW_TYPE_REAL double
#define HW_TYPE_FLAG bool
#define HW_TYPE_ENUM uint32_t

#define SECTION(section, doc) struct hw_##section {
#define KEY(section, type, name, initial, min, max, unit, doc) HW_TYPE_##type name;
#define END_SECTION(section) };
#include "models/hw.def"

/* Values of the ENUM keys: HW_DATAFLOW_WS, ... */
enum hw_value {
#define HW_ENUM(section, name, VALUE, number, text, doc) HW_##VALUE = (number),
#include "models/hw.def"
};

struct hw {
	char name[64]; /* preset or file the configuration began with */
#define SECTION(section, doc) struct hw_##section section;
#include "models/hw.def"
	struct dram_config dram;
};

/* What programs and kernels may know of it. */
struct npu_capacity hw_capacity(const struct hw *);
/* Relations between keys (SRAM a multiple of its banks and groups, ports no wider than a group, ...); an error names the
 * keys, `*key` is set to the one to blame, "sram.size". */
bool hw_check(const struct hw *, const char **key, struct npu_error *err);
/* Keys that are 0 in the file for "derived": activation_port, weight_port. */
uint64_t hw_activation_port(const struct hw *);
uint64_t hw_weight_port(const struct hw *);
/* Products a cycle for streamed operands of type a. */
uint64_t hw_macs_per_cycle(const struct hw *, enum npu_dtype a);
/* DRAM clocks to NPU cycles, exactly: the first NPU edge at or after the DRAM edge; and the last DRAM edge before or at. */
uint64_t hw_cycle_of_dram_clk(const struct hw *, uint64_t clk);
uint64_t hw_dram_clk_of_cycle(const struct hw *, uint64_t cycle);

#endif
