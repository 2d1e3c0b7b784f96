/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "sim/cmd/warnings.h"

#include "sim/cmd/check_output.h"

#include <inttypes.h>

static void tell(const struct check_result *r, const struct npu_finding *f)
{
	struct check_place place = check_place_of(r, f);
	fprintf(stderr, "npusim: %s:", place.line ? place.file : r->work->subject);
	if (place.line)
		fprintf(stderr, "%" PRIu32 ":", place.line);
	if (place.column)
		fprintf(stderr, "%u:", place.column);
	fprintf(stderr, " warning: %s\n", f->text);
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
