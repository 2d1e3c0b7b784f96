/* SPDX-License-Identifier: Apache-2.0 */
/* The dependencies of a run as a graph in DOT, with its critical path. Up to GRAPH_NODES instructions are a node each; above
 * that regions are, from the innermost to the outermost, then source lines, whatever is few enough; else a window. */
#ifndef NPU_SIM_GRAPH_H
#define NPU_SIM_GRAPH_H

#include "sim/simulate_parts.h"

enum { GRAPH_NODES = 300, GRAPH_EDGES = 900 };

struct graph_facts {
	uint32_t nodes, edges;
	const char *node; /* what a node is: "instruction", "region", "source line" */
	uint32_t from, to; /* of the instructions that are shown */
};

/* The simulation was recorded. Instructions from <= i < to alone; 0 and UINT32_MAX: all. False with an error when memory is
 * short or a window holds more than GRAPH_NODES. */
bool graph_write(const struct simulation *, uint32_t from, uint32_t to, FILE *, struct graph_facts *, struct npu_error *);

#endif
