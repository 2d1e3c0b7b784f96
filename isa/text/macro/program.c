/* SPDX-License-Identifier: Apache-2.0 */
/* Macro assembly for those who want the program alone. */
#include <stddef.h>

#include "isa/macro.h"

static struct npu_program *assemble(const char *text, uint64_t nbytes, const char *file,
				    const struct npu_macro_options *options, struct npu_error *err)
{
	struct npu_macro *macro = npu_macro_text(text, nbytes, file, options, err);
	if (!macro)
		return NULL;
	struct npu_program *program = macro->program;
	macro->program = NULL;
	npu_macro_free(macro);
	return program;
}

struct npu_program *npu_asm_text(const char *text, uint64_t nbytes, const char *file, struct npu_error *err)
{
	return assemble(text, nbytes, file, NULL, err);
}

struct npu_program *npu_asm_macro(const char *text, uint64_t nbytes, const char *file,
				  const struct npu_capacity *capacity, const char *const *params, unsigned nparams,
				  struct npu_error *err)
{
	const struct npu_macro_options options = { .capacity = capacity, .params = params, .nparams = nparams };
	return assemble(text, nbytes, file, &options, err);
}
