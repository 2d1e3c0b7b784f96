/* SPDX-License-Identifier: Apache-2.0 */
/* Material for tests of kernels: the capacities of the presets, random legal parameters, a walk in program order. */
#ifndef NPU_TESTS_SUPPORT_KERNEL_CASES_H
#define NPU_TESTS_SUPPORT_KERNEL_CASES_H

#include "kernels/kernel.h"

struct named_capacity {
	const char *name;
	struct npu_capacity capacity;
};
/* tiny-256k, edge-1mb, edge-2mb, server; the name NULL ends them. */
extern const struct named_capacity preset_capacities[];
const struct npu_capacity *preset_capacity(const char *name);
/* The preset of the `number`-th case: every third has four load channels, whatever the preset has. */
struct npu_capacity capacity_of_case(const struct named_capacity *preset, unsigned number);

/* The same sequence for the same seed. */
struct case_rng {
	uint64_t state;
};
uint64_t case_below(struct case_rng *, uint64_t n);

/* Random parameters that belong together: lengths up to `longest`, now and then 0 or more queries than keys, 1 to 3 key heads
 * with 1, 2 or 4 query heads each, tiles left open or up to `longest`. Where `longest` is 300 or more, also one or two heads
 * of 512 or 1024 elements a row with tiles of 64 to 256 keys. */
void random_args(const struct npu_kernel *, struct npu_args *, uint64_t longest, struct case_rng *);
/* Then, for paged decode: kv heads side by side, and whole pages of them where those may come so, in tiles of such. */
void random_heads(const struct npu_kernel *, struct npu_args *, struct case_rng *);

/* Walks in program order: every wait finds its count, no count exceeds its maximum, each semaphore has one posting and
 * one waiting engine, every local access lies inside a buffer that is alive. False with what is wrong in `why`. */
bool program_order_is_legal(const struct npu_program *, char *why, uint64_t size);
/* No two instructions of different engines touch the same bytes, one of them writing, unless the earlier one has ended
 * before the later one starts, whatever the timing: by starts and ends in queue order, and the k-th wait after its
 * post. */
bool program_has_no_race(const struct npu_program *, char *why, uint64_t size);
/* What the emitted instructions multiply and move. */
struct npu_expect program_counts(const struct npu_program *);

/* The parameter whose length tiles of every kernel divide. */
unsigned case_length(const struct npu_kernel *);

#endif
