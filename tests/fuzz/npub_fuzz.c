/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a .npub file: refused, or a program that can be checked, walked, printed, and written again. */
#include "isa/access.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* What the machine and the checker ask of an instruction. */
static void walk(const struct npu_program *program)
{
	enum { MOST_PIECES = 64, MOST_INSNS = 256 };
	for (uint32_t i = 0; i < program->ninsns && i < MOST_INSNS; i++) {
		struct npu_access accesses[NPU_MAX_ACCESSES];
		unsigned n = npu_insn_accesses(&program->insns[i], accesses);
		for (unsigned a = 0; a < n; a++)
			npu_access_overlap(&accesses[a], &accesses[0]);
		struct npu_piece_walk pieces;
		struct npu_piece piece;
		npu_piece_walk_init(&pieces, program, &program->insns[i]);
		for (unsigned p = 0; p < MOST_PIECES && npu_piece_next(&pieces, &piece); p++)
			require(piece.bytes > 0 && piece.dram < NPU_DRAM_LIMIT &&
				piece.bytes <= NPU_DRAM_LIMIT - piece.dram);
		char place[64];
		npu_insn_place(program, i, place, sizeof place);
	}
}

static void survive_binary(const struct npu_program *program)
{
	uint8_t *bytes;
	uint64_t n = npu_program_encode(program, &bytes);
	require(n > 0);
	struct npu_program *again = npu_program_decode(bytes, n, "again", NULL);
	require(again && again->hash == program->hash && again->ninsns == program->ninsns);
	npu_program_free(again);
	free(bytes);
}

static void survive_text(const struct npu_program *program)
{
	char *text = npu_disasm_text(program);
	require(text != NULL);
	struct npu_program *again = npu_asm_flat(text, strlen(text), "again", NULL);
	require(again && again->hash == program->hash);
	char *twice = npu_disasm_text(again);
	require(twice && strcmp(text, twice) == 0);
	npu_program_free(again);
	free(twice);
	free(text);
}

/* Mutated instructions almost never have the hash of the header: the message says which one they have. */
static struct npu_program *decode_whatever_the_hash(const uint8_t *data, size_t size)
{
	enum { HASH_OFFSET = 24 };
	struct npu_error err = { .code = NPU_ERR_NONE };
	unsigned long long hash;
	struct npu_program *program = npu_program_decode(data, size, "fuzz", &err);
	if (program)
		return program;
	require(err.code != NPU_ERR_NONE && err.text[0]);
	if (sscanf(err.text, "damaged: its contents have the hash %llx", &hash) != 1)
		return NULL;
	uint8_t *copy = malloc(size);
	require(copy != NULL);
	memcpy(copy, data, size);
	for (unsigned i = 0; i < 8; i++)
		copy[HASH_OFFSET + i] = (uint8_t)(hash >> 8 * i);
	program = npu_program_decode(copy, size, "fuzz", &err);
	require(program != NULL);
	free(copy);
	return program;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npu_error err;
	struct npu_program *program = decode_whatever_the_hash(data, size);
	if (!program)
		return 0;
	require(npu_program_check(program, &err));
	npu_program_fits(program, &(struct npu_limits){ 1, 1, 1 }, &err);
	walk(program);
	survive_binary(program);
	survive_text(program);
	npu_program_free(program);
	return 0;
}
