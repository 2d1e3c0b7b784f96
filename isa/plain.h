/* SPDX-License-Identifier: Apache-2.0 */
/* Text of anybody as it may be shown. Names come from files that anybody wrote, and go to terminals, JSON and traces:
 * what is shown is valid UTF-8 on one line that steers nothing. Control characters, characters that turn the direction
 * of text or break lines, and bytes that are no UTF-8 become \xNN a byte, \n and \t, as the assembler's strings write
 * them. A backslash stays one: shown text is for reading, not for reading back. Showing shown text changes nothing. */
#ifndef NPU_ISA_PLAIN_H
#define NPU_ISA_PLAIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most bytes that one character takes: three of its bytes as \xNN, or four as they are. */
enum { NPU_PLAIN_CHAR = 12 };

/* Takes one character from *at (< end) into `out`, without a NUL, and moves *at behind it. Returns its bytes in `out`;
 * `columns` (NULL: not asked): the columns of a terminal that they take, wide and combining characters not known. */
unsigned npu_plain_char(const char **at, const char *end, char out[NPU_PLAIN_CHAR], unsigned *columns);
/* text[0..length) into `out`, NUL-terminated, cut before the character that does not fit into `size` bytes (>= 1).
 * Returns the length in `out`. `out` is not `text`. */
uint64_t npu_plain(const char *text, uint64_t length, char *out, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
