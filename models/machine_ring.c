/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of rings. */
#include "models/machine_ring.h"

void ring_grow(struct ring *r)
{
	uint64_t old = r->data ? (uint64_t)r->mask + 1 : 0, capacity = old ? 2 * old : 16;
	unsigned char *data = capacity > UINT32_MAX ? NULL : malloc(capacity * r->element);
	if (!data)
		abort();
	/* Running numbers stay, so each element moves to its place modulo the new capacity. */
	for (uint64_t n = r->first; n != r->end; n++)
		memcpy(data + (n & (capacity - 1)) * r->element, r->data + (n & r->mask) * r->element, r->element);
	free(r->data);
	r->data = data;
	r->mask = (uint32_t)(capacity - 1);
}
