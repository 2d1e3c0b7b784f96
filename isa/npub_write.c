/* SPDX-License-Identifier: Apache-2.0 */
/* Writes .npub: sizes first, then every byte at its final place, then the file beside its name and over it. */
#include "isa/npub.h"
#include "isa/program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct writer {
	const struct npu_program *program;
	uint8_t *bytes;
	uint64_t offset[NPU_NPUB_NSECTIONS];
	uint64_t count[NPU_NPUB_NSECTIONS];
	uint64_t size;
	uint32_t strings; /* bytes of strings written */
};

static uint8_t *put32(uint8_t *at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * i);
	return at + 4;
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
	return put32(put32(at, (uint32_t)value), (uint32_t)(value >> 32));
}

static uint64_t string_bytes(const struct npu_program *p)
{
	uint64_t n = strlen(p->name) + 1;
	for (uint32_t i = 0; i < p->nsems; i++)
		n += strlen(p->sems[i].name) + 1;
	for (uint32_t i = 0; i < p->ntensors; i++)
		n += strlen(p->tensors[i].name) + 1;
	for (uint32_t i = 0; i < p->nbuffers; i++)
		n += strlen(p->buffers[i].name) + 1;
	for (uint32_t i = 0; i < p->ntables; i++)
		n += strlen(p->tables[i].name) + 1;
	for (uint32_t i = 0; i < p->nregions; i++)
		n += strlen(p->regions[i].name) + 1;
	for (uint32_t i = 0; i < p->nfiles; i++)
		n += strlen(p->files[i]) + 1;
	for (uint32_t i = 0; i < p->ncalls; i++)
		n += strlen(p->calls[i].name) + 1;
	return n;
}

static void plan(struct writer *w)
{
	const struct npu_program *p = w->program;
	uint64_t entries = 0;
	for (uint32_t i = 0; i < p->ntables; i++)
		entries += p->tables[i].count;
	w->count[NPU_NPUB_INSNS] = w->count[NPU_NPUB_PLACES] = w->count[NPU_NPUB_INSIDE] = p->ninsns;
	w->count[NPU_NPUB_SEMS] = p->nsems;
	w->count[NPU_NPUB_TENSORS] = p->ntensors;
	w->count[NPU_NPUB_BUFFERS] = p->nbuffers;
	w->count[NPU_NPUB_TABLES] = p->ntables;
	w->count[NPU_NPUB_ENTRIES] = entries;
	w->count[NPU_NPUB_PAGES] = p->npages;
	w->count[NPU_NPUB_REGIONS] = p->nregions;
	w->count[NPU_NPUB_FILES] = p->nfiles;
	w->count[NPU_NPUB_CALLS] = p->ncalls;
	for (uint32_t i = 0; i < p->ntensors; i++)
		w->count[NPU_NPUB_SEEDS] += p->tensors[i].seeded;
	w->count[NPU_NPUB_STRINGS] = string_bytes(p);
	w->size = NPU_NPUB_HEADER_BYTES + NPU_NPUB_NSECTIONS * NPU_NPUB_ENTRY_BYTES;
	for (unsigned s = 0; s < NPU_NPUB_NSECTIONS; s++) {
		w->offset[s] = (w->size + NPU_NPUB_ALIGNMENT - 1) / NPU_NPUB_ALIGNMENT * NPU_NPUB_ALIGNMENT;
		w->size = w->offset[s] + w->count[s] * npu_npub_member_bytes[s];
	}
}

static uint8_t *section(struct writer *w, enum npu_npub_section s)
{
	return w->bytes + w->offset[s];
}

static uint32_t put_string(struct writer *w, const char *text)
{
	uint32_t at = w->strings;
	size_t length = strlen(text) + 1;
	memcpy(section(w, NPU_NPUB_STRINGS) + at, text, length);
	w->strings += (uint32_t)length;
	return at;
}

static void put_header(struct writer *w)
{
	uint8_t *at = w->bytes;
	memcpy(at, npu_npub_magic, sizeof npu_npub_magic);
	at = put32(at + sizeof npu_npub_magic, NPU_NPUB_VERSION);
	at = put32(at, NPU_NPUB_NSECTIONS);
	at = put64(at, w->size);
	at = put64(at, w->program->hash);
	put32(at, put_string(w, w->program->name));
	at = w->bytes + NPU_NPUB_HEADER_BYTES;
	for (unsigned s = 0; s < NPU_NPUB_NSECTIONS; s++) {
		at = put32(at, s);
		at = put32(at, npu_npub_member_bytes[s]);
		at = put64(at, w->offset[s]);
		at = put64(at, w->count[s]);
		at = put64(at, 0);
	}
}

static uint8_t *put_place(uint8_t *at, const struct npu_place *place)
{
	return put32(put32(put32(at, place->file), place->line), place->call);
}

static void put_insns(struct writer *w)
{
	const struct npu_program *p = w->program;
	uint8_t *insn = section(w, NPU_NPUB_INSNS), *place = section(w, NPU_NPUB_PLACES),
		*inside = section(w, NPU_NPUB_INSIDE);
	for (uint32_t i = 0; i < p->ninsns; i++) {
		uint64_t words[NPU_INSN_WORDS];
		npu_insn_encode(&p->insns[i], words);
		for (unsigned word = 0; word < NPU_INSN_WORDS; word++)
			insn = put64(insn, words[word]);
		place = put_place(place, &p->place[i]);
		inside = put32(inside, p->region[i]);
	}
}

static void put_sems(struct writer *w)
{
	uint8_t *at = section(w, NPU_NPUB_SEMS);
	for (uint32_t i = 0; i < w->program->nsems; i++) {
		const struct npu_sem *sem = &w->program->sems[i];
		at = put32(at, put_string(w, sem->name));
		at = put32(at, sem->initial);
		at = put32(at, sem->max);
	}
}

static void put_tensors(struct writer *w)
{
	uint8_t *at = section(w, NPU_NPUB_TENSORS);
	for (uint32_t i = 0; i < w->program->ntensors; i++) {
		const struct npu_tensor *t = &w->program->tensors[i];
		at = put32(at, put_string(w, t->name));
		at = put32(at, (uint32_t)t->dtype | t->layout << 8 | (uint32_t)t->dir << 16 | t->rank << 24);
		at = put64(at, t->addr);
		at = put64(at, t->bytes);
		for (uint32_t d = 0; d < NPU_MAX_RANK; d++)
			at = put64(at, d < t->rank ? t->shape[d] : 0);
	}
}

static void put_buffers(struct writer *w)
{
	uint8_t *at = section(w, NPU_NPUB_BUFFERS);
	for (uint32_t i = 0; i < w->program->nbuffers; i++) {
		const struct npu_buffer *b = &w->program->buffers[i];
		at = put32(at, put_string(w, b->name));
		at = put32(at, b->local);
		at = put32(at, b->bytes);
		at = put32(at, b->first);
		at = put32(at, b->end);
		at = put32(at, 0);
	}
}

static void put_tables(struct writer *w)
{
	uint8_t *at = section(w, NPU_NPUB_TABLES), *entry = section(w, NPU_NPUB_ENTRIES);
	uint64_t first = 0;
	for (uint32_t i = 0; i < w->program->ntables; i++) {
		const struct npu_table *t = &w->program->tables[i];
		at = put32(at, put_string(w, t->name));
		at = put32(at, t->count);
		at = put64(at, t->addr);
		at = put64(at, first);
		at = put32(at, t->sequence);
		at = put32(at, 0);
		first += t->count;
		for (uint32_t j = 0; j < t->count; j++)
			entry = put32(entry, t->entries[j]);
	}
}

static void put_pages(struct writer *w)
{
	uint8_t *at = section(w, NPU_NPUB_PAGES);
	for (uint32_t i = 0; i < w->program->npages; i++) {
		const struct npu_page_event *e = &w->program->pages[i];
		at = put32(put32(put32(at, e->insn), e->pool), e->page);
		at = put32(put32(at, e->state), e->sequence);
		at = put_place(at, w->program->page_place ? &w->program->page_place[i] : &(struct npu_place){ 0 });
	}
}

static void put_regions_and_files(struct writer *w)
{
	uint8_t *at = section(w, NPU_NPUB_REGIONS);
	for (uint32_t i = 0; i < w->program->nregions; i++) {
		at = put32(at, put_string(w, w->program->regions[i].name));
		at = put32(at, w->program->regions[i].parent);
	}
	at = section(w, NPU_NPUB_FILES);
	for (uint32_t i = 0; i < w->program->nfiles; i++)
		at = put32(at, put_string(w, w->program->files[i]));
}

static void put_calls(struct writer *w)
{
	uint8_t *at = section(w, NPU_NPUB_CALLS);
	for (uint32_t i = 0; i < w->program->ncalls; i++) {
		at = put32(at, put_string(w, w->program->calls[i].name));
		at = put_place(at, &w->program->calls[i].at);
	}
}

static void put_seeds(struct writer *w)
{
	uint8_t *at = section(w, NPU_NPUB_SEEDS);
	for (uint32_t i = 0; i < w->program->ntensors; i++)
		if (w->program->tensors[i].seeded)
			at = put64(put32(put32(at, i), 0), w->program->tensors[i].seed);
}

uint64_t npu_program_encode(const struct npu_program *program, uint8_t **out)
{
	struct writer w = { .program = program };
	plan(&w);
	/* offsets of strings are 32 bits wide */
	w.bytes = w.count[NPU_NPUB_STRINGS] <= UINT32_MAX ? calloc(1, w.size) : NULL;
	if (!w.bytes)
		return 0;
	put_header(&w);
	put_insns(&w);
	put_sems(&w);
	put_tensors(&w);
	put_buffers(&w);
	put_tables(&w);
	put_pages(&w);
	put_regions_and_files(&w);
	put_calls(&w);
	put_seeds(&w);
	*out = w.bytes;
	return w.size;
}

static bool write_all(int fd, const uint8_t *bytes, uint64_t nbytes)
{
	while (nbytes) {
		ssize_t n = write(fd, bytes, nbytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		nbytes -= (uint64_t)n;
	}
	return true;
}

/* Opens, writes and closes; errno tells what failed. */
static bool write_file(const char *path, int flags, const uint8_t *bytes, uint64_t nbytes)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
	if (fd < 0)
		return false;
	bool ok = write_all(fd, bytes, nbytes);
	int why = errno;
	if (close(fd) != 0 && ok)
		return false;
	errno = why;
	return ok;
}

/* Readers see the old file or the new one, never a part. */
static bool replace_file(const char *path, const uint8_t *bytes, uint64_t nbytes)
{
	size_t size = strlen(path) + 32;
	char *beside = malloc(size);
	if (!beside)
		return false;
	snprintf(beside, size, "%s.%ld.tmp", path, (long)getpid());
	bool ok = write_file(beside, O_CREAT | O_EXCL, bytes, nbytes) && rename(beside, path) == 0;
	int why = errno;
	if (!ok && why != EEXIST)
		unlink(beside);
	free(beside);
	errno = why;
	return ok;
}

bool npu_program_write(const struct npu_program *program, const char *path, struct npu_error *err)
{
	uint8_t *bytes;
	struct stat st;
	uint64_t nbytes = npu_program_encode(program, &bytes);
	if (!nbytes)
		return npu_fail_at(err, NPU_ERR_MEMORY, path, 0, 0, "out of memory");
	/* a pipe or a terminal is written to, not replaced by a file */
	bool special = stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
	bool ok = special ? write_file(path, 0, bytes, nbytes) : replace_file(path, bytes, nbytes);
	int why = errno;
	free(bytes);
	return ok || npu_fail_at(err, NPU_ERR_IO, path, 0, 0, "cannot be written: %s", strerror(why));
}
