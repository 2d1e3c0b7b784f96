/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a deadlock: the head of each queue and its semaphores, what stands behind it, the sequencer. */
#include "models/machine_deadlock.h"

#include "isa/units.h"

#include <stdio.h>
#include <string.h>

/* Behind the heads of queues; an error's text has an end. */
enum { MOST_NAMED = 20, MOST_BYTES = 900 };

static const char *engine_text(enum npu_engine e)
{
	return e == NPU_ENGINES ? "nobody" : npu_engine_name(e);
}

static void tell_semaphore(const struct npu_program *program, const struct semaphores *semaphores,
			   const struct npu_sem_ref *ref, struct npu_error *err)
{
	const struct npu_sem *sem = &program->sems[ref->sem];
	uint64_t have = semaphore_count(semaphores, ref->sem);
	npu_error_note(err, "    semaphore %s has %llu of %u, posted by %s%s", sem->name, (unsigned long long)have, ref->count,
		       engine_text(sem->poster), have < ref->count ? "" : " (holds)");
}

static void tell_waiting(const struct npu_program *program, enum npu_engine e, uint32_t number,
			 const struct semaphores *semaphores, struct npu_error *err)
{
	char text[256], place[320];
	npu_insn_print(program, number, text, sizeof(text));
	npu_insn_place(program, number, place, sizeof(place));
	npu_error_note(err, "  %s: #%u waits, %s%s%s", npu_engine_name(e), number, place, *place ? ": " : "", text);
	const struct npu_insn *insn = &program->insns[number];
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++)
		if (insn->wait[i].count)
			tell_semaphore(program, semaphores, &insn->wait[i], err);
}

/* "#4 matmul for a:1, b:2" */
static void name_waiting(const struct npu_program *program, uint32_t number, char *out, size_t size)
{
	const struct npu_insn *insn = &program->insns[number];
	size_t used = (size_t)snprintf(out, size, "#%u %s", number, npu_op_mnemonic(insn->op));
	for (unsigned i = 0; i < NPU_SYNC_SLOTS; i++)
		if (insn->wait[i].count && used < size)
			used += (size_t)snprintf(out + used, size - used, "%s %s:%u", i ? "," : " for",
						 program->sems[insn->wait[i].sem].name, insn->wait[i].count);
}

/* What else is in the queue: issued, and not begun. `*left` and `*bytes`: how many more may be named, in how much text. */
static void tell_behind(const struct npu_program *program, enum npu_engine e, uint32_t head, uint32_t next,
			unsigned *left, size_t *bytes, struct npu_error *err)
{
	char line[MOST_BYTES + 1] = "", one[600];
	uint64_t rest = 0;
	size_t used = 0;
	for (uint32_t i = head + 1; i < next; i++) {
		if (npu_op_engine(program->insns[i].op) != e)
			continue;
		name_waiting(program, i, one, sizeof one);
		size_t length = strlen(one) + (used ? 2 : 0);
		if (rest || !*left || length > *bytes) {
			rest++;
			continue;
		}
		used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", used ? ", " : "", one);
		*bytes -= length;
		--*left;
	}
	if (!used && !rest)
		return;
	if (rest)
		npu_error_note(err, "    behind it: %s%s%s more", line, used ? ", and " : "", npu_count_text(rest).text);
	else
		npu_error_note(err, "    behind it: %s", line);
}

static void tell_sequencer(const struct npu_program *program, struct engine *const engines[NPU_ENGINES],
			   const struct sequencer *sequencer, struct npu_error *err)
{
	enum npu_engine stuck = sequencer_stuck(sequencer);
	uint32_t next = sequencer_next(sequencer);
	if (stuck == NPU_ENGINES)
		return;
	uint64_t there = engine_unfinished(engines[stuck]);
	npu_error_note(err, "  sequencer: #%u %s does not fit into the full %s queue (%s %s there); %s not issued", next,
		       npu_op_mnemonic(program->insns[next].op), npu_engine_name(stuck),
		       npu_number_of(there, "instruction").text, there == 1 ? "waits" : "wait",
		       npu_number_of(program->ninsns - next, "instruction").text);
}

bool machine_tell_deadlock(const struct npu_program *program, struct engine *const engines[NPU_ENGINES],
			   const struct semaphores *semaphores, const struct sequencer *sequencer, uint64_t cycle,
			   struct npu_error *err)
{
	if (!err)
		return false;
	uint64_t waiting = 0;
	unsigned left = MOST_NAMED;
	size_t bytes = MOST_BYTES;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		waiting += engine_unfinished(engines[e]);
	npu_fail(err, NPU_ERR_DEADLOCK, "deadlock at cycle %llu: %s %s for ever", (unsigned long long)cycle,
		 npu_number_of(waiting, "instruction").text, waiting == 1 ? "waits" : "wait");
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		uint32_t head = engine_head(engines[e]);
		if (head == PROBE_NOBODY)
			continue;
		tell_waiting(program, (enum npu_engine)e, head, semaphores, err);
		tell_behind(program, (enum npu_engine)e, head, sequencer_next(sequencer), &left, &bytes, err);
	}
	tell_sequencer(program, engines, sequencer, err);
	return false;
}
