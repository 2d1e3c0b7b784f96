/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "sim/cmd/warnings.h"

#include "isa/plain.h"
#include "sim/cmd/check_output.h"

#include <inttypes.h>
#include <string.h>

static void tell(const struct check_result *r, const struct npu_finding *f)
{
	/* Names of a program that is only assembled are still as they were written. */
	char file[2048], text[4096];
	struct check_place place = check_place_of(r, f);
	const char *name = place.line ? place.file : r->work->subject;
	npu_plain(name, strlen(name), file, sizeof file);
	npu_plain(f->text, strlen(f->text), text, sizeof text);
	fprintf(stderr, "npusim: %s:", file);
	if (place.line)
		fprintf(stderr, "%" PRIu32 ":", place.line);
	if (place.column)
		fprintf(stderr, "%u:", place.column);
	fprintf(stderr, " warning: %s\n", text);
}

bool warn_of_semaphores(const struct work *work, const char *path, unsigned *n, struct npu_error *err)
{
	struct check_result result;
	bool ok = check_work(&result, work, path, &(struct npu_check_options){ .sides = true }, err);
	*n = ok ? result.report->nfindings : 0;
	fflush(stdout);
	for (unsigned i = 0; i < *n; i++)
		tell(&result, &result.report->findings[i]);
	check_result_fini(&result);
	return ok;
}
