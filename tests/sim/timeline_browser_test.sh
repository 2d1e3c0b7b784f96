#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A person at the page of a timeline, in a real browser: what it shows is what the report says, and it complains of nothing.
set -euo pipefail
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo 'skipped: there is no chromium'; exit 77; }
command -v python3 >/dev/null || { echo 'skipped: there is no python3'; exit 77; }
NPUSIM=${NPUSIM:?} SRC=${SRC:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$NPUSIM" run flash_attention seq=512 heads=2 head_dim=64 --quiet --critical --report run.json --timeline run.html --timeline run.csv
"$NPUSIM" run flash_attention seq=512 heads=2 head_dim=64 --quiet --timeline part.html --timeline-window 10000:20000 2>part.txt
"$NPUSIM" run flash_attention seq=512 heads=2 head_dim=64 tile_kv=64 dram.part=LPDDR5-6400 --quiet --report other.json --timeline other.csv
"$NPUSIM" compare run.json other.json --timeline both.html >/dev/null
"$NPUSIM" roofline run.json --report roofline.json >/dev/null
# Names that would be markup, script or nothing that is text.
bad='</script><script>document.title=1</script><img src=x onerror=document.title=2>"\x1b\xff'
bad=${bad//\"/\\\"}
printf '.program "%s"\n.sem "s%s"\n.tensor "t%s"[64, 64] fp16 in dram:0x0\n.tensor "o%s"[64, 64] fp16 out dram:0x4000\n.region "r%s"\n' \
    "$bad" "$bad" "$bad" "$bad" "$bad" >names.npu
printf 'load sram:0x0, dram:0x0 rows=64 cols=64 post "s%s"\nstore dram:0x4000, sram:0x0 rows=64 cols=64 wait "s%s"\n.endregion\n' \
    "$bad" "$bad" >>names.npu
"$NPUSIM" run names.npu --quiet --timeline names.html
printf 'sync.load\n' >least.npu
"$NPUSIM" run least.npu --quiet --timeline least.html
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$SRC/tests/sim" python3 "$SRC/tests/sim/page_user.py" "$chromium"
