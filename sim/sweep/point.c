/* SPDX-License-Identifier: Apache-2.0 */
/* A point's machine, program and figures, or why there are none. */
#include "sim/sweep/point.h"
#include "sim/cli_work.h"
#include "sim/cmd/model.h"
#include "sim/report_json.h"
#include "sim/sweep/figures.h"
#include "sim/sweep/key.h"
#include "sim/sweep/names.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = SWEEP_SETTINGS + SWEEP_AXES * SWEEP_KEYS };

const char *sweep_status_name(enum sweep_status status)
{
	static const char *const names[] = { "missing", "run", "not legal", "failed" };
	return names[status];
}

/* What one point works on. */
struct trial {
	const struct sweep_spec *spec;
	uint64_t point;
	struct known *known;
	struct work work;
	struct cli cli;
	const char *parameters[MOST_WORDS];
	char *owned[MOST_WORDS]; /* the same */
	struct alike alike;
	bool divides; /* the condition does, by 0 */
	struct npu_error err;
};

static json_t *tell(const struct sweep_space *space, uint64_t point, enum sweep_status status)
{
	json_t *o = json_object();
	json_object_set_new(o, "point", json_integer((json_int_t)point));
	json_object_set_new(o, "at", sweep_place(space, point));
	json_object_set_new(o, "status", json_string(sweep_status_name(status)));
	return o;
}

static json_t *not_legal(const struct sweep_space *space, uint64_t point, const char *reason, const char *error)
{
	json_t *o = tell(space, point, SWEEP_NOT_LEGAL);
	json_object_set_new(o, "reason", json_string(reason));
	if (error)
		json_object_set_new(o, "error", report_json_text(error));
	return o;
}

json_t *sweep_point_excluded(const struct sweep_space *space, uint64_t point, bool divides)
{
	return not_legal(space, point, divides ? "where divides by 0" : "where", NULL);
}

json_t *sweep_point_failed(const struct sweep_space *space, uint64_t point, const char *why)
{
	json_t *o = tell(space, point, SWEEP_FAILED);
	json_object_set_new(o, "error", report_json_text(why));
	return o;
}

/* ---- machine and parameters ---- */

static bool assign(struct trial *t, const char *key, const char *value)
{
	if (strchr(key, '.') || strcmp(key, "hw") == 0)
		return true;
	size_t size = strlen(key) + strlen(value) + 2;
	char *text = malloc(size);
	if (!text)
		return npu_fail(&t->err, NPU_ERR_MEMORY, "out of memory");
	snprintf(text, size, "%s=%s", key, value);
	t->owned[t->cli.nparameters] = text;
	t->parameters[t->cli.nparameters++] = text;
	return true;
}

static bool set_up(struct trial *t)
{
	const struct sweep_space *s = t->spec->space;
	t->cli.parameters = t->parameters;
	for (unsigned i = 0; i < s->nwith; i++)
		if (!assign(t, s->with[i].key, s->with[i].value))
			return false;
	for (unsigned a = 0; a < s->naxes; a++) {
		const struct sweep_axis *x = &s->axes[a];
		for (unsigned k = 0; k < x->nkeys; k++)
			if (!assign(t, x->keys[k], x->values[(size_t)k * x->count + sweep_index(s, t->point, a)]))
				return false;
	}
	return sweep_machines_at(&t->spec->machines, s, t->point, &t->work.config, &t->err);
}

static void tear_down(struct trial *t)
{
	for (unsigned i = 0; i < t->cli.nparameters; i++)
		free(t->owned[i]);
	work_fini(&t->work);
}

/* Whether a point that cannot be built says so about itself, not about this run. */
static bool is_refusal(const struct npu_error *err)
{
	return err->code == NPU_ERR_FIT || err->code == NPU_ERR_VALUE || err->code == NPU_ERR_OPERAND ||
	       err->code == NPU_ERR_BOUNDS || err->code == NPU_ERR_SYNTAX || err->code == NPU_ERR_SEMAPHORE ||
	       err->code == NPU_ERR_DEADLOCK;
}

static const char *reason_of(const struct npu_error *err, bool of_machine)
{
	if (of_machine)
		return "hardware does not go together";
	if (strstr(err->text, "bytes of SRAM"))
		return "buffers exceed SRAM";
	if (strstr(err->text, "bytes of accumulators"))
		return "buffers exceed accumulators";
	if (err->code == NPU_ERR_FIT && strstr(err->text, "DRAM"))
		return "tensors exceed DRAM";
	if (err->code == NPU_ERR_DEADLOCK)
		return "deadlock";
	return err->code == NPU_ERR_FIT ? "does not fit" : "parameters do not go together";
}

static json_t *refused(const struct trial *t, bool of_machine)
{
	char text[sizeof t->err.text + sizeof t->err.file + 32];
	npu_error_print(&t->err, text, sizeof text);
	text[strcspn(text, "\n")] = '\0';
	if (!is_refusal(&t->err))
		return sweep_point_failed(t->spec->space, t->point, text);
	return not_legal(t->spec->space, t->point, reason_of(&t->err, of_machine), text);
}

/* ---- the condition, once everything is known ---- */

struct late {
	struct trial *t;
	char scratch[256];
};

static struct expr_value late_value(void *context, unsigned n)
{
	struct late *l = context;
	const struct trial *t = l->t;
	const char *name = expr_name(t->spec->where, n, NULL);
	const char *text = sweep_value(t->spec->space, t->point, name, l->scratch, sizeof l->scratch);
	const struct npu_kernel *k = t->spec->kernel;
	const struct config_key *key = config_key_find(name);
	int i = k ? npu_param_index(k, name) : -1;
	if (text)
		return sweep_value_of(name, text);
	if (i >= 0 && k->params[i].type == NPU_PARAM_CHOICE)
		return expr_value_of(k->params[i].choices[t->work.args.value[i]]);
	if (i >= 0)
		return (struct expr_value){ .number = (double)t->work.args.value[i] };
	for (unsigned p = 0; t->work.macro && p < t->work.macro->nparams; p++)
		if (strcmp(t->work.macro->params[p].name, name) == 0)
			return expr_value_of(t->work.macro->params[p].value);
	if (key)
		return expr_value_of(sweep_machine_value(&t->work.config, key, l->scratch, sizeof l->scratch));
	return (struct expr_value){ .number = (double)NAN };
}

static bool passes(struct trial *t)
{
	struct late l = { .t = t };
	return !t->spec->where || !t->spec->late || expr_holds(t->spec->where, late_value, &l, &t->divides);
}

/* ---- results ---- */

/* `program` NULL: of a model. */
static json_t *finished(const struct trial *t, const struct npu_program *program, const char *params, json_t *figures)
{
	char hash[17], key[17];
	json_t *o = tell(t->spec->space, t->point, SWEEP_RUN);
	if (program)
		snprintf(hash, sizeof hash, "%016" PRIx64, program->hash);
	sweep_key(t->spec->space, sweep_machine_hash(&t->work.config, true), program ? hash : NULL, params, key);
	json_object_set_new(o, "key", json_string(key));
	if (program) {
		json_object_set_new(o, "program", json_string(hash));
		json_object_set_new(o, "alike", alike_json(t->alike));
	}
	json_object_set_new(o, "params", report_json_text(params));
	json_object_set_new(o, "figures", figures);
	return o;
}

/* The figures of the program, by a simulation or of another point; NULL with an error. */
static json_t *figures_of(struct trial *t)
{
	t->alike = alike_of(t->work.program, &t->work.config);
	json_t *figures = known_find(t->known, t->alike);
	if (figures)
		return figures;
	struct simulation_request request = {
		.hw = &t->work.config.hw,
		.dram_part = t->work.config.dram_part,
		.title = t->work.config.title,
		.program = t->work.program,
		.command = "sweep",
		.subject = t->work.subject,
		.kernel = t->work.kernel,
		.args = t->work.kernel ? &t->work.args : NULL,
		.macro = t->work.macro,
	};
	struct simulation *s = simulate(&request, &t->err);
	if (!s)
		return NULL;
	figures = sweep_figures_of(s);
	simulation_free(s);
	known_add(t->known, t->alike, figures);
	return figures;
}

static json_t *run_program(struct trial *t)
{
	char params[2048] = "";
	json_t *figures = figures_of(t);
	if (!figures)
		return refused(t, false);
	if (t->work.kernel)
		npu_args_print(t->work.kernel, &t->work.args, params, sizeof params);
	size_t used = 0;
	for (unsigned i = 0; t->work.macro && i < t->work.macro->nparams && used < sizeof params; i++)
		used += (size_t)snprintf(params + used, sizeof params - used, "%s%s=%s", used ? " " : "",
					 t->work.macro->params[i].name, t->work.macro->params[i].value);
	return finished(t, t->work.program, params, figures);
}

/* A plug-in that is built again while it is swept would give points of two kernels. */
static bool is_same_plugin(struct trial *t)
{
	char digest[17];
	const struct plugin_facts *plugin = t->spec->plugin;
	if (!plugin)
		return true;
	return plugin_digest(t->spec->subject, digest, &t->err) &&
	       (strcmp(digest, plugin->digest) == 0 || npu_fail_at(&t->err, NPU_ERR_PLUGIN, t->spec->subject, 0, 0,
								   "the file has changed since this sweep began"));
}

static json_t *program_point(struct trial *t)
{
	if (!is_same_plugin(t))
		return refused(t, false);
	if (!work_program(&t->work, &t->cli, t->spec->subject, &t->err))
		return refused(t, false);
	return passes(t) ? run_program(t) : sweep_point_excluded(t->spec->space, t->point, t->divides);
}

/* The operator that takes the most cycles, with the run that its timeline can be had of. */
static json_t *longest_of(const struct model_step *s)
{
	char run[2048];
	unsigned longest = 0;
	for (unsigned i = 1; i < s->plan.nops; i++)
		if (s->ops[i].total.cycles > s->ops[longest].total.cycles)
			longest = i;
	const struct model_run *r = &s->runs[longest];
	int used = snprintf(run, sizeof run, "%s ", r->kernel->name);
	npu_args_print(r->kernel, &r->args, run + used, sizeof run - (size_t)used);
	return json_pack("{s:s,s:f,s:s}", "name", s->plan.ops[longest].name, "share",
			 s->total.cycles > 0 ? s->ops[longest].total.cycles / s->total.cycles : 0, "run", run);
}

static json_t *model_point(struct trial *t)
{
	char params[1024];
	npu_args_init(&model_ask_parameters, &t->work.args);
	for (unsigned i = 0; i < t->cli.nparameters; i++)
		if (!npu_args_set(&model_ask_parameters, &t->work.args, t->parameters[i], &t->err))
			return refused(t, false);
	struct model_ask ask = model_ask_of(&t->work.args);
	if (!passes(t))
		return sweep_point_excluded(t->spec->space, t->point, t->divides);
	struct model_step *s =
	    model_step_new(&t->spec->dims, &ask, &t->work.config, model_ask_chooses(&t->work.args), false, &t->err);
	bool ok = s && model_step_run(s, 1, &t->err);
	npu_args_print(&model_ask_parameters, &t->work.args, params, sizeof params);
	json_t *o = ok ? finished(t, NULL, params, sweep_figures_of_step(s)) : refused(t, false);
	if (ok)
		json_object_set_new(o, "longest", longest_of(s));
	model_step_free(s);
	return o;
}

bool sweep_point_program(const struct sweep_spec *spec, uint64_t point, char out[17], struct npu_error *err)
{
	struct trial *t = calloc(1, sizeof *t);
	if (!t)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	t->spec = spec;
	t->point = point;
	bool ok = set_up(t) && work_program(&t->work, &t->cli, spec->subject, &t->err);
	if (ok)
		snprintf(out, 17, "%016" PRIx64, t->work.program->hash);
	else
		*err = t->err;
	tear_down(t);
	free(t);
	return ok;
}

json_t *sweep_point_run(const struct sweep_spec *spec, uint64_t point, struct known *known)
{
	struct trial *t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->spec = spec;
	t->point = point;
	t->known = known;
	json_t *o;
	if (!set_up(t))
		o = refused(t, true);
	else
		o = spec->space->kind == SWEEP_MODEL ? model_point(t) : program_point(t);
	tear_down(t);
	free(t);
	return o;
}
