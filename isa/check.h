/* SPDX-License-Identifier: Apache-2.0 */
/* The hazard checker: what is wrong with a program on any machine that keeps the rules of docs/check.md. It knows
 * neither cycles nor values. sim/cmd/check.c prints what it finds. */
#ifndef NPU_ISA_CHECK_H
#define NPU_ISA_CHECK_H

#include "isa/access.h"
#include "isa/program.h"

#ifdef __cplusplus
extern "C" {
#endif

enum npu_check_kind {
#define CHECK(KIND, SEVERITY, id, doc) NPU_CHECK_##KIND,
#include "isa/check.def"
	NPU_CHECK_KINDS
};

enum npu_check_severity { NPU_CHECK_NOTE, NPU_CHECK_WARNING, NPU_CHECK_ERROR };

const char *npu_check_id(enum npu_check_kind);
const char *npu_check_doc(enum npu_check_kind);
enum npu_check_severity npu_check_severity_of(enum npu_check_kind);
/* "note", "warning", "error" */
const char *npu_check_severity_name(enum npu_check_severity);

/* An instruction that takes part in a finding. */
struct npu_check_site {
	uint32_t insn;
	const char *operand; /* field that holds the address; "" when it is about the whole instruction */
	const char *role;    /* "reads", "writes", "waits", "posts" */
};

/* Bytes of a finding: the first and the last one, and how many between them are meant. `bytes` 0: it has none. */
struct npu_check_bytes {
	enum npu_space space;
	uint64_t first, last, bytes;
	const char *name; /* buffer or tensor that holds the first one, "" when there is none */
};

enum { NPU_CHECK_SITES = 2, NPU_CHECK_NOBODY = 0xffffffff };

struct npu_finding {
	enum npu_check_kind kind;
	unsigned nsites;                             /* 0: about a semaphore or a buffer */
	struct npu_check_site site[NPU_CHECK_SITES]; /* the first one is where it is reported */
	struct npu_check_bytes bytes;
	uint32_t sem;      /* NPU_CHECK_NOBODY: none */
	const struct npu_place *record; /* it is about a record that was written here; NULL: none, or not known */
	uint64_t count;    /* findings that this one stands for: the same source lines, operands, semaphores */
	uint64_t cost;     /* of all of them: bytes moved in vain (DRAM_GRANULE, BANK_WORD), waits (REDUNDANT) */
	const char *text;  /* one line */
	const char *notes; /* lines with \n between them, or "" */
};

struct npu_check_report {
	uint32_t nfindings;
	const struct npu_finding *findings; /* in the order of their instructions; those about none come last */
	uint64_t errors, warnings, notes;   /* findings, not what they stand for */
	uint64_t races;                     /* pairs of instructions, of all RACE findings */
	bool races_cut;                     /* there are more */
	uint32_t most;                      /* findings of one kind: what the options made of NPU_CHECK_MOST */
	uint64_t untold;           /* findings of a kind that already has as many as may be, not in the above but for
				    * races; as if each stood for itself */
	const uint32_t *redundant; /* [nsems] of a semaphore that could be left out its first wait, else
				    * NPU_CHECK_NOBODY; NULL: not looked for */
	void *arena;                        /* owns all of the above */
};

/* Findings of one kind: more are counted only. The second is with `all`. */
enum { NPU_CHECK_MOST = 100, NPU_CHECK_MOST_OF_ALL = 10000 };
/* Instructions behind the heads of queues that a deadlock names. */
enum { NPU_CHECK_WAITING = 20 };

/* All zero: no alignment checks, equal findings stand together, no notes. */
struct npu_check_options {
	const struct npu_capacity *capacity; /* for DRAM_GRANULE and BANK_WORD; NULL or 0: not checked */
	bool all;                            /* every finding stands for itself */
	bool redundant;                      /* look for notes too */
	bool sides;       /* look for NEVER_WAITED and NEVER_POSTED and for nothing else: quickly, in a
			   * program that has passed npu_program_check, as those of loaders have */
	uint32_t waiting; /* most instructions behind the heads of queues that a deadlock names; 0:
			   * NPU_CHECK_WAITING */
};

/* Finds everything at once. The program is passed through npu_program_check first, but for `sides`. `options` may be
 * NULL. NULL when that refuses the program or memory runs out. The report refers to the program, which must outlive it.
 */
struct npu_check_report *npu_check(const struct npu_program *, const struct npu_check_options *options,
				   struct npu_error *);
/* Adds what was found by other means, at its place among the others; its texts and names are copied, its `record` is
 * not. False when memory runs out: the report is as it was. */
bool npu_check_add(struct npu_check_report *, const struct npu_finding *, struct npu_error *);
void npu_check_free(struct npu_check_report *);

#ifdef __cplusplus
}
#endif

#endif
