/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile machine files: the input as a YAML file, and its lines as settings on the command line. */
#include "sim/config.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is legal prints and reads back as itself. */
static void check_values(const struct config *config)
{
    for (unsigned i = 0; i < config_nkeys; i++) {
        char value[96], set[256];
        struct npu_error err = { 0 };
        struct config copy;
        config_value(&config->hw, config->dram_part, &config_keys[i], value, sizeof value);
        /* Intervals that a part need not state are 0; a part that is not named has no name. */
        if (config_keys[i].type == CONFIG_PART || config->origin[i].kind == CONFIG_INITIAL)
            continue;
        snprintf(set, sizeof set, "%s=%s", config_keys[i].name, value);
        config_init(&copy);
        if (!config_set(&copy, set, &err)) {
            fprintf(stderr, "%s: %s\n", set, err.text);
            abort();
        }
        config_fini(&copy);
    }
}

static void set_lines(const char *text, size_t size)
{
    struct config config;
    struct npu_error err = { 0 };
    config_init(&config);
    for (unsigned n = 0; size && n < 16; n++) {
        char line[256];
        size_t length = 0;
        while (length < size && text[length] != '\n')
            length++;
        snprintf(line, sizeof line, "%.*s", (int)(length < 255 ? length : 255), text);
        config_set(&config, line, &err);
        length += length < size;
        text += length;
        size -= length;
    }
    config_finish(&config, &err);
    config_fini(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config config;
    struct npu_error err = { 0 };
    config_init(&config);
    if (config_text(&config, (const char *)data, size, "fuzz.yaml", &err) && config_finish(&config, &err))
        check_values(&config);
    config_fini(&config);
    set_lines((const char *)data, size);
    return 0;
}
