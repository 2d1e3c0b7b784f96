/* SPDX-License-Identifier: Apache-2.0 */
/* A record is taken only where it is of its point: its place, its program and its machine are held against the plan. */
#include "sim/sweep/key.h"
#include "sim/sweep/store.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char spec_text[] =
	"run: gemm\n"
	"with: {m: 64, n: 64, k: 64}\n"
	"hw: mine.yaml\n"
	"axes: {sram.size: [256KiB, 512KiB, 1MiB], tile_k: [16, 32]}\n";

static char folder[] = "/tmp/npusim-key-XXXXXX";

static void put(const char *path, const char *text)
{
	FILE *out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	put("s.yaml", spec_text);
	put("mine.yaml", "extends: edge-1mb\n");
}

static void tear_down(void)
{
	char command[sizeof folder + 16];
	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static struct sweep_spec *read_spec(void)
{
	struct npu_error err = { 0 };
	const struct plugin_limits limits = { 0 };
	struct sweep_spec *spec = sweep_spec_read("s.yaml", &limits, &err);
	ck_assert_msg(spec != NULL, "%s", err.text);
	return spec;
}

static bool holds(const struct sweep_space *s, uint64_t point, const json_t *record)
{
	struct sweep_judge *j = sweep_judge_new();
	bool ok = sweep_judge_holds(j, s, point, SWEEP_RUN, record);
	sweep_judge_free(j);
	return ok;
}

/* What is not as the point has it: a field and what stands there instead; NULL: nothing. */
static const struct wrong {
	const char *field, *text;
} wrongs[] = {
	{ "key", "0123456789abcdef" },
	{ "key", NULL },
	{ "program", "0123456789abcdef" },
	{ "program", NULL },
	{ "alike", "0123456789abcdef-0123456789abcdef" },
	{ "params", NULL },
	{ "figures", NULL },
	{ "at", NULL },
};

START_TEST(only_the_record_of_a_point_is_taken_for_it)
{
	struct sweep_spec *spec = read_spec();
	json_t *record = sweep_point_run(spec, 1, NULL);
	ck_assert_str_eq(json_string_value(json_object_get(record, "status")), "run");
	ck_assert(holds(spec->space, 1, record));
	for (uint64_t other = 0; other < spec->space->points; other++)
		ck_assert_msg(holds(spec->space, other, record) == (other == 1), "it is taken for point %d", (int)other);
	for (unsigned i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
		json_t *copy = json_copy(record);
		if (wrongs[i].text)
			json_object_set_new(copy, wrongs[i].field, json_string(wrongs[i].text));
		else
			json_object_del(copy, wrongs[i].field);
		ck_assert_msg(!holds(spec->space, 1, copy), "it is taken with another %s", wrongs[i].field);
		json_decref(copy);
	}
	/* The place of another point of the same parameters, but the machine of this one. */
	json_t *copy = json_copy(record);
	json_object_set_new(copy, "at", sweep_place(spec->space, 3));
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(copy, "at"), "tile_k")),
			 json_string_value(json_object_get(json_object_get(record, "at"), "tile_k")));
	ck_assert(!holds(spec->space, 3, copy));
	json_decref(copy);
	json_decref(record);
	sweep_spec_free(spec);
}
END_TEST

START_TEST(machines_that_are_gone_or_changed_are_not_held_against_a_record)
{
	struct sweep_spec *spec = read_spec();
	json_t *record = sweep_point_run(spec, 1, NULL);
	put("mine.yaml", "extends: edge-1mb\nvector: {lanes: 16}\n");
	ck_assert(holds(spec->space, 1, record) && !holds(spec->space, 3, record));
	unlink("mine.yaml");
	ck_assert(holds(spec->space, 1, record) && !holds(spec->space, 3, record));
	json_decref(record);
	sweep_spec_free(spec);
}
END_TEST

START_TEST(results_of_another_build_are_refused)
{
	struct sweep_spec *spec = read_spec();
	struct sweep_store store;
	struct sweep_log log;
	struct npu_error err = { 0 };
	char program[17], key[17], said[512] = "";
	json_t *record = sweep_point_run(spec, 1, NULL);
	ck_assert_msg(sweep_point_program(spec, 1, program, &err), "%s", err.text);
	ck_assert_str_eq(program, json_string_value(json_object_get(record, "program")));
	/* The same key of another program, as a kernel that was changed would have left it. */
	struct config machine;
	ck_assert(sweep_machines_at(&spec->machines, spec->space, 1, &machine, &err));
	sweep_key(spec->space, sweep_machine_hash(&machine, true), "0123456789abcdef", "", key);
	config_fini(&machine);
	json_object_set_new(record, "program", json_string("0123456789abcdef"));
	json_object_set_new(record, "key", json_string(key));
	ck_assert(holds(spec->space, 1, record));
	ck_assert_msg(sweep_store_open(&store, "r", spec->space, 1, 1, &err) && sweep_log_open(&log, &store, 0, &err) &&
			      sweep_log_append(&log, record, &err), "%s", err.text);
	sweep_log_close(&log, &store);
	sweep_store_close(&store);
	FILE *p = popen("\"$NPUSIM\" sweep run s.yaml -q -o r 2>&1 >/dev/null", "r");
	ck_assert_ptr_nonnull(p);
	said[fread(said, 1, sizeof said - 1, p)] = '\0';
	ck_assert_int_eq(WEXITSTATUS(pclose(p)), 2);
	ck_assert_msg(strstr(said, "r holds results of another build of npusim ") && strstr(said, "point 1 has another program now"), "%s", said);
	json_decref(record);
	sweep_spec_free(spec);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sweep_key");
	TCase *t = tcase_create("key");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, only_the_record_of_a_point_is_taken_for_it);
	tcase_add_test(t, machines_that_are_gone_or_changed_are_not_held_against_a_record);
	tcase_add_test(t, results_of_another_build_are_refused);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
