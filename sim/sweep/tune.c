/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own choice is simulated first. What may be better is built and reckoned (reckon.h), and of these some are simulated, two at
 * a time: those that are expected to gain most by their estimate and by how wrong estimates nearby turned out to be (residual.h), until
 * none is likely to be better than the best. */
#include "sim/sweep/tune.h"
#include "sim/model/jobs.h"
#include "sim/model/report.h"
#include "sim/sweep/reckon.h"
#include "sim/sweep/residual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 6, SMALL = 20, FEW = 5, PART = 10, BATCH = 2 };
/* Instructions of all programs that are built, or so. */
enum { BUILT_INSNS = 1 << 23 };

/* Of the estimate. A DRAM seldom gives more than this of its peak; without a second buffer this part of the shorter of moving and
 * computing does not hide, and this part of the longer one is lost to waiting for the other; a third buffer gains little, but it does;
 * an instruction costs cycles of hand-off; the first is loaded and the last stored with nothing beside it. */
static const double DRAM_SHARE = 0.9, UNHIDDEN = 0.6, UNPAIRED = 0.25, THIRD = 0.005, INSN_CYCLES = 20;
/* Deviations. */
static const double UNLIKELY = 4;
/* The last part of the simulations, of which so many parts there are, looks at the buffers of the best. */
enum { CLOSING = 8 };

static bool out_of_memory(struct npu_error *err) { return npu_fail(err, NPU_ERR_MEMORY, "out of memory"); }

/* ---- candidates ---- */

static unsigned values_of(const struct npu_param *p)
{
	unsigned n = 0;
	if (p->type != NPU_PARAM_CHOICE)
		return SIZES;
	while (p->choices[n])
		n++;
	return n;
}

static int64_t value_at(const struct npu_param *p, unsigned i)
{
	return p->type == NPU_PARAM_CHOICE ? (int64_t)i : (int64_t)TUNE_SMALLEST << i;
}

/* A tile of fewer rows than the array waits for weights, one of fewer columns leaves some of them idle. */
static double array_cycles(const struct tuning *t, const struct npu_args *args, double macs)
{
	const struct hw *hw = &t->config->hw;
	double rows = (double)hw->matrix.rows, cols = (double)hw->matrix.cols, factor = 1;
	int dtype = npu_param_index(t->kernel, "dtype");
	bool int8 = dtype >= 0 && strcmp(t->kernel->params[dtype].choices[args->value[dtype]], "int8") == 0;
	for (unsigned i = 0; i < t->kernel->nparams; i++) {
		const char *name = t->kernel->params[i].name;
		double tile = (double)args->value[i], side = strcmp(name, "tile_n") == 0 || strcmp(name, "tile_kv") == 0 ? cols : rows;
		/* All rows of a product that is not cut along them. */
		bool rows_of_all = strcmp(name, "m") == 0 && npu_param_index(t->kernel, "tile_m") < 0;
		if ((strncmp(name, "tile_", 5) == 0 || rows_of_all) && tile > 0 && tile < side)
			factor *= side / tile;
	}
	return macs / (rows * cols * (int8 ? (double)hw->matrix.int8_macs_per_pe : 1)) * factor;
}

static void judge(const struct tuning *t, struct tune_candidate *c)
{
	struct npu_expect e = t->kernel->expect(&c->args);
	const struct hw *hw = &t->config->hw;
	double bytes_a_cycle = model_peak_gb_per_s(hw) * 1e3 / hw->npu.clock_mhz;
	double dram = bytes_a_cycle > 0 ? (double)(e.dram_read_bytes + e.dram_write_bytes) / bytes_a_cycle : 0;
	/* Masked or padded, no product is faster than all PEs at their fastest. */
	double least = (double)e.useful_macs / (double)(hw->matrix.rows * hw->matrix.cols * (hw->matrix.int8_macs_per_pe > 1 ? 2 : 1));
	double array = array_cycles(t, &c->args, (double)e.macs), insns = (double)e.instructions;
	int buffering = npu_param_index(t->kernel, "buffering");
	int64_t more = buffering >= 0 ? c->args.value[buffering] : 1;
	double both = fmax(dram / DRAM_SHARE, array);
	if (more == 0)
		both += UNHIDDEN * fmin(dram, array) + UNPAIRED * fmax(dram, array);
	else if (more > 1)
		both *= 1 - THIRD;
	c->bound = fmax(fmax(dram, least), insns > 0 ? (double)hw->sequencer.launch_cycles + (double)hw->sequencer.issue_cycles * (insns - 1) : 0);
	c->estimate = both + (dram + array) / fmax(1, insns) + INSN_CYCLES * insns;
}

static bool add(struct tuning *t, const struct tune_candidate *c, unsigned *room, struct npu_error *err)
{
	if (t->n == *room) {
		*room = *room ? 2 * *room : 256;
		struct tune_candidate *list = realloc(t->list, *room * sizeof *list);
		if (!list)
			return out_of_memory(err);
		t->list = list;
	}
	t->list[t->n++] = *c;
	return true;
}

static bool resolve(const struct tuning *t, struct npu_args *args, struct npu_error *err)
{
	struct npu_capacity capacity = hw_capacity(&t->config->hw);
	if (!(t->kernel->resolve ? t->kernel->resolve(&capacity, args, err) : npu_args_check(t->kernel, args, err)))
		return false;
	return true;
}

/* Every combination, the last parameter changing first. */
static bool enumerate(struct tuning *t, const struct npu_args *named, unsigned *room, struct npu_error *err)
{
	t->all = 1;
	for (unsigned f = 0; f < t->nfree; f++)
		t->all *= values_of(&t->kernel->params[t->free[f]]);
	for (uint64_t i = 0; i < t->all; i++) {
		struct tune_candidate c = { .args = *named };
		struct npu_error ignored;
		uint64_t rest = i;
		for (unsigned f = t->nfree; f-- > 0;) {
			const struct npu_param *p = &t->kernel->params[t->free[f]];
			c.at[f] = (int8_t)(rest % values_of(p));
			rest /= values_of(p);
			c.args.value[t->free[f]] = value_at(p, (unsigned)c.at[f]);
			c.args.named[t->free[f]] = true;
		}
		if (!resolve(t, &c.args, &ignored))
			continue;
		judge(t, &c);
		if (!add(t, &c, room, err))
			return false;
	}
	return true;
}

/* The kernel's own choice is often one of the combinations: it counts once. */
static void take_out(struct tuning *t, const struct tune_candidate *own)
{
	for (unsigned i = 0; i < t->n; i++)
		if (!memcmp(t->list[i].at, own->at, sizeof own->at)) {
			memmove(&t->list[i], &t->list[i + 1], (--t->n - i) * sizeof *t->list);
			return;
		}
	t->own_apart = true;
}

static bool add_own(struct tuning *t, const struct npu_args *named, unsigned *room, struct npu_error *err)
{
	struct tune_candidate c = { .args = *named };
	if (!resolve(t, &c.args, err))
		return false;
	for (unsigned f = 0; f < t->nfree; f++) {
		const struct npu_param *p = &t->kernel->params[t->free[f]];
		c.at[f] = -1;
		for (unsigned i = 0; i < values_of(p); i++)
			if (value_at(p, i) == c.args.value[t->free[f]])
				c.at[f] = (int8_t)i;
	}
	judge(t, &c);
	take_out(t, &c);
	return add(t, &c, room, err);
}

/* ---- programs ---- */

/* Builds a candidate's program and reckons with it; what cannot be built after all is TUNE_UNFIT. */
/* `why`: of one that cannot be built. */
static void build(struct tuning *t, struct tune_candidate *c, uint64_t *insns, struct npu_error *why)
{
	struct npu_capacity capacity = hw_capacity(&t->config->hw);
	struct npu_args args = c->args;
	struct reckoning reckoning;
	struct npu_program *program = npu_kernel_build(t->kernel, &capacity, &args, why);
	c->state = TUNE_UNFIT;
	if (program && npu_program_fits(program, &capacity.limits, why) && reckon(&t->config->hw, program, &reckoning)) {
		c->state = TUNE_OPEN;
		c->hash = program->hash;
		c->bound = fmax(c->bound, reckoning.least);
		c->estimate = reckoning.cycles;
	}
	*insns += program ? program->ninsns : 0;
	npu_program_free(program);
}

static int by_closed_form(const void *left, const void *right)
{
	const struct tune_candidate *a = *(struct tune_candidate *const *)left, *b = *(struct tune_candidate *const *)right;
	if (a->estimate != b->estimate)
		return a->estimate < b->estimate ? -1 : 1;
	return a < b ? -1 : 1;
}

static int by_hash(const void *left, const void *right)
{
	const struct tune_candidate *a = *(struct tune_candidate *const *)left, *b = *(struct tune_candidate *const *)right;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a < b ? 1 : -1;
}

/* ---- simulations ---- */

static void pick(struct tuning *t, unsigned candidate, unsigned *batch, unsigned *n)
{
	t->list[candidate].state = TUNE_TRIED;
	batch[(*n)++] = candidate;
}

static bool simulate_batch(struct tuning *t, const unsigned *batch, unsigned n, unsigned parallel, struct npu_error *err)
{
	struct model_job jobs[TUNE_MOST];
	for (unsigned i = 0; i < n; i++)
		jobs[i] = (struct model_job){ .kernel = t->kernel, .args = t->list[batch[i]].args, .name = t->kernel->name };
	if (!model_jobs_run(jobs, n, t->config, parallel, err))
		return false;
	for (unsigned i = 0; i < n; i++) {
		struct tune_candidate *c = &t->list[batch[i]];
		c->cycles = (uint64_t)jobs[i].out.cycles;
		t->order[t->nsimulated++] = batch[i];
		if (t->nsimulated == 1 || c->cycles < t->list[t->best].cycles)
			t->best = batch[i];
	}
	return true;
}

/* ---- the search ---- */

static bool is_ruled_out(const struct tuning *t, const struct tune_candidate *c)
{
	return c->state != TUNE_TRIED && t->nsimulated && c->bound >= (double)t->list[t->best].cycles;
}

static bool go_on(struct tuning *t, const struct tune_watch *watch, unsigned built, unsigned building, unsigned most)
{
	if (watch && !t->stopped)
		t->stopped = !watch->go_on(watch->ctx, t, built, building, most);
	return !t->stopped;
}

/* All that may be better than the kernel's own choice, in the order of the closed form until enough is built. Of those of one program
 * one stays. */
static bool build_all(struct tuning *t, unsigned most, const struct tune_watch *watch, struct npu_error *err)
{
	struct tune_candidate **list = malloc(t->n * sizeof *list);
	struct npu_error ignored;
	uint64_t insns = 0;
	unsigned n = 0, built = 0;
	if (!list)
		return out_of_memory(err);
	for (unsigned i = 0; i + 1 < t->n; i++)
		list[n++] = &t->list[i];
	qsort(list, n, sizeof *list, by_closed_form);
	for (unsigned i = 0; i < n && insns < BUILT_INSNS && go_on(t, watch, i, n, most); i++)
		if (!is_ruled_out(t, list[i]))
			build(t, list[i], &insns, &ignored);
	for (unsigned i = 0; i < t->n; i++)
		if (t->list[i].state == TUNE_OPEN || t->list[i].state == TUNE_TRIED)
			list[built++] = &t->list[i];
	qsort(list, built, sizeof *list, by_hash);
	for (unsigned i = 1; i < built; i++)
		if (list[i]->hash == list[i - 1]->hash)
			list[i]->state = TUNE_SAME;
	free(list);
	return true;
}

static bool is_open(const struct tuning *t, const struct tune_candidate *c)
{
	return c->state == TUNE_OPEN && !is_ruled_out(t, c);
}

/* Steps of a size are doublings. A second buffer changes more than a third. */
static struct residual_point place(const struct tuning *t, const struct tune_candidate *c)
{
	struct residual_point p = { .log_estimate = log(fmax(1, c->estimate)) };
	for (unsigned f = 0; f < t->nfree; f++) {
		const struct npu_param *param = &t->kernel->params[t->free[f]];
		double value = (double)c->args.value[t->free[f]];
		if (param->type != NPU_PARAM_CHOICE)
			p.at[f] = log2(fmax(1, value));
		else if (strcmp(param->name, "buffering") == 0)
			p.at[f] = value < 2 ? value : 1 + (value - 1) / 2;
		else
			p.at[f] = value;
	}
	return p;
}

static double log_ratio(const struct tune_candidate *c)
{
	return log(fmax(1, (double)c->cycles)) - log(fmax(1, c->estimate));
}

/* Whether two differ in the number of buffers alone. */
static bool are_twins(const struct tuning *t, const struct tune_candidate *a, const struct tune_candidate *b)
{
	for (unsigned i = 0; i < t->kernel->nparams; i++)
		if (a->args.value[i] != b->args.value[i] && strcmp(t->kernel->params[i].name, "buffering") != 0)
			return false;
	return true;
}

/* In which order candidates are thought of: a shape of tiles once as long as the estimate sees no difference between its buffers, then the
 * others. Towards the end those come first that differ in them from the best. */
enum turn { OF_THE_BEST, FIRST, TWIN, TURNS };

static enum turn turn_of(const struct tuning *t, const struct tune_candidate *c, bool closing)
{
	int buffering = npu_param_index(t->kernel, "buffering");
	enum turn turn = FIRST;
	for (unsigned i = 0; buffering >= 0 && i < t->n; i++) {
		const struct tune_candidate *d = &t->list[i];
		bool stands = d->state == TUNE_TRIED || (d->state == TUNE_OPEN && d->args.value[buffering] > c->args.value[buffering]);
		if (d == c || d->estimate != c->estimate || !stands || !are_twins(t, c, d))
			continue;
		if (closing && i == t->best)
			return OF_THE_BEST;
		turn = TWIN;
	}
	return turn;
}

/* The open candidate that is expected to gain most, of equal ones that of the largest tiles; -1: there is none. None is that would have to
 * be UNLIKELY deviations off to be better than the best. */
static int next(const struct tuning *t, const struct residual *r, bool closing)
{
	double best = log(fmax(1, (double)t->list[t->best].cycles)), most[TURNS] = { -1, -1, -1 };
	int found[TURNS] = { -1, -1, -1 };
	for (unsigned i = 0; i < t->n; i++) {
		const struct tune_candidate *c = &t->list[i];
		double value, deviation;
		if (!is_open(t, c))
			continue;
		struct residual_point p = place(t, c);
		residual_guess(r, &p, &value, &deviation);
		value += p.log_estimate;
		if (value - best > UNLIKELY * deviation)
			continue;
		double gain = residual_gain(best, value, deviation);
		enum turn turn = turn_of(t, c, closing);
		if (gain >= most[turn]) {
			most[turn] = gain;
			found[turn] = (int)i;
		}
	}
	for (unsigned turn = 0; turn < TURNS; turn++)
		if (found[turn] >= 0)
			return found[turn];
	return -1;
}

/* The kernel's own choice: what all others are compared with. */
static bool simulate_own(struct tuning *t, struct npu_error *err)
{
	unsigned batch[1], n = 0;
	uint64_t ignored = 0;
	build(t, &t->list[t->n - 1], &ignored, &t->own_refused);
	if (t->list[t->n - 1].state != TUNE_OPEN)
		return true;
	pick(t, t->n - 1, batch, &n);
	return simulate_batch(t, batch, n, 1, err);
}

/* A few to be simulated side by side. Each is chosen as if those before it turned out as they are guessed to. */
static bool choose(struct tuning *t, struct residual *r, unsigned most, unsigned *batch, unsigned *n)
{
	unsigned known = r->n;
	int i;
	for (*n = 0; *n < BATCH && t->nsimulated + *n < most; pick(t, (unsigned)i, batch, n)) {
		double value, deviation;
		residual_fit(r);
		if ((i = next(t, r, most - t->nsimulated - *n <= most / CLOSING)) < 0)
			break;
		struct residual_point p = place(t, &t->list[i]);
		residual_guess(r, &p, &value, &deviation);
		residual_add(r, &p, value);
	}
	r->n = known;
	return *n > 0;
}

static bool search(struct tuning *t, unsigned most, unsigned parallel, const struct tune_watch *watch, struct npu_error *err)
{
	unsigned batch[BATCH], n = 0;
	if (t->stopped)
		return t->nsimulated || npu_fail(err, NPU_ERR_USAGE, "%s: stopped before anything was simulated", t->kernel->name);
	struct residual *r = calloc(1, sizeof *r);
	if (!r)
		return out_of_memory(err);
	r->axes = t->nfree;
	for (unsigned f = 0; f < t->nfree; f++)
		r->choices |= (unsigned)(t->kernel->params[t->free[f]].type == NPU_PARAM_CHOICE) << f;
	/* The kernel's own choice, or what is estimated to be the best where that cannot be built. */
	for (unsigned i = 0; !t->nsimulated && i < t->n; i++)
		if (t->list[i].state == TUNE_OPEN && (!n || t->list[i].estimate < t->list[batch[0]].estimate)) {
			batch[0] = i;
			n = 1;
		}
	bool ok = n || t->nsimulated || npu_fail(err, NPU_ERR_FIT, "no candidate can be built, the kernel's own choice neither: %.*s",
						      (int)strcspn(t->own_refused.text, "\n"), t->own_refused.text);
	if (n)
		t->list[batch[0]].state = TUNE_TRIED;
	for (unsigned learned = 0; ok;) {
		ok = !n || simulate_batch(t, batch, n, parallel, err);
		for (; ok && learned < t->nsimulated; learned++) {
			const struct tune_candidate *c = &t->list[t->order[learned]];
			struct residual_point p = place(t, c);
			residual_add(r, &p, log_ratio(c));
		}
		if (!ok || !go_on(t, watch, t->n, t->n, most) || !choose(t, r, most, batch, &n))
			break;
	}
	free(r);
	return ok;
}

static void find_free(struct tuning *t, const struct npu_args *named)
{
	for (unsigned i = 0; i < t->kernel->nparams && t->nfree < TUNE_FREE; i++) {
		const char *name = t->kernel->params[i].name;
		bool tuned = strncmp(name, "tile_", 5) == 0 || strcmp(name, "buffering") == 0 || strcmp(name, "order") == 0;
		t->nnamed += tuned && named->named[i];
		if (tuned && !named->named[i])
			t->free[t->nfree++] = (int)i;
	}
}

/* Of the grid of tiles and buffering, whatever the order of loops. Of a single size the grid is no larger than the tenth would need to be. */
static unsigned tenth_of(const struct tuning *t)
{
	unsigned points = t->n - t->own_apart;
	for (unsigned f = 0; f < t->nfree; f++)
		if (strcmp(t->kernel->params[t->free[f]].name, "order") == 0)
			points /= values_of(&t->kernel->params[t->free[f]]);
	unsigned most = points < SMALL ? SMALL : points < FEW * PART ? FEW : points / PART;
	return most < TUNE_MOST ? most : TUNE_MOST;
}

bool tune(struct tuning *t, const struct npu_kernel *kernel, const struct npu_args *named, const struct config *config, unsigned most,
	  unsigned parallel, const struct tune_watch *watch, struct npu_error *err)
{
	unsigned room = 0;
	*t = (struct tuning){ .kernel = kernel, .config = config };
	find_free(t, named);
	if (!t->nfree)
		return npu_fail(err, NPU_ERR_USAGE, "%s: %s", kernel->name,
				t->nnamed ? "tiles and buffering are all named; nothing is left to tune" :
					    "no parameter is tile_*, buffering or order; nothing is there to tune");
	if (!kernel->expect)
		return npu_fail(err, NPU_ERR_USAGE, "%s does not tell its traffic (expect), so nothing can be ruled out", kernel->name);
	if (!enumerate(t, named, &room, err) || !add_own(t, named, &room, err) || !simulate_own(t, err))
		return false;
	if (!most)
		most = tenth_of(t);
	if (!build_all(t, most, watch, err) || !search(t, most, parallel, watch, err))
		return false;
	for (unsigned i = 0; i < t->n; i++) {
		const struct tune_candidate *c = &t->list[i];
		if (c->state == TUNE_TRIED)
			continue;
		if (c->state == TUNE_SAME)
			t->same++;
		else if (is_ruled_out(t, c))
			t->pruned++;
		else
			t->left++;
	}
	return true;
}

void tune_fini(struct tuning *t)
{
	free(t->list);
	t->list = NULL;
}
