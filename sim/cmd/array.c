/* SPDX-License-Identifier: Apache-2.0 */
/* npusim array: one product on the array alone, operands always there. */
#include "isa/units.h"
#include "models/matrix.h"
#include "sim/cli_work.h"
#include "sim/cmd/report_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The dimensions of an instruction have 20 bits. */
enum { DIMENSION_MAX = (1 << 20) - 1 };

static const struct {
	const char *name;
	enum npu_dtype dtype;
	enum hw_value preset;
} types[] = {
	{ "fp16", NPU_FP16, HW_MATRIX_FP16 },
	{ "bf16", NPU_BF16, HW_MATRIX_BF16 },
	{ "int8", NPU_INT8, HW_MATRIX_INT8 },
};
enum { TYPES = sizeof types / sizeof *types };

static bool parse_dimension(const char *name, const char *text, uint32_t *value, struct npu_error *err)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text < '0' || *text > '9' || number < 1 || number > DIMENSION_MAX)
		return npu_fail(err, NPU_ERR_VALUE, "%s=%.40s: a whole number from 1 to %d would be right", name, text,
				DIMENSION_MAX);
	*value = (uint32_t)number;
	return true;
}

static bool parse_type(const struct cli *cli, const struct hw *hw, unsigned *type, struct npu_error *err)
{
	const char *name = NULL;
	for (unsigned i = 0; i < cli->nparameters; i++) {
		if (strncmp(cli->parameters[i], "dtype=", 6) != 0)
			return npu_fail(err, NPU_ERR_USAGE, "%.80s: the one parameter is dtype", cli->parameters[i]);
		name = cli->parameters[i] + 6;
	}
	for (*type = 0; *type < TYPES; ++*type)
		if (name ? strcmp(types[*type].name, name) == 0 : types[*type].preset == hw->matrix.dtype)
			return true;
	return npu_fail(err, NPU_ERR_VALUE, "dtype=%.40s: fp16, bf16 or int8 would be right", name ? name : "");
}

static int report(const struct cli *cli, const struct hw *hw, const struct npu_insn *insn, unsigned type)
{
	char text[32], remark[96];
	struct matrix_plan plan = matrix_plan(hw, insn);
	uint64_t cycles = matrix_alone_cycles(hw, insn);
	double peak = (double)hw_macs_per_cycle(hw, types[type].dtype);
	double utilization = (double)plan.macs / ((double)cycles * peak);
	if (report_wants_lines(cli)) {
		snprintf(remark, sizeof remark, "(%.1f us)", (double)cycles / hw->npu.clock_mhz);
		report_line("cycles", npu_count_text(cycles).text, remark);
		report_line("folds", npu_count_text(plan.folds).text, "");
		snprintf(remark, sizeof remark, "%s, peak %.0f a cycle", types[type].name, peak);
		report_line("macs", npu_count_text(plan.macs).text, remark);
		snprintf(text, sizeof text, "%.1f %%", utilization * 100);
		report_line("utilization", text, "");
	}
	json_t *json = report_begin("npusim.array/1", "array", NULL);
	if (json) {
		json_object_set_new(json, "params",
				    json_pack("{s:i, s:i, s:i, s:s}", "m", (int)insn->matmul.m, "k", (int)insn->matmul.k, "n",
					      (int)insn->matmul.n, "dtype", types[type].name));
		json_object_set_new(json, "hw",
				    json_pack("{s:s, s:I, s:I}", "name", hw->name, "rows", (json_int_t)hw->matrix.rows, "cols",
					      (json_int_t)hw->matrix.cols));
		json_object_set_new(json, "cycles", json_integer((json_int_t)cycles));
		json_object_set_new(json, "folds", json_integer((json_int_t)plan.folds));
		json_object_set_new(json, "macs", json_integer((json_int_t)plan.macs));
		json_object_set_new(json, "utilization", json_real(utilization));
	}
	return report_finish(cli, json);
}

static int run(struct cli *cli)
{
	struct work work;
	struct npu_error err = { 0 };
	struct npu_insn insn = { .op = NPU_OP_MATMUL };
	struct npu_matmul *product = &insn.matmul;
	unsigned type = 0;
	int status;
	if (work_config(&work, cli, &err) && parse_dimension("M", cli->words[0], &product->m, &err) &&
	    parse_dimension("K", cli->words[1], &product->k, &err) &&
	    parse_dimension("N", cli->words[2], &product->n, &err) && parse_type(cli, &work.config.hw, &type, &err)) {
		product->dst = NPU_ACC_BIT;
		product->a_type = product->b_type = types[type].dtype;
		status = report(cli, &work.config.hw, &insn, type);
	} else {
		status = cli_fail(&err);
	}
	work_fini(&work);
	return status;
}

static const struct cli_option options[] = {
	{ "report", 0, "FILE.json", "write the figures as JSON (npusim.array/1); - is stdout, instead of the lines" },
	{ 0 },
};

const struct cli_command cmd_array = {
	.name = "array",
	.synopsis = "M K N [dtype=fp16|bf16|int8] [section.key=value...]",
	.summary = "cycles of one product A[M,K] B[K,N] on the array alone",
	.text = "From the first weight in to the last result out, operands always there. matrix.activation_port and "
		"matrix.weight_port scale with rows and cols unless they are set.\n"
		"\n"
		"  npusim array 128 512 128 matrix.rows=16 matrix.cols=16 dtype=int8\n"
		"  npusim array 33 64 64 --hw gemmini16 matrix.dataflow=os\n"
		"\n"
		"gemmini16, axis-sa and tiny-tpu are arrays in RTL, counted as measured from the first operand in to the last result out.\n",
	.options = options,
	.min_words = 3,
	.max_words = 3,
	.takes_hardware = true,
	.takes_parameters = true,
	.run = run,
};
