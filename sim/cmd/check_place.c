/* SPDX-License-Identifier: Apache-2.0 */
/* Where a finding is, once for text, JSON and SARIF. */
#include "sim/cmd/check_output.h"

struct check_place check_place_of_site(const struct check_result *r, const struct npu_finding *f, unsigned n)
{
	const struct npu_program *p = r->work->program;
	const struct npu_place *place = &p->place[f->site[n].insn];
	struct check_place found = { .file = place->line ? p->files[place->file] : NULL, .line = place->line, .length = -1 };
	found.length = r->sources ? source_line(r->sources, f->site[n].insn, &found.text) : -1;
	if (found.length >= 0)
		source_caret(p, &f->site[n], f->sem, found.text, found.length, &found.column, &found.width);
	return found;
}

bool check_is_at_declaration(const struct npu_finding *f)
{
	return f->kind == NPU_CHECK_NEVER_WAITED;
}

bool check_is_at_record(const struct npu_finding *f)
{
	return f->record && f->record->line;
}

struct check_place check_place_of(const struct check_result *r, const struct npu_finding *f)
{
	struct check_place found = { .length = -1 };
	if (check_is_at_record(f)) {
		found.file = r->work->program->files[f->record->file];
		found.line = f->record->line;
		found.length = r->sources ? source_line_at(r->sources, f->record, &found.text) : -1;
		if (found.length >= 0)
			source_caret_word(found.text, found.length, ".page", &found.column, &found.width);
		return found;
	}
	if (!f->nsites) {
		if (r->sources && f->bytes.name && *f->bytes.name)
			source_of_name(r->sources, f->bytes.name, f->bytes.space == NPU_SPACE_DRAM, &found);
		return found;
	}
	if (check_is_at_declaration(f) && r->sources &&
	    source_of_sem(r->sources, f->site[0].insn, f->sem, &found)) {
		const struct npu_program *p = r->work->program;
		found.file = p->files[p->place[f->site[0].insn].file];
		return found;
	}
	return check_place_of_site(r, f, 0);
}
