/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a .npub file, shared by its writer and its reader. Private to isa/.
 *
 *   byte    0  magic 89 'N' 'P' 'U' 0d 0a 1a 0a   (a file mangled as text does not pass)
 *           8  u32  version, 3
 *          12  u32  number of sections, 14
 *          16  u64  bytes of the whole file
 *          24  u64  hash of the program; that of one with seeds covers them
 *          32  u32  name of the program, an offset into the strings
 *          36       zero up to byte 64
 *          64       a section entry of 32 bytes each, in the order of the list below:
 *                   u32 number of the section, u32 bytes of a member, u64 offset, u64 count, u64 zero
 *          ...      the sections in that order, each at the next multiple of 64 bytes, zeros between them
 *
 *   All numbers are little-endian. A string is a u32 offset into the strings, each of which ends in NUL.
 *
 *   insns    64  eight u64 words, as isa/npu.def draws them
 *   places   12  u32 file, u32 line, u32 call                   one an instruction
 *   inside    4  u32 innermost region, ffffffff: none           one an instruction
 *   sems     12  u32 name, u32 initial, u32 max; their engines follow from the instructions
 *   tensors  64  u32 name, u8 type, u8 layout, u8 direction, u8 rank, u64 address, u64 bytes,
 *                u64 shape[5] (0: not used)
 *   buffers  24  u32 name, u32 local address, u32 bytes, u32 first, u32 end, u32 zero
 *   tables   32  u32 name, u32 count, u64 address, u64 index of its first entry, u32 sequence, u32 zero;
 *                they lie in entries one after the other
 *   entries   4  u32 page number
 *   pages    32  u32 instruction, u32 pool, u32 page, u32 state, u32 sequence, u32 file, u32 line, u32 call
 *   regions   8  u32 name, u32 parent
 *   files     4  u32 name
 *   strings   1
 *   calls    16  u32 name, u32 file, u32 line, u32 call: a macro was used there. A call is a number from 1 on of this
 *                section, 0: none; one lies in calls of lower numbers only
 *   seeds    16  u32 tensor, u32 zero, u64 seed of its contents; tensors in rising order, inputs alone
 *
 *   A version number is changed by whatever an older reader would misread. Those before are still read: version 2 has no
 *   seeds, 13 sections; version 1 no calls either, 12 sections, places of 8 bytes and pages of 20, which end before the
 *   call and the place. What files hold is in none: a tensor that a source fills from a file is one without a seed here.
 */
#ifndef NPU_ISA_NPUB_H
#define NPU_ISA_NPUB_H

#include <stdint.h>

#define NPU_NPUB_SECTIONS(SECTION)                                                                                     \
	SECTION(INSNS, "insns", 64)                                                                                    \
	SECTION(PLACES, "places", 12)                                                                                  \
	SECTION(INSIDE, "inside", 4)                                                                                   \
	SECTION(SEMS, "sems", 12)                                                                                      \
	SECTION(TENSORS, "tensors", 64)                                                                                \
	SECTION(BUFFERS, "buffers", 24)                                                                                \
	SECTION(TABLES, "tables", 32)                                                                                  \
	SECTION(ENTRIES, "entries", 4)                                                                                 \
	SECTION(PAGES, "pages", 32)                                                                                    \
	SECTION(REGIONS, "regions", 8)                                                                                 \
	SECTION(FILES, "files", 4)                                                                                     \
	SECTION(STRINGS, "strings", 1)                                                                                 \
	SECTION(CALLS, "calls", 16)                                                                                    \
	SECTION(SEEDS, "seeds", 16)

enum npu_npub_section {
#define SECTION(NAME, text, bytes) NPU_NPUB_##NAME,
	NPU_NPUB_SECTIONS(SECTION)
#undef SECTION
	NPU_NPUB_NSECTIONS
};

enum { NPU_NPUB_VERSION = 3, NPU_NPUB_HEADER_BYTES = 64, NPU_NPUB_ENTRY_BYTES = 32, NPU_NPUB_ALIGNMENT = 64 };

static const uint8_t npu_npub_magic[8] = { 0x89, 'N', 'P', 'U', 0x0d, 0x0a, 0x1a, 0x0a };

static const uint8_t npu_npub_member_bytes[] = {
#define SECTION(NAME, text, bytes) bytes,
	NPU_NPUB_SECTIONS(SECTION)
#undef SECTION
};

#endif
