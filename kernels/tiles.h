/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sizes: those a person named are checked, the others chosen as large as the memories allow. */
#ifndef NPU_KERNELS_TILES_H
#define NPU_KERNELS_TILES_H

#include "kernels/kernel.h"

/* With fewer than WIDE_TILES of them, larger tiles lose more in the first and last one than they save. */
enum { TILE_DIMS = 4, TILE_LARGEST = 128, WIDE_TILES = 8 };

/* A dimension of `length`, cut into tiles of the size that parameter `param` holds. */
struct tile_dim {
	const char *param;
	uint64_t length;
	int64_t widest; /* a power of two beyond TILE_LARGEST up to which its tiles may be widened; 0: none */
};

/* Places the buffers of the kernel for the tile sizes in the arguments: a trial. */
typedef bool tile_trial(struct npu_builder *, const struct npu_args *);

/* What tile sizes cost, to compare them with others of the same kernel and lengths. */
struct tile_cost {
	uint64_t dram;  /* bytes of whole granules that all loads and stores move, about */
	uint64_t array; /* steps of the array: rows that stream, for each tile of weights that it holds at once */
	uint64_t tiles; /* that the program works through, for what may be widened */
	/* Bytes more that a second buffer of results is worth where they are stored from the accumulators and those
	 * have room for one: the array stands still while they are stored. 0 where they have room for two. */
	uint64_t second;
};
typedef struct tile_cost tile_costing(const struct npu_capacity *, const struct npu_args *);

/* Bytes that a dense matrix of `rows` rows moves when it is cut into tiles of `tile_bytes` of a row: a row of a tile
 * touches whole granules, rows that are not cut follow one another. */
uint64_t tile_traffic(uint64_t rows, uint64_t row_bytes, uint64_t tile_bytes, uint64_t granule);
/* Steps of the array for a product m x k by k x n in tiles. */
uint64_t tile_steps(const struct npu_capacity *, uint64_t m, uint64_t tile_m, uint64_t n, uint64_t tile_n, uint64_t k,
		    uint64_t tile_k);

/* Buffers of a panel of the ping-pong whose tiles take `steps` steps of the array each and are loaded `turns` times. A
 * slot is given back when its last product has drained, and loads take as long to begin: where a tile streams faster
 * than that, a panel holds as many as stream for twice the array's rows and columns. One with a single buffer, or where
 * SRAM has no room for `buffers` panels of tiles of `bytes` and `others` bytes. */
unsigned tile_panel(const struct npu_capacity *, uint64_t steps, uint64_t turns, unsigned buffers, uint64_t bytes,
		    uint64_t others);

/* Fills in the tiles that nobody named: powers of two up to TILE_LARGEST and up to the length rounded up to one. The
 * largest product that fits with one buffer of each, of equal ones the first dimension largest; or smaller tiles that
 * leave room for more second buffers, if they cost about the same, or what a second buffer of results is worth. Then
 * those of TILE_LARGEST that may be widened are, as long as that costs no more, leaves as many second buffers and
 * WIDE_TILES tiles: the first such dimension, and once it is as wide as it may be the next. An error gives the buffers
 * that do not fit with the smallest tiles that were possible, and what this rule chooses with one named tile fewer. */
bool tiles_resolve(const struct npu_kernel *, const struct npu_capacity *, struct npu_args *, const struct tile_dim *,
		   unsigned ndims, tile_trial *, tile_costing *, struct npu_error *);

#endif
