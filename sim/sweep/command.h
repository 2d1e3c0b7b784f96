/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of npusim sweep, each an exit status. */
#ifndef NPU_SIM_SWEEP_COMMAND_H
#define NPU_SIM_SWEEP_COMMAND_H

#include "sim/cli.h"
#include "sim/sweep/rows.h"

int sweep_run_command(const struct cli *);
int sweep_best_command(const struct cli *);
int sweep_merge_command(const struct cli *);
int sweep_plot_command(const struct cli *);
int sweep_submit_command(const struct cli *);

/* The folder of -o, or the one that goes with a specification; malloc'ed. */
char *sweep_folder(const struct cli *, const char *spec);
/* Tells on stderr that a file of a sweep is no longer what was run: its commands would run something else. */
void sweep_warn_of_changes(const struct sweep_space *);
/* Tells on stderr what is not in a folder that should be, or has failed. */
void sweep_warn_of_gaps(const struct sweep_rows *, const char *path);
/* A figure that an option names, that is a number, and that points of the sweep can have. */
bool sweep_figure_named(const struct sweep_space *, const char *option, const char *name, int *figure,
			struct npu_error *err);
/* Puts the figure of --by first among those of rows that are not read yet; NULL: it is as it is. */
bool sweep_choose_figure(struct sweep_rows *, const char *by, struct npu_error *err);
/* A number of an option into *out, which stays where it is not given. */
bool sweep_read_number(const struct cli *, const char *option, uint64_t most, uint64_t *out, struct npu_error *err);

#endif
