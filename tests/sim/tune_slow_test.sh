#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim tune is never worse than the best point of exhaustive grids, with a tenth of the simulations.
. "$SRC/tests/support/cli.sh"
. "$SRC/tests/support/exhaustive.sh"
exhaust edge-1mb flash_attention 'seq=512 heads=2' tile_q tile_kv
exhaust tiny-256k flash_attention 'seq=512 heads=1 mask=causal' tile_q tile_kv
exhaust edge-2mb flash_attention 'seq=512 heads=2' tile_q tile_kv
exhaust edge-2mb gemm 'm=256 n=512 k=512' tile_m tile_n tile_k
exhaust tiny-256k gemm 'm=128 n=256 k=512 dtype=int8' tile_m tile_n tile_k
exhaust edge-1mb qk_tiled 'seq=256 heads=1' tile_q tile_kv
exhaust edge-1mb conv2d 'height=14 width=14 channels=32 filters=64' tile_m tile_n tile_k
[ $failures = 0 ] && echo "$checks checks of tune against exhaustive grids"
[ $failures = 0 ]
