/* SPDX-License-Identifier: Apache-2.0 */
/* A set of bytes of a large, mostly untouched memory. Private to isa/check. */
#ifndef NPU_ISA_CHECK_BYTESET_H
#define NPU_ISA_CHECK_BYTESET_H

#include <stdbool.h>
#include <stdint.h>

/* Pages of bits in a hash table; pages that are full take no bits. All zero is the empty set. */
struct npu_byteset {
	struct npu_byteset_page {
		uint64_t number; /* + 1; 0: the slot is free */
		uint64_t *bits;  /* NULL: all of them */
	} * pages;
	uint32_t count, capacity; /* a power of two */
	bool failed;              /* out of memory: what it says is no longer right */
};

void npu_byteset_fini(struct npu_byteset *);
/* Bytes from <= at < to. */
void npu_byteset_add(struct npu_byteset *, uint64_t from, uint64_t to);
void npu_byteset_remove(struct npu_byteset *, uint64_t from, uint64_t to);
/* How many bytes of from <= at < to are not in the set; *first and *last of them, untouched when there are none. */
uint64_t npu_byteset_missing(const struct npu_byteset *, uint64_t from, uint64_t to, uint64_t *first, uint64_t *last);

#endif
