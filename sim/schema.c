/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of keys that reports are written by, expanded to describe them. */
#include "sim/schema.h"

#include "sim/account.h"
#include "sim/config.h"
#include "sim/report_json.h"

#include <string.h>

enum type {
	TYPE_UINT,
	TYPE_REAL,
	TYPE_TEXT,
	TYPE_LIST,
	TYPE_MAP,
	TYPE_OBJECT,
	TYPE_ROWS,
	TYPE_FLAG,
	TYPE_UINT_OR_NULL,
	TYPE_INT_OR_NULL,
	TYPE_TEXT_OR_NULL,
	TYPE_MAP_OR_NULL
};

struct row {
	const char *path;
	enum type type;
	const char *unit, *doc;
};

static const struct row report_rows[] = {
#define FIGURE(type, field, path, unit, doc) { path, TYPE_##type, unit, doc },
#define BEGIN(path, writer, type, unit, doc) { path, TYPE_##type, unit, doc },
#define KEY(path, type, unit, doc)           { path, TYPE_##type, unit, doc },
#include "sim/report.def"
};

static const struct row check_rows[] = {
#define KEY(path, type, unit, doc) { path, TYPE_##type, unit, doc },
#include "sim/cmd/check_report.def"
};

static const struct row model_rows[] = {
#define KEY(path, type, unit, doc) { path, TYPE_##type, unit, doc },
#include "sim/model/report.def"
};

static const struct row explain_rows[] = {
#define KEY(path, type, unit, doc) { path, TYPE_##type, unit, doc },
#include "sim/cmd/explain_report.def"
};

static const struct row import_rows[] = {
#define KEY(path, type, unit, doc) { path, TYPE_##type, unit, doc },
#include "sim/cmd/import_report.def"
};

#define ROWS(table) table, sizeof(table) / sizeof((table)[0])
enum { REPORT, CHECK, SCHEMAS = 5 };
static const struct schema {
	const char *name, *title;
	const struct row *rows;
	size_t nrows;
	bool machine; /* `hw` holds the keys of a machine */
} schemas[SCHEMAS] = {
	[REPORT] = { "report", "npusim.report/1", ROWS(report_rows), true },
	[CHECK] = { "check", "npusim.check/1", ROWS(check_rows), false },
	{ "model", "npusim.model/1", ROWS(model_rows), true },
	{ "explain", "npusim.explain/1", ROWS(explain_rows), false },
	{ "import", "npusim.import/1", ROWS(import_rows), false },
};
#undef ROWS

static json_t *type_json(enum type type)
{
	switch (type) {
	case TYPE_UINT:
		return json_pack("{s:s, s:i}", "type", "integer", "minimum", 0);
	case TYPE_REAL:
		return json_pack("{s:[s, s]}", "type", "number", "null");
	case TYPE_TEXT:
		return json_pack("{s:s}", "type", "string");
	case TYPE_LIST:
		return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
	case TYPE_ROWS:
		return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "object");
	case TYPE_FLAG:
		return json_pack("{s:s}", "type", "boolean");
	case TYPE_UINT_OR_NULL:
		return json_pack("{s:[s, s], s:i}", "type", "integer", "null", "minimum", 0);
	case TYPE_INT_OR_NULL:
		return json_pack("{s:[s, s]}", "type", "integer", "null");
	case TYPE_TEXT_OR_NULL:
		return json_pack("{s:[s, s]}", "type", "string", "null");
	case TYPE_MAP_OR_NULL:
		return json_pack("{s:[s, s]}", "type", "object", "null");
	case TYPE_MAP:
	case TYPE_OBJECT:
		break;
	}
	return json_pack("{s:s}", "type", "object");
}

/* The schema of member `name` of an object's schema, made where there is none. */
static json_t *member(json_t *object, const char *name, bool required)
{
	json_t *properties = json_object_get(object, "properties");
	if (!properties) {
		properties = json_object();
		json_object_set_new(object, "properties", properties);
	}
	json_t *found = json_object_get(properties, name);
	if (found)
		return found;
	found = json_object();
	json_object_set_new(properties, name, found);
	if (required) {
		if (!json_object_get(object, "required"))
			json_object_set_new(object, "required", json_array());
		json_array_append_new(json_object_get(object, "required"), json_string(name));
	}
	return found;
}

static void describe(json_t *schema, enum type type, const char *unit, const char *doc)
{
	json_t *facts = type_json(type);
	json_object_update_missing(schema, facts);
	json_decref(facts);
	if (unit[0])
		json_object_set_new(schema, "unit", json_string(unit));
	if (doc[0])
		json_object_set_new(schema, "description", json_string(doc));
}

static void add(json_t *schema, const char *path, const struct row *row, bool required);

static void add_engines(json_t *schema, const char *rest, const struct row *row, bool required)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		add(member(schema, npu_engine_name((enum npu_engine)e), required), rest, row, required);
}

static void add_stalls(json_t *schema, const struct row *row, bool required)
{
	for (unsigned s = 0; s < NPU_STATES; s++)
		if (account_state_is_stall((enum npu_state)s))
			describe(member(schema, account_state_name((enum npu_state)s), required), row->type, row->unit,
				 account_state_doc((enum npu_state)s));
}

/* Adds a row at `path` below an object's schema. The rows of a list are objects; only what their stalls hold varies. */
static void add(json_t *schema, const char *path, const struct row *row, bool required)
{
	if (path[0] == '\0') {
		describe(schema, row->type, row->unit, row->doc);
		return;
	}
	char name[64];
	uint64_t length = strcspn(path, ".");
	const char *rest = path[length] ? path + length + 1 : path + length;
	snprintf(name, sizeof(name), "%.*s", (int)length, path);
	if (!json_object_get(schema, "type"))
		json_object_set_new(schema, "type", json_string("object"));
	if (strcmp(name, "<engine>") == 0) {
		add_engines(schema, rest, row, required);
		return;
	}
	if (strcmp(name, "<stall>") == 0) {
		add_stalls(schema, row, required);
		return;
	}
	if (length > 2 && strcmp(name + length - 2, "[]") == 0) {
		name[length - 2] = '\0';
		add(json_object_get(member(schema, name, true), "items"), rest, row, strstr(path, "<stall>") == NULL);
		return;
	}
	add(member(schema, name, required), rest, row, required);
}

static json_t *key_type_json(enum config_type type)
{
	switch (type) {
	case CONFIG_UINT:
	case CONFIG_SIZE:
		return json_pack("{s:s}", "type", "integer");
	case CONFIG_REAL:
		return json_pack("{s:s}", "type", "number");
	case CONFIG_FLAG:
		return json_pack("{s:s}", "type", "boolean");
	case CONFIG_ENUM:
		return json_pack("{s:s}", "type", "string");
	case CONFIG_PART:
		break;
	}
	return json_pack("{s:[s, s]}", "type", "string", "null");
}

static void add_key(json_t *hw, const struct config_key *key)
{
	const char *dot = strchr(key->name, '.'), *unit = key->type == CONFIG_SIZE ? "byte" : key->unit;
	char section[32];
	snprintf(section, sizeof section, "%.*s", (int)(dot - key->name), key->name);
	json_t *at = member(hw, section, true), *type = key_type_json(key->type);
	json_object_set_new(at, "type", json_string("object"));
	json_t *value = member(at, dot + 1, true);
	json_object_update_missing(value, type);
	json_decref(type);
	if (unit[0])
		json_object_set_new(value, "unit", json_string(unit));
	json_object_set_new(value, "description", json_string(key->doc));
}

static void add_hw(json_t *hw)
{
	json_object_set_new(member(hw, "name", true), "type", json_string("string"));
	json_object_set_new(member(hw, "preset", true), "type", json_pack("[s, s]", "string", "null"));
	json_object_set_new(member(hw, "changed", true), "type", json_string("array"));
	json_object_set_new(member(hw, "changed", true), "items", json_pack("{s:s}", "type", "string"));
	for (unsigned i = 0; i < config_nkeys; i++)
		add_key(hw, &config_keys[i]);
}

static json_t *schema_json(const struct schema *of)
{
	json_t *schema =
	    json_pack("{s:s, s:s, s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
		      of->title, "description",
		      "Names may be added within a number, never changed. Fractions and ratios are null where they "
		      "have no meaning.",
		      "type", "object");
	if (!schema)
		return NULL;
	for (size_t i = 0; i < of->nrows; i++)
		add(schema, of->rows[i].path, &of->rows[i], true);
	json_object_set_new(member(schema, "schema", true), "const", json_string(of->title));
	if (of->machine)
		add_hw(member(schema, "hw", true));
	return schema;
}

/* A report of run --check holds what the checker found. */
static void add_check(json_t *report)
{
	json_t *checked = schema_json(&schemas[CHECK]);
	json_object_del(checked, "$schema");
	json_object_update(member(report, "check", false), checked);
	json_decref(checked);
}

static const struct schema *find(const char *name)
{
	for (unsigned i = 0; i < SCHEMAS; i++)
		if (strcmp(name, schemas[i].name) == 0)
			return &schemas[i];
	return NULL;
}

bool schema_is(const char *name)
{
	return find(name) != NULL;
}

bool schema_write(const char *name, FILE *out, struct npu_error *err)
{
	const struct schema *of = find(name);
	json_t *schema = schema_json(of);
	if (!schema)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	if (of == &schemas[REPORT])
		add_check(schema);
	bool ok = report_json_print(schema, out);
	json_decref(schema);
	return ok || npu_fail(err, NPU_ERR_IO, "the schema cannot be written");
}

static void print_states(FILE *out)
{
	fputs("\n| state | an instruction is | meaning |\n| --- | --- | --- |\n", out);
	static const char *const groups[] = {
		[ACCOUNT_ACTIVE] = "in service",
		[ACCOUNT_WAITING] = "waiting at the head of the queue",
		[ACCOUNT_EMPTY] = "not there: the queue is empty",
	};
	for (unsigned s = 0; s < NPU_STATES; s++)
		fprintf(out, "| `%s` | %s | %s |\n", account_state_name((enum npu_state)s),
			groups[account_state_group((enum npu_state)s)], account_state_doc((enum npu_state)s));
}

bool schema_markdown(const char *name, FILE *out)
{
	const struct schema *of = find(name);
	fputs("| key | unit | meaning |\n| --- | --- | --- |\n", out);
	for (size_t i = 0; i < of->nrows; i++)
		fprintf(out, "| `%s` | %s | %s |\n", of->rows[i].path, of->rows[i].unit, of->rows[i].doc);
	if (of == &schemas[REPORT])
		print_states(out);
	return !ferror(out);
}
