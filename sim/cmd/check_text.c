/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as text: what and where, the source lines with carets, notes, a summary. Names of the program are fit to be
 * shown already (work_program()), lines of its source are not. */
#include "sim/cmd/check_output.h"

#include "isa/plain.h"
#include "isa/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct npu_program *program_of(const struct check_result *r)
{
	return r->work->program;
}

static bool same_line(const struct npu_program *p, uint32_t a, uint32_t b)
{
	return p->place[a].line && p->place[a].file == p->place[b].file && p->place[a].line == p->place[b].line;
}

/* "qk.npu:17:5: ", as far as that is known. */
static void print_place(const struct check_result *r, const struct npu_finding *f, FILE *out)
{
	struct check_place place = check_place_of(r, f);
	fprintf(out, "%s:", place.line ? place.file : r->work->subject);
	if (place.line)
		fprintf(out, "%" PRIu32 ":", place.line);
	if (place.column)
		fprintf(out, "%u:", place.column);
	fputc(' ', out);
}

/* A line of source as it may be shown. Tabs stay tabs, so that what stands below lines up on any terminal. */
static void print_source(const char *line, int length, FILE *out)
{
	for (const char *at = line, *end = line + length; at < end;) {
		char shown[NPU_PLAIN_CHAR];
		if (*at == '\t')
			fputc(*at++, out);
		else
			fwrite(shown, 1, npu_plain_char(&at, end, shown, NULL), out);
	}
}

/* As wide as the source before `column` is shown. */
static void print_padding(const char *line, int length, unsigned column, FILE *out)
{
	const char *at = line, *end = line + (column - 1 < (unsigned)length ? (int)column - 1 : length);
	while (at < end) {
		char shown[NPU_PLAIN_CHAR];
		unsigned columns = 1;
		bool tab = *at == '\t';
		if (tab)
			at++;
		else
			npu_plain_char(&at, end, shown, &columns);
		fprintf(out, "%*s", (int)columns, tab ? "\t" : "");
	}
}

static void print_regions(const struct npu_program *p, uint32_t insn, FILE *out)
{
	uint32_t region = p->region[insn];
	if (region != NPU_NO_REGION)
		fprintf(out, ", region \"%s\"", p->regions[region].name);
}

static void print_caret(const struct check_result *r, const struct npu_finding *f, const struct npu_check_site *site,
			const char *line, int length, FILE *out)
{
	const struct npu_program *p = program_of(r);
	unsigned column, width;
	char loops[256];
	source_caret(p, site, f->sem, line, length, &column, &width);
	fprintf(out, "%8s| ", "");
	print_padding(line, length, column, out);
	fputc('^', out);
	for (unsigned i = 1; i < width; i++)
		fputc('~', out);
	fprintf(out, " #%" PRIu32 " %s", site->insn, npu_op_mnemonic(p->insns[site->insn].op));
	if (r->work->macro && npu_macro_loop_values(r->work->macro, site->insn, loops, sizeof loops)[0])
		fprintf(out, ", %s", loops);
	print_regions(p, site->insn, out);
	fprintf(out, ": %s\n", site->role);
}

/* The uses of macros around a place, innermost first. */
static void print_calls(const struct npu_program *p, const struct npu_place *place, FILE *out)
{
	for (uint32_t call = place->call; call; call = p->calls[call - 1].at.call) {
		const struct npu_call *use = &p->calls[call - 1];
		fprintf(out, "%8s  in macro %s, used at %s:%" PRIu32 "\n", "", use->name, p->files[use->at.file], use->at.line);
	}
}

/* The line of a record or declaration, where it can be read. */
static void print_line(const struct check_result *r, const struct npu_finding *f, const char *what, FILE *out)
{
	struct check_place place = check_place_of(r, f);
	if (place.length < 0)
		return;
	fprintf(out, "%7" PRIu32 " | ", place.line);
	print_source(place.text, place.length, out);
	fprintf(out, "\n%8s| ", "");
	print_padding(place.text, place.length, place.column, out);
	for (unsigned i = 0; i < place.width; i++)
		fputc(i ? '~' : '^', out);
	fprintf(out, " %s\n", what);
}

static void print_record(const struct check_result *r, const struct npu_finding *f, FILE *out)
{
	print_line(r, f, "the record", out);
	print_calls(program_of(r), f->record, out);
}

/* The line that a person wrote, else the instruction itself. */
static void print_site(const struct check_result *r, const struct npu_finding *f, unsigned n, FILE *out)
{
	const struct npu_program *p = program_of(r);
	const struct npu_check_site *site = &f->site[n];
	const char *line;
	char place[64], flat[1024];
	int length = r->sources ? source_line(r->sources, site->insn, &line) : -1;
	if (n && p->place[site->insn].line && p->place[site->insn].file != p->place[f->site[0].insn].file)
		fprintf(out, "%8s--> %s\n", "", npu_insn_place(p, site->insn, flat, sizeof flat));
	if (length < 0) {
		npu_insn_print(p, site->insn, flat, sizeof flat);
		line = flat;
		length = (int)strlen(flat);
		snprintf(place, sizeof place, "#%" PRIu32, site->insn);
	} else {
		snprintf(place, sizeof place, "%" PRIu32, p->place[site->insn].line);
	}
	/* One line that both instructions come from is shown once. */
	if (!n || !same_line(p, site->insn, f->site[0].insn) || !r->sources) {
		fprintf(out, "%7s | ", place);
		print_source(line, length, out);
		fputc('\n', out);
	}
	print_caret(r, f, site, line, length, out);
	print_calls(p, &p->place[site->insn], out);
}

static void print_indented(const char *text, FILE *out)
{
	while (*text) {
		int length = (int)strcspn(text, "\n");
		if (length)
			fprintf(out, "  %.*s\n", length, text);
		text += length + (text[length] == '\n');
	}
}

static void print_count(const struct npu_finding *f, FILE *out)
{
	if (f->count < 2 || f->kind == NPU_CHECK_NEVER_WAITED)
		return;
	struct npu_text count = npu_count_text(f->count);
	if (f->kind == NPU_CHECK_RACE)
		fprintf(out, "  the same two lines race in %s pairs (--all lists them)\n", count.text);
	else
		fprintf(out, "  the same line %s times (--all lists them)\n", count.text);
}

/* Signed: a program may become slower without a wait that had spread its traffic. */
static void print_cost(const struct check_result *r, const struct npu_finding *f, FILE *out)
{
	if (f->kind != NPU_CHECK_REDUNDANT)
		return;
	uint64_t with = r->cycles, less = r->costs ? r->costs[f - r->report->findings].cycles : 0;
	const char *all = f->count > 1 ? ", all together" : "";
	struct npu_text waits = npu_number_of(f->cost, "wait"), now = npu_count_text(with);
	if (!with || !less)
		fprintf(out, "  %s%s; what they cost is not measured\n", waits.text, all);
	else if (less == with)
		fprintf(out, "  costs no cycle of %s (%s%s)\n", now.text, waits.text, all);
	else if (less < with)
		fprintf(out, "  costs %s of %s (%s%s)\n", npu_number_of(with - less, "cycle").text, now.text, waits.text, all);
	else
		fprintf(out, "  saves %s: %s without (%s%s)\n", npu_number_of(less - with, "cycle").text,
			npu_count_text(less).text, waits.text, all);
}

static void print_finding(const struct check_result *r, const struct npu_finding *f, FILE *out)
{
	print_place(r, f, out);
	fprintf(out, "%s: %s\n", npu_check_severity_name(npu_check_severity_of(f->kind)), f->text);
	if (check_is_at_record(f))
		print_record(r, f, out);
	else if (!f->nsites)
		print_line(r, f, "is declared", out);
	if (!check_is_at_declaration(f))
		for (unsigned n = 0; n < f->nsites; n++)
			print_site(r, f, n, out);
	print_indented(f->notes, out);
	print_cost(r, f, out);
	print_count(f, out);
}

static void print_number(uint64_t n, const char *one, const char *many, bool *first, FILE *out)
{
	if (!n)
		return;
	fprintf(out, "%s%s %s", *first ? "" : ", ", npu_count_text(n).text, n == 1 ? one : many);
	*first = false;
}

/* Nothing where nobody asked and nothing is there to compare with. */
static const char *values_text(const struct check_result *r)
{
	switch (r->values) {
	case CHECK_VALUES_OFF:
	case CHECK_VALUES_NO_REFERENCE:
		break;
	case CHECK_VALUES_SKIPPED:
	case CHECK_VALUES_FAILED:
		return "; values not compared: ";
	case CHECK_VALUES_COMPARED:
		return "; values compared";
	}
	return "";
}

static void print_summary(const struct check_result *r, FILE *out)
{
	const struct npu_check_report *report = r->report;
	const struct npu_program *p = program_of(r);
	uint64_t races = 0;
	bool first = true;
	for (uint32_t i = 0; i < report->nfindings; i++)
		races += report->findings[i].kind == NPU_CHECK_RACE;
	fprintf(out, "%s%s: ", report->nfindings ? "\n" : "", r->work->subject);
	print_number(races, "race", "races", &first, out);
	if (report->races > races || report->races_cut)
		fprintf(out, " (%s%s pairs)", report->races_cut ? "more than " : "",
			npu_count_text(report->races).text);
	print_number(report->errors - races, races ? "other error" : "error", races ? "other errors" : "errors", &first,
		     out);
	print_number(report->warnings, "warning", "warnings", &first, out);
	print_number(report->notes, "note", "notes", &first, out);
	if (first)
		fputs("clean", out);
	fprintf(out, "; %s, %s%s%s\n", npu_number_of(p->ninsns, "instruction").text, npu_number_of(p->nsems, "semaphore").text,
		values_text(r), r->values_why);
}

static void print_untold(const struct check_result *r, FILE *out)
{
	uint64_t untold = r->report->untold;
	if (untold)
		fprintf(out, "\n%s not shown: there are %s of the kind already\n",
			npu_number_of(untold, "more finding").text, npu_count_text(r->report->most).text);
}

void check_print_text(const struct check_result *r, FILE *out)
{
	for (uint32_t i = 0; i < r->report->nfindings; i++)
		print_finding(r, &r->report->findings[i], out);
	print_untold(r, out);
	print_summary(r, out);
}
