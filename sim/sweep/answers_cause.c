/* SPDX-License-Identifier: Apache-2.0 */
/* Why one point is better than another: from what the goal is made of. */
#include "isa/units.h"
#include "sim/sweep/answers_parts.h"
#include "sim/sweep/figures.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Less of a change is rounding. */
static const double SAME = 1e-6;

static bool differs(double a, double b)
{
	return fabs(a - b) > SAME * fmax(fabs(a), fabs(b));
}

struct text {
	char *out;
	unsigned size, used;
};

static void say(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (t->used < t->size)
		t->used += (unsigned)vsnprintf(t->out + t->used, t->size - t->used, format, args);
	va_end(args);
}

static bool is_one_of(const char *name, const char *const *list)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

/* ---- what a goal is of ---- */

enum goal { OF_TIME, OF_ENERGY, OF_PARTS };

static enum goal goal_of(const char *name)
{
	static const char *const times[] = { "cycles", "time_us", "tokens_per_s", "ms_per_token", NULL },
				 *const energies[] = { "energy.total_uj", "uj_per_token", NULL };
	return is_one_of(name, times) ? OF_TIME : is_one_of(name, energies) ? OF_ENERGY : OF_PARTS;
}

/* Tokens that a goal is counted by; 1: it is not, or there are none. */
static double tokens(const char *goal, const json_t *record)
{
	double us = sweep_record_figure(record, "time_us"), n = 1;
	if (strcmp(goal, "tokens_per_s") == 0)
		n = sweep_record_figure(record, "tokens_per_s") * us * 1e-6;
	else if (strcmp(goal, "ms_per_token") == 0)
		n = us * 1e-3 / sweep_record_figure(record, "ms_per_token");
	else if (strcmp(goal, "uj_per_token") == 0)
		n = sweep_record_figure(record, "energy.total_uj") / sweep_record_figure(record, "uj_per_token");
	return n > 0 && isfinite(n) ? n : 1;
}

static double clock_mhz(const json_t *record)
{
	return sweep_record_figure(record, "cycles") / sweep_record_figure(record, "time_us");
}

/* Cycles of a step of a model are rounded, its time is not. */
static bool clocks_differ(const json_t *a, const json_t *b)
{
	double x = clock_mhz(a), y = clock_mhz(b),
	       cycles = fmin(sweep_record_figure(a, "cycles"), sweep_record_figure(b, "cycles"));
	return fabs(x - y) > (SAME + 1 / cycles) * x;
}

/* ---- what can be a cause ---- */

static bool is_state(const char *name)
{
	const char *state = strrchr(name, '.');
	return strncmp(name, "engines.", 8) == 0 && strcmp(state, ".idle") != 0;
}

static bool is_wait(const char *name)
{
	return strncmp(strrchr(name, '.'), ".wait_", 6) == 0;
}

static bool is_own_state(const char *name)
{
	return is_state(name) && !is_wait(name);
}

static bool is_energy(const char *name)
{
	static const char *const no_parts[] = { "energy.total_uj", "energy.idle_gated_uj", NULL };
	return strncmp(name, "energy.", 7) == 0 && !is_one_of(name, no_parts);
}

/* The figure of a kind that changed most, a token, in the direction of `sign`; NULL: none did. */
static const char *changed_most(bool (*is)(const char *), const json_t *a, const json_t *b, double of_a, double of_b,
				double sign)
{
	const char *which = NULL;
	double most = 0;
	for (unsigned i = 0; sweep_figures[i].name; i++) {
		const char *name = sweep_figures[i].name;
		if (!is(name))
			continue;
		double change = sign * (sweep_record_figure(b, name) / of_b - sweep_record_figure(a, name) / of_a);
		if (change > most) {
			most = change;
			which = name;
		}
	}
	return which;
}

/* ---- time ---- */

/* What a goal is counted by of two points: tokens where these differ, else nothing. */
struct per {
	double a, b;
	const char *unit;
};

static struct per per_token(const char *goal, const json_t *a, const json_t *b)
{
	struct per per = { tokens(goal, a), tokens(goal, b), " a token" };
	return differs(per.a, per.b) ? per : (struct per){ 1, 1, "" };
}

/* "load dram_latency 1,371 -> 2,850 cycles" */
static void say_state(struct text *t, const char *name, const json_t *a, const json_t *b, struct per per)
{
	const char *engine = name + strlen("engines."), *state = strchr(engine, '.');
	say(t, "%.*s %s %s -> %s cycles%s", (int)(state - engine), engine, state + 1,
	    npu_count_text((uint64_t)llround(sweep_record_figure(a, name) / per.a)).text,
	    npu_count_text((uint64_t)llround(sweep_record_figure(b, name) / per.b)).text, per.unit);
}

/* The state of all engines that changed most the way the cycles went, and where an engine only waits in it for another
 * one, also the one that changed most in which it does not; what the clock did where it did. */
static void say_time(struct text *t, const char *goal, const json_t *a, const json_t *b)
{
	struct per per = per_token(goal, a, b);
	double from = sweep_record_figure(a, "cycles") / per.a, to = sweep_record_figure(b, "cycles") / per.b,
	       sign = to > from ? 1 : -1;
	bool clocks = clocks_differ(a, b), by_clock = clocks && strcmp(goal, "cycles") != 0;
	const char *which = by_clock || !differs(from, to) ? NULL : changed_most(is_state, a, b, per.a, per.b, sign);
	const char *own = which && is_wait(which) ? changed_most(is_own_state, a, b, per.a, per.b, sign) : NULL;
	if (by_clock)
		say(t, "%s -> %s cycles%s", npu_count_text((uint64_t)llround(from)).text,
		    npu_count_text((uint64_t)llround(to)).text, per.unit);
	else if (which)
		say_state(t, which, a, b, per);
	if (own) {
		say(t, ", waits aside ");
		say_state(t, own, a, b, per);
	}
	if (clocks)
		say(t, "%sa clock of %.4g -> %.4g MHz",
		    by_clock ? " against "
		    : which  ? ", "
			     : "",
		    clock_mhz(a), clock_mhz(b));
	double bus_a = sweep_record_figure(a, "dram.bus_bytes"), bus_b = sweep_record_figure(b, "dram.bus_bytes");
	if (which && !*per.unit && (bus_b - bus_a) * sign > 0.01 * bus_a)
		say(t, bus_b < 100 << 20 ? ", DRAM %.3g -> %.3g MiB" : ", DRAM %.0f -> %.0f MiB", bus_a / 1048576,
		    bus_b / 1048576);
}

/* ---- energy ---- */

static void say_energy(struct text *t, const char *goal, const json_t *a, const json_t *b)
{
	struct per per = per_token(goal, a, b);
	double sign = sweep_record_figure(b, goal) > sweep_record_figure(a, goal) ? 1 : -1;
	const char *which = changed_most(is_energy, a, b, per.a, per.b, sign);
	if (which)
		say(t, "%s %.4g -> %.4g uJ%s", which, sweep_record_figure(a, which) / per.a,
		    sweep_record_figure(b, which) / per.b, per.unit);
}

/* ---- other figures: what they are reckoned from, where that is kept ---- */

static const struct {
	const char *goal, *parts[3];
} parts[] = {
	{ "mac_utilization", { "macs", "cycles" } },
	{ "dram.gb_per_s", { "dram.read_bytes", "dram.write_bytes", "time_us" } },
	{ "dram.peak_fraction", { "dram.gb_per_s", "dram.peak_gb_per_s" } },
	{ "dram.bus_bytes", { "dram.read_bytes", "dram.write_bytes" } },
	{ "overlap.hidden_fraction", { "overlap.both", "overlap.dma_only" } },
	{ "macs_per_dram_byte", { "macs", "dram.read_bytes", "dram.write_bytes" } },
};

static void say_part(struct text *t, const char *name, double from, double to)
{
	char was[64], is[64];
	sweep_figure_text(name, from, was, sizeof was);
	sweep_figure_text(name, to, is, sizeof is);
	if (strcmp(was, is) != 0)
		say(t, "%s%s %s -> %s", t->used ? ", " : "", name, was, is);
}

/* MACs of a cycle at most, of the types that were multiplied; NaN: there were none. */
static double peak_macs(const json_t *record)
{
	return sweep_record_figure(record, "macs") /
	       (sweep_record_figure(record, "mac_utilization") * sweep_record_figure(record, "cycles"));
}

static void say_parts(struct text *t, const char *goal, const json_t *a, const json_t *b)
{
	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
		for (unsigned k = 0; strcmp(parts[i].goal, goal) == 0 && k < 3 && parts[i].parts[k]; k++)
			say_part(t, parts[i].parts[k], sweep_record_figure(a, parts[i].parts[k]),
				 sweep_record_figure(b, parts[i].parts[k]));
	double from = peak_macs(a), to = peak_macs(b);
	if (strcmp(goal, "mac_utilization") == 0 && from > 0 && to > 0 && fabs(to - from) > 1e-3 * from)
		say(t, "%sof at most %.6g -> %.6g a cycle", t->used ? ", " : "", from, to);
}

const char *answers_cause(const char *goal, const json_t *a, const json_t *b, char *out, unsigned size)
{
	struct text t = { out, size, 0 };
	*out = '\0';
	switch (goal_of(goal)) {
	case OF_TIME:
		say_time(&t, goal, a, b);
		break;
	case OF_ENERGY:
		say_energy(&t, goal, a, b);
		break;
	case OF_PARTS:
		say_parts(&t, goal, a, b);
		break;
	}
	return out;
}

/* ---- why nothing changes ---- */

static void say_bound(struct text *t, const json_t *record)
{
	const json_t *figures = json_object_get(record, "figures");
	const char *bound = json_string_value(json_object_get(figures, "bound"));
	const char *evidence = json_string_value(json_object_get(figures, "bound_evidence"));
	say(t, "bound by %s%s%s%s", bound ? bound : "nothing", evidence ? " (" : "", evidence ? evidence : "",
	    evidence ? ")" : "");
}

static void say_most_energy(struct text *t, const json_t *record)
{
	const char *which = NULL;
	double most = 0;
	for (unsigned i = 0; sweep_figures[i].name; i++)
		if (is_energy(sweep_figures[i].name) && sweep_record_figure(record, sweep_figures[i].name) > most) {
			which = sweep_figures[i].name;
			most = sweep_record_figure(record, which);
		}
	if (which)
		say(t, "%.1f %% of it is %s", 100 * most / sweep_record_figure(record, "energy.total_uj"), which);
}

const char *answers_flat_cause(const char *goal, const struct sweep_axis *x, const json_t *record, char *out,
			       unsigned size)
{
	struct text t = { out, size, 0 };
	double used = sweep_record_figure(record, "sram.peak_bytes");
	*out = '\0';
	if (x->nkeys == 1 && strcmp(x->keys[0], "sram.size") == 0 && used > 0)
		say(&t, "the best tiles use %s KiB", npu_count_text((uint64_t)llround(used / 1024)).text);
	else if (goal_of(goal) == OF_TIME)
		say_bound(&t, record);
	else if (goal_of(goal) == OF_ENERGY)
		say_most_energy(&t, record);
	return out;
}
