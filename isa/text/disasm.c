/* SPDX-License-Identifier: Apache-2.0 */
/* A program as flat text that assembles to the same program. */
#include "isa/program.h"
#include "isa/text/names.h"
#include "isa/text/out.h"
#include "isa/text/syntax.h"
#include "isa/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_local(struct npu_out *out, uint32_t local)
{
	npu_out_text(out, npu_is_acc(local) ? "acc:" : "sram:");
	npu_out_hex(out, npu_local_offset(local));
}

static void print_dram(struct npu_out *out, uint64_t addr)
{
	npu_out_text(out, "dram:");
	npu_out_hex(out, addr);
}

static void print_value(struct npu_out *out, const struct npu_program *program, const struct npu_field *field,
			uint64_t value)
{
	const char *const *names;
	switch (field->kind) {
	case NPU_KIND_LOCAL:
		print_local(out, (uint32_t)value);
		break;
	case NPU_KIND_DRAM:
		print_dram(out, value);
		break;
	case NPU_KIND_UINT:
	case NPU_KIND_FLAG:
		npu_out_uint(out, value);
		break;
	case NPU_KIND_INT:
		npu_out_int(out, (int64_t)value);
		break;
	case NPU_KIND_F32:
		npu_out_real(out, (uint32_t)value);
		break;
	case NPU_KIND_TABLE:
		npu_out_name(out, program->tables[value].name);
		break;
	case NPU_KIND_DTYPE:
	case NPU_KIND_LAYOUT:
	case NPU_KIND_BCAST:
	case NPU_KIND_ACT:
	case NPU_KIND_SCALE:
		npu_kind_names(field->kind, &names);
		npu_out_text(out, names[value]);
		break;
	}
}

/* Optional addresses are written up to the last one that says something. */
static unsigned written_positions(const struct npu_insn *insn, const struct npu_field *const positional[], unsigned n)
{
	while (n > 0 && !positional[n - 1]->required && npu_field_get(positional[n - 1], insn) == 0 &&
	       !npu_syntax_uses(insn, positional[n - 1]))
		n--;
	return n;
}

static void print_operands(struct npu_out *out, const struct npu_program *program, const struct npu_insn *insn)
{
	const struct npu_op_info *info = npu_op_info(insn->op);
	const struct npu_field *positional[NPU_MAX_POSITIONAL];
	unsigned n = written_positions(insn, positional, npu_syntax_positional(info, positional));
	for (unsigned i = 0; i < n; i++) {
		npu_out_text(out, i ? ", " : " ");
		print_value(out, program, positional[i], npu_field_get(positional[i], insn));
	}
	for (const struct npu_field *field = info->format->fields; field->name; field++) {
		uint64_t value = npu_field_get(field, insn);
		if (npu_syntax_is_positional(field) || (!field->required && value == npu_field_initial(field)))
			continue;
		npu_out_char(out, ' ');
		npu_out_text(out, field->name);
		npu_out_char(out, '=');
		print_value(out, program, field, value);
	}
}

static void print_refs(struct npu_out *out, const struct npu_program *program, const char *verb,
		       const struct npu_sem_ref refs[NPU_SYNC_SLOTS])
{
	for (unsigned i = 0; i < NPU_SYNC_SLOTS && refs[i].count; i++) {
		npu_out_text(out, i ? ", " : verb);
		npu_out_name(out, program->sems[refs[i].sem].name);
		if (refs[i].count > 1) {
			npu_out_char(out, ':');
			npu_out_uint(out, refs[i].count);
		}
	}
}

static void print_insn(struct npu_out *out, const struct npu_program *program, uint32_t i)
{
	const struct npu_insn *insn = &program->insns[i];
	npu_out_text(out, npu_op_mnemonic(insn->op));
	print_operands(out, program, insn);
	print_refs(out, program, "   wait ", insn->wait);
	print_refs(out, program, "   post ", insn->post);
}

uint64_t npu_insn_print(const struct npu_program *program, uint32_t insn, char *text, uint64_t size)
{
	struct npu_out out = { .data = text, .size = size };
	print_insn(&out, program, insn);
	npu_out_finish(&out);
	return out.used;
}

/* "k[0]+0x40", or the plain address where no name covers it; true when a name did. */
static bool print_symbol(struct npu_out *out, const struct npu_names *names, const struct npu_field *field,
			 uint64_t value)
{
	const struct npu_buffer *buffer = NULL;
	const struct npu_tensor *tensor = NULL;
	if (field->kind == NPU_KIND_LOCAL)
		buffer = npu_names_buffer(names, (uint32_t)value);
	else
		tensor = npu_names_tensor(names, value);
	if (!buffer && !tensor) {
		print_value(out, names->program, field, value);
		return false;
	}
	npu_out_name(out, buffer ? buffer->name : tensor->name);
	uint64_t offset = value - (buffer ? buffer->local : tensor->addr);
	if (offset) {
		npu_out_char(out, '+');
		npu_out_hex(out, offset);
	}
	return true;
}

/* "   ; k[0] <- K+0x4000"; nothing when no address has a name. */
static void print_comment(struct npu_out *out, const struct npu_names *names, const struct npu_insn *insn)
{
	const struct npu_field *positional[NPU_MAX_POSITIONAL];
	unsigned n = npu_syntax_positional(npu_op_info(insn->op), positional);
	uint64_t start = out->used;
	bool any = false;
	npu_out_text(out, "   ; ");
	for (unsigned i = 0, written = 0; i < n; i++) {
		if (!npu_syntax_uses(insn, positional[i]))
			continue;
		npu_out_text(out, written == 0 ? "" : written == 1 ? " <- " : ", ");
		any |= print_symbol(out, names, positional[i], npu_field_get(positional[i], insn));
		written++;
	}
	if (!any && !out->failed)
		out->used = start;
}

static void print_line_end(struct npu_out *out)
{
	npu_out_char(out, '\n');
}

/* The name of a tensor or a semaphore where brackets behind it mean a shape or a number: one with an index needs
 * quotes. */
static void print_whole_name(struct npu_out *out, const char *name)
{
	if (strchr(name, '['))
		npu_out_quoted(out, name);
	else
		npu_out_name(out, name);
}

static void print_tensor(struct npu_out *out, const struct npu_tensor *t)
{
	static const char *const dirs[] = { [NPU_TENSOR_IN] = "in",
					    [NPU_TENSOR_OUT] = "out",
					    [NPU_TENSOR_INOUT] = "inout",
					    [NPU_TENSOR_TEMP] = "temp" };
	const char *const *layouts;
	npu_kind_names(NPU_KIND_LAYOUT, &layouts);
	npu_out_text(out, ".tensor ");
	print_whole_name(out, t->name);
	npu_out_char(out, '[');
	for (uint32_t i = 0; i < t->rank; i++) {
		npu_out_text(out, i ? ", " : "");
		npu_out_uint(out, t->shape[i]);
	}
	npu_out_text(out, "] ");
	npu_out_text(out, npu_dtype_name(t->dtype));
	npu_out_char(out, ' ');
	npu_out_text(out, dirs[t->dir]);
	npu_out_char(out, ' ');
	print_dram(out, t->addr);
	if (t->layout != NPU_LAYOUT_ROW) {
		npu_out_text(out, " layout=");
		npu_out_text(out, layouts[t->layout]);
	}
	if (t->bytes != npu_tensor_bytes(t)) {
		npu_out_text(out, " bytes=");
		npu_out_uint(out, t->bytes);
	}
	if (t->seeded) {
		npu_out_text(out, " seed=");
		npu_out_uint(out, t->seed);
	}
	print_line_end(out);
}

static void print_buffer(struct npu_out *out, const struct npu_buffer *b)
{
	npu_out_text(out, ".buffer ");
	npu_out_name(out, b->name);
	npu_out_char(out, ' ');
	print_local(out, b->local);
	npu_out_char(out, '+');
	npu_out_uint(out, b->bytes);
	npu_out_char(out, ' ');
	npu_out_uint(out, b->first);
	npu_out_text(out, "..");
	npu_out_uint(out, b->end);
	print_line_end(out);
}

static void print_table(struct npu_out *out, const struct npu_table *t)
{
	enum { ENTRIES_A_LINE = 16 };
	npu_out_text(out, ".table ");
	npu_out_name(out, t->name);
	npu_out_char(out, ' ');
	print_dram(out, t->addr);
	if (t->sequence) {
		npu_out_text(out, " sequence=");
		npu_out_uint(out, t->sequence);
	}
	npu_out_text(out, " = [");
	for (uint32_t i = 0; i < t->count; i++) {
		npu_out_text(out, i == 0 ? "" : i % ENTRIES_A_LINE ? ", " : ",\n\t");
		npu_out_uint(out, t->entries[i]);
	}
	npu_out_text(out, "]\n");
}

/* "name[i]" for array member i of a semaphore whose name is plain; the length of "name", or 0. */
static size_t array_stem(const char *name, uint32_t i)
{
	char index[16];
	const char *bracket = strchr(name, '[');
	snprintf(index, sizeof index, "[%u]", i);
	return bracket && strcmp(bracket, index) == 0 && npu_syntax_is_plain_name(name) ? (size_t)(bracket - name) : 0;
}

/* How many semaphores from `first` on are members 0, 1, 2, ... of one array, declared alike; 0: none. */
static uint32_t array_length(const struct npu_program *program, uint32_t first)
{
	const struct npu_sem *a = &program->sems[first];
	size_t stem = array_stem(a->name, 0);
	uint32_t n = stem > 0;
	for (; n && first + n < program->nsems; n++) {
		const struct npu_sem *b = &program->sems[first + n];
		if (array_stem(b->name, n) != stem || strncmp(a->name, b->name, stem) != 0 ||
		    a->initial != b->initial || a->max != b->max)
			break;
	}
	return n;
}

static void print_sems(struct npu_out *out, const struct npu_program *program)
{
	for (uint32_t i = 0; i < program->nsems;) {
		const struct npu_sem *sem = &program->sems[i];
		uint32_t members = array_length(program, i);
		npu_out_text(out, ".sem ");
		if (members) {
			npu_out_bytes(out, sem->name, array_stem(sem->name, 0));
			npu_out_char(out, '[');
			npu_out_uint(out, members);
			npu_out_char(out, ']');
		} else {
			print_whole_name(out, sem->name);
		}
		if (sem->initial) {
			npu_out_char(out, '=');
			npu_out_uint(out, sem->initial);
		}
		if (sem->max != NPU_SEM_MAX_COUNT) {
			npu_out_text(out, " max=");
			npu_out_uint(out, sem->max);
		}
		print_line_end(out);
		i += members ? members : 1;
	}
}

static void print_declarations(struct npu_out *out, const struct npu_program *program)
{
	npu_out_text(out, ".program ");
	npu_out_quoted(out, program->name);
	npu_out_text(out, "\n; touches ");
	npu_out_text(out, npu_bytes_text(program->needs.sram_bytes).text);
	npu_out_text(out, " of SRAM, ");
	npu_out_text(out, npu_bytes_text(program->needs.accum_bytes).text);
	npu_out_text(out, " of accumulators, ");
	npu_out_text(out, npu_bytes_text(program->needs.dram_bytes).text);
	npu_out_text(out, " of DRAM\n");
	for (uint32_t i = 0; i < program->ntensors; i++)
		print_tensor(out, &program->tensors[i]);
	for (uint32_t i = 0; i < program->nbuffers; i++)
		print_buffer(out, &program->buffers[i]);
	for (uint32_t i = 0; i < program->ntables; i++)
		print_table(out, &program->tables[i]);
	print_sems(out, program);
}

/* Where the printing stands among regions and source places. */
struct cursor {
	const struct npu_program *program;
	struct npu_out *out;
	uint32_t top; /* innermost open region */
	uint32_t depth;
	uint32_t opened; /* regions opened so far; their numbers follow the order */
	struct npu_place place; /* of the last .loc */
	bool placed;            /* there was one */
	uint32_t next_page;     /* record */
};

static void indent(const struct cursor *c)
{
	npu_out_blanks(c->out, 2 * (uint64_t)(c->depth < 16 ? c->depth : 16));
}

static void open_next(struct cursor *c)
{
	char text[2 * NPU_MAX_NAME + 1];
	size_t used = 0;
	/* a single brace would open an expression */
	for (const char *name = c->program->regions[c->opened].name; *name && used + 2 < sizeof text; name++) {
		text[used++] = *name;
		if (*name == '{' || *name == '}')
			text[used++] = *name;
	}
	text[used] = '\0';
	indent(c);
	npu_out_text(c->out, ".region ");
	npu_out_quoted(c->out, text);
	print_line_end(c->out);
	c->top = c->opened++;
	c->depth++;
}

/* Regions without instructions open at the last moment, before their parent closes. */
static void close_to(struct cursor *c, uint32_t region)
{
	const struct npu_region *regions = c->program->regions;
	while (c->top != region && c->top != NPU_NO_REGION) {
		if (c->opened < c->program->nregions && regions[c->opened].parent == c->top) {
			open_next(c);
			continue;
		}
		c->depth--;
		indent(c);
		npu_out_text(c->out, ".endregion\n");
		c->top = regions[c->top].parent;
	}
}

/* Leaves exactly this region and its parents open. */
static void move_to(struct cursor *c, uint32_t region)
{
	while (region != NPU_NO_REGION && c->opened <= region) {
		close_to(c, c->program->regions[c->opened].parent);
		open_next(c);
	}
	close_to(c, region);
}

static const char *file_of(const struct cursor *c, const struct npu_place *place)
{
	return place->file < c->program->nfiles ? c->program->files[place->file] : "";
}

/* Innermost first. */
static void print_calls(struct cursor *c, uint32_t call)
{
	while (call) {
		const struct npu_call *use = &c->program->calls[call - 1];
		npu_out_text(c->out, " within ");
		npu_out_quoted(c->out, use->name);
		npu_out_char(c->out, ' ');
		npu_out_quoted(c->out, file_of(c, &use->at));
		npu_out_char(c->out, ' ');
		npu_out_uint(c->out, use->at.line);
		call = use->at.call;
	}
}

static void print_place(struct cursor *c, const struct npu_place *place)
{
	bool same_file = c->placed && strcmp(file_of(c, &c->place), file_of(c, place)) == 0;
	if (same_file && c->place.line == place->line && c->place.call == place->call)
		return;
	indent(c);
	npu_out_text(c->out, ".loc ");
	if (!same_file) {
		npu_out_quoted(c->out, file_of(c, place));
		npu_out_char(c->out, ' ');
	}
	npu_out_uint(c->out, place->line);
	print_calls(c, place->call);
	print_line_end(c->out);
	c->place = *place;
	c->placed = true;
}

static struct npu_place page_place_of(const struct npu_program *p, uint32_t record)
{
	return p->page_place ? p->page_place[record] : (struct npu_place){ p->nfiles, 0, 0 };
}

static bool same_place(const struct npu_program *p, uint32_t a, uint32_t b)
{
	struct npu_place x = page_place_of(p, a), y = page_place_of(p, b);
	return x.file == y.file && x.line == y.line && x.call == y.call;
}

static bool continues(const struct npu_page_event *a, const struct npu_page_event *b)
{
	return b->insn == a->insn && b->pool == a->pool && b->state == a->state && b->sequence == a->sequence &&
	       a->page < UINT32_MAX && b->page == a->page + 1;
}

/* The page records that come before instruction `insn`; neighbours that say the same share a line. */
static void print_pages(struct cursor *c, uint32_t insn)
{
	static const char *const states[] = { "free", "owned", "shared" };
	const struct npu_program *p = c->program;
	while (c->next_page < p->npages && p->pages[c->next_page].insn == insn) {
		struct npu_place place = page_place_of(p, c->next_page);
		const struct npu_page_event *first = &p->pages[c->next_page++], *last = first;
		for (; c->next_page < p->npages && continues(last, &p->pages[c->next_page]) &&
		       same_place(p, c->next_page - 1, c->next_page);
		     c->next_page++)
			last = &p->pages[c->next_page];
		print_place(c, &place);
		indent(c);
		npu_out_text(c->out, ".page ");
		print_whole_name(c->out, p->tensors[first->pool].name);
		npu_out_char(c->out, ' ');
		npu_out_uint(c->out, first->page);
		npu_out_text(c->out, "..");
		npu_out_uint(c->out, (uint64_t)last->page + 1);
		npu_out_char(c->out, ' ');
		npu_out_text(c->out, states[first->state]);
		if (first->state == NPU_PAGE_OWNED) {
			npu_out_char(c->out, ' ');
			npu_out_uint(c->out, first->sequence);
		}
		print_line_end(c->out);
	}
}

char *npu_disasm_text(const struct npu_program *program)
{
	struct npu_out out = { .grows = true };
	struct npu_names names;
	struct cursor cursor = { .program = program, .out = &out, .top = NPU_NO_REGION };
	out.failed = !npu_names_init(&names, program);
	print_declarations(&out, program);
	for (uint32_t i = 0; i < program->ninsns && !out.failed; i++) {
		npu_names_seek(&names, i);
		move_to(&cursor, program->region[i]);
		print_pages(&cursor, i);
		print_place(&cursor, &program->place[i]);
		indent(&cursor);
		print_insn(&out, program, i);
		print_comment(&out, &names, &program->insns[i]);
		print_line_end(&out);
	}
	print_pages(&cursor, program->ninsns);
	if (cursor.opened < program->nregions)
		move_to(&cursor, program->nregions - 1);
	close_to(&cursor, NPU_NO_REGION);
	npu_names_fini(&names);
	return npu_out_finish(&out);
}
