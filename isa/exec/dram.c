/* SPDX-License-Identifier: Apache-2.0 */
/* Two levels of tables over pages of 64 KiB. */
#include "isa/exec/dram.h"

#include "isa/exec.h"

#include <stdlib.h>
#include <string.h>

struct npu_dram_page {
	uint32_t *writers; /* of each granule, plus one; NULL: not recorded */
	uint8_t bytes[NPU_DRAM_PAGE_BYTES];
};

void npu_dram_init(struct npu_dram_image *image, uint64_t max_bytes, bool writers)
{
	memset(image, 0, sizeof *image);
	image->max_pages = max_bytes ? max_bytes / NPU_DRAM_PAGE_BYTES : UINT64_MAX;
	image->writers = writers;
}

void npu_dram_fini(struct npu_dram_image *image)
{
	for (unsigned f = 0; f < NPU_DRAM_FOLDERS; f++) {
		for (unsigned p = 0; image->folders[f] && p < NPU_DRAM_FOLDER_PAGES; p++) {
			struct npu_dram_page *page = image->folders[f][p];
			if (page)
				free(page->writers);
			free(page);
		}
		free(image->folders[f]);
	}
}

static struct npu_dram_page *find(const struct npu_dram_image *image, uint64_t addr)
{
	struct npu_dram_page **folder = image->folders[addr >> (NPU_DRAM_PAGE_BITS + NPU_DRAM_FOLDER_BITS)];
	return folder ? folder[addr >> NPU_DRAM_PAGE_BITS & (NPU_DRAM_FOLDER_PAGES - 1)] : NULL;
}

static struct npu_dram_page *new_page(bool writers)
{
	struct npu_dram_page *page = calloc(1, sizeof *page);
	if (!page || !writers)
		return page;
	page->writers = calloc(NPU_DRAM_PAGE_BYTES / NPU_EXEC_WRITER_BYTES, sizeof *page->writers);
	if (!page->writers) {
		free(page);
		return NULL;
	}
	return page;
}

static struct npu_dram_page *touch(struct npu_dram_image *image, uint64_t addr)
{
	struct npu_dram_page *page = find(image, addr);
	if (page || image->pages >= image->max_pages)
		return page;
	struct npu_dram_page ***folder = &image->folders[addr >> (NPU_DRAM_PAGE_BITS + NPU_DRAM_FOLDER_BITS)];
	if (!*folder)
		*folder = calloc(NPU_DRAM_FOLDER_PAGES, sizeof **folder);
	if (!*folder)
		return NULL;
	page = new_page(image->writers);
	if (page)
		image->pages++;
	(*folder)[addr >> NPU_DRAM_PAGE_BITS & (NPU_DRAM_FOLDER_PAGES - 1)] = page;
	return page;
}

/* Bytes from `addr` to the end of its page, at most `nbytes`. */
static uint64_t within_page(uint64_t addr, uint64_t nbytes)
{
	uint64_t left = NPU_DRAM_PAGE_BYTES - addr % NPU_DRAM_PAGE_BYTES;
	return left < nbytes ? left : nbytes;
}

void npu_dram_read(const struct npu_dram_image *image, uint64_t addr, void *out, uint64_t nbytes)
{
	uint8_t *to = out;
	while (nbytes > 0) {
		uint64_t n = within_page(addr, nbytes);
		const struct npu_dram_page *page = find(image, addr);
		if (page)
			memcpy(to, page->bytes + addr % NPU_DRAM_PAGE_BYTES, n);
		else
			memset(to, 0, n);
		addr += n;
		to += n;
		nbytes -= n;
	}
}

static void record(struct npu_dram_page *page, uint64_t offset, uint64_t nbytes, uint32_t writer)
{
	if (!page->writers || writer == NPU_EXEC_NOBODY)
		return;
	uint64_t last = (offset + nbytes - 1) / NPU_EXEC_WRITER_BYTES;
	for (uint64_t g = offset / NPU_EXEC_WRITER_BYTES; g <= last; g++)
		page->writers[g] = writer + 1;
}

bool npu_dram_write(struct npu_dram_image *image, uint64_t addr, const void *bytes, uint64_t nbytes, uint32_t writer)
{
	const uint8_t *from = bytes;
	while (nbytes > 0) {
		uint64_t n = within_page(addr, nbytes), offset = addr % NPU_DRAM_PAGE_BYTES;
		struct npu_dram_page *page = touch(image, addr);
		if (!page)
			return false;
		memcpy(page->bytes + offset, from, n);
		record(page, offset, n, writer);
		addr += n;
		from += n;
		nbytes -= n;
	}
	return true;
}

uint32_t npu_dram_writer(const struct npu_dram_image *image, uint64_t addr)
{
	const struct npu_dram_page *page = find(image, addr);
	uint32_t writer = page && page->writers ? page->writers[addr % NPU_DRAM_PAGE_BYTES / NPU_EXEC_WRITER_BYTES] : 0;
	return writer ? writer - 1 : NPU_EXEC_NOBODY;
}
