/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline files: the extension chooses the format. */
#include "sim/output.h"
#include "sim/simulate_parts.h"
#include "sim/timeline/formats.h"
#include "sim/timeline/pftrace.h"

#include <string.h>
#include <unistd.h>

struct format {
	const char *extension;
	bool (*write)(const struct simulation *, FILE *, struct npu_error *);
	const char *advice;
};

static bool write_pftrace(const struct simulation *s, FILE *out, struct npu_error *err)
{
	return pftrace_write(s, out, false, err);
}

static bool write_pftrace_gz(const struct simulation *s, FILE *out, struct npu_error *err)
{
	return pftrace_write(s, out, true, err);
}

static const struct format formats[] = {
	{ ".pftrace", write_pftrace, "open it at ui.perfetto.dev (1 ns shown = 1 cycle)" },
	{ ".pftrace.gz", write_pftrace_gz, "open it at ui.perfetto.dev (1 ns shown = 1 cycle)" },
	{ ".json", timeline_write_chrome, "open it at ui.perfetto.dev, in chrome://tracing or MindStudio Insight" },
	{ ".csv", timeline_write_csv, "a row an instruction" },
	{ ".vcd", timeline_write_vcd, "open it in GTKWave (1 ns shown = 1 cycle)" },
};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* Stdout has no extension: it gets the first format. */
static const struct format *format_of(const char *path)
{
	uint64_t length = strlen(path);
	if (strcmp(path, "-") == 0)
		return &formats[0];
	for (unsigned i = 0; i < FORMATS; i++) {
		uint64_t n = strlen(formats[i].extension);
		if (length > n && strcmp(path + length - n, formats[i].extension) == 0)
			return &formats[i];
	}
	return NULL;
}

bool timeline_check(const char *path, struct npu_error *err)
{
	char list[128] = "";
	if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
		return npu_fail(err, NPU_ERR_USAGE,
				"--timeline -: a timeline would garble the terminal; --timeline FILE.pftrace writes it");
	if (format_of(path))
		return true;
	for (unsigned i = 0; i < FORMATS; i++) {
		uint64_t n = strlen(list);
		snprintf(list + n, sizeof(list) - n, "%s%s", i > 0 ? ", " : "", formats[i].extension);
	}
	return npu_fail(err, NPU_ERR_VALUE, "--timeline %s: the name must end in one of %s, or be - for stdout", path, list);
}

bool timeline_write(const struct simulation *s, const char *path, struct npu_error *err)
{
	if (!timeline_check(path, err))
		return false;
	if (!s->record.keep)
		return npu_fail(err, NPU_ERR_VALUE, "%s: the run was not recorded", path);
	struct output *out = output_open(path, err);
	if (!out)
		return false;
	if (!format_of(path)->write(s, output_stream(out), err)) {
		output_abort(out);
		return false;
	}
	return output_commit(out, err);
}

const char *timeline_advice(const char *path)
{
	const struct format *format = format_of(path);
	return format ? format->advice : "";
}
