/* SPDX-License-Identifier: Apache-2.0 */
/* The last thing that can be wrong with a program: what it computes. It is executed in program order and compared with its
 * reference, and an output that differs is one more finding, at the instruction that wrote the element last. */
#include "isa/access.h"
#include "sim/cmd/check_output.h"
#include "sim/values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 1 };

/* What is done without being asked for. The checks of hazards of 100,000 instructions take less than a second more. */
static const double AFFORDABLE_SECONDS = 3.0;

static struct values_request request_of(const struct work *work)
{
	return (struct values_request){ .program = work->program,
					.kernel = work->kernel,
					.args = work->kernel ? &work->args : NULL,
					.macro = work->macro,
					.seed = SEED };
}

static const char *dram_operand(const struct npu_program *p, uint32_t insn)
{
	struct npu_access access[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_accesses(&p->insns[insn], access);
	for (unsigned i = 0; i < n; i++)
		if (access[i].write && access[i].space == NPU_SPACE_DRAM)
			return access[i].operand;
	return "";
}

static bool add_mismatch(struct check_result *r, const struct values *v, const struct values_output *o,
			 struct npu_error *err)
{
	const struct npu_program *p = r->work->program;
	const struct npu_tensor *t = o->tensor;
	uint64_t first = npu_exec_tensor_addr(t, o->first_wrong), bytes = npu_dtype_bytes(t->dtype, 1);
	char text[640], notes[256];
	snprintf(notes, sizeof notes, "compared with the reference of %s, inputs from seed %d; run --values --dump %s=FILE writes all of it",
		 v->request.kernel ? "the kernel" : "the file", SEED, t->name);
	struct npu_finding f = { .kind = NPU_CHECK_VALUES,
				 .bytes = { NPU_SPACE_DRAM, first, first + bytes - 1, bytes, t->name },
				 .sem = NPU_CHECK_NOBODY,
				 .count = 1,
				 .text = values_mismatch_text(o, text, sizeof text),
				 .notes = notes };
	if (o->writer != NPU_EXEC_NOBODY) {
		f.nsites = 1;
		f.site[0] = (struct npu_check_site){ o->writer, dram_operand(p, o->writer), "writes" };
	}
	return npu_check_add(r->report, &f, err);
}

static bool add_mismatches(struct check_result *r, const struct values *v, struct npu_error *err)
{
	bool ok = true;
	for (unsigned i = 0; ok && i < v->noutputs; i++)
		ok = !v->outputs[i].wrong || add_mismatch(r, v, &v->outputs[i], err);
	return ok;
}

/* A program with an address out of bounds cannot be executed, nor one without the file of a tensor. That it was asked for
 * and not done is an error, unless what hinders it is among the findings. */
static bool not_computed(struct check_result *r, bool asked, const struct npu_error *why, struct npu_error *err)
{
	char text[sizeof why->file + sizeof why->text + 32];
	r->values = CHECK_VALUES_FAILED;
	npu_error_print(why, text, sizeof text);
	snprintf(r->values_why, sizeof r->values_why, "%.*s", (int)strcspn(text, "\n"), text);
	if (asked && !r->report->errors)
		*err = *why;
	return !asked || r->report->errors;
}

bool check_values(struct check_result *r, enum check_values_mode mode, struct npu_error *err)
{
	struct values_request request = request_of(r->work);
	struct npu_error why = { 0 };
	double seconds = values_seconds(&request);
	if (mode == CHECK_VALUES_NO)
		return true;
	if (!values_has_any_reference(&request)) {
		r->values = CHECK_VALUES_NO_REFERENCE;
		return mode == CHECK_VALUES_AUTO ||
		       npu_fail(err, NPU_ERR_USAGE,
				"--values yes: %s has no reference; a kernel has one, and so has an out tensor with = EXPRESSION",
				r->work->subject);
	}
	if (mode == CHECK_VALUES_AUTO && seconds > AFFORDABLE_SECONDS) {
		r->values = CHECK_VALUES_SKIPPED;
		snprintf(r->values_why, sizeof r->values_why, "it would take about %.0f s (--values yes)", ceil(seconds));
		return true;
	}
	struct values *v = values_new(&request, &why);
	bool ran = v && values_run(v, &why);
	bool ok = ran ? add_mismatches(r, v, err) : not_computed(r, mode == CHECK_VALUES_YES, &why, err);
	if (ran)
		r->values = CHECK_VALUES_COMPARED;
	values_free(v);
	return ok;
}

const char *check_values_name(enum check_values_state state)
{
	switch (state) {
	case CHECK_VALUES_OFF:
		return "off";
	case CHECK_VALUES_NO_REFERENCE:
		return "no reference";
	case CHECK_VALUES_SKIPPED:
		return "skipped";
	case CHECK_VALUES_FAILED:
		return "failed";
	case CHECK_VALUES_COMPARED:
		break;
	}
	return "compared";
}
