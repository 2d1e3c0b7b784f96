/* SPDX-License-Identifier: Apache-2.0 */
/* Words of walks: how many there are and in which order (walk_words), one beat after the other (walker). */
#include "models/memory_bank.h"

/* ---- how words lie ---- */

static uint32_t word_mask(const struct bank_map *map) { return (UINT32_C(1) << map->word_shift) - 1; }
static uint32_t word_of(const struct bank_map *map, uint32_t offset) { return offset >> map->word_shift; }

/* Rows [first, first + n) whose offset in a word is at least `from`. Offsets repeat after word / gcd(stride, word) rows. */
static uint32_t rows_from(const struct bank_map *map, const struct memory_walk *walk, uint32_t first, uint32_t n,
			  uint32_t from)
{
	uint32_t mask = word_mask(map), period = (mask + 1) >> __builtin_ctz(walk->stride);
	if (from > mask)
		return 0;
	uint32_t part = n % period, all = 0, in_part = 0;
	uint32_t offset = npu_local_offset(walk->local) + first * walk->stride;
	for (uint32_t i = 0, end = n < period ? part : period; i < end; i++, offset += walk->stride) {
		all += (offset & mask) >= from;
		if (i < part)
			in_part = all;
	}
	return n / period * all + in_part;
}

/* Words asked for column by column. Columns before the last are of all rows; where the last word of a column is the first
 * one of the next it is asked for once. */
struct columns {
	uint32_t full;   /* words of the first column */
	uint32_t others; /* of every further one of all rows */
	uint32_t last;   /* of that of the wide rows */
};
static struct columns columns_of(const struct bank_map *map, const struct memory_walk *walk, const struct walk_words *lie)
{
	uint32_t begin = npu_local_offset(walk->local), end = begin + (walk->rows - 1) * walk->stride;
	uint32_t span = word_of(map, end) - word_of(map, begin);
	struct columns c = { .full = walk->rows };
	if (lie->shared_from <= word_mask(map))
		c.full = span + 1; /* of narrow rows every word is somebody's */
	c.others = c.full - (span == 1);
	c.last = rows_from(map, walk, 0, walk->rows, lie->wide_from);
	if (c.last) {
		uint32_t wide = begin;
		while ((wide & word_mask(map)) < lie->wide_from)
			wide += walk->stride;
		c.last -= word_of(map, wide) + 1 == word_of(map, end);
	}
	return c;
}

static struct walk_words one_run(uint64_t words)
{
	return (struct walk_words){ .words = words, .rows = 1, .row_words = (uint32_t)words, .stride = (uint32_t)words };
}

static struct walk_words accum_words(const struct bank_map *map, const struct memory_walk *walk)
{
	uint32_t row_words = divide(map->accum_words, walk->row_bytes + map->accum_word - 1);
	return (struct walk_words){ .words = (uint64_t)row_words * walk->rows,
				    .rows = walk->rows,
				    .row_words = row_words,
				    .by_column = walk->by_column };
}

/* A row of b bytes at offset x of a word of w: ceil(b / w) words, and one more from x = ceil(b / w) w - b + 1 on. Rows s
 * apart: it begins in the word in which the one before ended from x = s - b + 1 on, began from x = s on. */
static struct walk_words uneven_words(const struct bank_map *map, const struct memory_walk *walk)
{
	uint32_t word = word_mask(map) + 1, least = (walk->row_bytes + word - 1) >> map->word_shift;
	struct walk_words lie = {
		.words = (uint64_t)least * walk->rows,
		.rows = walk->rows,
		.row_words = least,
		.wide_from = (least << map->word_shift) - walk->row_bytes + 1,
		.shared_from = walk->by_column ? walk->stride : walk->stride - walk->row_bytes + 1,
		.uneven = true,
		.by_column = walk->by_column,
	};
	if (walk->by_column) {
		struct columns c = columns_of(map, walk, &lie);
		lie.words = c.full + (uint64_t)(least - 1) * c.others + c.last;
	} else {
		lie.words += rows_from(map, walk, 0, walk->rows, lie.wide_from);
		lie.words -= rows_from(map, walk, 1, walk->rows - 1, lie.shared_from);
	}
	return lie;
}

struct walk_words walk_words(const struct bank_map *map, const struct memory_walk *walk)
{
	if (npu_is_acc(walk->local))
		return accum_words(map, walk);
	uint32_t begin = npu_local_offset(walk->local), mask = word_mask(map);
	uint32_t end = begin + (walk->rows - 1) * walk->stride + walk->row_bytes;
	uint32_t run = word_of(map, end - 1) - word_of(map, begin) + 1;
	if (walk->rows == 1 || (!walk->by_column && walk->stride == walk->row_bytes))
		return one_run(run);
	if (walk->stride & mask)
		return uneven_words(map, walk);
	uint32_t stride = word_of(map, walk->stride);
	uint32_t row_words = word_of(map, begin + walk->row_bytes - 1) - word_of(map, begin) + 1;
	/* All rows share their ends, or of two rows the second word of one is the first of the other. */
	if (stride && row_words > stride && (!walk->by_column || (walk->rows == 2 && stride == 1)))
		return one_run(run);
	return (struct walk_words){ .words = (uint64_t)row_words * walk->rows,
				    .rows = walk->rows,
				    .row_words = row_words,
				    .stride = stride,
				    .by_column = walk->by_column };
}

bool walk_meets_itself(const struct bank_map *map, const struct memory_walk *walk)
{
	uint64_t beats = walk->end - walk->begin;
	struct walk_words lie = walk_words(map, walk);
	if (npu_is_acc(walk->local))
		return lie.words > beats;
	/* Neighbouring words lie in different banks, as many as a group has. */
	uint64_t most = beats * map->group_banks;
	if (walk->rows == 1 || (!walk->by_column && walk->stride == walk->row_bytes))
		return lie.words > most;
	/* Beats stay inside even rows when each takes a whole number of them; others may come back to a bank. */
	uint32_t begin = npu_local_offset(walk->local) & word_mask(map);
	uint32_t row_words = lie.uneven ? lie.row_words + (lie.wide_from <= word_mask(map))
					: word_of(map, begin + walk->row_bytes - 1) + 1;
	uint64_t words = (uint64_t)row_words * walk->rows;
	return words > beats && (walk->by_column || lie.uneven || beats % walk->rows || words > most);
}

/* ---- where a walker stands ---- */

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
static void place_walker(const struct bank_map *map, struct walker *w)
{
	const struct walk_words *lie = &w->lie;
	uint32_t passed = lie->by_column ? 1 : lie->row_words; /* words taken before the next row */
	w->place = place_of(map, word_of(map, w->offset) + w->word);
	if (lie->uneven)
		return;
	w->step = lie->stride - passed;
	w->step_banks = lie->stride < passed ? 0 : w->step - divide(map->banks_of_group, w->step) * map->group_banks;
	w->plain = !lie->by_column && lie->stride >= passed && w->quotient == lie->row_words && w->remainder == 0 &&
		   !map->wide && lie->row_words < map->group_banks;
	w->row_banks = w->plain ? lie->stride - divide(map->banks_of_group, lie->stride) * map->group_banks : 0;
}

/* Words of the uneven row that the walker is in. */
static uint32_t words_here(const struct bank_map *map, const struct walker *w)
{
	return w->lie.row_words + ((w->offset & word_mask(map)) >= w->lie.wide_from);
}

/* Uneven: from behind the last word of a row to the next word, if there is one. */
static void next_uneven_row(const struct bank_map *map, struct walker *w, const struct memory_walk *walk)
{
	do {
		w->row++;
		w->offset += walk->stride;
		w->word = (w->offset & word_mask(map)) >= w->lie.shared_from;
	} while (w->row < walk->rows && w->word == words_here(map, w));
}

/* Uneven, by column: to the next word behind `last` that is another one. */
static void next_uneven_word(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, uint32_t last)
{
	do {
		w->row++;
		w->offset += walk->stride;
		if (w->row == walk->rows) {
			w->row = 0;
			w->word++;
			w->offset = npu_local_offset(walk->local);
			if (w->word > w->lie.row_words)
				return;
		}
	} while (w->word >= words_here(map, w) || word_of(map, w->offset) + w->word == last);
}

/* Passes `done` words of an uneven walk from its beginning. */
static void seek_rows(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, uint64_t done)
{
	uint32_t period = (word_mask(map) + 1) >> __builtin_ctz(walk->stride);
	if (walk->rows > 2 * period) {
		/* A period of rows from row 1 on has as many words as any other. */
		uint64_t words = (uint64_t)period * w->lie.row_words + rows_from(map, walk, 1, period, w->lie.wide_from) -
				 rows_from(map, walk, 1, period, w->lie.shared_from);
		uint32_t first = words_here(map, w);
		uint32_t periods = done > first ? (uint32_t)((done - first) / words) : 0;
		if (periods) {
			done -= first + periods * words;
			w->row = periods * period;
			w->offset += w->row * walk->stride;
			next_uneven_row(map, w, walk);
		}
	}
	while (done && w->row < walk->rows) {
		uint32_t left = words_here(map, w) - w->word;
		if (done < left) {
			w->word += (uint32_t)done;
			return;
		}
		done -= left;
		next_uneven_row(map, w, walk);
	}
}

static void seek_columns(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, uint64_t done)
{
	struct columns c = columns_of(map, walk, &w->lie);
	uint32_t last = UINT32_MAX;
	if (done >= c.full) {
		/* Whole columns; stands before the first row of the next one. */
		uint64_t others = c.others ? (done - c.full) / c.others : 0;
		w->word = 1 + (uint32_t)(others < w->lie.row_words - 1 ? others : w->lie.row_words - 1);
		done -= c.full + (uint64_t)(w->word - 1) * c.others;
		last = word_of(map, w->offset + (walk->rows - 1) * walk->stride) + w->word - 1;
		if (w->word >= words_here(map, w) || word_of(map, w->offset) + w->word == last)
			next_uneven_word(map, w, walk, last);
	}
	for (; done && w->word <= w->lie.row_words; done--)
		next_uneven_word(map, w, walk, word_of(map, w->offset) + w->word);
}

static void seek_words(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, uint64_t done)
{
	if (w->lie.uneven) {
		if (w->lie.by_column)
			seek_columns(map, w, walk, done);
		else
			seek_rows(map, w, walk, done);
		return;
	}
	uint64_t inner = w->lie.by_column ? w->lie.rows : w->lie.row_words;
	uint32_t outer = (uint32_t)(done / inner), rest = (uint32_t)(done % inner);
	w->row = w->lie.by_column ? rest : outer;
	w->word = w->lie.by_column ? outer : rest;
	w->offset += npu_is_acc(walk->local) ? w->row * walk->stride : (w->row * w->lie.stride) << map->word_shift;
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
	w->lie = walk_words(map, walk);
	uint64_t words = w->lie.words;
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
	if (w->lie.rows == 1 && w->remainder == 0 && !npu_is_acc(walk->local)) {
		/* A run in equal pieces is so many even rows. */
		w->lie.rows = (uint32_t)w->beats;
		w->lie.row_words = w->lie.stride = (uint32_t)w->quotient;
	}
	w->row = w->word = 0;
	w->plain = false;
	w->offset = npu_local_offset(walk->local);
	if (done)
		seek_words(map, w, walk, done);
	if (!npu_is_acc(walk->local))
		place_walker(map, w);
	w->next = beat;
	skip_empty(w, walk->end);
}

/* ---- one beat after the other ---- */

/* Behind the last word of a row, or of a column. */
static void next_row(const struct bank_map *map, struct walker *w, const struct memory_walk *walk)
{
	bool accum = npu_is_acc(walk->local);
	if (w->lie.uneven) {
		if (w->lie.by_column)
			next_uneven_word(map, w, walk, word_of(map, w->offset) + w->word);
		else
			next_uneven_row(map, w, walk);
		w->place = place_of(map, word_of(map, w->offset) + w->word);
		return;
	}
	w->row++;
	w->offset += accum ? walk->stride : w->lie.stride << map->word_shift;
	if (!w->lie.by_column)
		w->word = 0;
	if (w->lie.by_column && w->row == w->lie.rows) {
		w->row = 0;
		w->word++;
		w->offset = npu_local_offset(walk->local);
	} else if (!accum && w->step <= INT32_MAX) {
		place_move(map, &w->place, w->step, w->step_banks);
		return;
	}
	if (!accum)
		w->place = place_of(map, word_of(map, w->offset) + w->word);
}

/* Some of `n` words from where the walker stands; returns their banks, in *taken how many they are. */
static uint64_t take_words(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, uint64_t n,
			   uint32_t *taken, unsigned *bank_word)
{
	uint32_t row_words = w->lie.uneven ? words_here(map, w) : w->lie.row_words;
	uint64_t banks;
	if (npu_is_acc(walk->local)) {
		*taken = 1;
		*bank_word = accum_word_of(walk->write);
		banks = accum_bank(map, w->offset + w->word * map->accum_word);
	} else {
		uint32_t run = w->lie.by_column ? 1 : row_words - w->word;
		banks = place_take(map, &w->place, n < run ? (uint32_t)n : run, taken, bank_word);
	}
	if (w->lie.by_column) {
		next_row(map, w, walk);
		return banks;
	}
	w->word += *taken;
	if (w->word == row_words)
		next_row(map, w, walk);
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

/* A row of which the words lie at both ends of a group, or in two. */
static uint64_t edge_row(const struct bank_map *map, struct place at, uint32_t words, struct ahead *ahead, uint32_t i)
{
	uint64_t deep = 0;
	unsigned bank_word;
	uint32_t taken;
	for (; words; words -= taken)
		deep |= ahead_add(ahead, BANK_SRAM, i, place_take(map, &at, words, &taken, &bank_word));
	return deep;
}

/* The same banks for `n` beats; false, and nothing is done, when one of them wants one of them already. */
static bool add_rows(uint64_t *ask, uint32_t n, uint64_t banks)
{
	uint64_t wanted = 0;
	for (uint32_t k = 0; k < n; k++)
		wanted |= ask[k];
	if (wanted & banks)
		return false;
	for (uint32_t k = 0; k < n; k++)
		ask[k] |= banks;
	return true;
}

/* The same where a beat is a row of a few neighbouring words, and rows lie alike: what arrays mostly do. */
static void rows_ahead(const struct bank_map *map, struct walker *w, const struct memory_walk *walk, struct ahead *ahead)
{
	uint64_t end = ahead->first + ahead->n < walk->end ? ahead->first + ahead->n : walk->end;
	uint32_t stride = w->lie.stride, row_words = w->lie.row_words, banks_of_row = w->row_banks;
	uint32_t begin = (uint32_t)(w->next - ahead->first), rows = (uint32_t)(end - w->next);
	uint64_t row = (UINT64_C(1) << row_words) - 1, *ask = ahead->ask[BANK_SRAM] + begin;
	uint32_t group_banks = map->group_banks, inside = group_banks - row_words;
	struct place place = w->place;
	for (uint32_t k = 0; k < rows;) {
		/* Rows that begin in the group. */
		uint64_t words = (uint64_t)(rows - k) * stride;
		uint32_t end_row = words < (uint64_t)place.behind ? rows : k + 1, first = k;
		uint64_t in_group = row << place.base;
		if (!banks_of_row && place.bank <= inside && add_rows(ask + k, end_row - k, in_group << place.bank))
			k = end_row;
		for (; k < end_row; k++) {
			uint64_t deep = 0;
			if (place.bank <= inside) {
				uint64_t banks = in_group << place.bank, again = ask[k] & banks;
				ask[k] |= banks;
				if (again)
					deep = ahead_add_again(ahead, BANK_SRAM, begin + k, again);
			} else {
				struct place at = place;
				at.word = w->place.word + k * stride;
				at.behind -= (int32_t)((k - first) * stride);
				deep = edge_row(map, at, row_words, ahead, begin + k);
			}
			if (deep && begin + k < ahead->n)
				ahead->n = begin + k;
			place.bank += banks_of_row;
			place.bank -= place.bank >= group_banks ? group_banks : 0;
		}
		place.word = w->place.word + k * stride;
		place.behind -= (int32_t)((k - first) * stride);
		if (place.behind <= 0)
			place = place_of(map, place.word);
	}
	ahead->busy |= (uint32_t)((UINT64_C(1) << rows) - 1) << begin;
	w->place = place;
	w->row += rows;
	w->offset += (rows * stride) << map->word_shift;
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
			if (ahead_add(ahead, bank_word, i, banks) && i < ahead->n)
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
