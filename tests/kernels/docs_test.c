/* SPDX-License-Identifier: Apache-2.0 */
/* docs/kernels.md has the parameter table of each kernel as the kernel declares it. `BUILD/.../docs_test print` prints
 * them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"
#include "tests/support/suite.h"

enum { TABLE_BYTES = 8192 };

static void print_range(const struct npu_param *p, char *out, size_t size)
{
	size_t n = 0;
	out[0] = '\0';
	if (p->type == NPU_PARAM_INT) {
		snprintf(out, size, "%" PRId64 " to %" PRId64 "%s%s", p->min, p->max, p->unit[0] ? " " : "", p->unit);
		return;
	}
	for (int i = 0; p->choices[i] && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s`%s`", i ? ", " : "", p->choices[i]);
}

static void print_table(const struct npu_kernel *k, char out[TABLE_BYTES])
{
	size_t n = (size_t)snprintf(out, TABLE_BYTES,
				    "| parameter | default | range | meaning |\n| --- | --- | --- | --- |\n");
	for (unsigned i = 0; i < k->nparams && n < TABLE_BYTES; i++) {
		const struct npu_param *p = &k->params[i];
		char range[200], initial[40];
		print_range(p, range, sizeof range);
		if (p->derived)
			snprintf(initial, sizeof initial, "derived");
		else if (p->type == NPU_PARAM_CHOICE)
			snprintf(initial, sizeof initial, "`%s`", p->choices[p->initial]);
		else
			snprintf(initial, sizeof initial, "%" PRId64, p->initial);
		n += (size_t)snprintf(out + n, TABLE_BYTES - n, "| `%s` | %s | %s | %s |\n", p->name, initial, range,
				      p->meaning);
	}
}

static char *read_page(void)
{
	const char *root = getenv("SRC") ? getenv("SRC") : ".";
	char path[512];
	snprintf(path, sizeof path, "%s/docs/kernels.md", root);
	FILE *f = fopen(path, "r");
	ck_assert_msg(f != NULL, "cannot read %s", path);
	char *text = calloc(1, 1 << 20);
	ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, f), 0);
	fclose(f);
	return text;
}

START_TEST(the_page_has_each_kernel_with_its_parameters)
{
	const struct npu_kernel *k = npu_kernels[_i];
	char table[TABLE_BYTES], heading[100];
	char *page = read_page();
	print_table(k, table);
	snprintf(heading, sizeof heading, "\n## %s\n", k->name);
	char *section = strstr(page, heading);
	ck_assert_msg(section != NULL, "no section%s", heading);
	char *next = strstr(section + 1, "\n## ");
	char *found = strstr(section, table);
	ck_assert_msg(found && (!next || found < next), "%s: the table should be\n%s", k->name, table);
	free(page);
}
END_TEST

int main(int argc, char **argv)
{
	int n = 0;
	while (npu_kernels[n])
		n++;
	if (argc > 1 && !strcmp(argv[1], "print")) {
		for (int i = 0; i < n; i++) {
			char table[TABLE_BYTES];
			print_table(npu_kernels[i], table);
			printf("@%s@\n%s", npu_kernels[i]->name, table);
		}
		return 0;
	}
	Suite *s = suite_create("docs/kernels.md");
	TCase *t = tcase_create("tables");
	tcase_add_loop_test(t, the_page_has_each_kernel_with_its_parameters, 0, n);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
