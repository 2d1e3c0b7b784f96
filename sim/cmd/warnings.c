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

void warn_of_files(const struct work *work, unsigned *n)
{
	const struct npu_macro *m = work->macro;
	for (uint32_t i = 0; m && m->tensors && i < m->program->ntensors; i++) {
		const struct npu_macro_tensor *t = &m->tensors[i];
		char file[2048], name[2048], path[2048];
		if (!t->file || m->program->tensors[i].dir == NPU_TENSOR_OUT)
			continue;
		npu_plain(t->source, strlen(t->source), file, sizeof file);
		npu_plain(m->program->tensors[i].name, strlen(m->program->tensors[i].name), name, sizeof name);
		npu_plain(t->file, strlen(t->file), path, sizeof path);
		fflush(stdout);
		fprintf(stderr,
			"npusim: %s:%" PRIu32 ":%" PRIu32
			": warning: the bytes of %s are not in the program: run --values --tensor %s=%s has them\n",
			file, t->line, t->column, path, name, path);
		(*n)++;
	}
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
