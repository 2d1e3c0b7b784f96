/* SPDX-License-Identifier: Apache-2.0 */
/* libgvc behind a fork: what it keeps, prints or gets lost in stays there. */
#include "sim/graphviz.h"

#include "sim/output.h"

#include <errno.h>
#include <graphviz/gvc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *format_of(const char *path)
{
	static const char *const formats[] = { "svg", "png", "dot" };
	size_t n = strlen(path);
	if (strcmp(path, "-") == 0)
		return "dot";
	for (unsigned i = 0; i < sizeof formats / sizeof formats[0]; i++)
		if (n > 4 && path[n - 4] == '.' && strcmp(path + n - 3, formats[i]) == 0)
			return formats[i];
	return NULL;
}

bool graphviz_check(const char *path, struct npu_error *err)
{
	return format_of(path) || npu_fail(err, NPU_ERR_USAGE, "%s: a drawing is .svg, .png or .dot", path);
}

void graphviz_quote(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static _Noreturn void be_child(const char *dot, const char *format, FILE *out, unsigned seconds)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	alarm(seconds);
	agseterr(AGMAX);
	GVC_t *gvc = gvContext();
	Agraph_t *graph = gvc ? agmemread(dot) : NULL;
	if (!graph || gvLayout(gvc, graph, "dot") != 0 || gvRender(gvc, graph, format, out) != 0 || fflush(out) != 0)
		_exit(1);
	_exit(0);
}

static bool render(const char *dot, const char *format, FILE *out, unsigned seconds, struct npu_error *err)
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return npu_fail(err, NPU_ERR_MEMORY, "no other process: %s", strerror(errno));
	if (pid == 0)
		be_child(dot, format, out, seconds);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return npu_fail(err, NPU_ERR_VALUE, "Graphviz had not laid it out after %u s; a .dot file has the graph itself", seconds);
	return npu_fail(err, NPU_ERR_IO, "Graphviz failed; a .dot file has the graph itself");
}

static void copy(FILE *from, FILE *to)
{
	char bytes[1 << 14];
	size_t n;
	rewind(from);
	while ((n = fread(bytes, 1, sizeof bytes, from)) > 0)
		fwrite(bytes, 1, n, to);
}

bool graphviz_draw(const char *dot, const char *path, unsigned seconds, struct npu_error *err)
{
	const char *format = format_of(path);
	bool plain = strcmp(format, "dot") == 0;
	FILE *drawing = plain ? NULL : tmpfile();
	if (!plain && !drawing)
		return npu_fail(err, NPU_ERR_IO, "no temporary file for a drawing");
	bool ok = plain || render(dot, format, drawing, seconds, err);
	struct output *output = ok ? output_open(path, err) : NULL;
	if (output && plain)
		fputs(dot, output_stream(output));
	else if (output)
		copy(drawing, output_stream(output));
	if (drawing)
		fclose(drawing);
	return output && output_commit(output, err);
}
