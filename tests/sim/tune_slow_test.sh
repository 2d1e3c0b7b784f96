#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim tune is never worse than the best point of exhaustive grids, of kernels with tiles, with a tenth of the simulations.
. "$SRC/tests/support/cli.sh"
. "$SRC/tests/support/exhaustive.sh"
exhaust edge-1mb flash_attention 'seq=512 heads=2' tile_q tile_kv
exhaust tiny-256k flash_attention 'seq=512 heads=1 mask=causal' tile_q tile_kv
exhaust edge-2mb flash_attention 'seq=512 heads=2' tile_q tile_kv
exhaust edge-2mb gemm 'm=256 n=512 k=512' tile_m tile_n tile_k
exhaust tiny-256k gemm 'm=128 n=256 k=512 dtype=int8' tile_m tile_n tile_k
exhaust edge-1mb qk_tiled 'seq=256 heads=1' tile_q tile_kv
exhaust edge-1mb conv2d 'height=14 width=14 channels=32 filters=64' tile_m tile_n tile_k
exhaust edge-2mb qk_tiled 'seq=512 heads=2' tile_q tile_kv
exhaust edge-1mb pv_tiled 'seq=256 heads=1' tile_q tile_kv
exhaust tiny-256k pv_tiled 'seq=512 heads=1' tile_q tile_kv
exhaust edge-1mb attention 'seq=128 heads=1' tile_q tile_kv tile_rows
exhaust edge-2mb prefill_attention_paged 'batch=2 seq=256 chunk=256 heads=2 kv_heads=2 head_dim=128' tile_q tile_kv
exhaust edge-1mb prefill_attention_paged 'batch=1 seq=256 chunk=128 heads=4 kv_heads=2 head_dim=64' tile_q tile_kv
exhaust edge-1mb gemv 'n=1024 k=1024' tile_n tile_k
exhaust edge-2mb gemv 'm=2 n=512 k=2048' tile_n tile_k
exhaust edge-1mb gemv 'm=8 n=512 k=1024 weights=int4' tile_n tile_k
exhaust edge-2mb gemv 'n=2048 k=512 weights=int8 group=128' tile_n tile_k
exhaust tiny-256k gemv 'm=4 n=512 k=512' tile_n tile_k
exhaust edge-2mb decode_attention_paged 'batch=1 seq=1024 heads=8 kv_heads=8 head_dim=128 kv=int8' tile_kv
exhaust edge-2mb decode_attention_paged 'batch=4 seq=256 heads=4 kv_heads=4 head_dim=64 page=32' tile_kv
exhaust edge-1mb decode_attention_paged 'batch=2 seq=512 heads=8 kv_heads=2 head_dim=64' tile_kv
exhaust edge-1mb kv_fetch_paged 'seq=512' tile_kv
exhaust edge-1mb rmsnorm 'rows=256 cols=1024' tile_rows
exhaust edge-1mb swiglu 'rows=256 cols=512' tile_rows
exhaust edge-1mb mask_softmax 'seq=256 heads=2' tile_rows
exhaust edge-1mb gemm 'm=1 n=512 k=512' tile_m tile_n tile_k order
exhaust edge-1mb kv_fetch_paged 'seq=1024' tile_kv
exhaust edge-1mb flash_attention 'seq=1024 seq_q=1 heads=8 kv_heads=2' tile_q tile_kv
exhaust edge-1mb flash_attention 'seq=2048 seq_q=1 heads=8 kv_heads=2' tile_q tile_kv
exhaust edge-1mb rmsnorm '' tile_rows
exhaust edge-1mb decode_attention_paged '' tile_kv
# These were tried once the search stood.
exhaust gemmini16 gemm 'm=32 n=128 k=512 weights=int8' tile_m tile_n tile_k
exhaust edge-2mb gemm 'm=64 n=256 k=256 matrix.dataflow=os' tile_m tile_n tile_k
exhaust edge-1mb gemv 'm=6 n=512 k=768 weights=int4' tile_n tile_k
exhaust edge-1mb gemv 'n=1536 k=512' tile_n tile_k
exhaust server gemv 'm=2 n=2048 k=2048 weights=int4' tile_n tile_k
exhaust tiny-tpu gemv 'n=1024 k=512 weights=int4' tile_n tile_k
exhaust axis-sa flash_attention 'seq=512 seq_q=8 heads=4' tile_q tile_kv
exhaust server qk_tiled 'seq=1024 heads=1 head_dim=64' tile_q tile_kv
exhaust edge-2mb decode_attention_paged 'batch=2 seq=2048 heads=8 kv_heads=2' tile_kv
exhaust tiny-256k decode_attention_paged 'batch=1 seq=768 heads=8 kv_heads=2 head_dim=64 kv=int4' tile_kv
exhaust edge-2mb prefill_attention_paged 'batch=1 seq=1024 chunk=64 heads=8 kv_heads=2 head_dim=64 kv=int4' tile_q tile_kv
exhaust edge-2mb mask_softmax 'seq=512 heads=2 mask=causal' tile_rows
exhaust edge-2mb layernorm 'rows=400 cols=1024' tile_rows
exhaust edge-2mb embedding 'dtype=int8' tile_rows
[ $failures = 0 ] && echo "$checks checks of tune against exhaustive grids"
[ $failures = 0 ]
