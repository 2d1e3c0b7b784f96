/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as JSON (npusim.check/1) and as SARIF 2.1.0, which code hosts show beside the source. */
#include "sim/cmd/check_output.h"

#include "sim/cmd/report_file.h"
#include "sim/report_json.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static json_t *lines_json(const char *text)
{
	json_t *lines = json_array();
	while (*text) {
		size_t length = strcspn(text, "\n");
		char line[2048];
		snprintf(line, sizeof line, "%.*s", (int)length, text);
		if (length)
			json_array_append_new(lines, report_json_text(line));
		text += length + (text[length] == '\n');
	}
	return lines;
}

/* ---- npusim.check/1 ---- */

static json_t *number_or_null(uint64_t number)
{
	return number ? json_integer((json_int_t)number) : json_null();
}

static json_t *text_or_null(const char *text)
{
	return text && text[0] ? report_json_text(text) : json_null();
}

/* "i=0 j=2" as an object; names and numbers come from the assembler. */
static json_t *loops_json(const struct check_result *r, uint32_t insn)
{
	char text[256];
	json_t *loops = json_object();
	if (!r->work->macro)
		return loops;
	npu_macro_loop_values(r->work->macro, insn, text, sizeof text);
	for (char *save = NULL, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');
		if (!value)
			continue;
		*value++ = '\0';
		json_object_set_new(loops, word, json_integer(strtoll(value, NULL, 10)));
	}
	return loops;
}

/* The uses of macros around a place, innermost first. */
static json_t *macros_json(const struct npu_program *p, const struct npu_place *place)
{
	json_t *macros = json_array();
	for (uint32_t call = place ? place->call : 0; call; call = p->calls[call - 1].at.call) {
		const struct npu_call *use = &p->calls[call - 1];
		json_array_append_new(macros, json_pack("{s:o, s:o, s:o}", "name", report_json_text(use->name), "file",
							text_or_null(p->files[use->at.file]), "line", number_or_null(use->at.line)));
	}
	return macros;
}

static json_t *site_json(const struct check_result *r, const struct npu_finding *f, unsigned n)
{
	const struct npu_program *p = r->work->program;
	const struct npu_check_site *site = &f->site[n];
	struct check_place place = check_place_of_site(r, f, n);
	uint32_t region = p->region[site->insn];
	return json_pack("{s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "instruction", (json_int_t)site->insn, "mnemonic",
			 npu_op_mnemonic(p->insns[site->insn].op), "operand", site->operand, "does", site->role, "file",
			 text_or_null(place.file), "line", number_or_null(place.line), "column", number_or_null(place.column),
			 "loops", loops_json(r, site->insn), "macros", macros_json(p, &p->place[site->insn]), "region",
			 text_or_null(region != NPU_NO_REGION ? p->regions[region].name : NULL));
}

static json_t *bytes_json(const struct npu_check_bytes *b)
{
	static const char *const spaces[] = {
		[NPU_SPACE_SRAM] = "sram", [NPU_SPACE_ACCUM] = "accumulators", [NPU_SPACE_DRAM] = "dram"
	};
	if (!b->bytes)
		return json_null();
	return json_pack("{s:s, s:I, s:I, s:I, s:o}", "memory", spaces[b->space], "first", (json_int_t)b->first, "last",
			 (json_int_t)b->last, "bytes", (json_int_t)b->bytes, "name",
			 b->name[0] ? report_json_text(b->name) : json_null());
}

/* Cycles that a redundant wait costs; negative when it saves some. */
static json_t *cost_json(const struct check_result *r, const struct npu_finding *f)
{
	uint64_t less = r->costs ? r->costs[f - r->report->findings].cycles : 0;
	bool measured = f->kind == NPU_CHECK_REDUNDANT && r->cycles && less;
	return measured ? json_integer((json_int_t)r->cycles - (json_int_t)less) : json_null();
}

static json_t *finding_json(const struct check_result *r, const struct npu_finding *f)
{
	const struct npu_program *p = r->work->program;
	struct check_place place = check_place_of(r, f);
	json_t *sites = json_array();
	for (unsigned i = 0; i < f->nsites; i++)
		json_array_append_new(sites, site_json(r, f, i));
	const struct npu_place *at = check_is_at_record(f) ? f->record : f->nsites && !check_is_at_declaration(f) ? &p->place[f->site[0].insn] : NULL;
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kind", npu_check_id(f->kind),
			 "severity", npu_check_severity_name(npu_check_severity_of(f->kind)), "file", text_or_null(place.file),
			 "line", number_or_null(place.line), "column", number_or_null(place.column), "text",
			 report_json_text(f->text), "notes", lines_json(f->notes), "count", (json_int_t)f->count, "macros",
			 macros_json(p, at), "sites", sites, "range",
			 bytes_json(&f->bytes), "semaphore",
			 f->sem == NPU_CHECK_NOBODY ? json_null() : report_json_text(p->sems[f->sem].name),
			 "waits", number_or_null(f->kind == NPU_CHECK_REDUNDANT ? f->cost : 0), "cost_bytes",
			 number_or_null(f->kind == NPU_CHECK_REDUNDANT ? 0 : f->cost), "cost_cycles", cost_json(r, f));
}

json_t *check_json(const struct check_result *r)
{
	const struct npu_program *p = r->work->program;
	const struct npu_check_report *report = r->report;
	char hash[32];
	snprintf(hash, sizeof hash, "%016" PRIx64, p->hash);
	json_t *root = report_begin("npusim.check/1", "check", r->work->subject), *findings = json_array();
	if (root)
		json_object_set_new(json_object_get(root, "command"), "params",
				    report_json_args(r->work->kernel, r->work->kernel ? &r->work->args : NULL, r->work->macro));
	for (uint32_t i = 0; i < report->nfindings; i++)
		json_array_append_new(findings, finding_json(r, &report->findings[i]));
	json_t *program = json_pack("{s:o, s:s, s:I, s:I}", "name", report_json_text(p->name), "hash", hash, "instructions",
				    (json_int_t)p->ninsns, "semaphores", (json_int_t)p->nsems);
	json_t *counts = json_pack("{s:I, s:I, s:I, s:I, s:b, s:I}", "errors", (json_int_t)report->errors, "warnings",
				   (json_int_t)report->warnings, "notes", (json_int_t)report->notes, "race_pairs",
				   (json_int_t)report->races, "race_pairs_cut", report->races_cut, "untold", (json_int_t)report->untold);
	bool ok = root && json_object_set_new(root, "program", program) == 0 && json_object_update(root, counts) == 0 &&
		  json_object_set_new(root, "values", json_string(check_values_name(r->values))) == 0 &&
		  json_object_set_new(root, "values_why", text_or_null(r->values_why)) == 0 &&
		  json_object_set_new(root, "findings", findings) == 0;
	json_decref(counts);
	if (ok)
		return root;
	json_decref(root);
	return NULL;
}

/* ---- SARIF ---- */

static json_t *rules_json(void)
{
	static const char *const levels[] = {
		[NPU_CHECK_NOTE] = "note", [NPU_CHECK_WARNING] = "warning", [NPU_CHECK_ERROR] = "error"
	};
	json_t *rules = json_array();
	for (unsigned k = 0; k < NPU_CHECK_KINDS; k++)
		json_array_append_new(rules,
				      json_pack("{s:s, s:{s:s}, s:{s:s}}", "id", npu_check_id(k), "shortDescription",
						"text", npu_check_doc(k), "defaultConfiguration", "level",
						levels[npu_check_severity_of(k)]));
	return rules;
}

/* A path as a URI reference: a relative one stays relative, an absolute one is a file on this machine (RFC 3986, 2.1;
 * RFC 8089, 2). */
static json_t *uri_json(const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	if (*path == '/')
		fputs("file://", out);
	for (; *path; path++)
		if ((unsigned char)*path < 0x80 && (isalnum(*path) || strchr("-._~/", *path)))
			fputc(*path, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*path);
	json_t *uri = fclose(out) == 0 ? json_string(text) : NULL;
	free(text);
	return uri;
}

/* Columns of SARIF count UTF-16 units; ours count bytes. */
static json_t *column_json(const char *line, int length, unsigned column)
{
	json_int_t units = 1;
	for (unsigned i = 0; i + 1 < column; i++) {
		unsigned char c = (int)i < length ? (unsigned char)line[i] : 'x';
		units += (c & 0xc0) == 0x80 ? 0 : c >= 0xf0 ? 2 : 1;
	}
	return json_integer(units);
}

/* Lines start at 1; what has no line is located in the program as a whole. */
static json_t *location_json(const struct check_result *r, const struct check_place *place)
{
	if (!place->line)
		return json_pack("{s:{s:{s:o}}}", "physicalLocation", "artifactLocation", "uri",
				 uri_json(r->work->subject));
	json_t *region = json_pack("{s:I}", "startLine", (json_int_t)place->line);
	if (place->column) {
		json_object_set_new(region, "startColumn", column_json(place->text, place->length, place->column));
		json_object_set_new(region, "endColumn",
				    column_json(place->text, place->length, place->column + place->width));
	}
	return json_pack("{s:{s:{s:o}, s:o}}", "physicalLocation", "artifactLocation", "uri", uri_json(place->file),
			 "region", region);
}

/* "#2 matmul, i=0 j=2, region "tile 0": reads, in macro tile used at qk.npu:22" */
static json_t *site_text_json(const struct check_result *r, const struct npu_check_site *site)
{
	const struct npu_program *p = r->work->program;
	char loops[256] = "", text[2048];
	if (r->work->macro)
		npu_macro_loop_values(r->work->macro, site->insn, loops, sizeof loops);
	uint32_t region = p->region[site->insn];
	const char *name = region != NPU_NO_REGION ? p->regions[region].name : "";
	size_t used = (size_t)snprintf(text, sizeof text, "#%" PRIu32 " %s%s%s%s%s%s: %s", site->insn,
				       npu_op_mnemonic(p->insns[site->insn].op), loops[0] ? ", " : "", loops,
				       name[0] ? ", region \"" : "", name, name[0] ? "\"" : "", site->role);
	for (uint32_t call = p->place[site->insn].call; call && used < sizeof text; call = p->calls[call - 1].at.call) {
		const struct npu_call *use = &p->calls[call - 1];
		used += (size_t)snprintf(text + used, sizeof text - used, ", in macro %s used at %s:%" PRIu32, use->name,
					 p->files[use->at.file], use->at.line);
	}
	return report_json_text(text);
}

/* All sites: the first one too, for its loops and for what it does. */
static json_t *related_json(const struct check_result *r, const struct npu_finding *f)
{
	json_t *related = json_array();
	for (unsigned i = 0; i < f->nsites; i++) {
		struct check_place place = check_place_of_site(r, f, i);
		json_t *location = location_json(r, &place);
		json_object_set_new(location, "message", json_pack("{s:o}", "text", site_text_json(r, &f->site[i])));
		json_array_append_new(related, location);
	}
	return related;
}

/* Lines of text with real breaks between them; what stands in each may be shown. */
static json_t *message_json(const struct npu_finding *f)
{
	json_t *lines = lines_json(f->notes), *line, *message = NULL;
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);
	json_array_insert_new(lines, 0, report_json_text(f->text));
	if (out) {
		json_array_foreach(lines, i, line)
			fprintf(out, "%s%s", i ? "\n" : "", json_string_value(line) ? json_string_value(line) : "");
		message = fclose(out) == 0 ? json_string(text) : NULL;
		free(text);
	}
	json_decref(lines);
	return message;
}

static json_t *result_json(const struct check_result *r, const struct npu_finding *f)
{
	struct check_place place = check_place_of(r, f);
	return json_pack("{s:s, s:I, s:s, s:{s:o}, s:[o], s:o, s:I, s:{s:o, s:o, s:o, s:o}}", "ruleId", npu_check_id(f->kind), "ruleIndex",
			 (json_int_t)f->kind, "level", npu_check_severity_name(npu_check_severity_of(f->kind)),
			 "message", "text", message_json(f), "locations", location_json(r, &place), "relatedLocations",
			 related_json(r, f), "occurrenceCount", (json_int_t)f->count, "properties", "range",
			 bytes_json(&f->bytes), "waits", number_or_null(f->kind == NPU_CHECK_REDUNDANT ? f->cost : 0),
			 "cost_bytes", number_or_null(f->kind == NPU_CHECK_REDUNDANT ? 0 : f->cost), "cost_cycles",
			 cost_json(r, f));
}

json_t *check_sarif(const struct check_result *r)
{
	json_t *results = json_array();
	for (uint32_t i = 0; i < r->report->nfindings; i++)
		json_array_append_new(results, result_json(r, &r->report->findings[i]));
	return json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:s, s:o, s:{s:I, s:s, s:o}}]}", "$schema",
			 "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", "tool", "driver",
			 "name", "npusim", "version", NPUSIM_VERSION, "rules", rules_json(), "columnKind",
			 "utf16CodeUnits", "results", results, "properties", "untold",
			 (json_int_t)r->report->untold, "values", check_values_name(r->values), "values_why", text_or_null(r->values_why));
}
