/* SPDX-License-Identifier: Apache-2.0 */
/* A table from names to numbers. Names are kept by reference. */
#ifndef NPU_ISA_TEXT_SYMBOLS_H
#define NPU_ISA_TEXT_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct npu_symbol {
	const char *name; /* NULL: the slot is free */
	uint32_t length;
	uint32_t hash;
	uint64_t value;
};

struct npu_symbols {
	struct npu_symbol *slots;
	uint32_t capacity; /* a power of two, or 0 */
	uint32_t count;
};

/* All zero is an empty table. */
void npu_symbols_fini(struct npu_symbols *);
const struct npu_symbol *npu_symbols_find(const struct npu_symbols *, const char *name, uint64_t length);
/* Adds or replaces; `name` must stay as long as the table. False: out of memory. */
bool npu_symbols_set(struct npu_symbols *, const char *name, uint64_t length, uint64_t value);
/* The nearest name that may be meant (isa/error.h), copied into out[0..size); false when there is none. */
bool npu_symbols_nearest(const struct npu_symbols *, const char *name, uint64_t length, char *out, uint64_t size);

#endif
