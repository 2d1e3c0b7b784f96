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
				   "  a            sram:0x000000       921,600 bytes  group 0  from #0 on\n"
				   "  b[0]         sram:0x0e1000       102,400 bytes  group 3  from #7 on\n"
				   "  b[1]                             102,400 bytes  does not fit");
	/* and nothing was placed */
	r = request("c", 124 * KIB, 1, -1);
	place(&r);
	ck_assert_uint_eq(locals[0], 900 * KIB);
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
	suite_add_tcase(s, t);
	return s;
}

int main(void) { return npu_suite_run(suite()); }
