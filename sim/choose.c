/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates by traffic and instructions, then by short simulations, the best of these by longer ones; at last one against the
 * kernel's own tiles. */
#include "sim/choose.h"
#include "sim/model/jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 32, SIZES = 5, TILES_MAX = 3, FEWEST = 16, FINALISTS = 32, LAST = 4 };
/* Work of simulations, about as many bursts of DRAM: of a first look at a candidate and at all of them, of a second one
 * at the best, what is run whole in the end, and what two longer ones are drawn out from. 2^14 take some hundredths of a second. */
enum { BURST = 256, INSN_BURSTS = 8, SHORT = 1 << 12, FIRST = 1 << 18, LONGER = 1 << 16, WHOLE = 1 << 19, SAMPLE = 1 << 16 };
/* Drawn out, a run must be so many hundredths shorter to count as shorter: a line through two of them is off by less. By so many at second
 * sight, it needs no last comparison. */
enum { MARGIN = 2, FAR = 8 };
/* Lengths along which one candidate is drawn out. */
enum { LINES = 3, CORNERS = 1 << LINES };

/* The length that a tile cuts; beyond it a larger tile is the same one again. */
static const struct {
	const char *tile, *length;
} lengths[] = { { "tile_m", "m" },    { "tile_n", "n" },	 { "tile_k", "k" },	  { "tile_q", "seq_q" },
		{ "tile_kv", "seq" }, { "tile_rows", "rows" }, { "tile_rows", "seq_q" } };

struct candidate {
	struct npu_args args; /* resolved */
	uint64_t work;
	double cycles; /* of the whole, as far as it is known */
};

struct search {
	const struct npu_kernel *kernel;
	struct npu_capacity capacity;
	const struct npu_args *named;
	struct npu_args own; /* with the kernel's own tiles */
	int tiles[TILES_MAX], order; /* parameters that are free; order -1: it is not */
	int64_t longest[TILES_MAX];  /* what each tile cuts; INT64_MAX: not known */
	unsigned ntiles;
	struct candidate best[FINALISTS + 1]; /* the least work first; then the kernel's own */
	unsigned n;
};

/* An instruction is worth several bursts. */
static uint64_t work_of(const struct npu_kernel *k, const struct npu_args *args)
{
	struct npu_expect e = k->expect(args);
	return (e.dram_read_bytes + e.dram_write_bytes) / BURST + e.instructions * INSN_BURSTS;
}

static bool resolved(const struct search *s, struct candidate *c, struct npu_error *err)
{
	if (!s->kernel->resolve(&s->capacity, &c->args, err))
		return false;
	c->work = work_of(s->kernel, &c->args);
	return true;
}

static void keep(struct search *s, const struct candidate *c)
{
	unsigned at = s->n;
	while (at > 0 && c->work < s->best[at - 1].work)
		at--;
	if (at == FINALISTS)
		return;
	s->n += s->n < FINALISTS;
	memmove(&s->best[at + 1], &s->best[at], (s->n - 1 - at) * sizeof *c);
	s->best[at] = *c;
}

/* Every combination of sizes. */
static void try_sizes(struct search *s, struct candidate *c, unsigned tile)
{
	if (tile == s->ntiles || tile == TILES_MAX) {
		struct npu_error ignored;
		struct candidate trial = *c;
		if (resolved(s, &trial, &ignored))
			keep(s, &trial);
		return;
	}
	for (unsigned i = 0; i < SIZES && (i == 0 || SMALLEST << (i - 1) < s->longest[tile]); i++) {
		c->args.value[s->tiles[tile]] = SMALLEST << i;
		c->args.named[s->tiles[tile]] = true;
		try_sizes(s, c, tile + 1);
	}
}

static void try_all(struct search *s)
{
	struct candidate c = { .args = *s->named };
	if (s->order < 0) {
		try_sizes(s, &c, 0);
		return;
	}
	for (int64_t i = 0; s->kernel->params[s->order].choices[i]; i++) {
		c.args.value[s->order] = i;
		c.args.named[s->order] = true;
		try_sizes(s, &c, 0);
	}
}

/* Operands that stay are as long as k: cut, they would leave room for second buffers that the whole has not. */
static bool keeps_k(const struct npu_kernel *k, const struct npu_args *args)
{
	int order = npu_param_index(k, "order");
	return order >= 0 && strcmp(k->params[order].choices[args->value[order]], "output") != 0;
}

/* The images of a convolution; -1: this is none. */
static int images_of(const struct npu_kernel *k)
{
	return npu_param_index(k, "filters") >= 0 ? npu_param_index(k, "batch") : -1;
}

static void name_all(struct npu_args *args, unsigned n)
{
	for (unsigned p = 0; p < n; p++)
		args->named[p] = true;
}

/* ---- drawing out ---- */

/* A length of which two shorter ones are run, in tiles of `step`; the ragged one with which the whole ends is in both. */
struct line {
	int param;
	int64_t step, whole, tiles, fewest; /* of the longer one: half of them are in the shorter one */
	int with;			    /* a parameter in proportion; 0: none */
};

/* What is run of a candidate: every line at its shorter and at its longer length, each with each. What is loaded once, or
 * once for a row of tiles, counts as often as the whole has it, as cycles are linear in each length. */
struct box {
	const struct npu_kernel *kernel;
	struct npu_args args; /* what no line cuts */
	struct line lines[LINES];
	unsigned n;
	double times; /* that the whole has it */
};

static int64_t length_at(const struct line *l, bool longer)
{
	return (longer ? l->tiles : l->tiles / 2) * l->step + l->whole % l->step;
}

static struct npu_args corner(const struct box *b, unsigned which)
{
	struct npu_args args = b->args;
	for (unsigned i = 0; i < b->n; i++) {
		const struct line *l = &b->lines[i];
		int64_t length = length_at(l, which >> i & 1);
		args.value[l->param] = length;
		if (l->with)
			args.value[l->with] = args.value[l->with] / l->whole * length;
	}
	return args;
}

static uint64_t work_of_box(const struct box *b)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < 1u << b->n; i++) {
		struct npu_args args = corner(b, i);
		sum += work_of(b->kernel, &args);
	}
	return sum;
}

static double drawn_out(const struct box *b, const struct model_job *corners)
{
	double sum = 0;
	for (unsigned c = 0; c < 1u << b->n; c++) {
		double weight = 1;
		for (unsigned i = 0; i < b->n; i++) {
			double from = (double)length_at(&b->lines[i], false), to = (double)length_at(&b->lines[i], true);
			double t = ((double)b->lines[i].whole - from) / (to - from);
			weight *= c >> i & 1 ? t : 1 - t;
		}
		sum += weight * corners[c].out.cycles;
	}
	return b->times * sum;
}

/* Fewer tiles of the line that has most of them, of a new one if it has; false: all have as few as they may. */
static bool cut(struct box *b, struct line *whole, unsigned n, int fewer)
{
	struct line *most = NULL;
	for (unsigned i = 0; i < n; i++) {
		struct line *l = &whole[i];
		/* Two lengths in place of one are worth running if they are half of it. */
		if (l->tiles / 2 >= l->fewest / fewer && (!most || l->tiles > most->tiles))
			most = l;
	}
	if (!most)
		return false;
	most->tiles /= 2;
	b->n = 0;
	for (unsigned i = 0; i < n; i++)
		if (whole[i].tiles < whole[i].whole / whole[i].step)
			b->lines[b->n++] = whole[i];
	return true;
}

/* Query heads share key heads in groups. */
static bool one_group(const struct npu_kernel *k, struct npu_args *args)
{
	int heads = npu_param_index(k, "heads"), groups = npu_param_index(k, "kv_heads");
	if (heads < 0 || groups < 0 || args->value[groups] < 2)
		return false;
	args->value[heads] /= args->value[groups];
	args->value[groups] = 1;
	return true;
}

/* Lines along the lengths of a candidate, until `most` work remains; of what takes that long for one group of heads, as the
 * kernel's own tiles tell of all candidates, one group. */
static struct box make_box(const struct search *s, const struct candidate *c, uint64_t most)
{
	/* Sums pass all of k one after the other, where tiles stream. */
	static const struct {
		const char *length, *tile;
		int64_t fewest;
	} cuts[] = { { "m", "tile_m", 4 }, { "n", "tile_n", 4 }, { "k", "tile_k", 16 }, { "rows", "tile_rows", 16 } };
	const struct npu_kernel *k = s->kernel;
	struct box b = { .kernel = k, .args = c->args, .times = 1 };
	struct npu_args group = s->own;
	struct line lines[LINES];
	unsigned n = 0;
	name_all(&b.args, k->nparams);
	if (one_group(k, &group) && work_of(k, &group) > most) {
		b.times = (double)b.args.value[npu_param_index(k, "kv_heads")];
		one_group(k, &b.args);
		return b;
	}
	if (work_of_box(&b) <= most)
		return b;
	int heads = npu_param_index(k, "heads"), groups = npu_param_index(k, "kv_heads"), images = images_of(k);
	if (heads > 0 && groups >= 0)
		lines[n++] = (struct line){ groups, 1, b.args.value[groups], b.args.value[groups], 4, heads };
	for (unsigned i = 0; i < sizeof cuts / sizeof cuts[0] && n < LINES; i++) {
		int length = npu_param_index(k, cuts[i].length), tile = npu_param_index(k, cuts[i].tile);
		if (length < 0 || tile < 0 || (strcmp(cuts[i].length, "k") == 0 && keeps_k(k, &c->args)))
			continue;
		int64_t step = b.args.value[tile], whole = b.args.value[length];
		if (step > 0 && whole > step)
			lines[n++] = (struct line){ length, step, whole, whole / step, cuts[i].fewest, 0 };
	}
	if (images >= 0 && n < LINES)
		lines[n++] = (struct line){ images, 1, b.args.value[images], b.args.value[images], 4, 0 };
	/* First as many tiles as make a pipeline, then as few as there may be. */
	for (int fewer = 1; fewer <= 2; fewer++)
		while (work_of_box(&b) > most && cut(&b, lines, n, fewer))
			;
	return b;
}

/* Simulates `n` candidates, each with about `most` work, and sets their cycles; infinite where one's program cannot be built. */
static bool look_at(const struct search *s, struct candidate *c, unsigned n, uint64_t most, const struct config *config,
		    unsigned parallel, struct npu_error *err)
{
	struct box *boxes = calloc(n, sizeof *boxes);
	struct model_job *jobs = calloc((size_t)n * CORNERS, sizeof *jobs);
	unsigned njobs = 0;
	bool ok = (boxes && jobs) || npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	for (unsigned i = 0; ok && i < n; i++) {
		boxes[i] = make_box(s, &c[i], most);
		for (unsigned j = 0; j < 1u << boxes[i].n; j++)
			jobs[njobs++] = (struct model_job){ .kernel = s->kernel, .args = corner(&boxes[i], j),
							    .name = s->kernel->name, .optional = true };
	}
	ok = ok && model_jobs_run(jobs, njobs, config, parallel, err);
	njobs = 0;
	for (unsigned i = 0; ok && i < n; i++) {
		bool built = true;
		for (unsigned j = 0; j < 1u << boxes[i].n; j++)
			built = built && isfinite(jobs[njobs + j].out.cycles);
		c[i].cycles = built ? drawn_out(&boxes[i], &jobs[njobs]) : INFINITY;
		njobs += 1u << boxes[i].n;
	}
	free(boxes);
	free(jobs);
	return ok;
}

/* Those with the fewest cycles first, of equal ones that with less work. */
static void sort_by_cycles(struct candidate *c, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		struct candidate one = c[i];
		unsigned at = i;
		for (; at > 0 && one.cycles < c[at - 1].cycles; at--)
			c[at] = c[at - 1];
		c[at] = one;
	}
}

static bool same_values(const struct search *s, const struct npu_args *a, const struct npu_args *b)
{
	return memcmp(a->value, b->value, s->kernel->nparams * sizeof a->value[0]) == 0;
}

/* More than a few candidates are looked at only as far as that is cheap. */
static void drop_costly(struct search *s)
{
	uint64_t sum = 0;
	unsigned n = 0;
	for (; n < s->n && (n < FEWEST || sum < FIRST); n++) {
		struct box b = make_box(s, &s->best[n], SHORT);
		sum += work_of_box(&b);
	}
	s->n = n;
}

/* The fastest but for the kernel's own tiles by what short runs show, of the first few of these by what longer ones do. `*sure`:
 * the chosen one is by far faster than the kernel's own, or is these. */
static bool fastest(struct search *s, struct candidate *own, const struct config *config, unsigned parallel,
		    struct npu_args *chosen, bool *sure, struct npu_error *err)
{
	struct candidate last[LAST + 1];
	unsigned n = 0;
	drop_costly(s);
	s->best[s->n] = *own;
	if (!look_at(s, s->best, s->n + 1, SHORT, config, parallel, err))
		return false;
	*own = s->best[s->n];
	sort_by_cycles(s->best, s->n);
	for (unsigned i = 0; i < s->n && n < LAST; i++)
		if (!same_values(s, &s->best[i].args, &own->args) && isfinite(s->best[i].cycles))
			last[n++] = s->best[i];
	if (!n) {
		*sure = true;
		return true;
	}
	/* It need not be looked at again where it is left far behind. */
	*sure = last[0].cycles * 100 < own->cycles * (100 - 2 * FAR);
	last[n] = *own;
	if (!look_at(s, last, n + !*sure, LONGER, config, parallel, err))
		return false;
	double by_own = last[n].cycles;
	sort_by_cycles(last, n);
	bool behind = !*sure && last[0].cycles * (100 - FAR) > by_own * 100;
	if (!behind)
		*chosen = last[0].args;
	*sure = *sure || behind || last[0].cycles * 100 < by_own * (100 - FAR);
	return true;
}

/* ---- the last comparison ---- */

/* Two candidates on the same lengths, and the lengths that a line is drawn through. */
struct pair {
	const struct npu_kernel *kernel;
	struct npu_args args[2];
	int along;         /* parameter; -1: the whole is run */
	int64_t length[3]; /* two that are run, and the whole */
};

static int64_t larger(const struct pair *p, int param)
{
	int64_t a = p->args[0].value[param], b = p->args[1].value[param];
	return a > b ? a : b;
}

static uint64_t work_of_pair(const struct pair *p)
{
	uint64_t a = work_of(p->kernel, &p->args[0]), b = work_of(p->kernel, &p->args[1]);
	return a > b ? a : b;
}

static void set(struct pair *p, int param, int64_t value)
{
	p->args[0].value[param] = p->args[1].value[param] = value;
}

/* Half of a length, in whole tiles of both, until the pair is short enough. */
static void halve(struct pair *p, const char *length, const char *tile, uint64_t most)
{
	int at = npu_param_index(p->kernel, length), by = npu_param_index(p->kernel, tile);
	if (at < 0 || by < 0)
		return;
	for (int64_t step = larger(p, by); work_of_pair(p) > most && p->args[0].value[at] >= 4 * step;) {
		int64_t half = p->args[0].value[at] / 2;
		set(p, at, half - half % step);
	}
}

/* Chooses two lengths, of one and two tiles of the longer one and the ragged one with which the whole ends; false: it has too
 * few of them. */
static bool draw_out(struct pair *p, int along, const char *tile)
{
	int by = npu_param_index(p->kernel, tile);
	if (along < 0 || (tile[0] && by < 0))
		return false;
	int64_t whole = p->args[0].value[along], step = by < 0 ? 1 : larger(p, by), rest = whole % step;
	if (whole < 4 * step)
		return false;
	p->along = along;
	p->length[0] = step + rest;
	p->length[1] = 2 * step + rest;
	p->length[2] = whole;
	return true;
}

/* What is too long is run for one group of heads, or drawn out along its rows; along its columns, if these are few. */
static void make_shorter(struct pair *p)
{
	int heads = npu_param_index(p->kernel, "heads"), kv_heads = npu_param_index(p->kernel, "kv_heads");
	p->along = -1;
	if (work_of_pair(p) <= WHOLE)
		return;
	if (heads >= 0 && kv_heads >= 0 && p->args[0].value[kv_heads] > 0) {
		set(p, heads, p->args[0].value[heads] / p->args[0].value[kv_heads]);
		set(p, kv_heads, 1);
		return;
	}
	if (!draw_out(p, npu_param_index(p->kernel, "m"), "tile_m") &&
	    !draw_out(p, npu_param_index(p->kernel, "rows"), "tile_rows") && !draw_out(p, images_of(p->kernel), "") &&
	    !draw_out(p, npu_param_index(p->kernel, "n"), "tile_n"))
		return;
	set(p, p->along, p->length[1]);
	if (p->along != npu_param_index(p->kernel, "n"))
		halve(p, "n", "tile_n", SAMPLE);
	if (!keeps_k(p->kernel, &p->args[0]) && !keeps_k(p->kernel, &p->args[1]))
		halve(p, "k", "tile_k", SAMPLE);
}

/* Cycles of both. */
static bool run_pair(struct pair *p, const struct config *config, unsigned parallel, double cycles[2], struct npu_error *err)
{
	struct model_job jobs[4];
	unsigned each = p->along < 0 ? 1 : 2;
	for (unsigned c = 0; c < 2; c++)
		for (unsigned i = 0; i < each; i++) {
			struct model_job *job = &jobs[c * each + i];
			*job = (struct model_job){ .kernel = p->kernel, .args = p->args[c], .name = p->kernel->name,
						   .optional = true };
			if (p->along >= 0)
				job->args.value[p->along] = p->length[i];
		}
	if (!model_jobs_run(jobs, 2 * each, config, parallel, err))
		return false;
	for (unsigned c = 0; c < 2; c++) {
		cycles[c] = jobs[c * each].out.cycles;
		if (p->along < 0 || !isfinite(cycles[c]))
			continue;
		double slope = (jobs[c * each + 1].out.cycles - cycles[c]) / (double)(p->length[1] - p->length[0]);
		cycles[c] += slope * (double)(p->length[2] - p->length[0]);
	}
	return true;
}

/* Takes the kernel's own tiles unless the others are faster on the whole, or where that takes long on enough of it. */
static bool prefer_own(const struct search *s, const struct npu_args *own, struct npu_args *chosen, const struct config *config,
		       unsigned parallel, struct npu_error *err)
{
	struct pair p = { .kernel = s->kernel, .args = { *own, *chosen } };
	double cycles[2];
	name_all(&p.args[0], s->kernel->nparams);
	name_all(&p.args[1], s->kernel->nparams);
	uint64_t before = work_of_pair(&p);
	make_shorter(&p);
	bool whole = work_of_pair(&p) == before && p.along < 0;
	if (!run_pair(&p, config, parallel, cycles, err))
		return false;
	if (cycles[1] * 100 >= cycles[0] * (whole ? 100 : 100 - MARGIN))
		*chosen = *own;
	return true;
}

static int64_t length_of(const struct npu_kernel *k, const struct npu_args *resolved, int tile)
{
	for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		int length = npu_param_index(k, lengths[i].length);
		if (length >= 0 && strcmp(k->params[tile].name, lengths[i].tile) == 0)
			return resolved->value[length];
	}
	return INT64_MAX;
}

static bool is_free(const struct npu_args *args, int param) { return param >= 0 && !args->named[param]; }

bool choose_tiles(const struct npu_kernel *kernel, struct npu_args *args, const struct config *config,
		  unsigned parallel, struct npu_error *err)
{
	struct search *s = calloc(1, sizeof *s);
	if (!s)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	*s = (struct search){ .kernel = kernel, .capacity = hw_capacity(&config->hw), .named = args,
			      .order = npu_param_index(kernel, "order") };
	if (!is_free(args, s->order))
		s->order = -1;
	for (unsigned i = 0; i < kernel->nparams && s->ntiles < TILES_MAX; i++)
		if (strncmp(kernel->params[i].name, "tile_", 5) == 0 && is_free(args, (int)i))
			s->tiles[s->ntiles++] = (int)i;
	struct candidate own = { .args = *args };
	bool searched = s->ntiles && kernel->expect && kernel->resolve;
	bool ok = searched ? resolved(s, &own, err)
		  : kernel->resolve ? kernel->resolve(&s->capacity, &own.args, err) : npu_args_check(kernel, &own.args, err);
	if (ok && searched) {
		struct npu_args chosen = s->own = own.args;
		for (unsigned t = 0; t < s->ntiles; t++)
			s->longest[t] = length_of(kernel, &own.args, s->tiles[t]);
		try_all(s);
		bool sure = false;
		ok = fastest(s, &own, config, parallel, &chosen, &sure, err) &&
		     (sure || prefer_own(s, &own.args, &chosen, config, parallel, err));
		own.args = chosen;
	}
	if (ok)
		*args = own.args;
	free(s);
	return ok;
}
