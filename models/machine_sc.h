/* SPDX-License-Identifier: Apache-2.0 */
/* What the SystemC shells share: an SC_METHOD that steps plain C blocks. One unit of SystemC time is a cycle. */
#ifndef NPU_MODELS_MACHINE_SC_H
#define NPU_MODELS_MACHINE_SC_H

#include "models/machine_core.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <systemc>

namespace npu {

/* Cycles by which blocks may be stepped ahead of SystemC's time. */
constexpr uint64_t kQuantum = 4096;

/* Steps blocks, each at the earliest cycle that it was woken for. Between two blocks stands no event of SystemC: the method
 * goes from one due cycle to the next, ahead of SystemC's time (temporal decoupling), but neither further than a quantum nor
 * to the next event of any other SystemC process. So nobody can tell. */
class Clockwork : public sc_core::sc_module {
    public:
	SC_HAS_PROCESS(Clockwork);

	/* `step(now)` returns the next cycle to look, NPU_NEVER: only when woken. `begin` is called when the simulation begins. */
	using Step = uint64_t (*)(void *ctx, unsigned block, uint64_t now);
	Clockwork(sc_core::sc_module_name name, Step step, void *ctx, std::function<void()> begin)
	    : sc_module(name), step_(step), ctx_(ctx), begin_(begin)
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
		if (!running_)
			event_.notify(sc_core::sc_time::from_value(cycle - sc_core::sc_time_stamp().value()));
	}

	uint64_t activations() const { return activations_; }

    private:
	void start() { begin_(); }
	void run()
	{
		const uint64_t time = sc_core::sc_time_stamp().value();
		const uint64_t others = sc_core::sc_time_to_pending_activity().value();
		const uint64_t limit = time + std::clamp(others, uint64_t{ 1 }, kQuantum);
		activations_++;
		running_ = true;
		uint64_t now;
		while ((now = earliest()) < limit)
			for (unsigned b = 0; b < MACHINE_BLOCKS; b++)
				if (next_[b] == now) {
					next_[b] = NPU_NEVER;
					wake(b, step_(ctx_, b, now));
				}
		running_ = false;
		if (now != NPU_NEVER)
			event_.notify(sc_core::sc_time::from_value(now - time));
	}
	uint64_t earliest() const { return *std::min_element(std::begin(next_), std::end(next_)); }

	sc_core::sc_event event_;
	Step step_;
	void *ctx_;
	std::function<void()> begin_;
	uint64_t next_[MACHINE_BLOCKS];
	bool running_ = false; /* what is woken meanwhile is noted, and told to SystemC once */
	uint64_t activations_ = 0;
};

/* Elaborates with `build` and runs until no event is left. SystemC prints nothing and no exception leaves. False: SystemC
 * refused; what it said is in `err`. */
bool simulate(const std::function<void()> &build, struct npu_error *err);

} // namespace npu

#endif
