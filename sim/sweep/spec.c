/* SPDX-License-Identifier: Apache-2.0 */
/* A specification as a whole: what its words are, and `report`, `sample`, `search`. */
#include "sim/sweep/spec.h"
#include "isa/units.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/identity.h"
#include "sim/sweep/spec_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const words[] = {
	"run", "model", "with", "hw", "axes", "where", "report", "sample", "seed", "search"
};
enum { RUN, MODEL, WITH, HW, AXES, WHERE, REPORT, SAMPLE, SEED, SEARCH, WORDS };

bool spec_fail(struct spec_reader *r, const yaml_node_t *node, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return yaml_fail(&r->file, node, r->err, "%s", text);
}

bool spec_fail_as(struct spec_reader *r, const yaml_node_t *node, const struct npu_error *inner)
{
	char text[sizeof inner->text + sizeof inner->file + 4];
	snprintf(text, sizeof text, "%s%s%s", inner->file, *inner->file ? ": " : "", inner->text);
	text[strcspn(text, "\n")] = '\0';
	return spec_fail(r, node, "%s", text);
}

/* ---- figures, samples ---- */

static bool check_figure(struct spec_reader *r, const yaml_node_t *node, const char *name)
{
	const char *near;
	bool model = r->space->kind == SWEEP_MODEL;
	if (sweep_figure_find(name) >= 0)
		return sweep_figure_is_of(name, model) ||
		       spec_fail(r, node, "%s: %s have no such figure", name,
				 model ? "steps of a model" : "runs of a kernel or program");
	near = sweep_figure_near(name);
	return spec_fail(r, node, "unknown figure %.60s%s%s%s", name,
			 near ? "; did you mean " : "; npusim sweep figures lists them", near ? near : "",
			 near ? "?" : "");
}

static bool read_figures(struct spec_reader *r, const yaml_node_t *node, char **list, unsigned *n, unsigned most)
{
	if (node->type != YAML_SEQUENCE_NODE)
		return spec_fail(r, node, "a list of figures would be right: [cycles, mac_utilization]");
	for (const yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
		const yaml_node_t *item = spec_at(r, *i);
		const char *name = yaml_scalar(item);
		if (!name)
			return spec_fail(r, item, "a figure is one word");
		if (*n == most)
			return spec_fail(r, item, "more than %u figures", most);
		if (!check_figure(r, item, name))
			return false;
		for (unsigned k = 0; k < *n; k++)
			if (strcmp(list[k], name) == 0)
				return spec_fail(r, item, "%s stands there twice", name);
		list[(*n)++] = spec_keep(name);
	}
	return true;
}

static bool read_count(struct spec_reader *r, const yaml_node_t *node, const char *what, uint64_t most, uint64_t *out)
{
	const char *text = yaml_scalar(node);
	char *end = NULL;
	if (!text || !*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
		return spec_fail(r, node, "%s takes a whole number", what);
	*out = strtoull(text, &end, 10);
	return (*out >= 1 && *out <= most) ||
	       spec_fail(r, node, "%s: 1 to %s would be right", what, npu_count_text(most).text);
}

/* Of which more or less is better. */
static bool read_goals(struct spec_reader *r, const yaml_node_t *node)
{
	struct sweep_space *s = r->space;
	if (s->ngoals)
		return spec_fail(r, node, "a second pareto");
	if (!read_figures(r, node, s->goals, &s->ngoals, SWEEP_GOALS))
		return false;
	for (unsigned i = 0; i < s->ngoals; i++)
		if (sweep_figures[sweep_figure_find(s->goals[i])].type == SWEEP_TEXT)
			return spec_fail(r, spec_at(r, node->data.sequence.items.start[i]),
					 "pareto: %s is a word, neither more nor less", s->goals[i]);
	return true;
}

/* `search: pareto`, or {pareto: [cycles, sram.peak_bytes], points: 300}. */
static bool read_search(struct spec_reader *r, const yaml_node_t *node)
{
	struct sweep_space *s = r->space;
	const char *const usual[] = { s->clocks ? "time_us" : "cycles", "sram.peak_bytes" };
	const char *text = yaml_scalar(node);
	s->budget = 500;
	if (text && strcmp(text, "pareto") == 0) {
		for (; s->ngoals < 2; s->ngoals++)
			s->goals[s->ngoals] = spec_keep(usual[s->ngoals]);
	} else if (node->type == YAML_MAPPING_NODE) {
		for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
		     p++) {
			const char *word = yaml_scalar(spec_at(r, p->key));
			if (word && strcmp(word, "pareto") == 0) {
				if (!read_goals(r, spec_at(r, p->value)))
					return false;
			} else if (word && strcmp(word, "points") == 0) {
				if (!read_count(r, spec_at(r, p->value), "points", SWEEP_MOST_POINTS, &s->budget))
					return false;
			} else {
				return spec_fail(r, spec_at(r, p->key), "search takes pareto and points");
			}
		}
	}
	s->pareto = s->ngoals >= 1;
	return s->pareto ||
	       spec_fail(r, node, "search: pareto or {pareto: [cycles, sram.peak_bytes], points: 500} would be right");
}

static bool read_sample(struct spec_reader *r, const yaml_node_t *const top[WORDS])
{
	struct sweep_space *s = r->space;
	s->seed = 1;
	if (top[SAMPLE] && top[SEARCH])
		return spec_fail(r, top[SEARCH], "sample and search: one can be");
	if (top[SEED] && !top[SAMPLE] && !top[SEARCH])
		return spec_fail(r, top[SEED], "seed: a sample or a search has one; a whole grid is what it is");
	if (top[SAMPLE] && !read_count(r, top[SAMPLE], "sample", SWEEP_MOST_POINTS, &s->sample))
		return false;
	if (top[SEED] && !read_count(r, top[SEED], "seed", 999999999, &s->seed))
		return false;
	if (top[SEARCH] && !read_search(r, top[SEARCH]))
		return false;
	s->count = s->sample ? s->sample : s->pareto ? s->budget : s->points;
	if (s->count > s->points)
		s->count = s->points;
	if (s->count > SWEEP_MOST_POINTS)
		return spec_fail(r, top[AXES],
				 "%s points, %s at most are run one by one: `sample: N` takes some of them, `search: "
				 "pareto` looks for the good ones",
				 npu_count_text(s->points).text, npu_count_text(SWEEP_MOST_POINTS).text);
	return true;
}

/* ---- the whole ---- */

static bool read_top(struct spec_reader *r, const yaml_node_t *top[WORDS])
{
	const yaml_node_t *root = yaml_document_get_root_node(&r->file.document);
	if (!root)
		return npu_fail_at(r->err, NPU_ERR_SYNTAX, r->file.name, 0, 0,
				   "the file is empty; a sweep would be right");
	if (root->type != YAML_MAPPING_NODE)
		return spec_fail(r, root, "run, with, hw, axes and where would be right here");
	for (const yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = spec_at(r, p->key);
		const char *word = yaml_scalar(key);
		unsigned i = 0;
		while (word && i < WORDS && strcmp(words[i], word) != 0)
			i++;
		if (!word || i == WORDS) {
			const char *near = word ? npu_nearest(word, words, WORDS) : NULL;
			return spec_fail(
			    r, key, "unknown key %.60s%s%s%s", word ? word : "",
			    near ? "; did you mean "
				 : "; there are run, model, with, hw, axes, where, report, sample, seed, search",
			    near ? near : "", near ? "?" : "");
		}
		if (top[i])
			return spec_fail(r, key, "a second %s", word);
		top[i] = spec_at(r, p->value);
	}
	return true;
}

/* Where the specification is: for this process as it was named, for everybody else the whole path. */
static bool place(struct spec_reader *r)
{
	struct sweep_space *s = r->space;
	const char *name = r->file.name, *slash = strrchr(name, '/');
	bool is_file = access(name, F_OK) == 0;
	s->beside = slash && is_file ? strndup(name, (size_t)(slash + 1 - name)) : spec_keep("");
	s->folder = s->beside ? realpath(*s->beside ? s->beside : ".", NULL) : NULL;
	s->spec = is_file ? realpath(name, NULL) : NULL;
	if (!s->spec)
		s->spec = spec_keep("-");
	return (s->beside && s->folder && s->spec) ||
	       npu_fail(r->err, NPU_ERR_IO, "%s: where it is cannot be told", name);
}

static void note_machine(void *context, const struct config *config)
{
	for (unsigned i = 0; i < config->nfiles; i++)
		spec_note_file(context, config->files[i]);
}

static bool read_spec(struct spec_reader *r)
{
	const yaml_node_t *top[WORDS] = { NULL };
	struct sweep_space *s = r->space;
	if (!place(r) || !read_top(r, top) || !spec_read_hw(r, top[HW]) ||
	    !spec_read_subject(r, top[RUN], top[MODEL]) || (top[WITH] && !spec_read_with(r, top[WITH])))
		return false;
	if (!top[AXES])
		return spec_fail(r, yaml_document_get_root_node(&r->file.document),
				 "axes is missing: what is to be swept, as in axes: {tile_q: [64, 128]}");
	if (!spec_read_axes(r, top[AXES], top[HW]) || (top[WHERE] && !spec_read_where(r, top[WHERE])) ||
	    (top[REPORT] && !read_figures(r, top[REPORT], s->report, &s->nreport, SWEEP_REPORT)) ||
	    !read_sample(r, top))
		return false;
	if (s->nreport && sweep_figures[sweep_figure_find(s->report[0])].type == SWEEP_TEXT)
		return spec_fail(r, top[REPORT], "report: the first figure is what is made best, and %s is a word",
				 s->report[0]);
	if (!spec_something_passes(r->spec))
		return spec_fail(r, top[WHERE], "where: excludes all %s points", npu_count_text(s->points).text);
	sweep_machines_each(&r->spec->machines, s, note_machine, r);
	s->version = spec_keep(NPUSIM_VERSION);
	return sweep_identify(r->spec, r->bytes_hash, r->macro ? r->macro->program->hash : 0, r->err);
}

struct sweep_spec *sweep_spec_read(const char *path, const struct plugin_limits *limits, struct npu_error *err)
{
	struct spec_reader r = { .err = err };
	if (!yaml_file_open(&r.file, path, err))
		return NULL;
	r.spec = calloc(1, sizeof *r.spec);
	if (r.spec)
		r.space = r.spec->space = sweep_space_new();
	if (r.space) {
		r.spec->machines.axis = -1;
		r.spec->limits = *limits;
	}
	bool ok = r.space ? read_spec(&r) : npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	if (r.macro)
		npu_macro_free(r.macro);
	yaml_file_close(&r.file);
	if (ok)
		return r.spec;
	sweep_spec_free(r.spec);
	return NULL;
}

void sweep_spec_free(struct sweep_spec *spec)
{
	if (!spec)
		return;
	sweep_machines_fini(&spec->machines);
	expr_free(spec->where);
	plugin_facts_free(spec->plugin);
	sweep_space_free(spec->space);
	free(spec->subject);
	free(spec);
}
