/* SPDX-License-Identifier: Apache-2.0 */
/* A TLM-2.0 initiator between the machine and a memory of a user's own. Base protocol, approximately timed: nb_transport,
 * one request at a time until its END_REQ, any number of answers under way; a target with b_transport alone works too, if its
 * socket converts (tlm_utils::simple_target_socket does). */
#ifndef NPU_MODELS_TLM_SC_H
#define NPU_MODELS_TLM_SC_H

#include "models/machine_sc.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

namespace npu {

/* Payloads of whole granules of `granule` bytes. `answer` is called at the cycle in which the last of a request came back. */
class TlmPort : public sc_core::sc_module, public tlm::tlm_mm_interface {
    public:
	SC_HAS_PROCESS(TlmPort);

	TlmPort(sc_core::sc_module_name name, Cycles cycles, uint32_t granule,
		std::function<void(const struct outside_answer &)> answer);

	tlm_utils::simple_initiator_socket<TlmPort> socket;

	void request(const struct outside_request &);
	/* Requests that are not answered. */
	uint64_t under_way() const { return under_way_; }
	/* The first thing that the target did wrong; empty: nothing. */
	const std::string &fault() const { return fault_; }

    private:
	struct Job { /* a request under way */
		struct outside_request request;
		uint64_t number;
		uint32_t left; /* payloads without an answer */
		uint64_t bus_bytes;
	};
	struct Later {
		bool operator()(const Job *a, const Job *b) const
		{
			return a->request.arrival != b->request.arrival ? a->request.arrival > b->request.arrival :
			       a->request.port != b->request.port	? a->request.port > b->request.port :
									  a->number > b->number;
		}
	};
	struct Extension : tlm::tlm_extension<Extension> {
		Job *job = nullptr;
		bool open = false; /* no response yet */

		tlm_extension_base *clone() const override { return new Extension(*this); }
		void copy_from(const tlm_extension_base &e) override { job = static_cast<const Extension &>(e).job; }
	};
	struct Response {
		sc_core::sc_time at;
		uint64_t number;
		tlm::tlm_generic_payload *payload;

		bool operator<(const Response &r) const { return at != r.at ? at > r.at : number > r.number; }
	};

	void send();
	void respond();
	void watch();
	void wait_for_silence();
	void begin(Job *);
	void request_over(const sc_core::sc_time &at);
	void response(tlm::tlm_generic_payload &, const sc_core::sc_time &at);
	void end(Job *);
	void wrong(const std::string &what);
	tlm::tlm_sync_enum backward(tlm::tlm_generic_payload &, tlm::tlm_phase &, sc_core::sc_time &delay);
	tlm::tlm_generic_payload *take();
	Extension *known(tlm::tlm_generic_payload &);
	void free(tlm::tlm_generic_payload *) override;

	Cycles cycles_;
	uint32_t granule_;
	std::function<void(const struct outside_answer &)> answer_;
	std::priority_queue<Job *, std::vector<Job *>, Later> waiting_;	 /* not yet arrived */
	std::deque<tlm::tlm_generic_payload *> outbox_;			 /* arrived, not yet sent */
	tlm::tlm_generic_payload *requesting_ = nullptr;		 /* sent, END_REQ is missing */
	sc_core::sc_time free_from_;					 /* the target takes the next one */
	std::priority_queue<Response> responses_;
	std::vector<std::unique_ptr<Job>> jobs_;
	std::vector<Job *> unused_jobs_;
	std::vector<std::unique_ptr<tlm::tlm_generic_payload>> payloads_;
	std::vector<tlm::tlm_generic_payload *> unused_payloads_;
	std::vector<unsigned char> data_;
	sc_core::sc_event due_, response_due_, patience_;
	uint64_t numbers_ = 0, under_way_ = 0;
	std::string fault_;
};

} // namespace npu

#endif
