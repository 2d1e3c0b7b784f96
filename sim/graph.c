/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions to nodes, then edges between nodes, each once with its weight. */
#include "sim/graph.h"

#include "isa/units.h"
#include "sim/critical.h"
#include "sim/graphviz.h"
#include "sim/sites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct node {
	uint32_t first, count;
	uint64_t critical; /* cycles of the critical path */
	unsigned engines;  /* bits */
	uint64_t start, end;
	bool on_path;
};

enum edge_kind { EDGE_POST, EDGE_ORDER, EDGE_KINDS };

struct edge {
	uint32_t from, to; /* nodes */
	uint32_t kind;
	uint32_t sem; /* the first one, of EDGE_POST */
	uint64_t count;
	bool critical;
};

struct graph {
	const struct simulation *s;
	uint32_t from, to;
	uint32_t *node_of; /* [ninsns] UINT32_MAX: not shown */
	struct node *nodes;
	struct edge *edges;
	uint32_t nnodes;
	size_t nedges, room;
	unsigned depth; /* of regions that are nodes */
	bool by_insn, failed;
};

/* ---- which instructions make a node ---- */

static void by_instruction(struct graph *g)
{
	for (uint32_t i = g->from; i < g->to; i++)
		g->node_of[i] = i - g->from;
	g->nnodes = g->to - g->from;
}

static unsigned depth_of(const struct npu_program *p, uint32_t region)
{
	unsigned depth = 0;
	for (; region != NPU_NO_REGION; region = p->regions[region].parent)
		depth++;
	return depth;
}

/* The region of an instruction, no deeper than `depth`. */
static uint32_t region_at(const struct npu_program *p, uint32_t region, unsigned depth)
{
	for (unsigned own = depth_of(p, region); own > depth; own--)
		region = p->regions[region].parent;
	return region;
}

static bool by_region(struct graph *g, unsigned depth)
{
	const struct npu_program *p = g->s->request.program;
	uint32_t *node = malloc((p->nregions + 1u) * sizeof(*node));
	if (!node)
		return false;
	memset(node, 0xff, (p->nregions + 1u) * sizeof(*node));
	g->nnodes = 0;
	g->depth = depth;
	for (uint32_t i = g->from; i < g->to; i++) {
		uint32_t region = region_at(p, p->region[i], depth);
		uint32_t *of = &node[region == NPU_NO_REGION ? p->nregions : region];
		if (*of == UINT32_MAX)
			*of = g->nnodes++;
		g->node_of[i] = *of;
	}
	free(node);
	return true;
}

static bool by_line(struct graph *g)
{
	struct sites sites;
	const struct npu_program *p = g->s->request.program;
	uint32_t *node = malloc((p->ninsns + 1u) * sizeof(*node));
	bool ok = node && sites_init(&sites, p);
	if (!ok) {
		free(node);
		return false;
	}
	memset(node, 0xff, (p->ninsns + 1u) * sizeof(*node));
	g->nnodes = 0;
	for (uint32_t i = g->from; i < g->to; i++) {
		uint32_t *of = &node[sites.of[i]];
		if (*of == UINT32_MAX)
			*of = g->nnodes++;
		g->node_of[i] = *of;
	}
	sites_fini(&sites);
	free(node);
	return true;
}

/* ---- nodes and edges ---- */

static bool fill_nodes(struct graph *g)
{
	const struct critical *c = g->s->critical;
	free(g->nodes);
	g->nodes = calloc(g->nnodes + 1u, sizeof(*g->nodes));
	if (!g->nodes)
		return false;
	for (uint32_t i = g->from; i < g->to; i++) {
		struct node *n = &g->nodes[g->node_of[i]];
		const struct probe_insn *event = &g->s->record.events[i];
		if (n->count++ == 0) {
			n->first = i;
			n->start = event->start;
		}
		n->start = event->start < n->start ? event->start : n->start;
		n->end = event->end > n->end ? event->end : n->end;
		n->engines |= 1u << event->engine;
	}
	for (uint64_t i = 0; i < c->nsegments; i++) {
		uint32_t insn = c->segments[i].insn;
		if (insn < g->from || insn >= g->to)
			continue;
		g->nodes[g->node_of[insn]].on_path = true;
		g->nodes[g->node_of[insn]].critical += c->segments[i].to - c->segments[i].from;
	}
	return true;
}

static void add_edge(struct graph *g, const struct edge *e)
{
	if (g->nedges == g->room) {
		size_t room = g->room ? 2 * g->room : 1024;
		struct edge *edges = realloc(g->edges, room * sizeof(*edges));
		if (!edges) {
			g->failed = true;
			return;
		}
		g->edges = edges;
		g->room = room;
	}
	g->edges[g->nedges++] = *e;
}

/* Between the nodes of two instructions, when both are shown and they are two. */
static void link_insns(struct graph *g, uint32_t before, uint32_t after, enum edge_kind kind, uint32_t sem, bool critical)
{
	if (before < g->from || before >= g->to || after < g->from || after >= g->to)
		return;
	if (g->node_of[before] == g->node_of[after])
		return;
	add_edge(g, &(struct edge){ .from = g->node_of[before], .to = g->node_of[after], .kind = kind, .sem = sem, .count = 1,
				    .critical = critical });
}

static int by_ends(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : (a->sem > b->sem) - (a->sem < b->sem);
}

/* Edges of the same nodes become one; a post says more than the order. */
static void merge_edges(struct graph *g)
{
	size_t n = 0;
	if (g->nedges)
		qsort(g->edges, g->nedges, sizeof(*g->edges), by_ends);
	for (size_t i = 0; i < g->nedges; i++) {
		struct edge *last = n ? &g->edges[n - 1] : NULL;
		if (last && last->from == g->edges[i].from && last->to == g->edges[i].to) {
			last->count += last->kind == g->edges[i].kind;
			last->critical = last->critical || g->edges[i].critical;
		} else {
			g->edges[n++] = g->edges[i];
		}
	}
	g->nedges = n;
}

static void fill_edges(struct graph *g)
{
	const struct critical *c = g->s->critical;
	const struct npu_program *p = g->s->request.program;
	uint32_t last[NPU_ENGINES];
	memset(last, 0xff, sizeof(last));
	g->nedges = 0;
	for (uint32_t i = g->from; i < g->to && !g->failed; i++) {
		const struct probe_insn *event = &g->s->record.events[i];
		for (unsigned w = 0; w < NPU_SYNC_SLOTS; w++)
			if (p->insns[i].wait[w].count && event->enabled_by[w] != PROBE_NOBODY)
				link_insns(g, event->enabled_by[w], i, EDGE_POST, p->insns[i].wait[w].sem, false);
		/* Of groups, the order of a queue is the order of their names. */
		if (g->by_insn && last[event->engine] != UINT32_MAX)
			link_insns(g, last[event->engine], i, EDGE_ORDER, 0, false);
		last[event->engine] = i;
	}
	for (uint64_t i = 1; i < c->nsegments && !g->failed; i++)
		link_insns(g, c->segments[i - 1].insn, c->segments[i].insn, EDGE_ORDER, 0, true);
	merge_edges(g);
}

static bool is_readable(const struct graph *g) { return g->nnodes <= GRAPH_NODES && g->nedges <= GRAPH_EDGES; }

/* ---- DOT ---- */

static const char *const colors[NPU_ENGINES] = {
	[NPU_ENGINE_LOAD] = "#cfe2f3", [NPU_ENGINE_STORE] = "#d9ead3", [NPU_ENGINE_MATRIX] = "#fce5cd", [NPU_ENGINE_VECTOR] = "#e6d9f2",
};

/* "outer/inner". */
static const char *region_name(const struct npu_program *p, uint32_t region, char *out, size_t size)
{
	if (region == NPU_NO_REGION)
		return "(none)";
	size_t used = 0;
	if (p->regions[region].parent != NPU_NO_REGION) {
		region_name(p, p->regions[region].parent, out, size);
		used = strlen(out);
	}
	snprintf(out + used, size - used, "%s%s", used ? "/" : "", p->regions[region].name);
	return out;
}

static void put_node(const struct graph *g, uint32_t at, const char *kind, FILE *out)
{
	const struct npu_program *p = g->s->request.program;
	const struct node *n = &g->nodes[at];
	char label[512], place[200];
	const char *name = npu_insn_place(p, n->first, place, sizeof(place));
	if (g->by_insn) {
		snprintf(label, sizeof(label), "#%" PRIu32 " %s\n%.100s\n%s to %s", n->first, npu_op_mnemonic(p->insns[n->first].op), name,
			 npu_count_text(n->start).text, npu_count_text(n->end).text);
	} else {
		if (strcmp(kind, "region") == 0)
			name = region_name(p, region_at(p, p->region[n->first], g->depth), place, sizeof(place));
		snprintf(label, sizeof(label), "%.150s\n%s\n%s to %s", name, npu_number_of(n->count, "instruction").text,
			 npu_count_text(n->start).text, npu_count_text(n->end).text);
	}
	fprintf(out, "\tn%" PRIu32 " [label=", at);
	graphviz_quote(label, out);
	unsigned engine = 0;
	while (engine < NPU_ENGINES && n->engines != 1u << engine)
		engine++;
	fprintf(out, ", fillcolor=\"%s\"", engine < NPU_ENGINES ? colors[engine] : "#eeeeee");
	if (n->on_path)
		fprintf(out, ", color=\"#cc3311\", penwidth=2.5, tooltip=\"%s of the critical path\"",
			npu_number_of(n->critical, "cycle").text);
	fputs("];\n", out);
}

static void put_edge(const struct graph *g, const struct edge *e, FILE *out)
{
	fprintf(out, "\tn%" PRIu32 " -> n%" PRIu32 " [", e->from, e->to);
	if (e->kind == EDGE_POST) {
		char label[128];
		const char *name = g->s->request.program->sems[e->sem].name;
		if (e->count > 1)
			snprintf(label, sizeof(label), "%.60s and others, %s", name, npu_count_text(e->count).text);
		else
			snprintf(label, sizeof(label), "%.60s", name);
		fputs(g->by_insn ? "label=" : "tooltip=", out);
		graphviz_quote(label, out);
	} else {
		fputs("style=dashed", out);
	}
	fputs(e->critical ? ", color=\"#cc3311\", penwidth=2.5];\n" : ", color=\"#888888\"];\n", out);
}

static void put(const struct graph *g, const char *kind, FILE *out)
{
	const struct simulation_request *r = &g->s->request;
	char title[256];
	snprintf(title, sizeof(title), "%.100s on %.60s: %s; red is the critical path", r->subject, simulate_title(r),
		 npu_number_of(g->s->account.cycles, "cycle").text);
	fputs("digraph run {\n\tlabel=", out);
	graphviz_quote(title, out);
	fputs(";\n\tlabelloc=t;\n\tnode [shape=box, style=\"filled,rounded\", fontname=\"sans\", fontsize=10];\n"
	      "\tedge [fontname=\"sans\", fontsize=8];\n", out);
	for (uint32_t i = 0; i < g->nnodes; i++)
		put_node(g, i, kind, out);
	for (size_t i = 0; i < g->nedges; i++)
		put_edge(g, &g->edges[i], out);
	fputs("}\n", out);
}

static bool fill(struct graph *g, bool grouped)
{
	if (!grouped || !fill_nodes(g))
		return false;
	fill_edges(g);
	return !g->failed;
}

/* Regions, the deepest first; then lines; then the first instructions. */
static bool collapse(struct graph *g, const char **kind)
{
	const struct npu_program *p = g->s->request.program;
	unsigned depth = 0;
	for (uint32_t i = 0; i < p->nregions; i++)
		depth = depth_of(p, i) > depth ? depth_of(p, i) : depth;
	*kind = "region";
	for (; depth > 0; depth--) {
		if (!fill(g, by_region(g, depth)))
			return false;
		if (is_readable(g) && g->nnodes > 1)
			return true;
	}
	*kind = "source line";
	if (!fill(g, by_line(g)))
		return false;
	if (is_readable(g))
		return true;
	*kind = "instruction";
	g->to = g->from + GRAPH_NODES;
	memset(g->node_of, 0xff, p->ninsns * sizeof(*g->node_of));
	g->by_insn = true;
	by_instruction(g);
	return fill(g, true);
}

bool graph_write(const struct simulation *s, uint32_t from, uint32_t to, FILE *out, struct graph_facts *facts,
		 struct npu_error *err)
{
	uint32_t all = s->request.program->ninsns;
	bool window = to != UINT32_MAX;
	struct graph g = { .s = s, .from = from < all ? from : all, .to = to < all ? to : all };
	const char *kind = "instruction";
	if (window && g.to - g.from > GRAPH_NODES)
		return npu_fail(err, NPU_ERR_USAGE, "a window of %s: at most %d can be read", npu_number_of(g.to - g.from, "instruction").text,
				GRAPH_NODES);
	g.node_of = malloc((all + 1u) * sizeof(*g.node_of));
	bool ok = g.node_of != NULL;
	if (ok) {
		memset(g.node_of, 0xff, (all + 1u) * sizeof(*g.node_of));
		g.by_insn = g.to - g.from <= GRAPH_NODES;
		if (g.by_insn)
			by_instruction(&g);
		ok = g.by_insn ? fill(&g, true) : collapse(&g, &kind);
	}
	if (ok) {
		put(&g, kind, out);
		*facts = (struct graph_facts){ g.nnodes, (uint32_t)g.nedges, kind, g.from, g.to };
	}
	free(g.node_of);
	free(g.nodes);
	free(g.edges);
	return ok || npu_fail(err, NPU_ERR_MEMORY, "out of memory for the graph");
}
