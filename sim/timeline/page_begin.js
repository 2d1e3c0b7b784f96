/* SPDX-License-Identifier: Apache-2.0 */
/* The legend, the tables of the report, and the beginning. */

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
const ready = new Promise((done) => setTimeout(() => { showReport(); done(); }, 0));

/* For tests and for people at the console. */
window.npusim = { ready, meta, lanes, insn, shown, draw, sumUp, textOf, search, regions, X, Y, at, selected: () => selected, box: () => box,
	matches: () => matches, milliseconds: { load: loaded - begun, draw: firstDraw } };
