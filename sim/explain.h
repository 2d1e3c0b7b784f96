/* SPDX-License-Identifier: Apache-2.0 */
/* Why a run takes as long as it does: the rules of explain.def, applied to a report. Cycles at stake are an upper bound
 * of what the remedy of a rule can win; those of different rules do not add. */
#ifndef NPU_SIM_EXPLAIN_H
#define NPU_SIM_EXPLAIN_H

#include "sim/account.h"

#include <jansson.h>

enum explain_rule {
#define RULE(NAME, text, ideal, least, title, advice) EXPLAIN_##NAME,
#include "sim/explain.def"
	EXPLAIN_RULES
};

enum { EXPLAIN_LINES = 4, EXPLAIN_TRIES = 4, EXPLAIN_TEXT = 240 };

struct explain_finding {
	enum explain_rule rule;
	double cycles;    /* at stake */
	double energy_uj; /* at stake; 0 where the rule is about cycles */
	char title[EXPLAIN_TEXT];
	char place[EXPLAIN_TEXT]; /* source line or instruction and region where most of it is; "" where that is not known */
	char tensors[EXPLAIN_TEXT]; /* that it is about, " A  B "; "" of no certain one */
	char evidence[EXPLAIN_LINES][EXPLAIN_TEXT];
	unsigned nevidence;
	const char *advice;
	char tries[EXPLAIN_TRIES][EXPLAIN_TEXT]; /* "tile_q=256 tile_kv=64" */
	unsigned ntries;
};

/* An instruction row of a report. */
struct explain_row {
	const char *text, *source, *region;
	enum npu_engine engine; /* NPU_ENGINES: none of them */
	double dram_bytes, macs, bursts, granule_bytes, rearranged_bytes, m, drain, start, end;
	double states[NPU_STATES];
	double service; /* busy and the stalls in service */
};

struct explain {
	const json_t *report;
	double cycles;
	double states[NPU_ENGINES][NPU_STATES], active[NPU_ENGINES];
	double path[NPU_ENGINES][NPU_STATES]; /* of the critical path, by what its service was */
	double hand_off;                      /* of it, while an engine works on what came before */
	bool has_path;
	double dram_bytes, peak_bytes;        /* asked for; that DRAM moves a cycle at most */
	struct explain_row *rows;
	size_t nrows;
	double *weights; /* [nrows] for the test of a rule */
	struct explain_finding findings[EXPLAIN_RULES];
	unsigned nfindings;
	unsigned unasked; /* rules that need rows which the report does not have */
};

const char *explain_rule_name(enum explain_rule);
/* The part whose perfection says what the remedy can win, as --ideal calls it; "try": its tries do; "" neither. */
const char *explain_rule_ideal(enum explain_rule);
/* The report must live as long. False when it has no cycles, or memory is short. */
bool explain_init(struct explain *, const json_t *report, struct npu_error *);
/* What runs say: a finding has `most` at stake where that is less than what was reckoned, and no less than `won`. Then
 * explain_sort(): those that are no longer worth a word go, and findings have other numbers. */
void explain_bound(struct explain *, unsigned finding, double most, double won);
void explain_sort(struct explain *);
void explain_fini(struct explain *);

/* ---- for the rules ---- */

/* explain_rules.c: fills cycles, title, place, evidence; false where the fault is not there. */
bool explain_test(const struct explain *, enum explain_rule, struct explain_finding *);
/* Whether the test of a rule needs rows of instructions. */
bool explain_needs_rows(enum explain_rule);

#endif
