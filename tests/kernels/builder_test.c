/* SPDX-License-Identifier: Apache-2.0 */
/* Where the builder places things and what it says when it cannot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/builder.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/suite.h"

/* 1 MiB of SRAM in four groups of 256 KiB, 256 KiB of accumulators in eight banks of 32 KiB. */
static struct npu_builder *edge(void)
{
	return npu_builder_new("test", preset_capacity("edge-1mb"));
}

enum { KIB = 1024, GROUP = 256 * KIB, BANK = 32 * KIB };

static void emit_sync(struct npu_builder *b)
{
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_SYNC_LOAD }, NULL);
}

/* The program, which must be one. */
static struct npu_program *finish(struct npu_builder *b)
{
	struct npu_error err = { 0 };
	struct npu_program *p = npu_builder_finish(b, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	return p;
}

START_TEST(a_buffer_lies_in_its_group)
{
	struct npu_builder *b = edge();
	ck_assert_uint_eq(npu_sram(b, "a", 1000, 2), 2 * GROUP);
	/* Aligned to a bank word of 32 bytes. */
	ck_assert_uint_eq(npu_sram(b, "b", 1000, 2), 2 * GROUP + 1024);
	ck_assert_uint_eq(npu_sram(b, "c", 1000, 5), GROUP);
	ck_assert_uint_eq(npu_acc(b, "d", 4096, 3), NPU_ACC_BIT | 3 * BANK);
	npu_builder_discard(b);
}
END_TEST

START_TEST(without_a_group_a_buffer_lies_in_the_emptiest)
{
	struct npu_builder *b = edge();
	npu_sram(b, "a", 1000, 0);
	npu_sram(b, "b", 1000, 1);
	npu_sram(b, "c", 10, 2);
	npu_sram(b, "d", 1000, 3);
	ck_assert_uint_eq(npu_sram(b, "e", 1000, -1), 2 * GROUP + 32);
	npu_builder_discard(b);
}
END_TEST

START_TEST(a_group_that_is_full_sends_a_buffer_to_another)
{
	struct npu_builder *b = edge();
	npu_sram(b, "a", 200 * KIB, 1);
	npu_sram(b, "b", 100 * KIB, 0);
	ck_assert_uint_eq(npu_sram(b, "c", 100 * KIB, 1), 2 * GROUP);
	/* Larger than a group: from the beginning of one on. */
	ck_assert_uint_eq(npu_sram(b, "d", 300 * KIB, -1), 2 * GROUP + 100 * KIB);
	npu_builder_discard(b);
}
END_TEST

START_TEST(a_ping_pong_lies_in_two_groups)
{
	struct npu_builder *b = edge();
	uint32_t k[2], s[2];
	const struct npu_request requests[] = {
		{ .name = "k", .bytes = 4096, .count = 2, .group = 3, .local = k },
		{ .name = "s", .accum = true, .bytes = 64 * KIB, .count = 2, .group = -1, .local = s },
	};
	ck_assert(npu_place(b, requests, 2));
	ck_assert_uint_eq(k[0], 3 * GROUP);
	ck_assert_uint_eq(k[1], 0);
	ck_assert_uint_eq(s[0], NPU_ACC_BIT);
	ck_assert_uint_eq(s[1], NPU_ACC_BIT | 2 * BANK);
	npu_builder_discard(b);
}
END_TEST

/* Four groups: 3 and 3 + 4 are the same one. */
START_TEST(a_step_of_all_groups_keeps_buffers_in_one)
{
	struct npu_builder *b = edge();
	uint32_t v[2];
	const struct npu_request requests[] = {
		{ .name = "v", .bytes = 4096, .count = 2, .group = 3, .local = v, .step = 4 },
	};
	ck_assert(npu_place(b, requests, 1));
	ck_assert_uint_eq(v[0], 3 * GROUP);
	ck_assert_uint_eq(v[1], 3 * GROUP + 4096);
	npu_builder_discard(b);
}
END_TEST

START_TEST(what_fits_by_its_sum_is_packed)
{
	/* Groups of 128 KiB: two of 100 leave 28 in each, too little for 50 but not for three packed ones. */
	struct npu_builder *b = npu_builder_new("test", preset_capacity("tiny-256k"));
	uint32_t big[2], small;
	const struct npu_request requests[] = {
		{ .name = "big", .bytes = 100 * KIB, .count = 2, .group = 0, .local = big },
		{ .name = "small", .bytes = 50 * KIB, .count = 1, .group = 0, .local = &small },
	};
	ck_assert(npu_place(b, requests, 2));
	ck_assert_uint_eq(big[1], 100 * KIB);
	ck_assert_uint_eq(small, 200 * KIB);
	npu_builder_discard(b);
}
END_TEST

/* 256 KiB for 60 + 40 + 30 KiB once: a second of the first and of its pair, together 100, then no second of 30. */
START_TEST(second_buffers_come_as_far_as_there_is_room)
{
	struct npu_builder *b = npu_builder_new("test", preset_capacity("tiny-256k"));
	uint32_t k[3], v[3], o[2];
	unsigned nk = 0, no = 0;
	const struct npu_request requests[] = {
		{ "k", false, 60 * KIB, 3, 0, k, .least = 1, .got = &nk },
		{ "v", false, 40 * KIB, 3, 1, v, .least = 1, .pair = true },
		{ "o", false, 30 * KIB, 2, 1, o, .least = 1, .got = &no },
	};
	ck_assert(npu_place(b, requests, 3));
	ck_assert_uint_eq(nk, 2);
	ck_assert_uint_eq(no, 1);
	ck_assert_uint_eq(npu_builder_unpaired(b), 1);
	emit_sync(b);
	struct npu_program *p = finish(b);
	ck_assert_uint_eq(p->nbuffers, 5);
	ck_assert_str_eq(p->buffers[0].name, "k[0]");
	ck_assert_str_eq(p->buffers[4].name, "o");
	npu_program_free(p);
}
END_TEST

/* k three times and o once, 968 KiB, would fit too. */
START_TEST(a_second_buffer_goes_before_a_third)
{
	struct npu_builder *b = npu_builder_new("test", preset_capacity("edge-1mb"));
	uint32_t k[3], o[2];
	unsigned nk = 0, no = 0;
	const struct npu_request requests[] = {
		{ "k", false, 256 * KIB, 3, 0, k, .least = 1, .got = &nk },
		{ "o", false, 200 * KIB, 2, 2, o, .least = 1, .got = &no },
	};
	ck_assert(npu_place(b, requests, 2));
	ck_assert_uint_eq(nk, 2);
	ck_assert_uint_eq(no, 2);
	ck_assert_uint_eq(npu_builder_unpaired(b), 0);
	npu_builder_discard(b);
}
END_TEST

START_TEST(pages_are_recorded_with_their_owner)
{
	struct npu_builder *b = edge();
	struct npu_dram pool = npu_tensor(b, "pool", NPU_FP16, NPU_TENSOR_IN, 2, (uint64_t[]){ 8, 64 });
	npu_sequence_table(b, "mine", 7, 2, (uint32_t[]){ 5, 4 });
	npu_page(b, pool, 4, 2, NPU_PAGE_OWNED, 7);
	emit_sync(b);
	npu_page(b, pool, 4, 1, NPU_PAGE_FREE, 7);
	emit_sync(b);
	struct npu_program *p = finish(b);
	ck_assert_uint_eq(p->tables[0].sequence, 7);
	ck_assert_uint_eq(p->npages, 3);
	ck_assert_uint_eq(p->pages[1].page, 5);
	ck_assert_uint_eq(p->pages[1].state, NPU_PAGE_OWNED);
	ck_assert_uint_eq(p->pages[1].sequence, 7);
	ck_assert_uint_eq(p->pages[2].insn, 1);
	ck_assert_uint_eq(p->pages[2].state, NPU_PAGE_FREE);
	ck_assert_uint_eq(p->pages[2].sequence, 0);
	npu_program_free(p);
}
END_TEST

START_TEST(released_bytes_are_used_again)
{
	struct npu_builder *b = edge();
	uint32_t a = npu_sram(b, "a", 4096, 1);
	emit_sync(b);
	emit_sync(b);
	npu_release(b, a);
	ck_assert_uint_eq(npu_sram(b, "b", 4096, 1), a);
	emit_sync(b);
	struct npu_program *p = finish(b);
	ck_assert_uint_eq(p->nbuffers, 2);
	ck_assert_uint_eq(p->buffers[0].first, 0);
	ck_assert_uint_eq(p->buffers[0].end, 2);
	ck_assert_uint_eq(p->buffers[1].first, 2);
	ck_assert_uint_eq(p->buffers[1].end, 3);
	npu_program_free(p);
}
END_TEST

START_TEST(what_does_not_fit_is_named_with_a_map)
{
	struct npu_builder *b = edge();
	struct npu_error err = { 0 };
	npu_acc(b, "s", 128 * KIB, 0);
	npu_sram(b, "q", 900 * KIB, 0);
	ck_assert_uint_eq(npu_sram(b, "k", 200 * KIB, 1), 0);
	ck_assert_ptr_null(npu_builder_finish(b, &err));
	ck_assert_int_eq(err.code, NPU_ERR_FIT);
	/* 900 + 200 = 1,100 KiB of 1,024: 76 KiB too many. */
	ck_assert_str_eq(err.text, "buffers do not fit: 1,126,400 needed of 1,048,576 bytes of SRAM, 77,824 too many\n"
				   "  q            sram:0x000000       921,600 bytes  group 0  #0 to end, overlaps k\n"
				   "  k                                204,800 bytes  does not fit");
}
END_TEST

/* Of two buffers of 600 KiB one has room in 1,024. */
START_TEST(what_found_no_room_has_one_name_all_over_the_map)
{
	struct npu_builder *b = edge();
	struct npu_error err = { 0 };
	uint32_t k[2];
	const struct npu_request pair = { "k", false, 600 * KIB, 2, -1, k, .least = 2 };
	npu_place(b, &pair, 1);
	ck_assert_ptr_null(npu_builder_finish(b, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "to end, overlaps k[1]\n  k[1] "));
}
END_TEST

START_TEST(the_first_error_sticks)
{
	struct npu_builder *b = edge();
	struct npu_error err = { 0 };
	npu_sram(b, "huge", 2048 * KIB, 0);
	npu_tensor(b, "t", NPU_FP16, NPU_TENSOR_IN, 9, (uint64_t[]){ 1 });
	npu_release(b, 12345);
	emit_sync(b);
	ck_assert(npu_builder_failed(b));
	ck_assert_ptr_null(npu_builder_finish(b, &err));
	ck_assert(strstr(err.text, "huge") != NULL);
}
END_TEST

START_TEST(releasing_what_is_not_there_is_refused)
{
	struct npu_builder *b = edge();
	npu_release(b, NPU_ACC_BIT | 64);
	ck_assert(npu_builder_failed(b));
	ck_assert_str_eq(npu_builder_error(b)->text, "released a buffer that is not there, at acc:0x40");
	npu_builder_discard(b);
}
END_TEST

START_TEST(tensors_follow_one_another_on_4_kib)
{
	struct npu_builder *b = edge();
	struct npu_dram q = npu_tensor(b, "q", NPU_FP16, NPU_TENSOR_IN, 2, (uint64_t[]){ 3, 1000 });
	struct npu_dram k = npu_tensor(b, "k", NPU_INT4, NPU_TENSOR_IN, 2, (uint64_t[]){ 3, 6 });
	uint32_t table = npu_block_table(b, "pages", 3, (uint32_t[]){ 2, 0, 1 });
	emit_sync(b);
	struct npu_program *p = finish(b);
	ck_assert_uint_eq(q.addr, 0);
	ck_assert_uint_eq(q.bytes, 6000);
	ck_assert_uint_eq(k.addr, 8192);
	ck_assert_uint_eq(k.bytes, 3 * 3); /* a row of six int4 is three bytes */
	ck_assert_uint_eq(p->tables[table].addr, 12288);
	ck_assert_uint_eq(p->tables[table].entries[0], 2);
	npu_program_free(p);
}
END_TEST

START_TEST(a_tensor_past_the_end_of_dram_is_refused)
{
	struct npu_builder *b = npu_builder_new("test", preset_capacity("tiny-256k"));
	npu_tensor(b, "q", NPU_FP16, NPU_TENSOR_IN, 1, (uint64_t[]){ 100 });
	npu_tensor(b, "k", NPU_FP16, NPU_TENSOR_IN, 2, (uint64_t[]){ 1024, 1024 * 1024 });
	ck_assert_str_eq(npu_builder_error(b)->text,
			 "tensor k does not fit: 2,147,483,648 bytes after 4,096 of the DRAM's "
			 "2,147,483,648 bytes, 4,096 too many");
	npu_builder_discard(b);
}
END_TEST

START_TEST(a_region_is_named_as_printf_would_and_cut_at_63_bytes)
{
	struct npu_builder *b = edge();
	npu_region(b, "tile %u,%u of %u", 0u, 4294967295u, 10u);
	emit_sync(b);
	npu_region_end(b);
	npu_region(b, "%s %u%% %d", "done", 7u, -1);
	emit_sync(b);
	npu_region_end(b);
	npu_region(b, "0123456789012345678901234567890123456789012345678901234567890 %u", 123u);
	emit_sync(b);
	npu_region_end(b);
	struct npu_program *p = finish(b);
	ck_assert_str_eq(p->regions[0].name, "tile 0,4294967295 of 10");
	ck_assert_str_eq(p->regions[1].name, "done 7% -1");
	ck_assert_str_eq(p->regions[2].name, "0123456789012345678901234567890123456789012345678901234567890 1");
	npu_program_free(p);
}
END_TEST

START_TEST(an_instruction_keeps_its_line_region_and_order)
{
	struct npu_builder *b = edge();
	struct npu_semaphore free = npu_semaphore(b, "free", 1), full = npu_semaphore(b, "full", 0);
	npu_region(b, "head %d", 1);
	int line = __LINE__ + 1;
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_SYNC_LOAD },
		 &(struct npu_order){ .wait = { free }, .post = { full } });
	npu_region(b, "tile %d", 2);
	npu_emit(b, &(struct npu_insn){ .op = NPU_OP_SYNC_MATRIX }, &(struct npu_order){ .wait = { full } });
	npu_region_end(b);
	emit_sync(b);
	npu_region_end(b);
	emit_sync(b);
	struct npu_program *p = finish(b);
	ck_assert_uint_eq(p->place[0].line, (unsigned)line);
	ck_assert_ptr_nonnull(strstr(p->files[p->place[0].file], "builder_test.c"));
	ck_assert_int_ne(p->files[p->place[0].file][0], '/');
	ck_assert_str_eq(p->regions[p->region[0]].name, "head 1");
	ck_assert_str_eq(p->regions[p->region[1]].name, "tile 2");
	ck_assert_uint_eq(p->regions[p->region[1]].parent, p->region[0]);
	ck_assert_uint_eq(p->region[2], p->region[0]);
	ck_assert_uint_eq(p->region[3], NPU_NO_REGION);
	ck_assert_uint_eq(p->insns[0].wait[0].count, 1);
	ck_assert_uint_eq(p->insns[0].wait[1].count, 0);
	ck_assert_uint_eq(p->sems[p->insns[0].wait[0].sem].initial, 1);
	ck_assert_int_eq(p->sems[p->insns[0].post[0].sem].waiter, NPU_ENGINE_MATRIX);
	npu_program_free(p);
}
END_TEST

START_TEST(live_buffers_never_overlap)
{
	struct case_rng rng = { 3 };
	struct npu_builder *b = edge();
	struct {
		uint32_t at;
		uint64_t bytes;
	} live[64] = { { 0, 0 } };
	for (int i = 0; i < 3000; i++) {
		unsigned slot = (unsigned)case_below(&rng, 64);
		if (live[slot].bytes) {
			npu_release(b, live[slot].at);
			live[slot].bytes = 0;
			continue;
		}
		uint64_t bytes = 1 + case_below(&rng, 12 * KIB); /* 64 of them always fit */
		uint32_t at = npu_sram(b, "x", bytes, (int)case_below(&rng, 5) - 1);
		ck_assert(!npu_builder_failed(b));
		for (int o = 0; o < 64; o++)
			ck_assert(live[o].bytes == 0 || at + bytes <= live[o].at || live[o].at + live[o].bytes <= at);
		ck_assert_uint_le(at + bytes, 1024 * KIB);
		live[slot].at = at;
		live[slot].bytes = bytes;
	}
	npu_builder_discard(b);
}
END_TEST

START_TEST(options_of_a_tensor_say_where_how_long_and_in_which_layout)
{
	const uint64_t shape[] = { 20, 20 };
	struct npu_error err;
	struct npu_tensor_options o = {
		.size = sizeof o, .layout = NPU_LAYOUT_BLOCK16, .bytes = 8192, .at = 0, .placed = 1
	};
	struct npu_builder *b = edge();
	struct npu_dram a = npu_tensor_with(b, "A", NPU_FP16, NPU_TENSOR_IN, 2, shape, &o);
	ck_assert_uint_eq(a.addr, 0);
	ck_assert_uint_eq(a.bytes, 8192);
	/* two rows and two columns of blocks of 16 x 16 fp16, behind the 8 KiB */
	o = (struct npu_tensor_options){ .size = sizeof o, .layout = NPU_LAYOUT_BLOCK16 };
	struct npu_dram c = npu_tensor_with(b, "C", NPU_FP16, NPU_TENSOR_IN, 2, shape, &o);
	ck_assert_uint_eq(c.addr, 8192);
	ck_assert_uint_eq(c.bytes, 4 * 16 * 16 * 2);
	struct npu_dram d = npu_tensor_with(b, "D", NPU_FP16, NPU_TENSOR_IN, 2, shape, NULL);
	ck_assert_uint_eq(d.bytes, 800);
	o = (struct npu_tensor_options){ .size = sizeof o, .seeded = 1, .seed = 7 };
	npu_tensor_with(b, "E", NPU_FP16, NPU_TENSOR_IN, 2, shape, &o);
	struct npu_program *p = npu_builder_finish(b, &err);
	ck_assert_ptr_nonnull(p);
	ck_assert(!p->tensors[2].seeded && p->tensors[3].seeded);
	ck_assert_uint_eq(p->tensors[3].seed, 7);
	ck_assert_uint_eq(p->tensors[0].bytes, 8192);
	ck_assert_uint_eq(p->tensors[1].layout, NPU_LAYOUT_BLOCK16);
	ck_assert_uint_eq(p->tensors[2].layout, NPU_LAYOUT_ROW);
	npu_program_free(p);
}
END_TEST

static void expect_option_refused(const struct npu_tensor_options *o, const char *says)
{
	const uint64_t shape[] = { 20, 20 };
	struct npu_error err;
	struct npu_builder *b = edge();
	npu_tensor_with(b, "A", NPU_FP16, NPU_TENSOR_IN, 2, shape, o);
	ck_assert_ptr_null(npu_builder_finish(b, &err));
	ck_assert_msg(strstr(err.text, says) != NULL, "%s", err.text);
}

START_TEST(options_of_a_tensor_that_cannot_be_are_refused)
{
	const struct {
		struct npu_tensor_options known;
		uint64_t later;
	} newer = { { .size = sizeof newer }, 1 };
	expect_option_refused(&(struct npu_tensor_options){ .size = 0 }, "options of 0 bytes");
	expect_option_refused(&(struct npu_tensor_options){ .size = sizeof(struct npu_tensor_options), .bytes = 799 },
			      "tensor A takes 800 bytes, more than the 799 given");
	expect_option_refused(&(struct npu_tensor_options){ .size = sizeof(struct npu_tensor_options), .seed = 7 },
			      "tensor A: a seed, and seeded is 0");
	expect_option_refused(&newer.known, "options that this version does not know");
	expect_option_refused(&(struct npu_tensor_options){ .size = sizeof(struct npu_tensor_options),
							    .bytes = UINT64_MAX },
			      "A");
}
END_TEST

START_TEST(a_semaphore_has_the_maximum_that_it_was_given)
{
	struct npu_builder *b = edge();
	npu_semaphore(b, "a", 0);
	npu_semaphore_max(b, "b", 1, 2);
	emit_sync(b);
	struct npu_program *p = finish(b);
	ck_assert_uint_eq(p->sems[0].max, 65535);
	ck_assert_uint_eq(p->sems[1].max, 2);
	ck_assert_uint_eq(p->sems[1].initial, 1);
	npu_program_free(p);
	b = edge();
	npu_semaphore_max(b, "c", 3, 2);
	ck_assert(npu_builder_failed(b));
	npu_builder_discard(b);
}
END_TEST

START_TEST(a_buffer_lies_where_it_was_told_to_or_nowhere)
{
	struct npu_builder *b = edge();
	ck_assert_uint_eq(npu_sram_at(b, "a", 100, 0x1000), 0x1000);
	ck_assert_uint_eq(npu_acc_at(b, "b", 100, BANK), NPU_ACC_BIT | BANK);
	/* What is placed freely goes around it. */
	ck_assert_uint_eq(npu_sram(b, "c", 0x1000, 0), 0);
	ck_assert_uint_eq(npu_sram(b, "d", 32, 0), 0x1080);
	ck_assert_uint_eq(npu_sram_aligned(b, "e", 32, 0, 4096), 0x2000);
	ck_assert_uint_eq(npu_sram_at(b, "f", 32, 0x1070), 0);
	ck_assert_str_eq(npu_builder_error(b)->text, "f needs 32 bytes at sram:0x1070, where a lies, 0x1000 to 0x1080");
	npu_builder_discard(b);
	b = edge();
	ck_assert_uint_eq(npu_sram_at(b, "a", 64, 1024 * KIB - 32), 0);
	ck_assert_int_eq(npu_builder_error(b)->code, NPU_ERR_FIT);
	npu_builder_discard(b);
	b = edge();
	npu_sram_aligned(b, "a", 64, 0, 24);
	ck_assert_str_eq(npu_builder_error(b)->text, "a: an alignment of 24, which is no power of two");
	npu_builder_discard(b);
	b = edge();
	npu_sram_aligned(b, "a", 2048 * KIB, 0, 64);
	ck_assert_int_eq(npu_builder_error(b)->code, NPU_ERR_FIT);
	npu_builder_discard(b);
}
END_TEST

START_TEST(a_tensor_lies_where_it_was_told_to_in_its_layout)
{
	struct npu_builder *b = edge();
	const uint64_t shape[] = { 33, 40 };
	struct npu_dram x = npu_tensor_at(b, "x", NPU_FP16, NPU_TENSOR_IN, 2, shape, NPU_LAYOUT_BLOCK32, 0x10000);
	ck_assert_uint_eq(x.addr, 0x10000);
	ck_assert_uint_eq(x.bytes, 2 * 64 * 64);
	struct npu_dram view = npu_tensor_at(b, "view", NPU_FP16, NPU_TENSOR_IN, 2, shape, NPU_LAYOUT_ROW, 0x10000);
	ck_assert_uint_eq(view.addr, 0x10000);
	/* Behind all of it. */
	ck_assert_uint_eq(npu_tensor(b, "y", NPU_FP16, NPU_TENSOR_IN, 2, shape).addr, 0x12000);
	emit_sync(b);
	struct npu_program *p = finish(b);
	ck_assert_uint_eq(p->tensors[0].layout, NPU_LAYOUT_BLOCK32);
	npu_program_free(p);
	b = edge();
	npu_tensor_at(b, "x", NPU_FP16, NPU_TENSOR_IN, 2, shape, NPU_LAYOUT_ROW, UINT64_MAX - 1);
	ck_assert_int_eq(npu_builder_error(b)->code, NPU_ERR_FIT);
	npu_builder_discard(b);
}
END_TEST

START_TEST(what_has_no_end_is_refused)
{
	struct npu_builder *b = edge();
	unsigned n = 0;
	char name[16];
	while (!npu_builder_failed(b)) {
		snprintf(name, sizeof name, "s%u", n++);
		npu_semaphore(b, name, 0);
	}
	ck_assert_uint_eq(n, 65536);
	npu_builder_discard(b);
	b = edge();
	npu_region(b, "left");
	emit_sync(b);
	struct npu_error err = { 0 };
	ck_assert_ptr_null(npu_builder_finish(b, &err));
	ck_assert_str_eq(err.text, "the region \"left\" is still open at the end of the program");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("builder");
	TCase *t = tcase_create("builder");
	tcase_add_test(t, a_buffer_lies_in_its_group);
	tcase_add_test(t, without_a_group_a_buffer_lies_in_the_emptiest);
	tcase_add_test(t, a_group_that_is_full_sends_a_buffer_to_another);
	tcase_add_test(t, a_ping_pong_lies_in_two_groups);
	tcase_add_test(t, a_step_of_all_groups_keeps_buffers_in_one);
	tcase_add_test(t, what_fits_by_its_sum_is_packed);
	tcase_add_test(t, second_buffers_come_as_far_as_there_is_room);
	tcase_add_test(t, a_second_buffer_goes_before_a_third);
	tcase_add_test(t, pages_are_recorded_with_their_owner);
	tcase_add_test(t, released_bytes_are_used_again);
	tcase_add_test(t, what_does_not_fit_is_named_with_a_map);
	tcase_add_test(t, what_found_no_room_has_one_name_all_over_the_map);
	tcase_add_test(t, the_first_error_sticks);
	tcase_add_test(t, releasing_what_is_not_there_is_refused);
	tcase_add_test(t, tensors_follow_one_another_on_4_kib);
	tcase_add_test(t, a_tensor_past_the_end_of_dram_is_refused);
	tcase_add_test(t, a_region_is_named_as_printf_would_and_cut_at_63_bytes);
	tcase_add_test(t, an_instruction_keeps_its_line_region_and_order);
	tcase_add_test(t, live_buffers_never_overlap);
	tcase_add_test(t, options_of_a_tensor_say_where_how_long_and_in_which_layout);
	tcase_add_test(t, options_of_a_tensor_that_cannot_be_are_refused);
	tcase_add_test(t, a_semaphore_has_the_maximum_that_it_was_given);
	tcase_add_test(t, a_buffer_lies_where_it_was_told_to_or_nowhere);
	tcase_add_test(t, a_tensor_lies_where_it_was_told_to_in_its_layout);
	tcase_add_test(t, what_has_no_end_is_refused);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
