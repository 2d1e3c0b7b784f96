/* SPDX-License-Identifier: Apache-2.0 */
/* The legend, the tables of the report, and the beginning. */

/* -- legend -- */

function showLegend() {
	const all = statesLane.filter(Boolean).map((lane) => lane.own), sums = new Float64Array(NSTATES);
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

function objectTable(title, value, path) {
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
	add(objectTable('report', top, ''));
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
		add(objectTable(words(key), rest, key));
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
		const keys = objectTable('', machine[1], 'hw');
		keys.replaceChild(element('summary', null, 'hw'), keys.firstChild);
		add(element('div', { class: 'wide' }, element('details', null, ...keys.childNodes)));
	}
}

/* -- two runs -- */

const number = (value) => typeof value === 'number' ? value : 0;
const signed = (value) => element('td', { class: 'n', 'data-value': value }, value === 0 ? '.' : (value > 0 ? '+' : '') +
	(Number.isInteger(value) ? count(value) : value.toLocaleString('en-US', { maximumSignificantDigits: 6 })));

/* A table that shows its first rows, all on demand. */
function longTable(title, heads, rows, id) {
	const body = element('tbody'), row = (cells) => element('tr', null, ...cells.map((c) => c instanceof Node ? c : element('td', null, c)));
	body.append(...rows.slice(0, MOST_ROWS).map(row));
	const div = element('div', { class: 'wide', id }, element('h2', null, title), element('table', null, element('thead', null, element('tr', null,
		...heads.map((h) => element('th', null, h)))), body));
	if (rows.length > MOST_ROWS)
		div.append(element('button', { onclick: (event) => { body.append(...rows.slice(MOST_ROWS).map(row)); event.target.remove(); } },
			'all ' + count(rows.length) + ' rows'));
	return div;
}

function showPair(p) {
	const from = Math.min(...p.shown.from), to = Math.max(...p.shown.to), margin = (to - from) * 0.05;
	look(from - margin, to + margin);
	view.scrollTop = 0;
}

/* How long each region takes in both; the largest difference first. */
function pairTable() {
	const length = (p, r) => p.to[r] - p.from[r], difference = (p) => length(p, 1) - length(p, 0);
	const sorted = [...pairs].sort((a, b) => Math.abs(difference(b)) - Math.abs(difference(a)));
	return longTable('regions of both: from the first start to the last end of their instructions', ['region', 'A from', 'A cycles', 'B from', 'B cycles', 'B - A', 'begin together'],
		sorted.map((p) => [element('td', { class: 't' }, element('button', { class: 'link', onclick: () => showPair(p) }, p.path)),
			...[p.from[0], length(p, 0), p.from[1], length(p, 1)].map((n) => element('td', { 'data-value': n }, count(n))), signed(difference(p)),
			element('td', { class: 't' }, p.together ? 'yes' : 'no')]), 'pairs');
}

/* Cycles of an engine that instructions of a region decided, working or waiting. */
const engineCycles = (region, e) => Object.values(region.engines[e].stalls).reduce((sum, n) => sum + n, region.engines[e].busy);

/* Cycles that belong to regions of a path: of all engines but idle ones, and how the active ones of each engine differ. */
function regionTable() {
	const rowsOf = (run) => new Map(run.meta.report.regions.map((r) => [r.name, r]));
	const [a, b] = runs.map(rowsOf), names = [...new Set([...a.keys(), ...b.keys()])];
	const all = (r) => r ? meta.engines.reduce((sum, e) => sum + engineCycles(r, e), 0) : 0;
	const rows = names.map((name) => [name, all(a.get(name)), all(b.get(name)),
		...meta.engines.map((e) => (b.has(name) ? b.get(name).engines[e].active : 0) - (a.has(name) ? a.get(name).engines[e].active : 0))]);
	rows.sort((x, y) => Math.abs(y[2] - y[1]) - Math.abs(x[2] - x[1]));
	return rows.length === 0 ? null : longTable('engine cycles by region', ['region', 'A', 'B', 'B - A', ...meta.engines.map((e) => e + ' active, B - A')],
		rows.map(([name, x, y, ...active]) => [element('td', { class: 't' }, name), ...[x, y].map((n) => element('td', { 'data-value': n }, count(n))), signed(y - x),
			...active.map(signed)]), 'by-path');
}

/* Figures of both beside each other; of a list of names only those that differ. */
function bothTable(title, key, differing) {
	const pick = (run) => { const value = key ? { [key]: run.meta.report[key] } : run.meta.report; return flat(value || {}, '', []); };
	const [a, b] = runs.map((run) => new Map(pick(run).filter(([path, v]) => !Array.isArray(v) && (key || !path.includes('.')))));
	const rows = [...new Set([...a.keys(), ...b.keys()])].filter((path) => (differing ? a.get(path) !== b.get(path) : (a.get(path) || b.get(path)) && true))
		.map((path) => element('tr', null, element('th', null, words(key ? path.slice(key.length + 1) : path)), ...[a, b].map((of, r) => {
			const cell = figure(path, of.has(path) ? of.get(path) : null);
			cell.dataset.run = 'AB'[r];
			return cell;
		}), typeof a.get(path) === 'number' || typeof b.get(path) === 'number' ? signed(number(b.get(path)) - number(a.get(path))) : element('td')));
	return rows.length === 0 ? null : element('div', null, element('h2', null, title), element('table', null, element('thead', null, element('tr', null,
		...['', 'A', 'B', 'B - A'].map((h) => element('th', null, h)))), element('tbody', null, ...rows)));
}

function showBoth() {
	const section = $('report'), add = (e) => { if (e) section.append(e); };
	if (pairs.length > 0)
		add(pairTable());
	add(regionTable());
	add(bothTable('parameters that differ', 'params', true));
	add(bothTable('hardware keys that differ', 'hw', true));
	add(bothTable('report', '', false));
	const keys = new Set(runs.flatMap((run) => Object.entries(run.meta.report)).filter(([key, v]) => v !== null && typeof v === 'object' && !Array.isArray(v) &&
		!['command', 'params', 'hw', 'values', 'program'].includes(key)).map(([key]) => key));
	for (const key of keys)
		add(bothTable(words(key), key, false));
	for (const run of runs)
		for (const [key, list] of Object.entries(run.meta.report))
			if (Array.isArray(list) && list.some((v) => v !== null && typeof v === 'object'))
				add(listTable(run.letter + words(key), list, run.letter.trim() + '.' + key));
}

/* What can be shown together. */
const MOST_CHOICES = 2000;
function offerAlignments() {
	const list = $('alignment'), option = (value, text) => element('option', { value }, text);
	if (!pair)
		return;
	$('aligned').hidden = false;
	list.append(option('regions', pairs.length ? 'all regions' : 'no region of both'), option('start', 'the beginnings'),
		...pairs.slice(0, MOST_CHOICES).map((p, i) => option(i, p.path)));
	list.addEventListener('change', () => changeAlignment(list.value));
}

function changeAlignment(way) {
	const whole = shown.from === FROM && shown.to === TO;
	align(way);
	box = null;
	showSums();
	if ($('search').value)
		search($('search').value);
	$('alignment').value = way;
	if (way !== 'regions' && way !== 'start')
		showPair(pairs[way]);
	else if (whole)
		look(FROM, TO);
	else
		look(shown.from, shown.to);
}

/* The region of what is selected, the innermost that both have. */
function alignSelected() {
	const row = selected, run = row < 0 ? null : runOf(row);
	let best = -1;
	pairs.forEach((p, i) => {
		if (run && p.from[run.number] <= insn.start[row] && p.to[run.number] >= insn.end[row] && insn.region[row] &&
			(regions.path[regions.row[insn.region[row]]] + '/').startsWith(p.path + '/') && (best < 0 || p.path.length > pairs[best].path.length))
			best = i;
	});
	if (pair)
		changeAlignment(best < 0 || String(alignment) === String(best) ? 'regions' : String(best));
}

/* -- begin -- */

$('title').textContent = document.title = 'npusim: ' + (pair ? runs.map((run) => run.letter + run.meta.subject + ' on ' + run.meta.machine).join(', ') :
	meta.subject + ' on ' + meta.machine);
const lengthOf = (run) => count(run.meta.cycles) + ' cycles at ' + run.meta.clock_mhz + ' MHz, ' + micros(run.meta.cycles, run);
const boundOf = (run) => run.meta.report.bound ? '; bound by ' + run.meta.report.bound + ': ' + run.meta.report.bound_evidence : '';
if (pair)
	$('subtitle').replaceChildren(...runs.map((run, r) => element('div', null, run.letter + pair.names[r] + ': ' + lengthOf(run) + boundOf(run))),
		count(pairs.length) + ' regions of both, ' + count(pairs.filter((p) => p.together).length) + ' begin together; between two of these beginnings the shorter run stands still');
else
	$('subtitle').textContent = lengthOf(runs[0]) +
		(meta.part ? '; this page has cycles ' + count(FROM) + ' to ' + count(TO) + ': ' + count(meta.dropped.slices) +
			' slices and ' + count(meta.dropped.values) + ' values of curves are left out, ' + count(meta.dropped.cut) + ' slices are cut' : '') +
		boundOf(runs[0]);

/* #t=1000:2000&i=5&box=0:100&q=text&critical&theme=dark shows that; of two runs align=regions, start or the path of a region. */
function obeyHash() {
	const asked = new URLSearchParams(location.hash.slice(1)), span = (key) => /^(\d+):(\d+)$/.exec(asked.get(key) || '');
	const wanted = asked.get('align'), named = pairs.findIndex((p) => p.path === wanted);
	if (pair && (wanted === 'regions' || wanted === 'start' || named >= 0))
		changeAlignment(named >= 0 ? String(named) : wanted);
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
offerAlignments();
function setHeight() {
	view.style.height = Math.min(contentHeight, Math.max(240, Math.round(innerHeight * 0.66))) + 'px';
	$('space').style.height = Math.max(0, contentHeight - view.clientHeight) + 'px';
	redraw();
}
setHeight();
window.addEventListener('resize', setHeight);
const loaded = performance.now();
const firstDraw = draw();
obeyHash();
window.addEventListener('hashchange', obeyHash);
/* The tables may be long: after what is drawn is seen. */
const ready = new Promise((done) => setTimeout(() => { (pair ? showBoth : showReport)(); showRoofline(); done(); }, 0));

/* For tests and for people at the console. */
window.npusim = { ready, meta, lanes, insn, shown, draw, sumUp, textOf, runs, pairs, runOf, toPage, toRun, changeAlignment, search, regions, X, Y, at, selected: () => selected, box: () => box,
	matches: () => matches, milliseconds: { load: loaded - begun, draw: firstDraw } };
