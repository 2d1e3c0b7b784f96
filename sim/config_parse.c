/* SPDX-License-Identifier: Apache-2.0 */
/* One hardware value from text: numbers, sizes, flags, words. Strict, so that a unit is never silently dropped. */
#include "sim/config_parse.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct say {
	char *text;
	unsigned size;
};

static bool refuse(struct say say, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(struct say say, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(say.text, say.size, format, args);
	va_end(args);
	return false;
}

/* Values come from people's files: what is echoed is short and printable. */
static const char *quoted(const char *value, char out[48])
{
	unsigned n = 0;
	for (; value[n] && n < 40; n++)
		out[n] = isprint((unsigned char)value[n]) ? value[n] : '?';
	snprintf(out + n, 48 - n, "%s", value[n] ? "..." : "");
	return out;
}

/* Digits into *number; saturates at UINT64_MAX. Returns what follows them. */
static const char *read_digits(const char *text, uint64_t *number)
{
	*number = 0;
	for (; isdigit((unsigned char)*text); text++) {
		uint64_t digit = (uint64_t)(*text - '0');
		*number = *number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *number * 10 + digit;
	}
	return text;
}

static const char *skip_space(const char *text)
{
	while (*text == ' ')
		text++;
	return text;
}

/* "", "KiB", "MiB", "GiB" as a power of 1024; -1: anything else. */
static int unit_power(const char *unit)
{
	static const char *const units[] = { "", "KiB", "MiB", "GiB" };
	for (int i = 0; i < 4; i++)
		if (strcmp(unit, units[i]) == 0)
			return i;
	return -1;
}

/* The unit that a person may have meant: by its first letter. */
static const char *meant_unit(const char *unit)
{
	if (strcasecmp(unit, "b") == 0 || strncasecmp(unit, "byte", 4) == 0)
		return "";
	switch (tolower((unsigned char)*unit)) {
	case 'k':
		return "KiB";
	case 'm':
		return "MiB";
	case 'g':
		return "GiB";
	default:
		return NULL;
	}
}

bool config_parse_size(const char *value, uint64_t *bytes)
{
	uint64_t whole, fraction = 0, tens = 1;
	const char *at = read_digits(value, &whole);
	if (at == value)
		return false;
	if (*at == '.') {
		const char *digits = at + 1;
		at = read_digits(digits, &fraction);
		if (at == digits || at - digits > 9)
			return false;
		for (const char *d = digits; d < at; d++)
			tens *= 10;
	}
	int power = unit_power(skip_space(at));
	if (power < 0 || (whole >> (64 - 10 * (unsigned)power - 1)) > 1)
		return false;
	uint64_t unit = (uint64_t)1 << (10 * (unsigned)power);
	/* 10^9 x 2^30 fits. */
	if (fraction * unit % tens != 0)
		return false;
	*bytes = whole * unit + fraction * unit / tens;
	return true;
}

static bool refuse_size(const struct config_key *key, const char *value, struct say say)
{
	char echo[48], range[96];
	const char *unit = value + strspn(value, "0123456789.");
	size_t digits = (size_t)(unit - value);
	unit = skip_space(unit);
	const char *meant = digits && *unit && unit_power(unit) < 0 ? meant_unit(unit) : NULL;
	if (meant && digits < 24) {
		char word[24];
		snprintf(word, sizeof word, "%s", unit);
		return refuse(say, "%s=%s: \"%s\" is no unit of a size here; write %.*s%s (KiB, MiB, GiB or plain bytes)",
			      key->name, quoted(value, echo), word, (int)digits, value, meant);
	}
	return refuse(say, "%s=%s: not a size; %s would be right, in KiB, MiB, GiB or plain bytes, a whole number of bytes",
		      key->name, quoted(value, echo), config_key_range(key, range, sizeof range));
}

static bool refuse_range(const struct config_key *key, const char *value, struct say say)
{
	char echo[48], range[96];
	bool bare = key->type == CONFIG_SIZE || !*key->unit;
	return refuse(say, "%s=%s: out of range; %s%s%s%s would be right", key->name, quoted(value, echo),
		      config_key_range(key, range, sizeof range), bare ? "" : " (", bare ? "" : key->unit,
		      bare ? "" : ")");
}

static bool refuse_number(const struct config_key *key, const char *value, struct say say)
{
	char echo[48], range[96];
	return refuse(say, "%s=%s: not a plain %snumber; %s would be right%s%s%s", key->name, quoted(value, echo),
		      key->type == CONFIG_UINT ? "whole " : "", config_key_range(key, range, sizeof range),
		      *key->unit ? ", in " : "", key->unit, *key->unit ? ", without the unit" : "");
}

static void store_uint(const struct config_key *key, uint64_t value, struct hw *hw)
{
	char *field = (char *)hw + key->offset;
	uint32_t narrow = (uint32_t)value;
	bool flag = value != 0;
	if (key->nbytes == sizeof value)
		memcpy(field, &value, sizeof value);
	else if (key->nbytes == sizeof narrow)
		memcpy(field, &narrow, sizeof narrow);
	else
		memcpy(field, &flag, sizeof flag);
}

static bool parse_integer(const struct config_key *key, const char *value, struct hw *hw, struct say say)
{
	uint64_t number;
	bool negative = *value == '-';
	const char *digits = value + negative;
	const char *end = read_digits(digits, &number);
	if (key->type == CONFIG_SIZE) {
		if (end == digits || (!negative && !config_parse_size(value, &number) && *end))
			return refuse_size(key, value, say);
	} else if (end == digits || *end) {
		return refuse_number(key, value, say);
	}
	if (negative || (double)number < key->min || (double)number > key->max)
		return refuse_range(key, value, say);
	store_uint(key, number, hw);
	return true;
}

static bool parse_real(const struct config_key *key, const char *value, struct hw *hw, struct say say)
{
	char *end;
	/* strtod alone would take hexadecimal, nan, inf and leading space. */
	if (!*value || strspn(value, "0123456789.eE+-") != strlen(value))
		return refuse_number(key, value, say);
	double number = strtod(value, &end);
	if (*end || end == value)
		return refuse_number(key, value, say);
	if (!isfinite(number) || number < key->min || number > key->max)
		return refuse_range(key, value, say);
	memcpy((char *)hw + key->offset, &number, sizeof number);
	return true;
}

static bool parse_flag(const struct config_key *key, const char *value, struct hw *hw, struct say say)
{
	static const char *const words[] = { "no", "false", "yes", "true" };
	char echo[48];
	for (unsigned i = 0; i < 4; i++)
		if (strcmp(value, words[i]) == 0) {
			store_uint(key, i >= 2, hw);
			return true;
		}
	return refuse(say, "%s=%s: yes or no would be right", key->name, quoted(value, echo));
}

static bool parse_word(const struct config_key *key, const char *value, struct hw *hw, struct say say)
{
	char echo[48], range[256];
	struct config_word word;
	for (unsigned n = 0; config_key_word(key, n, &word); n++)
		if (strlen(value) == word.length && memcmp(value, word.text, word.length) == 0) {
			store_uint(key, word.number, hw);
			return true;
		}
	return refuse(say, "%s=%s: %s would be right", key->name, quoted(value, echo),
		      config_key_range(key, range, sizeof range));
}

bool config_parse(const struct config_key *key, const char *value, struct hw *hw, char *text, unsigned size)
{
	struct say say = { text, size };
	switch (key->type) {
	case CONFIG_UINT:
	case CONFIG_SIZE:
		return parse_integer(key, value, hw, say);
	case CONFIG_REAL:
		return parse_real(key, value, hw, say);
	case CONFIG_FLAG:
		return parse_flag(key, value, hw, say);
	case CONFIG_ENUM:
		return parse_word(key, value, hw, say);
	case CONFIG_PART:
		break;
	}
	return true;
}
