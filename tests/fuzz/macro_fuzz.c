/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as macro assembly, or as a file that another one includes: refused with a message, or a program whose flat
 * text assembles to the same. */
#include "isa/macro.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
	if (!holds)
		abort();
}

static const struct npu_capacity machine = { .limits = { 1 << 20, 256 << 10, (uint64_t)4 << 30 },
					     .sram_groups = 4,
					     .sram_word_bytes = 32,
					     .accum_banks = 8,
					     .array_rows = 32,
					     .array_cols = 32,
					     .vector_lanes = 32 };

struct input {
	const uint8_t *data;
	size_t size;
};

/* Every file holds the input. */
static char *read_file(void *context, const char *path, uint64_t *nbytes, struct npu_error *err)
{
	const struct input *input = context;
	char *copy = malloc(input->size ? input->size : 1);
	(void)path, (void)err;
	require(copy != NULL);
	memcpy(copy, input->data, input->size);
	*nbytes = input->size;
	return copy;
}

static void require_message(const struct npu_error *err)
{
	require(err->code != NPU_ERR_NONE && err->code != NPU_ERR_INTERNAL && err->text[0]);
	require(memchr(err->text, '\0', sizeof err->text) && memchr(err->file, '\0', sizeof err->file));
	require(err->text[strlen(err->text) - 1] != '\n');
}

static void require_same_flat(const struct npu_macro *m)
{
	struct npu_error err = { .code = NPU_ERR_NONE };
	char *text = npu_disasm_text(m->program), loops[64];
	require(text != NULL);
	struct npu_program *again = npu_asm_flat(text, strlen(text), "fuzz", &err);
	require(again && again->hash == m->program->hash && again->ninsns == m->program->ninsns);
	for (uint32_t i = 0; i < m->program->ninsns; i++)
		npu_macro_loop_values(m, i, loops, sizeof loops);
	npu_program_free(again);
	free(text);
}

static void assemble(const char *text, size_t size, struct input *input)
{
	struct npu_error err = { .code = NPU_ERR_NONE };
	struct npu_macro_options options = {
		.capacity = &machine, .read = read_file, .context = input, .max_insns = 5000, .max_turns = 20000
	};
	struct npu_macro *m = npu_macro_text(text, size, "fuzz.npu", &options, &err);
	if (m)
		require_same_flat(m);
	else
		require_message(&err);
	npu_macro_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char around[] = ".include \"input.npu\"\n.let x = 1\n";
	struct input input = { data, size };
	assemble((const char *)data, size, &input);
	assemble(around, sizeof around - 1, &input);
	return 0;
}
