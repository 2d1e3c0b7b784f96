/* SPDX-License-Identifier: Apache-2.0 */
/* What the page tells in words: of what lies under the pointer, of the selected instruction, of a box. */

/* -- numbers for people -- */

const count = (n) => n.toLocaleString('en-US', { maximumFractionDigits: 3 });
const micros = (cycles, run = runs[0]) => (cycles / run.meta.clock_mhz).toLocaleString('en-US', { maximumSignificantDigits: 6 }) + ' \u00b5s';
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
	const lane = statesLane[engineOf(row)].own, sums = new Float64Array(NSTATES); /* in times of the run */
	let i = above(lane.to, lane.count, insn.issued[row]);
	while (i > 0 && lane.row[i - 1] === row)
		i--;
	for (; i < lane.count && lane.from[i] < insn.end[row]; i++)
		if (lane.row[i] === row && lane.color[i] !== BUSY && lane.color[i] !== IDLE)
			sums[lane.color[i]] += lane.to[i] - lane.from[i];
	return sums;
}

/* The instruction before (-1) or behind (1) on the same engine; -1: none in this page. */
function neighbour(row, by) {
	const engine = engineOf(row);
	for (let i = row + by; i >= 0 && i < N; i += by)
		if (engineOf(i) === engine)
			return i;
	return -1;
}

const titleOf = (row) => runOf(row).letter + '#' + insn.number[row] + ' ' + meta.ops[insn.op[row]][0];

function factsOf(row, slice) {
	const [, shape] = textOf(row), sums = stallsOf(row);
	const engine = ENGINES[engineOf(row)];
	return [
		['instruction', '#' + insn.number[row] + ', ' + engine + (insn.slot[row] ? '.' + insn.slot[row] : '')],
		['source', strings[insn.source[row]]],
		['region', insn.region[row] ? regions.path[regions.row[insn.region[row]]] : ''],
		['shape', shape],
		['bytes', insn.bytes[row] ? count(insn.bytes[row]) + ' of DRAM' : ''],
		['MACs', insn.macs[row] ? count(insn.macs[row]) : ''],
		['issued', count(insn.issued[row])],
		['at head', count(insn.head[row])],
		['start', count(insn.start[row])],
		['end', count(insn.end[row])],
		['length', count(insn.end[row] - insn.start[row]) + ' cycles, ' + micros(insn.end[row] - insn.start[row], runOf(row))],
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

/* Of a region of two runs: how long it takes in both. */
function factsOfPair(lane, i) {
	const found = lane.kind === 'regions' && pairs.find((p) => p.lanes[lane.run.number] === lane && p.shown.from[lane.run.number] <= lane.from[i] &&
		p.shown.to[lane.run.number] >= lane.to[i]);
	return found ? [...runs.map((run, r) => [run.letter, count(found.to[r] - found.from[r]) + ' cycles from ' + count(found.from[r])]),
		['B - A', count((found.to[1] - found.from[1]) - (found.to[0] - found.from[0])) + ' cycles']] : [];
}

function tipFor(hit) {
	const { lane, i } = hit, tip = $('tip');
	tip.replaceChildren();
	if (i < 0)
		return false;
	const from = toRun(lane.run, lane.from[i]), to = from + lane.to[i] - lane.from[i];
	const span = count(from) + ' to ' + count(to) + ', ' + count(to - from) + ' cycles';
	const row = lane.kind === 'curve' ? -1 : lane.row[i];
	if (lane.kind === 'curve') {
		tip.append(element('b', null, lane.title), facts([['value', amount(lane.value[i], lane.unit)],
			['exactly', lane.unit === 'bytes' ? count(lane.value[i]) : ''], ['highest', highest(lane)], ['cycles', span]]));
	} else if (lane.kind === 'states') {
		const doc = isSequencer(lane) ? '' : meta.states[lane.color[i]][2];
		tip.append(element('b', null, lane.title + ': ' + nameOf(lane, i)), facts([['', doc], ['cycles', span],
			['by', row >= 0 ? titleOf(row) : ''], ['', row >= 0 ? textOf(row)[0] : ''],
			['source', row >= 0 ? strings[insn.source[row]] : '']]));
	} else if (row >= 0) {
		const own = lane.kind !== 'critical' && from === insn.start[row] && to === insn.end[row];
		tip.append(element('b', null, (lane.kind === 'critical' ? 'critical path, ' + nameOf(lane, i) + ': ' : '') + textOf(row)[0]),
			facts(factsOf(row, own || lane.kind === 'instants' ? '' : lane.title + ' ' + span)));
	} else {
		tip.append(element('b', null, nameOf(lane, i)), facts([['', lane.title], ['cycles', span], ...factsOfPair(lane, i)]));
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

const MOST_LISTED = 50, numbersOf = (row) => row < 0 ? [] : [insn.number[row]];
function links(title, found, run) {
	const list = element('div', null, element('h2', null, title));
	if (found.length === 0)
		list.append(element('p', null, 'nobody'));
	for (const number of found.slice(0, MOST_LISTED)) {
		const row = rowOf(number, run), line = element('div');
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
		const run = runOf(row);
		panel.append(element('h2', null, titleOf(row)), element('div', { class: 'text' }, textOf(row)[0]),
			element('div', { class: 'columns' }, facts(factsOf(row, '')),
				element('div', null, links('waited for', postersOf(row), run), links('before it on its engine', numbersOf(neighbour(row, -1)), run)),
				element('div', null, links('who waited for it', waitersOf(row).map((r) => insn.number[r]), run),
					links('behind it on its engine', numbersOf(neighbour(row, 1)), run))));
		if (show)
			bring(row);
	}
	redraw();
}

/* From when to when an instruction is in service, as the page shows it. */
const spanOf = (row) => {
	const from = toPage(runOf(row), insn.start[row]);
	return [from, Math.max(toPage(runOf(row), insn.end[row]), from + 1)];
};

/* Moves the view so that the instruction is seen, and zooms in where it would be less than some pixels. */
function bring(row) {
	const [from, to] = spanOf(row);
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
		const run = runOf(i), start = toPage(run, insn.start[i]);
		if (start < from || start >= to && !(insn.start[i] === run.meta.cycles && start === to) || !engines.includes(engineOf(i)))
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
	panel.append(element('h2', null, (pair ? 'shown ' : '') + 'cycles ' + count(box.from) + ' to ' + count(box.to) + ': ' + count(cycles) + (pair ? '' : ', ' + micros(cycles))));
	for (const run of pair ? runs : []) {
		const [from, to] = [toRun(run, box.from), toRun(run, box.to)];
		panel.append(element('p', null, run.letter + ' cycles ' + count(from) + ' to ' + count(to) + ': ' + count(to - from) + ', ' + micros(to - from, run)));
	}
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
