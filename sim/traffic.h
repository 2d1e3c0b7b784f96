/* SPDX-License-Identifier: Apache-2.0 */
/* DRAM bytes that a program asks for, by tensor: a matter of the program alone, whatever the machine. */
#ifndef NPU_SIM_TRAFFIC_H
#define NPU_SIM_TRAFFIC_H

#include "isa/program.h"

struct traffic_row {
	const char *name; /* the program's, or a literal */
	uint64_t read_bytes;
	uint64_t write_bytes;
	uint64_t unique_bytes; /* distinct bytes read or written */
};

/* A row a tensor in the program's order, then `(unnamed)` where bytes lie in no tensor, `(block tables)` where
 * there are any, `(instructions)` where they come from DRAM. */
struct traffic {
	struct traffic_row *rows;
	uint32_t nrows;
	uint64_t read_bytes;
	uint64_t write_bytes;
};

/* `fetch_bytes` of instructions were read from DRAM. The program must live as long. False when out of memory. */
bool traffic_init(struct traffic *, const struct npu_program *, uint64_t fetch_bytes);
void traffic_fini(struct traffic *);

#endif
