/* SPDX-License-Identifier: Apache-2.0 */
/* From operands that are slices to the fields of an instruction.
 *
 * isa/operand.c alone knows which fields say how large an operand is, of which type and whether it is stored turned. It
 * is asked instead of told again: an instruction whose dimensions are large odd numbers, and whose types and layouts
 * are numbers that no type has, gives operands in which these numbers are found again. What was learnt is kept. */
#include "isa/text/macro/state.h"

#include "isa/operand.h"
#include "isa/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Two probes, further apart than any group or count is large: what is the same in both depends on no dimension. */
enum { PROBE_DIM = 0x40000001, PROBE_AGAIN = 0x60000001, PROBE_NAME = NPU_DTYPES, MAX_FIELDS = 64 };

/* How an operand follows from the fields. A dimension with no field is `rows_are`, 0: it follows from several. A type
 * with no field follows from the instruction. */
struct geometry {
	bool used;
	const struct npu_field *rows, *cols;
	uint64_t rows_are, cols_are;
	const struct npu_field *stride, *dtype, *layout;
};

/* Facts that hold as long as these flags and names have these values. */
struct npu_mac_mode {
	struct npu_mac_mode *next;
	uint64_t given, nonzero, several, names;
	unsigned turned;
	bool follows;   /* an operand has a size or a type that only the whole instruction tells */
	uint64_t turns; /* bit i: field i is a flag that .T sets */
	struct geometry geometry[NPU_MAC_MAX_OPERANDS];
};

/* What is asked of the table once for each instruction of it. */
struct npu_mac_op {
	const struct npu_field *positional[NPU_MAX_POSITIONAL];
	unsigned npositional;
	struct npu_insn initial;
	uint64_t required; /* bit i: field i */
	uint64_t optional_addresses;
	uint64_t presences; /* has_NAME flags */
	const struct npu_field *broadcast;
	uint8_t name_shift[MAX_FIELDS]; /* of fields that decide about shapes: their bits in npu_mac_mode.names; else
					   NONE */
	struct npu_mac_mode *modes;
};
enum { NONE = 255 };

/* An instruction being put together. */
struct making {
	struct npu_mac *s;
	struct npu_mac_stmt *stmt;
	const struct npu_op_info *op;
	struct npu_mac_op *facts;
	const struct npu_field *const *positional;
	unsigned npositional;
	struct npu_insn insn;
	uint64_t given;          /* bit i: field i has a value */
	uint64_t nonzero, several, names; /* see npu_mac_mode */
	const struct npu_mac_node
	    *nodes[NPU_MAC_MAX_OPERANDS]; /* by position, also those given as NAME=; NULL: missing */
	struct npu_mac_view views[NPU_MAC_MAX_OPERANDS];
	signed char source[MAX_FIELDS]; /* operand that gave a dimension, -1: NAME= */
};

static unsigned index_of(const struct making *m, const struct npu_field *field)
{
	return (unsigned)(field - m->op->format->fields);
}

static uint64_t bit_of(const struct making *m, const struct npu_field *field)
{
	return (uint64_t)1 << index_of(m, field);
}

static bool is_given(const struct making *m, const struct npu_field *field)
{
	return (m->given & bit_of(m, field)) != 0;
}

static void give(struct making *m, const struct npu_field *field, uint64_t value)
{
	unsigned i = index_of(m, field);
	npu_field_set(field, &m->insn, value);
	m->given |= (uint64_t)1 << i;
	if (m->facts->name_shift[i] != NONE) {
		m->names |= value << m->facts->name_shift[i];
	} else if (!field->required && field->kind == NPU_KIND_UINT) {
		m->nonzero |= (uint64_t)(value != 0) << i;
		m->several |= (uint64_t)(value > 1) << i;
	}
}

static bool is_probed(const struct npu_field *field)
{
	return field->kind == NPU_KIND_UINT && field->required;
}

/* ---- asking isa/operand.c ---- */

static struct npu_insn probe_of(const struct making *m, uint64_t turns, uint64_t dims)
{
	struct npu_insn probe = m->insn;
	for (unsigned i = 0; i < m->op->format->nfields; i++) {
		const struct npu_field *field = &m->op->format->fields[i];
		if (is_probed(field))
			npu_field_set(field, &probe, dims + 2 * i);
		else if (field->kind == NPU_KIND_DTYPE || field->kind == NPU_KIND_LAYOUT)
			npu_field_set(field, &probe, PROBE_NAME + i);
		if (turns >> i & 1)
			npu_field_set(field, &probe, 1);
	}
	return probe;
}

static const struct npu_field *field_of_dim(const struct making *m, uint64_t value)
{
	uint64_t i = (value - PROBE_DIM) / 2;
	const struct npu_format *format = m->op->format;
	return value >= PROBE_DIM && (value - PROBE_DIM) % 2 == 0 && i < format->nfields &&
		       is_probed(&format->fields[i])
		   ? &format->fields[i]
		   : NULL;
}

static const struct npu_field *field_of_name(const struct making *m, uint64_t value)
{
	return value >= PROBE_NAME && value - PROBE_NAME < m->op->format->nfields
		   ? &m->op->format->fields[value - PROBE_NAME]
		   : NULL;
}

static const struct npu_field *field_called(const struct making *m, const char *name)
{
	for (const struct npu_field *f = m->op->format->fields; name && f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static int position_of(const struct making *m, const char *name)
{
	for (unsigned i = 0; i < m->npositional; i++)
		if (strcmp(m->positional[i]->name, name) == 0)
			return (int)i;
	return -1;
}

/* A dimension of it follows from several fields. */
static bool is_open(const struct geometry *g)
{
	return (!g->rows && !g->rows_are) || (!g->cols && !g->cols_are);
}

static void learn_geometry(const struct making *m, struct npu_mac_mode *mode)
{
	struct npu_operand operands[NPU_MAX_ACCESSES], others[NPU_MAX_ACCESSES];
	struct npu_insn probe = probe_of(m, mode->turns, PROBE_DIM), again = probe_of(m, mode->turns, PROBE_AGAIN);
	unsigned n = npu_insn_operands(&probe, operands);
	npu_insn_operands(&again, others);
	for (unsigned i = 0; i < n; i++) {
		const struct npu_operand *o = &operands[i], *other = &others[i];
		int at = position_of(m, o->name);
		if (at < 0)
			continue;
		mode->geometry[at] = (struct geometry){
			.used = true,
			.rows = field_of_dim(m, o->m.rows),
			.cols = field_of_dim(m, o->m.cols),
			.rows_are = o->m.rows == other->m.rows ? o->m.rows : 0,
			.cols_are = o->m.cols == other->m.cols ? o->m.cols : 0,
			.stride = field_called(m, o->stride_name),
			.dtype = field_of_name(m, (uint64_t)o->m.dtype),
			.layout = field_of_name(m, o->m.layout),
		};
		const struct geometry *g = &mode->geometry[at];
		mode->follows |= is_open(g) || !g->dtype;
	}
}

/* Whether a flag exchanges rows and columns of an operand. */
static bool flag_turns(const struct making *m, uint64_t turns, const struct npu_field *flag, const char *operand)
{
	struct npu_operand without[NPU_MAX_ACCESSES], with[NPU_MAX_ACCESSES];
	struct npu_insn a = probe_of(m, turns, PROBE_DIM), b = probe_of(m, turns | bit_of(m, flag), PROBE_DIM);
	unsigned n = npu_insn_operands(&a, without);
	if (npu_insn_operands(&b, with) != n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if ((!operand || strcmp(with[i].name, operand) == 0) && with[i].m.rows == without[i].m.cols &&
		    with[i].m.cols == without[i].m.rows && with[i].m.rows != with[i].m.cols)
			return true;
	return false;
}

/* The flag that .T of operand `at` means: one that turns it, else one that turns another (DMA: the local side). */
static const struct npu_field *turn_flag(const struct making *m, uint64_t turns, unsigned at)
{
	const struct npu_field *fields = m->op->format->fields;
	for (unsigned pass = 0; pass < 2; pass++)
		for (const struct npu_field *f = fields; f->name; f++)
			if (f->kind == NPU_KIND_FLAG &&
			    flag_turns(m, turns, f, pass ? NULL : m->positional[at]->name) &&
			    (pass == 0 || m->op->format != &npu_formats[NPU_FORMAT_matmul]))
				return f;
	return NULL;
}

static bool learn_turns(struct making *m, struct npu_mac_mode *mode)
{
	for (unsigned i = 0; i < m->npositional; i++) {
		if (!(mode->turned >> i & 1))
			continue;
		const struct npu_field *flag = turn_flag(m, 0, i);
		if (!flag)
			return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[i]->span, "%s takes no .T of %s",
						 m->op->mnemonic, m->positional[i]->name);
		if (is_given(m, flag))
			return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[i]->span, ".T says %s=1 already",
						 flag->name);
		mode->turns ^= bit_of(m, flag); /* .T on both sides of a DMA: none */
	}
	return true;
}

static struct npu_mac_mode *mode_of(struct making *m)
{
	struct npu_mac_mode key = {
		.given = m->given, .nonzero = m->nonzero, .several = m->several, .names = m->names
	};
	struct npu_mac_mode **modes = &m->facts->modes;
	for (unsigned i = 0; i < m->npositional; i++)
		key.turned |= (unsigned)(m->nodes[i] && m->views[i].turned) << i;
	for (struct npu_mac_mode *mode = *modes; mode; mode = mode->next)
		if (mode->given == key.given && mode->nonzero == key.nonzero && mode->several == key.several &&
		    mode->names == key.names && mode->turned == key.turned)
			return mode;
	if (!learn_turns(m, &key))
		return NULL;
	learn_geometry(m, &key);
	struct npu_mac_mode *mode = npu_arena_alloc(m->s->arena, 1, sizeof *mode);
	if (!mode) {
		npu_mac_no_memory(m->s);
		return NULL;
	}
	*mode = key;
	mode->next = *modes;
	return *modes = mode;
}

/* ---- NAME=VALUE ---- */

static bool integer_field(struct making *m, const struct npu_mac_keyed *key, uint64_t *out)
{
	const struct npu_field *field = key->field;
	int64_t value, max = (int64_t)npu_field_max(field);
	int64_t least = field->kind == NPU_KIND_INT ? -max - 1 : field->required && field->kind == NPU_KIND_UINT;
	if (!npu_mac_int_in(m->s, key->value, field->name, least, max, &value))
		return false;
	*out = (uint64_t)value;
	return true;
}

static bool real_field(struct making *m, const struct npu_mac_keyed *key, uint64_t *out)
{
	double real;
	uint32_t bits;
	if (!npu_mac_real(m->s, key->value, &real))
		return false;
	float value = (float)real;
	if (value - value != 0)
		return npu_mac_refuse_as(m->s, NPU_ERR_VALUE, key->value->span,
					 "%s is beyond fp32; infinity is written inf", key->field->name);
	memcpy(&bits, &value, sizeof bits);
	*out = bits;
	return true;
}

static bool give_view(struct making *m, unsigned at, const struct npu_mac_node *node)
{
	const struct npu_field *field = m->positional[at];
	bool dram = field->kind == NPU_KIND_DRAM;
	if (m->nodes[at])
		return npu_mac_refuse(m->s, node->span, "%s is given twice", field->name);
	if (!npu_mac_view_of(m->s, node, &m->views[at]))
		return false;
	if (m->views[at].dram != dram)
		return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, node->span, "%s: this is %s", field->name,
					 dram ? "a buffer, not a tensor in DRAM" : "a tensor in DRAM, not a buffer");
	m->nodes[at] = node;
	give(m, field, m->views[at].addr);
	return true;
}

static bool give_keyed(struct making *m, const struct npu_mac_keyed *key)
{
	uint64_t value = key->bits;
	uint32_t table;
	bool ok = true;
	switch (key->field->kind) {
	case NPU_KIND_LOCAL:
	case NPU_KIND_DRAM:
		return give_view(m, (unsigned)position_of(m, key->field->name), key->value);
	case NPU_KIND_UINT:
	case NPU_KIND_INT:
	case NPU_KIND_FLAG:
		ok = integer_field(m, key, &value);
		break;
	case NPU_KIND_F32:
		ok = !key->value || real_field(m, key, &value);
		break;
	case NPU_KIND_TABLE:
		ok = npu_mac_table_of(m->s, key->value, &table);
		value = ok ? table : 0;
		break;
	case NPU_KIND_DTYPE:
	case NPU_KIND_LAYOUT:
	case NPU_KIND_BCAST:
	case NPU_KIND_ACT:
	case NPU_KIND_SCALE:
		ok = !key->value || npu_mac_named(m->s, key->value, key->field->kind, key->field->name, &value);
		break;
	}
	if (ok) {
		m->source[index_of(m, key->field)] = -1;
		give(m, key->field, value);
	}
	return ok;
}

/* ---- what follows from which operands are there ---- */

/* b_bcast from b: missing, a row, a column, the whole matrix. */
static bool guess_broadcast(struct making *m, const struct npu_field *field)
{
	const size_t suffix = sizeof "_bcast" - 1, length = strlen(field->name) - suffix;
	unsigned at = 0;
	while (at < m->npositional &&
	       (strlen(m->positional[at]->name) != length || memcmp(m->positional[at]->name, field->name, length) != 0))
		at++;
	if (at == m->npositional || is_given(m, field))
		return true;
	if (!m->nodes[at]) {
		if (!is_given(m, field_called(m, "imm")))
			return npu_mac_refuse(m->s, m->stmt->span, "%s lacks %s, a buffer, or imm=, a number",
					      m->op->mnemonic, m->positional[at]->name);
		give(m, field, NPU_BCAST_IMM);
		return true;
	}
	struct npu_matrix b, full;
	bool vector, ignored;
	if (m->views[at].rank < 0 || !npu_mac_matrix_of(&m->views[at], &b, &vector))
		return true; /* the initial value */
	bool known = false;
	for (unsigned i = 0; i < m->npositional && !known; i++)
		known =
		    i != at && m->nodes[i] && m->views[i].rank >= 0 && npu_mac_matrix_of(&m->views[i], &full, &ignored);
	if (!known || (b.rows == full.rows && b.cols == full.cols))
		return true;
	uint64_t n = b.rows * b.cols;
	bool row = n == full.cols && (b.rows == 1), col = n == full.rows && (b.cols == 1 || vector);
	if (vector && row && col)
		return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span,
					 "%" PRIu64 " values, for as many rows as columns: %s=row or %s=col says which",
					 n, field->name, field->name);
	give(m, field, row ? NPU_BCAST_ROW : col ? NPU_BCAST_COL : NPU_BCAST_FULL);
	return true;
}

/* has_bias, when there is a bias and not just an address, as in flat text */
static void guess_has(struct making *m, const struct npu_field *field)
{
	if (is_given(m, field))
		return;
	int at = position_of(m, field->name + 4);
	if (at >= 0 && m->nodes[at] && m->views[at].rank >= 0)
		give(m, field, 1);
}

/* ---- dimensions ---- */

static bool give_dim(struct making *m, const struct npu_field *field, uint64_t value, unsigned at, const char *hint)
{
	unsigned i = index_of(m, field);
	uint64_t there = npu_field_get(field, &m->insn);
	if (value > npu_field_max(field))
		return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span,
					 "%s is %" PRIu64 ": must be 1 to %s", field->name, value,
					 npu_count_text(npu_field_max(field)).text);
	if (!is_given(m, field)) {
		m->source[i] = (signed char)at;
		give(m, field, value);
		return true;
	}
	if (there == value)
		return true;
	int from = m->source[i];
	const char *turned = m->views[at].turned ? ", transposed," : "";
	if (from < 0)
		return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span,
					 "%s is %s%s and makes %s %" PRIu64 ", but %s=%" PRIu64 " was given",
					 m->positional[at]->name, npu_mac_shape_text(&m->views[at]).text, turned,
					 field->name, value, field->name, there);
	return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span,
				 "%s is %s%s and makes %s %" PRIu64 ", but %s is %s%s and makes it %" PRIu64 "%s",
				 m->positional[at]->name, npu_mac_shape_text(&m->views[at]).text, turned, field->name,
				 value, m->positional[from]->name, npu_mac_shape_text(&m->views[from]).text,
				 m->views[from].turned ? ", transposed," : "", there, hint);
}

static bool refuse_shape(struct making *m, unsigned at, uint64_t rows, uint64_t cols)
{
	return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span,
				 "%s is %s, but must be %" PRIu64 " x %" PRIu64 ": %s", m->positional[at]->name,
				 npu_mac_shape_text(&m->views[at]).text, rows, cols, m->positional[at]->doc);
}

static bool give_type(struct making *m, unsigned at, const struct geometry *g)
{
	const struct npu_mac_view *v = &m->views[at];
	if (g->dtype && !is_given(m, g->dtype)) {
		npu_field_set(g->dtype, &m->insn, v->dtype);
		m->source[index_of(m, g->dtype)] = (signed char)at;
	} else if (g->dtype && npu_field_get(g->dtype, &m->insn) != (uint64_t)v->dtype) {
		int from = m->source[index_of(m, g->dtype)];
		if (from >= 0)
			return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span,
						 "%s is %s, but %s is %s, and %s has one type for both",
						 m->positional[at]->name, npu_dtype_name(v->dtype),
						 m->positional[from]->name, npu_dtype_name(m->views[from].dtype),
						 m->op->mnemonic);
		return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span, "%s is %s, but %s=%s",
					 m->positional[at]->name, npu_dtype_name(v->dtype), g->dtype->name,
					 npu_dtype_name((enum npu_dtype)npu_field_get(g->dtype, &m->insn)));
	}
	if (g->dtype)
		m->given |= bit_of(m, g->dtype);
	if (g->layout && !is_given(m, g->layout))
		give(m, g->layout, v->layout);
	else if (!g->layout && v->layout != NPU_LAYOUT_ROW)
		return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span, "%s must be row-major",
					 m->positional[at]->name);
	return true;
}

static bool agrees(const struct making *m, const struct npu_field *field, uint64_t value)
{
	return !is_given(m, field) || npu_field_get(field, &m->insn) == value;
}

/* Whether an operand that does not fit would fit the other way round. */
static bool turned_fits(const struct making *m, unsigned at, const struct geometry *g, uint64_t rows, uint64_t cols)
{
	return g->rows && g->cols && !(agrees(m, g->rows, rows) && agrees(m, g->cols, cols)) &&
	       agrees(m, g->rows, cols) && agrees(m, g->cols, rows) && !m->views[at].turned && turn_flag(m, 0, at);
}

/* Given as NAME=VALUE. */
static bool is_named(const struct making *m, const struct npu_field *field)
{
	return field && is_given(m, field) && m->source[index_of(m, field)] < 0;
}

/* Everything is given by name, as in flat text. */
static bool is_address(const struct making *m, const struct npu_mac_view *v, const struct geometry *g)
{
	return v->rank < 0 || (v->whole && (is_named(m, g->rows) || is_named(m, g->cols)));
}

/* One operand: its dimensions, type, layout, stride. */
static bool give_operand(struct making *m, unsigned at, const struct geometry *g)
{
	const struct npu_mac_view *v = &m->views[at];
	struct npu_matrix matrix;
	bool vector;
	if (is_address(m, v, g))
		return true;
	if (!npu_mac_matrix_of(v, &matrix, &vector))
		return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span,
					 "%s is %s in memory: not one matrix of rows at even distances",
					 m->positional[at]->name, npu_mac_shape_text(v).text);
	uint64_t rows = matrix.rows, cols = matrix.cols;
	bool dense = matrix.stride == 0 || rows == 1;
	bool vector_wanted = g->cols_are == 1 || g->rows_are == 1;
	if (dense && vector_wanted && (rows == 1 || cols == 1 || !g->stride)) {
		rows = g->cols_are == 1 ? rows * cols : 1;
		cols = g->cols_are == 1 ? 1 : matrix.rows * matrix.cols;
	}
	const char *hint = turned_fits(m, at, g, rows, cols) ? "; .T would make it fit" : "";
	if ((g->rows && !give_dim(m, g->rows, rows, at, hint)) || (g->cols && !give_dim(m, g->cols, cols, at, hint)))
		return false;
	if ((g->rows_are && g->rows_are != rows) || (g->cols_are && g->cols_are != cols))
		return refuse_shape(m, at, g->rows_are ? g->rows_are : rows, g->cols_are ? g->cols_are : cols);
	if (!give_type(m, at, g))
		return false;
	uint64_t stride = dense ? 0 : matrix.stride;
	if (!g->stride && stride)
		return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span,
					 "%s must be dense, and the rows of this slice are %" PRIu64 " bytes apart",
					 m->positional[at]->name, stride);
	if (!g->stride)
		return true;
	if (is_given(m, g->stride))
		return true; /* by name, or by another operand that shares it */
	if (!npu_field_fits(g->stride, stride))
		return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span, "%s is %" PRIu64 ": at most %s",
					 g->stride->name, stride, npu_count_text(npu_field_max(g->stride)).text);
	npu_field_set(g->stride, &m->insn, stride);
	return true;
}

/* Pages of a pool: pool[:, h, 0, :, :] is [pages, rows of a page, elements]. */
static bool give_pool(struct making *m, unsigned at)
{
	const struct npu_mac_view *v = &m->views[at];
	static const char *const names[] = { "page_stride", "page_rows", "row_stride", "cols" };
	if (v->rank < 0 || (v->whole && is_named(m, field_called(m, "page_rows"))))
		return true;
	if (v->rank != 3 || v->dim[2].stride != npu_dtype_bits(v->dtype) || v->layout != NPU_LAYOUT_ROW)
		return npu_mac_refuse_as(
		    m->s, NPU_ERR_OPERAND, m->nodes[at]->span,
		    "a pool is [pages, rows of a page, elements], as in pool[:, head, :, :]; this is %s",
		    npu_mac_shape_text(v).text);
	const uint64_t values[] = { v->dim[0].stride / 8, v->dim[1].length, v->dim[1].stride / 8, v->dim[2].length };
	for (unsigned i = 0; i < 4; i++) {
		const struct npu_field *field = field_called(m, names[i]);
		if (!field->required && is_given(m, field))
			continue;
		if (!give_dim(m, field, values[i], at, ""))
			return false;
	}
	const struct npu_field *dtype = field_called(m, "dtype");
	if (!is_given(m, dtype))
		give(m, dtype, v->dtype);
	return true;
}

static bool refuse_type(struct making *m, unsigned at, enum npu_dtype dtype)
{
	return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[at]->span, "%s is %s, but must be %s here: %s",
				 m->positional[at]->name, npu_dtype_name(m->views[at].dtype), npu_dtype_name(dtype),
				 m->positional[at]->doc);
}

/* Operands whose size follows from several fields, or whose type has no field. */
static bool check_whole(struct making *m, const struct npu_mac_mode *mode)
{
	struct npu_operand operands[NPU_MAX_ACCESSES];
	if (!mode->follows)
		return true;
	unsigned n = npu_insn_operands(&m->insn, operands);
	for (unsigned i = 0; i < n; i++) {
		int at = position_of(m, operands[i].name);
		struct npu_matrix matrix;
		bool vector;
		if (at < 0 || !m->nodes[at] || is_address(m, &m->views[at], &mode->geometry[at]) ||
		    !npu_mac_matrix_of(&m->views[at], &matrix, &vector))
			continue;
		const struct npu_matrix *want = &operands[i].m;
		bool same = matrix.rows == want->rows && matrix.cols == want->cols;
		bool flat = matrix.stride == 0 && matrix.rows * matrix.cols == want->rows * want->cols;
		if (!same && !flat && is_open(&mode->geometry[at]))
			return refuse_shape(m, (unsigned)at, want->rows, want->cols);
		if (!mode->geometry[at].dtype && m->views[at].dtype != want->dtype)
			return refuse_type(m, (unsigned)at, want->dtype);
	}
	return true;
}

/* The sizes of heads, of which an operand shows a product and a half. */
static bool give_heads(struct making *m)
{
	const struct npu_field *heads = field_called(m, "heads"), *dim = field_called(m, "dim"),
			       *rotary = field_called(m, "rotary");
	const int a = position_of(m, "a"), cosine = position_of(m, "cosine");
	struct npu_matrix matrix;
	bool vector;
	if (!is_given(m, dim) && m->nodes[a] && m->views[a].rank >= 0 &&
	    npu_mac_matrix_of(&m->views[a], &matrix, &vector)) {
		uint64_t n = npu_field_get(heads, &m->insn);
		if (matrix.cols % n)
			return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[a]->span,
						 "a is %s: its columns are not %" PRIu64 " heads",
						 npu_mac_shape_text(&m->views[a]).text, n);
		if (!give_dim(m, dim, matrix.cols / n, (unsigned)a, ""))
			return false;
	}
	if (!is_given(m, rotary) && m->nodes[cosine] && m->views[cosine].rank >= 0 &&
	    npu_mac_matrix_of(&m->views[cosine], &matrix, &vector))
		return give_dim(m, rotary, 2 * matrix.cols, (unsigned)cosine, "");
	return true;
}

static bool refuse_missing(struct making *m, const struct npu_field *f)
{
	struct npu_mac_span span = m->stmt->span;
	if (npu_syntax_is_positional(f))
		return npu_mac_refuse(m->s, span, "%s lacks its address %s%s: %s", m->op->mnemonic, f->name,
				      f->required ? "" : ", which these operands use", f->doc);
	return npu_mac_refuse(m->s, span, "%s lacks %s=: %s", m->op->mnemonic, f->name, f->doc);
}

static bool check_complete(struct making *m)
{
	uint64_t lacking = m->facts->required & ~m->given, optional = m->facts->optional_addresses & ~m->given;
	const struct npu_field *fields = m->op->format->fields;
	if (lacking)
		return refuse_missing(m, &fields[__builtin_ctzll(lacking)]);
	for (; optional; optional &= optional - 1)
		if (npu_syntax_uses(&m->insn, &fields[__builtin_ctzll(optional)]))
			return refuse_missing(m, &fields[__builtin_ctzll(optional)]);
	return true;
}

static bool give_operands(struct making *m)
{
	struct npu_mac_insn *insn = &m->stmt->insn;
	for (unsigned i = 0; i < insn->noperands; i++)
		if (!give_view(m, i, insn->operands[i]))
			return false;
	for (const struct npu_mac_keyed *key = insn->keyed; key; key = key->next)
		if (!give_keyed(m, key))
			return false;
	for (uint64_t has = m->facts->presences; has; has &= has - 1)
		guess_has(m, &m->op->format->fields[__builtin_ctzll(has)]);
	if (m->facts->broadcast && !guess_broadcast(m, m->facts->broadcast))
		return false;
	const struct npu_mac_mode *mode = mode_of(m);
	if (!mode)
		return false;
	for (uint64_t turns = mode->turns; turns; turns &= turns - 1)
		give(m, &m->op->format->fields[__builtin_ctzll(turns)], 1);
	for (unsigned i = 0; i < m->npositional; i++) {
		const struct geometry *g = &mode->geometry[i];
		bool pool = m->op->format == &npu_formats[NPU_FORMAT_paged] && m->positional[i]->kind == NPU_KIND_DRAM;
		if (!m->nodes[i])
			continue;
		if (!g->used && !pool && m->views[i].rank < 0)
			continue; /* flat text may say more than is needed */
		if (!g->used && !pool)
			return npu_mac_refuse_as(m->s, NPU_ERR_OPERAND, m->nodes[i]->span,
						 "%s has no use for %s with these operands: %s", m->op->mnemonic,
						 m->positional[i]->name, m->positional[i]->doc);
		if (!(pool ? give_pool(m, i) : give_operand(m, i, g)))
			return false;
	}
	if (m->op->format == &npu_formats[NPU_FORMAT_rope] && !give_heads(m))
		return false;
	return check_complete(m) && check_whole(m, mode);
}

/* ---- order, place ---- */

static bool give_refs(struct making *m, const struct npu_mac_ref *refs, unsigned n, struct npu_sem_ref *out)
{
	for (unsigned i = 0; i < n; i++) {
		int64_t count = 1;
		uint32_t sem;
		if (!npu_mac_sem_of(m->s, refs[i].sem, &sem))
			return false;
		const struct npu_mac_node *node = refs[i].count;
		/* a count that is computed may be 0: there is nothing to wait for then */
		int64_t least = node && node->kind == NPU_MAC_NUMBER;
		if (node && !npu_mac_int_in(m->s, node, "a count", least, NPU_SEM_MAX_COUNT, &count))
			return false;
		out[i] = (struct npu_sem_ref){ count ? (uint16_t)sem : 0, (uint16_t)count };
	}
	return true;
}

static uint32_t record_turn(struct npu_mac *s, struct npu_mac_frame *f)
{
	while (f && f->kind != NPU_MAC_IN_LOOP)
		f = f->below;
	enum { MOST_TURNS = 1 << 22 };
	if (!f || f->turn || s->loops->nturns == MOST_TURNS)
		return f ? f->turn : 0;
	uint32_t around = record_turn(s, f->below);
	struct npu_macro_loops *loops = s->loops;
	if (loops->nturns == s->turn_room) {
		uint32_t room = s->turn_room ? 2 * s->turn_room : 256;
		struct npu_mac_turn *turns = realloc(loops->turns, room * sizeof *turns);
		if (!turns) {
			npu_mac_no_memory(s);
			return 0;
		}
		loops->turns = turns;
		s->turn_room = room;
		if (!loops->nturns)
			turns[loops->nturns++] = (struct npu_mac_turn){ NULL, 0, 0 };
	}
	loops->turns[loops->nturns] = (struct npu_mac_turn){ f->symbol->name, f->value, around };
	return f->turn = loops->nturns++;
}

static bool record_loops(struct npu_mac *s)
{
	uint32_t turn = record_turn(s, s->frame);
	if (!turn)
		return !s->out_of_memory; /* instructions before the first loop need no entry: see npu_macro_loop_values
					   */
	if (s->ninsns >= s->insn_room) {
		uint32_t room = s->ninsns < 512 ? 1024 : 2 * s->ninsns;
		uint32_t *of = realloc(s->loops->of, room * sizeof *of);
		if (!of)
			return npu_mac_no_memory(s);
		memset(of + s->insn_room, 0, (room - s->insn_room) * sizeof *of);
		s->loops->of = of;
		s->insn_room = room;
	}
	s->loops->of[s->ninsns] = turn;
	s->loops->recorded = s->ninsns + 1;
	return true;
}

/* The number of the innermost use of a macro. */
static uint32_t record_call(struct npu_mac *s, struct npu_mac_frame *f)
{
	while (f && f->kind != NPU_MAC_IN_MACRO)
		f = f->below;
	if (f && !f->call)
		f->call = npu_assembly_call(s->assembly, f->symbol->name, f->use->file, f->use->line,
					    record_call(s, f->below));
	return f ? f->call : 0;
}

void npu_mac_place(struct npu_mac *s, const struct npu_mac_stmt *stmt)
{
	if (s->placed)
		return;
	npu_assembly_place(s->assembly, stmt->file, stmt->line);
	if (s->macros)
		npu_assembly_inside(s->assembly, record_call(s, s->frame));
}

bool npu_mac_prepare_ops(struct npu_mac *s)
{
	s->ops = npu_arena_alloc(s->arena, npu_nops, sizeof *s->ops);
	for (unsigned i = 0; s->ops && i < npu_nops; i++) {
		struct npu_mac_op *op = &s->ops[i];
		unsigned shift = 0;
		op->npositional = npu_syntax_positional(&npu_ops[i], op->positional);
		op->initial = npu_insn_initial(npu_ops[i].op);
		for (unsigned f = 0; f < npu_ops[i].format->nfields; f++) {
			const struct npu_field *field = &npu_ops[i].format->fields[f];
			bool decides = field->kind == NPU_KIND_FLAG || field->kind == NPU_KIND_BCAST ||
				       field->kind == NPU_KIND_SCALE;
			op->required |= (uint64_t)field->required << f;
			op->optional_addresses |= (uint64_t)(!field->required && npu_syntax_is_positional(field)) << f;
			op->presences |=
			    (uint64_t)(field->kind == NPU_KIND_FLAG && strncmp(field->name, "has_", 4) == 0) << f;
			op->broadcast = field->kind == NPU_KIND_BCAST ? field : op->broadcast;
			op->name_shift[f] = decides ? (uint8_t)shift : NONE;
			shift += decides ? field->width : 0;
		}
	}
	return s->ops != NULL;
}

bool npu_mac_run_insn(struct npu_mac *s, struct npu_mac_stmt *stmt)
{
	struct making m;
	if (s->pending && !npu_mac_place_pending(s))
		return false;
	m.s = s;
	m.stmt = stmt;
	m.op = &npu_ops[stmt->insn.op];
	m.facts = &s->ops[stmt->insn.op];
	m.positional = m.facts->positional;
	m.npositional = m.facts->npositional;
	m.insn = m.facts->initial;
	m.given = m.nonzero = m.several = m.names = 0;
	memset(m.nodes, 0, sizeof m.nodes); /* the rest is read where it was written */
	if (!give_operands(&m) || !give_refs(&m, stmt->insn.waits, stmt->insn.nwaits, m.insn.wait) ||
	    !give_refs(&m, stmt->insn.posts, stmt->insn.nposts, m.insn.post))
		return false;
	if (s->ninsns >= s->max_insns)
		return npu_mac_refuse_as(s, NPU_ERR_FIT, stmt->span,
					 "more than %s instructions: larger tiles or shorter lengths need fewer",
					 npu_count_text(s->max_insns).text);
	if (!record_loops(s))
		return false;
	npu_mac_place(s, stmt);
	npu_assembly_insn(s->assembly, &m.insn);
	s->ninsns++;
	return true;
}
