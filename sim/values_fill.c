/* SPDX-License-Identifier: Apache-2.0 */
/* What tensors hold before a program runs: files, or streams that seed and name decide. No function of libm: the same
 * bytes on every host. */
#include "isa/number.h"
#include "isa/random.h"
#include "sim/values_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* fp32 tensors hold sums of products, such as scores, rather than operands. */
enum { FP32_SPREAD = 8, INT32_SPREAD = 1 << 15 };

static uint64_t stream_of(const char *name, uint64_t seed)
{
	uint64_t state = seed;
	for (; *name; name++) {
		state ^= (unsigned char)*name;
		state = npu_random_next(&state);
	}
	return state;
}

/* Mean 0, variance 1, at most sqrt(12): four uniform numbers of 16 bits, added. */
static double bell(uint64_t *state)
{
	const double sqrt_3 = 0x1.bb67ae8584caap0;
	uint64_t x = npu_random_next(state);
	double sum = (double)(x & 0xffff) + (double)(x >> 16 & 0xffff) + (double)(x >> 32 & 0xffff) + (double)(x >> 48);
	return (sum / 65536 - 2 + 2.0 / 65536) * sqrt_3;
}

static double uniform(uint64_t *state, double least, double most)
{
	double unit = (double)(npu_random_next(state) >> 11) * 0x1p-53;
	return least + (double)(int64_t)(unit * (most - least + 1));
}

static double value_of(enum npu_dtype type, uint64_t *state)
{
	switch (type) {
	case NPU_FP16:
	case NPU_BF16:
		return bell(state);
	case NPU_FP32:
		return FP32_SPREAD * bell(state);
	case NPU_INT32:
		return uniform(state, -INT32_SPREAD, INT32_SPREAD);
	case NPU_INT8:
	case NPU_UINT8:
	case NPU_INT4:
	case NPU_UINT4:
	case NPU_DTYPES:
		break;
	}
	return uniform(state, npu_int_min(type), npu_int_max(type));
}

void values_seeded(const struct npu_tensor *t, uint64_t seed, double *out, uint64_t n)
{
	uint64_t state = stream_of(t->name, seed);
	for (uint64_t i = 0; i < n; i++)
		out[i] = value_of(t->dtype, &state);
}

/* A tensor's own seed decides what the command line does not. */
static uint64_t seed_of(const struct values_request *r, const struct npu_tensor *t)
{
	return t->seeded ? t->seed + r->seed - 1 : r->seed;
}

static double magnitude_of(const struct values_request *r, const struct npu_tensor *t)
{
	return r->kernel && r->kernel->magnitude ? r->kernel->magnitude(r->args, t->name) : 1;
}

static bool fill_seeded(struct values *v, const struct npu_tensor *t, struct npu_error *err)
{
	uint64_t n = values_elements(t);
	double *values = malloc((n ? n : 1) * sizeof *values);
	if (!values)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for tensor %s", t->name);
	values_seeded(t, seed_of(&v->request, t), values, n);
	double magnitude = magnitude_of(&v->request, t);
	for (uint64_t i = 0; magnitude != 1 && i < n; i++)
		values[i] *= magnitude;
	bool ok = npu_exec_tensor_write(v->exec, t, values, err);
	free(values);
	return ok;
}

static bool copy_file(struct values *v, const struct npu_tensor *t, FILE *in, const char *path, struct npu_error *err)
{
	char block[1 << 16];
	uint64_t at = 0, bytes = npu_tensor_bytes(t);
	size_t n;
	while (at <= bytes && (n = fread(block, 1, sizeof block, in)) > 0) {
		uint64_t room = bytes - at;
		if (!npu_exec_dram_write(v->exec, t->addr + at, block, n < room ? n : room))
			return npu_fail(err, NPU_ERR_MEMORY, "out of memory for tensor %s", t->name);
		at += n;
	}
	if (ferror(in))
		return npu_fail(err, NPU_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
	if (at == bytes)
		return true;
	if (at > bytes)
		return npu_fail(err, NPU_ERR_VALUE, "%s: larger than tensor %s, which is exactly %" PRIu64 " bytes",
				path, t->name, bytes);
	return npu_fail(err, NPU_ERR_VALUE, "%s: %" PRIu64 " bytes; tensor %s is exactly %" PRIu64, path, at, t->name,
			bytes);
}

static bool fill_from(struct values *v, const struct values_file *file, struct npu_error *err)
{
	const struct npu_tensor *t = values_find(v->request.program, file->tensor, err);
	if (!t)
		return false;
	if (!values_is_input(t))
		return npu_fail(err, NPU_ERR_VALUE, "--tensor %s: the program fills it; inputs can be given", t->name);
	FILE *in = fopen(file->path, "rb");
	if (!in)
		return npu_fail(err, NPU_ERR_IO, "%s: cannot be read: %s", file->path, strerror(errno));
	bool ok = copy_file(v, t, in, file->path, err);
	fclose(in);
	return ok;
}

bool values_fill(struct values *v, struct npu_error *err)
{
	const struct npu_program *p = v->request.program;
	for (uint32_t i = 0; i < p->ntensors; i++)
		if (values_is_input(&p->tensors[i]) && !fill_seeded(v, &p->tensors[i], err))
			return false;
	for (uint32_t i = 0; v->request.macro && v->request.macro->tensors && i < p->ntensors; i++) {
		const struct npu_macro_tensor *said = &v->request.macro->tensors[i];
		struct values_file own = { p->tensors[i].name, said->file };
		if (own.path && values_is_input(&p->tensors[i]) && !fill_from(v, &own, err)) {
			npu_error_place(err, said->source, said->line, said->column);
			return false;
		}
	}
	for (unsigned i = 0; i < v->request.nfiles; i++)
		if (!fill_from(v, &v->request.files[i], err))
			return false;
	return true;
}
