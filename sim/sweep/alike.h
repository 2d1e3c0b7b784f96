/* SPDX-License-Identifier: Apache-2.0 */
/* Points that cannot but have the same figures. The SRAM's size decides where its groups begin, and nothing else: where
 * each access stays inside a group, and lies at the same place of the same group in another machine that differs by
 * sram.size alone, every bank sees the same requests in the same cycles. Such points are simulated once. */
#ifndef NPU_SIM_SWEEP_ALIKE_H
#define NPU_SIM_SWEEP_ALIKE_H

#include "isa/program.h"
#include "sim/config.h"

#include <jansson.h>

struct alike {
	uint64_t program; /* hash of the program, an SRAM address told by its group and where in it */
	uint64_t machine; /* hash of all hardware keys; without sram.size where that decides nothing else */
};

/* A resolved machine and a program that fits it. */
struct alike alike_of(const struct npu_program *, const struct config *);
/* As a word of JSON, "PROGRAM-MACHINE" in hex digits, and back; false where it is none. */
json_t *alike_json(struct alike);
bool alike_read(const json_t *, struct alike *);

/* Figures by what they are of, between processes: a table in shared memory, of a fixed size. What finds no room is not
 * kept. */
struct known;
/* NULL when out of memory: then everything is simulated. */
struct known *known_new(void);
void known_free(struct known *);
/* A new reference; NULL: not known. */
json_t *known_find(const struct known *, struct alike);
void known_add(struct known *, struct alike, const json_t *figures);
/* Whether it is known, without the figures. */
bool known_has(const struct known *, struct alike);

#endif
