/* SPDX-License-Identifier: Apache-2.0 */
/* Reports through jansson. */
#include "sim/report_read.h"

#include "isa/plain.h"
#include "sim/report_check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is wrong with a text, in words of ours. */
static const char *fault_of(const json_error_t *error)
{
	static const struct {
		enum json_error_code code;
		const char *text;
	} faults[] = {
		{ json_error_premature_end_of_input, "no JSON: it ends too early" },
		{ json_error_end_of_input_expected, "no JSON: something follows its end" },
		{ json_error_invalid_utf8, "no JSON: this is no UTF-8" },
		{ json_error_null_character, "a character 0 in a text, which no report has" },
		{ json_error_null_byte_in_key, "a character 0 in a key, which no report has" },
		{ json_error_duplicate_key, "a key that was there before" },
		{ json_error_numeric_overflow, "a number that is too large" },
		{ json_error_stack_overflow, "lists in lists too deep for a report" },
		{ json_error_out_of_memory, "out of memory" },
	};
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (faults[i].code == json_error_code(error))
			return faults[i].text;
	return "no JSON";
}

static json_t *load(const char *path, struct npu_error *err)
{
	json_error_t error;
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	if (!in) {
		npu_fail(err, NPU_ERR_IO, "%s: %s", path, strerror(errno));
		return NULL;
	}
	errno = 0;
	json_t *report = json_loadf(in, JSON_REJECT_DUPLICATES, &error);
	bool failed = ferror(in);
	if (failed)
		npu_fail(err, NPU_ERR_IO, "%s: %s", path, strerror(errno ? errno : EIO));
	else if (!report)
		npu_fail_at(err, NPU_ERR_FORMAT, path, error.line > 0 ? (uint32_t)error.line : 1,
			    error.column > 0 ? (uint32_t)error.column : 1, "%s", fault_of(&error));
	if (in != stdin)
		fclose(in);
	if (failed) {
		json_decref(report);
		return NULL;
	}
	return report;
}

/* A schema of another number is a report, but of another npusim. */
static void tell_schema(const json_t *report, const char *path, const char *known, const char *what, const char *hint, struct npu_error *err)
{
	char schema[64];
	const char *text = report_text(report, "schema");
	npu_plain(text, strlen(text), schema, sizeof(schema));
	if (schema[0])
		npu_fail(err, NPU_ERR_FORMAT, "%s: no %s: its schema is %s, and %s is known%s", path, what, schema, known, hint);
	else
		npu_fail(err, NPU_ERR_FORMAT, "%s: no %s%s", path, what, hint);
}

json_t *report_read(const char *path, struct npu_error *err)
{
	json_t *report = load(path, err);
	if (report && strcmp(report_text(report, "schema"), "npusim.report/1") != 0) {
		tell_schema(report, path, "npusim.report/1", "report of a run", "; npusim run ... --report FILE.json writes one", err);
		json_decref(report);
		return NULL;
	}
	if (report && !report_check(report, path, err)) {
		json_decref(report);
		return NULL;
	}
	return report;
}

json_t *report_read_either(const char *path, const char *one, const char *other, const char *what, struct npu_error *err)
{
	json_t *report = load(path, err);
	const char *schema = report ? report_text(report, "schema") : "";
	if (report && strcmp(schema, one) != 0 && strcmp(schema, other) != 0) {
		char known[96];
		snprintf(known, sizeof(known), "%s or %s", one, other);
		tell_schema(report, path, known, what, "", err);
		json_decref(report);
		return NULL;
	}
	if (report && strcmp(schema, "npusim.report/1") == 0 && !report_check(report, path, err)) {
		json_decref(report);
		return NULL;
	}
	return report;
}

json_t *report_value(const json_t *report, const char *path)
{
	const json_t *at = report;
	while (at && *path) {
		size_t length = strcspn(path, ".");
		at = json_object_getn(at, path, length);
		path += length + (path[length] == '.');
	}
	return (json_t *)at;
}

uint64_t report_count(const json_t *report, const char *path)
{
	const json_t *value = report_value(report, path);
	json_int_t count = json_is_integer(value) ? json_integer_value(value) : 0;
	return count > 0 ? (uint64_t)count : 0;
}

double report_real(const json_t *report, const char *path)
{
	const json_t *value = report_value(report, path);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *report_text(const json_t *report, const char *path)
{
	const char *text = json_string_value(report_value(report, path));
	return text ? text : "";
}
