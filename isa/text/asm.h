/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the flat assembler, shared by its files. The entry is npu_asm_flat in isa/program.h. */
#ifndef NPU_ISA_TEXT_ASM_H
#define NPU_ISA_TEXT_ASM_H

#include "isa/arena.h"
#include "isa/program.h"
#include "isa/text/diag.h"
#include "isa/text/lex.h"
#include "isa/text/symbols.h"
#include "isa/text/syntax.h"

/* How an instruction is written, prepared once. */
struct npu_asm_op {
	const struct npu_op_info *info;
	struct npu_insn initial;
	const struct npu_field *positional[NPU_MAX_POSITIONAL];
	unsigned npositional;
	/* bit i: field i of the format */
	uint64_t required;
	uint64_t optional_addresses;
};

struct npu_asm {
	struct npu_source source;
	struct npu_diag diag;
	struct npu_lexer lexer;
	struct npu_token token;  /* the next one */
	struct npu_token directive; /* the one being read */
	struct npu_arena *arena; /* names put together here */
	struct npu_assembly *assembly;
	struct npu_symbols mnemonics; /* index of ops */
	struct npu_symbols sems;      /* index */
	struct npu_symbols tables;    /* index */
	struct npu_symbols addresses; /* local address, or DRAM address | NPU_ASM_IN_DRAM */
	struct npu_symbols tensors;   /* index; buffers may share names with them */
	struct npu_symbols refused;   /* names whose declarations have mistakes, which were told: uses are none of their own */
	struct npu_asm_op *ops;       /* [npu_nops] */
	uint32_t line;                /* of the next token */
	uint32_t ninsns;
	uint32_t nsems;
	uint32_t ntensors;
	uint32_t region_depth;
	struct npu_token outer_region; /* the outermost .region that is open */
	struct npu_token last_buffer;  /* the .buffer that lives longest */
	uint32_t last_end;             /* until when */
	const char *placed_file; /* .loc: instructions say this instead of the text itself */
	bool placed;
	bool started; /* something came before: too late for .program */
	bool out_of_memory;
};

#define NPU_ASM_IN_DRAM ((uint64_t)1 << 63)

/* A name as written: plain, with an index, or quoted. */
struct npu_asm_name {
	const char *text;
	uint64_t length;
	struct npu_token token; /* where it stands */
};

void npu_asm_advance(struct npu_asm *);
/* Complains about the next token; returns false. */
bool npu_asm_refuse(struct npu_asm *, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool npu_asm_refuse_at(struct npu_asm *, const struct npu_token *, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected X, found Y" about the next token. */
bool npu_asm_expected(struct npu_asm *, const char *what);
bool npu_asm_is_punct(const struct npu_asm *, uint16_t punct);
/* Takes the mark if it is next. */
bool npu_asm_take_punct(struct npu_asm *, uint16_t punct);
bool npu_asm_at_line_end(const struct npu_asm *);
/* A number of at most `max`. */
bool npu_asm_number(struct npu_asm *, const char *what, uint64_t max, uint64_t *out);
/* A name; an index in brackets belongs to it when `indexed`. */
bool npu_asm_name(struct npu_asm *, const char *what, bool indexed, struct npu_asm_name *out);
/* What a string token stands for, kept in the arena; an error points at the current token, as text made here has no place. */
bool npu_asm_unescape(struct npu_asm *, const struct npu_token *string, const char **out);
/* A string, kept in the arena. */
bool npu_asm_string(struct npu_asm *, const char *what, const char **out);
/* "; did you mean X?" or nothing; the second one may also list the names. */
struct npu_asm_hint {
	char text[96];
};
struct npu_asm_hint npu_asm_hint(const struct npu_asm *, const struct npu_symbols *, const char *name, uint64_t length);
struct npu_asm_hint npu_asm_hint_of(const struct npu_asm *, const char *const *names, unsigned n, const char *name,
				    uint64_t length);
/* sram:0x10, acc:0x10, dram:0x10, or NAME+0x10; `dram` says which is wanted. */
bool npu_asm_address(struct npu_asm *, const char *what, bool dram, uint64_t *out);
/* One of the named values of a kind. */
bool npu_asm_named_value(struct npu_asm *, const char *what, enum npu_field_kind, uint64_t *out);

/* Refuses a name that is not declared, unless its declaration was refused; returns false. `kind`: "no .sem declares". */
bool npu_asm_unknown(struct npu_asm *, const struct npu_symbols *, const char *kind, const struct npu_asm_name *);

/* The line that starts with the next token, without its end. */
bool npu_asm_instruction(struct npu_asm *);
bool npu_asm_directive(struct npu_asm *);

#endif
