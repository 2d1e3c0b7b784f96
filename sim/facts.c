/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of an instruction, gathered once for all formats. */
#include "sim/facts.h"

#include "isa/access.h"
#include "isa/field.h"

#include <string.h>

bool facts_init(struct facts *f, const struct simulation *s)
{
	f->s = s;
	return insn_states_init(&f->states, &s->record);
}

void facts_fini(struct facts *f) { insn_states_fini(&f->states); }

struct insn_facts facts_of(struct facts *f, uint32_t i)
{
	const struct npu_program *p = f->s->request.program;
	struct insn_facts facts = {
		.insn = i,
		.event = &f->s->record.events[i],
		.text = f->text,
		.source = p->place[i].line > 0 ? npu_insn_place(p, i, f->source, sizeof(f->source)) : "",
		.region = account_region_path(&f->s->account, p, i),
		.bytes = npu_insn_dram_bytes(&p->insns[i]) + npu_insn_table_bytes(&p->insns[i]),
		.macs = npu_insn_macs(&p->insns[i]),
	};
	npu_insn_print(p, i, f->text, sizeof(f->text));
	insn_states_of(&f->states, i, facts.states);
	return facts;
}

static void append(char *out, size_t size, const char *text)
{
	size_t length = strlen(out);
	snprintf(out + length, size - length, "%s", text);
}

/* The extents and the types of its operands, in the order of the table. */
static void append_fields(const struct npu_insn *insn, char *out, size_t size)
{
	static const char *const extents[] = { "rows", "heads", "dim", "cols" };
	char text[32];
	const struct npu_field *fields = npu_op_info(insn->op)->format->fields;
	for (const struct npu_field *f = fields; f->name; f++)
		for (unsigned i = 0; i < sizeof(extents) / sizeof(extents[0]); i++)
			if (strcmp(f->name, extents[i]) == 0) {
				snprintf(text, sizeof(text), "%s%llu", out[0] ? " x " : "",
					 (unsigned long long)npu_field_get(f, insn));
				append(out, size, text);
			}
	const char *between = out[0] ? ", " : "";
	for (const struct npu_field *f = fields; f->name; f++)
		if (f->kind == NPU_KIND_DTYPE && strcmp(f->name, "b_type") != 0) {
			append(out, size, between);
			append(out, size, npu_dtype_name((enum npu_dtype)npu_field_get(f, insn)));
			between = " of ";
		}
}

void facts_shape(const struct npu_insn *insn, char *out, size_t size)
{
	out[0] = '\0';
	if (npu_op_format(insn->op) != NPU_FORMAT_matmul) {
		append_fields(insn, out, size);
		return;
	}
	const struct npu_matmul *m = &insn->matmul;
	snprintf(out, size, "%u x %u by %u x %u, %s by %s", (unsigned)m->m, (unsigned)m->k, (unsigned)m->k, (unsigned)m->n,
		 npu_dtype_name((enum npu_dtype)m->a_type), npu_dtype_name((enum npu_dtype)m->b_type));
}

void facts_tell(const struct insn_facts *f, const struct facts_teller *t)
{
	static const char *const state_names[NPU_STATES] = {
#define STATE(NAME, text, group, doc) [NPU_STATE_##NAME] = "stall " text,
#include "models/states.def"
	};
	t->number(t->ctx, "instruction", f->insn);
	t->text(t->ctx, "text", f->text);
	if (f->source[0])
		t->text(t->ctx, "source", f->source);
	if (f->region[0])
		t->text(t->ctx, "region", f->region);
	if (f->bytes > 0)
		t->number(t->ctx, "bytes", f->bytes);
	if (f->macs > 0)
		t->number(t->ctx, "macs", f->macs);
	t->number(t->ctx, "issued", f->event->issued);
	t->number(t->ctx, "at head", f->event->head);
	t->number(t->ctx, "start", f->event->start);
	t->number(t->ctx, "end", f->event->end);
	t->number(t->ctx, "busy", f->states[NPU_STATE_BUSY]);
	for (unsigned s = 0; s < NPU_STATES; s++)
		if (f->states[s] > 0 && account_state_is_stall((enum npu_state)s))
			t->number(t->ctx, state_names[s], f->states[s]);
}
