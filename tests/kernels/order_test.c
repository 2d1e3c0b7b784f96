/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel with random parameters on every preset: legal in program order, free of races, and what it moves and
 * multiplies is what its closed form says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernel_cases.h"
#include "tests/support/suite.h"

enum { CASES = 60, LONGEST = 400 };

static unsigned count_kernels(void)
{
	unsigned n = 0;
	while (npu_kernels[n])
		n++;
	return n;
}

static bool names_a_tile(const struct npu_kernel *k, const struct npu_args *args)
{
	for (unsigned i = 0; i < k->nparams; i++)
		if (!strncmp(k->params[i].name, "tile_", 5) && args->named[i])
			return true;
	return false;
}

typedef void program_check(const struct npu_kernel *, const struct npu_args *, const struct npu_program *,
			   const char *text);

/* Calls `check` for random programs of kernel `which` on all presets. */
static void for_random_programs(int which, program_check *check)
{
	const struct npu_kernel *k = npu_kernels[which];
	struct case_rng rng = { 7 };
	unsigned built = 0;
	for (const struct named_capacity *c = preset_capacities; c->name; c++)
		for (int i = 0; i < CASES; i++) {
			struct npu_args args;
			struct npu_error err = { 0 };
			char text[400], values[300];
			random_args(k, &args, LONGEST, &rng);
			random_heads(k, &args, &(struct case_rng){ rng.state });
			struct npu_capacity capacity = capacity_of_case(c, (unsigned)i);
			struct npu_program *p = npu_kernel_build(k, &capacity, &args, &err);
			snprintf(text, sizeof text, "%s %s on %s", k->name,
				 npu_args_print(k, &args, values, sizeof values), c->name);
			/* Only tiles that somebody named may be refused. */
			if (!p && err.code == NPU_ERR_FIT && names_a_tile(k, &args))
				continue;
			ck_assert_msg(p != NULL, "%s: %s", text, err.text);
			check(k, &args, p, text);
			npu_program_free(p);
			built++;
		}
	ck_assert_uint_gt(built, CASES);
}

static void check_order(const struct npu_kernel *k, const struct npu_args *args, const struct npu_program *p,
			const char *text)
{
	char why[200];
	(void)k, (void)args;
	ck_assert_msg(program_order_is_legal(p, why, sizeof why), "%s: %s", text, why);
}

START_TEST(every_wait_finds_its_count_in_program_order)
{
	for_random_programs(_i, check_order);
}
END_TEST

static void check_races(const struct npu_kernel *k, const struct npu_args *args, const struct npu_program *p,
			const char *text)
{
	char why[200];
	(void)k, (void)args;
	ck_assert_msg(program_has_no_race(p, why, sizeof why), "%s: %s", text, why);
}

START_TEST(no_two_engines_touch_the_same_bytes_in_no_order)
{
	for_random_programs(_i, check_races);
}
END_TEST

static void check_counts(const struct npu_kernel *k, const struct npu_args *args, const struct npu_program *p,
			 const char *text)
{
	struct npu_expect expected = k->expect(args), found = program_counts(p);
	ck_assert_msg(expected.macs == found.macs, "%s: %lu macs, expected %lu", text, found.macs, expected.macs);
	ck_assert_msg(expected.useful_macs == found.useful_macs, "%s: %lu useful macs, expected %lu", text,
		      found.useful_macs, expected.useful_macs);
	ck_assert_msg(expected.dram_read_bytes == found.dram_read_bytes, "%s: reads %lu, expected %lu", text,
		      found.dram_read_bytes, expected.dram_read_bytes);
	ck_assert_msg(expected.instructions == found.instructions, "%s: %lu instructions, expected %lu", text,
		      found.instructions, expected.instructions);
	ck_assert_msg(expected.dram_write_bytes == found.dram_write_bytes, "%s: writes %lu, expected %lu", text,
		      found.dram_write_bytes, expected.dram_write_bytes);
}

/* Memories from such that hold one buffer of each and no more to such that hold three. */
START_TEST(second_buffers_that_find_no_room_leave_no_race)
{
	enum { TILE = 16, PROGRAMS = 200 };
	const struct npu_kernel *k = npu_kernels[_i];
	struct case_rng rng = { 17 };
	struct npu_capacity capacity = *preset_capacity("edge-1mb");
	unsigned buffers_seen = 0, built = 0;
	for (int i = 0; i < PROGRAMS; i++) {
		struct npu_args args;
		struct npu_error err = { 0 };
		char text[400], values[300];
		random_args(k, &args, 3 * TILE, &rng);
		random_heads(k, &args, &(struct case_rng){ rng.state });
		for (unsigned p = 0; p < k->nparams; p++)
			if (!strncmp(k->params[p].name, "tile_", 5)) {
				args.named[p] = true;
				args.value[p] = TILE;
			}
		/* A tile is a whole page where it has to be. */
		if (npu_arg(k, &args, "gather", 0) == 2)
			args.value[npu_param_index(k, "page")] = TILE;
		/* So small a tile holds no whole group, and no block of 32. */
		int group = npu_param_index(k, "group"), layout = npu_param_index(k, "layout");
		if (group >= 0) {
			args.named[group] = true;
			args.value[group] = 0;
		}
		if (layout >= 0 && args.value[layout] > 1)
			args.value[layout] = 1;
		for (int o = npu_param_index(k, "a_layout"); layout >= 0 && o <= npu_param_index(k, "c_layout"); o++)
			args.value[o] = args.value[o] > 2 ? 2 : args.value[o];
		capacity.limits.sram_bytes = 2048 + 512 * case_below(&rng, 48);
		capacity.limits.accum_bytes = 1024 + 512 * case_below(&rng, 12);
		struct npu_program *p = npu_kernel_build(k, &capacity, &args, &err);
		snprintf(text, sizeof text, "%s %s in %lu and %lu bytes", k->name,
			 npu_args_print(k, &args, values, sizeof values), capacity.limits.sram_bytes,
			 capacity.limits.accum_bytes);
		ck_assert_msg(p || err.code == NPU_ERR_FIT, "%s: %s", text, err.text);
		if (!p)
			continue;
		check_order(k, &args, p, text);
		check_races(k, &args, p, text);
		check_counts(k, &args, p, text);
		buffers_seen |= 1u << (p->nbuffers < 31 ? p->nbuffers : 31);
		npu_program_free(p);
		built++;
	}
	ck_assert_uint_gt(built, PROGRAMS / 10);
	/* From all single to all that are wanted, so at least three numbers of buffers. */
	ck_assert_int_ge(__builtin_popcount(buffers_seen), 3);
}
END_TEST

/* Programs of several tiles a row and several rows; kv_fetch_paged computes nothing that could race. */
static const struct {
	const char *kernel, *assignments;
} several_tiles[] = {
	{ "gemm", "m=300 n=300 k=300" },
	{ "gemm", "m=300 n=300 k=300 dtype=int8" },
	{ "gemm", "m=300 n=300 k=300 order=weight" },
	{ "gemm", "m=300 n=300 k=300 order=activation weights=int4 tile_k=128" },
	{ "gemm", "m=300 n=300 k=300 weights=int8 group=64" },
	{ "gemm", "m=300 n=300 k=300 weights=int8 group=32 order=weight" },
	{ "gemm", "m=300 n=300 k=300 weights=int8 order=activation layout=block16" },
	{ "gemm", "m=300 n=300 k=300 a_layout=block16 b_layout=block32 order=weight" },
	{ "qk_tiled", "seq=400 heads=2" },
	{ "qk_tiled", "seq=100 heads=8" },
	{ "mask_softmax", "seq=400 heads=2" },
	{ "mask_softmax", "seq=400 heads=2 fused=0" },
	{ "pv_tiled", "seq=400 heads=2" },
	{ "attention", "seq=400 heads=2" },
	{ "attention", "seq=400 heads=2 mask=causal" },
	{ "attention", "seq=300 seq_q=500 heads=2 mask=causal tile_q=64 tile_kv=96" },
	{ "attention", "seq=300 seq_q=500 heads=2 mask=window window=70 fused=0 tile_q=64 tile_kv=32 tile_rows=30" },
	{ "mask_softmax", "seq=400 heads=2 mask=window window=90" },
	{ "flash_attention", "seq=400 heads=2" },
	{ "flash_attention", "seq=100 heads=8" },
	{ "flash_attention", "seq=400 heads=2 mask=causal tile_q=128 tile_kv=32" },
	{ "gemv", "n=500 k=700 tile_n=100 tile_k=128 weights=int4" },
	{ "gemv", "n=500 k=700 tile_n=100 tile_k=128 weights=int8 group=64" },
	{ "gemv", "n=500 k=700 tile_n=100 tile_k=128 weights=int8" },
	{ "gemv", "n=500 k=700 tile_n=100 tile_k=128 dtype=int8" },
	{ "gemv", "n=500 k=70 tile_n=50 dtype=int8 group=channel" },
	{ "gemv", "n=500 k=70 tile_n=50 weights=int8 group=32" },
	{ "gemv", "n=500 k=700 tile_n=100 tile_k=128 weights=int4 bias=1" },
	{ "gemv", "n=500 k=700 tile_n=100 tile_k=128 weights=int8 bias=1" },
	{ "gemv", "n=500 k=70 tile_n=50 dtype=int8 group=channel bias=1 buffering=single" },
	{ "gemm", "m=300 n=300 k=300 bias=1 tile_m=64 tile_n=64" },
	{ "gemm", "m=300 n=300 k=0 bias=1 tile_m=64 tile_n=32" },
	{ "gemm", "m=300 n=300 k=300 weights=int8 bias=1 tile_m=64 tile_n=64 tile_k=64" },
	{ "gemm", "m=300 n=300 k=300 weights=int8 bias=1 order=weight tile_m=64 tile_n=64 tile_k=64" },
	{ "gemm", "m=300 n=300 k=300 weights=int8 bias=1 order=activation tile_m=64 tile_n=64 tile_k=64" },
	{ "layernorm", "rows=100 cols=300 tile_rows=16" },
	{ "rope", "rows=100 heads=4 tile_rows=16" },
	{ "swiglu", "rows=100 cols=300 tile_rows=16" },
	{ "gelu", "rows=100 cols=300 tile_rows=16" },
	{ "softcap", "rows=100 cols=300 tile_rows=16" },
	{ "quantise", "rows=100 cols=300 tile_rows=16" },
	{ "embedding", "rows=100 cols=300 tile_rows=16" },
	{ "decode_attention_paged", "batch=3 seq=400 seq_min=300 heads=4 kv_heads=2 tile_kv=64 heads_at_once=1" },
	{ "decode_attention_paged",
	  "batch=3 seq=400 seq_min=300 heads=8 kv_heads=4 tile_kv=64 heads_at_once=2 splits=2" },
	{ "decode_attention_paged",
	  "batch=3 seq=400 seq_min=300 heads=10 kv_heads=5 tile_kv=64 heads_at_once=3 gather=apart" },
	{ "decode_attention_paged", "batch=3 seq=400 seq_min=300 heads=4 kv_heads=2 tile_kv=64 gather=apart" },
	{ "decode_attention_paged", "batch=3 seq=400 seq_min=20 heads=8 kv_heads=8 heads_at_once=1 tile_kv=64 kv=int8" },
	{ "decode_attention_paged",
	  "batch=3 seq=400 seq_min=20 heads=16 kv_heads=16 heads_at_once=2 tile_kv=64 kv=int8" },
	{ "decode_attention_paged", "batch=3 seq=400 seq_min=20 heads=16 kv_heads=16 heads_at_once=2 tile_kv=64 "
				    "kv=int4 dequant=matrix kv_group=half" },
	{ "decode_attention_paged",
	  "batch=3 seq=400 seq_min=20 heads=8 kv_heads=8 tile_kv=64 kv=int4 dequant=matrix kv_group=half" },
	{ "decode_attention_paged",
	  "batch=3 seq=400 seq_min=20 heads=16 kv_heads=16 heads_at_once=2 tile_kv=64 gather=pages" },
	{ "decode_attention_paged",
	  "batch=3 seq=400 seq_min=20 heads=16 kv_heads=16 heads_at_once=2 tile_kv=64 gather=pages kv=int8" },
	{ "decode_attention_paged", "batch=3 seq=400 seq_min=20 heads=16 kv_heads=16 heads_at_once=2 tile_kv=64 "
				    "gather=pages kv=int4 dequant=matrix" },
	{ "prefill_attention_paged", "batch=2 seq=200 chunk=100 heads=4 kv_heads=2 tile_q=32 tile_kv=32" },
	{ "prefill_attention_paged", "batch=2 seq=300 chunk=200 heads=4 kv_heads=2 tile_q=32 tile_kv=32 window=50" },
	{ "prefill_attention_paged",
	  "batch=2 seq=400 seq_min=90 chunk=90 heads=4 kv_heads=2 tile_q=32 tile_kv=100 kv=int8" },
};
enum { SEVERAL_TILES = sizeof several_tiles / sizeof several_tiles[0] };

/* Shows too that the search for races finds them. */
START_TEST(without_any_one_semaphore_there_is_a_race)
{
	const struct npu_kernel *k = npu_kernel_find(several_tiles[_i / 3].kernel);
	struct npu_args args;
	struct npu_error err = { 0 };
	char text[200], why[200];
	npu_args_init(k, &args);
	args.value[npu_param_index(k, "buffering")] = _i % 3;
	args.named[npu_param_index(k, "buffering")] = true;
	snprintf(text, sizeof text, "%s", several_tiles[_i / 3].assignments);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		ck_assert(npu_args_set(k, &args, word, &err));
	struct npu_program *p = npu_kernel_build(k, preset_capacity("edge-1mb"), &args, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	ck_assert_msg(program_has_no_race(p, why, sizeof why), "%s", why);

	struct npu_insn *insns = malloc(p->ninsns * sizeof *insns);
	struct npu_program without = *p;
	without.insns = insns;
	for (uint32_t s = 0; s < p->nsems; s++) {
		/* Paces the loads, keeps nothing from racing; orders bytes of pages, which are not looked at here. */
		if (!strcmp(p->sems[s].name, "load_turn") || !strcmp(p->sems[s].name, "scores_turn") ||
		    !strcmp(p->sems[s].name, "appended"))
			continue;
		memcpy(insns, p->insns, p->ninsns * sizeof *insns);
		for (uint32_t i = 0; i < p->ninsns; i++)
			for (int slot = 0; slot < NPU_SYNC_SLOTS; slot++)
				if (insns[i].wait[slot].sem == s)
					insns[i].wait[slot].count = 0;
		ck_assert_msg(!program_has_no_race(&without, why, sizeof why), "nobody needs %s", p->sems[s].name);
	}
	free(insns);
	npu_program_free(p);
}
END_TEST

START_TEST(the_closed_form_counts_what_is_emitted)
{
	for_random_programs(_i, check_counts);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernels in program order");
	TCase *t = tcase_create("random parameters");
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, every_wait_finds_its_count_in_program_order, 0, (int)count_kernels());
	tcase_add_loop_test(t, no_two_engines_touch_the_same_bytes_in_no_order, 0, (int)count_kernels());
	tcase_add_loop_test(t, second_buffers_that_find_no_room_leave_no_race, 0, (int)count_kernels());
	tcase_add_loop_test(t, without_any_one_semaphore_there_is_a_race, 0, 3 * SEVERAL_TILES);
	tcase_add_loop_test(t, the_closed_form_counts_what_is_emitted, 0, (int)count_kernels());
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
