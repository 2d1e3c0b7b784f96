#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes the picture of the timeline's page in docs/timeline.md. Needs chromium.
#   docs/timeline_page.sh build/release/npusim docs/timeline_page.png
set -euo pipefail
npusim=${1:?usage: docs/timeline_page.sh NPUSIM OUT.png} out=$(realpath "${2:?usage: docs/timeline_page.sh NPUSIM OUT.png}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$npusim" run flash_attention seq=256 heads=1 head_dim=64 mask=causal --hw edge-1mb --quiet --timeline "$tmp/fa.html"
chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tmp/profile" --window-size=1280,1240 \
    --virtual-time-budget=4000 --screenshot="$out" "file://$tmp/fa.html#theme=light&critical&i=8&box=3500:9400" 2>/dev/null
