/* SPDX-License-Identifier: Apache-2.0 */
/* Types by an expansion of report.def, then sums. */
#include "sim/report_check.h"

#include "isa/plain.h"
#include "sim/account.h"
#include "sim/report_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum type { TYPE_UINT, TYPE_REAL, TYPE_TEXT, TYPE_LIST, TYPE_MAP, TYPE_OBJECT, TYPE_ROWS };

static const struct row {
	const char *path;
	enum type type;
} rows[] = {
#define FIGURE(type, field, path, unit, doc) { path, TYPE_##type },
#define BEGIN(path, writer, type, unit, doc) { path, TYPE_##type },
#define KEY(path, type, unit, doc) { path, TYPE_##type },
#include "sim/report.def"
};

struct check {
	const char *path; /* of the file */
	struct npu_error *err;
	char at[160]; /* the key */
};

/* ---- types ---- */

static const char *wanted(const json_t *value, enum type type)
{
	switch (type) {
	case TYPE_UINT:
		return json_is_integer(value) && json_integer_value(value) >= 0 ? NULL : "a whole number, 0 or more,";
	case TYPE_REAL:
		return json_is_number(value) || json_is_null(value) ? NULL : "a number or null";
	case TYPE_TEXT:
		return json_is_string(value) ? NULL : "a text";
	case TYPE_LIST:
	case TYPE_ROWS:
		return json_is_array(value) ? NULL : "a list";
	case TYPE_MAP:
	case TYPE_OBJECT:
		break;
	}
	return json_is_object(value) ? NULL : "an object";
}

static bool refuse(struct check *c, const char *what)
{
	return npu_fail(c->err, NPU_ERR_FORMAT, "%s: %s: %s would be right", c->path, c->at, what);
}

/* Writes the next part of the key; returns where it began, to cut it off again. */
static size_t enter(struct check *c, const char *name, size_t length)
{
	size_t used = strlen(c->at);
	char shown[48];
	npu_plain(name, length, shown, sizeof(shown));
	snprintf(c->at + used, sizeof(c->at) - used, "%s%s", used ? "." : "", shown);
	return used;
}

static bool check_type(struct check *c, const json_t *value, const char *path, enum type type);

static bool check_member(struct check *c, const json_t *value, const char *name, size_t length, const char *rest, enum type type)
{
	size_t used = enter(c, name, length);
	bool ok = check_type(c, value, rest, type);
	c->at[used] = '\0';
	return ok;
}

static bool is_engine(const char *name)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		if (strcmp(name, npu_engine_name((enum npu_engine)e)) == 0)
			return true;
	return false;
}

/* NPU_STATES: no stall's. */
static unsigned stall_named(const char *name)
{
	unsigned s = 0;
	while (s < NPU_STATES && (!account_state_is_stall((enum npu_state)s) || strcmp(name, account_state_name((enum npu_state)s)) != 0))
		s++;
	return s;
}

/* "<engine>" and "<stall>" stand for each of theirs, and for no other. */
static bool check_each(struct check *c, const json_t *object, const char *rest, enum type type, bool engines)
{
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)object, name, value) {
		bool known = engines ? is_engine(name) : stall_named(name) < NPU_STATES;
		size_t used = enter(c, name, strlen(name));
		if (!known)
			return refuse(c, engines ? "load, store, matrix and vector, no other engine," : "a state of the simulator");
		if (!check_type(c, value, rest, type))
			return false;
		c->at[used] = '\0';
	}
	return true;
}

static bool check_rows(struct check *c, const json_t *list, const char *rest, enum type type)
{
	size_t i, used = strlen(c->at);
	json_t *row;
	json_array_foreach(list, i, row) {
		snprintf(c->at + used, sizeof(c->at) - used, "[%zu]", i);
		if (!json_is_object(row))
			return refuse(c, "an object");
		if (!check_type(c, row, rest, type))
			return false;
	}
	c->at[used] = '\0';
	return true;
}

/* What is there at `path` below a value; its parents are objects, which rows of their own may not say. */
static bool check_type(struct check *c, const json_t *value, const char *path, enum type type)
{
	if (!*path) {
		const char *want = wanted(value, type);
		return !want || refuse(c, want);
	}
	size_t length = strcspn(path, ".");
	const char *rest = path[length] ? path + length + 1 : path + length;
	if (!json_is_object(value))
		return refuse(c, "an object");
	if (path[0] == '<')
		return check_each(c, value, rest, type, path[1] == 'e');
	bool list = length > 2 && path[length - 1] == ']';
	length -= list ? 2 : 0;
	const json_t *member = json_object_getn(value, path, length);
	if (!member)
		return true;
	if (!list)
		return check_member(c, member, path, length, rest, type);
	size_t used = enter(c, path, length);
	bool ok = json_is_array(member) ? check_rows(c, member, rest, type) : refuse(c, "a list");
	if (ok)
		c->at[used] = '\0';
	return ok;
}

/* ---- sums ---- */

static uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

/* `sum` of `what`, which `key` says. */
static bool same(const struct check *c, const char *what, uint64_t sum, const char *key, uint64_t value)
{
	if (sum == value)
		return true;
	return npu_fail(c->err, NPU_ERR_VALUE, "%s: %s add up to %" PRIu64 ", but %s is %" PRIu64 ": no report that npusim wrote", c->path,
			what, sum, key, value);
}

typedef uint64_t states[NPU_STATES];

static void add_states(const json_t *engine, states sum)
{
	const char *name;
	json_t *cycles, *stalls = report_value(engine, "stalls");
	sum[NPU_STATE_BUSY] = plus(sum[NPU_STATE_BUSY], report_count(engine, "busy"));
	sum[NPU_STATE_IDLE] = plus(sum[NPU_STATE_IDLE], report_count(engine, "idle"));
	json_object_foreach(stalls, name, cycles) {
		unsigned s = stall_named(name);
		sum[s] = plus(sum[s], (uint64_t)json_integer_value(cycles));
	}
}

static uint64_t sum_of(const states s, bool active)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < NPU_STATES; i++)
		if (!active || account_state_group((enum npu_state)i) == ACCOUNT_ACTIVE)
			sum = plus(sum, s[i]);
	return sum;
}

static bool check_engines(const struct check *c, const json_t *engines, states all[NPU_ENGINES], uint64_t cycles)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		const char *name = npu_engine_name((enum npu_engine)e);
		const json_t *engine = json_object_get(engines, name);
		char what[64];
		if (!engine)
			return npu_fail(c->err, NPU_ERR_FORMAT, "%s: engines.%s is missing", c->path, name);
		add_states(engine, all[e]);
		snprintf(what, sizeof(what), "the states of engines.%s", name);
		if (!same(c, what, sum_of(all[e], false), "cycles", cycles))
			return false;
		snprintf(what, sizeof(what), "busy and the stalls in service of engines.%s", name);
		if (!same(c, what, sum_of(all[e], true), "active", report_count(engine, "active")))
			return false;
	}
	return true;
}

/* All counts of an object, and of objects in it. */
static uint64_t sum_counts(const json_t *object)
{
	const char *name;
	json_t *value;
	uint64_t sum = 0;
	json_object_foreach((json_t *)object, name, value)
		sum = plus(sum, json_is_object(value) ? sum_counts(value) : (uint64_t)json_integer_value(value));
	return sum;
}

static uint64_t sum_rows(const json_t *list, const char *key)
{
	size_t i;
	json_t *row;
	uint64_t sum = 0;
	json_array_foreach(list, i, row)
		sum = plus(sum, report_count(row, key));
	return sum;
}

static bool check_regions(const struct check *c, const json_t *report, const json_t *regions, states all[NPU_ENGINES])
{
	size_t i;
	json_t *row;
	states sums[NPU_ENGINES] = { 0 };
	json_array_foreach(regions, i, row)
		for (unsigned e = 0; e < NPU_ENGINES; e++)
			add_states(json_object_get(report_value(row, "engines"), npu_engine_name((enum npu_engine)e)), sums[e]);
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++) {
			char what[96], key[64];
			snprintf(key, sizeof(key), "engines.%s %s", npu_engine_name((enum npu_engine)e), account_state_name((enum npu_state)s));
			snprintf(what, sizeof(what), "regions' cycles of %s %s", npu_engine_name((enum npu_engine)e),
				 account_state_name((enum npu_state)s));
			if (!same(c, what, sums[e][s], key, all[e][s]))
				return false;
		}
	return same(c, "regions' macs", sum_rows(regions, "macs"), "macs", report_count(report, "macs")) &&
	       same(c, "regions' dram_read_bytes", sum_rows(regions, "dram_read_bytes"), "dram.read_bytes",
		    report_count(report, "dram.read_bytes")) &&
	       same(c, "regions' dram_write_bytes", sum_rows(regions, "dram_write_bytes"), "dram.write_bytes",
		    report_count(report, "dram.write_bytes"));
}

static bool check_insns(const struct check *c, const json_t *report, const json_t *insns, states all[NPU_ENGINES])
{
	size_t i;
	json_t *row;
	states sums[NPU_ENGINES] = { 0 };
	uint64_t cycles = report_count(report, "cycles");
	json_array_foreach(insns, i, row) {
		unsigned e = 0;
		while (e < NPU_ENGINES && strcmp(report_text(row, "engine"), npu_engine_name((enum npu_engine)e)) != 0)
			e++;
		if (e == NPU_ENGINES)
			return npu_fail(c->err, NPU_ERR_FORMAT, "%s: instructions[%zu].engine: load, store, matrix or vector would be right",
					c->path, i);
		uint64_t start = report_count(row, "start"), end = report_count(row, "end");
		if (start > end || end > cycles)
			return npu_fail(c->err, NPU_ERR_VALUE, "%s: instructions[%zu] is from %" PRIu64 " to %" PRIu64 " of %" PRIu64
					" cycles: no report that npusim wrote", c->path, i, start, end, cycles);
		add_states(row, sums[e]);
	}
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++) {
			char what[96], key[64];
			if (s != NPU_STATE_BUSY && !account_state_is_decided((enum npu_state)s))
				continue;
			snprintf(key, sizeof(key), "engines.%s %s", npu_engine_name((enum npu_engine)e), account_state_name((enum npu_state)s));
			snprintf(what, sizeof(what), "instructions' cycles of %s %s", npu_engine_name((enum npu_engine)e),
				 account_state_name((enum npu_state)s));
			if (!same(c, what, sums[e][s], key, all[e][s]))
				return false;
		}
	return same(c, "instructions' macs", sum_rows(insns, "macs"), "macs", report_count(report, "macs"));
}

static bool check_path(const struct check *c, const json_t *path, uint64_t cycles)
{
	static const char *const kinds[] = {
#define CRITICAL(NAME, text, doc) text,
#include "sim/critical.def"
	};
	uint64_t sum = 0, service = 0;
	states engine;
	if (report_count(path, "segments") == 0)
		return true;
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		sum = plus(sum, report_count(path, kinds[k]));
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		memset(engine, 0, sizeof(engine));
		add_states(json_object_get(report_value(path, "engines"), npu_engine_name((enum npu_engine)e)), engine);
		service = plus(service, sum_of(engine, false));
	}
	return same(c, "the kinds of critical_path", sum, "cycles", cycles) &&
	       same(c, "critical_path.engines", service, "critical_path.service", report_count(path, "service"));
}

static bool check_sums(const struct check *c, const json_t *report)
{
	states all[NPU_ENGINES] = { 0 };
	const json_t *engines = report_value(report, "engines"), *sequencer = report_value(report, "sequencer"),
		     *overlap = report_value(report, "overlap"), *tensors = report_value(report, "tensors"),
		     *regions = report_value(report, "regions"), *insns = report_value(report, "instructions");
	uint64_t cycles = report_count(report, "cycles");
	uint64_t parts = 0;
	static const char *const four[] = { "compute_only", "dma_only", "both", "neither" };
	for (unsigned i = 0; i < sizeof(four) / sizeof(four[0]); i++)
		parts = plus(parts, report_count(overlap, four[i]));
	return (!engines || check_engines(c, engines, all, cycles)) &&
	       (!sequencer || same(c, "the parts of sequencer", sum_counts(sequencer), "cycles", cycles)) &&
	       (!overlap || same(c, "the parts of overlap", parts, "cycles", cycles)) &&
	       (!tensors || (same(c, "tensors' read_bytes", sum_rows(tensors, "read_bytes"), "dram.read_bytes",
				  report_count(report, "dram.read_bytes")) &&
			     same(c, "tensors' write_bytes", sum_rows(tensors, "write_bytes"), "dram.write_bytes",
				  report_count(report, "dram.write_bytes")))) &&
	       (json_array_size(regions) == 0 || check_regions(c, report, regions, all)) &&
	       (json_array_size(insns) == 0 || check_insns(c, report, insns, all)) &&
	       check_path(c, report_value(report, "critical_path"), cycles);
}

bool report_check(const json_t *report, const char *path, struct npu_error *err)
{
	struct check c = { .path = path, .err = err };
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!check_type(&c, report, rows[i].path, rows[i].type))
			return false;
	return check_sums(&c, report);
}
