/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that simulators of this kind are known for, one test a kind, on the whole machine and on shipped kernels.
 *
 * More of the array alone: models.matrix_faults; of the scheduler: models.dram_policy, models.dram; of opcodes: isa.insn,
 * isa.program. */
#include "isa/access.h"
#include "isa/field.h"
#include "isa/insn.h"
#include "kernels/kernel.h"
#include "models/machine.h"
#include "sim/config.h"
#include "tests/support/dram_part.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the machine, in a child: one run a process ---- */

enum { INSNS = 4096 };

struct outcome {
	bool ok;
	struct machine_totals totals;
	uint64_t state[NPU_ENGINES][NPU_STATES]; /* cycles */
	uint64_t told[NPU_ENGINES];              /* spans follow one another up to here */
	uint64_t broken;                         /* spans that are empty, or do not begin where the one before ended */
	uint64_t start[INSNS], end[INSNS];
};

static void on_span(void *ctx, const struct probe_span *s)
{
	struct outcome *o = ctx;
	o->broken += s->from != o->told[s->engine] || s->to <= s->from;
	o->told[s->engine] = s->to;
	o->state[s->engine][s->state] += s->to - s->from;
}

static void on_insn(void *ctx, const struct probe_insn *i)
{
	struct outcome *o = ctx;
	o->start[i->insn] = i->start;
	o->end[i->insn] = i->end;
}

/* The caller unmaps it, or leaves it to the end of the test's process. */
static const struct outcome *run(const struct hw *hw, const struct npu_program *p, unsigned ideal)
{
	struct outcome *o = mmap(NULL, sizeof *o, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(o != MAP_FAILED && p->ninsns <= INSNS);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		struct probe probe = { .ctx = o, .insn = on_insn, .span = on_span };
		struct npu_error err;
		o->ok = machine_run(hw, p, ideal, &probe, &o->totals, &err);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	ck_assert(o->ok);
	return o;
}

static struct hw preset(const char *name, const char *set)
{
	struct hw hw;
	struct npu_error err;
	ck_assert_msg(config_load(&hw, name, &set, set != NULL, &err), "%s", err.text);
	return hw;
}

/* The programs of a test, which end with it. */
static struct npu_program *made[64];
static unsigned nmade;

static struct npu_program *kept(struct npu_program *p)
{
	ck_assert_uint_lt(nmade, sizeof made / sizeof *made);
	return made[nmade++] = p;
}

static void free_programs(void)
{
	while (nmade)
		npu_program_free(made[--nmade]);
}

static struct npu_program *text(const char *words)
{
	struct npu_error err;
	struct npu_program *p = npu_asm_text(words, strlen(words), "test", &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	return kept(p);
}

/* "gemm m=64 n=64" for a machine. */
static struct npu_program *kernel(const struct hw *hw, const char *words, struct npu_args *args)
{
	struct npu_capacity capacity = hw_capacity(hw);
	struct npu_error err = { .text = "" };
	char copy[256];
	snprintf(copy, sizeof copy, "%s", words);
	const struct npu_kernel *k = npu_kernel_find(strtok(copy, " "));
	ck_assert_ptr_nonnull(k);
	npu_args_init(k, args);
	for (char *word = strtok(NULL, " "); word; word = strtok(NULL, " "))
		ck_assert_msg(npu_args_set(k, args, word, &err), "%s", err.text);
	struct npu_program *p = npu_kernel_build(k, &capacity, args, &err);
	ck_assert_msg(p != NULL, "%s: %s", words, err.text);
	return kept(p);
}

/* ---- cycles ---- */

START_TEST(every_fold_pays_for_its_drain)
{
	/* Two folds along k on 32 x 32; launch 1. Overlapped: one load of 32, two streams of 32, one way through the
	 * array of 32 + 32 - 2. Serial: all of that for each fold. */
	struct npu_program *p = text("matmul acc:0x0, sram:0x0, sram:0x40000 m=32 n=32 k=64\n");
	struct hw overlapped = preset("edge-1mb", NULL), serial = preset("edge-1mb", "matrix.weight_load=serial");
	ck_assert_uint_eq(run(&overlapped, p, 0)->totals.cycles, 1 + 32 + 2 * 32 + 62);
	ck_assert_uint_eq(run(&serial, p, 0)->totals.cycles, 1 + 2 * (32 + 32 + 62));
}
END_TEST

START_TEST(two_by_two_by_two_on_two_by_two_takes_six_cycles)
{
	/* Serial WS: M + 2R + C - 2 = 2 + 4 + 2 - 2 for one fold, not the number of its last cycle; launch 1. */
	struct hw hw = preset("edge-1mb", "matrix.weight_load=serial");
	hw.matrix.rows = hw.matrix.cols = 2;
	struct npu_program *p = text("matmul acc:0x0, sram:0x0, sram:0x40000 m=2 n=2 k=2\n");
	const struct outcome *o = run(&hw, p, 0);
	ck_assert_uint_eq(o->totals.cycles, 1 + 6);
	ck_assert_uint_eq(o->end[0] - o->start[0], 6);
	ck_assert_uint_eq(o->state[NPU_ENGINE_MATRIX][NPU_STATE_BUSY], 6);
}
END_TEST

START_TEST(one_row_is_not_as_busy_as_256)
{
	/* 32 x 32: load 32, a beat a row, 62 through the array. */
	struct hw hw = preset("edge-1mb", NULL);
	struct npu_program *one = text("matmul acc:0x0, sram:0x0, sram:0x40000 m=1 n=32 k=32\n");
	struct npu_program *many = text("matmul acc:0x0, sram:0x0, sram:0x40000 m=256 n=32 k=32\n");
	ck_assert_uint_eq(run(&hw, one, 0)->state[NPU_ENGINE_MATRIX][NPU_STATE_BUSY], 32 + 1 + 62);
	ck_assert_uint_eq(run(&hw, many, 0)->state[NPU_ENGINE_MATRIX][NPU_STATE_BUSY], 32 + 256 + 62);
	ck_assert_uint_eq(npu_insn_macs(&many->insns[0]), 256 * npu_insn_macs(&one->insns[0]));
}
END_TEST

/* One instruction alone, with 2 (of what pairs go into) for all sizes that must be given, its operands a page apart. */
static struct npu_program *smallest(enum npu_op op)
{
	struct npu_error err = { .text = "" };
	struct npu_assembly *a = npu_assembly_new(npu_op_mnemonic(op));
	struct npu_insn insn = npu_insn_initial(op);
	uint64_t local = 0;
	npu_assembly_table(a, &(struct npu_table){ .name = "t", .addr = 0x10000, .count = 2, .entries = (uint32_t[]){ 1, 0 } });
	for (const struct npu_field *f = npu_op_info(op)->format->fields; f->name; f++) {
		if (f->kind == NPU_KIND_LOCAL && f->required)
			npu_field_set(f, &insn, op == NPU_OP_MATMUL && !local ? NPU_ACC_BIT : local);
		else if (f->kind == NPU_KIND_UINT && f->required)
			npu_field_set(f, &insn, strstr(f->name, "stride") ? 64 : 2);
		local += (uint64_t)4096 * (f->kind == NPU_KIND_LOCAL);
	}
	if (op == NPU_OP_VQUANT)
		insn.quant.dst_type = NPU_INT8;
	if (op == NPU_OP_VDEQUANT)
		insn.quant.a_type = NPU_INT8;
	npu_assembly_insn(a, &insn);
	struct npu_program *p = npu_assembly_finish(a, &err);
	ck_assert_msg(p != NULL, "%s: %s", npu_op_mnemonic(op), err.text);
	return p;
}

START_TEST(an_unknown_opcode_is_refused_and_every_known_one_costs_cycles)
{
	struct hw hw = preset("edge-1mb", NULL);
	struct npu_error err;
	unsigned known = 0;
	for (unsigned op = 0; op < 256; op++)
		if (npu_op_known(op)) {
			struct npu_program *p = smallest((enum npu_op)op);
			const struct outcome *o = run(&hw, p, 0);
			ck_assert_msg(npu_op_is_sync((enum npu_op)op) ? o->totals.cycles > 0 : o->end[0] > o->start[0], "%s",
				      npu_op_mnemonic((enum npu_op)op));
			known++;
			npu_program_free(p);
		}
	ck_assert_uint_eq(known, npu_nops);
	for (unsigned op = 0; op < 256; op++) {
		struct npu_assembly *a = npu_assembly_new("unknown");
		struct npu_insn insn = npu_insn_initial(NPU_OP_SYNC_LOAD);
		insn.op = (enum npu_op)op;
		if (npu_op_known(op)) {
			npu_assembly_free(a);
			continue;
		}
		npu_assembly_insn(a, &insn);
		ck_assert_ptr_null(npu_assembly_finish(a, &err));
		ck_assert_msg(strstr(err.text, "none of the instruction set") != NULL, "%s", err.text);
	}
	ck_assert_ptr_null(npu_asm_text("frobnicate\n", 11, "test", &err));
}
END_TEST

static const char *const crowded[] = {
	"gemm m=200 n=300 k=150 tile_m=64 tile_n=64 tile_k=64",
	"flash_attention seq=300 heads=2 head_dim=32 mask=causal tile_q=64 tile_kv=64",
	"kv_fetch_paged seq=300 kv_heads=2 tile_kv=64",
};

START_TEST(every_cycle_of_an_engine_is_put_down_to_one_state)
{
	struct hw hw = preset("tiny-256k", "dma.outstanding=4");
	struct npu_args args;
	const struct outcome *o = run(&hw, kernel(&hw, crowded[_i], &args), 0);
	ck_assert_uint_eq(o->broken, 0);
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		uint64_t sum = 0;
		for (unsigned s = 0; s < NPU_STATES; s++)
			sum += o->state[e][s];
		ck_assert_uint_eq(sum, o->totals.cycles);
		ck_assert_uint_eq(o->told[e], o->totals.cycles);
	}
}
END_TEST

START_TEST(perfect_memories_cause_no_stalls)
{
	struct hw hw = preset("tiny-256k", NULL);
	struct npu_args args;
	struct npu_program *p = kernel(&hw, crowded[_i], &args);
	const struct outcome *real = run(&hw, p, 0);
	const struct outcome *perfect = run(&hw, p, MACHINE_IDEAL_DRAM | MACHINE_IDEAL_SRAM);
	static const enum npu_state memory[] = { NPU_STATE_SRAM_CONFLICT, NPU_STATE_ACCUM_CONFLICT,
						 NPU_STATE_DRAM_REFRESH, NPU_STATE_DRAM_BANDWIDTH };
	uint64_t stalls = 0, latency = 0, left = 0, transfers = 0;
	/* Of the latency what is no memory's is left: a transfer's way there and back through the clock crossing, each with
	 * less than a cycle until an edge of the other clock. */
	for (uint32_t i = 0; i < p->ninsns; i++)
		transfers += npu_insn_dram_bytes(&p->insns[i]) > 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		latency += real->state[e][NPU_STATE_DRAM_LATENCY];
		left += perfect->state[e][NPU_STATE_DRAM_LATENCY];
	}
	ck_assert_uint_le(left, transfers * 2 * (hw.dma.cdc_cycles + 1));
	ck_assert_uint_lt(left, latency);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned i = 0; i < sizeof memory / sizeof *memory; i++) {
			stalls += real->state[e][memory[i]];
			ck_assert_uint_eq(perfect->state[e][memory[i]], 0);
		}
	ck_assert_uint_gt(stalls, 0);
	ck_assert_uint_lt(perfect->totals.cycles, real->totals.cycles);
}
END_TEST

START_TEST(of_a_perfect_dram_only_the_clock_crossing_is_left)
{
	struct hw hw = preset("edge-1mb", "dram.tck_num=1000");
	hw.dram.tck_den = 1; /* the DRAM's clock as fast as the machine's */
	const struct outcome *o = run(&hw, text("load sram:0x0, dram:0x0 rows=1 cols=128\n"), MACHINE_IDEAL_DRAM);
	ck_assert_uint_eq(o->state[NPU_ENGINE_LOAD][NPU_STATE_DRAM_LATENCY], 2 * hw.dma.cdc_cycles);
}
END_TEST

START_TEST(a_run_ends_when_its_last_store_is_done_not_issued)
{
	struct hw hw = preset("edge-1mb", NULL);
	/* 64 KiB: 256 bursts of 8 beats */
	const struct outcome *o = run(&hw, text("store dram:0x0, sram:0x0 rows=128 cols=256\n"), 0);
	ck_assert_uint_ge(o->end[0], o->start[0] + hw.dma.start_cycles + 256 * 8 + 2 * hw.dma.cdc_cycles);
	ck_assert_uint_ge(o->totals.cycles, o->end[0]);
	ck_assert_uint_ge(o->totals.cycles, hw_cycle_of_dram_clk(&hw, o->totals.dram.last_data_clk));
	ck_assert_uint_eq(o->totals.dram.bus_bytes, 65536);
}
END_TEST

START_TEST(partial_sums_are_written_and_read_back)
{
	/* 96 of k are three folds of 32: each writes D, all but the first read it; one that accumulates reads it, too.
	 */
	struct hw hw = preset("edge-1mb", NULL);
	const char *plain = "matmul acc:0x0, sram:0x0, sram:0x40000 m=32 n=32 k=96\n";
	const char *more = "matmul acc:0x0, sram:0x0, sram:0x40000 m=32 n=32 k=96 accumulate=1\n";
	ck_assert_uint_eq(run(&hw, text(plain), 0)->totals.accum_bytes[NPU_ENGINE_MATRIX], 32 * 32 * 4 * (3 + 2));
	ck_assert_uint_eq(run(&hw, text(more), 0)->totals.accum_bytes[NPU_ENGINE_MATRIX], 32 * 32 * 4 * (3 + 3));
	/* Tiles of k of a kernel: every product but the first of a tile of C adds to what is there. */
	struct npu_args args;
	struct npu_program *p = kernel(&hw, "gemm m=64 n=64 k=256 tile_m=64 tile_n=64 tile_k=64", &args);
	unsigned products = 0, accumulating = 0;
	for (uint32_t i = 0; i < p->ninsns; i++) {
		products += p->insns[i].op == NPU_OP_MATMUL;
		accumulating += p->insns[i].op == NPU_OP_MATMUL && p->insns[i].matmul.accumulate;
	}
	ck_assert_uint_eq(products, 4);
	ck_assert_uint_eq(accumulating, 3);
}
END_TEST

START_TEST(a_causal_mask_saves_what_it_hides)
{
	/* 8 x 8 tiles: 36 of 64 lie on or below the diagonal, 56 %. Of flash_attention: attention and mask_softmax compute what
	 * is hidden, too, as the unfused baseline does (docs/kernels.md), and tell it from useful MACs. */
	struct hw hw = preset("edge-1mb", NULL);
	struct npu_args args;
	const char *all = "flash_attention seq=512 heads=1 head_dim=64 tile_q=64 tile_kv=64 mask=none";
	const char *causal = "flash_attention seq=512 heads=1 head_dim=64 tile_q=64 tile_kv=64 mask=causal";
	struct npu_program *p = kernel(&hw, all, &args), *q = kernel(&hw, causal, &args);
	const struct outcome *o = run(&hw, p, 0), *c = run(&hw, q, 0);
	ck_assert_uint_lt(c->totals.cycles * 100, o->totals.cycles * 70);
	ck_assert_uint_gt(c->totals.cycles * 100, o->totals.cycles * 50);
	ck_assert_uint_lt(c->totals.dram.read_bytes * 100, o->totals.dram.read_bytes * 70);
}
END_TEST

/* ---- bytes ---- */

START_TEST(element_size_counts_in_dram_bytes)
{
	struct hw hw = preset("edge-1mb", NULL);
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = { { "load sram:0x0, dram:0x0 rows=8 cols=96 dtype=int4\n", 8 * 48 },
		      { "load sram:0x0, dram:0x0 rows=8 cols=96 dtype=int8\n", 8 * 96 },
		      { "load sram:0x0, dram:0x0 rows=8 cols=96 dtype=fp16\n", 8 * 192 },
		      { "load sram:0x0, dram:0x0 rows=8 cols=96 dtype=fp32\n", 8 * 384 } };
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct outcome *o = run(&hw, text(cases[i].text), 0);
		ck_assert_uint_eq(o->totals.dram.read_bytes, cases[i].bytes);
		ck_assert_uint_eq(o->totals.sram_bytes[NPU_ENGINE_LOAD], cases[i].bytes);
	}
}
END_TEST

START_TEST(edges_are_not_written_as_full_arrays)
{
	/* 33 x 1 on 32 x 32: two tiles, of 32 rows and of one, of which one column is real. */
	struct hw hw = preset("edge-1mb", NULL);
	struct npu_args args;
	const struct outcome *o = run(&hw, text("matmul acc:0x0, sram:0x0, sram:0x40000 m=33 n=1 k=5\n"), 0);
	ck_assert_uint_eq(o->totals.accum_bytes[NPU_ENGINE_MATRIX], 33 * 1 * 4);
	ck_assert_uint_eq(o->totals.sram_bytes[NPU_ENGINE_MATRIX], (33 * 5 + 5 * 1) * 2);
	/* C of a kernel with ragged tiles leaves as it is, each element once. */
	struct npu_program *p = kernel(&hw, "gemm m=65 n=33 k=40 tile_m=64 tile_n=32 tile_k=32", &args);
	uint64_t stored = 0;
	for (uint32_t i = 0; i < p->ninsns; i++)
		stored += npu_op_engine(p->insns[i].op) == NPU_ENGINE_STORE ? npu_insn_dram_bytes(&p->insns[i]) : 0;
	ck_assert_uint_eq(stored, 65 * 33 * 2);
	ck_assert_uint_eq(run(&hw, p, 0)->totals.dram.write_bytes, stored);
}
END_TEST

START_TEST(a_larger_sram_never_reads_more_and_nothing_is_read_less_than_once)
{
	static const char *const sizes[] = { "sram.size=256KiB", "sram.size=512KiB", "sram.size=1MiB", "sram.size=4MiB",
					     "sram.size=16MiB" };
	static const struct {
		const char *words;
		uint64_t once; /* elements of inputs, fp16 */
	} kernels[] = {
		{ "gemm m=300 n=500 k=700", 300 * 700 + 700 * 500 },
		{ "gemm m=64 n=1000 k=900", 64 * 900 + 900 * 1000 },
		{ "gemm m=1000 n=64 k=300", 1000 * 300 + 300 * 64 },
		{ "gemm m=300 n=500 k=700 order=weight", 300 * 700 + 700 * 500 },
		{ "gemm m=300 n=500 k=700 order=activation", 300 * 700 + 700 * 500 },
		{ "gemv m=4 n=1000 k=700", 4 * 700 + 700 * 1000 },
		{ "qk_tiled seq=512 heads=2 head_dim=64", 2 * 2 * 512 * 64 },
		{ "flash_attention seq=512 heads=2 head_dim=64", 3 * 2 * 512 * 64 },
	};
	uint64_t before = UINT64_MAX;
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct hw hw = preset("edge-1mb", sizes[i]);
		struct npu_args args;
		struct npu_program *p = kernel(&hw, kernels[_i].words, &args);
		uint64_t read = run(&hw, p, 0)->totals.dram.read_bytes;
		ck_assert_msg(read <= before, "%s %s reads %llu bytes, smaller ones %llu", kernels[_i].words, sizes[i],
			      (unsigned long long)read, (unsigned long long)before);
		ck_assert_uint_ge(read, 2 * kernels[_i].once);
		before = read;
	}
}
END_TEST

/* ---- which bytes ---- */

static const struct npu_tensor *tensor(const struct npu_program *p, const char *name)
{
	for (uint32_t i = 0; i < p->ntensors; i++)
		if (!strcmp(p->tensors[i].name, name))
			return &p->tensors[i];
	ck_abort_msg("no tensor %s", name);
}

static bool is_inside(const struct npu_tensor *t, uint64_t dram)
{
	return t->addr <= dram && dram < t->addr + t->bytes;
}

/* How often a program loads each byte of a tensor; the caller frees. */
static uint32_t *times_loaded(const struct npu_program *p, const struct npu_tensor *t)
{
	uint32_t *times = calloc(t->bytes, sizeof *times);
	struct npu_piece_walk walk;
	struct npu_piece piece;
	for (uint32_t i = 0; i < p->ninsns; i++) {
		if (npu_op_engine(p->insns[i].op) != NPU_ENGINE_LOAD)
			continue;
		npu_piece_walk_init(&walk, p, &p->insns[i]);
		while (npu_piece_next(&walk, &piece))
			for (uint64_t b = 0; b < piece.bytes && is_inside(t, piece.dram + b); b++)
				times[piece.dram + b - t->addr]++;
	}
	return times;
}

/* Every byte of a tensor's elements is loaded `times` times, no more, no less. */
static void is_loaded(const struct npu_program *p, const char *name, uint32_t expected)
{
	const struct npu_tensor *t = tensor(p, name);
	uint32_t *times = times_loaded(p, t);
	for (uint64_t i = 0; i < npu_tensor_bytes(t); i++)
		ck_assert_msg(times[i] == expected, "byte %llu of %s is loaded %u times, not %u", (unsigned long long)i,
			      name, times[i], expected);
	free(times);
}

/* The place in a tensor of the first byte that a load takes from it; false when it takes none. */
static bool loads(const struct npu_program *p, uint32_t insn, const struct npu_tensor *t, uint64_t *at)
{
	struct npu_piece_walk walk;
	struct npu_piece piece;
	if (npu_op_engine(p->insns[insn].op) != NPU_ENGINE_LOAD)
		return false;
	npu_piece_walk_init(&walk, p, &p->insns[insn]);
	if (!npu_piece_next(&walk, &piece) || !is_inside(t, piece.dram))
		return false;
	*at = piece.dram - t->addr;
	return true;
}

START_TEST(tiles_are_all_fetched_and_none_twice_running)
{
	/* A once a tile of n, B once a tile of m; the next tile of A or B is another one. */
	struct hw hw = preset("edge-1mb", NULL);
	struct npu_args args;
	char words[128];
	static const char *const buffering[] = { "single", "double", "triple" };
	snprintf(words, sizeof words, "gemm m=200 n=300 k=150 tile_m=64 tile_n=128 tile_k=64 buffering=%s",
		 buffering[_i]);
	struct npu_program *p = kernel(&hw, words, &args);
	is_loaded(p, "A", 3);
	is_loaded(p, "B", 4);
	for (unsigned n = 0; n < 2; n++) {
		const struct npu_tensor *t = tensor(p, n ? "B" : "A");
		uint64_t at, before = UINT64_MAX;
		for (uint32_t i = 0; i < p->ninsns; i++)
			if (loads(p, i, t, &at)) {
				ck_assert_uint_ne(at, before);
				before = at;
			}
	}
}
END_TEST

START_TEST(every_tile_is_read_at_its_own_place)
{
	/* K = 150 in tiles of 64: of a tile of 64 rows of A three loads, 128 bytes apart; a tile of m further down lies 64
	 * rows further. B likewise by rows of 600 bytes. */
	struct hw hw = preset("edge-1mb", NULL);
	struct npu_args args;
	struct npu_program *p = kernel(&hw, "gemm m=200 n=300 k=150 tile_m=64 tile_n=300 tile_k=64", &args);
	uint64_t at, na = 0, nb = 0;
	for (uint32_t i = 0; i < p->ninsns; i++) {
		if (loads(p, i, tensor(p, "A"), &at)) {
			ck_assert_uint_eq(at, na / 3 * 64 * 300 + na % 3 * 128);
			na++;
		} else if (loads(p, i, tensor(p, "B"), &at)) {
			ck_assert_uint_eq(at, nb % 3 * 64 * 600);
			nb++;
		}
	}
	ck_assert_uint_eq(na, 4 * 3);
	ck_assert_uint_ge(nb, 3);
}
END_TEST

START_TEST(a_query_head_reads_its_own_key_and_value_head)
{
	/* 6 query heads on 3 of K and V: 0 and 1 read head 0, 2 and 3 head 1, 4 and 5 head 2. A tile of q is all
	 * positions. */
	static const char *const kernels[] = {
		"qk_tiled seq=96 seq_q=32 heads=6 kv_heads=3 head_dim=32 tile_q=32 tile_kv=32",
		"flash_attention seq=96 seq_q=32 heads=6 kv_heads=3 head_dim=32 tile_q=32 "
		"tile_kv=32 buffering=single"
	};
	struct hw hw = preset("edge-1mb", NULL);
	struct npu_args args;
	struct npu_program *p = kernel(&hw, kernels[_i], &args);
	const struct npu_tensor *q = tensor(p, "Q"), *k = tensor(p, "K");
	uint64_t at, head = UINT64_MAX, keys = 0;
	for (uint32_t i = 0; i < p->ninsns; i++) {
		if (loads(p, i, q, &at)) {
			head = at / (q->bytes / 6);
		} else if (loads(p, i, k, &at)) {
			ck_assert_uint_eq(at / (k->bytes / 3), head / 2);
			keys++;
		}
	}
	ck_assert_uint_eq(head, 5);
	ck_assert_uint_eq(keys, 6 * 3);
	is_loaded(p, "K", 2);
	if (_i == 1)
		is_loaded(p, "V", 2);
}
END_TEST

START_TEST(a_decoded_token_sees_every_key_and_value_and_its_own)
{
	/* The prompt has 128 keys, the token itself is the 129th; tiles of 64, so it is alone in the last one. */
	static const char *const kernels[] = {
		"flash_attention seq=129 seq_q=1 heads=2 head_dim=32 mask=none tile_kv=64",
		"flash_attention seq=129 seq_q=1 heads=2 head_dim=32 mask=causal tile_kv=64",
		"attention seq=129 seq_q=1 heads=2 head_dim=32 mask=causal tile_kv=64"
	};
	struct hw hw = preset("edge-1mb", NULL);
	struct npu_args args;
	struct npu_program *p = kernel(&hw, kernels[_i], &args);
	uint64_t products = 0;
	is_loaded(p, "K", 1);
	is_loaded(p, "V", 1);
	for (uint32_t i = 0; i < p->ninsns; i++)
		products += npu_insn_macs(&p->insns[i]);
	ck_assert_uint_eq(products, 2 * 2 * 129 * 32);
}
END_TEST

START_TEST(a_paged_cache_is_fetched_to_its_last_row)
{
	struct hw hw = preset("edge-1mb", NULL);
	struct npu_args args;
	struct npu_program *p = kernel(&hw, "kv_fetch_paged seq=129 kv_heads=2 head_dim=32 page=16 tile_kv=64", &args);
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < p->ninsns; i++)
		if (p->insns[i].op == NPU_OP_GATHER)
			bytes += npu_insn_dram_bytes(&p->insns[i]);
	ck_assert_uint_eq(bytes, 2 * 2 * 129 * 32 * 2); /* K and V, two heads, fp16 */
}
END_TEST

START_TEST(values_are_read_where_values_lie)
{
	/* What the second product of attention multiplies comes from V, all of it, and the first's from K. */
	struct hw hw = preset("edge-1mb", NULL);
	struct npu_args args;
	char words[128];
	static const char *const buffering[] = { "single", "double", "triple" };
	snprintf(words, sizeof words, "flash_attention seq=192 heads=2 head_dim=32 tile_q=64 tile_kv=64 buffering=%s", buffering[_i]);
	struct npu_program *p = kernel(&hw, words, &args);
	const struct npu_tensor *k = tensor(p, "K"), *v = tensor(p, "V");
	uint64_t at, from_k = 0, from_v = 0;
	for (uint32_t i = 0; i < p->ninsns; i++) {
		const struct npu_insn *insn = &p->insns[i];
		if (insn->op != NPU_OP_MATMUL)
			continue;
		/* The last load before it that wrote its right operand. */
		uint32_t j = i;
		while (j > 0 && !(p->insns[j].op == NPU_OP_LOAD && p->insns[j].dma.local == insn->matmul.b))
			j--;
		bool keys = loads(p, j, k, &at);
		ck_assert(keys || loads(p, j, v, &at));
		ck_assert_msg(keys == (insn->matmul.transpose_b != 0), "instruction %u multiplies by %s", i,
			      keys ? "K" : "V");
		from_k += keys;
		from_v += !keys;
	}
	ck_assert_uint_eq(from_k, 2 * 3 * 3);
	ck_assert_uint_eq(from_v, 2 * 3 * 3);
	is_loaded(p, "K", 3);
	is_loaded(p, "V", 3);
}
END_TEST

/* ---- refresh ---- */

struct read {
	uint64_t done;
	uint32_t bank;
	uint64_t refreshed; /* banks of the first refresh, a bit each */
	uint64_t from;      /* its clock */
};

static void on_done(void *ctx, uint8_t port, uint32_t tag, uint64_t clk)
{
	struct read *r = ctx;
	(void)port, (void)tag;
	r->done = clk;
}

static void on_command(void *ctx, const struct dram_command *c)
{
	struct read *r = ctx;
	if (c->op == DRAM_ACT)
		r->bank = c->bank;
	if (c->op == DRAM_REFPB && (!r->refreshed || r->from == c->clk)) {
		r->refreshed |= (uint64_t)1 << c->bank;
		r->from = c->clk;
	}
}

/* One read of 32 bytes at `addr`, which arrives at an idle device. */
static struct read read_at(const struct dram_config *c, uint64_t clk, uint64_t addr)
{
	struct read r = { 0 };
	struct dram_hooks hooks = { .ctx = &r, .done = on_done, .command = on_command };
	struct dram *d = dram_new(c, &hooks);
	ck_assert_ptr_nonnull(d);
	dram_push(d, clk, &(struct dram_request){ .addr = addr, .nbytes = 32 });
	dram_drain(d);
	dram_free(d);
	return r;
}

START_TEST(a_bank_that_refreshes_holds_no_other_bank_up)
{
	struct dram_config c = dram_part(dram_part_names[_i]);
	unsigned waited = 0, passed = 0;
	if (!c.tREFIpb)
		return;
	c.refresh = DRAM_REFRESH_NONE;
	uint64_t alone = read_at(&c, 0, 0).done;
	c.refresh = DRAM_REFRESH_PERBANK;
	/* As the first refresh is due: its banks make a read wait for it, others for a slot of the command bus and the
	 * interval from REFpb to ACT. */
	for (uint64_t addr = 0; addr < 64 * c.row_bytes; addr += c.row_bytes) {
		struct read r = read_at(&c, c.tREFIpb, addr);
		uint64_t latency = r.done - c.tREFIpb;
		uint64_t hold = (c.tREFpbACT ? c.tREFpbACT : c.tRRD_L) + c.act_clk + c.precharge_clk;
		if (r.refreshed >> r.bank & 1) {
			ck_assert_uint_ge(latency, c.tRFCpb);
			waited++;
		} else {
			ck_assert_uint_le(latency, alone + hold);
			passed++;
		}
	}
	ck_assert_uint_gt(waited, 0);
	ck_assert_uint_gt(passed, waited);
	ck_assert_uint_lt(c.tRFCpb, c.tRFCab);
}
END_TEST

/* ---- writes ---- */

static void on_write(void *ctx, const struct dram_command *c)
{
	struct read *r = ctx;
	if (c->op == DRAM_WR)
		r->from = c->clk;
}

START_TEST(a_write_never_waits_without_bound)
{
	/* Reads of one row, as many as the bus takes for ten times write_wait, and a write of another row of that bank that
	 * comes first. It goes when write_wait is over, and a refresh, hits that may pass and a turn of reads. */
	struct dram_config c = dram_part(dram_part_names[_i]);
	struct read r = { 0 };
	struct dram_hooks hooks = { .ctx = &r, .done = on_done, .command = on_write };
	struct dram *d = dram_new(&c, &hooks);
	uint64_t granule = dram_burst_bytes(&c), gap = dram_burst_clk(&c);
	ck_assert_ptr_nonnull(d);
	dram_push(d, 0, &(struct dram_request){ .addr = 64 * c.row_bytes * c.banks * c.bank_groups, .nbytes = 32,
						.write = true, .port = 1 });
	for (uint64_t clk = 0; clk < 10 * c.write_wait; clk += gap)
		dram_push(d, clk, &(struct dram_request){ .addr = clk / gap * granule % c.row_bytes,
							  .nbytes = (uint32_t)granule });
	dram_drain(d);
	dram_free(d);
	ck_assert_uint_gt(r.from, 0);
	ck_assert_uint_le(r.from, c.write_wait + c.tRFCab + (uint64_t)(c.hit_cap + c.turn) * c.tCCD_L + c.tRC);
}
END_TEST

static int count_parts(void)
{
	int n = 0;
	while (dram_part_names[n])
		n++;
	return n;
}

int main(void)
{
	Suite *suite = suite_create("golden.known_faults");
	TCase *t = tcase_create("faults");
	tcase_add_checked_fixture(t, NULL, free_programs);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, every_fold_pays_for_its_drain);
	tcase_add_test(t, two_by_two_by_two_on_two_by_two_takes_six_cycles);
	tcase_add_test(t, one_row_is_not_as_busy_as_256);
	tcase_add_test(t, an_unknown_opcode_is_refused_and_every_known_one_costs_cycles);
	tcase_add_loop_test(t, every_cycle_of_an_engine_is_put_down_to_one_state, 0, 3);
	tcase_add_loop_test(t, perfect_memories_cause_no_stalls, 0, 3);
	tcase_add_test(t, of_a_perfect_dram_only_the_clock_crossing_is_left);
	tcase_add_test(t, a_run_ends_when_its_last_store_is_done_not_issued);
	tcase_add_test(t, partial_sums_are_written_and_read_back);
	tcase_add_test(t, a_causal_mask_saves_what_it_hides);
	tcase_add_test(t, element_size_counts_in_dram_bytes);
	tcase_add_test(t, edges_are_not_written_as_full_arrays);
	tcase_add_loop_test(t, a_larger_sram_never_reads_more_and_nothing_is_read_less_than_once, 0, 8);
	tcase_add_loop_test(t, tiles_are_all_fetched_and_none_twice_running, 0, 3);
	tcase_add_test(t, every_tile_is_read_at_its_own_place);
	tcase_add_loop_test(t, a_query_head_reads_its_own_key_and_value_head, 0, 2);
	tcase_add_loop_test(t, a_decoded_token_sees_every_key_and_value_and_its_own, 0, 3);
	tcase_add_test(t, a_paged_cache_is_fetched_to_its_last_row);
	tcase_add_loop_test(t, values_are_read_where_values_lie, 0, 3);
	tcase_add_loop_test(t, a_bank_that_refreshes_holds_no_other_bank_up, 0, count_parts());
	tcase_add_loop_test(t, a_write_never_waits_without_bound, 0, count_parts());
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
