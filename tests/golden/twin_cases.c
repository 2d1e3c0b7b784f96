/* SPDX-License-Identifier: Apache-2.0 */
/* The families of programs. */
#include "tests/golden/twin_cases.h"

#include "sim/config.h"
#include "tests/golden/twin_random.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/machine_random.h"

#include <string.h>

bool twin_add_random(struct twin_table *t, uint64_t from, uint64_t to, bool plain)
{
	bool ok = true;
	for (uint64_t seed = from; seed < to; seed++) {
		struct hw hw = twin_random_hw(seed, plain);
		struct npu_program *p = twin_random_program(seed, &hw, 100 + (unsigned)(seed % 100));
		char what[128];
		snprintf(what, sizeof what, "%s seed %llu", hw.name, (unsigned long long)seed);
		ok = twin_table_add(t, &hw, p, what) && ok;
		npu_program_free(p);
	}
	return ok;
}

bool twin_add_small(struct twin_table *t, uint64_t from, uint64_t to)
{
	bool ok = true;
	for (uint64_t seed = from; seed < to; seed++) {
		struct hw hw = machine_random_hw(seed);
		struct npu_program *p = machine_random_program(seed, &hw, 60 + (unsigned)(seed % 60));
		char what[128];
		snprintf(what, sizeof what, "small machine, seed %llu", (unsigned long long)seed);
		ok = twin_table_add(t, &hw, p, what) && ok;
		npu_program_free(p);
	}
	return ok;
}

/* A program of the kernel that is small enough; its parameters are left in `args`. */
static struct npu_program *draw(const struct npu_kernel *k, const struct hw *hw, uint64_t longest, uint64_t macs,
				struct case_rng *r, struct npu_args *args)
{
	struct npu_capacity capacity = hw_capacity(hw);
	struct npu_error err;
	for (unsigned tries = 0; tries < 100; tries++) {
		random_args(k, args, longest, r);
		struct npu_program *p = npu_kernel_build(k, &capacity, args, &err);
		if (p && p->ninsns && program_counts(p).macs <= macs)
			return p;
		if (p)
			npu_program_free(p);
	}
	return NULL;
}

bool twin_add_kernels(struct twin_table *t, unsigned each, uint64_t longest, uint64_t macs)
{
	bool ok = true;
	for (const struct npu_kernel *const *k = npu_kernels; *k; k++)
		for (const struct named_capacity *c = preset_capacities; c->name; c++) {
			struct case_rng r = { (uint64_t)(k - npu_kernels) * 4 + (uint64_t)(c - preset_capacities) };
			struct npu_error err;
			struct hw hw;
			if (!config_load(&hw, c->name, NULL, 0, &err)) {
				fprintf(stderr, "%s: %s\n", c->name, err.text);
				return false;
			}
			for (unsigned i = 0; i < each; i++) {
				struct npu_args args;
				char text[512], what[640];
				struct npu_program *p = draw(*k, &hw, longest, macs, &r, &args);
				if (!p)
					continue;
				npu_args_print(*k, &args, text, sizeof text);
				snprintf(what, sizeof what, "%s --hw %s %s", (*k)->name, c->name, text);
				ok = twin_table_add(t, &hw, p, what) && ok;
				npu_program_free(p);
			}
		}
	return ok;
}

bool twin_documented(struct twin_table t[TWIN_TABLES])
{
	t[0] = (struct twin_table){ .name = "presets" };
	t[1] = (struct twin_table){ .name = "random" };
	t[2] = (struct twin_table){ .name = "small" };
	t[3] = (struct twin_table){ .name = "kernels" };
	bool ok = twin_add_random(&t[0], 0, 60, true);
	ok = twin_add_random(&t[1], 0, 60, false) && ok;
	ok = twin_add_small(&t[2], 0, 300) && ok;
	return twin_add_kernels(&t[3], 7, 256, 10000000) && ok;
}
