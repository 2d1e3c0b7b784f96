#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pages of docs/experiments hold what their studies measure.
set -euo pipefail
unset NPUSIM_PRESETS NO_COLOR
CHECK=1 "$SRC/docs/experiments/run.sh" && echo 'the studies are fresh'
