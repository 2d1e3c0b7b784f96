/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of npusim sweep have in common: options, folders, warnings. */
#include "sim/sweep/command.h"
#include "isa/units.h"
#include "sim/sweep/figures.h"

#include <stdlib.h>
#include <string.h>

bool sweep_read_number(const struct cli *cli, const char *option, uint64_t most, uint64_t *out, struct npu_error *err)
{
	const char *text = cli_value(cli, option);
	if (!text)
		return true;
	*out = strtoull(text, NULL, 10);
	if (*text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 10 && *out >= 1 && *out <= most)
		return true;
	return npu_fail(err, NPU_ERR_USAGE, "--%s %.40s: 1 to %s would be right", option, text,
			npu_count_text(most).text);
}

bool sweep_figure_named(const struct sweep_space *s, const char *option, const char *name, int *figure,
			struct npu_error *err)
{
	bool model = s->kind == SWEEP_MODEL;
	*figure = sweep_figure_find(name);
	const char *near = *figure < 0 ? sweep_figure_near(name) : NULL;
	if (*figure < 0)
		return npu_fail(err, NPU_ERR_USAGE, "--%s: unknown figure %.60s%s%s%s", option, name,
				near ? "; did you mean " : "; npusim sweep figures lists them", near ? near : "",
				near ? "?" : "");
	if (!sweep_figure_is_of(name, model))
		return npu_fail(err, NPU_ERR_USAGE, "--%s %s: %s have no such figure", option, name,
				model ? "steps of a model" : "runs of a kernel or program");
	return sweep_figures[*figure].type != SWEEP_TEXT ||
	       npu_fail(err, NPU_ERR_USAGE, "--%s %s: a word is neither more nor less", option, name);
}

bool sweep_choose_figure(struct sweep_rows *r, const char *by, struct npu_error *err)
{
	int f;
	unsigned at = 0;
	if (!by)
		return true;
	if (!sweep_figure_named(r->space, "by", by, &f, err))
		return false;
	while (at < r->nnames && strcmp(r->names[at], by) != 0)
		at++;
	r->nnames += at == r->nnames && at < SWEEP_ROW_FIGURES;
	at -= at == SWEEP_ROW_FIGURES;
	memmove(r->names + 1, r->names, at * sizeof *r->names);
	r->names[0] = sweep_figures[f].name;
	return true;
}

char *sweep_folder(const struct cli *cli, const char *spec)
{
	const char *named = cli_value(cli, "output");
	const char *slash = strrchr(spec, '/');
	if (named)
		return strdup(named);
	if (strcmp(spec, "-") == 0)
		return strdup("stdin.sweep");
	/* Here, not beside the specification, whose folder may be somebody else's. */
	spec = slash && slash[1] ? slash + 1 : spec;
	size_t n = strlen(spec);
	for (const char *const *end = (const char *const[]){ ".yaml", ".yml", NULL }; *end; end++)
		if (n > strlen(*end) && strcmp(spec + n - strlen(*end), *end) == 0) {
			n -= strlen(*end);
			break;
		}
	char *out = malloc(n + sizeof ".sweep");
	if (out)
		snprintf(out, n + sizeof ".sweep", "%.*s.sweep", (int)n, spec);
	return out;
}

void sweep_warn_of_changes(const struct sweep_space *s)
{
	const char *changed = sweep_changed_file(s);
	if (changed)
		fprintf(stderr, "npusim: warning: %s has changed since these points were run, or is gone\n", changed);
}

void sweep_warn_of_gaps(const struct sweep_rows *r, const char *path)
{
	char strays[160];
	if (r->count[SWEEP_MISSING])
		fprintf(stderr, "npusim: warning: %s of %s points are missing in %s: the best may be among them\n",
			npu_count_text(r->count[SWEEP_MISSING]).text, npu_count_text(r->space->count).text, path);
	if (r->count[SWEEP_FAILED])
		fprintf(stderr, "npusim: warning: %s of %s points have failed in %s: the best may be among them\n",
			npu_count_text(r->count[SWEEP_FAILED]).text, npu_count_text(r->space->count).text, path);
	if (*sweep_strays_text(&r->strays, strays))
		fprintf(stderr, "npusim: warning: %s: %s\n", path, strays);
}
