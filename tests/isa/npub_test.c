/* SPDX-License-Identifier: Apache-2.0 */
/* Binary form: nothing is lost, and no damage passes unseen or does harm. */
#include "isa/program.h"
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
	ck_assert_str_eq(err.text, "version 9 of .npub; this program reads version 1");
	bytes[0] = 'x';
	ck_assert_ptr_null(npu_program_decode(bytes, n, "t.npub", &err));
	ck_assert_str_eq(err.text, "not a .npub program: it does not begin with its magic number");
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
