/* SPDX-License-Identifier: Apache-2.0 */
/* The page: its parts, and the data between them. */
#include "sim/timeline/page.h"

#include "isa/field.h"
#include "sim/html.h"
#include "sim/report_json.h"
#include "sim/timeline/page_data.h"

#include <string.h>

/* page.html, page.css and page_*.js, one after the other, as the build found them. */
#define PART(name, ...) static const char part_##name[] = { __VA_ARGS__ 0 };
#include "sim/timeline/page.inc"
#undef PART

static json_t *text_list(char *const *items, uint64_t n, bool plain)
{
	json_t *list = json_array();
	for (uint64_t i = 0; list && i < n; i++)
		/* Templates are plain but for the marks of their numbers. */
		json_array_append_new(list, plain ? json_string(items[i]) : report_json_text(items[i]));
	return list;
}

static json_t *state_list(void)
{
	static const char *const groups[] = {
		[ACCOUNT_ACTIVE] = "active", [ACCOUNT_WAITING] = "waiting", [ACCOUNT_EMPTY] = "empty",
	};
	json_t *list = json_array();
	for (unsigned s = 0; s < NPU_STATES; s++)
		json_array_append_new(list, json_pack("[s, s, s]", account_state_name((enum npu_state)s),
						      groups[account_state_group((enum npu_state)s)],
						      account_state_doc((enum npu_state)s)));
	return list;
}

static json_t *sequencer_list(void)
{
	json_t *list = json_array();
	for (unsigned s = 0; s < NPU_SEQ_STATES; s++)
		json_array_append_new(list, json_string(account_sequencer_name((enum npu_seq_state)s)));
	return list;
}

static json_t *engine_list(void)
{
	json_t *list = json_array();
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		json_array_append_new(list, json_string(npu_engine_name((enum npu_engine)e)));
	return list;
}

static json_t *op_list(void)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < npu_nops; i++)
		json_array_append_new(list, json_pack("[s, i]", npu_ops[i].mnemonic, (int)npu_ops[i].engine));
	return list;
}

/* Name and parent, by number. */
static json_t *region_list(struct page_data *d)
{
	const struct npu_program *p = d->s->request.program;
	json_t *list = json_array();
	for (uint32_t i = 0; i < p->nregions; i++) {
		uint32_t name = 0;
		page_string(&d->strings, p->regions[i].name, &name); /* is one already */
		json_array_append_new(list, json_pack("[I, I]", (json_int_t)name,
						      p->regions[i].parent < i ? (json_int_t)p->regions[i].parent : -1));
	}
	return list;
}

static json_t *lane_list(const struct page_data *d)
{
	static const char *const kinds[] = {
		[TIMELINE_REGIONS] = "regions", [TIMELINE_WORK] = "work",         [TIMELINE_DRAIN] = "drain",
		[TIMELINE_INSTANTS] = "instants", [TIMELINE_STATES] = "states", [TIMELINE_CRITICAL] = "critical",
		[TIMELINE_COUNTER] = "curve",
	};
	json_t *list = json_array();
	for (uint64_t i = 0; i < d->nlanes; i++) {
		const struct page_lane *l = &d->lanes[i];
		json_array_append_new(list, json_pack("{s:s, s:i, s:I, s:I, s:I}", "kind", kinds[l->kind], "engine",
						      l->engine == NPU_ENGINES ? -1 : (int)l->engine, "name",
						      (json_int_t)l->name, "unit", (json_int_t)l->unit, "count",
						      (json_int_t)l->count));
	}
	return list;
}

/* NULL when out of memory; jansson then refuses to put the missing part in. Takes the report. */
static json_t *meta_of(struct page_data *d, json_t *report)
{
	const struct simulation_request *r = &d->s->request;
	struct timeline_window window = timeline_window(d->s);
	return json_pack("{s:o, s:o, s:f, s:I, s:[I, I], s:b, s:{s:I, s:I, s:I}, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o}",
			 "subject", report_json_text(r->subject), "machine", report_json_text(simulate_title(r)), "clock_mhz",
			 r->hw->npu.clock_mhz, "cycles", (json_int_t)d->s->account.cycles, "window", (json_int_t)window.from,
			 (json_int_t)window.to, "part", r->window.to > 0, "dropped", "slices",
			 (json_int_t)d->dropped.slices, "values", (json_int_t)d->dropped.values, "cut",
			 (json_int_t)d->dropped.cut, "engines", engine_list(), "states", state_list(), "sequencer",
			 sequencer_list(), "ops", op_list(), "instructions", (json_int_t)d->ninsns, "regions",
			 region_list(d), "lanes", lane_list(d), "templates",
			 text_list(d->templates.items, d->templates.count, true), "strings",
			 text_list(d->strings.items, d->strings.count, false), "report", report);
}

static void put_block(const char *before, const char *id, const struct page_bytes *b, FILE *out)
{
	fprintf(out, "<script type=\"text/plain\" id=\"%s%s\">", before, id);
	page_base64(b, out);
	fputs("</script>\n", out);
}

/* `before` stands before the names of all of a run. */
static void put_data(const struct page_data *d, const json_t *meta, const char *before, FILE *out)
{
	char id[32];
	snprintf(id, sizeof(id), "%smeta", before);
	html_json(id, meta, out);
	put_block(before, "fixed", &d->fixed, out);
	put_block(before, "numbers", &d->numbers, out);
	for (uint64_t i = 0; i < d->nlanes; i++) {
		snprintf(id, sizeof(id), "lane-%llu", (unsigned long long)i);
		put_block(before, id, &d->lanes[i].bytes, out);
	}
}

/* What stands in a page: a run, or two and how they lie beside each other. */
struct page {
	struct page_data data[ALIGN_RUNS];
	json_t *metas[ALIGN_RUNS], *pair;
	unsigned nruns;
};

static void put_page(const struct page *page, FILE *out)
{
	static const char *const before[ALIGN_RUNS] = { "", "b-" };
	const char *html = html_until(part_html, "<!--style-->", out);
	fputs(part_css, out);
	html = html_until(html, "<!--data-->", out);
	for (unsigned r = 0; r < page->nruns; r++)
		put_data(&page->data[r], page->metas[r], before[r], out);
	if (page->pair)
		html_json("pair", page->pair, out);
	html = html_until(html, "<!--script-->", out);
	fputs(part_js, out);
	fputs(html, out);
}

/* Adds a run; takes the report. */
static bool add_run(struct page *page, const struct simulation *s, json_t *report)
{
	unsigned r = page->nruns++;
	if (!page_data_init(&page->data[r], s)) {
		json_decref(report);
		return false;
	}
	return (page->metas[r] = meta_of(&page->data[r], report)) != NULL;
}

static bool finish(struct page *page, bool ok, FILE *out, struct npu_error *err)
{
	if (ok)
		put_page(page, out);
	for (unsigned r = 0; page && r < page->nruns; r++) {
		page_data_fini(&page->data[r]);
		json_decref(page->metas[r]);
	}
	json_decref(page ? page->pair : NULL);
	free(page);
	if (ferror(out))
		return npu_fail(err, NPU_ERR_IO, "the timeline cannot be written");
	return ok || npu_fail(err, NPU_ERR_MEMORY, "out of memory for the timeline");
}

bool timeline_write_page(const struct simulation *s, FILE *out, struct npu_error *err)
{
	struct page *page = calloc(1, sizeof(*page));
	return finish(page, page && add_run(page, s, report_json(s)), out, err);
}

static json_t *marks_json(const struct align *a)
{
	json_t *list = json_array();
	for (uint64_t i = 0; i < a->nmarks; i++)
		json_array_append_new(list, json_pack("[I, I, I]", (json_int_t)a->marks[i].at[0], (json_int_t)a->marks[i].at[1],
						      (json_int_t)a->marks[i].shown));
	return list;
}

static json_t *pairs_json(const struct align *a)
{
	json_t *list = json_array();
	for (uint64_t i = 0; i < a->npairs; i++) {
		const struct align_pair *p = &a->pairs[i];
		json_array_append_new(list, json_pack("[I, I, I, I, I, I, I, I, b]", (json_int_t)p->region[0],
						      (json_int_t)p->region[1], (json_int_t)p->lane[0],
						      (json_int_t)p->from[0], (json_int_t)p->to[0], (json_int_t)p->lane[1],
						      (json_int_t)p->from[1], (json_int_t)p->to[1], (int)p->together));
	}
	return list;
}

/* Rows of instructions, which the page has anyhow, left out. */
static json_t *tables_of(const json_t *report)
{
	static const char *const rows[] = { "instructions", "buffers", "semaphores" };
	json_t *copy = json_copy((json_t *)report);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		json_object_del(copy, rows[i]);
	return copy;
}

bool timeline_write_page_pair(const struct timeline_pair *pair, FILE *out, struct npu_error *err)
{
	struct page *page = calloc(1, sizeof(*page));
	bool ok = page != NULL;
	for (unsigned r = 0; ok && r < ALIGN_RUNS; r++)
		ok = add_run(page, pair->runs[r], tables_of(pair->reports[r]));
	if (ok)
		ok = (page->pair = json_pack("{s:[s, s], s:o, s:o}", "names", pair->names[0], pair->names[1], "marks",
					     marks_json(pair->align), "pairs", pairs_json(pair->align))) != NULL;
	return finish(page, ok, out, err);
}
