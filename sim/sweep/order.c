/* SPDX-License-Identifier: Apache-2.0 */
/* Values as the configuration or a kernel takes them. */
#define _GNU_SOURCE
#include "sim/sweep/order.h"
#include "sim/config_parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A hardware value as read; false: it is none. */
static bool parse(const struct config_key *key, const char *value, double *number)
{
	struct hw hw = { 0 };
	char ignored[256];
	if (key->type == CONFIG_PART || !config_parse(key, value, &hw, ignored, sizeof ignored))
		return false;
	*number = key->type == CONFIG_REAL ? config_real(&hw, key) : (double)config_uint(&hw, key);
	return true;
}

bool sweep_same_value(const char *key, const char *a, const char *b)
{
	const struct config_key *hw = config_key_find(key);
	double x, y;
	if (strcmp(a, b) == 0)
		return true;
	if (hw)
		return parse(hw, a, &x) && parse(hw, b, &y) && x == y;
	x = sweep_number(key, a);
	y = sweep_number(key, b);
	return x == y;
}

double sweep_number(const char *key, const char *value)
{
	const struct config_key *hw = config_key_find(key);
	double number;
	if (hw)
		return hw->type != CONFIG_FLAG && hw->type != CONFIG_ENUM && parse(hw, value, &number) ? number
												       : (double)NAN;
	struct expr_value v = strcmp(key, "hw") == 0 ? (struct expr_value){ NAN, value } : expr_value_of(value);
	return v.text ? (double)NAN : v.number;
}

/* ---- order ---- */

struct sorting {
	const struct sweep_axis *axis;
	double *number;       /* [nkeys * count], all of key 0 first */
	int sign[SWEEP_KEYS]; /* -1: falls while the first key rises */
};

static int way(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare(const void *a, const void *b, void *context)
{
	const struct sorting *s = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	for (unsigned k = 0; k < s->axis->nkeys; k++) {
		const double *n = s->number + (size_t)k * s->axis->count;
		int c = way(n[x], n[y]) * s->sign[k];
		if (c)
			return c;
	}
	return x < y ? -1 : x > y;
}

/* Whether key k falls between the first two values at which an earlier key differs, and it does. */
static int sign_of(const struct sorting *s, unsigned k)
{
	const uint32_t count = s->axis->count;
	const double *own = s->number + (size_t)k * count;
	for (unsigned j = 0; j < k; j++) {
		const double *n = s->number + (size_t)j * count;
		for (uint32_t i = 1; i < count; i++) {
			int first = way(n[i], n[0]) * s->sign[j], second = way(own[i], own[0]);
			if (first && second)
				return first * second;
		}
	}
	return 1;
}

static bool is_monotonic(const struct sorting *s, const uint32_t *at)
{
	for (unsigned k = 0; k < s->axis->nkeys; k++) {
		const double *n = s->number + (size_t)k * s->axis->count;
		for (uint32_t i = 1; i < s->axis->count; i++)
			if (way(n[at[i]], n[at[i - 1]]) * s->sign[k] < 0)
				return false;
	}
	return true;
}

bool sweep_order_of(struct sweep_order *o, const struct sweep_axis *x)
{
	struct sorting s = { .axis = x, .number = malloc((size_t)x->nkeys * x->count * sizeof *s.number) };
	*o = (struct sweep_order){ malloc(x->count * sizeof *o->at), malloc(x->count * sizeof *o->rank), true };
	bool ok = s.number && o->at && o->rank;
	for (size_t i = 0; ok && o->ordered && i < (size_t)x->nkeys * x->count; i++) {
		s.number[i] = sweep_number(x->keys[i / x->count], x->values[i]);
		o->ordered = !isnan(s.number[i]);
	}
	for (uint32_t i = 0; ok && i < x->count; i++)
		o->at[i] = i;
	if (ok && o->ordered) {
		for (unsigned k = 0; k < x->nkeys; k++)
			s.sign[k] = sign_of(&s, k);
		qsort_r(o->at, x->count, sizeof *o->at, compare, &s);
		o->ordered = is_monotonic(&s, o->at);
	}
	for (uint32_t i = 0; ok && i < x->count; i++) {
		if (!o->ordered)
			o->at[i] = i;
		o->rank[o->at[i]] = i;
	}
	free(s.number);
	return ok;
}

void sweep_order_fini(struct sweep_order *o)
{
	free(o->at);
	free(o->rank);
	*o = (struct sweep_order){ NULL, NULL, false };
}
