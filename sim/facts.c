/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of an instruction, gathered once for all formats. */
#include "sim/facts.h"

#include "isa/access.h"

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
		.region = p->region[i] != NPU_NO_REGION ? p->regions[p->region[i]].name : "",
		.bytes = npu_insn_dram_bytes(&p->insns[i]),
		.macs = npu_insn_macs(&p->insns[i]),
	};
	npu_insn_print(p, i, f->text, sizeof(f->text));
	insn_states_of(&f->states, i, facts.states);
	return facts;
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
