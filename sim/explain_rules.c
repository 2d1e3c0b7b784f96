/* SPDX-License-Identifier: Apache-2.0 */
/* The tests of the rules: when each holds, and how many cycles its remedy could win at most. */
#include "sim/explain.h"

#include "isa/units.h"
#include "sim/report_read.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A burst or row below this share of the longest burst is short. */
static const double SHORT_BURST = 0.6;
/* More of DRAM touched than this many times what was asked for is waste. */
static const double WASTE = 1.05;
static const double FULL_BUS = 0.75;
/* Where less than this share of the cycles could hide, something else is wrong. */
static const double OVERLAP_LEAST = 0.05;
/* Set-up and latency of short bursts below this share are no matter. */
static const double SHORT_LEAST = 0.05;
static const double LATENCY_LEAST = 0.05;
/* A DMA with this share of the cycles is what the run waits for. */
static const double DMA_LIMIT = 0.6;
/* Its port is busy in this share of them: DRAM has more to give. */
static const double FULL_PORT = 0.85;
/* With buses this full another order wins nothing: refreshes and turnarounds are the rest. */
static const double PACKED_BUS = 0.9;
/* An array this busy, with this utilisation, is the limit, and is not under-filled. */
static const double FULL_ARRAY = 0.85, FULL_MACS = 0.8;
/* A tensor of which this share is written again is what the program itself puts there, not new rows of a cache. */
static const double SPILLED = 0.5;
/* Of the bytes; worth a word. */
static const double MUCH = 0.25;
/* Both must wait so much for each other. */
static const double CHAIN_LEAST = 0.08;
/* One engine with more than this share of the bank conflicts has them with itself: two that meet share them. */
static const double OWN_STREAMS = 0.9;

static void say(struct explain_finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct explain_finding *f, const char *format, ...)
{
	va_list args;
	if (f->nevidence == EXPLAIN_LINES)
		return;
	va_start(args, format);
	vsnprintf(f->evidence[f->nevidence++], EXPLAIN_TEXT, format, args);
	va_end(args);
}

static struct npu_text count(double value) { return npu_count_text((uint64_t)(value > 0 ? value : 0)); }

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }
static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

static double figure(const struct explain *x, const char *path)
{
	double value = report_real(x->report, path);
	return isfinite(value) && value > 0 ? value : 0;
}

static double compute(const struct explain *x)
{
	return most(x->active[NPU_ENGINE_MATRIX], x->active[NPU_ENGINE_VECTOR]);
}

static double dma(const struct explain *x) { return most(x->active[NPU_ENGINE_LOAD], x->active[NPU_ENGINE_STORE]); }

/* What work itself takes, if nothing stalled: no remedy of another engine wins it. */
static double matrix_work(const struct explain *x)
{
	double drains = 0;
	for (size_t i = 0; i < x->nrows; i++)
		drains += x->rows[i].drain;
	return most(x->states[NPU_ENGINE_MATRIX][NPU_STATE_BUSY] - drains, 0);
}

static double compute_work(const struct explain *x)
{
	return most(matrix_work(x), x->states[NPU_ENGINE_VECTOR][NPU_STATE_BUSY]);
}

/* The same where only data come sooner: conflicts of a vector engine and its start-ups stay. */
static double compute_left(const struct explain *x)
{
	return most(matrix_work(x), x->active[NPU_ENGINE_VECTOR]);
}

static double dma_work(const struct explain *x)
{
	double bus = x->peak_bytes > 0 ? figure(x, "dram.bus_bytes") / x->peak_bytes : 0;
	return most(bus, most(x->states[NPU_ENGINE_LOAD][NPU_STATE_BUSY], x->states[NPU_ENGINE_STORE][NPU_STATE_BUSY]));
}

/* What is made shorter shortens the run by no more than it has of the critical path: cycles of an engine in some of its
 * states, and hand-offs, in which it may have been in them. All of them where the path is not known. */
static double on_path(const struct explain *x, enum npu_engine e, const bool states[NPU_STATES])
{
	double path = x->hand_off, all = 0;
	for (unsigned s = 0; s < NPU_STATES; s++)
		if (states[s]) {
			path += x->path[e][s];
			all += x->states[e][s];
		}
	return x->has_path ? least(path, all) : all;
}

static double engine_on_path(const struct explain *x, enum npu_engine e)
{
	bool active[NPU_STATES];
	for (unsigned s = 0; s < NPU_STATES; s++)
		active[s] = account_state_group((enum npu_state)s) == ACCOUNT_ACTIVE;
	return on_path(x, e, active);
}

static double dma_on_path(const struct explain *x)
{
	return engine_on_path(x, NPU_ENGINE_LOAD) + engine_on_path(x, NPU_ENGINE_STORE);
}

/* Where the weights of rows are largest: by source line, else by instruction text. */
static void name_place(const struct explain *x, struct explain_finding *f)
{
	json_t *sums = json_object();
	size_t best = x->nrows;
	double most_weight = 0;
	for (size_t i = 0; sums && i < x->nrows; i++) {
		const struct explain_row *r = &x->rows[i];
		const char *place = r->source[0] ? r->source : r->text;
		if (x->weights[i] <= 0)
			continue;
		double sum = x->weights[i] + json_number_value(json_object_get(sums, place));
		json_object_set_new(sums, place, json_real(sum));
		if (sum > most_weight) {
			most_weight = sum;
			best = i;
		}
	}
	json_decref(sums);
	if (best == x->nrows)
		return;
	const struct explain_row *r = &x->rows[best];
	snprintf(f->place, sizeof(f->place), "%.80s%s%.60s%s%s%.60s", r->source, r->source[0] ? "  " : "", r->text,
		 strlen(r->text) > 60 ? " ..." : "", r->region[0] ? "  region " : "", r->region);
}

static bool is_paged(const struct explain_row *r)
{
	return strncmp(r->text, "gather", 6) == 0 || strncmp(r->text, "scatter", 7) == 0;
}

/* ---- the rules ---- */

/* Names of the buffers that are loaded again and again and have one copy: "a, b". False where there is none. */
static bool name_single_buffers(const struct explain *x, struct explain_finding *f)
{
	char names[EXPLAIN_TEXT] = "";
	size_t used = 0, i;
	json_t *row;
	json_array_foreach(report_value(x->report, "buffers"), i, row) {
		if (report_count(row, "copies") != 1 || report_count(row, "loads") < 2)
			continue;
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", report_text(row, "name"));
		if (used >= sizeof(names))
			break;
	}
	if (names[0])
		say(f, "loaded again and again into one copy: %.180s", names);
	return names[0];
}

static bool test_OVERLAP(const struct explain *x, struct explain_finding *f)
{
	double dma_only = figure(x, "overlap.dma_only"), compute_only = figure(x, "overlap.compute_only");
	double hides = least(dma_only, compute_only);
	if (hides < OVERLAP_LEAST * x->cycles)
		return false;
	/* A load that begins ahead hides its own latency, too. */
	const double *load = x->states[NPU_ENGINE_LOAD];
	f->cycles = least(hides + figure(x, "overlap.neither") + load[NPU_STATE_DMA_SETUP] + load[NPU_STATE_DRAM_LATENCY] +
				  load[NPU_STATE_DRAM_REFRESH],
			  x->cycles - most(compute_work(x), dma_work(x)));
	say(f, "%s cycles of data movement alone, %s of computation alone: all of the shorter could hide", count(dma_only).text,
	    count(compute_only).text);
	/* With several copies of each, what is left are the first load and the last result. */
	if (!name_single_buffers(x, f))
		return false;
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = x->rows[i].states[NPU_STATE_WAIT_LOAD];
	name_place(x, f);
	return true;
}

static bool computes(const struct explain_row *r)
{
	return (r->engine == NPU_ENGINE_MATRIX || r->engine == NPU_ENGINE_VECTOR) && r->service > 0;
}

static bool test_RAMP(const struct explain *x, struct explain_finding *f)
{
	double first = x->cycles, last = 0;
	for (size_t i = 0; i < x->nrows; i++) {
		const struct explain_row *r = &x->rows[i];
		if (computes(r)) {
			first = least(first, r->start);
			last = most(last, r->end);
		}
	}
	if (last <= 0)
		return false;
	double before = first, behind = most(x->cycles - last, 0);
	f->cycles = least(before + behind, x->cycles - most(compute_work(x), dma_work(x)));
	say(f, "%s cycles until something is computed, %s behind the last of it", count(before).text, count(behind).text);
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = !computes(&x->rows[i]) && (x->rows[i].start < first || x->rows[i].end > last) ? x->rows[i].service : 0;
	name_place(x, f);
	return true;
}

/* The semaphore from one engine to another that most cycles were waited for. */
static const json_t *longest_wait(const struct explain *x, const char *poster, const char *waiter)
{
	const json_t *longest = NULL;
	size_t i;
	json_t *row;
	json_array_foreach(report_value(x->report, "semaphores"), i, row) {
		if (strcmp(report_text(row, "poster"), poster) == 0 && strcmp(report_text(row, "waiter"), waiter) == 0 &&
		    (!longest || report_count(row, "wait_cycles") > report_count(longest, "wait_cycles")))
			longest = row;
	}
	return longest;
}

static bool test_CHAIN(const struct explain *x, struct explain_finding *f)
{
	double there = x->states[NPU_ENGINE_MATRIX][NPU_STATE_WAIT_VECTOR];
	double back = x->states[NPU_ENGINE_VECTOR][NPU_STATE_WAIT_MATRIX];
	if (least(there, back) < CHAIN_LEAST * x->cycles)
		return false;
	/* Side by side the longer of the two remains. */
	f->cycles = least(most(there, back), x->cycles - most(compute_work(x), dma_work(x)));
	say(f, "matrix waits %s cycles for vector, vector %s for matrix", count(there).text, count(back).text);
	const json_t *from = longest_wait(x, "vector", "matrix"), *to = longest_wait(x, "matrix", "vector");
	if (from && to)
		say(f, "matrix waits %s cycles for %.60s, vector %s for %.60s", count((double)report_count(from, "wait_cycles")).text,
		    report_text(from, "name"), count((double)report_count(to, "wait_cycles")).text, report_text(to, "name"));
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = x->rows[i].states[NPU_STATE_WAIT_VECTOR];
	name_place(x, f);
	return true;
}

/* Instructions whose bursts are short. */
struct short_bursts {
	double bytes, bursts, setup, latency, service;
	bool paged;
};

static bool is_short(const struct explain *x, const struct explain_row *r)
{
	return r->bursts > 1 && r->rearranged_bytes <= 0 && r->dram_bytes / r->bursts < SHORT_BURST * figure(x, "hw.dma.max_burst");
}

static struct short_bursts short_bursts(const struct explain *x)
{
	struct short_bursts sum = { 0 };
	for (size_t i = 0; i < x->nrows; i++) {
		const struct explain_row *r = &x->rows[i];
		if (!is_short(x, r))
			continue;
		sum.paged = sum.paged || is_paged(r);
		sum.bytes += r->dram_bytes;
		sum.bursts += r->bursts;
		sum.service += r->service;
		sum.setup += r->states[NPU_STATE_DMA_SETUP];
		sum.latency += r->states[NPU_STATE_DRAM_LATENCY];
	}
	return sum;
}

static bool test_PAGE(const struct explain *x, struct explain_finding *f)
{
	double rate = least(figure(x, "hw.dma.port"), x->peak_bytes);
	struct short_bursts sum = short_bursts(x);
	if (sum.bursts <= 0 || rate <= 0 || sum.setup + sum.latency < SHORT_LEAST * x->cycles)
		return false;
	/* Long bursts leave the time that their bytes take. */
	f->cycles = least(most(sum.service - sum.bytes / rate, sum.setup + sum.latency), dma_on_path(x));
	snprintf(f->title, sizeof(f->title), "%s", sum.paged ? "KV pages are too small" : "Rows in DRAM are too short");
	say(f, "%.1f bytes a burst of at most %.0f: %s bytes in %s bursts", sum.bytes / sum.bursts, figure(x, "hw.dma.max_burst"),
	    count(sum.bytes).text, count(sum.bursts).text);
	say(f, "dma_setup %s, dram_latency %s; row hits %.1f %%", count(sum.setup).text, count(sum.latency).text,
	    100 * figure(x, "dram.row_hit_fraction"));
	for (size_t i = 0; i < x->nrows; i++)
		if (is_short(x, &x->rows[i]))
			x->weights[i] = x->rows[i].states[NPU_STATE_DMA_SETUP] + x->rows[i].states[NPU_STATE_DRAM_LATENCY];
	name_place(x, f);
	return true;
}

/* The DMA engine that is active longest; its port and buses say what it waits for. */
static enum npu_engine longest_dma(const struct explain *x)
{
	return x->active[NPU_ENGINE_STORE] > x->active[NPU_ENGINE_LOAD] ? NPU_ENGINE_STORE : NPU_ENGINE_LOAD;
}

static bool dma_is_limit(const struct explain *x)
{
	return dma(x) >= DMA_LIMIT * x->cycles && dma(x) >= compute(x);
}

/* A DMA whose bytes fill the buses while it is at work, or both of them do. */
static bool bus_is_limit(const struct explain *x)
{
	double bus = figure(x, "dram.bus_fraction");
	return bus >= FULL_BUS || (dma_is_limit(x) && bus * x->cycles >= FULL_BUS * dma(x));
}

/* By bytes, not by beats: an instruction that rearranges has more of these. */
static bool port_is_limit(const struct explain *x)
{
	enum npu_engine e = longest_dma(x);
	double bytes = figure(x, e == NPU_ENGINE_LOAD ? "dram.read_bytes" : "dram.write_bytes"), port = figure(x, "hw.dma.port");
	return dma_is_limit(x) && port > 0 && bytes / port >= FULL_PORT * x->active[e] && figure(x, "dram.bus_fraction") < FULL_PORT;
}

/* Whether a transfer has more bursts than may be in flight: then latency counts burst by burst, else once a transfer, which
 * others can hide. */
static bool is_latency_of_bursts(const struct explain *x)
{
	double bursts = 0, n = 0;
	for (size_t i = 0; i < x->nrows; i++)
		if (x->rows[i].bursts > 0) {
			bursts += x->rows[i].bursts;
			n++;
		}
	if (n <= 0) {
		double longest = figure(x, "hw.dma.max_burst");
		bursts = longest > 0 ? x->dram_bytes / longest : 0;
		n = figure(x, "engines.load.instructions") + figure(x, "engines.store.instructions");
	}
	return bursts > figure(x, "hw.dma.outstanding") * n;
}

static bool test_LATENCY(const struct explain *x, struct explain_finding *f)
{
	enum npu_engine e = longest_dma(x);
	double latency = x->states[e][NPU_STATE_DMA_SETUP] + x->states[e][NPU_STATE_DRAM_LATENCY], bus = figure(x, "dram.bus_fraction");
	struct short_bursts sum = short_bursts(x);
	/* Short bursts have a reason of their own. */
	if (!dma_is_limit(x) || port_is_limit(x) || !is_latency_of_bursts(x) || bus_is_limit(x) || latency < LATENCY_LEAST * x->cycles ||
	    2 * (sum.setup + sum.latency) > latency)
		return false;
	f->cycles = least(dma_on_path(x), x->cycles - most(compute_left(x), dma_work(x)));
	say(f, "%s is active %s cycles (%.1f %%): dma_setup %s, dram_latency %s", npu_engine_name(e), count(x->active[e]).text,
	    percent(x->active[e], x->cycles), count(x->states[e][NPU_STATE_DMA_SETUP]).text,
	    count(x->states[e][NPU_STATE_DRAM_LATENCY]).text);
	say(f, "the data buses carry data in %.1f %% of the time; %.0f bursts in flight, %.0f load channels", 100 * bus,
	    figure(x, "hw.dma.outstanding"), figure(x, "hw.dma.load_channels"));
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = x->rows[i].engine == e ? x->rows[i].states[NPU_STATE_DMA_SETUP] +
								 x->rows[i].states[NPU_STATE_DRAM_LATENCY] : 0;
	name_place(x, f);
	return true;
}

static bool test_PORT(const struct explain *x, struct explain_finding *f)
{
	enum npu_engine e = longest_dma(x);
	double bus = x->peak_bytes > 0 ? figure(x, "dram.bus_bytes") / x->peak_bytes : 0;
	if (!port_is_limit(x))
		return false;
	f->cycles = least(dma_on_path(x), x->cycles - most(compute_left(x), bus));
	say(f, "%s is active %s cycles (%.1f %%), and moves a beat on chip in %s of them", npu_engine_name(e), count(x->active[e]).text,
	    percent(x->active[e], x->cycles), count(x->states[e][NPU_STATE_BUSY]).text);
	say(f, "its port has %.0f bytes a cycle; the data buses of DRAM carry data in %.1f %% of the time", figure(x, "hw.dma.port"),
	    100 * figure(x, "dram.bus_fraction"));
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = x->rows[i].engine == e ? x->rows[i].states[NPU_STATE_BUSY] : 0;
	name_place(x, f);
	return true;
}

static bool test_LAYOUT(const struct explain *x, struct explain_finding *f)
{
	double bytes = 0, service = 0, beats = 0, plain = 0, slow = 0, port = figure(x, "hw.dma.port");
	double rate = least(port, x->peak_bytes), shortest = SHORT_BURST * figure(x, "hw.dma.max_burst");
	for (size_t i = 0; rate > 0 && i < x->nrows; i++) {
		const struct explain_row *r = &x->rows[i];
		if (r->rearranged_bytes <= 0)
			continue;
		bytes += r->rearranged_bytes;
		service += r->service;
		x->weights[i] = r->service;
		if (r->bursts > 0 && r->dram_bytes / r->bursts < shortest) {
			slow += r->service - r->dram_bytes / rate;
			continue;
		}
		beats += r->states[NPU_STATE_BUSY] + r->states[NPU_STATE_DMA_SETUP];
		plain += r->dram_bytes / port;
	}
	/* Instructions side by side share their cycles unevenly: their sums count. */
	double over = most(slow, 0) + most(beats - plain, 0);
	if (bytes <= 0 || over <= 0)
		return false;
	/* The bytes are on the bus in any layout. */
	f->cycles = least(least(over, dma_on_path(x)), x->cycles * (1 - least(figure(x, "dram.bus_fraction"), 1)));
	say(f, "%s of %s bytes (%.1f %%) change their layout on the way", count(bytes).text, count(x->dram_bytes).text,
	    percent(bytes, x->dram_bytes));
	say(f, "they take %s cycles of DMA, %s of them for that", count(service).text, count(over).text);
	name_place(x, f);
	return true;
}

static bool test_SRAM(const struct explain *x, struct explain_finding *f)
{
	double all = 0, longest = 0, path = 0, without = 0, bus = figure(x, "dram.bus_fraction");
	unsigned engine = 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		double conflicts = x->states[e][NPU_STATE_SRAM_CONFLICT];
		all += conflicts;
		/* What a DMA did not lose to a bank it would wait for a DRAM at its limit. */
		bool waits = (e == NPU_ENGINE_LOAD || e == NPU_ENGINE_STORE) && bus >= FULL_BUS;
		without = most(without, x->active[e] - (waits ? 0 : conflicts));
		if (waits)
			continue;
		path += on_path(x, (enum npu_engine)e, (const bool[NPU_STATES]){ [NPU_STATE_SRAM_CONFLICT] = true });
		engine = conflicts > longest ? e : engine;
		longest = most(conflicts, longest);
	}
	if (bus >= FULL_BUS)
		without = most(without, bus * x->cycles / PACKED_BUS);
	f->cycles = least(x->has_path ? path : longest, x->cycles - without);
	/* Nobody else is held up: it is its own streams that meet. */
	if (longest > OWN_STREAMS * all) {
		snprintf(f->title, sizeof(f->title), "Streams of the %s engine meet in one group of SRAM banks",
			 npu_engine_name((enum npu_engine)engine));
		f->advice = "write the result to another group than the operands are read from (bank= of a buffer), not in place";
	}
	say(f, "sram_conflict %s cycles of %s, %s of all engines", count(longest).text, npu_engine_name((enum npu_engine)engine),
	    count(all).text);
	say(f, "%.0f banks of %.0f bytes a cycle in %.0f groups", figure(x, "hw.sram.banks"), figure(x, "hw.sram.bank_bytes"),
	    figure(x, "hw.sram.groups"));
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = x->rows[i].states[NPU_STATE_SRAM_CONFLICT];
	name_place(x, f);
	return true;
}

/* Loads from an address that was loaded from before. */
static void weigh_rereads(const struct explain *x)
{
	json_t *seen = json_object();
	for (size_t i = 0; seen && i < x->nrows; i++) {
		const char *at = x->rows[i].engine == NPU_ENGINE_LOAD ? strstr(x->rows[i].text, "dram:") : NULL;
		char address[32];
		if (!at)
			continue;
		snprintf(address, sizeof(address), "%.*s", (int)strcspn(at, " "), at);
		if (json_object_get(seen, address))
			x->weights[i] = x->rows[i].dram_bytes;
		json_object_set_new(seen, address, json_true());
	}
	json_decref(seen);
}

/* Bytes of tensors that were read before. */
static double read_again(const struct explain *x)
{
	double again = 0;
	size_t i;
	json_t *row;
	json_array_foreach(report_value(x->report, "tensors"), i, row) {
		double read = (double)report_count(row, "read_bytes"), unique = (double)report_count(row, "unique_bytes");
		again += unique > 0 && read >= 2 * unique ? read - unique : 0;
	}
	return again;
}

static bool test_REREAD(const struct explain *x, struct explain_finding *f)
{
	enum { NAMED = 3 };
	double again = 0, fewest = 0, worst = 0;
	unsigned n = 0;
	size_t i, used = 0;
	json_t *row;
	char names[EXPLAIN_TEXT] = "";
	json_array_foreach(report_value(x->report, "tensors"), i, row) {
		double read = (double)report_count(row, "read_bytes"), unique = (double)report_count(row, "unique_bytes");
		const char *name = report_text(row, "name");
		if (unique <= 0 || read < 2 * unique || name[0] == '(')
			continue;
		again += read - unique;
		say(f, "%.60s: %s bytes read, %s of them different, %.1f times each", name, count(read).text, count(unique).text,
		    read / unique);
		worst = most(worst, read / unique);
		fewest = n ? least(fewest, read / unique) : read / unique;
		snprintf(f->tensors + strlen(f->tensors), sizeof(f->tensors) - strlen(f->tensors), " %.40s ", name);
		if (n++ < NAMED)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.40s", n == 1 ? "" : n == 2 ? " and " : ", ", name);
	}
	if (again <= 0 || x->peak_bytes <= 0)
		return false;
	/* At the rate of this run, which latency may set. What DRAM need not move shortens nothing that computation takes, or
	 * stores, which do not read. */
	double moved = most(again / x->peak_bytes, again / figure(x, "dram.read_bytes") * x->active[NPU_ENGINE_LOAD]);
	/* Behind a port of its own a store is not sooner for it. */
	double path = port_is_limit(x) ? engine_on_path(x, NPU_ENGINE_LOAD) : dma_on_path(x);
	f->cycles = least(least(moved, path), x->cycles - most(compute_left(x), x->states[NPU_ENGINE_STORE][NPU_STATE_BUSY]));
	if (worst > fewest)
		snprintf(f->title, sizeof(f->title), "%.130s%s read %.1f to %.1f times", names, n > NAMED ? " and others are" : " are",
			 fewest, worst);
	else
		snprintf(f->title, sizeof(f->title), "%.130s %s read %.1f times", names, n > 1 ? "are each" : "is", worst);
	weigh_rereads(x);
	name_place(x, f);
	return true;
}

/* A tensor that is written, and read back: the one of which most is read. */
static const json_t *read_back(const struct explain *x)
{
	const json_t *longest = NULL;
	size_t i;
	json_t *row;
	json_array_foreach(report_value(x->report, "tensors"), i, row) {
		if (report_count(row, "write_bytes") > 0 && report_count(row, "read_bytes") > 0 &&
		    (!longest || report_count(row, "read_bytes") > report_count(longest, "read_bytes")))
			longest = row;
	}
	return longest;
}

/* Whether it is written as a whole: it is not a cache to which rows are added. */
static bool is_spilled(const json_t *tensor)
{
	double unique = (double)report_count(tensor, "unique_bytes");
	return report_count(tensor, "read_bytes") > 0 && (double)report_count(tensor, "write_bytes") > SPILLED * unique;
}

static const char keep_on_chip[] = "keep it on chip from one step to the next, as flash_attention does with what attention "
				   "stores; else store each tile's part early and load it late";

/* Where much of the traffic is what the program itself put there. */
static void name_spilled(const struct explain *x, struct explain_finding *f)
{
	double bytes = 0;
	size_t i, used = 0;
	char names[EXPLAIN_TEXT] = "";
	json_t *row;
	json_array_foreach(report_value(x->report, "tensors"), i, row) {
		if (!is_spilled(row) || used >= sizeof(names))
			continue;
		bytes += (double)(report_count(row, "read_bytes") + report_count(row, "write_bytes"));
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.40s", used ? ", " : "", report_text(row, "name"));
	}
	if (bytes < MUCH * x->dram_bytes)
		return;
	say(f, "%s of %s bytes are written and read back: %.120s", count(bytes).text, count(x->dram_bytes).text, names);
	f->advice = keep_on_chip;
}

static bool test_DRAM(const struct explain *x, struct explain_finding *f)
{
	double bus = figure(x, "dram.bus_fraction");
	/* Where most of the bytes were there before, the rule of tensors that are read often says so. */
	if (!bus_is_limit(x) || port_is_limit(x) || dma(x) < compute(x) || 2 * read_again(x) > x->dram_bytes)
		return false;
	f->cycles = least(dma_on_path(x), x->cycles - compute_left(x));
	say(f, "the data bus carries data in %.1f %% of the time, %.2f of %.2f GB/s", 100 * bus, figure(x, "dram.gb_per_s"),
	    figure(x, "dram.peak_gb_per_s"));
	if (figure(x, "macs") > 0)
		say(f, "%.1f MAC/B, and below %.1f DRAM is the limit", figure(x, "macs_per_dram_byte"), figure(x, "ridge_macs_per_byte"));
	name_spilled(x, f);
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = x->rows[i].dram_bytes;
	name_place(x, f);
	return true;
}

static bool test_VECTOR(const struct explain *x, struct explain_finding *f)
{
	double vector = x->active[NPU_ENGINE_VECTOR], next = most(x->active[NPU_ENGINE_MATRIX], dma(x));
	if (vector < 0.7 * x->cycles || vector <= next || x->states[NPU_ENGINE_VECTOR][NPU_STATE_BUSY] <= most(matrix_work(x), dma_work(x)))
		return false;
	f->cycles = least(engine_on_path(x, NPU_ENGINE_VECTOR), x->cycles - most(matrix_work(x), dma_work(x)));
	say(f, "active %s cycles (%.1f %%), the next longest engine %s", count(vector).text, percent(vector, x->cycles),
	    count(next).text);
	say(f, "%.0f lanes, %.0f bytes a cycle", figure(x, "hw.vector.lanes"), figure(x, "hw.vector.port"));
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = x->rows[i].engine == NPU_ENGINE_VECTOR ? x->rows[i].service : 0;
	name_place(x, f);
	return true;
}

static bool test_ARRAY(const struct explain *x, struct explain_finding *f)
{
	double rows = figure(x, "hw.matrix.rows"), pes = rows * figure(x, "hw.matrix.cols"), service = 0, full = 0, n = 0, m = 0;
	for (size_t i = 0; i < x->nrows; i++) {
		const struct explain_row *r = &x->rows[i];
		if (r->macs <= 0 || r->m >= rows)
			continue;
		double per_pe = strstr(r->text, "a_type=int8") ? most(figure(x, "hw.matrix.int8_macs_per_pe"), 1) : 1;
		n++;
		m += r->m;
		service += r->service;
		full += pes > 0 ? r->macs / (pes * per_pe) : 0;
		x->weights[i] = r->service;
	}
	if (n <= 0)
		return false;
	/* What others take anyway is not won. */
	f->cycles = least(service - full, least(engine_on_path(x, NPU_ENGINE_MATRIX),
						x->cycles - most(x->states[NPU_ENGINE_VECTOR][NPU_STATE_BUSY], dma_work(x))));
	say(f, "%s of %s products have fewer than the array's %.0f rows, %.1f on average", count(n).text,
	    count(figure(x, "engines.matrix.instructions")).text, rows, m / n);
	say(f, "they take %s cycles of the array, and %s if it were full", count(service).text, count(full).text);
	name_place(x, f);
	return true;
}

static bool test_MATRIX(const struct explain *x, struct explain_finding *f)
{
	double matrix = x->active[NPU_ENGINE_MATRIX], next = most(x->active[NPU_ENGINE_VECTOR], dma(x));
	if (matrix < FULL_ARRAY * x->cycles || figure(x, "mac_utilization") < FULL_MACS)
		return false;
	/* Of int8 there are half the bytes, too. */
	f->cycles = least(engine_on_path(x, NPU_ENGINE_MATRIX),
			  x->cycles - most(x->states[NPU_ENGINE_VECTOR][NPU_STATE_BUSY], dma_work(x) / 2));
	say(f, "active %s cycles (%.1f %%), MAC utilisation %.1f %%; the next longest engine %s", count(matrix).text,
	    percent(matrix, x->cycles), 100 * figure(x, "mac_utilization"), count(next).text);
	say(f, "%.0f x %.0f MACs", figure(x, "hw.matrix.rows"), figure(x, "hw.matrix.cols"));
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = x->rows[i].engine == NPU_ENGINE_MATRIX ? x->rows[i].service : 0;
	name_place(x, f);
	return true;
}

static bool test_DRAIN(const struct explain *x, struct explain_finding *f)
{
	double n = 0, rows = figure(x, "hw.matrix.rows");
	bool waited = false;
	for (size_t i = 0; i < x->nrows; i++) {
		const struct explain_row *r = &x->rows[i];
		if (r->engine != NPU_ENGINE_MATRIX)
			continue;
		/* What waits for data, by itself or by a sync before it, would not have come earlier. */
		waited = waited || r->states[NPU_STATE_WAIT_LOAD] > 0 || r->states[NPU_STATE_WAIT_STORE] > 0;
		if (r->macs <= 0)
			continue;
		/* Few rows are a fault of their own. */
		if (r->drain > 0 && !waited && r->m >= rows) {
			n++;
			/* And its weights are loaded behind that. */
			f->cycles += r->drain + rows + figure(x, "hw.sequencer.sync_latency");
			x->weights[i] = r->drain;
		}
		waited = false;
	}
	if (n <= 0)
		return false;
	f->cycles = least(f->cycles, x->cycles - most(figure(x, "mac_utilization") * x->cycles, dma_work(x)));
	say(f, "%s products begin after the one before has drained, and load their weights then", count(n).text);
	name_place(x, f);
	return true;
}

static bool test_DISPATCH(const struct explain *x, struct explain_finding *f)
{
	double full = 0;
	unsigned busiest = NPU_ENGINE_LOAD;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		char path[64];
		double without = x->states[e][NPU_STATE_DISPATCH_RATE] + x->states[e][NPU_STATE_DISPATCH_BLOCKED];
		snprintf(path, sizeof(path), "sequencer.queue_full.%s", npu_engine_name((enum npu_engine)e));
		full += figure(x, path);
		busiest = x->active[e] > x->active[busiest] ? e : busiest;
		if (without > 0)
			say(f, "%s without an instruction %s cycles, %s of them while another queue is full",
			    npu_engine_name((enum npu_engine)e), count(without).text,
			    count(x->states[e][NPU_STATE_DISPATCH_BLOCKED]).text);
	}
	/* An engine without an instruction beside one that works is no loss: the busiest one counts. */
	double without = x->states[busiest][NPU_STATE_DISPATCH_RATE] + x->states[busiest][NPU_STATE_DISPATCH_BLOCKED];
	/* Fewer instructions start less often, too. A queue that is full holds the sequencer for the sake of the engine
	 * behind it: where that one has the path, another sequencer wins nothing. */
	double path = figure(x, "critical_path.dispatch");
	f->cycles = most(without, least(path, x->cycles - x->active[busiest])) +
		    (without > 0 ? x->states[busiest][NPU_STATE_ENGINE_LATENCY] : 0);
	if (x->has_path)
		f->cycles = least(f->cycles, path + x->path[busiest][NPU_STATE_ENGINE_LATENCY]);
	f->nevidence = f->nevidence < EXPLAIN_LINES ? f->nevidence : EXPLAIN_LINES - 1;
	say(f, "sequencer: issue %s, queue full %s, fetch %s, launch %s cycles", count(figure(x, "sequencer.issue")).text,
	    count(full).text, count(figure(x, "sequencer.fetch")).text, count(figure(x, "sequencer.launch")).text);
	return true;
}

/* Rows that are added to a cache, values that did not stay on chip, or a buffer that is still being stored. */
static void name_write_back(const struct explain *x, struct explain_finding *f)
{
	const json_t *row = read_back(x);
	const char *name = report_text(row, "name");
	double written = (double)report_count(row, "write_bytes");
	if (!row) {
		snprintf(f->title, sizeof(f->title), "Loads wait for stores to free their buffers");
		f->advice = "another buffer for what is stored, or more copies of it";
		return;
	}
	say(f, "%.60s: %s bytes written, %s read", name, count(written).text, count((double)report_count(row, "read_bytes")).text);
	if (!is_spilled(row))
		return;
	snprintf(f->title, sizeof(f->title), "Loads wait for stores: %.60s is written to DRAM and read back", name);
	f->advice = keep_on_chip;
}

static bool test_WRITE_BACK(const struct explain *x, struct explain_finding *f)
{
	double waits = x->states[NPU_ENGINE_LOAD][NPU_STATE_WAIT_STORE];
	/* A DRAM at its limit moves both, in whatever order. */
	if (figure(x, "dram.bus_fraction") >= PACKED_BUS)
		return false;
	f->cycles = x->has_path ? least(waits, engine_on_path(x, NPU_ENGINE_STORE) + figure(x, "critical_path.post")) : waits;
	f->cycles = least(f->cycles, x->cycles - most(compute_work(x), dma_work(x)));
	say(f, "load waits %s cycles for store; store is active %s", count(waits).text,
	    count(x->active[NPU_ENGINE_STORE]).text);
	name_write_back(x, f);
	const json_t *sem = longest_wait(x, "store", "load");
	if (sem)
		say(f, "%s of them for %.60s", count((double)report_count(sem, "wait_cycles")).text, report_text(sem, "name"));
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = x->rows[i].engine == NPU_ENGINE_LOAD ? x->rows[i].states[NPU_STATE_WAIT_STORE] : 0;
	name_place(x, f);
	return true;
}

static bool test_PREFETCH(const struct explain *x, struct explain_finding *f)
{
	const double *load = x->states[NPU_ENGINE_LOAD];
	double waits = most(x->states[NPU_ENGINE_MATRIX][NPU_STATE_WAIT_LOAD], x->states[NPU_ENGINE_VECTOR][NPU_STATE_WAIT_LOAD]);
	double latency = load[NPU_STATE_DMA_SETUP] + load[NPU_STATE_DRAM_LATENCY];
	/* Loads that wait for nobody begin as early as they can. */
	double held = load[NPU_STATE_WAIT_MATRIX] + load[NPU_STATE_WAIT_VECTOR];
	if (held <= 0.01 * x->cycles || is_latency_of_bursts(x) || figure(x, "dram.bus_fraction") >= FULL_BUS)
		return false;
	if (least(waits, latency) < LATENCY_LEAST * x->cycles)
		return false;
	f->cycles = least(waits, x->cycles - most(compute_work(x), dma_work(x)));
	say(f, "computation waits %s cycles for load, which spends %s on set-up and latency", count(waits).text, count(latency).text);
	say(f, "before that it waits %s cycles for a free buffer; the bus is used %.1f %% of the time", count(held).text,
	    100 * figure(x, "dram.bus_fraction"));
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = x->rows[i].engine == NPU_ENGINE_LOAD ? x->rows[i].states[NPU_STATE_DMA_SETUP] +
									       x->rows[i].states[NPU_STATE_DRAM_LATENCY] : 0;
	name_place(x, f);
	return true;
}

static bool test_MISALIGNED(const struct explain *x, struct explain_finding *f)
{
	double asked = x->dram_bytes, touched = figure(x, "dram.bus_bytes");
	/* A bus with time to spare has it for what nobody asked for. */
	if (asked <= 0 || touched < WASTE * asked || figure(x, "dram.bus_fraction") < FULL_BUS)
		return false;
	f->cycles = (touched / asked - 1) * least(dma_on_path(x), x->cycles);
	say(f, "%s bytes touched for %s asked for, %.2f times", count(touched).text, count(asked).text, touched / asked);
	for (size_t i = 0; i < x->nrows; i++)
		x->weights[i] = most(x->rows[i].granule_bytes - x->rows[i].dram_bytes, 0);
	name_place(x, f);
	return true;
}

static bool test_IDLE(const struct explain *x, struct explain_finding *f)
{
	double idle = figure(x, "energy.idle_uj"), total = figure(x, "energy.total_uj");
	f->energy_uj = idle;
	say(f, "%.2f of %.2f uJ (%.1f %%), at %.0f mW; MAC utilisation %.1f %%", idle, total, percent(idle, total),
	    figure(x, "hw.energy.idle_mw"), 100 * figure(x, "mac_utilization"));
	return idle > 0;
}

bool explain_needs_rows(enum explain_rule rule)
{
	return rule == EXPLAIN_PAGE || rule == EXPLAIN_LAYOUT || rule == EXPLAIN_ARRAY || rule == EXPLAIN_RAMP || rule == EXPLAIN_DRAIN;
}

bool explain_test(const struct explain *x, enum explain_rule rule, struct explain_finding *f)
{
	static bool (*const tests[EXPLAIN_RULES])(const struct explain *, struct explain_finding *) = {
#define RULE(NAME, text, ideal, least, title, advice) test_##NAME,
#include "sim/explain.def"
	};
	return tests[rule](x, f);
}
