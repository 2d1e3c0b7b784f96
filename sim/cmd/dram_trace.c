/* SPDX-License-Identifier: Apache-2.0 */
/* A request trace fed to the DRAM controller alone: reader, pump and latencies. */
#include "sim/cmd/dram_trace.h"

#include "isa/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Pushed and not completed, a channel: more than its queues, its pipeline and the steps of the pump hold, so that none starves. */
enum { IN_FLIGHT = 192, STEP_CLK = 64 };

/* Clocks to come must fit behind it, and figures in what JSON readers hold exactly. */
#define CYCLE_MAX (1ULL << 52)

struct line {
	uint64_t addr, cycle;
	uint32_t column; /* of the address, from 1 */
	bool write, has_cycle;
};

/* What is known of a request until the end. */
struct request {
	uint64_t from, done; /* `from`: its cycle; without cycles the clk at which the controller had taken it */
	bool write;
};

struct pump {
	const struct dram_config *config;
	struct dram *dram;
	struct request *requests;
	uint64_t pushed, completed, capacity;
	uint64_t in_flight; /* of all channels */
	uint32_t *fresh;    /* [in_flight] tags completed since they were last looked at, without cycles */
	uint32_t nfresh;
	bool timed, failed;
};

static void completed(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct pump *pump = ctx;
	(void)port;
	pump->requests[tag].done = clk;
	pump->completed++;
	if (!pump->timed)
		pump->fresh[pump->nfresh++] = tag;
}

/* A completion may not ask the DRAM when the request was taken, so that is done afterwards. */
static void look_at_fresh(struct pump *pump)
{
	for (uint32_t i = 0; i < pump->nfresh; i++)
		pump->requests[pump->fresh[i]].from = dram_taken_clk(pump->dram, 0, pump->fresh[i]);
	pump->nfresh = 0;
}

static bool push(struct pump *pump, uint64_t clk, const struct line *line)
{
	if (pump->pushed == pump->capacity) {
		uint64_t capacity = pump->capacity ? pump->capacity * 2 : 4096;
		struct request *more = realloc(pump->requests, capacity * sizeof *more);
		if (!more || capacity > UINT32_MAX)
			pump->failed = true;
		pump->requests = more ? more : pump->requests;
		if (pump->failed)
			return false;
		pump->capacity = capacity;
	}
	pump->requests[pump->pushed] = (struct request){ .from = clk, .write = line->write };
	struct dram_request r = {
		.addr = line->addr, .nbytes = DRAM_TRACE_BYTES, .tag = (uint32_t)pump->pushed++, .write = line->write
	};
	dram_push(pump->dram, clk, &r);
	return true;
}

static const char *skip_blank(const char *text)
{
	while (*text == ' ' || *text == '\t' || *text == '\r' || *text == ',')
		text++;
	return text;
}

static bool read_number(const char **at, int base, uint64_t *number)
{
	char *end;
	if (!isxdigit((unsigned char)**at))
		return false;
	errno = 0;
	*number = strtoull(*at, &end, base);
	bool ok = !errno && end != *at && (!*end || strchr(" \t\r\n,", *end));
	*at = skip_blank(end);
	return ok;
}

static bool read_direction(const char **at, bool *write)
{
	static const char *const words[] = { "R", "W", "READ", "WRITE" };
	size_t length = strcspn(*at, " \t\r\n,");
	for (unsigned i = 0; i < 4; i++)
		if (strlen(words[i]) == length && strncasecmp(*at, words[i], length) == 0) {
			*write = i % 2;
			*at = skip_blank(*at + length);
			return true;
		}
	return false;
}

/* NULL, or where the line of `length` bytes is no request. */
static const char *parse(const char *text, size_t length, struct line *line)
{
	const char *at = skip_blank(text), *word = at;
	if (!read_number(&at, strncasecmp(at, "0x", 2) == 0 ? 16 : 10, &line->addr))
		return word;
	word = at;
	if (!read_direction(&at, &line->write))
		return word;
	word = at;
	line->has_cycle = *at && *at != '\n' && *at != '#';
	line->cycle = 0;
	if (line->has_cycle && !read_number(&at, 10, &line->cycle))
		return word;
	/* A zero byte ends no line. */
	return *at == '\n' || *at == '#' || at == text + length ? NULL : at;
}

/* The pump is fed before it may starve. */
static void run_ahead(struct pump *pump, uint64_t *clk)
{
	while (pump->pushed - pump->completed >= pump->in_flight && !pump->failed) {
		uint64_t due = dram_run(pump->dram, *clk);
		*clk = due == UINT64_MAX ? *clk + 1 : due + STEP_CLK;
		dram_run(pump->dram, *clk);
		look_at_fresh(pump);
	}
}

static bool take_line(struct pump *pump, const struct line *line, uint64_t *clk, const char *name, uint32_t number,
		      struct npu_error *err)
{
	if (pump->pushed && pump->timed != line->has_cycle)
		return npu_fail_at(err, NPU_ERR_SYNTAX, name, number, line->column, "a cycle on every line or on none would be right");
	uint64_t capacity = dram_capacity(pump->config);
	if (line->addr >= capacity || capacity - line->addr < DRAM_TRACE_BYTES)
		return npu_fail_at(err, NPU_ERR_VALUE, name, number, line->column,
				   "%d bytes from 0x%llx end behind the last of the part's %s", DRAM_TRACE_BYTES,
				   (unsigned long long)line->addr, npu_bytes_text(capacity).text);
	if (line->cycle > CYCLE_MAX)
		return npu_fail_at(err, NPU_ERR_VALUE, name, number, line->column, "cycle %llu: 0 to %llu would be right",
				   (unsigned long long)line->cycle, (unsigned long long)CYCLE_MAX);
	pump->timed = line->has_cycle;
	if (pump->timed && pump->pushed && line->cycle < *clk)
		return npu_fail_at(err, NPU_ERR_VALUE, name, number, line->column,
				   "cycle %llu comes after cycle %llu; requests stand in order of time",
				   (unsigned long long)line->cycle, (unsigned long long)*clk);
	if (pump->timed) {
		*clk = line->cycle;
		dram_run(pump->dram, *clk);
	} else {
		run_ahead(pump, clk);
	}
	return push(pump, *clk, line) || npu_fail(err, NPU_ERR_MEMORY, "out of memory");
}

static bool pump_file(struct pump *pump, FILE *file, const char *name, struct npu_error *err)
{
	char *text = NULL;
	size_t size = 0;
	uint64_t clk = 0;
	bool ok = true;
	ssize_t length;
	for (uint32_t number = 1; ok && (length = getline(&text, &size, file)) > 0; number++) {
		struct line line;
		const char *at = skip_blank(text);
		if (at == text + length || *at == '\n' || *at == '#')
			continue;
		line.column = (uint32_t)(at - text) + 1;
		const char *bad = parse(text, (size_t)length, &line);
		ok = bad ? npu_fail_at(err, NPU_ERR_SYNTAX, name, number, (uint32_t)(bad - text) + 1,
				       "ADDRESS R|W [CYCLE] would be right, as in 0x1000 R")
			 : take_line(pump, &line, &clk, name, number, err);
	}
	if (ok && ferror(file))
		ok = npu_fail(err, NPU_ERR_IO, "%s: cannot be read: %s", name, strerror(errno));
	free(text);
	return ok;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static bool latencies(const struct pump *pump, struct dram_trace_figures *figures)
{
	uint64_t *latency = malloc((pump->pushed ? pump->pushed : 1) * sizeof *latency);
	uint64_t n = 0;
	double sum = 0;
	if (!latency)
		return false;
	for (uint64_t i = 0; i < pump->pushed; i++) {
		const struct request *r = &pump->requests[i];
		if (r->write)
			continue;
		latency[n] = r->done - r->from;
		sum += (double)latency[n++];
	}
	qsort(latency, n, sizeof *latency, by_size);
	figures->reads = n;
	if (n) {
		figures->mean_latency = sum / (double)n;
		figures->median_latency = ((double)latency[(n - 1) / 2] + (double)latency[n / 2]) / 2;
		figures->max_latency = latency[n - 1];
	}
	free(latency);
	return true;
}

static void pump_fini(struct pump *pump)
{
	dram_free(pump->dram);
	free(pump->requests);
	free(pump->fresh);
	free(pump);
}

static bool run_open(struct pump *pump, FILE *file, const char *name, struct dram_trace_figures *figures,
		     struct npu_error *err)
{
	struct dram_hooks hooks = { .ctx = pump, .done = completed, .reaction_clk = UINT64_MAX };
	*figures = (struct dram_trace_figures){ 0 };
	pump->in_flight = (uint64_t)IN_FLIGHT * pump->config->channels;
	pump->fresh = malloc(pump->in_flight * sizeof *pump->fresh);
	pump->dram = dram_new(pump->config, &hooks);
	if (!pump->dram || !pump->fresh)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	if (!pump_file(pump, file, name, err))
		return false;
	uint64_t end = dram_drain(pump->dram);
	look_at_fresh(pump);
	uint64_t begin = pump->timed ? pump->requests[0].from : 0;
	figures->requests = pump->pushed;
	figures->clocks = end > begin ? end - begin : 0;
	dram_stats(pump->dram, &figures->stats);
	return (!pump->failed && latencies(pump, figures)) || npu_fail(err, NPU_ERR_MEMORY, "out of memory");
}

bool dram_trace_run(const struct dram_config *config, const char *path, struct dram_trace_figures *figures,
		    struct npu_error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	FILE *file = is_stdin ? stdin : fopen(path, "r");
	if (!file)
		return npu_fail(err, NPU_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
	struct pump *pump = calloc(1, sizeof *pump);
	bool ok = pump != NULL || npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	if (ok) {
		pump->config = config;
		ok = run_open(pump, file, is_stdin ? "stdin" : path, figures, err);
		pump_fini(pump);
	}
	if (!is_stdin)
		fclose(file);
	return ok;
}
