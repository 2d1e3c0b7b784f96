/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile config.json and layer lists: what is read stays in range, what is refused says why in one line. */
#include "kernels/model/model.h"
#include "tests/fuzz/fuzz.h"
#include "traces/model_config.h"
#include "traces/scalesim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds, const char *what, const char *text)
{
	if (holds)
		return;
	fprintf(stderr, "%s: %s\n", what, text);
	abort();
}

static void check_error(const struct npu_error *err)
{
	require(err->text[0] && !strchr(err->text, '\n'), "no line", err->text);
}

static void check_model(const struct transformer *dims)
{
	struct model_ask ask = { .context = 1048575, .batch = 4096, .page = 16, .weights = MODEL_INT4, .group = 32 };
	require(dims->heads % dims->kv_heads == 0 && dims->rotary_dim <= dims->head_dim, "heads", dims->family);
	require(model_parameters(dims) < (uint64_t)1 << 63, "parameters", dims->family);
	require(model_active_parameters(dims) <= model_parameters(dims), "active parameters", dims->family);
	require(model_weight_bytes(dims, &ask) > 0 && model_kv_bytes(dims, &ask) > 0 && model_activation_bytes(dims, &ask) > 0,
		"bytes", dims->family);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npu_error err = { 0 };
	struct transformer dims;
	struct scalesim list;
	if (model_config_read("fuzz.json", (const char *)data, size, &dims, &err))
		check_model(&dims);
	else
		check_error(&err);
	if (scalesim_read("fuzz.csv", (const char *)data, size, &list, &err)) {
		for (unsigned i = 0; i < list.n; i++)
			require(list.layers[i].m && list.layers[i].n && list.layers[i].k, "an empty layer", list.layers[i].name);
		scalesim_free(&list);
	} else {
		check_error(&err);
	}
	return 0;
}
