/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as values: a code of isa/error.def, a place and one line of text. Nobody prints but sim/. */
#ifndef NPU_ISA_ERROR_H
#define NPU_ISA_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- npu.h -- */
enum npu_error_code {
#define ERROR(CODE, exit_status, doc) NPU_ERR_##CODE,
#include "isa/error.def"
};

/* `file` empty: no place. Lines and columns count from 1; 0: not known. `text` may hold more lines after the first (the
 * source line and a caret under it, a table of buffers): those that belong to the line above begin with a blank, others
 * are messages of their own. None ends in a newline. Both are fit to be shown (isa/plain.h) whatever they quote: the
 * functions below see to it, and only npu_error_note() begins a line. */
struct npu_error {
	enum npu_error_code code;
	char file[256];
	uint32_t line;
	uint32_t column;
	char text[3072];
};

/* Sets code and text, clears the place; returns false, so that `return npu_fail(err, ...)` reads well. `err` may be
 * NULL. */
bool npu_fail(struct npu_error *err, enum npu_error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with a place; `file` may be NULL. */
bool npu_fail_at(struct npu_error *err, enum npu_error_code code, const char *file, uint32_t line, uint32_t column,
		 const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Appends a line of text below what is there; cut at the end of the buffer. */
void npu_error_note(struct npu_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* -- private -- */
/* Appends lines of another error's text, \n between them, each as it is. */
void npu_error_notes(struct npu_error *err, const char *lines);
/* Puts text before what is there; the rest stays. */
void npu_error_before(struct npu_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets the place alone; `file` may be NULL. */
void npu_error_place(struct npu_error *err, const char *file, uint32_t line, uint32_t column);
int npu_error_exit_status(enum npu_error_code code);
/* -- npu.h -- */
/* "FILE:LINE:COL: text" as far as the place is known, into `out` (cut to `size`); returns `out`. */
char *npu_error_print(const struct npu_error *err, char *out, uint64_t size);
/* -- private -- */

/* The name in names[0..n) nearest to `name` by edit distance, NULL when none is near enough to be meant. */
const char *npu_nearest(const char *name, const char *const *names, unsigned n);

#ifdef __cplusplus
}
#endif

#endif
