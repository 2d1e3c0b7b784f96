/* SPDX-License-Identifier: Apache-2.0 */
/* States and curves as changes of variables in the order of time. */
#include "sim/record_grow.h"
#include "sim/timeline/formats.h"
#include "sim/timeline/lanes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A variable is a lane: a curve has a real, a state lane a string and, beside it, a number. */
struct variable {
	char *name; /* NULL: the lane is not shown */
	bool state;
};

struct change {
	uint64_t time, order; /* of writing: of two at one time the later one holds */
	uint32_t lane;
	uint32_t state;    /* its number, of a state lane */
	const char *text;  /* its name, of a state lane */
	double value;      /* of a curve */
};

struct vcd {
	const struct simulation *s;
	FILE *out;
	struct variable *variables;
	struct change *changes;
	uint64_t nvariables, variable_room, nchanges, change_room;
};

/* Identifiers are short strings of printable characters; a number in base 94, and a letter for which of the two. */
enum { FIRST_CODE = '!', CODES = 94 };

static void put_code(const struct vcd *v, uint32_t lane, bool number)
{
	uint32_t n = 2 * lane + number;
	do
		putc((int)(FIRST_CODE + n % CODES), v->out);
	while ((n /= CODES) > 0);
}

/* A reference is one word: "load states" is load_states. */
static char *word_of(const char *text)
{
	char *word = strdup(text);
	for (char *c = word; c && *c; c++)
		if (*c == ' ' || *c == '.')
			*c = '_';
	return word;
}

static bool on_lane(void *ctx, const struct timeline_lane *lane)
{
	struct vcd *v = ctx;
	void *items = v->variables;
	if (!record_grow(&items, &v->variable_room, lane->id + 1ull, sizeof(*v->variables)))
		return false;
	v->variables = items;
	struct variable *variable = &v->variables[lane->id];
	*variable = (struct variable){ .name = NULL, .state = lane->kind == TIMELINE_STATES };
	v->nvariables = lane->id + 1ull;
	if (variable->state || lane->kind == TIMELINE_COUNTER) {
		variable->name = word_of(lane->name);
		return variable->name != NULL;
	}
	return true;
}

static bool add(struct vcd *v, struct change change)
{
	void *items = v->changes;
	if (!record_grow(&items, &v->change_room, v->nchanges + 1, sizeof(*v->changes)))
		return false;
	v->changes = items;
	change.order = v->nchanges;
	v->changes[v->nchanges++] = change;
	return true;
}

static bool on_slice(void *ctx, const struct timeline_slice *slice)
{
	struct vcd *v = ctx;
	if (!v->variables[slice->lane].name)
		return true;
	return add(v, (struct change){ .time = slice->from,
				       .lane = slice->lane,
				       .state = slice->state,
				       .text = slice->name });
}

static bool on_counter(void *ctx, uint32_t lane, uint64_t time, double value)
{
	return add(ctx, (struct change){ .time = time, .lane = lane, .value = value });
}

static int by_time(const void *x, const void *y)
{
	const struct change *a = x, *b = y;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static void put_change(const struct vcd *v, const struct change *c)
{
	if (!v->variables[c->lane].state) {
		fprintf(v->out, "r%.15g ", c->value);
		put_code(v, c->lane, false);
		putc('\n', v->out);
		return;
	}
	fprintf(v->out, "s%s ", c->text);
	put_code(v, c->lane, false);
	fputs("\nb", v->out);
	for (unsigned bit = 5; bit-- > 0;)
		putc(c->state >> bit & 1 ? '1' : '0', v->out);
	putc(' ', v->out);
	put_code(v, c->lane, true);
	putc('\n', v->out);
}

static void put_variables(const struct vcd *v)
{
	_Static_assert(NPU_STATES <= 32 && NPU_SEQ_STATES <= 32, "a state's number has five bits");
	for (uint32_t i = 0; i < v->nvariables; i++) {
		const struct variable *variable = &v->variables[i];
		if (!variable->name)
			continue;
		fputs(variable->state ? "$var string 1 " : "$var real 64 ", v->out);
		put_code(v, i, false);
		fprintf(v->out, " %s $end\n", variable->name);
		if (!variable->state)
			continue;
		fputs("$var reg 5 ", v->out);
		put_code(v, i, true);
		fprintf(v->out, " %s_number [4:0] $end\n", variable->name);
	}
}

/* No $date: the same run gives the same bytes. */
static void put_file(struct vcd *v, const struct timeline_dropped *dropped)
{
	struct timeline_window window = timeline_window(v->s);
	const struct simulation_request *r = &v->s->request;
	fprintf(v->out,
		"$comment 1 ns = 1 cycle; real clock %.15g MHz; program hash %016" PRIx64 " $end\n"
		"$version npusim $end\n$timescale 1 ns $end\n$scope module npu $end\n",
		r->hw->npu.clock_mhz, r->program->hash);
	if (r->window.to > 0)
		fprintf(v->out,
			"$comment cycles %" PRIu64 ":%" PRIu64 " only; %" PRIu64 " slices and %" PRIu64
			" values of curves are left out, %" PRIu64 " slices are cut $end\n",
			window.from, window.to, dropped->slices, dropped->values, dropped->cut);
	put_variables(v);
	fputs("$upscope $end\n$enddefinitions $end\n", v->out);
	qsort(v->changes, v->nchanges, sizeof(*v->changes), by_time);
	uint64_t now = UINT64_MAX;
	for (uint64_t i = 0; i < v->nchanges && !ferror(v->out); i++) {
		if (v->changes[i].time != now)
			fprintf(v->out, "#%" PRIu64 "\n", now = v->changes[i].time);
		put_change(v, &v->changes[i]);
	}
	if (now != window.to)
		fprintf(v->out, "#%" PRIu64 "\n", window.to);
}

bool timeline_write_vcd(const struct simulation *s, FILE *out, struct npu_error *err)
{
	struct vcd v = { .s = s, .out = out };
	const struct timeline_writer writer = { .ctx = &v, .lane = on_lane, .slice = on_slice, .counter = on_counter };
	struct timeline_dropped dropped;
	bool ok = timeline_dropped(s, &dropped) && timeline_walk(s, &writer);
	if (ok)
		put_file(&v, &dropped);
	for (uint64_t i = 0; i < v.nvariables; i++)
		free(v.variables[i].name);
	free(v.variables);
	free(v.changes);
	if (ferror(out))
		return npu_fail(err, NPU_ERR_IO, "the timeline cannot be written");
	return ok || npu_fail(err, NPU_ERR_MEMORY, "out of memory for the timeline");
}
