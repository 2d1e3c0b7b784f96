/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of timelines begin with: a recorded run of the played machine (record_play.h), and what a writer makes of
 * it. Included by one test at a time. */
#ifndef NPU_TESTS_SIM_TIMELINE_PLAY_H
#define NPU_TESTS_SIM_TIMELINE_PLAY_H

#include "tests/sim/record_play.h"
#include "tests/support/suite.h"

typedef bool write_format(const struct simulation *, FILE *, struct npu_error *);

static struct hw hw;
static struct npu_program *program;
static struct simulation *simulation;

static inline void play(unsigned tiles)
{
	program = play_program(tiles);
	simulation = play_recorded(&hw, program);
}

static inline void teardown(void)
{
	simulation_free(simulation);
	npu_program_free(program);
}

/* The text that is written; the caller frees it. */
static inline char *written(write_format *write)
{
	char *bytes = NULL;
	size_t size;
	struct npu_error err;
	FILE *out = open_memstream(&bytes, &size);
	ck_assert(write(simulation, out, &err));
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_uint_eq(strlen(bytes), size);
	return bytes;
}

#endif
