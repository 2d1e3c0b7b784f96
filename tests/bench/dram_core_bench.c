/* SPDX-License-Identifier: Apache-2.0 */
/* Speed of the DRAM core alone, in million requests a second of processor time on this machine: best of five runs of
 * each stream. */
#include "tests/support/dram_part.h"
#include "tests/support/dram_streams.h"

#include <stdio.h>
#include <time.h>

enum { RUNS = 5, REPEAT = 4 };

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double million_requests_a_second(const struct dram_config *c, const char *name, uint32_t nbytes)
{
	double best = 0;
	for (int run = 0; run < RUNS; run++) {
		struct stream s;
		stream_open(&s, name);
		s.nbytes = nbytes;
		s.requests *= REPEAT;
		uint32_t requests = s.requests;
		double start = seconds();
		stream_pump(c, &s, NULL, NULL);
		double rate = requests / (seconds() - start) / 1e6;
		best = rate > best ? rate : best;
	}
	return best;
}

int main(void)
{
	static const struct {
		const char *stream;
		uint32_t nbytes;
	} rows[] = { { "a_seq_rd", 64 }, { "a_seq_rd", 256 },    { "b_seq_wr", 64 }, { "b_seq_wr", 256 },
		     { "d_rand64", 64 }, { "x_rand64_mix", 64 }, { "e_rand4K", 64 }, { "f_rand512", 64 } };
	printf("%-14s %-9s %-14s %6s %12s\n", "part", "mapping", "stream", "bytes", "Mrequests/s");
	for (const char *const *part = dram_part_names; *part; part++) {
		struct dram_config c = dram_part(*part);
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			printf("%-14s %-9s %-14s %6u %12.1f\n", *part,
			       c.mapping == DRAM_RoBaCoBg ? "RoBaCoBg" : "RoBaCo", rows[i].stream, rows[i].nbytes,
			       million_requests_a_second(&c, rows[i].stream, rows[i].nbytes));
	}
	return 0;
}
