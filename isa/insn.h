/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction is: the types that isa/npu.def expands to. What it costs is models/, what it computes isa/exec.h.
 */
#ifndef NPU_ISA_INSN_H
#define NPU_ISA_INSN_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum npu_engine {
#define ENGINE(NAME, text, doc) NPU_ENGINE_##NAME,
#include "isa/engine.def"
	NPU_ENGINES
};

/* -- npu.h -- */
enum npu_dtype {
#define DTYPE(NAME, text, bits, is_float, is_signed) NPU_##NAME,
#include "isa/dtype.def"
	NPU_DTYPES
};

enum npu_enum_value {
#define ENUM(KIND, NAME, text, value, doc) NPU_##KIND##_##NAME = (value),
#include "isa/enums.def"
};

enum npu_op {
#define INSN(OP, mnemonic, opcode, f, engine, doc) NPU_OP_##OP = (opcode),
#include "isa/npu.def"
};
/* -- private -- */

enum npu_format_index {
#define FORMAT(f, doc) NPU_FORMAT_##f,
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc)
#define END_FORMAT(f)
#include "isa/npu.def"
};

/* Every format becomes a struct. */
#define FORMAT(f, doc) struct npu_##f {
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc) ctype name;
#define END_FORMAT(f) };
#include "isa/npu.def"

/* -- npu.h -- */
enum { NPU_SYNC_SLOTS = 2, NPU_INSN_BYTES = 64, NPU_INSN_WORDS = 8 };
/* -- private -- */

/* `count` 0: the slot is not used. */
struct npu_sem_ref {
	uint16_t sem;
	uint16_t count;
};

struct npu_insn {
	uint8_t op;                             /* enum npu_op */
	struct npu_sem_ref wait[NPU_SYNC_SLOTS]; /* both hold and are taken together before it starts */
	struct npu_sem_ref post[NPU_SYNC_SLOTS]; /* posted when it ends */
	union {
#define FORMAT(f, doc) struct npu_##f f;
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc)
#define END_FORMAT(f)
#include "isa/npu.def"
	};
};

/* -- npu.h -- */
/* Local addresses: one 32-bit space, the accumulators in its upper half. */
#define NPU_ACC_BIT 0x80000000u
static inline bool npu_is_acc(uint32_t local) { return (local & NPU_ACC_BIT) != 0; }
static inline uint32_t npu_local_offset(uint32_t local) { return local & ~NPU_ACC_BIT; }

/* Facts of the table; `op` must be one of enum npu_op, which npu_op_known() tells. */
bool npu_op_known(unsigned op);
const char *npu_op_mnemonic(unsigned op);
/* -- private -- */
enum npu_engine npu_op_engine(unsigned op);
enum npu_format_index npu_op_format(unsigned op);
bool npu_op_is_sync(unsigned op);
const char *npu_engine_name(enum npu_engine e);
/* -- npu.h -- */
const char *npu_dtype_name(enum npu_dtype t);
bool npu_dtype_is_float(enum npu_dtype t);
/* 0 for what is no type. */
unsigned npu_dtype_bits(enum npu_dtype t);
/* Bytes of `n` elements of type `t`, rounded up to a whole byte. */
uint64_t npu_dtype_bytes(enum npu_dtype t, uint64_t n);
/* -- private -- */

/* Inline in the tree, as all of the layout that every machine part asks for: a call costs more than the answer. insn.c
 * has them for callers outside. */
#ifndef NPU_INLINE
#define NPU_INLINE extern inline __attribute__((gnu_inline))
#endif
NPU_INLINE unsigned npu_dtype_bits(enum npu_dtype t)
{
	static const uint8_t bits_of[NPU_DTYPES] = {
#define DTYPE(NAME, text, bits, is_float, is_signed) bits,
#include "isa/dtype.def"
	};
	return (unsigned)t < NPU_DTYPES ? bits_of[t] : 0;
}
NPU_INLINE enum npu_engine npu_op_engine(unsigned op)
{
	switch ((enum npu_op)op) {
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	case NPU_OP_##OP:                                                                                              \
		return NPU_ENGINE_##engine;
#include "isa/npu.def"
	}
	return NPU_ENGINES;
}
NPU_INLINE enum npu_format_index npu_op_format(unsigned op)
{
	switch ((enum npu_op)op) {
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	case NPU_OP_##OP:                                                                                              \
		return NPU_FORMAT_##f;
#include "isa/npu.def"
	}
	return NPU_FORMAT_none;
}
NPU_INLINE uint64_t npu_dtype_bytes(enum npu_dtype t, uint64_t n) { return (n * npu_dtype_bits(t) + 7) / 8; }

/* All fields at the initial values of the table, required ones 0; no waits, no posts. Where a kernel starts from. */
struct npu_insn npu_insn_initial(enum npu_op op);
/* Words as the table draws them, in host order; .npub stores them little-endian. Members must fit their fields
 * (npu_program_check says so). */
void npu_insn_encode(const struct npu_insn *, uint64_t words[NPU_INSN_WORDS]);
/* False for an unknown opcode or a bit set that no field claims; `out` is then untouched. Says nothing about legality.
 */
bool npu_insn_decode(const uint64_t words[NPU_INSN_WORDS], struct npu_insn *out);

#ifdef __cplusplus
}
#endif

#endif
