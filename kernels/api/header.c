/* SPDX-License-Identifier: Apache-2.0 */
/* Writes npu.h at build time: the template with the public parts of the tree's headers, each declared there alone, and
 * with the tables of isa/ expanded. Public is what lies between "-- npu.h --" and "-- private --".
 *
 *   npu_header SOURCE_FOLDER TEMPLATE OUTPUT */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096, COLUMN = 40 };

static FILE *out;

static void die(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("npu_header: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

/* "	text      comment", the comment in one column. */
static void print_documented(const char *text, const char *unit, const char *doc)
{
	fprintf(out, "\t%-*s /* %s%s%s */\n", COLUMN, text, unit, *unit && *doc ? ": " : "", doc);
}

/* ---- tables ---- */

static void print_dtypes(void)
{
	char text[64];
#define DTYPE(NAME, name, bits, is_float, is_signed)                                                                   \
	snprintf(text, sizeof text, "NPU_%s,", #NAME);                                                                 \
	print_documented(text, "", name);
#include "isa/dtype.def"
}

static void print_enums(void)
{
	char text[64];
#define ENUM(KIND, NAME, name, value, doc)                                                                             \
	snprintf(text, sizeof text, "NPU_%s_%s = %d,", #KIND, #NAME, value);                                           \
	print_documented(text, "", doc);
#include "isa/enums.def"
}

static void print_ops(void)
{
	char text[64];
#define INSN(OP, mnemonic, opcode, f, engine, doc)                                                                     \
	snprintf(text, sizeof text, "NPU_OP_%s = 0x%02x,", #OP, opcode);                                               \
	print_documented(text, "", doc);
#include "isa/npu.def"
}

static void print_errors(void)
{
	char text[64];
#define ERROR(CODE, exit_status, doc)                                                                                  \
	snprintf(text, sizeof text, "NPU_ERR_%s,", #CODE);                                                             \
	print_documented(text, "", doc);
#include "isa/error.def"
}

static const struct table {
	const char *file;
	void (*print)(void);
} tables[] = {
	{ "isa/dtype.def", print_dtypes },
	{ "isa/enums.def", print_enums },
	{ "isa/error.def", print_errors },
	{ "isa/npu.def", print_ops },
};

static void print_operands(void)
{
	char text[64];
#define FORMAT(f, doc)                                                                                                 \
	fprintf(out, "/* %s. */\nstruct npu_%s_operands {\n", doc, #f);                                                \
	fprintf(out, "\tstruct npu_semaphore wait[NPU_SYNC_SLOTS];\n\tstruct npu_semaphore post[NPU_SYNC_SLOTS];\n");
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc)                                              \
	snprintf(text, sizeof text, "%s %s;", #ctype, #name);                                                          \
	print_documented(text, unit, doc);
#define END_FORMAT(f) fprintf(out, "};\n\n");
#include "isa/npu.def"
}

/* ---- words ---- */

struct field {
	const char *format, *name, *kind, *initial;
};

static const struct field fields[] = {
#define FORMAT(f, doc)
#define FIELD(f, ctype, name, word, lsb, width, kind, initial, unit, doc) { #f, #name, #kind, #initial },
#define END_FORMAT(f)
#include "isa/npu.def"
};

static void print_initial(const struct field *field)
{
	static const char *const named[] = { "LAYOUT", "BCAST", "ACT", "SCALE" };
	const char *prefix = strcmp(field->kind, "DTYPE") == 0 ? "NPU_" : "";
	char longer[32];
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (strcmp(field->kind, named[i]) == 0) {
			snprintf(longer, sizeof longer, "NPU_%s_", named[i]);
			prefix = longer;
		}
	fprintf(out, ".%s = %s%s, ", field->name, prefix, field->initial);
}

static void print_word(const char *mnemonic, const char *op, const char *format, const char *doc)
{
	char name[64];
	const char *last = "post";
	snprintf(name, sizeof name, "%s", mnemonic);
	for (char *c = name; *c; c++)
		*c = isalnum((unsigned char)*c) ? *c : '_';
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (strcmp(fields[i].format, format) == 0)
			last = fields[i].name;
	fprintf(out, "/* %s */\n#define npu_%s(builder, ...) \\\n\tNPU_WORD(builder, NPU_OP_%s, npu_%s_operands, %s, ", doc,
		name, op, format, last);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (strcmp(fields[i].format, format) == 0 && strcmp(fields[i].initial, "REQUIRED") != 0 &&
		    strcmp(fields[i].initial, "0") != 0)
			print_initial(&fields[i]);
	fprintf(out, "__VA_ARGS__)\n");
}

static void print_words(void)
{
#define INSN(OP, mnemonic, opcode, f, engine, doc) print_word(mnemonic, #OP, #f, doc);
#include "isa/npu.def"
}

/* ---- headers and template ---- */

static bool begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

static void print_table(const char *line, const char *header)
{
	char file[LINE_BYTES] = "";
	sscanf(line, "#include \"%[^\"]\"", file);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (strcmp(tables[i].file, file) == 0) {
			tables[i].print();
			return;
		}
	die("%s: nothing is known about %s in a public part", header, file);
}

/* An X-macro is left out: its expansion follows in place of the #include. */
static void print_line(const char *line, const char *header)
{
	static const char *const macros[] = { "#define DTYPE(", "#define ENUM(", "#define INSN(", "#define ERROR(" };
	for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
		if (begins(line, macros[i]))
			return;
	if (begins(line, "#include"))
		print_table(line, header);
	else if (begins(line, "static inline"))
		fprintf(out, "#ifndef NPU_DECLARATIONS_ONLY\n%s#endif\n", line);
	else
		fputs(line, out);
}

static void print_header(const char *folder, const char *name)
{
	char path[2 * LINE_BYTES], line[LINE_BYTES];
	bool public = false, any = false, gap = false;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *in = fopen(path, "r");
	if (!in)
		die("%s: cannot be read", path);
	while (fgets(line, sizeof line, in)) {
		if (begins(line, "/* -- npu.h -- */")) {
			public = any = true;
		} else if (begins(line, "/* -- private -- */")) {
			if (!public)
				die("%s: private twice", name);
			public = false;
			gap = true;
		} else if (public) {
			/* One empty line between public parts, whatever lies between them in the header. */
			if (gap && *line != '\n')
				fputc('\n', out);
			gap = false;
			print_line(line, name);
		}
	}
	fclose(in);
	if (!any || public)
		die("%s: no public part, or one without an end", name);
	fputc('\n', out);
}

int main(int argc, char **argv)
{
	char line[LINE_BYTES], name[LINE_BYTES];
	if (argc != 4)
		die("usage: npu_header SOURCE_FOLDER TEMPLATE OUTPUT");
	FILE *in = fopen(argv[2], "r");
	out = fopen(argv[3], "w");
	if (!in || !out)
		die("%s cannot be read, or %s not written", argv[2], argv[3]);
	while (fgets(line, sizeof line, in)) {
		if (sscanf(line, "@%[^@\n]@", name) != 1)
			fputs(line, out);
		else if (strcmp(name, "operands") == 0)
			print_operands();
		else if (strcmp(name, "words") == 0)
			print_words();
		else
			print_header(argv[1], name);
	}
	fclose(in);
	if (fclose(out) != 0)
		die("%s: cannot be written", argv[3]);
	return 0;
}
