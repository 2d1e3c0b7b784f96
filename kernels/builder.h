/* SPDX-License-Identifier: Apache-2.0 */
/* The builder with which kernels are written: places buffers by name, hands out semaphores and DRAM, records source lines.
 * It knows capacities, never cycles. The first error sticks: later calls do nothing and npu_builder_finish reports it. */
#ifndef NPU_KERNELS_BUILDER_H
#define NPU_KERNELS_BUILDER_H

#include "isa/program.h"

struct npu_builder;

struct npu_builder *npu_builder_new(const char *program, const struct npu_capacity *);
/* Frees the builder and returns the program; NULL with the first error (for buffers that do not fit: what did not fit and
 * by how much, with a map of all buffers). */
struct npu_program *npu_builder_finish(struct npu_builder *, struct npu_error *err);
bool npu_builder_failed(const struct npu_builder *);
const struct npu_capacity *npu_builder_capacity(const struct npu_builder *);

/* A tensor in DRAM, dense, placed one after the other, aligned to 4 KiB. */
struct npu_dram {
	uint64_t addr;
	uint64_t bytes;
	uint32_t index;
};
struct npu_dram npu_tensor(struct npu_builder *, const char *name, enum npu_dtype, enum npu_tensor_dir, unsigned rank,
			   const uint64_t *shape);

/* A buffer of local memory. `group`: SRAM group (or accumulator bank) to prefer, -1 any. Its address, or 0 after an
 * error. `count` > 1 makes name[0], name[1], ... one after the other in different groups where that is possible. */
uint32_t npu_sram(struct npu_builder *, const char *name, uint64_t bytes, int group);
uint32_t npu_acc(struct npu_builder *, const char *name, uint64_t bytes, int bank);
void npu_release(struct npu_builder *, uint32_t local);

/* A semaphore; slots of a ping-pong are separate ones. */
struct npu_semaphore {
	uint16_t sem;
	uint16_t count;
};
struct npu_semaphore npu_semaphore(struct npu_builder *, const char *name, uint32_t initial);

/* Up to two waits and two posts of one instruction; missing ones are zero. */
struct npu_order {
	struct npu_semaphore wait[NPU_SYNC_SLOTS];
	struct npu_semaphore post[NPU_SYNC_SLOTS];
};

uint32_t npu_block_table(struct npu_builder *, const char *name, uint32_t count, const uint32_t *entries);
void npu_region(struct npu_builder *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void npu_region_end(struct npu_builder *);

/* Adds an instruction; op and operands from the union, order from `order` (NULL: none). The macro records the line. */
void npu_emit_at(struct npu_builder *, const struct npu_insn *, const struct npu_order *order, const char *file,
		 unsigned line);
#define npu_emit(builder, insn, order) npu_emit_at(builder, insn, order, __FILE__, __LINE__)

#endif
