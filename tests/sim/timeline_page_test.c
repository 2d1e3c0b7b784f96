/* SPDX-License-Identifier: Apache-2.0 */
/* The data in a timeline's page, read back by other means than they are written by, say what the report says; names of
 * anybody stay text. What the page does with them is tests/sim/timeline_browser_test.sh's. */
#include "sim/report_json.h"
#include "sim/facts.h"
#include "sim/timeline/lanes.h"
#include "sim/timeline/page.h"
#include "sim/timeline/page_text.h"
#include "tests/sim/timeline_play.h"

enum { TILES = 300, BLOCK = 256 };

static void setup(void) { play(TILES); }

/* The JSON of a page. */
static json_t *meta_in(const char *page)
{
	const char *text = strstr(page, "id=\"meta\">");
	ck_assert_ptr_nonnull(text);
	text += strlen("id=\"meta\">");
	json_t *meta = json_loadb(text, (size_t)(strstr(text, "</script>") - text), JSON_REJECT_DUPLICATES, NULL);
	ck_assert_ptr_nonnull(meta);
	return meta;
}

static uint64_t number_in(const json_t *object, const char *key)
{
	ck_assert_msg(json_is_integer(json_object_get(object, key)), "%s", key);
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

/* A block of a page, taken out of base64. */
struct block {
	uint8_t *bytes;
	uint64_t count, at;
};

static struct block block_in(const char *page, const char *id)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char mark[64];
	snprintf(mark, sizeof(mark), "id=\"%s\">", id);
	const char *text = strstr(page, mark);
	ck_assert_msg(text != NULL, "%s", id);
	text += strlen(mark);
	size_t length = strcspn(text, "<=");
	struct block b = { .bytes = malloc(length + 1) };
	uint32_t bits = 0;
	for (size_t i = 0; i < length; i++) {
		const char *digit = strchr(digits, text[i]);
		if (!digit)
			ck_abort_msg("no base64: %c", text[i]);
		bits = bits << 6 | (uint32_t)(digit - digits);
		if (i % 4 != 0)
			b.bytes[b.count++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	return b;
}

static uint64_t take(struct block *b)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		if (b->at >= b->count)
			ck_abort_msg("a block ends inside of a record");
		value |= (uint64_t)(b->bytes[b->at] & 0x7f) << shift;
		if (!(b->bytes[b->at++] & 0x80))
			return value;
	}
}

static int64_t take_change(struct block *b)
{
	uint64_t v = take(b);
	return v & 1 ? -(int64_t)((v + 1) / 2) : (int64_t)(v / 2);
}

/* The row of the report's table that a region belongs to: that of its path. */
static uint32_t row_of(uint32_t region)
{
	char path[256] = "(none)", above[256];
	for (bool first = true; region < program->nregions; region = program->regions[region].parent, first = false) {
		int n = snprintf(above, sizeof(above), "%s%s%s", program->regions[region].name, first ? "" : "/",
				 first ? "" : path);
		ck_assert_int_lt(n, (int)sizeof(above));
		memcpy(path, above, sizeof(path));
	}
	for (uint32_t i = 0; i < simulation->account.nregions; i++)
		if (strcmp(simulation->account.regions[i].name, path) == 0)
			return i;
	ck_abort_msg("no row of %s", path);
	return 0;
}

/* The states of one engine's lane; checks that they reach from `from` to `to`. */
static void take_states(const char *page, const json_t *meta, unsigned e, uint64_t from, uint64_t to, record_states sums,
			record_states *regions)
{
	const json_t *lane;
	size_t i;
	unsigned found = 0;
	json_array_foreach(json_object_get(meta, "lanes"), i, lane) {
		if (strcmp(json_string_value(json_object_get(lane, "kind")), "states") != 0 ||
		    json_integer_value(json_object_get(lane, "engine")) != (int)e)
			continue;
		char id[32];
		snprintf(id, sizeof(id), "lane-%zu", i);
		struct block b = block_in(page, id);
		uint64_t time = from;
		int64_t insn = 0;
		for (uint64_t n = number_in(lane, "count"); n > 0; n--) {
			uint64_t v = take(&b);
			insn += v & 1 ? take_change(&b) : 0;
			uint32_t region = row_of(insn > 0 ? program->region[insn - 1] : NPU_NO_REGION);
			sums[e][v / 2 % 16] += v / 32;
			regions[region][e][v / 2 % 16] += v / 32;
			time += v / 32;
		}
		ck_assert_uint_eq(time, to);
		ck_assert_uint_eq(b.at, b.count);
		free(b.bytes);
		found++;
	}
	ck_assert_uint_eq(found, 1);
}

START_TEST(the_states_of_the_page_add_up_to_the_report_by_engine_cause_and_region)
{
	char *page = written(timeline_write_page);
	json_t *meta = meta_in(page);
	record_states sums = { { 0 } }, *regions = calloc(simulation->account.nregions, sizeof(*regions));
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		take_states(page, meta, e, 0, simulation->account.cycles, sums, regions);
	ck_assert_uint_gt(simulation->account.nregions, 2);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++) {
			ck_assert_uint_eq(sums[e][s], simulation->account.states[e][s]);
			for (uint32_t r = 0; r < simulation->account.nregions; r++)
				ck_assert_uint_eq(regions[r][e][s], simulation->account.regions[r].states[e][s]);
		}
	free(regions);
	json_decref(meta);
	free(page);
}
END_TEST

START_TEST(pages_of_windows_side_by_side_add_up_to_the_report)
{
	record_states sums = { { 0 } }, *regions = calloc(simulation->account.nregions, sizeof(*regions));
	uint64_t cycles = simulation->account.cycles, length = cycles / 4;
	for (uint64_t from = 0; from < cycles; from += length) {
		uint64_t to = from + length < cycles ? from + length : cycles;
		simulation->request.window = (struct timeline_window){ from, to };
		char *page = written(timeline_write_page);
		json_t *meta = meta_in(page);
		struct timeline_dropped dropped;
		ck_assert(timeline_dropped(simulation, &dropped));
		ck_assert_uint_gt(dropped.slices, 0);
		ck_assert_uint_eq(number_in(json_object_get(meta, "dropped"), "slices"), dropped.slices);
		ck_assert_uint_lt(number_in(meta, "instructions"), program->ninsns);
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			take_states(page, meta, e, from, to, sums, regions);
		json_decref(meta);
		free(page);
	}
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++)
			ck_assert_uint_eq(sums[e][s], simulation->account.states[e][s]);
	free(regions);
}
END_TEST

/* Puts a text together from its template and the numbers that follow in the block. */
static void take_text(const char *template, struct block *numbers, int64_t *last, char *out)
{
	unsigned n = 0;
	for (const char *c = template; *c; c++) {
		if (*c != PAGE_DECIMAL && *c != PAGE_HEX) {
			*out++ = *c;
			continue;
		}
		last[n] += take_change(numbers);
		out += sprintf(out, *c == PAGE_HEX ? "0x%llx" : "%llu", (unsigned long long)last[n]);
		n++;
	}
	*out = '\0';
}

START_TEST(every_instruction_is_in_the_page_with_its_text_shape_times_work_and_posters)
{
	char *page = written(timeline_write_page), text[4096], wanted[4096], shape[FACTS_TEXT];
	json_t *meta = meta_in(page);
	const json_t *templates = json_object_get(meta, "templates"), *strings = json_object_get(meta, "strings");
	struct block fixed = block_in(page, "fixed"), numbers = block_in(page, "numbers");
	int64_t(*last)[PAGE_NUMBERS] = calloc(json_array_size(templates), sizeof(*last)), issued = 0;
	uint64_t bytes = 0, macs = 0;
	struct facts *facts = malloc(sizeof(*facts));
	ck_assert(facts_init(facts, simulation));
	ck_assert_uint_eq(number_in(meta, "instructions"), program->ninsns);
	ck_assert_uint_gt(program->ninsns, 2 * BLOCK);
	for (uint32_t i = 0; i < program->ninsns; i++) {
		const struct probe_insn *e = &simulation->record.events[i];
		struct insn_facts f = facts_of(facts, i);
		if (i % BLOCK == 0)
			memset(last, 0, json_array_size(templates) * sizeof(*last));
		ck_assert_uint_eq(take(&fixed), 0); /* none is left out */
		const json_t *op = json_array_get(json_object_get(meta, "ops"), take(&fixed));
		ck_assert_str_eq(json_string_value(json_array_get(op, 0)), npu_op_mnemonic(program->insns[i].op));
		ck_assert_uint_eq(take(&fixed), e->slot);
		ck_assert_str_eq(json_string_value(json_array_get(strings, take(&fixed))), f.source);
		ck_assert_uint_eq(take(&fixed), program->region[i] == NPU_NO_REGION ? 0 : program->region[i] + 1ull);
		bytes += take(&fixed);
		macs += take(&fixed);
		ck_assert_int_eq(issued += take_change(&fixed), (int64_t)e->issued);
		ck_assert_uint_eq(take(&fixed), e->head - e->issued);
		ck_assert_uint_eq(take(&fixed), e->start - e->head);
		ck_assert_uint_eq(take(&fixed), e->end - e->start);
		for (unsigned w = 0; w < NPU_SYNC_SLOTS; w++) {
			uint64_t distance = take(&fixed);
			ck_assert_uint_eq(distance ? i - distance : PROBE_NOBODY, e->enabled_by[w]);
		}
		uint64_t template = take(&fixed);
		take_text(json_string_value(json_array_get(templates, template)), &numbers, last[template], text);
		facts_shape(&program->insns[i], shape, sizeof(shape));
		snprintf(wanted, sizeof(wanted), "%s\n%s", f.text, shape);
		ck_assert_str_eq(text, wanted);
	}
	ck_assert_uint_eq(fixed.at, fixed.count);
	ck_assert_uint_eq(numbers.at, numbers.count);
	ck_assert_uint_eq(bytes, simulation->account.dram_read_bytes + simulation->account.dram_write_bytes);
	ck_assert_uint_eq(macs, simulation->account.macs);
	facts_fini(facts);
	free(facts);
	free(last);
	free(fixed.bytes);
	free(numbers.bytes);
	json_decref(meta);
	free(page);
}
END_TEST

START_TEST(the_page_holds_the_report_as_it_is_written)
{
	char *page = written(timeline_write_page), *text = NULL;
	size_t size;
	struct npu_error err;
	FILE *out = open_memstream(&text, &size);
	ck_assert(report_write_json(simulation, out, &err));
	fclose(out);
	json_t *meta = meta_in(page), *report = json_loads(text, 0, NULL);
	ck_assert(json_equal(json_object_get(meta, "report"), report));
	json_decref(report);
	json_decref(meta);
	free(text);
	free(page);
}
END_TEST

static unsigned count_of(const char *text, const char *part)
{
	unsigned n = 0;
	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

START_TEST(names_of_anybody_cannot_end_the_script_that_they_stand_in)
{
	static const char hostile[] = "</script><script>document.title='x'</script><!--<script>\"'\\\x1b\xff\xe2\x80\xa8&lt;";
	char *before = written(timeline_write_page);
	unsigned scripts = count_of(before, "<script"), ends = count_of(before, "</script>"), comments = count_of(before, "<!--");
	free(before);
	const struct npu_region *same = program->regions;
	struct npu_region *regions = malloc(program->nregions * sizeof(*regions));
	memcpy(regions, same, program->nregions * sizeof(*regions));
	regions[0].name = hostile;
	program->regions = regions;
	simulation->request.subject = hostile;
	char *page = written(timeline_write_page);
	ck_assert_uint_eq(count_of(page, "<script"), scripts);
	ck_assert_uint_eq(count_of(page, "</script>"), ends);
	ck_assert_uint_eq(count_of(page, "<!--"), comments);
	for (const char *c = page; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\n' && *c != '\t')
			ck_abort_msg("a control character");
	json_t *meta = meta_in(page);
	ck_assert_str_eq(json_string_value(json_object_get(meta, "subject")),
			 "</script><script>document.title='x'</script><!--<script>\"'\\\\x1b\\xff\\xe2\\x80\\xa8&lt;");
	json_decref(meta);
	free(page);
	program->regions = same;
	free(regions);
}
END_TEST

static const struct {
	const char *text, *template;
	unsigned numbers;
	uint64_t first;
} texts[] = {
	{ "", "", 0, 0 },
	{ "load sram:0x40, dram:0x0 rows=8", "load sram:\2, dram:\2 rows=\1", 3, 0x40 },
	{ "fp16 by int8", "fp16 by int8", 0, 0 },
	{ "k_full[1]", "k_full[\1]", 1, 1 },
	{ "imm=0.125", "imm=\1.\1", 2, 0 },
	{ "imm=1.05", "imm=\1.05", 1, 1 },     /* would come back as 5 */
	{ "0x0F 0xABC", "0x0F 0xABC", 0, 0 },  /* and these in small letters */
	{ "999999999999999", "\1", 1, 999999999999999 },
	{ "9999999999999999", "9999999999999999", 0, 0 }, /* more than a page counts exactly */
	{ "0xfffffffffffff", "\2", 1, 0xfffffffffffff },
	{ "0x10000000000000", "0x10000000000000", 0, 0 },
};

START_TEST(numbers_leave_a_text_only_where_they_come_back_the_same)
{
	char template[64], again[64];
	uint64_t numbers[PAGE_NUMBERS];
	ck_assert_uint_eq(page_template(texts[_i].text, template, numbers), texts[_i].numbers);
	ck_assert_str_eq(template, texts[_i].template);
	if (texts[_i].numbers > 0)
		ck_assert_uint_eq(numbers[0], texts[_i].first);
	char *out = again;
	unsigned n = 0;
	for (const char *c = template; *c; c++)
		if (*c == PAGE_DECIMAL || *c == PAGE_HEX)
			out += sprintf(out, *c == PAGE_HEX ? "0x%llx" : "%llu", (unsigned long long)numbers[n++]);
		else
			*out++ = *c;
	*out = '\0';
	ck_assert_str_eq(again, texts[_i].text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("timeline page");
	TCase *t = tcase_create("data");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, the_states_of_the_page_add_up_to_the_report_by_engine_cause_and_region);
	tcase_add_test(t, pages_of_windows_side_by_side_add_up_to_the_report);
	tcase_add_test(t, every_instruction_is_in_the_page_with_its_text_shape_times_work_and_posters);
	tcase_add_test(t, the_page_holds_the_report_as_it_is_written);
	tcase_add_test(t, names_of_anybody_cannot_end_the_script_that_they_stand_in);
	suite_add_tcase(suite, t);
	TCase *plain = tcase_create("texts");
	tcase_add_loop_test(plain, numbers_leave_a_text_only_where_they_come_back_the_same, 0, sizeof(texts) / sizeof(texts[0]));
	suite_add_tcase(suite, plain);
	return npu_suite_run(suite);
}
