/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files into memory: pipes and devices too, up to a limit. */
#include "sim/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refuse_size(const char *path, uint64_t max, struct npu_error *err)
{
	return npu_fail(err, NPU_ERR_IO, "%s: larger than %llu KiB, the most that is read", path,
			(unsigned long long)(max >> 10));
}

static char *read_descriptor(int fd, const char *path, uint64_t max, bool text_only, uint64_t *nbytes,
			     struct npu_error *err)
{
	enum { PART = 1 << 20 };
	uint64_t size = 0, capacity = 0;
	char *text = NULL;
	struct stat st;
	/* a file says how large it is, which spares reading it in vain */
	bool known = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
	if (known && (uint64_t)st.st_size > max) {
		refuse_size(path, max, err);
		return NULL;
	}
	for (;;) {
		if (size == capacity) {
			capacity = capacity ? capacity * 2 : known ? (uint64_t)st.st_size + 1 : 16384;
			char *more = realloc(text, capacity + 1);
			if (!more) {
				npu_fail(err, NPU_ERR_MEMORY, "out of memory");
				break;
			}
			text = more;
		}
		uint64_t room = capacity - size;
		ssize_t got = read(fd, text + size, text_only && room > PART ? PART : room);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			npu_fail(err, NPU_ERR_IO, "%s: cannot be read: %s", path,
				 errno == EISDIR ? "it is a folder; name a file" : strerror(errno));
			break;
		}
		bool no_text = text_only && got > 0 && memchr(text + size, '\0', (size_t)got);
		size += (uint64_t)got;
		if ((got == 0 || no_text) && size <= max) {
			text[size] = '\0';
			*nbytes = size;
			return text;
		}
		if (size > max) {
			refuse_size(path, max, err);
			break;
		}
	}
	free(text);
	return NULL;
}

static char *read_file(const char *path, uint64_t max, bool text_only, uint64_t *nbytes, struct npu_error *err)
{
	if (strcmp(path, "-") == 0)
		return read_descriptor(STDIN_FILENO, "stdin", max, text_only, nbytes, err);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		npu_fail(err, NPU_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
		return NULL;
	}
	char *text = read_descriptor(fd, path, max, text_only, nbytes, err);
	close(fd);
	return text;
}

char *read_whole_file(const char *path, uint64_t max, uint64_t *nbytes, struct npu_error *err)
{
	return read_file(path, max, false, nbytes, err);
}

char *read_text_file(const char *path, uint64_t max, uint64_t *nbytes, struct npu_error *err)
{
	return read_file(path, max, true, nbytes, err);
}
