/* SPDX-License-Identifier: Apache-2.0 */
/* From names and slices to addresses and strides.
 *
 * A dimension's stride is in bits, for 4-bit elements start inside bytes. Of a tensor or buffer in blocks the two
 * innermost dimensions are special: their strides are those of a row of blocks and of an element; where element (r, c)
 * lies follows from the block size. */
#include "isa/text/macro/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct npu_mac_where npu_mac_shape_text(const struct npu_mac_view *view)
{
	struct npu_mac_where out = { "a single element" };
	size_t used = 0;
	for (int i = 0; i < view->rank && used < sizeof out.text; i++)
		used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%" PRIu64, i ? " x " : "",
					 view->dim[i].length);
	return out;
}

/* k[0] where "k[0]" itself was declared, as flat text does. */
static const struct npu_mac_value *find_indexed(struct npu_mac *s, const struct npu_mac_node *node)
{
	char name[NPU_MAX_NAME + 32];
	int64_t i;
	if (!s->quoted_indices || !node->n || node->brackets[0].n != 1 ||
	    node->brackets[0].items[0].kind != NPU_MAC_ONE || node->symbol->length > NPU_MAX_NAME ||
	    !npu_mac_int(s, node->brackets[0].items[0].from, &i))
		return NULL;
	int length = snprintf(name, sizeof name, "%s[%" PRId64 "]", node->symbol->name, i);
	const struct npu_symbol *found = npu_symbols_find(&s->symbols, name, (uint64_t)length);
	const struct npu_mac_symbol *symbol = found ? (void *)(uintptr_t)found->value : NULL;
	const struct npu_mac_binding *binding = symbol ? npu_mac_bound(s, symbol) : NULL;
	return binding ? &binding->value : NULL;
}

/* What a name stands for; *first: brackets that belong to the name; `kinds`: what would be right, 1 << object kind. */
static const struct npu_mac_value *bound(struct npu_mac *s, const struct npu_mac_node *node, unsigned kinds,
					 unsigned *first)
{
	struct npu_mac_span span = { node->span.begin, node->span.begin + node->symbol->length };
	const struct npu_mac_value *indexed = find_indexed(s, node);
	*first = indexed != NULL;
	if (indexed || s->failed)
		return indexed;
	if (*span.begin == '"' || span.end > node->span.end)
		span = node->span;
	const struct npu_mac_binding *binding = npu_mac_bound(s, node->symbol);
	if (binding)
		return &binding->value;
	npu_mac_refuse_as(s, NPU_ERR_VALUE, span, "nothing is called %s%s", node->symbol->name,
			  node->symbol->binding ? NPU_MAC_HIDDEN : npu_mac_hint_kinds(s, span, kinds).text);
	return NULL;
}

/* The element of an array that the first bracket picks. */
static bool pick(struct npu_mac *s, const struct npu_mac_node *node, const char *name, uint32_t count, uint32_t *out)
{
	int64_t i;
	const struct npu_mac_bracket *b = node->n ? &node->brackets[0] : NULL;
	if (!b)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s is an array: %s[0] to %s[%" PRIu32 "]", name,
					 name, name, count - 1);
	if (b->n != 1 || b->items[0].kind != NPU_MAC_ONE)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, b->span, "%s is an array: one index picks one of %" PRIu32,
					 name, count);
	if (!npu_mac_int(s, b->items[0].from, &i))
		return false;
	if (i < 0 || i >= count)
		return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, b->span,
					 "%s[%" PRId64 "]: there are %s[0] to %s[%" PRIu32 "]", name, i, name, name,
					 count - 1);
	*out = (uint32_t)i;
	return true;
}

/* ---- slices ---- */

struct range {
	uint64_t from, length;
};

static bool range_of(struct npu_mac *s, const struct npu_mac_view *v, unsigned d, const struct npu_mac_index *index,
		     struct range *out)
{
	int64_t from = 0, to, length = (int64_t)v->dim[d].length;
	if (index->from && !npu_mac_int(s, index->from, &from))
		return false;
	to = index->kind == NPU_MAC_ONE ? from + (from < INT64_MAX) : length;
	if (index->to && !npu_mac_int(s, index->to, &to))
		return false;
	if (index->kind == NPU_MAC_LENGTH && __builtin_add_overflow(from, to, &to))
		return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, index->span, "the end is beyond 64 bits");
	if (from > to && index->kind == NPU_MAC_RANGE)
		return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, index->span,
					 "%" PRId64 ":%" PRId64 " ends before it begins", from, to);
	if (from < 0 || to > length || from > to) {
		if (index->kind == NPU_MAC_ONE)
			return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, index->span,
						 "%" PRId64 " is out of bounds: dimension %u of %s has %" PRId64
						 " elements",
						 from, d, v->object->name, length);
		return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, index->span,
					 "%" PRId64 ":%" PRId64 " is out of bounds: dimension %u of %s has %" PRId64
					 " elements",
					 from, to, d, v->object->name, length);
	}
	if (from == to)
		return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, index->span, "an empty slice of dimension %u of %s", d,
					 v->object->name);
	*out = (struct range){ (uint64_t)from, (uint64_t)(to - from) };
	return true;
}

/* Bits from the start of the view to the first element of the ranges. */
static bool offset_of(struct npu_mac *s, const struct npu_mac_view *v, const struct range *r,
		      const struct npu_mac_bracket *b, uint64_t *out)
{
	unsigned block = npu_layout_block(v->layout), rank = (unsigned)v->rank;
	uint64_t bits = 0;
	for (unsigned d = 0; d < rank; d++) {
		uint64_t from = r[d].from, end = from + r[d].length;
		bool inner = block > 1 && d + 2 >= rank;
		if (inner && (from % block || (end % block && end != v->dim[d].length)))
			return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, d < b->n ? b->items[d].span : b->span,
						 "%s lies in blocks of %u: a slice takes whole blocks", v->object->name,
						 block);
		if (!inner)
			bits += from * v->dim[d].stride;
		else if (d + 1 == rank)
			bits += from * block * v->dim[d].stride;
		else
			bits += from / block * v->dim[d].stride;
	}
	if (bits % 8)
		return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, b->span, "this slice of %s starts inside a byte",
					 v->object->name);
	*out = bits;
	return true;
}

static bool slice(struct npu_mac *s, struct npu_mac_view *v, const struct npu_mac_bracket *b)
{
	struct range ranges[NPU_MAX_RANK];
	uint64_t bits = 0;
	int kept = 0;
	if (v->rank < 0 || !v->object)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, b->span, "an address has no shape that could be sliced");
	if ((int)b->n > v->rank)
		return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, b->span, "%u indices, but %s has %d dimension%s", b->n,
					 v->object->name, v->rank, v->rank == 1 ? "" : "s");
	for (unsigned d = 0; d < (unsigned)v->rank; d++) {
		ranges[d] = (struct range){ 0, v->dim[d].length };
		if (d < b->n && !range_of(s, v, d, &b->items[d], &ranges[d]))
			return false;
	}
	if (!offset_of(s, v, ranges, b, &bits))
		return false;
	v->addr += bits / 8;
	for (unsigned d = 0; d < (unsigned)v->rank; d++) {
		bool one = d < b->n && b->items[d].kind == NPU_MAC_ONE;
		if (one && npu_layout_block(v->layout) > 1 && d + 2 >= (unsigned)v->rank)
			return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, b->items[d].span,
						 "%s lies in blocks: a slice takes whole blocks", v->object->name);
		if (!one) {
			v->dim[kept].length = ranges[d].length;
			v->dim[kept++].stride = v->dim[d].stride;
		}
	}
	v->rank = kept;
	return true;
}

static bool refuse_shape(struct npu_mac *s, const struct npu_mac_view *v, const struct npu_mac_bracket *b,
			 uint64_t there)
{
	return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, b->span, "this shape takes more than the %" PRIu64 " bytes of %s",
				 there, v->object->name);
}

/* The same of blocks: a matrix of whole ones. */
static bool reshape_blocks(struct npu_mac *s, struct npu_mac_view *v, const struct npu_mac_bracket *b, uint64_t there)
{
	int64_t length[2];
	if (b->n != 2)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, b->span,
					 "what lies in blocks has two dimensions, {rows, cols}");
	for (unsigned d = 0; d < 2; d++)
		if (!npu_mac_int_in(s, b->items[d].from, "a dimension", 1, (int64_t)1 << 40, &length[d]))
			return false;
	struct npu_matrix matrix = { (uint64_t)length[0], (uint64_t)length[1], v->dtype, v->layout, 0 };
	uint64_t bytes;
	if (__builtin_mul_overflow(npu_matrix_strips(&matrix), npu_matrix_strip_bytes(&matrix), &bytes) ||
	    bytes > there)
		return refuse_shape(s, v, b, there);
	v->dim[0] = (struct npu_mac_dim){ (uint64_t)length[0], npu_matrix_stride(&matrix) * 8 };
	v->dim[1] = (struct npu_mac_dim){ (uint64_t)length[1], npu_dtype_bits(v->dtype) };
	v->rank = 2;
	return true;
}

/* {rows, cols} of what lies dense: its first bytes, as rows without gaps. */
static bool reshape(struct npu_mac *s, struct npu_mac_view *v, const struct npu_mac_bracket *b)
{
	struct npu_matrix matrix;
	bool vector;
	if (v->rank < 0 || v->turned || !npu_mac_matrix_of(v, &matrix, &vector) || matrix.stride)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, b->span, "only what lies dense can have another shape");
	if (v->layout != NPU_LAYOUT_ROW)
		return reshape_blocks(s, v, b, npu_matrix_extent(&matrix));
	uint64_t there = npu_matrix_extent(&matrix), bits = npu_dtype_bits(v->dtype), bytes = 0;
	for (unsigned d = b->n; d-- > 0;) {
		int64_t length;
		if (!npu_mac_int_in(s, b->items[d].from, "a dimension", 1, (int64_t)1 << 40, &length))
			return false;
		bool innermost = d + 1 == b->n;
		v->dim[d] = (struct npu_mac_dim){ (uint64_t)length, innermost ? bits : bytes * 8 };
		bool over = innermost ? (bytes = npu_dtype_bytes(v->dtype, (uint64_t)length), false)
				      : __builtin_mul_overflow(bytes, (uint64_t)length, &bytes);
		if (over || bytes > there)
			return refuse_shape(s, v, b, there);
	}
	v->rank = (int)b->n;
	return true;
}

/* ---- whole things ---- */

static bool view_of_object(struct npu_mac *s, const struct npu_mac_node *node, struct npu_mac_object *object,
			   struct npu_mac_view *out, unsigned *brackets)
{
	uint32_t i = 0;
	if (object->kind != NPU_MAC_TENSOR_OBJECT && object->kind != NPU_MAC_BUFFER_OBJECT)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s is a %s, and a tensor or buffer is needed",
					 object->name, object->kind == NPU_MAC_SEM_OBJECT ? "semaphore" : "table");
	if (object->array) {
		if (!pick(s, node, object->name, object->count, &i))
			return false;
		*brackets = 1;
	}
	if (object->room && object->buffers[i] == NPU_MAC_MISSING)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s[%" PRIu32 "] is not declared", object->name,
					 i);
	if (object->freed)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s was freed", object->name);
	if (object->over && object->over->freed)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s lies over %s, which was freed", object->name,
					 object->over->name);
	if (object->kind == NPU_MAC_BUFFER_OBJECT && !object->placed && !npu_mac_place_pending(s))
		return false;
	*out = (struct npu_mac_view){ .object = object,
				      .dram = object->kind == NPU_MAC_TENSOR_OBJECT,
				      .whole = true,
				      .addr = object->kind == NPU_MAC_TENSOR_OBJECT ? object->addr : object->locals[i],
				      .dtype = object->dtype,
				      .layout = object->layout,
				      .rank = object->rank ? (int)object->rank : -1 };
	memcpy(out->dim, object->dim, sizeof out->dim);
	return true;
}

static bool view_of_name(struct npu_mac *s, const struct npu_mac_node *node, struct npu_mac_view *out)
{
	unsigned first;
	const struct npu_mac_value *value =
	    bound(s, node, 1 << NPU_MAC_TENSOR_OBJECT | 1 << NPU_MAC_BUFFER_OBJECT, &first);
	if (!value)
		return false;
	if (value->kind == NPU_MAC_VIEW) {
		*out = *value->view;
		if (out->turned && node->n)
			return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span,
						 "%s is transposed already: it is sliced before, not after",
						 node->symbol->name);
	} else if (value->kind == NPU_MAC_OBJECT) {
		if (!view_of_object(s, node, value->object, out, &first))
			return false;
	} else {
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s is no tensor and no buffer",
					 node->symbol->name);
	}
	for (unsigned i = first; i < node->n; i++)
		if (!(node->brackets[i].shape ? reshape : slice)(s, out, &node->brackets[i]))
			return false;
	out->turned ^= node->turned;
	out->whole = out->whole && first == node->n && !node->turned;
	return true;
}

static bool view_of_address(struct npu_mac *s, const struct npu_mac_node *node, struct npu_mac_view *out)
{
	int64_t value;
	bool dram = node->op == 'd';
	uint64_t limit = dram ? NPU_DRAM_LIMIT : NPU_LOCAL_LIMIT;
	if (!npu_mac_int_in(s, node->a, "an address", 0, (int64_t)limit - 1, &value))
		return false;
	*out = (struct npu_mac_view){ .dram = dram,
				      .rank = -1,
				      .addr = (uint64_t)value | (node->op == 'a' ? NPU_ACC_BIT : 0) };
	return true;
}

/* K+0x4000: bytes, and no shape any more */
static bool view_of_offset(struct npu_mac *s, const struct npu_mac_node *node, struct npu_mac_view *out)
{
	int64_t bytes;
	if (!npu_mac_view_of(s, node->a, out) || !npu_mac_int(s, node->b, &bytes))
		return false;
	bytes = node->op == '-' && bytes > INT64_MIN ? -bytes : bytes;
	uint64_t base = out->dram ? 0 : out->addr & NPU_ACC_BIT, limit = out->dram ? NPU_DRAM_LIMIT : NPU_LOCAL_LIMIT;
	int64_t at;
	if (__builtin_add_overflow((int64_t)(out->addr - base), bytes, &at) || at < 0 || (uint64_t)at >= limit)
		return npu_mac_refuse_as(s, NPU_ERR_BOUNDS, node->span, "the offset leaves the address space");
	out->addr = base + (uint64_t)at;
	out->object = NULL;
	out->rank = -1;
	out->turned = out->whole = false;
	return true;
}

bool npu_mac_view_of(struct npu_mac *s, const struct npu_mac_node *node, struct npu_mac_view *out)
{
	int64_t condition;
	switch ((enum npu_mac_node_kind)node->kind) {
	case NPU_MAC_NAME:
		return view_of_name(s, node, out);
	case NPU_MAC_ADDRESS:
		return view_of_address(s, node, out);
	case NPU_MAC_CHOICE:
		return npu_mac_int(s, node->a, &condition) && npu_mac_view_of(s, condition ? node->b : node->c, out);
	case NPU_MAC_TURN:
		if (!npu_mac_view_of(s, node->a, out))
			return false;
		out->turned = !out->turned;
		out->whole = false;
		return true;
	case NPU_MAC_BINARY:
		if (node->op == '+' || node->op == '-')
			return view_of_offset(s, node, out);
		break;
	case NPU_MAC_NUMBER:
	case NPU_MAC_REAL:
	case NPU_MAC_UNARY:
	case NPU_MAC_CALL:
		break;
	}
	return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "a tensor, a buffer or an address is needed here");
}

/* ---- matrices ---- */

/* Leading dimensions that follow each other without a gap count as one. */
static unsigned merge(const struct npu_mac_view *v, struct npu_mac_dim dim[NPU_MAX_RANK])
{
	unsigned rank = 0;
	for (int d = 0; d < v->rank; d++) {
		bool joins = rank > 0 && d + 1 < v->rank && dim[rank - 1].stride == v->dim[d].length * v->dim[d].stride;
		if (joins)
			dim[rank - 1] =
			    (struct npu_mac_dim){ dim[rank - 1].length * v->dim[d].length, v->dim[d].stride };
		else
			dim[rank++] = v->dim[d];
	}
	return rank;
}

bool npu_mac_matrix_of(const struct npu_mac_view *v, struct npu_matrix *out, bool *vector)
{
	struct npu_mac_dim dim[NPU_MAX_RANK];
	uint64_t bits = npu_dtype_bits(v->dtype);
	unsigned rank = merge(v, dim);
	*out = (struct npu_matrix){ .rows = 1, .cols = 1, .dtype = v->dtype, .layout = v->layout };
	*vector = rank <= 1;
	if (rank == 0)
		return true;
	if (rank == 1 && dim[0].stride == bits) {
		out->cols = dim[0].length;
		return true;
	}
	if (rank == 1) { /* a column of a matrix */
		out->rows = dim[0].length;
		out->stride = dim[0].stride / 8;
		return dim[0].stride % 8 == 0;
	}
	out->rows = dim[0].length;
	out->cols = dim[1].length;
	if (rank > 2 || (dim[1].stride != bits && dim[1].length > 1) || dim[0].stride % 8)
		return false;
	out->stride = dim[0].stride / 8;
	if (out->stride == npu_matrix_strip_bytes(out) || npu_matrix_strips(out) <= 1)
		out->stride = 0;
	return true;
}

/* ---- semaphores, tables ---- */

bool npu_mac_sem_of(struct npu_mac *s, const struct npu_mac_node *node, uint32_t *out)
{
	uint32_t i = 0;
	if (node->kind != NPU_MAC_NAME)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "a semaphore is needed here");
	unsigned first;
	const struct npu_mac_value *value = bound(s, node, 1 << NPU_MAC_SEM_OBJECT, &first);
	if (!value)
		return false;
	if (value->kind == NPU_MAC_SEM && !node->n) {
		*out = value->sem;
		return true;
	}
	if (value->kind != NPU_MAC_OBJECT || value->object->kind != NPU_MAC_SEM_OBJECT)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s is no semaphore", node->symbol->name);
	if (value->object->array ? !pick(s, node, value->object->name, value->object->count, &i) || node->n > 1
				 : node->n > first)
		return s->failed ? false
				 : npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s has no index here",
						     node->symbol->name);
	*out = value->object->index + i;
	return true;
}

bool npu_mac_table_of(struct npu_mac *s, const struct npu_mac_node *node, uint32_t *out)
{
	uint32_t i = 0;
	unsigned first;
	const struct npu_mac_value *value =
	    node->kind == NPU_MAC_NAME ? bound(s, node, 1 << NPU_MAC_TABLE_OBJECT, &first) : NULL;
	if (node->kind == NPU_MAC_NAME && !value)
		return false;
	if (!value || value->kind != NPU_MAC_OBJECT || value->object->kind != NPU_MAC_TABLE_OBJECT)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "the name of a .table is needed here");
	if (value->object->array && !pick(s, node, value->object->name, value->object->count, &i))
		return false;
	if (value->object->buffers[i] == NPU_MAC_MISSING)
		return npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "%s[%" PRIu32 "] is not declared",
					 value->object->name, i);
	*out = value->object->locals[i];
	return true;
}
