/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows, or that is cut to a buffer of the caller. Faster than printf for a million lines. */
#ifndef NPU_ISA_TEXT_OUT_H
#define NPU_ISA_TEXT_OUT_H

#include <stdbool.h>
#include <stdint.h>

struct npu_out {
	char *data;
	uint64_t size; /* of data */
	uint64_t used; /* bytes written, also those that did not fit */
	bool grows;    /* data is malloc'ed and reallocated */
	bool failed;   /* out of memory */
};

void npu_out_bytes(struct npu_out *, const char *text, uint64_t length);
void npu_out_text(struct npu_out *, const char *text);
void npu_out_char(struct npu_out *, char);
void npu_out_blanks(struct npu_out *, uint64_t n);
void npu_out_uint(struct npu_out *, uint64_t);
void npu_out_int(struct npu_out *, int64_t);
/* With 0x. */
void npu_out_hex(struct npu_out *, uint64_t);
/* The shortest decimal that reads back to the same bits: inf, -inf, nan, and bits:0x7f800001 for other NaNs. */
void npu_out_real(struct npu_out *, uint32_t bits);
/* In quotes, escaped as isa/plain.h shows it; reading it gives the same bytes. */
void npu_out_quoted(struct npu_out *, const char *text);
/* As a name: quoted only where it must be. */
void npu_out_name(struct npu_out *, const char *name);
/* NUL-terminates; for a growing one returns the text, which is the caller's, NULL when memory ran out (all freed). */
char *npu_out_finish(struct npu_out *);

#endif
