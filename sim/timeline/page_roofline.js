/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline of a run and of its regions, as npusim roofline reckons it: MACs a byte of DRAM against MACs a second. */

const MOST_POINTS = 500, DRAWN = { width: 620, height: 340, left: 62, right: 14, top: 14, bottom: 40 };

/* Cycles of a region: the most that one engine was at it, working or waiting. */
const cyclesOf = (region) => Math.max(...meta.engines.map((e) => engineCycles(region, e)));

/* null where the machine has no roof: DRAM is ideal, or another memory. */
function rooflineOf(run) {
	const r = run.meta.report, bytes = r.dram.peak_gb_per_s, ridge = r.ridge_macs_per_byte;
	if (!(bytes > 0) || !(ridge > 0) || !(r.time_us > 0))
		return null;
	const peak = ridge * bytes, nanoseconds = r.time_us * 1000 / r.cycles;
	const point = (name, macs, moved, cycles) => {
		const intensity = moved > 0 ? macs / moved : null, achieved = cycles > 0 ? macs / (cycles * nanoseconds) : null;
		const roof = intensity === null ? peak : Math.min(intensity * bytes, peak);
		return { name, macs, moved, cycles, intensity, achieved, roof };
	};
	const whole = point('whole', r.macs, r.dram.read_bytes + r.dram.write_bytes, r.cycles);
	const regions = r.regions
		.map((region) => point(region.name, region.macs, region.dram_read_bytes + region.dram_write_bytes, cyclesOf(region)))
		.filter((p) => p.macs > 0 || p.moved > 0).sort((a, b) => b.cycles - a.cycles);
	return { run, bytes, ridge, peak, whole, regions };
}

const svg = (name, attributes, ...children) => {
	const e = document.createElementNS('http://www.w3.org/2000/svg', name);
	for (const [key, value] of Object.entries(attributes))
		e.setAttribute(key, value);
	e.append(...children);
	return e;
};
const digits = (value) => value.toLocaleString('en-US', { maximumSignificantDigits: 4 });
const isDrawn = (p) => p.intensity > 0 && p.achieved > 0;

const pointsOf = (r) => [...r.regions.slice(0, MOST_POINTS).reverse(), r.whole].filter(isDrawn);

function rooflineChart(roofs) {
	const { width: w, height: h, left, right, top, bottom } = DRAWN, all = roofs.flatMap(pointsOf);
	const least = Math.min(...roofs.map((r) => r.ridge / 8), ...all.map((p) => p.intensity / 2));
	const most = Math.max(...roofs.map((r) => r.ridge * 8), ...all.map((p) => p.intensity * 2));
	const low = Math.min(...roofs.map((r) => r.peak / 16), ...all.map((p) => p.achieved / 2));
	const high = Math.max(...roofs.map((r) => r.peak)) * 2;
	const x = (v) => left + Math.log(v / least) / Math.log(most / least) * (w - left - right);
	const y = (v) => h - bottom - Math.log(v / low) / Math.log(high / low) * (h - top - bottom);
	const chart = svg('svg', { viewBox: `0 0 ${w} ${h}`, width: w, height: h, class: 'chart', role: 'img', 'aria-label': 'roofline' });
	const tick = (line, text) => chart.append(svg('line', { class: 'grid', ...line }), text);
	for (let d = Math.ceil(Math.log10(least)); 10 ** d <= most; d++)
		tick({ x1: x(10 ** d), x2: x(10 ** d), y1: top, y2: h - bottom },
			svg('text', { x: x(10 ** d), y: h - bottom + 15, 'text-anchor': 'middle' }, digits(10 ** d)));
	for (let d = Math.ceil(Math.log10(low)); 10 ** d <= high; d++)
		tick({ x1: left, x2: w - right, y1: y(10 ** d), y2: y(10 ** d) },
			svg('text', { x: left - 6, y: y(10 ** d) + 4, 'text-anchor': 'end' }, digits(10 ** d)));
	chart.append(svg('text', { x: (left + w - right) / 2, y: h - 6, 'text-anchor': 'middle' }, 'MAC/byte of DRAM'),
		svg('text', { x: 0, y: 0, transform: `translate(12 ${(top + h - bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle' }, 'GMAC/s'));
	roofs.forEach((r, i) => {
		const name = r.run.letter, own = i === 0 ? 'a' : 'b';
		const corners = [[least, Math.max(least * r.bytes, low / 4)], [r.ridge, r.peak], [most, r.peak]];
		chart.append(svg('polyline', { class: 'roof ' + own, points: corners.map(([a, b]) => x(a) + ',' + y(b)).join(' ') }),
			svg('line', { class: 'ridge ' + own, x1: x(r.ridge), x2: x(r.ridge), y1: y(r.peak), y2: h - bottom }),
			svg('text', { x: x(r.ridge) + 4, y: h - bottom - 6 - 14 * i }, name + 'ridge ' + digits(r.ridge) + ' MAC/B'));
		for (const p of pointsOf(r)) {
			const look = p === r.whole ? { class: 'whole ' + own, r: 6 } : { class: 'region ' + own, r: 3.5 };
			const title = `${name}${p.name}: ${digits(p.intensity)} MAC/B, ${digits(p.achieved)} of ${digits(p.roof)} GMAC/s, ` +
				`${share(p.achieved, p.roof)} of the roof, ${count(p.cycles)} cycles`;
			chart.append(svg('circle', { ...look, cx: x(p.intensity), cy: y(p.achieved) }, svg('title', {}, title)));
		}
		if (isDrawn(r.whole))
			chart.append(svg('text', { x: x(r.whole.intensity) + 9, y: y(r.whole.achieved) + (i === 0 ? -6 : 15) }, name + 'whole'));
	});
	return chart;
}

function rooflineTable(r) {
	const cell = (value, text) => element('td', { 'data-value': value === null ? '' : value }, value === null ? '-' : text || digits(value));
	const limit = (p) => p.macs === 0 ? 'no MACs' : p.intensity === null || p.intensity >= r.ridge ? 'compute' : 'memory';
	const row = (p) => [element('td', { class: 't' }, p.name),
		...[p.cycles, p.macs, p.moved].map((n) => cell(n, count(n))), ...[p.intensity, p.achieved, p.roof].map((n) => cell(n)),
		cell(p.macs > 0 ? p.achieved / p.roof : null, share(p.achieved, p.roof)), element('td', { class: 't' }, limit(p))];
	const title = `${r.run.letter}roofline: array ${digits(r.peak)} GMAC/s, DRAM ${digits(r.bytes)} GB/s, ridge ${digits(r.ridge)} MAC/B`;
	return longTable(title, ['', 'cycles', 'MACs', 'DRAM bytes', 'MAC/B', 'GMAC/s', 'roof', 'of roof', 'below'],
		[r.whole, ...r.regions].map(row), r.run.before + 'roofline');
}

function showRoofline() {
	const roofs = runs.map(rooflineOf).filter(Boolean);
	if (roofs.length === 0)
		return;
	$('report').append(element('div', { class: 'wide' }, element('h2', null, 'roofline'), rooflineChart(roofs)), ...roofs.map(rooflineTable));
}
