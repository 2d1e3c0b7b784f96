/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker found, for people, programs and code hosts. */
#ifndef NPU_SIM_CMD_CHECK_OUTPUT_H
#define NPU_SIM_CMD_CHECK_OUTPUT_H

#include "sim/cli_work.h"
#include "sim/cmd/check_source.h"

#include <jansson.h>

/* Whether what a program computes is looked at, too; AUTO: where it has a reference and takes no longer than a second. */
enum check_values_mode { CHECK_VALUES_AUTO, CHECK_VALUES_NO, CHECK_VALUES_YES };
/* What came of it. */
enum check_values_state {
	CHECK_VALUES_OFF,
	CHECK_VALUES_NO_REFERENCE,
	CHECK_VALUES_SKIPPED, /* too much work for AUTO */
	CHECK_VALUES_FAILED,  /* it cannot be executed; where that was asked for it is an error */
	CHECK_VALUES_COMPARED
};
/* "off", "no reference", "skipped", "failed", "compared" */
const char *check_values_name(enum check_values_state);

struct check_result {
	const struct work *work;
	struct npu_check_report *report;
	enum check_values_state values;
	char values_why[256]; /* of SKIPPED and FAILED, else empty */
	struct sources *sources; /* NULL: source lines are not shown */
	struct check_cost *costs; /* [report->nfindings] of the redundant waits, NULL: not measured */
	uint64_t cycles;          /* of the program as it is; 0: not measured */
};

/* What waits that could be left out cost: the cycles of the program without them, 0: not measured. */
struct check_cost {
	uint64_t cycles;
};

/* Runs the program as it is and without the semaphores of each redundant wait, up to CHECK_COSTS_MAX of them, each in a
 * process of its own. Nothing is measured of a program with errors, and of waits that together are not redundant. */
enum { CHECK_COSTS_MAX = 16 };
void check_measure(struct check_result *);

/* Checks the program of `work` against its machine, whose capacities take the place of those in the options. `path`: the
 * file that it came from, or a kernel's name. False with an error when memory runs out. check_result_fini() frees in any
 * case. */
bool check_work(struct check_result *, const struct work *, const char *path, const struct npu_check_options *,
		struct npu_error *);
/* Executes a checked program, inputs from seed 1 and exp exact, and adds outputs that differ from their reference to the
 * findings. False with an error: memory, or YES where it cannot be done. */
bool check_values(struct check_result *, enum check_values_mode, struct npu_error *);
void check_result_fini(struct check_result *);
/* 0 when there is no error (and, with `werror`, no warning), else 1. */
int check_status(const struct check_result *, bool werror);

/* Where a finding is reported: its first site, or the line that declares its semaphore. */
struct check_place check_place_of(const struct check_result *, const struct npu_finding *);
struct check_place check_place_of_site(const struct check_result *, const struct npu_finding *, unsigned site);
/* Whether it is about the declaration of its semaphore; its site is then an example of its use. */
bool check_is_at_declaration(const struct npu_finding *);
/* Whether it is about a page record whose line is known. */
bool check_is_at_record(const struct npu_finding *);

/* Every finding with its source lines, and a summary. */
void check_print_text(const struct check_result *, FILE *);
/* npusim.check/1 and SARIF 2.1.0; new references, NULL when out of memory. */
json_t *check_json(const struct check_result *);
json_t *check_sarif(const struct check_result *);

#endif
