/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .npub. The bytes may be anybody's: nothing is believed before it is checked, memory is bounded by their number,
 * and what comes out has passed npu_program_check. */
#include "isa/arena.h"
#include "isa/npub.h"
#include "isa/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct reader {
	const uint8_t *bytes;
	uint64_t nbytes;
	const char *file;
	struct npu_error *err;
	uint32_t version;
	uint64_t offset[NPU_NPUB_NSECTIONS];
	uint64_t count[NPU_NPUB_NSECTIONS];
	const char *strings; /* in the arena */
	struct npu_program *program;
};

static const char *const section_names[] = {
#define SECTION(NAME, text, bytes) text,
	NPU_NPUB_SECTIONS(SECTION)
#undef SECTION
};

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t get64(const uint8_t *at)
{
	return get32(at) | (uint64_t)get32(at + 4) << 32;
}

static bool refuse(const struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(const struct reader *r, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return npu_fail_at(r->err, NPU_ERR_FORMAT, r->file, 0, 0, "%s", text);
}

static bool out_of_memory(const struct reader *r)
{
	return npu_fail_at(r->err, NPU_ERR_MEMORY, r->file, 0, 0, "out of memory");
}

static unsigned nsections(const struct reader *r)
{
	return r->version == 1 ? NPU_NPUB_CALLS : r->version == 2 ? NPU_NPUB_SEEDS : NPU_NPUB_NSECTIONS;
}

static uint64_t member_bytes(const struct reader *r, unsigned s)
{
	enum { PLACES_1 = 8, PAGES_1 = 20 };
	if (r->version == 1 && s == NPU_NPUB_PLACES)
		return PLACES_1;
	return r->version == 1 && s == NPU_NPUB_PAGES ? PAGES_1 : npu_npub_member_bytes[s];
}

/* Of its header and the entries of its sections. */
static uint64_t fixed_bytes(const struct reader *r)
{
	return NPU_NPUB_HEADER_BYTES + (uint64_t)nsections(r) * NPU_NPUB_ENTRY_BYTES;
}

static bool all_zero(const uint8_t *at, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (at[i])
			return false;
	return true;
}

static bool read_header(struct reader *r)
{
	const uint8_t *b = r->bytes;
	if (r->nbytes < sizeof npu_npub_magic || memcmp(b, npu_npub_magic, sizeof npu_npub_magic) != 0)
		return refuse(r, "not a .npub program: it does not begin with its magic number");
	if (r->nbytes < 16)
		return refuse(r, "truncated: it ends at byte %" PRIu64 ", inside the header", r->nbytes);
	r->version = get32(b + 8);
	if (r->version < 1 || r->version > NPU_NPUB_VERSION)
		return refuse(r, "version %" PRIu32 " of .npub; this program reads versions 1 to %d", r->version,
			      NPU_NPUB_VERSION);
	if (r->nbytes < fixed_bytes(r))
		return refuse(r, "truncated: it ends at byte %" PRIu64 ", inside the header of %" PRIu64 " bytes",
			      r->nbytes, fixed_bytes(r));
	if (get32(b + 12) != nsections(r))
		return refuse(r, "damaged: %" PRIu32 " sections, version %" PRIu32 " has %u", get32(b + 12), r->version,
			      nsections(r));
	if (get64(b + 16) > r->nbytes)
		return refuse(r, "truncated: it ends at byte %" PRIu64 " of %" PRIu64, r->nbytes, get64(b + 16));
	if (get64(b + 16) < r->nbytes)
		return refuse(r, "damaged: %" PRIu64 " bytes, but its header says %" PRIu64, r->nbytes, get64(b + 16));
	return all_zero(b + 36, NPU_NPUB_HEADER_BYTES - 36) || refuse(r, "damaged: bytes 36 to 63 are not zero");
}

/* Sections lie one behind the other, so none can overlap the header or another one; `*end` is where the last one ended.
 */
static bool read_section(struct reader *r, unsigned s, uint64_t *end)
{
	const uint8_t *entry = r->bytes + NPU_NPUB_HEADER_BYTES + s * NPU_NPUB_ENTRY_BYTES;
	uint64_t offset = get64(entry + 8), count = get64(entry + 16), bytes = member_bytes(r, s);
	uint64_t wanted = (*end + NPU_NPUB_ALIGNMENT - 1) / NPU_NPUB_ALIGNMENT * NPU_NPUB_ALIGNMENT;
	if (get32(entry) != s || get32(entry + 4) != bytes || get64(entry + 24) != 0)
		return refuse(r, "damaged: the entry of section %s at byte %d", section_names[s],
			      (int)(entry - r->bytes));
	if (offset != wanted || offset > r->nbytes || count > (r->nbytes - offset) / bytes || count > UINT32_MAX)
		return refuse(r,
			      "damaged: section %s claims %" PRIu64 " members of %" PRIu64 " bytes from byte %" PRIu64
			      ", it should begin at byte %" PRIu64 " and end before %" PRIu64,
			      section_names[s], count, bytes, offset, wanted, r->nbytes);
	if (!all_zero(r->bytes + *end, offset - *end))
		return refuse(r, "damaged: the bytes between %" PRIu64 " and %" PRIu64 " are not zero", *end, offset);
	r->offset[s] = offset;
	r->count[s] = count;
	*end = offset + count * bytes;
	return true;
}

static bool read_sections(struct reader *r)
{
	uint64_t end = fixed_bytes(r);
	for (unsigned s = 0; s < nsections(r); s++)
		if (!read_section(r, s, &end))
			return false;
	return end == r->nbytes ||
	       refuse(r, "damaged: its sections end at byte %" PRIu64 " of %" PRIu64, end, r->nbytes);
}

static const uint8_t *member(const struct reader *r, enum npu_npub_section s, uint64_t i)
{
	return r->bytes + r->offset[s] + i * member_bytes(r, s);
}

static bool read_strings(struct reader *r)
{
	uint64_t n = r->count[NPU_NPUB_STRINGS];
	if (!n || *member(r, NPU_NPUB_STRINGS, n - 1) != 0)
		return refuse(r, "damaged: the strings do not end in NUL");
	r->strings = npu_arena_text(r->program->arena, (const char *)member(r, NPU_NPUB_STRINGS, 0), n);
	return r->strings || out_of_memory(r);
}

/* The string at the offset that `at` holds. */
static bool get_string(const struct reader *r, const uint8_t *at, const char **out)
{
	uint32_t offset = get32(at);
	if (offset >= r->count[NPU_NPUB_STRINGS])
		return refuse(r, "damaged: byte %" PRIu64 ": string %" PRIu32 " of %" PRIu64 " bytes of strings",
			      (uint64_t)(at - r->bytes), offset, r->count[NPU_NPUB_STRINGS]);
	*out = r->strings + offset;
	return true;
}

/* An array in the arena for all members of a section; NULL when out of memory, which it tells. */
static void *new_array(const struct reader *r, enum npu_npub_section s, uint64_t size)
{
	void *array = npu_arena_alloc(r->program->arena, r->count[s], size);
	if (!array)
		out_of_memory(r);
	return array;
}

static struct npu_place get_place(const struct reader *r, const uint8_t *at)
{
	return (struct npu_place){ get32(at), get32(at + 4), r->version == 1 ? 0 : get32(at + 8) };
}

static bool read_insns(struct reader *r)
{
	struct npu_insn *insns = new_array(r, NPU_NPUB_INSNS, sizeof *insns);
	struct npu_place *place = new_array(r, NPU_NPUB_PLACES, sizeof *place);
	uint32_t *region = new_array(r, NPU_NPUB_INSIDE, sizeof *region);
	uint64_t n = r->count[NPU_NPUB_INSNS];
	if (r->count[NPU_NPUB_PLACES] != n || r->count[NPU_NPUB_INSIDE] != n)
		return refuse(r, "damaged: %" PRIu64 " instructions, %" PRIu64 " places, %" PRIu64 " region numbers", n,
			      r->count[NPU_NPUB_PLACES], r->count[NPU_NPUB_INSIDE]);
	if (!insns || !place || !region)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t words[NPU_INSN_WORDS];
		const uint8_t *at = member(r, NPU_NPUB_INSNS, i);
		for (unsigned w = 0; w < NPU_INSN_WORDS; w++)
			words[w] = get64(at + 8 * w);
		if (!npu_insn_decode(words, &insns[i]))
			return refuse(r, "damaged: instruction #%" PRIu64 " at byte %" PRIu64 ": %s 0x%02x", i,
				      (uint64_t)(at - r->bytes),
				      npu_op_known(words[0] & 0xff) ? "a reserved bit is set, opcode"
								    : "unknown opcode",
				      (unsigned)(words[0] & 0xff));
		at = member(r, NPU_NPUB_PLACES, i);
		place[i] = get_place(r, at);
		region[i] = get32(member(r, NPU_NPUB_INSIDE, i));
	}
	r->program->ninsns = (uint32_t)n;
	r->program->insns = insns;
	r->program->place = place;
	r->program->region = region;
	return true;
}

static bool read_sems(struct reader *r)
{
	struct npu_sem *sems = new_array(r, NPU_NPUB_SEMS, sizeof *sems);
	if (!sems)
		return false;
	for (uint64_t i = 0; i < r->count[NPU_NPUB_SEMS]; i++) {
		const uint8_t *at = member(r, NPU_NPUB_SEMS, i);
		if (!get_string(r, at, &sems[i].name))
			return false;
		sems[i].initial = get32(at + 4);
		sems[i].max = get32(at + 8);
	}
	npu_seal_engines(sems, (uint32_t)r->count[NPU_NPUB_SEMS], r->program->insns, r->program->ninsns);
	r->program->nsems = (uint32_t)r->count[NPU_NPUB_SEMS];
	r->program->sems = sems;
	return true;
}

static bool read_seeds(struct reader *r, struct npu_tensor *tensors)
{
	uint32_t least = 0;
	for (uint64_t i = 0; i < r->count[NPU_NPUB_SEEDS]; i++) {
		const uint8_t *at = member(r, NPU_NPUB_SEEDS, i);
		uint32_t tensor = get32(at);
		if (tensor < least || tensor >= r->count[NPU_NPUB_TENSORS] || get32(at + 4) != 0)
			return refuse(r, "damaged: seed %" PRIu64 " is of tensor %" PRIu32, i, tensor);
		tensors[tensor].seeded = true;
		tensors[tensor].seed = get64(at + 8);
		least = tensor + 1;
	}
	return true;
}

static bool read_tensors(struct reader *r)
{
	struct npu_tensor *tensors = new_array(r, NPU_NPUB_TENSORS, sizeof *tensors);
	if (!tensors)
		return false;
	for (uint64_t i = 0; i < r->count[NPU_NPUB_TENSORS]; i++) {
		const uint8_t *at = member(r, NPU_NPUB_TENSORS, i);
		struct npu_tensor *t = &tensors[i];
		if (!get_string(r, at, &t->name))
			return false;
		if (at[4] >= NPU_DTYPES || at[6] > NPU_TENSOR_TEMP || at[7] > NPU_MAX_RANK)
			return refuse(r, "damaged: tensor %s has no such type, direction or rank", t->name);
		t->dtype = (enum npu_dtype)at[4];
		t->layout = at[5];
		t->dir = (enum npu_tensor_dir)at[6];
		t->rank = at[7];
		t->addr = get64(at + 8);
		t->bytes = get64(at + 16);
		for (uint32_t d = 0; d < NPU_MAX_RANK; d++)
			t->shape[d] = get64(at + 24 + 8 * d);
	}
	r->program->ntensors = (uint32_t)r->count[NPU_NPUB_TENSORS];
	r->program->tensors = tensors;
	return read_seeds(r, tensors);
}

static bool read_buffers(struct reader *r)
{
	struct npu_buffer *buffers = new_array(r, NPU_NPUB_BUFFERS, sizeof *buffers);
	if (!buffers)
		return false;
	for (uint64_t i = 0; i < r->count[NPU_NPUB_BUFFERS]; i++) {
		const uint8_t *at = member(r, NPU_NPUB_BUFFERS, i);
		if (!get_string(r, at, &buffers[i].name))
			return false;
		buffers[i].local = get32(at + 4);
		buffers[i].bytes = get32(at + 8);
		buffers[i].first = get32(at + 12);
		buffers[i].end = get32(at + 16);
	}
	r->program->nbuffers = (uint32_t)r->count[NPU_NPUB_BUFFERS];
	r->program->buffers = buffers;
	return true;
}

static bool read_tables(struct reader *r)
{
	struct npu_table *tables = new_array(r, NPU_NPUB_TABLES, sizeof *tables);
	uint32_t *entries = new_array(r, NPU_NPUB_ENTRIES, sizeof *entries);
	uint64_t used = 0, nentries = r->count[NPU_NPUB_ENTRIES];
	if (!tables || !entries)
		return false;
	for (uint64_t i = 0; i < nentries; i++)
		entries[i] = get32(member(r, NPU_NPUB_ENTRIES, i));
	for (uint64_t i = 0; i < r->count[NPU_NPUB_TABLES]; i++) {
		const uint8_t *at = member(r, NPU_NPUB_TABLES, i);
		struct npu_table *t = &tables[i];
		if (!get_string(r, at, &t->name))
			return false;
		t->count = get32(at + 4);
		t->addr = get64(at + 8);
		if (get64(at + 16) != used || t->count > nentries - used)
			return refuse(r, "damaged: table %s does not lie in the %" PRIu64 " entries", t->name,
				      nentries);
		t->sequence = get32(at + 24);
		t->entries = entries + used;
		used += t->count;
	}
	if (used != nentries)
		return refuse(r, "damaged: %" PRIu64 " table entries, the tables hold %" PRIu64, nentries, used);
	r->program->ntables = (uint32_t)r->count[NPU_NPUB_TABLES];
	r->program->tables = tables;
	return true;
}

static bool read_pages(struct reader *r)
{
	struct npu_page_event *pages = new_array(r, NPU_NPUB_PAGES, sizeof *pages);
	struct npu_place *place = new_array(r, NPU_NPUB_PAGES, sizeof *place);
	if (!pages || !place)
		return false;
	for (uint64_t i = 0; i < r->count[NPU_NPUB_PAGES]; i++) {
		const uint8_t *at = member(r, NPU_NPUB_PAGES, i);
		pages[i] =
		    (struct npu_page_event){ get32(at), get32(at + 4), get32(at + 8), get32(at + 12), get32(at + 16) };
		if (r->version > 1)
			place[i] = get_place(r, at + 20);
	}
	r->program->page_place = r->version > 1 ? place : NULL;
	r->program->npages = (uint32_t)r->count[NPU_NPUB_PAGES];
	r->program->pages = pages;
	return true;
}

static bool read_regions_and_files(struct reader *r)
{
	struct npu_region *regions = new_array(r, NPU_NPUB_REGIONS, sizeof *regions);
	const char **files = new_array(r, NPU_NPUB_FILES, sizeof *files);
	if (!regions || !files)
		return false;
	for (uint64_t i = 0; i < r->count[NPU_NPUB_REGIONS]; i++) {
		const uint8_t *at = member(r, NPU_NPUB_REGIONS, i);
		if (!get_string(r, at, &regions[i].name))
			return false;
		regions[i].parent = get32(at + 4);
		/* parents come first: this also rules out circles */
		if (regions[i].parent >= i && regions[i].parent != NPU_NO_REGION)
			return refuse(r, "damaged: region %" PRIu64 " lies in region %" PRIu32, i, regions[i].parent);
	}
	for (uint64_t i = 0; i < r->count[NPU_NPUB_FILES]; i++)
		if (!get_string(r, member(r, NPU_NPUB_FILES, i), &files[i]))
			return false;
	r->program->nregions = (uint32_t)r->count[NPU_NPUB_REGIONS];
	r->program->regions = regions;
	r->program->nfiles = (uint32_t)r->count[NPU_NPUB_FILES];
	r->program->files = files;
	return true;
}

static bool read_calls(struct reader *r)
{
	struct npu_call *calls = new_array(r, NPU_NPUB_CALLS, sizeof *calls);
	if (!calls)
		return false;
	for (uint64_t i = 0; i < r->count[NPU_NPUB_CALLS]; i++) {
		const uint8_t *at = member(r, NPU_NPUB_CALLS, i);
		if (!get_string(r, at, &calls[i].name))
			return false;
		calls[i].at = get_place(r, at + 4);
	}
	r->program->ncalls = (uint32_t)r->count[NPU_NPUB_CALLS];
	r->program->calls = calls;
	return true;
}

static bool read_program(struct reader *r)
{
	if (!read_header(r) || !read_sections(r) || !read_strings(r) ||
	    !get_string(r, r->bytes + 32, &r->program->name) || !read_insns(r) || !read_sems(r) || !read_tensors(r) ||
	    !read_buffers(r) || !read_tables(r) || !read_pages(r) || !read_regions_and_files(r) || !read_calls(r))
		return false;
	if (!npu_program_seal(r->program, r->err)) {
		if (r->err && !r->err->file[0])
			npu_error_place(r->err, r->file, 0, 0);
		return false;
	}
	uint64_t hash = get64(r->bytes + 24);
	return r->program->hash == hash ||
	       refuse(r, "damaged: its contents have the hash %016" PRIx64 ", its header says %016" PRIx64,
		      r->program->hash, hash);
}

static struct npu_program *new_program(void)
{
	struct npu_arena *arena = npu_arena_new();
	struct npu_program *program = arena ? npu_arena_alloc(arena, 1, sizeof *program) : NULL;
	if (!program)
		npu_arena_free(arena);
	else
		program->arena = arena;
	return program;
}

struct npu_program *npu_program_decode(const uint8_t *bytes, uint64_t nbytes, const char *file, struct npu_error *err)
{
	struct reader r = {
		.bytes = bytes, .nbytes = nbytes, .file = file ? file : "", .err = err, .program = new_program()
	};
	if (!r.program) {
		out_of_memory(&r);
		return NULL;
	}
	if (!read_program(&r)) {
		npu_program_free(r.program);
		return NULL;
	}
	return r.program;
}

/* The bytes of something that cannot be mapped: a pipe. NULL: errno tells why. */
static uint8_t *read_stream(int fd, uint64_t *nbytes)
{
	uint8_t *bytes = NULL;
	uint64_t capacity = 0;
	*nbytes = 0;
	for (;;) {
		if (*nbytes == capacity) {
			capacity = capacity ? capacity * 2 : 64 * 1024;
			uint8_t *grown = realloc(bytes, capacity);
			if (!grown)
				break;
			bytes = grown;
		}
		ssize_t n = read(fd, bytes + *nbytes, capacity - *nbytes);
		if (n == 0)
			return bytes;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		*nbytes += (uint64_t)n;
	}
	free(bytes);
	return NULL;
}

static struct npu_program *read_open_file(int fd, const char *path, struct npu_error *err)
{
	struct npu_program *program = NULL;
	struct stat st;
	uint64_t nbytes;
	bool mapped = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
	void *bytes;
	if (mapped) {
		nbytes = (uint64_t)st.st_size;
		bytes = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE, fd, 0);
		bytes = bytes == MAP_FAILED ? NULL : bytes;
	} else {
		bytes = read_stream(fd, &nbytes);
	}
	if (!bytes) {
		npu_fail_at(err, NPU_ERR_IO, path, 0, 0, "cannot be read: %s", strerror(errno));
		return NULL;
	}
	program = npu_program_decode(bytes, nbytes, path, err);
	if (mapped)
		munmap(bytes, nbytes);
	else
		free(bytes);
	return program;
}

struct npu_program *npu_program_read(const char *path, struct npu_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		npu_fail_at(err, NPU_ERR_IO, path, 0, 0, "cannot be read: %s", strerror(errno));
		return NULL;
	}
	struct npu_program *program = read_open_file(fd, path, err);
	close(fd);
	return program;
}
