/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the data beside it (sim/timeline/page.h says how they lie). The files of the page are one function, in the order of
 * sim/CMakeLists.txt. Text of the run comes into the page by textContent only. */

const begun = performance.now();
const $ = (id) => document.getElementById(id);
const meta = JSON.parse($('meta').textContent);
const report = meta.report;
const STATES = meta.states.map((s) => s[0]), NSTATES = STATES.length, ENGINES = meta.engines;
const BUSY = STATES.indexOf('busy'), IDLE = STATES.indexOf('idle');
const BLOCK = 256; /* instructions after which the numbers of texts start again */
const Time = meta.cycles < 2 ** 32 ? Uint32Array : Float64Array;
const [FROM, TO] = meta.window[1] > meta.window[0] ? meta.window : [0, 1];

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

const N = meta.instructions;
const insn = {
	number: new Uint32Array(N), op: new Uint8Array(N), slot: new Uint8Array(N), source: new Uint32Array(N),
	region: new Uint32Array(N), bytes: new Float64Array(N), macs: new Float64Array(N), issued: new Time(N),
	head: new Time(N), start: new Time(N), end: new Time(N), template: new Uint32Array(N),
	posters: [new Uint32Array(N), new Uint32Array(N)], /* number + 1; 0: none */
	firstLane: new Int32Array(N).fill(-1), firstFrom: new Time(N), lastLane: new Int32Array(N).fill(-1), lastTo: new Time(N),
};

function readInsns() {
	const r = new Reader(bytesOf('fixed'));
	let number = -1, issued = 0;
	for (let i = 0; i < N; i++) {
		insn.number[i] = number += r.next() + 1;
		insn.op[i] = r.next();
		insn.slot[i] = r.next();
		insn.source[i] = r.next();
		insn.region[i] = r.next();
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
		insn.template[i] = r.next();
	}
}
readInsns();

/* The row of an instruction, -1 when it is not in the page. */
function rowOf(number) {
	if (number < N && insn.number[number] === number)
		return number;
	let low = 0, high = N;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (insn.number[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < N && insn.number[low] === number ? low : -1;
}

function readSlices(lane, id) {
	const r = new Reader(bytesOf('lane-' + id)), n = lane.count;
	const named = lane.kind === 'regions' || lane.kind === 'critical', states = lane.kind === 'states';
	lane.from = new Time(n + (states ? 1 : 0));
	lane.to = states ? lane.from.subarray(1) : new Time(n);
	lane.row = new Int32Array(n);
	lane.names = named ? new Uint32Array(n) : null;
	lane.color = new Uint8Array(n); /* state, or number of a colour */
	let end = states ? FROM : 0, number = 0, decider = -1;
	for (let i = 0; states && i < n; i++) {
		const v = r.next(), length = Math.floor(v / 32);
		if (v % 2) {
			number += r.change();
			decider = number > 0 ? rowOf(number - 1) : -1;
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
		const row = lane.row[i] = number > 0 ? rowOf(number - 1) : -1;
		if (named)
			lane.names[i] = r.next();
		else if (row >= 0) {
			lane.color[i] = opColor(insn.op[row]);
			if (insn.firstLane[row] < 0) {
				insn.firstLane[row] = id;
				insn.firstFrom[row] = from;
			}
			insn.lastLane[row] = id;
			insn.lastTo[row] = end;
		}
	}
}

function readCurve(lane, id) {
	const r = new Reader(bytesOf('lane-' + id)), n = lane.count;
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
	lane.from[n] = TO;
	lane.to = lane.from.subarray(1);
}

/* What a curve can at most be, where the machine says so. */
const limits = new Map([['SRAM live', report.hw.sram.size], ['accumulators live', report.hw.accum.size],
	...ENGINES.map((e) => [e + ' queue', report.hw.sequencer.queue_depth])]);
const highest = (lane) => limits.has(lane.title) ? amount(lane.max, lane.unit === 'bytes' ? 'bytes' : '') + ' of ' + amount(limits.get(lane.title), lane.unit) :
	amount(lane.max, lane.unit);

/* Operations get their colours in the order of the table, those that occur only. */
const OPCOLORS = 10, opColors = new Map();
function opColor(op) {
	let color = opColors.get(op);
	if (color === undefined)
		opColors.set(op, color = opColors.size % OPCOLORS);
	return color;
}

const lanes = meta.lanes;
lanes.forEach((lane, id) => {
	lane.id = id;
	lane.title = meta.strings[lane.name];
	lane.unit = meta.strings[lane.unit];
	if (lane.kind === 'curve')
		readCurve(lane, id);
	else
		readSlices(lane, id);
});
const statesLane = ENGINES.map((_, e) => lanes.find((l) => l.kind === 'states' && l.engine === e));
const criticalLane = lanes.find((l) => l.kind === 'critical');
const isSequencer = (lane) => lane.kind === 'states' && lane.engine < 0;

/* Regions of one path are one, as in the report. */
const regions = { row: new Uint32Array(meta.regions.length + 1), path: ['(none)'] };
meta.regions.reduce((known, [name, parent], i) => {
	const above = parent >= 0 ? regions.row[parent + 1] : 0, key = above + ' ' + name;
	if (!known.has(key)) {
		known.set(key, regions.path.length);
		regions.path.push((above ? regions.path[above] + '/' : '') + meta.strings[name]);
	}
	regions.row[i + 1] = known.get(key);
	return known;
}, new Map());

/* A template is cut at the marks of its numbers: texts between, and whether each number is hexadecimal. */
const templates = meta.templates.map((t) => ({ parts: t.split(/[\u0001\u0002]/), hex: [...t].filter((c) => c < '\u0003').map((c) => c === '\u0002') }));
const numbers = bytesOf('numbers');
let blockAt = null;
function findBlocks() {
	blockAt = new Uint32Array(Math.ceil(N / BLOCK));
	const r = new Reader(numbers);
	for (let i = 0; i < N; i++) {
		if (i % BLOCK === 0)
			blockAt[i / BLOCK] = r.at;
		r.skip(templates[insn.template[i]].hex.length);
	}
}

/* Calls tell(row, text, shape) for the rows of [from, to) that `wanted` names by their template. */
function readTexts(from, to, wanted, tell) {
	if (!blockAt)
		findBlocks();
	const r = new Reader(numbers), first = from - from % BLOCK;
	let last = new Map();
	r.at = blockAt[first / BLOCK];
	for (let i = first; i < to; i++) {
		if (i % BLOCK === 0)
			last = new Map();
		const number = insn.template[i], t = templates[number], n = t.hex.length;
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
			tell(i, text.slice(0, cut), text.slice(cut + 1));
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
					const poster = rowOf(posters[i] - 1);
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
