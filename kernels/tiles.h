/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sizes: those a person named are checked, the others chosen as large as the memories allow. */
#ifndef NPU_KERNELS_TILES_H
#define NPU_KERNELS_TILES_H

#include "kernels/kernel.h"

enum { TILE_DIMS = 4, TILE_LARGEST = 128 };

/* A dimension of `length`, cut into tiles of the size that parameter `param` holds. */
struct tile_dim {
	const char *param;
	uint64_t length;
};

/* Places the buffers of the kernel for the tile sizes in the arguments: a trial. */
typedef bool tile_trial(struct npu_builder *, const struct npu_args *);

/* Fills in the tiles that nobody named: powers of two up to TILE_LARGEST and up to the length rounded up to one, those
 * with the largest product that fits, of equal ones the first dimension largest. An error gives the buffers that do not
 * fit, and for each named tile the largest that would. */
bool tiles_resolve(const struct npu_kernel *, const struct npu_capacity *, struct npu_args *, const struct tile_dim *,
		   unsigned ndims, tile_trial *, struct npu_error *);

#endif
