/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the DRAM controller alone with SystemC. One unit of SystemC time is a DRAM clock. */
#include "models/machine_dram.h"
#include "models/machine_sc.h"

#include <memory>

namespace {

uint64_t step(void *ctx, unsigned, uint64_t now)
{
	/* Nobody else is there to interfere. */
	uint64_t open = dram_feed_step(static_cast<struct dram_feed *>(ctx), now + npu::kQuantum);
	return open == UINT64_MAX || open > now ? open : now + 1;
}

} // namespace

extern "C" bool machine_run_dram(const struct dram_config *config, const struct machine_dram_request *requests, uint64_t n,
				 uint32_t window, struct machine_dram_answer *answers, struct machine_dram_totals *totals,
				 struct npu_error *err)
{
	struct dram_feed *feed = dram_feed_new(config, requests, n, window, answers);
	if (!feed)
		return npu_fail(err, NPU_ERR_VALUE, "the DRAM part cannot be built");
	std::unique_ptr<npu::Clockwork> clockwork;
	bool ok = npu::simulate(
		[&] {
			clockwork = std::make_unique<npu::Clockwork>("dram", step, feed, [&] { clockwork->wake(0, 0); });
		},
		err);
	*totals = {};
	dram_feed_finish(feed, totals);
	totals->sc_activations = clockwork ? clockwork->activations() : 0;
	dram_feed_free(feed);
	return ok;
}
