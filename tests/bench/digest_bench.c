/* SPDX-License-Identifier: Apache-2.0 */
/* One line of digests for each random case, so that a change meant for speed can be shown to change nothing else: run
 * it at both commits and compare with diff.
 *
 *   digest_bench machine FROM TO N   programs of at most N instructions, machines and programs of seeds [FROM, TO)
 *       SEED cycles=C forwards backwards unwatched
 *   digest_bench dram FROM TO N      N requests to a random DRAM part and controller
 *       SEED clocks=C at-once clk-by-clk unwatched
 *
 * `forwards` and `backwards` step the blocks of a cycle in either order, `at-once` and `clk-by-clk` are ways to advance
 * the DRAM's horizon: the two of a line must be equal. They are digests of all that an observer is told and of the
 * totals; `unwatched` has nobody to tell, so it digests the totals (of DRAM also the completions). Of back-to-back
 * transfers only the whole counts: how they are cut is nobody's business. SystemC's activations are left out. */
#include "tests/support/dram_part.h"
#include "tests/support/dram_streams.h"
#include "tests/support/machine_loop.h"
#include "tests/support/machine_random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHANNELS = 64,
	EVERYTHING = MACHINE_IDEAL_DRAM | MACHINE_IDEAL_SRAM | MACHINE_IDEAL_VECTOR | MACHINE_IDEAL_MATRIX |
		     MACHINE_IDEAL_DISPATCH,
};

static void mix(uint64_t *digest, uint64_t value)
{
	*digest = (*digest ^ value) * 0x9e3779b97f4a7c15u;
	*digest ^= *digest >> 31;
}

static void mix_words(uint64_t *digest, const void *words, size_t nbytes)
{
	for (size_t at = 0; at + sizeof(uint64_t) <= nbytes; at += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, (const char *)words + at, sizeof word);
		mix(digest, word);
	}
}

/* ---- what the buses carry, back-to-back transfers joined ---- */

struct buses {
	struct bus {
		uint64_t from, to, nbytes, digest;
		bool write;
	} of[CHANNELS];
	uint64_t ideal;
};

static void mix_transfer(uint64_t *digest, const struct bus *b)
{
	mix_words(digest, (const uint64_t[]){ b->from, b->to, b->nbytes, b->write }, 32);
}

static void flush_bus(struct bus *b)
{
	mix_transfer(&b->digest, b);
	b->nbytes = 0;
}

/* What takes no time (the ideal part) is told in any order, so it counts as a sum. */
static void carry(struct buses *all, uint32_t channel, uint64_t from, uint64_t to, uint64_t nbytes, bool write)
{
	struct bus *b = &all->of[channel % CHANNELS];
	if (from == to) {
		uint64_t one = 0;
		mix_transfer(&one, &(struct bus){ .from = from, .to = to, .nbytes = nbytes, .write = write });
		all->ideal += one;
		return;
	}
	bool joins = b->nbytes && b->write == write && from <= b->to && b->to <= to;
	if (!joins) {
		flush_bus(b);
		b->from = from;
		b->write = write;
	}
	b->to = to;
	b->nbytes += nbytes;
}

static void mix_buses(uint64_t *digest, struct buses *all)
{
	mix(digest, all->ideal);
	for (uint32_t i = 0; i < CHANNELS; i++) {
		flush_bus(&all->of[i]);
		mix(digest, all->of[i].digest);
	}
}

/* ---- a machine ---- */

static void mix_insn(uint64_t *digest, const struct probe_insn *i)
{
	const uint64_t words[] = { i->insn,         i->slot,       i->issued, i->head,          i->start,
				   i->stream_begin, i->stream_end, i->end,    i->enabled_by[0], i->enabled_by[1] };
	mix_words(digest, words, sizeof words);
}

/* Each engine tells in its own order, so each has a digest of its own. */
static void mix_record(uint64_t *digest, const struct machine_record *r)
{
	uint64_t engine[NPU_ENGINES] = { 0 };
	struct buses buses = { 0 };
	for (uint64_t i = 0; i < r->nspans; i++) {
		const struct probe_span *s = &r->spans[i];
		mix_words(&engine[s->engine], (const uint64_t[]){ s->state, s->insn, s->from, s->to }, 32);
	}
	for (uint64_t i = 0; i < r->ninsns; i++)
		mix_insn(&engine[r->insns[i].engine], &r->insns[i]);
	for (uint64_t i = 0; i < r->nlines; i++)
		mix_words(digest, (const uint64_t[]){ r->lines[i].state, r->lines[i].from, r->lines[i].to }, 24);
	for (uint64_t i = 0; i < r->ntransfers; i++) {
		const struct probe_transfer *t = &r->transfers[i];
		carry(&buses, t->channel, t->from, t->to, t->bytes, t->write);
	}
	mix_words(digest, engine, sizeof engine);
	mix_buses(digest, &buses);
}

enum way { FORWARDS, BACKWARDS, UNWATCHED, WAYS };

static uint64_t machine_digest(const struct hw *hw, const struct npu_program *program, unsigned ideal, enum way way,
			       uint64_t *cycles)
{
	struct machine_record record;
	struct probe probe = machine_record_probe(&record);
	if (way == UNWATCHED) {
		probe.span = NULL;
		probe.transfer = NULL;
	}
	struct machine_totals totals = { 0 };
	struct npu_error err = { 0 };
	uint64_t digest = 0;
	bool ok = machine_loop_run(hw, program, ideal, &probe, way == BACKWARDS, &totals, &err);
	mix_record(&digest, &record);
	totals.sc_activations = 0;
	mix_words(&digest, &totals, sizeof totals);
	for (const char *text = ok ? "" : err.text; *text; text++)
		mix(&digest, (unsigned char)*text);
	machine_record_free(&record);
	*cycles = totals.cycles;
	return digest;
}

static void print_machine(uint64_t seed, unsigned ninsns)
{
	static const unsigned ideals[] = { 0,
					   0,
					   0,
					   MACHINE_IDEAL_SRAM,
					   MACHINE_IDEAL_DRAM,
					   MACHINE_IDEAL_DISPATCH,
					   EVERYTHING,
					   MACHINE_IDEAL_VECTOR | MACHINE_IDEAL_MATRIX };
	struct hw hw = machine_random_hw(seed);
	struct npu_program *program = machine_random_program(seed, &hw, ninsns);
	uint64_t cycles, digest[WAYS];
	for (int way = 0; way < WAYS; way++)
		digest[way] = machine_digest(&hw, program, ideals[seed % 8], (enum way)way, &cycles);
	printf("%" PRIu64 " cycles=%" PRIu64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", seed, cycles,
	       digest[FORWARDS], digest[BACKWARDS], digest[UNWATCHED]);
	npu_program_free(program);
}

/* ---- DRAM alone ---- */

enum advance { AT_ONCE, CLK_BY_CLK, QUIETLY };

struct dram_watch {
	uint64_t command[CHANNELS];
	uint64_t done; /* a sum: channels complete in any order */
	struct buses buses;
};

static void on_command(void *ctx, const struct dram_command *c)
{
	struct dram_watch *w = ctx;
	const uint64_t words[] = { c->clk, c->op, c->rank, c->bank_group, c->bank, c->row, c->column };
	mix_words(&w->command[c->channel], words, sizeof words);
}

static void on_transfer(void *ctx, uint32_t channel, uint64_t from, uint64_t to, uint32_t nbytes, bool write)
{
	carry(&((struct dram_watch *)ctx)->buses, channel, from, to, nbytes, write);
}

static void on_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct dram_watch *w = ctx;
	uint64_t one = port;
	mix(&one, tag);
	mix(&one, clk);
	w->done += one;
}

static uint64_t one_of(uint64_t *rng, const uint64_t *values, uint64_t n)
{
	return values[stream_random(rng) % n];
}

#define ONE_OF(rng, ...)                                                                                               \
	one_of(rng, (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static struct dram_config random_part(uint64_t *rng)
{
	struct dram_config c = dram_part(dram_part_names[stream_random(rng) % 7]);
	c.channels = (uint32_t)ONE_OF(rng, 1, 2, 4);
	c.ranks = (uint32_t)ONE_OF(rng, 1, 1, 1, 2);
	c.channel_interleave = ONE_OF(rng, 256, 256, 512, 1024);
	c.channel_hash = ONE_OF(rng, 0, 1);
	c.bank_hash = ONE_OF(rng, 0, 1);
	if (c.bank_groups > 1)
		c.mapping = (uint32_t)ONE_OF(rng, DRAM_RoBaCoBg, DRAM_RoBaCoBg, DRAM_RoBaBgCo);
	c.read_queue = (uint32_t)ONE_OF(rng, 32, 32, 64, 5, 20);
	c.write_queue = (uint32_t)ONE_OF(rng, 32, 32, 3, 17);
	c.drain_high = (uint32_t)ONE_OF(rng, 80, 50, 100);
	c.write_wait = (uint32_t)ONE_OF(rng, 4096, 200, 1000);
	c.turn = (uint32_t)ONE_OF(rng, 128, 128, 7, 1, 20);
	c.hit_cap = (uint32_t)ONE_OF(rng, 32, 32, 4, 0, 11);
	c.refresh = (uint32_t)ONE_OF(rng, DRAM_REFRESH_ALLBANK, DRAM_REFRESH_PERBANK, DRAM_REFRESH_NONE);
	c.front_delay = (uint32_t)ONE_OF(rng, 0, 7);
	c.back_delay = (uint32_t)ONE_OF(rng, 0, 5);
	return c;
}

/* Ports walk on in steps of their own, with jumps, so that row hits, conflicts and refreshes all occur. */
static void push_requests(struct dram *d, uint64_t seed, unsigned n)
{
	uint64_t rng = seed * 2 + 1, clk = 0, at[3] = { 0, 1 << 18, 1 << 22 };
	uint64_t pause = ONE_OF(&rng, 0, 4, 20, 60), jump = ONE_OF(&rng, 4, 16, 64, 1024);
	uint32_t most = (uint32_t)ONE_OF(&rng, 64, 256, 256, 1024), whole = (uint32_t)ONE_OF(&rng, 1, 32, 256);
	for (uint32_t tag = 0; tag < n; tag++) {
		uint64_t x = stream_random(&rng) << 32 | stream_random(&rng);
		uint32_t port = x % 3, nbytes = (uint32_t)((x >> 8) % most / whole * whole);
		clk += x >> 20 & 3 ? 0 : (x >> 24 & 0xffff) % (2 * pause + 1);
		clk += x >> 40 & 511 ? 0 : 20000;
		if (stream_random(&rng) % jump == 0)
			at[port] = stream_random(&rng) % (1 << 24) / whole * whole;
		struct dram_request r = { .addr = at[port],
					  .nbytes = nbytes ? nbytes : whole,
					  .tag = tag,
					  .write = port == 2 || (x >> 60) == 0,
					  .port = (uint8_t)port };
		dram_push(d, clk, &r);
		at[port] += r.nbytes;
	}
}

static uint64_t dram_digest(const struct dram_config *c, uint64_t seed, unsigned n, enum advance way, uint64_t *clocks)
{
	struct dram_watch w = { 0 };
	struct dram_hooks hooks = { .ctx = &w, .done = on_done, .reaction_clk = way == CLK_BY_CLK ? 0 : UINT64_MAX };
	if (way != QUIETLY) {
		hooks.command = on_command;
		hooks.transfer = on_transfer;
	}
	struct dram *d = dram_new(c, &hooks);
	if (!d)
		exit(1);
	push_requests(d, seed, n);
	for (uint64_t horizon = 0; way == CLK_BY_CLK && dram_run(d, horizon) != UINT64_MAX;)
		horizon++;
	while (dram_run(d, UINT64_MAX) != UINT64_MAX)
		;
	*clocks = dram_drain(d);
	struct dram_stats stats;
	dram_stats(d, &stats);
	dram_free(d);
	uint64_t digest = w.done;
	mix_words(&digest, w.command, sizeof w.command);
	mix_buses(&digest, &w.buses);
	mix_words(&digest, &stats, sizeof stats);
	return digest;
}

static void print_dram(uint64_t seed, unsigned nrequests)
{
	uint64_t rng = seed + 1, clocks, digest[3];
	struct dram_config c = random_part(&rng);
	for (int way = 0; way < 3; way++)
		digest[way] = dram_digest(&c, seed, nrequests, (enum advance)way, &clocks);
	printf("%" PRIu64 " clocks=%" PRIu64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", seed, clocks,
	       digest[AT_ONCE], digest[CLK_BY_CLK], digest[QUIETLY]);
}

int main(int argc, char **argv)
{
	bool machine = argc == 5 && strcmp(argv[1], "machine") == 0, dram = argc == 5 && strcmp(argv[1], "dram") == 0;
	if (!machine && !dram) {
		fprintf(stderr, "usage: digest_bench machine|dram FROM TO N\n");
		return 2;
	}
	uint64_t to = strtoull(argv[3], NULL, 10);
	for (uint64_t seed = strtoull(argv[2], NULL, 10); seed < to; seed++)
		(machine ? print_machine : print_dram)(seed, (unsigned)atoi(argv[4]));
	return 0;
}
