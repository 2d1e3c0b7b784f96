/* SPDX-License-Identifier: Apache-2.0 */
/* Banks as sets, and walks as words in banks. Private to models/memory*.c: nothing else knows where a byte lies. */
#ifndef NPU_MODELS_MEMORY_BANK_H
#define NPU_MODELS_MEMORY_BANK_H

#include "models/memory.h"

/* Things that serve one access a cycle, as bits of four words: SRAM banks (0 and 1), accumulator banks for reading (2) and
 * for writing (3). */
enum { BANK_SRAM = 0, BANK_ACCUM_READ = 2, BANK_ACCUM_WRITE = 3, BANK_WORDS = 4 };

/* n / divisor for n < 2^32 by one multiplication: with m = floor(2^63 / d) + 1, m d exceeds 2^63 by at most d, so
 * n m / 2^63 is off by less than n d / (2^63 d) < 1 / d while n d < 2^63. */
struct divider {
	uint64_t factor;
	uint32_t divisor;
};
static inline struct divider divider_of(uint32_t divisor)
{
	return (struct divider){ (UINT64_C(1) << 63) / divisor + 1, divisor };
}
static inline uint32_t divide(struct divider d, uint32_t n)
{
	return (uint32_t)((unsigned __int128)n * d.factor >> 63);
}

struct bank_map {
	uint32_t word_shift;  /* log2 of the bytes of an SRAM word */
	uint32_t group_banks; /* banks of a group */
	uint32_t groups;
	uint32_t accum_word; /* bytes */
	bool wide;           /* more than 64 SRAM banks */
	struct divider group_words;
	struct divider banks_of_group;
	struct divider accum_bank_bytes;
	struct divider accum_words;
};

/* What a beat asks of the banks of one word: layer[l] has the banks of which it wants more than l accesses. Whoever wants
 * more than LAYERS counts them in `extra`, a bank. */
enum { LAYERS = 4 };
struct bank_ask {
	uint64_t layer[LAYERS];
};

/* What the beat under way still waits for. */
struct bank_need {
	struct bank_ask ask[BANK_WORDS];
	uint32_t extra[BANK_WORDS * 64];
};

/* Adds one access of each bank of `banks`; returns those of which LAYERS are wanted already. */
uint64_t ask_add_again(struct bank_ask *, uint64_t again);
static inline uint64_t ask_add(struct bank_ask *ask, uint64_t banks)
{
	uint64_t again = ask->layer[0] & banks;
	ask->layer[0] |= banks;
	return again ? ask_add_again(ask, again) : 0;
}

/* The beats ahead of a port, as far as they are worked out: what `n` beats from `first` on ask of `words` (bit mask). Few ask a
 * bank twice: their further layers are kept apart. */
enum { AHEAD = 32 };
struct ahead {
	uint64_t first;
	uint32_t n;
	uint32_t words;
	uint32_t busy;             /* bit i: beat first + i asks for something */
	uint32_t deep[BANK_WORDS]; /* bit i: `more` holds layers of it */
	uint64_t ask[BANK_WORDS][AHEAD]; /* layer 0 */
	struct bank_ask more[BANK_WORDS][AHEAD]; /* from layer 1 on; layer 0 is not used */
};
/* Adds one access of each bank of `banks` of word `w` to beat `i`; returns those of which LAYERS are wanted already. */
uint64_t ahead_add_again(struct ahead *, unsigned w, uint32_t i, uint64_t again);
static inline uint64_t ahead_add(struct ahead *ahead, unsigned w, uint32_t i, uint64_t banks)
{
	uint64_t again = ahead->ask[w][i] & banks;
	ahead->ask[w][i] |= banks;
	return again ? ahead_add_again(ahead, w, i, again) : 0;
}

/* Where an SRAM word lies. */
struct place {
	uint32_t word;   /* its number */
	uint32_t base;   /* first bank of its group */
	uint32_t bank;   /* in the group */
	int32_t behind;  /* words of the group from it on; 0: behind the memory */
};
struct place place_of(const struct bank_map *, uint32_t word);
/* The same where the group is known. */
static inline struct place place_in_group(const struct bank_map *map, uint32_t word, uint32_t group)
{
	uint32_t in_group = word - group * map->group_words.divisor;
	return (struct place){
		.word = word,
		.base = group * map->group_banks,
		.bank = in_group - divide(map->banks_of_group, in_group) * map->group_banks,
		.behind = group < map->groups ? (int32_t)(map->group_words.divisor - in_group) : 0,
	};
}
/* Moves on by `words`, which are `banks` modulo the banks of a group. */
static inline void place_move(const struct bank_map *map, struct place *p, uint32_t words, uint32_t banks)
{
	p->word += words;
	p->behind -= (int32_t)words;
	if (p->behind <= 0) {
		*p = place_of(map, p->word);
		return;
	}
	p->bank += banks;
	if (p->bank >= map->group_banks)
		p->bank -= map->group_banks;
}

/* How the words of a walk lie in the SRAM, in the order in which they are asked for: its rows one after the other, or
 * (by_column) word 0 of every row, then word 1 of every row that has one, ... A word that would be asked for twice running
 * is asked for once: neighbouring rows share it. */
struct walk_words {
	uint64_t words;       /* all of them */
	uint32_t rows;        /* rows without a gap between their words count as one */
	uint32_t row_words;   /* of each row; where rows are uneven, the least */
	uint32_t stride;      /* of even rows, in words */
	uint32_t wide_from;   /* uneven: a row at this offset of a word or behind it has a word more */
	uint32_t shared_from; /* uneven: such a row begins in the word in which the row before ended (by_column: began) */
	bool uneven;          /* the stride is no multiple of a word */
	bool by_column;
};
struct walk_words walk_words(const struct bank_map *, const struct memory_walk *);
/* Whether a beat of the walk may ask twice for one bank. True also when it is for the same walk earlier in a word. */
bool walk_meets_itself(const struct bank_map *, const struct memory_walk *);

/* Where a walk of w words over t beats stands: before beat `next`, the next one with words. Words come
 * floor(w (i + 1) / t) - floor(w i / t) in beat i: `quotient` of them, and one more where the carry overflows. With less
 * than a word a beat, next jumps from word to word: t = gap w + rest, so the distance is gap, or gap + 1 where the carry
 * is below the rest. */
struct walker {
	uint64_t next;
	uint64_t beats;      /* t */
	uint64_t quotient;   /* w = quotient t + remainder */
	uint64_t remainder;
	uint64_t carry;      /* remainder x beats passed, modulo t */
	uint64_t gap;        /* t = gap remainder + rest, with quotient 0 */
	uint64_t rest;
	struct walk_words lie;
	uint32_t row;
	uint32_t word;       /* in the row */
	uint32_t offset;     /* byte of the row, in the SRAM or the accumulators */
	struct place place;  /* SRAM: of the word */
	uint32_t step;       /* SRAM, even: from the end of a row (by_column: of a word) to the next are so many words ... */
	uint32_t step_banks; /* ... and banks */
	bool plain;          /* SRAM, even: a beat is a row ... */
	uint32_t row_banks;  /* ... and from row to row are so many banks */
};

/* Places a walker before the first beat with words at or behind `beat`; next is NPU_NEVER when there is none. */
void walker_seek(const struct bank_map *, struct walker *, const struct memory_walk *, uint64_t beat);
/* Adds the words of the walker's beats in [ahead->first, + ahead->n) and goes behind them. Where a bank is asked too often
 * for the layers, ahead->n is cut to the beats before. */
void walker_ahead(const struct bank_map *, struct walker *, const struct memory_walk *, struct ahead *);
/* Adds the words of beat `next`, however many, and goes to the following beat with words. */
void walker_beat(const struct bank_map *, struct walker *, const struct memory_walk *, struct bank_need *);

/* A run of neighbouring SRAM words from `place` on, at most `n` and as many as lie in different banks of one word: the
 * banks, and in *taken how many words (0 banks: behind the memory). `place` moves behind them. */
uint64_t place_take_edge(const struct bank_map *, struct place *, uint32_t n, uint32_t *taken, unsigned *bank_word);
static inline uint64_t place_take(const struct bank_map *map, struct place *p, uint32_t n, uint32_t *taken,
				  unsigned *bank_word)
{
	if (map->wide || p->bank + n >= map->group_banks)
		return place_take_edge(map, p, n, taken, bank_word);
	/* In a row of banks, so inside the group. */
	uint64_t banks = ((UINT64_C(1) << n) - 1) << (p->base + p->bank);
	p->word += n;
	p->bank += n;
	p->behind -= (int32_t)n;
	*taken = n;
	*bank_word = BANK_SRAM;
	return banks;
}

static inline unsigned accum_word_of(bool write) { return write ? BANK_ACCUM_WRITE : BANK_ACCUM_READ; }
static inline uint64_t accum_bank(const struct bank_map *map, uint32_t offset)
{
	return UINT64_C(1) << divide(map->accum_bank_bytes, offset);
}

/* Adds one access of each bank of `banks`, however many there are already. */
void need_add_deep(struct bank_need *, unsigned w, uint64_t banks);
static inline void need_add(struct bank_need *need, unsigned w, uint64_t banks)
{
	uint64_t deep = ask_add(&need->ask[w], banks);
	if (deep)
		need_add_deep(need, w, deep);
}

/* After a cycle in which all banks of word `w` but those in `lost` served this beat. */
void need_served_again(struct bank_need *, unsigned w, uint64_t lost);
static inline void need_served(struct bank_need *need, unsigned w, uint64_t lost)
{
	if (need->ask[w].layer[1])
		need_served_again(need, w, lost);
	else
		need->ask[w].layer[0] = lost;
}

/* Groups or accumulator banks of `bytes` bytes from `local` on. */
uint64_t bank_mask(const struct bank_map *, uint32_t local, uint64_t bytes);

#endif
