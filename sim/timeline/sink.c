/* SPDX-License-Identifier: Apache-2.0 */
/* A 64 KiB buffer in front of a stream, and zlib between them where asked for. */
#include "sim/timeline/sink.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
	BUFFER = 65536,
	GZIP_LEVEL = 1,       /* higher levels take three times as long for a tenth of the size */
	GZIP_WINDOW = 15 + 16, /* the largest window, with a gzip header */
	OS_UNKNOWN = 255,
};

struct sink {
	FILE *stream;
	bool gzip, failed;
	z_stream z;
	gz_header header; /* no time, no name, no system: nothing of the host */
	uint8_t *buffer;
	uint64_t used, size;
	uint8_t packed[BUFFER];
};

struct sink *sink_new(FILE *stream, bool gzip)
{
	struct sink *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->stream = stream;
	s->size = BUFFER;
	s->buffer = malloc(s->size);
	s->header.os = OS_UNKNOWN;
	if (!s->buffer || (gzip && deflateInit2(&s->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)) {
		free(s->buffer);
		free(s);
		return NULL;
	}
	s->gzip = gzip;
	if (gzip)
		deflateSetHeader(&s->z, &s->header);
	return s;
}

static void deflate_buffer(struct sink *s, int flush)
{
	s->z.next_in = s->buffer;
	s->z.avail_in = (uInt)s->used;
	do {
		s->z.next_out = s->packed;
		s->z.avail_out = BUFFER;
		deflate(&s->z, flush);
		uint64_t n = BUFFER - s->z.avail_out;
		if (fwrite(s->packed, 1, n, s->stream) != n)
			s->failed = true;
	} while (s->z.avail_out == 0);
	s->used = 0;
}

static void flush(struct sink *s)
{
	if (s->gzip)
		deflate_buffer(s, Z_NO_FLUSH);
	else if (fwrite(s->buffer, 1, s->used, s->stream) != s->used)
		s->failed = true;
	s->used = 0;
}

uint8_t *sink_room(struct sink *s, uint64_t n)
{
	if (s->used + n > s->size)
		flush(s);
	if (n > s->size) {
		uint8_t *larger = realloc(s->buffer, n);
		if (!larger) {
			s->failed = true;
			return NULL;
		}
		s->buffer = larger;
		s->size = n;
	}
	uint8_t *room = s->buffer + s->used;
	s->used += n;
	return room;
}

void sink_write(struct sink *s, const void *bytes, uint64_t n)
{
	uint8_t *room = sink_room(s, n);
	if (room && n > 0)
		memcpy(room, bytes, n);
}

bool sink_close(struct sink *s)
{
	if (s->gzip) {
		deflate_buffer(s, Z_FINISH);
		deflateEnd(&s->z);
	} else {
		flush(s);
	}
	bool ok = !s->failed && !ferror(s->stream);
	free(s->buffer);
	free(s);
	return ok;
}
