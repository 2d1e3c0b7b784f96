/* SPDX-License-Identifier: Apache-2.0 */
/* Layer lists of SCALE-Sim ("topologies"): products and convolutions as rows of a table with commas. */
#ifndef NPU_TRACES_SCALESIM_H
#define NPU_TRACES_SCALESIM_H

#include "isa/error.h"

/* A layer. Of a convolution m, n and k are those of its product: positions of the result, filters, elements of a
 * window. */
struct scalesim_layer {
	char name[64];
	uint32_t line;
	bool convolution;
	uint32_t m, n, k;
	uint32_t batch, height, width, channels, filter_h, filter_w, filters, stride;
};

struct scalesim {
	struct scalesim_layer *layers;
	unsigned n;
};

/* Reads text[0..nbytes), the content of the file called `path` in errors, which name line and column. The first row
 * names the columns; cells may be padded, rows may end in commas, rows without a figure are headings. On success the
 * caller frees. */
bool scalesim_read(const char *path, const char *text, uint64_t nbytes, struct scalesim *, struct npu_error *);
void scalesim_free(struct scalesim *);

#endif
