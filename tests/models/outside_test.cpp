/* SPDX-License-Identifier: Apache-2.0 */
/* A user's memory behind a TLM-2.0 socket, in the DRAM's place. A process runs SystemC once: Check forks. */
#include <cstring>
#include <memory>
#include <stdexcept>
#include <systemc>
#include <tlm>
#include <tlm_utils/peq_with_get.h>
#include <tlm_utils/simple_target_socket.h>

/* Check's old name `fail` is a macro: the headers above must not see it. */
#include "models/machine.h"
#include "tests/support/machine_loop.h"
#include "tests/support/machine_random.h"
#include "tests/support/suite.h"

namespace {

using Socket = tlm::tlm_initiator_socket<>;

/* Blocking transport only: everything is done a latency after it came, which is no time at all by default. */
class Blocking : public sc_core::sc_module {
    public:
	explicit Blocking(sc_core::sc_module_name name, sc_core::sc_time latency = sc_core::SC_ZERO_TIME,
			  tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE)
	    : sc_module(name), socket("socket"), latency_(latency), status_(status)
	{
		socket.register_b_transport(this, &Blocking::transport);
	}
	tlm_utils::simple_target_socket<Blocking> socket;

    private:
	void transport(tlm::tlm_generic_payload &p, sc_core::sc_time &delay)
	{
		delay += latency_;
		p.set_response_status(status_);
	}
	sc_core::sc_time latency_;
	tlm::tlm_response_status status_;
};

/* Non-blocking: takes a request every `interval`, answers `latency` after it came; a fault on request. */
class Pipelined : public sc_core::sc_module {
    public:
	enum Fault { kNone, kSilent, kTwice };
	SC_HAS_PROCESS(Pipelined);
	Pipelined(sc_core::sc_module_name name, sc_core::sc_time interval, sc_core::sc_time latency, Fault fault = kNone)
	    : sc_module(name), socket("socket"), interval_(interval), latency_(latency), fault_(fault), taken_("taken"), done_("done")
	{
		socket.register_nb_transport_fw(this, &Pipelined::forward);
		SC_METHOD(take);
		sensitive << taken_.get_event();
		dont_initialize();
		SC_METHOD(answer);
		sensitive << done_.get_event();
		dont_initialize();
	}
	tlm_utils::simple_target_socket<Pipelined> socket;

    private:
	tlm::tlm_sync_enum forward(tlm::tlm_generic_payload &p, tlm::tlm_phase &phase, sc_core::sc_time &delay)
	{
		if (phase != tlm::BEGIN_REQ)
			return tlm::TLM_ACCEPTED;
		p.acquire();
		taken_.notify(p, delay + interval_);
		if (fault_ != kSilent)
			done_.notify(p, delay + latency_);
		return tlm::TLM_ACCEPTED;
	}
	void take()
	{
		while (tlm::tlm_generic_payload *p = taken_.get_next_transaction()) {
			tlm::tlm_phase phase = tlm::END_REQ;
			sc_core::sc_time delay;
			socket->nb_transport_bw(*p, phase, delay);
		}
	}
	void answer()
	{
		while (tlm::tlm_generic_payload *p = done_.get_next_transaction()) {
			for (int times = fault_ == kTwice ? 2 : 1; times > 0; times--) {
				tlm::tlm_phase phase = tlm::BEGIN_RESP;
				sc_core::sc_time delay;
				p->set_response_status(tlm::TLM_OK_RESPONSE);
				socket->nb_transport_bw(*p, phase, delay);
			}
			p->release();
		}
	}
	sc_core::sc_time interval_, latency_;
	Fault fault_;
	tlm_utils::peq_with_get<tlm::tlm_generic_payload> taken_, done_;
};

/* A memory with a clock that never stops. */
class Ticking : public Blocking {
    public:
	SC_HAS_PROCESS(Ticking);
	explicit Ticking(sc_core::sc_module_name name) : Blocking(name), clock_("clock", 10, sc_core::SC_NS)
	{
		SC_METHOD(tick);
		sensitive << clock_.posedge_event();
	}

    private:
	void tick() {}
	sc_core::sc_clock clock_;
};

sc_core::sc_time ns(double n)
{
	return sc_core::sc_time(n, sc_core::SC_NS);
}

/* The memory lives until the process ends, as machine_memory says. */
template <class M> void bind(void *socket, M *memory)
{
	static std::unique_ptr<M> kept;
	kept.reset(memory);
	static_cast<Socket *>(socket)->bind(memory->socket);
}

void at_once(void *socket, const char *) { bind(socket, new Blocking("memory")); }
void after_100_ns(void *socket, const char *) { bind(socket, new Blocking("memory", ns(100))); }
void refuses(void *socket, const char *)
{
	bind(socket, new Blocking("memory", ns(1), tlm::TLM_ADDRESS_ERROR_RESPONSE));
}
void ticks(void *socket, const char *) { bind(socket, new Ticking("memory")); }
void pipelined(void *socket, const char *arguments)
{
	double interval = 0, latency = 0;
	ck_assert_int_eq(std::sscanf(arguments, "%lf,%lf", &interval, &latency), 2);
	bind(socket, new Pipelined("memory", ns(interval), ns(latency)));
}
void silent(void *socket, const char *) { bind(socket, new Pipelined("memory", ns(1), ns(1), Pipelined::kSilent)); }
void twice(void *socket, const char *) { bind(socket, new Pipelined("memory", ns(1), ns(1), Pipelined::kTwice)); }
void throws(void *, const char *arguments) { throw std::runtime_error(std::string("no such part: ") + arguments); }

/* One load or store of `bytes` on a machine with a clock of 1 GHz: a burst is two granules of 64 B. */
class Transfer {
    public:
	Transfer(uint32_t bytes, bool store)
	{
		hw_ = machine_hw("DDR4-2400");
		hw_.npu.clock_mhz = 1000;
		hw_.sequencer.launch_cycles = hw_.sequencer.issue_cycles = 0;
		hw_.dma.start_cycles = 10;
		hw_.dma.descriptor_cycles = 0;
		hw_.dma.cdc_cycles = 4;
		hw_.dma.port = 64;
		hw_.dma.max_burst = 128;
		hw_.dma.outstanding = 16;
		struct npu_assembly *a = npu_assembly_new("transfer");
		struct npu_insn i;
		std::memset(&i, 0, sizeof i);
		i.op = static_cast<uint8_t>(store ? NPU_OP_STORE : NPU_OP_LOAD);
		i.dma.rows = 1;
		i.dma.cols = bytes;
		i.dma.dtype = NPU_INT8;
		npu_assembly_place(a, "test.npu", 1);
		npu_assembly_insn(a, &i);
		program_ = npu_assembly_finish(a, &err);
		ck_assert_msg(program_ != nullptr, "%s", err.text);
	}
	Transfer(const Transfer &) = delete;
	Transfer &operator=(const Transfer &) = delete;
	~Transfer() { npu_program_free(program_); }

	bool run(void (*attach)(void *, const char *), const char *arguments = "")
	{
		struct machine_memory memory = { attach, arguments };
		return machine_run_memory(&hw_, program_, 0, &memory, nullptr, &totals, &err);
	}

	struct machine_totals totals;
	struct npu_error err;

    private:
	struct hw hw_;
	struct npu_program *program_;
};

} // namespace

/* start 10, there 4, 100, back 4, two beats of 64 B. */
START_TEST(a_load_takes_the_latency_of_the_memory_and_both_crossings)
{
	Transfer t(128, false);
	ck_assert(t.run(pipelined, "0,100"));
	ck_assert_uint_eq(t.totals.cycles, 10 + 4 + 100 + 4 + 2);
	ck_assert_uint_eq(t.totals.dram.read_bytes, 128);
	ck_assert_uint_eq(t.totals.dram.bus_bytes, 128);
	ck_assert_uint_eq(t.totals.dram.reads, 1);
}
END_TEST

/* start 10, two beats, there 4, 100, back 4. */
START_TEST(a_store_ends_when_the_memory_has_answered_its_last_write)
{
	Transfer t(128, true);
	ck_assert(t.run(pipelined, "0,100"));
	ck_assert_uint_eq(t.totals.cycles, 10 + 2 + 4 + 100 + 4);
	ck_assert_uint_eq(t.totals.dram.write_bytes, 128);
}
END_TEST

/* The socket of a target with b_transport alone takes the next request when the one before is over: 2 x 100. */
START_TEST(a_blocking_memory_serves_one_granule_at_a_time)
{
	Transfer t(128, false);
	ck_assert(t.run(after_100_ns));
	ck_assert_uint_eq(t.totals.cycles, 10 + 4 + 2 * 100 + 4 + 2);
}
END_TEST

/* 4,096 B are 64 granules, one each 5 ns; the last comes 63 x 5 after the first, and its burst has two beats to cross. */
START_TEST(a_memory_that_takes_a_request_in_five_nanoseconds_gives_a_granule_in_five)
{
	Transfer t(4096, false);
	ck_assert(t.run(pipelined, "5,50"));
	ck_assert_uint_eq(t.totals.cycles, 10 + 4 + 63 * 5 + 50 + 4 + 2);
}
END_TEST

/* 16 bursts leave in cycles 10..25 and are back from cycle 68 on, a cycle after another; each crosses in two beats. */
START_TEST(no_more_bursts_are_under_way_than_the_engine_has_slots)
{
	Transfer first(2048, false);
	ck_assert(first.run(pipelined, "0,50"));
	ck_assert_uint_eq(first.totals.cycles, 68 + 16 * 2);
}
END_TEST

/* The 17th leaves in cycle 70, when the first has crossed, is back in 128, and 16 bursts cross without a gap from then on. */
START_TEST(a_burst_leaves_when_the_one_sixteen_before_it_has_crossed)
{
	Transfer both(4096, false);
	ck_assert(both.run(pipelined, "0,50"));
	ck_assert_uint_eq(both.totals.cycles, 70 + 58 + 16 * 2);
}
END_TEST

START_TEST(a_memory_whose_clock_never_stops_does_not_keep_the_run_from_ending)
{
	Transfer t(128, false);
	ck_assert(t.run(ticks));
	ck_assert_uint_eq(t.totals.cycles, 10 + 4 + 4 + 2);
}
END_TEST

START_TEST(a_memory_that_refuses_an_address_is_named_with_it)
{
	Transfer t(128, false);
	ck_assert(!t.run(refuses));
	ck_assert_int_eq(t.err.code, NPU_ERR_PLUGIN);
	ck_assert_msg(std::strstr(t.err.text, "TLM_ADDRESS_ERROR_RESPONSE at address 0") != nullptr, "%s", t.err.text);
}
END_TEST

START_TEST(a_memory_that_never_answers_is_an_error_and_no_deadlock_of_the_program)
{
	Transfer t(128, false);
	ck_assert(!t.run(silent));
	ck_assert_int_eq(t.err.code, NPU_ERR_PLUGIN);
	ck_assert_msg(std::strstr(t.err.text, "1 request without an answer") != nullptr, "%s", t.err.text);
}
END_TEST

START_TEST(a_memory_that_answers_twice_is_an_error)
{
	Transfer t(128, false);
	ck_assert(!t.run(twice));
	ck_assert_int_eq(t.err.code, NPU_ERR_PLUGIN);
	ck_assert_msg(std::strstr(t.err.text, "twice") != nullptr, "%s", t.err.text);
}
END_TEST

START_TEST(a_memory_that_cannot_be_made_says_why)
{
	Transfer t(128, false);
	ck_assert(!t.run(throws, "DDR9"));
	ck_assert_msg(std::strstr(t.err.text, "no such part: DDR9") != nullptr, "%s", t.err.text);
}
END_TEST

/* A memory without latency is the ideal DRAM, if an edge of the DRAM clock lies at each of the NPU's. */
START_TEST(random_programs_take_the_same_cycles_with_a_memory_of_no_latency_and_an_ideal_dram)
{
	uint64_t seed = static_cast<uint64_t>(_i);
	struct hw hw = machine_random_hw(seed);
	hw.npu.clock_mhz = 1000;
	hw.dram.tck_num = 1000;
	hw.dram.tck_den = 1;
	struct npu_program *p = machine_random_program(seed, &hw, 60);
	struct machine_record mine, ideal;
	struct probe probe = machine_record_probe(&mine), ideal_probe = machine_record_probe(&ideal);
	struct machine_totals totals, ideal_totals;
	struct npu_error err;
	struct machine_memory memory = { at_once, "" };
	ck_assert(machine_loop_run(&hw, p, MACHINE_IDEAL_DRAM, &ideal_probe, false, &ideal_totals, &err));
	ck_assert_msg(machine_run_memory(&hw, p, 0, &memory, &probe, &totals, &err), "%s", err.text);
	ck_assert_uint_eq(totals.cycles, ideal_totals.cycles);
	const char *difference = machine_record_difference(&mine, &ideal);
	ck_assert_msg(!difference, "seed %d: %s", _i, difference);
	ck_assert_uint_eq(totals.dram.read_bytes, ideal_totals.dram.read_bytes);
	ck_assert_uint_eq(totals.dram.write_bytes, ideal_totals.dram.write_bytes);
	machine_record_free(&mine);
	machine_record_free(&ideal);
	npu_program_free(p);
}
END_TEST

/* A target with b_transport runs on a stack that SystemC switches to: the leak checker then misses Check's own pointers on
 * the first one, and takes what they point at for lost. */
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() { return "detect_leaks=0"; }

int main()
{
	Suite *suite = suite_create("models.outside");
	TCase *tc = tcase_create("outside");
	tcase_add_test(tc, a_load_takes_the_latency_of_the_memory_and_both_crossings);
	tcase_add_test(tc, a_store_ends_when_the_memory_has_answered_its_last_write);
	tcase_add_test(tc, a_blocking_memory_serves_one_granule_at_a_time);
	tcase_add_test(tc, a_memory_that_takes_a_request_in_five_nanoseconds_gives_a_granule_in_five);
	tcase_add_test(tc, no_more_bursts_are_under_way_than_the_engine_has_slots);
	tcase_add_test(tc, a_burst_leaves_when_the_one_sixteen_before_it_has_crossed);
	tcase_add_test(tc, a_memory_whose_clock_never_stops_does_not_keep_the_run_from_ending);
	tcase_add_test(tc, a_memory_that_refuses_an_address_is_named_with_it);
	tcase_add_test(tc, a_memory_that_never_answers_is_an_error_and_no_deadlock_of_the_program);
	tcase_add_test(tc, a_memory_that_answers_twice_is_an_error);
	tcase_add_test(tc, a_memory_that_cannot_be_made_says_why);
	tcase_add_loop_test(tc, random_programs_take_the_same_cycles_with_a_memory_of_no_latency_and_an_ideal_dram, 0, 100);
	suite_add_tcase(suite, tc);
	return npu_suite_run(suite);
}
