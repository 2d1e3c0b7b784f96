/* SPDX-License-Identifier: Apache-2.0 */
/* The DRAM core against three published simulators: every case of bandwidth.csv and isolated_latency.csv in
 * ../shared/reference/dram beside the checkout; says so and passes where that folder is absent. */
#include "tests/support/dram_part.h"
#include "tests/support/dram_streams.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 128 };

struct row {
	char simulator[32], part[32], mapping[16], stream[32];
	double cycles;
};

static FILE *reference(const char *name)
{
	char path[4352];
	snprintf(path, sizeof path, "%s/../shared/reference/dram/%s", dram_part_root(), name);
	FILE *f = fopen(path, "r");
	if (!f)
		printf("skipped: no %s\n", path);
	return f;
}

static size_t read_rows(FILE *f, struct row *rows)
{
	char line[512];
	size_t n = 0;
	if (!fgets(line, sizeof line, f)) /* the header */
		return 0;
	while (n < MAX_ROWS && fgets(line, sizeof line, f)) {
		struct row *r = &rows[n];
		if (sscanf(line, "%31[^,],%31[^,],%15[^,],%*[^,],%31[^,],%*[^,],%lf", r->simulator, r->part, r->mapping,
			   r->stream, &r->cycles) == 5)
			n++;
	}
	return n;
}

static enum dram_mapping mapping_of(const char *name)
{
	return strcmp(name, "RoBaCoBg") == 0   ? DRAM_RoBaCoBg
	       : strcmp(name, "RoBaBgCo") == 0 ? DRAM_RoBaBgCo
					       : DRAM_RoBaCo;
}

/* "LPDDR5-6400x16" is the part LPDDR5-6400. */
static struct dram_config config_of(const struct row *r)
{
	char name[32];
	snprintf(name, sizeof name, "%s", r->part);
	char *width = strstr(name, "x16");
	if (width)
		*width = '\0';
	struct dram_config c = dram_part(name);
	c.mapping = mapping_of(r->mapping);
	return c;
}

static bool same_case(const struct row *a, const struct row *b)
{
	return strcmp(a->part, b->part) == 0 && strcmp(a->mapping, b->mapping) == 0 &&
	       strcmp(a->stream, b->stream) == 0;
}

/* DRAMsim3 leaves LPDDR4's multi-cycle commands out: where commands are what limits, DRAMSys is the reference. */
static bool outranked(const struct row *r)
{
	static const char *const limited_by_commands[] = { "d_rand64",  "e_rand4K",   "f_rand1K",
							   "f_rand64K", "g_stride2K", "x_rand64_mix" };
	if (strcmp(r->simulator, "DRAMsim3") != 0 || strncmp(r->part, "LPDDR4", 6) != 0)
		return false;
	for (size_t i = 0; i < sizeof limited_by_commands / sizeof *limited_by_commands; i++)
		if (strcmp(r->stream, limited_by_commands[i]) == 0)
			return true;
	return false;
}

static uint64_t clocks_of(const struct row *r)
{
	struct dram_config c = config_of(r);
	struct stream s;
	ck_assert(stream_open(&s, r->stream));
	return stream_pump(&c, &s, NULL, NULL).clocks;
}

/* The row of this case that lies nearest to `clocks`. */
static const struct row *nearest(const struct row *rows, size_t n, const struct row *same, double clocks)
{
	const struct row *best = NULL;
	for (size_t i = 0; i < n; i++)
		if (same_case(&rows[i], same) && !outranked(&rows[i]) &&
		    (!best || fabs(rows[i].cycles - clocks) < fabs(best->cycles - clocks)))
			best = &rows[i];
	return best;
}

static bool first_of_case(const struct row *rows, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_case(&rows[k], &rows[i]))
			return false;
	return true;
}

/* The page must hold every line as it is measured. */
static bool documented(const char *line)
{
	static char page[1 << 16];
	char path[4352];
	if (!page[0]) {
		snprintf(path, sizeof path, "%s/docs/models/dram.md", dram_part_root());
		FILE *f = fopen(path, "r");
		ck_assert_msg(f != NULL, "no %s", path);
		page[fread(page, 1, sizeof page - 1, f)] = '\0';
		fclose(f);
	}
	return strstr(page, line) != NULL;
}

START_TEST(bandwidth_of_every_reference_case_is_within_10_percent_and_19_of_20_within_5)
{
	static struct row rows[MAX_ROWS];
	FILE *f = reference("bandwidth.csv");
	if (!f)
		return;
	size_t n = read_rows(f, rows), cases = 0, within5 = 0, stale = 0;
	double worst = 0, sum = 0;
	char line[256];
	fclose(f);
	ck_assert_uint_gt(n, 0);
	printf("| part | mapping | stream | clocks | reference | error | nearest |\n"
	       "| --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < n; i++) {
		if (!first_of_case(rows, i))
			continue;
		double clocks = (double)clocks_of(&rows[i]);
		const struct row *ref = nearest(rows, n, &rows[i], clocks);
		double error = 100 * (clocks - ref->cycles) / ref->cycles;
		snprintf(line, sizeof line, "| %s | %s | %s | %.0f | %.0f | %+.2f %% | %s |", ref->part, ref->mapping,
			 ref->stream, clocks, ref->cycles, error, ref->simulator);
		printf("%s\n", line);
		stale += !documented(line);
		cases++;
		within5 += fabs(error) <= 5;
		worst = fmax(worst, fabs(error));
		sum += fabs(error);
	}
	snprintf(line, sizeof line, "%zu of %zu cases lie within 5 %%, the worst at %.2f %%, the mean at %.2f %%.",
		 within5, cases, worst, sum / (double)cases);
	printf("%s\n", line);
	stale += !documented(line);
	ck_assert_msg(stale == 0, "docs/models/dram.md says otherwise in %zu lines", stale);
	ck_assert_uint_ge(within5 * 20, cases * 19);
	ck_assert_double_le(worst, 10);
}
END_TEST

static void note_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	(void)port, (void)tag;
	*(uint64_t *)ctx = clk;
}

/* One 64 B read pushed to an idle device at `arrival`; its latency. */
static uint64_t latency(struct dram *d, uint64_t arrival, uint64_t addr, const uint64_t *done)
{
	struct dram_request r = { .addr = addr, .nbytes = 64 };
	dram_push(d, arrival, &r);
	dram_run(d, UINT64_MAX);
	return *done - arrival;
}

struct isolated {
	const char *part, *mapping;
	uint32_t fixed; /* the simulator's own delay, a setting here: front_delay */
	double closed, hit, conflict;
};

/* Bank closed; then its row; then another row of its bank, one row of every bank further on. */
static void check_isolated(const struct isolated *i)
{
	struct row row = { .cycles = 0 };
	snprintf(row.part, sizeof row.part, "%s", i->part);
	snprintf(row.mapping, sizeof row.mapping, "%s", i->mapping);
	struct dram_config c = config_of(&row);
	c.front_delay = i->fixed;
	uint64_t done = 0, next_row = c.row_bytes * c.banks * c.bank_groups;
	struct dram_hooks hooks = { .ctx = &done, .done = note_done };
	struct dram *d = dram_new(&c, &hooks);
	double closed = (double)latency(d, 100, 0, &done), hit = (double)latency(d, 500, 64, &done),
	       conflict = (double)latency(d, 1000, next_row, &done);
	dram_free(d);
	printf("%-15s closed %3.0f (ref %3.0f)  hit %3.0f (%3.0f)  conflict %3.0f (%3.0f)\n", i->part, closed,
	       i->closed, hit, i->hit, conflict, i->conflict);
	ck_assert_double_le(fabs(closed - i->closed), 2);
	ck_assert_double_le(fabs(hit - i->hit), 2);
	ck_assert_double_le(fabs(conflict - i->conflict), 2);
}

START_TEST(an_isolated_read_takes_what_the_references_say_within_2_clocks)
{
	char line[512], simulator[32], part[32], mapping[16];
	FILE *f = reference("isolated_latency.csv");
	if (!f)
		return;
	while (fgets(line, sizeof line, f)) {
		struct isolated i = { part, mapping, 1, 0, 0, 0 };
		if (sscanf(line, "%31[^,],%31[^,],%15[^,],%lf,%lf,%lf", simulator, part, mapping, &i.closed, &i.hit,
			   &i.conflict) != 6)
			continue;
		/* DRAMsim3 ships DDR4-2400 with CL = tRCD = tRP = 17 (timings.csv): that row is not this part. */
		if (strcmp(simulator, "DRAMsim3") == 0 && strcmp(part, "DDR4-2400") == 0)
			continue;
		/* Its LPDDR4 has no command of several clocks; the three clocks that one takes stand for its fixed
		 * delay. */
		if (strcmp(simulator, "DRAMsim3") == 0)
			i.fixed = 0;
		check_isolated(&i);
	}
	fclose(f);
}
END_TEST

static Suite *dram_reference_suite(void)
{
	Suite *s = suite_create("dram_reference");
	TCase *t = tcase_create("references");
	tcase_set_timeout(t, 240);
	tcase_add_test(t, bandwidth_of_every_reference_case_is_within_10_percent_and_19_of_20_within_5);
	tcase_add_test(t, an_isolated_read_takes_what_the_references_say_within_2_clocks);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	return npu_suite_run(dram_reference_suite());
}
