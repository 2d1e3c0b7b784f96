/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of instructions and uses of macros. */
#include "isa/text/macro/state.h"

#include <string.h>

enum { MAX_FIELDS = 64 };

static bool refuse_key(struct npu_mac *s, const struct npu_op_info *op)
{
	const char *names[MAX_FIELDS];
	unsigned n = 0;
	struct npu_mac_span here = npu_mac_here(s);
	for (const struct npu_field *field = op->format->fields; field->name; field++)
		names[n++] = field->name;
	if (!n)
		return npu_mac_refuse(s, here, "%s takes no operands", op->mnemonic);
	return npu_mac_refuse(s, here, "%s has no operand %.*s%s", op->mnemonic, (int)(here.end - here.begin),
			      here.begin, npu_mac_hint_of(names, n, here).text);
}

/* inf, -inf, nan, bits:0x... */
static bool read_special_real(struct npu_mac *s, struct npu_mac_keyed *key)
{
	enum { INFINITE = 0x7f800000, NEGATIVE = (int)0x80000000u, QUIET_NAN = 0x7fc00000 };
	const struct npu_mac_cursor before = s->cursor;
	bool minus = npu_mac_take(s, '-');
	if (npu_mac_is_word(s, "inf")) {
		key->bits = minus ? (uint32_t)(INFINITE | NEGATIVE) : INFINITE;
	} else if (npu_mac_is_word(s, "nan") && !minus) {
		key->bits = QUIET_NAN;
	} else if (npu_mac_is_word(s, "bits") && !minus) {
		npu_mac_advance(s);
		uint64_t bits;
		if (!npu_mac_take(s, ':') || !npu_token_integer(&s->cursor.token, &bits) || bits > UINT32_MAX)
			return npu_mac_expected(s, "bits:0x... of a float");
		key->bits = bits;
	} else {
		s->cursor = before;
		key->value = npu_mac_read_expr(s);
		return key->value != NULL;
	}
	npu_mac_advance(s);
	return true;
}

static bool read_named(struct npu_mac *s, struct npu_mac_keyed *key)
{
	const char *const *names;
	unsigned n = npu_kind_names(key->field->kind, &names);
	for (unsigned i = 0; i < n; i++)
		if (npu_mac_is_word(s, names[i])) {
			key->bits = i;
			npu_mac_advance(s);
			return true;
		}
	key->value = npu_mac_read_expr(s); /* a name that stands for one */
	return key->value != NULL;
}

static bool read_value(struct npu_mac *s, struct npu_mac_keyed *key)
{
	switch (key->field->kind) {
	case NPU_KIND_F32:
		return read_special_real(s, key);
	case NPU_KIND_DTYPE:
	case NPU_KIND_LAYOUT:
	case NPU_KIND_BCAST:
	case NPU_KIND_ACT:
	case NPU_KIND_SCALE:
		return read_named(s, key);
	case NPU_KIND_LOCAL:
	case NPU_KIND_DRAM:
	case NPU_KIND_UINT:
	case NPU_KIND_INT:
	case NPU_KIND_FLAG:
	case NPU_KIND_TABLE:
		break;
	}
	key->value = npu_mac_read_expr(s);
	return key->value != NULL;
}

/* The next token is the key; its = has been passed over. */
static bool read_keyed(struct npu_mac *s, const struct npu_op_info *op, struct npu_mac_insn *insn,
		       struct npu_mac_keyed **last)
{
	const struct npu_field *field = op->format->fields;
	struct npu_mac_keyed *key = npu_mac_alloc(s, 1, sizeof *key);
	while (field->name && !npu_token_is(&s->cursor.token, field->name))
		field++;
	if (!key)
		return false;
	if (!field->name)
		return refuse_key(s, op);
	for (const struct npu_mac_keyed *k = insn->keyed; k; k = k->next)
		if (k->field == field)
			return npu_mac_refuse(s, npu_mac_here(s), "%s is given twice", field->name);
	key->field = field;
	key->span = npu_mac_here(s);
	npu_mac_advance(s);
	if (!read_value(s, key))
		return false;
	if (*last)
		(*last)->next = key;
	else
		insn->keyed = key;
	*last = key;
	return true;
}

static bool read_refs(struct npu_mac *s, struct npu_mac_ref refs[NPU_SYNC_SLOTS], unsigned *n)
{
	if (*n)
		return npu_mac_refuse(s, npu_mac_here(s),
				      "a second %.*s: write both semaphores behind one, separated by a comma",
				      (int)(s->cursor.token.end - s->cursor.token.begin), s->cursor.token.begin);
	npu_mac_advance(s);
	do {
		if (*n == NPU_SYNC_SLOTS)
			return npu_mac_refuse(s, npu_mac_here(s), "at most %d semaphores", NPU_SYNC_SLOTS);
		struct npu_mac_ref *ref = &refs[(*n)++];
		ref->sem = npu_mac_read_unary(s);
		if (!ref->sem)
			return false;
		if (npu_mac_take(s, ':') && !(ref->count = npu_mac_read_expr(s)))
			return false;
	} while (npu_mac_take(s, ','));
	return true;
}

static bool read_operand(struct npu_mac *s, const struct npu_op_info *op, struct npu_mac_insn *insn)
{
	const struct npu_field *fields[NPU_MAX_POSITIONAL];
	unsigned most = npu_syntax_positional(op, fields);
	if (insn->noperands == most && !most)
		return npu_mac_expected(s, "wait, post or the end of the line");
	if (insn->noperands == most)
		return npu_mac_refuse(s, npu_mac_here(s), "%s takes %u addresses; what follows is written NAME=VALUE",
				      op->mnemonic, most);
	return (insn->operands[insn->noperands++] = npu_mac_read_expr(s)) != NULL;
}

static bool read_operands(struct npu_mac *s, const struct npu_op_info *op, struct npu_mac_insn *insn)
{
	struct npu_mac_keyed *last = NULL;
	bool comma = true;
	while (!npu_mac_at_line_end(s)) {
		bool ok;
		if (npu_mac_is_word(s, "wait"))
			ok = read_refs(s, insn->waits, &insn->nwaits);
		else if (npu_mac_is_word(s, "post"))
			ok = read_refs(s, insn->posts, &insn->nposts);
		else if (s->cursor.token.kind == NPU_TOKEN_NAME && npu_lex_take_equals(&s->cursor.lexer))
			ok = read_keyed(s, op, insn, &last);
		else if (insn->noperands && !comma)
			ok = npu_mac_expected(s, "an operator, a comma, NAME=VALUE, wait or post");
		else
			ok = read_operand(s, op, insn);
		if (!ok)
			return false;
		comma = npu_mac_take(s, ',');
	}
	return true;
}

/* NAME a, b, c=1 */
static bool read_call(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	const struct npu_token name = s->cursor.token;
	struct npu_mac_keyed **last = &stmt->call.args;
	stmt->kind = NPU_MAC_MACRO_CALL;
	stmt->call.symbol = npu_mac_symbol(s, name.begin, (uint64_t)(name.end - name.begin));
	if (!stmt->call.symbol)
		return false;
	/* in the body of a macro it may be one that comes later */
	if (!s->keep && !stmt->call.symbol->macro && !stmt->call.symbol->announced && !s->missing)
		return npu_mac_refuse(s, stmt->span, "no instruction and no macro is called %s%s",
				      stmt->call.symbol->name, npu_mac_hint_any(s, stmt->span).text);
	npu_mac_advance(s);
	if (npu_mac_at_line_end(s))
		return true;
	do {
		struct npu_mac_keyed *arg = npu_mac_alloc(s, 1, sizeof *arg);
		if (!arg)
			return false;
		arg->span = npu_mac_here(s);
		if (s->cursor.token.kind == NPU_TOKEN_NAME && npu_lex_take_equals(&s->cursor.lexer)) {
			arg->name = npu_mac_symbol(s, arg->span.begin, (uint64_t)(arg->span.end - arg->span.begin));
			npu_mac_advance(s);
			if (!arg->name)
				return false;
		}
		arg->value = npu_mac_read_expr(s);
		if (!arg->value)
			return false;
		*last = arg;
		last = &arg->next;
	} while (npu_mac_take(s, ','));
	return true;
}

bool npu_mac_read_insn(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	const struct npu_token name = s->cursor.token;
	const struct npu_symbol *found = npu_symbols_find(&s->mnemonics, name.begin, (uint64_t)(name.end - name.begin));
	if (!found)
		return read_call(s, stmt);
	stmt->kind = NPU_MAC_INSN;
	stmt->insn.op = (unsigned)found->value;
	npu_mac_advance(s);
	return read_operands(s, &npu_ops[stmt->insn.op], &stmt->insn);
}
