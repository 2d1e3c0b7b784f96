/* SPDX-License-Identifier: Apache-2.0 */
/* Banks of SRAM and accumulators, one cycle after the other.
 *
 * An SRAM word is bank_bytes aligned bytes; the words of a group lie round robin in its banks; a bank serves one word a
 * cycle. An accumulator word is max(cols, lanes) x 4 bytes, a bank a contiguous range; it serves a word of reads and a
 * word of writes. */
#include "tests/golden/twin_parts.h"

#include <stdlib.h>
#include <string.h>

void *twin_alloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);
	if (!p)
		abort();
	return p;
}

void *twin_room(void *array, size_t n, size_t size)
{
	if (n & (n - 1) || (n == 0 && array))
		return array;
	array = realloc(array, (n ? 2 * n : 1) * size);
	if (!array)
		abort();
	return array;
}

/* Words of a row; the accumulators' begin where the row does. */
static uint64_t row_words(const struct hw *hw, const struct twin_rows *r, uint64_t row)
{
	uint64_t word = npu_is_acc(r->local) ? hw_accum_word_bytes(hw) : hw->sram.bank_bytes;
	uint64_t first = npu_local_offset(r->local) + row * r->stride, last = first + r->row_bytes - 1;
	return npu_is_acc(r->local) ? (r->row_bytes + word - 1) / word : last / word - first / word + 1;
}

static uint8_t bank_of_word(const struct hw *hw, uint64_t number)
{
	uint64_t group_words = hw->sram.size / hw->sram.groups / hw->sram.bank_bytes;
	uint64_t group_banks = hw->sram.banks / hw->sram.groups;
	return (uint8_t)(number / group_words * group_banks + number % group_words % group_banks);
}

/* A word that would be asked for twice running is asked for once. */
static void add_word(struct twin_walk *w, const struct hw *hw, const struct twin_rows *r, uint64_t row, uint64_t word,
		     uint64_t *last)
{
	uint64_t begin = npu_local_offset(r->local) + row * r->stride;
	if (npu_is_acc(r->local)) {
		uint64_t bank = (begin + word * hw_accum_word_bytes(hw)) / (hw->accum.size / hw->accum.banks);
		uint8_t number = (uint8_t)((r->write ? TWIN_ACC_WRITE : TWIN_ACC_READ) + bank);
		w->bank[w->words++] = number;
		return;
	}
	uint64_t number = begin / hw->sram.bank_bytes + word;
	if (number != *last)
		w->bank[w->words++] = bank_of_word(hw, number);
	*last = number;
}

void twin_walk_add(struct twin_walk *w, const struct hw *hw, const struct twin_rows *r)
{
	uint64_t most = 0, all = 0, last = UINT64_MAX;
	for (uint64_t i = 0; i < r->rows; i++) {
		uint64_t n = row_words(hw, r, i);
		most = n > most ? n : most;
		all += n;
	}
	w->bank = realloc(w->bank, (w->words + all + 1) * sizeof *w->bank);
	if (!w->bank)
		abort();
	for (uint64_t i = 0; !r->by_column && i < r->rows; i++)
		for (uint64_t j = 0; j < row_words(hw, r, i); j++)
			add_word(w, hw, r, i, j, &last);
	for (uint64_t j = 0; r->by_column && j < most; j++)
		for (uint64_t i = 0; i < r->rows; i++)
			if (j < row_words(hw, r, i))
				add_word(w, hw, r, i, j, &last);
}

void twin_walk_free(struct twin_walk *w)
{
	free(w->bank);
	*w = (struct twin_walk){ 0 };
}

void twin_memory_init(struct twin_memory *m, const struct hw *hw)
{
	m->ideal = hw->sram.ideal;
	memset(m->last, NPU_ENGINES - 1, sizeof m->last);
}

void twin_memory_ask(struct twin_memory *m, enum npu_engine port, struct twin_walk *w, uint64_t i, uint64_t beats)
{
	m->beat[port] = true;
	for (; w->next < w->words * (i + 1) / beats; w->next++)
		if (!m->ideal)
			m->want[port][w->bank[w->next]]++;
}

/* One word of this bank goes to one port: of several, to the first behind the last winner. */
static void serve(struct twin_memory *m, unsigned bank)
{
	unsigned asks = 0, winner = 0;
	for (unsigned i = NPU_ENGINES; i > 0; i--) {
		unsigned port = (m->last[bank] + i) % NPU_ENGINES;
		if (!m->want[port][bank])
			continue;
		asks++;
		winner = port;
	}
	if (!asks)
		return;
	m->want[winner][bank]--;
	if (asks > 1)
		m->last[bank] = (uint8_t)winner;
}

void twin_memory_cycle(struct twin_memory *m)
{
	bool any = false;
	for (unsigned p = 0; p < NPU_ENGINES; p++)
		any |= m->beat[p];
	for (unsigned bank = 0; any && bank < TWIN_BANKS; bank++)
		serve(m, bank);
	for (unsigned p = 0; p < NPU_ENGINES; p++) {
		enum twin_outcome outcome = m->beat[p] ? TWIN_PASSED : TWIN_NO_BEAT;
		for (unsigned bank = 0; m->beat[p] && outcome == TWIN_PASSED && bank < TWIN_BANKS; bank++)
			if (m->want[p][bank])
				outcome = bank < TWIN_ACC_READ ? TWIN_DENIED_SRAM : TWIN_DENIED_ACCUM;
		m->outcome[p] = outcome;
		if (outcome == TWIN_PASSED)
			m->beat[p] = false;
	}
}
