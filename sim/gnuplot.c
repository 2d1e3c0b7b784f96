/* SPDX-License-Identifier: Apache-2.0 */
/* The script goes in by one temporary file, the chart comes out by another: no pipe can fill up. */
#include "sim/gnuplot.h"

#include "sim/output.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60 };

static const char *terminal_of(const char *path)
{
	size_t n = strlen(path);
	if (n > 4 && strcmp(path + n - 4, ".svg") == 0)
		return "svg size 900,600 noenhanced font 'sans,12' background 'white'";
	if (n > 4 && strcmp(path + n - 4, ".png") == 0)
		return "pngcairo size 1200,800 noenhanced font 'sans,14'";
	return NULL;
}

bool gnuplot_check(const char *path, struct npu_error *err)
{
	return terminal_of(path) || npu_fail(err, NPU_ERR_USAGE, "%s: a chart is .svg or .png", path);
}

char *gnuplot_quote(const char *text, char *out, unsigned size)
{
	unsigned used = 0;
	out[used++] = '\'';
	for (; *text && used + 4 < size; text++) {
		/* A line's end would end the string. */
		out[used++] = (unsigned char)*text < ' ' ? ' ' : *text;
		if (*text == '\'')
			out[used++] = '\'';
	}
	out[used++] = '\'';
	out[used] = '\0';
	return out;
}

/* In the child. */
static _Noreturn void be_gnuplot(int in, int out)
{
	alarm(SECONDS);
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	execlp("gnuplot", "gnuplot", "-d", "-", (char *)NULL);
	_exit(127);
}

static bool run(FILE *in, FILE *out, struct npu_error *err)
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return npu_fail(err, NPU_ERR_MEMORY, "no other process: %s", strerror(errno));
	if (pid == 0)
		be_gnuplot(fileno(in), fileno(out));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return npu_fail(err, NPU_ERR_IO, "no gnuplot: the package gnuplot-nox has it");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return npu_fail(err, NPU_ERR_IO, "gnuplot took longer than %d s", SECONDS);
	return npu_fail(err, NPU_ERR_IO, "gnuplot failed");
}

static bool copy(FILE *from, const char *path, struct npu_error *err)
{
	char bytes[1 << 14];
	size_t n;
	struct output *output = output_open(path, err);
	if (!output)
		return false;
	rewind(from);
	while ((n = fread(bytes, 1, sizeof bytes, from)) > 0)
		fwrite(bytes, 1, n, output_stream(output));
	return output_commit(output, err);
}

bool gnuplot_draw(const char *script, const char *path, struct npu_error *err)
{
	FILE *in = tmpfile(), *out = tmpfile();
	bool ok = in && out && fprintf(in, "set terminal %s\n%s\n", terminal_of(path), script) > 0 && fflush(in) == 0;
	if (!ok) {
		npu_fail(err, NPU_ERR_IO, "no temporary file for a chart");
	} else {
		rewind(in);
		ok = run(in, out, err) && copy(out, path, err);
	}
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	return ok;
}
