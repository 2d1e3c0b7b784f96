/* SPDX-License-Identifier: Apache-2.0 */
/* The clockwork among other SystemC processes: blocks may be stepped ahead of SystemC's time, but nobody else can tell. */
#include "models/machine_sc.h"
#include "tests/support/suite.h"

#include <memory>
#include <vector>

namespace {

/* Blocks 0 and 1 are due every 3 and every 7 cycles, until cycle `end`. */
struct Blocks {
	explicit Blocks(uint64_t last_cycle) : end(last_cycle) {}
	uint64_t end;
	uint64_t last = 0;
	bool in_order = true;
	uint64_t steps[MACHINE_BLOCKS] = {};
	/* Cycles at which another process had the third block stepped. */
	std::vector<uint64_t> seen;
};

uint64_t step(void *ctx, unsigned block, uint64_t now)
{
	auto *b = static_cast<Blocks *>(ctx);
	b->in_order = b->in_order && now >= b->last;
	b->last = now;
	b->steps[block]++;
	if (block == MACHINE_DRAM) {
		b->seen.push_back(now);
		return NPU_NEVER;
	}
	uint64_t next = now + (block ? 7 : 3);
	return next <= b->end ? next : NPU_NEVER;
}

/* Acts every `period` cycles until cycle `end`, and wakes a block `delay` cycles later. */
class Other : public sc_core::sc_module {
    public:
	SC_HAS_PROCESS(Other);
	Other(sc_core::sc_module_name name, Blocks &blocks, npu::Clockwork &clockwork, uint64_t period, uint64_t delay)
	    : sc_module(name), blocks_(blocks), clockwork_(clockwork), period_(period), delay_(delay)
	{
		SC_METHOD(act);
	}
	std::vector<uint64_t> ahead; /* times at which a block had been stepped past now */
	std::vector<uint64_t> woken;

    private:
	void act()
	{
		uint64_t now = sc_core::sc_time_stamp().value();
		if (blocks_.last > now)
			ahead.push_back(now);
		woken.push_back(now + delay_);
		clockwork_.wake(MACHINE_DRAM, now + delay_);
		if (now + period_ <= blocks_.end)
			next_trigger(sc_core::sc_time::from_value(period_));
	}
	Blocks &blocks_;
	npu::Clockwork &clockwork_;
	uint64_t period_, delay_;
};

} // namespace

START_TEST(blocks_are_stepped_in_order_when_they_are_due)
{
	Blocks blocks(100000);
	std::unique_ptr<npu::Clockwork> clockwork;
	struct npu_error err;
	ck_assert(npu::simulate(
		[&] {
			clockwork = std::make_unique<npu::Clockwork>("blocks", step, &blocks, [&] {
				clockwork->wake(0, 0);
				clockwork->wake(1, 0);
			});
		},
		&err));
	ck_assert(blocks.in_order);
	ck_assert_uint_eq(blocks.steps[0], 100000 / 3 + 1);
	ck_assert_uint_eq(blocks.steps[1], 100000 / 7 + 1);
	ck_assert_uint_eq(blocks.last, 99999);
	/* SystemC's time follows, a quantum behind at most. */
	ck_assert_uint_le(blocks.last - sc_core::sc_time_stamp().value(), npu::kQuantum);
	ck_assert_uint_le(clockwork->activations(), 100000 / npu::kQuantum + 2);
}
END_TEST

/* Periods on both sides of those of the blocks, and one longer than a quantum. */
START_TEST(no_block_is_ahead_of_another_process_that_acts)
{
	static const uint64_t periods[] = { 1, 2, 5, 21, 1000, npu::kQuantum + 100 }, delays[] = { 0, 1, 4 };
	uint64_t period = periods[_i / 3], delay = delays[_i % 3];
	Blocks blocks(20000);
	std::unique_ptr<npu::Clockwork> clockwork;
	std::unique_ptr<Other> other;
	struct npu_error err;
	ck_assert(npu::simulate(
		[&] {
			clockwork = std::make_unique<npu::Clockwork>("blocks", step, &blocks, [&] {
				clockwork->wake(0, 0);
				clockwork->wake(1, 0);
			});
			other = std::make_unique<Other>("other", blocks, *clockwork, period, delay);
		},
		&err));
	ck_assert(blocks.in_order);
	ck_assert_uint_eq(blocks.steps[0], 20000 / 3 + 1);
	ck_assert_uint_eq(blocks.steps[1], 20000 / 7 + 1);
	ck_assert_msg(other->ahead.empty(), "stepped past %llu", (unsigned long long)other->ahead[0]);
	ck_assert_uint_eq(other->woken.size(), 20000 / period + 1);
	/* A later wake-up adds nothing to one that is still to come. */
	if (delay < period)
		ck_assert(blocks.seen == other->woken);
}
END_TEST

int main()
{
	Suite *suite = suite_create("models.machine_sc");
	TCase *tc = tcase_create("clockwork");
	tcase_add_test(tc, blocks_are_stepped_in_order_when_they_are_due);
	tcase_add_loop_test(tc, no_block_is_ahead_of_another_process_that_acts, 0, 18);
	suite_add_tcase(suite, tc);
	return npu_suite_run(suite);
}
