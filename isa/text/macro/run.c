/* SPDX-License-Identifier: Apache-2.0 */
/* Runs statements: loops, branches, macros, files. */
#include "isa/text/macro/state.h"

#include "isa/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_TEXT = 1024 };

/* Counts what could go on for ever without an instruction. */
static bool count_turn(struct npu_mac *s, struct npu_mac_span span)
{
	if (s->turns_run < s->max_turns && ++s->turns_run)
		return true;
	return npu_mac_refuse_as(s, NPU_ERR_FIT, span, "more than %s turns of loops and macros",
				 npu_count_text(s->max_turns).text);
}

static bool run_block(struct npu_mac *s, struct npu_mac_stmt *first)
{
	uint32_t nundo = s->nundo;
	bool ok = true;
	s->depth++;
	for (struct npu_mac_stmt *stmt = first; stmt && ok; stmt = stmt->next)
		ok = npu_mac_run(s, stmt);
	s->depth--;
	npu_mac_unbind(s, nundo);
	return ok;
}

/* Regions close in the block in which they open. */
static bool check_regions(struct npu_mac *s, uint32_t depth)
{
	return s->region_depth == depth ||
	       npu_mac_refuse(s, s->regions[s->region_depth - 1], "a .region without its .endregion in this block");
}

static bool run_turns(struct npu_mac *s, struct npu_mac_stmt *stmt, int64_t from, int64_t to, int64_t step)
{
	struct npu_mac_frame frame = {
		.kind = NPU_MAC_IN_LOOP, .symbol = stmt->loop.symbol, .span = stmt->span, .below = s->frame
	};
	struct npu_mac_binding *b;
	bool ok = true;
	s->depth++;
	b = npu_mac_bind(s, stmt->loop.symbol, (struct npu_mac_value){ .kind = NPU_MAC_INT }, stmt->span);
	s->depth--;
	if (!b)
		return false;
	b->fixed = true;
	s->frame = &frame;
	for (int64_t i = from; ok && (step > 0 ? i < to : i > to);) {
		b->value.number = frame.value = i;
		frame.turn = 0;
		ok = count_turn(s, stmt->span) && run_block(s, stmt->loop.body) && check_regions(s, s->region_base);
		if (__builtin_add_overflow(i, step, &i))
			break;
	}
	s->frame = frame.below;
	return ok;
}

static uint64_t turns_of(int64_t from, int64_t to, int64_t step)
{
	if (step > 0 ? from >= to : from <= to)
		return 0;
	uint64_t distance = step > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
	uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
	return (distance - 1) / stride + 1;
}

/* A loop that can only end with the cap is refused before it runs for minutes. */
static bool check_turns(struct npu_mac *s, const struct npu_mac_stmt *stmt, uint64_t turns)
{
	uint64_t insns = 0;
	for (const struct npu_mac_stmt *body = stmt->loop.body; body; body = body->next)
		insns += body->kind == NPU_MAC_INSN;
	if (insns && turns > (s->max_insns - s->ninsns) / insns)
		return npu_mac_refuse_as(
		    s, NPU_ERR_FIT, stmt->span,
		    "%s turns of %s instruction%s each, but a program has at most %s: larger tiles or "
		    "shorter lengths need fewer",
		    npu_count_text(turns).text, npu_count_text(insns).text, insns == 1 ? "" : "s",
		    npu_count_text(s->max_insns).text);
	if (turns > s->max_turns - s->turns_run)
		return npu_mac_refuse_as(s, NPU_ERR_FIT, stmt->span,
					 "%s turns: all loops and macros together have at most %s",
					 npu_count_text(turns).text, npu_count_text(s->max_turns).text);
	return true;
}

static bool run_for(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	int64_t from, to, step = 1;
	uint32_t regions = s->region_depth, nundo = s->nundo, base = s->region_base;
	if (!npu_mac_int(s, stmt->loop.from, &from) || !npu_mac_int(s, stmt->loop.to, &to) ||
	    (stmt->loop.step && !npu_mac_int(s, stmt->loop.step, &step)))
		return false;
	if (step == 0)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, stmt->loop.step->span, "a step of 0");
	if (!check_turns(s, stmt, turns_of(from, to, step)))
		return false;
	s->region_base = regions;
	bool ok = run_turns(s, stmt, from, to, step);
	s->region_base = base;
	npu_mac_unbind(s, nundo);
	return ok;
}

static bool run_if(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	int64_t condition;
	uint32_t regions = s->region_depth, base = s->region_base;
	if (!npu_mac_int(s, stmt->branch.condition, &condition))
		return false;
	bool ok = true;
	s->region_base = regions;
	/* no scope of its own: what it declares is there behind it */
	for (struct npu_mac_stmt *t = condition ? stmt->branch.then : stmt->branch.otherwise; t && ok; t = t->next)
		ok = npu_mac_run(s, t);
	ok = ok && check_regions(s, regions);
	s->region_base = base;
	return ok;
}

/* ---- macros ---- */

static int param_called(const struct npu_mac_macro *m, const struct npu_mac_symbol *name)
{
	for (unsigned i = 0; i < m->nparams; i++)
		if (m->params[i] == name)
			return (int)i;
	return -1;
}

static bool refuse_arg(struct npu_mac *s, const struct npu_mac_macro *m, const struct npu_mac_keyed *arg)
{
	char list[160];
	size_t used = 0;
	list[0] = '\0';
	for (unsigned i = 0; i < m->nparams && used < sizeof list; i++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s %s", i ? "," : "", m->params[i]->name);
	if (arg->name)
		return npu_mac_refuse(s, arg->span, "macro %s has no parameter %s; it has%s", m->name->name,
				      arg->name->name, m->nparams ? list : " none");
	return npu_mac_refuse(s, arg->span, "macro %s takes %u arguments:%s", m->name->name, m->nparams, list);
}

/* Arguments mean what they mean where they are written: all are evaluated before the first parameter is bound. */
static bool read_args(struct npu_mac *s, const struct npu_mac_stmt *stmt, const struct npu_mac_macro *m,
		      struct npu_mac_value *values, bool *given)
{
	unsigned next = 0;
	for (const struct npu_mac_keyed *arg = stmt->call.args; arg; arg = arg->next) {
		int i = arg->name ? param_called(m, arg->name) : next < m->nparams ? (int)next++ : -1;
		if (i < 0)
			return refuse_arg(s, m, arg);
		if (given[i])
			return npu_mac_refuse(s, arg->span, "%s is given twice", m->params[i]->name);
		if (!npu_mac_value(s, arg->value, &values[i]))
			return false;
		given[i] = true;
	}
	return true;
}

static bool run_macro(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	enum { MOST = 32 };
	struct npu_mac_value values[MOST];
	bool given[MOST] = { false };
	const struct npu_mac_macro *m = stmt->call.symbol->macro;
	uint32_t nundo = s->nundo, outside = s->macro_frame, regions = s->region_depth, base = s->region_base;
	if (!m)
		return npu_mac_refuse(s, stmt->span, "no instruction and no macro is called %s%s",
				      stmt->call.symbol->name, npu_mac_hint_any(s, stmt->span).text);
	if (s->macros == NPU_MAC_MAX_DEPTH)
		return npu_mac_refuse(s, stmt->span,
				      "macros in macros more than %d deep: %s uses itself without an end",
				      NPU_MAC_MAX_DEPTH, m->name->name);
	if (!read_args(s, stmt, m, values, given) || !count_turn(s, stmt->span))
		return false;
	struct npu_mac_frame frame = { .kind = NPU_MAC_IN_MACRO,
				       .symbol = m->name,
				       .span = stmt->span,
				       .use = stmt,
				       .args = values,
				       .below = s->frame };
	bool ok = true;
	s->macros++;
	s->macro_frame = ++s->frames;
	s->depth++;
	s->frame = &frame;
	for (unsigned i = 0; i < m->nparams && ok; i++) {
		if (!given[i] && !m->defaults[i])
			ok = npu_mac_refuse(s, stmt->span, "macro %s lacks %s", m->name->name, m->params[i]->name);
		ok = ok && (given[i] || npu_mac_value(s, m->defaults[i], &values[i])) &&
		     npu_mac_bind(s, m->params[i], values[i], stmt->span) != NULL;
		frame.nargs += ok;
	}
	s->region_base = regions;
	ok = ok && run_block(s, m->body) && check_regions(s, regions);
	s->region_base = base;
	s->frame = frame.below;
	s->depth--;
	s->macro_frame = outside;
	s->macros--;
	npu_mac_unbind(s, nundo);
	return ok;
}

static bool define_macro(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	struct npu_mac_macro *m = stmt->macro;
	if (m->name->macro)
		return npu_mac_refuse(s, m->span, "a second macro %s; the first is at %s", m->name->name,
				      npu_mac_where(s, m->name->macro->span).text);
	m->name->macro = m;
	return true;
}

/* ---- small things ---- */

static bool run_require(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	int64_t holds;
	char text[LONGEST_TEXT];
	struct npu_mac_span span = stmt->require.condition->span;
	if (!npu_mac_int(s, stmt->require.condition, &holds))
		return false;
	if (holds)
		return true;
	if (!stmt->require.text)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, span, "this does not hold");
	return npu_mac_text(s, stmt->require.text, text, sizeof text) &&
	       npu_mac_refuse_as(s, NPU_ERR_VALUE, span, "%s", text);
}

static bool run_region(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	char name[LONGEST_TEXT];
	if (!npu_mac_text(s, stmt->require.text, name, sizeof name))
		return false;
	if (strlen(name) > NPU_MAX_NAME)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, stmt->span, "a name of more than %d bytes", NPU_MAX_NAME);
	if (s->region_depth == NPU_MAX_DEPTH)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, stmt->span, "regions nested more than %d deep",
					 NPU_MAX_DEPTH);
	if (!npu_mac_count_records(s, stmt->span, 1))
		return false;
	s->regions[s->region_depth++] = stmt->span;
	npu_assembly_region_begin(s->assembly, name);
	return true;
}

static bool run_endregion(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	if (s->region_depth == s->region_base)
		return npu_mac_refuse(s, stmt->span, ".endregion without a .region before it in this block");
	s->region_depth--;
	npu_assembly_region_end(s->assembly);
	return true;
}

/* The innermost stands first; the outermost comes first. */
static bool within_call(struct npu_mac *s, const struct npu_mac_within *use, uint32_t *call)
{
	int64_t line;
	if (!use)
		return true;
	if (!within_call(s, use->around, call) || !npu_mac_int_in(s, use->line, "a line", 0, UINT32_MAX, &line))
		return false;
	*call = npu_assembly_call(s->assembly, use->name, use->file, (uint32_t)line, *call);
	return true;
}

static bool run_loc(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	int64_t line;
	if (!npu_mac_int_in(s, stmt->plain.number, "a line", 0, UINT32_MAX, &line))
		return false;
	if (stmt->plain.text) {
		s->placed_file = npu_arena_text(s->arena, stmt->plain.text, strlen(stmt->plain.text));
		if (!s->placed_file)
			return npu_mac_no_memory(s);
	}
	if (!s->placed_file)
		return npu_mac_refuse(s, stmt->plain.span, "expected a file in quotes, and a line");
	s->placed = true;
	uint32_t call = 0;
	if (!within_call(s, stmt->plain.within, &call))
		return false;
	npu_assembly_place(s->assembly, s->placed_file, (uint32_t)line);
	npu_assembly_inside(s->assembly, call);
	return true;
}

static bool run_program(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	if (s->started)
		return npu_mac_refuse(s, stmt->span, ".program comes before everything else");
	npu_assembly_free(s->assembly);
	s->assembly = npu_assembly_new(stmt->plain.text);
	return s->assembly || npu_mac_no_memory(s);
}

/* ---- files ---- */

/* The mark with which some editors begin UTF-8. */
void npu_mac_skip_mark(const char **text, uint64_t *nbytes)
{
	static const char mark[] = "\xef\xbb\xbf";
	const size_t length = sizeof mark - 1;
	if (*nbytes >= length && memcmp(*text, mark, length) == 0) {
		*text += length;
		*nbytes -= length;
	}
}

/* Tries one folder; false with an error of s when the file is there and cannot be taken. */
static bool try_file(struct npu_mac *s, const char *folder, int length, const char *name, struct npu_mac_span span,
		     struct npu_mac_file **out)
{
	uint64_t nbytes;
	struct npu_error err = { .code = NPU_ERR_NONE };
	size_t size = (size_t)length + strlen(name) + 2;
	char *path = malloc(size);
	if (!path)
		return npu_mac_no_memory(s);
	snprintf(path, size, "%.*s%s%s", length, folder, length && folder[length - 1] != '/' ? "/" : "", name);
	char *text = s->options->read(s->options->context, path, &nbytes, &err);
	if (!text) {
		free(path);
		return err.code == NPU_ERR_NONE || npu_mac_refuse_as(s, err.code, span, "%s", err.text);
	}
	struct npu_mac_file *file = npu_arena_alloc(s->arena, 1, sizeof *file);
	if (!file) {
		free(path);
		free(text);
		return npu_mac_no_memory(s);
	}
	const char *begin = text;
	npu_mac_skip_mark(&begin, &nbytes);
	*file = (struct npu_mac_file){ { path, begin, begin + nbytes }, text, path, s->files };
	s->files = file;
	*out = file;
	return true;
}

static bool find_file(struct npu_mac *s, const char *name, struct npu_mac_span span, struct npu_mac_file **out)
{
	const char *from = s->cursor.file->source.file, *slash = strrchr(from, '/');
	*out = NULL;
	if (!s->options->read)
		return npu_mac_refuse_as(s, NPU_ERR_IO, span, ".include: no files can be read here");
	if (!try_file(s, from, slash && *name != '/' ? (int)(slash - from) + 1 : 0, name, span, out))
		return false;
	for (unsigned i = 0; i < s->options->nfolders && !*out && *name != '/'; i++)
		if (!try_file(s, s->options->folders[i], (int)strlen(s->options->folders[i]), name, span, out))
			return false;
	if (!*out)
		return npu_mac_refuse_as(s, NPU_ERR_IO, span, "%s is neither beside this file nor in %s", name,
					 s->options->nfolders ? "a folder of -I" : "a folder that -I would name");
	return true;
}

/* The last step before *end, which moves in front of it; what . and .. mean is passed over. Empty at the beginning of
 * the path; NULL where .. goes beyond it. */
static const char *last_step(const char *path, const char **end, const char **step_end)
{
	unsigned skip = 0;
	for (;;) {
		while (*end > path && (*end)[-1] == '/')
			--*end;
		const char *stop = *end, *begin = stop;
		while (begin > path && begin[-1] != '/')
			begin--;
		size_t length = (size_t)(stop - begin);
		*end = begin;
		bool up = length == 2 && memcmp(begin, "..", 2) == 0, here = length == 1 && *begin == '.';
		if (length && (up || here || skip)) {
			skip += up;
			skip -= !up && !here;
			continue;
		}
		*step_end = stop;
		return skip ? NULL : begin;
	}
}

/* Whether two paths are written to the same file: a/./b, a//b and a/x/../b are. */
static bool same_path(const char *a, const char *b)
{
	const char *a_end = a + strlen(a), *b_end = b + strlen(b);
	if (strcmp(a, b) == 0)
		return true;
	if ((*a == '/') != (*b == '/'))
		return false;
	for (;;) {
		const char *a_stop, *b_stop, *x = last_step(a, &a_end, &a_stop), *y = last_step(b, &b_end, &b_stop);
		if (!x || !y)
			return false;
		if (a_stop - x != b_stop - y || memcmp(x, y, (size_t)(a_stop - x)) != 0)
			return false;
		if (a_stop == x)
			return true;
	}
}

static bool was_read(const struct npu_mac *s, const struct npu_mac_file *file)
{
	for (const struct npu_mac_file *f = s->files; f; f = f->next)
		if (f != file && same_path(f->source.file, file->source.file))
			return true;
	return false;
}

static bool run_include(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	struct npu_mac_file *file;
	struct npu_mac_frame frame = { .kind = NPU_MAC_IN_FILE, .span = stmt->span, .below = s->frame };
	if (s->includes == NPU_MAC_MAX_DEPTH)
		return npu_mac_refuse(s, stmt->span, "files in files more than %d deep", NPU_MAC_MAX_DEPTH);
	if (!find_file(s, stmt->plain.text, stmt->plain.span, &file))
		return false;
	if (stmt->plain.once && was_read(s, file))
		return true;
	/* open files are those around this line */
	const struct npu_mac_cursor outside = s->cursor;
	for (const struct npu_mac_open *o = s->open; o; o = o->below)
		if (same_path(o->file->source.file, file->source.file))
			return npu_mac_refuse(s, stmt->plain.span, "%s includes itself", stmt->plain.text);
	s->frame = &frame;
	s->includes++;
	bool ok = npu_mac_run_file(s, file);
	s->includes--;
	s->frame = frame.below;
	s->cursor = outside;
	return ok;
}

bool npu_mac_run_file(struct npu_mac *s, struct npu_mac_file *file)
{
	struct npu_mac_open open = { file, s->open };
	const char *nul = memchr(file->source.begin, '\0', (size_t)(file->source.end - file->source.begin));
	if (nul)
		return npu_mac_refuse(s, (struct npu_mac_span){ nul, nul + 1 }, "byte 0x00: this is no text");
	s->open = &open;
	s->cursor = (struct npu_mac_cursor){
		.file = file, .lexer = { file->source.begin, file->source.end }, .line = 1, .before = file->source.begin
	};
	s->cursor.token = npu_lex(&s->cursor.lexer);
	for (struct npu_mac_stmt *stmt; !s->stopped && (stmt = npu_mac_read_stmt(s)) != NULL;) {
		if (!s->failed) {
			npu_mac_run(s, stmt);
			s->started = true;
		}
		if (!s->includes) /* statements around an .include still run */
			npu_mac_pool_reset(s);
	}
	s->open = open.below;
	return !s->failed;
}

bool npu_mac_run(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	switch (stmt->kind) {
	case NPU_MAC_INSN:
		return npu_mac_run_insn(s, stmt);
	case NPU_MAC_MACRO_CALL:
		return run_macro(s, stmt);
	case NPU_MAC_PROGRAM:
		return run_program(s, stmt);
	case NPU_MAC_REQUIRE:
		return run_require(s, stmt);
	case NPU_MAC_REGION:
		return run_region(s, stmt);
	case NPU_MAC_ENDREGION:
		return run_endregion(s, stmt);
	case NPU_MAC_LOC:
		return run_loc(s, stmt);
	case NPU_MAC_FOR:
		return run_for(s, stmt);
	case NPU_MAC_IF:
		return run_if(s, stmt);
	case NPU_MAC_MACRO:
		return define_macro(s, stmt);
	case NPU_MAC_INCLUDE:
		return run_include(s, stmt);
	case NPU_MAC_PARAM:
	case NPU_MAC_LET:
	case NPU_MAC_TENSOR:
	case NPU_MAC_BUFFERS:
	case NPU_MAC_BUFFER:
	case NPU_MAC_FREE:
	case NPU_MAC_SEMS:
	case NPU_MAC_TABLE:
	case NPU_MAC_PAGE:
		break;
	}
	return npu_mac_declare(s, stmt);
}
