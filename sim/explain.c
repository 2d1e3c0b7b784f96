/* SPDX-License-Identifier: Apache-2.0 */
/* Figures out of the report, once; then rule by rule. */
#include "sim/explain.h"

#include "sim/report_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text, *title, *advice, *ideal;
	double least;
} rules[EXPLAIN_RULES] = {
#define RULE(NAME, text, ideal, least, title, advice) [EXPLAIN_##NAME] = { text, title, advice, ideal, least },
#include "sim/explain.def"
};

static const struct {
	enum explain_rule rule;
	const char *settings, *tensor;
} tries[] = {
#define TRY(NAME, settings, tensor) { EXPLAIN_##NAME, settings, tensor },
#include "sim/explain.def"
};

const char *explain_rule_name(enum explain_rule rule) { return rules[rule].text; }

static double number(const json_t *object, const char *path)
{
	double value = report_real(object, path);
	return isfinite(value) && value > 0 ? value : 0;
}

static double state_of(const json_t *engine, enum npu_state state)
{
	char path[64];
	snprintf(path, sizeof(path), "%s%s", account_state_is_stall(state) ? "stalls." : "", account_state_name(state));
	return number(engine, path);
}

static bool in_service(unsigned state) { return account_state_group((enum npu_state)state) == ACCOUNT_ACTIVE; }

static void read_engines(struct explain *x)
{
	x->has_path = number(x->report, "critical_path.segments") > 0;
	x->hand_off = number(x->report, "critical_path.hand_off");
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		char path[64];
		snprintf(path, sizeof(path), "engines.%s", npu_engine_name((enum npu_engine)e));
		const json_t *engine = report_value(x->report, path);
		for (unsigned s = 0; s < NPU_STATES; s++) {
			x->states[e][s] = state_of(engine, (enum npu_state)s);
			x->active[e] += in_service(s) ? x->states[e][s] : 0;
		}
		snprintf(path, sizeof(path), "critical_path.engines.%s", npu_engine_name((enum npu_engine)e));
		engine = report_value(x->report, path);
		for (unsigned s = 0; s < NPU_STATES; s++)
			x->path[e][s] = state_of(engine, (enum npu_state)s);
	}
}

static void read_row(struct explain_row *r, const json_t *row)
{
	const char *engine = report_text(row, "engine");
	const json_t *stalls = report_value(row, "stalls");
	*r = (struct explain_row){
		.text = report_text(row, "text"), .source = report_text(row, "source"), .region = report_text(row, "region"),
		.dram_bytes = number(row, "dram_bytes"), .macs = number(row, "macs"), .bursts = number(row, "bursts"),
		.granule_bytes = number(row, "granule_bytes"), .rearranged_bytes = number(row, "rearranged_bytes"),
		.m = number(row, "m"), .drain = number(row, "drain"),
		.start = number(row, "start"), .end = number(row, "end"),
	};
	while (r->engine < NPU_ENGINES && strcmp(npu_engine_name(r->engine), engine) != 0)
		r->engine++;
	r->states[NPU_STATE_BUSY] = r->service = number(row, "busy");
	for (unsigned s = 0; json_object_size(stalls) > 0 && s < NPU_STATES; s++)
		if (account_state_is_stall((enum npu_state)s)) {
			r->states[s] = number(stalls, account_state_name((enum npu_state)s));
			r->service += in_service(s) ? r->states[s] : 0;
		}
}

static bool read_rows(struct explain *x)
{
	const json_t *rows = report_value(x->report, "instructions");
	x->nrows = json_array_size(rows);
	x->rows = calloc(x->nrows + 1, sizeof(*x->rows));
	x->weights = calloc(x->nrows + 1, sizeof(*x->weights));
	for (size_t i = 0; x->rows && i < x->nrows; i++)
		read_row(&x->rows[i], json_array_get(rows, i));
	return x->rows && x->weights;
}

/* ---- what to try ---- */

/* The value that a parameter or hardware key has in the run; NULL: there is none of that name. */
static const json_t *value_of(const json_t *report, const char *key)
{
	char path[128];
	snprintf(path, sizeof(path), "%s.%s", strchr(key, '.') ? "hw" : "params", key);
	return report_value(report, path);
}

/* Whether a kernel's parameter may be that word, and that is a step on: choices go from the wide type to the narrow one, from one
 * buffer to several. */
static bool is_step(const json_t *report, const char *key, const char *from, const char *word)
{
	const struct npu_kernel *kernel = npu_kernel_find(report_text(report, "command.subject"));
	int i = kernel ? npu_param_index(kernel, key) : -1;
	bool past = false;
	if (i < 0 || kernel->params[i].type != NPU_PARAM_CHOICE)
		return i < 0;
	for (const char *const *choice = kernel->params[i].choices; *choice; choice++) {
		if (strcmp(*choice, word) == 0)
			return past;
		past = past || strcmp(*choice, from) == 0;
	}
	return false;
}

/* Whether a tile has all of its dimension: "tile_m" of m; those of queries and keys are of sequences. */
static bool is_whole(const json_t *report, const char *key, int64_t tile)
{
	if (strncmp(key, "tile_", 5) != 0)
		return false;
	const char *dimension = key + 5;
	if (strcmp(dimension, "q") == 0)
		dimension = value_of(report, "seq_q") ? "seq_q" : "seq";
	else if (strcmp(dimension, "kv") == 0)
		dimension = "seq";
	const json_t *size = value_of(report, dimension);
	return json_is_integer(size) && tile >= json_integer_value(size);
}

/* An item of a try, "tile_q*2" of 128 as "tile_q=256". Several of one key act on one another. */
static bool apply(const json_t *report, const char *item, char *out, size_t room)
{
	char key[64];
	size_t length = strcspn(item, "=*/~");
	snprintf(key, sizeof(key), "%.*s", (int)length, item);
	const json_t *value = value_of(report, key);
	const char *text = json_string_value(value), *operand = item + length + 1;
	char was[72];
	size_t used = strlen(out);
	int64_t count = json_is_integer(value) ? json_integer_value(value) : 0;
	snprintf(was, sizeof(was), "%s=", key);
	char *before = strstr(out, was);
	if (item[length] == '=' || item[length] == '~') {
		if (!text || strcmp(text, operand) == 0 || (item[length] == '=' && !is_step(report, key, text, operand)))
			return false;
		return (size_t)snprintf(out + used, room - used, "%s%s=%s", used ? " " : "", key, operand) < room - used;
	}
	/* Parameters of texts are integers, too, but may be written as words. */
	if (before) {
		count = strtoll(before + strlen(was), NULL, 10);
		*before = '\0';
		used = strlen(out);
	}
	if (count <= 0 || count > INT64_MAX / 2 || (item[length] == '/' && count < 2))
		return false;
	if (item[length] == '*' && is_whole(report, key, count))
		return false;
	count = item[length] == '*' ? 2 * count : count / 2;
	return (size_t)snprintf(out + used, room - used, "%s%s=%lld", used && out[used - 1] != ' ' ? " " : "", key,
				(long long)count) < room - used;
}

static bool is_about(const struct explain_finding *f, const char *tensor)
{
	char name[48];
	snprintf(name, sizeof(name), " %s ", tensor);
	return !tensor[0] || strstr(f->tensors, name);
}

static void add_tries(const struct explain *x, struct explain_finding *f)
{
	for (unsigned i = 0; i < sizeof(tries) / sizeof(tries[0]) && f->ntries < EXPLAIN_TRIES; i++) {
		char items[EXPLAIN_TEXT], *save = NULL, *out = f->tries[f->ntries];
		if (tries[i].rule != f->rule || !is_about(f, tries[i].tensor))
			continue;
		snprintf(items, sizeof(items), "%s", tries[i].settings);
		out[0] = '\0';
		bool ok = true;
		for (char *item = strtok_r(items, " ", &save); ok && item; item = strtok_r(NULL, " ", &save))
			ok = apply(x->report, item, out, EXPLAIN_TEXT);
		f->ntries += ok;
	}
}

/* ---- findings ---- */

const char *explain_rule_ideal(enum explain_rule rule) { return rules[rule].ideal; }

static bool is_worth_it(const struct explain *x, const struct explain_finding *f)
{
	double least = rules[f->rule].least / 100;
	if (f->energy_uj > 0)
		return f->energy_uj >= least * number(x->report, "energy.total_uj");
	return f->cycles >= 1 && f->cycles >= least * x->cycles;
}

static int by_cycles(const void *p, const void *q)
{
	const struct explain_finding *a = p, *b = q;
	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	return (int)a->rule - (int)b->rule;
}

/* Whether that part is perfect in the run already. */
static bool is_ideal(const json_t *report, const char *part)
{
	size_t i;
	json_t *name;
	json_array_foreach(report_value(report, "ideal"), i, name) {
		if (json_is_string(name) && strcmp(json_string_value(name), part) == 0)
			return true;
	}
	return strcmp(part, "dram") == 0 && json_is_true(report_value(report, "hw.dram.ideal"));
}

bool explain_init(struct explain *x, const json_t *report, struct npu_error *err)
{
	*x = (struct explain){ .report = report, .cycles = number(report, "cycles") };
	if (x->cycles < 1)
		return npu_fail(err, NPU_ERR_VALUE, "the report tells of a run without a cycle: there is nothing to explain");
	read_engines(x);
	x->dram_bytes = number(report, "dram.read_bytes") + number(report, "dram.write_bytes");
	/* GB/s are bytes a nanosecond. */
	x->peak_bytes = number(report, "dram.peak_gb_per_s") * number(report, "time_us") * 1000 / x->cycles;
	if (!read_rows(x)) {
		explain_fini(x);
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	}
	for (unsigned rule = 0; rule < EXPLAIN_RULES; rule++) {
		struct explain_finding f = { .rule = (enum explain_rule)rule, .advice = rules[rule].advice };
		snprintf(f.title, sizeof(f.title), "%s", rules[rule].title);
		memset(x->weights, 0, x->nrows * sizeof(*x->weights));
		x->unasked += x->nrows == 0 && explain_needs_rows(f.rule);
		if (is_ideal(report, rules[rule].ideal) || !explain_test(x, f.rule, &f) || !is_worth_it(x, &f))
			continue;
		f.cycles = f.cycles < x->cycles ? floor(f.cycles) : x->cycles;
		add_tries(x, &f);
		x->findings[x->nfindings++] = f;
	}
	qsort(x->findings, x->nfindings, sizeof(*x->findings), by_cycles);
	return true;
}

void explain_bound(struct explain *x, unsigned finding, double most, double won)
{
	struct explain_finding *f = &x->findings[finding];
	f->cycles = f->cycles < most ? f->cycles : most;
	f->cycles = f->cycles > won ? f->cycles : won;
}

void explain_sort(struct explain *x)
{
	unsigned n = 0;
	for (unsigned i = 0; i < x->nfindings; i++)
		if (is_worth_it(x, &x->findings[i]))
			x->findings[n++] = x->findings[i];
	x->nfindings = n;
	qsort(x->findings, x->nfindings, sizeof(*x->findings), by_cycles);
}

void explain_fini(struct explain *x)
{
	free(x->rows);
	free(x->weights);
	memset(x, 0, sizeof(*x));
}
