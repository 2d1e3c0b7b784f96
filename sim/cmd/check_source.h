/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines of a program, where the files that it names can be read. */
#ifndef NPU_SIM_CMD_CHECK_SOURCE_H
#define NPU_SIM_CMD_CHECK_SOURCE_H

#include "isa/check.h"

struct sources;

/* A place in a source file, as far as it is known. */
struct check_place {
	const char *file;       /* NULL: none */
	uint32_t line;          /* from 1; 0: none */
	unsigned column, width; /* bytes, the first column is 1; 0: the file cannot be read */
	const char *text;       /* the line, not NUL-terminated */
	int length;             /* of it; -1: the file cannot be read */
};

/* Reads files as they are asked for: by their name as it is, beside `path` (the program's file, NULL: none), and in the
 * source tree that the program was built from. NULL when out of memory. */
struct sources *sources_new(const struct npu_program *, const char *path);
void sources_free(struct sources *);
/* The line of an instruction, not NUL-terminated: its length, and -1 when it cannot be read. */
int source_line(struct sources *, uint32_t insn, const char **line);
/* The same of any place. */
int source_line_at(struct sources *, const struct npu_place *, const char **line);
/* Where a word stands in a line, its first one when it is not there: first column, from 1, and length. */
void source_caret_word(const char *line, int length, const char *word, unsigned *column, unsigned *width);
/* Where in that line the operand (or semaphore) of a site stands, else the instruction: first column, from 1, and
 * length. */
void source_caret(const struct npu_program *, const struct npu_check_site *, uint32_t sem, const char *line, int length,
		  unsigned *column, unsigned *width);
/* Where a semaphore is declared, but for the name of the file; false when that is not found. */
bool source_of_sem(struct sources *, uint32_t insn, uint32_t sem, struct check_place *);
/* Where a tensor, or a buffer, of that name is declared first, the name of the file as the program has it. */
bool source_of_name(struct sources *, const char *name, bool tensor, struct check_place *);

#endif
