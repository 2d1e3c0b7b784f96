/* SPDX-License-Identifier: Apache-2.0 */
/* A memory of a user's own, from a shared object: --memory ./FILE.so[,ARGUMENTS]. docs/models/outside.md. */
#ifndef NPU_SIM_MEMORY_PLUGIN_H
#define NPU_SIM_MEMORY_PLUGIN_H

#include "models/machine.h"

struct memory_plugin {
	struct machine_memory machine;
	char name[128]; /* the file without its folder, for people */
	char *option;   /* what `machine.arguments` lies in */
};

/* Loads the object, which stays loaded; it must have `extern "C" void npusim_memory(tlm::tlm_initiator_socket<> *socket,
 * const char *arguments)`. An error names the file and what is missing. */
bool memory_plugin_open(struct memory_plugin *, const char *option, struct npu_error *);
void memory_plugin_close(struct memory_plugin *);

#endif
