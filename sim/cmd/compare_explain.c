/* SPDX-License-Identifier: Apache-2.0 */
/* A, run again with one setting of B at a time. */
#include "sim/cmd/compare_parts.h"

#include "isa/units.h"
#include "models/machine.h"
#include "sim/report_read.h"
#include "sim/rerun.h"
#include "sim/simulate_parts.h"

#include <stdlib.h>
#include <string.h>

enum { ALL_SETTINGS = 4096 };

/* A part brings its timing along: what differs of it is one setting. */
static bool is_of_part(const char *key) { return strncmp(key, "dram.", 5) == 0 && strcmp(key, "dram.part") != 0; }

/* "key=value" behind what there is; what stands in a report as a JSON value, as the command line takes it. */
static bool add_setting(char *settings, const char *key, const char *value)
{
	size_t used = strlen(settings);
	value = strcmp(value, "true") == 0 ? "yes" : strcmp(value, "false") == 0 ? "no" : value;
	int n = snprintf(settings + used, ALL_SETTINGS - used, "%s%s=%s", used ? " " : "", key, value);
	return n > 0 && (size_t)n < ALL_SETTINGS - used;
}

static unsigned ideal_of(const json_t *report)
{
	unsigned bits = 0;
	size_t i;
	json_t *part;
	json_array_foreach(report_value(report, "ideal"), i, part) {
		const char *name;
		for (unsigned bit = 0; (name = simulate_ideal_name(bit)); bit++)
			if (json_is_string(part) && strcmp(name, json_string_value(part)) == 0)
				bits |= 1u << bit;
	}
	return bits;
}

struct plan {
	struct rerun_job *jobs; /* the run itself, one a setting, all of them */
	char (*settings)[ALL_SETTINGS];
	unsigned n;
};

static bool plan_settings(struct plan *p, const json_t *a, const json_t *b, const json_t *settings)
{
	bool part = json_object_get(settings, "dram.part") != NULL, fits = true;
	char *all = p->settings[0];
	const char *key;
	json_t *pair;
	unsigned ideal_b = ideal_of(b), real_b = ideal_of(a) & ~ideal_b;
	p->jobs[p->n++] = (struct rerun_job){ .settings = "" };
	json_object_foreach((json_t *)settings, key, pair) {
		const char *value = json_string_value(json_array_get(pair, 1));
		char *own = p->settings[p->n];
		if (strcmp(key, "ideal") == 0) {
			p->jobs[p->n++] = (struct rerun_job){ .settings = "", .ideal = ideal_b, .real = real_b };
			continue;
		}
		if (!value || strcmp(value, "null") == 0)
			continue;
		fits = fits && add_setting(all, key, value);
		if (part && is_of_part(key))
			continue;
		fits = fits && add_setting(own, key, value);
		p->jobs[p->n++] = (struct rerun_job){ .settings = own };
		const char *other;
		json_t *others;
		if (strcmp(key, "dram.part") == 0)
			json_object_foreach((json_t *)settings, other, others) {
				const char *text = json_string_value(json_array_get(others, 1));
				if (text && strcmp(text, "null") != 0 && is_of_part(other))
					fits = fits && add_setting(own, other, text);
			}
	}
	p->jobs[p->n++] = (struct rerun_job){ .settings = all, .ideal = ideal_b, .real = real_b };
	return fits;
}

/* What a row is called: the part for all that it brings along. */
static const char *name_of(const struct plan *p, unsigned i, char out[256])
{
	const struct rerun_job *job = &p->jobs[i];
	if (i + 1 == p->n)
		return "all of them";
	if (!job->settings[0])
		return "ideal";
	const char *part = strstr(job->settings, "dram.part=");
	snprintf(out, 256, "%.*s", part ? (int)strcspn(part, " ") : 250, part ? part : job->settings);
	return out;
}

static json_t *rows_of(const struct plan *p)
{
	json_t *rows = json_array();
	json_int_t before = (json_int_t)p->jobs[0].cycles;
	char name[256];
	for (unsigned i = 1; i < p->n; i++) {
		const struct rerun_job *job = &p->jobs[i];
		json_int_t cycles = (json_int_t)job->cycles;
		json_t *row = json_pack("{s:s, s:s}", "settings", name_of(p, i, name), "why", job->ok ? "" : job->why);
		json_object_set_new(row, "cycles", job->ok ? json_integer(cycles) : json_null());
		json_object_set_new(row, "difference", job->ok ? json_integer(cycles - before) : json_null());
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *run_plan(struct plan *p, const struct rerun *r, const json_t *a, struct npu_error *err)
{
	if (!rerun_jobs(r, p->jobs, p->n, err))
		return NULL;
	if (!p->jobs[0].ok) {
		npu_fail(err, NPU_ERR_VALUE, "A cannot be run again: %s", p->jobs[0].why);
		return NULL;
	}
	if (p->jobs[0].cycles != report_count(a, "cycles")) {
		npu_fail(err, NPU_ERR_VALUE, "A takes %s cycles, but its report tells of %s: it is not of this program, machine and version",
			 npu_count_text(p->jobs[0].cycles).text, npu_count_text(report_count(a, "cycles")).text);
		return NULL;
	}
	return rows_of(p);
}

json_t *compare_explain(const struct cli *cli, const json_t *a, const json_t *b, const json_t *settings, struct npu_error *err)
{
	struct rerun r;
	json_t *rows = NULL;
	if (json_object_get(settings, "subject")) {
		npu_fail(err, NPU_ERR_VALUE, "%s and %s: settings explain what two runs of one program differ in",
			 report_text(a, "command.subject"), report_text(b, "command.subject"));
		return NULL;
	}
	if (!rerun_of_report(&r, a, cli->words[0], cli_value(cli, "program"), err))
		return NULL;
	size_t most = json_object_size(settings) + 3;
	struct plan p = { .jobs = calloc(most, sizeof *p.jobs), .settings = calloc(most, sizeof *p.settings) };
	if (!p.jobs || !p.settings)
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	else if (!plan_settings(&p, a, b, settings))
		npu_fail(err, NPU_ERR_VALUE, "more differs than a command line holds");
	else
		rows = run_plan(&p, &r, a, err);
	free(p.jobs);
	free(p.settings);
	rerun_fini(&r);
	return rows;
}

static void put_difference(struct report_table *t, json_int_t difference)
{
	char text[48];
	snprintf(text, sizeof text, "%s%s", difference < 0 ? "-" : "",
		 npu_count_text((uint64_t)(difference < 0 ? -difference : difference)).text);
	report_table_text(t, difference ? text : ".");
}

bool compare_explain_print(const json_t *rows, const json_t *a, const json_t *b, const struct report_style *style)
{
	static const char *const titles[] = { "A with", "cycles", "- A", "of B - A", NULL };
	struct report_table *t = report_table_new(titles);
	json_int_t whole = (json_int_t)report_count(b, "cycles") - (json_int_t)report_count(a, "cycles");
	size_t i;
	json_t *row;
	json_array_foreach(rows, i, row) {
		char share[32] = "";
		json_t *difference = json_object_get(row, "difference");
		if (!t)
			return false;
		report_table_row(t, report_text(row, "settings"));
		if (!json_is_integer(difference))
			continue;
		if (whole)
			snprintf(share, sizeof share, "%.1f %%", 100.0 * (double)json_integer_value(difference) / (double)whole);
		report_table_count(t, report_count(row, "cycles"));
		put_difference(t, json_integer_value(difference));
		report_table_text(t, share);
	}
	putchar('\n');
	if (!t || !report_table_print(t, stdout, style))
		return false;
	json_array_foreach(rows, i, row) {
		if (report_text(row, "why")[0])
			printf("%s alone cannot run: %s\n", report_text(row, "settings"), report_text(row, "why"));
	}
	puts("Each was run; their differences need not add up to that of all, for settings act on each other.");
	return true;
}
