/* SPDX-License-Identifier: Apache-2.0 */
/* Bases, and axes of hardware keys set on them. */
#include "sim/sweep/machines.h"
#include "sim/sweep/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* "key=value", a DRAM part that is a file by where it lies. */
static bool set(struct config *config, const struct sweep_space *s, const char *key, const char *value,
		struct npu_error *err)
{
	char *path = strcmp(key, "dram.part") == 0 && sweep_is_path(value) ? sweep_path(s, value) : NULL;
	size_t size = strlen(key) + strlen(path ? path : value) + 2;
	char *text = malloc(size);
	if (text)
		snprintf(text, size, "%s=%s", key, path ? path : value);
	bool ok = text ? config_set(config, text, err) : npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	free(path);
	free(text);
	return ok;
}

static bool is_hardware(const char *key)
{
	return strchr(key, '.') != NULL;
}

bool sweep_machines_add(struct sweep_machines *m, const struct sweep_space *s, const char *name, struct npu_error *err)
{
	struct config *more = realloc(m->bases, (m->n + 1) * sizeof *more);
	char *path = sweep_is_path(name) ? sweep_path(s, name) : strdup(name);
	m->bases = more ? more : m->bases;
	if (!more || !path) {
		free(path);
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	}
	struct config *base = &more[m->n++];
	config_init(base);
	bool ok = config_base(base, path, err);
	free(path);
	for (unsigned i = 0; ok && i < s->nwith; i++)
		ok = !is_hardware(s->with[i].key) || set(base, s, s->with[i].key, s->with[i].value, err);
	return ok;
}

bool sweep_machines_read(struct sweep_machines *m, const struct sweep_space *s, struct npu_error *err)
{
	*m = (struct sweep_machines){ .axis = -1 };
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			if (strcmp(s->axes[a].keys[k], "hw") == 0) {
				m->axis = (int)a;
				for (uint32_t i = 0; i < s->axes[a].count; i++)
					if (!sweep_machines_add(
						m, s, s->axes[a].values[(size_t)k * s->axes[a].count + i], err))
						return false;
			}
	if (m->axis >= 0)
		return true;
	return s->hw ? sweep_machines_add(m, s, s->hw, err) : npu_fail(err, NPU_ERR_FORMAT, "the plan has no machine");
}

void sweep_machines_fini(struct sweep_machines *m)
{
	for (unsigned i = 0; i < m->n; i++)
		config_fini(&m->bases[i]);
	free(m->bases);
	*m = (struct sweep_machines){ .axis = -1 };
}

bool sweep_machines_at(const struct sweep_machines *m, const struct sweep_space *s, uint64_t point, struct config *out,
		       struct npu_error *err)
{
	*out = m->bases[m->axis >= 0 ? sweep_index(s, point, (unsigned)m->axis) : 0];
	out->owned = NULL;
	out->nowned = 0;
	for (unsigned a = 0; a < s->naxes; a++) {
		const struct sweep_axis *x = &s->axes[a];
		uint32_t index = sweep_index(s, point, a);
		for (unsigned k = 0; k < x->nkeys; k++)
			if (is_hardware(x->keys[k]) &&
			    !set(out, s, x->keys[k], x->values[(size_t)k * x->count + index], err))
				return false;
	}
	return config_finish(out, err);
}

const char *sweep_machine_value(const struct config *config, const struct config_key *key, char *out, unsigned size)
{
	struct hw hw = config->hw;
	hw.matrix.activation_port = hw_activation_port(&config->hw);
	hw.matrix.weight_port = hw_weight_port(&config->hw);
	return config_value(&hw, config->dram_part, key, out, size);
}

/* ---- hashes ---- */

uint64_t sweep_machine_hash(const struct config *config, bool sram_size)
{
	char text[512];
	uint64_t h = SWEEP_HASH_BEGIN;
	for (unsigned i = 0; i < config_nkeys; i++)
		if (sram_size || strcmp(config_keys[i].name, "sram.size") != 0)
			h = sweep_hash_text(
			    h, config_value(&config->hw, config->dram_part, &config_keys[i], text, sizeof text));
	return h;
}

/* `part`: another DRAM part, NULL: its own. What does not go together here may do so at a point. */
static void visit(const struct config *base, const struct sweep_space *s, const char *part, sweep_each_machine *each,
		  void *context)
{
	struct config config = *base;
	struct npu_error ignored;
	config.owned = NULL;
	config.nowned = 0;
	if (!part || set(&config, s, "dram.part", part, &ignored))
		config_finish(&config, &ignored);
	each(context, &config);
	config_fini(&config);
}

void sweep_machines_each(const struct sweep_machines *m, const struct sweep_space *s, sweep_each_machine *each,
			 void *context)
{
	for (unsigned b = 0; b < m->n; b++) {
		visit(&m->bases[b], s, NULL, each, context);
		for (unsigned a = 0; a < s->naxes; a++)
			for (unsigned k = 0; k < s->axes[a].nkeys; k++)
				for (uint32_t i = 0;
				     strcmp(s->axes[a].keys[k], "dram.part") == 0 && i < s->axes[a].count; i++)
					visit(&m->bases[b], s, s->axes[a].values[(size_t)k * s->axes[a].count + i],
					      each, context);
	}
}

static void add_hash(void *context, const struct config *config)
{
	uint64_t *h = context, own = sweep_machine_hash(config, true);
	*h = sweep_hash_bytes(*h, &own, sizeof own);
}

void sweep_machines_digest(const struct sweep_machines *m, const struct sweep_space *s, char out[17])
{
	uint64_t h = SWEEP_HASH_BEGIN;
	sweep_machines_each(m, s, add_hash, &h);
	snprintf(out, 17, "%016" PRIx64, h);
}
