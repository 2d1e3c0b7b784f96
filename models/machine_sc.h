/* SPDX-License-Identifier: Apache-2.0 */
/* What the SystemC shells share: a block is one SC_METHOD that steps a plain C core. One unit of SystemC time is a cycle. */
#ifndef NPU_MODELS_MACHINE_SC_H
#define NPU_MODELS_MACHINE_SC_H

#include "models/machine_core.h"

#include <cstdint>
#include <functional>
#include <systemc>

namespace npu {

/* Steps a core at the earliest cycle that it was woken for. */
class Block : public sc_core::sc_module {
    public:
	SC_HAS_PROCESS(Block);

	/* `step(now)` returns the next cycle to look, NPU_NEVER: only when woken. */
	Block(sc_core::sc_module_name name, uint64_t (*step)(void *ctx, unsigned block, uint64_t now), void *ctx,
	      unsigned block)
	    : sc_module(name), step_(step), ctx_(ctx), block_(block)
	{
		SC_METHOD(run);
		sensitive << event_;
		dont_initialize();
	}

	void wake(uint64_t cycle)
	{
		if (cycle >= next_)
			return;
		next_ = cycle;
		event_.notify(sc_core::sc_time::from_value(cycle - sc_core::sc_time_stamp().value()));
	}

	uint64_t activations() const { return activations_; }

    private:
	void run()
	{
		activations_++;
		next_ = NPU_NEVER;
		wake(step_(ctx_, block_, sc_core::sc_time_stamp().value()));
	}

	sc_core::sc_event event_;
	uint64_t (*step_)(void *, unsigned, uint64_t);
	void *ctx_;
	unsigned block_;
	uint64_t next_ = NPU_NEVER;
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
