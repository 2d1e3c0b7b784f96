/* SPDX-License-Identifier: Apache-2.0 */
/* What a report looks like: JSON as its schema says, the tables for people, the documentation as fresh as the table. */
#include "sim/report_json.h"
#include "sim/schema.h"
#include "tests/sim/record_play.h"
#include "tests/support/suite.h"

static struct hw hw;
static struct npu_program *program;
static struct simulation *simulation;
static struct npu_error err;

static void simulate_program(struct npu_program *p, unsigned ideal)
{
	struct simulation_request request = {
		.hw = &hw, .dram_part = "TEST-1000", .program = p, .command = "run", .subject = "play.npu", .ideal = ideal,
	};
	program = p;
	simulation = simulate_on(play_machine, &request, &err);
	ck_assert_msg(simulation != NULL, "%s", err.text);
}

static void setup(void)
{
	play_hw(&hw);
	simulate_program(play_program(4), 0);
}

static void teardown(void)
{
	simulation_free(simulation);
	npu_program_free(program);
}

static char *text_of(bool regions)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct report_style style = { .regions = regions };
	ck_assert(report_print(simulation, out, &style));
	fclose(out);
	return text;
}

static void expect_text(const char *expected)
{
	char *text = text_of(false);
	ck_assert_str_eq(text, expected);
	free(text);
}

START_TEST(the_tables_that_people_read)
{
	/* 2 heads of 4 tiles: 2 x (1 + 4) tiles of 16 KiB are read, 2 x 4 of 8 KiB written; the rest is the played machine's. */
	expect_text(
		"play.npu         program play\n"
		"play.yaml        32x32 MACs at 1 GHz, SRAM 1 MiB in 16 banks, 32 lanes, TEST-1000 1 x16 (4.00 GB/s)\n"
		"\n"
		"cycles              69,145   (69.145 us)   38 instructions\n"
		"MAC utilisation      5.9 %   4,194,304 MACs, 3,932,160 useful; matrix active 6.3 %\n"
		"DRAM             3.32 GB/s   82.9 % of peak; read 160.0 KiB, written 64.0 KiB; row hits 100.0 %\n"
		"SRAM                56 KiB   peak, of 1,024 KiB; accumulators 16 of 256 KiB\n"
		"bound                 dram   18.3 MAC/B, ridge 256.0; load active 95.0 %, matrix waits 90.3 % for load\n"
		"\n"
		"cycles            load   store  matrix  vector\n"
		"busy             5,120   2,048   4,288     416\n"
		"wait_load            .       .  62,427       .\n"
		"wait_matrix        549       .       .  66,336\n"
		"wait_vector          .  50,579       .       .\n"
		"sram_conflict        .       .      40       .\n"
		"engine_latency       .       .       .      64\n"
		"dma_setup          160     128       .       .\n"
		"dram_bandwidth  60,382  16,384       .       .\n"
		"dispatch_rate        1       6       2       5\n"
		"idle             2,933       .   2,388   2,324\n"
		"total           69,145  69,145  69,145  69,145\n"
		"\n"
		"active cycles  instructions    load   store  matrix  vector  matrix waits  DRAM MiB\n"
		"head 0                    3   4,624       .       .       .         4,627      0.02\n"
		"head 0/tile              16  27,055   9,280   2,164     240        25,432      0.09\n"
		"head 1                    3   6,928       .       .       .         6,936      0.02\n"
		"head 1/tile              16  27,055   9,280   2,164     240        25,432      0.09\n"
		"total                    38  65,662  18,560   4,328     480        62,427      0.22\n"
		"\n"
		"overlap   both 3,666   dma only 64,316   compute only 1,142   neither 21   (5.4 % of DMA hidden)\n");
}
END_TEST

START_TEST(color_only_wraps_the_title)
{
	char *plain = text_of(false), *colored = NULL;
	size_t size;
	FILE *out = open_memstream(&colored, &size);
	ck_assert(report_print(simulation, out, &(struct report_style){ .color = true }));
	fclose(out);
	ck_assert_uint_eq(size, strlen(plain) + 2 * strlen("\033[1m\033[0m"));
	ck_assert_ptr_nonnull(strstr(colored, "\033[1mcycles "));
	free(plain);
	free(colored);
}
END_TEST

START_TEST(lines_have_no_trailing_blanks)
{
	char *text = text_of(true);
	ck_assert_ptr_null(strstr(text, " \n"));
	ck_assert_ptr_null(strstr(text, "\t"));
	free(text);
}
END_TEST

START_TEST(a_stream_that_fails_is_told)
{
	FILE *full = fopen("/dev/full", "w");
	setvbuf(full, NULL, _IONBF, 0);
	ck_assert(!report_print(simulation, full, &(struct report_style){ .color = false }));
	ck_assert(!report_write_json(simulation, full, &err));
	ck_assert_int_eq(err.code, NPU_ERR_IO);
	fclose(full);
}
END_TEST

static json_t *at(json_t *value, const char *path)
{
	while (value && *path) {
		char name[64];
		size_t n = strcspn(path, ".");
		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		value = json_object_get(value, name);
		path += n + (path[n] == '.');
	}
	return value;
}

START_TEST(json_holds_the_figures_in_the_order_of_the_table)
{
	json_t *report = report_json(simulation);
	const struct account *a = &simulation->account;
	ck_assert_str_eq(json_string_value(at(report, "schema")), "npusim.report/1");
	ck_assert_uint_eq((uint64_t)json_integer_value(at(report, "cycles")), a->cycles);
	ck_assert_uint_eq((uint64_t)json_integer_value(at(report, "engines.load.stalls.dram_bandwidth")),
			  a->states[NPU_ENGINE_LOAD][NPU_STATE_DRAM_BANDWIDTH]);
	ck_assert_uint_eq((uint64_t)json_integer_value(at(report, "sequencer.queue_full.matrix")), 0);
	ck_assert_double_eq_tol(json_real_value(at(report, "overlap.hidden_fraction")), a->hidden_fraction, 1e-12);
	ck_assert_str_eq(json_string_value(at(report, "hw.name")), "play.yaml");
	ck_assert_str_eq(json_string_value(at(report, "hw.dram.part")), "TEST-1000");
	ck_assert_str_eq(json_string_value(at(report, "hw.matrix.dataflow")), "ws");
	ck_assert_uint_eq((uint64_t)json_integer_value(at(report, "hw.sram.size")), 1 << 20);
	ck_assert_double_eq(json_real_value(json_object_get(json_array_get(at(report, "tensors"), 1), "rereads")), 2);
	/* The first keys of the file, in order. */
	const char *const first[] = { "schema", "tool", "command", "params", "ideal", "program", "hw", "cycles" };
	void *key = json_object_iter(report);
	for (unsigned i = 0; i < sizeof(first) / sizeof(first[0]); i++, key = json_object_iter_next(report, key))
		ck_assert_str_eq(json_object_iter_key(key), first[i]);
	json_decref(report);
}
END_TEST

static json_t *load_schema(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert(schema_write("report", out, &err));
	fclose(out);
	json_error_t where;
	json_t *schema = json_loads(text, 0, &where);
	ck_assert_msg(schema != NULL, "%s", where.text);
	free(text);
	return schema;
}

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
		return "integer";
	case JSON_REAL:
		return "number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "boolean";
	case JSON_NULL:
		break;
	}
	return "null";
}

static bool type_allows(const json_t *schema, const char *type)
{
	const json_t *allowed = json_object_get(schema, "type");
	if (json_is_string(allowed))
		return strcmp(json_string_value(allowed), type) == 0;
	for (size_t i = 0; i < json_array_size(allowed); i++)
		if (strcmp(json_string_value(json_array_get(allowed, i)), type) == 0)
			return true;
	return false;
}

/* The part of JSON Schema that ours uses; members that it does not name are refused, too, but for parameters. */
static void validate(const json_t *schema, json_t *value, const char *path)
{
	ck_assert_msg(type_allows(schema, type_name(value)), "%s is a %s", path, type_name(value));
	json_t *properties = json_object_get(schema, "properties");
	const char *key;
	json_t *member;
	char inner[256];
	json_object_foreach(value, key, member)
	{
		snprintf(inner, sizeof(inner), "%.200s.%s", path, key);
		if (properties) {
			ck_assert_msg(json_object_get(properties, key) != NULL, "%s is not in the schema", inner);
			validate(json_object_get(properties, key), member, inner);
		}
	}
	const json_t *required = json_object_get(schema, "required");
	for (size_t i = 0; i < json_array_size(required); i++)
		ck_assert_msg(json_object_get(value, json_string_value(json_array_get(required, i))) != NULL, "%s has no %s",
			      path, json_string_value(json_array_get(required, i)));
	size_t i;
	json_array_foreach(value, i, member)
	{
		snprintf(inner, sizeof(inner), "%.200s[%zu]", path, i);
		validate(json_object_get(schema, "items"), member, inner);
	}
}

START_TEST(json_is_what_the_schema_says)
{
	json_t *schema = load_schema(), *report = report_json(simulation);
	validate(schema, report, "");
	json_decref(report);
	json_decref(schema);
}
END_TEST

START_TEST(the_schema_describes_every_key)
{
	json_t *schema = load_schema();
	ck_assert_str_eq(json_string_value(at(schema, "properties.cycles.unit")), "cycle");
	ck_assert_str_ne(json_string_value(at(schema, "properties.hw.properties.dram.properties.tRCD.description")), "");
	ck_assert_str_eq(json_string_value(at(schema, "properties.tensors.items.properties.rereads.unit")), "ratio");
	ck_assert_str_eq(
		json_string_value(at(schema, "properties.engines.properties.load.properties.stalls.properties.dma_setup.type")),
		"integer");
	json_decref(schema);
}
END_TEST

START_TEST(what_has_no_meaning_is_null)
{
	teardown();
	simulate_program(npu_assembly_finish(npu_assembly_new("empty"), &err), MACHINE_IDEAL_DRAM);
	json_t *schema = load_schema(), *report = report_json(simulation);
	validate(schema, report, "");
	ck_assert(json_is_null(at(report, "overlap.hidden_fraction")));
	ck_assert(json_is_null(at(report, "dram.peak_fraction")));
	ck_assert(json_is_null(at(report, "macs_per_dram_byte")));
	ck_assert_str_eq(json_string_value(json_array_get(at(report, "ideal"), 0)), "dram");
	ck_assert_uint_eq(json_array_size(at(report, "regions")), 0);
	json_decref(report);
	json_decref(schema);
}
END_TEST

START_TEST(the_same_run_gives_the_same_bytes)
{
	char *text[2];
	size_t size[2];
	for (unsigned i = 0; i < 2; i++) {
		FILE *out = open_memstream(&text[i], &size[i]);
		ck_assert(report_write_json(simulation, out, &err));
		fclose(out);
	}
	ck_assert_str_eq(text[0], text[1]);
	ck_assert(text[0][size[0] - 1] == '\n' && text[0][size[0] - 2] == '}');
	ck_assert_ptr_null(strstr(text[0], "folder"));
	free(text[0]);
	free(text[1]);
}
END_TEST

static char *read_file(const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *in = fopen(path, "r"), *out = open_memstream(&text, &size);
	ck_assert_msg(in != NULL, "%s cannot be read", path);
	for (int c; (c = fgetc(in)) != EOF;)
		fputc(c, out);
	fclose(in);
	fclose(out);
	return text;
}

START_TEST(the_documentation_holds_the_tables)
{
	const char *source = getenv("SRC");
	char path[512], *tables = NULL;
	size_t size;
	snprintf(path, sizeof(path), "%s/docs/report.md", source ? source : ".");
	char *page = read_file(path);
	FILE *out = open_memstream(&tables, &size);
	ck_assert(schema_markdown("report", out));
	fclose(out);
	ck_assert_msg(strstr(page, tables) != NULL, "docs/report.md does not hold what report_schema_markdown() says:\n%s",
		      tables);
	free(tables);
	free(page);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report");
	TCase *t = tcase_create("text");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, the_tables_that_people_read);
	tcase_add_test(t, color_only_wraps_the_title);
	tcase_add_test(t, lines_have_no_trailing_blanks);
	tcase_add_test(t, a_stream_that_fails_is_told);
	suite_add_tcase(suite, t);
	t = tcase_create("json");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, json_holds_the_figures_in_the_order_of_the_table);
	tcase_add_test(t, json_is_what_the_schema_says);
	tcase_add_test(t, the_schema_describes_every_key);
	tcase_add_test(t, what_has_no_meaning_is_null);
	tcase_add_test(t, the_same_run_gives_the_same_bytes);
	tcase_add_test(t, the_documentation_holds_the_tables);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
