/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path as a table and as JSON. */
#include "sim/report_critical.h"

#include "isa/access.h"
#include "sim/facts.h"
#include "sim/report_json.h"
#include "sim/report_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 10, INSNS = 10, CRITICAL_INSNS = 100, MAX_SHARES = NPU_ENGINES * NPU_STATES + CRITICAL_KINDS };

/* A share of the path: an engine in one of its states, or one of the other kinds. */
struct share {
	const char *who, *what;
	uint64_t cycles;
};

static int by_cycles(const void *x, const void *y)
{
	const struct share *a = x, *b = y;
	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	int who = strcmp(a->who, b->who);
	return who ? who : strcmp(a->what, b->what);
}

/* Most cycles first; returns how many there are. */
static unsigned shares_of(const struct critical *c, struct share shares[MAX_SHARES])
{
	unsigned n = 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		for (unsigned s = 0; s < NPU_STATES; s++)
			if (c->service[e][s] > 0)
				shares[n++] = (struct share){ npu_engine_name((enum npu_engine)e),
							      account_state_name((enum npu_state)s), c->service[e][s] };
	for (unsigned k = 0; k < CRITICAL_KINDS; k++)
		if (k != CRITICAL_SERVICE && c->kinds[k] > 0)
			shares[n++] = (struct share){ "", critical_kind_name((enum critical_kind)k), c->kinds[k] };
	qsort(shares, n, sizeof(*shares), by_cycles);
	return n;
}

static void put_share(struct report_table *t, uint64_t cycles, uint64_t of)
{
	char share[16];
	snprintf(share, sizeof(share), "%.1f %%", of > 0 ? 100 * (double)cycles / (double)of : 0.0);
	report_table_count(t, cycles);
	report_table_text(t, share);
}

static bool print_lines(const struct simulation *s, FILE *out, const struct report_style *style)
{
	static const char *const titles[] = { "most of it in", "cycles", "share", "instruction", NULL };
	const struct critical *c = s->critical;
	struct report_table *t = report_table_new(titles);
	if (!t)
		return false;
	for (uint32_t i = 0; i < c->nsites && i < LINES; i++) {
		char place[256];
		report_table_row(t, npu_insn_place(s->request.program, c->sites[i].insn, place, sizeof(place)));
		put_share(t, c->sites[i].cycles, s->account.cycles);
		report_table_text(t, npu_op_mnemonic(s->request.program->insns[c->sites[i].insn].op));
	}
	fputc('\n', out);
	return report_table_print(t, out, style);
}

static bool print_insns(const struct simulation *s, FILE *out, const struct report_style *style)
{
	static const char *const titles[] = { "instructions on it", "cycles", "share", "region", NULL };
	const struct critical *c = s->critical;
	struct report_table *t = report_table_new(titles);
	if (!t)
		return false;
	for (uint32_t i = 0; i < c->ninsns && i < INSNS; i++) {
		char text[FACTS_TEXT], shown[80];
		npu_insn_print(s->request.program, c->insns[i].insn, text, sizeof(text));
		snprintf(shown, sizeof(shown), "#%" PRIu32 " %.60s%s", c->insns[i].insn, text, strlen(text) > 60 ? "..." : "");
		report_table_row(t, shown);
		put_share(t, c->insns[i].cycles, s->account.cycles);
		report_table_text(t, account_region_path(&s->account, s->request.program, c->insns[i].insn));
	}
	fputc('\n', out);
	return report_table_print(t, out, style);
}

bool report_critical_print(const struct simulation *s, FILE *out, const struct report_style *style)
{
	static const char *const titles[] = { "critical path", "cycles", "share", NULL };
	struct share shares[MAX_SHARES];
	unsigned n = shares_of(s->critical, shares);
	struct report_table *t = report_table_new(titles);
	if (!t)
		return false;
	for (unsigned i = 0; i < n; i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s%s%s", shares[i].who, shares[i].who[0] ? " " : "", shares[i].what);
		report_table_row(t, name);
		put_share(t, shares[i].cycles, s->account.cycles);
	}
	report_table_row(t, "total");
	put_share(t, s->account.cycles, s->account.cycles);
	fputc('\n', out);
	return report_table_print(t, out, style) && (s->critical->nsites == 0 || (print_lines(s, out, style) && print_insns(s, out, style)));
}

static json_t *count(uint64_t value) { return json_integer((json_int_t)value); }

static json_t *insn_json(const struct simulation *s, const struct critical_site *insn)
{
	const struct npu_program *p = s->request.program;
	char place[512], text[FACTS_TEXT];
	json_t *row = json_object();
	npu_insn_print(p, insn->insn, text, sizeof(text));
	json_object_set_new(row, "instruction", count(insn->insn));
	json_object_set_new(row, "text", report_json_text(text));
	json_object_set_new(row, "source", report_json_text(npu_insn_place(p, insn->insn, place, sizeof(place))));
	json_object_set_new(row, "region", report_json_text(account_region_path(&s->account, p, insn->insn)));
	json_object_set_new(row, "segments", count(insn->segments));
	json_object_set_new(row, "cycles", count(insn->cycles));
	return row;
}

/* Without a path every figure is 0 and there is no line. */
json_t *report_json_critical(const struct simulation *s)
{
	static const struct critical none;
	/* Who asks for every instruction asks why the run takes so long. */
	const struct critical *c = s->request.want_critical || s->request.want_insns ? s->critical : &none;
	json_t *path = json_object(), *engines = json_object(), *lines = json_array(),
	       *insns = json_array();
	json_object_set_new(path, "segments", count(c->nsegments));
	for (unsigned k = 0; k < CRITICAL_KINDS; k++)
		json_object_set_new(path, critical_kind_name((enum critical_kind)k), count(c->kinds[k]));
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		json_object_set_new(engines, npu_engine_name((enum npu_engine)e), report_json_states(c->service[e], true));
	for (uint32_t i = 0; i < c->nsites; i++) {
		const struct npu_program *p = s->request.program;
		const struct critical_site *site = &c->sites[i];
		char place[512];
		json_t *line = json_object();
		json_object_set_new(line, "source", report_json_text(npu_insn_place(p, site->insn, place, sizeof(place))));
		json_object_set_new(line, "instruction", json_string(npu_op_mnemonic(p->insns[site->insn].op)));
		json_object_set_new(line, "segments", count(site->segments));
		json_object_set_new(line, "cycles", count(site->cycles));
		json_array_append_new(lines, line);
	}
	for (uint32_t i = 0; i < c->ninsns && i < CRITICAL_INSNS; i++)
		json_array_append_new(insns, insn_json(s, &c->insns[i]));
	json_object_set_new(path, "engines", engines);
	json_object_set_new(path, "lines", lines);
	json_object_set_new(path, "instructions", insns);
	return path;
}
