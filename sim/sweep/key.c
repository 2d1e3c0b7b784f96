/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, and records held against the plan. */
#include "sim/sweep/key.h"
#include "sim/sweep/hash.h"
#include "sim/sweep/machines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *value_of(const struct sweep_space *s, uint64_t point, unsigned axis, unsigned key)
{
	const struct sweep_axis *x = &s->axes[axis];
	return x->values[(size_t)key * x->count + sweep_index(s, point, axis)];
}

json_t *sweep_place(const struct sweep_space *s, uint64_t point)
{
	json_t *o = json_object();
	for (unsigned a = 0; o && a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			json_object_set_new(o, s->axes[a].keys[k], json_string(value_of(s, point, a, k)));
	return o;
}

void sweep_key(const struct sweep_space *s, uint64_t machine, const char *program, const char *params, char out[17])
{
	uint64_t h = sweep_hash_text(SWEEP_HASH_BEGIN, s->version);
	h = sweep_hash_bytes(h, &machine, sizeof machine);
	h = sweep_hash_text(h, s->digest);
	if (program) {
		h = sweep_hash_text(h, program);
	} else {
		h = sweep_hash_text(h, s->inputs);
		h = sweep_hash_text(h, params);
	}
	snprintf(out, 17, "%016" PRIx64, h);
}

/* ---- judgement ---- */

/* Hashes of machines, by what the axes of hardware say: of more than that many some are resolved anew when they come
 * again. */
enum { MACHINES = 65536 };

struct known_machine {
	uint64_t of;            /* its number + 1; 0: none */
	uint64_t with, without; /* the SRAM's size */
	bool legal;
};

struct sweep_judge {
	struct sweep_machines machines;
	bool read, same; /* the machines are those of the plan */
	struct known_machine known[MACHINES];
};

struct sweep_judge *sweep_judge_new(void)
{
	struct sweep_judge *j = calloc(1, sizeof *j);
	if (j)
		j->machines.axis = -1;
	return j;
}

void sweep_judge_free(struct sweep_judge *j)
{
	if (j)
		sweep_machines_fini(&j->machines);
	free(j);
}

static bool is_at(const struct sweep_space *s, uint64_t point, const json_t *place)
{
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++) {
			const char *said = json_string_value(json_object_get(place, s->axes[a].keys[k]));
			if (!said || strcmp(said, value_of(s, point, a, k)) != 0)
				return false;
		}
	return true;
}

/* The same for points that have the same machine. */
static uint64_t machine_number(const struct sweep_space *s, uint64_t point)
{
	uint64_t n = 0;
	for (unsigned a = 0; a < s->naxes; a++) {
		bool decides = false;
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			decides = decides || strchr(s->axes[a].keys[k], '.') || strcmp(s->axes[a].keys[k], "hw") == 0;
		if (decides)
			n = n * s->axes[a].count + sweep_index(s, point, a);
	}
	return n;
}

static bool machines_are_same(struct sweep_judge *j, const struct sweep_space *s)
{
	struct npu_error ignored;
	char digest[17];
	if (!j->read) {
		j->read = true;
		if (sweep_machines_read(&j->machines, s, &ignored)) {
			sweep_machines_digest(&j->machines, s, digest);
			j->same = strcmp(digest, s->machines) == 0;
		}
	}
	return j->same;
}

static const struct known_machine *machine_of(struct sweep_judge *j, const struct sweep_space *s, uint64_t point)
{
	uint64_t n = machine_number(s, point);
	struct known_machine *m = &j->known[n % MACHINES];
	struct config config;
	struct npu_error ignored;
	if (m->of == n + 1)
		return m;
	*m = (struct known_machine){ .of = n + 1 };
	m->legal = sweep_machines_at(&j->machines, s, point, &config, &ignored);
	if (m->legal) {
		m->with = sweep_machine_hash(&config, true);
		m->without = sweep_machine_hash(&config, false);
	}
	config_fini(&config);
	return m;
}

bool sweep_judge_holds(struct sweep_judge *j, const struct sweep_space *s, uint64_t point, enum sweep_status status,
		       const json_t *record)
{
	const char *said = json_string_value(json_object_get(record, "key")),
		   *program = json_string_value(json_object_get(record, "program"));
	const char *params = json_string_value(json_object_get(record, "params"));
	char key[17];
	struct alike alike;
	/* What other versions write is theirs to judge. */
	if (strcmp(s->version, NPUSIM_VERSION) != 0)
		return true;
	if (!is_at(s, point, json_object_get(record, "at")))
		return false;
	if (status != SWEEP_RUN)
		return true;
	if (!said || !params || !json_is_object(json_object_get(record, "figures")) ||
	    (s->kind != SWEEP_MODEL) != (program != NULL))
		return false;
	if (!machines_are_same(j, s))
		return true;
	const struct known_machine *m = machine_of(j, s, point);
	sweep_key(s, m->with, program, params, key);
	if (!m->legal || strcmp(said, key) != 0)
		return false;
	return !alike_read(json_object_get(record, "alike"), &alike) || alike.machine == m->with ||
	       alike.machine == m->without;
}
