/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is known by, and what it needs, once its arrays are complete. */
#include "isa/seal.h"

#include "isa/legal.h"

static void take_first(enum npu_engine *engine, enum npu_engine user)
{
	if (*engine == NPU_ENGINES)
		*engine = user;
}

void npu_seal_engines(struct npu_sem *sems, uint32_t nsems, const struct npu_insn *insns, uint32_t ninsns)
{
	for (uint32_t i = 0; i < nsems; i++)
		sems[i].poster = sems[i].waiter = NPU_ENGINES;
	for (uint32_t i = 0; i < ninsns; i++) {
		enum npu_engine engine = npu_op_engine(insns[i].op);
		for (unsigned slot = 0; slot < NPU_SYNC_SLOTS; slot++) {
			const struct npu_sem_ref *wait = &insns[i].wait[slot], *post = &insns[i].post[slot];
			if (wait->count && wait->sem < nsems)
				take_first(&sems[wait->sem].waiter, engine);
			if (post->count && post->sem < nsems)
				take_first(&sems[post->sem].poster, engine);
		}
	}
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t mix_tensor(uint64_t hash, const struct npu_tensor *t)
{
	hash = mix(hash, t->addr);
	hash = mix(hash, t->bytes);
	hash =
	    mix(hash, (uint64_t)t->dtype | (uint64_t)t->layout << 8 | (uint64_t)t->dir << 16 | (uint64_t)t->rank << 24);
	for (uint32_t i = 0; i < t->rank; i++)
		hash = mix(hash, t->shape[i]);
	return hash;
}

static uint64_t mix_table(uint64_t hash, const struct npu_table *t)
{
	hash = mix(mix(hash, t->addr), t->count);
	for (uint32_t i = 0; i < t->count; i++)
		hash = mix(hash, t->entries[i]);
	return hash;
}

uint64_t npu_program_time_hash(const struct npu_program *program)
{
	uint64_t hash = mix(mix(0x6e70752e70726f67u, program->ninsns), program->nsems);
	hash = mix(mix(hash, program->ntensors), program->ntables);
	for (uint32_t i = 0; i < program->ninsns; i++) {
		uint64_t words[NPU_INSN_WORDS];
		npu_insn_encode(&program->insns[i], words);
		for (unsigned w = 0; w < NPU_INSN_WORDS; w++)
			hash = mix(hash, words[w]);
	}
	for (uint32_t i = 0; i < program->nsems; i++)
		hash = mix(hash, (uint64_t)program->sems[i].initial << 32 | program->sems[i].max);
	for (uint32_t i = 0; i < program->ntables; i++)
		hash = mix_table(hash, &program->tables[i]);
	for (uint32_t i = 0; i < program->ntensors; i++)
		hash = mix_tensor(hash, &program->tensors[i]);
	return hash;
}

/* A program without seeds has the hash that it had before there were any. */
uint64_t npu_program_hash(const struct npu_program *program)
{
	uint64_t hash = npu_program_time_hash(program);
	for (uint32_t i = 0; i < program->ntensors; i++)
		if (program->tensors[i].seeded)
			hash = mix(mix(hash, i), program->tensors[i].seed);
	return hash;
}

bool npu_program_seal(struct npu_program *program, struct npu_error *err)
{
	struct npu_reach reach[NPU_SPACES];
	if (!npu_program_legal(program, reach, err))
		return false;
	program->needs.sram_bytes = reach[NPU_SPACE_SRAM].end;
	program->needs.accum_bytes = reach[NPU_SPACE_ACCUM].end;
	program->needs.dram_bytes = reach[NPU_SPACE_DRAM].end;
	program->hash = npu_program_hash(program);
	return true;
}
