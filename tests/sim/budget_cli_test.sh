#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim run --budget: bytes and copies of each buffer as they follow from the tiles, what each holds, and totals.
. "$SRC/tests/support/cli.sh" || exit 1
. "$SRC/tests/support/json.sh" || exit 1

# row TEXT PATTERN: a row, blanks between its cells being one.
row() {
    checks=$((checks + 1))
    tr -s ' ' <<<"$1" | grep -qxE -- " ?$2" || fail "no row $2 in"$'\n'"$1"
}

# fp16 tiles of 64 x 32 and 32 x 96, sums of 64 x 96 in fp32; of 1,048,576 and 262,144 bytes.
gemm=$("$NPUSIM" run gemm m=128 n=192 k=64 tile_m=64 tile_n=96 tile_k=32 --budget) || fail 'gemm --budget'
row "$gemm" 'a SRAM 4,096 2 8,192 0.8 % streamed operand: activations, queries'
row "$gemm" 'b SRAM 6,144 2 12,288 1.2 % stationary operand: weights, keys, values'
row "$gemm" 'c SRAM 12,288 2 24,576 2.3 % results'
row "$gemm" 'acc accumulators 24,576 2 49,152 18.8 % sums of products'
row "$gemm" 'total SRAM 45,056 4.3 % of 1,024 KiB'
row "$gemm" 'total accumulators 49,152 18.8 % of 256 KiB'
flash=$("$NPUSIM" run flash_attention seq=256 heads=1 --budget) || fail 'flash_attention --budget'
row "$flash" 'p SRAM .* streamed operand, made on chip'
row "$flash" 'state SRAM .* working values'
pages=$("$NPUSIM" run kv_fetch_paged seq=256 --budget) || fail 'kv_fetch_paged --budget'
row "$pages" 'k SRAM 32,768 2 65,536 6.2 % KV pages'

# The phases of attention have SRAM one after the other: 2 x 128 rows of S and P at 64 rows a tile are the most.
phases=$("$NPUSIM" run attention seq=1024 heads=1 --budget) || fail 'attention --budget'
row "$phases" 'scores SRAM 262,144 2 524,288 50.0 % operand of the vector engine'
row "$phases" 'probs SRAM 131,072 2 262,144 25.0 % results'
row "$phases" 'o SRAM 32,768 2 65,536 6.2 % results'
row "$phases" 'at once SRAM 786,432 75.0 % of 1,024 KiB'
rows=$("$NPUSIM" run embedding rows=8 cols=64 --budget) || fail 'embedding --budget'
row "$rows" 'y SRAM .* rows picked by a table'
converted=$("$NPUSIM" run gemm m=64 n=64 k=128 weights=int8 group=64 --budget) || fail 'gemm weights=int8 --budget'
row "$converted" 'b SRAM 8,192 1 8,192 0.8 % weights, for the vector engine to convert'
row "$converted" 's SRAM 256 1 256 0.0 % scales'
row "$converted" 'converted SRAM 16,384 1 16,384 1.6 % stationary operand, made on chip'
matrix=$("$NPUSIM" run decode_attention_paged seq=256 heads=4 kv_heads=1 kv=int8 dequant=matrix --budget) || fail 'decode --budget'
row "$matrix" 'k SRAM .* KV pages'

# What does not fit is told with its buffers.
checks=$((checks + 1))
said=$("$NPUSIM" run gemm m=4096 n=4096 k=4096 tile_m=2048 tile_n=2048 tile_k=2048 --budget 2>&1 >/dev/null)
[ $? = 1 ] && grep -q 'buffers do not fit' <<<"$said" || fail "too large: $said"

# Nothing of it in what is for programs, or not wanted.
checks=$((checks + 2))
"$NPUSIM" run gemm m=32 n=32 k=32 --budget --report - | json_value cycles >/dev/null || fail '--report - with --budget is no JSON'
[ -z "$("$NPUSIM" run gemm m=32 n=32 k=32 --budget -q)" ] || fail '-q prints a budget'

[ $failures = 0 ] && echo "$checks checks of --budget"
[ $failures = 0 ]
