/* SPDX-License-Identifier: Apache-2.0 */
/* The DMA engines: bursts and runs of an instruction, interlocks, and cycles derived by hand. The DRAM is ideal (an answer
 * when the request arrives) unless a test says otherwise. */
#include "models/dma_interlock.h"
#include "models/dma_walk.h"
#include "tests/support/machine_loop.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct hw hw;

static void default_hw(void)
{
	hw = machine_hw("DDR4-2400");
	hw.dma.load_channels = 2;
	hw.dma.store_channels = 2;
}

static struct npu_insn dma(enum npu_op op, uint32_t local, uint64_t dram, uint32_t rows, uint32_t cols)
{
	struct npu_insn i;
	memset(&i, 0, sizeof(i));
	i.op = (uint8_t)op;
	i.dma.local = local;
	i.dma.dram = dram;
	i.dma.rows = rows;
	i.dma.cols = cols;
	i.dma.dtype = NPU_FP16;
	return i;
}

/* Walks. */

static unsigned bursts_of(const struct npu_insn *insn, struct dma_burst *out, unsigned most, uint64_t *beats)
{
	struct dma_walk walk;
	struct dma_burst next;
	struct dma_run *runs = calloc(dma_most_runs(&hw), sizeof(*runs));
	unsigned n = 0;
	*beats = 0;
	dma_walk_init(&walk, &hw, NULL, insn);
	while (dma_walk_peek(&walk, &next)) {
		struct dma_burst *b = &out[n < most ? n : most - 1];
		dma_walk_next(&walk, b, runs);
		ck_assert_uint_le(b->nruns, dma_most_runs(&hw));
		for (uint32_t i = 0; i < b->nruns; i++)
			*beats += (runs[i].bytes + hw.dma.port - 1) / hw.dma.port;
		n++;
	}
	free(runs);
	return n;
}

START_TEST(a_dense_matrix_is_one_descriptor_cut_at_max_burst)
{
	struct dma_burst b[8];
	uint64_t beats;
	struct npu_insn i = dma(NPU_OP_LOAD, 0, 0, 4, 150);
	/* 4 x 300 bytes = 1,200 = 4 x 256 + 176; 32 bytes a beat: 4 x 8 + 6. */
	ck_assert_uint_eq(bursts_of(&i, b, 8, &beats), 5);
	ck_assert_uint_eq(b[4].bytes, 176);
	ck_assert(b[0].new_descriptor && !b[1].new_descriptor && !b[4].new_descriptor);
	ck_assert_uint_eq(beats, 38);
}
END_TEST

START_TEST(rows_apart_are_a_descriptor_each)
{
	struct dma_burst b[8];
	uint64_t beats;
	struct npu_insn i = dma(NPU_OP_LOAD, 0, 0, 4, 150);
	i.dma.dram_stride = 1024;
	/* 300 bytes = 256 + 44 a row. */
	ck_assert_uint_eq(bursts_of(&i, b, 8, &beats), 8);
	for (unsigned n = 0; n < 8; n++) {
		ck_assert_uint_eq(b[n].addr, n / 2 * 1024 + n % 2 * 256);
		ck_assert_uint_eq(b[n].bytes, n % 2 ? 44 : 256);
		ck_assert_uint_eq(b[n].new_descriptor, n % 2 == 0);
	}
}
END_TEST

START_TEST(no_burst_crosses_a_page_of_4_KiB)
{
	struct dma_burst b[8];
	uint64_t beats;
	struct npu_insn i = dma(NPU_OP_LOAD, 0, 4096 - 100, 1, 200);
	ck_assert_uint_eq(bursts_of(&i, b, 8, &beats), 3);
	ck_assert_uint_eq(b[0].bytes, 100);
	ck_assert_uint_eq(b[1].addr, 4096);
	ck_assert_uint_eq(b[1].bytes, 256);
	ck_assert_uint_eq(b[2].bytes, 44);
}
END_TEST

START_TEST(a_rearranged_beat_carries_one_local_run)
{
	static const struct {
		uint32_t dram, local, transpose, dtype, bytes;
	} cases[] = {
		{ NPU_LAYOUT_ROW, NPU_LAYOUT_ROW, 0, NPU_FP16, 32 },         /* the whole port */
		{ NPU_LAYOUT_BLOCK16, NPU_LAYOUT_BLOCK16, 0, NPU_INT8, 32 }, /* as it lies */
		{ NPU_LAYOUT_ROW, NPU_LAYOUT_BLOCK16, 0, NPU_FP16, 32 },     /* 16 x 2 */
		{ NPU_LAYOUT_ROW, NPU_LAYOUT_BLOCK16, 0, NPU_INT8, 16 },     /* 16 x 1 */
		{ NPU_LAYOUT_ROW, NPU_LAYOUT_BLOCK32, 0, NPU_INT8, 32 },     /* 32 x 1 */
		{ NPU_LAYOUT_BLOCK32, NPU_LAYOUT_BLOCK16, 0, NPU_INT8, 16 },
		{ NPU_LAYOUT_ROW, NPU_LAYOUT_BLOCK16, 0, NPU_FP32, 32 },     /* 64, cut by the port */
		{ NPU_LAYOUT_ROW, NPU_LAYOUT_ROW, 1, NPU_INT8, 16 },         /* the transposer: 16 elements */
		{ NPU_LAYOUT_ROW, NPU_LAYOUT_ROW, 1, NPU_INT4, 8 },
	};
	for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct npu_insn i = dma(NPU_OP_LOAD, 0, 0, 32, 64);
		struct dma_burst b;
		uint64_t beats;
		i.dma.dram_layout = cases[c].dram;
		i.dma.local_layout = cases[c].local;
		i.dma.transpose = cases[c].transpose;
		i.dma.dtype = cases[c].dtype;
		ck_assert_uint_eq(dma_beat_bytes(&hw, &i), cases[c].bytes);
		bursts_of(&i, &b, 1, &beats);
		uint64_t bytes = 32 * 64 * npu_dtype_bits((enum npu_dtype)cases[c].dtype) / 8;
		ck_assert_uint_eq(beats, bytes / cases[c].bytes);
	}
}
END_TEST

/* Every byte of the local matrix is touched by exactly one run. */
static void assert_covers(const struct npu_insn *insn, uint64_t bytes)
{
	static unsigned char touched[65536];
	struct dma_walk walk;
	struct dma_burst b;
	struct dma_run *runs = calloc(dma_most_runs(&hw), sizeof(*runs));
	memset(touched, 0, sizeof(touched));
	dma_walk_init(&walk, &hw, NULL, insn);
	while (dma_walk_peek(&walk, &b)) {
		dma_walk_next(&walk, &b, runs);
		for (uint32_t i = 0; i < b.nruns; i++)
			for (uint32_t k = 0; k < runs[i].bytes; k++)
				touched[runs[i].local + k]++;
	}
	for (uint64_t i = 0; i < sizeof(touched); i++)
		ck_assert_uint_eq(touched[i], i < bytes);
	free(runs);
}

START_TEST(runs_cover_the_local_matrix_once_in_every_layout)
{
	for (uint32_t from = 0; from < 3; from++)
		for (uint32_t to = 0; to < 3; to++)
			for (uint32_t transpose = 0; transpose < 2; transpose++) {
				struct npu_insn i = dma(NPU_OP_LOAD, 0, 64, 64, 96);
				i.dma.dram_layout = from;
				i.dma.local_layout = to;
				i.dma.transpose = transpose;
				assert_covers(&i, 64 * 96 * 2);
			}
}
END_TEST

START_TEST(padding_of_blocks_in_dram_is_moved_but_crosses_no_port)
{
	struct npu_insn i = dma(NPU_OP_LOAD, 0, 0, 20, 20);
	i.dma.dram_layout = NPU_LAYOUT_BLOCK16;
	struct dma_burst b[8];
	uint64_t beats;
	/* 2 x 2 blocks of 512 bytes move; 20 rows of 20 elements arrive, each in two runs of 32 and 8 bytes. */
	ck_assert_uint_eq(bursts_of(&i, b, 8, &beats), 4 * 512 / 256);
	ck_assert_uint_eq(beats, 20 * 2 + 2); /* and a beat for each burst that is all padding: two of the lower blocks */
}
END_TEST

/* Interlocks. */

static bool conflict(const struct npu_program *p, const struct npu_insn *a, const struct npu_insn *b)
{
	struct dma_hull ha = dma_hull(p, a), hb = dma_hull(p, b);
	return dma_hulls_meet(&ha, &hb) && dma_conflict(p, a, b);
}

START_TEST(loads_conflict_in_local_memory_and_stores_in_dram)
{
	struct npu_insn a = dma(NPU_OP_LOAD, 0, 0, 4, 64), b = dma(NPU_OP_LOAD, 512, 0, 4, 64);
	ck_assert(!conflict(NULL, &a, &b)); /* the same bytes of DRAM are only read */
	b.dma.local = 510;
	ck_assert(conflict(NULL, &a, &b));
	a.op = b.op = NPU_OP_STORE;
	ck_assert(conflict(NULL, &a, &b));
	b.dma.dram = 512;
	ck_assert(!conflict(NULL, &a, &b));
}
END_TEST

START_TEST(interleaved_columns_do_not_conflict)
{
	struct npu_insn a = dma(NPU_OP_STORE, 0, 0, 8, 32), b = dma(NPU_OP_STORE, 4096, 64, 8, 32);
	a.dma.dram_stride = b.dma.dram_stride = 128;
	ck_assert(!conflict(NULL, &a, &b));
	b.dma.dram = 62;
	ck_assert(conflict(NULL, &a, &b));
}
END_TEST

START_TEST(scatters_conflict_page_by_page)
{
	static const uint32_t even[] = { 0, 2, 4 }, odd[] = { 1, 3, 5 }, mixed[] = { 1, 2, 7 };
	struct npu_table tables[] = { { "even", 0, 3, even, 0 }, { "odd", 0, 3, odd, 0 }, { "mixed", 0, 3, mixed, 0 } };
	struct npu_program p = { .ntables = 3, .tables = tables };
	struct npu_insn a, b;
	memset(&a, 0, sizeof(a));
	a.op = NPU_OP_SCATTER;
	a.paged = (struct npu_paged){ .cols = 64, .dtype = NPU_FP16, .rows = 12, .page_rows = 4, .page_stride = 512,
				      .table = 0 };
	b = a;
	b.paged.table = 1;
	ck_assert(!conflict(&p, &a, &b));
	b.paged.table = 2;
	ck_assert(conflict(&p, &a, &b)); /* page 2 */
	b.paged.first = 8;
	b.paged.rows = 4;
	ck_assert(!conflict(&p, &a, &b)); /* page 7 alone */
}
END_TEST

/* Cycles. */

struct run {
	struct machine_record record;
	struct machine_totals totals;
	struct npu_program *program;
};

static struct run run(unsigned ideal, const struct npu_insn *insns, unsigned n)
{
	static const uint32_t pages[17] = { 9, 3, 7, 1, 5, 0, 2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16 };
	struct npu_assembly *a = npu_assembly_new("test");
	struct npu_error err;
	struct run r;
	npu_assembly_table(a, &(struct npu_table){ "pages", 1 << 20, 17, pages, 0 });
	for (unsigned i = 0; i < n; i++)
		npu_assembly_insn(a, &insns[i]);
	r.program = npu_assembly_finish(a, &err);
	ck_assert_msg(r.program != NULL, "%s", err.text);
	struct probe probe = machine_record_probe(&r.record);
	ck_assert_msg(machine_loop_run(&hw, r.program, ideal, &probe, false, &r.totals, &err), "%s", err.text);
	char text[128];
	const char *fault = machine_record_fault(&r.record, r.totals.cycles, text, sizeof(text));
	ck_assert_msg(!fault, "%s", fault);
	return r;
}

static void fini(struct run *r)
{
	machine_record_free(&r->record);
	npu_program_free(r->program);
}

static uint64_t state(const struct run *r, enum npu_engine e, enum npu_state s)
{
	return r->record.state[e][s];
}

START_TEST(a_load_takes_start_descriptor_crossing_and_beats)
{
	struct npu_insn i = dma(NPU_OP_LOAD, 0, 0, 1, 512);
	struct run r = run(MACHINE_IDEAL_DRAM, &i, 1);
	/* Issued at 1 (launch). First burst leaves at 1 + 16 + 1 = 18, arrives at 22; DDR4 clocks of 5/6 ns: the edge at
	 * or after 22 is clk 27 at 22.5, seen at 23; back at 27. 1,024 bytes are 32 beats: 27 + 32 = 59. */
	ck_assert_uint_eq(r.record.insns[0].start, 1);
	ck_assert_uint_eq(r.record.insns[0].end, 59);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_DISPATCH_RATE), 1);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_DMA_SETUP), 17);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_DRAM_LATENCY), 9);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_BUSY), 32);
	fini(&r);
}
END_TEST

START_TEST(a_store_reads_first_and_ends_when_its_last_write_is_accepted)
{
	struct npu_insn i = dma(NPU_OP_STORE, 0, 0, 1, 128);
	struct run r = run(MACHINE_IDEAL_DRAM, &i, 1);
	/* Issued at 18, eight beats until 26, arrives at 30 (clk 36, exactly), back at 34. */
	ck_assert_uint_eq(r.record.insns[0].end, 34);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_STORE, NPU_STATE_DMA_SETUP), 17);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_STORE, NPU_STATE_BUSY), 8);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_STORE, NPU_STATE_DRAM_LATENCY), 8);
	fini(&r);
}
END_TEST

START_TEST(one_slot_pays_the_whole_round_trip_a_burst)
{
	hw.dma.outstanding = 1;
	hw.dram.tck_num = 1000; /* a clock a cycle */
	hw.dram.tck_den = 1;
	struct npu_insn i = dma(NPU_OP_LOAD, 0, 0, 1, 512);
	struct run r = run(MACHINE_IDEAL_DRAM, &i, 1);
	/* 18, then four bursts of 4 + 4 + 8 cycles each; the next is issued when the last beat has crossed. */
	ck_assert_uint_eq(r.record.insns[0].end, 18 + 4 * 16);
	/* While the slot is taken its burst decides, not the set-up of the next. */
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_DRAM_LATENCY), 4 * 8);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_DMA_SETUP), 17);
	fini(&r);
}
END_TEST

START_TEST(descriptors_pace_short_rows)
{
	hw.dma.descriptor_cycles = 10;
	hw.dram.tck_num = 1000;
	hw.dram.tck_den = 1;
	struct npu_insn i = dma(NPU_OP_LOAD, 0, 0, 4, 16);
	i.dma.dram_stride = 1024;
	struct run r = run(MACHINE_IDEAL_DRAM, &i, 1);
	/* Rows of one beat are issued at 27, 37, 47, 57; the last is back at 65 and has crossed at 66. */
	ck_assert_uint_eq(r.record.insns[0].end, 66);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_BUSY), 4);
	fini(&r);
}
END_TEST

START_TEST(channels_share_the_port_beat_by_beat_and_count_once)
{
	hw.dram.tck_num = 1000;
	hw.dram.tck_den = 1;
	struct npu_insn two[] = { dma(NPU_OP_LOAD, 0, 0, 1, 512), dma(NPU_OP_LOAD, 65536, 65536, 1, 512) };
	struct run r = run(MACHINE_IDEAL_DRAM, two, 2);
	/* First data at 26; 64 beats of both: the port is busy to 90, shared from the second's first data on. */
	ck_assert_uint_eq(r.record.insns[1].end, 90);
	ck_assert_uint_eq(r.record.insns[1].slot, 1);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_BUSY), 64);
	ck_assert_uint_ge(r.record.insns[0].end, 88);
	fini(&r);
}
END_TEST

START_TEST(a_conflicting_load_starts_when_the_first_has_ended)
{
	struct npu_insn two[] = { dma(NPU_OP_LOAD, 0, 0, 1, 512), dma(NPU_OP_LOAD, 512, 65536, 1, 512) };
	struct run r = run(MACHINE_IDEAL_DRAM, two, 2);
	ck_assert_uint_eq(r.record.insns[1].start, r.record.insns[0].end);
	fini(&r);
}
END_TEST

START_TEST(a_page_waits_for_its_table_entry)
{
	hw.dram.tck_num = 1000;
	hw.dram.tck_den = 1;
	struct npu_insn i;
	memset(&i, 0, sizeof(i));
	i.op = NPU_OP_GATHER;
	i.paged = (struct npu_paged){ .cols = 128, .dtype = NPU_FP16, .rows = 2, .page_rows = 1, .page_stride = 256,
				      .table = 0 };
	struct run r = run(MACHINE_IDEAL_DRAM, &i, 1);
	/* The table read (one granule) leaves at 17 and is back at 25; a descriptor later, at 26, the first page leaves, the
	 * second at 27; data at 34 and 35, eight beats each: 34 + 16. */
	ck_assert_uint_eq(r.record.insns[0].end, 50);
	ck_assert_uint_eq(r.totals.table_bytes, 8);
	ck_assert_uint_eq(r.totals.dram.read_bytes, 8 + 512);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_DMA_SETUP), 25);
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_DRAM_LATENCY), 8);
	fini(&r);
}
END_TEST

START_TEST(a_page_takes_its_turn_among_bursts_of_another_channel)
{
	hw.dram.tck_num = 1000;
	hw.dram.tck_den = 1;
	hw.dma.cdc_cycles = 1;
	struct npu_insn two[2] = { { .op = NPU_OP_GATHER }, dma(NPU_OP_LOAD, 0, 0, 60, 16) };
	two[0].paged = (struct npu_paged){ .local = 65536, .dram = 1 << 21, .cols = 16, .dtype = NPU_FP16, .rows = 2,
					   .page_rows = 1, .page_stride = 32, .table = 0 };
	two[1].dma.dram_stride = 64;
	struct run r = run(MACHINE_IDEAL_DRAM | MACHINE_IDEAL_DISPATCH, two, 2);
	/* Both start at 0. The table read leaves at 16 and is back at 18. Rows of a beat leave one a cycle from 17 on, but a
	 * descriptor after the answer, at 19, and two cycles later (turns!) a page; two cycles later its beat crosses. */
	ck_assert_uint_eq(r.record.insns[0].end, 21 + 2 + 1);
	ck_assert_uint_eq(r.record.insns[0].insn, 0);
	fini(&r);
}
END_TEST

START_TEST(a_page_is_worked_out_when_the_page_before_is)
{
	hw.dram.tck_num = 1000;
	hw.dram.tck_den = 1;
	hw.dma.descriptor_cycles = 5;
	struct npu_insn i;
	memset(&i, 0, sizeof(i));
	i.op = NPU_OP_GATHER;
	i.paged = (struct npu_paged){ .cols = 16, .dtype = NPU_FP16, .rows = 2, .page_rows = 1, .page_stride = 32, .first = 15,
				      .table = 0 };
	struct run r = run(MACHINE_IDEAL_DRAM, &i, 1);
	/* Entries 15 and 16 lie in two granules, read at 17 and 18, back at 25 and 26. Pages leave at 25 + 5 and 30 + 5, the
	 * second is back at 43 and has crossed at 44. */
	ck_assert_uint_eq(r.record.insns[0].end, 44);
	fini(&r);
}
END_TEST

START_TEST(a_table_read_of_a_store_does_not_overtake_data_that_leaves_before)
{
	/* Rows are issued at 18, 19, ..., five beats each: the first leaves at 23. Table reads are ready from 6 + 16 = 22 on and
	 * take turns with rows: they leave at 22 and 24. The crossing asserts that requests of a port come in order. */
	struct npu_insn insns[6];
	insns[0] = dma(NPU_OP_STORE, 0, 0, 20, 80);
	insns[0].dma.dram_stride = 256;
	for (uint32_t i = 1; i < 5; i++)
		insns[i] = dma(NPU_OP_LOAD, 65536 + i * 1024, 4096 * i, 1, 16);
	insns[5] = (struct npu_insn){ .op = NPU_OP_SCATTER };
	insns[5].paged = (struct npu_paged){ .local = 131072, .dram = 1 << 21, .cols = 16, .dtype = NPU_FP16, .rows = 2,
					     .page_rows = 1, .page_stride = 32, .first = 15, .table = 0 };
	struct run r = run(0, insns, 6);
	ck_assert_uint_eq(r.totals.dram.writes, 20 + 2);
	ck_assert_uint_eq(r.totals.dram.reads, 4 + 2);
	fini(&r);
}
END_TEST

START_TEST(a_long_table_is_read_in_granules)
{
	struct npu_insn i;
	memset(&i, 0, sizeof(i));
	i.op = NPU_OP_GATHER;
	i.paged = (struct npu_paged){ .cols = 16, .dtype = NPU_FP16, .rows = 13, .page_rows = 1, .page_stride = 32, .first = 3,
				      .table = 0 };
	struct run r = run(MACHINE_IDEAL_DRAM, &i, 1);
	/* Entries 3 to 15 end with the first granule of 64 bytes: one read of 52 bytes. */
	ck_assert_uint_eq(r.totals.table_bytes, 13 * 4);
	ck_assert_uint_eq(r.totals.dram.reads, 13 + 1);
	fini(&r);
}
END_TEST

START_TEST(rearranging_int8_into_blocks_halves_the_port)
{
	hw.dram.tck_num = 1000;
	hw.dram.tck_den = 1;
	struct npu_insn i = dma(NPU_OP_LOAD, 0, 0, 16, 256);
	i.dma.dtype = NPU_INT8;
	i.dma.local_layout = NPU_LAYOUT_BLOCK16;
	struct run r = run(MACHINE_IDEAL_DRAM | MACHINE_IDEAL_SRAM, &i, 1);
	/* 4,096 bytes in runs of 16: 256 beats instead of 128. */
	ck_assert_uint_eq(state(&r, NPU_ENGINE_LOAD, NPU_STATE_BUSY), 256);
	fini(&r);
}
END_TEST

START_TEST(bandwidth_never_exceeds_what_is_outstanding)
{
	/* Real DRAM: bytes a cycle <= outstanding x max_burst / mean latency. */
	for (uint64_t outstanding = 1; outstanding <= 32; outstanding *= 2) {
		default_hw();
		hw.dma.outstanding = outstanding;
		struct npu_insn i = dma(NPU_OP_LOAD, 0, 0, 64, 512);
		struct run r = run(0, &i, 1);
		double ns = (double)r.totals.dram.read_latency_sum / (double)r.totals.dram.reads * 5 / 6;
		double rate = 65536.0 / (double)(r.record.insns[0].end - r.record.insns[0].start);
		ck_assert_double_le(rate, (double)outstanding * 256 / ns);
		fini(&r);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("models.dma");
	TCase *tc = tcase_create("dma");
	tcase_add_checked_fixture(tc, default_hw, NULL);
	tcase_add_test(tc, a_dense_matrix_is_one_descriptor_cut_at_max_burst);
	tcase_add_test(tc, rows_apart_are_a_descriptor_each);
	tcase_add_test(tc, no_burst_crosses_a_page_of_4_KiB);
	tcase_add_test(tc, a_rearranged_beat_carries_one_local_run);
	tcase_add_test(tc, runs_cover_the_local_matrix_once_in_every_layout);
	tcase_add_test(tc, padding_of_blocks_in_dram_is_moved_but_crosses_no_port);
	tcase_add_test(tc, loads_conflict_in_local_memory_and_stores_in_dram);
	tcase_add_test(tc, interleaved_columns_do_not_conflict);
	tcase_add_test(tc, scatters_conflict_page_by_page);
	tcase_add_test(tc, a_load_takes_start_descriptor_crossing_and_beats);
	tcase_add_test(tc, a_store_reads_first_and_ends_when_its_last_write_is_accepted);
	tcase_add_test(tc, one_slot_pays_the_whole_round_trip_a_burst);
	tcase_add_test(tc, descriptors_pace_short_rows);
	tcase_add_test(tc, channels_share_the_port_beat_by_beat_and_count_once);
	tcase_add_test(tc, a_conflicting_load_starts_when_the_first_has_ended);
	tcase_add_test(tc, a_page_waits_for_its_table_entry);
	tcase_add_test(tc, a_page_takes_its_turn_among_bursts_of_another_channel);
	tcase_add_test(tc, a_page_is_worked_out_when_the_page_before_is);
	tcase_add_test(tc, a_table_read_of_a_store_does_not_overtake_data_that_leaves_before);
	tcase_add_test(tc, a_long_table_is_read_in_granules);
	tcase_add_test(tc, rearranging_int8_into_blocks_halves_the_port);
	tcase_add_test(tc, bandwidth_never_exceeds_what_is_outstanding);
	suite_add_tcase(suite, tc);
	return npu_suite_run(suite);
}
