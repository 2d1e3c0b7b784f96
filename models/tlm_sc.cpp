/* SPDX-License-Identifier: Apache-2.0 */
#include "models/tlm_sc.h"

namespace npu {
namespace {

/* A memory that answers nothing for so long is broken: longer than any refresh or power-down. */
const sc_core::sc_time patience() { return sc_core::sc_time(10, sc_core::SC_MS); }

} // namespace

TlmPort::TlmPort(sc_core::sc_module_name name, Cycles cycles, uint32_t granule,
		 std::function<void(const struct outside_answer &)> answer)
    : sc_module(name), socket("socket"), cycles_(cycles), granule_(granule), answer_(answer), data_(granule)
{
	socket.register_nb_transport_bw(this, &TlmPort::backward);
	SC_METHOD(send);
	sensitive << due_;
	dont_initialize();
	SC_METHOD(respond);
	sensitive << response_due_;
	dont_initialize();
	SC_METHOD(watch);
	sensitive << patience_;
	dont_initialize();
}

void TlmPort::wrong(const std::string &what)
{
	if (fault_.empty())
		fault_ = what;
}

void TlmPort::request(const struct outside_request &r)
{
	if (unused_jobs_.empty()) {
		jobs_.push_back(std::make_unique<Job>());
		unused_jobs_.push_back(jobs_.back().get());
	}
	Job *job = unused_jobs_.back();
	unused_jobs_.pop_back();
	*job = { r, numbers_++, 0, 0 };
	waiting_.push(job);
	if (!under_way_++)
		wait_for_silence();
	/* An earlier notification overrides a later one. */
	const sc_core::sc_time now = sc_core::sc_time_stamp(), at = cycles_.time(r.arrival);
	due_.notify(at > now ? at - now : sc_core::SC_ZERO_TIME);
}

void TlmPort::wait_for_silence()
{
	patience_.cancel();
	if (under_way_)
		patience_.notify(patience());
}

/* Payloads come back here when nobody holds them any more. */
tlm::tlm_generic_payload *TlmPort::take()
{
	if (unused_payloads_.empty()) {
		payloads_.push_back(std::make_unique<tlm::tlm_generic_payload>(this));
		payloads_.back()->set_extension(new Extension);
		unused_payloads_.push_back(payloads_.back().get());
	}
	tlm::tlm_generic_payload *p = unused_payloads_.back();
	unused_payloads_.pop_back();
	p->acquire();
	return p;
}

void TlmPort::free(tlm::tlm_generic_payload *p)
{
	unused_payloads_.push_back(p);
}

/* A request is whole granules: what a memory moves. */
void TlmPort::begin(Job *job)
{
	const struct outside_request &r = job->request;
	const uint64_t end = r.addr + r.bytes;
	for (uint64_t at = r.addr / granule_ * granule_; at < end; at += granule_) {
		tlm::tlm_generic_payload *p = take();
		p->set_command(r.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
		p->set_address(at);
		p->set_data_ptr(data_.data()); /* values are worked out elsewhere */
		p->set_data_length(granule_);
		p->set_streaming_width(granule_);
		p->set_byte_enable_ptr(nullptr);
		p->set_byte_enable_length(0);
		p->set_dmi_allowed(false);
		p->set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
		Extension *e = p->get_extension<Extension>();
		e->job = job;
		e->open = true;
		outbox_.push_back(p);
		job->left++;
		job->bus_bytes += granule_;
	}
}

/* Everything that is due: arrivals into the outbox, from there one request after the other. */
void TlmPort::send()
{
	const sc_core::sc_time now = sc_core::sc_time_stamp();
	for (; !waiting_.empty() && cycles_.time(waiting_.top()->request.arrival) <= now; waiting_.pop())
		begin(waiting_.top());
	while (!requesting_ && free_from_ <= now && !outbox_.empty()) {
		tlm::tlm_generic_payload *p = requesting_ = outbox_.front();
		outbox_.pop_front();
		tlm::tlm_phase phase = tlm::BEGIN_REQ;
		sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
		switch (socket->nb_transport_fw(*p, phase, delay)) {
		case tlm::TLM_ACCEPTED:
			break;
		case tlm::TLM_UPDATED:
			if (phase == tlm::END_REQ)
				request_over(now + delay);
			else if (phase == tlm::BEGIN_RESP)
				response(*p, now + delay);
			else
				wrong("it answers BEGIN_REQ with another phase than END_REQ and BEGIN_RESP");
			break;
		case tlm::TLM_COMPLETED:
			response(*p, now + delay);
			break;
		}
	}
	if (!waiting_.empty())
		due_.notify(cycles_.time(waiting_.top()->request.arrival) - now);
	if (!requesting_ && !outbox_.empty())
		due_.notify(free_from_ - now);
}

/* The target takes the next request from then on. */
void TlmPort::request_over(const sc_core::sc_time &at)
{
	requesting_ = nullptr;
	free_from_ = at;
	due_.notify(at - sc_core::sc_time_stamp());
}

/* NULL, and noted: a payload that waits for no response. */
TlmPort::Extension *TlmPort::known(tlm::tlm_generic_payload &p)
{
	Extension *e = p.get_extension<Extension>();
	if (e && e->open)
		return e;
	wrong("it answers what was not asked, or twice");
	return nullptr;
}

/* A response without END_REQ ends the request too. */
void TlmPort::response(tlm::tlm_generic_payload &p, const sc_core::sc_time &at)
{
	Extension *e = known(p);
	if (!e)
		return;
	e->open = false;
	if (requesting_ == &p)
		request_over(sc_core::sc_time_stamp());
	responses_.push({ at, numbers_++, &p });
	response_due_.notify(responses_.top().at - sc_core::sc_time_stamp());
}

tlm::tlm_sync_enum TlmPort::backward(tlm::tlm_generic_payload &p, tlm::tlm_phase &phase, sc_core::sc_time &delay)
{
	const sc_core::sc_time at = sc_core::sc_time_stamp() + delay;
	if (phase == tlm::END_REQ) {
		if (requesting_ == &p)
			request_over(at);
		else
			wrong("it sends END_REQ for a request that is over");
		return tlm::TLM_ACCEPTED;
	}
	if (phase == tlm::BEGIN_RESP) {
		response(p, at);
		phase = tlm::END_RESP;
		return tlm::TLM_COMPLETED;
	}
	wrong("it sends another phase than END_REQ and BEGIN_RESP");
	return tlm::TLM_ACCEPTED;
}

void TlmPort::end(Job *job)
{
	struct outside_answer a = { job->request, cycles_.at_or_after(sc_core::sc_time_stamp()), job->bus_bytes };
	unused_jobs_.push_back(job);
	under_way_--;
	wait_for_silence();
	answer_(a);
}

void TlmPort::respond()
{
	const sc_core::sc_time now = sc_core::sc_time_stamp();
	while (!responses_.empty() && responses_.top().at <= now) {
		tlm::tlm_generic_payload *p = responses_.top().payload;
		responses_.pop();
		Job *job = p->get_extension<Extension>()->job;
		if (p->is_response_error())
			wrong("it answers " + p->get_response_string() + " at address " + std::to_string(p->get_address()));
		p->release();
		if (!--job->left)
			end(job);
	}
	if (!responses_.empty())
		response_due_.notify(responses_.top().at - now);
}

/* Nothing came back for long. */
void TlmPort::watch()
{
	wrong("it left " + std::to_string(under_way_) + (under_way_ == 1 ? " request" : " requests") +
	      " without an answer for 10 ms");
	sc_core::sc_stop();
}

} // namespace npu
