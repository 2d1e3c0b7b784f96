/* SPDX-License-Identifier: Apache-2.0 */
/* The builder with which kernels are written: places buffers by name, hands out semaphores and DRAM, records source
 * lines. It knows capacities, never cycles. The first error sticks: later calls do nothing and npu_builder_finish
 * reports it. */
#ifndef NPU_KERNELS_BUILDER_H
#define NPU_KERNELS_BUILDER_H

#include <stddef.h>

#include "isa/program.h"

struct npu_builder;

/* -- npu.h -- */
struct npu_builder *npu_builder_new(const char *program, const struct npu_capacity *);
/* Frees the builder and returns the program; NULL with the first error (for buffers that do not fit: what did not fit
 * and by how much, with a map of all buffers). */
struct npu_program *npu_builder_finish(struct npu_builder *, struct npu_error *err);
/* Frees the builder and what it collected. */
void npu_builder_discard(struct npu_builder *);
bool npu_builder_failed(const struct npu_builder *);
/* The first error, NULL while there is none. */
const struct npu_error *npu_builder_error(const struct npu_builder *);
/* Fails with an error of the kernel's own, unless there is one already. */
void npu_builder_fail(struct npu_builder *, enum npu_error_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const struct npu_capacity *npu_builder_capacity(const struct npu_builder *);

/* A tensor in DRAM, dense, placed one after the other, aligned to 4 KiB. */
struct npu_dram {
	uint64_t addr;
	uint64_t bytes;
	uint32_t index;
};
struct npu_dram npu_tensor(struct npu_builder *, const char *name, enum npu_dtype, enum npu_tensor_dir, unsigned rank,
			   const uint64_t *shape);
/* The same in a layout, NPU_LAYOUT_*, of its two innermost dimensions, at an address: views overlap. NPU_ANYWHERE: as
 * above. */
#define NPU_ANYWHERE UINT64_MAX
struct npu_dram npu_tensor_at(struct npu_builder *, const char *name, enum npu_dtype, enum npu_tensor_dir,
			      unsigned rank, const uint64_t *shape, uint32_t layout, uint64_t at);

/* What .tensor says more: `size` is sizeof(struct npu_tensor_options), so that later versions may add to its end; what
 * is 0 is as npu_tensor has it. A file of contents is none of the program, which may be run where that file is not:
 * --tensor NAME=FILE names it. */
struct npu_tensor_options {
	uint32_t size;
	uint32_t layout; /* NPU_LAYOUT_* */
	uint64_t bytes;  /* more than its elements take, as room behind them; 0: just those */
	uint64_t at;     /* its address, where `placed` */
	uint32_t placed; /* 1: at `at`, which may be 0 */
	uint32_t seeded; /* 1: `seed` decides what --values makes up for this input, and --seed adds to it */
	uint64_t seed;   /* at most 2^63 - 1 */
};
struct npu_dram npu_tensor_with(struct npu_builder *, const char *name, enum npu_dtype, enum npu_tensor_dir,
				unsigned rank, const uint64_t *shape, const struct npu_tensor_options *);

/* A buffer of local memory, aligned to the bank word. `group`: SRAM group (or accumulator bank) to prefer, modulo their
 * number; -1 the emptiest. A buffer that its group cannot hold goes to another one, or across several. Its address, or
 * 0 after an error. npu_release ends its life: what is placed later may reuse the bytes (and the kernel must order the
 * engines that touch them). */
uint32_t npu_sram(struct npu_builder *, const char *name, uint64_t bytes, int group);
uint32_t npu_acc(struct npu_builder *, const char *name, uint64_t bytes, int bank);
void npu_release(struct npu_builder *, uint32_t local);
/* The same at an offset that is free, or fails; or at one that `align`, a power of two, divides. */
uint32_t npu_sram_at(struct npu_builder *, const char *name, uint64_t bytes, uint32_t at);
uint32_t npu_acc_at(struct npu_builder *, const char *name, uint64_t bytes, uint32_t at);
uint32_t npu_sram_aligned(struct npu_builder *, const char *name, uint64_t bytes, int group, uint32_t align);
uint32_t npu_acc_aligned(struct npu_builder *, const char *name, uint64_t bytes, int bank, uint32_t align);

/* Buffers placed together: as npu_sram and npu_acc would, or, where that leaves gaps too small for one of them, packed
 * without regard to groups. So they fit whenever their sum does. */
struct npu_request {
	const char *name;
	bool accum;      /* in the accumulators instead of SRAM */
	uint64_t bytes;  /* of each */
	unsigned count;  /* more than 1: name[0], name[1], ... in groups `group`, `group + step`, ... */
	int group;       /* as above */
	uint32_t *local; /* addresses, [count] */
	unsigned least;  /* buffers that must have room, the others up to `count` may go without; 0: all */
	unsigned *got;   /* buffers placed, least to count; NULL: nobody asks */
	bool pair;       /* as many buffers as the request before this one has */
	unsigned step;   /* groups from one buffer to the next; 0: one */
};
enum { NPU_MAX_REQUESTS = 16 };
/* Where not all buffers have room, all requests get a second one before any gets a third, the first request first. */
bool npu_place(struct npu_builder *, const struct npu_request *, unsigned n);
/* -- private -- */
/* What is placed in DRAM from now on lies at `addr` or behind it: other programs' tensors lie before. */
void npu_builder_dram_from(struct npu_builder *, uint64_t addr);

/* How the tensors of a program lie. */
enum { NPU_LAID_TENSORS = 16 };
struct npu_laid {
	unsigned n;
	bool otherwise; /* there are more, or some are views, or block tables: what is known is not enough */
	struct npu_tensor tensors[NPU_LAID_TENSORS]; /* without names */
};
/* From now on tensors are noted in *laid, and the first instruction fails. */
void npu_builder_lay(struct npu_builder *, struct npu_laid *laid);
/* The program is a part of a larger one, whose tensors lie so: fewer rows of the first dimension, or fewer columns of a
 * matrix of rows. Each tensor, in the order of the calls, takes the place and the bytes of its own one there, and rows
 * of a matrix are as far apart as there. Both must agree (npu_laid_part), and *whole stays. */
void npu_builder_lay_as(struct npu_builder *, const struct npu_laid *whole);
/* Whether tensors that lie so are such a part of the others. */
bool npu_laid_part(const struct npu_laid *part, const struct npu_laid *whole);
/* Second buffers for which npu_place found no room so far. */
unsigned npu_builder_unpaired(const struct npu_builder *);
/* -- npu.h -- */

/* A semaphore; slots of a ping-pong are separate ones. */
struct npu_semaphore {
	uint16_t sem;
	uint16_t count; /* how many an instruction waits for or posts; 0: unused */
};
struct npu_semaphore npu_semaphore(struct npu_builder *, const char *name, uint32_t initial);
/* With the highest count that it may have, 1 to 65535; more posts deadlock or are refused by the checker. */
struct npu_semaphore npu_semaphore_max(struct npu_builder *, const char *name, uint32_t initial, uint32_t max);
/* The slot of an order that is not used. */
#define NPU_NO_SEMAPHORE ((struct npu_semaphore){ 0 })
/* -- private -- */

/* Up to two waits and two posts of one instruction; missing ones are zero. */
struct npu_order {
	struct npu_semaphore wait[NPU_SYNC_SLOTS];
	struct npu_semaphore post[NPU_SYNC_SLOTS];
};

/* -- npu.h -- */
/* A block table, in DRAM too; its index for gather and scatter. */
uint32_t npu_block_table(struct npu_builder *, const char *name, uint32_t count, const uint32_t *entries);
/* The same, of one sequence: the checker looks whether the pages that it names are that sequence's. */
uint32_t npu_sequence_table(struct npu_builder *, const char *name, uint32_t sequence, uint32_t count,
			    const uint32_t *entries);
/* From the next instruction on, pages [first, first + count) of a pool are free, owned by a sequence, or shared:
 * records of who hands pages out, for the checker alone. Pages of a pool that has records are free before the first
 * one. */
void npu_page(struct npu_builder *, struct npu_dram pool, uint32_t first, uint32_t count, enum npu_page_state,
	      uint32_t sequence);
void npu_region(struct npu_builder *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void npu_region_end(struct npu_builder *);
/* -- private -- */

/* More instructions than that (1 GiB of them) are a mistake in a length or a tile. */
enum { NPU_MAX_INSNS = 1 << 24 };

/* Adds an instruction (NPU_MAX_INSNS at most: then it fails, so long loops should look at npu_builder_failed); op and
 * operands from the union, order from `order` (NULL: none). Fields that are not set are 0, which is FP32 for a type:
 * set types and scales. The macro records the line; arguments may be compound literals:
 *
 *   npu_emit(b, &(struct npu_insn){ .op = NPU_OP_LOAD, .dma = { .local = k, .dram = K.addr, .rows = 128, .cols = 64,
 *            .dtype = NPU_FP16 } }, &(struct npu_order){ .wait = { k_free }, .post = { k_full } });
 */
void npu_emit_at(struct npu_builder *, const char *file, unsigned line, const struct npu_insn *,
		 const struct npu_order *order);
#define npu_emit(builder, ...) npu_emit_at(builder, __FILE__, __LINE__, __VA_ARGS__)

#endif
