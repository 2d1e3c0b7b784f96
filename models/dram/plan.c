/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration: defaults, checks, derived figures, and the plan that the other files work from. Reading keys from
 * files is not here. */
#include <stddef.h>
#include <string.h>

#include "models/dram/core.h"

void dram_config_init(struct dram_config *c)
{
	*c = (struct dram_config){
#define DRAM_KEY(name, kind, dflt, min, max, unit, doc) .name = (dflt),
#include "models/dram/keys.def"
#undef DRAM_KEY
	};
}

uint32_t dram_burst_bytes(const struct dram_config *c)
{
	return c->bus_bits / 8 * c->burst_length;
}

uint32_t dram_burst_clk(const struct dram_config *c)
{
	return c->burst_length / c->beats_per_clk;
}

uint32_t dram_peak_bytes_per_clk(const struct dram_config *c)
{
	return c->channels * (c->bus_bits / 8) * c->beats_per_clk;
}

uint64_t dram_capacity(const struct dram_config *c)
{
	return (uint64_t)c->channels * c->ranks * c->bank_groups * c->banks * c->rows * c->row_bytes;
}

uint32_t dram_refresh_of(const struct dram_config *c)
{
	return c->refresh == DRAM_REFRESH_PERBANK && c->tREFIpb == 0 ? DRAM_REFRESH_ALLBANK : c->refresh;
}

static bool power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

static uint8_t log2_of(uint64_t n)
{
	return (uint8_t)__builtin_ctzll(n);
}

/* The key whose value leaves its declared range, or NULL. */
static const char *out_of_range(const struct dram_config *c)
{
#define DRAM_KEY(name, kind, dflt, low, high, unit, doc)                                                               \
	if ((uint64_t)c->name + 1 < (uint64_t)(low) + 1 || (uint64_t)c->name > (uint64_t)(high))                       \
		return #name;
#include "models/dram/keys.def"
#undef DRAM_KEY
	return NULL;
}

static const char *missing_timing(const struct dram_config *c)
{
#define DRAM_TIMING(name, min, doc)                                                                                    \
	if ((min) > 0 && c->name == 0)                                                                                 \
		return #name;
#include "models/dram/timing.def"
#undef DRAM_TIMING
	return NULL;
}

static const char *huge_timing(const struct dram_config *c)
{
#define DRAM_TIMING(name, min, doc)                                                                                    \
	if (c->name > DRAM_TIMING_MAX)                                                                                          \
		return #name;
#include "models/dram/timing.def"
#undef DRAM_TIMING
	return NULL;
}

struct complaint {
	bool wrong;
	const char *key, *text;
};

/* Per-bank refreshes until each bank of a rank has had one. */
static uint64_t refresh_turns(const struct dram_config *c)
{
	return c->refresh_banks ? (uint64_t)c->bank_groups * c->banks / c->refresh_banks : 1;
}

/* The relations between keys; the first that is broken. */
static const char *broken_relation(const struct dram_config *c, const char **key)
{
	uint32_t granule = dram_burst_bytes(c);
	uint32_t refresh = dram_refresh_of(c);
	bool allbank = refresh == DRAM_REFRESH_ALLBANK, perbank = refresh == DRAM_REFRESH_PERBANK;
	const struct complaint list[] = {
		{ !power_of_two(c->channels), "channels", "must be a power of two" },
		{ !power_of_two(c->ranks), "ranks", "must be a power of two" },
		{ !power_of_two(c->bank_groups), "bank_groups", "must be a power of two" },
		{ !power_of_two(c->banks), "banks", "must be a power of two" },
		{ c->ranks * c->bank_groups * c->banks > MAX_BANKS, "banks",
		  "a channel holds at most 64 banks: ranks x bank_groups x banks" },
		{ c->beats_per_clk == 0 || c->burst_length % c->beats_per_clk != 0, "beats_per_clk",
		  "must divide burst_length, so that a burst takes whole clocks" },
		{ !power_of_two(c->row_bytes) || c->row_bytes < granule, "row_bytes",
		  "must be a power of two that holds whole bursts of bus_bits / 8 x burst_length bytes" },
		{ !power_of_two(c->channel_interleave) || c->channel_interleave < granule, "channel_interleave",
		  "must be a power of two that holds whole bursts of bus_bits / 8 x burst_length bytes" },
		{ c->channels > 1 && dram_capacity(c) / c->channels % c->channel_interleave != 0, "channel_interleave",
		  "must divide what a channel holds: rows x row_bytes in every bank" },
		{ c->mapping == DRAM_RoBaCo && c->bank_groups > 1, "mapping",
		  "RoBaCo is for parts without bank_groups" },
		{ c->drain_low >= c->drain_high, "drain_low", "must lie below drain_high" },
		{ c->tRC < c->tRAS, "tRC", "must not be shorter than tRAS" },
		{ c->tCCD_L < c->tCCD_S, "tCCD_L", "must not be shorter than tCCD_S" },
		{ c->tRRD_L < c->tRRD_S, "tRRD_L", "must not be shorter than tRRD_S" },
		{ allbank && (c->tRFCab == 0 || c->tREFI == 0), c->tREFI ? "tRFCab" : "tREFI",
		  "refresh=allbank needs it" },
		{ perbank && c->tRFCpb == 0, "tRFCpb", "refresh=perbank needs it" },
		{ allbank && c->tREFI <= c->tRFCab + c->tRC, "tREFI",
		  "leaves no time between refreshes: it must be longer than tRFCab + tRC" },
		{ perbank && (!power_of_two(c->refresh_banks) || c->refresh_banks > c->bank_groups * c->banks),
		  "refresh_banks", "must be a power of two no larger than bank_groups x banks" },
		{ perbank && c->tREFIpb <= (c->tREFpbREFpb ? c->tREFpbREFpb : c->tRFCpb), "tREFIpb",
		  "leaves no time between refreshes: it must be longer than tREFpbREFpb, or tRFCpb where that is 0" },
		/* A bank has its turn again after all others. */
		{ perbank && c->tREFIpb * refresh_turns(c) <= c->tRFCpb + c->tRC, "tREFIpb",
		  "leaves a bank no time between refreshes: a round of all banks must be longer than tRFCpb + tRC" },
	};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i].wrong) {
			*key = list[i].key;
			return list[i].text;
		}
	return NULL;
}

const char *dram_config_check(const struct dram_config *c, const char **key)
{
	const char *unused, **at = key ? key : &unused;
	if ((*at = out_of_range(c)) != NULL)
		return "is out of range";
	if (!power_of_two(dram_burst_bytes(c))) {
		*at = "bus_bits";
		return "bus_bits x burst_length must be a power of two";
	}
	if (c->ideal) /* has no timing and no banks */
		return NULL;
	if ((*at = missing_timing(c)) != NULL)
		return "is missing: the part must state it";
	if ((*at = huge_timing(c)) != NULL)
		return "is out of range";
	return broken_relation(c, at);
}

#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* From last clock to last clock becomes start to start. Rows for other ranks are added last. */
static void add_rule(struct plan *p, uint32_t first, uint32_t second, enum scope scope, int64_t interval)
{
	struct rules *rules = &p->rules[first];
	int64_t gap = interval + (int64_t)p->command_clk[first] - (int64_t)p->command_clk[second];
	if (gap <= 0)
		return;
	rules->row[rules->n + rules->other] = (struct rule){ (uint32_t)gap, (uint16_t)scope, (uint16_t)second };
	*(scope == SCOPE_OTHER ? &rules->other : &rules->n) += 1;
}

static void drop(struct rules *rules, uint32_t at)
{
	rules->n--;
	for (uint32_t i = at; i < rules->n + rules->other; i++)
		rules->row[i] = rules->row[i + 1];
}

/* Does another row of the same commands hold at least as long for the whole rank? */
static bool implied(const struct rules *rules, uint32_t at)
{
	const struct rule *r = &rules->row[at];
	for (uint32_t i = 0; i < rules->n; i++)
		if (rules->row[i].scope == SCOPE_RANK && r->scope != SCOPE_RANK && rules->row[i].second == r->second &&
		    rules->row[i].gap >= r->gap)
			return true;
	return false;
}

/* Rows that cannot bind cost time: those that a rank's row implies, and tRC where tRAS + tRP is no shorter. */
static void drop_implied(struct plan *p, const struct dram_config *c)
{
	for (uint32_t op = 0; op < OPS; op++)
		for (uint32_t i = p->rules[op].n; i-- > 0;) {
			const struct rule *r = &p->rules[op].row[i];
			bool row_cycle = op == DRAM_ACT && r->second == DRAM_ACT && r->scope == SCOPE_BANK;
			if (implied(&p->rules[op], i) || (row_cycle && c->tRC <= c->tRAS + c->tRP))
				drop(&p->rules[op], i);
		}
}

/* The longest gap of the rows from first to second in a scope, 0 when there is none. */
static uint32_t gap_of(const struct plan *p, uint32_t first, uint32_t second, enum scope scope)
{
	const struct rules *rules = &p->rules[first];
	uint32_t gap = 0;
	for (uint32_t i = 0; i < rules->n; i++)
		if (rules->row[i].second == second && rules->row[i].scope == scope)
			gap = MAX(gap, rules->row[i].gap);
	return gap;
}

static void plan_groups(struct plan *p)
{
	for (uint32_t op = 0; op < OPS; op++)
		for (uint32_t first = 0; first < OPS; first++)
			p->group_holds[op] |= gap_of(p, first, op, SCOPE_GROUP) > 0;
}

static void plan_columns(struct plan *p)
{
	for (uint32_t write = 0; write < 2; write++) {
		uint32_t same = write ? DRAM_WR : DRAM_RD, other = write ? DRAM_RD : DRAM_WR;
		p->column_gaps[write] = (struct column_gaps){
			.precharge = gap_of(p, same, DRAM_PRE, SCOPE_BANK),
			.same_group = gap_of(p, same, same, SCOPE_GROUP),
			/* nor sooner than its bus is free */
			.same_rank = MAX(gap_of(p, same, same, SCOPE_RANK), (uint32_t)p->command_clk[same]),
			.other_group = gap_of(p, same, other, SCOPE_GROUP),
			.other_rank = gap_of(p, same, other, SCOPE_RANK),
		};
	}
}

static void plan_rows(struct plan *p)
{
	for (uint32_t op = DRAM_ACT; op <= DRAM_PRE; op++) {
		struct row_gaps *gaps = &p->row_gaps[op];
		*gaps = (struct row_gaps){
			.read = gap_of(p, op, DRAM_RD, SCOPE_BANK),
			.write = gap_of(p, op, DRAM_WR, SCOPE_BANK),
			.precharge = gap_of(p, op, DRAM_PRE, SCOPE_BANK),
			.activate = gap_of(p, op, DRAM_ACT, SCOPE_BANK),
			.activate_group = gap_of(p, op, DRAM_ACT, SCOPE_GROUP),
			.activate_rank = gap_of(p, op, DRAM_ACT, SCOPE_RANK),
			.precharge_rank = gap_of(p, op, DRAM_PRE, SCOPE_RANK),
		};
		gaps->opens = gaps->read || gaps->write || gaps->precharge;
	}
}

/* Burst k after the last one of a bank leaves the command bus no later than that bank's PRE can:
 * k x burst + length(RD) <= gap + length(PRE). */
static void plan_closes(struct plan *p)
{
	for (uint32_t write = 0; write < 2; write++) {
		uint32_t close = p->column_gaps[write].precharge + (uint32_t)p->command_clk[DRAM_PRE];
		uint32_t read = (uint32_t)p->command_clk[DRAM_RD];
		p->before_close[write] = close < read ? 1 : 1 + (close - read) / p->burst_clk;
		p->closes_late[write] = p->before_close[write] > p->group.mask;
	}
}

static void plan_rules(struct plan *p, const struct dram_config *c)
{
	int64_t B = dram_burst_clk(c);
	int64_t READ = (int64_t)c->CL + c->tDQSCK, WRITE = (int64_t)c->CWL + c->tDQSS;
	bool two_steps = c->tAAD > 0;
	for (int others = 0; others < 2; others++) {
#define DRAM_RULE(first, second, scope, interval)                                                                      \
	if ((SCOPE_##scope == SCOPE_OTHER) == others)                                                                  \
		add_rule(p, DRAM_##first == DRAM_ACT2 && !two_steps ? DRAM_ACT : DRAM_##first, DRAM_##second,          \
			 SCOPE_##scope, (int64_t)(interval));
#include "models/dram/rules.def"
#undef DRAM_RULE
	}
	drop_implied(p, c);
	plan_groups(p);
	plan_columns(p);
	plan_rows(p);
	plan_closes(p);
}

static void plan_commands(struct plan *p, const struct dram_config *c)
{
	for (uint32_t op = 0; op < OPS; op++) {
		bool column = op == DRAM_RD || op == DRAM_WR;
		bool act = op == DRAM_ACT || op == DRAM_ACT2;
		p->command_clk[op] = column ? c->column_clk : act ? c->act_clk : c->precharge_clk;
		p->shared_clk[op] = c->row_command_bus ? 0 : p->command_clk[op];
		p->bus_of[op] = c->row_command_bus && !column;
	}
}

static struct field take_field(uint32_t *shift, uint64_t values)
{
	struct field f = { *shift, (uint32_t)values - 1 };
	*shift += log2_of(values);
	return f;
}

static void plan_address(struct plan *p, const struct dram_config *c)
{
	uint64_t columns = c->row_bytes / p->burst_bytes;
	uint32_t shift = 0;
	p->group_lowest = c->mapping == DRAM_RoBaCoBg;
	if (p->group_lowest)
		p->group = take_field(&shift, c->bank_groups);
	p->column = take_field(&shift, columns);
	p->run_mask = (1u << shift) - 1;
	if (!p->group_lowest)
		p->group = take_field(&shift, c->bank_groups);
	p->bank = take_field(&shift, c->banks);
	p->rank = take_field(&shift, c->ranks);
	p->row_shift = shift;
	p->row_mask = power_of_two(c->rows) ? c->rows - 1 : 0;
	p->burst_shift = log2_of(p->burst_bytes);
	p->interleave_shift = log2_of(c->channel_interleave);
	p->channel_bits = log2_of(c->channels);
	p->group_bits = log2_of(c->bank_groups);
	p->bank_bits = log2_of(c->banks);
}

/* Bit j of hash_bits[i]: does x^j mod x^6 + x + 1 have the term x^i? */
static void plan_channel_hash(struct plan *p, const struct dram_config *c)
{
	uint32_t power = 1;
	for (uint32_t j = 0; j < 64; j++) {
		for (uint32_t i = 0; i < HASH_BITS; i++)
			p->hash_bits[i] |= (uint64_t)(power >> i & 1) << j;
		power = power << 1 ^ (power >> (HASH_BITS - 1) ? 1u << HASH_BITS | 3 : 0);
	}
	p->blocks = c->channels > 1 ? MAX(dram_capacity(c) / c->channels / c->channel_interleave, 1) : 1;
	p->blocks_mask = power_of_two(p->blocks) ? p->blocks - 1 : 0;
}

void dram_plan(struct plan *p, const struct dram_config *c)
{
	memset(p, 0, sizeof *p);
	p->burst_clk = dram_burst_clk(c);
	p->burst_bytes = dram_burst_bytes(c);
	plan_address(p, c);
	plan_channel_hash(p, c);
	if (c->ideal) /* has no banks, whatever its keys say */
		return;
	p->groups = c->ranks * c->bank_groups;
	p->banks = p->groups * c->banks;
	for (uint32_t b = 0; b < p->banks; b++) {
		p->group_of[b] = (uint8_t)(b / c->banks);
		p->rank_of[b] = (uint8_t)(b / (p->banks / c->ranks));
		p->rank_banks[p->rank_of[b]] |= bit(b);
	}
	p->one_rank = c->ranks == 1;
	plan_commands(p, c);
	plan_rules(p, c);
	/* Data follow the last clock of the column command. */
	p->data_gap[0] = c->column_clk - 1 + c->CL + c->tDQSCK;
	p->data_gap[1] = c->column_clk - 1 + c->CWL + c->tDQSS;
	p->read_clk = p->data_gap[0] + p->burst_clk + c->back_delay;
	p->high = c->write_queue * c->drain_high / 100;
	p->low = c->write_queue * c->drain_low / 100;
	p->piece_bursts = PIECE_BURSTS;
	while (p->piece_bursts > c->read_queue || p->piece_bursts > c->write_queue)
		p->piece_bursts /= 2;
}
