/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a timeline: reads the data beside it (sim/timeline/page.h says how they lie), draws them on one canvas.
 * Text of the run comes into the page by textContent only. */
'use strict';
(function () {
const begun = performance.now();
const $ = (id) => document.getElementById(id);
const meta = JSON.parse($('meta').textContent);
const report = meta.report;
const STATES = meta.states.map((s) => s[0]), NSTATES = STATES.length, ENGINES = meta.engines;
const BUSY = STATES.indexOf('busy'), IDLE = STATES.indexOf('idle');
const BLOCK = 256; /* instructions after which the numbers of texts start again */
const Time = meta.cycles < 2 ** 32 ? Uint32Array : Float64Array;
const [FROM, TO] = meta.window[1] > meta.window[0] ? meta.window : [0, 1];

/* -- data -- */

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

/* -- layout -- */

const GUTTER = 158, RULER = 26, GAP = 2;
const HEIGHTS = { regions: 17, work: 21, drain: 14, instants: 12, states: 15, critical: 17, curve: 38 };
let contentHeight = RULER + 4;
lanes.forEach((lane, i) => {
	const before = lanes[i - 1];
	if (before && (before.engine !== lane.engine || before.kind === 'curve' !== (lane.kind === 'curve')))
		contentHeight += 7;
	lane.top = contentHeight;
	lane.height = HEIGHTS[lane.kind];
	contentHeight += lane.height + GAP;
});
contentHeight += 6;

const view = $('view'), canvas = $('canvas'), g = canvas.getContext('2d', { alpha: false });
const shown = { from: FROM, to: TO };      /* cycles */
const hidden = new Uint8Array(NSTATES);
let width = 0, height = 0, scale = 1;      /* CSS pixels; pixels a cycle */
let colors = {};
let selected = -1, box = null, overlay = false, matches = null, pointer = null;

const X = (time) => GUTTER + (time - shown.from) * scale;
const timeAt = (x) => shown.from + (x - GUTTER) / scale;
const Y = (lane) => lane.top - view.scrollTop;

function readColors() {
	const style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue('--' + name).trim();
	colors = Object.fromEntries(['paper', 'lane', 'line', 'ink', 'faint', 'accent', 'critical', 'arrow', 'match', 'box', 'curve'].map((n) => [n, color(n)]));
	colors.states = STATES.map(color);
	const sequencer = { launch: 'engine_latency', issue: 'dispatch_rate', fetch: 'dram_latency', done: 'idle' };
	colors.sequencer = meta.sequencer.map((s) => color(sequencer[s] || 'wait_' + s.replace('queue_full_', '')));
	colors.ops = Array.from({ length: OPCOLORS }, (_, i) => color('op' + i));
	colors.none = color('none');
}

const paletteOf = (lane) => lane.kind === 'states' ? (isSequencer(lane) ? colors.sequencer : colors.states) : colors.ops;

const nameOf = (lane, i) => {
	if (lane.kind === 'states')
		return isSequencer(lane) ? meta.sequencer[lane.color[i]] : STATES[lane.color[i]];
	return lane.names ? meta.strings[lane.names[i]] : lane.row[i] >= 0 ? meta.ops[insn.op[lane.row[i]]][0] : '';
};

/* The colour of a named slice follows its name; what of the critical path is no service is grey. */
lanes.filter((l) => l.names).forEach((lane) => {
	const critical = lane.kind === 'critical', numbers = new Map();
	for (let i = 0; i < lane.count; i++) {
		if (critical) {
			const row = lane.row[i];
			lane.color[i] = row >= 0 && meta.strings[lane.names[i]] === meta.ops[insn.op[row]][0] ? opColor(insn.op[row]) : OPCOLORS;
			continue;
		}
		if (!numbers.has(lane.names[i]))
			numbers.set(lane.names[i], numbers.size % OPCOLORS);
		lane.color[i] = numbers.get(lane.names[i]);
	}
});

/* -- drawing -- */

function label(text, x, y, room) {
	if (room < 18)
		return;
	const fits = Math.floor(room / 6.2);
	g.fillText(text.length > fits ? text.slice(0, Math.max(fits - 1, 1)) + '\u2026' : text, x, y);
}

/* Cycles by colour of the slices before every SUMMED-th one of a long lane, so that what a pixel holds of a million slices
 * is known from two of these sums and few slices. */
const SUMMED = 256, COLORS = 16;
function sumsOf(lane) {
	if (lane.sums)
		return lane.sums;
	const { from, to, color, count } = lane, sums = lane.sums = new Time((Math.floor(count / SUMMED) + 1) * COLORS);
	const now = new Float64Array(COLORS);
	for (let i = 0; i <= count; i++) {
		if (i % SUMMED === 0)
			sums.set(now, i / SUMMED * COLORS);
		if (i < count)
			now[color[i]] += to[i] - from[i];
	}
	return sums;
}

/* Adds up the cycles of slices [i, end) by colour. */
function addSlices(lane, i, end, into) {
	const { from, to, color } = lane;
	if (end - i > 2 * SUMMED) {
		const sums = sumsOf(lane), first = Math.ceil(i / SUMMED), last = Math.floor(end / SUMMED);
		for (let c = 0; c < COLORS; c++)
			into[c] += sums[last * COLORS + c] - sums[first * COLORS + c];
		for (; i < first * SUMMED; i++)
			into[color[i]] += to[i] - from[i];
		i = last * SUMMED;
	}
	for (; i < end; i++)
		into[color[i]] += to[i] - from[i];
}

/* Slices of a pixel or more are drawn each; those that share a pixel as one column in the colour of most of its cycles, the
 * paler the less of it they cover. */
function drawSlices(lane) {
	const y = Y(lane), h = lane.height, n = lane.count, t0 = shown.from, k = scale, room = width - GUTTER;
	const { from, to, color } = lane, palette = paletteOf(lane), states = lane.kind === 'states';
	const hides = states && lane.engine >= 0, sums = new Float64Array(COLORS), labels = [];
	const column = (pixel, i, end) => {
		const begin = t0 + pixel / k, until = begin + 1 / k;
		sums.fill(0);
		addSlices(lane, i, end, sums);
		sums[color[i]] -= Math.max(begin - from[i], 0);
		sums[color[end - 1]] -= Math.max(to[end - 1] - until, 0);
		let most = -1, all = 0;
		for (let c = 0; c < COLORS; c++) {
			if (!(sums[c] > 0) || hides && hidden[c])
				continue;
			all += sums[c];
			if (most < 0 || sums[c] > sums[most])
				most = c;
		}
		if (most < 0)
			return;
		g.globalAlpha = Math.max(0.35, Math.min(1, all * k));
		g.fillStyle = palette[most] || colors.none;
		g.fillRect(GUTTER + pixel, y, 1, h);
		g.globalAlpha = 1;
	};
	let pixel = 0, i = above(to, n, t0);
	while (pixel < room) {
		i = above(to, n, t0 + pixel / k, i);
		if (i >= n)
			break;
		const x0 = (from[i] - t0) * k, first = i;
		if (x0 >= pixel + 1) {
			pixel = Math.floor(x0);
			continue;
		}
		while (states && i + 1 < n && color[i + 1] === color[i] && (to[i] - t0) * k < room)
			i++; /* whoever decided it */
		const x1 = (to[i] - t0) * k;
		if (x1 - x0 >= 1) {
			const a = Math.max(x0, 0), b = Math.min(x1, room), c = color[first];
			if (!(hides && hidden[c])) {
				g.fillStyle = palette[c] || colors.none;
				g.fillRect(GUTTER + a, y, Math.max(b - a - (b - a > 3 ? 0.5 : 0), 1), h);
				if (b - a > 24 && !(states && palette[c] === colors.states[IDLE]))
					labels.push(first, a, b);
			}
			pixel = Math.max(pixel + 1, Math.ceil(x1 - 0.5)); /* what shares less than half of its last pixel goes with it */
			i++;
			continue;
		}
		column(pixel, first, i = Math.max(above(from, n, t0 + (pixel + 1) / k, first), first + 1));
		i = Math.max(i - 1, 0);
		pixel++;
	}
	g.fillStyle = states ? '#ffffff' : '#101418';
	for (let i = 0; i < labels.length; i += 3)
		label(nameOf(lane, labels[i]), GUTTER + labels[i + 1] + 4, y + h / 2 + 4, labels[i + 2] - labels[i + 1] - 6);
}

function drawInstants(lane) {
	const y = Y(lane), n = lane.count;
	let pixel = -1;
	g.fillStyle = colors.ink;
	for (let i = above(lane.to, n, shown.from - 1); i < n && lane.from[i] <= shown.to; i++) {
		const x = Math.floor(X(lane.from[i]));
		if (x === pixel || x < GUTTER)
			continue;
		pixel = x;
		g.fillRect(x - 1, y + 1, 2, lane.height - 2);
	}
}

function drawCurve(lane) {
	const y = Y(lane), h = lane.height - 2, n = lane.count, t0 = shown.from, top = lane.max || 1;
	let pixel = -1, most = 0;
	g.fillStyle = colors.curve;
	const bar = (x, w, value) => {
		const tall = Math.max(value > 0 ? 1 : 0, value / top * h);
		g.fillRect(GUTTER + x, y + lane.height - tall, w, tall);
	};
	for (let i = above(lane.to, n, t0); i < n && lane.from[i] < shown.to; i++) {
		const x0 = Math.max((lane.from[i] - t0) * scale, 0), x1 = Math.min((lane.to[i] - t0) * scale, width - GUTTER);
		if (x1 - x0 >= 1) {
			if (pixel >= 0)
				bar(pixel, 1, most);
			pixel = -1;
			bar(x0, x1 - x0, lane.value[i]);
			continue;
		}
		const p = Math.floor(x0);
		if (p !== pixel) {
			if (pixel >= 0)
				bar(pixel, 1, most);
			pixel = p;
			most = 0;
		}
		most = Math.max(most, lane.value[i]);
	}
	if (pixel >= 0)
		bar(pixel, 1, most);
}

/* 1, 2 or 5 times a power of ten that is at least so many cycles. */
function stepOf(cycles) {
	let step = 1;
	for (const factor of [2, 2.5, 2].concat(Array(60).fill(0).map((_, i) => [2, 2.5, 2][i % 3]))) {
		if (step >= cycles)
			break;
		step *= factor;
	}
	return step;
}

function eachTick(tell) {
	const step = stepOf(90 / scale);
	for (let t = Math.ceil(shown.from / step) * step; t <= shown.to; t += step)
		tell(t);
}

function drawRuler() {
	g.fillStyle = colors.paper;
	g.fillRect(0, 0, width, RULER);
	g.fillStyle = colors.line;
	g.fillRect(0, RULER - 1, width, 1);
	/* What part of the page's cycles is in view. */
	const whole = width - GUTTER, a = (shown.from - FROM) / (TO - FROM) * whole, b = (shown.to - FROM) / (TO - FROM) * whole;
	g.fillRect(GUTTER, 0, whole, 3);
	g.fillStyle = colors.accent;
	g.fillRect(GUTTER + a, 0, Math.max(b - a, 2), 3);
	eachTick((t) => {
		g.fillStyle = colors.line;
		g.fillRect(Math.round(X(t)), 14, 1, RULER - 14);
		g.fillStyle = colors.faint;
		g.fillText(t.toLocaleString('en-US'), X(t) + 3, 17);
	});
	g.fillStyle = colors.faint;
	g.fillText('cycles', 8, 17);
	if (!matches)
		return;
	g.fillStyle = colors.match;
	let pixel = -1;
	for (let i = above(matches.times, matches.rows.length, shown.from - 1); i < matches.rows.length && matches.times[i] <= shown.to; i++) {
		const x = Math.floor(X(matches.times[i]));
		if (x !== pixel)
			g.fillRect(pixel = x, RULER - 6, 2, 5);
	}
}

const middleOf = (lane) => Y(lane) + lane.height / 2;

/* The chain: a line below the slice that holds it, and steps from lane to lane where there are few enough. */
function drawCritical() {
	const lane = criticalLane, n = lane.count;
	const first = above(lane.to, n, shown.from), steps = [];
	let pixel = -1;
	g.fillStyle = colors.critical;
	for (let i = first; i < n && lane.from[i] < shown.to; i++) {
		const row = lane.row[i];
		if (lane.color[i] === OPCOLORS || row < 0)
			continue;
		const on = lanes[lane.from[i] >= insn.firstFrom[row] && lane.to[i] <= insn.lastTo[row] && insn.lastLane[row] >= 0 &&
			lane.to[i] === insn.lastTo[row] && lane.from[i] > insn.firstFrom[row] ? insn.lastLane[row] : insn.firstLane[row]];
		if (!on)
			continue;
		const x0 = Math.max(X(lane.from[i]), GUTTER), x1 = Math.min(X(lane.to[i]), width), y = Y(on) + on.height - 3;
		if (steps.length < 3000)
			steps.push([x0, x1, y]);
		const p = Math.floor(x0) * 65536 + on.id;
		if (x1 - x0 < 1 && p === pixel)
			continue;
		pixel = p;
		g.fillRect(x0, y, Math.max(x1 - x0, 1), 4);
	}
	if (steps.length >= 3000)
		return;
	g.strokeStyle = colors.critical;
	g.lineWidth = 1.5;
	g.beginPath();
	for (let i = 1; i < steps.length; i++) {
		g.moveTo(steps[i - 1][1], steps[i - 1][2] + 2);
		g.lineTo(steps[i][0], steps[i][2] + 2);
	}
	g.stroke();
}

function arrow(fromRow, toRow) {
	const a = lanes[insn.lastLane[fromRow]], b = lanes[insn.firstLane[toRow]];
	if (!a || !b)
		return;
	const x0 = X(insn.lastTo[fromRow]), y0 = middleOf(a), x1 = X(insn.firstFrom[toRow]), y1 = middleOf(b);
	if (Math.max(x0, x1) < GUTTER || Math.min(x0, x1) > width)
		return;
	const bend = Math.min(Math.max((x1 - x0) / 2, 14), 120);
	g.beginPath();
	g.moveTo(x0, y0);
	g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
	g.stroke();
	g.beginPath();
	g.moveTo(x1, y1);
	g.lineTo(x1 - 7, y1 - 4);
	g.lineTo(x1 - 7, y1 + 4);
	g.fill();
}

const MOST_ARROWS = 200;
function drawSelected() {
	g.strokeStyle = g.fillStyle = colors.arrow;
	g.lineWidth = 2;
	for (const id of new Set([insn.firstLane[selected], insn.lastLane[selected]])) {
		const lane = lanes[id];
		if (!lane)
			continue;
		const from = id === insn.firstLane[selected] ? insn.firstFrom[selected] : lane.from[above(lane.to, lane.count, insn.lastTo[selected] - 1)];
		const to = id === insn.lastLane[selected] ? insn.lastTo[selected] : lane.to[above(lane.to, lane.count, insn.firstFrom[selected])];
		const x0 = Math.max(X(from), GUTTER - 4), x1 = Math.min(X(to), width + 4);
		if (x1 >= GUTTER && x0 <= width)
			g.strokeRect(x0 - 1, Y(lane) - 1, Math.max(x1 - x0, 1) + 2, lane.height + 2);
	}
	g.lineWidth = 1.5;
	for (const number of postersOf(selected)) {
		const row = rowOf(number);
		if (row >= 0)
			arrow(row, selected);
	}
	for (const row of waitersOf(selected).slice(0, MOST_ARROWS))
		arrow(selected, row);
}

function drawGutter() {
	g.fillStyle = colors.paper;
	g.fillRect(0, RULER, GUTTER, height);
	for (const lane of lanes) {
		const y = Y(lane);
		g.fillStyle = lane.kind === 'work' || lane.kind === 'curve' ? colors.ink : colors.faint;
		g.fillText(lane.title, 8, y + (lane.kind === 'curve' ? 14 : lane.height / 2 + 4));
		if (lane.kind === 'curve') {
			g.fillStyle = colors.faint;
			g.fillText('max ' + highest(lane), 8, y + 29);
		}
	}
	g.fillStyle = colors.line;
	g.fillRect(GUTTER - 1, RULER, 1, height);
}

/* Draws all at once; returns the milliseconds that it took. */
function draw() {
	const start = performance.now(), ratio = window.devicePixelRatio || 1;
	width = view.clientWidth;
	height = view.clientHeight;
	scale = (width - GUTTER) / (shown.to - shown.from);
	const w = Math.round(width * ratio), h = Math.round(height * ratio);
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = width + 'px';
		canvas.style.height = height + 'px';
	}
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	g.font = '11px system-ui, sans-serif';
	g.fillStyle = colors.paper;
	g.fillRect(0, 0, width, height);
	const inSight = lanes.filter((l) => Y(l) + l.height >= RULER && Y(l) <= height);
	g.fillStyle = colors.lane;
	for (const lane of inSight)
		g.fillRect(GUTTER, Y(lane), width, lane.height);
	g.fillStyle = colors.line;
	eachTick((t) => g.fillRect(Math.round(X(t)), RULER, 1, height));
	for (const lane of inSight) {
		if (lane.kind === 'curve')
			drawCurve(lane);
		else if (lane.kind === 'instants')
			drawInstants(lane);
		else
			drawSlices(lane);
	}
	if (overlay && criticalLane)
		drawCritical();
	if (selected >= 0)
		drawSelected();
	if (box) {
		const x0 = Math.max(X(box.from), GUTTER), x1 = Math.min(X(box.to), width);
		const y0 = box.top === null ? RULER : box.top - view.scrollTop, y1 = box.top === null ? height : box.bottom - view.scrollTop;
		g.fillStyle = colors.box;
		g.fillRect(x0, y0, x1 - x0, y1 - y0);
		g.strokeStyle = colors.accent;
		g.lineWidth = 1;
		g.strokeRect(x0 + 0.5, y0 + 0.5, x1 - x0, y1 - y0);
	}
	drawGutter();
	drawRuler();
	const cycles = shown.to - shown.from;
	$('where').textContent = 'cycles ' + count(Math.floor(shown.from)) + ' to ' + count(Math.ceil(shown.to)) + ', ' +
		count(Math.round(cycles)) + ' shown, ' + micros(cycles);
	return performance.now() - start;
}

let drawing = false;
function redraw() {
	if (drawing)
		return;
	drawing = true;
	requestAnimationFrame(() => {
		drawing = false;
		draw();
	});
}

/* -- numbers for people -- */

const count = (n) => n.toLocaleString('en-US', { maximumFractionDigits: 3 });
const micros = (cycles) => (cycles / meta.clock_mhz).toLocaleString('en-US', { maximumSignificantDigits: 6 }) + ' \u00b5s';
const share = (part, all) => all > 0 ? (100 * part / all).toFixed(1) + ' %' : '';
function bytes(n) {
	if (n < 1024)
		return n + ' B';
	const power = Math.min(Math.floor(Math.log2(n) / 10), 4);
	return +(n / 1024 ** power).toFixed(2) + ' ' + ['', 'KiB', 'MiB', 'GiB', 'TiB'][power];
}
const amount = (value, unit) => unit === 'bytes' ? bytes(value) : (+value.toPrecision(4) + ' ' + unit).trim();

/* -- elements -- */

function element(name, attributes, ...children) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {}))
		if (key.startsWith('on'))
			e.addEventListener(key.slice(2), value);
		else
			e.setAttribute(key, value);
	e.append(...children); /* strings become text */
	return e;
}

function swatch(color) {
	const e = element('span', { class: 'swatch' });
	e.style.background = color;
	return e;
}

function facts(pairs) {
	const list = element('dl');
	for (const [name, value] of pairs)
		if (value !== '' && value !== null && value !== undefined)
			list.append(element('dt', null, name), element('dd', null, value));
	return list;
}

/* -- instructions -- */

/* Cycles of its engine whose state it decided, by cause, in what the page holds. */
function stallsOf(row) {
	const lane = statesLane[meta.ops[insn.op[row]][1]], sums = new Float64Array(NSTATES);
	if (!lane)
		return sums;
	let i = above(lane.to, lane.count, insn.issued[row]);
	while (i > 0 && lane.row[i - 1] === row)
		i--;
	for (; i < lane.count && lane.from[i] < insn.end[row]; i++)
		if (lane.row[i] === row && lane.color[i] !== BUSY && lane.color[i] !== IDLE)
			sums[lane.color[i]] += lane.to[i] - lane.from[i];
	return sums;
}

const titleOf = (row) => '#' + insn.number[row] + ' ' + meta.ops[insn.op[row]][0];

function factsOf(row, slice) {
	const [, shape] = textOf(row), sums = stallsOf(row);
	const engine = ENGINES[meta.ops[insn.op[row]][1]];
	return [
		['instruction', '#' + insn.number[row] + ', ' + engine + (insn.slot[row] ? '.' + insn.slot[row] : '')],
		['source', meta.strings[insn.source[row]]],
		['region', insn.region[row] ? regions.path[regions.row[insn.region[row]]] : ''],
		['shape', shape],
		['bytes', insn.bytes[row] ? count(insn.bytes[row]) + ' of DRAM' : ''],
		['MACs', insn.macs[row] ? count(insn.macs[row]) : ''],
		['issued', count(insn.issued[row])],
		['at head', count(insn.head[row])],
		['start', count(insn.start[row])],
		['end', count(insn.end[row])],
		['length', count(insn.end[row] - insn.start[row]) + ' cycles, ' + micros(insn.end[row] - insn.start[row])],
		['stalls', STATES.map((s, i) => [s, sums[i]]).filter(([, n]) => n > 0).map(([s, n]) => s + ' ' + count(n)).join(', ')],
		['this slice', slice],
	];
}

/* What lies under a point of the canvas: a lane and a slice of it, -1 for none. */
function at(x, y) {
	const lane = lanes.find((l) => y >= Y(l) - GAP / 2 && y < Y(l) + l.height + GAP / 2);
	if (!lane || x < GUTTER || y < RULER)
		return null;
	const time = timeAt(x), near = 3 / scale;
	let i = above(lane.to, lane.count, time);
	const before = i > 0 ? time - lane.to[i - 1] : Infinity, after = i < lane.count ? lane.from[i] - time : Infinity;
	if (after > 0) {
		if (Math.min(before, after) > near)
			return { lane, i: -1, time };
		i = before <= after ? i - 1 : i;
	}
	return { lane, i, time };
}

function tipFor(hit) {
	const { lane, i } = hit, tip = $('tip');
	tip.replaceChildren();
	if (i < 0)
		return false;
	const span = count(lane.from[i]) + ' to ' + count(lane.to[i]) + ', ' + count(lane.to[i] - lane.from[i]) + ' cycles';
	const row = lane.kind === 'curve' ? -1 : lane.row[i];
	if (lane.kind === 'curve') {
		tip.append(element('b', null, lane.title), facts([['value', amount(lane.value[i], lane.unit)],
			['exactly', lane.unit === 'bytes' ? count(lane.value[i]) : ''], ['highest', highest(lane)], ['cycles', span]]));
	} else if (lane.kind === 'states') {
		const doc = isSequencer(lane) ? '' : meta.states[lane.color[i]][2];
		tip.append(element('b', null, lane.title + ': ' + nameOf(lane, i)), facts([['', doc], ['cycles', span],
			['by', row >= 0 ? titleOf(row) : ''], ['', row >= 0 ? textOf(row)[0] : ''],
			['source', row >= 0 ? meta.strings[insn.source[row]] : '']]));
	} else if (row >= 0) {
		const own = lane.kind !== 'critical' && lane.from[i] === insn.start[row] && lane.to[i] === insn.end[row];
		tip.append(element('b', null, (lane.kind === 'critical' ? 'critical path, ' + nameOf(lane, i) + ': ' : '') + textOf(row)[0]),
			facts(factsOf(row, own || lane.kind === 'instants' ? '' : lane.title + ' ' + span)));
	} else {
		tip.append(element('b', null, nameOf(lane, i)), facts([['', lane.title], ['cycles', span]]));
	}
	return true;
}

function hover(x, y, pageX, pageY) {
	const hit = at(x, y), tip = $('tip');
	tip.hidden = !hit || !tipFor(hit);
	if (tip.hidden)
		return;
	const w = tip.offsetWidth, h = tip.offsetHeight;
	tip.style.left = Math.max(4, Math.min(pageX + 14, innerWidth - w - 8)) + 'px';
	tip.style.top = (pageY + 18 + h < innerHeight ? pageY + 18 : Math.max(4, pageY - h - 10)) + 'px';
}

const MOST_LISTED = 50;
function links(title, found) {
	const list = element('div', null, element('h2', null, title));
	if (found.length === 0)
		list.append(element('p', null, 'nobody'));
	for (const number of found.slice(0, MOST_LISTED)) {
		const row = rowOf(number), line = element('div');
		if (row < 0)
			line.append('#' + number + ', outside of this page');
		else
			line.append(element('button', { class: 'link', onclick: () => select(row, true) }, '#' + number + ' ' + textOf(row)[0]),
				' ' + count(insn.start[row]) + ' to ' + count(insn.end[row]));
		list.append(line);
	}
	if (found.length > MOST_LISTED)
		list.append(element('p', null, 'and ' + count(found.length - MOST_LISTED) + ' more'));
	return list;
}

function select(row, show) {
	const panel = $('detail');
	selected = row;
	panel.hidden = row < 0;
	panel.replaceChildren();
	if (row >= 0) {
		panel.append(element('h2', null, titleOf(row)), element('div', { class: 'text' }, textOf(row)[0]),
			element('div', { class: 'columns' }, facts(factsOf(row, '')), links('waited for', postersOf(row)),
				links('who waited for it', waitersOf(row).map((r) => insn.number[r]))));
		if (show)
			bring(row);
	}
	redraw();
}

/* Moves the view so that the instruction is seen, and zooms in where it would be less than some pixels. */
function bring(row) {
	const from = insn.start[row], to = Math.max(insn.end[row], from + 1);
	let length = shown.to - shown.from;
	if ((to - from) / length * (width - GUTTER) < 8)
		length = (to - from) * 20;
	if (from < shown.from || to > shown.to || length !== shown.to - shown.from)
		look((from + to) / 2 - length / 2, (from + to) / 2 + length / 2);
	const lane = lanes[insn.firstLane[row]];
	if (lane && (Y(lane) < RULER || Y(lane) + lane.height > height))
		view.scrollTop = lane.top - height / 2;
}

/* -- sums -- */

/* Cycles in [from, to) of the engines: by engine and state, and by region row, engine and state. */
function sumUp(from, to, engines) {
	const states = ENGINES.map(() => new Float64Array(NSTATES)), byRegion = new Map();
	for (const e of engines) {
		const lane = statesLane[e];
		if (!lane)
			continue;
		const sums = states[e];
		let known = -1, of = null;
		for (let i = above(lane.to, lane.count, from); i < lane.count && lane.from[i] < to; i++) {
			const cycles = Math.min(lane.to[i], to) - Math.max(lane.from[i], from), row = lane.row[i];
			const region = row >= 0 ? regions.row[insn.region[row]] : 0;
			if (region !== known) {
				known = region;
				if (!byRegion.has(region))
					byRegion.set(region, ENGINES.map(() => new Float64Array(NSTATES)));
				of = byRegion.get(region)[e];
			}
			sums[lane.color[i]] += cycles;
			of[lane.color[i]] += cycles;
		}
	}
	const started = { instructions: 0, bytes: 0, macs: 0 };
	for (let i = 0; i < N; i++) {
		if (insn.start[i] < from || insn.start[i] >= to && !(to === meta.cycles && insn.start[i] === to) ||
			!engines.includes(meta.ops[insn.op[i]][1]))
			continue;
		started.instructions++;
		started.bytes += insn.bytes[i];
		started.macs += insn.macs[i];
	}
	return { from, to, engines, states, byRegion, started };
}

const activeOf = (states) => states.reduce((sum, n, s) => sum + (meta.states[s][1] === 'active' ? n : 0), 0);

function table(heads, rows) {
	const cell = (value) => value instanceof Node ? element('td', { class: 't' }, value) :
		typeof value === 'number' ? element('td', { 'data-value': value }, value ? count(value) : '.') : element('td', { class: 't' }, value);
	return element('table', null, element('thead', null, element('tr', null, ...heads.map((h) => element('th', null, h)))),
		element('tbody', null, ...rows.map((r) => element('tr', null, ...r.map(cell)))));
}

const stateCell = (s) => element('span', null, swatch('var(--' + STATES[s] + ')'), STATES[s]);

function showSums() {
	const panel = $('sums');
	panel.hidden = !box;
	panel.replaceChildren();
	if (!box)
		return;
	const sums = sumUp(box.from, box.to, box.engines), cycles = box.to - box.from, names = box.engines.map((e) => ENGINES[e]);
	const used = STATES.map((_, s) => s).filter((s) => box.engines.some((e) => sums.states[e][s] > 0));
	panel.append(element('h2', null, 'cycles ' + count(box.from) + ' to ' + count(box.to) + ': ' + count(cycles) + ', ' + micros(cycles)));
	panel.append(element('p', null, count(sums.started.instructions) + ' instructions start in it, ask DRAM for ' +
		count(sums.started.bytes) + ' bytes and make ' + count(sums.started.macs) + ' MACs'));
	const engineRows = used.map((s) => [stateCell(s), ...box.engines.map((e) => sums.states[e][s])]);
	engineRows.push(['active', ...box.engines.map((e) => activeOf(sums.states[e]))]);
	engineRows.push(['total', ...box.engines.map((e) => sums.states[e].reduce((a, n) => a + n, 0))]);
	const parts = [...sums.byRegion].map(([region, of]) => [regions.path[region],
		...box.engines.map((e) => activeOf(of[e])), ...used.map((s) => box.engines.reduce((a, e) => a + of[e][s], 0))]);
	const weight = (row) => row.slice(1, 1 + names.length).reduce((a, n) => a + n, 0);
	parts.sort((a, b) => weight(b) - weight(a));
	panel.append(element('div', { class: 'columns' },
		element('div', { id: 'by-engine' }, element('h2', null, 'by engine and cause'), table(['cycles', ...names], engineRows)),
		element('div', { id: 'by-region' }, element('h2', null, 'by region: active by engine, then all engines by cause'),
			table(['region', ...names.map((n) => n + ' active'), ...used.map((s) => STATES[s])], parts.slice(0, MOST_ROWS)),
			parts.length > MOST_ROWS ? element('p', null, 'and ' + count(parts.length - MOST_ROWS) + ' more') : '')));
	panel.sums = sums;
}

/* An end of the page's cycles, where a time is next to it on the screen. */
const snap = (time) => (time - FROM) * scale < 4 ? FROM : (TO - time) * scale < 4 ? TO : time;

/* A box over times and lanes; without a top over all lanes. */
function setBox(from, to, top, bottom) {
	const low = Math.max(FROM, Math.round(Math.min(from, to))), high = Math.min(TO, Math.round(Math.max(from, to)));
	box = null;
	if (high > low) {
		const within = (l) => top === null || l.top < Math.max(top, bottom) && l.top + l.height > Math.min(top, bottom);
		let engines = ENGINES.map((_, e) => e).filter((e) => lanes.some((l) => l.engine === e && within(l)));
		if (engines.length === 0)
			engines = ENGINES.map((_, e) => e);
		box = { from: low, to: high, top: top === null ? null : Math.min(top, bottom), bottom: top === null ? null : Math.max(top, bottom), engines };
	}
	redraw();
}

/* -- search -- */

let searching = 0;
async function search(query) {
	const turn = ++searching, wanted = query.trim().toLowerCase(), rows = [];
	if (!wanted) {
		matches = null;
		$('found').textContent = '';
		redraw();
		return;
	}
	const exact = /^#(\d+)$/.exec(wanted);
	if (exact) {
		const row = rowOf(+exact[1]);
		if (row >= 0)
			rows.push(row);
	} else {
		const inString = meta.strings.map((s) => s.toLowerCase().includes(wanted));
		const inRegion = regions.path.map((p, i) => i > 0 && p.toLowerCase().includes(wanted));
		/* Texts are put together only where their numbers can matter: what has no digit is in a template or nowhere. */
		const plain = !/[0-9]/.test(wanted) && !/^[xa-f]+$/.test(wanted);
		const inTemplate = templates.map((t) => t.parts.some((p) => p.toLowerCase().includes(wanted)));
		const hit = new Uint8Array(Math.min(N, 1 << 16));
		for (let first = 0; first < N && turn === searching; first += hit.length) {
			const to = Math.min(first + hit.length, N);
			hit.fill(0);
			if (!plain)
				readTexts(first, to, (t) => !inTemplate[t], (row, text, shape) => {
					hit[row - first] = text.toLowerCase().includes(wanted) || shape.includes(wanted) ? 1 : 0;
				});
			for (let i = first; i < to; i++)
				if (hit[i - first] || inTemplate[insn.template[i]] || inString[insn.source[i]] || insn.region[i] && inRegion[regions.row[insn.region[i]]])
					rows.push(i);
			if (to < N) {
				$('found').textContent = 'searching, ' + share(to, N);
				await new Promise((go) => setTimeout(go, 0));
			}
		}
	}
	if (turn !== searching)
		return;
	rows.sort((a, b) => insn.start[a] - insn.start[b] || a - b);
	matches = { rows, times: Time.from(rows, (r) => insn.start[r]), now: -1 };
	tellMatches();
	redraw();
}

function tellMatches() {
	const n = matches.rows.length;
	$('found').textContent = n === 0 ? 'not found' : matches.now < 0 ? count(n) + ' found' : count(matches.now + 1) + ' of ' + count(n);
}

function step(by) {
	if (!matches || matches.rows.length === 0)
		return;
	const n = matches.rows.length;
	/* The first step goes to what is in view. */
	matches.now = matches.now < 0 ? Math.min(above(matches.times, n, shown.from - 1), n - 1) : (matches.now + by + n) % n;
	tellMatches();
	select(matches.rows[matches.now], true);
}

/* -- moving -- */

function look(from, to) {
	const least = Math.min(TO - FROM, 8), length = Math.max(least, Math.min(to - from, TO - FROM));
	const middle = (from + to) / 2;
	shown.from = Math.max(FROM, Math.min(middle - length / 2, TO - length));
	shown.to = shown.from + length;
	scale = (width - GUTTER) / length; /* what is asked before the next drawing goes by the new view */
	redraw();
}

function zoom(factor, x) {
	const time = Math.max(shown.from, Math.min(timeAt(x), shown.to));
	look(time - (time - shown.from) * factor, time + (shown.to - time) * factor);
}

const pan = (cycles) => look(shown.from + cycles, shown.to + cycles);

function fit() {
	const whole = shown.from === FROM && shown.to === TO;
	let part = null;
	if (box)
		part = [box.from, box.to];
	else if (selected >= 0)
		part = [insn.start[selected], Math.max(insn.end[selected], insn.start[selected] + 1)];
	if (part) {
		const margin = (part[1] - part[0]) * 0.05, before = shown.from + ' ' + shown.to;
		look(part[0] - margin, part[1] + margin);
		if (before !== shown.from + ' ' + shown.to)
			return;
	}
	if (!whole || !part)
		look(FROM, TO);
}

let drag = null;
const place = (event) => {
	const r = canvas.getBoundingClientRect();
	return [event.clientX - r.left, event.clientY - r.top];
};
let boxes = false;

canvas.addEventListener('pointerdown', (event) => {
	if (event.button !== 0)
		return;
	const [x, y] = place(event);
	view.focus({ preventScroll: true });
	canvas.setPointerCapture(event.pointerId);
	drag = { x, y, from: shown.from, to: shown.to, scroll: view.scrollTop, moved: false, ruler: y < RULER,
		box: (event.shiftKey || boxes || y < RULER) && x >= GUTTER };
});
canvas.addEventListener('pointermove', (event) => {
	const [x, y] = place(event);
	pointer = [x, y];
	if (!drag) {
		hover(x, y, event.clientX, event.clientY);
		return;
	}
	drag.moved = drag.moved || Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4;
	if (!drag.moved)
		return;
	$('tip').hidden = true;
	if (drag.box) {
		const top = drag.ruler ? null : drag.y + drag.scroll;
		setBox(snap(timeAt(Math.max(x, GUTTER))), snap(drag.from + (drag.x - GUTTER) / scale), top, y + view.scrollTop);
		return;
	}
	const cycles = (drag.x - x) / scale;
	look(drag.from + cycles, drag.to + cycles);
	view.scrollTop = drag.scroll + drag.y - y;
});
canvas.addEventListener('pointerup', (event) => {
	const was = drag;
	drag = null;
	if (!was)
		return;
	if (was.moved) {
		if (was.box)
			showSums();
		return;
	}
	const hit = at(...place(event));
	select(hit && hit.i >= 0 && hit.lane.kind !== 'curve' ? hit.lane.row[hit.i] : -1, false);
});
canvas.addEventListener('pointercancel', () => { drag = null; });
canvas.addEventListener('pointerleave', () => { pointer = null; $('tip').hidden = true; });
canvas.addEventListener('dblclick', (event) => {
	const hit = at(...place(event));
	if (hit && hit.i >= 0) {
		const margin = (hit.lane.to[hit.i] - hit.lane.from[hit.i]) * 0.1;
		look(hit.lane.from[hit.i] - margin, hit.lane.to[hit.i] + margin);
	}
});
canvas.addEventListener('wheel', (event) => {
	const [x] = place(event), unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? height : 1;
	if (x < GUTTER)
		return; /* over the names the wheel scrolls */
	event.preventDefault();
	const dx = event.deltaX * unit, dy = event.deltaY * unit;
	if (event.shiftKey || Math.abs(dx) > Math.abs(dy))
		pan((event.shiftKey && dx === 0 ? dy : dx) / scale);
	else
		zoom(Math.exp(Math.max(-400, Math.min(dy, 400)) * 0.002), x);
	$('tip').hidden = true;
}, { passive: false });
view.addEventListener('scroll', redraw);
window.addEventListener('resize', redraw);

const middle = () => pointer ? pointer[0] : GUTTER + (width - GUTTER) / 2;
const keys = {
	w: () => zoom(0.7, middle()), s: () => zoom(1 / 0.7, middle()),
	a: () => pan(-(shown.to - shown.from) * 0.1), d: () => pan((shown.to - shown.from) * 0.1),
	ArrowLeft: () => keys.a(), ArrowRight: () => keys.d(),
	f: fit, n: () => step(1), N: () => step(-1), c: toggleCritical, b: toggleBoxes, '?': toggleHelp,
	'/': () => { $('search').focus(); $('search').select(); },
	Escape: () => { select(-1); box = null; showSums(); },
};
for (const key of ['w', 's', 'a', 'd', 'f', 'c', 'b'])
	keys[key.toUpperCase()] = keys[key];
window.addEventListener('keydown', (event) => {
	if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'INPUT' || !Object.hasOwn(keys, event.key))
		return;
	event.preventDefault();
	keys[event.key]();
});
$('search').addEventListener('input', (event) => search(event.target.value));
$('search').addEventListener('keydown', (event) => {
	if (event.key === 'Enter')
		step(event.shiftKey ? -1 : 1);
	if (event.key === 'Escape')
		view.focus();
});

const press = (id, on) => $(id).setAttribute('aria-pressed', on);
function toggleCritical() { press('critical', overlay = !overlay); redraw(); }
function toggleBoxes() { press('boxes', boxes = !boxes); }
function toggleHelp() { $('keys').hidden = !$('keys').hidden; press('help', !$('keys').hidden); redraw(); }
function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
	readColors();
	redraw();
}
const dark = matchMedia('(prefers-color-scheme: dark)');
$('fit').addEventListener('click', fit);
$('next').addEventListener('click', () => step(1));
$('before').addEventListener('click', () => step(-1));
$('critical').addEventListener('click', toggleCritical);
$('boxes').addEventListener('click', toggleBoxes);
$('help').addEventListener('click', toggleHelp);
$('theme').addEventListener('click', () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
dark.addEventListener('change', () => setTheme(dark.matches ? 'dark' : 'light'));

/* -- legend -- */

function showLegend() {
	const all = statesLane.filter(Boolean), sums = new Float64Array(NSTATES);
	for (const lane of all)
		for (let i = 0; i < lane.count; i++)
			sums[lane.color[i]] += lane.to[i] - lane.from[i];
	const buttons = [];
	const tell = () => {
		for (const [s, b] of buttons)
			b.setAttribute('aria-pressed', !hidden[s]);
		redraw();
	};
	STATES.forEach((name, s) => {
		if (sums[s] === 0)
			return;
		const button = element('button', { 'data-state': name, title: meta.states[s][2] + ': ' + count(sums[s]) + ' cycles of all engines', onclick: (event) => {
			if (!event.shiftKey) {
				hidden[s] = hidden[s] ? 0 : 1;
			} else {
				const alone = !hidden[s] && buttons.every(([other]) => other === s || hidden[other]);
				hidden.fill(alone ? 0 : 1);
				hidden[s] = 0;
			}
			tell();
		} }, swatch('var(--' + name + ')'), name);
		buttons.push([s, button]);
		$('legend').append(button);
	});
	tell();
}

/* -- report -- */

const MOST_ROWS = 100;
const words = (key) => key.replace(/_/g, ' ');

/* A figure as people read it; the cell keeps its place in the report and its value. */
function figure(path, value) {
	let text = String(value);
	if (value === null)
		text = '-';
	else if (typeof value === 'number' && (/_fraction$/.test(path) || path === 'mac_utilization'))
		text = (100 * value).toFixed(1) + ' %';
	else if (typeof value === 'number')
		text = Number.isInteger(value) ? count(value) : value.toLocaleString('en-US', { maximumSignificantDigits: 6 });
	return element('td', { 'data-path': path, 'data-value': JSON.stringify(value), class: typeof value === 'number' ? 'n' : 't' }, text);
}

function flat(value, path, out) {
	if (value !== null && typeof value === 'object' && !Array.isArray(value))
		for (const [key, inner] of Object.entries(value))
			flat(inner, path ? path + '.' + key : key, out);
	else
		out.push([path, value]);
	return out;
}

function pairs(title, value, path) {
	const rows = flat(value, '', []).filter(([, v]) => !Array.isArray(v) && v !== '');
	return rows.length === 0 ? null : element('div', null, element('h2', null, title), element('table', null, element('tbody', null,
		...rows.map(([key, v]) => element('tr', null, element('th', null, words(key)), figure(path ? path + '.' + key : key, v))))));
}

/* Cycles by state and engine, of report[path]. */
function stateTable(title, engines, path) {
	const names = Object.keys(engines), rows = [];
	const states = ['active', 'busy', ...new Set(names.flatMap((n) => Object.keys(engines[n].stalls))), 'idle'];
	for (const s of states) {
		const of = (n) => s === 'active' || s === 'busy' || s === 'idle' ? [s, engines[n][s]] : ['stalls.' + s, engines[n].stalls[s] || 0];
		if (names.some((n) => of(n)[1] > 0))
			rows.push(element('tr', null, element('th', null, ...(STATES.includes(s) ? [swatch('var(--' + s + ')')] : []), s),
				...names.map((n) => figure(path + '.' + n + '.' + of(n)[0], of(n)[1]))));
	}
	const others = new Set(names.flatMap((n) => Object.keys(engines[n]).filter((k) => typeof engines[n][k] === 'number' && !['active', 'busy', 'idle'].includes(k))));
	for (const key of others)
		rows.push(element('tr', null, element('th', null, words(key)), ...names.map((n) => figure(path + '.' + n + '.' + key, engines[n][key]))));
	return element('div', null, element('h2', null, title), element('table', null, element('thead', null,
		element('tr', null, element('th', null, 'cycles'), ...names.map((n) => element('th', null, n)))), element('tbody', null, ...rows)));
}

function listTable(title, list, path) {
	const rows = list.map((v) => new Map(flat(v, '', []).filter(([, x]) => !Array.isArray(x))));
	const used = (key) => rows.some((r) => r.get(key) !== 0 && r.get(key) !== undefined);
	const keys = [...new Set(rows.flatMap((r) => [...r.keys()]))].filter(used);
	const body = element('tbody');
	const fill = (from, to) => {
		for (let i = from; i < Math.min(to, rows.length); i++)
			body.append(element('tr', null, ...keys.map((k) => figure(path + '.' + i + '.' + k, rows[i].has(k) ? rows[i].get(k) : 0))));
	};
	fill(0, MOST_ROWS);
	const div = element('div', { class: 'wide' }, element('h2', null, title), element('table', null, element('thead', null, element('tr', null,
		...keys.map((k) => element('th', null, words(k.replace('engines.', '').replace('stalls.', '').replace('.', ' ')))))), body));
	if (rows.length > MOST_ROWS)
		div.append(element('button', { onclick: (event) => { fill(MOST_ROWS, rows.length); event.target.remove(); } },
			'all ' + count(rows.length) + ' rows'));
	return div;
}

function showReport() {
	const section = $('report'), top = {}, objects = [], lists = [];
	for (const [key, value] of Object.entries(report)) {
		if (Array.isArray(value))
			lists.push([key, value]);
		else if (value !== null && typeof value === 'object')
			objects.push([key, value]);
		else
			top[key] = value;
	}
	const add = (e) => { if (e) section.append(e); };
	add(pairs('report', top, ''));
	/* The machine's keys are many: they open on demand, behind all else. */
	const machine = objects.find(([key]) => key === 'hw');
	for (const [key, value] of objects) {
		if (key === 'hw' || key === 'values' && !value.reference)
			continue;
		if (key === 'engines') {
			add(stateTable('engines', value, key));
			continue;
		}
		const { engines, ...rest } = value;
		add(pairs(words(key), rest, key));
		if (engines)
			add(stateTable(words(key) + ': engines', engines, key + '.engines'));
		for (const [inner, list] of Object.entries(rest))
			if (Array.isArray(list) && list.some((v) => typeof v === 'object'))
				lists.push([key + '.' + inner, list]);
	}
	for (const [key, list] of lists)
		if (list.some((v) => v !== null && typeof v === 'object'))
			add(listTable(words(key.replace('.', ' ')), list, key));
	if (machine) {
		const keys = pairs('', machine[1], 'hw');
		keys.replaceChild(element('summary', null, 'hw'), keys.firstChild);
		add(element('div', { class: 'wide' }, element('details', null, ...keys.childNodes)));
	}
}

/* -- begin -- */

$('title').textContent = document.title = 'npusim: ' + meta.subject + ' on ' + meta.machine;
$('subtitle').textContent = count(meta.cycles) + ' cycles at ' + meta.clock_mhz + ' MHz, ' + micros(meta.cycles) +
	(meta.part ? '; this page has cycles ' + count(FROM) + ' to ' + count(TO) + ': ' + count(meta.dropped.slices) +
		' slices and ' + count(meta.dropped.values) + ' values of curves are left out, ' + count(meta.dropped.cut) + ' slices are cut' : '') +
	(report && report.bound ? '; bound by ' + report.bound + ': ' + report.bound_evidence : '');
$('space').style.height = '0px';

/* #t=1000:2000&i=5&box=0:100&q=text&critical&theme=dark shows that. */
function obeyHash() {
	const asked = new URLSearchParams(location.hash.slice(1)), span = (key) => /^(\d+):(\d+)$/.exec(asked.get(key) || '');
	if (asked.get('theme') === 'dark' || asked.get('theme') === 'light')
		setTheme(asked.get('theme'));
	if (span('t'))
		look(+span('t')[1], +span('t')[2]);
	if (span('box')) {
		setBox(+span('box')[1], +span('box')[2], null, null);
		showSums();
	}
	if (asked.has('critical') !== overlay)
		toggleCritical();
	if (/^\d+$/.test(asked.get('i') || '') && rowOf(+asked.get('i')) >= 0)
		select(rowOf(+asked.get('i')), !span('t'));
	if (asked.get('q')) {
		$('search').value = asked.get('q');
		search(asked.get('q'));
	}
}

setTheme(dark.matches ? 'dark' : 'light');
showLegend();
view.style.height = Math.min(contentHeight, Math.max(240, Math.round(innerHeight * 0.66))) + 'px';
$('space').style.height = Math.max(0, contentHeight - view.clientHeight) + 'px';
const loaded = performance.now();
const firstDraw = draw();
obeyHash();
window.addEventListener('hashchange', obeyHash);
/* The tables may be long: after what is drawn is seen. */
const ready = new Promise((done) => setTimeout(() => { showReport(); done(); }, 0));

/* For tests and for people at the console. */
window.npusim = { ready, meta, lanes, insn, shown, draw, sumUp, textOf, search, regions, X, Y, at, selected: () => selected, box: () => box,
	matches: () => matches, milliseconds: { load: loaded - begun, draw: firstDraw } };
})();
