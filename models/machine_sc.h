/* SPDX-License-Identifier: Apache-2.0 */
/* What the SystemC shells share: an SC_METHOD that steps plain C blocks. */
#ifndef NPU_MODELS_MACHINE_SC_H
#define NPU_MODELS_MACHINE_SC_H

#include "models/machine_core.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <systemc>

namespace npu {

/* A clock whose cycles are no whole number of units of SystemC time: edge n lies at n x num / den, rounded up. */
struct Cycles {
	uint64_t num = 1, den = 1;

	sc_core::sc_time time(uint64_t cycle) const { return sc_core::sc_time::from_value(scaled(cycle, num, den)); }
	/* The first edge at or after a time. */
	uint64_t at_or_after(const sc_core::sc_time &time) const
	{
		uint64_t cycle = static_cast<uint64_t>((unsigned __int128)time.value() * den / num);
		return scaled(cycle, num, den) < time.value() ? cycle + 1 : cycle;
	}

    private:
	static uint64_t scaled(uint64_t n, uint64_t num, uint64_t den)
	{
		return static_cast<uint64_t>(((unsigned __int128)n * num + den - 1) / den);
	}
};

/* Cycles by which blocks may be stepped ahead of SystemC's time. */
constexpr uint64_t kQuantum = 4096;

/* Steps blocks, each at the earliest cycle that it was woken for. Between two blocks stands no event of SystemC: the method
 * goes from one due cycle to the next, ahead of SystemC's time (temporal decoupling), but neither further than a quantum nor
 * to the next event of any other SystemC process. So nobody can tell. */
class Clockwork : public sc_core::sc_module {
    public:
	SC_HAS_PROCESS(Clockwork);

	/* `step(now)` returns the next cycle to look, NPU_NEVER: only when woken. `begin` is called when the simulation begins.
	 * `quantum` 1: a step may make another process send something at any time, so nothing runs ahead. */
	using Step = uint64_t (*)(void *ctx, unsigned block, uint64_t now);
	Clockwork(sc_core::sc_module_name name, Step step, void *ctx, std::function<void()> begin, Cycles cycles = {},
		  uint64_t quantum = kQuantum)
	    : sc_module(name), step_(step), ctx_(ctx), begin_(begin), cycles_(cycles), quantum_(quantum)
	{
		std::fill(std::begin(next_), std::end(next_), NPU_NEVER);
		SC_METHOD(start);
		SC_METHOD(run);
		sensitive << event_;
		dont_initialize();
	}

	/* Step `block` at `cycle`, which lies not before SystemC's time. */
	void wake(unsigned block, uint64_t cycle)
	{
		if (cycle >= next_[block])
			return;
		next_[block] = cycle;
		if (running_)
			return; /* step_all() looks for the soonest */
		soonest_ = std::min(soonest_, cycle);
		event_.notify(cycles_.time(cycle) - sc_core::sc_time_stamp());
	}
	/* Nothing is to be stepped unless somebody wakes a block. */
	bool at_rest() const { return !running_ && soonest_ == NPU_NEVER; }
	/* `f` is called whenever it has come to rest. */
	void on_rest(std::function<void()> f) { on_rest_ = f; }

	uint64_t activations() const { return activations_; }

    private:
	void start() { begin_(); }
	void run()
	{
		const sc_core::sc_time time = sc_core::sc_time_stamp();
		const uint64_t at = cycles_.at_or_after(time);
		const uint64_t others = cycles_.at_or_after(sc_core::sc_time_to_pending_activity());
		const uint64_t limit = at + std::clamp(others, uint64_t{ 1 }, quantum_);
		activations_++;
		running_ = true;
		while (soonest_ < limit)
			step_all(soonest_);
		running_ = false;
		if (soonest_ != NPU_NEVER)
			event_.notify(cycles_.time(soonest_) - time);
		else if (on_rest_)
			on_rest_();
	}
	/* Blocks that are woken for `now` once more, by one behind them, are stepped again in the next round. */
	void step_all(uint64_t now)
	{
		for (unsigned b = 0; b < MACHINE_BLOCKS; b++) {
			if (next_[b] != now)
				continue;
			next_[b] = NPU_NEVER;
			const uint64_t next = step_(ctx_, b, now);
			next_[b] = std::min(next_[b], next);
		}
		soonest_ = next_[0];
		for (unsigned b = 1; b < MACHINE_BLOCKS; b++)
			soonest_ = std::min(soonest_, next_[b]);
	}

	sc_core::sc_event event_;
	Step step_;
	void *ctx_;
	std::function<void()> begin_, on_rest_;
	Cycles cycles_;
	uint64_t quantum_;
	uint64_t next_[MACHINE_BLOCKS]; /* when each block is looked at next */
	uint64_t soonest_ = NPU_NEVER;  /* and the first of them */
	bool running_ = false; /* what is woken meanwhile is noted, and told to SystemC once */
	uint64_t activations_ = 0;
};

/* Elaborates with `build` and runs until no event is left, or sc_stop(). SystemC prints nothing and no exception leaves. False: SystemC
 * refused; what it said is in `err`. */
bool simulate(const std::function<void()> &build, struct npu_error *err, sc_core::sc_time_unit unit = sc_core::SC_NS);

} // namespace npu

#endif
