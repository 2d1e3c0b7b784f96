/* SPDX-License-Identifier: Apache-2.0 */
/* npusim import: other people's workloads, layer by layer. */
#include "isa/units.h"
#include "models/matrix.h"
#include "sim/cli_work.h"
#include "sim/cmd/program_output.h"
#include "sim/cmd/report_file.h"
#include "sim/config_file.h"
#include "sim/model/report.h"
#include "sim/model/runs.h"
#include "sim/report_json.h"
#include "sim/report_table.h"
#include "traces/scalesim.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_MAX = 16 << 20 };
enum { DTYPE, TILE };

static const char *const dtypes[] = { "fp16", "bf16", "int8", NULL };
static const enum npu_dtype types[] = { NPU_FP16, NPU_BF16, NPU_INT8 };
static const char *const tiles[] = { "kernel", "auto", NULL };
static const struct npu_param params[] = {
	[DTYPE] = { .name = "dtype", .type = NPU_PARAM_CHOICE, .choices = dtypes, .unit = "",
		    .meaning = "element type of the operands" },
	[TILE] = { .name = "tile", .type = NPU_PARAM_CHOICE, .choices = tiles, .unit = "",
		   .meaning = "tiles of products: the kernel's own, or by traffic and a short search" },
};
static const struct npu_kernel parameters = { .name = "import", .params = params, .nparams = 2 };

/* A list, and what becomes of it. */
struct import {
	const struct config *config;
	bool exact; /* no layer is drawn out */
	struct npu_args args;
	struct scalesim list;
	struct model_run *runs; /* [list.n] */
	unsigned njobs;
	struct model_figures total;
};

/* False of a product, and of a convolution whose windows follow one another in X without a gap: these are the rows of A as they lie. */
static bool gathers(const struct scalesim_layer *l)
{
	if (!l->convolution || (l->filter_h == 1 && l->filter_w == 1 && l->stride == 1))
		return false;
	bool one = l->filter_h == l->height, rows = l->filter_h == l->stride && l->height % l->stride == 0;
	return l->filter_w != l->width || (!one && !rows);
}

static bool resolve(struct import *im, unsigned i, struct npu_error *err)
{
	const struct scalesim_layer *l = &im->list.layers[i];
	bool convolution = gathers(l);
	char text[9][32];
	const char *args[9];
	unsigned n = 0;
	for (unsigned a = 0; a < 9; a++)
		args[a] = text[a];
#define ARG(name, value) snprintf(text[n++], sizeof text[0], name "=%" PRIu32, value)
	if (convolution) {
		ARG("batch", l->batch);
		ARG("height", l->height);
		ARG("width", l->width);
		ARG("channels", l->channels);
		ARG("filter_h", l->filter_h);
		ARG("filter_w", l->filter_w);
		ARG("filters", l->filters);
		ARG("stride", l->stride);
	} else {
		ARG("m", l->m);
		ARG("n", l->n);
		ARG("k", l->k);
	}
#undef ARG
	snprintf(text[n++], sizeof text[0], "dtype=%s", dtypes[im->args.value[DTYPE]]);
	im->runs[i] = (struct model_run){ .name = l->name };
	if (!model_run_resolve(&im->runs[i], convolution ? "conv2d" : "gemm", args, n, im->args.value[TILE] == 1, im->config, err))
		return false;
	im->runs[i].along = im->exact ? NULL : convolution ? "batch" : "m";
	return true;
}

/* ---- counts of the array alone ---- */

static struct npu_insn product(const struct import *im, const struct scalesim_layer *l)
{
	enum npu_dtype type = types[im->args.value[DTYPE]];
	return (struct npu_insn){ .op = NPU_OP_MATMUL, .matmul = { .dst = NPU_ACC_BIT, .m = l->m, .n = l->n, .k = l->k,
								   .a_type = type, .b_type = type } };
}

static double up(double value, double step) { return (double)(uint64_t)((value + step - 1) / step); }

/* SCALE-Sim's: (2 R + C + T - 2) a fold, with T what streams and R x C what lies in the array. docs/model.md. */
static double scalesim_cycles(const struct hw *hw, const struct scalesim_layer *l)
{
	double rows = (double)hw->matrix.rows, cols = (double)hw->matrix.cols, down = l->k, across = l->n, streamed = l->m;
	switch (hw->matrix.dataflow) {
	case HW_DATAFLOW_OS:
		down = l->m;
		streamed = l->k;
		break;
	case HW_DATAFLOW_IS:
		across = l->m;
		streamed = l->n;
		break;
	case HW_DATAFLOW_WS:
		break;
	}
	return (2 * rows + cols + streamed - 2) * up(down, rows) * up(across, cols);
}

/* ---- output ---- */

static void add_row(struct report_table *table, const struct import *im, const char *name, const struct model_figures *f,
		    const char *const sizes[3], uint64_t array, double scalesim)
{
	char text[32];
	double us = f->cycles / im->config->hw.npu.clock_mhz, bytes = f->dram_read_bytes + f->dram_write_bytes;
	report_table_row(table, name);
	for (unsigned i = 0; i < 3; i++)
		report_table_text(table, sizes[i]);
	report_table_count(table, (uint64_t)(f->cycles + 0.5));
	report_table_count(table, array);
	report_table_count(table, (uint64_t)scalesim);
	snprintf(text, sizeof text, "%.1f %%", 100 * model_ratio(f->array_cycles, f->cycles));
	report_table_text(table, text);
	report_table_real(table, bytes / 1e6, 1);
	report_table_real(table, model_ratio(bytes, us * 1e3), 1);
	report_table_text(table, model_figures_bound(f));
}

static bool print(const struct import *im, const char *file)
{
	static const char *const titles[] = { "layer", "M", "N", "K", "cycles", "array", "SCALE-Sim", "MAC util", "DRAM MB",
					      "GB/s", "bound", NULL };
	static const char *const none[] = { "", "", "" };
	const struct hw *hw = &im->config->hw;
	struct report_table *table = report_table_new(titles);
	uint64_t array = 0;
	double scalesim = 0;
	if (!table)
		return false;
	for (unsigned i = 0; i < im->list.n; i++) {
		const struct scalesim_layer *l = &im->list.layers[i];
		struct npu_insn insn = product(im, l);
		struct npu_text m = npu_count_text(l->m), n = npu_count_text(l->n), k = npu_count_text(l->k);
		uint64_t alone = matrix_alone_cycles(hw, &insn);
		add_row(table, im, l->name, &im->runs[i].one, (const char *[]){ m.text, n.text, k.text }, alone,
			scalesim_cycles(hw, l));
		array += alone;
		scalesim += scalesim_cycles(hw, l);
	}
	add_row(table, im, "total", &im->total, none, array, scalesim);
	printf("%s  %u layer%s, %s, on %s: %" PRIu64 "x%" PRIu64 " MACs\n\n", file_name(file), im->list.n,
	       im->list.n == 1 ? "" : "s", dtypes[im->args.value[DTYPE]], im->config->title, hw->matrix.rows, hw->matrix.cols);
	bool color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	if (!report_table_print(table, stdout, &(struct report_style){ .color = color }))
		return false;
	double us = im->total.cycles / hw->npu.clock_mhz;
	printf(us < 1000 ? "\n%.2f us" : "\n%.2f ms", us < 1000 ? us : us / 1e3);
	printf("%s\n", im->list.n == 1 ? "" : ", one layer after the other");
	return true;
}

static json_t *layer_json(const struct import *im, unsigned i)
{
	const struct scalesim_layer *l = &im->list.layers[i];
	const struct model_run *r = &im->runs[i];
	struct npu_insn insn = product(im, l);
	double us = r->one.cycles / im->config->hw.npu.clock_mhz, bytes = r->one.dram_read_bytes + r->one.dram_write_bytes;
	json_t *row = json_pack("{s:o, s:s, s:o, s:f, s:f, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:s}", "name", report_json_text(l->name),
				"kernel", r->kernel->name, "params", report_json_args(r->kernel, &r->args, NULL), "cycles", r->one.cycles,
				"time_us", us, "array_cycles", (json_int_t)matrix_alone_cycles(&im->config->hw, &insn),
				"scalesim_cycles", scalesim_cycles(&im->config->hw, l), "macs", r->one.macs, "mac_utilization",
				model_ratio(r->one.array_cycles, r->one.cycles), "dram_read_bytes", r->one.dram_read_bytes,
				"dram_write_bytes", r->one.dram_write_bytes, "dram_gb_per_s", model_ratio(bytes, us * 1e3), "bound",
				model_figures_bound(&r->one));
	if (row) {
		json_object_set_new(row, "energy_uj", json_real(r->one.energy_total_uj));
		json_object_set_new(row, "drawn_out", json_boolean(r->lengths[2] > 0));
	}
	return row;
}

static int write_json(const struct cli *cli, const struct import *im)
{
	json_t *report = report_begin("npusim.import/1", "import", cli->words[1]), *layers = json_array();
	for (unsigned i = 0; i < im->list.n; i++)
		json_array_append_new(layers, layer_json(im, i));
	if (report) {
		json_object_set_new(report, "params", report_json_args(&parameters, &im->args, NULL));
		json_object_set_new(report, "cycles", json_real(im->total.cycles));
		json_object_set_new(report, "exact", json_boolean(im->exact));
		json_object_set_new(report, "runs", json_integer(im->njobs));
		json_object_set_new(report, "layers", layers);
	}
	return report_finish(cli, report);
}

/* "FOLDER/007-conv4.npub": in the order of the list, with characters of a name that files like. */
static void program_path(const char *folder, unsigned number, const char *name, char *out, size_t size)
{
	int n = snprintf(out, size, "%s/%03u-", folder, number);
	for (const char *at = name; *at && n > 0 && (size_t)n + 6 < size; at++)
		out[n++] = isalnum((unsigned char)*at) || strchr("._-", *at) ? *at : '_';
	snprintf(out + n, size - (size_t)n, ".npub");
}

static bool write_programs(const struct import *im, const char *folder, struct npu_error *err)
{
	struct npu_capacity capacity = hw_capacity(&im->config->hw);
	char path[4096];
	if (mkdir(folder, 0777) != 0 && errno != EEXIST)
		return npu_fail(err, NPU_ERR_IO, "%s: the folder cannot be made: %s", folder, strerror(errno));
	for (unsigned i = 0; i < im->list.n; i++) {
		struct npu_args args = im->runs[i].args;
		struct npu_program *program = npu_kernel_build(im->runs[i].kernel, &capacity, &args, err);
		program_path(folder, i + 1, im->list.layers[i].name, path, sizeof path);
		bool ok = program && program_output(program, path, PROGRAM_BINARY, err);
		npu_program_free(program);
		if (!ok)
			return false;
	}
	return true;
}

/* ---- the command ---- */

static bool read_list(struct import *im, const char *path, struct npu_error *err)
{
	uint64_t nbytes;
	char *text = read_whole_file(path, LIST_MAX, &nbytes, err);
	bool ok = text && scalesim_read(strcmp(path, "-") == 0 ? "stdin" : path, text, nbytes, &im->list, err);
	free(text);
	if (!ok)
		return false;
	im->runs = calloc(im->list.n, sizeof *im->runs);
	if (!im->runs)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	for (unsigned i = 0; ok && i < im->list.n; i++)
		if (!(ok = resolve(im, i, err)))
			npu_error_place(err, strcmp(path, "-") == 0 ? "stdin" : path, im->list.layers[i].line, 0);
	return ok;
}

static bool run_list(struct import *im, struct npu_error *err)
{
	if (!model_runs(im->runs, im->list.n, im->config, model_parallel(), &im->njobs, err))
		return false;
	for (unsigned i = 0; i < im->list.n; i++)
		model_figures_add(&im->total, &im->runs[i].one, 1);
	return true;
}

static int import(const struct cli *cli, struct import *im)
{
	struct npu_error err = { 0 };
	const char *path = cli->words[1], *folder = cli_value(cli, "output");
	if (!read_list(im, path, &err))
		return cli_fail(&err);
	if (folder)
		return write_programs(im, folder, &err) ? 0 : cli_fail(&err);
	if (!run_list(im, &err))
		return cli_fail(&err);
	int status = report_wants_lines(cli) && !print(im, path) ? cli_usage("out of memory") : 0;
	int written = cli_value(cli, "report") ? write_json(cli, im) : 0;
	return status ? status : written;
}

static int run(struct cli *cli)
{
	struct work work;
	struct npu_error err = { 0 };
	struct import im = { .config = &work.config, .exact = cli_value(cli, "exact") };
	if (strcmp(cli->words[0], "scalesim") != 0)
		return cli_usage("import %.40s: scalesim would be right", cli->words[0]);
	if (cli_value(cli, "output") && cli_value(cli, "report"))
		return cli_usage("-o writes programs instead of running them, and --report has nothing to tell");
	npu_args_init(&parameters, &im.args);
	bool ok = work_config(&work, cli, &err);
	for (unsigned i = 0; ok && i < cli->nparameters; i++)
		ok = npu_args_set(&parameters, &im.args, cli->parameters[i], &err);
	int status = ok ? import(cli, &im) : cli_fail(&err);
	free(im.runs);
	scalesim_free(&im.list);
	work_fini(&work);
	return status;
}

static const struct cli_option options[] = {
	{ "output", 'o', "FOLDER", "write a program a layer there, instead of running them" },
	{ "exact", 0, NULL, "run every layer in full; long ones are else drawn out from two shorter runs" },
	{ "report", 0, "FILE.json", "write the figures as JSON (npusim.import/1); - is stdout, instead of the table" },
	{ 0 },
};

const struct cli_command cmd_import = {
	.name = "import",
	.synopsis = "scalesim FILE.csv|- [dtype=fp16|bf16|int8] [tile=kernel|auto] [section.key=value...]",
	.summary = "run the layers of somebody else's list",
	.text = "A layer list of SCALE-Sim: products (Layer, M, N, K) or convolutions (Layer name, IFMAP Height, IFMAP Width, Filter "
		"Height, Filter Width, Channels, Num Filter, Strides). Each layer is a program of gemm or conv2d, run one after the "
		"other. Beside its cycles stand those of the array alone, and those by SCALE-Sim's formula for an array of this size.\n"
		"\n"
		"  npusim import scalesim resnet50.csv --hw edge-2mb dtype=int8\n"
		"  npusim import scalesim gpt2.csv -o programs\n",
	.options = options,
	.min_words = 2,
	.max_words = 2,
	.takes_hardware = true,
	.takes_parameters = true,
	.run = run,
};
