/* SPDX-License-Identifier: Apache-2.0 */
/* Values for people and for programs: the table, the error of a mismatch, the report's `values`. */
#include "sim/values_parts.h"

#include "isa/units.h"
#include "sim/report_json.h"
#include "sim/report_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* "[1,0,17]"; of a scalar "". */
static const char *index_text(const struct npu_tensor *t, uint64_t index, char out[128])
{
	uint64_t at[NPU_MAX_RANK] = { 0 };
	int used = 0;
	for (uint32_t d = t->rank; d-- > 0; index /= t->shape[d])
		at[d] = index % t->shape[d];
	out[0] = '\0';
	for (uint32_t d = 0; d < t->rank; d++)
		used += snprintf(out + used, 128 - (size_t)used, "%s%" PRIu64, d ? "," : "[", at[d]);
	if (t->rank)
		snprintf(out + used, 128 - (size_t)used, "]");
	return out;
}

static void cell(struct report_table *t, double value)
{
	char text[32];
	snprintf(text, sizeof text, value == 0 ? "." : "%.3g", value);
	report_table_text(t, text);
}

/* ---- tables ---- */

static void print_compared(struct report_table *t, const struct values_output *o)
{
	char at[128], used[32];
	cell(t, o->max_abs);
	if (o->abs_bound > 0)
		cell(t, o->abs_bound);
	else
		report_table_text(t, "exact");
	cell(t, o->rms_rel);
	snprintf(used, sizeof used, "%.3g %%", 100 * o->worst_fraction);
	report_table_text(t, o->worst_fraction > 0 ? used : ".");
	report_table_text(t, o->worst_fraction > 0 ? index_text(o->tensor, o->worst, at) : ".");
	report_table_count(t, o->wrong);
}

static void print_described(struct report_table *t, const struct values_output *o)
{
	char text[20];
	cell(t, o->min);
	cell(t, o->max);
	report_table_count(t, o->nans);
	snprintf(text, sizeof text, "%016" PRIx64, o->checksum);
	report_table_text(t, text);
}

static bool is_compared(const struct values *v)
{
	for (unsigned i = 0; i < v->noutputs; i++)
		if (!v->outputs[i].compared)
			return false;
	return v->noutputs > 0;
}

static void print_head(const struct values *v, FILE *out)
{
	const struct npu_kernel *kernel = v->request.kernel;
	fprintf(out, "\nvalues    seed %" PRIu64 "   exp %s   ", v->request.seed, npu_exp_names[v->request.exp]);
	if (v->noutputs == 0)
		fprintf(out, "nothing to compare: the program has no output\n");
	else if (is_compared(v))
		fprintf(out, "compared with the plain reference in double\n");
	else if (kernel)
		fprintf(out, "not compared: %s has no reference\n", kernel->name);
	else
		fprintf(out, "not compared: this file has no reference\n");
}

static void print_unjudged(const struct values *v, FILE *out)
{
	for (unsigned i = 0; i < v->noutputs; i++)
		if (v->outputs[i].unjudged)
			fprintf(
			    out,
			    "%s: %s may be anything, not judged (fp32 overflows, or what is hidden is "
			    "not finite)\n",
			    v->outputs[i].tensor->name, npu_number_of(v->outputs[i].unjudged, "element").text);
}

bool values_print(const struct values *v, FILE *out, const struct report_style *style)
{
	static const char *const errors[] = { "tensor", "type",        "elements", "max abs error", "its bound",
					      "rms rel error", "bound used", "at", "wrong", NULL };
	static const char *const facts[] = { "tensor", "type", "elements", "min", "max", "NaN", "checksum", NULL };
	bool compared = is_compared(v);
	print_head(v, out);
	if (v->noutputs == 0)
		return !ferror(out);
	struct report_table *t = report_table_new(compared ? errors : facts);
	if (!t)
		return false;
	for (unsigned i = 0; i < v->noutputs; i++) {
		const struct values_output *o = &v->outputs[i];
		report_table_row(t, o->tensor->name);
		report_table_text(t, npu_dtype_name(o->tensor->dtype));
		report_table_count(t, o->elements);
		if (compared)
			print_compared(t, o);
		else
			print_described(t, o);
	}
	bool ok = report_table_print(t, out, style);
	print_unjudged(v, out);
	return ok && !ferror(out);
}

/* ---- a mismatch ---- */

static void path_of(const struct npu_program *p, uint32_t region, char *out, size_t size)
{
	size_t used = 0;
	if (p->regions[region].parent != NPU_NO_REGION) {
		path_of(p, p->regions[region].parent, out, size);
		used = strlen(out);
		used += (size_t)snprintf(out + used, size - used, "/");
	}
	if (used < size)
		snprintf(out + used, size - used, "%s", p->regions[region].name);
}

static void note_writer(const struct npu_program *p, uint32_t insn, struct npu_error *err)
{
	char text[512], place[512], region[256] = "";
	if (insn == NPU_EXEC_NOBODY) {
		npu_error_note(err, "    no instruction wrote it");
		return;
	}
	npu_insn_print(p, insn, text, sizeof text);
	npu_error_note(err, "    written last by #%" PRIu32 " %s", insn, text);
	if (p->region[insn] != NPU_NO_REGION)
		path_of(p, p->region[insn], region, sizeof region);
	if (p->place[insn].line || region[0])
		npu_error_note(err, "    %s%s%s%s%s", p->place[insn].line ? "at " : "",
			       p->place[insn].line ? npu_insn_place(p, insn, place, sizeof place) : "",
			       p->place[insn].line && region[0] ? ", " : "", region[0] ? "in region " : "", region);
}

char *values_mismatch_text(const struct values_output *o, char *out, size_t size)
{
	char at[128], bound[48] = "exactly";
	if (o->bound > 0)
		snprintf(bound, sizeof bound, "within %.3g", o->bound);
	snprintf(out, size, "%s%s is %.9g, expected %.9g %s; %s of %s %s wrong", o->tensor->name,
		 index_text(o->tensor, o->first_wrong, at), o->got, o->expected, bound, npu_count_text(o->wrong).text,
		 npu_number_of(o->elements, "element").text, o->wrong == 1 ? "is" : "are");
	return out;
}

bool values_mismatch(const struct values *v, unsigned output, struct npu_error *err)
{
	const struct values_output *o = &v->outputs[output];
	char text[640];
	if (o->wrong == 0)
		return false;
	npu_fail(err, NPU_ERR_MISMATCH, "%s", values_mismatch_text(o, text, sizeof text));
	note_writer(v->request.program, o->writer, err);
	return true;
}

/* ---- the report ---- */

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *output_json(const struct values_output *o)
{
	char checksum[20];
	bool compared = o->compared;
	snprintf(checksum, sizeof checksum, "%016" PRIx64, o->checksum);
	json_t *row = json_object();
	json_object_set_new(row, "name", report_json_text(o->tensor->name));
	json_object_set_new(row, "dtype", json_string(npu_dtype_name(o->tensor->dtype)));
	json_object_set_new(row, "elements", json_integer((json_int_t)o->elements));
	json_object_set_new(row, "checksum", json_string(checksum));
	json_object_set_new(row, "min", real(o->min));
	json_object_set_new(row, "max", real(o->max));
	json_object_set_new(row, "nans", json_integer((json_int_t)o->nans));
	json_object_set_new(row, "max_abs_error", real(compared ? o->max_abs : NAN));
	json_object_set_new(row, "max_rel_error", real(compared ? o->max_rel : NAN));
	json_object_set_new(row, "rms_rel_error", real(compared ? o->rms_rel : NAN));
	json_object_set_new(row, "bound", real(compared ? o->abs_bound : NAN));
	json_object_set_new(row, "bound_fraction", real(compared ? o->worst_fraction : NAN));
	json_object_set_new(row, "worst_index", json_integer((json_int_t)o->worst));
	json_object_set_new(row, "unjudged", json_integer((json_int_t)o->unjudged));
	json_object_set_new(row, "wrong", json_integer((json_int_t)o->wrong));
	return row;
}

json_t *values_json(const struct values *computed)
{
	const struct values *v = computed && computed->executed ? computed : NULL;
	json_t *values = json_object(), *rows = json_array();
	const char *reference = !v ? "" : !is_compared(v) ? "none" : v->request.kernel ? "kernel" : "file";
	json_object_set_new(values, "exp", json_string(v ? npu_exp_names[v->request.exp] : ""));
	json_object_set_new(values, "seed", json_integer(v ? (json_int_t)v->request.seed : 0));
	json_object_set_new(values, "reference", json_string(reference));
	for (unsigned i = 0; v && i < v->noutputs; i++)
		json_array_append_new(rows, output_json(&v->outputs[i]));
	json_object_set_new(values, "tensors", rows);
	return values;
}
