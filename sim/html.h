/* SPDX-License-Identifier: Apache-2.0 */
/* What a page that stands alone is written with: a template, text, and data for its script. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Writes `html` up to `mark`, which stands in it, and returns what follows that. */
const char *html_until(const char *html, const char *mark, FILE *out);

/* Text of an element. */
void html_text(const char *text, FILE *out);

/* A script element of type application/json with that id; `value` may be NULL, out of memory: then it is empty. */
void html_json(const char *id, const json_t *value, FILE *out);
