/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of models/dram share; nobody else includes it.
 *
 *   push -> door of a port -> queue (read | write), lists by bank -> commands in order of clk -> data bus -> done
 *
 * A request splits into pieces: at most PIECE_BURSTS consecutive column bursts of one channel and of one row (of one
 * row in each bank group where the mapping puts the bank group lowest). A piece enters the queue whole, as one entry
 * for each of its banks (a lane); its bursts have ages of their own, in order of address. */
#ifndef NPU_MODELS_DRAM_CORE_H
#define NPU_MODELS_DRAM_CORE_H

#include <stddef.h>

#include "models/dram/dram.h"

enum {
	MAX_BANKS = 64, /* a channel, ranks included: a bank set is one word */
	MAX_RANKS = 4,
	DRAM_CHANNELS = 64,
	MAX_GROUPS = 8, /* a rank */
	OPS = DRAM_REFPB + 1,
	PIECE_BURSTS = 8,
	FAW_WINDOW = 4,
	AGE_BITS = 40,
	HASH_BITS = 6, /* of a channel number */
	TAG_BUCKETS = 256,
	BUSY_HISTORY = 1024,  /* intervals of data on a channel's bus that dram_explain() can look back on */
	REFRESH_HISTORY = 64, /* likewise refreshes */
};

/* Later than any clk, and a few command lengths can be added to it. The interface says UINT64_MAX. */
#define NEVER      (UINT64_MAX / 4)
#define NO_ROW     UINT32_MAX
#define NO_ENTRY   UINT16_MAX
#define NO_PIECE   UINT32_MAX
#define NO_REQUEST UINT32_MAX
#define NO_BANK    MAX_BANKS
#define NOBODY     UINT32_MAX

/* The operation of a column command, and that of the other direction. */
static inline uint32_t column_op(bool write)
{
	return DRAM_RD + write;
}
_Static_assert(DRAM_WR == DRAM_RD + 1, "column_op() counts on it");

static inline uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}
static inline uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Of a rare or long branch, so that the usual and short one saves no registers for it. */
#define OUT_OF_LINE __attribute__((noinline))
/* Of what every burst passes through in several places. */
#define IN_LINE static inline __attribute__((always_inline))

/* A bit for each bank of a channel. */
typedef uint64_t bank_set;
static inline bank_set bit(uint32_t bank)
{
	return (bank_set)1 << bank;
}
static inline uint32_t lowest(bank_set set)
{
	return (uint32_t)__builtin_ctzll(set);
}

/* ---- what a configuration means, computed once (plan.c) ---- */

enum scope { SCOPE_BANK, SCOPE_GROUP, SCOPE_RANK, SCOPE_OTHER };

/* A row of rules.def, start to start. */
struct rule {
	uint32_t gap;
	uint16_t scope, second;
};

struct rules {
	struct rule row[14];
	uint32_t n;     /* of the first n the scope is a bank, group or rank */
	uint32_t other; /* the next `other` hold for the other ranks */
};

/* What a RD or WR forbids, picked from the rules: columns are too many to interpret. */
struct column_gaps {
	uint32_t precharge;   /* PRE of the bank */
	uint32_t same_group;  /* the same direction in the bank group */
	uint32_t same_rank;   /* and in the rank */
	uint32_t other_group; /* the other direction in the bank group */
	uint32_t other_rank;  /* and in the rank */
};

/* What ACT, ACT-2 and PRE forbid, picked likewise; 0: nothing. */
struct row_gaps {
	uint32_t read, write, precharge, activate; /* of the bank */
	uint32_t activate_group, activate_rank, precharge_rank;
	bool opens; /* ACT-2, or the only ACT */
};

/* An address field: bits >> shift & mask. */
struct field {
	uint32_t shift, mask;
};

struct plan {
	struct rules rules[OPS];
	struct column_gaps column_gaps[2]; /* [write] */
	struct row_gaps row_gaps[DRAM_PRE + 1];
	bool group_holds[OPS];             /* some rule holds this command back by its group */
	uint64_t command_clk[OPS];
	uint64_t shared_clk[OPS]; /* for which a command keeps others, of columns and of rows, off their bus */
	uint8_t bus_of[OPS];     /* command bus: 0, or 1 for rows where they have their own */
	uint8_t group_of[MAX_BANKS], rank_of[MAX_BANKS]; /* groups count over the ranks */
	bank_set rank_banks[MAX_RANKS];
	uint32_t banks, groups; /* a channel, all ranks */
	uint32_t burst_clk, burst_bytes;
	uint32_t data_gap[2];     /* [write]: column command to first data */
	uint32_t read_clk;        /* RD to the completion of its read */
	uint32_t before_close[2]; /* [write]: back-to-back bursts from a bank's last on before a PRE of it can leave */
	bool closes_late[2];      /* [write]: no piece has as many behind the last of any of its banks */
	uint32_t high, low;       /* drain when more than high writes wait, stop at low */
	uint32_t piece_bursts;    /* no piece is larger than a queue */
	/* address bits above the burst */
	struct field group, column, bank, rank;
	uint32_t row_shift, row_mask; /* mask 0: rows is no power of two */
	uint32_t run_mask;            /* bursts of a row (of each bank group where that is lowest) - 1 */
	uint8_t burst_shift, interleave_shift, channel_bits, group_bits, bank_bits;
	bool group_lowest, one_rank;
	uint64_t blocks, blocks_mask;  /* of channel_interleave bytes in a channel; mask 0: no power of two */
	uint64_t hash_bits[HASH_BITS]; /* address bits, above the channel's, that flip a channel bit */
};
void dram_plan(struct plan *, const struct dram_config *);
uint32_t dram_refresh_of(const struct dram_config *); /* enum dram_refresh that this part can do */

/* ---- a channel ---- */

/* What holds a command back has a slot: each bank, each group of banks, each rank. */
enum {
	GROUP_SLOT = MAX_BANKS,
	RANK_SLOT = GROUP_SLOT + MAX_RANKS * MAX_GROUPS,
	SLOTS = 128, /* of which the last are not used: a row of slots begins where a shift finds it */
};
_Static_assert(RANK_SLOT + MAX_RANKS <= SLOTS, "a slot for each bank, group and rank");

struct bank {
	uint32_t row;      /* open row or NO_ROW */
	uint32_t passed[2]; /* [write]: bursts since ACT that went before an older one of the bank and direction */
	uint32_t outcome;  /* of its next burst: enum outcome; ROW_HIT unless the bank is in `fresh` */
	uint32_t conflict; /* it was closed for another row */
};
enum outcome { ROW_HIT, ROW_MISS, ROW_CONFLICT, OUTCOMES };

/* One bank's share of a waiting piece. */
struct entry {
	uint64_t age; /* of its next burst; counts up with arrival, in a piece in order of address */
	uint32_t row, piece;
	uint16_t column;     /* of its next burst */
	uint16_t next, prev; /* of this bank, oldest first */
	uint8_t bank, lane, left;
};

/* What a kind of command would do next; NEVER when no bank needs it. clk is never later than the truth; when `exact` it
 * is the truth (as long as the command bus is free by then), and the bank is right; it stays right when the bus is free
 * later, but before `until`, since no older bank can go earlier (rows only). */
struct choice {
	uint64_t clk, until;
	uint32_t bank;
	bool exact;
};
enum kind { COLUMN, ACTIVATE, PRECHARGE, KINDS };

/* Waiting bursts of one direction. Each bank with an entry is in exactly one of the sets: its next command is a column
 * command (the open row has a waiting burst), ACT (no row is open) or PRE (another row is open). */
struct queue {
	uint32_t op[KINDS]; /* the command of each kind */
	bank_set set[KINDS];
	struct choice next[KINDS];
	uint32_t used, size; /* bursts */
	uint32_t wanted;     /* free bursts from which a piece at a door may come in; NOBODY: none waits for room */
	uint32_t oldest, youngest; /* pieces */
	uint16_t head[MAX_BANKS], tail[MAX_BANKS];
	uint16_t first_hit[MAX_BANKS]; /* oldest entry of the open row */
	uint64_t hit_age[MAX_BANKS], head_age[MAX_BANKS];
};

/* The piece at the head of a port. */
struct door {
	uint64_t visible;
	uint32_t head, tail; /* pieces */
	uint8_t bursts, write;
};

/* An all-bank refresh of a rank or a per-bank refresh within it. */
struct refresh {
	uint64_t due;
	bank_set banks; /* being prepared, or 0 */
	uint64_t since; /* they have been blocked */
	bank_set left;  /* per-bank: turns of this round that are to come, a bit each */
};

struct rank {
	uint64_t faw[FAW_WINDOW]; /* start of each of the last four ACT + tFAW */
	uint32_t faw_at;          /* the oldest */
	struct refresh refresh;
};

/* Rows of which some piece waits, by a hash of row and bank: two sets that do not meet have no byte in common. */
struct row_set {
	uint64_t some;
	uint16_t pieces[64];
};

struct interval {
	uint64_t from, to;
};

struct refresh_window {
	uint64_t from, to;
	bank_set banks;
};

struct channel {
	_Alignas(64) uint64_t next[OPS][SLOTS]; /* earliest start of each command as far as a slot is concerned */
	struct bank bank[MAX_BANKS];
	struct rank rank[MAX_RANKS];
	struct queue queue[2]; /* [write] */
	struct entry *entry;
	uint64_t now;             /* of the last decision */
	uint64_t due;             /* of the next, as far as known; NEVER: idle */
	uint64_t held;            /* nobody comes in, and no burst completes a read, before; counts when later than `due` */
	uint64_t command_free[2]; /* command buses */
	uint64_t rest;            /* rows and refresh known at the last column decision come no sooner */
	bool rolls;               /* the next burst follows the last train without a gap, as far as known */
	uint32_t ready;           /* bursts of the train that was put off, as far as its banks are concerned; 0: unknown */
	uint64_t age;
	uint64_t data_from, data_end; /* the last interval of data on the bus, which may still grow */
	uint64_t write_due;           /* no waiting write is overdue before this */
	uint64_t refresh_due;         /* nothing to do for refresh before this */
	bank_set blocked;             /* a refresh is due, or between ACT-1 and ACT-2 */
	bank_set fresh;               /* open rows that no burst has used yet */
	uint64_t act1_clk;            /* of the ACT-1 that waits for its ACT-2 */
	uint32_t act1_row, act1_bank; /* NO_BANK: none waits */
	uint32_t forced;              /* bank whose oldest write is overdue, or NO_BANK */
	uint16_t free_entry;
	bool drain;        /* writes have their turn */
	bool leaving;      /* the turn is over but for rows just opened */
	bool turn_moved;   /* what decides whose turn it is may have changed */
	uint32_t turn;     /* bursts since the direction changed; reads may begin with all of them gone */
	uint64_t full_clk; /* from here on a write at a door finds no room; NEVER: none */
	bool last_write;   /* direction of the last data */
	uint8_t index;
	uint32_t ports;  /* with pieces waiting at their door, a bit each */
	uint32_t reader; /* the port of the only piece at the head of a door, a read's; else NOBODY */
	struct door door[DRAM_PORTS];
	uint32_t writes_outside;              /* pieces at the doors */
	struct row_set reads_outside, writes; /* rows of pieces at the doors; of all that wait */
	uint64_t entry_clk;                   /* when the next piece can come in, unless door_moved */
	uint32_t entry_port;
	bool door_moved;
	uint64_t bursts;
	uint32_t nbusy, nwindows;
	struct interval busy[BUSY_HISTORY]; /* before the last one */
	struct refresh_window window[REFRESH_HISTORY];
};

/* ---- records of requests, kept for a while after their end for dram_explain() ---- */

struct request {
	uint64_t arrival, done;
	uint32_t id;         /* NO_REQUEST: the slot has never been used */
	uint32_t tag, older; /* older: previous request of the same bucket */
	uint32_t first_piece;
	uint16_t pieces;
	uint16_t left; /* pieces not completed */
	uint16_t held; /* pieces that the controller still needs (a write's after it has completed) */
	uint8_t port;
	bool write;
};

struct piece {
	uint64_t addr; /* of its first byte asked for */
	uint64_t visible, accepted, done;
	uint32_t request, next; /* next: behind it at the door, then the next younger in the queue */
	uint32_t older;         /* in the queue */
	uint32_t row, column;
	uint16_t nbytes;
	uint16_t lane[MAX_GROUPS];      /* entry or NO_ENTRY */
	uint32_t lane_gone[MAX_GROUPS]; /* clk after `accepted` of its last column command, UINT32_MAX: to come */
	uint8_t bursts, left, lanes, channel, bank;
	uint8_t row_key; /* in a row_set */
	uint8_t front;   /* lane of its oldest burst that waits */
	bool in_order;   /* its bursts have gone in order of age so far */
	bool write;
	uint8_t unused[10]; /* up to a size by which a shift multiplies */
};
_Static_assert(sizeof(struct piece) == 128, "a power of two");

struct dram {
	struct dram_config config;
	struct dram_hooks hooks;
	struct plan plan;
	struct dram_stats stats;
	bool watched; /* commands concern other ranks or a hook */
	uint64_t outcomes[OUTCOMES];
	uint64_t ideal_bursts;        /* that the ideal part would have moved */
	uint64_t told[DRAM_CHANNELS]; /* before this a channel's next decisions bring no completion */
	uint64_t limit;               /* no decision at or after this in the present dram_run() */
	bool all_data;                /* dram_explain() asks for every burst before the limit, told or not */
	uint64_t decided; /* all that can be told before this has been; channels may lag behind in what can not */
	uint64_t reaction_clk;
	/* Rings by running number, a power of two large; both grow when what is in flight does not fit. */
	struct request *request;
	struct piece *piece;
	uint32_t request_mask, piece_mask;
	uint32_t next_request, next_piece, oldest_request;
	uint32_t full_request, full_piece;        /* numbers that the rings have no room for, as far as known */
	uint32_t bucket[DRAM_PORTS][TAG_BUCKETS]; /* newest request of a tag's bucket */
	struct channel *channel;
};

/* dram.c */
static inline struct request *request_of(const struct dram *d, uint32_t id)
{
	return &d->request[id & d->request_mask];
}
static inline struct piece *piece_of(const struct dram *d, uint32_t id)
{
	return &d->piece[id & d->piece_mask];
}
/* Can the next decision bring a completion at its clk? A write completes as it enters the queue, a read that finds one
 * there likewise; any other read after its data. */
static inline bool tells_at_once(const struct channel *ch)
{
	return ch->writes_outside || ch->writes.some & ch->reads_outside.some;
}
/* Takes decisions of a channel that have been put off if there are any before clk. */
void dram_catch_up(struct dram *, struct channel *, uint64_t clk);
void dram_request_done(struct dram *, struct request *, uint64_t clk);
/* As its owner sees it. */
static inline void dram_piece_done(struct dram *d, struct piece *p, uint64_t clk)
{
	struct request *q = request_of(d, p->request);
	p->done = clk;
	q->done = max64(q->done, clk);
	if (--q->left == 0)
		dram_request_done(d, q, q->done);
}
static inline void piece_gone(const struct dram *d, const struct piece *p)
{
	request_of(d, p->request)->held--;
} /* from the controller */

/* map.c, map.h */
struct lane {
	uint32_t bank, column;
};
/* Where a piece's lanes are. The group counts on with the burst, and the column with each round; bank_hash hides the
 * count behind the row. */
struct lanes {
	uint32_t mask, hash, first; /* first: count of lane 0 */
	uint32_t bank, bank_bits;   /* bank: of group 0 */
	uint32_t column;
};
static inline struct lanes dram_lanes(const struct dram *d, const struct piece *p)
{
	uint32_t mask = d->plan.group.mask, bits = d->plan.bank_bits;
	uint32_t hash = d->config.bank_hash ? p->row & mask : 0, group = p->bank >> bits & mask;
	return (struct lanes){ mask, hash, group ^ hash, p->bank - (group << bits), bits, p->column };
}
/* The first burst of a lane; lane 0 is the piece's own. */
static inline struct lane dram_lane(const struct lanes *l, uint32_t lane)
{
	uint32_t count = l->first + lane, group = (count & l->mask) ^ l->hash;
	return (struct lane){ l->bank + (group << l->bank_bits), l->column + (count > l->mask) };
}
bank_set dram_banks_of(const struct dram *, const struct piece *);

/* bank.c: earliest start of op on a bank, the command bus and (ACT) tFAW left out */
static inline uint64_t allowed_at(const struct dram *d, const struct channel *ch, uint32_t op, uint32_t bank)
{
	const uint64_t *next = ch->next[op];
	return max64(next[bank],
		     max64(next[GROUP_SLOT + d->plan.group_of[bank]], next[RANK_SLOT + d->plan.rank_of[bank]]));
}
/* A command starts at clk on `bank` (rank operations: on any bank of the rank): moves the earliest starts of what
 * follows. dram_command() takes any but ACT and columns, the others are for row commands only. */
void dram_command(const struct dram *, struct channel *, uint32_t op, uint32_t bank, uint32_t row, uint64_t clk);
void dram_act(const struct dram *, struct channel *, uint32_t bank, uint32_t row, uint64_t clk);
void dram_act2(const struct dram *, struct channel *, uint32_t bank, uint32_t row, uint64_t clk);
void dram_pre(const struct dram *, struct channel *, uint32_t bank, uint32_t row, uint64_t clk);
/* What a RD or WR means to other ranks, and to who watches; the rest is train.c's. */
void dram_watch_column(struct dram *, struct channel *, const struct entry *, uint32_t column, uint32_t op,
		       uint64_t clk);

static inline void not_before(uint64_t *next, uint64_t clk)
{
	if (*next < clk)
		*next = clk;
}

/* queue.c */
void dram_look_at_doors(const struct dram *, struct channel *);
/* When the next piece comes in (not before ch->now) and by which port (ch->entry_port); NEVER when none is there or
 * fits. Of those that fit it is the one that has waited longest, then that of the lowest port. */
static inline uint64_t next_entry(const struct dram *d, struct channel *ch)
{
	if (ch->door_moved)
		dram_look_at_doors(d, ch);
	return max64(ch->entry_clk, ch->now);
}
void dram_enter_all(struct dram *, struct channel *); /* that can come in at ch->now, unless the limit forbids it */
/* The piece is the next to come in by its port. */
static inline void dram_show(struct channel *ch, uint32_t port, uint32_t id, const struct piece *p)
{
	struct door *door = &ch->door[port];
	door->head = id;
	door->visible = p->visible;
	door->bursts = p->bursts;
	door->write = p->write;
}
/* Who stands at the heads of the doors has changed. */
static inline void dram_find_reader(struct channel *ch)
{
	bool one = ch->ports && !(ch->ports & (ch->ports - 1));
	uint32_t port = one ? (uint32_t)__builtin_ctz(ch->ports) : 0;
	ch->reader = one && !ch->door[port].write ? port : NOBODY;
}

void dram_row_opened(const struct dram *, struct channel *, uint32_t bank, uint32_t row);
void dram_row_closed(struct channel *, uint32_t bank);
/* The bank needs no command of a kind any more. */
static inline void leave_set(struct queue *q, enum kind kind, uint32_t bank)
{
	struct choice *next = &q->next[kind];
	q->set[kind] &= ~bit(bank);
	if (!q->set[kind])
		next->clk = NEVER;
	if (next->bank == bank)
		next->exact = 0;
}
/* The oldest entry of a bank that had a row hit is of another row. */
void dram_other_row(const struct dram *, struct channel *, struct queue *, uint32_t bank);
/* The usual end of an entry: it is its bank's head. */
static inline void dram_head_goes(const struct dram *d, struct channel *ch, struct queue *q, struct entry *e,
				  uint16_t at)
{
	uint32_t bank = e->bank;
	uint16_t next = e->next;
	q->head[bank] = next;
	e->next = ch->free_entry;
	ch->free_entry = at;
	if (next == NO_ENTRY) {
		q->tail[bank] = q->first_hit[bank] = NO_ENTRY;
		leave_set(q, COLUMN, bank);
		return;
	}
	struct entry *head = &ch->entry[next];
	head->prev = NO_ENTRY;
	q->head_age[bank] = q->hit_age[bank] = head->age;
	q->first_hit[bank] = next;
	if (head->row != e->row)
		dram_other_row(d, ch, q, bank);
}
/* Bursts of an entry have gone, and it is not for dram_head_goes(). */
void dram_lane_advances(const struct dram *, struct channel *, struct queue *, uint16_t entry, uint32_t bursts);
/* All of it has. */
static inline void dram_piece_leaves(const struct dram *d, struct queue *q, const struct piece *p)
{
	*(p->older == NO_PIECE ? &q->oldest : &piece_of(d, p->older)->next) = p->next;
	*(p->next == NO_PIECE ? &q->youngest : &piece_of(d, p->next)->older) = p->older;
}
void dram_force(const struct dram *, struct channel *, uint32_t bank); /* its writes are served in order; or NO_BANK */
void dram_forget_choices(struct channel *); /* banks became free or blocked, or the turn changed */

static inline bool row_set_has(const struct row_set *set, uint32_t key)
{
	return set->some >> key & 1;
}
static inline void row_set_add(struct row_set *set, uint32_t key)
{
	set->pieces[key]++;
	set->some |= (uint64_t)1 << key;
}
static inline void row_set_drop(struct row_set *set, uint32_t key)
{
	if (--set->pieces[key] == 0)
		set->some &= ~((uint64_t)1 << key);
}

/* Bursts of a piece that follow each other without a gap. */
struct train {
	struct queue *q;
	struct piece *p;
	uint64_t clk; /* start of its first burst */
	uint32_t bursts;
	uint32_t lane; /* of the first; the next burst is of the next lane, and so on around */
};

/* train.c: bursts of a train of a piece with more than one to go, that start before `before` */
uint32_t dram_train_length(const struct dram *, struct channel *, const struct train *, uint64_t before);
void dram_train(struct dram *, struct channel *, const struct train *); /* it goes */

/* scheduler.c: takes the decisions of a channel before `stop` and before d->limit; sets ch->due */
void dram_channel_run(struct dram *, struct channel *, uint64_t stop);

/* refresh.c */
enum step { REFRESH_NONE, REFRESH_DUE, REFRESH_PREAB, REFRESH_PRE, REFRESH_ALL, REFRESH_BANK };
struct refresh_step {
	uint64_t clk;
	enum step step;
	uint32_t rank, bank;
};
void dram_refresh_init(struct dram *, struct channel *);
/* The earliest next step of any rank's refresh, not before `floor` where it is a command. */
struct refresh_step dram_refresh_next(const struct dram *, const struct channel *, uint64_t floor);
void dram_refresh_take(struct dram *, struct channel *, const struct refresh_step *);
/* The dues of an idle channel that cannot matter any more at `until`. */
void dram_refresh_skip(struct dram *, struct channel *, uint64_t until);

#endif
