/* SPDX-License-Identifier: Apache-2.0 */
/* What macro assembly is parsed into: expressions and statements. Nodes keep where they stand in the text. */
#ifndef NPU_ISA_TEXT_MACRO_TREE_H
#define NPU_ISA_TEXT_MACRO_TREE_H

#include "isa/field.h"
#include "isa/text/lex.h"
#include "isa/text/syntax.h"

struct npu_mac_symbol;

/* Source bytes [begin, end). */
struct npu_mac_span {
	const char *begin;
	const char *end;
};

enum npu_mac_node_kind {
	NPU_MAC_NUMBER,
	NPU_MAC_REAL,
	NPU_MAC_NAME,    /* x, k[i%2][0:+n, :], with .T when `turned` */
	NPU_MAC_ADDRESS, /* sram:a, acc:a, dram:a */
	NPU_MAC_UNARY,   /* op a */
	NPU_MAC_BINARY,  /* a op b */
	NPU_MAC_CHOICE,  /* a ? b : c */
	NPU_MAC_CALL,    /* function of args */
	NPU_MAC_TURN,    /* (a).T */
};

enum npu_mac_function {
#define NPU_MAC_FUNCTIONS(F)                                                                                           \
	F(MIN, "min", 1, 16)                                                                                           \
	F(MAX, "max", 1, 16)                                                                                           \
	F(CEIL, "ceil", 1, 2)                                                                                          \
	F(ABS, "abs", 1, 1)                                                                                            \
	F(SQRT, "sqrt", 1, 1)                                                                                          \
	F(EXP, "exp", 1, 1)                                                                                            \
	F(SOFTMAX, "softmax", 1, 1)                                                                                    \
	F(CAUSAL, "causal", 1, 2)                                                                                      \
	F(PADDED, "padded", 2, 2)                                                                                      \
	F(REPEAT, "repeat", 2, 2)
#define F(NAME, text, least, most) NPU_MAC_FN_##NAME,
	NPU_MAC_FUNCTIONS(F)
#undef F
	    NPU_MAC_FN_COUNT
};

/* One index of a bracket: i, from:to, from:+length, or :, each end of which may be missing. */
struct npu_mac_index {
	enum { NPU_MAC_ONE, NPU_MAC_RANGE, NPU_MAC_LENGTH } kind;
	struct npu_mac_node *from; /* NULL: 0 */
	struct npu_mac_node *to;   /* end or length; NULL: to the end */
	struct npu_mac_span span;
};

/* [i, from:to], or {rows, cols}: the first bytes seen in another shape. */
struct npu_mac_bracket {
	struct npu_mac_index *items;
	unsigned n;
	bool shape;
	struct npu_mac_span span;
};

struct npu_mac_node {
	uint8_t kind; /* enum npu_mac_node_kind */
	bool turned;
	uint8_t n; /* brackets or args */
	uint16_t
	    op; /* of UNARY and BINARY: struct npu_token.punct; of CALL: enum npu_mac_function; of ADDRESS: s, a, d */
	uint16_t depth; /* of the tree below it */
	struct npu_mac_span span;
	union {
		int64_t number;
		double real;
		struct {
			struct npu_mac_symbol *symbol;
			struct npu_mac_bracket *brackets;
		};
		struct {
			struct npu_mac_node *a, *b, *c;
		};
		struct npu_mac_node **args;
	};
};

/* Text with {expressions} in it. */
struct npu_mac_piece {
	const char *text;
	uint64_t length;
	struct npu_mac_node *value; /* NULL: text */
	struct npu_mac_piece *next;
};

struct npu_mac_keyed {
	const struct npu_field *field; /* of an instruction */
	struct npu_mac_symbol *name;   /* of a macro call; NULL: by position */
	struct npu_mac_node *value;    /* NULL: `bits` */
	uint64_t bits;                 /* inf, nan, bits:0x..., a named value */
	struct npu_mac_span span;
	struct npu_mac_keyed *next;
};

struct npu_mac_ref {
	struct npu_mac_node *sem;
	struct npu_mac_node *count; /* NULL: 1 */
};

enum { NPU_MAC_MAX_OPERANDS = NPU_MAX_POSITIONAL, NPU_MAC_MAX_RANK = 5 };

struct npu_mac_insn {
	unsigned op; /* index into npu_ops */
	unsigned noperands;
	struct npu_mac_node *operands[NPU_MAC_MAX_OPERANDS];
	struct npu_mac_keyed *keyed;
	unsigned nwaits, nposts;
	struct npu_mac_ref waits[NPU_SYNC_SLOTS], posts[NPU_SYNC_SLOTS];
};

/* A declaration of a parameter, variable, tensor, buffer, semaphore or table. */
struct npu_mac_decl {
	struct npu_mac_symbol *symbol;
	struct npu_mac_span span; /* of the name */
	uint32_t line;            /* the same */
	bool accum, array;
	struct npu_mac_node *count; /* of an array */
	unsigned rank;
	struct npu_mac_node *shape[NPU_MAC_MAX_RANK];
	struct npu_mac_node *dtype;
	unsigned dir;
	struct npu_mac_node *at, *layout, *seed, *bank, *step, *over, *align, *bytes, *initial, *max, *first, *last,
	    *sequence;
	const char *file;
	struct npu_mac_span file_span;
	struct npu_mac_node *value;    /* of .param and .let, reference of a tensor */
	struct npu_mac_node **entries; /* of a table */
	unsigned nentries;
	const char **choices; /* of .param, NULL-terminated */
	struct npu_mac_decl *next;
};

enum npu_mac_stmt_kind {
	NPU_MAC_INSN,
	NPU_MAC_MACRO_CALL,
	NPU_MAC_PROGRAM,
	NPU_MAC_PARAM,
	NPU_MAC_LET,
	NPU_MAC_REQUIRE,
	NPU_MAC_TENSOR,
	NPU_MAC_BUFFERS, /* .sram, .acc */
	NPU_MAC_BUFFER,  /* .buffer */
	NPU_MAC_FREE,
	NPU_MAC_SEMS,
	NPU_MAC_TABLE,
	NPU_MAC_PAGE,
	NPU_MAC_REGION,
	NPU_MAC_ENDREGION,
	NPU_MAC_LOC,
	NPU_MAC_FOR,
	NPU_MAC_IF,
	NPU_MAC_MACRO,
	NPU_MAC_INCLUDE,
};

/* A use of a macro, as .loc says it. */
struct npu_mac_within {
	const char *name, *file;
	struct npu_mac_node *line;
	struct npu_mac_within *around;
};

struct npu_mac_stmt {
	enum npu_mac_stmt_kind kind;
	uint32_t line;
	const char *file;
	struct npu_mac_span span; /* its first word */
	struct npu_mac_stmt *next;
	union {
		struct npu_mac_insn insn;
		struct {
			struct npu_mac_symbol *symbol; /* of .for: the variable */
			struct npu_mac_keyed *args;
		} call;
		struct npu_mac_decl *decls;
		struct {
			struct npu_mac_node *condition;
			struct npu_mac_piece *text;
		} require;
		struct {
			struct npu_mac_symbol *symbol;
			struct npu_mac_node *from, *to, *step;
			struct npu_mac_stmt *body;
		} loop;
		struct {
			struct npu_mac_node *condition;
			struct npu_mac_stmt *then, *otherwise;
		} branch;
		struct {
			struct npu_mac_node *pool, *first, *end, *sequence;
			uint32_t state;
		} page;
		struct {
			const char *text; /* of .program, .include; file of .loc or NULL */
			bool once;        /* .include once */
			struct npu_mac_node *number;
			struct npu_mac_span span;
			struct npu_mac_within *within; /* of .loc: innermost first */
		} plain;
		struct {
			struct npu_mac_node **nodes;
			unsigned n;
		} list; /* of .free */
		struct npu_mac_macro *macro;
	};
};

struct npu_mac_macro {
	struct npu_mac_symbol *name;
	struct npu_mac_span span;
	unsigned nparams;
	struct npu_mac_symbol **params;
	struct npu_mac_node **defaults; /* NULL: must be given */
	struct npu_mac_stmt *body;
};

#endif
