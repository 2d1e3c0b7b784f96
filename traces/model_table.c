/* SPDX-License-Identifier: Apache-2.0 */
/* The table of models, and layers by their patterns. */
#include "traces/model_config.h"
#include "traces/model_layers.h"

#include <stddef.h>
#include <strings.h>

const struct model_entry model_table[] = {
#define MODEL(name_, count, source_, ...) { name_, count, source_, { .name = name_, __VA_ARGS__ } },
#include "traces/models.def"
};
const unsigned model_table_size = sizeof model_table / sizeof model_table[0];

void model_fill_layers(struct transformer *m)
{
	for (uint32_t i = 0; i < m->layers; i++) {
		uint32_t at = m->kv_rank ? i : i + 1;
		m->windowed[i] = m->window && !(m->window_full_every && (i + 1) % m->window_full_every == 0);
		m->moe[i] = m->experts && i >= m->dense_first && at % m->moe_every == 0;
	}
}

const struct model_entry *model_find(const char *name)
{
	for (unsigned i = 0; i < model_table_size; i++)
		if (strcasecmp(model_table[i].name, name) == 0)
			return &model_table[i];
	return NULL;
}

void model_dims(const struct model_entry *entry, struct transformer *dims)
{
	*dims = entry->dims;
	model_fill_layers(dims);
}
