/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in with everything that can be wrong with one: a struct that STRUCT chooses when it is compiled, a function
 * that misbehaves as MISHAP=WHERE:WHAT in the environment says, with MISHAP_ROWS=N only where rows is N. */
#define _DEFAULT_SOURCE 1 /* fork and kill, in C17 */
#include <npu.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GOOD, OTHER_ABI, NO_HEADER, SHORT, NEWER, LONGER, NO_NAME, NO_EMIT, NO_SUMMARY, WILD_NAME, MANY, NO_LIST, NO_PARAM_NAME,
       TWICE, MIN_MAX, OUTSIDE, NO_CHOICES, WITH, UNDERIVED, NO_MEANING, BAD_TYPE, NO_UNIT, LINES, LONG_SUMMARY,
       BAD_NAME, EMPTY_CHOICE, TILED };

#ifndef STRUCT
#define STRUCT GOOD
#endif

static void loop(void)
{
	for (volatile int i = 0;; i = !i)
		continue;
}

/* A process of its own session that ends with nobody; its id goes to the file `forked`. */
static void leave_child(void)
{
	if (fork() != 0)
		return;
	setsid();
	if (fork() != 0)
		_exit(0);
	FILE *out = fopen("forked.new", "w");
	fprintf(out, "%d\n", (int)getpid());
	fclose(out);
	rename("forked.new", "forked");
	for (;;)
		pause();
}

static void misbehave(const char *what)
{
	if (strcmp(what, "crash") == 0) {
		*(volatile int *)8 = 0;
	} else if (strcmp(what, "abort") == 0) {
		abort();
	} else if (strcmp(what, "exit") == 0) {
		exit(0);
	} else if (strcmp(what, "loop") == 0) {
		loop();
	} else if (strcmp(what, "sleep") == 0) {
		for (;;)
			pause();
	} else if (strcmp(what, "memory") == 0) {
		for (size_t n = 1 << 20;;)
			memset(malloc(n), 1, n);
	} else if (strcmp(what, "short") == 0) {
		memset(malloc(16 << 20), 1, 16 << 20);
	} else if (strcmp(what, "print") == 0) {
		printf("printed by the plug-in\n");
	} else if (strcmp(what, "close") == 0) {
		for (int fd = 3; fd < 64; fd++)
			close(fd);
	} else if (strcmp(what, "closeall") == 0) {
		for (int fd = 0; fd < 64; fd++)
			close(fd);
	} else if (strcmp(what, "stderr") == 0) {
		fclose(stderr);
	} else if (strcmp(what, "atexit") == 0) {
		atexit(loop);
	} else if (strcmp(what, "fork") == 0) {
		leave_child();
	} else if (strcmp(what, "forkloop") == 0) {
		leave_child();
		loop();
	} else if (strcmp(what, "twin") == 0) {
		fork(); /* both go on */
	} else if (strcmp(what, "parent") == 0) {
		kill(getppid(), SIGKILL);
		for (;;)
			pause();
	}
}

static const char *what_in(const char *where)
{
	const char *mishap = getenv("MISHAP");
	size_t n = strlen(where);
	return mishap && strncmp(mishap, where, n) == 0 && mishap[n] == ':' ? mishap + n + 1 : "";
}

static const char *what_at(const char *where, const struct npu_args *args)
{
	const char *rows = getenv("MISHAP_ROWS");
	return !rows || strtol(rows, NULL, 10) == args->value[0] ? what_in(where) : "";
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	const char *what = what_at("resolve", args);
	(void)capacity;
	misbehave(what);
	if (strcmp(what, "false") == 0)
		return false;
	if (strcmp(what, "range") == 0)
		args->value[0] = 5000;
	if (strcmp(what, "choice") == 0)
		args->value[1] = -1;
	if (strcmp(what, "error") == 0)
		return npu_fail(err, NPU_ERR_FIT, "rows=%d are too many today", (int)args->value[0]);
	return true;
}

/* Ask for something without end, until the builder says that it is enough. */
static void too_many(struct npu_builder *b, const char *what)
{
	char name[32];
	uint32_t page = 0;
	for (unsigned i = 0; !npu_builder_failed(b); i++) {
		snprintf(name, sizeof name, "n%u", i);
		if (strcmp(what, "semaphores") == 0)
			npu_semaphore(b, name, 0);
		else if (strcmp(what, "tensors") == 0)
			npu_tensor(b, name, NPU_INT8, NPU_TENSOR_IN, 1, (uint64_t[]){ i % 2 });
		else if (strcmp(what, "tables") == 0)
			npu_block_table(b, name, i % 2, &page);
		else if (strcmp(what, "regions") == 0)
			npu_region(b, "%s", name);
		else if (strcmp(what, "pages") == 0)
			npu_page(b, (struct npu_dram){ 0 }, 0, 1 << 20, NPU_PAGE_FREE, 0);
		else if (strcmp(what, "instructions") == 0)
			npu_sync_load(b);
		else
			return;
	}
}

/* What no program may have. */
static void illegal(struct npu_builder *b, const char *what)
{
	char name[400] = "";
	uint64_t shape[2] = { 4, 4 };
	if (strcmp(what, "nameless") == 0)
		npu_tensor(b, NULL, NPU_FP16, NPU_TENSOR_IN, 2, shape);
	else if (strcmp(what, "rank") == 0)
		npu_tensor(b, "Z", NPU_FP16, NPU_TENSOR_IN, 77, shape);
	else if (strcmp(what, "type") == 0)
		npu_tensor(b, "Z", (enum npu_dtype)77, NPU_TENSOR_IN, 2, shape);
	else if (strcmp(what, "twice") == 0)
		npu_tensor(b, "X", NPU_FP16, NPU_TENSOR_IN, 2, shape);
	else if (strcmp(what, "long") == 0)
		npu_semaphore(b, memset(name, 'a', sizeof name - 1), 0);
	else if (strcmp(what, "open") == 0)
		npu_region(b, "left %s", "open");
	else if (strcmp(what, "unopened") == 0)
		npu_region_end(b);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	const char *what = what_at("emit", args);
	uint64_t rows = (uint64_t)args->value[0];
	struct npu_dram X = npu_tensor(b, "X", NPU_FP16, NPU_TENSOR_IN, 2, (uint64_t[]){ rows, 64 });
	struct npu_dram Y = npu_tensor(b, "Y", NPU_FP16, NPU_TENSOR_OUT, 2, (uint64_t[]){ rows, 64 });
	struct npu_semaphore full = npu_semaphore(b, "full", 0);
	uint32_t x = npu_sram(b, "x", X.bytes, -1);

	misbehave(what);
	npu_load(b, .local = x, .dram = X.addr, .rows = (uint32_t)rows, .cols = 64, .post = { full });
	npu_store(b, .local = x, .dram = Y.addr, .rows = (uint32_t)rows, .cols = 64, .wait = { full });
	if (strcmp(what, "opcode") == 0)
		npu_emit_op(b, __FILE__, 7, 0xee, &(struct npu_none_operands){ 0 }, sizeof(struct npu_none_operands));
	if (strcmp(what, "newer") == 0) {
		struct {
			struct npu_fill_operands fill;
			uint32_t of_tomorrow;
		} operands = { .fill = { .dst = x, .rows = 1, .cols = 1 }, .of_tomorrow = 1 };
		npu_emit_op(b, __FILE__, 8, NPU_OP_VFILL, &operands, sizeof operands);
	}
	if (strcmp(what, "operand") == 0)
		npu_load(b, .local = x, .dram = X.addr, .rows = 0, .cols = 64);
	too_many(b, what);
	illegal(b, what);
	return strcmp(what, "false") != 0;
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	const char *what = what_at("reference", args);
	uint64_t n = (uint64_t)args->value[0] * 64;
	if (strcmp(what, "nothing") == 0)
		return true;
	if (strcmp(what, "input") == 0)
		return npu_reference_write(io, "X", n) != NULL;
	const double *X = npu_reference_read(io, strcmp(what, "tensor") == 0 ? "Z" : "X", n);
	double *Y = npu_reference_write(io, "Y", n);
	misbehave(what);
	if (!X || !Y)
		return false;
	memcpy(Y, X, n * sizeof *Y);
	if (strcmp(what, "wrong") == 0)
		Y[70] += 1;
	return true;
}

/* Of TILED, so that sizes are looked for. */
static struct npu_expect expect(const struct npu_args *args)
{
	uint64_t bytes = (uint64_t)args->value[0] * 128;
	return (struct npu_expect){ .dram_read_bytes = bytes, .dram_write_bytes = bytes, .instructions = 2 };
}

#define TEN(text) text text text text text text text text text text
#define LONG TEN(TEN("Y = X, or not "))

static const char *const words[] = { "none", STRUCT == EMPTY_CHOICE ? "" : "some", NULL };
static const char *const nothing[] = { NULL };
static const struct npu_param params[] = {
	{ .name = STRUCT == NO_PARAM_NAME ? NULL : STRUCT == TILED ? "tile_rows" : "rows",
	  .type = STRUCT == BAD_TYPE ? (enum npu_param_type)9 : NPU_PARAM_INT,
	  .initial = STRUCT == OUTSIDE ? 2000 : 16,
	  .min = STRUCT == MIN_MAX ? 2000 : 1,
	  .max = 1000,
	  .derived = STRUCT == UNDERIVED,
	  .unit = STRUCT == NO_UNIT ? NULL : STRUCT == LINES ? "row\nline" : "row",
	  .meaning = STRUCT == NO_MEANING ? NULL : "rows to copy",
	  .with = STRUCT == WITH ? "mask=window" : NULL },
	{ .name = STRUCT == TWICE ? "rows" : "how",
	  .type = NPU_PARAM_CHOICE,
	  .choices = STRUCT == NO_CHOICES ? nothing : words,
	  .meaning = "a choice" },
};

/* A plug-in of another time: more behind the end of the struct. */
struct later {
	struct npu_kernel kernel;
	uint64_t more;
};

#if defined WITHOUT_SYMBOL
const struct npu_kernel another_name;
#elif defined LATER
extern __attribute__((visibility("default"))) const struct later later __asm__("npu_plugin");
const struct later later = { .kernel = {
#else
const struct npu_kernel npu_plugin = {
#endif
#if !defined WITHOUT_SYMBOL
	.abi = STRUCT == OTHER_ABI ? 7 : STRUCT == NO_HEADER ? 0 : NPU_ABI,
	.size = STRUCT == SHORT ? 16 : STRUCT == NEWER || STRUCT == LONGER ? sizeof(struct later) : sizeof(struct npu_kernel),
	.param_size = sizeof(struct npu_param),
	.name = STRUCT == NO_NAME ? NULL : STRUCT == WILD_NAME ? (const char *)16 : STRUCT == BAD_NAME ? "2 much" : "mishap",
	.summary = STRUCT == NO_SUMMARY ? NULL : STRUCT == LONG_SUMMARY ? LONG : "Y = X, or not",
	.params = STRUCT == NO_LIST ? NULL : params,
	.nparams = STRUCT == MANY ? 65 : 2,
	.resolve = STRUCT == UNDERIVED ? NULL : resolve,
	.emit = STRUCT == NO_EMIT ? NULL : emit,
	.expect = STRUCT == TILED ? expect : NULL,
	.reference = reference,
#if defined LATER
	}, .more = STRUCT == NEWER
#endif
};
#endif

#if defined CALLS_NOBODY
extern void a_function_that_nobody_has(void);
void call_it(void);
void call_it(void) { a_function_that_nobody_has(); }
#endif

static __attribute__((constructor)) void begin(void) { misbehave(what_in("load")); }
static __attribute__((destructor)) void end(void) { misbehave(what_in("unload")); }
