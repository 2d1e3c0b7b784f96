/* SPDX-License-Identifier: Apache-2.0 */
/* Binary form: nothing is lost, and no damage passes unseen or does harm. */
#include "isa/program.h"
#include "isa/seal.h"
#include "tests/isa/random.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t encode(const struct npu_program *program, uint8_t **bytes)
{
	uint64_t n = npu_program_encode(program, bytes);
	ck_assert_uint_gt(n, 0);
	return n;
}

START_TEST(random_programs_survive_binary)
{
	struct rng rng = { (uint64_t)_i };
	for (unsigned round = 0; round < 50; round++) {
		struct npu_error err;
		struct npu_program *program = random_program(&rng, npu_nops);
		uint8_t *bytes, *again_bytes;
		uint64_t n = encode(program, &bytes);
		struct npu_program *again = npu_program_decode(bytes, n, "r.npub", &err);
		ck_assert_msg(again != NULL, "%s", err.text);
		assert_same_program(program, again);
		ck_assert_uint_eq(encode(again, &again_bytes), n);
		ck_assert_mem_eq(bytes, again_bytes, n);
		free(bytes);
		free(again_bytes);
		npu_program_free(program);
		npu_program_free(again);
	}
}
END_TEST

START_TEST(instructions_lie_at_a_multiple_of_64_bytes)
{
	struct rng rng = { 3 };
	struct npu_program *program = random_program(&rng, 5);
	uint8_t *bytes;
	encode(program, &bytes);
	/* the entry of the first section begins at byte 64; its offset is at byte 8 of it */
	uint64_t offset = bytes[72] | (uint64_t)bytes[73] << 8;
	ck_assert_uint_eq(offset % 64, 0);
	uint64_t words[NPU_INSN_WORDS];
	npu_insn_encode(&program->insns[0], words);
	for (unsigned i = 0; i < 64; i++)
		ck_assert_uint_eq(bytes[offset + i], words[i / 8] >> 8 * (i % 8) & 0xff);
	free(bytes);
	npu_program_free(program);
}
END_TEST

START_TEST(a_truncated_file_says_where_it_ends)
{
	struct rng rng = { 4 };
	struct npu_program *program = random_program(&rng, 20);
	uint8_t *bytes;
	uint64_t n = encode(program, &bytes);
	struct npu_error err;
	char wanted[100];
	for (uint64_t cut = 0; cut < n; cut++) {
		uint8_t *part = malloc(cut + 1); /* so that a sanitizer sees a read past the cut */
		uint8_t *exact = realloc(part, cut ? cut : 1);
		memcpy(exact, bytes, cut);
		if (npu_program_decode(exact, cut, "t.npub", &err))
			ck_abort_msg("accepted %llu of %llu bytes", (unsigned long long)cut, (unsigned long long)n);
		snprintf(wanted, sizeof wanted, "truncated: it ends at byte %llu", (unsigned long long)cut);
		if (cut >= 8 && strncmp(err.text, wanted, strlen(wanted)) != 0)
			ck_abort_msg("%s", err.text);
		free(exact);
	}
	ck_assert_ptr_null(npu_program_decode(bytes, n - 1, "t.npub", &err));
	snprintf(wanted, sizeof wanted, "truncated: it ends at byte %llu of %llu", (unsigned long long)n - 1,
		 (unsigned long long)n);
	ck_assert_str_eq(err.text, wanted);
	ck_assert_str_eq(err.file, "t.npub");
	ck_assert_int_eq(err.code, NPU_ERR_FORMAT);
	free(bytes);
	npu_program_free(program);
}
END_TEST

START_TEST(an_unknown_version_says_which_one_is_read)
{
	struct rng rng = { 4 };
	struct npu_program *program = random_program(&rng, 2);
	uint8_t *bytes;
	uint64_t n = encode(program, &bytes);
	struct npu_error err;
	bytes[8] = 9;
	ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
	ck_assert_str_eq(err.text, "version 9 of .npub; this program reads versions 1 to 3");
	bytes[0] = 'x';
	ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
	ck_assert_str_eq(err.text, "not a .npub program: it does not begin with its magic number");
	free(bytes);
	npu_program_free(program);
}
END_TEST

static void put32(uint8_t *at, uint64_t value)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get32(const uint8_t *at)
{
	return at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24;
}

/* What version 1 had: 12 sections, places of 8 bytes, pages of 20. Version 2: 13 as they are. Neither has seeds to hash. */
static uint64_t as_version(unsigned version, const struct npu_program *program, const uint8_t *bytes, uint8_t *out)
{
	enum { HEADER = 64, ENTRY = 32, PLACES = 1, PAGES = 8 };
	unsigned sections = 11 + version;
	uint64_t end = HEADER + sections * ENTRY;
	memcpy(out, bytes, HEADER + sections * ENTRY);
	put32(out + 8, version);
	put32(out + 12, sections);
	for (unsigned s = 0; s < sections; s++) {
		const uint8_t *entry = bytes + HEADER + s * ENTRY;
		uint64_t from = get32(entry + 8), count = get32(entry + 16), now = get32(entry + 4);
		uint64_t then = version > 1 ? now : s == PLACES ? 8 : s == PAGES ? 20 : now;
		end = (end + 63) / 64 * 64;
		put32(out + HEADER + s * ENTRY + 4, then);
		put32(out + HEADER + s * ENTRY + 8, end);
		for (uint64_t i = 0; i < count; i++, end += then)
			memcpy(out + end, bytes + from + i * now, then);
	}
	put32(out + 16, end);
	put32(out + 24, npu_program_time_hash(program));
	put32(out + 28, npu_program_time_hash(program) >> 32);
	return end;
}

START_TEST(version_1_is_read_and_has_no_macros_and_no_lines_of_records)
{
	struct rng rng = { 9 };
	struct npu_error err;
	struct npu_program *program = random_program(&rng, 60);
	uint8_t *bytes, *old;
	uint64_t n = encode(program, &bytes);
	old = calloc(1, n);
	struct npu_program *again = npu_program_decode(old, as_version(1, program, bytes, old), "old.npub", &err);
	ck_assert_msg(again != NULL, "%s", err.text);
	ck_assert_uint_eq(again->hash, npu_program_time_hash(program));
	ck_assert_uint_gt(program->ncalls, 0);
	ck_assert_uint_eq(again->ncalls, 0);
	ck_assert_uint_gt(again->npages, 0);
	ck_assert_ptr_null(again->page_place);
	for (uint32_t i = 0; i < again->ninsns; i++) {
		ck_assert_uint_eq(again->place[i].line, program->place[i].line);
		ck_assert_uint_eq(again->place[i].call, 0);
	}
	/* As text it is a program like any other. */
	char *text = npu_disasm_text(again), *twice;
	struct npu_program *third = npu_asm_text(text, strlen(text), "t.npu", &err);
	ck_assert_msg(third != NULL, "%s", err.text);
	ck_assert_str_eq(twice = npu_disasm_text(third), text);
	free(text);
	free(twice);
	free(old);
	free(bytes);
	npu_program_free(program);
	npu_program_free(again);
	npu_program_free(third);
}
END_TEST

START_TEST(version_2_is_read_and_has_no_seeds)
{
	struct rng rng = { 9 };
	struct npu_error err;
	struct npu_program *program = random_program(&rng, 60);
	uint8_t *bytes, *old = NULL;
	uint64_t n = encode(program, &bytes);
	unsigned seeds = 0;
	old = calloc(1, n);
	struct npu_program *again = npu_program_decode(old, as_version(2, program, bytes, old), "old.npub", &err);
	ck_assert_msg(again != NULL, "%s", err.text);
	ck_assert_uint_eq(again->hash, npu_program_time_hash(program));
	ck_assert_uint_ne(again->hash, program->hash);
	ck_assert_uint_eq(again->ncalls, program->ncalls);
	for (uint32_t i = 0; i < again->ntensors; i++) {
		seeds += program->tensors[i].seeded;
		ck_assert(!again->tensors[i].seeded);
	}
	ck_assert_uint_gt(seeds, 0);
	free(old);
	free(bytes);
	npu_program_free(program);
	npu_program_free(again);
}
END_TEST

START_TEST(a_seed_of_no_tensor_or_of_an_output_is_refused)
{
	enum { SEEDS = 13 };
	struct npu_error err;
	struct npu_assembly *assembly = npu_assembly_new("seeds");
	struct npu_tensor t = { .dtype = NPU_INT8, .rank = 1, .shape = { 4 }, .seeded = true, .seed = NPU_MAX_SEED };
	for (unsigned i = 0; i < 3; i++) {
		t.name = (const char *const[]){ "a", "b", "c" }[i];
		t.dir = i == 2 ? NPU_TENSOR_OUT : NPU_TENSOR_IN;
		t.seeded = i < 2;
		t.addr = 4 * i;
		npu_assembly_tensor(assembly, &t);
	}
	struct npu_program *program = npu_assembly_finish(assembly, &err);
	uint8_t *bytes;
	uint64_t n = encode(program, &bytes);
	uint8_t *seeds = bytes + get32(bytes + 64 + SEEDS * 32 + 8);
	const struct {
		unsigned first, second;
		const char *says;
	} wrong[] = { { 0, 0, "damaged: seed 1 is of tensor 0" },
		      { 1, 0, "damaged: seed 1 is of tensor 0" },
		      { 0, 3, "damaged: seed 1 is of tensor 3" },
		      { 0, 2, "tensor c: the program fills it: a seed is for inputs" } };
	for (unsigned i = 0; i < 4; i++) {
		put32(seeds, wrong[i].first);
		put32(seeds + 16, wrong[i].second);
		ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
		ck_assert_str_eq(err.text, wrong[i].says);
	}
	put32(seeds, 0);
	put32(seeds + 16, 1);
	for (unsigned byte = 8; byte < 15; byte++) {
		seeds[byte] ^= 1;
		ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
		ck_assert_msg(strstr(err.text, "damaged: its contents have the hash") != NULL, "%s", err.text);
		seeds[byte] ^= 1;
	}
	seeds[16 + 15] = 0x80;
	ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
	ck_assert_str_eq(err.text, "tensor b: its seed must be at most 2^63 - 1");
	seeds[16 + 15] = 0x7f;
	struct npu_program *again = npu_program_decode(bytes, n, "t.npub", &err);
	ck_assert_msg(again != NULL, "%s", err.text);
	ck_assert_uint_eq(again->tensors[0].seed, NPU_MAX_SEED);
	ck_assert_uint_eq(again->tensors[1].seed, NPU_MAX_SEED);
	npu_program_free(again);
	npu_program_free(program);
	free(bytes);
}
END_TEST

START_TEST(a_use_of_a_macro_in_a_later_one_is_refused)
{
	struct npu_error err;
	struct npu_assembly *assembly = npu_assembly_new("calls");
	uint32_t one = npu_assembly_call(assembly, "one", "a.npu", 3, 0);
	uint32_t two = npu_assembly_call(assembly, "two", "a.npu", 4, one);
	ck_assert_uint_eq(npu_assembly_call(assembly, "one", "a.npu", 3, 0), one);
	ck_assert_uint_eq(two, 2);
	npu_assembly_place(assembly, "a.npu", 5);
	npu_assembly_inside(assembly, two);
	npu_assembly_insn(assembly, &(struct npu_insn){ .op = NPU_OP_SYNC_LOAD });
	struct npu_program *program = npu_assembly_finish(assembly, &err);
	uint8_t *bytes;
	uint64_t n = encode(program, &bytes);
	/* u32 name, file, line, call of each. */
	uint8_t *calls = bytes + get32(bytes + 64 + 12 * 32 + 8);
	put32(calls + 12, 2);
	ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
	ck_assert_str_eq(err.text, "use of a macro 1 stands in use 2 of a macro, of 0");
	put32(calls + 12, 0);
	put32(calls + 16 + 4, 77);
	ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "use of a macro 2 was written in file 77 of "));
	free(bytes);
	npu_program_free(program);
}
END_TEST

START_TEST(a_changed_byte_is_refused_or_leaves_a_sound_program)
{
	struct rng rng = { 6 };
	struct npu_program *program = random_program(&rng, 20);
	uint8_t *bytes;
	uint64_t n = encode(program, &bytes);
	unsigned refused = 0, tries = 20000;
	for (unsigned i = 0; i < tries; i++) {
		uint64_t at = rng_next(&rng) % n;
		uint8_t old = bytes[at];
		bytes[at] ^= (uint8_t)(1 + rng_below(&rng, 255));
		struct npu_program *again = npu_program_decode(bytes, n, "t.npub", NULL);
		if (again && !npu_program_check(again, NULL))
			ck_abort_msg("byte %llu", (unsigned long long)at);
		refused += !again;
		npu_program_free(again);
		bytes[at] = old;
	}
	/* names, places, buffers and regions are not in the hash; most other bytes are */
	ck_assert_uint_gt(refused, tries / 4);
	free(bytes);
	npu_program_free(program);
}
END_TEST

START_TEST(sections_may_not_overlap)
{
	struct rng rng = { 4 };
	struct npu_program *program = random_program(&rng, 4);
	uint8_t *bytes;
	uint64_t n = encode(program, &bytes);
	struct npu_error err;
	for (unsigned section = 0; section < 11; section++) {
		uint8_t *offset = bytes + 64 + 32 * section + 8, old[2] = { offset[0], offset[1] };
		offset[0] = offset[1] = 0; /* the section begins with the header */
		ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
		ck_assert_ptr_nonnull(strstr(err.text, "it should begin at byte"));
		memcpy(offset, old, sizeof old);
	}
	free(bytes);
	npu_program_free(program);
}
END_TEST

START_TEST(a_changed_operand_is_seen_by_the_hash)
{
	struct npu_assembly *assembly = npu_assembly_new("one");
	struct npu_insn insn = npu_insn_initial(NPU_OP_LOAD);
	insn.dma.rows = insn.dma.cols = 4;
	npu_assembly_insn(assembly, &insn);
	struct npu_program *program = npu_assembly_finish(assembly, NULL);
	uint8_t *bytes;
	uint64_t n = encode(program, &bytes), offset = bytes[72] | (uint64_t)bytes[73] << 8;
	struct npu_error err;
	bytes[offset + 8 * 4] ^= 64; /* dram address 0 -> 64 */
	ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "damaged: its contents have the hash"));
	bytes[offset] = 0xee;
	ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "instruction #0 at byte"));
	ck_assert_ptr_nonnull(strstr(err.text, "unknown opcode 0xee"));
	free(bytes);
	npu_program_free(program);
}
END_TEST

START_TEST(files_are_replaced_whole)
{
	struct rng rng = { 8 };
	char folder[] = "/tmp/npub_test_XXXXXX", path[64];
	struct npu_error err;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/p.npub", folder);
	for (unsigned round = 0; round < 2; round++) {
		struct npu_program *program = random_program(&rng, 30);
		ck_assert_msg(npu_program_write(program, path, &err), "%s", err.text);
		struct npu_program *again = npu_program_read(path, &err);
		ck_assert_msg(again != NULL, "%s", err.text);
		assert_same_program(program, again);
		npu_program_free(program);
		npu_program_free(again);
	}
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0); /* nothing else was left behind */
}
END_TEST

START_TEST(files_that_cannot_be_used_are_named)
{
	struct rng rng = { 8 };
	struct npu_program *program = random_program(&rng, 1);
	struct npu_error err;
	char text[256];
	ck_assert(!npu_program_write(program, "/nowhere/p.npub", &err));
	ck_assert_str_eq(npu_error_print(&err, text, sizeof text),
			 "/nowhere/p.npub: cannot be written: No such file or directory");
	ck_assert_int_eq(err.code, NPU_ERR_IO);
	ck_assert(!npu_program_write(program, "/tmp", &err));
	ck_assert_ptr_null(npu_program_read("/nowhere/p.npub", &err));
	ck_assert_str_eq(npu_error_print(&err, text, sizeof text),
			 "/nowhere/p.npub: cannot be read: No such file or directory");
	ck_assert_ptr_null(npu_program_read("/tmp", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "cannot be read"));
	ck_assert_ptr_null(npu_program_read("/dev/null", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "not a .npub program"));
	npu_program_free(program);
}
END_TEST

START_TEST(a_pipe_is_read_and_written)
{
	struct rng rng = { 8 };
	struct npu_program *program = random_program(&rng, 10);
	char folder[] = "/tmp/npub_test_XXXXXX", path[64];
	struct npu_error err;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/fifo", folder);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(npu_program_write(program, path, NULL) ? 0 : 1);
	struct npu_program *again = npu_program_read(path, &err);
	ck_assert_msg(again != NULL, "%s", err.text);
	assert_same_program(program, again);
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert(S_ISFIFO(st.st_mode));
	unlink(path);
	rmdir(folder);
	npu_program_free(program);
	npu_program_free(again);
}
END_TEST

static Suite *npub_suite(void)
{
	Suite *suite = suite_create("isa.npub");
	TCase *tests = tcase_create("npub");
	tcase_add_loop_test(tests, random_programs_survive_binary, 0, 20);
	tcase_add_test(tests, instructions_lie_at_a_multiple_of_64_bytes);
	tcase_add_test(tests, a_truncated_file_says_where_it_ends);
	tcase_add_test(tests, an_unknown_version_says_which_one_is_read);
	tcase_add_test(tests, version_1_is_read_and_has_no_macros_and_no_lines_of_records);
	tcase_add_test(tests, version_2_is_read_and_has_no_seeds);
	tcase_add_test(tests, a_seed_of_no_tensor_or_of_an_output_is_refused);
	tcase_add_test(tests, version_2_is_read_and_has_no_seeds);
	tcase_add_test(tests, a_seed_of_no_tensor_or_of_an_output_is_refused);
	tcase_add_test(tests, a_use_of_a_macro_in_a_later_one_is_refused);
	tcase_add_test(tests, a_changed_byte_is_refused_or_leaves_a_sound_program);
	tcase_add_test(tests, sections_may_not_overlap);
	tcase_add_test(tests, a_changed_operand_is_seen_by_the_hash);
	tcase_add_test(tests, files_are_replaced_whole);
	tcase_add_test(tests, files_that_cannot_be_used_are_named);
	tcase_add_test(tests, a_pipe_is_read_and_written);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return npu_suite_run(npub_suite());
}
