/* SPDX-License-Identifier: Apache-2.0 */
/* Output files: whole or not at all, whatever stands at their place. */
#include "sim/output.h"
#include "tests/sim/folder.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Check's own handlers would keep ours from being installed. */
static void default_signals(void)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}

static const char *get(const char *path)
{
	static char text[256];
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	return text;
}

static unsigned files_here(void)
{
	DIR *dir = opendir(".");
	unsigned n = 0;
	for (struct dirent *entry; (entry = readdir(dir));)
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return n;
}

static struct output *begin(const char *path, const char *text)
{
	struct npu_error err = { 0 };
	struct output *output = output_open(path, &err);
	ck_assert_msg(output != NULL, "%s", err.text);
	fputs(text, output_stream(output));
	fflush(output_stream(output));
	return output;
}

static void finish(struct output *output)
{
	struct npu_error err = { 0 };
	ck_assert_msg(output_commit(output, &err), "%s", err.text);
}

static const char *refusal(const char *path)
{
	static struct npu_error err;
	err = (struct npu_error){ 0 };
	ck_assert_ptr_null(output_open(path, &err));
	ck_assert_int_eq(err.code, NPU_ERR_IO);
	return err.text;
}

START_TEST(a_file_appears_when_it_is_committed)
{
	struct output *output = begin("f", "new");
	ck_assert_int_ne(access("f", F_OK), 0);
	finish(output);
	ck_assert_str_eq(get("f"), "new");
	ck_assert_uint_eq(files_here(), 1);
}
END_TEST

START_TEST(until_then_the_old_file_is_there)
{
	folder_write("f", "old");
	struct output *output = begin("f", "new");
	ck_assert_str_eq(get("f"), "old");
	finish(output);
	ck_assert_str_eq(get("f"), "new");
}
END_TEST

START_TEST(an_aborted_output_leaves_what_was_there_and_nothing_else)
{
	folder_write("f", "old");
	output_abort(begin("f", "half"));
	output_abort(begin("g", "half"));
	output_abort(NULL);
	ck_assert_str_eq(get("f"), "old");
	ck_assert_uint_eq(files_here(), 1);
}
END_TEST

START_TEST(permissions_are_the_old_files_or_those_of_a_new_one)
{
	struct stat st;
	folder_write("f", "old");
	chmod("f", 0640);
	finish(begin("f", "new"));
	ck_assert_int_eq(stat("f", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	umask(027);
	finish(begin("g", "new"));
	ck_assert_int_eq(stat("g", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640); /* 0666 less 027 */
}
END_TEST

START_TEST(a_symbolic_link_stays_one)
{
	struct stat st;
	ck_assert_int_eq(mkdir("d", 0777), 0);
	folder_write("d/f", "old");
	ck_assert_int_eq(symlink("d/f", "link"), 0);
	finish(begin("link", "new"));
	ck_assert_int_eq(lstat("link", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_str_eq(get("d/f"), "new");
}
END_TEST

START_TEST(folders_and_missing_folders_are_refused)
{
	ck_assert_int_eq(mkdir("d", 0777), 0);
	ck_assert_str_eq(refusal("d"), "d: cannot be written: it is a folder; name a file");
	ck_assert_str_eq(refusal("none/f"), "none/f: cannot be written: No such file or directory");
	ck_assert_str_eq(refusal(""), "an empty file name cannot be written");
	folder_write("f", "a file");
	ck_assert_str_eq(refusal("f/"), "f/: cannot be written: Not a directory");
}
END_TEST

START_TEST(devices_and_pipes_are_written_directly)
{
	struct stat st;
	finish(begin("/dev/null", "text"));
	ck_assert_int_eq(stat("/dev/null", &st), 0);
	ck_assert(S_ISCHR(st.st_mode));

	ck_assert_int_eq(mkfifo("pipe", 0666), 0);
	int reader = open("pipe", O_RDONLY | O_NONBLOCK);
	finish(begin("pipe", "through"));
	char text[16] = "";
	ck_assert_int_eq(read(reader, text, sizeof text), 7);
	ck_assert_str_eq(text, "through");
	close(reader);
}
END_TEST

START_TEST(a_full_disk_is_told_at_the_commit)
{
	struct npu_error err = { 0 };
	struct output *output = output_open("/dev/full", &err);
	ck_assert_ptr_nonnull(output);
	fputs("text", output_stream(output));
	ck_assert(!output_commit(output, &err));
	ck_assert_str_eq(err.text, "/dev/full: cannot be written: No space left on device");
}
END_TEST

START_TEST(a_write_that_failed_earlier_is_told_too)
{
	struct npu_error err = { 0 };
	struct output *output = output_open("/dev/full", &err);
	for (unsigned i = 0; i < 1000; i++)
		fputs("text that does not fit into the buffer of the stream", output_stream(output));
	ck_assert(!output_commit(output, &err));
	ck_assert_str_eq(err.text, "/dev/full: cannot be written: No space left on device");
}
END_TEST

/* A child with an open output, ended by `sig`. */
static void interrupt(int sig)
{
	int ready[2], status;
	char byte;
	ck_assert_int_eq(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		begin("f", "half");
		begin("g", "half");
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_uint_ge(files_here(), 3);
	ck_assert_int_eq(kill(child, sig), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == sig);
	close(ready[0]);
	close(ready[1]);
}

START_TEST(an_interrupted_run_leaves_nothing_behind)
{
	folder_write("f", "old");
	interrupt(SIGINT);
	interrupt(SIGTERM);
	interrupt(SIGHUP);
	ck_assert_str_eq(get("f"), "old");
	ck_assert_uint_eq(files_here(), 1);
}
END_TEST

START_TEST(a_killed_run_leaves_a_file_with_a_telling_name_and_the_next_takes_it_away)
{
	folder_write("f", "old");
	folder_write("f.npusim-notes", "a person's: five letters");
	interrupt(SIGKILL);
	ck_assert_str_eq(get("f"), "old");
	glob_t found;
	ck_assert_int_eq(glob("f.npusim-??????", 0, NULL, &found), 0);
	ck_assert_uint_eq(found.gl_pathc, 1);
	ck_assert_str_eq(get(found.gl_pathv[0]), "half");
	globfree(&found);
	finish(begin("f", "new"));
	ck_assert_str_eq(get("f"), "new");
	ck_assert_int_ne(glob("f.npusim-??????", 0, NULL, &found), 0);
	globfree(&found);
	ck_assert_int_eq(access("f.npusim-notes", F_OK), 0);
	/* The file of another target stays until that one is written. */
	ck_assert_int_eq(glob("g.npusim-??????", 0, NULL, &found), 0);
	globfree(&found);
}
END_TEST

START_TEST(a_run_does_not_take_the_file_of_one_that_still_writes)
{
	struct output *first = begin("f", "first"), *second = begin("f", "second");
	finish(first);
	ck_assert_str_eq(get("f"), "first");
	finish(second);
	ck_assert_str_eq(get("f"), "second");
	ck_assert_uint_eq(files_here(), 1);
}
END_TEST

START_TEST(a_child_that_ends_does_not_take_its_parents_file)
{
	int status;
	struct output *output = begin("f", "new");
	pid_t child = fork();
	if (child == 0) {
		raise(SIGTERM);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	finish(output);
	ck_assert_str_eq(get("f"), "new");
}
END_TEST

START_TEST(the_longest_names_work)
{
	char name[256];
	memset(name, 'n', 255);
	name[255] = '\0';
	finish(begin(name, "new"));
	ck_assert_str_eq(get(name), "new");
}
END_TEST

static Suite *output_suite(void)
{
	Suite *suite = suite_create("output");
	TCase *tests = tcase_create("output");
	folder_use(tests);
	tcase_add_checked_fixture(tests, default_signals, NULL);
	tcase_add_test(tests, a_file_appears_when_it_is_committed);
	tcase_add_test(tests, until_then_the_old_file_is_there);
	tcase_add_test(tests, an_aborted_output_leaves_what_was_there_and_nothing_else);
	tcase_add_test(tests, permissions_are_the_old_files_or_those_of_a_new_one);
	tcase_add_test(tests, a_symbolic_link_stays_one);
	tcase_add_test(tests, folders_and_missing_folders_are_refused);
	tcase_add_test(tests, devices_and_pipes_are_written_directly);
	tcase_add_test(tests, a_full_disk_is_told_at_the_commit);
	tcase_add_test(tests, a_write_that_failed_earlier_is_told_too);
	tcase_add_test(tests, an_interrupted_run_leaves_nothing_behind);
	tcase_add_test(tests, a_killed_run_leaves_a_file_with_a_telling_name_and_the_next_takes_it_away);
	tcase_add_test(tests, a_run_does_not_take_the_file_of_one_that_still_writes);
	tcase_add_test(tests, a_child_that_ends_does_not_take_its_parents_file);
	tcase_add_test(tests, the_longest_names_work);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void) { return npu_suite_run(output_suite()); }
