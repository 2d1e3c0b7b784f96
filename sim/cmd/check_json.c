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

static json_t *site_json(const struct npu_program *p, const struct npu_check_site *site)
{
	const struct npu_place *place = &p->place[site->insn];
	uint32_t region = p->region[site->insn];
	return json_pack("{s:I, s:s, s:s, s:s, s:o, s:o, s:o}", "instruction", (json_int_t)site->insn, "mnemonic",
			 npu_op_mnemonic(p->insns[site->insn].op), "operand", site->operand, "does", site->role, "file",
			 place->line ? report_json_text(p->files[place->file]) : json_null(), "line",
			 place->line ? json_integer(place->line) : json_null(), "region",
			 region != NPU_NO_REGION ? report_json_text(p->regions[region].name) : json_null());
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
	json_t *sites = json_array();
	for (unsigned i = 0; i < f->nsites; i++)
		json_array_append_new(sites, site_json(p, &f->site[i]));
	return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "kind", npu_check_id(f->kind), "severity",
			 npu_check_severity_name(npu_check_severity_of(f->kind)), "text", report_json_text(f->text), "notes",
			 lines_json(f->notes), "count", (json_int_t)f->count, "sites", sites, "range",
			 bytes_json(&f->bytes), "semaphore",
			 f->sem == NPU_CHECK_NOBODY ? json_null() : report_json_text(p->sems[f->sem].name),
			 f->kind == NPU_CHECK_REDUNDANT ? "waits" : "cost_bytes",
			 f->cost ? json_integer((json_int_t)f->cost) : json_null(), "cost_cycles", cost_json(r, f));
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
	json_t *counts = json_pack("{s:I, s:I, s:I, s:I, s:b}", "errors", (json_int_t)report->errors, "warnings",
				   (json_int_t)report->warnings, "notes", (json_int_t)report->notes, "race_pairs",
				   (json_int_t)report->races, "race_pairs_cut", report->races_cut);
	bool ok = root && json_object_set_new(root, "program", program) == 0 && json_object_update(root, counts) == 0 &&
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

/* A path as a relative or absolute URI reference: RFC 3986, 2.1. */
static json_t *uri_json(const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
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
static json_t *location_json(const struct check_result *r, const struct npu_finding *f, unsigned site)
{
	const struct npu_program *p = r->work->program;
	const struct npu_place *place = f->nsites ? &p->place[f->site[site].insn] : NULL;
	const char *line;
	unsigned column = 1, width = 1;
	if (!place || !place->line)
		return json_pack("{s:{s:{s:o}}}", "physicalLocation", "artifactLocation", "uri",
				 uri_json(r->work->subject));
	json_t *region = json_pack("{s:I}", "startLine", (json_int_t)place->line);
	int length = r->sources ? source_line(r->sources, f->site[site].insn, &line) : -1;
	if (length >= 0) {
		source_caret(p, &f->site[site], f->sem, line, length, &column, &width);
		json_object_set_new(region, "startColumn", column_json(line, length, column));
		json_object_set_new(region, "endColumn", column_json(line, length, column + width));
	}
	return json_pack("{s:{s:{s:o}, s:o}}", "physicalLocation", "artifactLocation", "uri",
			 uri_json(p->files[place->file]), "region", region);
}

static json_t *related_json(const struct check_result *r, const struct npu_finding *f)
{
	const struct npu_program *p = r->work->program;
	json_t *related = json_array();
	for (unsigned i = 1; i < f->nsites; i++) {
		char text[256];
		json_t *location = location_json(r, f, i);
		snprintf(text, sizeof text, "#%" PRIu32 " %s %s", f->site[i].insn,
			 npu_op_mnemonic(p->insns[f->site[i].insn].op), f->site[i].role);
		json_object_set_new(location, "message", json_pack("{s:s}", "text", text));
		json_array_append_new(related, location);
	}
	return related;
}

static json_t *result_json(const struct check_result *r, const struct npu_finding *f)
{
	char text[8192];
	snprintf(text, sizeof text, "%s%s%s", f->text, f->notes[0] ? "\n" : "", f->notes);
	return json_pack("{s:s, s:I, s:s, s:{s:o}, s:[o], s:o, s:I}", "ruleId", npu_check_id(f->kind), "ruleIndex",
			 (json_int_t)f->kind, "level", npu_check_severity_name(npu_check_severity_of(f->kind)),
			 "message", "text", report_json_text(text), "locations", location_json(r, f, 0), "relatedLocations",
			 related_json(r, f), "occurrenceCount", (json_int_t)f->count);
}

json_t *check_sarif(const struct check_result *r)
{
	json_t *results = json_array();
	for (uint32_t i = 0; i < r->report->nfindings; i++)
		json_array_append_new(results, result_json(r, &r->report->findings[i]));
	return json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:s, s:o}]}", "$schema",
			 "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", "tool", "driver",
			 "name", "npusim", "version", NPUSIM_VERSION, "rules", rules_json(), "columnKind",
			 "utf16CodeUnits", "results", results);
}
