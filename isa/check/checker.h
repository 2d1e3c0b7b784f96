/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the checker share: the program, its order, and the findings so far. Private to isa/check. */
#ifndef NPU_ISA_CHECK_CHECKER_H
#define NPU_ISA_CHECK_CHECKER_H

#include "isa/arena.h"
#include "isa/check.h"
#include "isa/check/order.h"
#include "isa/check/ranges.h"

/* Findings with the same kind and key are one. */
struct npu_finding_key {
	enum npu_check_kind kind;
	uint64_t words[4];
};

struct npu_checker {
	const struct npu_program *program;
	struct npu_check_options options;
	struct npu_order order;
	struct npu_ranges ranges;
	struct npu_arena *arena; /* of the report */
	struct npu_finding *findings;
	uint32_t nfindings, capacity;
	uint32_t nkind[NPU_CHECK_KINDS];
	uint64_t untold;
	struct npu_finding_slot *slots; /* a hash table over the keys */
	uint32_t nslots;
	uint64_t races;
	bool races_cut;
	uint32_t *redundant; /* of the report */
	bool out_of_memory;
};

/* The finding of this key. A new one is a copy of `like` with count 1, and *is_new: its texts are the caller's to set.
 * An old one counts one more. NULL when out of memory, or when there are enough of the kind. Pointers are good until
 * the next call. */
struct npu_finding *npu_checker_add(struct npu_checker *, const struct npu_finding_key *,
				    const struct npu_finding *like, bool *is_new);
/* Findings of one kind that are kept. */
uint32_t npu_checker_most(const struct npu_checker *);
/* Text that lives as long as the report; "" when out of memory. */
const char *npu_checker_text(struct npu_checker *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What instructions written on the same source line have in common: the line, or the instruction where none is known.
 */
uint64_t npu_checker_line(const struct npu_checker *, uint32_t insn);

/* Buffers in the order in which their lives begin; to be freed, NULL when out of memory. */
uint32_t *npu_checker_lives(const struct npu_program *);

/* How messages call things; cut to their size. */
struct npu_check_name {
	char text[360];
};
/* "#8 load" */
struct npu_check_name npu_check_insn_name(const struct npu_checker *, uint32_t insn);
/* "line 17" in the file of `here`, "other.c:17" in another one, "#8 load" where no line is known. */
struct npu_check_name npu_check_line_name(const struct npu_checker *, uint32_t insn, uint32_t here);
/* "SRAM 0x10000..0x17fff (32,768 bytes)" */
struct npu_check_name npu_check_bytes_name(const struct npu_check_bytes *);
/* "entry 3 of table pages, page 17" of a page's range, "local" of an operand's */
struct npu_check_name npu_check_range_name(const struct npu_checker *, const struct npu_range *);
/* A finding about one range. */
struct npu_finding npu_check_about(const struct npu_checker *, const struct npu_range *);
const char *npu_space_name(enum npu_space);
/* The buffer alive at `insn`, or the tensor or block table, that holds a byte; "" when there is none. */
const char *npu_check_holder(const struct npu_program *, uint32_t insn, enum npu_space, uint64_t at);

/* The checks, each over the whole program. Memory that runs out is left in out_of_memory. */
void npu_check_semaphores(struct npu_checker *);
/* Only those that lack a side; takes neither order nor ranges. */
void npu_check_sides(struct npu_checker *);
void npu_check_races(struct npu_checker *);
void npu_check_written(struct npu_checker *);
void npu_check_unread(struct npu_checker *);
void npu_check_bounds(struct npu_checker *);
void npu_check_tensors(struct npu_checker *);
void npu_check_pages(struct npu_checker *);
void npu_check_alignment(struct npu_checker *);
void npu_check_redundant(struct npu_checker *);
void npu_check_dead_writes(struct npu_checker *);

/* Lines "missing edge: ..." and "fix: ..." for two instructions that nothing orders, `first` the one that should end.
 */
const char *npu_check_advice(struct npu_checker *, uint32_t first, uint32_t second);

#endif
