/* SPDX-License-Identifier: Apache-2.0 */
/* What a specification says stands in the plan byte for byte: names, paths and conditions of any bytes that it takes are
 * read back as they were, and are the same sweep. */
#include "isa/random.h"
#include "sim/report_json.h"
#include "sim/sweep/spec.h"
#include "tests/sim/folder.h"
#include "tests/support/suite.h"

#include <string.h>
#include <sys/stat.h>

static uint64_t state;

static unsigned below(unsigned n)
{
	return (unsigned)(npu_random_next(&state) % n);
}

/* Characters that a text may hold: those of a file's name, of a value, which is one line, of anything. */
enum alphabet { NAME, LINE, ANY };

static const char *const characters[] = {
	"a", "Z", "7", "_", ".", "-", " ", "'", "\"", "\\", "$", "`", "{}", "%", "&", "#", ":", "*", "!", "?", "(", "\xc3\xa9",
	"\xe2\x80\xa8", "\xe2\x80\xae", "\xf0\x9f\xa6\x86", "\xc2\x85", "=", ",", "[", "|", ">", "~", ";",
	"\t", "\n", "\r", "\x01", "\x1b[1m", "\x7f", "\x0b",
};
enum { STEERING = 7 }; /* the last of them are no part of a line */

/* Of `n` characters, which neither begins nor ends with what a shell or YAML takes away. */
static void random_text(char *out, enum alphabet alphabet, unsigned n)
{
	unsigned count = sizeof characters / sizeof *characters - (alphabet == LINE ? STEERING : 0);
	out[0] = '\0';
	strcat(out, "x");
	for (unsigned i = 0; i < n; i++)
		strcat(out, characters[below(count)]);
	strcat(out, "x");
}

/* As a YAML scalar in double quotes, every byte of it; line breaks of Unicode would be folded. */
static void put_scalar(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if (strncmp(text, "\xe2\x80\xa8", 3) == 0)
			fputs("\\L", out), text += 2;
		else if (strncmp(text, "\xc2\x85", 2) == 0)
			fputs("\\N", out), text++;
		else if ((unsigned char)*text < 0x20 || *text == 0x7f)
			fprintf(out, "\\x%02x", *text);
		else
			fputc(*text, out);
	fputc('"', out);
}

static struct sweep_spec *read_spec(const char *path)
{
	struct npu_error err = { 0 };
	const struct plugin_limits limits = { 0 };
	struct sweep_spec *spec = sweep_spec_read(path, &limits, &err);
	ck_assert_msg(spec != NULL, "%s:%u:%u: %s", err.file, err.line, err.column, err.text);
	return spec;
}

/* What a folder's file would be, read again. */
static struct sweep_space *read_back(const struct sweep_space *s)
{
	char *text = NULL;
	size_t size;
	struct npu_error err = { 0 };
	FILE *out = open_memstream(&text, &size);
	json_t *plan = sweep_space_json(s);
	ck_assert(report_json_print(plan, out));
	fclose(out);
	json_decref(plan);
	plan = json_loadb(text, size, 0, NULL);
	ck_assert_ptr_nonnull(plan);
	struct sweep_space *back = sweep_space_read(plan, "sweep.json", &err);
	ck_assert_msg(back != NULL, "%s\n%s", err.text, text);
	json_decref(plan);
	free(text);
	return back;
}

static void same_text(const char *a, const char *b)
{
	ck_assert_int_eq(a == NULL, b == NULL);
	if (a)
		ck_assert_str_eq(a, b);
}

static void same_space(const struct sweep_space *a, const struct sweep_space *b)
{
	char one[32768], two[32768];
	ck_assert_int_eq(a->kind, b->kind);
	same_text(a->subject, b->subject);
	same_text(a->hw, b->hw);
	same_text(a->folder, b->folder);
	same_text(a->spec, b->spec);
	same_text(a->where, b->where);
	same_text(a->version, b->version);
	same_text(a->identity, b->identity);
	same_text(a->inputs, b->inputs);
	same_text(a->machines, b->machines);
	same_text(a->digest, b->digest);
	ck_assert_uint_eq(a->nwith, b->nwith);
	for (unsigned i = 0; i < a->nwith; i++) {
		same_text(a->with[i].key, b->with[i].key);
		same_text(a->with[i].value, b->with[i].value);
	}
	ck_assert_uint_eq(a->naxes, b->naxes);
	for (unsigned i = 0; i < a->naxes; i++) {
		same_text(a->axes[i].name, b->axes[i].name);
		ck_assert_int_eq(a->axes[i].hardware, b->axes[i].hardware);
		ck_assert_uint_eq(a->axes[i].nkeys, b->axes[i].nkeys);
		ck_assert_uint_eq(a->axes[i].count, b->axes[i].count);
		for (unsigned k = 0; k < a->axes[i].nkeys; k++)
			same_text(a->axes[i].keys[k], b->axes[i].keys[k]);
		for (size_t v = 0; v < (size_t)a->axes[i].nkeys * a->axes[i].count; v++)
			same_text(a->axes[i].values[v], b->axes[i].values[v]);
	}
	ck_assert_uint_eq(a->nreport, b->nreport);
	for (unsigned i = 0; i < a->nreport; i++)
		same_text(a->report[i], b->report[i]);
	ck_assert_uint_eq(a->ngoals, b->ngoals);
	for (unsigned i = 0; i < a->ngoals; i++)
		same_text(a->goals[i], b->goals[i]);
	ck_assert_int_eq(a->pareto, b->pareto);
	ck_assert_int_eq(a->clocks, b->clocks);
	ck_assert_uint_eq(a->sample, b->sample);
	ck_assert_uint_eq(a->seed, b->seed);
	ck_assert_uint_eq(a->points, b->points);
	ck_assert_uint_eq(a->count, b->count);
	ck_assert_uint_eq(a->nfiles, b->nfiles);
	for (unsigned i = 0; i < a->nfiles; i++) {
		same_text(a->files[i].path, b->files[i].path);
		same_text(a->files[i].digest, b->files[i].digest);
	}
	ck_assert_ptr_null(sweep_changed_file(b));
	for (uint64_t point = 0; point < a->points; point++)
		ck_assert_str_eq(sweep_command(a, point, one, sizeof one), sweep_command(b, point, two, sizeof two));
}

/* A word of a condition in the quotes that it does not hold. */
static void put_word(FILE *out, const char *word)
{
	char text[256];
	snprintf(text, sizeof text, "%s", word);
	for (char *at = text; *at; at++)
		if (*at == '"')
			*at = '\'';
	fprintf(out, "\"%s\"", text);
}

static const char *blank(void)
{
	static const char *const blanks[] = { " ", "\t", "\n", "\n\n  ", " \r\n", "\v", "\f" };
	return blanks[below(sizeof blanks / sizeof *blanks)];
}

/* A program, a machine and a specification with texts of any kind in a folder of any bytes; the folder's name, of which the
 * beginning is there. */
static void write_random(char dir[256], char program[256], char where[1024])
{
	char machine[256], value[3][256], word[256], path[1024];
	static const char *const wild[] = { "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82" };
	random_text(dir + strlen(dir), NAME, below(8));
	if (below(2))
		strcat(dir, wild[below(4)]);
	random_text(program, NAME, below(8));
	random_text(machine, NAME, below(8));
	for (unsigned i = 0; i < 3; i++) {
		random_text(value[i], LINE, below(8));
		snprintf(value[i] + strlen(value[i]), 8, "%u", i);
	}
	random_text(word, ANY, below(8));
	ck_assert_int_eq(mkdir(dir, 0777), 0);
	snprintf(path, sizeof path, "%s/%s.npu", dir, program);
	folder_write(path, ".param word=x, other=y, n=1\n.tensor A[64, 64] fp16 in\n.sram a[64, 64] fp16\n  load a, A[:, :]\n");
	snprintf(path, sizeof path, "%s/%s.yaml", dir, machine);
	folder_write(path, "extends: edge-1mb\n");
	snprintf(path, sizeof path, "%s/s.yaml", dir);
	FILE *condition = fmemopen(where, 1024, "w");
	fprintf(condition, "n%s>%s0%s&&%sother !=%s", blank(), blank(), blank(), blank(), blank());
	put_word(condition, word);
	fclose(condition);
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	strcat(program, ".npu");
	strcat(machine, ".yaml");
	fputs("run: ", out);
	put_scalar(out, program);
	fputs("\nhw: ", out);
	put_scalar(out, machine);
	fputs("\nwith: {n: 2, other: ", out);
	put_scalar(out, value[0]);
	fputs("}\naxes: {word: [", out);
	put_scalar(out, value[1]);
	fputs(", ", out);
	put_scalar(out, value[2]);
	fputs("], sram.size: [512KiB, 1MiB]}\nwhere: ", out);
	put_scalar(out, where);
	fprintf(out, "\n%s", below(2) ? "sample: 3\nseed: 7\n" : "report: [cycles, bound]\n");
	fclose(out);
}

START_TEST(a_plan_of_any_bytes_is_read_back_as_it_was)
{
	char dir[256], program[256], where[1024], path[512];
	unsigned hex = 0;
	for (unsigned i = 0; i < 200; i++) {
		snprintf(dir, sizeof dir, "%u", i);
		write_random(dir, program, where);
		snprintf(path, sizeof path, "%s/s.yaml", dir);
		struct sweep_spec *spec = read_spec(path);
		struct sweep_space *back = read_back(spec->space);
		ck_assert_str_eq(back->subject, program);
		ck_assert_str_eq(back->where, where);
		ck_assert_str_eq(back->folder + strlen(back->folder) - strlen(dir), dir);
		same_space(spec->space, back);
		json_t *folder_of = json_string(back->folder);
		hex += !folder_of;
		json_decref(folder_of);
		sweep_space_free(back);
		sweep_spec_free(spec);
	}
	ck_assert_uint_ge(hex, 50);
}
END_TEST

/* A shell takes the path of a command as the bytes that it is. */
START_TEST(a_command_is_one_line_of_text_that_a_shell_takes_as_it_was)
{
	char dir[256], program[256], where[1024], path[512], text[32768], line[33000], got[2048], want[2048];
	for (unsigned i = 0; i < 30; i++) {
		snprintf(dir, sizeof dir, "%u", i);
		write_random(dir, program, where);
		snprintf(path, sizeof path, "%s/s.yaml", dir);
		struct sweep_spec *spec = read_spec(path);
		sweep_command(spec->space, 0, text, sizeof text);
		json_t *utf8 = json_string(text);
		ck_assert_ptr_nonnull(utf8);
		json_decref(utf8);
		for (const char *at = text; *at; at++)
			ck_assert(*at >= ' ' || *at < 0);
		snprintf(line, sizeof line, "npusim() { printf %%s \"$2\"; }\n%s", text);
		folder_write("line.sh", line);
		FILE *p = popen("bash line.sh", "r");
		got[fread(got, 1, sizeof got - 1, p)] = '\0';
		pclose(p);
		snprintf(want, sizeof want, "%s/%s", spec->space->folder, program);
		ck_assert_str_eq(got, want);
		sweep_spec_free(spec);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sweep_plan");
	TCase *t = tcase_create("plan");
	folder_use(t);
	tcase_add_test(t, a_plan_of_any_bytes_is_read_back_as_it_was);
	tcase_add_test(t, a_command_is_one_line_of_text_that_a_shell_takes_as_it_was);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
