/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the machine with SystemC. No timing rule is here. */
#include "models/machine_sc.h"

#include <exception>
#include <memory>
#include <new>

namespace npu {
namespace {

void silent(const sc_core::sc_report &report, const sc_core::sc_actions &actions)
{
	if (actions & sc_core::SC_THROW)
		throw report;
}

void prepare()
{
	sc_core::sc_report_handler::set_handler(silent);
	sc_core::sc_set_time_resolution(1, sc_core::SC_NS);
}

class Machine {
    public:
	Machine(const struct hw *hw, const struct npu_program *program, unsigned ideal, const struct probe *probe,
		struct npu_error *err)
	{
		struct machine_wake up = { this, wake };
		core_ = machine_new(hw, program, ideal, probe, &up, err);
	}
	Machine(const Machine &) = delete;
	Machine &operator=(const Machine &) = delete;
	~Machine() { machine_free(core_); }

	struct machine *core() const { return core_; }

	void build()
	{
		clockwork_ = std::make_unique<Clockwork>("machine", step, core_, [this] { machine_start(core_); });
	}

	uint64_t activations() const { return clockwork_ ? clockwork_->activations() : 0; }

    private:
	static void wake(void *ctx, unsigned block, uint64_t cycle)
	{
		static_cast<Machine *>(ctx)->clockwork_->wake(block, cycle);
	}
	static uint64_t step(void *ctx, unsigned block, uint64_t now)
	{
		return machine_step(static_cast<struct machine *>(ctx), block, now);
	}

	struct machine *core_ = nullptr;
	std::unique_ptr<Clockwork> clockwork_;
};

} // namespace

bool simulate(const std::function<void()> &build, struct npu_error *err)
{
	try {
		prepare();
		build();
		sc_core::sc_start();
		return true;
	} catch (const std::bad_alloc &) {
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the simulation");
	} catch (const std::exception &e) {
		return npu_fail(err, NPU_ERR_USAGE, "SystemC: %s", e.what());
	}
}

} // namespace npu

/* libsystemc cannot be loaded without one; simulations begin in machine_run. */
extern "C" int sc_main(int, char *[])
{
	return 1;
}

extern "C" bool machine_run(const struct hw *hw, const struct npu_program *program, unsigned ideal,
			    const struct probe *probe, struct machine_totals *totals, struct npu_error *err)
{
	npu::Machine machine(hw, program, ideal, probe, err);
	if (!machine.core() || !npu::simulate([&] { machine.build(); }, err))
		return false;
	bool ok = machine_finish(machine.core(), totals, err);
	totals->sc_activations = machine.activations();
	return ok;
}
