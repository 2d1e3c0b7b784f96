/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of the macro assembler: which texts are flat, the life of its state, and what comes of it. */
#include "isa/text/macro/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct npu_macro_options no_options;

/* ---- flat or not ---- */

/* Directives that flat text does not have. Text without any of them is given to the flat assembler first, which is the
 * faster one; what it refuses may still use slices or expressions. */
static bool uses_macros(const char *text, const char *end)
{
	static const char *const words[] = { ".param", ".let", ".require", ".sram",  ".acc",
					     ".free",  ".for", ".if",      ".macro", ".include" };
	while (text < end) {
		while (text < end && (*text == ' ' || *text == '\t'))
			text++;
		for (unsigned i = 0; text < end && *text == '.' && i < sizeof words / sizeof words[0]; i++) {
			size_t length = strlen(words[i]);
			if ((size_t)(end - text) > length && memcmp(text, words[i], length) == 0 &&
			    (text[length] == ' ' || text[length] == '\t'))
				return true;
		}
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		text = newline ? newline + 1 : end;
	}
	return false;
}

/* ---- life ---- */

static struct npu_macro *new_result(void)
{
	struct npu_macro *m = calloc(1, sizeof *m);
	if (m)
		m->loops = calloc(1, sizeof *m->loops);
	if (m)
		m->arena = npu_arena_new();
	if (m && m->loops && m->arena)
		return m;
	npu_macro_free(m);
	return NULL;
}

void npu_macro_free(struct npu_macro *m)
{
	if (!m)
		return;
	npu_program_free(m->program);
	if (m->loops) {
		free(m->loops->turns);
		free(m->loops->of);
	}
	free(m->loops);
	npu_arena_free(m->arena);
	free(m);
}

/* "qk" of "kernels/qk.npu": what a program is called that does not say. */
static void default_name(const char *file, char *out, size_t size)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file, *dot = strrchr(base, '.');
	snprintf(out, size, "%.*s", dot && dot != base ? (int)(dot - base) : (int)strlen(base), base);
}

static struct npu_capacity capacity_of(const struct npu_macro_options *options)
{
	if (options->capacity)
		return *options->capacity;
	return (struct npu_capacity){ .limits = { NPU_LOCAL_LIMIT, NPU_LOCAL_LIMIT, NPU_DRAM_LIMIT },
				      .sram_groups = 1,
				      .sram_word_bytes = 64,
				      .accum_banks = 1,
				      .array_rows = 16,
				      .array_cols = 16,
				      .vector_lanes = 16,
				      .load_channels = 1,
				      .store_channels = 1 };
}

/* The capacities, under the names of their hardware keys: numbers that nothing changes. */
static bool bind_capacity(struct npu_mac *s)
{
	const struct npu_capacity *c = &s->capacity;
	const struct {
		const char *name;
		uint64_t value;
	} keys[] = {
		{ "matrix.rows", c->array_rows },          { "matrix.cols", c->array_cols },
		{ "vector.lanes", c->vector_lanes },       { "accum.size", c->limits.accum_bytes },
		{ "accum.banks", c->accum_banks },         { "sram.size", c->limits.sram_bytes },
		{ "sram.groups", c->sram_groups },         { "sram.bank_bytes", c->sram_word_bytes },
		{ "dma.load_channels", c->load_channels }, { "dma.store_channels", c->store_channels },
	};
	bool ok = true;
	for (unsigned i = 0; i < sizeof keys / sizeof keys[0] && ok; i++) {
		const struct npu_mac_value value = { .kind = NPU_MAC_INT, .number = (int64_t)keys[i].value };
		struct npu_mac_symbol *symbol = npu_mac_symbol(s, keys[i].name, strlen(keys[i].name));
		struct npu_mac_binding *b = symbol ? npu_mac_bind(s, symbol, value, (struct npu_mac_span){ 0 }) : NULL;
		ok = b != NULL;
		if (ok)
			b->fixed = true;
	}
	return ok;
}

static bool begin(struct npu_mac *s, const char *file)
{
	char name[256];
	default_name(file, name, sizeof name);
	s->arena = npu_arena_new();
	s->assembly = npu_assembly_new(name);
	s->capacity = capacity_of(s->options);
	s->placer = npu_placer_new(&s->capacity);
	s->param_used = calloc(s->options->nparams + (size_t)1, sizeof *s->param_used);
	s->last_pending = &s->pending;
	s->max_turns = s->options->max_turns ? s->options->max_turns : NPU_MACRO_MAX_TURNS;
	s->max_insns = s->options->max_insns ? s->options->max_insns : NPU_MACRO_MAX_INSNS;
	for (unsigned i = 0; i < npu_nops; i++)
		if (!npu_symbols_set(&s->mnemonics, npu_ops[i].mnemonic, strlen(npu_ops[i].mnemonic), i))
			return false;
	return s->arena && s->assembly && s->placer && s->param_used && npu_mac_prepare_ops(s) && bind_capacity(s);
}

static void end(struct npu_mac *s)
{
	for (struct npu_mac_file *f = s->files; f; f = f->next) {
		free(f->owned);
		free(f->path);
	}
	npu_assembly_free(s->assembly);
	npu_placer_free(s->placer);
	npu_symbols_fini(&s->symbols);
	npu_symbols_fini(&s->mnemonics);
	npu_mac_pool_fini(s);
	npu_arena_free(s->arena);
	free(s->param_used);
	free(s->undo);
	free(s->tensors);
	free(s->params);
}

/* ---- what the command line gave and the text does not have ---- */

static bool check_params(struct npu_mac *s)
{
	const char *names[64];
	unsigned n = 0;
	for (; n < s->nparams && n < 64; n++)
		names[n] = s->params[n].name;
	for (unsigned i = 0; i < s->options->nparams; i++) {
		char name[64];
		if (s->param_used[i])
			continue;
		snprintf(name, sizeof name, "%.*s", (int)strcspn(s->options->params[i], "="), s->options->params[i]);
		struct npu_mac_span span = { name, name + strlen(name) };
		s->failed = true;
		return npu_fail(s->err, NPU_ERR_VALUE, "%s: %s has no .param %s%s", s->options->params[i],
				s->cursor.file->source.file, name, n ? npu_mac_hint_of(names, n, span).text : "");
	}
	return true;
}

/* ---- loops ---- */

static char *print_loops(const struct npu_macro_loops *loops, uint32_t insn, char *out, uint64_t size)
{
	enum { MOST = 8 };
	const struct npu_mac_turn *chain[MOST];
	unsigned n = 0;
	uint64_t used = 0;
	if (size)
		out[0] = '\0';
	if (!loops || !loops->of || insn >= loops->recorded)
		return out;
	for (uint32_t i = loops->of[insn]; i && n < MOST; i = loops->turns[i].around)
		chain[n++] = &loops->turns[i];
	while (n-- > 0 && used < size)
		used += (uint64_t)snprintf(out + used, size - used, "%s=%" PRId64 "%s", chain[n]->name, chain[n]->value,
					   n ? " " : "");
	return out;
}

char *npu_macro_loop_values(const struct npu_macro *m, uint32_t insn, char *out, uint64_t size)
{
	return print_loops(m->loops, insn, out, size);
}

/* What a loader says about "#8 load" happened in some turn. */
static void note_loops(const struct npu_macro_loops *loops, struct npu_error *err)
{
	char values[256], *end;
	if (err->text[0] != '#')
		return;
	unsigned long insn = strtoul(err->text + 1, &end, 10);
	if (end > err->text + 1 && *print_loops(loops, (uint32_t)insn, values, sizeof values))
		npu_error_note(err, "  with %s", values);
}

static bool keep_results(struct npu_mac *s, struct npu_macro *m)
{
	struct npu_macro_tensor *tensors = npu_arena_alloc(s->result, s->ntensors, sizeof *tensors);
	struct npu_macro_param *params = npu_arena_alloc(s->result, s->nparams, sizeof *params);
	if (!tensors || !params)
		return npu_mac_no_memory(s);
	if (s->ntensors)
		memcpy(tensors, s->tensors, s->ntensors * sizeof *tensors);
	if (s->nparams)
		memcpy(params, s->params, s->nparams * sizeof *params);
	m->tensors = tensors;
	m->params = params;
	m->nparams = s->nparams;
	/* names of loop variables live in the arena of the assembler */
	for (uint32_t i = 1; i < m->loops->nturns; i++) {
		struct npu_mac_turn *turn = &m->loops->turns[i];
		const struct npu_mac_turn *before = turn - 1;
		/* turns of one loop come in a row, mostly */
		if (i > 1 && before->name && strcmp(before->name, turn->name) == 0)
			turn->name = before->name;
		else
			turn->name = npu_arena_text(s->result, turn->name, strlen(turn->name));
		if (!turn->name)
			return npu_mac_no_memory(s);
	}
	return true;
}

static bool finish(struct npu_mac *s, struct npu_macro *m, const struct npu_source *source)
{
	if (s->pending && !npu_mac_place_pending(s))
		return false;
	if (s->region_depth)
		return npu_mac_refuse(s, s->regions[s->region_depth - 1], "a .region without its .endregion");
	if (s->last_end > s->ninsns)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, s->last_buffer,
					 "alive until instruction %" PRIu32 " of %" PRIu64, s->last_end,
					 (uint64_t)s->ninsns);
	if (!check_params(s) || !keep_results(s, m))
		return false;
	m->program = npu_assembly_finish(s->assembly, s->err);
	s->assembly = NULL;
	if (m->program)
		return true;
	for (const struct npu_mac_file *f = s->files; f; f = f->next)
		if (strcmp(s->err->file, f->source.file) == 0) {
			npu_diag_show_line(&f->source, s->err);
			break;
		}
	note_loops(m->loops, s->err);
	if (!s->err->file[0])
		snprintf(s->err->file, sizeof s->err->file, "%s", source->file);
	return false;
}

/* Assembles until `only_until` groups of buffers are placed (0: to the end). */
static bool assemble_into(struct npu_mac *s, struct npu_mac_file *main, struct npu_macro *m)
{
	bool ok = begin(s, main->source.file);
	if (!ok) {
		s->out_of_memory = true;
		return false;
	}
	s->result = m->arena;
	s->loops = m->loops;
	return npu_mac_run_file(s, main) && finish(s, m, &main->source);
}

/* Looks for a value of one parameter with which the buffers fit. */
struct probe {
	const struct npu_mac *tried;
	const struct npu_source *source;
	const char *name;
	uint64_t work; /* instructions and turns that are left for looking */
	bool refused;  /* some value not for its size: what fits is no longer everything below a bound */
};

/* Whether the buffers that did not fit do so with the parameter at k times unit. */
static bool fits_with(struct probe *probe, int64_t k, int64_t unit)
{
	enum { LEAST_WORK = 5000 }; /* of starting to assemble */
	char assignment[NPU_MAX_NAME + 32];
	const struct npu_mac *tried = probe->tried;
	const struct npu_macro_options *given = tried->options;
	struct npu_macro_options options = *given;
	const char **params = calloc(given->nparams + (size_t)1, sizeof *params);
	struct npu_macro *m = new_result();
	struct npu_error ignored = { .code = NPU_ERR_NONE };
	struct npu_mac_file main = { .source = *probe->source };
	struct npu_mac s = { .options = &options, .err = &ignored, .files = &main, .only_until = tried->placings + 1 };
	snprintf(assignment, sizeof assignment, "%s=%" PRId64, probe->name, k * unit);
	if (params && m && probe->work) {
		for (unsigned i = 0; i < given->nparams; i++)
			params[i] = given->params[i];
		params[given->nparams] = assignment;
		options.params = params;
		options.nparams = given->nparams + 1;
		s.diag = (struct npu_diag){ &main.source, &ignored, 0 };
		assemble_into(&s, &main, m);
		end(&s);
		uint64_t work = LEAST_WORK + s.ninsns + s.turns_run;
		probe->work = work < probe->work ? probe->work - work : 0;
	}
	npu_macro_free(m);
	free(params);
	bool fits = s.placings == s.only_until;
	probe->refused |= !fits && ignored.code != NPU_ERR_FIT;
	return fits;
}

/* The largest multiple of unit below `given` that fits; 0: none was found. */
static int64_t largest_that_fits(struct probe *probe, int64_t given, int64_t unit)
{
	enum { MOST_MULTIPLES = 128 };
	int64_t good = (given - 1) / unit, bad = good + 1;
	while (good > 0 && !fits_with(probe, good, unit)) {
		bad = good;
		good /= 2;
	}
	while (good > 0 && bad - good > 1) {
		int64_t middle = good + (bad - good) / 2;
		if (fits_with(probe, middle, unit))
			good = middle;
		else
			bad = middle;
	}
	/* A .require may let in a larger one than those that halving came by. */
	if (good > 0 && probe->refused && (given - 1) / unit - good <= MOST_MULTIPLES)
		for (int64_t k = (given - 1) / unit; k > good; k--)
			if (fits_with(probe, k, unit))
				return k * unit;
	return good * unit;
}

/* Where a .require lets few values in, halving may pass over all of them. */
static int64_t first_below(struct probe *probe, int64_t given)
{
	enum { MOST_TRIES = 200 };
	for (int64_t value = given - 1; value > 0 && value >= given - MOST_TRIES; value--)
		if (fits_with(probe, value, 1))
			return value;
	return 0;
}

/* "t=480 would fit, t=512 would not": parameters by which the buffers become small enough, in whole columns of the
 * array where there is such a value, else in multiples of 16, else at all. */
static void note_fits(const struct npu_mac *s, const struct npu_source *source)
{
	enum { MOST_PARAMS = 16, MOST_WORK = 4000000, BLOCK = 16 };
	const int64_t units[] = { s->capacity.array_cols, BLOCK, 1 };
	struct probe probe = { .tried = s, .source = source, .work = MOST_WORK };
	for (unsigned i = 0; i < s->nparams && i < MOST_PARAMS; i++) {
		char *end;
		const struct npu_macro_param *p = &s->params[i];
		long long given = strtoll(p->value, &end, 10);
		int64_t fits = 0, unit = 1;
		probe.name = p->name;
		probe.refused = false;
		for (unsigned u = 0; !*end && !fits && u < sizeof units / sizeof units[0]; u++) {
			unit = units[u];
			fits = unit > 0 && given > unit ? largest_that_fits(&probe, given, unit) : 0;
		}
		bool bisected = fits != 0;
		if (!*end && !fits)
			fits = first_below(&probe, given);
		if (!fits || !probe.work)
			continue;
		/* the next one is at most what was given, which does not fit */
		int64_t next = bisected && fits + unit < given ? fits + unit : given;
		if (unit > 1)
			npu_error_note(s->err,
				       "  %s=%" PRId64 " would fit, the largest multiple of %" PRId64 "; %s=%" PRId64
				       " would not",
				       p->name, fits, unit, p->name, next);
		else
			npu_error_note(s->err, "  %s=%" PRId64 " would fit; %s=%" PRId64 " would not", p->name, fits,
				       p->name, next);
	}
}

static struct npu_macro *assemble(const char *text, uint64_t nbytes, const char *file,
				  const struct npu_macro_options *options, struct npu_error *err)
{
	struct npu_macro *m = new_result();
	struct npu_mac_file main = { .source = { file, text, text + nbytes } };
	struct npu_mac s = { .options = options, .err = err, .files = &main, .out_of_memory = !m };
	s.diag = (struct npu_diag){ &main.source, err, 0 };
	bool ok = m && assemble_into(&s, &main, m);
	npu_diag_close(&s.diag);
	if (s.out_of_memory)
		npu_fail(err, NPU_ERR_MEMORY, "%s: out of memory", file);
	else if (s.full)
		note_fits(&s, &main.source);
	if (m)
		end(&s);
	if (ok)
		return m;
	npu_macro_free(m);
	return NULL;
}

/* A program without anything that only macro assembly can say. */
static struct npu_macro *wrap(struct npu_program *program)
{
	struct npu_macro *m = program ? new_result() : NULL;
	struct npu_macro_tensor *tensors = m ? npu_arena_alloc(m->arena, program->ntensors, sizeof *tensors) : NULL;
	if (!tensors) {
		npu_program_free(program);
		npu_macro_free(m);
		return NULL;
	}
	m->program = program;
	m->tensors = tensors;
	return m;
}

struct npu_macro *npu_macro_text(const char *text, uint64_t nbytes, const char *file,
				 const struct npu_macro_options *options, struct npu_error *err)
{
	struct npu_error ignored, flat = { .code = NPU_ERR_NONE };
	struct npu_macro *m;
	err = err ? err : &ignored;
	options = options ? options : &no_options;
	file = file ? file : "";
	npu_mac_skip_mark(&text, &nbytes);
	const char *cr = memchr(text, '\r', nbytes);
	if (cr && cr + 1 < text + nbytes && !memchr(text, '\n', nbytes)) {
		npu_fail_at(err, NPU_ERR_SYNTAX, file, 1, (uint32_t)(cr - text) + 1,
			    "lines end in CR alone; LF, or CR and LF, would be right");
		return NULL;
	}
	/* A NUL makes it no text at all, wherever it stands. */
	bool plain = !memchr(text, '\0', nbytes) && !uses_macros(text, text + nbytes);
	struct npu_program *program = plain ? npu_asm_flat(text, nbytes, file, &flat) : NULL;
	if (program && options->nparams) {
		npu_fail(err, NPU_ERR_VALUE, "%s: %s has no .param at all", options->params[0], file);
		npu_program_free(program);
		return NULL;
	}
	if (program) {
		m = wrap(program);
		if (!m)
			npu_fail(err, NPU_ERR_MEMORY, "%s: out of memory", file);
		return m;
	}
	m = assemble(text, nbytes, file, options, err);
	/* its messages are those of the larger language; but flat text may have any bytes in its names */
	if (!m && plain && flat.line > err->line)
		*err = flat;
	return m;
}
