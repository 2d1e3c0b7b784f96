/* SPDX-License-Identifier: Apache-2.0 */
/* A memory in the place of npusim's DRAM: it takes a granule every INTERVAL nanoseconds and answers LATENCY after that.
 *
 *   npusim run gemm --memory ./libmemory.so,INTERVAL,LATENCY
 *
 * Put your controller, or DRAMSys, where this one is: any TLM-2.0 target of the base protocol can be bound. */
#include <cstdio>
#include <stdexcept>
#include <systemc>
#include <tlm>
#include <tlm_utils/peq_with_get.h>
#include <tlm_utils/simple_target_socket.h>

namespace {

class Memory : public sc_core::sc_module {
    public:
	SC_HAS_PROCESS(Memory);

	Memory(sc_core::sc_module_name name, sc_core::sc_time interval, sc_core::sc_time latency)
	    : sc_module(name), socket("socket"), interval_(interval), latency_(latency), taken_("taken"), done_("done")
	{
		socket.register_nb_transport_fw(this, &Memory::forward);
		SC_METHOD(take);
		sensitive << taken_.get_event();
		dont_initialize();
		SC_METHOD(answer);
		sensitive << done_.get_event();
		dont_initialize();
	}

	tlm_utils::simple_target_socket<Memory> socket;

    private:
	tlm::tlm_sync_enum forward(tlm::tlm_generic_payload &request, tlm::tlm_phase &phase, sc_core::sc_time &delay)
	{
		if (phase == tlm::BEGIN_REQ) {
			request.acquire();
			taken_.notify(request, delay + interval_);
		}
		return tlm::TLM_ACCEPTED;
	}
	void take()
	{
		while (tlm::tlm_generic_payload *request = taken_.get_next_transaction()) {
			tell(*request, tlm::END_REQ);
			done_.notify(*request, latency_); /* from here, so that an answer never comes before END_REQ */
		}
	}
	void answer()
	{
		while (tlm::tlm_generic_payload *request = done_.get_next_transaction()) {
			request->set_response_status(tlm::TLM_OK_RESPONSE);
			tell(*request, tlm::BEGIN_RESP);
			request->release();
		}
	}
	void tell(tlm::tlm_generic_payload &request, tlm::tlm_phase phase)
	{
		sc_core::sc_time delay;
		socket->nb_transport_bw(request, phase, delay);
	}

	sc_core::sc_time interval_, latency_;
	tlm_utils::peq_with_get<tlm::tlm_generic_payload> taken_, done_;
};

} // namespace

/* Called once, while the model is built; what is made here lives until the process ends. */
extern "C" void npusim_memory(tlm::tlm_initiator_socket<> *socket, const char *arguments)
{
	double interval, latency;
	if (std::sscanf(arguments, "%lf,%lf", &interval, &latency) != 2 || interval < 0 || latency < 0)
		throw std::invalid_argument("--memory FILE,INTERVAL,LATENCY in ns would be right");
	using sc_core::sc_time;
	static Memory memory("memory", sc_time(interval, sc_core::SC_NS), sc_time(latency, sc_core::SC_NS));
	socket->bind(memory.socket);
}
