#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes the pictures of timelines' pages in docs/timeline.md: of one run, and of two. Needs chromium.
#   docs/timeline_page.sh build/release/npusim docs/timeline_page.png docs/timeline_both.png
set -euo pipefail
usage='usage: docs/timeline_page.sh NPUSIM PAGE.png BOTH.png'
npusim=$(realpath "${1:?$usage}") one=$(realpath "${2:?$usage}") both=$(realpath "${3:?$usage}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

# picture OUT.png PAGE.html#... WIDTH,HEIGHT
picture() {
    chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tmp/profile" --window-size="$3" \
        --virtual-time-budget=4000 --screenshot="$1" "file://$tmp/$2" 2>/dev/null
}

"$npusim" run flash_attention seq=256 heads=1 head_dim=64 mask=causal --hw edge-1mb --quiet --timeline fa.html
picture "$one" 'fa.html#theme=light&critical&i=8&box=3500:9400' 1280,1240
"$npusim" run flash_attention seq=512 heads=2 head_dim=64 buffering=single --hw edge-1mb --quiet --report single.json
"$npusim" run flash_attention seq=512 heads=2 head_dim=64 --hw edge-1mb --quiet --report double.json
"$npusim" compare single.json double.json --timeline both.html >/dev/null
picture "$both" 'both.html#theme=light&t=0:45000' 1280,1140
