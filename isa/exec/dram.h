/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse image of 2^40 bytes of DRAM: pages appear, filled with zeros, when they are first written. */
#ifndef NPU_ISA_EXEC_DRAM_H
#define NPU_ISA_EXEC_DRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
	NPU_DRAM_BITS = 40,
	NPU_DRAM_PAGE_BITS = 16,
	NPU_DRAM_FOLDER_BITS = 12, /* pages a folder; as many folders */
	NPU_DRAM_PAGE_BYTES = 1 << NPU_DRAM_PAGE_BITS,
	NPU_DRAM_FOLDER_PAGES = 1 << NPU_DRAM_FOLDER_BITS,
	NPU_DRAM_FOLDERS = 1 << (NPU_DRAM_BITS - NPU_DRAM_PAGE_BITS - NPU_DRAM_FOLDER_BITS),
};

struct npu_dram_page;

struct npu_dram_image {
	struct npu_dram_page **folders[NPU_DRAM_FOLDERS];
	uint64_t pages;
	uint64_t max_pages;
	bool writers; /* pages record who wrote them */
};

void npu_dram_init(struct npu_dram_image *, uint64_t max_bytes, bool writers);
void npu_dram_fini(struct npu_dram_image *);
/* Addresses must lie below 2^40, ends at most there. */
void npu_dram_read(const struct npu_dram_image *, uint64_t addr, void *out, uint64_t nbytes);
/* `writer` is recorded unless it is NPU_EXEC_NOBODY. False when out of memory; bytes before that point are written. */
bool npu_dram_write(struct npu_dram_image *, uint64_t addr, const void *bytes, uint64_t nbytes, uint32_t writer);
uint32_t npu_dram_writer(const struct npu_dram_image *, uint64_t addr);

#endif
