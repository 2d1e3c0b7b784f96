/* SPDX-License-Identifier: Apache-2.0 */
/* A hash (FNV-1a) of all that a sweep was made of. */
#include "sim/sweep/identity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void hash_text(uint64_t *h, const char *text)
{
	for (; *text; text++)
		*h = (*h ^ (uint8_t)*text) * 0x100000001b3u;
	*h = (*h ^ 0xff) * 0x100000001b3u;
}

/* Every key of a machine as resolved, with the contents of its DRAM part; `part`: another one, NULL: its own. */
static void hash_machine(uint64_t *h, const struct config *base, const char *part)
{
	struct config config = *base;
	struct npu_error ignored;
	char text[192];
	/* Strings stay those of the base. */
	config.owned = NULL;
	config.nowned = 0;
	snprintf(text, sizeof text, "dram.part=%s", part ? part : "");
	/* What does not go together here may do so at a point. */
	if (!part || config_set(&config, text, &ignored))
		config_finish(&config, &ignored);
	for (unsigned i = 0; i < config_nkeys; i++)
		hash_text(h, config_value(&config.hw, config.dram_part, &config_keys[i], text, sizeof text));
	config_fini(&config);
}

static void hash_part(uint64_t *h, const struct sweep_spec *spec, const struct config *base, const char *part)
{
	char *path = sweep_is_path(part) ? sweep_path(spec->space, part) : strdup(part);
	hash_machine(h, base, path);
	free(path);
}

static void hash_machines(uint64_t *h, const struct sweep_spec *spec)
{
	const struct sweep_space *s = spec->space;
	for (unsigned b = 0; b < spec->nbases; b++) {
		hash_machine(h, &spec->bases[b], NULL);
		for (unsigned a = 0; a < s->naxes; a++)
			for (unsigned k = 0; k < s->axes[a].nkeys; k++)
				for (uint32_t i = 0; strcmp(s->axes[a].keys[k], "dram.part") == 0 && i < s->axes[a].count; i++)
					hash_part(h, spec, &spec->bases[b], s->axes[a].values[(size_t)k * s->axes[a].count + i]);
	}
}

bool sweep_identify(struct sweep_spec *spec, uint64_t file, uint64_t program, struct npu_error *err)
{
	struct sweep_space *s = spec->space;
	char text[128];
	uint64_t h = 0xcbf29ce484222325u;
	hash_machines(&h, spec);
	snprintf(text, sizeof text, "%016" PRIx64 " %016" PRIx64, file, program);
	hash_text(&h, text);
	const uint8_t *dims = (const uint8_t *)&spec->dims;
	for (size_t i = 0; s->kind == SWEEP_MODEL && i < sizeof spec->dims; i++)
		h = (h ^ dims[i]) * 0x100000001b3u;
	snprintf(s->inputs, sizeof s->inputs, "%016" PRIx64, h);
	return sweep_space_identify(s, err);
}
