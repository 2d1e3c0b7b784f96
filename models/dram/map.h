/* SPDX-License-Identifier: Apache-2.0 */
/* Address mapping: from a byte address to channel, bank, row and column burst. Pure; knows no time.
 *
 *   channel       bits from channel_interleave upward; the rest closes up
 *   channel_hash  channel ^= low bits of (rest / channel_interleave) mod x^6 + x + 1 over GF(2)
 *   RoBaBgCo      row | rank | bank | group | column | burst
 *   RoBaCoBg      row | rank | bank | column | group | burst     consecutive bursts rotate over the bank groups
 *   RoBaCo        row | rank | bank | column | burst
 *   bank_hash     (bank | group) ^= low bits of the row, so that rows a power of two apart meet different banks
 *
 * Both hashes depend only on what they leave alone, so each is its own inverse and no two addresses meet.
 * The channel's is pseudo-random interleaving (Rau, ISCA 1991): multiplying by x permutes the 63 remainders, so that of
 * 64 blocks at any power-of-two distance every channel holds its share. A plain fold of the bits does as well there,
 * but keeps most multiples of 3 x 2^n, the row of many a model, in one channel. Controllers take such sums of address
 * bits (Pessl et al., DRAMA, USENIX Security 2016). */
#ifndef NPU_MODELS_DRAM_MAP_H
#define NPU_MODELS_DRAM_MAP_H

#include "models/dram/core.h"

/* map.c: what the bits above the channel's add to it */
uint32_t dram_channel_hash(const struct plan *, uint64_t block);

static inline uint32_t field(uint64_t bits, struct field f)
{
	return (uint32_t)(bits >> f.shift) & f.mask;
}

static inline uint32_t row_of(const struct dram *d, uint64_t bits)
{
	uint64_t row = bits >> d->plan.row_shift;
	return d->plan.row_mask ? (uint32_t)row & d->plan.row_mask : (uint32_t)(row % d->config.rows);
}

/* Bursts from `addr` on that stay in its channel, its row (over the bank groups where they are lowest) and a piece. */
static inline uint32_t bursts_together(const struct plan *p, uint64_t addr, uint64_t bits, uint32_t nbytes)
{
	uint32_t inside = (uint32_t)addr & (p->burst_bytes - 1);
	uint32_t bursts = (inside + nbytes + p->burst_bytes - 1) >> p->burst_shift;
	if (bursts == 1)
		return 1;
	uint64_t most = min64(p->piece_bursts, p->run_mask + 1 - (bits & p->run_mask));
	if (p->channel_bits) {
		uint32_t block = (1u << p->interleave_shift) >> p->burst_shift;
		most = min64(most, block - (addr >> p->burst_shift & (block - 1)));
	}
	return (uint32_t)min64(bursts, most);
}

/* The banks of a piece differ in their group alone. */
static inline uint8_t row_key(const struct plan *p, uint32_t row, uint32_t bank)
{
	return (uint8_t)(((row << p->bank_bits | bank) + 1) * 0x9e3779b1u >> 26);
}

/* Sets channel, bank, row, column, bursts (returned), lanes and row_key of the piece that begins at addr with nbytes to
 * go. */
static inline uint32_t dram_place(const struct dram *d, struct piece *piece, uint64_t addr, uint32_t nbytes)
{
	const struct plan *p = &d->plan;
	uint64_t bits = addr >> p->burst_shift;
	piece->channel = 0;
	if (p->channel_bits) {
		uint64_t below = addr & ((1u << p->interleave_shift) - 1), above = addr >> p->interleave_shift;
		uint64_t block = above >> p->channel_bits;
		uint32_t hash = d->config.channel_hash ? dram_channel_hash(p, block) : 0;
		piece->channel = (uint8_t)((above ^ hash) & (d->config.channels - 1));
		bits = (block << p->interleave_shift | below) >> p->burst_shift;
	}
	uint32_t bursts = bursts_together(p, addr, bits, nbytes);
	uint32_t group = field(bits, p->group), bank = field(bits, p->bank), row = row_of(d, bits);
	if (d->config.bank_hash) {
		group ^= row & p->group.mask;
		bank ^= row >> p->group_bits & p->bank.mask;
	}
	piece->row = row;
	piece->column = field(bits, p->column);
	piece->bank = (uint8_t)((((field(bits, p->rank) << p->group_bits) + group) << p->bank_bits) + bank);
	piece->row_key = row_key(p, row, bank);
	piece->bursts = (uint8_t)bursts;
	piece->lanes = p->group_lowest && bursts > 1 ? (uint8_t)min64(bursts, d->config.bank_groups) : 1;
	return bursts;
}

#endif
