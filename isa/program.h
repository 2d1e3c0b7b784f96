/* SPDX-License-Identifier: Apache-2.0 */
/* A program: instructions and what they refer to (semaphores, tensors, buffers, block tables, regions, source places).
 * Written by a builder, an assembler or a reader of .npub; read-only for everybody else. */
#ifndef NPU_ISA_PROGRAM_H
#define NPU_ISA_PROGRAM_H

#include "isa/error.h"
#include "isa/insn.h"
#include "isa/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names are at most NPU_MAX_NAME bytes long, files NPU_MAX_PATH; regions nest at most NPU_MAX_DEPTH deep, for reports
 * name them by their whole path. */
enum {
	NPU_MAX_SEMS = 65535,
	NPU_SEM_MAX_COUNT = 65535,
	NPU_MAX_RANK = 5,
	NPU_MAX_NAME = 255,
	NPU_MAX_PATH = 4095,
	NPU_MAX_DEPTH = 64
};
#define NPU_NO_REGION 0xffffffffu
#define NPU_MAX_SEED  ((uint64_t)INT64_MAX)
/* Ends of the address spaces: 40 bits of DRAM, 31 of SRAM, 31 of accumulators. */
#define NPU_DRAM_LIMIT  ((uint64_t)1 << 40)
#define NPU_LOCAL_LIMIT ((uint64_t)1 << 31)

struct npu_sem {
	const char *name;       /* not empty, no other semaphore's */
	uint32_t initial;       /* <= max */
	uint32_t max;           /* 1 to NPU_SEM_MAX_COUNT */
	enum npu_engine poster; /* NPU_ENGINES: nobody posts it */
	enum npu_engine waiter; /* NPU_ENGINES: nobody waits for it */
};

/* -- npu.h -- */
enum npu_tensor_dir { NPU_TENSOR_IN, NPU_TENSOR_OUT, NPU_TENSOR_INOUT, NPU_TENSOR_TEMP };
/* -- private -- */

/* A named range of DRAM. Strides are dense row-major in `shape`; with a blocked layout the two innermost dimensions are
 * whole blocks. Tensors have names of their own and may overlap (views). */
struct npu_tensor {
	const char *name;
	uint64_t addr;
	uint64_t bytes; /* npu_tensor_bytes(), or more */
	enum npu_dtype dtype;
	uint32_t layout; /* NPU_LAYOUT_* of the two innermost dimensions */
	enum npu_tensor_dir dir;
	uint32_t rank;
	uint64_t shape[NPU_MAX_RANK];
	bool seeded;   /* an input's contents, when values are made up, have a seed of their own */
	uint64_t seed; /* at most NPU_MAX_SEED */
};

/* A named range of local memory, alive for instructions first <= i < end. Names may repeat. */
struct npu_buffer {
	const char *name;
	uint32_t local; /* local address, see NPU_ACC_BIT */
	uint32_t bytes;
	uint32_t first;
	uint32_t end;
};

/* A block table: control data, part of the program. The DMA reads it from DRAM at `addr`, 4 bytes an entry. */
struct npu_table {
	const char *name;
	uint64_t addr;
	uint32_t count;
	const uint32_t *entries; /* page numbers */
	uint32_t sequence;       /* whose pages it names, see npu_page_event */
};

/* -- npu.h -- */
enum npu_page_state { NPU_PAGE_FREE, NPU_PAGE_OWNED, NPU_PAGE_SHARED };
/* -- private -- */

/* A record of the memory manager, for the checker alone: neither time nor values depend on it. From instruction `insn`
 * on, a page of a pool is free, owned by one sequence, or shared: read-only for all of them. Pages of a pool that has
 * records are free before the first one; pools without records are not looked at. */
struct npu_page_event {
	uint32_t insn;     /* at most ninsns; never falls from record to record */
	uint32_t pool;     /* tensor */
	uint32_t page;     /* as block tables number them */
	uint32_t state;    /* enum npu_page_state */
	uint32_t sequence; /* of NPU_PAGE_OWNED, else 0 */
};

/* Regions are numbered as they open and nest like brackets: an instruction's region is never one that closed before. */
struct npu_region {
	const char *name;
	uint32_t parent; /* NPU_NO_REGION at the top */
};

/* Where an instruction or a page record was written, and, inside a macro, what used that. */
struct npu_place {
	uint32_t file; /* index into files */
	uint32_t line; /* 0: not known */
	uint32_t call; /* number of an npu_call, from 1; 0: in no macro */
};

/* A use of a macro. Those that it stands in have lower numbers; at most NPU_MAX_DEPTH stand in each other. */
struct npu_call {
	const char *name; /* of the macro */
	struct npu_place at;
};

struct npu_program {
	const char *name;
	uint32_t ninsns, nsems, ntensors, nbuffers, ntables, npages, nregions, nfiles, ncalls;
	const struct npu_insn *insns;
	const uint32_t *region;        /* [ninsns] innermost region, or NPU_NO_REGION */
	const struct npu_place *place; /* [ninsns] where it was written */
	const struct npu_sem *sems;
	const struct npu_tensor *tensors;
	const struct npu_buffer *buffers;
	const struct npu_table *tables;
	const struct npu_page_event *pages; /* [npages] */
	const struct npu_place *page_place; /* [npages]; NULL: not known */
	const struct npu_region *regions;
	const char *const *files;
	const struct npu_call *calls; /* [ncalls] number 1 first */
	struct npu_limits needs; /* what the program touches */
	uint64_t hash; /* of instructions, semaphores, tables, tensors and their seeds: what decides time and values */
	void *arena;             /* owns all of the above */
};

/* Bytes of a tensor's elements in its layout; 0 when there are none, and when rank, shape or the result (above 2^40) is
 * not legal. */
uint64_t npu_tensor_bytes(const struct npu_tensor *);

/* Collects a program; everything is copied. All functions may be called in any order before npu_assembly_finish, which
 * also tells when memory ran out on the way. */
struct npu_assembly;
struct npu_assembly *npu_assembly_new(const char *name);
void npu_assembly_free(struct npu_assembly *);
/* `max` 0: NPU_SEM_MAX_COUNT. */
uint32_t npu_assembly_sem(struct npu_assembly *, const char *name, uint32_t initial, uint32_t max);
/* `bytes` 0: npu_tensor_bytes(). */
uint32_t npu_assembly_tensor(struct npu_assembly *, const struct npu_tensor *);
/* `end` 0: alive to the end of the program. */
uint32_t npu_assembly_buffer(struct npu_assembly *, const struct npu_buffer *);
/* Sets the end of a buffer's life to the next instruction. */
void npu_assembly_buffer_end(struct npu_assembly *, uint32_t buffer);
uint32_t npu_assembly_table(struct npu_assembly *, const struct npu_table *);
/* From the next instruction on, written where that is said to be; `insn` of the record is not looked at. */
void npu_assembly_page(struct npu_assembly *, const struct npu_page_event *);
/* Opens a region inside the current one, closes the current one. */
uint32_t npu_assembly_region_begin(struct npu_assembly *, const char *name);
void npu_assembly_region_end(struct npu_assembly *);
/* Where the following instructions and records were written, in no macro. `file` NULL or `line` 0: not known. */
void npu_assembly_place(struct npu_assembly *, const char *file, uint32_t line);
/* After that: in which use of a macro, a number that npu_assembly_call gave. */
void npu_assembly_inside(struct npu_assembly *, uint32_t call);
/* The use of a macro in a line, which stands in the use `around` (0: in none). The same one has the same number. */
uint32_t npu_assembly_call(struct npu_assembly *, const char *name, const char *file, uint32_t line, uint32_t around);
/* Waits and posts move to the lowest slots; those with count 0 become all zero. */
uint32_t npu_assembly_insn(struct npu_assembly *, const struct npu_insn *);
/* What is added from then on is lost, and finishing fails. */
bool npu_assembly_out_of_memory(const struct npu_assembly *);
/* Fills in defaults (posting and waiting engines from the uses), computes `needs` and `hash`, and checks what
 * npu_program_check checks. The assembly is consumed, also on failure. NULL on failure. */
struct npu_program *npu_assembly_finish(struct npu_assembly *, struct npu_error *err);
/* -- npu.h -- */
void npu_program_free(struct npu_program *);
/* -- private -- */

/* What a loader must be able to rely on: known opcodes, operands in range and legal for the instruction (types,
 * layouts, whole bytes), addresses within 32 and 40 bits, semaphores that exist, one posting and
 * one waiting engine each, tables long enough, counts <= max, tensors and buffers well-formed. */
bool npu_program_check(const struct npu_program *, struct npu_error *err);
/* -- npu.h -- */
/* Number of instructions; what the program touches. */
uint32_t npu_program_ninsns(const struct npu_program *);
struct npu_limits npu_program_needs(const struct npu_program *);
/* Refuses a program that needs more than the hardware has, with the numbers. */
bool npu_program_fits(const struct npu_program *, const struct npu_limits *, struct npu_error *err);
/* -- private -- */
/* Makes every name one that can be shown (isa/plain.h), for a program whose names go to people and reports: of a name
 * that needs it, its shown form takes its place, cut to what a name may have. Two of those may then be the same. False
 * when out of memory. */
bool npu_program_show_names(struct npu_program *);
/* -- npu.h -- */
/* One instruction in flat text (no newline), into `out`, cut to `size`; returns the length it needs. */
uint64_t npu_insn_print(const struct npu_program *, uint32_t insn, char *out, uint64_t size);
/* -- private -- */
/* "file:line" of an instruction into `out`, "#number" when it is not known; returns `out`. */
char *npu_insn_place(const struct npu_program *, uint32_t insn, char *out, uint64_t size);

/* -- npu.h -- */
/* Binary form (.npub): magic, version, sections; little-endian, mmap-able; isa/npub.h draws it. */
bool npu_program_write(const struct npu_program *, const char *path, struct npu_error *err);
struct npu_program *npu_program_read(const char *path, struct npu_error *err);
/* -- private -- */
/* From memory, for loaders and fuzzers. `file` is what errors call it. */
struct npu_program *npu_program_decode(const uint8_t *bytes, uint64_t nbytes, const char *file, struct npu_error *err);
/* -- npu.h -- */
/* Bytes in *out (free() them), their number returned, 0 when out of memory. */
uint64_t npu_program_encode(const struct npu_program *, uint8_t **out);

/* -- private -- */
/* Flat text form (.npu) alone. `file` is what errors call it. */
struct npu_program *npu_asm_flat(const char *text, uint64_t nbytes, const char *file, struct npu_error *err);
/* -- npu.h -- */
/* Text (.npu), flat or macro assembly with the defaults of its parameters and no .include; buffers are placed in
 * memories as large as addresses reach. `file` is what errors call it. */
struct npu_program *npu_asm_text(const char *text, uint64_t nbytes, const char *file, struct npu_error *err);
/* The same with parameters as "seq=512", and buffers placed in the memories of a machine; NULL: as above. */
struct npu_program *npu_asm_macro(const char *text, uint64_t nbytes, const char *file, const struct npu_capacity *,
				  const char *const *params, unsigned nparams, struct npu_error *err);
/* The whole program as flat text, malloc'ed, NUL-terminated; NULL when out of memory. */
char *npu_disasm_text(const struct npu_program *);
/* -- private -- */

#ifdef __cplusplus
}
#endif

#endif
