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

uint32_t dram_channel_of(const struct dram *d, uint64_t addr)
{
	const struct plan *p = &d->plan;
	if (!p->channel_bits)
		return 0;
	uint64_t above = addr >> p->interleave_shift;
	uint32_t hash = d->config.channel_hash ? dram_channel_hash(p, above >> p->channel_bits) : 0;
	return (uint32_t)((above ^ hash) & (d->config.channels - 1));
}

struct dram_location dram_locate(const struct dram *d, uint64_t addr)
{
	struct piece piece;
	dram_place(d, &piece, addr, 1);
	return (struct dram_location){ .channel = piece.channel, .bank = piece.bank, .row = piece.row };
}

bank_set dram_banks_of(const struct dram *d, const struct piece *p)
{
	bank_set set = bit(p->bank);
	struct lanes lanes = dram_lanes(d, p);
	for (uint32_t lane = 1; lane < p->lanes; lane++)
		set |= bit(dram_lane(&lanes, lane).bank);
	return set;
}
