/* SPDX-License-Identifier: Apache-2.0 */
/* Banks as sets, and which bank a word or byte lies in. Words of walks are memory_walk.c. */
#include "models/memory_bank.h"

/* Bits [first, first + n) of `size`, wrapping around; n <= size <= 64. */
static uint64_t ring_bits(uint32_t first, uint32_t n, uint32_t size)
{
	uint64_t run = n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
	uint64_t all = size < 64 ? (UINT64_C(1) << size) - 1 : ~UINT64_C(0);
	return (run << first | (first ? run >> (size - first) : 0)) & all;
}

uint64_t ask_add_again(struct bank_ask *ask, uint64_t again)
{
	for (unsigned l = 1; again && l < LAYERS; l++) {
		uint64_t more = ask->layer[l] & again;
		ask->layer[l] |= again;
		again = more;
	}
	return again;
}

uint64_t ahead_add_again(struct ahead *ahead, unsigned w, uint32_t i, uint64_t again)
{
	if (!(ahead->deep[w] >> i & 1))
		ahead->more[w][i] = (struct bank_ask){ 0 };
	ahead->deep[w] |= UINT32_C(1) << i;
	return ask_add_again(&ahead->more[w][i], again);
}

void need_add_deep(struct bank_need *need, unsigned w, uint64_t banks)
{
	for (; banks; banks &= banks - 1)
		need->extra[w * 64 + (unsigned)__builtin_ctzll(banks)]++;
}

void need_served_again(struct bank_need *need, unsigned w, uint64_t lost)
{
	uint64_t *layer = need->ask[w].layer;
	uint64_t served = layer[0] & ~lost;
	uint64_t deep = layer[LAYERS - 1] & served;
	for (unsigned l = 0; l + 1 < LAYERS; l++)
		layer[l] = (layer[l] & ~served) | (layer[l + 1] & served);
	layer[LAYERS - 1] &= ~served;
	for (; deep; deep &= deep - 1) {
		unsigned bank = w * 64 + (unsigned)__builtin_ctzll(deep);
		if (need->extra[bank]) {
			need->extra[bank]--;
			layer[LAYERS - 1] |= deep & -deep;
		}
	}
}

struct place place_of(const struct bank_map *map, uint32_t word)
{
	return place_in_group(map, word, divide(map->group_words, word));
}

uint64_t place_take_edge(const struct bank_map *map, struct place *p, uint32_t n, uint32_t *taken, unsigned *bank_word)
{
	*bank_word = BANK_SRAM;
	if (p->behind <= 0) {
		p->word += n; /* behind the memory */
		*taken = n;
		return 0;
	}
	uint32_t here = n < (uint32_t)p->behind ? n : (uint32_t)p->behind;
	here = here < map->group_banks ? here : map->group_banks;
	uint64_t banks;
	if (map->wide) {
		uint32_t bank = p->base + p->bank;
		here = 1;
		*bank_word = BANK_SRAM + bank / 64;
		banks = UINT64_C(1) << bank % 64;
	} else {
		banks = here == 1 ? UINT64_C(1) << (p->base + p->bank)
				  : ring_bits(p->bank, here, map->group_banks) << p->base;
	}
	place_move(map, p, here, here < map->group_banks ? here : 0);
	*taken = here;
	return banks;
}

uint64_t bank_mask(const struct bank_map *map, uint32_t local, uint64_t bytes)
{
	uint32_t offset = npu_local_offset(local);
	uint32_t end = (uint32_t)(offset + bytes - 1);
	uint32_t first, last;
	if (npu_is_acc(local)) {
		first = divide(map->accum_bank_bytes, offset);
		last = divide(map->accum_bank_bytes, end);
	} else {
		first = divide(map->group_words, offset >> map->word_shift);
		last = divide(map->group_words, end >> map->word_shift);
	}
	return (last >= 63 ? ~UINT64_C(0) : (UINT64_C(1) << (last + 1)) - 1) & ~UINT64_C(0) << first;
}
