/* SPDX-License-Identifier: Apache-2.0 */
/* A hash that does not see where the SRAM's groups begin, and a table of what is known. */
#include "sim/sweep/alike.h"
#include "isa/access.h"
#include "isa/field.h"
#include "isa/seal.h"
#include "sim/sweep/machines.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- what is alike ---- */

struct view {
	uint64_t hash;
	uint64_t group_bytes, word_bytes;
	bool whole; /* every access so far stays inside a group */
};

static void mix(struct view *v, uint64_t word)
{
	v->hash = (v->hash ^ word) * 0x9e3779b97f4a7c15u;
	v->hash ^= v->hash >> 29;
}

static void mix_address(struct view *v, uint64_t offset)
{
	mix(v, offset / v->group_bytes);
	mix(v, offset % v->group_bytes);
}

/* Bytes of SRAM. The models also look at what would begin anywhere in its first word: that must stay inside, too. */
static void mix_bytes(struct view *v, uint64_t offset, uint64_t bytes)
{
	mix_address(v, offset);
	mix(v, bytes);
	if (bytes && offset % v->group_bytes + bytes + v->word_bytes > v->group_bytes)
		v->whole = false;
}

static void mix_accesses(struct view *v, const struct npu_insn *insn)
{
	struct npu_access all[NPU_MAX_ACCESSES];
	unsigned n = npu_insn_accesses(insn, all);
	for (unsigned i = 0; i < n; i++) {
		const struct npu_access *a = &all[i];
		if (a->space != NPU_SPACE_SRAM)
			continue;
		mix_bytes(v, a->base, a->rows ? (a->rows - 1) * a->stride + a->row_bytes : 0);
		mix(v, a->rows);
		mix(v, a->stride);
	}
}

static void mix_insn(struct view *v, const struct npu_insn *insn)
{
	struct npu_insn rest = *insn;
	uint64_t words[NPU_INSN_WORDS];
	const struct npu_format *format = npu_op_info(insn->op)->format;
	for (unsigned i = 0; i < format->nfields; i++) {
		const struct npu_field *f = &format->fields[i];
		uint64_t local = f->kind == NPU_KIND_LOCAL ? npu_field_get(f, insn) : NPU_ACC_BIT;
		if (npu_is_acc((uint32_t)local))
			continue;
		mix_address(v, local);
		npu_field_set(f, &rest, 0);
	}
	/* A distance between two places, of which either is an access. */
	if (npu_op_format(insn->op) == NPU_FORMAT_paged)
		rest.paged.odd = insn->paged.odd != 0;
	npu_insn_encode(&rest, words);
	for (unsigned w = 0; w < NPU_INSN_WORDS; w++)
		mix(v, words[w]);
	mix_accesses(v, insn);
}

static void mix_buffer(struct view *v, const struct npu_buffer *b)
{
	mix(v, (uint64_t)b->first << 32 | b->end);
	mix(v, npu_is_acc(b->local));
	if (!npu_is_acc(b->local)) {
		mix_bytes(v, b->local, b->bytes);
		return;
	}
	mix(v, b->local);
	mix(v, b->bytes);
}

struct alike alike_of(const struct npu_program *program, const struct config *config)
{
	const struct hw_sram *sram = &config->hw.sram;
	/* Semaphores, tables and tensors. */
	struct npu_program rest = *program;
	rest.ninsns = 0;
	struct view v = { .hash = npu_program_time_hash(&rest),
			  .group_bytes = sram->size / sram->groups,
			  .word_bytes = sram->bank_bytes,
			  .whole = true };
	mix(&v, program->ninsns);
	for (uint32_t i = 0; i < program->ninsns; i++)
		mix_insn(&v, &program->insns[i]);
	for (uint32_t i = 0; i < program->nbuffers; i++)
		mix_buffer(&v, &program->buffers[i]);
	return (struct alike){ .program = v.hash, .machine = sweep_machine_hash(config, !v.whole) };
}

json_t *alike_json(struct alike a)
{
	return json_sprintf("%016" PRIx64 "-%016" PRIx64, a.program, a.machine);
}

bool alike_read(const json_t *o, struct alike *a)
{
	const char *text = json_string_value(o);
	if (!text || strlen(text) != 33 || text[16] != '-' || strspn(text, "0123456789abcdef") != 16 ||
	    strspn(text + 17, "0123456789abcdef") != 16)
		return false;
	*a = (struct alike){ strtoull(text, NULL, 16), strtoull(text + 17, NULL, 16) };
	return true;
}

/* ---- what is known ---- */

enum { SLOTS = 16384, PROBES = 8, TEXT = 4096 - 24, FREE = 0, TAKEN, FULL };

struct slot {
	_Atomic uint32_t state;
	struct alike of;
	char text[TEXT];
};

struct known {
	struct slot slots[SLOTS];
};

struct known *known_new(void)
{
	/* Pages that nobody writes to cost nothing. */
	void *at =
	    mmap(NULL, sizeof(struct known), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

void known_free(struct known *k)
{
	if (k)
		munmap(k, sizeof *k);
}

static uint64_t first_probe(struct alike a)
{
	return (a.program ^ a.machine) * 0x9e3779b97f4a7c15u >> 40;
}

static const struct slot *find(const struct known *k, struct alike a)
{
	for (uint64_t i = 0, at = first_probe(a); k && i < PROBES; i++) {
		const struct slot *s = &k->slots[(at + i) % SLOTS];
		if (atomic_load_explicit(&s->state, memory_order_acquire) == FULL && s->of.program == a.program &&
		    s->of.machine == a.machine)
			return s;
	}
	return NULL;
}

bool known_has(const struct known *k, struct alike a)
{
	return find(k, a) != NULL;
}

json_t *known_find(const struct known *k, struct alike a)
{
	const struct slot *s = find(k, a);
	return s ? json_loads(s->text, 0, NULL) : NULL;
}

void known_add(struct known *k, struct alike a, const json_t *figures)
{
	char *text = k && figures ? json_dumps(figures, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	for (uint64_t i = 0, at = first_probe(a); text && strlen(text) < TEXT && i < PROBES; i++) {
		struct slot *s = &k->slots[(at + i) % SLOTS];
		uint32_t state = FREE;
		/* One whose writer was killed stays taken. */
		if (!atomic_compare_exchange_strong(&s->state, &state, TAKEN))
			continue;
		s->of = a;
		memcpy(s->text, text, strlen(text) + 1);
		atomic_store_explicit(&s->state, FULL, memory_order_release);
		break;
	}
	free(text);
}
