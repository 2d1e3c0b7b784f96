/* SPDX-License-Identifier: Apache-2.0 */
/* npusim kernel: which kernels there are and what parameters they take. */
#include "sim/cli_table.h"
#include "sim/cli_work.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "isa/plain.h"
#include "isa/units.h"

static int list(void)
{
	struct libscols_table *table = table_new();
	table_column(table, "kernel", TABLE_WORD);
	table_column(table, "what it does", TABLE_TEXT);
	for (unsigned i = 0; npu_kernels[i]; i++) {
		const char *cells[] = { npu_kernels[i]->name, npu_kernels[i]->summary };
		table_row(table, cells, 2);
	}
	return table_print(table) ? 0 : cli_usage("out of memory");
}

static void value_text(const struct npu_param *param, int64_t value, char out[32])
{
	if (param->type == NPU_PARAM_CHOICE)
		snprintf(out, 32, "%s", param->choices[value]);
	else
		snprintf(out, 32, "%" PRId64, value);
}

static void range_text(const struct npu_param *param, char *out, unsigned size)
{
	unsigned used = 0;
	*out = '\0';
	if (param->type == NPU_PARAM_INT)
		snprintf(out, size, "%" PRId64 " to %" PRId64, param->min, param->max);
	else
		for (unsigned i = 0; param->choices[i] && used < size; i++)
			used += (unsigned)snprintf(out + used, size - used, "%s%s", i ? "|" : "", param->choices[i]);
}

/* `args` NULL: the kernel cannot be resolved with its defaults on this machine. */
static void print_parameters(const struct npu_kernel *kernel, const struct npu_args *args, const char *machine)
{
	char title[128], initial[32], value[32] = "", range[160];
	struct libscols_table *table = table_new();
	snprintf(title, sizeof title, "on %s", machine);
	table_column(table, "parameter", TABLE_WORD);
	table_column(table, "default", TABLE_NUMBER);
	table_column(table, title, TABLE_NUMBER);
	table_column(table, "legal", TABLE_WORD);
	table_column(table, "unit", TABLE_WORD);
	table_column(table, "meaning", TABLE_TEXT);
	for (unsigned i = 0; i < kernel->nparams; i++) {
		const struct npu_param *param = &kernel->params[i];
		value_text(param, param->initial, initial);
		if (args)
			value_text(param, args->value[i], value);
		range_text(param, range, sizeof range);
		const char *cells[] = { param->name, param->derived ? "derived" : initial, args ? value : "-", range,
					param->unit, param->meaning };
		table_row(table, cells, 6);
	}
	table_print(table);
}

/* ---- a file ---- */

/* Of a parameter, without what the command line says; NULL: not known. */
static const char *default_of(const struct npu_macro *without, const char *name)
{
	for (unsigned i = 0; without && i < without->nparams; i++)
		if (strcmp(without->params[i].name, name) == 0)
			return without->params[i].value;
	return NULL;
}

static void print_file_parameters(const struct npu_macro *m, const struct npu_macro *without)
{
	struct libscols_table *table = table_new();
	table_column(table, "parameter", TABLE_WORD);
	table_column(table, "default", TABLE_NUMBER);
	table_column(table, "value", TABLE_NUMBER);
	table_column(table, "legal", TABLE_WORD);
	bool meant = false;
	for (unsigned i = 0; i < m->nparams; i++)
		meant |= m->params[i].meaning[0] != '\0';
	if (meant)
		table_column(table, "meaning", TABLE_TEXT);
	for (unsigned i = 0; i < m->nparams; i++) {
		char meaning[256];
		const struct npu_macro_param *param = &m->params[i];
		const char *initial = default_of(without, param->name);
		bool number = *param->value == '-' || isdigit((unsigned char)*param->value);
		const char *cells[] = { param->name, initial ? initial : "-", param->value,
					param->words ? param->words : number ? "a number" : "a word", meaning };
		npu_plain(param->meaning, strlen(param->meaning), meaning, sizeof meaning);
		table_row(table, cells, meant ? 5 : 4);
	}
	table_print(table);
}

/* Which .param a file declares can depend on those before: it is assembled. */
static int show_file(const struct cli *cli)
{
	struct work work;
	struct npu_error err = { 0 };
	const char *path = cli->words[1];
	if (!work_config(&work, cli, &err) || !work_file(&work, cli, path, &err)) {
		work_fini(&work);
		return cli_fail(&err);
	}
	printf("%s: %s instructions on %s, %u parameter%s\n", file_name(path), npu_count_text(work.program->ninsns).text,
	       work.config.title, work.macro->nparams, work.macro->nparams == 1 ? "" : "s");
	if (work.macro->nparams) {
		struct npu_capacity capacity = hw_capacity(&work.config.hw);
		struct macro_load load = { .capacity = &capacity, .cli = cli };
		bool again = cli->nparameters && strcmp(path, "-") != 0;
		struct npu_macro *without = again ? macro_load(path, &load, &err) : NULL;
		printf("\n");
		print_file_parameters(work.macro, again || cli->nparameters ? without : work.macro);
		if (without)
			npu_macro_free(without);
	}
	work_fini(&work);
	return 0;
}

static int show(const struct cli *cli)
{
	if (work_is_file(cli->words[1]) && !npu_kernel_find(cli->words[1]))
		return show_file(cli);
	struct work work;
	struct npu_error err = { 0 };
	const struct npu_kernel *kernel = kernel_find(cli->words[1], &err);
	if (!kernel)
		return cli_fail(&err);
	int status = 0;
	bool ok = work_config(&work, cli, &err);
	npu_args_init(kernel, &work.args);
	for (unsigned i = 0; ok && i < cli->nparameters; i++)
		ok = npu_args_set(kernel, &work.args, cli->parameters[i], &err);
	if (ok) {
		struct npu_capacity capacity = hw_capacity(&work.config.hw);
		bool resolved = kernel->resolve(&capacity, &work.args, &err);
		printf("%s: %s\n\n", kernel->name, kernel->summary);
		print_parameters(kernel, resolved ? &work.args : NULL, work.config.title);
		if (!resolved)
			status = cli_fail(&err);
	} else {
		status = cli_fail(&err);
	}
	work_fini(&work);
	return status;
}

static int run(struct cli *cli)
{
	if (strcmp(cli->words[0], "list") == 0 && cli->nwords == 1)
		return list();
	if (strcmp(cli->words[0], "show") == 0 && cli->nwords == 2)
		return show(cli);
	return cli_usage("kernel %.40s: list, or show KERNEL or FILE, would be right", cli->words[0]);
}

static const struct cli_option options[] = {
	MACRO_INCLUDE_OPTION,
	{ 0 },
};

const struct cli_command cmd_kernel = {
	.name = "kernel",
	.synopsis = "list | show KERNEL|./PLUGIN.so|FILE [key=value...]",
	.summary = "list the kernels, or show the parameters of one",
	.text = "show prints defaults, legal values and what derived parameters (tiles) become on the hardware.\n"
		"\n"
		"  npusim kernel show flash_attention --hw edge-2mb\n"
		"\n"
		"Of a file, the .param that it declares.\n"
		"\n"
		"  npusim kernel show traces/gemm.npu dtype=int8\n",
	.options = options,
	.min_words = 1,
	.max_words = 2,
	.takes_hardware = true,
	.takes_parameters = true,
	.takes_plugins = true,
	.run = run,
};
