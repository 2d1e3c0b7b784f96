/* SPDX-License-Identifier: Apache-2.0 */
/* Room for one more member of a growing array. */
#ifndef NPU_SIM_RECORD_GROW_H
#define NPU_SIM_RECORD_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Makes `*items` hold at least `need` members of `size` bytes; `*capacity` counts members. False when out of memory: the
 * array is as it was. */
static inline bool record_grow(void **items, uint64_t *capacity, uint64_t need, uint64_t size)
{
	if (need <= *capacity)
		return true;
	uint64_t grown = *capacity < 16 ? 16 : *capacity;
	while (grown < need)
		grown += grown / 2;
	if (grown > SIZE_MAX / size)
		return false;
	void *moved = realloc(*items, grown * size);
	if (!moved)
		return false;
	*items = moved;
	*capacity = grown;
	return true;
}

#endif
