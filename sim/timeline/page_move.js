/* SPDX-License-Identifier: Apache-2.0 */
/* Search, pointer, wheel, keys and buttons. */

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
		rows.push(...runs.map((run) => rowOf(+exact[1], run)).filter((row) => row >= 0));
	} else {
		const inString = strings.map((s) => s.toLowerCase().includes(wanted));
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
	const begin = (row) => toPage(runOf(row), insn.start[row]);
	rows.sort(pair ? (a, b) => begin(a) - begin(b) || a - b : (a, b) => insn.start[a] - insn.start[b] || a - b);
	matches = { rows, times: Time.from(rows, begin), now: -1 };
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
		part = spanOf(selected);
	if (part) {
		const margin = (part[1] - part[0]) * 0.05, before = shown.from + ' ' + shown.to;
		look(part[0] - margin, part[1] + margin);
		if (before !== shown.from + ' ' + shown.to)
			return;
	}
	if (!whole || !part)
		look(FROM, TO);
}

function stepOnEngine(by) {
	const row = selected < 0 ? -1 : neighbour(selected, by);
	if (row >= 0)
		select(row, true);
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

const middle = () => pointer ? pointer[0] : GUTTER + (width - GUTTER) / 2;
const keys = {
	w: () => zoom(0.7, middle()), s: () => zoom(1 / 0.7, middle()),
	a: () => pan(-(shown.to - shown.from) * 0.1), d: () => pan((shown.to - shown.from) * 0.1),
	ArrowLeft: () => keys.a(), ArrowRight: () => keys.d(),
	f: fit, n: () => step(1), N: () => step(-1), c: toggleCritical, b: toggleBoxes, '?': toggleHelp,
	g: alignSelected, ',': () => stepOnEngine(-1), '.': () => stepOnEngine(1),
	'/': () => { $('search').focus(); $('search').select(); },
	Escape: () => { select(-1); box = null; showSums(); },
};
for (const key of ['w', 's', 'a', 'd', 'f', 'c', 'b', 'g'])
	keys[key.toUpperCase()] = keys[key];
window.addEventListener('keydown', (event) => {
	if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'INPUT' || event.target.tagName === 'SELECT' || !Object.hasOwn(keys, event.key))
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
