/* SPDX-License-Identifier: Apache-2.0 */
/* Words of walks, one beat after the other. Who is granted what is memory.c. */
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
	uint32_t group = divide(map->group_words, word);
	uint32_t in_group = word - group * map->group_words.divisor;
	return (struct place){
		.word = word,
		.base = group * map->group_banks,
		.bank = in_group - divide(map->banks_of_group, in_group) * map->group_banks,
		.behind = group < map->groups ? (int32_t)(map->group_words.divisor - in_group) : 0,
	};
}

uint64_t place_take_edge(const struct bank_map *map, struct place *p, uint32_t n, uint32_t *taken, unsigned *bank_word)
{
	*bank_word = BANK_SRAM;
	if (p->behind <= 0) {
		/* A row counted as the first one lies may end behind the memory. */
		p->word += n;
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

uint32_t walk_row_words(const struct bank_map *map, const struct memory_walk *walk)
{
	if (npu_is_acc(walk->local))
		return divide(map->accum_words, walk->row_bytes + map->accum_word - 1);
	uint32_t word_bytes = UINT32_C(1) << map->word_shift;
	return ((walk->local & (word_bytes - 1)) + walk->row_bytes + word_bytes - 1) >> map->word_shift;
}

/* From a beat without words to the next one with some. */
static void skip_empty(struct walker *w, uint64_t end)
{
	if (w->quotient == 0 && w->carry + w->remainder < w->beats) {
		uint64_t beats = (w->beats - w->carry - 1) / w->remainder;
		w->next += beats;
		w->carry += beats * w->remainder;
	}
	if (w->next >= end)
		w->next = NPU_NEVER;
}

/* Where its word lies, and how far it is from row to row. */
static void place_walker(const struct bank_map *map, struct walker *w, const struct memory_walk *walk)
{
	uint32_t passed = walk->by_column ? 1 : w->row_words; /* words taken before the next row */
	uint32_t stride = walk->stride >> map->word_shift;
	w->place = place_of(map, (w->offset >> map->word_shift) + w->word);
	w->regular = stride << map->word_shift == walk->stride && stride >= passed;
	w->step = stride - passed;
	w->step_banks = w->regular ? w->step - divide(map->banks_of_group, w->step) * map->group_banks : 0;
	w->plain = w->regular && !walk->by_column && w->quotient == w->row_words && w->remainder == 0 && !map->wide &&
		   w->row_words < map->group_banks;
	w->row_banks = w->plain ? stride - divide(map->banks_of_group, stride) * map->group_banks : 0;
}

void walker_seek(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, uint64_t beat)
{
	if (beat < walk->begin)
		beat = walk->begin;
	if (beat >= walk->end) {
		w->next = NPU_NEVER;
		return;
	}
	w->beats = walk->end - walk->begin;
	w->row_words = walk_row_words(map, walk);
	uint64_t words = (uint64_t)w->row_words * walk->rows;
	uint64_t passed = beat - walk->begin;
	w->quotient = words / w->beats;
	w->remainder = words % w->beats;
	w->gap = w->quotient ? 0 : w->beats / w->remainder;
	w->rest = w->beats - w->gap * w->remainder;
	w->carry = 0;
	uint64_t done = w->quotient * passed;
	if (passed && w->remainder) {
		unsigned __int128 product = (unsigned __int128)w->remainder * passed;
		uint64_t whole = product >> 64 ? (uint64_t)(product / w->beats) : (uint64_t)product / w->beats;
		w->carry = (uint64_t)(product - (unsigned __int128)whole * w->beats);
		done += whole;
	}
	w->row = w->word = 0;
	w->plain = false;
	if (done) {
		uint64_t inner = walk->by_column ? walk->rows : w->row_words;
		uint32_t outer = (uint32_t)(done / inner), rest = (uint32_t)(done % inner);
		w->row = walk->by_column ? rest : outer;
		w->word = walk->by_column ? outer : rest;
	}
	w->offset = npu_local_offset(walk->local) + w->row * walk->stride;
	if (!npu_is_acc(walk->local))
		place_walker(map, w, walk);
	w->next = beat;
	skip_empty(w, walk->end);
}

/* Behind the last word of a row, or of a column. */
static void next_row(const struct bank_map *map, struct walker *w, const struct memory_walk *walk)
{
	w->row++;
	w->offset += walk->stride;
	if (walk->by_column && w->row == walk->rows) {
		w->row = 0;
		w->word++;
		w->offset = npu_local_offset(walk->local);
	} else if (w->regular) {
		place_move(map, &w->place, w->step, w->step_banks);
		return;
	}
	if (!npu_is_acc(walk->local))
		w->place = place_of(map, (w->offset >> map->word_shift) + w->word);
}

/* Some of `n` words from where the walker stands; returns their banks, in *taken how many they are. */
static uint64_t take_words(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, uint64_t n,
			   uint32_t *taken, unsigned *bank_word)
{
	uint64_t banks;
	if (npu_is_acc(walk->local)) {
		*taken = 1;
		*bank_word = accum_word_of(walk->write);
		banks = accum_bank(map, w->offset + w->word * map->accum_word);
	} else {
		uint32_t run = walk->by_column ? 1 : w->row_words - w->word;
		banks = place_take(map, &w->place, n < run ? (uint32_t)n : run, taken, bank_word);
	}
	if (walk->by_column) {
		next_row(map, w, walk);
		return banks;
	}
	w->word += *taken;
	if (w->word == w->row_words) {
		w->word = 0;
		next_row(map, w, walk);
	}
	return banks;
}

/* Words of beat `next`; goes to the following beat with words. */
static uint64_t step_over(struct walker *w, const struct memory_walk *walk)
{
	uint64_t n = w->quotient;
	w->carry += w->remainder;
	if (w->carry >= w->beats) {
		w->carry -= w->beats;
		n++;
	}
	w->next++;
	if (!w->quotient) {
		uint64_t empty = w->gap - (w->carry >= w->rest);
		w->next += empty;
		w->carry += empty * w->remainder;
	}
	if (w->next >= walk->end)
		w->next = NPU_NEVER;
	return n;
}

/* The same where a beat is a row of a few neighbouring words, and rows lie alike: what arrays mostly do. */
static void rows_ahead(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, struct ahead *ahead)
{
	uint64_t end = ahead->first + ahead->n < walk->end ? ahead->first + ahead->n : walk->end;
	uint32_t stride = w->step + w->row_words;
	struct place place = w->place;
	for (uint32_t i = (uint32_t)(w->next - ahead->first); ahead->first + i < end; i++) {
		struct bank_ask *ask = &ahead->ask[BANK_SRAM][i];
		uint64_t deep;
		if (place.bank + w->row_words <= map->group_banks) {
			deep = ask_add(ask, ((UINT64_C(1) << w->row_words) - 1) << (place.base + place.bank));
		} else {
			struct place at = place;
			unsigned bank_word;
			uint32_t taken;
			deep = 0;
			for (uint32_t n = w->row_words; n; n -= taken)
				deep |= ask_add(ask, place_take(map, &at, n, &taken, &bank_word));
		}
		if (deep && i < ahead->n)
			ahead->n = i;
		ahead->busy |= UINT32_C(1) << i;
		place_move(map, &place, stride, w->row_banks);
	}
	uint32_t rows = (uint32_t)(end - w->next);
	w->place = place;
	w->row += rows;
	w->offset += rows * walk->stride;
	w->next = end < walk->end ? end : NPU_NEVER;
}

void walker_ahead(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, struct ahead *ahead)
{
	uint64_t end = ahead->first + ahead->n;
	if (w->plain && w->next < end && w->word == 0) {
		rows_ahead(map, w, walk, ahead);
		return;
	}
	while (w->next < end) {
		uint32_t i = (uint32_t)(w->next - ahead->first);
		uint32_t taken;
		unsigned bank_word;
		ahead->busy |= UINT32_C(1) << i;
		for (uint64_t n = step_over(w, walk); n; n -= taken) {
			uint64_t banks = take_words(map, w, walk, n, &taken, &bank_word);
			if (ask_add(&ahead->ask[bank_word][i], banks) && i < ahead->n)
				ahead->n = i;
		}
	}
}

void walker_beat(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, struct bank_need *need)
{
	uint32_t taken;
	unsigned bank_word;
	for (uint64_t n = step_over(w, walk); n; n -= taken) {
		uint64_t banks = take_words(map, w, walk, n, &taken, &bank_word);
		need_add(need, bank_word, banks);
	}
}
