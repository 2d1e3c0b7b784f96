/* SPDX-License-Identifier: Apache-2.0 */
/* The life of values: memory asked for, tensors filled, the program executed, outputs compared one after the other. */
#include "sim/values_parts.h"

#include "isa/access.h"
#include "kernels/reference.h"
#include "sim/output.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_TENSORS = 8, MANY_TENSORS = 1024 };

uint64_t values_elements(const struct npu_tensor *t)
{
	uint64_t n = 1;
	for (uint32_t i = 0; i < t->rank; i++)
		n *= t->shape[i];
	return n;
}

bool values_is_input(const struct npu_tensor *t)
{
	return t->dir == NPU_TENSOR_IN || t->dir == NPU_TENSOR_INOUT;
}

bool values_is_output(const struct npu_tensor *t)
{
	return t->dir == NPU_TENSOR_OUT || t->dir == NPU_TENSOR_INOUT;
}

/* "A, B, C" of a few, the nearest of many. */
static void list_tensors(const struct npu_program *p, const char *name, char *out, size_t size)
{
	const char *names[MANY_TENSORS];
	size_t used = 0;
	uint32_t n = p->ntensors < MANY_TENSORS ? p->ntensors : MANY_TENSORS;
	out[0] = '\0';
	for (uint32_t i = 0; i < n; i++)
		names[i] = p->tensors[i].name;
	const char *meant = n > FEW_TENSORS ? npu_nearest(name, names, n) : NULL;
	if (meant)
		snprintf(out, size, "; did you mean %s?", meant);
	for (uint32_t i = 0; n <= FEW_TENSORS && i < n && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "; it has ", names[i]);
}

const struct npu_tensor *values_find(const struct npu_program *p, const char *name, struct npu_error *err)
{
	char there[512];
	for (uint32_t i = 0; i < p->ntensors; i++)
		if (!strcmp(p->tensors[i].name, name))
			return &p->tensors[i];
	list_tensors(p, name, there, sizeof there);
	npu_fail(err, NPU_ERR_VALUE, "the program has no tensor \"%s\"%s", name, there);
	return NULL;
}

bool values_has(const struct npu_program *p, const char *name, struct npu_error *err)
{
	return values_find(p, name, err) != NULL;
}

/* exp of isa/exec.h, as relative errors. */
static double exp_error(enum npu_exp exp)
{
	switch (exp) {
	case NPU_EXP_LUT:
		return 0x1p-15;
	case NPU_EXP_POLY:
		return 0x1p-18;
	case NPU_EXP_EXACT:
	case NPU_EXP_CHOICES:
		break;
	}
	return 0x1p-24;
}

/* ---- before ---- */

/* Scores of a head in double, which the reference of attention holds. */
static uint64_t reference_scratch(const struct values_request *r)
{
	uint64_t most = 0;
	for (uint32_t i = 0; r->macro && r->macro->tensors && i < r->program->ntensors; i++) {
		uint64_t bytes = values_reference_memory(r->macro->tensors[i].reference);
		most = bytes > most ? bytes : most;
	}
	if (!r->kernel)
		return most;
	uint64_t seq = (uint64_t)npu_arg(r->kernel, r->args, "seq", 0);
	uint64_t queries = (uint64_t)npu_arg(r->kernel, r->args, "seq_q", npu_arg(r->kernel, r->args, "chunk", 0));
	return seq * queries * sizeof(double);
}

bool values_has_any_reference(const struct values_request *r)
{
	bool any = r->kernel && r->kernel->reference;
	for (uint32_t i = 0; !any && i < r->program->ntensors; i++)
		any = values_has_reference(r, i);
	return any;
}

/* DRAM; doubles of what the reference reads and writes; results and bounds of
 * one output at a time. */
static uint64_t memory_of(const struct values_request *r)
{
	uint64_t dram = 0, doubles = 0, largest = 0;
	for (uint32_t i = 0; i < r->program->ntensors; i++) {
		const struct npu_tensor *t = &r->program->tensors[i];
		uint64_t n = values_elements(t);
		dram += t->bytes;
		if (t->dir != NPU_TENSOR_TEMP && values_has_any_reference(r))
			doubles += n;
		if (t->dir != NPU_TENSOR_TEMP && n > largest)
			largest = n;
	}
	return dram + (doubles + 2 * largest) * sizeof(double) + (values_has_any_reference(r) ? reference_scratch(r) : 0);
}

static bool fits(const struct values_request *r, struct npu_error *err)
{
	uint64_t bytes = memory_of(r);
	if (bytes <= VALUES_MAX_BYTES)
		return true;
	return npu_fail(
	    err, NPU_ERR_MEMORY,
	    "--values: the tensors of %s and their reference in double take %.1f GiB of memory, more than the "
	    "%.0f GiB that are allowed; fewer heads or shorter lengths take less",
	    r->program->name, (double)bytes / (1 << 30), (double)VALUES_MAX_BYTES / (1 << 30));
}

static bool allocate(struct values *v, struct npu_error *err)
{
	const struct npu_program *p = v->request.program;
	struct npu_exec_options options = { .exp = v->request.exp, .max_dram_bytes = VALUES_MAX_BYTES };
	v->outputs = calloc(p->ntensors + 1, sizeof *v->outputs);
	v->exec = npu_exec_new(p, &options, err);
	if (!v->outputs)
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; v->outputs && i < p->ntensors; i++)
		if (values_is_output(&p->tensors[i]))
			v->outputs[v->noutputs++] =
			    (struct values_output){ .tensor = &p->tensors[i],
						    .elements = values_elements(&p->tensors[i]) };
	for (uint32_t i = 0; i < p->ninsns; i++)
		v->macs += npu_insn_macs(&p->insns[i]);
	return v->outputs && v->exec;
}

struct values *values_new(const struct values_request *request, struct npu_error *err)
{
	struct values *v = calloc(1, sizeof *v);
	if (!v) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		return NULL;
	}
	v->request = *request;
	if (!fits(request, err) || !allocate(v, err) || !values_fill(v, err)) {
		values_free(v);
		return NULL;
	}
	v->request.files = NULL;
	v->request.nfiles = 0;
	return v;
}

static void free_tensors(struct values *v)
{
	for (uint32_t i = 0; v->tensors && i < v->request.program->ntensors; i++)
		free(v->tensors[i].at);
	free(v->tensors);
	v->tensors = NULL;
}

void values_free(struct values *v)
{
	if (!v)
		return;
	free_tensors(v);
	npu_exec_free(v->exec);
	free(v->outputs);
	free(v);
}

/* ---- execution and reference ---- */

/* The elements of a tensor now; the caller frees them. */
static double *elements_of(const struct values *v, const struct npu_tensor *t, struct npu_error *err)
{
	uint64_t n = values_elements(t);
	double *values = calloc(n ? n : 1, sizeof *values);
	if (!values) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory for tensor %s", t->name);
		return NULL;
	}
	if (npu_exec_tensor_read(v->exec, t, values, err))
		return values;
	free(values);
	return NULL;
}

/* Before execution: what the reference starts from. */
static bool read_tensors(struct values *v, struct npu_error *err)
{
	const struct npu_program *p = v->request.program;
	v->tensors = calloc(p->ntensors + 1, sizeof *v->tensors);
	if (!v->tensors)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < p->ntensors; i++) {
		const struct npu_tensor *t = &p->tensors[i];
		v->tensors[i].name = t->name;
		v->tensors[i].input = t->dir == NPU_TENSOR_IN;
		if (t->dir == NPU_TENSOR_TEMP)
			continue;
		v->tensors[i].count = values_elements(t);
		v->tensors[i].at = elements_of(v, t, err);
		if (!v->tensors[i].at)
			return false;
	}
	return true;
}

/* What a reference leaves out would be compared with zeros. */
static bool all_written(const struct values *v, struct npu_error *err)
{
	const struct npu_program *p = v->request.program;
	for (uint32_t i = 0; i < p->ntensors; i++)
		if (p->tensors[i].dir == NPU_TENSOR_OUT && !v->tensors[i].written)
			return npu_fail(err, NPU_ERR_PLUGIN, "the reference of %s does not write %s",
					v->request.kernel->name, p->tensors[i].name);
	return true;
}

static bool refer(struct values *v, struct npu_error *err)
{
	const struct values_request *r = &v->request;
	struct npu_reference_io io = { r->program->ntensors, v->tensors };
	if (!r->kernel)
		return true;
	if (r->kernel->reference(r->args, &io))
		return all_written(v, err);
	if (r->kernel->abi) /* a plug-in, which looks for tensors by name and size */
		return npu_fail(err, NPU_ERR_PLUGIN,
				"the reference of %s failed: it found a tensor missing, of another size, or an input to write, or "
				"no memory",
				r->kernel->name);
	return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the reference of %s", r->kernel->name);
}

static bool stores_to(const struct npu_program *p, uint32_t insn, uint64_t addr)
{
	struct npu_piece_walk walk;
	struct npu_piece piece;
	if (npu_op_engine(p->insns[insn].op) != NPU_ENGINE_STORE)
		return false;
	npu_piece_walk_init(&walk, p, &p->insns[insn]);
	while (npu_piece_next(&walk, &piece))
		if (addr - piece.dram < piece.bytes)
			return true;
	return false;
}

/* The last instruction in program order that stores the byte at `addr`. */
static uint32_t writer_of(const struct npu_program *p, uint64_t addr)
{
	for (uint32_t i = p->ninsns; i-- > 0;)
		if (stores_to(p, i, addr))
			return i;
	return NPU_EXEC_NOBODY;
}

static bool compare_output(struct values *v, struct values_output *o, const double *got, struct npu_error *err)
{
	const struct values_request *r = &v->request;
	struct npu_reference_io io = { r->program->ntensors, v->tensors };
	double *bound = malloc((o->elements ? o->elements : 1) * sizeof *bound);
	if (!bound)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the bounds of tensor %s", o->tensor->name);
	uint32_t t = (uint32_t)(o->tensor - r->program->tensors);
	bool ok = true;
	if (values_has_reference(r, t)) {
		double *expected = malloc((o->elements ? o->elements : 1) * sizeof *expected);
		ok = expected ? values_reference(v, t, exp_error(r->exp), expected, bound, err)
			      : npu_fail(err, NPU_ERR_MEMORY, "out of memory for the reference of %s", o->tensor->name);
		if (ok)
			values_compare(o, got, expected, bound);
		free(expected);
	} else if (r->kernel && npu_reference_bound(r->kernel, r->args, &io, exp_error(r->exp), o->tensor->name, bound)) {
		values_compare(o, got, v->tensors[t].at, bound);
	}
	if (o->wrong)
		o->writer = writer_of(r->program, npu_exec_tensor_addr(o->tensor, o->first_wrong));
	free(bound);
	return ok;
}

bool values_run(struct values *v, struct npu_error *err)
{
	bool reference = values_has_any_reference(&v->request);
	if (reference && (!read_tensors(v, err) || !refer(v, err)))
		return false;
	if (!npu_exec_run(v->exec, err))
		return false;
	for (unsigned i = 0; i < v->noutputs; i++) {
		struct values_output *o = &v->outputs[i];
		double *got = elements_of(v, o->tensor, err);
		if (!got)
			return false;
		values_describe(v, o, got);
		bool ok = !reference || compare_output(v, o, got, err);
		free(got);
		if (!ok)
			return false;
	}
	free_tensors(v);
	v->executed = true;
	return true;
}

unsigned values_wrong(const struct values *v)
{
	unsigned n = 0;
	for (unsigned i = 0; i < v->noutputs; i++)
		n += v->outputs[i].wrong > 0;
	return n;
}

/* ---- afterwards ---- */

bool values_dump(const struct values *v, const char *name, const char *path, struct npu_error *err)
{
	char block[1 << 16];
	const struct npu_tensor *t = values_find(v->request.program, name, err);
	struct output *output = t ? output_open(path, err) : NULL;
	if (!output)
		return false;
	uint64_t bytes = npu_tensor_bytes(t);
	for (uint64_t at = 0; at < bytes; at += sizeof block) {
		uint64_t n = bytes - at < sizeof block ? bytes - at : sizeof block;
		npu_exec_dram_read(v->exec, t->addr + at, block, n);
		fwrite(block, 1, n, output_stream(output)); /* a stream that failed is told by the commit */
	}
	return output_commit(output, err);
}

double values_seconds(const struct values_request *r)
{
	/* Compared: execution, reference and bounds. An input is filled and read by the reference; an output
	 * is referred to and judged, too, and has passed the vector engine. */
	const double mac_executed = 0.5e-9, mac_compared = 1.7e-9, filled = 0.07e-6, judged = 0.25e-6, byte = 1e-9,
		     instruction = 0.5e-6;
	const struct npu_program *p = r->program;
	double macs = 0, elements = 0, bytes = 0;
	for (uint32_t i = 0; i < p->ninsns; i++) {
		struct npu_access access[NPU_MAX_ACCESSES];
		unsigned n = npu_insn_accesses(&p->insns[i], access);
		macs += (double)npu_insn_macs(&p->insns[i]);
		for (unsigned a = 0; a < n; a++)
			bytes += (double)access[a].rows * (double)access[a].row_bytes;
	}
	for (uint32_t i = 0; i < p->ntensors; i++)
		elements += (double)values_elements(&p->tensors[i]) * (p->tensors[i].dir == NPU_TENSOR_IN ? filled : judged);
	return macs * (values_has_any_reference(r) ? mac_compared : mac_executed) + elements + bytes * byte +
	       p->ninsns * instruction;
}
