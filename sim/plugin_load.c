/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in inside the child: found, copied, checked; and its functions, each call announced to the parent. */
#include "sim/plugin_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/reference.h"

/* The first version of the struct ended here. */
enum { LEAST_SIZE = offsetof(struct npu_kernel, tolerance) + sizeof(double),
       LEAST_PARAM_SIZE = offsetof(struct npu_param, with) + sizeof(const char *) };

/* The plug-in of this process. The functions of a kernel have no argument to find it by, and the process exists for it
 * alone. */
static struct plugin {
	struct plugin_watch *watch;
	const char *path;
	struct npu_kernel own;    /* as the plug-in has it, with this npusim's idea of the structs */
	struct npu_kernel kernel; /* the same with watched functions */
	struct npu_param params[NPU_MAX_PARAMS];
	struct plugin_caller *caller; /* of the process `caller_pid` */
	pid_t caller_pid;
	int calls; /* that have begun and not ended */
	pid_t pid;
	int out;                       /* stdout, put aside during a call */
	struct stat out_file, err_file; /* what it and stderr are */
} plugin;

void plugin_watched_by(struct plugin_watch *watch)
{
	plugin.watch = watch;
	plugin.caller = watch ? &watch->callers[0] : NULL;
	plugin.caller_pid = getpid();
	if (watch)
		watch->callers[0].pid = plugin.caller_pid;
}

/* What simulates for the child calls in a process of its own. NULL: nobody watches. */
static struct plugin_caller *caller_of_this_process(void)
{
	pid_t pid = getpid();
	if (!plugin.watch || plugin.caller_pid == pid)
		return plugin.caller;
	plugin.caller_pid = pid;
	plugin.caller = NULL;
	for (unsigned i = 1; i < PLUGIN_CALLERS && !plugin.caller; i++) {
		int nobody = 0;
		if (atomic_compare_exchange_strong(&plugin.watch->callers[i].pid, &nobody, pid))
			plugin.caller = &plugin.watch->callers[i];
	}
	return plugin.caller;
}

/* For others to have; the first one stays the child's. */
static void leave_caller(void)
{
	if (!plugin.caller || plugin.caller == &plugin.watch->callers[0])
		return;
	plugin.caller->pid = 0;
	plugin.caller = NULL;
	plugin.caller_pid = 0;
}

bool plugin_ended_in(long pid, int wait_status, struct npu_error *err)
{
	for (unsigned i = 1; plugin.watch && i < PLUGIN_CALLERS; i++) {
		const struct plugin_caller *c = &plugin.watch->callers[i];
		if (c->pid == pid && c->call != PLUGIN_CALL_NONE)
			return plugin_ended(plugin.path, c, plugin.watch->most_bytes, wait_status, err);
	}
	return false;
}

/* What a descriptor is, all zero when it is not open. */
static struct stat file_of(int fd)
{
	struct stat file = { 0 };
	return fstat(fd, &file) == 0 ? file : (struct stat){ 0 };
}

/* During a call stdout is stderr: a plug-in that prints shall not print into a report. */
static void enter(enum plugin_call call)
{
	if (plugin.calls++)
		return;
	fflush(stdout);
	plugin.pid = getpid();
	plugin.out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	plugin.out_file = file_of(plugin.out);
	plugin.err_file = file_of(STDERR_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	struct plugin_caller *caller = caller_of_this_process();
	if (!caller)
		return;
	caller->base_bytes = plugin_resident(getpid());
	caller->since_ns = plugin_now_ns();
	caller->call = call;
}

/* Whether a descriptor that was open before the call is still what it was. */
static bool is_still(int fd, const struct stat *before)
{
	struct stat now = file_of(fd);
	return before->st_ino == 0 || (now.st_dev == before->st_dev && now.st_ino == before->st_ino);
}

static void leave(void)
{
	if (--plugin.calls)
		return;
	/* A fork of the plug-in that it let go on. */
	if (getpid() != plugin.pid)
		_exit(1);
	struct plugin_caller *caller = plugin.caller;
	if (caller && (!is_still(STDERR_FILENO, &plugin.err_file) || !is_still(plugin.out, &plugin.out_file))) {
		caller->closed = true;
		_exit(1);
	}
	/* A call may be too short for the one that watches to see what it took. */
	if (caller && plugin.watch->most_bytes && plugin_resident(getpid()) > caller->base_bytes + plugin.watch->most_bytes) {
		caller->too_much = true;
		_exit(1);
	}
	/* Where the plug-in closed it, what it printed would go to the report. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	fflush(stdout);
	if (dup2(plugin.out, STDOUT_FILENO) >= 0)
		close(plugin.out);
	else
		close(STDOUT_FILENO); /* as it was */
	if (caller)
		caller->call = PLUGIN_CALL_NONE;
	leave_caller();
}

void plugin_end(int status)
{
	if (!plugin.watch)
		return;
	plugin.watch->status = status;
	enter(PLUGIN_CALL_END);
}

/* ---- the functions ---- */

/* An error that a plug-in filled in, or did not. */
static bool told(const char *function, struct npu_error *err)
{
	if (!err)
		return false;
	err->file[sizeof err->file - 1] = '\0';
	err->text[sizeof err->text - 1] = '\0';
	if (err->code == NPU_ERR_NONE)
		npu_fail_at(err, NPU_ERR_PLUGIN, plugin.path, 0, 0, "%s failed without an error", function);
	return false;
}

static bool resolve(const struct npu_capacity *capacity, struct npu_args *args, struct npu_error *err)
{
	if (!plugin.own.resolve)
		return npu_args_check(&plugin.kernel, args, err);
	if (err)
		*err = (struct npu_error){ 0 };
	enter(PLUGIN_CALL_RESOLVE);
	bool ok = plugin.own.resolve(capacity, args, err);
	leave();
	return ok ? plugin_check_args(&plugin.kernel, args, plugin.path, err) : told("resolve", err);
}

static bool emit(struct npu_builder *b, const struct npu_args *args)
{
	enter(PLUGIN_CALL_EMIT);
	bool ok = plugin.own.emit(b, args);
	leave();
	if (!ok)
		npu_builder_fail(b, NPU_ERR_PLUGIN, "%s: emit failed without an error", plugin.path);
	return ok;
}

static struct npu_expect expect(const struct npu_args *args)
{
	enter(PLUGIN_CALL_EXPECT);
	struct npu_expect expected = plugin.own.expect(args);
	leave();
	return expected;
}

static bool reference(const struct npu_args *args, struct npu_reference_io *io)
{
	enter(PLUGIN_CALL_REFERENCE);
	bool ok = plugin.own.reference(args, io);
	leave();
	return ok;
}

/* `tolerance` of the largest magnitude. */
static bool tolerance_bound(const struct npu_reference_io *io, const char *tensor, double *bound)
{
	for (unsigned t = 0; t < io->n; t++) {
		const struct npu_reference_tensor *output = &io->tensors[t];
		if (!output->at || strcmp(output->name, tensor) != 0)
			continue;
		double largest = 0;
		for (uint64_t i = 0; i < output->count; i++)
			if (isfinite(output->at[i]))
				largest = fmax(largest, fabs(output->at[i]));
		for (uint64_t i = 0; i < output->count; i++)
			bound[i] = plugin.own.tolerance * largest;
		return true;
	}
	return false;
}

static bool bound(const struct npu_args *args, const struct npu_reference_io *io, double exp_error, const char *tensor,
		  double *out)
{
	if (!plugin.own.bound)
		return tolerance_bound(io, tensor, out);
	enter(PLUGIN_CALL_BOUND);
	bool ok = plugin.own.bound(args, io, exp_error, tensor, out);
	leave();
	return ok;
}

static double magnitude(const struct npu_args *args, const char *tensor)
{
	enter(PLUGIN_CALL_MAGNITUDE);
	double value = plugin.own.magnitude(args, tensor);
	leave();
	return value;
}

/* ---- loading ---- */

static bool unfit(struct npu_error *err, const char *text)
{
	return npu_fail_at(err, NPU_ERR_FORMAT, plugin.path, 0, 0, "%s", text);
}

static bool all_zero(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

/* A struct of which the plug-in knows `theirs` bytes: what it does not know is zero, what this npusim does not know must
 * be. */
static bool copy(void *to, size_t ours, const void *from, size_t theirs)
{
	memset(to, 0, ours);
	memcpy(to, from, theirs < ours ? theirs : ours);
	return theirs <= ours || all_zero((const unsigned char *)from + ours, theirs - ours);
}

/* The plug-in's struct as one of this npusim. */
static bool take(const struct npu_kernel *theirs, struct npu_error *err)
{
	static const char newer[] = "uses what a newer npu.h has; this npusim is too old for it";
	if (theirs->abi != NPU_ABI)
		return npu_fail_at(err, NPU_ERR_FORMAT, plugin.path, 0, 0,
				   "built for version %u of the plug-in interface, and this npusim has %d: build it with the "
				   "npu.h of this npusim%s",
				   theirs->abi, NPU_ABI, theirs->abi ? "" : " (its struct has to begin with NPU_PLUGIN)");
	if (theirs->size < LEAST_SIZE || theirs->param_size < LEAST_PARAM_SIZE)
		return unfit(err, "its struct npu_kernel has to begin with NPU_PLUGIN");
	if (!copy(&plugin.own, sizeof plugin.own, theirs, theirs->size))
		return unfit(err, newer);
	const unsigned char *params = (const unsigned char *)theirs->params;
	for (unsigned i = 0; params && i < theirs->nparams && i < NPU_MAX_PARAMS; i++)
		if (!copy(&plugin.params[i], sizeof plugin.params[i], params + (size_t)i * theirs->param_size,
			  theirs->param_size))
			return unfit(err, newer);
	for (unsigned i = 0; i < NPU_MAX_PARAMS; i++)
		plugin.params[i].unit = plugin.params[i].unit ? plugin.params[i].unit : "";
	if (params)
		plugin.own.params = plugin.params;
	return plugin_check(&plugin.own, plugin.path, err);
}

/* dlerror() begins with the path, where it is about this file. */
static bool not_loaded(const char *path, struct npu_error *err)
{
	const char *text = dlerror();
	size_t n = strlen(path);
	if (strncmp(text, path, n) == 0 && strncmp(text + n, ": ", 2) == 0)
		text += n + 2;
	return npu_fail_at(err, NPU_ERR_FORMAT, plugin.path, 0, 0, "cannot be loaded: %s", text);
}

static bool load(struct npu_error *err)
{
	/* dlopen looks for a name without a slash in the system's folders. */
	char path[4096];
	snprintf(path, sizeof path, "%s%s", strchr(plugin.path, '/') ? "" : "./", plugin.path);
	FILE *in = fopen(path, "rb");
	if (!in)
		return npu_fail_at(err, NPU_ERR_IO, plugin.path, 0, 0, "cannot be read: %s", strerror(errno));
	fclose(in);
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object)
		return not_loaded(path, err);
	const struct npu_kernel *theirs = dlsym(object, "npu_plugin");
	return theirs ? take(theirs, err)
		      : unfit(err, "is no plug-in: it does not export npu_plugin, a struct npu_kernel (see npu.h)");
}

const struct npu_kernel *plugin_kernel(const char *path, struct npu_error *err)
{
	if (plugin.path && strcmp(plugin.path, path) != 0) {
		npu_fail_at(err, NPU_ERR_USAGE, path, 0, 0, "a second plug-in, after %s; one would be right", plugin.path);
		return NULL;
	}
	if (plugin.kernel.name)
		return &plugin.kernel;
	plugin.path = path;
	enter(PLUGIN_CALL_LOAD);
	bool ok = load(err);
	leave();
	if (!ok)
		return NULL;
	plugin.kernel = plugin.own;
	plugin.kernel.resolve = resolve;
	plugin.kernel.emit = emit;
	plugin.kernel.expect = plugin.own.expect ? expect : NULL;
	plugin.kernel.reference = plugin.own.reference ? reference : NULL;
	plugin.kernel.bound = plugin.own.reference ? bound : NULL;
	plugin.kernel.magnitude = plugin.own.magnitude ? magnitude : NULL;
	return &plugin.kernel;
}
