/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a deadlock: one line an engine and semaphore, one for the sequencer. */
#include "models/machine_deadlock.h"

#include <stdio.h>

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

bool machine_tell_deadlock(const struct npu_program *program, struct engine *const engines[NPU_ENGINES],
			   const struct semaphores *semaphores, const struct sequencer *sequencer, uint64_t cycle,
			   struct npu_error *err)
{
	if (!err)
		return false;
	unsigned waiting = 0;
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		waiting += engine_head(engines[e]) != PROBE_NOBODY;
	npu_fail(err, NPU_ERR_DEADLOCK, "deadlock at cycle %llu: %u %s for ever", (unsigned long long)cycle, waiting,
		 waiting == 1 ? "instruction waits" : "instructions wait");
	for (unsigned e = 0; e < NPU_ENGINES; e++)
		if (engine_head(engines[e]) != PROBE_NOBODY)
			tell_waiting(program, (enum npu_engine)e, engine_head(engines[e]), semaphores, err);
	enum npu_engine stuck = sequencer_stuck(sequencer);
	if (stuck != NPU_ENGINES)
		npu_error_note(err, "  sequencer: #%u does not fit into the full %s queue (%llu %s there)",
			       sequencer_next(sequencer), npu_engine_name(stuck),
			       (unsigned long long)engine_unfinished(engines[stuck]),
			       engine_unfinished(engines[stuck]) == 1 ? "instruction waits" : "instructions wait");
	return false;
}
