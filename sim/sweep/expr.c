/* SPDX-License-Identifier: Apache-2.0 */
/* A recursive descent into an array of nodes. */
#include "sim/sweep/expr.h"
#include "sim/config_parse.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 512, DEPTH = 64 };
enum kind { NUMBER, NAME, NOT, MINUS, MUL, DIV, MOD, ADD, SUB, LE, GE, LT, GT, EQ, NE, AND, OR };

/* Binary operators, those that bind most first; a longer one before its beginning. */
static const struct operator
{
	const char *text;
	enum kind kind;
	unsigned binds;
}
operators[] = {
	{ "*", MUL, 6 }, { "/", DIV, 6 },  { "%", MOD, 6 }, { "+", ADD, 5 }, { "-", SUB, 5 },
	{ "<=", LE, 4 }, { ">=", GE, 4 },  { "<", LT, 4 },  { ">", GT, 4 },  { "==", EQ, 3 },
	{ "!=", NE, 3 }, { "&&", AND, 2 }, { "||", OR, 1 },
};

struct node {
	enum kind kind;
	double number;
	unsigned a, b; /* nodes; of NAME `a` is the name */
	bool closed;   /* in parentheses */
};

struct expr {
	struct node nodes[NODES];
	unsigned nnodes, root;
	char names[EXPR_NAMES][EXPR_NAME_BYTES];
	uint32_t columns[EXPR_NAMES];
	int opposite[EXPR_NAMES];
	bool words[EXPR_NAMES];
	unsigned nnames;
};

struct parser {
	struct expr *e;
	const char *const *words;
	const char *text, *at;
	unsigned depth;
	struct npu_error *err;
};

static bool fail(struct parser *p, const char *at, const char *what)
{
	npu_fail(p->err, NPU_ERR_VALUE, "%s", what);
	p->err->column = (uint32_t)(at - p->text) + 1;
	return false;
}

static bool node(struct parser *p, enum kind kind, unsigned a, unsigned b, unsigned *out)
{
	if (p->e->nnodes == NODES)
		return fail(p, p->at, "the condition is too long");
	p->e->nodes[p->e->nnodes] = (struct node){ .kind = kind, .a = a, .b = b };
	*out = p->e->nnodes++;
	return true;
}

static void skip(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool binary(struct parser *p, unsigned least, unsigned *out);

static bool name_of(struct parser *p, const char *from, size_t n, unsigned *out);

/* 32x32, a label of keys that go together, is a word. */
static size_t label_length(const char *at)
{
	size_t n = strspn(at, "0123456789"), all = n;
	while (n && at[all] == 'x' && isdigit((unsigned char)at[all + 1]))
		all += 1 + strspn(at + all + 1, "0123456789");
	return all > n ? all : 0;
}

/* 1 MiB: the bytes of a unit that stands apart, behind blanks, 1 where none does; *length is as far as it goes. */
static double unit_apart(const char *at, size_t *length)
{
	static const char *const units[] = { "KiB", "MiB", "GiB" };
	size_t blanks = strspn(at, " \t");
	*length = 0;
	for (unsigned i = 0; blanks && i < sizeof units / sizeof *units; i++)
		if (strncmp(at + blanks, units[i], 3) == 0 && !isalnum((unsigned char)at[blanks + 3]) &&
		    !strchr("_.", at[blanks + 3] ? at[blanks + 3] : ' ')) {
			*length = blanks + 3;
			return (double)((uint64_t)1024 << (10 * i));
		}
	return 1;
}

static bool number(struct parser *p, unsigned *out)
{
	size_t label = label_length(p->at);
	if (label) {
		p->at += label;
		if (!name_of(p, p->at - label, label, out))
			return false;
		p->e->words[p->e->nodes[*out].a] = true;
		return true;
	}
	char text[64];
	uint64_t bytes;
	size_t n = strspn(p->at, "0123456789."), unit = n;
	/* 1e6 */
	if (n && (p->at[n] == 'e' || p->at[n] == 'E')) {
		size_t sign = n + 1 + (p->at[n + 1] == '+' || p->at[n + 1] == '-');
		size_t digits = strspn(p->at + sign, "0123456789");
		unit = digits ? sign + digits : n;
	}
	while (isalpha((unsigned char)p->at[unit]))
		unit++;
	if (unit >= sizeof text)
		return fail(p, p->at, "a number is too long");
	snprintf(text, sizeof text, "%.*s", (int)unit, p->at);
	char *end;
	double value = strtod(text, &end);
	if (*end && !config_parse_size(text, &bytes))
		return fail(p, p->at, "not a number; 65536, 0.5 or 1MiB would be right");
	p->at += unit;
	if (*end) {
		value = (double)bytes;
	} else {
		value *= unit_apart(p->at, &unit);
		p->at += unit;
	}
	if (!node(p, NUMBER, 0, 0, out))
		return false;
	p->e->nodes[*out].number = value;
	return true;
}

/* The longest of the words that stands here. */
static size_t word_length(const struct parser *p)
{
	size_t longest = 0;
	for (const char *const *w = p->words; w && *w; w++) {
		size_t n = strlen(*w);
		char next = strncmp(p->at, *w, n) == 0 ? p->at[n] : 'x';
		if (n > longest && !isalnum((unsigned char)next) && !strchr("_.-", next ? next : ' '))
			longest = n;
	}
	return longest;
}

static bool name(struct parser *p, unsigned *out)
{
	const char *from = p->at;
	size_t word = word_length(p);
	if (word) {
		p->at += word;
		if (!name_of(p, from, word, out))
			return false;
		p->e->words[p->e->nodes[*out].a] = true;
		return true;
	}
	while (isalnum((unsigned char)*p->at) || *p->at == '_' || *p->at == '.')
		p->at++;
	/* LPDDR5-6400 is one word. */
	while (*p->at == '-' && isalnum((unsigned char)p->at[1]) && isupper((unsigned char)*from))
		for (p->at++; isalnum((unsigned char)*p->at); p->at++)
			continue;
	return name_of(p, from, (size_t)(p->at - from), out);
}

static bool name_of(struct parser *p, const char *from, size_t n, unsigned *out)
{
	unsigned i = p->e->nnames;
	if (n >= EXPR_NAME_BYTES)
		return fail(p, from, "a name is too long");
	if (i == EXPR_NAMES)
		return fail(p, from, "too many names");
	snprintf(p->e->names[i], EXPR_NAME_BYTES, "%.*s", (int)n, from);
	p->e->columns[i] = (uint32_t)(from - p->text) + 1;
	p->e->opposite[i] = -1;
	p->e->nnames++;
	return node(p, NAME, i, 0, out);
}

/* 'tiny-256k': a word with what would be operators in it. */
static bool quoted(struct parser *p, unsigned *out)
{
	const char *from = p->at + 1, *end = strchr(from, *p->at);
	if (!end || end == from)
		return fail(p, p->at, end ? "an empty word" : "the quote is not closed");
	p->at = end + 1;
	if (!name_of(p, from, (size_t)(end - from), out))
		return false;
	p->e->words[p->e->nodes[*out].a] = true;
	return true;
}

static bool primary(struct parser *p, unsigned *out)
{
	skip(p);
	const char *from = p->at;
	unsigned a;
	if (++p->depth > DEPTH)
		return fail(p, from, "nested too deeply");
	bool ok;
	if (*from == '(') {
		p->at++;
		ok = binary(p, 1, out);
		skip(p);
		if (ok && *p->at != ')')
			ok = fail(p, p->at, "a ) is missing");
		p->at += ok;
		if (ok)
			p->e->nodes[*out].closed = true;
	} else if (*from == '!' || *from == '-') {
		p->at++;
		ok = primary(p, &a) && node(p, *from == '!' ? NOT : MINUS, a, 0, out);
	} else if (isdigit((unsigned char)*from)) {
		ok = number(p, out);
	} else if (*from == '\'' || *from == '"') {
		ok = quoted(p, out);
	} else if (isalpha((unsigned char)*from) || *from == '_') {
		ok = name(p, out);
	} else {
		ok = fail(p, from,
			  *from ? "a name, a number or ( would be right here"
				: "a name or a number is missing at the end");
	}
	p->depth--;
	return ok;
}

static const struct operator* operator_at(struct parser *p)
{
	skip(p);
	for (unsigned i = 0; i < sizeof operators / sizeof *operators; i++)
		if (strncmp(p->at, operators[i].text, strlen(operators[i].text)) == 0)
			return &operators[i];
	return NULL;
}

static bool is_comparison(enum kind kind)
{
	return kind >= LE && kind <= NE;
}

/* a < b < c, which would compare a truth with c. */
static bool is_chain(const struct parser *p, unsigned at)
{
	return is_comparison(p->e->nodes[at].kind) && !p->e->nodes[at].closed;
}

static void oppose(struct expr *e, unsigned a, unsigned b)
{
	if (e->nodes[a].kind != NAME || e->nodes[b].kind != NAME)
		return;
	e->opposite[e->nodes[a].a] = (int)e->nodes[b].a;
	e->opposite[e->nodes[b].a] = (int)e->nodes[a].a;
}

static bool binary(struct parser *p, unsigned least, unsigned *out)
{
	if (!primary(p, out))
		return false;
	for (const struct operator* o; (o = operator_at(p)) && o->binds >= least;) {
		unsigned right;
		const char *from = p->at;
		p->at += strlen(o->text);
		if (!binary(p, o->binds + 1, &right))
			return false;
		if (is_comparison(o->kind) && (is_chain(p, *out) || is_chain(p, right)))
			return fail(p, from, "two comparisons in a row: a < b && b < c would be right, or parentheses");
		if (o->kind == EQ || o->kind == NE)
			oppose(p->e, *out, right);
		if (!node(p, o->kind, *out, right, out))
			return false;
	}
	return true;
}

struct expr *expr_parse(const char *text, const char *const *words, struct npu_error *err)
{
	struct npu_error ignored;
	struct expr *e = calloc(1, sizeof *e);
	struct parser p = { .e = e, .words = words, .text = text, .at = text, .err = err ? err : &ignored };
	if (!e) {
		npu_fail(err, NPU_ERR_MEMORY, "out of memory");
		return NULL;
	}
	bool ok = binary(&p, 1, &e->root);
	if (ok && *p.at)
		ok = fail(&p, p.at, "an operator would be right here: + - * / % == != <= >= < > && ||");
	if (ok)
		return e;
	free(e);
	return NULL;
}

void expr_free(struct expr *e)
{
	free(e);
}

const char *expr_name(const struct expr *e, unsigned n, uint32_t *column)
{
	if (n >= e->nnames)
		return NULL;
	if (column)
		*column = e->columns[n];
	return e->names[n];
}

int expr_opposite(const struct expr *e, unsigned n)
{
	return e->opposite[n];
}

void expr_make_word(struct expr *e, unsigned n, const char *text)
{
	e->words[n] = true;
	if (text)
		expr_rename(e, n, text);
}

void expr_rename(struct expr *e, unsigned n, const char *name)
{
	snprintf(e->names[n], EXPR_NAME_BYTES, "%s", name);
}
bool expr_is_word(const struct expr *e, unsigned n)
{
	return e->words[n];
}

struct expr_value expr_value_of(const char *text)
{
	uint64_t bytes;
	char *end;
	if (config_parse_size(text, &bytes))
		return (struct expr_value){ .number = (double)bytes };
	double value = strtod(text, &end);
	if (end == text || !isdigit((unsigned char)text[*text == '-']))
		return (struct expr_value){ NAN, text };
	if (strcmp(end, "k") == 0)
		return (struct expr_value){ .number = value * 1024 };
	if (strcmp(end, "M") == 0)
		return (struct expr_value){ .number = value * 1048576 };
	return *end ? (struct expr_value){ NAN, text } : (struct expr_value){ .number = value };
}

static struct expr_value truth(bool holds)
{
	return (struct expr_value){ .number = holds };
}

static struct expr_value compare(enum kind kind, struct expr_value a, struct expr_value b)
{
	/* "64" is 64 where a number stands on the other side. */
	if (a.text && !b.text)
		a = expr_value_of(a.text);
	else if (b.text && !a.text)
		b = expr_value_of(b.text);
	if (kind == EQ || kind == NE) {
		bool same = a.text && b.text ? strcmp(a.text, b.text) == 0 : !a.text && !b.text && a.number == b.number;
		bool known = (a.text || !isnan(a.number)) && (b.text || !isnan(b.number));
		return truth(known && same == (kind == EQ));
	}
	if (a.text || b.text)
		return truth(false);
	return truth(kind == LE   ? a.number <= b.number
		     : kind == GE ? a.number >= b.number
		     : kind == LT ? a.number < b.number
				  : a.number > b.number);
}

static double arithmetic(enum kind kind, double a, double b, bool *divides)
{
	if ((kind == DIV || kind == MOD) && b == 0) {
		*divides = true;
		return NAN;
	}
	return kind == MUL ? a * b : kind == DIV ? a / b : kind == MOD ? fmod(a, b) : kind == ADD ? a + b : a - b;
}

struct evaluation {
	const struct expr *e;
	expr_values *values;
	void *context;
	bool *divides;
};

static struct expr_value evaluate(const struct evaluation *v, unsigned at)
{
	const struct node *n = &v->e->nodes[at];
	if (n->kind == NUMBER)
		return (struct expr_value){ .number = n->number };
	if (n->kind == NAME)
		return v->e->words[n->a] ? (struct expr_value){ NAN, v->e->names[n->a] } : v->values(v->context, n->a);
	struct expr_value a = evaluate(v, n->a);
	if (n->kind == NOT)
		return truth(!a.text && a.number == 0);
	if (n->kind == MINUS)
		return (struct expr_value){ .number = -a.number };
	bool holds = !a.text && a.number != 0 && !isnan(a.number);
	if (n->kind == AND && !holds)
		return truth(false);
	if (n->kind == OR && holds)
		return truth(true);
	/* A word may stand in memory that the next value is put into. */
	char *kept = a.text && v->e->nodes[n->b].kind == NAME ? strdup(a.text) : NULL;
	if (kept)
		a.text = kept;
	struct expr_value b = evaluate(v, n->b), result;
	if (n->kind == AND || n->kind == OR)
		result = truth(!b.text && b.number != 0 && !isnan(b.number));
	else if (n->kind >= LE)
		result = compare(n->kind, a, b);
	else
		result = (struct expr_value){ .number = arithmetic(n->kind, a.number, b.number, v->divides) };
	free(kept);
	return result;
}

/* ---- what can never hold ---- */

struct checking {
	const struct expr *e;
	expr_kinds *kinds;
	void *context;
	struct npu_error *err;
};

/* A side of an operator, for a person. */
static const char *side(const struct checking *c, unsigned at, char out[EXPR_NAME_BYTES])
{
	const struct node *n = &c->e->nodes[at];
	if (n->kind == NAME)
		snprintf(out, EXPR_NAME_BYTES, "%s", c->e->names[n->a]);
	else if (n->kind == NUMBER)
		snprintf(out, EXPR_NAME_BYTES, "%.10g", n->number);
	else
		snprintf(out, EXPR_NAME_BYTES, "the other side");
	return out;
}

static bool refuse(const struct checking *c, unsigned word, unsigned other, const char *is, const char *than)
{
	char a[EXPR_NAME_BYTES], b[EXPR_NAME_BYTES], text[4 * EXPR_NAME_BYTES];
	const struct node *n = &c->e->nodes[word];
	snprintf(text, sizeof text, "%s is a word%s%s%s", side(c, word, a), is, *than ? side(c, other, b) : "", than);
	npu_fail(c->err, NPU_ERR_VALUE, "%s", text);
	c->err->column = n->kind == NAME ? c->e->columns[n->a] : 0;
	return false;
}

static bool check(const struct checking *c, unsigned at, enum expr_kind *kind)
{
	const struct node *n = &c->e->nodes[at];
	enum expr_kind a, b;
	*kind = EXPR_NUMBER;
	if (n->kind == NUMBER)
		return true;
	if (n->kind == NAME) {
		*kind = !c->e->words[n->a]                      ? c->kinds(c->context, n->a)
			: expr_value_of(c->e->names[n->a]).text ? EXPR_WORD
								: EXPR_ANY;
		return true;
	}
	bool one = n->kind == NOT || n->kind == MINUS;
	if (!check(c, n->a, &a) || (!one && !check(c, n->b, &b)))
		return false;
	if (one)
		b = EXPR_ANY;
	unsigned word = a == EXPR_WORD ? n->a : n->b, other = a == EXPR_WORD ? n->b : n->a;
	if (a != EXPR_WORD && b != EXPR_WORD)
		return true;
	if (n->kind == EQ || n->kind == NE)
		return (a != EXPR_NUMBER && b != EXPR_NUMBER) ||
		       refuse(c, word, other, " and ", " a number: they are never equal");
	if (is_comparison(n->kind))
		return refuse(c, word, other, ", neither less nor more than ", "; == or != would be right");
	return refuse(c, word, other, ": one cannot reckon with it", "");
}

bool expr_check(const struct expr *e, expr_kinds *kinds, void *context, struct npu_error *err)
{
	struct npu_error ignored;
	struct checking c = { e, kinds, context, err ? err : &ignored };
	enum expr_kind kind;
	if (!check(&c, e->root, &kind))
		return false;
	return kind != EXPR_WORD || refuse(&c, e->root, e->root, ", and no condition", "");
}

bool expr_holds(const struct expr *e, expr_values *values, void *context, bool *divides)
{
	bool ignored;
	struct evaluation v = { e, values, context, divides ? divides : &ignored };
	struct expr_value result = evaluate(&v, e->root);
	return !result.text && result.number != 0 && !isnan(result.number);
}
