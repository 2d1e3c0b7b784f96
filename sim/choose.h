/* SPDX-License-Identifier: Apache-2.0 */
/* tile=auto: tiles that a machine likes. */
#ifndef NPU_SIM_CHOOSE_H
#define NPU_SIM_CHOOSE_H

#include "kernels/kernel.h"
#include "sim/config.h"

/* Sets the tiles (tile_*) and the order that nobody named. Of all powers of two from 32 to 512 that are legal, and all orders, it
 * simulates 16 to 32 of those with the least DRAM traffic and the fewest instructions by the kernel's closed form, each on a few
 * tiles: lengths that are long are drawn out along the line through two short ones, so that what is loaded once counts once. The
 * best four are looked at again at greater length, and the best of these against the kernel's own tiles: unless one is far ahead
 * (8 %), both are run as a whole, and the kernel's own choice stays unless the other takes fewer cycles. What would take seconds
 * is not run as a whole: it is drawn out from two shorter runs, or run for one group of heads, and must be 2 % faster. A
 * candidate whose program cannot be built is left out. `*args` holds what was named, and is resolved afterwards. A kernel
 * without tiles, or without a closed form, is resolved as it is. Errors are those of resolving. */
bool choose_tiles(const struct npu_kernel *, struct npu_args *args, const struct config *, unsigned parallel,
		  struct npu_error *);

#endif
