/* SPDX-License-Identifier: Apache-2.0 */
/* Where buffers go: their group, another one, packed, at a fixed place; and the map when they do not fit. */
#include "isa/insn.h"
#include "isa/place.h"
#include "tests/support/suite.h"

#include <string.h>

enum { KIB = 1024, GROUP = 256 * KIB };

/* Four groups of 256 KiB; eight banks of 32 KiB of accumulators, rows of 32 x 4 bytes. */
static const struct npu_capacity machine = { .limits = { 1024 * KIB, 256 * KIB, (uint64_t)1 << 32 },
					     .sram_groups = 4,
					     .sram_word_bytes = 32,
					     .accum_banks = 8,
					     .array_cols = 32,
					     .vector_lanes = 16 };

static struct npu_placer *placer;
static uint32_t locals[8], handles[8];

static void open_placer(void)
{
	placer = npu_placer_new(&machine);
	ck_assert_ptr_nonnull(placer);
}

static void close_placer(void)
{
	npu_placer_free(placer);
}

static struct npu_place_request request(const char *name, uint64_t bytes, uint32_t count, int64_t group)
{
	return (struct npu_place_request){ .name = name,
					   .array = count > 1,
					   .bytes = bytes,
					   .count = count,
					   .group = group,
					   .at = -1,
					   .locals = locals,
					   .handles = handles };
}

static void place(const struct npu_place_request *r)
{
	struct npu_error err = { .code = NPU_ERR_NONE };
	ck_assert_msg(npu_placer_place(placer, r, 1, 0, &err), "%s", err.text);
}

START_TEST(an_array_goes_through_the_groups_from_the_one_it_prefers)
{
	struct npu_place_request r = request("k", 100, 3, 3);
	place(&r);
	ck_assert_uint_eq(locals[0], 3 * GROUP);
	ck_assert_uint_eq(locals[1], 0);
	ck_assert_uint_eq(locals[2], GROUP);
	/* 100 bytes take four bank words of 32 */
	r = request("q", 32, 1, 3);
	place(&r);
	ck_assert_uint_eq(locals[0], 3 * GROUP + 128);
}
END_TEST

START_TEST(without_a_preference_the_emptiest_group_is_taken)
{
	struct npu_place_request r = request("a", 1000, 1, 0);
	place(&r);
	r = request("b", 500, 1, -1);
	place(&r);
	ck_assert_uint_eq(locals[0], GROUP);
}
END_TEST

START_TEST(what_was_released_is_used_again)
{
	struct npu_place_request r = request("a", GROUP, 1, 2);
	place(&r);
	uint32_t first = handles[0];
	r = request("b", GROUP, 1, 2);
	place(&r);
	ck_assert_uint_ne(locals[0], 2 * GROUP); /* its group is full */
	npu_placer_release(placer, first);
	place(&r);
	ck_assert_uint_eq(locals[0], 2 * GROUP);
}
END_TEST

START_TEST(fixed_buffers_stay_and_others_go_around)
{
	uint32_t fixed[1], handle[1];
	struct npu_place_request both[] = { request("a", 64, 1, 0), request("f", 64, 1, -1) };
	struct npu_error err;
	both[1].at = 0;
	both[1].locals = fixed;
	both[1].handles = handle;
	ck_assert(npu_placer_place(placer, both, 2, 0, &err));
	ck_assert_uint_eq(fixed[0], 0);
	ck_assert_uint_eq(locals[0], 64);
}
END_TEST

START_TEST(accumulators_are_whole_rows_in_a_memory_of_their_own)
{
	struct npu_place_request r = request("s", 100, 2, 0);
	r.accum = true;
	place(&r);
	ck_assert_uint_eq(locals[0], NPU_ACC_BIT);
	ck_assert_uint_eq(locals[1], NPU_ACC_BIT | 32 * KIB);
	ck_assert_uint_eq(npu_placer_bytes(placer, true, 100), 128);
	ck_assert_uint_eq(npu_placer_bytes(placer, false, 100), 128);
	ck_assert_uint_eq(npu_placer_bytes(placer, true, 129), 256);
}
END_TEST

/* Three of 300 KiB: a group holds none; from the beginnings of groups on only two would fit, packed all three do. */
START_TEST(what_fits_only_packed_is_packed)
{
	struct npu_place_request r = request("a", 300 * KIB, 3, 0);
	place(&r);
	ck_assert_uint_eq(locals[0], 0);
	ck_assert_uint_eq(locals[1], 300 * KIB);
	ck_assert_uint_eq(locals[2], 600 * KIB);
}
END_TEST

START_TEST(what_does_not_fit_is_told_with_a_map)
{
	struct npu_error err;
	struct npu_place_request r = request("a", 900 * KIB, 1, 0);
	place(&r);
	r = request("b", 100 * KIB, 2, 0);
	ck_assert(!npu_placer_place(placer, &r, 1, 7, &err));
	ck_assert_int_eq(err.code, NPU_ERR_FIT);
	ck_assert(!npu_placer_lacks_accum(placer));
	/* 900 + 2 x 100 KiB of 1,024 KiB */
	ck_assert_str_eq(err.text, "buffers do not fit: 1,126,400 needed of 1,048,576 bytes of SRAM, 77,824 too many\n"
				   "  a            sram:0x000000       921,600 bytes  group 0  #0 to end, overlaps b[1]\n"
				   "  b[0]         sram:0x0e1000       102,400 bytes  group 3  #7 to end, overlaps b[1]\n"
				   "  b[1]                             102,400 bytes  does not fit");
	/* and nothing was placed */
	r = request("c", 124 * KIB, 1, -1);
	place(&r);
	ck_assert_uint_eq(locals[0], 900 * KIB);
}
END_TEST

/* Lives that are over are told, too, by line where it is known. */
START_TEST(the_map_has_the_lives_of_all_buffers)
{
	struct npu_error err;
	struct npu_place_request r = request("a", 600 * KIB, 1, 0);
	r.declared.line = 3;
	place(&r);
	npu_placer_end(placer, handles[0], 5, (struct npu_placed_line){ NULL, 8 });
	r = request("b", 500 * KIB, 1, 0);
	r.declared = (struct npu_placed_line){ "/x/lib.npi", 12 };
	place(&r);
	r = request("c", 600 * KIB, 1, 0);
	ck_assert(!npu_placer_place(placer, &r, 1, 9, &err));
	ck_assert_str_eq(err.text,
			 "buffers do not fit: 1,126,400 needed of 1,048,576 bytes of SRAM, 77,824 too many\n"
			 "  a            sram:0x000000       614,400 bytes  group 0  line 3 to line 8, its bytes are free again\n"
			 "  b            sram:0x000000       512,000 bytes  group 0  lib.npi:12 to end, overlaps c\n"
			 "  c                                614,400 bytes  does not fit");
}
END_TEST

/* A map of thousands keeps what is alive and what is asked for. */
START_TEST(a_long_map_is_cut)
{
	static uint32_t many[2048], handle[2048];
	struct npu_error err;
	struct npu_place_request r = request("a", 256, 2048, 0);
	r.locals = many;
	r.handles = handle;
	place(&r);
	for (unsigned i = 0; i < 2040; i++)
		npu_placer_end(placer, handle[i], 1, (struct npu_placed_line){ 0 });
	r = request("big", 1024 * KIB, 1, 0);
	ck_assert(!npu_placer_place(placer, &r, 1, 2, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "\n  a[2047] "));
	ck_assert_ptr_nonnull(strstr(err.text, "\n  and 2,025 more before\n  big "));
	ck_assert_ptr_nonnull(strstr(err.text, "does not fit"));
}
END_TEST

/* ---- the same by looking at every block ---- */

enum { MOST_BLOCKS = 300 };
static struct plain_block {
	bool live;
	uint64_t at, bytes;
	uint32_t handle;
} plain[MOST_BLOCKS];
static unsigned nplain;

static uint64_t plain_fit(uint64_t from, uint64_t to, uint64_t bytes, uint64_t align)
{
	for (uint64_t at = (from + align - 1) / align * align; at + bytes <= to; at += align) {
		bool taken = false;
		for (unsigned i = 0; i < nplain && !taken; i++)
			taken = plain[i].live && at < plain[i].at + plain[i].bytes && plain[i].at < at + bytes;
		if (!taken)
			return at;
	}
	return UINT64_MAX;
}

static uint64_t plain_used(uint64_t from, uint64_t to)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < nplain; i++)
		for (uint64_t at = plain[i].at; plain[i].live && at < plain[i].at + plain[i].bytes; at += 32)
			sum += at >= from && at < to;
	return sum;
}

/* The group asked for, else the emptiest that has room, else anywhere. */
static uint64_t plain_place(uint64_t bytes, uint64_t align, int group)
{
	uint64_t at = UINT64_MAX, least = UINT64_MAX;
	if (bytes <= GROUP && group >= 0)
		at = plain_fit((uint64_t)group * GROUP, ((uint64_t)group + 1) * GROUP, bytes, align);
	for (uint64_t g = 0; at == UINT64_MAX && bytes <= GROUP && g < 4; g++) {
		uint64_t fit = plain_fit(g * GROUP, (g + 1) * GROUP, bytes, align);
		uint64_t used = plain_used(g * GROUP, (g + 1) * GROUP);
		if (fit != UINT64_MAX && used < least)
			least = used;
	}
	for (uint64_t g = 0; at == UINT64_MAX && least != UINT64_MAX && g < 4; g++)
		if (plain_used(g * GROUP, (g + 1) * GROUP) == least)
			at = plain_fit(g * GROUP, (g + 1) * GROUP, bytes, align);
	return at != UINT64_MAX ? at : plain_fit(0, 4 * GROUP, bytes, align);
}

START_TEST(places_are_those_that_a_look_at_every_block_finds)
{
	static const uint32_t aligns[] = { 0, 64, 4096 };
	uint32_t random = (uint32_t)_i * 2654435761u + 1;
	unsigned refused = 0;
	nplain = 0;
	while (nplain < MOST_BLOCKS) {
		random = random * 1664525u + 1013904223u;
		uint64_t bytes = ((random >> 8) % 24 + 1) * 1024;
		uint32_t align = aligns[(random >> 16) % 3];
		int group = (int)((random >> 20) % 5) - 1;
		unsigned victim = nplain ? (random >> 10) % nplain : 0;
		if (nplain && random >> 30 == 0 && plain[victim].live) {
			npu_placer_release(placer, plain[victim].handle);
			plain[victim].live = false;
			continue;
		}
		struct npu_error err;
		struct npu_place_request r = request("b", bytes, 1, group);
		r.align = align;
		uint64_t expected = plain_place(bytes, align ? align : 32, group);
		bool fits = npu_placer_place(placer, &r, 1, 0, &err);
		ck_assert(fits == (expected != UINT64_MAX));
		refused += !fits;
		if (fits)
			ck_assert_uint_eq(locals[0], expected);
		plain[nplain++] = (struct plain_block){ fits, fits ? expected : 0, bytes, handles[0] };
	}
	ck_assert_uint_gt(refused, 0);
}
END_TEST

/* An element costs no walk over those before it. */
START_TEST(arrays_of_thousands_are_placed_one_behind_the_other)
{
	enum { MANY = 16384 };
	static uint32_t local[MANY], handle[MANY];
	struct npu_place_request r = request("a", 4, MANY, 0);
	r.locals = local;
	r.handles = handle;
	place(&r);
	for (uint32_t i = 0; i < MANY; i++)
		ck_assert_uint_eq(local[i], i % 4 * GROUP + i / 4 * 32);
}
END_TEST

/* 1 MiB: k, v and q once are 640 KiB; a second k and v, 512 KiB, have no room, a second q has. */
START_TEST(requests_get_as_many_buffers_as_have_room)
{
	uint32_t k[3], v[3], q[3], handle[9], got[3];
	const struct npu_place_request requests[] = {
		{ .name = "k", .bytes = GROUP, .count = 3, .at = -1, .locals = k, .handles = handle, .least = 1, .got = &got[0] },
		{ .name = "v",
		  .bytes = GROUP,
		  .count = 3,
		  .group = 1,
		  .at = -1,
		  .locals = v,
		  .handles = handle + 3,
		  .least = 1,
		  .pair = true,
		  .got = &got[1] },
		{ .name = "q",
		  .bytes = GROUP / 2,
		  .count = 3,
		  .group = 2,
		  .at = -1,
		  .locals = q,
		  .handles = handle + 6,
		  .least = 1,
		  .got = &got[2] },
	};
	struct npu_error err = { .code = NPU_ERR_NONE };
	ck_assert_msg(npu_placer_place(placer, requests, 3, 0, &err), "%s", err.text);
	ck_assert_uint_eq(got[0], 1);
	ck_assert_uint_eq(got[1], 1);
	ck_assert_uint_eq(got[2], 3);
	ck_assert_uint_eq(k[0], 0);
	ck_assert_uint_eq(v[0], GROUP);
	ck_assert_uint_eq(q[0], 2 * GROUP);
	ck_assert_uint_eq(q[1], 3 * GROUP);
	/* Where it can no longer lie in its group it lies in the emptiest that has a gap. */
	ck_assert_uint_eq(q[2], 2 * GROUP + GROUP / 2);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("isa.place");
	TCase *t = tcase_create("places");
	tcase_add_checked_fixture(t, open_placer, close_placer);
	tcase_add_test(t, an_array_goes_through_the_groups_from_the_one_it_prefers);
	tcase_add_test(t, without_a_preference_the_emptiest_group_is_taken);
	tcase_add_test(t, what_was_released_is_used_again);
	tcase_add_test(t, fixed_buffers_stay_and_others_go_around);
	tcase_add_test(t, accumulators_are_whole_rows_in_a_memory_of_their_own);
	tcase_add_test(t, what_fits_only_packed_is_packed);
	tcase_add_test(t, what_does_not_fit_is_told_with_a_map);
	tcase_add_test(t, the_map_has_the_lives_of_all_buffers);
	tcase_add_test(t, a_long_map_is_cut);
	tcase_add_test(t, arrays_of_thousands_are_placed_one_behind_the_other);
	tcase_add_loop_test(t, places_are_those_that_a_look_at_every_block_finds, 0, 2);
	tcase_add_test(t, requests_get_as_many_buffers_as_have_room);
	suite_add_tcase(s, t);
	return s;
}

int main(void) { return npu_suite_run(suite()); }
