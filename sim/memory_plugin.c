/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/memory_plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char entry[] = "npusim_memory";

/* dlopen looks for a name without a slash in the system's folders. */
static void *load(const char *path)
{
	char local[4096];
	if (!strchr(path, '/') && snprintf(local, sizeof(local), "./%s", path) < (int)sizeof(local))
		path = local;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

bool memory_plugin_open(struct memory_plugin *m, const char *option, struct npu_error *err)
{
	*m = (struct memory_plugin){ .option = strdup(option) };
	if (!m->option)
		return npu_fail(err, NPU_ERR_MEMORY, "out of memory");
	char *arguments = m->option + strcspn(m->option, ",");
	if (*arguments)
		*arguments++ = '\0';
	if (!*m->option) {
		memory_plugin_close(m);
		return npu_fail(err, NPU_ERR_USAGE, "--memory %s: the shared object is missing", option);
	}
	const char *slash = strrchr(m->option, '/');
	snprintf(m->name, sizeof(m->name), "%s", slash ? slash + 1 : m->option);
	m->machine.arguments = arguments;
	void *object = load(m->option), *attach = object ? dlsym(object, entry) : NULL;
	const char *why = attach ? NULL : dlerror();
	if (attach) {
		/* ISO C has no conversion from an object pointer to a function pointer; POSIX says that this one works. */
		memcpy(&m->machine.attach, &attach, sizeof(attach));
		return true;
	}
	if (object)
		npu_fail_at(err, NPU_ERR_USAGE, m->option, 0, 0,
			    "no function %s: a memory is a shared object with extern \"C\" void "
			    "%s(tlm::tlm_initiator_socket<> *, const char *arguments)", entry, entry);
	else
		npu_fail_at(err, NPU_ERR_IO, m->option, 0, 0, "cannot be loaded: %s", why ? why : "no reason given");
	memory_plugin_close(m);
	return false;
}

void memory_plugin_close(struct memory_plugin *m)
{
	free(m->option);
	*m = (struct memory_plugin){ 0 };
}
