/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and blocks of lines. */
#include "isa/text/macro/state.h"
#include "isa/text/macro/words.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ENTRIES = 1 << 20, MAX_MACRO_PARAMS = 32, MAX_CHOICES = 32 };

static struct npu_mac_symbol *read_symbol(struct npu_mac *s, const char *what, struct npu_mac_span *span)
{
	const struct npu_token name = s->cursor.token;
	*span = npu_mac_here(s);
	if (name.kind == NPU_TOKEN_STRING) {
		const char *text = npu_mac_read_string(s, what);
		return text ? npu_mac_symbol(s, text, strlen(text)) : NULL;
	}
	if (name.kind != NPU_TOKEN_NAME) {
		npu_mac_expected(s, what);
		return NULL;
	}
	npu_mac_advance(s);
	return npu_mac_symbol(s, name.begin, (uint64_t)(name.end - name.begin));
}

static struct npu_mac_decl *new_decl(struct npu_mac *s, const char *what)
{
	struct npu_mac_decl *d = npu_mac_alloc(s, 1, sizeof *d);
	if (!d)
		return NULL;
	d->line = s->cursor.line;
	if (!(d->symbol = read_symbol(s, what, &d->span)))
		return NULL;
	return d;
}

static bool read_into(struct npu_mac *s, struct npu_mac_node **out)
{
	return (*out = npu_mac_read_expr(s)) != NULL;
}

/* A mark that must follow. */
static bool need(struct npu_mac *s, uint16_t punct, const char *what)
{
	return npu_mac_take(s, punct) || npu_mac_expected(s, what);
}

/* The one declaration of a line. */
static struct npu_mac_decl *one_decl(struct npu_mac *s, struct npu_mac_stmt *stmt, enum npu_mac_stmt_kind kind,
				     const char *what)
{
	stmt->kind = kind;
	return stmt->decls = new_decl(s, what);
}

/* [n] behind the name of an array, or nothing */
static bool read_count(struct npu_mac *s, struct npu_mac_decl *d)
{
	if (!npu_mac_take(s, '['))
		return true;
	d->array = true;
	return read_into(s, &d->count) && need(s, ']', "]");
}

static bool read_program(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	stmt->kind = NPU_MAC_PROGRAM;
	stmt->plain.text = npu_mac_read_string(s, "the name of the program in quotes");
	return stmt->plain.text != NULL;
}

/* NAME=value, or NAME=word|word|word: a choice, the first is the default */
static bool read_param(struct npu_mac *s, struct npu_mac_decl *d)
{
	const char *choices[MAX_CHOICES + 1] = { NULL };
	unsigned n = 0;
	if (s->cursor.token.kind != NPU_TOKEN_NAME || s->cursor.lexer.at == s->cursor.lexer.end)
		return read_into(s, &d->value);
	const struct npu_mac_cursor before = s->cursor;
	do {
		const struct npu_token word = s->cursor.token;
		if (word.kind != NPU_TOKEN_NAME || n == MAX_CHOICES)
			break;
		const struct npu_mac_symbol *symbol = npu_mac_symbol(s, word.begin, (uint64_t)(word.end - word.begin));
		if (!symbol)
			return false;
		choices[n++] = symbol->name;
		npu_mac_advance(s);
	} while (npu_mac_take(s, '|'));
	bool over = npu_mac_at_line_end(s) || npu_mac_is(s, ',');
	if (over && (n > 1 || !npu_mac_symbol(s, choices[0], strlen(choices[0]))->binding)) {
		d->choices = npu_mac_alloc(s, n + 1, sizeof *d->choices);
		if (d->choices)
			memcpy(d->choices, choices, n * sizeof *choices);
		return d->choices != NULL;
	}
	s->cursor = before;
	return read_into(s, &d->value);
}

static bool read_assignments(struct npu_mac *s, struct npu_mac_stmt *stmt, enum npu_mac_stmt_kind kind)
{
	struct npu_mac_decl **last = &stmt->decls;
	stmt->kind = kind;
	do {
		struct npu_mac_decl *d = new_decl(s, kind == NPU_MAC_PARAM ? "the name of the parameter" : "a name");
		if (!d)
			return false;
		if (!need(s, '=', kind == NPU_MAC_PARAM ? "= and the default" : "= and a value"))
			return false;
		if (!(kind == NPU_MAC_PARAM ? read_param(s, d) : read_into(s, &d->value)))
			return false;
		*last = d;
		last = &d->next;
	} while (npu_mac_take(s, ','));
	return true;
}

static bool read_params(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	return read_assignments(s, stmt, NPU_MAC_PARAM);
}

static bool read_let(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	return read_assignments(s, stmt, NPU_MAC_LET);
}

static bool read_require(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	stmt->kind = NPU_MAC_REQUIRE;
	if (!read_into(s, &stmt->require.condition))
		return false;
	return !npu_mac_take(s, ',') || (stmt->require.text = npu_mac_read_text(s, "a message in quotes")) != NULL;
}

/* ---- tensors, buffers ---- */

static bool read_shape(struct npu_mac *s, struct npu_mac_decl *d)
{
	npu_mac_advance(s); /* [ */
	do {
		if (d->rank == NPU_MAC_MAX_RANK)
			return npu_mac_refuse(s, npu_mac_here(s), "at most %d dimensions", NPU_MAC_MAX_RANK);
		if (!read_into(s, &d->shape[d->rank++]))
			return false;
	} while (npu_mac_take(s, ','));
	return need(s, ']', "a comma or ]");
}

/* A word is followed by others: no operators. */
static bool read_dtype(struct npu_mac *s, struct npu_mac_decl *d)
{
	if (s->cursor.token.kind != NPU_TOKEN_NAME)
		return npu_mac_expected(s, "an element type, as fp16");
	struct npu_mac_node *node = npu_mac_new_node(s, NPU_MAC_NAME, s->cursor.token.begin);
	if (!node)
		return false;
	node->symbol = npu_mac_symbol(s, node->span.begin, (uint64_t)(node->span.end - node->span.begin));
	d->dtype = node;
	npu_mac_advance(s);
	return node->symbol != NULL;
}

enum {
	OPT_AT = 1,
	OPT_LAYOUT = 2,
	OPT_SEED = 4,
	OPT_FILE = 8,
	OPT_BANK = 16,
	OPT_ALIGN = 32,
	OPT_BYTES = 64,
	OPT_STEP = 128,
	OPT_OVER = 256
};

/* `node`: where in struct npu_mac_decl its value goes. */
static const struct {
	const char *name;
	unsigned bit;
	size_t node;
} options[] = {
	{ "at", OPT_AT, offsetof(struct npu_mac_decl, at) },
	{ "layout", OPT_LAYOUT, offsetof(struct npu_mac_decl, layout) },
	{ "seed", OPT_SEED, offsetof(struct npu_mac_decl, seed) },
	{ "file", OPT_FILE, 0 },
	{ "bank", OPT_BANK, offsetof(struct npu_mac_decl, bank) },
	{ "align", OPT_ALIGN, offsetof(struct npu_mac_decl, align) },
	{ "bytes", OPT_BYTES, offsetof(struct npu_mac_decl, bytes) },
	{ "step", OPT_STEP, offsetof(struct npu_mac_decl, step) },
	{ "over", OPT_OVER, offsetof(struct npu_mac_decl, over) },
};

/* at=0x1000 layout=block16, as far as they go */
static bool read_options(struct npu_mac *s, struct npu_mac_decl *d, unsigned allowed)
{
	enum { OPTIONS = sizeof options / sizeof options[0] };
	while (s->cursor.token.kind == NPU_TOKEN_NAME) {
		const char *names[OPTIONS];
		unsigned n = 0, i = 0;
		struct npu_mac_span here = npu_mac_here(s);
		while (i < OPTIONS && !(options[i].bit & allowed && npu_mac_is_word(s, options[i].name)))
			i++;
		for (unsigned j = 0; j < OPTIONS; j++)
			if (options[j].bit & allowed)
				names[n++] = options[j].name;
		if (i == OPTIONS)
			return npu_mac_refuse(s, here, "no option is called %.*s%s", (int)(here.end - here.begin),
					      here.begin, npu_mac_hint_of(names, n, here).text);
		npu_mac_advance(s);
		if (!need(s, '=', "="))
			return false;
		if (options[i].bit == OPT_FILE) {
			d->file_span = npu_mac_here(s);
			if (!(d->file = npu_mac_read_string(s, "a file in quotes")))
				return false;
		} else if (!read_into(s, (struct npu_mac_node **)((char *)d + options[i].node))) {
			return false;
		}
	}
	return true;
}

static const char *const dirs[] = { [NPU_TENSOR_IN] = "in",
				    [NPU_TENSOR_OUT] = "out",
				    [NPU_TENSOR_INOUT] = "inout",
				    [NPU_TENSOR_TEMP] = "temp" };

static bool read_dir(struct npu_mac *s, unsigned *out)
{
	for (unsigned i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
		if (npu_mac_is_word(s, dirs[i])) {
			*out = i;
			npu_mac_advance(s);
			return true;
		}
	return npu_mac_expected(s, "in, out, inout or temp");
}

/* NAME[shape] dtype dir [dram:address] [options] [= reference] */
static bool read_tensor(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	struct npu_mac_decl *d = one_decl(s, stmt, NPU_MAC_TENSOR, "the name of the tensor");
	if (!d)
		return false;
	if (!npu_mac_is(s, '['))
		return npu_mac_expected(s, "the shape in brackets");
	if (!read_shape(s, d) || !read_dtype(s, d) || !read_dir(s, &d->dir))
		return false;
	if (npu_mac_is_word(s, "dram") && s->cursor.lexer.at < s->cursor.lexer.end && *s->cursor.lexer.at == ':') {
		npu_mac_advance(s);
		npu_mac_advance(s);
		if (!read_into(s, &d->at))
			return false;
	}
	if (!read_options(s, d, OPT_AT | OPT_LAYOUT | OPT_SEED | OPT_FILE | OPT_BYTES))
		return false;
	return !npu_mac_take(s, '=') || read_into(s, &d->value);
}

/* NAME[count][shape] dtype options; the count and its brackets may be missing */
static bool read_local(struct npu_mac *s, struct npu_mac_stmt *stmt, bool accum)
{
	struct npu_mac_decl *d = one_decl(s, stmt, NPU_MAC_BUFFERS, "the name of the buffer");
	if (!d)
		return false;
	d->accum = accum;
	if (!npu_mac_is(s, '['))
		return npu_mac_expected(s, "the shape in brackets");
	if (!read_shape(s, d))
		return false;
	if (npu_mac_is(s, '[')) {
		if (d->rank != 1)
			return npu_mac_refuse(s, d->span, "an array of buffers has one dimension, as in q[2][64, 128]");
		d->array = true;
		d->count = d->shape[0];
		d->rank = 0;
		if (!read_shape(s, d))
			return false;
	}
	return read_dtype(s, d) && read_options(s, d, OPT_AT | OPT_LAYOUT | OPT_BANK | OPT_STEP | OPT_ALIGN | OPT_OVER);
}

static bool read_sram(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	return read_local(s, stmt, false);
}

static bool read_acc(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	return read_local(s, stmt, true);
}

/* NAME sram:a+bytes first..end, as flat text has it */
static bool read_buffer(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	struct npu_mac_decl *d = one_decl(s, stmt, NPU_MAC_BUFFER, "the name of the buffer");
	if (!d || !read_count(s, d) || !(d->at = npu_mac_read_unary(s)))
		return false;
	if (d->at->kind != NPU_MAC_ADDRESS || d->at->op == 'd')
		return npu_mac_refuse(s, d->at->span, "expected a local address, sram:0x... or acc:0x...");
	return need(s, '+', "+ and the size in bytes") && (d->bytes = npu_mac_read_unary(s)) != NULL &&
	       (d->first = npu_mac_read_unary(s)) != NULL &&
	       need(s, NPU_PUNCT2('.', '.'), ".. and the instruction at which its life is over") &&
	       (d->last = npu_mac_read_unary(s)) != NULL;
}

static bool read_free(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	struct npu_mac_node *nodes[32];
	stmt->kind = NPU_MAC_FREE;
	do {
		if (stmt->list.n == sizeof nodes / sizeof nodes[0])
			return npu_mac_refuse(s, npu_mac_here(s), "too many names for one line");
		if (!read_into(s, &nodes[stmt->list.n++]))
			return false;
	} while (npu_mac_take(s, ','));
	stmt->list.nodes = npu_mac_alloc(s, stmt->list.n, sizeof *nodes);
	if (stmt->list.nodes)
		memcpy(stmt->list.nodes, nodes, stmt->list.n * sizeof *nodes);
	return stmt->list.nodes != NULL;
}

/* NAME[n]=initial max=m, ... */
static bool read_sems(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	struct npu_mac_decl **last = &stmt->decls;
	stmt->kind = NPU_MAC_SEMS;
	do {
		struct npu_mac_decl *d = new_decl(s, "the name of the semaphore");
		if (!d || !read_count(s, d))
			return false;
		if (npu_mac_take(s, '=') && !read_into(s, &d->initial))
			return false;
		if (npu_mac_is_word(s, "max") && npu_lex_take_equals(&s->cursor.lexer)) {
			npu_mac_advance(s);
			if (!read_into(s, &d->max))
				return false;
		}
		*last = d;
		last = &d->next;
	} while (npu_mac_take(s, ','));
	return true;
}

/* ---- tables, pages ---- */

static void skip_newlines(struct npu_mac *s)
{
	while (s->cursor.token.kind == NPU_TOKEN_NEWLINE)
		npu_mac_advance(s);
}

/* [1, 2, 3]: entries may go over several lines */
static bool read_entries(struct npu_mac *s, struct npu_mac_decl *d)
{
	unsigned room = 0;
	npu_mac_advance(s); /* [ */
	skip_newlines(s);
	while (!npu_mac_is(s, ']')) {
		if (d->nentries == room) {
			struct npu_mac_node **grown = npu_mac_alloc(s, room ? 2 * room : 16, sizeof *grown);
			if (!grown)
				return false;
			if (room)
				memcpy(grown, d->entries, room * sizeof *grown);
			d->entries = grown;
			room = room ? 2 * room : 16;
		}
		if (d->nentries == MAX_ENTRIES)
			return npu_mac_refuse(s, npu_mac_here(s), "more than %d entries", MAX_ENTRIES);
		if (!read_into(s, &d->entries[d->nentries++]))
			return false;
		skip_newlines(s);
		bool comma = npu_mac_take(s, ',');
		skip_newlines(s);
		if (!comma && !npu_mac_is(s, ']'))
			return npu_mac_expected(s, "a comma or ]");
	}
	npu_mac_advance(s);
	return true;
}

/* NAME [dram:address] [sequence=n] = [pages] or shuffle(n, seed) */
static bool read_table(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	struct npu_mac_decl *d = one_decl(s, stmt, NPU_MAC_TABLE, "the name of the table");
	if (!d || !read_count(s, d))
		return false;
	if (npu_mac_is_word(s, "dram")) {
		npu_mac_advance(s);
		if (!need(s, ':', "dram:0x...") || !read_into(s, &d->at))
			return false;
	}
	if (npu_mac_is_word(s, "sequence")) {
		npu_mac_advance(s);
		if (!need(s, '=', "=") || !read_into(s, &d->sequence))
			return false;
	}
	if (!need(s, '=', "= [page, page, ...] or = shuffle(pages, seed)"))
		return false;
	if (npu_mac_is(s, '['))
		return read_entries(s, d);
	if (!npu_mac_is_word(s, "shuffle"))
		return npu_mac_expected(s, "[page, page, ...] or shuffle(pages, seed)");
	npu_mac_advance(s);
	return need(s, '(', "(pages, seed)") && read_into(s, &d->bytes) && need(s, ',', "a comma and the seed") &&
	       read_into(s, &d->seed) && need(s, ')', ")");
}

static const char *const states[] = {
	[NPU_PAGE_FREE] = "free", [NPU_PAGE_OWNED] = "owned", [NPU_PAGE_SHARED] = "shared"
};
enum { STATES = sizeof states / sizeof states[0] };

/* POOL 3 free, POOL 0..4 owned 1, POOL 4..6 shared */
static bool read_page(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	stmt->kind = NPU_MAC_PAGE;
	if (!(stmt->page.pool = npu_mac_read_unary(s)) || !read_into(s, &stmt->page.first))
		return false;
	if (npu_mac_take(s, NPU_PUNCT2('.', '.')) && !read_into(s, &stmt->page.end))
		return false;
	while (stmt->page.state < STATES && !npu_mac_is_word(s, states[stmt->page.state]))
		stmt->page.state++;
	if (stmt->page.state == STATES)
		return npu_mac_expected(s, "free, shared, or owned and a sequence");
	npu_mac_advance(s);
	return stmt->page.state != NPU_PAGE_OWNED || read_into(s, &stmt->page.sequence);
}

/* ---- regions, places ---- */

static bool read_region(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	stmt->kind = NPU_MAC_REGION;
	return (stmt->require.text = npu_mac_read_text(s, "the name of the region in quotes")) != NULL;
}

static bool read_endregion(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	(void)s;
	stmt->kind = NPU_MAC_ENDREGION;
	return true;
}

static bool read_loc(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	stmt->kind = NPU_MAC_LOC;
	stmt->plain.span = npu_mac_here(s);
	if (s->cursor.token.kind == NPU_TOKEN_STRING && !(stmt->plain.text = npu_mac_read_string(s, "a file")))
		return false;
	if (!read_into(s, &stmt->plain.number))
		return false;
	struct npu_mac_within **end = &stmt->plain.within;
	for (unsigned n = 0; npu_mac_is_word(s, "within"); n++) {
		struct npu_mac_within *use = npu_mac_alloc(s, 1, sizeof *use);
		if (n == NPU_MAX_DEPTH)
			return npu_mac_refuse(s, npu_mac_here(s), "macros are used in each other more than %d deep",
					      NPU_MAX_DEPTH);
		npu_mac_advance(s);
		if (!use || !(use->name = npu_mac_read_string(s, "the name of a macro in quotes")) ||
		    !(use->file = npu_mac_read_string(s, "the file that uses it in quotes")) ||
		    !read_into(s, &use->line))
			return false;
		*end = use;
		end = &use->around;
	}
	return true;
}

static bool read_include(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	stmt->kind = NPU_MAC_INCLUDE;
	if (npu_mac_is_word(s, "once")) {
		stmt->plain.once = true;
		npu_mac_advance(s);
	}
	stmt->plain.span = npu_mac_here(s);
	if (s->blocks)
		return npu_mac_refuse(s, stmt->span, ".include stands outside of .for, .if and .macro");
	s->missing |= s->cursor.token.kind != NPU_TOKEN_STRING;
	return (stmt->plain.text = npu_mac_read_string(s, stmt->plain.once ? "a file in quotes"
									   : "once, or a file in quotes")) != NULL;
}

/* ---- blocks ---- */

enum { END, ELSE, ELIF, CLOSERS };
static const char *const closers[CLOSERS] = { [END] = ".end", [ELSE] = ".else", [ELIF] = ".elif" };

static void skip_line(struct npu_mac *s)
{
	while (!npu_mac_at_line_end(s))
		npu_mac_advance(s);
}

static bool at_directive(const struct npu_mac *s, const char *name)
{
	return s->cursor.token.kind == NPU_TOKEN_DIRECTIVE && npu_token_is(&s->cursor.token, name);
}

/* The rest of a line that opens a block, and the block up to what closes it. */
static struct npu_mac_stmt *read_block(struct npu_mac *s, const struct npu_mac_stmt *opener, bool header)
{
	struct npu_mac_stmt *first = NULL, **last = &first;
	if (header && !npu_mac_at_line_end(s))
		npu_mac_expected(s, "the end of the line");
	skip_line(s);
	if (s->blocks == NPU_MAC_MAX_DEPTH) {
		npu_mac_refuse(s, opener->span, "blocks nested more than %d deep", NPU_MAC_MAX_DEPTH);
		s->stopped = true;
		return NULL;
	}
	s->blocks++;
	for (struct npu_mac_stmt *stmt; (stmt = npu_mac_read_stmt(s)) != NULL;) {
		*last = stmt;
		last = &stmt->next;
	}
	s->blocks--;
	if (s->cursor.token.kind == NPU_TOKEN_END && !s->stopped) {
		npu_mac_refuse(s, opener->span, "%.*s without its .end", (int)(opener->span.end - opener->span.begin),
			       opener->span.begin);
		s->stopped = true;
	}
	return first;
}

static bool read_end(struct npu_mac *s)
{
	if (s->stopped)
		return false;
	npu_mac_advance(s); /* .end; the caller has seen that it is one */
	return true;
}

/* What closes the block must be .end here. */
static bool close_block(struct npu_mac *s, const struct npu_mac_stmt *opener)
{
	if (s->stopped)
		return false;
	if (!at_directive(s, closers[END]))
		npu_mac_refuse(s, npu_mac_here(s), "%.*s in the block of %s; .end would close it",
			       (int)(s->cursor.token.end - s->cursor.token.begin), s->cursor.token.begin,
			       npu_mac_where(s, opener->span).text);
	return read_end(s);
}

static bool read_for(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	struct npu_mac_span span;
	stmt->kind = NPU_MAC_FOR;
	bool ok = (stmt->loop.symbol = read_symbol(s, "the variable of the loop", &span)) != NULL;
	if (ok && !npu_mac_is_word(s, "in"))
		ok = npu_mac_expected(s, "in");
	if (ok)
		npu_mac_advance(s);
	ok = ok && read_into(s, &stmt->loop.from);
	ok = ok && need(s, NPU_PUNCT2('.', '.'), ".. and the end of the range") && read_into(s, &stmt->loop.to);
	if (ok && npu_mac_is_word(s, "step")) {
		npu_mac_advance(s);
		ok = read_into(s, &stmt->loop.step);
	}
	stmt->loop.body = read_block(s, stmt, ok);
	return close_block(s, stmt) && ok;
}

/* Behind .if or .elif; takes everything up to the .end of the whole chain. */
static bool read_branch(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	bool ok = read_into(s, &stmt->branch.condition);
	stmt->kind = NPU_MAC_IF;
	stmt->branch.then = read_block(s, stmt, ok);
	if (s->stopped)
		return false;
	if (at_directive(s, closers[ELIF])) {
		struct npu_mac_stmt *other = npu_mac_alloc(s, 1, sizeof *other);
		if (!other || s->nesting == NPU_MAC_MAX_NESTING)
			return npu_mac_refuse(s, npu_mac_here(s), "too many .elif");
		other->span = npu_mac_here(s);
		other->line = s->cursor.line;
		other->file = stmt->file;
		stmt->branch.otherwise = other;
		npu_mac_advance(s);
		s->nesting++;
		ok = read_branch(s, other) && ok;
		s->nesting--;
		return ok;
	}
	if (at_directive(s, closers[ELSE])) {
		npu_mac_advance(s);
		stmt->branch.otherwise = read_block(s, stmt, true);
	}
	return close_block(s, stmt) && ok;
}

static bool read_macro_params(struct npu_mac *s, struct npu_mac_macro *m)
{
	struct npu_mac_symbol *params[MAX_MACRO_PARAMS];
	struct npu_mac_node *defaults[MAX_MACRO_PARAMS] = { NULL };
	while (!npu_mac_at_line_end(s)) {
		struct npu_mac_span span;
		if (m->nparams == MAX_MACRO_PARAMS)
			return npu_mac_refuse(s, npu_mac_here(s), "more than %d parameters", MAX_MACRO_PARAMS);
		if (!(params[m->nparams] = read_symbol(s, "the name of a parameter", &span)))
			return false;
		for (unsigned i = 0; i < m->nparams; i++)
			if (params[i] == params[m->nparams])
				return npu_mac_refuse(s, span, "a second parameter %s", params[i]->name);
		if (npu_mac_take(s, '=') && !read_into(s, &defaults[m->nparams]))
			return false;
		m->nparams++;
		if (!npu_mac_take(s, ',') && !npu_mac_at_line_end(s))
			return npu_mac_expected(s, "a comma or the end of the line");
	}
	m->params = npu_mac_alloc(s, m->nparams, sizeof *params);
	m->defaults = npu_mac_alloc(s, m->nparams, sizeof *defaults);
	if (!m->params || !m->defaults)
		return false;
	memcpy(m->params, params, m->nparams * sizeof *params);
	memcpy(m->defaults, defaults, m->nparams * sizeof *defaults);
	return true;
}

static bool read_macro(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	stmt->kind = NPU_MAC_MACRO;
	if (s->blocks) {
		npu_mac_refuse(s, stmt->span, ".macro stands outside of .for, .if and .macro");
		s->missing = true;
		read_block(s, stmt, false);
		return close_block(s, stmt) && false;
	}
	s->keep = true;
	struct npu_mac_macro *m = npu_mac_alloc(s, 1, sizeof *m);
	bool ok = m && (m->name = read_symbol(s, "the name of the macro", &m->span)) != NULL;
	if (ok)
		m->name->announced = true;
	s->missing |= !ok;
	if (ok && npu_symbols_find(&s->mnemonics, m->name->name, m->name->length))
		ok = npu_mac_refuse(s, m->span, "%s is an instruction", m->name->name);
	ok = ok && read_macro_params(s, m);
	struct npu_mac_stmt *body = m ? read_block(s, stmt, ok) : NULL;
	if (m)
		m->body = body;
	stmt->macro = m;
	ok = close_block(s, stmt) && ok;
	s->keep = false;
	return ok;
}

static bool read_if(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	return read_branch(s, stmt);
}

static const struct directive {
	const char *name;
	bool (*read)(struct npu_mac *, struct npu_mac_stmt *);
} directives[] = {
	{ ".program", read_program }, { ".param", read_params },
	{ ".let", read_let },         { ".require", read_require },
	{ ".tensor", read_tensor },   { ".sram", read_sram },
	{ ".acc", read_acc },         { ".buffer", read_buffer },
	{ ".free", read_free },       { ".sem", read_sems },
	{ ".table", read_table },     { ".page", read_page },
	{ ".region", read_region },   { ".endregion", read_endregion },
	{ ".loc", read_loc },         { ".for", read_for },
	{ ".if", read_if },           { ".macro", read_macro },
	{ ".include", read_include },
};

enum { COUNT = sizeof directives / sizeof directives[0] };

static bool read_directive(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	const char *names[COUNT];
	struct npu_mac_span here = npu_mac_here(s);
	for (unsigned i = 0; i < COUNT; i++) {
		if (npu_token_is(&s->cursor.token, directives[i].name)) {
			npu_mac_advance(s);
			return directives[i].read(s, stmt);
		}
		names[i] = directives[i].name;
	}
	return npu_mac_refuse(s, here, "no directive is called %.*s%s", (int)(here.end - here.begin), here.begin,
			      npu_mac_hint_of(names, COUNT, here).text);
}

/* What ends a block ends it whatever stands around. */
static bool at_closer(struct npu_mac *s)
{
	bool closer = at_directive(s, closers[END]) || at_directive(s, closers[ELSE]) || at_directive(s, closers[ELIF]);
	if (closer && !s->blocks) {
		npu_mac_refuse(s, npu_mac_here(s), "%.*s without .for, .if or .macro before it",
			       (int)(s->cursor.token.end - s->cursor.token.begin), s->cursor.token.begin);
		skip_line(s);
		return false;
	}
	return closer;
}

static struct npu_mac_stmt *read_line(struct npu_mac *s)
{
	struct npu_mac_stmt *stmt = npu_mac_alloc(s, 1, sizeof *stmt);
	if (!stmt)
		return NULL;
	stmt->span = npu_mac_here(s);
	stmt->line = s->cursor.line;
	stmt->file = s->cursor.file->source.file;
	bool ok;
	if (s->cursor.token.kind == NPU_TOKEN_DIRECTIVE)
		ok = read_directive(s, stmt);
	else if (s->cursor.token.kind == NPU_TOKEN_NAME)
		ok = npu_mac_read_insn(s, stmt);
	else
		ok = npu_mac_expected(s, "an instruction or a directive");
	if (ok && !npu_mac_at_line_end(s))
		ok = npu_mac_expected(s, "the end of the line");
	skip_line(s);
	return ok ? stmt : NULL;
}

struct npu_mac_stmt *npu_mac_read_stmt(struct npu_mac *s)
{
	struct npu_mac_stmt *stmt = NULL;
	bool outermost = !s->reading;
	s->reading = true;
	while (!stmt && !s->stopped && s->cursor.token.kind != NPU_TOKEN_END) {
		if (s->cursor.token.kind == NPU_TOKEN_NEWLINE)
			npu_mac_advance(s);
		else if (at_closer(s))
			break;
		else if (!npu_mac_at_line_end(s))
			stmt = read_line(s);
	}
	if (outermost)
		s->reading = false;
	return stmt;
}

const char *npu_macro_word(enum npu_macro_words kind, unsigned n)
{
	static const char *const functions[] = {
#define F(NAME, text, least, most) text,
		NPU_MAC_FUNCTIONS(F)
#undef F
	};
	switch (kind) {
	case NPU_MACRO_DIRECTIVES:
		return n < COUNT ? directives[n].name : n - COUNT < CLOSERS ? closers[n - COUNT] : NULL;
	case NPU_MACRO_FUNCTIONS:
		return n < NPU_MAC_FN_COUNT ? functions[n] : NULL;
	case NPU_MACRO_OPTIONS:
		return n < sizeof options / sizeof options[0] ? options[n].name : NULL;
	case NPU_MACRO_DIRECTIONS:
		return n < sizeof dirs / sizeof dirs[0] ? dirs[n] : NULL;
	case NPU_MACRO_PAGE_STATES:
		return n < STATES ? states[n] : NULL;
	}
	return NULL;
}
