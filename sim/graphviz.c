/* SPDX-License-Identifier: Apache-2.0 */
/* libgvc behind a fork: what it keeps, prints or gets lost in stays there. It is loaded there, too: who draws nothing need not
 * wait for it at every start. */
#include "sim/graphviz.h"

#include "sim/output.h"

#include <dlfcn.h>
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

/* What is called of libgvc and, behind it, libcgraph. */
struct gvc {
	__typeof__(gvContext) *context;
	__typeof__(gvLayout) *layout;
	__typeof__(gvRender) *render;
	__typeof__(agmemread) *read;
	__typeof__(agseterr) *set_error;
};

static void *symbol(void *library, const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

static bool load(struct gvc *g)
{
	void *library = dlopen(NPUSIM_LIBGVC, RTLD_NOW | RTLD_GLOBAL);
	*(void **)&g->context = symbol(library, "gvContext");
	*(void **)&g->layout = symbol(library, "gvLayout");
	*(void **)&g->render = symbol(library, "gvRender");
	*(void **)&g->read = symbol(library, "agmemread");
	*(void **)&g->set_error = symbol(library, "agseterr");
	return g->context && g->layout && g->render && g->read && g->set_error;
}

enum { DRAWN, FAILED, NOT_LOADED }; /* exit statuses of the child */

static _Noreturn void be_child(const char *dot, const char *format, FILE *out, unsigned seconds)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	alarm(seconds);
	struct gvc g;
	if (!load(&g))
		_exit(NOT_LOADED);
	g.set_error(AGMAX);
	GVC_t *gvc = g.context();
	Agraph_t *graph = gvc ? g.read(dot) : NULL;
	if (!graph || g.layout(gvc, graph, "dot") != 0 || g.render(gvc, graph, format, out) != 0 || fflush(out) != 0)
		_exit(FAILED);
	_exit(DRAWN);
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
	if (WIFEXITED(status) && WEXITSTATUS(status) == DRAWN)
		return true;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_LOADED)
		return npu_fail(err, NPU_ERR_IO, "Graphviz (%s) cannot be loaded; a .dot file has the graph itself",
				NPUSIM_LIBGVC);
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
