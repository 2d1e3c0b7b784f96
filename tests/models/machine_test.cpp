/* SPDX-License-Identifier: Apache-2.0 */
/* The whole machine: programs with cycles derived by hand, deadlocks, and random programs in SystemC and in a plain loop. Each
 * test that runs SystemC does so once: Check gives it a process of its own. */
#include "models/machine.h"
#include "tests/support/machine_loop.h"
#include "tests/support/machine_random.h"
#include "tests/support/suite.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

/* An assembly with names for its semaphores. */
class Program {
    public:
	Program() : assembly_(npu_assembly_new("test")) {}
	Program(const Program &) = delete;
	Program &operator=(const Program &) = delete;
	~Program() { npu_program_free(program_); }

	uint16_t sem(const char *name, uint32_t initial = 0, uint32_t max = 65535)
	{
		return static_cast<uint16_t>(npu_assembly_sem(assembly_, name, initial, max));
	}
	void add(const struct npu_insn &insn)
	{
		npu_assembly_place(assembly_, "test.npu", ++line_);
		npu_assembly_insn(assembly_, &insn);
	}
	const struct npu_program *get()
	{
		struct npu_error err;
		if (!program_)
			program_ = npu_assembly_finish(assembly_, &err);
		ck_assert_msg(program_ != nullptr, "%s", err.text);
		return program_;
	}

    private:
	struct npu_assembly *assembly_;
	struct npu_program *program_ = nullptr;
	uint32_t line_ = 0;
};

struct npu_insn insn(enum npu_op op, std::vector<uint16_t> waits = {}, std::vector<uint16_t> posts = {})
{
	struct npu_insn i;
	std::memset(&i, 0, sizeof i);
	i.op = static_cast<uint8_t>(op);
	for (size_t k = 0; k < waits.size(); k++)
		i.wait[k] = { waits[k], 1 };
	for (size_t k = 0; k < posts.size(); k++)
		i.post[k] = { posts[k], 1 };
	return i;
}

struct npu_insn dma(enum npu_op op, uint32_t local, uint64_t dram, uint32_t bytes, std::vector<uint16_t> waits = {},
		    std::vector<uint16_t> posts = {})
{
	struct npu_insn i = insn(op, waits, posts);
	i.dma.local = local;
	i.dma.dram = dram;
	i.dma.rows = 1;
	i.dma.cols = bytes;
	i.dma.dtype = NPU_INT8;
	return i;
}

struct npu_insn matmul(uint32_t m, std::vector<uint16_t> waits = {}, std::vector<uint16_t> posts = {})
{
	struct npu_insn i = insn(NPU_OP_MATMUL, waits, posts);
	i.matmul.dst = NPU_ACC_BIT;
	i.matmul.a = 0x80000;
	i.matmul.b = 0xc0000;
	i.matmul.m = m;
	i.matmul.n = i.matmul.k = 32;
	i.matmul.a_type = i.matmul.b_type = NPU_FP16;
	return i;
}

/* The default machine with a DRAM clock a cycle, so that crossings are whole. */
struct hw whole_clocks()
{
	struct hw hw = machine_hw("DDR4-2400");
	hw.dram.tck_num = 1000;
	hw.dram.tck_den = 1;
	return hw;
}

struct Run {
	Run(const struct hw &hw, const struct npu_program *p, unsigned ideal = 0, bool reverse = false, bool systemc = false)
	{
		struct probe probe = machine_record_probe(&record);
		ok = systemc ? machine_run(&hw, p, ideal, &probe, &totals, &err) :
			       machine_loop_run(&hw, p, ideal, &probe, reverse, &totals, &err);
		char text[128];
		const char *fault = machine_record_fault(&record, totals.cycles, text, sizeof text);
		ck_assert_msg(!fault, "%s", fault);
	}
	Run(const Run &) = delete;
	Run &operator=(const Run &) = delete;
	~Run() { machine_record_free(&record); }

	const struct probe_insn &of(uint32_t insn) const { return *machine_record_insn(&record, insn); }
	uint64_t state(enum npu_engine e, enum npu_state s) const { return record.state[e][s]; }

	struct machine_record record;
	struct machine_totals totals;
	struct npu_error err;
	bool ok;
};

} // namespace

START_TEST(an_empty_program_takes_no_cycle)
{
	Program p;
	struct hw hw = whole_clocks();
	Run r(hw, p.get(), 0, false, true);
	ck_assert(r.ok);
	ck_assert_uint_eq(r.totals.cycles, 0);
}
END_TEST

START_TEST(syncs_pass_a_count_along_in_latency_and_issue_time)
{
	Program p;
	uint16_t a = p.sem("a"), b = p.sem("b");
	p.add(insn(NPU_OP_SYNC_LOAD, {}, { a }));
	p.add(insn(NPU_OP_SYNC_MATRIX, { a }, { b }));
	p.add(insn(NPU_OP_SYNC_STORE, { b }));
	struct hw hw = whole_clocks();
	Run r(hw, p.get());
	/* Issued at 1, 2, 3; seen 4 cycles after each end. */
	ck_assert_uint_eq(r.of(0).end, 1);
	ck_assert_uint_eq(r.of(1).end, 5);
	ck_assert_uint_eq(r.of(2).end, 9);
	ck_assert_uint_eq(r.of(2).enabled_by[0], 1);
	ck_assert_uint_eq(r.totals.cycles, 9);
	ck_assert_uint_eq(r.state(NPU_ENGINE_MATRIX, NPU_STATE_WAIT_LOAD), 3);
	ck_assert_uint_eq(r.state(NPU_ENGINE_STORE, NPU_STATE_WAIT_MATRIX), 6);
}
END_TEST

START_TEST(two_buffers_let_loads_hide_under_products)
{
	enum { TILES = 8 };
	uint64_t cycles[2];
	for (uint32_t buffers = 1; buffers <= 2; buffers++) {
		Program p;
		uint16_t full = p.sem("full"), free = p.sem("free", buffers);
		for (uint32_t t = 0; t < TILES; t++) {
			p.add(dma(NPU_OP_LOAD, t % buffers * 65536, t * 4096, 4096, { free }, { full }));
			p.add(matmul(512, { full }, { free }));
		}
		struct hw hw = whole_clocks();
		Run r(hw, p.get(), MACHINE_IDEAL_DRAM);
		ck_assert(r.ok);
		cycles[buffers - 1] = r.totals.cycles;
		/* A load of 4 KiB: 17 of set-up, 8 of crossing, 128 beats = 153; a product alone: what it takes here. */
		uint64_t load = 17 + 8 + 128, product = r.of(1).end - r.of(1).start;
		if (buffers == 1) /* each load and each product is followed by sync_latency, the last product by nothing */
			ck_assert_uint_eq(r.totals.cycles, 1 + TILES * (load + product + 8) - 4);
		else /* the products follow one another: only the first load shows */
			ck_assert_uint_le(r.totals.cycles, 1 + load + 4 + TILES * product);
	}
	ck_assert_uint_lt(cycles[1], cycles[0]);
}
END_TEST

START_TEST(a_full_queue_blocks_the_dispatch_of_others)
{
	Program p;
	for (uint32_t i = 0; i < 3; i++)
		p.add(dma(NPU_OP_LOAD, i * 65536, i * 4096, 4096));
	p.add(insn(NPU_OP_SYNC_VECTOR));
	struct hw hw = whole_clocks();
	hw.sequencer.queue_depth = 1;
	hw.dma.load_channels = 1;
	Run r(hw, p.get(), MACHINE_IDEAL_DRAM);
	/* Loads start at 1, 154, 307; the third is issued when the second starts, the sync a cycle later. */
	ck_assert_uint_eq(r.of(1).start, 154);
	ck_assert_uint_eq(r.of(2).issued, 154);
	ck_assert_uint_eq(r.of(3).issued, 155);
	ck_assert_uint_eq(r.state(NPU_ENGINE_VECTOR, NPU_STATE_DISPATCH_BLOCKED), 154 - 3);
	ck_assert_uint_eq(r.state(NPU_ENGINE_VECTOR, NPU_STATE_DISPATCH_RATE), 3 + 1);
	ck_assert_uint_eq(r.record.line[NPU_SEQ_FULL_LOAD], 154 - 3);
}
END_TEST

START_TEST(a_deadlock_names_who_waits_for_what)
{
	Program p;
	uint16_t a = p.sem("a"), b = p.sem("b", 1);
	p.add(insn(NPU_OP_SYNC_MATRIX, { b }));
	p.add(matmul(64, { a, b }, {}));
	for (int i = 0; i < 3; i++)
		p.add(insn(NPU_OP_SYNC_MATRIX));
	p.add(insn(NPU_OP_SYNC_LOAD, {}, { a }));
	p.add(insn(NPU_OP_SYNC_VECTOR, {}, { b }));
	struct hw hw = whole_clocks();
	hw.sequencer.queue_depth = 2;
	Run r(hw, p.get(), 0, false, true);
	ck_assert(!r.ok);
	ck_assert_int_eq(r.err.code, NPU_ERR_DEADLOCK);
	std::string text = r.err.text;
	const char *expected[] = {
		": 2 instructions wait for ever\n",
		"\n  matrix: #1 waits, test.npu:2: matmul ",
		"\n    semaphore a has 0 of 1, posted by load",
		"\n    semaphore b has 0 of 1, posted by vector",
		"\n    behind it: #2 sync.matrix\n",
		"\n  sequencer: #3 sync.matrix does not fit into the full matrix queue (2 instructions wait there); 4 instructions not issued",
	};
	for (const char *line : expected)
		ck_assert_msg(text.find(line) != std::string::npos, "no \"%s\" in:\n%s", line, r.err.text);
}
END_TEST

START_TEST(a_deadlock_names_the_first_twenty_behind_the_heads_and_counts_the_rest)
{
	Program p;
	uint16_t a = p.sem("a"), b = p.sem("b");
	p.add(insn(NPU_OP_SYNC_MATRIX, { a }, { b }));
	for (int i = 0; i < 30; i++)
		p.add(insn(NPU_OP_SYNC_MATRIX, { a }));
	p.add(insn(NPU_OP_SYNC_LOAD, { b }, { a }));
	p.add(insn(NPU_OP_SYNC_LOAD));
	struct hw hw = whole_clocks();
	hw.sequencer.queue_depth = 64;
	Run r(hw, p.get(), 0, false, true);
	ck_assert_int_eq(r.err.code, NPU_ERR_DEADLOCK);
	std::string text = r.err.text;
	/* 31 in one queue, 2 in the other; the load engine comes first and has one behind its head, so 19 are left for matrix. */
	const char *expected[] = { ": 33 instructions wait for ever\n", "\n    behind it: #32 sync.load\n",
				   "\n    behind it: #1 sync.matrix for a:1, #2 sync.matrix for a:1, ",
				   ", #19 sync.matrix for a:1, and 11 more" };
	for (const char *line : expected)
		ck_assert_msg(text.find(line) != std::string::npos, "no \"%s\" in:\n%s", line, r.err.text);
	ck_assert_msg(text.find("sequencer") == std::string::npos, "%s", r.err.text);
}
END_TEST

START_TEST(a_program_in_order_runs_with_queues_of_one)
{
	Program p;
	uint16_t full = p.sem("full"), free = p.sem("free", 1);
	for (uint32_t t = 0; t < 4; t++) {
		p.add(dma(NPU_OP_LOAD, 0, t * 4096, 4096, { free }, { full }));
		p.add(matmul(64, { full }, { free }));
	}
	struct hw hw = whole_clocks();
	hw.sequencer.queue_depth = 1;
	ck_assert(Run(hw, p.get()).ok);
}
END_TEST

START_TEST(a_count_over_its_maximum_is_an_error)
{
	Program p;
	uint16_t s = p.sem("s", 1, 2);
	p.add(insn(NPU_OP_SYNC_LOAD, {}, { s }));
	p.add(insn(NPU_OP_SYNC_LOAD, {}, { s }));
	p.add(insn(NPU_OP_SYNC_MATRIX, { s }));
	struct hw hw = whole_clocks();
	hw.sequencer.issue_cycles = 100; /* the matrix queue gets its wait too late */
	hw.sequencer.sync_latency = 0;
	Run late(hw, p.get());
	ck_assert(!late.ok);
	ck_assert_int_eq(late.err.code, NPU_ERR_SEMAPHORE);
	ck_assert_uint_eq(late.err.line, 2);
}
END_TEST

START_TEST(instructions_in_dram_are_fetched_and_counted)
{
	Program p;
	for (int i = 0; i < 100; i++)
		p.add(insn(NPU_OP_SYNC_LOAD));
	struct hw hw = whole_clocks();
	hw.sequencer.fetch = HW_FETCH_DRAM;
	Run r(hw, p.get());
	ck_assert_uint_eq(r.totals.fetch_bytes, 6400);
	ck_assert_uint_eq(r.totals.dram.read_bytes, 6400);
	ck_assert_uint_gt(r.record.line[NPU_SEQ_FETCH], 0);
	/* Ideal: the first request leaves at 0 and is back at 8. */
	Run ideal(hw, p.get(), MACHINE_IDEAL_DRAM);
	ck_assert_uint_eq(ideal.record.line[NPU_SEQ_FETCH], 7);
	Run rom(hw, p.get(), MACHINE_IDEAL_DISPATCH);
	ck_assert_uint_eq(rom.totals.fetch_bytes, 0);
	ck_assert_uint_eq(rom.totals.cycles, 0);
}
END_TEST

START_TEST(each_part_made_ideal_never_slows_a_chain)
{
	Program p;
	uint16_t full = p.sem("full"), done = p.sem("done"), out = p.sem("out");
	p.add(dma(NPU_OP_LOAD, 0x80000, 0, 16384, {}, { full }));
	p.add(matmul(256, { full }, { done }));
	struct npu_insn v = insn(NPU_OP_VEXP, { done }, { out });
	v.un.dst = 0x40000;
	v.un.a = NPU_ACC_BIT;
	v.un.scale = 1;
	v.un.rows = 256;
	v.un.cols = 32;
	v.un.a_type = v.un.dst_type = NPU_FP32;
	p.add(v);
	p.add(dma(NPU_OP_STORE, 0x40000, 65536, 32768, { out }));
	struct hw hw = whole_clocks();
	uint64_t real = Run(hw, p.get()).totals.cycles;
	for (unsigned ideal = 1; ideal <= MACHINE_IDEAL_DISPATCH; ideal *= 2) {
		uint64_t cycles = Run(hw, p.get(), ideal).totals.cycles;
		ck_assert_uint_le(cycles, real);
		if (ideal != MACHINE_IDEAL_SRAM)
			ck_assert_uint_lt(cycles, real);
	}
	Run r(hw, p.get(), MACHINE_IDEAL_VECTOR | MACHINE_IDEAL_MATRIX);
	ck_assert_uint_eq(r.of(2).end - r.of(2).start, 1);
	/* 256 x 32 x 32 MACs on 32 x 32. */
	ck_assert_uint_eq(r.of(1).end - r.of(1).start, 256);
}
END_TEST

START_TEST(cycles_include_the_writes_that_drain)
{
	Program p;
	p.add(dma(NPU_OP_STORE, 0, 0, 4096));
	struct hw hw = whole_clocks();
	Run r(hw, p.get());
	ck_assert_uint_gt(r.totals.cycles, r.of(0).end);
	ck_assert_uint_eq(r.totals.cycles, r.totals.dram.last_data_clk);
	ck_assert_uint_eq(r.totals.dram.write_bytes, 4096);
	ck_assert_uint_eq(r.totals.sram_bytes[NPU_ENGINE_STORE], 4096);
}
END_TEST

/* What is ideal for a seed: every fifth makes something so. */
static unsigned ideal_of(uint64_t seed)
{
	return seed % 5 ? 0 : static_cast<unsigned>(seed / 5 % 32);
}

START_TEST(every_cycle_of_random_programs_is_accounted_for_once)
{
	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct hw hw = machine_random_hw(seed);
		struct npu_program *p = machine_random_program(seed, &hw, 40);
		Run r(hw, p, ideal_of(seed));
		ck_assert_msg(r.ok, "seed %llu: %s", static_cast<unsigned long long>(seed), r.err.text);
		ck_assert_uint_eq(r.record.ninsns, p->ninsns);
		for (uint64_t i = 0; i < r.record.ninsns; i++) {
			const struct probe_insn &told = r.record.insns[i];
			ck_assert(told.issued <= told.head && told.head <= told.start && told.start <= told.end);
			ck_assert_uint_le(told.end, r.totals.cycles);
		}
		npu_program_free(p);
	}
}
END_TEST

START_TEST(nothing_depends_on_the_order_of_blocks_in_a_cycle_nor_on_being_watched)
{
	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct hw hw = machine_random_hw(seed);
		struct npu_program *p = machine_random_program(seed, &hw, 40);
		Run a(hw, p, ideal_of(seed)), b(hw, p, ideal_of(seed), true);
		const char *difference = machine_record_difference(&a.record, &b.record);
		ck_assert_msg(!difference, "seed %llu: %s", static_cast<unsigned long long>(seed), difference);
		struct machine_totals unwatched;
		struct npu_error err;
		ck_assert(machine_loop_run(&hw, p, ideal_of(seed), nullptr, false, &unwatched, &err));
		ck_assert_msg(unwatched.cycles == a.totals.cycles, "seed %llu: %llu cycles, %llu when watched",
			      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(unwatched.cycles),
			      static_cast<unsigned long long>(a.totals.cycles));
		npu_program_free(p);
	}
}
END_TEST

START_TEST(systemc_and_a_plain_loop_tell_the_same)
{
	uint64_t seed = static_cast<uint64_t>(_i);
	struct hw hw = machine_random_hw(seed);
	struct npu_program *p = machine_random_program(seed, &hw, 60);
	Run loop(hw, p, ideal_of(seed)), sc(hw, p, ideal_of(seed), false, true);
	ck_assert_msg(sc.ok, "%s", sc.err.text);
	const char *difference = machine_record_difference(&loop.record, &sc.record);
	ck_assert_msg(!difference, "%s", difference);
	ck_assert_uint_eq(loop.totals.cycles, sc.totals.cycles);
	ck_assert_int_eq(std::memcmp(&loop.totals.dram, &sc.totals.dram, sizeof loop.totals.dram), 0);
	npu_program_free(p);
}
END_TEST

START_TEST(systemc_prints_nothing)
{
	int out[2];
	ck_assert_int_eq(pipe(out), 0);
	int saved_out = dup(1), saved_err = dup(2);
	std::fflush(nullptr);
	dup2(out[1], 1);
	dup2(out[1], 2);
	Program p;
	p.add(dma(NPU_OP_LOAD, 0, 0, 4096));
	struct hw hw = whole_clocks();
	struct machine_totals totals;
	struct npu_error err;
	bool ok = machine_run(&hw, p.get(), 0, nullptr, &totals, &err);
	std::fflush(nullptr);
	dup2(saved_out, 1);
	dup2(saved_err, 2);
	close(out[1]);
	char c;
	ck_assert_int_eq(read(out[0], &c, 1), 0);
	ck_assert(ok);
	ck_assert_uint_gt(totals.sc_activations, 0);
}
END_TEST

START_TEST(a_second_run_in_one_process_is_refused_with_an_error)
{
	Program p;
	p.add(insn(NPU_OP_SYNC_LOAD));
	struct hw hw = whole_clocks();
	struct machine_totals totals;
	struct npu_error err;
	ck_assert(machine_run(&hw, p.get(), 0, nullptr, &totals, &err));
	ck_assert(!machine_run(&hw, p.get(), 0, nullptr, &totals, &err));
	ck_assert(std::strstr(err.text, "SystemC") != nullptr);
}
END_TEST

START_TEST(requests_alone_reach_the_bandwidth_of_the_part)
{
	struct dram_config config = machine_hw("DDR4-2400").dram;
	std::vector<struct machine_dram_request> requests(20000);
	std::vector<struct machine_dram_answer> answers(requests.size());
	for (size_t i = 0; i < requests.size(); i++)
		requests[i] = { 0, i * 64, 64, false };
	struct machine_dram_totals totals;
	struct npu_error err;
	ck_assert(machine_run_dram(&config, requests.data(), requests.size(), 0, answers.data(), &totals, &err));
	ck_assert_uint_eq(totals.dram.read_bytes, requests.size() * 64);
	/* A sequential stream gets 90 % and more of the peak. */
	double share = static_cast<double>(requests.size() * 64) / static_cast<double>(totals.clocks) /
		       dram_peak_bytes_per_clk(&config);
	ck_assert_double_gt(share, 0.9);
	for (const auto &answer : answers)
		ck_assert(answer.done > answer.arrival && answer.done <= totals.clocks + config.back_delay);
}
END_TEST

START_TEST(no_more_requests_are_on_their_way_than_the_window_holds)
{
	struct dram_config config = machine_hw("DDR4-2400").dram;
	std::vector<struct machine_dram_request> requests(5000);
	std::vector<struct machine_dram_answer> answers(requests.size());
	uint64_t x = 1;
	for (auto &r : requests) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		r = { 0, (x >> 20) % (1u << 28) / 64 * 64, 64, (x >> 60) % 3 == 0 };
	}
	struct machine_dram_totals totals;
	struct npu_error err;
	ck_assert(machine_run_dram(&config, requests.data(), requests.size(), 8, answers.data(), &totals, &err));
	for (size_t i = 0; i < answers.size(); i++) {
		ck_assert_uint_ge(answers[i].done, answers[i].arrival);
		unsigned older = 0;
		for (size_t k = 0; k < i; k++)
			older += answers[k].done > answers[i].arrival;
		ck_assert_uint_lt(older, 8);
	}
}
END_TEST

START_TEST(a_request_comes_no_earlier_than_its_clock)
{
	struct dram_config config = machine_hw("DDR4-2400").dram;
	struct machine_dram_request requests[] = { { 0, 0, 64, false }, { 100000, 64, 64, false }, { 0, 128, 64, true } };
	struct machine_dram_answer answers[3];
	struct machine_dram_totals totals;
	struct npu_error err;
	ck_assert(machine_run_dram(&config, requests, 3, 0, answers, &totals, &err));
	ck_assert_uint_eq(answers[0].arrival, 0);
	ck_assert_uint_eq(answers[1].arrival, 100000);
	ck_assert_uint_eq(answers[2].arrival, 100000);
	ck_assert_uint_gt(totals.clocks, 100000);
}
END_TEST

int main()
{
	Suite *suite = suite_create("models.machine");
	TCase *tc = tcase_create("machine");
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, an_empty_program_takes_no_cycle);
	tcase_add_test(tc, syncs_pass_a_count_along_in_latency_and_issue_time);
	tcase_add_test(tc, two_buffers_let_loads_hide_under_products);
	tcase_add_test(tc, a_full_queue_blocks_the_dispatch_of_others);
	tcase_add_test(tc, a_deadlock_names_who_waits_for_what);
	tcase_add_test(tc, a_deadlock_names_the_first_twenty_behind_the_heads_and_counts_the_rest);
	tcase_add_test(tc, a_program_in_order_runs_with_queues_of_one);
	tcase_add_test(tc, a_count_over_its_maximum_is_an_error);
	tcase_add_test(tc, instructions_in_dram_are_fetched_and_counted);
	tcase_add_test(tc, each_part_made_ideal_never_slows_a_chain);
	tcase_add_test(tc, cycles_include_the_writes_that_drain);
	tcase_add_test(tc, every_cycle_of_random_programs_is_accounted_for_once);
	tcase_add_test(tc, nothing_depends_on_the_order_of_blocks_in_a_cycle_nor_on_being_watched);
	tcase_add_loop_test(tc, systemc_and_a_plain_loop_tell_the_same, 0, 200);
	tcase_add_test(tc, systemc_prints_nothing);
	tcase_add_test(tc, a_second_run_in_one_process_is_refused_with_an_error);
	tcase_add_test(tc, requests_alone_reach_the_bandwidth_of_the_part);
	tcase_add_test(tc, no_more_requests_are_on_their_way_than_the_window_holds);
	tcase_add_test(tc, a_request_comes_no_earlier_than_its_clock);
	suite_add_tcase(suite, tc);
	return npu_suite_run(suite);
}
