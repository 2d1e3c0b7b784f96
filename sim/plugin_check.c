/* SPDX-License-Identifier: Apache-2.0 */
/* What npusim must be able to rely on in the struct of a plug-in. Strings are read, so a wild pointer crashes here: in
 * the child, during the call "loading it". */
#include "sim/plugin_parts.h"

#include <inttypes.h>
#include <string.h>

enum { LONGEST_NAME = 63, LONGEST_TEXT = 1023 };

/* Letters, digits and _, as keys of the command line are; not beginning with a digit. */
static bool is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", digits[] = "0123456789";
	size_t n = strnlen(text, LONGEST_NAME + 1);
	if (n == 0 || n > LONGEST_NAME || !strchr(letters, text[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!strchr(letters, text[i]) && !strchr(digits, text[i]))
			return false;
	return true;
}

/* What is wrong with a text, which shall be one line; NULL: nothing. */
static const char *fault_of(const char *text)
{
	if (!text)
		return "missing";
	if (strnlen(text, LONGEST_TEXT + 1) > LONGEST_TEXT)
		return "longer than 1,023 bytes";
	return strchr(text, '\n') ? "more than one line" : NULL;
}

/* What is wrong with a name. */
static const char *name_fault_of(const char *name)
{
	if (!name)
		return "missing";
	return is_name(name) ? NULL : "to have 1 to 63 letters, digits and _, and no digit first";
}

static int64_t choices_of(const struct npu_param *p)
{
	int64_t n = 0;
	while (p->choices && p->choices[n])
		n++;
	return n;
}

/* An error about a parameter. */
struct place {
	const char *file;
	const char *param;
	struct npu_error *err;
};

static bool wrong(const struct place *at, const char *what)
{
	return npu_fail_at(at->err, NPU_ERR_PLUGIN, at->file, 0, 0, "its parameter %s %s", at->param, what);
}

static bool amiss(const struct place *at, const char *what, const char *fault)
{
	return npu_fail_at(at->err, NPU_ERR_PLUGIN, at->file, 0, 0, "its parameter %s: the %s is %s", at->param, what,
			   fault);
}

static bool outside(const struct place *at, const char *what, int64_t value, int64_t least, int64_t most)
{
	return npu_fail_at(at->err, NPU_ERR_PLUGIN, at->file, 0, 0,
			   "its parameter %s: %s %" PRId64 ", outside of %" PRId64 " to %" PRId64, at->param, what, value,
			   least, most);
}

static bool check_int(const struct place *at, const struct npu_param *p)
{
	if (p->min > p->max)
		return npu_fail_at(at->err, NPU_ERR_PLUGIN, at->file, 0, 0,
				   "its parameter %s has a min of %" PRId64 " above its max of %" PRId64, at->param, p->min,
				   p->max);
	return p->derived || (p->initial >= p->min && p->initial <= p->max) ||
	       outside(at, "the initial value is", p->initial, p->min, p->max);
}

static bool check_choice(const struct place *at, const struct npu_param *p)
{
	int64_t n = choices_of(p);
	if (n == 0)
		return wrong(at, "has no choices");
	for (int64_t i = 0; i < n; i++) {
		char what[48];
		const char *fault = p->choices[i][0] ? fault_of(p->choices[i]) : "empty";
		snprintf(what, sizeof what, "name of choice %" PRId64, i);
		if (fault)
			return amiss(at, what, fault);
	}
	return (p->initial >= 0 && p->initial < n) || outside(at, "the initial choice is", p->initial, 0, n - 1);
}

/* "mask=window": a parameter with that choice. */
static bool check_with(const struct place *at, const struct npu_kernel *k, const char *with)
{
	char name[LONGEST_NAME + 1];
	size_t n = strcspn(with, "=");
	snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), with);
	int i = with[n] ? npu_param_index(k, name) : -1;
	for (int64_t c = 0; i >= 0 && c < choices_of(&k->params[i]); c++)
		if (k->params[i].type == NPU_PARAM_CHOICE && strcmp(k->params[i].choices[c], with + n + 1) == 0)
			return true;
	return wrong(at, "has a `with` that is no choice of another parameter");
}

static bool check_param(const struct npu_kernel *k, unsigned i, const char *file, struct npu_error *err)
{
	char number[32];
	const struct npu_param *p = &k->params[i];
	struct place at = { file, number, err };
	snprintf(number, sizeof number, "number %u", i);
	const char *fault = name_fault_of(p->name);
	if (fault)
		return amiss(&at, "name", fault);
	at.param = p->name;
	if (npu_param_index(k, p->name) != (int)i)
		return wrong(&at, "is there twice");
	if ((fault = fault_of(p->unit)))
		return amiss(&at, "unit", fault);
	if ((fault = fault_of(p->meaning)))
		return amiss(&at, "meaning", fault);
	if (p->derived && !k->resolve)
		return wrong(&at, "is derived, and there is no resolve to derive it");
	switch (p->type) {
	case NPU_PARAM_INT:
		return check_int(&at, p);
	case NPU_PARAM_CHOICE:
		return check_choice(&at, p);
	}
	return wrong(&at, "has a type that is neither NPU_PARAM_INT nor NPU_PARAM_CHOICE");
}

bool plugin_check(const struct npu_kernel *k, const char *file, struct npu_error *err)
{
	const char *fault = name_fault_of(k->name);
	if (fault)
		return npu_fail_at(err, NPU_ERR_PLUGIN, file, 0, 0, "its kernel: the name is %s", fault);
	if ((fault = fault_of(k->summary)))
		return npu_fail_at(err, NPU_ERR_PLUGIN, file, 0, 0, "its kernel: the summary is %s", fault);
	if (!k->emit)
		return npu_fail_at(err, NPU_ERR_PLUGIN, file, 0, 0, "its kernel has no emit");
	if (k->nparams > NPU_MAX_PARAMS)
		return npu_fail_at(err, NPU_ERR_PLUGIN, file, 0, 0, "its kernel has %u parameters, %d are possible",
				   k->nparams, NPU_MAX_PARAMS);
	if (k->nparams && !k->params)
		return npu_fail_at(err, NPU_ERR_PLUGIN, file, 0, 0, "its kernel has %u parameters and no list of them",
				   k->nparams);
	if (!(k->tolerance >= 0))
		return npu_fail_at(err, NPU_ERR_PLUGIN, file, 0, 0, "its kernel has a tolerance below 0");
	for (unsigned i = 0; i < k->nparams; i++)
		if (!k->params[i].name)
			return check_param(k, i, file, err);
	for (unsigned i = 0; i < k->nparams; i++)
		if (!check_param(k, i, file, err))
			return false;
	/* Now that all choices are known to be there. */
	for (unsigned i = 0; i < k->nparams; i++)
		if (k->params[i].with &&
		    !check_with(&(struct place){ file, k->params[i].name, err }, k, k->params[i].with))
			return false;
	return true;
}

bool plugin_check_args(const struct npu_kernel *k, const struct npu_args *args, const char *file, struct npu_error *err)
{
	for (unsigned i = 0; i < k->nparams; i++) {
		const struct npu_param *p = &k->params[i];
		struct place at = { file, p->name, err };
		int64_t least = p->type == NPU_PARAM_CHOICE ? 0 : p->min;
		int64_t most = p->type == NPU_PARAM_CHOICE ? choices_of(p) - 1 : p->max;
		if (args->value[i] < least || args->value[i] > most)
			return outside(&at, "resolve made it", args->value[i], least, most);
	}
	return true;
}
