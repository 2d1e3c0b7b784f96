/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about text: place, source line, caret. The first goes into struct npu_error, some more below it. */
#ifndef NPU_ISA_TEXT_DIAG_H
#define NPU_ISA_TEXT_DIAG_H

#include "isa/error.h"

struct npu_source {
	const char *file;
	const char *begin;
	const char *end;
};

struct npu_diag {
	const struct npu_source *source;
	struct npu_error *err; /* may be NULL */
	unsigned count;        /* messages so far, those left out included */
};

/* Complains about source bytes [begin, end), underlined with a caret; returns false. */
bool npu_diag_at(struct npu_diag *, enum npu_error_code code, const char *begin, const char *end, const char *format,
		 ...) __attribute__((format(printf, 5, 6)));
/* For an error that names a line of the source and no column: underlines the first word of the line. */
void npu_diag_show_line(const struct npu_source *, struct npu_error *err);
/* Whether a further message would be shown: hints cost more than the message. */
bool npu_diag_has_room(const struct npu_diag *);
/* The last thing to call: says how many messages were left out. */
void npu_diag_close(struct npu_diag *);

#endif
