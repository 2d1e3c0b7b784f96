/* SPDX-License-Identifier: Apache-2.0 */
/* tile=auto on kernels of which not every program can be built. */
#include "kernels/kernels.h"
#include "sim/choose.h"
#include "tests/support/suite.h"

enum { BROKEN = 128, ALL = 0 };

static const struct npu_kernel *gemm;
static int64_t broken; /* tile_n of which there is no program; ALL: there is none at all */

static bool emit_but_broken(struct npu_builder *b, const struct npu_args *args)
{
	if (broken == ALL || npu_arg(gemm, args, "tile_n", 0) == broken)
		for (int twice = 0; twice < 2; twice++)
			npu_semaphore(b, "the_same", 0);
	return gemm->emit(b, args);
}

/* Looks for tiles of gemm on edge-1mb; false where there is an error. */
static bool search(const struct npu_kernel *k, struct npu_args *args, struct npu_error *err)
{
	static const char *const lengths[] = { "m=256", "n=512", "k=256", "dtype=int8" };
	struct config config;
	config_init(&config);
	ck_assert(config_base(&config, "edge-1mb", err) && config_finish(&config, err));
	npu_args_init(k, args);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
		ck_assert(npu_args_set(k, args, lengths[i], err));
	bool ok = choose_tiles(k, args, &config, 2, err);
	config_fini(&config);
	return ok;
}

START_TEST(a_candidate_whose_program_cannot_be_built_is_left_out)
{
	struct npu_kernel k = npu_gemm;
	struct npu_args args, without;
	struct npu_error err = { 0 };
	gemm = &npu_gemm;
	ck_assert_msg(search(gemm, &args, &err), "%s", err.text);
	/* What is best is broken, and so may be the kernel's own tiles. */
	const int64_t tiles[] = { npu_arg(gemm, &args, "tile_n", 0), BROKEN };
	k.emit = emit_but_broken;
	for (int i = 0; i < 2; i++) {
		broken = tiles[i];
		ck_assert_msg(search(&k, &without, &err), "tile_n=%d: %s", (int)broken, err.text);
		ck_assert_int_ne(npu_arg(gemm, &without, "tile_n", 0), broken);
	}
}
END_TEST

START_TEST(where_no_program_can_be_built_the_own_tiles_stay)
{
	struct npu_kernel k = npu_gemm;
	struct npu_args args, own;
	struct npu_error err = { 0 };
	gemm = &npu_gemm;
	k.emit = emit_but_broken;
	broken = ALL;
	ck_assert_msg(search(&k, &args, &err), "%s", err.text);
	struct config config;
	config_init(&config);
	ck_assert(config_base(&config, "edge-1mb", &err) && config_finish(&config, &err));
	struct npu_capacity capacity = hw_capacity(&config.hw);
	config_fini(&config);
	own = args;
	for (unsigned i = 0; i < gemm->nparams; i++)
		own.named[i] = own.named[i] && gemm->params[i].name[0] != 't' && gemm->params[i].name[0] != 'o';
	ck_assert(gemm->resolve(&capacity, &own, &err));
	ck_assert_int_eq(npu_arg(gemm, &args, "tile_m", 0), npu_arg(gemm, &own, "tile_m", 1));
	ck_assert_int_eq(npu_arg(gemm, &args, "tile_n", 0), npu_arg(gemm, &own, "tile_n", 1));
	ck_assert_int_eq(npu_arg(gemm, &args, "order", 0), npu_arg(gemm, &own, "order", 1));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("search for tiles");
	TCase *t = tcase_create("programs that cannot be built");
	tcase_add_test(t, a_candidate_whose_program_cannot_be_built_is_left_out);
	tcase_add_test(t, where_no_program_can_be_built_the_own_tiles_stay);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
