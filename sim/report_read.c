/* SPDX-License-Identifier: Apache-2.0 */
/* Reports through jansson. */
#include "sim/report_read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *load(const char *path, struct npu_error *err)
{
	json_error_t error;
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	if (!in) {
		npu_fail(err, NPU_ERR_IO, "%s: %s", path, strerror(errno));
		return NULL;
	}
	errno = 0;
	json_t *report = json_loadf(in, 0, &error);
	bool failed = ferror(in);
	if (failed)
		npu_fail(err, NPU_ERR_IO, "%s: %s", path, strerror(errno ? errno : EIO));
	else if (!report)
		npu_fail_at(err, NPU_ERR_FORMAT, path, error.line > 0 ? (uint32_t)error.line : 1,
			    error.column > 0 ? (uint32_t)error.column : 1, "no JSON: %s", error.text);
	if (in != stdin)
		fclose(in);
	if (failed) {
		json_decref(report);
		return NULL;
	}
	return report;
}

json_t *report_read(const char *path, struct npu_error *err)
{
	json_t *report = load(path, err);
	if (report && strcmp(report_text(report, "schema"), "npusim.report/1") != 0) {
		npu_fail(err, NPU_ERR_FORMAT, "%s: no report of a run; npusim run ... --report FILE.json writes one", path);
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
		npu_fail(err, NPU_ERR_FORMAT, "%s: no %s", path, what);
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
