/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, by which files, machines, records and whole sweeps are told apart. */
#ifndef NPU_SIM_SWEEP_HASH_H
#define NPU_SIM_SWEEP_HASH_H

#include <stddef.h>
#include <stdint.h>

#define SWEEP_HASH_BEGIN ((uint64_t)0xcbf29ce484222325u)

static inline uint64_t sweep_hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
	return h;
}

/* A text and its end: "ab", "c" is not "a", "bc". */
static inline uint64_t sweep_hash_text(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3u;
	return (h ^ 0xff) * 0x100000001b3u;
}

#endif
