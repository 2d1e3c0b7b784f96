/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of real runs: each link no longer than what it stands for, and shares that a changed machine bears out. */
#include "sim/config.h"
#include "sim/critical.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/machine_loop.h"
#include "tests/support/machine_random.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { SEEDS = 300, CASES = 6, LONGEST = 160 };

static bool loop_machine(const struct simulation_request *r, const struct probe *probe, struct machine_totals *totals,
			 struct npu_error *err)
{
	return machine_loop_run(r->hw, r->program, r->ideal, probe, false, totals, err);
}

static struct simulation *record(const struct hw *hw, const struct npu_program *p, unsigned ideal)
{
	struct npu_error err;
	struct simulation_request request = { .hw = hw, .program = p, .command = "run", .subject = "test", .ideal = ideal,
					      .want_record = true };
	struct simulation *s = simulate_on(loop_machine, &request, &err);
	ck_assert_msg(s != NULL, "%s", err.text);
	return s;
}

/* What each instruction is said to have waited for is borne out by the times of both. */
static void check_enablers(const struct simulation *s, const char *what)
{
	uint64_t latency = s->request.ideal & MACHINE_IDEAL_DISPATCH ? 0 : s->request.hw->sequencer.sync_latency;
	for (uint32_t i = 0; i < s->request.program->ninsns; i++) {
		const struct critical_enabled *by = &s->critical->enabled[i];
		const struct probe_insn *e = &s->record.events[i], *other = by->insn == PROBE_NOBODY ? NULL : &s->record.events[by->insn];
		bool sync = npu_op_is_sync(s->request.program->insns[i].op), right = false;
		ck_assert_msg((by->by == ENABLED_DISPATCH) == (other == NULL), "%s: #%u", what, (unsigned)i);
		switch (by->by) {
		case ENABLED_DISPATCH:
			right = e->issued == e->start || (sync && e->issued == e->head);
			break;
		case ENABLED_POST:
			right = other->end + latency == e->start || (sync && other->end + latency < e->end);
			break;
		case ENABLED_TURN:
			right = other->engine == e->engine && by->insn < i && (e->head == e->start || sync);
			break;
		case ENABLED_HAND_OFF:
			right = other->engine == e->engine && by->insn < i && other->end >= e->start;
			break;
		case ENABLED_STREAM:
		case ENABLED_PORT:
			right = other->engine == e->engine && by->insn < i && other->end > e->start && other->end <= e->end;
			break;
		}
		ck_assert_msg(right, "%s: #%u waited for %s of #%d", what, (unsigned)i, critical_enabler_name(by->by), (int)by->insn);
	}
}

/* No link of the chain is longer than the mechanism that it is put down to, and none lies outside its instruction. */
static void check_links(const struct simulation *s, const char *what)
{
	const struct critical *c = s->critical;
	uint64_t at = 0, latency = s->request.ideal & MACHINE_IDEAL_DISPATCH ? 0 : s->request.hw->sequencer.sync_latency;
	for (uint64_t i = 0; i < c->nsegments; i++) {
		const struct critical_segment *l = &c->segments[i];
		const struct probe_insn *e = l->insn == PROBE_NOBODY ? NULL : &s->record.events[l->insn];
		ck_assert_uint_eq(l->from, at);
		at = l->to;
		if (l->kind == CRITICAL_POST)
			ck_assert_msg(l->to - l->from == latency, "%s: a post of %llu cycles", what, (unsigned long long)(l->to - l->from));
		if (l->kind == CRITICAL_SERVICE)
			ck_assert_msg(e->start <= l->from && l->to <= e->end, "%s: #%u", what, (unsigned)l->insn);
		if (l->kind == CRITICAL_DISPATCH)
			ck_assert_msg(l->to <= e->issued, "%s: #%u is not issued", what, (unsigned)l->insn);
	}
	ck_assert_msg(at == s->account.cycles, "%s", what);
	/* Engines of this machine take the next instruction in the very cycle in which they can. */
	ck_assert_msg(c->kinds[CRITICAL_HAND_OFF] == 0, "%s: %llu cycles of hand-off", what,
		      (unsigned long long)c->kinds[CRITICAL_HAND_OFF]);
	check_enablers(s, what);
	ck_assert_msg(c->kinds[CRITICAL_LAUNCH] <= s->account.sequencer[NPU_SEQ_LAUNCH] || s->request.program->ninsns == 0, "%s", what);
}

START_TEST(links_are_no_longer_than_their_mechanism_in_random_programs_on_random_machines)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		char what[32];
		snprintf(what, sizeof(what), "seed %u", (unsigned)seed);
		struct hw hw = machine_random_hw(seed);
		struct npu_program *p = machine_random_program(seed, &hw, 60);
		struct simulation *s = record(&hw, p, seed % 4 ? 0 : (unsigned)(seed / 4 % (2 * MACHINE_IDEAL_DISPATCH)));
		check_links(s, what);
		simulation_free(s);
		npu_program_free(p);
	}
}
END_TEST

START_TEST(links_are_no_longer_than_their_mechanism_in_all_kernels_on_all_presets)
{
	const struct npu_kernel *k = npu_kernels[_i];
	struct case_rng rng = { 7 };
	unsigned ran = 0;
	for (const struct named_capacity *c = preset_capacities; c->name; c++)
		for (unsigned n = 0; n < CASES; n++) {
			struct npu_args args;
			struct npu_error err;
			struct hw hw;
			char what[64];
			random_args(k, &args, LONGEST, &rng);
			struct npu_program *p = npu_kernel_build(k, &c->capacity, &args, &err);
			if (!p)
				continue;
			ck_assert_msg(config_load(&hw, c->name, NULL, 0, &err), "%s", err.text);
			snprintf(what, sizeof(what), "%s on %s", k->name, c->name);
			struct simulation *s = record(&hw, p, n % 2 ? 0 : n * 6 % (2 * MACHINE_IDEAL_DISPATCH));
			check_links(s, what);
			simulation_free(s);
			npu_program_free(p);
			ran++;
		}
	ck_assert_uint_gt(ran, CASES);
}
END_TEST

/* ---- shares against changed machines ---- */

struct shares {
	double cycles;
	double active[NPU_ENGINES], path[NPU_ENGINES], post; /* of the cycles */
};

struct binding {
	const char *hw, *set, *kernel;
	struct {
		const char *name;
		int64_t value;
	} args[6];
	unsigned ideal;
	enum npu_engine engine; /* active nearly always, and nothing else binds */
};

static struct shares shares_of(const struct binding *b, const char *also, unsigned ideal)
{
	const char *sets[4];
	unsigned nsets = 0;
	struct npu_error err;
	struct npu_args args;
	struct hw hw;
	char set[128];
	snprintf(set, sizeof(set), "%s", b->set);
	for (char *word = strtok(set, " "); word; word = strtok(NULL, " "))
		sets[nsets++] = word;
	if (also)
		sets[nsets++] = also;
	ck_assert_msg(config_load(&hw, b->hw, sets, nsets, &err), "%s", err.text);
	const struct npu_kernel *k = npu_kernel_find(b->kernel);
	npu_args_init(k, &args);
	for (unsigned i = 0; i < 6 && b->args[i].name; i++) {
		int at = npu_param_index(k, b->args[i].name);
		ck_assert_int_ge(at, 0);
		args.value[at] = b->args[i].value;
		args.named[at] = true;
	}
	struct npu_capacity capacity = hw_capacity(&hw);
	struct npu_program *p = npu_kernel_build(k, &capacity, &args, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	struct simulation *s = record(&hw, p, b->ideal | ideal);
	check_links(s, b->kernel);
	struct shares shares = { .cycles = (double)s->account.cycles };
	shares.post = (double)s->critical->kinds[CRITICAL_POST] / shares.cycles;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		for (unsigned i = 0; i < NPU_STATES; i++)
			shares.path[e] += (double)s->critical->service[e][i] / shares.cycles;
		shares.active[e] = (double)s->account.active[e] / shares.cycles;
	}
	simulation_free(s);
	npu_program_free(p);
	return shares;
}

static const struct binding bindings[] = {
	{ "edge-1mb", "matrix.rows=16 matrix.cols=16", "gemm", { { "m", 256 }, { "n", 256 }, { "k", 512 } }, 0, NPU_ENGINE_MATRIX },
	{ "edge-1mb", "matrix.rows=16 matrix.cols=16 matrix.dataflow=os", "gemm", { { "m", 256 }, { "n", 256 }, { "k", 512 } }, 0,
	  NPU_ENGINE_MATRIX },
	{ "edge-1mb", "matrix.rows=16 matrix.cols=16 matrix.weight_load=serial", "gemm", { { "m", 256 }, { "n", 256 }, { "k", 512 } }, 0,
	  NPU_ENGINE_MATRIX },
	{ "edge-1mb", "", "flash_attention", { { "seq", 512 }, { "heads", 4 } }, MACHINE_IDEAL_DRAM, NPU_ENGINE_MATRIX },
	{ "edge-1mb", "", "gemm", { { "m", 64 }, { "n", 512 }, { "k", 1024 } }, 0, NPU_ENGINE_LOAD },
	{ "edge-2mb", "", "decode_attention_paged", { { "seq", 512 }, { "batch", 2 } }, 0, NPU_ENGINE_LOAD },
	{ "tiny-256k", "", "gemv", { { "n", 512 }, { "k", 512 } }, 0, NPU_ENGINE_LOAD },
};

/* The one that binds has about the share of its activity. An engine made perfect never wins more than its share: what has none
 * wins nothing. DRAM answers in another order to other arrivals, which is worth a hundredth either way. */
START_TEST(the_engine_that_binds_has_the_path_and_no_engine_wins_more_than_its_share)
{
	const struct binding *b = &bindings[_i];
	const double slack = 0.01;
	struct shares s = shares_of(b, NULL, 0);
	ck_assert_msg(s.active[b->engine] > 0.93, "active %.3f", s.active[b->engine]);
	ck_assert_msg(s.path[b->engine] > s.active[b->engine] - 0.04, "%.3f of the path, %.3f of the cycles", s.path[b->engine],
		      s.active[b->engine]);
	struct shares vector = shares_of(b, NULL, MACHINE_IDEAL_VECTOR), matrix = shares_of(b, NULL, MACHINE_IDEAL_MATRIX);
	double by_vector = 1 - vector.cycles / s.cycles, by_matrix = 1 - matrix.cycles / s.cycles;
	ck_assert_msg(by_vector <= s.path[NPU_ENGINE_VECTOR] + slack, "vector wins %.3f of %.3f", by_vector, s.path[NPU_ENGINE_VECTOR]);
	ck_assert_msg(by_matrix <= s.path[NPU_ENGINE_MATRIX] + slack, "matrix wins %.3f of %.3f", by_matrix, s.path[NPU_ENGINE_MATRIX]);
	struct shares instant = shares_of(b, "sequencer.sync_latency=0", 0);
	double by_sync = 1 - instant.cycles / s.cycles;
	ck_assert_msg(by_sync <= s.post + slack, "posts win %.4f of %.4f", by_sync, s.post);
}
END_TEST

/* Everything in turn: each post is on the one chain there is, so posts that are seen at once win what they take on it. */
START_TEST(posts_on_the_only_chain_are_worth_their_share)
{
	static const struct binding chain = { "edge-1mb", "sequencer.sync_latency=64", "qk_tiled",
					      { { "seq", 256 }, { "heads", 1 }, { "buffering", 0 } }, MACHINE_IDEAL_DRAM, 0 };
	struct shares s = shares_of(&chain, NULL, 0), instant = shares_of(&chain, "sequencer.sync_latency=0", 0);
	double won = 1 - instant.cycles / s.cycles;
	ck_assert_double_gt(s.post, 0.01);
	ck_assert_msg(won <= s.post + 0.001 && won > 0.8 * s.post, "%.4f won, %.4f on the path", won, s.post);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("critical path of runs");
	TCase *t = tcase_create("run");
	int kernels = 0;
	while (npu_kernels[kernels])
		kernels++;
	tcase_add_test(t, links_are_no_longer_than_their_mechanism_in_random_programs_on_random_machines);
	tcase_add_loop_test(t, links_are_no_longer_than_their_mechanism_in_all_kernels_on_all_presets, 0, kernels);
	tcase_add_loop_test(t, the_engine_that_binds_has_the_path_and_no_engine_wins_more_than_its_share, 0,
			    (int)(sizeof(bindings) / sizeof(bindings[0])));
	tcase_add_test(t, posts_on_the_only_chain_are_worth_their_share);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
