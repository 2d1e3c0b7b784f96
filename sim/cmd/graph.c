/* SPDX-License-Identifier: Apache-2.0 */
/* npusim graph: what had to come before what, and the chain that decided the run's length. */
#include "sim/graph.h"

#include "isa/units.h"
#include "sim/cli_work.h"
#include "sim/graphviz.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 20 };

struct ask {
	const char *path;
	uint32_t from, to;
	unsigned seconds;
};

static bool read_number(const char *text, char stop, uint32_t *out, const char **end)
{
	char *after;
	unsigned long long n = strtoull(text, &after, 10);
	if (*text < '0' || *text > '9' || *after != stop || n > UINT32_MAX)
		return false;
	*out = (uint32_t)n;
	*end = after;
	return true;
}

static bool read_ask(const struct cli *cli, struct ask *ask, struct npu_error *err)
{
	const char *window = cli_value(cli, "window"), *limit = cli_value(cli, "time-limit"), *at = window;
	*ask = (struct ask){ .path = cli_value(cli, "output"), .to = UINT32_MAX, .seconds = SECONDS };
	ask->path = ask->path ? ask->path : "-";
	if (window && !(read_number(at, ':', &ask->from, &at) && read_number(at + 1, '\0', &ask->to, &at) &&
			ask->from < ask->to && ask->to < UINT32_MAX))
		return npu_fail(err, NPU_ERR_USAGE, "--window %.40s: FIRST:END of instructions would be right, as in 100:200", window);
	if (limit && !(read_number(limit, '\0', &ask->seconds, &at) && ask->seconds > 0 && ask->seconds <= 3600))
		return npu_fail(err, NPU_ERR_USAGE, "--time-limit %.40s: 1 to 3600 seconds would be right", limit);
	return graphviz_check(ask->path, err);
}

static void tell(const struct graph_facts *f, const struct simulation *s, const char *path)
{
	uint32_t all = s->request.program->ninsns;
	printf("graph  %s   %s, a node a%s %s", path, npu_number_of(f->nodes, "node").text, f->node[0] == 'i' ? "n" : "", f->node);
	printf(", %s", npu_number_of(f->edges, "edge").text);
	if (f->to - f->from < all)
		printf("; instructions %" PRIu32 " to %" PRIu32 " of %s, --window shows others", f->from, f->to - 1, npu_count_text(all).text);
	putchar('\n');
}

static bool draw(const struct simulation *s, const struct ask *ask, struct npu_error *err)
{
	char *dot = NULL;
	size_t size;
	struct graph_facts facts;
	if (ask->from >= s->request.program->ninsns && ask->to != UINT32_MAX)
		return npu_fail(err, NPU_ERR_USAGE, "--window: the program has %s", npu_number_of(s->request.program->ninsns, "instruction").text);
	FILE *out = open_memstream(&dot, &size);
	if (!out)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	bool ok = graph_write(s, ask->from, ask->to, out, &facts, err);
	if (fclose(out) != 0)
		ok = ok && npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	ok = ok && graphviz_draw(dot, ask->path, ask->seconds, err);
	free(dot);
	if (ok && strcmp(ask->path, "-") != 0)
		tell(&facts, s, ask->path);
	return ok;
}

static int simulate_and_draw(const struct cli *cli, const struct work *work, void *context)
{
	struct npu_error err = { 0 };
	(void)cli;
	struct simulation_request request = {
		.hw = &work->config.hw, .dram_part = work->config.dram_part, .title = work->config.title,
		.program = work->program, .command = "graph", .subject = work->subject, .want_record = true, .want_critical = true,
		.progress = isatty(STDERR_FILENO) ? stderr : NULL,
	};
	struct simulation *s = simulate(&request, &err);
	bool ok = s && draw(s, context, &err);
	simulation_free(s);
	return ok ? 0 : cli_fail(&err);
}

static int run(struct cli *cli)
{
	struct npu_error err = { 0 };
	struct ask ask;
	return read_ask(cli, &ask, &err) ? work_run(cli, simulate_and_draw, &ask) : cli_fail(&err);
}

static const struct cli_option options[] = {
	{ "output", 'o', "FILE", "where to: .svg, .png, or .dot for the graph itself, which stdout (-, the default) gets, too" },
	{ "window", 0, "A:B", "only the instructions from number A up to, but not with, B" },
	{ "time-limit", 0, "SECONDS", "of the layout; 20 when not given" },
	MACRO_INCLUDE_OPTION,
	{ 0 },
};

const struct cli_command cmd_graph = {
	.name = "graph",
	.synopsis = "KERNEL|FILE.npu|FILE.npub|./PLUGIN.so|- [key=value...]",
	.summary = "draw what waits for what, and the critical path",
	.text = "Runs the program and draws its dependencies: posts that waits took (with the semaphore), the order of each queue "
		"(dashed), and in red the chain that decided how long the run takes. Up to 300 instructions are a node each; above "
		"that a node is a region, or a source line, or a window is drawn. Graphviz lays it out.\n"
		"\n"
		"  npusim graph gemm m=256 n=256 k=256 -o gemm.svg\n"
		"  npusim graph flash_attention --window 100:160 -o part.png\n",
	.options = options,
	.min_words = 1,
	.max_words = 1,
	.takes_hardware = true,
	.takes_parameters = true,
	.takes_plugins = true,
	.run = run,
};
