#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws docs/timeline.svg: what each engine did, single buffering above double, on one time axis. Needs protoc.
#   docs/timeline_picture.sh build/release/npusim >docs/timeline.svg
set -euo pipefail
npusim=${1:?usage: docs/timeline_picture.sh NPUSIM >docs/timeline.svg}
here=$(dirname "${BASH_SOURCE[0]}")
work=(flash_attention seq=512 heads=1 head_dim=128 --hw edge-1mb)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# states FILE: "lane state from to" of every slice in the lanes "ENGINE states".
states() {
	protoc --decode=pf.Trace -I "$here/../sim/timeline" perfetto.proto <"$1" | awk '
		/^packet/ { time = 0; type = 0; track = 0; event = 0 }
		/^  timestamp:/ { time = $2 }
		/^  track_descriptor/ { described = 1 }
		described && /^    uuid:/ { uuid = $2 }
		described && /^    name:/ { sub(/^ *name: "/, ""); sub(/"$/, ""); lane[uuid] = $0; described = 0 }
		/^    type:/ { type = $2 }
		/^    name_iid:/ { event = $2 }
		/^    track_uuid:/ { track = $2 }
		/^    event_names/ { named = 1 }
		named && /^      iid:/ { iid = $2 }
		named && /^      name:/ { gsub(/"/, "", $2); name[iid] = $2; named = 0 }
		/^}/ && lane[track] ~ / states$/ && type == 1 { from[track] = time; what[track] = event }
		/^}/ && lane[track] ~ / states$/ && type == 2 { print lane[track], name[what[track]], from[track], time }'
}

for buffering in single double; do
	"$npusim" run "${work[@]}" "buffering=$buffering" --quiet --timeline "$tmp/$buffering.pftrace"
	states "$tmp/$buffering.pftrace" | sed "s/^/$buffering /"
done >"$tmp/slices"

awk '
	function group(state) {
		if (state == "busy") return "busy"
		if (state ~ /^wait_/) return "waits for another engine"
		if (state ~ /^dram_/) return "waits for DRAM"
		if (state ~ /conflict/) return "bank conflict"
		return "set-up, latency, dispatch"
	}
	BEGIN {
		colour["busy"] = "#2f7ed8"; colour["waits for another engine"] = "#e05b4b"; colour["waits for DRAM"] = "#f0a336"
		colour["bank conflict"] = "#8e5bb5"; colour["set-up, latency, dispatch"] = "#9aa0a6"
		left = 70; width = 900; lane_height = 22; gap = 5
		n = split("load store matrix vector", engines, " ")
		for (i = 1; i <= n; i++) row[engines[i]] = i - 1
	}
	{ line[NR] = $0; if ($6 > end) end = $6; if ($6 > last[$1]) last[$1] = $6 }
	END {
		top["single"] = 30; top["double"] = 30 + n * (lane_height + gap) + 40
		height = top["double"] + n * (lane_height + gap) + 60
		printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n", left + width + 20, height
		printf "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		for (b in top) {
			printf "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">buffering=%s: %d cycles</text>\n", left, top[b] - 8, b, last[b]
			for (i = 1; i <= n; i++) {
				y = top[b] + (i - 1) * (lane_height + gap)
				printf "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left - 8, y + 15, engines[i]
				printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f1f3f4\"/>\n", left, y, width, lane_height
			}
		}
		# A column of a pixel shows what its lane did for most of it.
		for (k = 1; k <= NR; k++) {
			split(line[k], f, " ")
			lane = f[1] " " f[2]; what = f[4] == "idle" ? "" : group(f[4])
			for (x = int(f[5] * width / end); x <= int((f[6] - 1) * width / end); x++) {
				from = x * end / width; to = (x + 1) * end / width
				share = (f[6] < to ? f[6] : to) - (f[5] > from ? f[5] : from)
				if ((sum[lane, x, what] += share) > most[lane, x]) { most[lane, x] = sum[lane, x, what]; shown[lane, x] = what }
			}
		}
		for (b in top) for (i = 1; i <= n; i++) {
			lane = b " " engines[i]; begun = 0
			for (x = 1; x <= width; x++) {
				if (shown[lane, x] == shown[lane, begun] && x < width) continue
				if (shown[lane, begun] != "")
					printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", left + begun, top[b] + (i - 1) * (lane_height + gap), x - begun, lane_height, colour[shown[lane, begun]]
				begun = x
			}
		}
		y = height - 40
		printf "<text x=\"%d\" y=\"%d\">0</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d cycles</text>\n", left, y, left + width, y, end
		x = left; y = height - 16
		legend[1] = "busy"; legend[2] = "waits for another engine"; legend[3] = "waits for DRAM"; legend[4] = "bank conflict"; legend[5] = "set-up, latency, dispatch"
		for (i = 1; i <= 5; i++) {
			printf "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text>\n", x, y - 10, colour[legend[i]], x + 17, y, legend[i]
			x += 40 + 7 * length(legend[i])
		}
		print "</svg>"
	}' "$tmp/slices"
