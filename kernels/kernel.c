/* SPDX-License-Identifier: Apache-2.0 */
/* The list of kernels, and what is the same for all of them: finding one, reading its parameters, building it. */
#include "kernels/kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/units.h"
#include "kernels/kernels.h"

const struct npu_kernel *const npu_kernels[] = {
	&npu_gemm,
	&npu_qk_tiled,
	&npu_mask_softmax,
	&npu_pv_tiled,
	&npu_attention,
	&npu_flash_attention,
	&npu_kv_fetch_paged,
	&npu_decode_attention_paged,
	&npu_prefill_attention_paged,
	&npu_gemv,
	&npu_conv2d,
	&npu_rmsnorm,
	&npu_layernorm,
	&npu_rope,
	&npu_swiglu,
	&npu_gelu,
	&npu_softcap,
	&npu_quantise,
	&npu_residual_add,
	&npu_embedding,
	NULL,
};

const struct npu_kernel *npu_kernel_find(const char *name)
{
	for (const struct npu_kernel *const *k = npu_kernels; *k; k++)
		if (!strcmp((*k)->name, name))
			return *k;
	return NULL;
}

int npu_param_index(const struct npu_kernel *k, const char *name)
{
	for (unsigned i = 0; i < k->nparams; i++)
		if (!strcmp(k->params[i].name, name))
			return (int)i;
	return -1;
}

bool npu_param_matters(const struct npu_kernel *k, const struct npu_args *args, unsigned param)
{
	const char *with = k->params[param].with;
	if (!with)
		return true;
	char name[64];
	const char *equals = strchr(with, '=');
	snprintf(name, sizeof name, "%.*s", (int)(equals - with), with);
	int i = npu_param_index(k, name);
	return i >= 0 && !strcmp(k->params[i].choices[args->value[i]], equals + 1);
}

int64_t npu_arg(const struct npu_kernel *k, const struct npu_args *args, const char *name, int64_t missing)
{
	int i = npu_param_index(k, name);
	return i < 0 ? missing : args->value[i];
}

void npu_args_init(const struct npu_kernel *k, struct npu_args *args)
{
	*args = (struct npu_args){ 0 };
	for (unsigned i = 0; i < k->nparams; i++)
		args->value[i] = k->params[i].initial;
}

/* `text` is the value as it was written; NULL: it was not. */
static bool in_range(const struct npu_param *p, int64_t value, const char *text, struct npu_error *err)
{
	char number[24];
	const char *unit = p->unit ? p->unit : "";
	if (value >= p->min && value <= p->max)
		return true;
	snprintf(number, sizeof number, "%" PRId64, value);
	return npu_fail(err, NPU_ERR_VALUE, "%s=%.40s: too %s; %s must be %" PRId64 " to %" PRId64 "%s%s%s", p->name,
			text ? text : number, value < p->min ? "small" : "large", p->name, p->min, p->max,
			*unit ? " " : "", unit, *unit ? "s" : "");
}

bool npu_args_check(const struct npu_kernel *k, const struct npu_args *args, struct npu_error *err)
{
	for (unsigned i = 0; i < k->nparams; i++) {
		const struct npu_param *p = &k->params[i];
		if (p->derived && !args->named[i])
			continue;
		if (p->type == NPU_PARAM_INT && !in_range(p, args->value[i], NULL, err))
			return false;
	}
	return true;
}

/* A decimal number with an optional unit, to the end of the text; beyond int64_t it is the last one of its sign. */
static bool parse_number(const char *text, int64_t *value)
{
	static const struct {
		const char *text;
		int64_t factor;
	} units[] = { { "", 1 }, { "k", 1 << 10 }, { "KiB", 1 << 10 }, { "M", 1 << 20 }, { "MiB", 1 << 20 } };
	char *end;
	long long number = strtoll(text, &end, 10);
	if (end == text || text[0] == ' ')
		return false;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (strcmp(end, units[i].text) != 0)
			continue;
		if (__builtin_mul_overflow((int64_t)number, units[i].factor, value))
			*value = number < 0 ? INT64_MIN : INT64_MAX;
		return true;
	}
	return false;
}

static bool parse_choice(const struct npu_param *p, const char *text, int64_t *value, struct npu_error *err)
{
	char list[128] = "";
	size_t length = 0;
	for (int64_t i = 0; p->choices[i]; i++) {
		if (!strcmp(text, p->choices[i])) {
			*value = i;
			return true;
		}
		if (length < sizeof list)
			length +=
			    (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? "|" : "", p->choices[i]);
	}
	return npu_fail(err, NPU_ERR_VALUE, "%s=%s: must be %s", p->name, text, list);
}

bool npu_args_set(const struct npu_kernel *k, struct npu_args *args, const char *assignment, struct npu_error *err)
{
	const char *equals = strchr(assignment, '=');
	int length = equals ? (int)(equals - assignment) : (int)strlen(assignment);
	char name[64];
	snprintf(name, sizeof name, "%.*s", length, assignment);
	if (length == 0)
		return npu_fail(err, NPU_ERR_VALUE, "%s: a parameter is written NAME=VALUE", assignment);
	if (!equals)
		return npu_fail(err, NPU_ERR_VALUE, "%s: a parameter is written %s=VALUE", name, name);

	int i = npu_param_index(k, name);
	if (i < 0) {
		const char *names[NPU_MAX_PARAMS];
		for (unsigned j = 0; j < k->nparams; j++)
			names[j] = k->params[j].name;
		const char *near = npu_nearest(name, names, k->nparams);
		return npu_fail(err, NPU_ERR_VALUE, "%s has no parameter %s%s%s%s", k->name, name,
				near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
	}

	const struct npu_param *p = &k->params[i];
	int64_t value = 0;
	if (!equals[1])
		return npu_fail(err, NPU_ERR_VALUE, "%s: the value is missing", assignment);
	if (p->type == NPU_PARAM_CHOICE) {
		if (!parse_choice(p, equals + 1, &value, err))
			return false;
	} else {
		if (!parse_number(equals + 1, &value))
			return npu_fail(err, NPU_ERR_VALUE, "%s: not a whole number; %s must be %" PRId64 " to %" PRId64,
					assignment, p->name, p->min, p->max);
		if (!in_range(p, value, equals + 1, err))
			return false;
	}
	args->value[i] = value;
	args->named[i] = true;
	return true;
}

char *npu_args_print(const struct npu_kernel *k, const struct npu_args *args, char *out, uint64_t size)
{
	uint64_t length = 0;
	if (size)
		out[0] = '\0';
	for (unsigned i = 0; i < k->nparams && length < size; i++) {
		const struct npu_param *p = &k->params[i];
		const char *space = i ? " " : "";
		int n =
		    p->type == NPU_PARAM_CHOICE
			? snprintf(out + length, size - length, "%s%s=%s", space, p->name, p->choices[args->value[i]])
			: snprintf(out + length, size - length, "%s%s=%" PRId64, space, p->name, args->value[i]);
		length += (uint64_t)n;
	}
	return out;
}

/* Tensors of a kernel, resolved. */
static bool lay(const struct npu_kernel *k, const struct npu_capacity *capacity, const struct npu_args *args,
		struct npu_laid *laid)
{
	struct npu_builder *b = npu_builder_new(k->name, capacity);
	if (!b)
		return false;
	npu_builder_lay(b, laid);
	k->emit(b, args);
	/* It stops at its first instruction; what else stops it is told where the program is built. */
	const struct npu_error *err = npu_builder_error(b);
	bool ok = err && err->code == NPU_ERR_INTERNAL;
	npu_builder_discard(b);
	return ok;
}

/* `as`: how its tensors lie, NULL: behind dram_from. */
static struct npu_program *build(const struct npu_kernel *k, const struct npu_capacity *capacity, struct npu_args *args,
				 uint64_t dram_from, const struct npu_laid *as, struct npu_error *err)
{
	if (!(k->resolve ? k->resolve(capacity, args, err) : npu_args_check(k, args, err)))
		return NULL;
	uint64_t instructions = k->expect ? k->expect(args).instructions : 0;
	if (instructions > NPU_MAX_INSNS) {
		npu_fail(err, NPU_ERR_FIT,
			 "%s: %s instructions, %s are possible: larger tiles or shorter lengths need fewer", k->name,
			 npu_count_text(instructions).text, npu_count_text(NPU_MAX_INSNS).text);
		return NULL;
	}
	struct npu_builder *b = npu_builder_new(k->name, capacity);
	if (b && as)
		npu_builder_lay_as(b, as);
	else if (b)
		npu_builder_dram_from(b, dram_from);
	bool emitted = b && k->emit(b, args);
	bool failed = b && npu_builder_failed(b);
	struct npu_error found = { 0 };
	struct npu_program *program = npu_builder_finish(b, &found);
	/* What a kernel of others declares is not what the person who runs it wrote. */
	if (!program && !failed && k->abi && found.code == NPU_ERR_VALUE)
		found.code = NPU_ERR_PLUGIN;
	if (!program && err)
		*err = found;
	if (program && !emitted && !failed) {
		/* A kernel that gives up without an error of the builder. */
		npu_program_free(program);
		npu_fail(err, NPU_ERR_VALUE, "%s: the kernel gave up", k->name);
		return NULL;
	}
	return program;
}

struct npu_program *npu_kernel_build_from(const struct npu_kernel *k, const struct npu_capacity *capacity,
					  struct npu_args *args, uint64_t dram_from, struct npu_error *err)
{
	return build(k, capacity, args, dram_from, NULL, err);
}

struct npu_program *npu_kernel_build_part(const struct npu_kernel *k, const struct npu_capacity *capacity,
					  struct npu_args *args, const struct npu_args *whole, struct npu_error *err)
{
	struct npu_laid own, as;
	if (!(k->resolve ? k->resolve(capacity, args, err) : npu_args_check(k, args, err)))
		return NULL;
	bool part = lay(k, capacity, args, &own) && lay(k, capacity, whole, &as) && npu_laid_part(&own, &as);
	return build(k, capacity, args, 0, part ? &as : NULL, err);
}

struct npu_program *npu_kernel_build(const struct npu_kernel *k, const struct npu_capacity *capacity,
				     struct npu_args *args, struct npu_error *err)
{
	return npu_kernel_build_from(k, capacity, args, 0, err);
}
