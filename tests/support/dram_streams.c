/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as reference/dram/make_streams.py makes them, request by request, without a file. */
#include "tests/support/dram_streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENTIAL_READ, SEQUENTIAL_WRITE, PINGPONG, BLOCKS_READ, BLOCKS_WRITE, BLOCKS_MIX, STRIDED };

enum { LINE = 64, KB = 1024, MB = 1024 * 1024, SPAN = 256 * MB, TOTAL = 4 * MB };

static const struct stream streams[] = {
	{ .name = "a_seq_rd", .kind = SEQUENTIAL_READ, .requests = 65536 },
	{ .name = "b_seq_wr", .kind = SEQUENTIAL_WRITE, .requests = 65536 },
	{ .name = "c1_pingpong4K_samebank", .kind = PINGPONG, .size = 64 * MB, .requests = 65536 },
	{ .name = "c2_pingpong4K_offset", .kind = PINGPONG, .size = 64 * MB + 0x5000, .requests = 65536 },
	{ .name = "d_rand64", .kind = BLOCKS_READ, .size = 64, .requests = 65536 },
	{ .name = "e_rand4K", .kind = BLOCKS_READ, .size = 4 * KB, .requests = 65536 },
	{ .name = "f_rand512", .kind = BLOCKS_READ, .size = 512, .requests = 65536 },
	{ .name = "f_rand1K", .kind = BLOCKS_READ, .size = 1 * KB, .requests = 65536 },
	{ .name = "f_rand16K", .kind = BLOCKS_READ, .size = 16 * KB, .requests = 65536 },
	{ .name = "f_rand64K", .kind = BLOCKS_READ, .size = 64 * KB, .requests = 65536 },
	{ .name = "g_stride2K", .kind = STRIDED, .size = 2 * KB, .requests = 32768 },
	{ .name = "g_stride8K", .kind = STRIDED, .size = 8 * KB, .requests = 32768 },
	{ .name = "x_rand64_wr", .kind = BLOCKS_WRITE, .size = 64, .requests = 65536 },
	{ .name = "x_rand64_mix", .kind = BLOCKS_MIX, .size = 64, .requests = 65536 },
};

uint64_t stream_random(uint64_t *state)
{
	uint64_t x = *state;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545F4914F6CDD1Du >> 32;
}

bool stream_open(struct stream *s, const char *name)
{
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
		if (strcmp(streams[i].name, name) == 0) {
			*s = streams[i];
			s->rng = 0x9E3779B97F4A7C15u;
			s->nbytes = LINE;
			return true;
		}
	return false;
}

/* A block of `size` bytes at a random multiple of its size, line by line. */
static uint64_t block_line(struct stream *s, uint32_t i)
{
	uint32_t lines = (uint32_t)(s->size / LINE);
	if (i % lines == 0)
		s->block = stream_random(&s->rng) % (SPAN / s->size) * s->size;
	return s->block + (uint64_t)(i % lines) * LINE;
}

/* 4 KiB read at A, then 4 KiB written at B = A + size, and on. */
static uint64_t pingpong_line(const struct stream *s, uint32_t i, bool *write)
{
	uint32_t lines = 4 * KB / LINE, chunk = i / lines / 2;
	*write = i / lines % 2 == 1;
	return (*write ? s->size : 0) + (uint64_t)chunk * 4 * KB + (uint64_t)(i % lines) * LINE;
}

static uint64_t strided_line(const struct stream *s, uint32_t i)
{
	uint32_t per_pass = (uint32_t)(16 * MB / s->size);
	return (uint64_t)(i % per_pass) * s->size + (uint64_t)(i / per_pass) * LINE;
}

bool stream_next(struct stream *s, uint64_t *addr, bool *write)
{
	uint32_t i = s->at++;
	if (i >= s->requests)
		return false;
	*write = s->kind == SEQUENTIAL_WRITE || s->kind == BLOCKS_WRITE || (s->kind == BLOCKS_MIX && (i & 1));
	if (s->kind == PINGPONG)
		*addr = pingpong_line(s, i, write);
	else if (s->kind == STRIDED)
		*addr = strided_line(s, i);
	else if (s->kind == SEQUENTIAL_READ || s->kind == SEQUENTIAL_WRITE)
		*addr = (uint64_t)i * s->nbytes;
	else
		*addr = block_line(s, i);
	return true;
}

/* Requests pushed and not completed; more than both queues and the pipeline hold, so the core never starves. */
enum { IN_FLIGHT = 112, STEP_CLK = 64 };

static void completed(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	(void)port, (void)tag, (void)clk;
	++*(uint64_t *)ctx;
}

struct observer {
	uint64_t completed;
	void (*command)(void *, const struct dram_command *);
	void *ctx;
};

static void observe(void *ctx, const struct dram_command *c)
{
	struct observer *o = ctx;
	o->command(o->ctx, c);
}

struct pump_result stream_pump(const struct dram_config *config, struct stream *s,
			       void (*command)(void *, const struct dram_command *), void *ctx)
{
	struct observer o = { .command = command, .ctx = ctx };
	struct dram_hooks hooks = {
		.ctx = &o, .done = completed, .command = command ? observe : NULL, .reaction_clk = UINT64_MAX
	};
	struct dram *d = dram_new(config, &hooks);
	if (!d) {
		fprintf(stderr, "the DRAM core refuses this configuration\n");
		exit(2);
	}
	struct dram_request r = { .nbytes = s->nbytes };
	uint64_t clk = 0, pushed = 0;
	bool more = true, write = false;
	while (more) {
		while (pushed - o.completed < IN_FLIGHT && (more = stream_next(s, &r.addr, &write))) {
			r.write = write;
			r.tag = (uint32_t)pushed++;
			dram_push(d, clk, &r);
		}
		uint64_t due = dram_run(d, clk);
		clk = due == UINT64_MAX ? clk + 1 : due + STEP_CLK;
		dram_run(d, clk);
	}
	struct pump_result result = { .clocks = dram_drain(d), .completed = o.completed };
	dram_stats(d, &result.stats);
	dram_free(d);
	return result;
}
