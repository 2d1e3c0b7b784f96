/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of account_bound.h, and its evidence as one line of text. */
#include "sim/account_bound.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static const enum npu_engine asked[] = { NPU_ENGINE_MATRIX, NPU_ENGINE_VECTOR, NPU_ENGINE_LOAD, NPU_ENGINE_STORE };

static enum npu_engine longest_active(const struct account *a)
{
	enum npu_engine longest = asked[0];
	for (unsigned i = 1; i < sizeof(asked) / sizeof(asked[0]); i++)
		if (a->active[asked[i]] > a->active[longest])
			longest = asked[i];
	return longest;
}

/* Engines without any instruction tell nothing. */
static uint64_t over_engines(const struct account *a, enum npu_state s)
{
	uint64_t sum = 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		if (a->instructions[e] > 0)
			sum += a->states[e][s];
	return sum;
}

static const char *bound_by_order(const struct account *a)
{
	uint64_t dispatch = over_engines(a, NPU_STATE_DISPATCH_RATE) + over_engines(a, NPU_STATE_DISPATCH_BLOCKED);
	uint64_t waiting = 0;
	for (unsigned s = 0; s < NPU_STATES; s++)
		if (account_state_group((enum npu_state)s) == ACCOUNT_WAITING)
			waiting += over_engines(a, (enum npu_state)s);
	return dispatch > waiting ? "dispatch" : "latency";
}

/* A DMA whose on-chip port never rests, though DRAM does; with ideal DRAM there is no bus (NaN). */
static bool port_is_full(const struct account *a, enum npu_engine e)
{
	bool bus_is_full = a->dram_bus_fraction >= BOUND_BUS_PERCENT / 100.0;
	return (e == NPU_ENGINE_LOAD || e == NPU_ENGINE_STORE) && !bus_is_full &&
	       100 * a->states[e][NPU_STATE_BUSY] >= BOUND_PORT_PERCENT * a->active[e];
}

static const char *bound_by_engine(const struct account *a, enum npu_engine e)
{
	const uint64_t *s = a->states[e];
	uint64_t conflict = s[NPU_STATE_SRAM_CONFLICT] + s[NPU_STATE_ACCUM_CONFLICT];
	uint64_t latency = s[NPU_STATE_ENGINE_LATENCY] + s[NPU_STATE_DMA_SETUP] + s[NPU_STATE_DRAM_LATENCY];
	uint64_t rest = a->active[e] - conflict - latency;
	if (conflict > latency && conflict > rest)
		return "sram";
	if (e == NPU_ENGINE_MATRIX)
		return "matrix";
	if (e == NPU_ENGINE_VECTOR)
		return "vector";
	/* A burst's own data count as bandwidth: with few in flight the buses rest most of the time all the same. */
	bool buses_rest = 100 * a->dram_bus_fraction * (double)a->cycles < BOUND_REST_PERCENT * (double)a->active[e];
	if (latency > rest || (buses_rest && latency > 0 && 100 * s[NPU_STATE_BUSY] < BOUND_PORT_PERCENT * a->active[e]))
		return "latency";
	/* An ideal DRAM limits nothing: what is left of a DMA is its own. */
	return port_is_full(a, e) || isnan(a->dram_bus_fraction) ? "dma" : "dram";
}

static void say(struct account *a, uint64_t *length, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(struct account *a, uint64_t *length, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(a->evidence + *length, sizeof(a->evidence) - *length, format, args);
	va_end(args);
	if (n > 0)
		*length += (uint64_t)n;
	if (*length >= sizeof(a->evidence))
		*length = sizeof(a->evidence) - 1;
}

static double percent(const struct account *a, uint64_t cycles)
{
	return a->cycles > 0 ? 100.0 * (double)cycles / (double)a->cycles : 0;
}

/* "load" of wait_load. */
static const char *waited_for(enum npu_state s) { return account_state_name(s) + sizeof("wait_") - 1; }

/* What the longest wait of the computing engine is for; nothing where it does not wait. */
static void say_wait(struct account *a, uint64_t *length)
{
	enum npu_engine e = a->instructions[NPU_ENGINE_MATRIX] > 0 ? NPU_ENGINE_MATRIX : NPU_ENGINE_VECTOR;
	enum npu_state longest = NPU_STATE_WAIT_LOAD;
	for (unsigned s = 0; s < NPU_STATES; s++)
		if (account_state_group((enum npu_state)s) == ACCOUNT_WAITING && a->states[e][s] > a->states[e][longest])
			longest = (enum npu_state)s;
	if (a->states[e][longest] > 0)
		say(a, length, ", %s waits %.1f %% for %s", npu_engine_name(e), percent(a, a->states[e][longest]),
		    waited_for(longest));
}

static void say_dispatch(struct account *a, uint64_t *length)
{
	for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		const uint64_t *s = a->states[asked[i]];
		if (a->instructions[asked[i]] == 0)
			continue;
		say(a, length, ", %s without an instruction %.1f %%", npu_engine_name(asked[i]),
		    percent(a, s[NPU_STATE_DISPATCH_RATE] + s[NPU_STATE_DISPATCH_BLOCKED]));
		return;
	}
}

void account_bound(struct account *a)
{
	enum npu_engine e = longest_active(a);
	bool engine = 100 * a->active[e] >= BOUND_ACTIVE_PERCENT * a->cycles && a->active[e] > 0;
	a->bound = engine ? bound_by_engine(a, e) : bound_by_order(a);
	uint64_t length = 0;
	if (a->macs > 0 && !isnan(a->macs_per_dram_byte) && !isnan(a->dram_peak_fraction))
		say(a, &length, "%.1f MAC/B, ridge %.1f; ", a->macs_per_dram_byte, a->ridge_macs_per_byte);
	else if (a->macs > 0 && !isnan(a->macs_per_dram_byte)) /* nobody knows what that DRAM could do at most */
		say(a, &length, "%.1f MAC/B; ", a->macs_per_dram_byte);
	if (engine)
		say(a, &length, "%s active %.1f %%", npu_engine_name(e), percent(a, a->active[e]));
	else
		say(a, &length, "no engine active above %.1f %% (%s)", percent(a, a->active[e]), npu_engine_name(e));
	if (engine && port_is_full(a, e))
		say(a, &length, ", its port busy %.1f %%", percent(a, a->states[e][NPU_STATE_BUSY]));
	if (engine || a->bound[0] == 'l')
		say_wait(a, &length);
	else
		say_dispatch(a, &length);
	a->bound_evidence = a->evidence;
}
