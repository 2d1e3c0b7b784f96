/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a program as text or binary. */
#include "sim/cmd/program_output.h"
#include "sim/cli_work.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum program_form program_form(const char *path, enum program_form other)
{
	const char *dot = strrchr(path, '.');
	if (dot && strcmp(dot, ".npub") == 0)
		return PROGRAM_BINARY;
	return dot && strcmp(dot, ".npu") == 0 ? PROGRAM_TEXT : other;
}

static bool write_binary(const struct npu_program *program, const char *path, struct npu_error *err)
{
	uint8_t *bytes = NULL;
	if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
		return npu_fail(err, NPU_ERR_USAGE, "a binary program would garble the terminal; -o FILE.npub writes it");
	uint64_t nbytes = npu_program_encode(program, &bytes);
	if (nbytes == 0)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	bool ok = write_file(path, bytes, nbytes, err);
	free(bytes);
	return ok;
}

bool program_output(const struct npu_program *program, const char *path, enum program_form form, struct npu_error *err)
{
	if (form == PROGRAM_BINARY)
		return write_binary(program, path, err);
	char *text = npu_disasm_text(program);
	if (!text)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	bool ok = write_file(path, text, strlen(text), err);
	free(text);
	return ok;
}
