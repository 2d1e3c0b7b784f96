/* SPDX-License-Identifier: Apache-2.0 */
/* `axes`: lists, powers of two, ranges, keys that go together. */
#define _GNU_SOURCE
#include "isa/units.h"
#include "sim/sweep/spec_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct list {
	char **values;
	char **plain; /* the same in one way of writing */
	const yaml_node_t **nodes;
	uint32_t n, room;
};

static void list_free(struct list *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		free(l->values[i]);
		free(l->plain[i]);
	}
	free(l->values);
	free(l->plain);
	free(l->nodes);
}

static bool list_grow(struct spec_reader *r, struct list *l)
{
	uint32_t room = l->room ? 2 * l->room : 16;
	char **values = realloc(l->values, room * sizeof *values);
	l->values = values ? values : l->values;
	char **plain = realloc(l->plain, room * sizeof *plain);
	l->plain = plain ? plain : l->plain;
	const yaml_node_t **nodes = realloc(l->nodes, room * sizeof *nodes);
	l->nodes = nodes ? nodes : l->nodes;
	if (!values || !plain || !nodes)
		return npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
	l->room = room;
	return true;
}

/* `checked`: what stands for the value here, as a path does. */
static bool list_add_as(struct spec_reader *r, const yaml_node_t *node, struct list *l, const char *key,
			const char *value, const char *checked)
{
	if (l->n == SWEEP_VALUES)
		return spec_fail(r, node, "%s: more than %d values", key, SWEEP_VALUES);
	if ((l->n == l->room && !list_grow(r, l)) || !spec_check_value(r, node, key, checked))
		return false;
	l->values[l->n] = spec_keep(value);
	l->plain[l->n] = spec_plain_value(r, key, checked);
	l->nodes[l->n] = node;
	l->n++;
	return (l->values[l->n - 1] && l->plain[l->n - 1]) || npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
}

static bool list_add(struct spec_reader *r, const yaml_node_t *node, struct list *l, const char *key, const char *value)
{
	return list_add_as(r, node, l, key, value, value);
}

/* ---- each tuple once, however it is written ---- */

struct tuples {
	struct list keys[SWEEP_KEYS]; /* whose values the axis has taken over */
	unsigned nkeys;
	uint32_t n;
};

static int compare_tuples(const void *a, const void *b, void *context)
{
	const struct tuples *t = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int order = 0;
	for (unsigned k = 0; k < t->nkeys && !order; k++)
		order = strcmp(t->keys[k].plain[i], t->keys[k].plain[j]);
	return order ? order : i < j ? -1 : i > j;
}

static bool are_unique(struct spec_reader *r, const struct sweep_axis *x, const char *name, const struct tuples *t)
{
	char label[1024], other[1024];
	uint32_t first = 0, again = UINT32_MAX;
	uint32_t *order = malloc(t->n * sizeof *order);
	if (!order)
		return npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < t->n; i++)
		order[i] = i;
	qsort_r(order, t->n, sizeof *order, compare_tuples, (void *)t);
	for (uint32_t i = 1; i < t->n; i++) {
		bool same = true;
		for (unsigned k = 0; k < t->nkeys; k++)
			same = same && strcmp(t->keys[k].plain[order[i - 1]], t->keys[k].plain[order[i]]) == 0;
		if (same && order[i] < again) {
			first = order[i - 1];
			again = order[i];
		}
	}
	free(order);
	if (again == UINT32_MAX)
		return true;
	const yaml_node_t *node = t->keys[0].nodes[again];
	sweep_label(x, again, label, sizeof label);
	sweep_label(x, first, other, sizeof other);
	/* 1MiB and 1024KiB. */
	return strcmp(label, other) == 0 ? spec_fail(r, node, "%s: %s stands there twice", name, label)
					 : spec_fail(r, node, "%s: %s stands there already, as %s", name, label, other);
}

/* A number as a person would write it for this key. */
static const char *number_text(const char *key, uint64_t n, char out[32])
{
	const struct config_key *k = config_key_find(key);
	static const char *const units[] = { "", "KiB", "MiB", "GiB" };
	unsigned u = 0;
	for (; k && k->type == CONFIG_SIZE && n && n % 1024 == 0 && u < 3; u++)
		n /= 1024;
	snprintf(out, 32, "%" PRIu64 "%s", n, units[u]);
	return out;
}

static bool bounds(struct spec_reader *r, const yaml_node_t *node, const char *what, unsigned n, uint64_t out[3])
{
	if (node->type != YAML_SEQUENCE_NODE ||
	    (unsigned)(node->data.sequence.items.top - node->data.sequence.items.start) != n)
		return spec_fail(r, node, "%s takes %s", what, n == 2 ? "[first, last]" : "[first, last, step]");
	for (unsigned i = 0; i < n; i++) {
		const yaml_node_t *item = spec_at(r, node->data.sequence.items.start[i]);
		const char *text = yaml_scalar(item);
		struct expr_value v = expr_value_of(text ? text : "");
		if (!text || v.text || v.number < 0 || v.number >= 0x1p62 || v.number != floor(v.number))
			return spec_fail(r, item, "%s takes whole numbers, or sizes", what);
		out[i] = (uint64_t)v.number;
	}
	return true;
}

static bool read_pow2(struct spec_reader *r, const yaml_node_t *node, const char *key, struct list *l)
{
	uint64_t b[3];
	char text[32];
	if (!bounds(r, node, "pow2", 2, b))
		return false;
	if (!b[0] || (b[0] & (b[0] - 1)) || (b[1] & (b[1] - 1)) || b[0] > b[1])
		return spec_fail(r, node, "pow2 takes two powers of two, the smaller one first");
	for (uint64_t v = b[0]; v <= b[1]; v *= 2)
		if (!list_add(r, node, l, key, number_text(key, v, text)))
			return false;
	return true;
}

/* Of a key that takes fractions. */
static bool read_real_range(struct spec_reader *r, const yaml_node_t *node, const char *key, struct list *l)
{
	double b[3];
	char text[32];
	if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.top - node->data.sequence.items.start != 3)
		return spec_fail(r, node, "range takes [first, last, step]");
	for (unsigned i = 0; i < 3; i++) {
		const yaml_node_t *item = spec_at(r, node->data.sequence.items.start[i]);
		const char *number = yaml_scalar(item);
		struct expr_value v = expr_value_of(number ? number : "");
		if (!number || v.text || !isfinite(v.number) || v.number < 0)
			return spec_fail(r, item, "range takes numbers");
		b[i] = v.number;
	}
	if (!(b[2] > 0) || b[0] > b[1])
		return spec_fail(r, node,
				 "range takes a first value, a last one that is not smaller, and a step above 0");
	/* The last one belongs to it, however the steps are rounded. */
	double steps = floor((b[1] - b[0]) / b[2] + 1e-9);
	if (steps >= SWEEP_VALUES)
		return spec_fail(r, node, "%s: more than %s values: a longer step", key,
				 npu_count_text(SWEEP_VALUES).text);
	for (double i = 0; i <= steps; i++) {
		snprintf(text, sizeof text, "%.12g", b[0] + i * b[2]);
		if (!list_add(r, node, l, key, text))
			return false;
	}
	return true;
}

static bool read_range(struct spec_reader *r, const yaml_node_t *node, const char *key, struct list *l)
{
	uint64_t b[3];
	char text[32];
	const struct config_key *hw = config_key_find(key);
	if (hw && hw->type == CONFIG_REAL)
		return read_real_range(r, node, key, l);
	if (!bounds(r, node, "range", 3, b))
		return false;
	if (!b[2] || b[0] > b[1])
		return spec_fail(r, node,
				 "range takes a first value, a last one that is not smaller, and a step of 1 or more");
	if ((b[1] - b[0]) / b[2] >= SWEEP_VALUES)
		return spec_fail(r, node, "%s: %s values, %s at most would be right: a longer step", key,
				 npu_count_text((b[1] - b[0]) / b[2] + 1).text, npu_count_text(SWEEP_VALUES).text);
	for (uint64_t v = b[0]; v <= b[1]; v += b[2])
		if (!list_add(r, node, l, key, number_text(key, v, text)))
			return false;
	return true;
}

/* The only pair of a mapping, its key into *word; NULL: something else. */
static const yaml_node_t *only_pair(const struct spec_reader *r, const yaml_node_t *node, const char **word)
{
	if (node->type != YAML_MAPPING_NODE || node->data.mapping.pairs.top - node->data.mapping.pairs.start != 1)
		return NULL;
	*word = yaml_scalar(spec_at(r, node->data.mapping.pairs.start->key));
	return *word ? spec_at(r, node->data.mapping.pairs.start->value) : NULL;
}

static bool read_list(struct spec_reader *r, const yaml_node_t *node, const char *key, struct list *l)
{
	for (const yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
		const yaml_node_t *item = spec_at(r, *i);
		const char *value = yaml_scalar(item);
		if (!value || !*value)
			return spec_fail(r, item, "%s: one value would be right here", key);
		char *name = sweep_is_path_key(key) ? spec_machine_name(r, value) : NULL;
		bool ok = (strcmp(key, "hw") != 0 || spec_add_machine(r, item, value)) &&
			  list_add_as(r, item, l, key, value, name ? name : value);
		free(name);
		if (!ok)
			return false;
	}
	return l->n || spec_fail(r, node, "%s: the axis is empty", key);
}

static bool read_values(struct spec_reader *r, const yaml_node_t *node, const char *key, struct list *l)
{
	const char *word = NULL;
	const yaml_node_t *inner = only_pair(r, node, &word);
	if (node->type == YAML_SEQUENCE_NODE)
		return read_list(r, node, key, l);
	if (node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0)
		return spec_fail(r, node, "%s: the axis is empty", key);
	if (inner && strcmp(key, "hw") != 0) {
		if (strcmp(word, "pow2") == 0)
			return read_pow2(r, inner, key, l);
		if (strcmp(word, "range") == 0)
			return read_range(r, inner, key, l);
	}
	return spec_fail(r, node, "%s: [a, b, c], {pow2: [a, b]}, {range: [a, b, step]} or {zip: {...}} would be right",
			 key);
}

/* Takes the list over, its values into the axis. */
static bool add_key(struct spec_reader *r, const yaml_node_t *key_node, const char *key, struct list *l,
		    struct tuples *t)
{
	struct sweep_axis *x = &r->space->axes[r->space->naxes];
	if (x->nkeys && l->n != x->count)
		return spec_fail(r, key_node, "%s: %u value%s, %u of the one before: zipped axes are equally long", key,
				 l->n, l->n > 1 ? "s" : "", x->count);
	char **values = realloc(x->values, ((size_t)x->nkeys + 1) * l->n * sizeof *values);
	if (!values)
		return npu_fail(r->err, NPU_ERR_MEMORY, "out of memory");
	memcpy(values + (size_t)x->nkeys * l->n, l->values, l->n * sizeof *values);
	x->values = values;
	x->count = t->n = l->n;
	x->keys[x->nkeys++] = spec_keep(key);
	free(l->values);
	l->values = NULL;
	t->keys[t->nkeys++] = *l;
	*l = (struct list){ 0 };
	return true;
}

static bool read_key(struct spec_reader *r, const yaml_node_t *key_node, const yaml_node_t *node, struct tuples *t)
{
	struct list l = { 0 };
	const char *key = yaml_scalar(key_node);
	if (!key)
		return spec_fail(r, key_node, "a key is one word");
	if (spec_is_taken(r->space, key))
		return spec_fail(r, key_node, "%s is set twice", key);
	if (r->space->axes[r->space->naxes].nkeys == SWEEP_KEYS)
		return spec_fail(r, key_node, "more than %d keys go together", SWEEP_KEYS);
	bool ok =
	    spec_check_key(r, key_node, key) && read_values(r, node, key, &l) && add_key(r, key_node, key, &l, t);
	list_free(&l);
	if (ok && strcmp(key, "hw") == 0)
		r->spec->machines.axis = (int)r->space->naxes;
	return ok;
}

static bool read_keys(struct spec_reader *r, const yaml_node_t *key_node, const yaml_node_t *node, struct tuples *t)
{
	const char *name = yaml_scalar(key_node), *word = NULL;
	if (!name)
		return spec_fail(r, key_node, "a key is one word");
	if (r->space->naxes == SWEEP_AXES)
		return spec_fail(r, key_node, "more than %d axes", SWEEP_AXES);
	struct sweep_axis *x = &r->space->axes[r->space->naxes];
	*x = (struct sweep_axis){ .line = (uint32_t)key_node->start_mark.line + 1,
				  .column = (uint32_t)key_node->start_mark.column + 1 };
	const yaml_node_t *zip = only_pair(r, node, &word);
	if (!zip || strcmp(word, "zip") != 0) {
		if (!read_key(r, key_node, node, t))
			return false;
	} else {
		if (zip->type != YAML_MAPPING_NODE)
			return spec_fail(r, zip, "zip takes keys and their values, all equally many");
		if (zip->data.mapping.pairs.start == zip->data.mapping.pairs.top)
			return spec_fail(r, zip, "%s: the axis is empty", name);
		if (!sweep_is_name(name))
			return spec_fail(r, key_node,
					 "an axis is called by one word of letters, digits, _ . and -, as in array");
		if (strcmp(name, "hw") == 0 || spec_has_param(r, name) || config_key_find(name))
			return spec_fail(r, key_node,
					 "%s is a key itself: keys that go together are called by a name of their own",
					 name);
		for (const yaml_node_pair_t *p = zip->data.mapping.pairs.start; p < zip->data.mapping.pairs.top; p++)
			if (!read_key(r, spec_at(r, p->key), spec_at(r, p->value), t))
				return false;
	}
	return are_unique(r, x, name, t);
}

static bool read_axis(struct spec_reader *r, const yaml_node_t *key_node, const yaml_node_t *node)
{
	struct tuples t = { .nkeys = 0 };
	bool ok = read_keys(r, key_node, node, &t);
	for (unsigned k = 0; k < t.nkeys; k++) {
		for (uint32_t i = 0; i < t.n; i++)
			free(t.keys[k].plain[i]);
		free(t.keys[k].plain);
		free(t.keys[k].nodes);
	}
	if (!ok)
		return false;
	struct sweep_axis *x = &r->space->axes[r->space->naxes];
	const char *name = yaml_scalar(key_node);
	uint64_t values = 0;
	for (unsigned a = 0; a <= r->space->naxes; a++)
		values += (uint64_t)r->space->axes[a].nkeys * r->space->axes[a].count;
	if (values > SWEEP_MOST_VALUES)
		return spec_fail(r, key_node, "%s values of all keys together, %s at most would be right",
				 npu_count_text(values).text, npu_count_text(SWEEP_MOST_VALUES).text);
	x->name = spec_keep(name);
	x->hardware = true;
	for (unsigned k = 0; k < x->nkeys; k++)
		x->hardware = x->hardware && (strchr(x->keys[k], '.') || strcmp(x->keys[k], "hw") == 0);
	for (unsigned a = 0; a < r->space->naxes; a++)
		if (strcmp(r->space->axes[a].name, name) == 0)
			return spec_fail(r, key_node, "a second axis %s", name);
	r->space->naxes++;
	return true;
}

/* Bases come first that an axis of machines may have replaced: the one beside is dropped. */
static void drop_first_base(struct sweep_spec *spec)
{
	struct sweep_machines *m = &spec->machines;
	config_fini(&m->bases[0]);
	memmove(m->bases, m->bases + 1, --m->n * sizeof *m->bases);
}

static bool clocks_differ(const struct sweep_spec *spec)
{
	const struct sweep_space *s = spec->space;
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			if (strcmp(s->axes[a].keys[k], "npu.clock_mhz") == 0)
				return s->axes[a].count > 1;
	for (unsigned i = 1; i < spec->machines.n; i++)
		if (spec->machines.bases[i].hw.npu.clock_mhz != spec->machines.bases[0].hw.npu.clock_mhz)
			return true;
	return false;
}

bool spec_read_axes(struct spec_reader *r, const yaml_node_t *node, const yaml_node_t *hw)
{
	struct sweep_space *s = r->space;
	if (node->type != YAML_MAPPING_NODE || node->data.mapping.pairs.start == node->data.mapping.pairs.top)
		return spec_fail(r, node, "axes takes keys and their values: {tile_q: [64, 128]}");
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++)
		if (!read_axis(r, spec_at(r, p->key), spec_at(r, p->value)))
			return false;
	if (r->spec->machines.axis >= 0) {
		if (hw)
			return spec_fail(r, hw, "hw and an axis hw: one can be");
		drop_first_base(r->spec);
		free(s->hw);
		s->hw = NULL;
	}
	s->clocks = clocks_differ(r->spec);
	s->points = 1;
	for (unsigned a = 0; a < s->naxes; a++)
		if (__builtin_mul_overflow(s->points, s->axes[a].count, &s->points) || s->points > SWEEP_MOST_GRID)
			return spec_fail(r, node, "more than 4 x 10^18 points: fewer axes or values would be right");
	return true;
}
