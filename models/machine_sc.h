/* SPDX-License-Identifier: Apache-2.0 */
/* What the SystemC shells share: a block is one SC_METHOD that steps a plain C core. One unit of SystemC time is a cycle. */
#ifndef NPU_MODELS_MACHINE_SC_H
#define NPU_MODELS_MACHINE_SC_H

#include "models/machine_core.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <systemc>

namespace npu {

/* When each block of a machine is looked at next. */
struct Agenda {
	uint64_t next[MACHINE_BLOCKS];

	Agenda() { std::fill(std::begin(next), std::end(next), NPU_NEVER); }
	uint64_t earliest() const { return *std::min_element(std::begin(next), std::end(next)); }
};

/* Steps a core at the earliest cycle that it was woken for. While no other block is to be looked at before, it runs ahead of
 * SystemC's time: nobody can tell, and a wake-up is saved. */
class Block : public sc_core::sc_module {
    public:
	SC_HAS_PROCESS(Block);

	/* `step(now)` returns the next cycle to look, NPU_NEVER: only when woken. Without an agenda it never runs ahead. */
	Block(sc_core::sc_module_name name, uint64_t (*step)(void *ctx, unsigned block, uint64_t now), void *ctx,
	      unsigned block, Agenda *agenda = nullptr)
	    : sc_module(name), step_(step), ctx_(ctx), block_(block), agenda_(agenda)
	{
		SC_METHOD(run);
		sensitive << event_;
		dont_initialize();
	}

	void wake(uint64_t cycle)
	{
		if (cycle >= next_)
			return;
		plan(cycle);
		if (!stepping_)
			notify(sc_core::sc_time_stamp().value());
	}

	uint64_t activations() const { return activations_; }

    private:
	void run()
	{
		const uint64_t time = sc_core::sc_time_stamp().value();
		uint64_t now = time;
		activations_++;
		stepping_ = true;
		do {
			plan(NPU_NEVER);
			uint64_t next = step_(ctx_, block_, now);
			now = next < next_ ? next : next_;
			plan(NPU_NEVER);
		} while (agenda_ && now < agenda_->earliest());
		stepping_ = false;
		plan(now);
		if (now != NPU_NEVER)
			notify(time);
	}
	void plan(uint64_t cycle)
	{
		next_ = cycle;
		if (agenda_)
			agenda_->next[block_] = cycle;
	}
	void notify(uint64_t now) { event_.notify(sc_core::sc_time::from_value(next_ - now)); }

	sc_core::sc_event event_;
	uint64_t (*step_)(void *, unsigned, uint64_t);
	void *ctx_;
	unsigned block_;
	Agenda *agenda_;
	uint64_t next_ = NPU_NEVER;
	bool stepping_ = false; /* what it is woken for meanwhile is noted, and told to SystemC once */
	uint64_t activations_ = 0;
};

/* Calls `begin` when the simulation does. */
class Starter : public sc_core::sc_module {
    public:
	SC_HAS_PROCESS(Starter);

	Starter(sc_core::sc_module_name name, std::function<void()> begin) : sc_module(name), begin_(begin) { SC_METHOD(run); }

    private:
	void run() { begin_(); }

	std::function<void()> begin_;
};

/* Elaborates with `build` and runs until no event is left. SystemC prints nothing and no exception leaves. False: SystemC
 * refused; what it said is in `err`. */
bool simulate(const std::function<void()> &build, struct npu_error *err);

} // namespace npu

#endif
