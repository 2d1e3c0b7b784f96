/* SPDX-License-Identifier: Apache-2.0 */
/* A hash of all that a sweep was made of. */
#include "sim/sweep/identity.h"
#include "sim/sweep/hash.h"

#include <inttypes.h>
#include <stdio.h>

bool sweep_identify(struct sweep_spec *spec, uint64_t file, uint64_t program, struct npu_error *err)
{
	struct sweep_space *s = spec->space;
	char text[64];
	sweep_machines_digest(&spec->machines, s, s->machines);
	snprintf(text, sizeof text, "%016" PRIx64 " %016" PRIx64, file, program);
	uint64_t h = sweep_hash_text(sweep_hash_text(SWEEP_HASH_BEGIN, s->machines), text);
	if (s->kind == SWEEP_MODEL)
		h = sweep_hash_bytes(h, &spec->dims, sizeof spec->dims);
	snprintf(s->inputs, sizeof s->inputs, "%016" PRIx64, h);
	return sweep_space_identify(s, err);
}
