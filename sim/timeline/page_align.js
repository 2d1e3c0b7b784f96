/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the runs and times of the page. Of one run they are the same. Of two, each run's time is shifted so that something of
 * both is shown together: all regions that rise in both, so that who gets there first stands still (sim/timeline/align.h); one
 * region; or the beginnings. insn.* are times of the run; lane.from, lane.to, insn.firstFrom and insn.lastTo of the page. */

/* What a run's time is shifted by: from at[i] on by by[i]. */
runs.forEach((run) => { run.shift = { at: [0], by: [0], shown: [0] }; });

/* The end of a slice lies behind the mark of its beginning, even when it ends at the next. */
const markOf = (run, time) => run.shift.at.length === 1 ? 0 : Math.max(above(run.shift.at, run.shift.at.length, time) - 1, 0);
const toPage = (run, time) => time + run.shift.by[markOf(run, time)];

/* What of the run stands at a time of the page; where it stands still, what comes next. */
function toRun(run, time) {
	const { at, by, shown } = run.shift, mark = at.length === 1 ? 0 : Math.max(above(shown, shown.length, time) - 1, 0);
	return mark + 1 < at.length ? Math.min(time - by[mark], at[mark + 1]) : time - by[mark];
}

/* The longest shift is that of the end. */
function pageEnd() {
	return runs.reduce((end, run) => Math.max(end, run.meta.cycles + run.shift.by[run.shift.by.length - 1]), 0);
}

/* A lane with the slices cut where its run stands still. */
function alignLane(lane) {
	const { at, by } = lane.run.shift, own = lane.own, from = [], to = [], of = [];
	let mark = 0;
	for (let i = 0; i < own.count; i++) {
		let begin = own.from[i];
		while (mark + 1 < at.length && at[mark + 1] <= begin)
			mark++;
		for (let m = mark; ; m++) {
			const end = m + 1 < at.length ? Math.min(at[m + 1], own.to[i]) : own.to[i];
			from.push(begin + by[m]);
			to.push(end + by[m]);
			of.push(i);
			if (end >= own.to[i])
				break;
			begin = end;
		}
	}
	const pick = (array) => array && array.constructor.from(of, (i) => array[i]);
	lane.count = of.length;
	lane.from = Time.from(from);
	lane.to = Time.from(to);
	lane.row = pick(own.row);
	lane.names = pick(own.names);
	lane.color = pick(own.color);
	lane.value = pick(own.value);
	lane.sums = null;
}

/* Where each instruction is shown first and last. */
function findShown() {
	insn.firstLane.fill(-1);
	insn.lastLane.fill(-1);
	for (const lane of lanes)
		if (lane.kind === 'work' || lane.kind === 'drain' || lane.kind === 'instants')
			for (let i = 0; i < lane.count; i++) {
				const row = lane.row[i];
				if (row < 0)
					continue;
				if (insn.firstLane[row] < 0 || lane.from[i] < insn.firstFrom[row]) {
					insn.firstLane[row] = lane.id;
					insn.firstFrom[row] = lane.from[i];
				}
				if (insn.lastLane[row] < 0 || lane.to[i] >= insn.lastTo[row]) {
					insn.lastLane[row] = lane.id;
					insn.lastTo[row] = lane.to[i];
				}
			}
}

const keepOwn = (lane) => ({ from: lane.from, to: lane.to, row: lane.row, names: lane.names, color: lane.color, value: lane.value, count: lane.count });
const pairs = pair ? pair.pairs.map(([a, b, laneA, fromA, toA, laneB, fromB, toB, together]) => ({
	path: regions.path[regions.row[a + 1]], lanes: [lanes.find((l) => l.run === runs[0] && l.block === laneA), lanes.find((l) => l.run === runs[1] && l.block === laneB)],
	from: [fromA, fromB], to: [toA, toB], together: together === true,
})) : [];

/* 'regions', 'start', or the number of a pair that is shown together. */
let alignment = '';
function align(way) {
	const one = way === 'regions' || way === 'start' ? null : pairs[way];
	alignment = way;
	runs.forEach((run, r) => {
		if (way === 'regions') {
			/* What shifts alike is one. */
			const all = pair.marks.map((m) => [m[r], m[2] - m[r]]), kept = all.filter(([, by], i) => i === 0 || by !== all[i - 1][1]);
			run.shift = { at: kept.map((m) => m[0]), by: kept.map((m) => m[1]) };
		} else {
			run.shift = { at: [0], by: [one ? Math.max(...one.from) - one.from[r] : 0] };
		}
	});
	for (const { shift } of runs)
		shift.shown = shift.at.map((time, i) => time + shift.by[i]);
	lanes.forEach(alignLane);
	findShown();
	for (const p of pairs) {
		const ends = runs.map((run, r) => p.to[r] + run.shift.by[Math.max(above(run.shift.at, run.shift.at.length, p.to[r] - 1) - 1, 0)]);
		p.shown = { from: runs.map((run, r) => toPage(run, p.from[r])), to: ends };
	}
	FROM = 0;
	TO = pageEnd();
}

if (pair) {
	lanes.forEach((lane) => { lane.own = keepOwn(lane); });
	align('regions');
} else {
	lanes.forEach((lane) => { lane.own = lane; });
	findShown();
}
