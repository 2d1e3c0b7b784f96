/* SPDX-License-Identifier: Apache-2.0 */
/* A systolic array PE by PE, register by register, cycle by cycle: what models/matrix must agree with. Operands move one
 * PE a cycle, sums are computed and compared with plain products, so a schedule that is too fast gives wrong values. */
#ifndef NPU_TESTS_SUPPORT_PE_ARRAY_H
#define NPU_TESTS_SUPPORT_PE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

enum { PE_ROWS_MAX = 16, PE_COLS_MAX = 16 };

struct pe_array {
	unsigned rows;
	unsigned cols;
	bool output_stationary;
	bool overlapped; /* second weight (or sum) registers */
	bool last_block; /* the next tile enters (OS: initial sums do) beside the last block of `rows` operand rows */
	unsigned input_registers, output_registers; /* on the way in and out */
};

/* D[pass, stay] = A[pass, k] B[k, stay]; B stays (or D). Input-stationary is this with the operands exchanged. */
struct pe_product {
	unsigned pass, stay, k;
	unsigned depth;      /* products a PE and cycle */
	unsigned load;       /* cycles in which a tile of B enters, evenly */
	unsigned row_beats;  /* cycles that an operand row (OS: a step) takes to enter */
	unsigned transposer; /* cycles before a first (serial: every) tile of B enters */
	uint64_t ready;      /* its waits hold from this cycle on */
	/* found out */
	uint64_t accepted;
	uint64_t first;      /* first operand row begins to enter */
	uint64_t stream_end;
	uint64_t end;        /* last sum has left */
};

/* Runs the products one after the other as fast as registers allow. NULL, or what went wrong. */
const char *pe_array_run(const struct pe_array *, struct pe_product *, unsigned n);

#endif
