/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as flat text: refused with a message, or a program whose text assembles to the same again. */
#include "isa/program.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_message(const struct npu_error *err)
{
	require(err->code != NPU_ERR_NONE && err->text[0]);
	require(memchr(err->text, '\0', sizeof err->text) && memchr(err->file, '\0', sizeof err->file));
	require(err->text[strlen(err->text) - 1] != '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npu_error err = { .code = NPU_ERR_NONE };
	struct npu_program *program = npu_asm_flat((const char *)data, size, "fuzz", &err);
	if (!program) {
		require_message(&err);
		return 0;
	}
	char *text = npu_disasm_text(program);
	require(text != NULL);
	struct npu_program *again = npu_asm_flat(text, strlen(text), "fuzz", &err);
	require(again && again->hash == program->hash && again->ninsns == program->ninsns);
	char *twice = npu_disasm_text(again);
	require(twice && strcmp(text, twice) == 0);
	uint8_t *bytes;
	uint64_t n = npu_program_encode(program, &bytes);
	struct npu_program *read = npu_program_decode(bytes, n, "fuzz", &err);
	require(read && read->hash == program->hash);
	npu_program_free(read);
	npu_program_free(again);
	npu_program_free(program);
	free(bytes);
	free(text);
	free(twice);
	return 0;
}
