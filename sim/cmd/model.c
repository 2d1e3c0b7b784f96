/* SPDX-License-Identifier: Apache-2.0 */
/* npusim model: a step of a whole model. */
#include "sim/cmd/model.h"
#include "sim/cli_work.h"
#include "sim/cmd/report_file.h"
#include "sim/config_file.h"
#include "sim/model/report.h"
#include "sim/report_json.h"
#include "sim/report_table.h"
#include "traces/model_config.h"

#include "isa/plain.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONFIG_MAX = 16 << 20 };
enum { PHASE, CONTEXT, BATCH, WEIGHTS, GROUP, KV, PAGE, KV_LAYOUT, DEQUANT, TILE, KV_GROUP, CONTEXT_MIN, CHUNK };

static const char *const phases[] = { "decode", "prefill", NULL };
static const char *const types[] = { "fp16", "int8", "int4", NULL };
static const char *const groups[] = { "channel", "32", "64", "128", NULL };
static const char *const layouts[] = { "page_head_kv", "kv_page_head", NULL };
static const char *const kv_groups[] = { "head", "token", "half", NULL }; /* enum model_kv_group */
static const char *const dequants[] = { "vector", "matrix", NULL };
static const char *const tiles[] = { "auto", "kernel", NULL };
static const uint32_t group_sizes[] = { 0, 32, 64, 128 };

static const struct npu_param params[] = {
	[PHASE] = { .name = "phase", .type = NPU_PARAM_CHOICE, .choices = phases, .unit = "",
		    .meaning = "one new token a sequence, or the whole prompt" },
	[CONTEXT] = { .name = "context", .initial = 1024, .min = 1, .max = 1048575, .unit = "token",
		      .meaning = "positions that a new token sees, its own included; tokens of the prompt" },
	[BATCH] = { .name = "batch", .initial = 1, .min = 1, .max = 1024, .unit = "sequence", .meaning = "sequences" },
	[WEIGHTS] = { .name = "weights", .type = NPU_PARAM_CHOICE, .choices = types, .unit = "",
		      .meaning = "type of the weights" },
	[GROUP] = { .name = "group", .type = NPU_PARAM_CHOICE, .choices = groups, .derived = true, .unit = "",
		    .meaning = "weights that share a scale: a column, or so many of k; default 128 for int4, channel for int8" },
	[KV] = { .name = "kv", .type = NPU_PARAM_CHOICE, .choices = types, .unit = "", .meaning = "type of the KV cache" },
	[PAGE] = { .name = "page", .initial = 16, .min = 1, .max = 1024, .unit = "token", .meaning = "tokens a page" },
	[KV_LAYOUT] = { .name = "kv_layout", .type = NPU_PARAM_CHOICE, .choices = layouts, .unit = "",
			.meaning = "K and V of a head side by side in a page, or K of all pages before V of all pages" },
	[DEQUANT] = { .name = "dequant", .type = NPU_PARAM_CHOICE, .choices = dequants, .unit = "",
		      .meaning = "a quantised cache becomes fp16 on the vector engine, or goes to the array as it is" },
	[TILE] = { .name = "tile", .type = NPU_PARAM_CHOICE, .choices = tiles, .unit = "",
		   .meaning = "tiles of large products by traffic and a short search, or the kernel's own" },
	[KV_GROUP] = { .name = "kv_group", .type = NPU_PARAM_CHOICE, .choices = kv_groups, .unit = "",
		       .meaning = "elements of a token that share a scale in a quantised cache: a head, all heads, half a head" },
	[CONTEXT_MIN] = { .name = "context_min", .min = 1, .max = 1048575, .derived = true, .unit = "token",
			  .meaning = "decode: context of the shortest of the sequences, those between are drawn; default context" },
	[CHUNK] = { .name = "chunk", .min = 1, .max = 1048575, .derived = true, .unit = "token",
		    .meaning = "prefill: tokens of the prompt that are new, its last ones, the others are cached; default context" },
};

const struct npu_kernel model_ask_parameters = {
	.name = "model",
	.params = params,
	.nparams = sizeof params / sizeof params[0],
};

struct model_ask model_ask_of(struct npu_args *args)
{
	int64_t *v = args->value;
	if (!args->named[GROUP])
		v[GROUP] = v[WEIGHTS] == MODEL_INT4 ? 3 : 0;
	if (!args->named[CONTEXT_MIN])
		v[CONTEXT_MIN] = v[CONTEXT];
	if (!args->named[CHUNK])
		v[CHUNK] = v[PHASE] == MODEL_PREFILL ? v[CONTEXT] : 1;
	return (struct model_ask){
		.phase = (enum model_phase)v[PHASE],
		.context = (uint32_t)v[CONTEXT],
		.batch = (uint32_t)v[BATCH],
		.weights = (enum model_type)v[WEIGHTS],
		.group = group_sizes[v[GROUP]],
		.kv = (enum model_type)v[KV],
		.page = (uint32_t)v[PAGE],
		.kv_apart = v[KV_LAYOUT] == 1,
		.page_named = args->named[PAGE],
		.layout_named = args->named[KV_LAYOUT],
		.kv_to_array = v[DEQUANT] == 1,
		.kv_group = (enum model_kv_group)v[KV_GROUP],
		.context_min = (uint32_t)v[CONTEXT_MIN],
		.chunk = (uint32_t)v[CHUNK],
		.group_named = args->named[GROUP],
		.kv_group_named = args->named[KV_GROUP],
		.context_min_named = args->named[CONTEXT_MIN],
		.chunk_named = args->named[CHUNK],
	};
}

bool model_ask_chooses(const struct npu_args *args) { return args->value[TILE] == 0; }

/* ---- the model ---- */

static bool unknown_model(const char *name, struct npu_error *err)
{
	const char *names[256];
	unsigned n = model_table_size < 256 ? model_table_size : 256;
	for (unsigned i = 0; i < n; i++)
		names[i] = model_table[i].name;
	const char *near = npu_nearest(name, names, n);
	return npu_fail(err, NPU_ERR_VALUE, "unknown model \"%.64s\"; %s%s%s", name, near ? "did you mean " : "",
			near ? near : "npusim model list names them, and a file would be ./FILE or FILE.json", near ? "?" : "");
}

bool model_read(const char *name, struct transformer *dims, struct npu_error *err)
{
	uint64_t nbytes;
	const struct model_entry *entry = model_find(name);
	if (entry) {
		model_dims(entry, dims);
		return true;
	}
	if (strcmp(name, "-") != 0 && !strchr(name, '/') && !strstr(name, ".json") && access(name, F_OK) != 0)
		return unknown_model(name, err);
	char *text = read_whole_file(name, CONFIG_MAX, &nbytes, err);
	if (!text)
		return false;
	bool ok = model_config_read(strcmp(name, "-") == 0 ? "stdin" : name, text, nbytes, dims, err);
	free(text);
	npu_plain(file_name(name), strlen(file_name(name)), dims->name, sizeof dims->name);
	return ok;
}

static int list(void)
{
	static const char *const titles[] = { "model", "parameters", "layers", "hidden", "heads", "kv_heads", "context", NULL };
	struct report_table *table = report_table_new(titles);
	for (unsigned i = 0; table && i < model_table_size; i++) {
		const struct transformer *t = &model_table[i].dims;
		report_table_row(table, model_table[i].name);
		report_table_count(table, model_table[i].parameters);
		report_table_count(table, t->layers);
		report_table_count(table, t->hidden);
		report_table_count(table, t->heads);
		report_table_count(table, t->kv_heads);
		report_table_count(table, t->max_context);
	}
	return table && report_table_print(table, stdout, &(struct report_style){ 0 }) ? 0 : cli_usage("out of memory");
}

/* ---- the step ---- */

static int write_json(const struct cli *cli, const struct model_step *s, const struct npu_args *args)
{
	char line[512] = "";
	if (!cli_value(cli, "report"))
		return 0;
	int used = snprintf(line, sizeof line, "model %s ", s->dims->name);
	npu_args_print(&model_ask_parameters, args, line + used, sizeof line - (size_t)used);
	return report_finish(cli, model_report_json(s, line, report_json_args(&model_ask_parameters, args, NULL)));
}

static int run_step(const struct cli *cli, struct model_step *s, const struct npu_args *args)
{
	struct npu_error err = { 0 };
	bool color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	bool plan = cli_value(cli, "plan") != NULL;
	if (!(plan ? model_step_measure(s, &err) : model_step_run(s, model_parallel(), &err)))
		return cli_fail(&err);
	int status = 0;
	if (report_wants_lines(cli)) {
		model_print_head(s, stdout);
		if (!(plan ? model_print_plan(s, stdout, color) : model_print_report(s, stdout, color, cli_value(cli, "layers"))))
			status = cli_usage("out of memory");
	}
	int written = plan ? 0 : write_json(cli, s, args);
	return status ? status : written;
}

static int run(struct cli *cli)
{
	struct work work;
	struct npu_error err = { 0 };
	struct npu_args args;
	struct transformer dims;
	if (strcmp(cli->words[0], "list") == 0)
		return list();
	if (cli_value(cli, "plan") && cli_value(cli, "report"))
		return cli_usage("--plan runs nothing that --report could tell of");
	npu_args_init(&model_ask_parameters, &args);
	bool ok = work_config(&work, cli, &err);
	for (unsigned i = 0; ok && i < cli->nparameters; i++)
		ok = npu_args_set(&model_ask_parameters, &args, cli->parameters[i], &err);
	ok = ok && model_read(cli->words[0], &dims, &err);
	struct model_ask ask = model_ask_of(&args);
	struct model_step *s = ok ? model_step_new(&dims, &ask, &work.config, model_ask_chooses(&args), cli_value(cli, "exact"), &err) : NULL;
	int status = s ? run_step(cli, s, &args) : cli_fail(&err);
	model_step_free(s);
	work_fini(&work);
	return status;
}

static const struct cli_option options[] = {
	{ "plan", 0, NULL, "operators, tiles, SRAM and counts, without running any" },
	{ "exact", 0, NULL, "run every operator of every layer, at its own addresses, in full" },
	{ "layers", 0, NULL, "a table of all layers, too" },
	{ "report", 0, "FILE.json", "write the report as JSON (npusim.model/1); - is stdout, instead of the tables" },
	{ 0 },
};

const struct cli_command cmd_model = {
	.name = "model",
	.synopsis = "list | MODEL|CONFIG.json|- [phase=decode|prefill] [context=N] [batch=N] [weights=fp16|int8|int4] "
		    "[group=channel|32|64|128] [context_min=N] [chunk=N] [kv=fp16|int8|int4] [kv_group=head|token|half] [page=N] [kv_layout=page_head_kv|kv_page_head] [dequant=vector|matrix] [tile=auto|kernel] [section.key=value...]",
	.summary = "a step of a whole model: what a token or a prompt takes",
	.text = "Reads the dimensions of a model, by name or out of its Hugging Face config.json, makes a list of operators of a "
		"step, runs each kernel that it takes, and adds up time, traffic and energy.\n"
		"\n"
		"  npusim model llama-3-8b phase=decode context=4096 weights=int4 kv=int8 --hw edge-2mb\n"
		"  npusim model ./config.json phase=prefill context=2048 weights=int8 --plan\n"
		"\n"
		"Each operator is a program of its own, and they run one after the other. Layers of a kind are run once and counted, "
		"and a long operator is drawn out from two shorter runs; --exact does neither. Products of many rows take the tiles that "
		"tile=auto of npusim run would choose; tile=kernel leaves them to the kernel. What does not fit into the DRAM is "
		"refused with the numbers.\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.takes_parameters = true,
	.run = run,
};
