/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the data beside it (sim/timeline/page.h says how they lie). The files of the page are one function, in the order of
 * sim/CMakeLists.txt. Text of the run comes into the page by textContent only. */

const begun = performance.now();
const $ = (id) => document.getElementById(id);
const take = (id) => { const value = JSON.parse($(id).textContent); $(id).remove(); return value; };
/* A run, or two that are compared: everything of the second stands behind that of the first, under numbers of its own. */
const pair = $('pair') && take('pair');
const runs = ['', 'b-'].filter((before) => $(before + 'meta')).map((before, r) => ({ before, number: r, meta: take(before + 'meta'), letter: pair ? 'AB'[r] + ' ' : '' }));
const meta = runs[0].meta, report = meta.report;
const STATES = meta.states.map((s) => s[0]), NSTATES = STATES.length, PER_RUN = meta.engines.length;
const ENGINES = runs.flatMap((run) => meta.engines.map((e) => run.letter + e));
const BUSY = STATES.indexOf('busy'), IDLE = STATES.indexOf('idle');
const BLOCK = 256; /* instructions after which the numbers of texts start again */
const Time = runs.reduce((sum, run) => sum + run.meta.cycles, 0) < 2 ** 32 ? Uint32Array : Float64Array;
let [FROM, TO] = meta.window[1] > meta.window[0] ? meta.window : [0, 1];

/* Strings, templates and regions of all runs in one list each. */
const strings = runs.flatMap((run) => run.meta.strings);
runs.reduce((at, run) => {
	Object.assign(run, at, { n: run.meta.instructions });
	run.meta.lanes.forEach((lane, i) => Object.assign(lane, { run, block: i, engine: lane.engine < 0 ? -1 : lane.engine + run.number * PER_RUN,
		title: run.letter + run.meta.strings[lane.name], unit: run.meta.strings[lane.unit] }));
	return { first: at.first + run.n, string: at.string + run.meta.strings.length, template: at.template + run.meta.templates.length,
		region: at.region + run.meta.regions.length };
}, { first: 0, string: 0, template: 0, region: 0 });

function bytesOf(id) {
	const text = atob($(id).textContent), bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	$(id).remove();
	return bytes;
}

class Reader {
	constructor(bytes) { this.bytes = bytes; this.at = 0; }
	next() {
		const bytes = this.bytes;
		let b = bytes[this.at++];
		if (b < 128)
			return b;
		let value = b & 127, scale = 128;
		do {
			b = bytes[this.at++];
			value += (b & 127) * scale;
			scale *= 128;
		} while (b > 127);
		return value;
	}
	change() {
		const v = this.next();
		return v % 2 ? -(v + 1) / 2 : v / 2;
	}
	skip(n) {
		const bytes = this.bytes;
		for (let at = this.at; n > 0; this.at = at)
			if (bytes[at++] < 128)
				n--;
	}
	real() {
		const value = new DataView(this.bytes.buffer, this.at, 8).getFloat64(0, true);
		this.at += 8;
		return value;
	}
}

const N = runs.reduce((sum, run) => sum + run.n, 0);
const insn = {
	number: new Uint32Array(N), op: new Uint8Array(N), slot: new Uint8Array(N), source: new Uint32Array(N),
	region: new Uint32Array(N), bytes: new Float64Array(N), macs: new Float64Array(N), issued: new Time(N),
	head: new Time(N), start: new Time(N), end: new Time(N), template: new Uint32Array(N),
	posters: [new Uint32Array(N), new Uint32Array(N)], /* number + 1; 0: none */
	firstLane: new Int32Array(N).fill(-1), firstFrom: new Time(N), lastLane: new Int32Array(N).fill(-1), lastTo: new Time(N),
};

function readInsns(run) {
	const r = new Reader(bytesOf(run.before + 'fixed'));
	let number = -1, issued = 0;
	for (let i = run.first; i < run.first + run.n; i++) {
		insn.number[i] = number += r.next() + 1;
		insn.op[i] = r.next();
		insn.slot[i] = r.next();
		insn.source[i] = r.next() + run.string;
		const region = r.next();
		insn.region[i] = region > 0 ? region + run.region : 0;
		insn.bytes[i] = r.next();
		insn.macs[i] = r.next();
		insn.issued[i] = issued += r.change();
		insn.head[i] = insn.issued[i] + r.next();
		insn.start[i] = insn.head[i] + r.next();
		insn.end[i] = insn.start[i] + r.next();
		for (const posters of insn.posters) {
			const distance = r.next();
			posters[i] = distance > 0 ? number - distance + 1 : 0;
		}
		insn.template[i] = r.next() + run.template;
	}
}
runs.forEach(readInsns);

const runOf = (row) => runs.length > 1 && row >= runs[1].first ? runs[1] : runs[0];
const engineOf = (row) => meta.ops[insn.op[row]][1] + runOf(row).number * PER_RUN;

/* The row of an instruction of a run, -1 when it is not in the page. */
function rowOf(number, run = runs[0]) {
	if (number < run.n && insn.number[run.first + number] === number)
		return run.first + number;
	let low = run.first;
	const end = run.first + run.n;
	for (let high = end; low < high;) {
		const middle = (low + high) >> 1;
		if (insn.number[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && insn.number[low] === number ? low : -1;
}

function readSlices(lane) {
	const r = new Reader(bytesOf(lane.run.before + 'lane-' + lane.block)), n = lane.count, run = lane.run;
	const named = lane.kind === 'regions' || lane.kind === 'critical', states = lane.kind === 'states';
	lane.from = new Time(n + (states ? 1 : 0));
	lane.to = states ? lane.from.subarray(1) : new Time(n);
	lane.row = new Int32Array(n);
	lane.names = named ? new Uint32Array(n) : null;
	lane.color = new Uint8Array(n); /* state, or number of a colour */
	let end = states ? run.meta.window[0] : 0, number = 0, decider = -1;
	for (let i = 0; states && i < n; i++) {
		const v = r.next(), length = Math.floor(v / 32);
		if (v % 2) {
			number += r.change();
			decider = number > 0 ? rowOf(number - 1, run) : -1;
		}
		lane.from[i] = end;
		end += length;
		lane.color[i] = (v - length * 32) >> 1;
		lane.row[i] = decider;
	}
	if (states)
		lane.from[n] = end;
	for (let i = 0; !states && i < n; i++) {
		const from = end + r.next();
		lane.from[i] = from;
		lane.to[i] = end = from + r.next();
		number += r.change();
		const row = lane.row[i] = number > 0 ? rowOf(number - 1, run) : -1;
		if (named)
			lane.names[i] = r.next() + run.string;
		else if (row >= 0)
			lane.color[i] = opColor(insn.op[row]);
	}
}

function readCurve(lane) {
	const r = new Reader(bytesOf(lane.run.before + 'lane-' + lane.block)), n = lane.count;
	lane.from = new Time(n + 1);
	lane.value = new Float64Array(n);
	lane.max = 0;
	let time = 0, whole = 0;
	for (let i = 0; i < n; i++) {
		lane.from[i] = time += r.next();
		const v = r.next();
		if (v > 0)
			whole += v % 2 ? (v - 1) / 2 : -v / 2;
		lane.value[i] = v > 0 ? whole : r.real();
		lane.max = Math.max(lane.max, lane.value[i]);
	}
	lane.from[n] = lane.run.meta.window[1] > lane.run.meta.window[0] ? lane.run.meta.window[1] : 1;
	lane.to = lane.from.subarray(1);
}

/* What a curve can at most be, where the machine says so. */
runs.forEach((run) => {
	const hw = run.meta.report.hw;
	run.limits = new Map([['SRAM live', hw.sram.size], ['accumulators live', hw.accum.size], ...meta.engines.map((e) => [e + ' queue', hw.sequencer.queue_depth])]);
});
const limitOf = (lane) => lane.run.limits.get(lane.run.meta.strings[lane.name]);
const highest = (lane) => limitOf(lane) === undefined ? amount(lane.max, lane.unit) :
	amount(lane.max, lane.unit === 'bytes' ? 'bytes' : '') + ' of ' + amount(limitOf(lane), lane.unit);

/* Operations get their colours in the order of the table, those that occur only. */
const OPCOLORS = 10, opColors = new Map();
function opColor(op) {
	let color = opColors.get(op);
	if (color === undefined)
		opColors.set(op, color = opColors.size % OPCOLORS);
	return color;
}

/* Of two runs each lane of the first has the second's of the same name below it; what only the second has follows the lane that it
 * follows there. */
const lanes = [...meta.lanes];
if (runs.length > 1) {
	const nameOfLane = (lane) => lane.run.meta.strings[lane.name];
	let at = 0;
	for (const lane of runs[1].meta.lanes) {
		const same = lanes.findIndex((l) => l.run === runs[0] && nameOfLane(l) === nameOfLane(lane));
		lanes.splice(at = same >= 0 ? same + 1 : at, 0, lane);
		at++;
	}
}
lanes.forEach((lane, id) => {
	lane.id = id;
	if (lane.kind === 'curve')
		readCurve(lane);
	else
		readSlices(lane);
});
/* The colour of a named slice follows its name; what of the critical path is no service is grey. */
const nameColors = new Map();
lanes.filter((l) => l.names).forEach((lane) => {
	const critical = lane.kind === 'critical', key = lane.run.meta.strings[lane.name], numbers = nameColors.get(key) || new Map();
	nameColors.set(key, numbers);
	for (let i = 0; i < lane.count; i++) {
		if (critical) {
			const row = lane.row[i];
			lane.color[i] = row >= 0 && strings[lane.names[i]] === meta.ops[insn.op[row]][0] ? opColor(insn.op[row]) : OPCOLORS;
			continue;
		}
		const name = strings[lane.names[i]];
		if (!numbers.has(name))
			numbers.set(name, numbers.size % OPCOLORS);
		lane.color[i] = numbers.get(name);
	}
});

const statesLane = ENGINES.map((_, e) => lanes.find((l) => l.kind === 'states' && l.engine === e));
const criticalLanes = lanes.filter((l) => l.kind === 'critical');
const isSequencer = (lane) => lane.kind === 'states' && lane.engine < 0;

/* Regions of one path are one, as in the report, in both runs. */
const regions = { row: new Uint32Array(runs.reduce((sum, run) => sum + run.meta.regions.length, 0) + 1), path: ['(none)'], known: new Map() };
for (const run of runs)
	run.meta.regions.forEach(([name, parent], i) => {
		const above = parent >= 0 ? regions.row[run.region + parent + 1] : 0, text = run.meta.strings[name], key = above + ' ' + text;
		if (!regions.known.has(key)) {
			regions.known.set(key, regions.path.length);
			regions.path.push((above ? regions.path[above] + '/' : '') + text);
		}
		regions.row[run.region + i + 1] = regions.known.get(key);
	});

/* A template is cut at the marks of its numbers: texts between, and whether each number is hexadecimal. */
const templates = runs.flatMap((run) => run.meta.templates).map((t) => ({ parts: t.split(/[\u0001\u0002]/), hex: [...t].filter((c) => c < '\u0003').map((c) => c === '\u0002') }));
runs.forEach((run) => { run.numbers = bytesOf(run.before + 'numbers'); });
function findBlocks(run) {
	run.blockAt = new Uint32Array(Math.ceil(run.n / BLOCK));
	const r = new Reader(run.numbers);
	for (let i = 0; i < run.n; i++) {
		if (i % BLOCK === 0)
			run.blockAt[i / BLOCK] = r.at;
		r.skip(templates[insn.template[run.first + i]].hex.length);
	}
}

/* Calls tell(row, text, shape) for the rows of [from, to) that `wanted` names by their template. */
function readTexts(from, to, wanted, tell) {
	for (const run of runs)
		readTextsOf(run, Math.max(from - run.first, 0), Math.min(to - run.first, run.n), wanted, tell);
}

function readTextsOf(run, from, to, wanted, tell) {
	if (from >= to)
		return;
	if (!run.blockAt)
		findBlocks(run);
	const r = new Reader(run.numbers), first = from - from % BLOCK;
	let last = new Map();
	r.at = run.blockAt[first / BLOCK];
	for (let i = first; i < to; i++) {
		if (i % BLOCK === 0)
			last = new Map();
		const number = insn.template[run.first + i], t = templates[number], n = t.hex.length;
		let before = last.get(number);
		if (!before)
			last.set(number, before = new Float64Array(n));
		let text = t.parts[0];
		const tells = i >= from && wanted(number);
		for (let k = 0; k < n; k++) {
			const value = before[k] += r.change();
			if (tells)
				text += (t.hex[k] ? '0x' + value.toString(16) : value) + t.parts[k + 1];
		}
		if (tells) {
			const cut = text.lastIndexOf('\n');
			tell(run.first + i, text.slice(0, cut), text.slice(cut + 1));
		}
	}
}

function textOf(row) {
	let result = ['', ''];
	readTexts(row, row + 1, () => true, (_, text, shape) => { result = [text, shape]; });
	return result;
}

/* Who waited for a row: rows[first[row] .. first[row + 1]). */
let waiters = null;
function findWaiters() {
	const first = new Uint32Array(N + 2);
	const each = (tell) => {
		for (let i = 0; i < N; i++)
			for (const posters of insn.posters)
				if (posters[i] > 0) {
					const poster = rowOf(posters[i] - 1, runOf(i));
					if (poster >= 0)
						tell(poster, i);
				}
	};
	each((poster) => first[poster + 2]++);
	for (let i = 2; i < N + 2; i++)
		first[i] += first[i - 1];
	const rows = new Uint32Array(first[N + 1]);
	each((poster, i) => { rows[first[poster + 1]++] = i; });
	waiters = { first, rows };
}
function waitersOf(row) {
	if (!waiters)
		findWaiters();
	return [...new Set(waiters.rows.subarray(waiters.first[row], waiters.first[row + 1]))];
}
const postersOf = (row) => [...new Set(insn.posters.map((p) => p[row]).filter((p) => p > 0).map((p) => p - 1))];

/* First index from `low` on whose `ends` lies above the time: steps that double, then halves. */
function above(ends, n, time, low = 0) {
	let high = n;
	if (low > 0) {
		let reach = 16;
		while (low + reach < n && !(ends[low + reach] > time)) {
			low += reach;
			reach *= 2;
		}
		high = Math.min(n, low + reach);
	}
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (ends[middle] > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}
