/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the flat text of a program with `instructions` of a report. */
#include "sim/cmd/annotate.h"

#include "isa/units.h"
#include "sim/output.h"
#include "sim/report_read.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { STALLS_SHOWN = 2, STALL_KINDS = 32, STALLS_BYTES = 160 };

struct stall {
	const char *name;
	json_int_t cycles;
};

static int by_cycles(const void *a, const void *b)
{
	const struct stall *x = a, *y = b;
	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* "dram_latency 40, dma_setup 12": the longest ones. */
static void list_stalls(json_t *stalls, char out[STALLS_BYTES])
{
	struct stall all[STALL_KINDS];
	unsigned n = 0;
	const char *name;
	json_t *cycles;
	json_object_foreach(stalls, name, cycles) if (n < STALL_KINDS) all[n++] =
	    (struct stall){ name, json_integer_value(cycles) };
	qsort(all, n, sizeof *all, by_cycles);
	size_t used = 0;
	out[0] = '\0';
	for (unsigned i = 0; i < n && i < STALLS_SHOWN && used < STALLS_BYTES; i++)
		used += (size_t)snprintf(out + used, STALLS_BYTES - used, "%s%s %" JSON_INTEGER_FORMAT, i ? ", " : "",
					 all[i].name, all[i].cycles);
	if (n > STALLS_SHOWN && used < STALLS_BYTES)
		snprintf(out + used, STALLS_BYTES - used, ", ...");
}

static json_int_t figure(json_t *row, const char *name)
{
	return json_integer_value(json_object_get(row, name));
}

/* Lines that begin with a dot are directives, with a semicolon comments; all others are instructions, in order. Where
 * an instruction was written has a column, so .loc is left out. */
static void write_lines(const struct npu_program *program, const char *text, json_t *rows, FILE *out)
{
	uint32_t i = 0;
	fprintf(out, ";%11s %11s %9s  %-44s %6s\n", "start", "end", "busy", "stalls", "line");
	for (const char *line = text; *line;) {
		size_t length = strcspn(line, "\n"), blank = strspn(line, " \t");
		const char *word = line + blank;
		if (blank < length && *word != '.' && *word != ';' && i < program->ninsns) {
			char stalls[STALLS_BYTES];
			json_t *row = json_array_get(rows, i);
			list_stalls(json_object_get(row, "stalls"), stalls);
			fprintf(out,
				"%12" JSON_INTEGER_FORMAT " %11" JSON_INTEGER_FORMAT " %9" JSON_INTEGER_FORMAT
				"  %-44s %6" PRIu32 "  %.*s\n",
				figure(row, "start"), figure(row, "end"), figure(row, "busy"), stalls,
				program->place[i].line, (int)length, line);
			i++;
		} else if (strncmp(word, ".loc ", 5) != 0) {
			fprintf(out, "%87s  %.*s\n", "", (int)length, line);
		}
		line += length + (line[length] == '\n');
	}
}

static bool check_report(json_t *report, const char *path, const struct npu_program *program, struct npu_error *err)
{
	char hash[20];
	json_t *rows = json_object_get(report, "instructions");
	const char *of = report_text(report, "program.hash");
	snprintf(hash, sizeof hash, "%016" PRIx64, program->hash);
	if (strcmp(of, hash) != 0)
		return npu_fail(
		    err, NPU_ERR_VALUE,
		    "%s: the report of another program, hash %s; this one is %s (parameters and hardware decide)", path,
		    of, hash);
	if (json_array_size(rows) != program->ninsns)
		return npu_fail(err, NPU_ERR_VALUE,
				"%s: rows of %zu instructions, but the program has %" PRIu32
				"; npusim run --report %s --instructions writes them",
				path, json_array_size(rows), program->ninsns, path);
	return true;
}

bool annotate(const struct npu_program *program, const char *report_path, const char *path, struct npu_error *err)
{
	json_t *report = report_read(report_path, err);
	if (!report)
		return false;
	char *text = NULL;
	struct output *output = NULL;
	bool ok = check_report(report, report_path, program, err);
	if (ok) {
		text = npu_disasm_text(program);
		ok = text || npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	}
	ok = ok && (output = output_open(path, err)) != NULL;
	if (ok) {
		write_lines(program, text, json_object_get(report, "instructions"), output_stream(output));
		ok = output_commit(output, err); /* a stream that failed is told here */
	}
	free(text);
	json_decref(report);
	return ok;
}
