/* SPDX-License-Identifier: Apache-2.0 */
/* tile=auto: tiles that a machine likes. */
#ifndef NPU_SIM_CHOOSE_H
#define NPU_SIM_CHOOSE_H

#include "kernels/kernel.h"
#include "sim/config.h"

/* Sets the tiles (tile_*) and the order that nobody named: of all powers of two from 32 to 512 that are legal, those with the
 * least DRAM traffic by the kernel's closed form, and of these the one that a short simulation finds fastest for its MACs (its
 * bytes, where it has none), the kernel's own choice among them. If that is another one, both are run as a whole, and the
 * kernel's own choice stays unless the other takes fewer cycles. What would take seconds is not run as a whole: it is drawn out
 * from two shorter runs, or run for one group of heads, and must be 2 % faster. `*args` holds what was named, and is resolved
 * afterwards. A kernel without tiles, or without a closed form, is resolved as it is. Errors are those of resolving. */
bool choose_tiles(const struct npu_kernel *, struct npu_args *args, const struct config *, unsigned parallel,
		  struct npu_error *);

#endif
