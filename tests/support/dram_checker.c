/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of commands, each with the interval that JEDEC asks for, checked one against all others. */
#include "tests/support/dram_checker.h"

#include <stdio.h>
#include <string.h>

enum { CLOSED = UINT32_MAX, HALF_OPEN = UINT32_MAX - 1 };

const char *checker_op_name(enum dram_command_op op)
{
	static const char *const names[] = { "ACT", "ACT-2", "PRE", "PREab", "RD", "WR", "REFab", "REFpb" };
	return names[op];
}

void checker_init(struct checker *k, const struct dram_config *c)
{
	memset(k, 0, sizeof *k);
	k->config = c;
	/* Refresh, or a write and the row's closing, or the window of four: no interval is longer. */
	k->longest = c->tRFCab + c->tRFCpb + c->tRC + c->tFAW + c->CWL + c->tWR + c->tWTR_L + 64;
	for (int b = 0; b < CHECKER_BANKS; b++)
		k->row[b] = CLOSED;
}

static void complain(struct checker *k, const struct dram_command *b, const char *what)
{
	if (k->problem[0])
		return;
	snprintf(k->problem, sizeof k->problem, "%s of bank %u at clk %llu: %s", checker_op_name(b->op), b->bank,
		 (unsigned long long)b->clk, what);
}

static int length(const struct dram_config *c, enum dram_command_op op)
{
	if (op == DRAM_ACT || op == DRAM_ACT2)
		return (int)c->act_clk;
	return op == DRAM_RD || op == DRAM_WR ? (int)c->column_clk : (int)c->precharge_clk;
}

static bool is_act(enum dram_command_op op)
{
	return op == DRAM_ACT;
}
static bool is_column(enum dram_command_op op)
{
	return op == DRAM_RD || op == DRAM_WR;
}
static bool is_pre(enum dram_command_op op)
{
	return op == DRAM_PRE || op == DRAM_PREAB;
}
static bool is_ref(enum dram_command_op op)
{
	return op == DRAM_REFAB || op == DRAM_REFPB;
}

/* The ACT that opens: the second step where there are two. */
static bool opens(const struct dram_config *c, enum dram_command_op op)
{
	return op == (c->tAAD ? DRAM_ACT2 : DRAM_ACT);
}

static int max(int a, int b)
{
	return a > b ? a : b;
}

/* From last clock to last clock, same bank (a PREab or REFab is a command of each bank). 0: no rule. */
static int bank_interval(const struct dram_config *c, enum dram_command_op a, enum dram_command_op b)
{
	int burst = (int)dram_burst_clk(c);
	if (opens(c, a) && b == DRAM_RD)
		return (int)c->tRCD;
	if (opens(c, a) && b == DRAM_WR)
		return (int)(c->tRCDWR ? c->tRCDWR : c->tRCD);
	if (opens(c, a) && is_pre(b))
		return (int)c->tRAS;
	if (is_act(a) && (is_act(b) || is_ref(b)))
		return (int)c->tRC;
	if (a == DRAM_RD && is_pre(b))
		return (int)c->tRTP;
	if (a == DRAM_WR && is_pre(b))
		return (int)(c->CWL + c->tDQSS + c->tWR) + burst;
	if (a == DRAM_PRE && (is_act(b) || is_ref(b)))
		return (int)c->tRP;
	if (a == DRAM_PREAB && (is_act(b) || is_ref(b)))
		return (int)(c->tRPab ? c->tRPab : c->tRP);
	if (a == DRAM_REFAB && (is_act(b) || is_ref(b)))
		return (int)c->tRFCab;
	if (a == DRAM_REFPB && (is_act(b) || is_ref(b)))
		return (int)c->tRFCpb;
	return 0;
}

static int group_interval(const struct dram_config *c, enum dram_command_op a, enum dram_command_op b)
{
	if (is_act(a) && is_act(b))
		return (int)c->tRRD_L;
	if (is_column(a) && a == b)
		return (int)c->tCCD_L;
	if (a == DRAM_WR && b == DRAM_RD)
		return (int)(c->CWL + c->tDQSS + dram_burst_clk(c) + c->tWTR_L);
	return 0;
}

static int rank_interval(const struct dram_config *c, enum dram_command_op a, enum dram_command_op b)
{
	int burst = (int)dram_burst_clk(c);
	if (is_act(a) && is_act(b))
		return (int)c->tRRD_S;
	if (is_column(a) && a == b)
		return max((int)c->tCCD_S, burst);
	if (a == DRAM_RD && b == DRAM_WR)
		return (int)(c->CL + c->tDQSCK + c->tRTW) + burst - (int)c->CWL;
	if (a == DRAM_WR && b == DRAM_RD)
		return (int)(c->CWL + c->tDQSS + c->tWTR_S) + burst;
	if (is_pre(a) && is_pre(b))
		return a == DRAM_PRE && b == DRAM_PRE ? (int)c->tPPD : 0;
	if (a == DRAM_REFPB && b == DRAM_REFPB)
		return (int)(c->tREFpbREFpb ? c->tREFpbREFpb : c->tRFCpb);
	if (a == DRAM_REFPB && is_act(b))
		return (int)(c->tREFpbACT ? c->tREFpbACT : c->tRRD_L);
	return 0;
}

static bool whole_rank(enum dram_command_op op)
{
	return op == DRAM_PREAB || op == DRAM_REFAB;
}

static void check_pair(struct checker *k, const struct dram_command *a, const struct dram_command *b)
{
	const struct dram_config *c = k->config;
	bool same_rank = a->rank == b->rank;
	bool same_group = same_rank && a->bank_group == b->bank_group;
	bool same_bank = same_rank && (a->bank == b->bank || whole_rank(a->op) || whole_rank(b->op));
	int need = 0;
	if (same_bank)
		need = max(need, bank_interval(c, a->op, b->op));
	if (same_group)
		need = max(need, group_interval(c, a->op, b->op));
	if (same_rank)
		need = max(need, rank_interval(c, a->op, b->op));
	if (a->op == DRAM_REFPB && b->op == DRAM_REFPB && a->clk == b->clk)
		need = 0; /* the pair of one command */
	int64_t gap = (int64_t)(b->clk - a->clk) + length(c, b->op) - length(c, a->op);
	if (need && gap < need) {
		char what[128];
		snprintf(what, sizeof what, "%lld clocks after %s of bank %u, %d needed", (long long)gap,
			 checker_op_name(a->op), a->bank, need);
		complain(k, b, what);
	}
}

static uint64_t data_start(const struct dram_config *c, const struct dram_command *x)
{
	uint64_t delay = x->op == DRAM_RD ? c->CL + c->tDQSCK : c->CWL + c->tDQSS;
	return x->clk + c->column_clk - 1 + delay;
}

/* The command bus carries one command at a time, the data bus one burst. */
static void check_buses(struct checker *k, const struct dram_command *a, const struct dram_command *b)
{
	const struct dram_config *c = k->config;
	bool own_buses = c->row_command_bus && is_column(a->op) != is_column(b->op);
	bool one_command = a->op == DRAM_REFPB && b->op == DRAM_REFPB && a->clk == b->clk;
	if (!own_buses && !one_command && a->clk + (uint64_t)length(c, a->op) > b->clk)
		complain(k, b, "the command bus is taken");
	if (is_column(a->op) && is_column(b->op)) {
		uint64_t gap = a->rank != b->rank ? c->tRTRS : 0;
		if (data_start(c, a) + dram_burst_clk(c) + gap > data_start(c, b))
			complain(k, b, "its data meet those of another burst");
	}
}

/* At most four ACT of a rank within tFAW. */
static void check_faw(struct checker *k, const struct dram_command *b)
{
	int seen = 0;
	for (uint64_t i = 1; b->op == DRAM_ACT && i <= k->count && i < CHECKER_MEMORY; i++) {
		const struct dram_command *a = &k->past[(k->count - i) % CHECKER_MEMORY];
		if (a->op == DRAM_ACT && a->rank == b->rank && ++seen == 4) {
			if (b->clk - a->clk < k->config->tFAW)
				complain(k, b, "the fifth ACT within tFAW");
			return;
		}
	}
}

static void check_refresh(struct checker *k, const struct dram_command *b)
{
	bool per_bank = b->op == DRAM_REFPB;
	uint64_t interval = per_bank ? k->config->tREFIpb : k->config->tREFI;
	const struct dram_command *last = k->count ? &k->past[(k->count - 1) % CHECKER_MEMORY] : NULL;
	if (per_bank && last && last->op == DRAM_REFPB && last->clk == b->clk)
		return;
	uint64_t due = ++k->refreshes[b->rank] * interval;
	if (b->clk < due)
		complain(k, b, "refreshed before it was due");
	else if (b->clk - due > k->latest_refresh_delay)
		k->latest_refresh_delay = b->clk - due;
}

static void set_rank(struct checker *k, const struct dram_command *b, bool must_be_closed)
{
	uint32_t n = k->config->bank_groups * k->config->banks;
	for (uint32_t i = b->rank * n; i < (b->rank + 1) * n; i++) {
		if (must_be_closed && k->row[i] != CLOSED)
			complain(k, b, "a bank of the rank is open");
		k->row[i] = CLOSED;
	}
}

/* Is the bank in a state that allows the command? */
static void check_state(struct checker *k, const struct dram_command *b)
{
	uint32_t *row = &k->row[b->bank];
	switch (b->op) {
	case DRAM_ACT:
		if (*row != CLOSED)
			complain(k, b, "the bank is open");
		*row = k->config->tAAD ? HALF_OPEN : b->row;
		break;
	case DRAM_ACT2:
		if (*row != HALF_OPEN)
			complain(k, b, "no ACT-1 before it");
		*row = b->row;
		break;
	case DRAM_RD:
	case DRAM_WR:
		if (*row != b->row)
			complain(k, b, "its row is not open");
		break;
	case DRAM_PRE:
		if (*row == CLOSED || *row == HALF_OPEN)
			complain(k, b, "the bank is not open");
		*row = CLOSED;
		break;
	case DRAM_PREAB:
		set_rank(k, b, false);
		break;
	case DRAM_REFAB:
		set_rank(k, b, true);
		break;
	case DRAM_REFPB:
		if (*row != CLOSED)
			complain(k, b, "the bank is open");
		break;
	}
}

/* ACT-2 follows its ACT-1 within tAAD, and no other ACT-1 comes between. */
static void check_second_step(struct checker *k, const struct dram_command *b)
{
	for (uint64_t i = 1; b->op == DRAM_ACT2 && i <= k->count; i++) {
		const struct dram_command *a = &k->past[(k->count - i) % CHECKER_MEMORY];
		if (a->op != DRAM_ACT)
			continue;
		if (a->bank != b->bank || b->clk - a->clk > k->config->tAAD)
			complain(k, b, "not within tAAD of its ACT-1");
		return;
	}
}

void checker_command(struct checker *k, const struct dram_command *b)
{
	check_state(k, b);
	check_second_step(k, b);
	check_faw(k, b);
	if (is_ref(b->op))
		check_refresh(k, b);
	for (uint64_t i = 1; i <= k->count && i < CHECKER_MEMORY; i++) {
		const struct dram_command *a = &k->past[(k->count - i) % CHECKER_MEMORY];
		if (a->clk + k->longest < b->clk)
			break;
		if (a->clk > b->clk)
			complain(k, b, "commands are out of order");
		check_pair(k, a, b);
		check_buses(k, a, b);
	}
	k->past[k->count++ % CHECKER_MEMORY] = *b;
}
