/* SPDX-License-Identifier: Apache-2.0 */
/* Writes docs/isa.md from the tables, so that the page says what the encoder does. */
#include "isa/reference.h"

#include "isa/example.h"
#include "isa/operand.h"
#include "isa/text/out.h"
#include "isa/text/syntax.h"
#include "isa/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char intro[] =
    "# The instruction set\n"
    "\n"
    "This page is generated from `isa/npu.def`; a test keeps it so. `npusim isa-reference` prints it.\n"
    "\n"
    "A program is a list of instructions. The sequencer hands each to the queue of its engine, in program order; an "
    "engine\n"
    "works through its queue in order. Nothing orders two engines but semaphores.\n"
    "\n"
    "## Encoding\n"
    "\n"
    "An instruction is 64 bytes: eight little-endian 64-bit words. Bits that no field claims are zero.\n"
    "\n"
    "```\n"
    "word 0 | 63:8                       | 7:0    |\n"
    "       | operands                   | opcode |\n"
    "word 1 | 63:48 | 47:32     | 31:16  | 15:0      |\n"
    "       | count | semaphore | count  | semaphore |   waits: slot 1, slot 0\n"
    "word 2 | 63:48 | 47:32     | 31:16  | 15:0      |\n"
    "       | count | semaphore | count  | semaphore |   posts: slot 1, slot 0\n"
    "word 3 to 7: operands\n"
    "```\n"
    "\n"
    "An instruction starts when both waits find their counts, which are then taken together; it posts when it ends. A "
    "count of\n"
    "0 means that the slot is not used: it is all zero then, and slot 0 is used before slot 1.\n"
    "\n"
    "A **local address** names on-chip memory: bit 31 set is a byte of the accumulators, clear a byte of the SRAM. "
    "Strides are\n"
    "bytes between rows; with a blocked layout between rows of blocks. A stride of 0 means dense. Blocks at a ragged "
    "edge are\n"
    "stored whole: whoever writes a blocked matrix writes zeros into their padding.\n"
    "\n"
    "## Text\n"
    "\n"
    "```\n"
    ".program \"qk\"\n"
    ".tensor K[1024, 128] fp16 in dram:0x40000       ; in, out, inout, temp; layout=, bytes=, seed=\n"
    ".buffer k[0] sram:0x10000+32768 0..216          ; alive for instructions 0 to 215\n"
    ".table  seq0 dram:0x1000 = [3, 1, 4]            ; a block table: page numbers; sequence=7 before =: of whom\n"
    ".page   K 0..4 owned 7                          ; from here on; or free, or shared: whose pages of a pool\n"
    ".sem    k_full[2], k_free[2]=1 max=7            ; two arrays of two; initial count, highest count\n"
    ".region \"q tile 0\"                              ; nest; .endregion\n"
    ".loc    \"qk.c\" 14                               ; where what follows was written; within \"tile\" \"qk.npu\" 9: by what use of a macro\n"
    "load    k[0], K+0x4000 rows=128 cols=128   wait k_free[0]   post k_full[0]:2\n"
    ".endregion\n"
    "```\n"
    "\n"
    "Addresses come first, destination first, separated by commas: `sram:0x10`, `acc:0x10`, `dram:0x10`, or a name "
    "with an\n"
    "offset. Everything else is `name=value`; what is left out has its default. Numbers are decimal or `0x`, and take "
    "`KiB`,\n"
    "`MiB`, `GiB`; floats may be `inf`, `-inf`, `nan` or `bits:0x7fc00000`. `wait` and `post` name up to two "
    "semaphores, with\n"
    "`:n` for counts above one. A name that is not a word, or a word and an index, is quoted. `;` starts a comment.\n"
    "[npu.md](npu.md) tells of the rest of the language: slices, loops, macros, buffers that are placed.\n";

static const char *kind_text(enum npu_field_kind kind)
{
	switch (kind) {
	case NPU_KIND_LOCAL:
		return "local address";
	case NPU_KIND_DRAM:
		return "DRAM address";
	case NPU_KIND_UINT:
		return "unsigned";
	case NPU_KIND_INT:
		return "signed";
	case NPU_KIND_F32:
		return "fp32";
	case NPU_KIND_FLAG:
		return "flag";
	case NPU_KIND_TABLE:
		return "table";
	case NPU_KIND_DTYPE:
		return "type";
	case NPU_KIND_LAYOUT:
		return "layout";
	case NPU_KIND_BCAST:
		return "broadcast";
	case NPU_KIND_ACT:
		return "activation";
	case NPU_KIND_SCALE:
		return "scale";
	}
	return "";
}

static void print_engines(struct npu_out *out)
{
	npu_out_text(out, "\n## Engines\n\n| engine | what it is |\n| --- | --- |\n");
#define ENGINE(NAME, text, doc) npu_out_text(out, "| " text " | " doc " |\n");
#include "isa/engine.def"
}

static void print_types(struct npu_out *out)
{
	npu_out_text(out, "\n## Types\n\n| type | number | bits |\n| --- | ---: | ---: |\n");
	for (unsigned t = 0; t < NPU_DTYPES; t++) {
		npu_out_text(out, "| ");
		npu_out_text(out, npu_dtype_name((enum npu_dtype)t));
		npu_out_text(out, " | ");
		npu_out_uint(out, t);
		npu_out_text(out, " | ");
		npu_out_uint(out, npu_dtype_bits((enum npu_dtype)t));
		npu_out_text(out, " |\n");
	}
	npu_out_text(
	    out,
	    "\nint4 and uint4 pack two to a byte, the even element in the low nibble; a row of them is whole bytes.\n");
}

static void print_named_value(struct npu_out *out, const char *kind, const char *name, unsigned value, const char *doc)
{
	npu_out_text(out, "| ");
	npu_out_text(out, kind);
	npu_out_text(out, " | ");
	npu_out_text(out, name);
	npu_out_text(out, " | ");
	npu_out_uint(out, value);
	npu_out_text(out, " | ");
	npu_out_text(out, doc);
	npu_out_text(out, " |\n");
}

static void print_named_values(struct npu_out *out)
{
	npu_out_text(out, "\n## Named values\n\n| kind | name | number | meaning |\n| --- | --- | ---: | --- |\n");
#define ENUM(KIND, NAME, text, value, doc) print_named_value(out, kind_text(NPU_KIND_##KIND), text, value, doc);
#include "isa/enums.def"
}

/* A run of bits of a word; no field: they are zero, or the opcode. */
struct cell {
	unsigned msb;
	unsigned lsb;
	const char *name;
};

/* The cells of a word, highest bits first; 0 when no field lies in it. */
static unsigned cells_of(const struct npu_format *format, unsigned word, struct cell out[64])
{
	unsigned n = 0, used = 0;
	for (int bit = 63; bit >= 0;) {
		const struct npu_field *at = NULL, *below = NULL;
		for (const struct npu_field *f = format->fields; f->name; f++) {
			if (f->word != word)
				continue;
			if (f->lsb + f->width - 1 == bit)
				at = f;
			else if (f->lsb + f->width - 1 < bit && (!below || f->lsb > below->lsb))
				below = f;
		}
		int lsb = at ? at->lsb : below ? below->lsb + below->width : 0;
		if (!at && !below && word == 0 && bit > 7)
			lsb = 8;
		bool opcode = word == 0 && bit == 7;
		out[n++] = (struct cell){ (unsigned)bit, (unsigned)lsb, at ? at->name : opcode ? "opcode" : "-" };
		used += at != NULL;
		bit = lsb - 1;
	}
	return used ? n : 0;
}

static void range_text(const struct cell *cell, char out[16])
{
	if (cell->msb == cell->lsb)
		snprintf(out, 16, "%u", cell->msb);
	else
		snprintf(out, 16, "%u:%u", cell->msb, cell->lsb);
}

static void print_padded(struct npu_out *out, const char *text, size_t width)
{
	npu_out_text(out, text);
	npu_out_blanks(out, width - strlen(text));
}

static void print_word(struct npu_out *out, const struct npu_format *format, unsigned word)
{
	struct cell cells[64];
	unsigned n = cells_of(format, word, cells);
	for (unsigned line = 0; n && line < 2; line++) {
		npu_out_text(out, line ? "       |" : "word ");
		if (!line) {
			npu_out_uint(out, word);
			npu_out_text(out, " |");
		}
		for (unsigned i = 0; i < n; i++) {
			char range[16];
			range_text(&cells[i], range);
			size_t width = strlen(range) > strlen(cells[i].name) ? strlen(range) : strlen(cells[i].name);
			npu_out_char(out, ' ');
			print_padded(out, line ? cells[i].name : range, width);
			npu_out_text(out, " |");
		}
		npu_out_char(out, '\n');
	}
}

static void print_default(struct npu_out *out, const struct npu_field *field)
{
	const char *const *names;
	uint64_t value = npu_field_initial(field);
	if (field->required) {
		npu_out_text(out, "required");
		return;
	}
	if (npu_kind_names(field->kind, &names)) {
		npu_out_text(out, names[value]);
		return;
	}
	if (field->kind == NPU_KIND_F32)
		npu_out_real(out, (uint32_t)value);
	else if (field->kind == NPU_KIND_LOCAL)
		npu_out_text(out, npu_local_text((uint32_t)value).text);
	else
		npu_out_int(out, (int64_t)value);
}

static void print_field(struct npu_out *out, const struct npu_field *field)
{
	char where[32];
	struct cell cell = { field->lsb + field->width - 1u, field->lsb, NULL };
	range_text(&cell, where);
	npu_out_text(out, "| `");
	npu_out_text(out, field->name);
	npu_out_text(out, "` | ");
	npu_out_uint(out, field->word);
	npu_out_char(out, ' ');
	npu_out_text(out, where);
	npu_out_text(out, " | ");
	npu_out_text(out, kind_text(field->kind));
	npu_out_text(out, " | ");
	print_default(out, field);
	npu_out_text(out, " | ");
	npu_out_text(out, field->unit);
	npu_out_text(out, " | ");
	npu_out_text(out, field->doc);
	npu_out_text(out, " |\n");
}

static void print_syntax(struct npu_out *out, const struct npu_op_info *info)
{
	const struct npu_field *positional[NPU_MAX_POSITIONAL];
	unsigned n = npu_syntax_positional(info, positional);
	npu_out_text(out, info->mnemonic);
	for (unsigned i = 0; i < n; i++) {
		npu_out_text(out, i ? ", " : " ");
		npu_out_text(out, positional[i]->required ? "" : "[");
		npu_out_text(out, positional[i]->name);
		npu_out_text(out, positional[i]->required ? "" : "]");
	}
}

static void print_instruction(struct npu_out *out, const struct npu_op_info *info)
{
	char opcode[8];
	snprintf(opcode, sizeof opcode, "0x%02x", (unsigned)info->op);
	npu_out_text(out, "| `");
	print_syntax(out, info);
	npu_out_text(out, "` | ");
	npu_out_text(out, opcode);
	npu_out_text(out, " | ");
	npu_out_text(out, npu_engine_name(info->engine));
	npu_out_text(out, " | ");
	npu_out_text(out, info->doc);
	npu_out_text(out, " |\n");
}

/* "   ; dst[64, 128] fp32, a[64, 128] fp32": what lies at the addresses of an instruction. */
static void print_shapes(struct npu_out *out, const struct npu_insn *insn)
{
	struct npu_operand operands[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_operands(insn, operands);
	const char *joint = "   ; ";
	for (unsigned i = 0; i < n; i++) {
		const struct npu_matrix *m = &operands[i].m;
		/* What is read and written stands there twice; more is written. */
		if (i + 1 < n && strcmp(operands[i].name, operands[i + 1].name) == 0)
			continue;
		npu_out_text(out, joint);
		npu_out_text(out, operands[i].name);
		npu_out_char(out, '[');
		npu_out_uint(out, m->rows);
		npu_out_text(out, ", ");
		npu_out_uint(out, m->cols);
		npu_out_text(out, "] ");
		npu_out_text(out, npu_dtype_name(m->dtype));
		joint = ", ";
	}
}

/* The lines of a program's text that declare what its instructions refer to. */
static void print_declarations(struct npu_out *out, const struct npu_program *program)
{
	char *text = npu_disasm_text(program);
	out->failed = out->failed || !text;
	for (const char *line = text; line && *line; line += strcspn(line, "\n") + 1)
		if (strncmp(line, ".sem", 4) == 0 || strncmp(line, ".table", 6) == 0)
			npu_out_bytes(out, line, strcspn(line, "\n") + 1);
	free(text);
}

static void print_examples(struct npu_out *out, const struct npu_format *format)
{
	char text[512];
	struct npu_error err;
	struct npu_program *program = npu_example_program(format, &err);
	npu_out_text(out, "\n```npu\n");
	out->failed = out->failed || !program;
	if (program)
		print_declarations(out, program);
	for (uint32_t i = 0; program && i < program->ninsns; i++) {
		npu_insn_print(program, i, text, sizeof text);
		npu_out_text(out, "; ");
		npu_out_text(out, npu_op_info(program->insns[i].op)->doc);
		npu_out_char(out, '\n');
		npu_out_text(out, text);
		print_shapes(out, &program->insns[i]);
		npu_out_char(out, '\n');
	}
	npu_out_text(out, "```\n");
	npu_program_free(program);
}

static void print_format(struct npu_out *out, const struct npu_format *format)
{
	npu_out_text(out, "\n### ");
	npu_out_text(out, format->name);
	npu_out_text(out, ": ");
	npu_out_text(out, format->doc);
	npu_out_text(out, "\n\n| instruction | opcode | engine | what it does |\n| --- | --- | --- | --- |\n");
	for (unsigned i = 0; i < npu_nops; i++)
		if (npu_ops[i].format == format)
			print_instruction(out, &npu_ops[i]);
	print_examples(out, format);
	if (!format->nfields)
		return;
	npu_out_text(out, "\n```\n");
	for (unsigned word = 0; word < NPU_INSN_WORDS; word++)
		print_word(out, format, word);
	npu_out_text(out, "```\n\n| field | word and bits | kind | default | unit | meaning |\n| --- | --- | --- | --- "
			  "| --- | --- |\n");
	for (const struct npu_field *field = format->fields; field->name; field++)
		print_field(out, field);
}

char *npu_isa_reference(void)
{
	struct npu_out out = { .grows = true };
	npu_out_text(&out, intro);
	print_engines(&out);
	print_types(&out);
	print_named_values(&out);
	npu_out_text(&out, "\n## Instructions by format\n\nThe examples are flat text. Above each stands what it computes, behind it "
			   "what lies at its\naddresses then.\n");
	for (unsigned i = 0; i < npu_nformats; i++)
		print_format(&out, &npu_formats[i]);
	return npu_out_finish(&out);
}
