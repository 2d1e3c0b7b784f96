/* SPDX-License-Identifier: Apache-2.0 */
/* The operand fields of isa/npu.def as data, for whatever loops over them: text, checks, reference, tests, fuzz seeds.
 */
#ifndef NPU_ISA_FIELD_H
#define NPU_ISA_FIELD_H

#include "isa/insn.h"

#ifdef __cplusplus
extern "C" {
#endif

enum npu_field_kind {
	NPU_KIND_LOCAL,
	NPU_KIND_DRAM,
	NPU_KIND_UINT,
	NPU_KIND_INT,
	NPU_KIND_F32,
	NPU_KIND_FLAG,
	NPU_KIND_TABLE,
	NPU_KIND_DTYPE,
	NPU_KIND_LAYOUT,
	NPU_KIND_BCAST,
	NPU_KIND_ACT,
	NPU_KIND_SCALE,
};

struct npu_field {
	const char *name; /* NULL ends the list of a format */
	enum npu_field_kind kind;
	uint8_t word;
	uint8_t lsb;
	uint8_t width;
	bool required;   /* has no initial value */
	uint8_t size;    /* bytes of the member */
	uint16_t offset; /* of the member in struct npu_insn */
	double initial;
	const char *unit;
	const char *doc;
};

struct npu_format {
	const char *name;
	const char *doc;
	const struct npu_field *fields;
	unsigned nfields;
};

struct npu_op_info {
	enum npu_op op;
	const char *mnemonic;
	const struct npu_format *format;
	enum npu_engine engine;
	const char *doc;
};

/* All formats and instructions, in the order of the table. */
extern const struct npu_format npu_formats[];
extern const unsigned npu_nformats;
extern const struct npu_op_info npu_ops[];
extern const unsigned npu_nops;

/* NULL for an opcode that is not known. */
const struct npu_op_info *npu_op_info(unsigned op);
/* By mnemonic text[0..length); NULL when there is none. */
const struct npu_op_info *npu_op_find(const char *text, uint64_t length);

/* A field's value as 64 bits: signed ones are sign-extended, F32 ones are IEEE bits. npu_field_set cuts to the member.
 */
uint64_t npu_field_get(const struct npu_field *, const struct npu_insn *);
void npu_field_set(const struct npu_field *, struct npu_insn *, uint64_t value);
uint64_t npu_field_initial(const struct npu_field *);
/* Whether the encoding and the kind can express the value; index limits of tables are the program's. */
bool npu_field_fits(const struct npu_field *, uint64_t value);
/* Largest value of a UINT, INT, LOCAL, DRAM, FLAG or TABLE field; smallest is 0, or -max - 1 for INT. */
uint64_t npu_field_max(const struct npu_field *);

/* Named values of a kind, in the order of their numbers; 0 names for kinds that have none. */
unsigned npu_kind_names(enum npu_field_kind, const char *const **names);

#ifdef __cplusplus
}
#endif

#endif
