/* SPDX-License-Identifier: Apache-2.0 */
/* References of output tensors: from expressions to trees with shapes, which outlive the text. */
#include "isa/text/macro/state.h"

#include <inttypes.h>
#include <string.h>

static struct npu_reference_node *new_node(struct npu_mac *s, enum npu_reference_kind kind)
{
	struct npu_reference_node *r = npu_arena_alloc(s->result, 1, sizeof *r);
	if (!r)
		npu_mac_no_memory(s);
	else
		r->kind = kind;
	return r;
}

static struct npu_mac_where shape_text(const struct npu_reference_node *r)
{
	struct npu_mac_view view = { .rank = (int)r->rank };
	for (unsigned i = 0; i < r->rank; i++)
		view.dim[i].length = r->shape[i];
	struct npu_mac_where out = { "a number" };
	return r->rank ? npu_mac_shape_text(&view) : out;
}

static struct npu_reference_node *number_of(struct npu_mac *s, const struct npu_mac_node *node)
{
	struct npu_reference_node *r = new_node(s, NPU_REFERENCE_NUMBER);
	return r && npu_mac_real(s, node, &r->number) ? r : NULL;
}

static const struct npu_reference_node *turn(struct npu_mac *s, const struct npu_mac_node *node,
					     const struct npu_reference_node *a)
{
	struct npu_reference_node *r = a ? new_node(s, NPU_REFERENCE_TURN) : NULL;
	if (!r)
		return NULL;
	if (a->rank < 2) {
		npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, ".T turns a matrix, and this is %s",
				  shape_text(a).text);
		return NULL;
	}
	r->a = a;
	r->rank = a->rank;
	memcpy(r->shape, a->shape, sizeof r->shape);
	r->shape[r->rank - 1] = a->shape[r->rank - 2];
	r->shape[r->rank - 2] = a->shape[r->rank - 1];
	return r;
}

static const struct npu_reference_node *tensor_of(struct npu_mac *s, const struct npu_mac_node *node,
						  const struct npu_mac_object *object)
{
	struct npu_reference_node *r = new_node(s, NPU_REFERENCE_TENSOR);
	if (!r)
		return NULL;
	if (object->dir == NPU_TENSOR_OUT || object->dir == NPU_TENSOR_TEMP) {
		npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span,
				  "a reference starts from what is there before the program runs, and the program "
				  "fills %s: write what %s should be instead",
				  object->name, object->name);
		return NULL;
	}
	if (node->n) {
		npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "a reference takes whole tensors");
		return NULL;
	}
	r->tensor = object->index;
	r->rank = object->rank;
	for (unsigned i = 0; i < object->rank; i++)
		r->shape[i] = object->dim[i].length;
	return node->turned ? turn(s, node, r) : r;
}

static const struct npu_reference_node *name_of(struct npu_mac *s, const struct npu_mac_node *node)
{
	const struct npu_mac_binding *b = npu_mac_bound(s, node->symbol);
	if (!b) {
		npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "no tensor before this one is called %s%s",
				  node->symbol->name, npu_mac_hint(s, node->span).text);
		return NULL;
	}
	if (b->value.kind == NPU_MAC_OBJECT && b->value.object->kind == NPU_MAC_TENSOR_OBJECT)
		return tensor_of(s, node, b->value.object);
	return number_of(s, node);
}

static const struct npu_reference_node *product(struct npu_mac *s, const struct npu_mac_node *node,
						const struct npu_reference_node *a, const struct npu_reference_node *b)
{
	struct npu_reference_node *r = new_node(s, NPU_REFERENCE_PRODUCT);
	if (!r)
		return NULL;
	const struct npu_reference_node *more = a->rank >= b->rank ? a : b, *fewer = more == a ? b : a;
	bool fits = a->rank >= 2 && b->rank >= 2 && a->shape[a->rank - 1] == b->shape[b->rank - 2] &&
		    (fewer->rank == 2 || fewer->rank == more->rank);
	for (unsigned i = 0; fits && fewer->rank > 2 && i + 2 < more->rank; i++)
		fits = more->shape[i] == fewer->shape[i];
	if (!fits) {
		npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span,
				  "%s @ %s: [m, k] @ [k, n], with the same dimensions before them", shape_text(a).text,
				  shape_text(b).text);
		return NULL;
	}
	r->a = a;
	r->b = b;
	r->rank = more->rank;
	memcpy(r->shape, more->shape, sizeof r->shape);
	r->shape[r->rank - 2] = a->shape[a->rank - 2];
	r->shape[r->rank - 1] = b->shape[b->rank - 1];
	return r;
}

static const struct npu_reference_node *elementwise(struct npu_mac *s, const struct npu_mac_node *node,
						    enum npu_reference_kind kind, const struct npu_reference_node *a,
						    const struct npu_reference_node *b)
{
	struct npu_reference_node *r = new_node(s, kind);
	if (!r)
		return NULL;
	r->a = a;
	r->b = b;
	r->rank = a->rank > b->rank ? a->rank : b->rank;
	for (unsigned i = 0; i < r->rank; i++) {
		uint64_t x = i < r->rank - a->rank ? 1 : a->shape[i - (r->rank - a->rank)];
		uint64_t y = i < r->rank - b->rank ? 1 : b->shape[i - (r->rank - b->rank)];
		if (x != y && x != 1 && y != 1) {
			npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span,
					  "%s with %s: dimensions are equal, or one of them is 1", shape_text(a).text,
					  shape_text(b).text);
			return NULL;
		}
		r->shape[i] = x > y ? x : y;
	}
	return r;
}

static const struct npu_reference_node *binary_of(struct npu_mac *s, const struct npu_mac_node *node)
{
	enum npu_reference_kind kind;
	switch (node->op) {
	case '@':
		kind = NPU_REFERENCE_PRODUCT;
		break;
	case '+':
		kind = NPU_REFERENCE_ADD;
		break;
	case '-':
		kind = NPU_REFERENCE_SUBTRACT;
		break;
	case '*':
		kind = NPU_REFERENCE_MULTIPLY;
		break;
	case '/':
		kind = NPU_REFERENCE_DIVIDE;
		break;
	default: /* an integer */
		return number_of(s, node);
	}
	const struct npu_reference_node *a = npu_mac_reference(s, node->a),
					*b = a ? npu_mac_reference(s, node->b) : NULL;
	if (!b)
		return NULL;
	if (kind != NPU_REFERENCE_PRODUCT && !a->rank && !b->rank)
		return number_of(s, node);
	return kind == NPU_REFERENCE_PRODUCT ? product(s, node, a, b) : elementwise(s, node, kind, a, b);
}

static const struct npu_reference_node *call_of(struct npu_mac *s, const struct npu_mac_node *node)
{
	static const struct {
		enum npu_reference_kind kind;
		bool matrix;
	} functions[NPU_MAC_FN_COUNT] = {
		[NPU_MAC_FN_EXP] = { NPU_REFERENCE_EXP, false },
		[NPU_MAC_FN_SOFTMAX] = { NPU_REFERENCE_SOFTMAX, true },
		[NPU_MAC_FN_CAUSAL] = { NPU_REFERENCE_CAUSAL, true },
		[NPU_MAC_FN_PADDED] = { NPU_REFERENCE_PADDED, true },
		[NPU_MAC_FN_REPEAT] = { NPU_REFERENCE_REPEAT, true },
	};
	enum npu_reference_kind kind = functions[node->op].kind;
	/* No key at all may be left: such rows are zeros. */
	int64_t count = 0, least = kind == NPU_REFERENCE_PADDED ? 0 : 1;
	if (kind == NPU_REFERENCE_NUMBER)
		return number_of(s, node);
	const struct npu_reference_node *a = npu_mac_reference(s, node->args[0]);
	if (!a)
		return NULL;
	if (!a->rank && !functions[node->op].matrix)
		return number_of(s, node);
	if (functions[node->op].matrix && a->rank < (kind == NPU_REFERENCE_REPEAT ? 3 : 2)) {
		npu_mac_refuse_as(s, NPU_ERR_VALUE, node->span, "this function takes %s, and this is %s",
				  kind == NPU_REFERENCE_REPEAT ? "several matrices" : "a matrix", shape_text(a).text);
		return NULL;
	}
	if (node->n == 2 && !npu_mac_int_in(s, node->args[1], "the second argument", least, (int64_t)1 << 40, &count))
		return NULL;
	struct npu_reference_node *r = new_node(s, kind);
	if (!r)
		return NULL;
	r->a = a;
	r->count = (uint64_t)count;
	r->rank = a->rank;
	memcpy(r->shape, a->shape, sizeof r->shape);
	if (kind == NPU_REFERENCE_REPEAT)
		r->shape[a->rank - 3] *= r->count;
	return r;
}

const struct npu_reference_node *npu_mac_reference(struct npu_mac *s, const struct npu_mac_node *node)
{
	struct npu_reference_node *r;
	const struct npu_reference_node *a;
	int64_t condition;
	switch ((enum npu_mac_node_kind)node->kind) {
	case NPU_MAC_NAME:
		return name_of(s, node);
	case NPU_MAC_BINARY:
		return binary_of(s, node);
	case NPU_MAC_CALL:
		return call_of(s, node);
	case NPU_MAC_TURN:
		a = npu_mac_reference(s, node->a);
		return turn(s, node, a);
	case NPU_MAC_CHOICE:
		return npu_mac_int(s, node->a, &condition) ? npu_mac_reference(s, condition ? node->b : node->c) : NULL;
	case NPU_MAC_UNARY:
		a = node->op == '-' ? npu_mac_reference(s, node->a) : NULL;
		if (!a || !a->rank)
			return s->failed ? NULL : number_of(s, node);
		r = new_node(s, NPU_REFERENCE_NEGATE);
		if (!r)
			return NULL;
		*r = (struct npu_reference_node){ .kind = NPU_REFERENCE_NEGATE, .a = a, .rank = a->rank };
		memcpy(r->shape, a->shape, sizeof r->shape);
		return r;
	case NPU_MAC_NUMBER:
	case NPU_MAC_REAL:
	case NPU_MAC_ADDRESS:
		break;
	}
	return number_of(s, node);
}
