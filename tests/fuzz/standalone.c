/* SPDX-License-Identifier: Apache-2.0 */
/* A main for fuzzers where libFuzzer is not at hand: NAME_fuzz [-n MUTATIONS] FILE|FOLDER...
 * Feeds each file and MUTATIONS variants of it, which depend on the file's bytes alone. No coverage guidance.
 * Exit 0: no finding. 1: a finding; its input is written to the current folder. 2: usage, or no seed at all. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_EDITS = 8,       /* edits that make a mutation */
    MAX_GROWTH = 64,     /* bytes that one edit may add */
    SECONDS_A_SEED = 60, /* a seed and all its mutations; longer is a hang */
};

struct bytes {
    uint8_t *data;
    size_t size;
};

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t hash(struct bytes b) /* FNV-1a */
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < b.size; i++)
        h = (h ^ b.data[i]) * 0x100000001b3u;
    return h;
}

static void *allocate(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p) {
        perror("fuzz");
        exit(2);
    }
    return p;
}

/* One edit in place. b->data has room for MAX_GROWTH more bytes. */
static void edit(struct bytes *b, uint64_t *random)
{
    static const uint8_t borders[] = { 0x00, 0x01, 0x7f, 0x80, 0xff, '\n', ' ', '"', '9', '-' };
    enum { FLIP_BIT, SET_BYTE, SET_BORDER, CUT, REMOVE, REPEAT, EDITS } kind = next_random(random) % EDITS;
    if (b->size == 0) {
        b->data[b->size++] = (uint8_t)next_random(random);
        return;
    }
    size_t at = next_random(random) % b->size;
    size_t most = b->size - at < MAX_GROWTH ? b->size - at : MAX_GROWTH;
    size_t count = 1 + next_random(random) % most;
    uint64_t value = next_random(random);
    switch (kind) {
    case FLIP_BIT:
        b->data[at] ^= (uint8_t)(1u << value % 8);
        break;
    case SET_BYTE:
        b->data[at] = (uint8_t)value;
        break;
    case SET_BORDER:
        b->data[at] = borders[value % sizeof borders];
        break;
    case CUT:
        b->size = at;
        break;
    case REMOVE:
        memmove(b->data + at, b->data + at + count, b->size - at - count);
        b->size -= count;
        break;
    case REPEAT:
        memmove(b->data + at + count, b->data + at, b->size - at);
        b->size += count;
        break;
    case EDITS:
        abort();
    }
}

/* Variant number n of seed, on the heap in a block of exactly its size, so that a sanitizer sees reads past it.
 * Number 0 is the seed itself. */
static struct bytes variant(struct bytes seed, unsigned long n)
{
    struct bytes work = { allocate(seed.size + MAX_EDITS * MAX_GROWTH), seed.size };
    memcpy(work.data, seed.data, seed.size);
    if (n > 0) {
        uint64_t random = hash(seed) + n * 0xd1342543de82ef95u;
        for (unsigned edits = 1 + next_random(&random) % MAX_EDITS; edits > 0; edits--)
            edit(&work, &random);
    }
    struct bytes exact = { allocate(work.size), work.size };
    memcpy(exact.data, work.data, work.size);
    free(work.data);
    return exact;
}

static struct bytes read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        fprintf(stderr, "fuzz: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    size_t size = (size_t)ftell(f);
    struct bytes b = { allocate(size), size };
    rewind(f);
    if (fread(b.data, 1, size, f) != size) {
        fprintf(stderr, "fuzz: %s: cannot be read\n", path);
        exit(2);
    }
    fclose(f);
    return b;
}

static void keep(struct bytes b, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b.data, 1, b.size, f) != b.size || fclose(f) != 0)
        fprintf(stderr, "fuzz: %s: %s\n", path, strerror(errno));
}

/* Runs path and its mutations in a child, which tells through *progress how far it came. Returns 1 for a finding. */
static int run_seed(const char *path, unsigned long mutations, volatile unsigned long *progress)
{
    struct bytes seed = read_file(path);
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_A_SEED);
        for (unsigned long n = 0; n <= mutations; n++) {
            *progress = n;
            struct bytes input = variant(seed, n);
            LLVMFuzzerTestOneInput(input.data, input.size);
            free(input.data);
        }
        free(seed.data);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fuzz");
        exit(2);
    }
    int finding = status != 0;
    if (finding) {
        char name[64];
        snprintf(name, sizeof name, "crash-%016llx-%lu", (unsigned long long)hash(seed), *progress);
        struct bytes input = variant(seed, *progress);
        keep(input, name);
        free(input.data);
        fprintf(stderr, "fuzz: %s, mutation %lu: %s %d; input kept in %s\n", path, *progress,
                WIFSIGNALED(status) ? "signal" : "exit status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), name);
    }
    free(seed.data);
    return finding;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    unsigned long mutations = 100, seeds = 0, findings = 0;
    int option;
    while ((option = getopt(argc, argv, "n:")) != -1) {
        if (option != 'n') {
            fprintf(stderr, "usage: %s [-n MUTATIONS] FILE|FOLDER...\n", argv[0]);
            return 2;
        }
        mutations = strtoul(optarg, NULL, 10);
    }
    volatile unsigned long *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) {
        perror("fuzz");
        return 2;
    }
    for (int i = optind; i < argc; i++) {
        struct dirent **entries;
        int count = scandir(argv[i], &entries, is_visible, alphasort);
        if (count < 0) {
            findings += (unsigned long)run_seed(argv[i], mutations, progress);
            seeds++;
            continue;
        }
        for (int e = 0; e < count; e++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[i], entries[e]->d_name);
            findings += (unsigned long)run_seed(path, mutations, progress);
            seeds++;
            free(entries[e]);
        }
        free(entries);
    }
    if (seeds == 0) {
        fprintf(stderr, "fuzz: no seeds; put at least one input in the corpus folder\n");
        return 2;
    }
    printf("%lu seeds, %lu mutations of each, %lu findings\n", seeds, mutations, findings);
    return findings > 0;
}
