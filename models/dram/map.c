/* SPDX-License-Identifier: Apache-2.0 */
/* What of the address mapping (map.h) not every piece needs. */
#include "models/dram/map.h"

/* A bit of a remainder is the parity of some of the bits: an exclusive-or tree. */
uint32_t dram_channel_hash(const struct plan *p, uint64_t block)
{
	uint32_t hash = 0;
	block = p->blocks_mask ? block & p->blocks_mask : block % p->blocks;
	for (uint32_t i = 0; i < p->channel_bits; i++)
		hash |= (uint32_t)__builtin_parityll(block & p->hash_bits[i]) << i;
	return hash;
}

bank_set dram_banks_of(const struct dram *d, const struct piece *p)
{
	bank_set set = bit(p->bank);
	for (uint32_t lane = 1; lane < p->lanes; lane++)
		set |= bit(dram_lane(d, p, lane).bank);
	return set;
}
