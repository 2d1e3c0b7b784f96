/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the macro assembler, shared by its files. The entry is npu_macro_text in isa/macro.h. */
#ifndef NPU_ISA_TEXT_MACRO_STATE_H
#define NPU_ISA_TEXT_MACRO_STATE_H

#include "isa/arena.h"
#include "isa/layout.h"
#include "isa/macro.h"
#include "isa/place.h"
#include "isa/text/diag.h"
#include "isa/text/macro/tree.h"
#include "isa/text/symbols.h"

enum {
	NPU_MAC_MAX_DEPTH = 64,        /* blocks in blocks, macros in macros, files in files */
	NPU_MAC_MAX_NESTING = 400,     /* of brackets and operators, while they are read */
	NPU_MAC_MAX_TREE = 1000,       /* of an expression, in which a chain of operators is as deep as it is long */
	NPU_MAC_MAX_RECORDS = 1 << 26, /* regions, page records, entries of tables: 2 GiB */
	NPU_MAC_MAX_OBJECTS = 16384,   /* buffers, tensors, tables */
};

#define NPU_MAC_MISSING UINT32_MAX

/* A named thing of the program. */
enum npu_mac_object_kind { NPU_MAC_TENSOR_OBJECT, NPU_MAC_BUFFER_OBJECT, NPU_MAC_SEM_OBJECT, NPU_MAC_TABLE_OBJECT };

struct npu_mac_dim {
	uint64_t length;
	uint64_t stride; /* bits; with blocks, of the two innermost: see view.c */
};

struct npu_mac_object {
	enum npu_mac_object_kind kind;
	const char *name;
	struct npu_mac_span span; /* where it was declared */
	struct npu_placed_line line;
	bool array;
	uint32_t count;
	uint32_t index; /* in the program: of the tensor, table, first semaphore */
	/* tensors and buffers */
	enum npu_dtype dtype;
	uint32_t layout;
	unsigned rank; /* 0: bytes without a shape */
	struct npu_mac_dim dim[NPU_MAX_RANK];
	uint64_t bytes; /* of each buffer */
	uint64_t addr;  /* of a tensor */
	unsigned dir;   /* of a tensor: enum npu_tensor_dir */
	/* buffers */
	bool accum, placed, freed;
	int64_t at, bank, step;
	uint64_t align;
	uint32_t *locals, *handles;  /* [count] */
	uint32_t *buffers;           /* [count] in the program; NPU_MAC_MISSING: not declared yet */
	uint32_t room;               /* of arrays that are declared one by one */
	struct npu_mac_object *next; /* waits for a place */
	const struct npu_mac_object
	    *over; /* whose bytes it has, for which the program has no name of its own; NULL: its own */
	const struct npu_mac_frame *frame; /* in which it was declared, while that lasts */
};

/* Part of a tensor or buffer, or just an address. */
struct npu_mac_view {
	const struct npu_mac_object *object; /* NULL: an address */
	bool dram, turned;
	bool whole;    /* neither sliced nor turned: with sizes by name, just an address, as in flat text */
	uint64_t addr; /* local address, or in DRAM */
	enum npu_dtype dtype;
	uint32_t layout;
	int rank; /* -1: no shape known */
	struct npu_mac_dim dim[NPU_MAX_RANK];
};

enum npu_mac_value_kind { NPU_MAC_INT, NPU_MAC_WORD, NPU_MAC_OBJECT, NPU_MAC_VIEW, NPU_MAC_SEM };

/* What a word could have been instead. n 0: anything. */
struct npu_mac_choices {
	const char *const *names;
	unsigned n;
	bool open; /* or any other word that instructions know */
};

struct npu_mac_value {
	enum npu_mac_value_kind kind;
	struct npu_mac_choices choices; /* of a word */
	union {
		int64_t number;
		const char *word;
		struct npu_mac_object *object;
		struct npu_mac_view *view;
		uint32_t sem;
	};
};

struct npu_mac_binding {
	struct npu_mac_value value;
	uint32_t frame; /* number of the macro call that made it; 0: outside of all blocks */
	bool fixed;     /* parameters and loop variables: .let does not change them */
	struct npu_mac_span span;
	struct npu_mac_binding *below;
};

struct npu_mac_symbol {
	const char *name;
	uint32_t length;
	struct npu_mac_binding *binding; /* the innermost one; NULL: not defined */
	/* where a tensor, and semaphores, of this name were declared: the program has them to its end */
	struct npu_mac_span tensor, sem;
	struct npu_mac_macro *macro;
	bool announced; /* a .macro of this name was read, perhaps with mistakes that were told */
};

/* A file that was read. Its text stays to the end. */
struct npu_mac_file {
	struct npu_source source;
	char *owned; /* free()d at the end; NULL: the caller's */
	char *path;
	struct npu_mac_file *next;
};

/* The files around the line that is read. */
struct npu_mac_open {
	const struct npu_mac_file *file;
	const struct npu_mac_open *below;
};

/* Where the parser is. */
struct npu_mac_cursor {
	struct npu_mac_file *file;
	struct npu_lexer lexer;
	struct npu_token token;
	uint32_t line;
	const char *before; /* end of the token before */
};

/* What is being expanded, for messages: a loop, a macro, a file. */
struct npu_mac_frame {
	enum { NPU_MAC_IN_LOOP, NPU_MAC_IN_MACRO, NPU_MAC_IN_FILE } kind;
	const struct npu_mac_symbol *symbol;
	int64_t value;
	struct npu_mac_span span; /* of .for, of the call, of .include */
	uint32_t turn;            /* of a loop: index into turns, 0: not recorded yet */
	const struct npu_mac_stmt *use;   /* of a macro, */
	uint32_t call;                    /* and its number, 0: not recorded yet */
	const struct npu_mac_value *args; /* of a macro: those of its parameters that are bound */
	unsigned nargs;
	struct npu_mac_frame *below;
};

/* One turn of a loop, as instructions remember it. Number 0 is outside of all loops. */
struct npu_mac_turn {
	const char *name;
	int64_t value;
	uint32_t around;
};

struct npu_macro_loops {
	struct npu_mac_turn *turns;
	uint32_t nturns;
	uint32_t *of;      /* [recorded] turn of an instruction */
	uint32_t recorded; /* later instructions are outside of all loops */
};

/* Nodes of statements that run once and are forgotten. */
struct npu_mac_pool {
	struct npu_mac_chunk *first, *current;
	uint64_t used;
};

struct npu_mac {
	const struct npu_macro_options *options;
	struct npu_error *err;
	struct npu_diag diag;
	bool out_of_memory;
	bool failed;  /* nothing more runs */
	bool reading; /* in the parser, which goes on after an error */
	bool stopped; /* it does not */
	bool missing; /* a line that may have brought macros was refused: unknown ones are no mistakes of their own */
	struct npu_mac_cursor cursor;
	struct npu_mac_file *files;
	struct npu_arena *arena;  /* to the end of assembling */
	struct npu_arena *result; /* what struct npu_macro owns */
	struct npu_mac_pool pool;
	bool keep; /* nodes go to the arena: the body of a macro */
	struct npu_symbols symbols;
	bool quoted_indices;          /* a name like "k[0]" exists */
	struct npu_symbols mnemonics; /* index of npu_ops */
	struct npu_mac_op *ops;       /* [npu_nops] isa/text/macro/insn.c */
	struct npu_mac_frame *frame;
	uint32_t frames; /* macro calls so far: the number of the newest */
	uint32_t macro_frame;
	unsigned depth;    /* blocks that run */
	unsigned blocks;   /* that are being read */
	unsigned nesting;  /* of expressions */
	unsigned macros;   /* that run */
	unsigned includes; /* files that are read because of another */
	const struct npu_mac_open *open;
	uint64_t turns_run, max_turns;
	struct npu_mac_undo {
		struct npu_mac_symbol *symbol;
	} * undo;
	uint32_t nundo, undo_room;
	struct npu_mac_binding *free_bindings;
	struct npu_mac_kept_view *free_views;

	struct npu_assembly *assembly;
	struct npu_placer *placer;
	struct npu_capacity capacity;
	struct npu_mac_object *pending, **last_pending;
	uint32_t placings;   /* groups of buffers that were placed */
	uint32_t only_until; /* stop after so many; 0: do not */
	struct npu_mac_span last_buffer; /* the .buffer that lives longest */
	uint32_t last_end;               /* until when */
	bool full;           /* buffers did not fit */
	uint64_t dram_used;
	uint32_t ninsns, max_insns, nsems, ntensors, ntables, nobjects, nbuffers;
	uint64_t records;
	struct npu_mac_span regions[NPU_MAX_DEPTH]; /* the open ones */
	uint32_t region_depth, region_base; /* base: at the start of the block that runs */
	const char *placed_file;            /* .loc */
	bool placed, started;

	struct npu_macro_tensor *tensors;
	uint32_t tensor_room;
	struct npu_macro_param *params;
	unsigned nparams;
	bool *param_used; /* [options->nparams] */
	struct npu_macro_loops *loops;
	uint32_t turn_room, insn_room;
};

/* ---- messages (say.c): all return false ---- */
bool npu_mac_refuse(struct npu_mac *, struct npu_mac_span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool npu_mac_refuse_as(struct npu_mac *, enum npu_error_code, struct npu_mac_span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool npu_mac_no_memory(struct npu_mac *);
/* "t.npu:12", where a span stands. */
struct npu_mac_where {
	char text[96];
};
#define NPU_MAC_HIDDEN "; it does where this macro is used, and can be an argument"
struct npu_mac_where npu_mac_where(const struct npu_mac *, struct npu_mac_span);
/* File, line and column of a span. */
void npu_mac_place_of(const struct npu_mac *, struct npu_mac_span, const char **file, uint32_t *line, uint32_t *column);
/* The file of a span, NULL: the one that is assembled. */
const char *npu_mac_other_file(const struct npu_mac *, struct npu_mac_span);
struct npu_mac_hint {
	char text[160];
};
/* "; did you mean X?", of all names that mean something, or of a list. */
struct npu_mac_hint npu_mac_hint(const struct npu_mac *, struct npu_mac_span);
/* Of names that stand for an object of some kinds, 1 << enum npu_mac_object_kind. */
struct npu_mac_hint npu_mac_hint_kinds(const struct npu_mac *, struct npu_mac_span, unsigned kinds);
/* The same, of mnemonics and macros. */
struct npu_mac_hint npu_mac_hint_any(const struct npu_mac *, struct npu_mac_span);
struct npu_mac_hint npu_mac_hint_of(const char *const *names, unsigned n, struct npu_mac_span);

/* ---- memory and names (names.c) ---- */
void *npu_mac_alloc(struct npu_mac *, uint64_t count, uint64_t size);
void npu_mac_pool_reset(struct npu_mac *);
void npu_mac_pool_fini(struct npu_mac *);
struct npu_mac_symbol *npu_mac_symbol(struct npu_mac *, const char *name, uint64_t length);
struct npu_mac_binding *npu_mac_bind(struct npu_mac *, struct npu_mac_symbol *, struct npu_mac_value,
				     struct npu_mac_span);
/* What a name means here: what this macro (outside of macros: this block) or the file calls so. Where a macro is used
 * its names mean nothing. NULL: nothing. */
struct npu_mac_binding *npu_mac_bound(const struct npu_mac *, const struct npu_mac_symbol *);
/* A copy of a view, which the binding that it goes into frees. */
struct npu_mac_view *npu_mac_keep_view(struct npu_mac *, const struct npu_mac_view *);
void npu_mac_drop_value(struct npu_mac *, struct npu_mac_value *);
/* Bindings made since are undone. */
void npu_mac_unbind(struct npu_mac *, uint32_t nundo);

/* ---- parser (read.c, read_expr.c, read_stmt.c) ---- */
void npu_mac_advance(struct npu_mac *);
bool npu_mac_at_line_end(const struct npu_mac *);
bool npu_mac_is(const struct npu_mac *, uint16_t punct);
bool npu_mac_take(struct npu_mac *, uint16_t punct);
bool npu_mac_is_word(const struct npu_mac *, const char *word);
bool npu_mac_expected(struct npu_mac *, const char *what);
struct npu_mac_span npu_mac_here(const struct npu_mac *);
struct npu_mac_node *npu_mac_new_node(struct npu_mac *, enum npu_mac_node_kind, const char *begin);
/* NULL after a message. */
struct npu_mac_node *npu_mac_read_expr(struct npu_mac *);
/* Without top-level marks: for what is followed by words. */
struct npu_mac_node *npu_mac_read_unary(struct npu_mac *);
const char *npu_mac_read_string(struct npu_mac *, const char *what);
struct npu_mac_piece *npu_mac_read_text(struct npu_mac *, const char *what);
bool npu_mac_read_insn(struct npu_mac *, struct npu_mac_stmt *);
/* The next statement, NULL at the end of the file or, inside a block, before what closes it. */
struct npu_mac_stmt *npu_mac_read_stmt(struct npu_mac *);

/* ---- values (eval.c) ---- */
bool npu_mac_int(struct npu_mac *, const struct npu_mac_node *, int64_t *out);
bool npu_mac_real(struct npu_mac *, const struct npu_mac_node *, double *out);
/* At least `least`, at most `most`. */
bool npu_mac_int_in(struct npu_mac *, const struct npu_mac_node *, const char *what, int64_t least, int64_t most,
		    int64_t *out);
/* What a name stands for, an argument of a macro or a constant. */
bool npu_mac_value(struct npu_mac *, const struct npu_mac_node *, struct npu_mac_value *out);
/* Appends to out[*used .. size). */
bool npu_mac_text(struct npu_mac *, const struct npu_mac_piece *, char *out, uint64_t size);
/* A word: a name that stands for one, or for nothing. NULL: it is something else. */
const char *npu_mac_word(struct npu_mac *, const struct npu_mac_node *);
bool npu_mac_named(struct npu_mac *, const struct npu_mac_node *, enum npu_field_kind, const char *what, uint64_t *out);

/* ---- tensors, buffers, semaphores (view.c) ---- */
/* A tensor, a buffer or part of one, or an address. */
bool npu_mac_view_of(struct npu_mac *, const struct npu_mac_node *, struct npu_mac_view *out);
bool npu_mac_sem_of(struct npu_mac *, const struct npu_mac_node *, uint32_t *out);
bool npu_mac_table_of(struct npu_mac *, const struct npu_mac_node *, uint32_t *out);
/* "64 x 128", "[64]" */
struct npu_mac_where npu_mac_shape_text(const struct npu_mac_view *);
/* Rows, columns and bytes between rows (0: dense); false when it is no matrix. `vector`: it has one dimension. */
bool npu_mac_matrix_of(const struct npu_mac_view *, struct npu_matrix *out, bool *vector);

/* ---- statements (run.c, declare.c, insn.c) ---- */
bool npu_mac_run(struct npu_mac *, struct npu_mac_stmt *);
/* Passes over a byte order mark. */
void npu_mac_skip_mark(const char **text, uint64_t *nbytes);
bool npu_mac_run_file(struct npu_mac *, struct npu_mac_file *);
bool npu_mac_declare(struct npu_mac *, struct npu_mac_stmt *);
bool npu_mac_place_pending(struct npu_mac *);
/* Counts what fills memory without an instruction. */
bool npu_mac_count_records(struct npu_mac *, struct npu_mac_span, uint64_t n);
bool npu_mac_prepare_ops(struct npu_mac *);
bool npu_mac_run_insn(struct npu_mac *, struct npu_mac_stmt *);
/* Where what follows was written, and in which macros, unless .loc has said that. */
void npu_mac_place(struct npu_mac *, const struct npu_mac_stmt *);
/* A tree for a reference; its shape is that of the tensor. */
const struct npu_reference_node *npu_mac_reference(struct npu_mac *, const struct npu_mac_node *);

#endif
