/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the cores of matrix, vector and memory are on this host, in processor time: best of some runs. Prints; judges
 * nothing. An argument is the number of runs. */
#include "isa/program.h"
#include "models/machine.h"
#include "models/matrix.h"
#include "models/vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KIB = 1024, GROUP = 256 * KIB, INSNS = 10000 };

static struct npu_insn insns[INSNS];

/* Keeps what is told from being optimised away, and counts. */
struct told {
	uint64_t sink;
	uint64_t cycles;
	uint64_t denied;
	uint64_t bursts;
};

static struct hw edge(void)
{
	struct hw hw = { 0 };
#define KEY(section, type, name, initial, min, max, unit, doc) hw.section.name = initial;
#include "models/hw.def"
	return hw;
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_span(void *ctx, enum npu_state state, uint32_t insn, uint64_t from, uint64_t to)
{
	struct told *told = ctx;
	told->sink += insn;
	if (state == NPU_STATE_SRAM_CONFLICT || state == NPU_STATE_ACCUM_CONFLICT)
		told->denied += to - from;
}

static void on_ended(void *ctx, uint32_t insn, uint32_t slot, uint64_t stream_begin, uint64_t stream_end, uint64_t end)
{
	struct told *told = ctx;
	told->sink += insn + slot + stream_begin + stream_end;
	told->cycles = end;
}

static void on_port_span(void *ctx, enum npu_engine port, enum npu_state state, uint64_t from, uint64_t to)
{
	struct told *told = ctx;
	told->sink += (uint64_t)port + (uint64_t)state + to - from;
}

static void on_done(void *ctx, enum npu_engine port, uint32_t tag, uint64_t cycle)
{
	struct told *told = ctx;
	told->sink += (uint64_t)port + tag + cycle;
}

/* Runs `n` instructions one after the other; with `bursts`, a load burst of 256 bytes every 15 cycles into the 64 KiB there. */
static void run_body(const struct body_ops *ops, void *body, struct memory *memory, uint32_t n, const uint32_t *bursts,
		     struct told *told)
{
	uint64_t next_burst = bursts ? 0 : NPU_NEVER;
	uint32_t next = 0;
	for (uint64_t now = 0, wake; now != NPU_NEVER; now = wake) {
		wake = ops->step(body, now);
		while (next < n) {
			uint64_t at = ops->accept_at(body, now, next);
			if (at > now) {
				wake = at < wake ? at : wake;
				break;
			}
			ops->accept(body, now, next++);
			wake = ops->step(body, now);
		}
		if (wake == NPU_NEVER)
			return;
		if (now >= next_burst) {
			uint32_t at = *bursts + (uint32_t)(told->bursts * 256 % (64 * KIB));
			memory_push(memory, NPU_ENGINE_LOAD,
				    &(struct memory_burst){ .at = now, .local = at, .bytes = 256, .write = true,
							    .tag = (uint32_t)told->bursts++ });
			next_burst = now + 15;
		}
		wake = next_burst < wake ? next_burst : wake;
	}
}

static double run_matrix(uint32_t n, const uint32_t *bursts, struct told *told)
{
	struct hw hw = edge();
	struct npu_program program = { .insns = insns, .ninsns = n };
	struct body_listener listener = { told, on_span, on_ended };
	struct memory *memory = memory_new(&hw, false);
	struct matrix *m = matrix_new(&hw, &program, memory, &listener, 0);
	memory_listen(memory, NPU_ENGINE_LOAD, &(struct memory_listener){ told, on_port_span, on_done });
	double start = seconds();
	run_body(&matrix_ops, m, memory, n, bursts, told);
	double took = seconds() - start;
	matrix_free(m);
	memory_free(memory);
	return took;
}

static double run_vector(uint32_t n, struct told *told)
{
	struct hw hw = edge();
	struct npu_program program = { .insns = insns, .ninsns = n };
	struct body_listener listener = { told, on_span, on_ended };
	struct memory *memory = memory_new(&hw, false);
	struct vector *v = vector_new(&hw, &program, memory, &listener, 0);
	double start = seconds();
	run_body(&vector_ops, v, memory, n, NULL, told);
	double took = seconds() - start;
	vector_free(v);
	memory_free(memory);
	return took;
}

static void products(uint32_t n, uint32_t b, uint32_t stride)
{
	for (uint32_t i = 0; i < n; i++) {
		insns[i] = (struct npu_insn){ .op = NPU_OP_MATMUL };
		insns[i].matmul = (struct npu_matmul){ .dst = NPU_ACC_BIT, .a = 0, .b = b, .m = 128, .n = 128, .k = 128,
						       .a_type = NPU_FP16, .b_type = NPU_FP16, .b_stride = stride };
	}
}

/* Bursts of 256 bytes, one of each engine that takes part every 15 cycles, all in one group. */
static double run_bursts(uint32_t n, bool both, struct told *told)
{
	struct hw hw = edge();
	struct memory *memory = memory_new(&hw, false);
	struct memory_listener listener = { told, on_port_span, on_done };
	memory_listen(memory, NPU_ENGINE_LOAD, &listener);
	memory_listen(memory, NPU_ENGINE_STORE, &listener);
	double start = seconds();
	for (uint32_t i = 0; i < n; i++) {
		struct memory_burst burst = { .at = (uint64_t)i * 15, .channel = i & 1, .local = i * 256 % GROUP, .bytes = 256,
					      .write = true, .tag = i };
		memory_push(memory, NPU_ENGINE_LOAD, &burst);
		burst.channel = 0;
		burst.local = (i * 256 + 128) % (GROUP / 2);
		burst.write = false;
		if (both)
			memory_push(memory, NPU_ENGINE_STORE, &burst);
		memory_advance(memory, (uint64_t)(i + 1) * 15);
	}
	double took = seconds() - start;
	memory_free(memory);
	return took;
}

static double least(double a, double b) { return a < b ? a : b; }

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 20;
	double best[8];
	struct told told = { 0 };
	uint64_t denied[8] = { 0 }, cycles[8] = { 0 };
	static const uint32_t bursts[] = { 2 * GROUP, GROUP, 0 };
	static const char *const where[] = { "another group", "B's group", "A's group" };
	for (unsigned i = 0; i < 8; i++)
		best[i] = 1e9;
	for (int run = 0; run < runs; run++) {
		products(INSNS, GROUP, 0);
		best[0] = least(best[0], run_matrix(INSNS, NULL, &told));
		for (unsigned k = 0; k < 3; k++) {
			told.denied = 0;
			best[1 + k] = least(best[1 + k], run_matrix(50, &bursts[k], &told));
			denied[1 + k] = told.denied;
			cycles[1 + k] = told.cycles;
		}
		products(100, 64 * KIB, 258);
		told.denied = 0;
		best[4] = least(best[4], run_matrix(100, NULL, &told));
		denied[4] = told.denied;
		cycles[4] = told.cycles;
		for (uint32_t i = 0; i < 2000; i++) {
			insns[i] = (struct npu_insn){ .op = NPU_OP_VSOFTMAX_ONLINE };
			insns[i].softmax = (struct npu_softmax){ .dst = 2 * GROUP, .a = NPU_ACC_BIT + 64 * KIB, .state = 3 * GROUP,
								 .scale = .1f, .rows = 128, .cols = 128, .dst_type = NPU_FP16,
								 .a_type = NPU_FP32 };
		}
		best[5] = least(best[5], run_vector(2000, &told));
		best[6] = least(best[6], run_bursts(20000, false, &told));
		best[7] = least(best[7], run_bursts(10000, true, &told));
	}
	printf("%-54s %8.1f ns an instruction\n", "matrix, 128 x 128 x 128", best[0] / INSNS * 1e9);
	for (unsigned k = 0; k < 3; k++)
		printf("matrix and load bursts in %-28s %8.2f ns a cycle, %.1f %% denied\n", where[k],
		       best[1 + k] / (double)cycles[1 + k] * 1e9, 100.0 * (double)denied[1 + k] / (double)cycles[1 + k]);
	printf("%-54s %8.2f ns a cycle, %.1f %% denied\n", "matrix, A and B in one group, B in rows of 258 bytes",
	       best[4] / (double)cycles[4] * 1e9, 100.0 * (double)denied[4] / (double)cycles[4]);
	printf("%-54s %8.1f ns an instruction\n", "vector, online softmax of 128 x 128", best[5] / 2000 * 1e9);
	printf("%-54s %8.1f ns\n", "a load burst of 8 beats", best[6] / 20000 * 1e9);
	printf("%-54s %8.1f ns\n", "a load and a store burst of 8 beats in one group", best[7] / 10000 * 1e9);
	return told.sink == 1;
}
