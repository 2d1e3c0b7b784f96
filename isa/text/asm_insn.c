/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction lines: load sram:0x0, dram:0x4000 rows=128 cols=128   wait k_free[0]   post k_full[0]:2 */
#include "isa/text/asm.h"

#include "isa/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FIELDS = 64 };

/* An instruction being read. */
struct reading {
	struct npu_asm *as;
	const struct npu_asm_op *op;
	struct npu_insn insn;
	struct npu_token mnemonic;
	uint64_t seen; /* bit i: field i of the format has a value */
	unsigned npositional;
	unsigned next_field; /* where the search for the next key starts: keys mostly come in the order of the table */
	bool waits, posts;
};

static unsigned index_of(const struct reading *r, const struct npu_field *field)
{
	return (unsigned)(field - r->op->info->format->fields);
}

static bool mark_seen(struct reading *r, const struct npu_field *field, const struct npu_token *token)
{
	uint64_t bit = (uint64_t)1 << index_of(r, field);
	if (r->seen & bit)
		return npu_asm_refuse_at(r->as, token, "%s is given twice", field->name);
	r->seen |= bit;
	return true;
}

static bool refuse_range(struct reading *r, const struct npu_field *field, const struct npu_token *token)
{
	uint64_t max = npu_field_max(field);
	if (field->kind == NPU_KIND_INT)
		return npu_asm_refuse_at(r->as, token, "%s: must be -%s to %s", field->name,
					 npu_count_text(max + 1).text, npu_count_text(max).text);
	return npu_asm_refuse_at(r->as, token, "%s: must be %d to %s", field->name,
				 field->required && field->kind == NPU_KIND_UINT, npu_count_text(max).text);
}

static bool read_integer(struct reading *r, const struct npu_field *field, uint64_t *out)
{
	struct npu_asm *as = r->as;
	struct npu_token first = as->token;
	bool minus = npu_asm_take_punct(as, '-');
	if (as->token.kind != NPU_TOKEN_NUMBER)
		return npu_asm_expected(as, "a number");
	first.end = as->token.end;
	if (!npu_token_integer(&as->token, out))
		return npu_asm_refuse(as, "%.*s is not a whole number", (int)(first.end - first.begin), first.begin);
	if ((*out > INT64_MAX || (minus && field->kind != NPU_KIND_INT)))
		return refuse_range(r, field, &first);
	*out = minus ? -*out : *out;
	if (!npu_field_fits(field, *out) || (field->kind == NPU_KIND_UINT && field->required && *out == 0))
		return refuse_range(r, field, &first);
	npu_asm_advance(as);
	return true;
}

static bool read_special_real(struct npu_asm *as, bool minus, uint64_t *out)
{
	enum { INFINITE = 0x7f800000, NEGATIVE = 0x80000000u };
	if (npu_token_is(&as->token, "inf")) {
		*out = minus ? (uint64_t)INFINITE | NEGATIVE : INFINITE;
	} else if (npu_token_is(&as->token, "nan") && !minus) {
		*out = 0x7fc00000;
	} else if (npu_token_is(&as->token, "bits") && !minus) {
		npu_asm_advance(as);
		if (!npu_asm_take_punct(as, ':'))
			return npu_asm_expected(as, "bits:0x...");
		return npu_asm_number(as, "the 32 bits of a float", UINT32_MAX, out);
	} else {
		return npu_asm_expected(as, "a number, inf, -inf, nan or bits:0x...");
	}
	npu_asm_advance(as);
	return true;
}

static bool read_real(struct reading *r, uint64_t *out)
{
	struct npu_asm *as = r->as;
	float value;
	bool minus = npu_asm_take_punct(as, '-');
	if (as->token.kind == NPU_TOKEN_NAME)
		return read_special_real(as, minus, out);
	if (as->token.kind != NPU_TOKEN_NUMBER || !npu_token_real(&as->token, &value))
		return npu_asm_expected(as, "a number");
	if (value - value != 0)
		return npu_asm_refuse(as, "%.*s is beyond fp32; infinity is written inf",
				      (int)(as->token.end - as->token.begin), as->token.begin);
	value = minus ? -value : value;
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	*out = bits;
	npu_asm_advance(as);
	return true;
}

static bool read_table(struct reading *r, uint64_t *out)
{
	struct npu_asm_name name;
	if (!npu_asm_name(r->as, "the name of a .table", true, &name))
		return false;
	const struct npu_symbol *symbol = npu_symbols_find(&r->as->tables, name.text, name.length);
	if (!symbol)
		return npu_asm_unknown(r->as, &r->as->tables, "no .table is called", &name);
	*out = symbol->value;
	return true;
}

static bool read_value(struct reading *r, const struct npu_field *field)
{
	uint64_t value = 0;
	bool ok = false;
	switch (field->kind) {
	case NPU_KIND_LOCAL:
		ok = npu_asm_address(r->as, field->name, false, &value);
		break;
	case NPU_KIND_DRAM:
		ok = npu_asm_address(r->as, field->name, true, &value);
		break;
	case NPU_KIND_UINT:
	case NPU_KIND_INT:
	case NPU_KIND_FLAG:
		ok = read_integer(r, field, &value);
		break;
	case NPU_KIND_F32:
		ok = read_real(r, &value);
		break;
	case NPU_KIND_TABLE:
		ok = read_table(r, &value);
		break;
	case NPU_KIND_DTYPE:
	case NPU_KIND_LAYOUT:
	case NPU_KIND_BCAST:
	case NPU_KIND_ACT:
	case NPU_KIND_SCALE:
		ok = npu_asm_named_value(r->as, field->name, field->kind, &value);
		break;
	}
	if (ok)
		npu_field_set(field, &r->insn, value);
	return ok;
}

static bool refuse_key(struct reading *r)
{
	const char *names[MAX_FIELDS];
	unsigned n = 0;
	for (const struct npu_field *field = r->op->info->format->fields; field->name; field++)
		names[n++] = field->name;
	uint64_t length = (uint64_t)(r->as->token.end - r->as->token.begin);
	if (!n)
		return npu_asm_refuse(r->as, "%s takes no operands", r->op->info->mnemonic);
	return npu_asm_refuse(r->as, "%s has no operand %.*s%s", r->op->info->mnemonic, (int)length, r->as->token.begin,
			      npu_asm_hint_of(r->as, names, n, r->as->token.begin, length).text);
}

/* The next token is the key; the = behind it has been passed over. */
static bool read_keyed(struct reading *r)
{
	const struct npu_format *format = r->op->info->format;
	const struct npu_field *field = NULL;
	for (unsigned i = 0; i < format->nfields && !field; i++) {
		unsigned at = (r->next_field + i) % format->nfields;
		const char *name = format->fields[at].name;
		if (*name == *r->as->token.begin && npu_token_is(&r->as->token, name)) {
			field = &format->fields[at];
			r->next_field = at + 1;
		}
	}
	if (!field)
		return refuse_key(r);
	if (!mark_seen(r, field, &r->as->token))
		return false;
	npu_asm_advance(r->as);
	return read_value(r, field);
}

static bool read_positional(struct reading *r)
{
	const struct npu_asm_op *op = r->op;
	if (r->npositional == op->npositional) {
		if (!op->npositional)
			return npu_asm_expected(r->as, "wait, post or the end of the line");
		return npu_asm_refuse(r->as, "%s takes %u addresses; what follows is written NAME=VALUE",
				      op->info->mnemonic, op->npositional);
	}
	const struct npu_field *field = op->positional[r->npositional];
	if (!mark_seen(r, field, &r->as->token))
		return false;
	r->npositional++;
	return read_value(r, field);
}

static bool read_ref(struct reading *r, struct npu_sem_ref *out)
{
	struct npu_asm_name name;
	uint64_t count = 1;
	if (!npu_asm_name(r->as, "a semaphore", true, &name))
		return false;
	const struct npu_symbol *symbol = npu_symbols_find(&r->as->sems, name.text, name.length);
	if (!symbol)
		return npu_asm_unknown(r->as, &r->as->sems, "no .sem declares", &name);
	struct npu_token token = r->as->token;
	if (npu_asm_take_punct(r->as, ':')) {
		token = r->as->token;
		if (!npu_asm_number(r->as, "a count", NPU_SEM_MAX_COUNT, &count))
			return false;
	}
	if (count == 0)
		return npu_asm_refuse_at(r->as, &token, "a count of 0: must be 1 to %u", NPU_SEM_MAX_COUNT);
	*out = (struct npu_sem_ref){ (uint16_t)symbol->value, (uint16_t)count };
	return true;
}

static bool read_refs(struct reading *r, struct npu_sem_ref refs[NPU_SYNC_SLOTS], bool *seen)
{
	if (*seen)
		return npu_asm_refuse(r->as, "a second %.*s: write both semaphores behind one, separated by a comma",
				      (int)(r->as->token.end - r->as->token.begin), r->as->token.begin);
	*seen = true;
	npu_asm_advance(r->as);
	unsigned n = 0;
	do {
		if (n == NPU_SYNC_SLOTS)
			return npu_asm_refuse(r->as, "at most %d semaphores", NPU_SYNC_SLOTS);
		if (!read_ref(r, &refs[n++]))
			return false;
	} while (npu_asm_take_punct(r->as, ','));
	return true;
}

/* wait and post; asked before every operand. */
static bool is_word(const struct npu_asm *as, const char word[static 5])
{
	const struct npu_token *token = &as->token;
	return token->end - token->begin == 4 && memcmp(token->begin, word, 4) == 0 && token->kind == NPU_TOKEN_NAME;
}

/* Commas separate addresses; one behind the last address or between keys does no harm. */
static bool read_operands(struct reading *r)
{
	bool comma = true;
	while (!npu_asm_at_line_end(r->as)) {
		bool ok;
		if (is_word(r->as, "wait"))
			ok = read_refs(r, r->insn.wait, &r->waits);
		else if (is_word(r->as, "post"))
			ok = read_refs(r, r->insn.post, &r->posts);
		else if (r->as->token.kind == NPU_TOKEN_NAME && npu_lex_take_equals(&r->as->lexer))
			ok = read_keyed(r);
		else if (r->npositional && !comma)
			ok = npu_asm_expected(r->as, "a comma, NAME=VALUE, wait or post");
		else
			ok = read_positional(r);
		if (!ok)
			return false;
		comma = npu_asm_take_punct(r->as, ',');
	}
	return true;
}

static bool refuse_missing(struct reading *r, const struct npu_field *field, const char *why)
{
	if (npu_syntax_is_positional(field))
		return npu_asm_refuse_at(r->as, &r->mnemonic, "%s lacks its address %s%s: %s", r->op->info->mnemonic,
					 field->name, why, field->doc);
	return npu_asm_refuse_at(r->as, &r->mnemonic, "%s lacks %s=: %s", r->op->info->mnemonic, field->name,
				 field->doc);
}

static bool check_complete(struct reading *r)
{
	uint64_t lacking = r->op->required & ~r->seen, optional = r->op->optional_addresses & ~r->seen;
	const struct npu_field *fields = r->op->info->format->fields;
	if (lacking)
		return refuse_missing(r, &fields[__builtin_ctzll(lacking)], "");
	for (; optional; optional &= optional - 1) {
		const struct npu_field *field = &fields[__builtin_ctzll(optional)];
		if (npu_syntax_uses(&r->insn, field))
			return refuse_missing(r, field, ", which these operands use");
	}
	return true;
}

bool npu_asm_instruction(struct npu_asm *as)
{
	uint64_t length = (uint64_t)(as->token.end - as->token.begin);
	const struct npu_symbol *symbol = npu_symbols_find(&as->mnemonics, as->token.begin, length);
	if (!symbol)
		return npu_asm_refuse(as, "no instruction is called %.*s%s", (int)length, as->token.begin,
				      npu_asm_hint(as, &as->mnemonics, as->token.begin, length).text);
	struct reading r = {
		.as = as, .op = &as->ops[symbol->value], .insn = as->ops[symbol->value].initial, .mnemonic = as->token
	};
	uint32_t line = as->line;
	npu_asm_advance(as);
	if (!read_operands(&r) || !check_complete(&r))
		return false;
	if (!as->placed)
		npu_assembly_place(as->assembly, as->source.file, line);
	npu_assembly_insn(as->assembly, &r.insn);
	as->ninsns++;
	return true;
}
