/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline files: the extension chooses the format. */
#include "isa/plain.h"
#include "sim/output.h"
#include "sim/simulate_parts.h"
#include "sim/timeline/formats.h"
#include "sim/timeline/lanes.h"
#include "sim/timeline/page.h"
#include "sim/timeline/pftrace.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
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
	{ ".html", timeline_write_page, "open it in a browser" },
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

/* Digits alone; the value of "" is `none`. */
static bool parse_cycle(const char *text, size_t length, uint64_t none, uint64_t *cycle)
{
	*cycle = length > 0 ? 0 : none;
	for (size_t i = 0; i < length; i++) {
		unsigned digit = (unsigned)(text[i] - '0');
		if (digit > 9 || *cycle > (UINT64_MAX - digit) / 10)
			return false;
		*cycle = *cycle * 10 + digit;
	}
	return true;
}

bool timeline_window_parse(const char *text, struct timeline_window *window, struct npu_error *err)
{
	size_t first = strcspn(text, ":"), length = strlen(text);
	struct timeline_window w;
	if (length < 2 || first == length || !parse_cycle(text, first, 0, &w.from) ||
	    !parse_cycle(text + first + 1, length - first - 1, UINT64_MAX, &w.to))
		return npu_fail(err, NPU_ERR_USAGE,
				"--timeline-window %.60s: two cycles with a colon between would be right, 1000:2000, or one of them: 1000: or :2000",
				text);
	if (w.to <= w.from)
		return npu_fail(err, NPU_ERR_USAGE, "--timeline-window %.60s: holds no cycle; the second must be above the first",
				text);
	*window = w;
	return true;
}

bool timeline_write(const struct simulation *s, const char *path, struct npu_error *err)
{
	if (!timeline_check(path, err))
		return false;
	if (!s->record.keep)
		return npu_fail(err, NPU_ERR_VALUE, "%s: the run was not recorded", path);
	if (s->request.window.to > 0 && s->request.window.from >= s->account.cycles)
		return npu_fail(err, NPU_ERR_USAGE,
				"%s: the timeline's window begins at cycle %" PRIu64 ", and the run has %" PRIu64 " cycles", path,
				s->request.window.from, s->account.cycles);
	struct output *out = output_open(path, err);
	if (!out)
		return false;
	return output_end(out, format_of(path)->write(s, output_stream(out), err), err);
}

/* Viewers of all formats read a file whole, into several times its size. */
enum { LARGE_BYTES = 200000000, MEGABYTE = 1000000 };

void timeline_warn(const char *path, const char *advice, FILE *out)
{
	struct stat st;
	char shown[2048];
	npu_plain(path, strlen(path), shown, sizeof(shown));
	if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > LARGE_BYTES)
		fprintf(out, "npusim: %s: warning: %" PRIu64 " MB take a viewer long to open%s\n", shown,
			(uint64_t)st.st_size / MEGABYTE, advice);
}

void timeline_tell(const struct simulation *s, const char *path, FILE *out)
{
	const struct format *format = format_of(path);
	struct timeline_window window = timeline_window(s);
	struct timeline_dropped dropped;
	char shown[2048];
	npu_plain(path, strlen(path), shown, sizeof(shown));
	if (s->request.window.to > 0 && timeline_dropped(s, &dropped)) {
		fprintf(out, "npusim: %s: cycles %" PRIu64 ":%" PRIu64 " of %" PRIu64 "; ", shown, window.from, window.to,
			s->account.cycles);
		if (format && format->write == timeline_write_csv)
			fprintf(out, "%" PRIu64 " of %" PRIu32 " instructions are left out\n", dropped.insns,
				s->request.program->ninsns);
		else
			fprintf(out, "%" PRIu64 " slices and %" PRIu64 " values of curves are left out, %" PRIu64 " slices are cut\n",
				dropped.slices, dropped.values, dropped.cut);
	}
	timeline_warn(path, "; --timeline-window A:B writes a part", out);
}

const char *timeline_advice(const char *path)
{
	const struct format *format = format_of(path);
	return format ? format->advice : "";
}
