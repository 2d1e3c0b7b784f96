/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of a command line to a machine and a program. */
#include "sim/cli_work.h"
#include "isa/plain.h"
#include "models/matrix.h"
#include "sim/choose.h"
#include "sim/config_file.h"
#include "sim/model/jobs.h"
#include "sim/output.h"
#include "sim/plugin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strcmp(path, "-") == 0 ? "stdin" : slash ? slash + 1 : path;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n >= m && strcmp(name + n - m, suffix) == 0;
}

const struct npu_kernel *kernel_find(const char *name, struct npu_error *err)
{
	const char *names[256];
	unsigned n = 0;
	if (is_plugin(name))
		return plugin_kernel(name, err);
	const struct npu_kernel *kernel = npu_kernel_find(name);
	if (kernel)
		return kernel;
	while (npu_kernels[n] && n < 256) {
		names[n] = npu_kernels[n]->name;
		n++;
	}
	const char *meant = npu_nearest(name, names, n);
	npu_fail(err, NPU_ERR_VALUE, "unknown kernel \"%.64s\"; %s%s%s", name, meant ? "did you mean " : "",
		 meant ? meant : "npusim kernel list names them, and a file would be ./FILE, FILE.npu or FILE.npub",
		 meant ? "?" : "");
	return NULL;
}

bool write_file(const char *path, const void *bytes, uint64_t nbytes, struct npu_error *err)
{
	struct output *output = output_open(path, err);
	if (!output)
		return false;
	/* A failed write is told by the commit. */
	fwrite(bytes, 1, nbytes, output_stream(output));
	return output_commit(output, err);
}

bool work_config(struct work *work, const struct cli *cli, struct npu_error *err)
{
	*work = (struct work){ 0 };
	config_init(&work->config);
	return config_read(&work->config, cli->hw, cli->sets, cli->nsets, err);
}

void work_fini(struct work *work)
{
	if (work->macro)
		npu_macro_free(work->macro);
	else
		npu_program_free(work->program);
	config_fini(&work->config);
}

int work_run(const struct cli *cli, int (*run)(const struct cli *, const struct work *, void *context), void *context)
{
	struct work work;
	struct npu_error err = { 0 };
	bool ok = work_config(&work, cli, &err) && work_program(&work, cli, cli->words[0], &err);
	int status = ok ? run(cli, &work, context) : cli_fail(&err);
	work_fini(&work);
	return status;
}

bool work_is_file(const char *name)
{
	if (is_plugin(name))
		return false;
	return strcmp(name, "-") == 0 || strchr(name, '/') || has_suffix(name, ".npu") || has_suffix(name, ".npub") ||
	       (!npu_kernel_find(name) && access(name, F_OK) == 0);
}

bool work_file(struct work *work, const struct cli *cli, const char *name, struct npu_error *err)
{
	struct npu_capacity capacity = hw_capacity(&work->config.hw);
	struct macro_load load = { .capacity = &capacity, .params = cli->parameters, .nparams = cli->nparameters, .cli = cli };
	work->macro = macro_load(name, &load, err);
	work->program = work->macro ? work->macro->program : NULL;
	return work->program != NULL;
}

/* tile=auto, which is no parameter of any kernel. */
static bool is_choice(const struct npu_kernel *kernel, const char *parameter)
{
	return strcmp(parameter, "tile=auto") == 0 && npu_param_index(kernel, "tile") < 0;
}

static bool build_kernel(struct work *work, const struct cli *cli, const char *name, struct npu_error *err)
{
	struct npu_capacity capacity = hw_capacity(&work->config.hw);
	work->kernel = kernel_find(name, err);
	if (!work->kernel)
		return false;
	snprintf(work->subject, sizeof work->subject, "%s", work->kernel->name);
	npu_args_init(work->kernel, &work->args);
	bool choose = false;
	for (unsigned i = 0; i < cli->nparameters; i++)
		if (is_choice(work->kernel, cli->parameters[i]))
			choose = true;
		else if (!npu_args_set(work->kernel, &work->args, cli->parameters[i], err))
			return false;
	if (choose && !choose_tiles(work->kernel, &work->args, &work->config, model_parallel(), err))
		return false;
	work->program = npu_kernel_build(work->kernel, &capacity, &work->args, err);
	return work->program != NULL;
}

/* What only some machines can do. */
static bool check_machine(const struct hw *hw, const struct npu_program *program, struct npu_error *err)
{
	char place[256];
	for (uint32_t i = 0; i < program->ninsns; i++)
		if (program->insns[i].op == NPU_OP_MATMUL && !matrix_check(hw, &program->insns[i], err)) {
			npu_error_before(err, "%s: ", npu_insn_place(program, i, place, sizeof place));
			return false;
		}
	return true;
}

bool work_program(struct work *work, const struct cli *cli, const char *name, struct npu_error *err)
{
	const struct hw *hw = &work->config.hw;
	struct npu_capacity capacity = hw_capacity(hw);
	npu_plain(file_name(name), strlen(file_name(name)), work->subject, sizeof work->subject);
	if (!(work_is_file(name) ? work_file(work, cli, name, err) : build_kernel(work, cli, name, err)))
		return false;
	if (!npu_program_show_names(work->program))
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	return npu_program_fits(work->program, &capacity.limits, err) && check_machine(hw, work->program, err);
}
