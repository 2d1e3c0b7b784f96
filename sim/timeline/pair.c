/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines of two runs: the extension chooses the format. */
#include "sim/timeline/pair.h"

#include "sim/output.h"
#include "sim/timeline/page.h"
#include "sim/timeline/pftrace.h"

#include <string.h>

static bool write_plain(const struct timeline_pair *pair, FILE *out, struct npu_error *err)
{
	return pftrace_write_pair(pair, out, false, err);
}

static bool write_gzip(const struct timeline_pair *pair, FILE *out, struct npu_error *err)
{
	return pftrace_write_pair(pair, out, true, err);
}

static const struct {
	const char *extension;
	bool (*write)(const struct timeline_pair *, FILE *, struct npu_error *);
} formats[] = {
	{ ".html", timeline_write_page_pair },
	{ ".pftrace", write_plain },
	{ ".pftrace.gz", write_gzip },
};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* FORMATS: none. */
static unsigned format_of(const char *path)
{
	size_t length = strlen(path);
	for (unsigned i = 0; i < FORMATS; i++) {
		size_t n = strlen(formats[i].extension);
		if (length > n && strcmp(path + length - n, formats[i].extension) == 0)
			return i;
	}
	return FORMATS;
}

bool timeline_pair_check(const char *path, struct npu_error *err)
{
	return format_of(path) < FORMATS ||
	       npu_fail(err, NPU_ERR_VALUE, "--timeline %s: of two runs the name must end in .html, .pftrace or .pftrace.gz", path);
}

bool timeline_pair_write(const struct timeline_pair *pair, const char *path, struct npu_error *err)
{
	if (!timeline_pair_check(path, err))
		return false;
	struct output *out = output_open(path, err);
	if (!out)
		return false;
	return output_end(out, formats[format_of(path)].write(pair, output_stream(out), err), err);
}
