/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. */
#include "isa/units.h"

#include "isa/insn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct npu_text npu_count_text(uint64_t value)
{
	char digits[24];
	struct npu_text out;
	int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
	char *to = out.text;
	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

struct npu_text npu_number_of(uint64_t value, const char *noun)
{
	struct npu_text out = npu_count_text(value);
	size_t used = strlen(out.text);
	snprintf(out.text + used, sizeof out.text - used, " %s%s", noun, value == 1 ? "" : "s");
	return out;
}

struct npu_text npu_bytes_text(uint64_t bytes)
{
	static const char *const units[] = { "GiB", "MiB", "KiB" };
	unsigned shift = 30;
	for (unsigned i = 0; i < 3; i++, shift -= 10) {
		uint64_t whole = bytes >> shift;
		if (whole << shift != bytes || whole < (shift == 10 ? 1 : 4))
			continue;
		struct npu_text out = npu_count_text(whole);
		snprintf(out.text + strlen(out.text), 8, " %s", units[i]);
		return out;
	}
	return npu_number_of(bytes, "byte");
}

struct npu_text npu_local_text(uint32_t local)
{
	struct npu_text out;
	snprintf(out.text, sizeof out.text, "%s:0x%" PRIx32, npu_is_acc(local) ? "acc" : "sram",
		 npu_local_offset(local));
	return out;
}
