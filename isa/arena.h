/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that lives and dies together. Not for things that grow. */
#ifndef NPU_ISA_ARENA_H
#define NPU_ISA_ARENA_H

#include <stdbool.h>
#include <stdint.h>

struct npu_arena;

/* NULL when out of memory, as from the functions below. */
struct npu_arena *npu_arena_new(void);
void npu_arena_free(struct npu_arena *);
/* `count` zeroed members of `size` bytes; not NULL for count 0. Aligned for any scalar. */
void *npu_arena_alloc(struct npu_arena *, uint64_t count, uint64_t size);
/* A NUL-terminated copy of text[0..length). */
char *npu_arena_text(struct npu_arena *, const char *text, uint64_t length);
/* Takes over a block from malloc, also when it fails (it is freed then). NULL is fine. */
bool npu_arena_adopt(struct npu_arena *, void *block);

#endif
