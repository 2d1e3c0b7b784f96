/* SPDX-License-Identifier: Apache-2.0 */
/* Files and options for the macro assembler, which itself knows neither. */
#include "sim/macro_load.h"
#include "sim/config_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger text than this is not meant; it keeps an endless pipe from filling memory. Binary programs take 76 bytes an
 * instruction. */
#define TEXT_FILE_MAX   ((uint64_t)1 << 30)
#define BINARY_FILE_MAX ((uint64_t)8 << 30)
enum { MOST_FOLDERS = 64 };

/* Text never holds a NUL; the header of the binary form does. What is called text is told where its NUL stands. */
static bool is_binary(const char *text, uint64_t nbytes, bool called_text)
{
	return (!called_text && memchr(text, '\0', nbytes < 64 ? nbytes : 64) != NULL) ||
	       (nbytes >= 4 && memcmp(text, "NPUB", 4) == 0);
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n >= m && strcmp(name + n - m, suffix) == 0;
}

static char *read_include(void *context, const char *path, uint64_t *nbytes, struct npu_error *err)
{
	struct stat st;
	const struct macro_load *load = context;
	if (stat(path, &st) != 0)
		return NULL;
	if (load->note)
		load->note(load->context, path);
	if (S_ISREG(st.st_mode))
		return read_text_file(path, TEXT_FILE_MAX, nbytes, err);
	npu_fail(err, NPU_ERR_IO, "%s is not a file", path);
	return NULL;
}

static bool file_size(void *context, const char *path, uint64_t *nbytes, struct npu_error *err)
{
	struct stat st;
	(void)context;
	if (stat(path, &st) != 0)
		return npu_fail(err, NPU_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return npu_fail(err, NPU_ERR_IO, "%s is a folder; name a file", path);
	*nbytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : NPU_MACRO_ANY_SIZE;
	return true;
}

/* Half of the memory that is there: an instruction takes 84 bytes, and growing an array needs both of its sizes. */
static uint32_t most_insns(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t most = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 / 128 : NPU_MACRO_MAX_INSNS;
	return most < NPU_MACRO_MAX_INSNS ? (uint32_t)most : NPU_MACRO_MAX_INSNS;
}

static struct npu_macro *assemble(const char *text, uint64_t nbytes, const char *name, const struct macro_load *load,
				  struct npu_error *err)
{
	const char *folders[MOST_FOLDERS];
	struct npu_macro_options options = {
		.capacity = load->capacity,
		.params = load->params,
		.nparams = load->nparams,
		.folders = folders,
		.read = read_include,
		.size = file_size,
		.context = (void *)load,
		.max_insns = most_insns(),
	};
	unsigned at = 0;
	for (const char *folder; load->cli && (folder = cli_next(load->cli, "include", &at));) {
		if (options.nfolders == MOST_FOLDERS) {
			npu_fail(err, NPU_ERR_USAGE, "--include %s: at most %d folders", folder, MOST_FOLDERS);
			return NULL;
		}
		folders[options.nfolders++] = folder;
	}
	return npu_macro_text(text, nbytes, name, &options, err);
}

static struct npu_macro *wrap(struct npu_program *program, struct npu_error *err)
{
	struct npu_macro *m = program ? calloc(1, sizeof *m) : NULL;
	if (m)
		m->program = program;
	else if (program)
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	if (!m)
		npu_program_free(program);
	return m;
}

static bool takes_params(const char *name, const struct macro_load *load, struct npu_error *err)
{
	return !load->nparams || npu_fail(err, NPU_ERR_USAGE, "%s: %s is binary, and parameters belong to kernels and to text",
					  load->params[0], name);
}

/* Looked at in place: what is no program says so in its first bytes, however long it is. */
static struct npu_macro *load_mapped(const char *path, uint64_t nbytes, const struct macro_load *load,
				     struct npu_error *err)
{
	if (nbytes > BINARY_FILE_MAX)
		npu_fail(err, NPU_ERR_IO, "%s: larger than %llu KiB, the most that is read", path, (unsigned long long)(BINARY_FILE_MAX >> 10));
	else if (takes_params(path, load, err))
		return wrap(npu_program_read(path, err), err);
	return NULL;
}

static struct npu_macro *decode(const char *text, uint64_t nbytes, const char *name, const struct macro_load *load,
				struct npu_error *err)
{
	if (!takes_params(name, load, err))
		return NULL;
	return wrap(npu_program_decode((const uint8_t *)text, nbytes, name, err), err);
}

struct npu_macro *macro_load(const char *path, const struct macro_load *load, struct npu_error *err)
{
	uint64_t nbytes;
	bool binary = has_suffix(path, ".npub");
	struct stat st;
	if (binary && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		return load_mapped(path, (uint64_t)st.st_size, load, err);
	bool called_text = has_suffix(path, ".npu");
	char *text = called_text ? read_text_file(path, TEXT_FILE_MAX, &nbytes, err)
				 : read_whole_file(path, binary ? BINARY_FILE_MAX : TEXT_FILE_MAX, &nbytes, err);
	if (!text)
		return NULL;
	const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
	struct npu_macro *m = NULL;
	if (nbytes == 0)
		npu_fail_at(err, NPU_ERR_SYNTAX, name, 0, 0, "the file is empty; a program would be right");
	else if (binary || is_binary(text, nbytes, called_text))
		m = decode(text, nbytes, name, load, err);
	else
		m = assemble(text, nbytes, name, load, err);
	free(text);
	return m;
}
