/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of .npu files, for completion. */
#ifndef NPU_SIM_CLI_COMPLETE_FILE_H
#define NPU_SIM_CLI_COMPLETE_FILE_H

#include "kernels/kernel.h"

typedef void cli_param_taker(void *context, const struct npu_param *);

/* Hands over each parameter that the first 64 KiB of a .npu file declare: its name, and the choices where it has some;
 * what is not named .npu or cannot be read has none. The parameter lives as long as the call. */
void cli_file_params(const char *path, cli_param_taker *, void *context);

#endif
