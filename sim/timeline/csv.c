/* SPDX-License-Identifier: Apache-2.0 */
/* A row an instruction. */
#include "isa/plain.h"
#include "sim/facts.h"
#include "sim/timeline/formats.h"
#include "sim/timeline/lanes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* In quotes, and a quote twice, whatever is in it. */
static void put_text(FILE *out, const char *text)
{
	putc('"', out);
	for (const char *at = text, *end = text + strlen(text); at < end;) {
		char shown[NPU_PLAIN_CHAR];
		unsigned n = npu_plain_char(&at, end, shown, NULL);
		if (n == 1 && shown[0] == '"')
			putc('"', out);
		fwrite(shown, 1, n, out);
	}
	putc('"', out);
}

static void put_header(FILE *out)
{
	fputs("instruction,engine,slot,region,source,text,issued_cycle,ready_cycle,start_cycle,end_cycle,busy_cycles", out);
	for (unsigned s = 0; s < NPU_STATES; s++)
		if (account_state_is_decided((enum npu_state)s))
			fprintf(out, ",%s_cycles", account_state_name((enum npu_state)s));
	fputs(",dram_bytes,macs\n", out);
}

static void put_row(FILE *out, const struct insn_facts *f)
{
	const struct probe_insn *e = f->event;
	fprintf(out, "%" PRIu32 ",%s,%" PRIu32 ",", f->insn, npu_engine_name(e->engine), e->slot);
	put_text(out, f->region);
	putc(',', out);
	put_text(out, f->source);
	putc(',', out);
	put_text(out, f->text);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, e->issued, e->head, e->start, e->end,
		f->states[NPU_STATE_BUSY]);
	for (unsigned s = 0; s < NPU_STATES; s++)
		if (account_state_is_decided((enum npu_state)s))
			fprintf(out, ",%" PRIu64, f->states[s]);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 "\n", f->bytes, f->macs);
}

bool timeline_write_csv(const struct simulation *s, FILE *out, struct npu_error *err)
{
	struct facts *facts = malloc(sizeof(*facts));
	if (!facts || !facts_init(facts, s)) {
		free(facts);
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory for the timeline");
	}
	put_header(out);
	for (uint32_t i = 0; i < s->request.program->ninsns && !ferror(out); i++) {
		if (!timeline_shows(s, s->record.events[i].start, s->record.events[i].end))
			continue;
		struct insn_facts f = facts_of(facts, i);
		put_row(out, &f);
	}
	facts_fini(facts);
	free(facts);
	return !ferror(out) || npu_fail(err, NPU_ERR_IO, "the timeline cannot be written");
}
