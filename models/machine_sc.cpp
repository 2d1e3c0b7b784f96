/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the machine with SystemC. No timing rule is here. */
#include "models/machine_sc.h"
#include "models/tlm_sc.h"

#include <cmath>
#include <exception>
#include <memory>
#include <new>
#include <string>

namespace npu {
namespace {

void silent(const sc_core::sc_report &report, const sc_core::sc_actions &actions)
{
	if (actions & sc_core::SC_THROW)
		throw report;
}

void prepare(sc_core::sc_time_unit unit)
{
	sc_core::sc_report_handler::set_handler(silent);
	sc_core::sc_set_time_resolution(1, unit);
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

	/* With a memory outside: SystemC's time is real time, in femtoseconds. */
	void build(const struct hw *hw, const struct machine_memory *memory)
	{
		const Cycles cycles = { 1000000000000000, static_cast<uint64_t>(std::llround(hw->npu.clock_mhz * 1e6)) };
		clockwork_ = std::make_unique<Clockwork>("machine", step, core_, [this] { machine_start(core_); }, cycles, 1);
		clockwork_->on_rest([this] { stop_at_rest(); });
		port_ = std::make_unique<TlmPort>("memory_port", cycles, dram_burst_bytes(&hw->dram),
						  [this](const struct outside_answer &a) {
							  machine_answer(core_, &a);
							  stop_at_rest();
						  });
		struct outside outside = { port_.get(), request };
		machine_attach_memory(core_, &outside);
		memory->attach(static_cast<tlm::tlm_initiator_socket<> *>(&port_->socket), memory->arguments);
	}

	uint64_t activations() const { return clockwork_ ? clockwork_->activations() : 0; }
	const TlmPort *port() const { return port_.get(); }

    private:
	/* The memory's clock may run for ever. */
	void stop_at_rest()
	{
		if (!port_->under_way() && clockwork_->at_rest())
			sc_core::sc_stop();
	}
	static void request(void *ctx, const struct outside_request *r) { static_cast<TlmPort *>(ctx)->request(*r); }
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
	std::unique_ptr<TlmPort> port_;
};

} // namespace

bool simulate(const std::function<void()> &build, struct npu_error *err, sc_core::sc_time_unit unit)
{
	try {
		prepare(unit);
		build();
		sc_core::sc_start();
		return true;
	} catch (const std::bad_alloc &) {
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the simulation");
	} catch (const std::exception &e) {
		const std::string what = e.what();
		return npu_fail(err, NPU_ERR_PLUGIN, "SystemC: %s", what.substr(0, what.find('\n')).c_str());
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

extern "C" bool machine_run_memory(const struct hw *hw, const struct npu_program *program, unsigned ideal,
				   const struct machine_memory *memory, const struct probe *probe,
				   struct machine_totals *totals, struct npu_error *err)
{
	npu::Machine machine(hw, program, ideal, probe, err);
	if (!machine.core() || !npu::simulate([&] { machine.build(hw, memory); }, err, sc_core::SC_FS))
		return false;
	const std::string &fault = machine.port()->fault();
	if (!fault.empty())
		return npu_fail(err, NPU_ERR_PLUGIN, "the memory does not keep to the protocol: %s", fault.c_str());
	bool ok = machine_finish(machine.core(), totals, err);
	totals->sc_activations = machine.activations();
	return ok;
}
