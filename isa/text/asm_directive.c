/* SPDX-License-Identifier: Apache-2.0 */
/* Directives: .program .tensor .buffer .table .sem .page .region .endregion .loc */
#include "isa/text/asm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool keep(struct npu_asm *as, bool stored)
{
	if (!stored)
		as->out_of_memory = true;
	return stored;
}

/* A copy of a name that ends in NUL and outlives the line. */
static const char *kept_name(struct npu_asm *as, const struct npu_asm_name *name)
{
	const char *text = npu_arena_text(as->arena, name->text, name->length);
	keep(as, text != NULL);
	return text;
}

static bool refuse_second(struct npu_asm *as, const struct npu_asm_name *name, const char *what)
{
	return npu_asm_refuse_at(as, &name->token, "a second %s called %.*s", what, (int)name->length, name->text);
}

static bool read_program(struct npu_asm *as)
{
	const char *name;
	if (as->started)
		return npu_asm_refuse(as, ".program comes before everything else");
	if (!npu_asm_string(as, "the name of the program in quotes", &name))
		return false;
	npu_assembly_free(as->assembly);
	as->assembly = npu_assembly_new(name);
	return keep(as, as->assembly != NULL);
}

static bool read_shape(struct npu_asm *as, struct npu_tensor *t)
{
	if (!npu_asm_take_punct(as, '['))
		return npu_asm_expected(as, "the shape in brackets");
	do {
		if (t->rank == NPU_MAX_RANK)
			return npu_asm_refuse(as, "at most %d dimensions", NPU_MAX_RANK);
		if (!npu_asm_number(as, "a dimension", NPU_DRAM_LIMIT, &t->shape[t->rank]))
			return false;
		t->rank++;
	} while (npu_asm_take_punct(as, ','));
	return npu_asm_take_punct(as, ']') || npu_asm_expected(as, "a comma or ]");
}

static bool read_dir(struct npu_asm *as, enum npu_tensor_dir *out)
{
	static const char *const dirs[] = { [NPU_TENSOR_IN] = "in",
					    [NPU_TENSOR_OUT] = "out",
					    [NPU_TENSOR_INOUT] = "inout",
					    [NPU_TENSOR_TEMP] = "temp" };
	for (unsigned i = 0; as->token.kind == NPU_TOKEN_NAME && i < sizeof dirs / sizeof dirs[0]; i++)
		if (npu_token_is(&as->token, dirs[i])) {
			*out = (enum npu_tensor_dir)i;
			npu_asm_advance(as);
			return true;
		}
	return npu_asm_expected(as, "in, out, inout or temp");
}

/* layout=block16 bytes=4096 seed=7 */
static bool read_tensor_options(struct npu_asm *as, struct npu_tensor *t)
{
	while (as->token.kind == NPU_TOKEN_NAME) {
		bool layout = npu_token_is(&as->token, "layout"), seed = npu_token_is(&as->token, "seed");
		uint64_t value = 0;
		if (!layout && !seed && !npu_token_is(&as->token, "bytes"))
			return npu_asm_expected(as, "layout=, bytes= or seed=");
		npu_asm_advance(as);
		if (!npu_asm_take_punct(as, '='))
			return npu_asm_expected(as, "=");
		if (!(layout ? npu_asm_named_value(as, "layout", NPU_KIND_LAYOUT, &value)
		      : seed ? npu_asm_number(as, "a seed", NPU_MAX_SEED, &t->seed)
			     : npu_asm_number(as, "a number of bytes", NPU_DRAM_LIMIT, &t->bytes)))
			return false;
		t->layout = layout ? (uint32_t)value : t->layout;
		t->seeded = t->seeded || seed;
	}
	return true;
}

static bool read_tensor(struct npu_asm *as)
{
	struct npu_tensor t = { .layout = NPU_LAYOUT_ROW };
	struct npu_asm_name name;
	uint64_t dtype;
	if (!npu_asm_name(as, "the name of the tensor", false, &name) || !read_shape(as, &t) ||
	    !npu_asm_named_value(as, "type", NPU_KIND_DTYPE, &dtype) || !read_dir(as, &t.dir) ||
	    !npu_asm_address(as, "the address of the tensor", true, &t.addr))
		return false;
	t.dtype = (enum npu_dtype)dtype;
	if (!read_tensor_options(as, &t))
		return false;
	if (npu_symbols_find(&as->tensors, name.text, name.length))
		return refuse_second(as, &name, "tensor");
	t.name = kept_name(as, &name);
	if (!t.name || !keep(as, npu_symbols_set(&as->tensors, t.name, name.length, as->ntensors)) ||
	    !keep(as, npu_symbols_set(&as->addresses, t.name, name.length, t.addr | NPU_ASM_IN_DRAM)))
		return false;
	npu_assembly_tensor(as->assembly, &t);
	as->ntensors++;
	return true;
}

static bool read_buffer(struct npu_asm *as)
{
	struct npu_buffer b = { 0 };
	struct npu_asm_name name;
	uint64_t local, bytes, first, last;
	if (!npu_asm_name(as, "the name of the buffer", true, &name) ||
	    !npu_asm_address(as, "the address of the buffer", false, &local))
		return false;
	if (!npu_asm_take_punct(as, '+'))
		return npu_asm_expected(as, "+ and the size in bytes");
	if (!npu_asm_number(as, "the size in bytes", UINT32_MAX, &bytes) ||
	    !npu_asm_number(as, "the first instruction of its life", UINT32_MAX, &first))
		return false;
	if (!npu_asm_take_punct(as, NPU_PUNCT2('.', '.')))
		return npu_asm_expected(as, ".. and the instruction at which its life is over");
	if (!npu_asm_number(as, "the instruction at which its life is over", UINT32_MAX, &last))
		return false;
	b.name = kept_name(as, &name);
	b.local = (uint32_t)local;
	b.bytes = (uint32_t)bytes;
	b.first = (uint32_t)first;
	b.end = (uint32_t)last;
	if (first > last)
		return npu_asm_refuse_at(as, &as->directive, "alive for instructions %" PRIu32 "..%" PRIu32, b.first,
					 b.end);
	if (b.end > as->last_end) {
		as->last_buffer = as->directive;
		as->last_end = b.end;
	}
	if (!b.name || !keep(as, npu_symbols_set(&as->addresses, b.name, name.length, local)))
		return false;
	uint32_t index = npu_assembly_buffer(as->assembly, &b);
	if (!b.end) /* a life that ends before the first instruction, which npu_assembly_buffer takes for an open one */
		npu_assembly_buffer_end(as->assembly, index);
	return true;
}

static void skip_newlines(struct npu_asm *as)
{
	while (as->token.kind == NPU_TOKEN_NEWLINE)
		npu_asm_advance(as);
}

/* [1, 2, 3]: entries may go over several lines. Counts them when `entries` is NULL. */
static bool read_entries(struct npu_asm *as, uint32_t *entries, uint32_t *count)
{
	*count = 0;
	npu_asm_advance(as); /* [ */
	skip_newlines(as);
	while (!npu_asm_is_punct(as, ']')) {
		uint64_t value;
		if (!npu_asm_number(as, "a page number", UINT32_MAX, &value))
			return false;
		if (entries)
			entries[*count] = (uint32_t)value;
		++*count;
		skip_newlines(as);
		bool comma = npu_asm_take_punct(as, ',');
		skip_newlines(as);
		if (!comma && !npu_asm_is_punct(as, ']'))
			return npu_asm_expected(as, "a comma or ]");
	}
	npu_asm_advance(as);
	return true;
}

/* sequence=3, which may be left out */
static bool read_sequence(struct npu_asm *as, uint32_t *sequence)
{
	uint64_t value;
	if (as->token.kind != NPU_TOKEN_NAME)
		return true;
	if (!npu_token_is(&as->token, "sequence"))
		return npu_asm_expected(as, "sequence= or = [page, page, ...]");
	npu_asm_advance(as);
	if (!npu_asm_take_punct(as, '='))
		return npu_asm_expected(as, "=");
	if (!npu_asm_number(as, "the number of a sequence", UINT32_MAX, &value))
		return false;
	*sequence = (uint32_t)value;
	return true;
}

static bool read_table(struct npu_asm *as)
{
	struct npu_table t = { 0 };
	struct npu_asm_name name;
	if (!npu_asm_name(as, "the name of the table", true, &name) ||
	    !npu_asm_address(as, "the address of the table", true, &t.addr))
		return false;
	if (!read_sequence(as, &t.sequence))
		return false;
	if (!npu_asm_take_punct(as, '=') || !npu_asm_is_punct(as, '['))
		return npu_asm_expected(as, "= [page, page, ...]");
	if (npu_symbols_find(&as->tables, name.text, name.length))
		return refuse_second(as, &name, "table");
	const struct npu_lexer lexer = as->lexer;
	const struct npu_token bracket = as->token;
	const uint32_t line = as->line;
	if (!read_entries(as, NULL, &t.count))
		return false;
	uint32_t *entries = npu_arena_alloc(as->arena, t.count, sizeof *entries);
	t.name = kept_name(as, &name);
	if (!keep(as, entries != NULL) || !t.name)
		return false;
	as->lexer = lexer;
	as->token = bracket;
	as->line = line;
	t.entries = entries;
	return read_entries(as, entries, &t.count) &&
	       keep(as, npu_symbols_set(&as->tables, t.name, name.length, npu_assembly_table(as->assembly, &t)));
}

/* free, shared, or owned by a sequence */
static bool read_page_state(struct npu_asm *as, struct npu_page_event *e)
{
	static const char *const states[] = {
		[NPU_PAGE_FREE] = "free", [NPU_PAGE_OWNED] = "owned", [NPU_PAGE_SHARED] = "shared"
	};
	enum { STATES = sizeof states / sizeof states[0] };
	uint64_t sequence = 0;
	while (e->state < STATES && !npu_token_is(&as->token, states[e->state]))
		e->state++;
	if (as->token.kind != NPU_TOKEN_NAME || e->state == STATES)
		return npu_asm_expected(as, "free, shared, or owned and a sequence");
	npu_asm_advance(as);
	if (e->state == NPU_PAGE_OWNED && !npu_asm_number(as, "the number of the sequence", UINT32_MAX, &sequence))
		return false;
	e->sequence = (uint32_t)sequence;
	return true;
}

/* 3, or 3..5 */
static bool read_page_range(struct npu_asm *as, uint64_t *first, uint64_t *end)
{
	enum { MOST_PAGES = 1 << 20 }; /* a line must not fill memory */
	if (!npu_asm_number(as, "a page number", UINT32_MAX, first))
		return false;
	*end = *first + 1;
	if (npu_asm_take_punct(as, NPU_PUNCT2('.', '.')) &&
	    !npu_asm_number(as, "the page after the last one", (uint64_t)UINT32_MAX + 1, end))
		return false;
	if (*end > *first && *end - *first <= MOST_PAGES)
		return true;
	return npu_asm_refuse(as, "pages %" PRIu64 "..%" PRIu64 ": a line has 1 to %d pages", *first, *end, MOST_PAGES);
}

/* .page POOL 3 free, .page POOL 0..4 owned 1, .page POOL 4..6 shared: from the next instruction on */
static bool read_page(struct npu_asm *as)
{
	struct npu_asm_name name;
	struct npu_page_event e = { 0 };
	uint64_t first, end;
	if (!as->placed)
		npu_assembly_place(as->assembly, as->source.file, as->line);
	if (!npu_asm_name(as, "the name of the pool", false, &name))
		return false;
	const struct npu_symbol *pool = npu_symbols_find(&as->tensors, name.text, name.length);
	if (!pool)
		return npu_asm_refuse_at(as, &name.token, "no tensor is called %.*s%s", (int)name.length, name.text,
					 npu_asm_hint(as, &as->tensors, name.text, name.length).text);
	e.pool = (uint32_t)pool->value;
	if (!read_page_range(as, &first, &end) || !read_page_state(as, &e))
		return false;
	for (uint64_t page = first; page < end; page++) {
		e.page = (uint32_t)page;
		npu_assembly_page(as->assembly, &e);
	}
	return true;
}

struct sem_line {
	struct npu_asm_name name;
	uint64_t members; /* 0: not an array */
	uint64_t initial;
	uint64_t max;
};

static bool declare_sem(struct npu_asm *as, const struct sem_line *line, const char *name)
{
	size_t length = strlen(name);
	if (as->nsems == NPU_MAX_SEMS)
		return npu_asm_refuse_at(as, &line->name.token, "more than %d semaphores", NPU_MAX_SEMS);
	if (npu_symbols_find(&as->sems, name, length))
		return npu_asm_refuse_at(as, &line->name.token, "a second semaphore called %s", name);
	if (!keep(as, npu_symbols_set(&as->sems, name, length, as->nsems)))
		return false;
	npu_assembly_sem(as->assembly, name, (uint32_t)line->initial, (uint32_t)line->max);
	as->nsems++;
	return true;
}

static bool declare_sems(struct npu_asm *as, const struct sem_line *line)
{
	if (!line->members) {
		const char *name = kept_name(as, &line->name);
		return name && declare_sem(as, line, name);
	}
	for (uint64_t i = 0; i < line->members; i++) {
		uint64_t size = line->name.length + 24;
		char *name = npu_arena_alloc(as->arena, size, 1);
		if (!keep(as, name != NULL))
			return false;
		snprintf(name, size, "%.*s[%" PRIu64 "]", (int)line->name.length, line->name.text, i);
		if (!declare_sem(as, line, name))
			return false;
	}
	return true;
}

/* NAME, NAME[n] (n of them: NAME[0] to NAME[n-1]), "any name"; =initial; max=n */
static bool read_sem(struct npu_asm *as)
{
	struct sem_line line = { .max = NPU_SEM_MAX_COUNT };
	bool quoted = as->token.kind == NPU_TOKEN_STRING;
	if (!npu_asm_name(as, "the name of the semaphore", false, &line.name))
		return false;
	if (!quoted && npu_asm_take_punct(as, '[')) {
		const struct npu_token number = as->token;
		if (!npu_asm_number(as, "how many semaphores", NPU_MAX_SEMS, &line.members))
			return false;
		if (!line.members)
			return npu_asm_refuse_at(as, &number, "an array of no semaphores");
		if (!npu_asm_take_punct(as, ']'))
			return npu_asm_expected(as, "]");
	}
	if (npu_asm_take_punct(as, '=') && !npu_asm_number(as, "the initial count", NPU_SEM_MAX_COUNT, &line.initial))
		return false;
	if (as->token.kind == NPU_TOKEN_NAME && npu_token_is(&as->token, "max")) {
		npu_asm_advance(as);
		const struct npu_token number = as->token;
		if (!npu_asm_take_punct(as, '='))
			return npu_asm_expected(as, "=");
		if (!npu_asm_number(as, "the highest count", NPU_SEM_MAX_COUNT, &line.max))
			return false;
		if (!line.max || line.initial > line.max)
			return npu_asm_refuse_at(as, &number, "max must be at least 1 and at least the initial count");
	}
	return declare_sems(as, &line);
}

static bool read_sems(struct npu_asm *as)
{
	do {
		if (!read_sem(as))
			return false;
	} while (npu_asm_take_punct(as, ','));
	return true;
}

/* The same string with single braces: {{ and }} are braces, as in macro assembly, where one of them opens an
 * expression. */
static bool take_braces(struct npu_asm *as, struct npu_token *token)
{
	uint64_t used = 0;
	char *text = npu_arena_alloc(as->arena, (uint64_t)(token->end - token->begin) + 1, 1);
	if (!text) {
		as->out_of_memory = true;
		return false;
	}
	for (const char *c = token->begin; c < token->end; c++) {
		if ((*c == '{' || *c == '}') && c[1] != *c)
			return npu_asm_refuse(as, "a single brace: an expression stands in braces, and flat text has "
						  "none; a brace itself is written %c%c",
					      *c, *c);
		c += *c == '{' || *c == '}';
		text[used++] = *c;
		if (*c == '\\' && c + 1 < token->end)
			text[used++] = *++c;
	}
	token->begin = text;
	token->end = text + used;
	return true;
}

static bool read_region(struct npu_asm *as)
{
	const char *name;
	struct npu_token text = as->token;
	if (as->token.kind != NPU_TOKEN_STRING)
		return npu_asm_expected(as, "the name of the region in quotes");
	if (!take_braces(as, &text) || !npu_asm_unescape(as, &text, &name))
		return false;
	npu_asm_advance(as);
	if (!as->region_depth++)
		as->outer_region = as->directive;
	npu_assembly_region_begin(as->assembly, name);
	return true;
}

static bool read_endregion(struct npu_asm *as)
{
	if (!as->region_depth)
		return npu_asm_refuse_at(as, &as->directive, ".endregion without a .region before it");
	as->region_depth--;
	npu_assembly_region_end(as->assembly);
	return true;
}

struct within {
	const char *name, *file;
	uint64_t line;
};

/* within "macro" "file" line, innermost first */
static bool read_within(struct npu_asm *as, uint32_t *call)
{
	struct within uses[NPU_MAX_DEPTH];
	unsigned n = 0;
	*call = 0;
	for (; npu_token_is(&as->token, "within"); n++) {
		if (n == NPU_MAX_DEPTH)
			return npu_asm_refuse(as, "macros are used in each other more than %d deep", NPU_MAX_DEPTH);
		npu_asm_advance(as);
		if (!npu_asm_string(as, "the name of a macro in quotes", &uses[n].name) ||
		    !npu_asm_string(as, "the file that uses it in quotes", &uses[n].file) ||
		    !npu_asm_number(as, "a line", UINT32_MAX, &uses[n].line))
			return false;
	}
	while (n-- > 0)
		*call = npu_assembly_call(as->assembly, uses[n].name, uses[n].file, (uint32_t)uses[n].line, *call);
	return true;
}

/* .loc "file" line, or .loc line in the file named last, and the uses of macros around it */
static bool read_loc(struct npu_asm *as)
{
	uint64_t line;
	const char *file = as->placed_file;
	if (as->token.kind == NPU_TOKEN_STRING && !npu_asm_string(as, "a file", &file))
		return false;
	if (!file)
		return npu_asm_expected(as, "a file in quotes, and a line");
	uint32_t call;
	if (!npu_asm_number(as, "a line", UINT32_MAX, &line) || !read_within(as, &call))
		return false;
	as->placed = true;
	as->placed_file = file;
	npu_assembly_place(as->assembly, file, (uint32_t)line);
	npu_assembly_inside(as->assembly, call);
	return true;
}

static const struct directive {
	const char *name;
	bool (*read)(struct npu_asm *);
} directives[] = {
	{ ".program", read_program }, { ".tensor", read_tensor },
	{ ".buffer", read_buffer },   { ".table", read_table },
	{ ".sem", read_sems },        { ".page", read_page },
	{ ".region", read_region },   { ".endregion", read_endregion },
	{ ".loc", read_loc },
};

/* The names of a line that was refused, as far as they can be told. */
static bool remember_names(struct npu_asm *as, struct npu_lexer line, bool all)
{
	bool name = true; /* behind the directive, or a comma */
	for (struct npu_token t = npu_lex(&line); t.kind != NPU_TOKEN_NEWLINE && t.kind != NPU_TOKEN_END;
	     t = npu_lex(&line)) {
		if (name && t.kind == NPU_TOKEN_NAME &&
		    !npu_symbols_set(&as->refused, t.begin, (uint64_t)(t.end - t.begin), 0))
			as->out_of_memory = true;
		name = all && t.kind == NPU_TOKEN_PUNCT && t.punct == ',';
	}
	return false;
}

bool npu_asm_directive(struct npu_asm *as)
{
	enum { COUNT = sizeof directives / sizeof directives[0] };
	const struct npu_token token = as->directive = as->token;
	const char *names[COUNT];
	for (unsigned i = 0; i < COUNT; i++) {
		if (npu_token_is(&token, directives[i].name)) {
			const struct npu_lexer line = as->lexer;
			npu_asm_advance(as);
			return directives[i].read(as) || remember_names(as, line, directives[i].read == read_sems);
		}
		names[i] = directives[i].name;
	}
	uint64_t length = (uint64_t)(token.end - token.begin);
	return npu_asm_refuse(as, "no directive is called %.*s%s", (int)length, token.begin,
			      npu_asm_hint_of(as, names, COUNT, token.begin, length).text);
}
