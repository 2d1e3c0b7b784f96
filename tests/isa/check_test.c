/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker says of small programs in text, kind by kind: what is wrong, where, and what would be right. */
#include "isa/check.h"
#include "tests/isa/random.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static struct npu_program *assemble(const char *text)
{
	struct npu_error err = { 0 };
	struct npu_program *program = npu_asm_text(text, strlen(text), "t.npu", &err);
	ck_assert_msg(program != NULL, "%s", err.text);
	return program;
}

static struct npu_program *program;

static struct npu_check_report *checked_with(const char *text, const struct npu_check_options *options)
{
	struct npu_error err = { 0 };
	npu_program_free(program);
	program = assemble(text);
	struct npu_check_report *report = npu_check(program, options, &err);
	ck_assert_msg(report != NULL, "%s", err.text);
	return report;
}

static struct npu_check_report *checked(const char *text)
{
	return checked_with(text, NULL);
}

/* The only finding, which is of this kind; some of its texts hold `says`, if that is given. */
static const struct npu_finding *only(const struct npu_check_report *report, enum npu_check_kind kind)
{
	char all[2000] = "";
	for (uint32_t i = 0; i < report->nfindings; i++)
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s: %s\n",
			 npu_check_id(report->findings[i].kind), report->findings[i].text);
	ck_assert_msg(report->nfindings == 1 && report->findings[0].kind == kind, "wanted %s, found:\n%s",
		      npu_check_id(kind), all);
	return &report->findings[0];
}

static void says(const struct npu_finding *f, const char *text, const char *notes)
{
	ck_assert_str_eq(f->text, text);
	ck_assert_str_eq(f->notes, notes);
}

static void clean(const char *text)
{
	struct npu_check_report *report = checked(text);
	ck_assert_msg(report->nfindings == 0, "%s", report->nfindings ? report->findings[0].text : "");
	npu_check_free(report);
}

#define BUFFERS ".buffer x sram:0x0+64 0..1\n.buffer y sram:0x40+64 0..1\n"
#define LOAD_X  "load sram:0x0, dram:0x0 rows=1 cols=32 "
#define LOAD_Y  "load sram:0x40, dram:0x0 rows=1 cols=32 "
#define STORE_X "store dram:0x1000, sram:0x0 rows=1 cols=32 "
#define COPY_X  "vcopy sram:0x40, sram:0x0 rows=1 cols=16 "

/* ---- races ---- */

START_TEST(a_race_names_both_instructions_the_bytes_and_the_semaphore_that_would_do)
{
	struct npu_check_report *report = checked(".sem done\n" LOAD_X "post done\n" STORE_X "\n");
	const struct npu_finding *f = NULL;
	for (uint32_t i = 0; i < report->nfindings; i++)
		if (report->findings[i].kind == NPU_CHECK_RACE)
			f = &report->findings[i];
	ck_assert_ptr_nonnull(f);
	says(f, "race on SRAM 0x0..0x3f (64 bytes)",
	     "missing edge: #0 load -> #1 store\nfix: line 3 waits for done, which line 2 posts when it ends");
	ck_assert_uint_eq(f->site[0].insn, 1);
	ck_assert_str_eq(f->site[0].role, "reads");
	ck_assert_str_eq(f->site[0].operand, "local");
	ck_assert_uint_eq(f->site[1].insn, 0);
	ck_assert_str_eq(f->site[1].role, "writes");
	ck_assert_uint_eq(report->errors, 1);
	ck_assert_uint_eq(report->warnings, 1); /* nobody waits for done */
	npu_check_free(report);
}
END_TEST

START_TEST(a_wait_orders_and_reads_do_not_race)
{
	clean(".sem done\n" LOAD_X "post done\n" STORE_X "wait done\n");
	clean(".sem done\n" LOAD_X "post done\nsync.store wait done\n" STORE_X "\n");
	clean(".sem s[2]\n" LOAD_X "post s[0], s[1]\n" STORE_X "wait s[0]\n" COPY_X "wait s[1]\n");
}
END_TEST

START_TEST(the_k_th_unit_waited_for_is_the_k_th_posted)
{
	/* The store waits for two units: both loads have ended. For one, only the first. */
	clean(".sem s\n" LOAD_X "post s\n" LOAD_Y "post s\nstore dram:0x1000, sram:0x0 rows=1 cols=64 wait s:2\n");
	struct npu_check_report *report =
	    checked(".sem s\n" LOAD_X "post s\n" LOAD_Y "post s\nstore dram:0x1000, sram:0x0 rows=1 cols=64 wait s\n");
	ck_assert_uint_eq(only(report, NPU_CHECK_RACE)->site[1].insn, 1);
	ck_assert_uint_eq(report->findings[0].bytes.first, 0x40);
	ck_assert_uint_eq(report->findings[0].bytes.bytes, 64);
	npu_check_free(report);
	/* A post of two units serves two waits. */
	clean(".sem s\n" LOAD_X "post s:2\nsync.store wait s\n" STORE_X "wait s\n");
}
END_TEST

START_TEST(units_that_are_there_from_the_beginning_order_nothing)
{
	struct npu_check_report *report = checked(".sem s=1\n" LOAD_X "post s\n" STORE_X "wait s\n");
	says(only(report, NPU_CHECK_RACE), "race on SRAM 0x0..0x3f (64 bytes)",
	     "missing edge: #0 load -> #1 store\nfix: s starts at 1; with a lower count line 3 would wait for line 2");
	npu_check_free(report);
	clean(".sem s=1\n" LOAD_X "post s\nsync.store wait s\n" STORE_X "wait s\n");
}
END_TEST

START_TEST(ends_in_queue_order_make_one_post_speak_for_all_before_it)
{
	clean(".sem s\n" LOAD_X "\n" LOAD_Y "post s\nstore dram:0x1000, sram:0x0 rows=2 cols=32 wait s\n");
	clean(".sem s\n" LOAD_X "\nsync.load post s\n" STORE_X "wait s\n");
}
END_TEST

START_TEST(a_start_tells_of_earlier_waits_in_the_queue_not_of_earlier_ends)
{
	/* The vector engine has been told by #1 that #0 has ended, and #2 starts after #1. */
	clean(".sem s\n" LOAD_X "post s\nsync.vector wait s\n" COPY_X "\n");
	/* But that the store waited for the load tells the vector engine nothing before the store ends. */
	struct npu_check_report *report =
	    checked(".sem s, t\n" LOAD_X "post s\nsync.vector post t\n" STORE_X "wait s, t\n" COPY_X "\n");
	ck_assert_uint_eq(only(report, NPU_CHECK_RACE)->site[1].insn, 0);
	npu_check_free(report);
}
END_TEST

/* Findings, and what they stand for. */
static unsigned races_told(const struct npu_check_report *report, uint64_t *count)
{
	unsigned n = 0;
	*count = 0;
	for (uint32_t i = 0; i < report->nfindings; i++) {
		if (report->findings[i].kind != NPU_CHECK_RACE)
			continue;
		n++;
		*count += report->findings[i].count;
	}
	return n;
}

START_TEST(equal_races_stand_together_until_all_are_asked_for)
{
	const char *text = ".sem s\nload sram:0x0, dram:0x0 rows=1 cols=32\n.loc \"k.c\" 7\n" LOAD_X "\n" LOAD_X
			   "\n.loc 9\n" STORE_X "\n" STORE_X "\n";
	struct npu_check_report *report = checked(text);
	uint64_t count;
	ck_assert_uint_eq(races_told(report, &count), 2); /* of the first load, of the two on line 7 */
	ck_assert_uint_eq(count, 6);
	ck_assert_uint_eq(report->races, 6);
	npu_check_free(report);
	report = checked_with(text, &(struct npu_check_options){ .all = true });
	ck_assert_uint_eq(races_told(report, &count), 6);
	npu_check_free(report);
}
END_TEST

START_TEST(strided_accesses_race_only_where_their_rows_meet)
{
	/* Left and right half of rows of 64 bytes. */
	clean("load sram:0x0, dram:0x0 rows=8 cols=16 local_stride=64\n"
	      "vfill sram:0x20 rows=8 cols=8 dst_stride=64\n");
	struct npu_check_report *report = checked("load sram:0x0, dram:0x0 rows=8 cols=16 local_stride=64\n"
						  "vfill sram:0x1c rows=8 cols=8 dst_stride=64\n");
	says(only(report, NPU_CHECK_RACE), "race on SRAM 0x1c..0x1df (32 bytes of them)",
	     "missing edge: #0 load -> #1 vfill\nfix: a semaphore from load to vector: line 1 posts it, line 2 waits "
	     "for it");
	npu_check_free(report);
}
END_TEST

START_TEST(pages_race_by_way_of_their_block_table)
{
	static const char text[] =
	    ".tensor pool[4, 16, 8] fp16 inout dram:0x0\n.table t dram:0x4000 = [2, 0]\n"
	    ".table u dram:0x5000 = [1, %s]\n"
	    "gather sram:0x0, dram:0x0 rows=32 cols=8 page_stride=256 page_rows=16 table=t\n"
	    "scatter dram:0x0, sram:0x1000 rows=32 cols=8 page_stride=256 page_rows=16 table=u\n";
	char program_text[600];
	snprintf(program_text, sizeof program_text, text, "3");
	struct npu_check_report *report = checked(program_text);
	only(report, NPU_CHECK_UNINITIALISED); /* what is scattered, and nothing else */
	npu_check_free(report);
	snprintf(program_text, sizeof program_text, text, "2");
	report = checked(program_text);
	ck_assert_uint_eq(report->nfindings, 2);
	ck_assert_str_eq(report->findings[0].text, "race on pool, DRAM 0x200..0x2ff (256 bytes)");
	ck_assert_ptr_nonnull(strstr(report->findings[0].notes, "#0 gather: entry 0 of table t, page 2\n"
								"#1 scatter: entry 1 of table u, page 2\n"));
	npu_check_free(report);
}
END_TEST

/* ---- semaphores ---- */

START_TEST(a_wait_that_comes_before_its_post_is_told_with_what_it_has_and_needs)
{
	struct npu_check_report *report = checked(".sem s=1\nsync.store wait s:3\nsync.load post s:2\n");
	says(only(report, NPU_CHECK_WAIT_ORDER),
	     "#0 sync.store waits for s, which has 1 of 3 when the program is read in order",
	     "#1 sync.load completes it, later in program order (line 3)");
	npu_check_free(report);
}
END_TEST

START_TEST(a_deadlock_names_every_queue_that_waits)
{
	struct npu_check_report *report = checked(".sem a, b\nsync.load wait a post b\nsync.store wait b post a\n");
	bool found = false;
	for (uint32_t i = 0; i < report->nfindings; i++)
		if (report->findings[i].kind == NPU_CHECK_DEADLOCK) {
			says(&report->findings[i], "deadlock: 2 queues wait for ever, whatever the timing",
			     "#0 sync.load (line 2) waits for a:1 (#1 sync.store)\n"
			     "#1 sync.store (line 3) waits for b:1 (#0 sync.load)");
			found = true;
		}
	ck_assert(found);
	npu_check_free(report);
}
END_TEST

static const struct npu_finding *deadlock_of(const struct npu_check_report *report)
{
	for (uint32_t i = 0; i < report->nfindings; i++)
		if (report->findings[i].kind == NPU_CHECK_DEADLOCK)
			return &report->findings[i];
	ck_abort_msg("no deadlock");
	return NULL;
}

START_TEST(a_deadlock_names_what_waits_behind_and_counts_what_it_does_not_name)
{
	char text[4096] = ".sem a, b\nsync.load wait a post b\nsync.store wait b post a\n";
	struct npu_error err;
	for (unsigned i = 0; i < 25; i++)
		strcat(text, i % 2 ? "sync.load wait a\n" : "sync.store\n");
	struct npu_program *p = npu_asm_text(text, strlen(text), "t.npu", &err);
	struct npu_check_report *few = npu_check(p, NULL, &err);
	struct npu_check_report *all = npu_check(p, &(struct npu_check_options){ .waiting = 100 }, &err);
	const char *notes = deadlock_of(few)->notes;
	/* Of 25 behind the two heads 20 are named. */
	ck_assert_ptr_nonnull(strstr(notes, "\nbehind in its queue: #2 sync.store (line 4)\n"
					    "behind in its queue: #3 sync.load (line 5) waits for a:1 (no post completes it)\n"));
	ck_assert_ptr_nonnull(strstr(notes, "#21 sync.load (line 23)"));
	ck_assert_ptr_null(strstr(notes, "#22 "));
	ck_assert_ptr_nonnull(strstr(notes, "\nbehind in their queues: 5 instructions more (--all names them)"));
	ck_assert_ptr_nonnull(strstr(deadlock_of(all)->notes, "\nbehind in its queue: #26 sync.store (line 28)"));
	ck_assert_ptr_null(strstr(deadlock_of(all)->notes, " more"));
	npu_check_free(few);
	npu_check_free(all);
	npu_program_free(p);
}
END_TEST

START_TEST(one_sided_semaphores_are_told_once)
{
	struct npu_check_report *report =
	    checked(".sem full[3]\nsync.load post full[0]\nsync.load post full[1]\nsync.load post full[2]\n");
	says(only(report, NPU_CHECK_NEVER_WAITED), "full[0], full[1], full[2]: posted 1 time each, never waited for",
	     "");
	ck_assert_int_eq(npu_check_severity_of(NPU_CHECK_NEVER_WAITED), NPU_CHECK_WARNING);
	npu_check_free(report);

	report = checked(".sem free=1\nsync.load wait free\nsync.load wait free\nsync.load wait free\n");
	ck_assert_uint_eq(report->nfindings, 2); /* and the deadlock */
	ck_assert_str_eq(report->findings[0].text, "free: waited for and never posted; it starts at 1");
	npu_check_free(report);
	clean(".sem free=1\nsync.load wait free\n");
}
END_TEST

START_TEST(a_count_overflows_when_the_waits_may_come_too_late)
{
	struct npu_check_report *report =
	    checked(".sem s max=1\nsync.load post s\nsync.load post s\nsync.store wait s:1\n");
	says(only(report, NPU_CHECK_OVERFLOW), "s can reach 2 here, its maximum is 1", "");
	ck_assert_uint_eq(report->findings[0].site[0].insn, 1);
	npu_check_free(report);
	/* Here the second post waits until the first unit is taken. */
	clean(".sem s max=1, t\nsync.load post s\nsync.store wait s post t\nsync.load wait t post s\nsync.store wait "
	      "s\n");
}
END_TEST

/* ---- bytes ---- */

START_TEST(reading_what_nobody_wrote_is_told_to_the_byte)
{
	struct npu_check_report *report =
	    checked(".sem s\n.buffer x sram:0x0+128 0..2\nload sram:0x0, dram:0x0 rows=1 cols=32 post s\n"
		    "store dram:0x1000, sram:0x0 rows=1 cols=48 wait s\n");
	says(only(report, NPU_CHECK_UNINITIALISED),
	     "#1 store (local) reads what nobody wrote: x, SRAM 0x40..0x5f (32 bytes)", "");
	npu_check_free(report);
}
END_TEST

START_TEST(a_buffer_begins_its_life_without_content)
{
	struct npu_check_report *report = checked(
	    ".sem s\n.buffer x sram:0x0+64 0..1\n.buffer y sram:0x0+64 1..2\n" LOAD_X "post s\n" STORE_X "wait s\n");
	says(only(report, NPU_CHECK_UNINITIALISED),
	     "#1 store (local) reads what nobody wrote: y, SRAM 0x0..0x3f (64 bytes)", "");
	npu_check_free(report);
}
END_TEST

START_TEST(in_tensors_are_written_before_the_program_and_temp_ones_are_not)
{
	clean(".tensor a[32] fp16 in dram:0x0\n" LOAD_X "\n");
	struct npu_check_report *report = checked(".tensor a[32] fp16 temp dram:0x0\n" LOAD_X "\n");
	says(only(report, NPU_CHECK_UNINITIALISED),
	     "#0 load (dram) reads what nobody wrote: a, DRAM 0x0..0x3f (64 bytes)", "");
	npu_check_free(report);
	clean(".sem s, t\n.tensor a[32] fp16 temp dram:0x1000\n.tensor b[32] fp16 in dram:0x0\n" LOAD_X
	      "post s\n" STORE_X "wait s post t\nload sram:0x0, dram:0x1000 rows=1 cols=32 wait t post s\n"
	      "store dram:0x0, sram:0x0 rows=1 cols=32 wait s\n");
}
END_TEST

START_TEST(accesses_stay_inside_the_buffer_in_which_they_begin)
{
	struct npu_check_report *report = checked(BUFFERS "load sram:0x20, dram:0x0 rows=1 cols=32\n");
	says(only(report, NPU_CHECK_BOUNDS),
	     "#0 load (local) runs 32 bytes past the end of x, SRAM 0x40..0x5f (32 bytes)", "");
	npu_check_free(report);
	report = checked(".buffer x sram:0x40+64 0..3\n" LOAD_X "\nload sram:0x20, dram:0x0 rows=1 cols=32\n"
			 "load sram:0x100, dram:0x0 rows=1 cols=32\n");
	ck_assert_uint_eq(report->nfindings, 3);
	ck_assert_int_eq(report->findings[0].kind, NPU_CHECK_UNNAMED);
	ck_assert_int_eq(report->findings[1].kind, NPU_CHECK_BOUNDS);
	ck_assert_int_eq(report->findings[2].kind, NPU_CHECK_UNNAMED);
	npu_check_free(report);
	report = checked(".tensor a[16] fp16 in dram:0x0\n" LOAD_X "\n");
	says(only(report, NPU_CHECK_BOUNDS),
	     "#0 load (dram) runs 32 bytes past the end of a, DRAM 0x20..0x3f (32 bytes)", "");
	npu_check_free(report);
}
END_TEST

START_TEST(buffers_are_used_while_they_live)
{
	struct npu_check_report *report = checked(".buffer x sram:0x0+64 1..2\n" LOAD_X "\n" LOAD_X "\n");
	says(only(report, NPU_CHECK_LIFETIME),
	     "#0 load (local) uses x, which is alive for #1..#1 only, SRAM 0x0..0x3f (64 bytes)", "");
	npu_check_free(report);
}
END_TEST

START_TEST(live_buffers_share_no_byte)
{
	struct npu_check_report *report = checked(".buffer x sram:0x0+64 0..2\n.buffer y sram:0x20+64 1..2\n.buffer z "
						  "acc:0x0+64 0..2\nsync.load\nsync.load\n");
	says(only(report, NPU_CHECK_OVERLAP),
	     "buffers x and y overlap while both are alive (from #1 on), SRAM 0x20..0x3f (32 bytes)", "");
	npu_check_free(report);
	clean(".buffer x sram:0x0+64 0..1\n.buffer y sram:0x20+64 1..2\nsync.load\nsync.load\n");
}
END_TEST

START_TEST(tensors_lie_apart_or_inside_each_other)
{
	struct npu_check_report *report = checked(".tensor a[4096] int8 in dram:0x0\n.tensor v[16] int8 in dram:0x10\n"
						  ".tensor b[4096] int8 in dram:0x800\n.tensor w[2048] int8 in dram:0x1000\nsync.load\n");
	/* v is a view of a, w one of b, which begins in the middle of a */
	says(only(report, NPU_CHECK_TENSORS), "tensors a and b overlap in part, DRAM 0x800..0xfff (2,048 bytes); a view would lie inside", "");
	npu_check_free(report);
	report = checked(".tensor a[4096] int8 in dram:0x0\n.tensor v[16] int8 in dram:0xff8\nsync.load\n");
	says(only(report, NPU_CHECK_TENSORS), "tensors a and v overlap in part, DRAM 0xff8..0xfff (8 bytes); a view would lie inside", "");
	npu_check_free(report);
	clean(".tensor a[4096] int8 in dram:0x0\n.tensor b[4096] int8 in dram:0x0\n.tensor c[0] int8 in dram:0xfff\n"
	      ".tensor d[1] int8 in dram:0xfff\n.tensor e[4096] int8 in dram:0x1000\nsync.load\n");
}
END_TEST

START_TEST(rows_stay_inside_their_page_and_stores_off_the_block_tables)
{
	struct npu_check_report *report =
	    checked(".tensor pool[4, 16, 8] fp16 in dram:0x0\n.table t dram:0x4000 = [2, 0]\n"
		    "gather sram:0x0, dram:0x80 rows=32 cols=8 page_stride=256 page_rows=16 table=t\n");
	says(only(report, NPU_CHECK_PAGE_END),
	     "#0 gather (entry 0 of table t, page 2) runs 128 bytes past the end of its page, DRAM 0x300..0x37f (128 "
	     "bytes)",
	     "");
	npu_check_free(report);
	report =
	    checked(".sem s\n.table t dram:0x1020 = [2, 0]\nvfill sram:0x0 rows=1 cols=16 post s\n" STORE_X "wait s\n");
	says(only(report, NPU_CHECK_TABLE_WRITE),
	     "#1 store (dram) overwrites block table t, DRAM 0x1020..0x1027 (8 bytes)", "");
	npu_check_free(report);
}
END_TEST

START_TEST(a_block_table_entry_beyond_the_pool_is_named)
{
	struct npu_check_report *report =
	    checked(".tensor pool[4, 16, 8] fp16 in dram:0x0\n.table t dram:0x4000 = [2, 4]\n"
		    "gather sram:0x0, dram:0x0 rows=32 cols=8 page_stride=256 page_rows=16 table=t\n");
	says(only(report, NPU_CHECK_BOUNDS),
	     "#0 gather (entry 1 of table t, page 4) lies outside of pool, DRAM 0x400..0x4ff (256 bytes)", "");
	npu_check_free(report);
}
END_TEST

/* ---- cost and surplus ---- */

START_TEST(accesses_off_the_granule_cost_what_they_move_in_vain)
{
	struct npu_capacity capacity = { .dram_granule = 32, .sram_word_bytes = 32 };
	struct npu_check_options options = { .capacity = &capacity };
	/* 4 rows of 64 bytes from 16 past a granule: three granules each instead of two. */
	struct npu_check_report *report =
	    checked_with("load sram:0x0, dram:0x10 rows=4 cols=32 dram_stride=128\n", &options);
	says(only(report, NPU_CHECK_DRAM_GRANULE),
	     "#0 load (dram) begins off the DRAM granule of 32 bytes: 128 bytes moved in vain", "");
	ck_assert_uint_eq(report->findings[0].cost, 128);
	npu_check_free(report);
	report = checked_with("vfill sram:0x4 rows=1 cols=8\n", &options);
	ck_assert_uint_eq(only(report, NPU_CHECK_BANK_WORD)->cost, 32);
	npu_check_free(report);
	/* Short rows cost nothing as long as they cross no border. */
	report = checked_with("vfill sram:0x4 rows=1 cols=4\n", &options);
	ck_assert_uint_eq(report->nfindings, 0);
	npu_check_free(report);
}
END_TEST

START_TEST(a_semaphore_is_redundant_when_its_order_holds_without_it)
{
	struct npu_check_options options = { .redundant = true };
	struct npu_check_report *report =
	    checked_with(".sem s, t, u\n" LOAD_X "post s\n" LOAD_Y "post t\nstore dram:0x1000, sram:0x0 rows=2 cols=32 wait s, t\n",
			 &options);
	/* t tells of both loads: they end in order. */
	says(only(report, NPU_CHECK_REDUNDANT),
	     "the wait for s is redundant: what its 1 unit orders is ordered without it", "");
	npu_check_free(report);
}
END_TEST

/* S = Q K^T in rows of `tiles` tiles, q and k in pairs; q is given back by a sync after the last product of its row. */
static void add_row(struct npu_assembly *assembly, unsigned i, unsigned tiles, uint16_t sems)
{
	enum { Q_FULL = 0, Q_FREE = 2, K_FULL = 4, K_FREE = 6 };
	struct npu_insn load = npu_insn_initial(NPU_OP_LOAD), sync = npu_insn_initial(NPU_OP_SYNC_MATRIX);
	struct npu_insn matmul = npu_insn_initial(NPU_OP_MATMUL);
	load.dma.rows = load.dma.cols = matmul.matmul.m = matmul.matmul.n = matmul.matmul.k = 16;
	matmul.matmul.dst = NPU_ACC_BIT;
	matmul.matmul.a = load.dma.local = i % 2 * 512;
	load.wait[0] = (struct npu_sem_ref){ (uint16_t)(sems + Q_FREE + i % 2), 1 };
	load.post[0] = (struct npu_sem_ref){ (uint16_t)(sems + Q_FULL + i % 2), 1 };
	sync.wait[0] = load.post[0];
	npu_assembly_insn(assembly, &load);
	npu_assembly_insn(assembly, &sync);
	for (unsigned j = 0; j < tiles; j++) {
		unsigned slot = (i * tiles + j) % 2;
		matmul.matmul.b = load.dma.local = 1024 + slot * 512;
		load.wait[0] = matmul.post[0] = (struct npu_sem_ref){ (uint16_t)(sems + K_FREE + slot), 1 };
		load.post[0] = matmul.wait[0] = (struct npu_sem_ref){ (uint16_t)(sems + K_FULL + slot), 1 };
		npu_assembly_insn(assembly, &load);
		npu_assembly_insn(assembly, &matmul);
	}
	sync.wait[0] = (struct npu_sem_ref){ 0, 0 };
	sync.post[0] = (struct npu_sem_ref){ (uint16_t)(sems + Q_FREE + i % 2), 1 };
	npu_assembly_insn(assembly, &sync);
}

static unsigned redundant_sems(unsigned tiles, const char *stem)
{
	static const char *const names[] = { "q_full[0]", "q_full[1]", "q_free[0]", "q_free[1]",
					     "k_full[0]", "k_full[1]", "k_free[0]", "k_free[1]" };
	struct npu_assembly *assembly = npu_assembly_new("rows");
	struct npu_error err;
	unsigned n = 0;
	for (unsigned s = 0; s < 8; s++)
		npu_assembly_sem(assembly, names[s], strstr(names[s], "free") != NULL, 0);
	for (unsigned i = 0; i < 6; i++)
		add_row(assembly, i, tiles, 0);
	struct npu_program *rows = npu_assembly_finish(assembly, &err);
	ck_assert_msg(rows != NULL, "%s", err.text);
	struct npu_check_report *report = npu_check(rows, &(struct npu_check_options){ .redundant = true }, &err);
	for (uint32_t f = 0; f < report->nfindings; f++) {
		ck_assert_int_ne(report->findings[f].kind, NPU_CHECK_RACE);
		n += report->findings[f].kind == NPU_CHECK_REDUNDANT && strstr(report->findings[f].text, stem) != NULL;
	}
	npu_check_free(report);
	npu_program_free(rows);
	return n;
}

/* k of the row before has waited for a product that comes after the last one that used this q: from two tiles a row on.
 */
START_TEST(the_wait_for_q_is_redundant_behind_that_for_k_when_a_row_has_several_tiles)
{
	ck_assert_uint_eq(redundant_sems(3, "q_free"), 2);
	ck_assert_uint_eq(redundant_sems(2, "q_free"), 2);
	for (unsigned tiles = 2; tiles <= 3; tiles++)
		ck_assert_uint_eq(redundant_sems(tiles, "k_"), 0);
	/* With one tile a row it is the other way round: q comes first. */
	ck_assert_uint_eq(redundant_sems(1, "q_free"), 0);
	ck_assert_uint_eq(redundant_sems(1, "k_free"), 2);
}
END_TEST

START_TEST(a_write_that_is_overwritten_unread_is_dead)
{
	struct npu_check_options options = { .redundant = true };
	struct npu_check_report *report = checked_with(LOAD_X "\n" LOAD_X "\n", &options);
	says(only(report, NPU_CHECK_DEAD_WRITE),
	     "#0 load writes SRAM 0x0..0x3f (64 bytes), which #1 load overwrites before anybody reads it", "");
	npu_check_free(report);
	report = checked_with(".sem s, t\n" LOAD_X "post s\n" STORE_X "wait s post t\n" LOAD_X
			      "wait t post s\nstore dram:0x1040, sram:0x0 rows=1 cols=32 wait s\n", &options);
	ck_assert_uint_eq(report->nfindings, 0);
	npu_check_free(report);
}
END_TEST

/* ---- work in vain ---- */

START_TEST(what_nobody_reads_is_told_of_an_instruction_whose_like_is_of_use)
{
	/* The second tile is loaded, and the first one stored twice. */
	struct npu_check_report *report =
	    checked(".sem s\n" LOAD_X "\n" LOAD_Y "post s\n" STORE_X "wait s\n"
		    "store dram:0x1040, sram:0x0 rows=1 cols=32\n");
	says(only(report, NPU_CHECK_UNREAD), "nobody reads what #1 load writes: SRAM 0x40..0x7f (64 bytes)",
	     "what other instructions of this kind write is read: is an address wrong, here or where it should be read?");
	ck_assert_uint_eq(report->warnings, 1);
	ck_assert_uint_eq(report->errors, 0);
	npu_check_free(report);
	/* One byte that is read is enough, and so is one of two results. */
	clean(".sem s\n" LOAD_X "\n" LOAD_Y "post s\nstore dram:0x1000, sram:0x2 rows=1 cols=32 wait s\n");
	/* Nothing is read of a program that only measures loads. */
	clean(LOAD_X "\n" LOAD_Y "\n");
}
END_TEST

START_TEST(what_is_overwritten_before_it_is_read_is_in_vain)
{
	/* Overwritten in two halves; each of them is read. */
	struct npu_check_report *report =
	    checked(".sem s\n" LOAD_X "\n"
		    "load sram:0x0, dram:0x40 rows=1 cols=16\nload sram:0x20, dram:0x60 rows=1 cols=16 post s\n" STORE_X
		    "wait s\n");
	ck_assert_str_eq(only(report, NPU_CHECK_UNREAD)->text,
			 "nobody reads what #0 load writes: SRAM 0x0..0x3f (64 bytes)");
	npu_check_free(report);
	/* Half of it is left. */
	clean(".sem s\n" LOAD_X "\nload sram:0x0, dram:0x40 rows=1 cols=16 post s\n" STORE_X "wait s\n");
}
END_TEST

START_TEST(a_life_ends_what_is_in_its_buffer)
{
	static const char two[] = "load sram:0x40, dram:0x0 rows=1 cols=32 post s\n"
				  "store dram:0x1000, sram:0x40 rows=1 cols=32 wait s post t\n"
				  "load sram:0x0, dram:0x0 rows=1 cols=32\n";
	char text[600];
	/* y begins its life at the bytes of x, which nobody has read: what is read later is what y was given. */
	snprintf(text, sizeof text,
		 ".sem s, t\n.buffer z sram:0x40+64 0..5\n.buffer x sram:0x0+64 0..3\n.buffer y sram:0x0+64 3..5\n%s"
		 "load sram:0x0, dram:0x80 rows=1 cols=32 wait t post s\nstore dram:0x1040, sram:0x0 rows=1 cols=32 wait s\n",
		 two);
	struct npu_check_report *report = checked(text);
	const struct npu_finding *f = only(report, NPU_CHECK_UNREAD);
	ck_assert_uint_eq(f->site[0].insn, 2);
	ck_assert_str_eq(f->bytes.name, "x");
	npu_check_free(report);
}
END_TEST

START_TEST(a_temp_tensor_is_written_to_be_read_and_an_out_tensor_for_others)
{
	static const char format[] = ".tensor a[32] fp16 in dram:0x0\n.tensor t[2, 32] fp16 %s dram:0x1000\n"
				     ".tensor o[32] fp16 out dram:0x2000\n.sem s, d\n" LOAD_X "post s\n" STORE_X "wait s\n"
				     "store dram:0x1040, sram:0x0 rows=1 cols=32 post d\n"
				     "load sram:0x40, dram:0x1000 rows=1 cols=32 wait d post s\n"
				     "store dram:0x2000, sram:0x40 rows=1 cols=32 wait s\n";
	char text[600];
	snprintf(text, sizeof text, format, "temp");
	struct npu_check_report *report = checked(text);
	ck_assert_str_eq(only(report, NPU_CHECK_UNREAD)->text,
			 "nobody reads what #2 store writes: t, DRAM 0x1040..0x107f (64 bytes)");
	npu_check_free(report);
	snprintf(text, sizeof text, format, "out");
	clean(text);
}
END_TEST

START_TEST(kinds_have_ids_of_their_own_and_documentation)
{
	for (unsigned k = 0; k < NPU_CHECK_KINDS; k++) {
		ck_assert_uint_gt(strlen(npu_check_doc((enum npu_check_kind)k)), 20);
		for (unsigned other = 0; other < k; other++)
			ck_assert_str_ne(npu_check_id((enum npu_check_kind)k),
					 npu_check_id((enum npu_check_kind)other));
	}
}
END_TEST

START_TEST(an_empty_program_is_clean)
{
	clean("");
}
END_TEST

/* Any operand of any instruction, tables, regions, buffers that overlap: it may find what it likes, and the same again.
 */
START_TEST(it_takes_whatever_the_loader_takes)
{
	struct npu_capacity capacity = { .dram_granule = 32, .sram_word_bytes = 32 };
	struct npu_check_options options = { .capacity = &capacity, .redundant = true, .all = _i % 2 };
	struct rng rng = { 77 + (uint64_t)_i };
	struct npu_error err;
	struct npu_program *any = random_program(&rng, 150);
	struct npu_check_report *one = npu_check(any, &options, &err), *other = npu_check(any, &options, &err);
	ck_assert(one && other);
	ck_assert_uint_eq(one->nfindings, other->nfindings);
	for (uint32_t i = 0; i < one->nfindings; i++) {
		ck_assert_int_eq(one->findings[i].kind, other->findings[i].kind);
		ck_assert_str_eq(one->findings[i].text, other->findings[i].text);
		ck_assert_str_eq(one->findings[i].notes, other->findings[i].notes);
		ck_assert_uint_gt(strlen(one->findings[i].text), 10);
	}
	npu_check_free(one);
	npu_check_free(other);
	npu_program_free(any);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("checker");
	TCase *races = tcase_create("races"), *sems = tcase_create("semaphores"), *bytes = tcase_create("bytes");
	TCase *cost = tcase_create("cost and surplus");
	tcase_add_test(races, a_race_names_both_instructions_the_bytes_and_the_semaphore_that_would_do);
	tcase_add_test(races, a_wait_orders_and_reads_do_not_race);
	tcase_add_test(races, the_k_th_unit_waited_for_is_the_k_th_posted);
	tcase_add_test(races, units_that_are_there_from_the_beginning_order_nothing);
	tcase_add_test(races, ends_in_queue_order_make_one_post_speak_for_all_before_it);
	tcase_add_test(races, a_start_tells_of_earlier_waits_in_the_queue_not_of_earlier_ends);
	tcase_add_test(races, equal_races_stand_together_until_all_are_asked_for);
	tcase_add_test(races, strided_accesses_race_only_where_their_rows_meet);
	tcase_add_test(races, pages_race_by_way_of_their_block_table);
	tcase_add_test(sems, a_wait_that_comes_before_its_post_is_told_with_what_it_has_and_needs);
	tcase_add_test(sems, a_deadlock_names_every_queue_that_waits);
	tcase_add_test(sems, a_deadlock_names_what_waits_behind_and_counts_what_it_does_not_name);
	tcase_add_test(sems, one_sided_semaphores_are_told_once);
	tcase_add_test(sems, a_count_overflows_when_the_waits_may_come_too_late);
	tcase_add_test(bytes, reading_what_nobody_wrote_is_told_to_the_byte);
	tcase_add_test(bytes, a_buffer_begins_its_life_without_content);
	tcase_add_test(bytes, in_tensors_are_written_before_the_program_and_temp_ones_are_not);
	tcase_add_test(bytes, accesses_stay_inside_the_buffer_in_which_they_begin);
	tcase_add_test(bytes, buffers_are_used_while_they_live);
	tcase_add_test(bytes, live_buffers_share_no_byte);
	tcase_add_test(bytes, tensors_lie_apart_or_inside_each_other);
	tcase_add_test(bytes, rows_stay_inside_their_page_and_stores_off_the_block_tables);
	tcase_add_test(bytes, a_block_table_entry_beyond_the_pool_is_named);
	tcase_add_test(cost, accesses_off_the_granule_cost_what_they_move_in_vain);
	tcase_add_test(cost, a_semaphore_is_redundant_when_its_order_holds_without_it);
	tcase_add_test(cost, the_wait_for_q_is_redundant_behind_that_for_k_when_a_row_has_several_tiles);
	tcase_add_test(cost, a_write_that_is_overwritten_unread_is_dead);
	tcase_add_test(bytes, what_nobody_reads_is_told_of_an_instruction_whose_like_is_of_use);
	tcase_add_test(bytes, what_is_overwritten_before_it_is_read_is_in_vain);
	tcase_add_test(bytes, a_life_ends_what_is_in_its_buffer);
	tcase_add_test(bytes, a_temp_tensor_is_written_to_be_read_and_an_out_tensor_for_others);
	tcase_add_test(cost, kinds_have_ids_of_their_own_and_documentation);
	tcase_add_test(cost, an_empty_program_is_clean);
	tcase_add_loop_test(cost, it_takes_whatever_the_loader_takes, 0, 12);
	suite_add_tcase(s, races);
	suite_add_tcase(s, sems);
	suite_add_tcase(s, bytes);
	suite_add_tcase(s, cost);
	return npu_suite_run(s);
}
