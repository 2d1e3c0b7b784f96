/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines as text, read back by other means than they are written by, say what the report says. */
#include "sim/timeline/formats.h"
#include "sim/timeline/lanes.h"
#include "sim/timeline/page.h"
#include "tests/sim/timeline_play.h"

#include "isa/access.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <unistd.h>

enum { TILES = 40, COLUMNS = 32, LANES = 64 };

static void setup(void) { play(TILES); }

/* Splits a CSV row in place; quotes are taken off, two of them are one. */
static unsigned split(char *row, char *cells[COLUMNS])
{
	unsigned n = 0;
	for (char *at = row; n < COLUMNS;) {
		bool quoted = *at == '"';
		char *out = cells[n++] = at += quoted;
		while (*at && (quoted ? *at != '"' || *++at == '"' : *at != ','))
			*out++ = *at++;
		bool more = *at == ',';
		*out = '\0';
		if (!more)
			break;
		at++;
	}
	return n;
}

static uint64_t number(const char *cell) { return strtoull(cell, NULL, 10); }

START_TEST(the_table_has_a_row_an_instruction_and_adds_up_to_the_report)
{
	char *csv = written(timeline_write_csv), *save, *names[COLUMNS], *cells[COLUMNS], *line = strtok_r(csv, "\n", &save);
	unsigned columns = split(line, names), rows = 0;
	uint64_t bytes = 0, macs = 0, states[NPU_ENGINES][NPU_STATES] = { { 0 } };
	ck_assert_str_eq(names[0], "instruction");
	ck_assert_str_eq(names[columns - 2], "dram_bytes");
	ck_assert_str_eq(names[columns - 1], "macs");
	for (; (line = strtok_r(NULL, "\n", &save)); rows++) {
		ck_assert_uint_eq(split(line, cells), columns);
		ck_assert_uint_eq(number(cells[0]), rows);
		enum npu_engine e = npu_op_engine(program->insns[rows].op);
		ck_assert_str_eq(cells[1], npu_engine_name(e));
		ck_assert_uint_le(number(cells[6]), number(cells[7])); /* issued, ready */
		ck_assert_uint_le(number(cells[7]), number(cells[8])); /* start */
		ck_assert_uint_le(number(cells[8]), number(cells[9])); /* end */
		ck_assert_uint_le(number(cells[9]), simulation->account.cycles);
		unsigned column = 10;
		states[e][NPU_STATE_BUSY] += number(cells[column++]);
		for (unsigned s = 0; s < NPU_STATES; s++)
			if (account_state_is_stall((enum npu_state)s) && account_state_group((enum npu_state)s) != ACCOUNT_EMPTY)
				states[e][s] += number(cells[column++]);
		ck_assert_uint_eq(column, columns - 2);
		bytes += number(cells[column]);
		macs += number(cells[column + 1]);
	}
	ck_assert_uint_eq(rows, program->ninsns);
	ck_assert_uint_eq(bytes, simulation->account.dram_read_bytes + simulation->account.dram_write_bytes);
	ck_assert_uint_eq(macs, simulation->account.macs);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++) /* a stall in service or at the head has its instruction */
			if (account_state_group((enum npu_state)s) != ACCOUNT_EMPTY)
				ck_assert_uint_eq(states[e][s], simulation->account.states[e][s]);
	free(csv);
}
END_TEST

static uint64_t cycles_of(const json_t *event, const char *key)
{
	return (uint64_t)llround(json_number_value(json_object_get(event, key)) * 1000);
}

static const char *text_of(const json_t *object, const char *key) { return json_string_value(json_object_get(object, key)); }

/* What the lanes of a Chrome trace hold. */
struct lanes {
	char name[LANES][64];
	uint64_t last[LANES]; /* end of the latest slice */
	uint64_t states[NPU_ENGINES][NPU_STATES];
	uint64_t details, sent, taken;
};

static void take_slice(struct lanes *l, const json_t *event)
{
	int64_t lane = json_integer_value(json_object_get(event, "tid"));
	uint64_t from = cycles_of(event, "ts"), cycles = cycles_of(event, "dur");
	ck_assert_uint_ge(from, l->last[lane]);
	l->last[lane] = from + cycles;
	const json_t *args = json_object_get(event, "args");
	l->details += args && json_object_get(args, "text");
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		char name[64];
		snprintf(name, sizeof(name), "%s states", npu_engine_name((enum npu_engine)e));
		for (unsigned s = 0; s < NPU_STATES && strcmp(l->name[lane], name) == 0; s++)
			if (strcmp(text_of(event, "name"), account_state_name((enum npu_state)s)) == 0)
				l->states[e][s] += cycles;
	}
}

START_TEST(the_trace_events_add_up_to_the_report_and_never_nest)
{
	char *text = written(timeline_write_chrome);
	struct lanes *l = calloc(1, sizeof(*l));
	ck_assert_int_eq(strncmp(text, "{\"profilingType\":\"op\",", 22), 0);
	json_t *trace = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *event;
	ck_assert_ptr_nonnull(trace);
	size_t i;
	json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
		const char *phase = text_of(event, "ph"), *name = text_of(event, "name");
		int64_t lane = json_integer_value(json_object_get(event, "tid"));
		ck_assert(lane > 0 && lane < LANES);
		if (*phase == 'M' && strcmp(name, "thread_name") == 0)
			snprintf(l->name[lane], sizeof(l->name[lane]), "%s", text_of(json_object_get(event, "args"), "name"));
		else if (*phase == 'M' && strcmp(name, "thread_sort_index") == 0)
			ck_assert(json_is_integer(json_object_get(json_object_get(event, "args"), "sort_index")));
		else if (*phase == 'X')
			take_slice(l, event);
		l->sent += *phase == 's';
		l->taken += *phase == 'f';
		if (*phase == 'f')
			ck_assert_str_eq(text_of(event, "bp"), "e");
	}
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++)
			ck_assert_uint_eq(l->states[e][s], simulation->account.states[e][s]);
	ck_assert_uint_eq(l->details, program->ninsns);
	ck_assert_uint_gt(l->sent, 0);
	ck_assert_uint_eq(l->sent, l->taken);
	json_decref(trace);
	free(l);
	free(text);
}
END_TEST

/* Reads a trace of a window; nothing in it lies outside. Adds the states to `l`; returns the slices. */
static uint64_t take_window(struct lanes *l, uint64_t from, uint64_t to)
{
	simulation->request.window = (struct timeline_window){ from, to };
	char *text = written(timeline_write_chrome);
	json_t *trace = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *event;
	uint64_t slices = 0, sent = 0, taken = 0;
	size_t i;
	ck_assert_ptr_nonnull(trace);
	json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
		const char *phase = text_of(event, "ph");
		int64_t lane = json_integer_value(json_object_get(event, "tid"));
		if (*phase == 'M' && strcmp(text_of(event, "name"), "thread_name") == 0)
			snprintf(l->name[lane], sizeof(l->name[lane]), "%s", text_of(json_object_get(event, "args"), "name"));
		if (*phase == 'M')
			continue;
		ck_assert_uint_ge(cycles_of(event, "ts"), from);
		ck_assert_uint_le(cycles_of(event, "ts") + cycles_of(event, "dur"), to);
		slices += *phase == 'X';
		sent += *phase == 's';
		taken += *phase == 'f';
		if (*phase == 'X')
			take_slice(l, event);
	}
	ck_assert_uint_eq(sent, taken);
	struct timeline_dropped dropped;
	ck_assert(timeline_dropped(simulation, &dropped));
	const json_t *said = json_object_get(trace, "otherData");
	ck_assert_uint_eq((uint64_t)json_integer_value(json_object_get(said, "dropped_slices")), dropped.slices);
	ck_assert_uint_eq((uint64_t)json_integer_value(json_object_get(said, "cut_slices")), dropped.cut);
	slices += dropped.slices;
	json_decref(trace);
	free(text);
	return slices;
}

START_TEST(windows_side_by_side_add_up_to_the_report_and_count_what_they_leave_out)
{
	struct lanes *l = calloc(1, sizeof(*l));
	uint64_t cycles = simulation->account.cycles, cut = cycles / 3;
	uint64_t all = take_window(l, 0, cycles);
	memset(l, 0, sizeof(*l));
	for (uint64_t from = 0; from < cycles; from += cut)
		ck_assert_uint_eq(take_window(l, from, from + cut < cycles ? from + cut : cycles), all);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++)
			ck_assert_uint_eq(l->states[e][s], simulation->account.states[e][s]);
	free(l);
}
END_TEST

START_TEST(the_table_of_a_window_has_the_instructions_in_service_in_it)
{
	uint64_t from = simulation->account.cycles / 3, to = 2 * from;
	uint32_t wanted = 0, rows = 0;
	for (uint32_t i = 0; i < program->ninsns; i++) {
		const struct probe_insn *e = &simulation->record.events[i];
		wanted += e->start < e->end ? e->start < to && e->end > from : e->start >= from && e->start < to;
	}
	simulation->request.window = (struct timeline_window){ from, to };
	char *csv = written(timeline_write_csv);
	for (const char *c = csv; *c; c++)
		rows += *c == '\n';
	ck_assert_uint_gt(wanted, 0);
	ck_assert_uint_lt(wanted, program->ninsns);
	ck_assert_uint_eq(rows, wanted + 1);
	free(csv);
}
END_TEST

static const struct {
	const char *text;
	bool right;
	uint64_t from, to;
} windows[] = {
	{ "0:1", true, 0, 1 }, { "1000:2000", true, 1000, 2000 }, { ":7", true, 0, 7 }, { "7:", true, 7, UINT64_MAX },
	{ "18446744073709551614:18446744073709551615", true, UINT64_MAX - 1, UINT64_MAX },
	{ "", false, 0, 0 }, { ":", false, 0, 0 }, { "5", false, 0, 0 }, { "5:5", false, 0, 0 }, { "6:5", false, 0, 0 },
	{ ":0", false, 0, 0 }, { "-1:5", false, 0, 0 }, { "1:2:3", false, 0, 0 }, { "1:0x5", false, 0, 0 },
	{ " 1:2", false, 0, 0 }, { "0:18446744073709551616", false, 0, 0 }, { "1e3:2e3", false, 0, 0 },
};

START_TEST(a_window_is_two_cycles_the_second_above_the_first)
{
	struct timeline_window w = { 3, 4 };
	struct npu_error err;
	ck_assert(timeline_window_parse(windows[_i].text, &w, &err) == windows[_i].right);
	ck_assert_uint_eq(w.from, windows[_i].right ? windows[_i].from : 3);
	ck_assert_uint_eq(w.to, windows[_i].right ? windows[_i].to : 4);
	if (!windows[_i].right)
		ck_assert_int_eq(err.code, NPU_ERR_USAGE);
}
END_TEST

START_TEST(a_window_behind_the_end_is_refused_and_a_large_file_warned_of)
{
	struct npu_error err;
	char *text = NULL, path[] = "/tmp/npusim-timeline-XXXXXX.vcd";
	size_t size;
	int fd = mkstemps(path, 4);
	ck_assert_int_ge(fd, 0);
	simulation->request.window = (struct timeline_window){ simulation->account.cycles, UINT64_MAX };
	ck_assert(!timeline_write(simulation, path, &err));
	ck_assert_int_eq(err.code, NPU_ERR_USAGE);
	simulation->request.window = (struct timeline_window){ 0, 0 };
	for (unsigned large = 0; large < 2; large++) {
		ck_assert_int_eq(ftruncate(fd, 200000000 + (off_t)large), 0); /* sparse */
		FILE *out = open_memstream(&text, &size);
		timeline_tell(simulation, path, out);
		fclose(out);
		ck_assert_int_eq(strstr(text, "--timeline-window") != NULL, large);
		free(text);
	}
	close(fd);
	unlink(path);
}
END_TEST

/* An id of a VCD and what is known of it. */
struct signal {
	char id[8], name[64], state[32];
	uint64_t since;
};

static struct signal *signal_of(struct signal *signals, unsigned n, const char *id)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(signals[i].id, id) == 0)
			return &signals[i];
	return NULL;
}

static void count(uint64_t states[NPU_ENGINES][NPU_STATES], const struct signal *g, uint64_t now)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		char name[64];
		snprintf(name, sizeof(name), "%s_states", npu_engine_name((enum npu_engine)e));
		for (unsigned s = 0; s < NPU_STATES && strcmp(g->name, name) == 0; s++)
			if (strcmp(g->state, account_state_name((enum npu_state)s)) == 0)
				states[e][s] += now - g->since;
	}
}

START_TEST(the_value_changes_rise_in_time_and_add_up_to_the_report)
{
	char *vcd = written(timeline_write_vcd), *save, id[8], value[64];
	struct signal signals[LANES] = { { .id = "" } };
	unsigned n = 0;
	uint64_t now = 0, states[NPU_ENGINES][NPU_STATES] = { { 0 } }, time;
	for (char *line = strtok_r(vcd, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct signal *g;
		if (sscanf(line, "$var string 1 %7s %63s", signals[n].id, signals[n].name) == 2) {
			n++;
		} else if (sscanf(line, "#%" SCNu64, &time) == 1) {
			ck_assert(time > now || now == 0);
			now = time;
		} else if (*line == 's' && sscanf(line, "s%31s %7s", value, id) == 2) {
			ck_assert_ptr_nonnull(g = signal_of(signals, n, id));
			count(states, g, now);
			snprintf(g->state, sizeof(g->state), "%.31s", value);
			g->since = now;
		}
	}
	ck_assert_uint_eq(now, simulation->account.cycles);
	for (unsigned i = 0; i < n; i++)
		count(states, &signals[i], now);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++)
			ck_assert_uint_eq(states[e][s], simulation->account.states[e][s]);
	free(vcd);
}
END_TEST

static write_format *const formats[] = { timeline_write_csv, timeline_write_chrome, timeline_write_vcd, timeline_write_page };

START_TEST(a_stream_that_fails_is_told_and_two_runs_give_the_same_bytes)
{
	struct npu_error err;
	char *once = written(formats[_i]), *again;
	FILE *full = fopen("/dev/full", "w");
	setvbuf(full, NULL, _IONBF, 0);
	ck_assert(!formats[_i](simulation, full, &err));
	ck_assert_int_eq(err.code, NPU_ERR_IO);
	fclose(full);
	teardown();
	setup();
	again = written(formats[_i]);
	ck_assert_str_eq(once, again);
	free(once);
	free(again);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("timeline formats");
	TCase *t = tcase_create("text");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, the_table_has_a_row_an_instruction_and_adds_up_to_the_report);
	tcase_add_test(t, the_trace_events_add_up_to_the_report_and_never_nest);
	tcase_add_test(t, windows_side_by_side_add_up_to_the_report_and_count_what_they_leave_out);
	tcase_add_test(t, the_table_of_a_window_has_the_instructions_in_service_in_it);
	tcase_add_loop_test(t, a_window_is_two_cycles_the_second_above_the_first, 0, sizeof(windows) / sizeof(windows[0]));
	tcase_add_test(t, a_window_behind_the_end_is_refused_and_a_large_file_warned_of);
	tcase_add_test(t, the_value_changes_rise_in_time_and_add_up_to_the_report);
	tcase_add_loop_test(t, a_stream_that_fails_is_told_and_two_runs_give_the_same_bytes, 0,
			    sizeof(formats) / sizeof(formats[0]));
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
