/* SPDX-License-Identifier: Apache-2.0 */
/* Lays the lanes out and draws what is seen of them on one canvas, whole each time. */

/* -- layout -- */

const GUTTER = 158, RULER = 26, GAP = 2, BETWEEN = 14;
const HEIGHTS = { regions: 17, work: 21, drain: 14, instants: 12, states: 15, critical: 17, curve: 38 };
let contentHeight = RULER + 4;
lanes.forEach((lane, i) => {
	const before = lanes[i - 1];
	if (before && (before.engine % PER_RUN !== lane.engine % PER_RUN || before.kind === 'curve' !== (lane.kind === 'curve')))
		contentHeight += 7;
	else if (before && before.kind === 'regions' && before.run !== lane.run && lane.run.number > 0)
		contentHeight += BETWEEN;
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
	return lane.names ? strings[lane.names[i]] : lane.row[i] >= 0 ? meta.ops[insn.op[lane.row[i]]][0] : '';
};

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
		while (states && i + 1 < n && color[i + 1] === color[i] && from[i + 1] === to[i] && (to[i] - t0) * k < room)
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
	g.fillText(pair ? 'cycles, shown' : 'cycles', 8, 17);
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
function drawCritical(lane) {
	const n = lane.count;
	const first = above(lane.to, n, shown.from), steps = [];
	const drawn = new Int32Array(lanes.length).fill(-1); /* the latest pixel of each lane */
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
		if (x1 - x0 < 1 && Math.floor(x0) === drawn[on.id])
			continue;
		drawn[on.id] = Math.floor(x0);
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

/* A region's slice of the first run is joined with the second's: as a band where there is room, else as a line a pixel. */
function drawPairs() {
	const drawn = new Map();
	for (const p of pairs) {
		const [a, b] = p.lanes, at = p.shown;
		if (!at || Math.min(at.from[0], at.from[1]) > shown.to || Math.max(at.to[0], at.to[1]) < shown.from)
			continue;
		const x = [X(at.from[0]), X(at.to[0]), X(at.from[1]), X(at.to[1])], wide = Math.max(x[1] - x[0], x[3] - x[2]) >= 3;
		const y0 = Y(a) + a.height + 0.5, y1 = Y(b) - 0.5, key = a.id + ' ' + b.id, pixel = Math.floor(x[0]);
		if (y1 < RULER || y0 > height || !wide && drawn.get(key) === pixel)
			continue;
		drawn.set(key, pixel);
		g.strokeStyle = p.together ? colors.accent : colors.faint;
		g.lineWidth = 1;
		g.beginPath();
		g.moveTo(x[0], y0);
		g.lineTo(x[2], y1);
		if (wide) {
			g.lineTo(x[3], y1);
			g.lineTo(x[1], y0);
			g.closePath();
			g.fillStyle = colors.box;
			g.fill();
		}
		g.stroke();
	}
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
		const row = rowOf(number, runOf(selected));
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
	width = Math.max(view.clientWidth, GUTTER + 40); /* a narrower window cuts the page off */
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
	drawPairs();
	if (overlay)
		criticalLanes.forEach(drawCritical);
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
		count(Math.round(cycles)) + ' shown' + (meta.clock_mhz === runs[runs.length - 1].meta.clock_mhz ? ', ' + micros(cycles) : '');
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
