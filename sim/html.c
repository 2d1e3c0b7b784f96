/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/html.h"

#include <string.h>

const char *html_until(const char *html, const char *mark, FILE *out)
{
	const char *at = strstr(html, mark);
	fwrite(html, 1, (size_t)(at - html), out);
	return at + strlen(mark);
}

void html_text(const char *text, FILE *out)
{
	for (; *text; text++)
		if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else
			putc(*text, out);
}

/* JSON has `<` in strings only; written as an escape it can end no script and begin no comment. */
static int put_json(const char *text, size_t length, void *ctx)
{
	FILE *out = ctx;
	for (size_t i = 0; i < length; i++)
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			putc(text[i], out);
	return ferror(out) ? -1 : 0;
}

void html_json(const char *id, const json_t *value, FILE *out)
{
	fprintf(out, "<script type=\"application/json\" id=\"%s\">", id);
	json_dump_callback(value, put_json, out, JSON_COMPACT | JSON_REAL_PRECISION(12));
	fputs("</script>\n", out);
}
