/* SPDX-License-Identifier: Apache-2.0 */
// A scatter plot of two figures of all points; a point under the pointer tells itself, two that are clicked are compared.
"use strict";
const { kind, names, points } = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const plot = byId("plot"), tip = byId("tip"), across = byId("x"), up = byId("y");
const WIDTH = 820, HEIGHT = 420, LEFT = 64, RIGHT = 16, TOP = 24, BOTTOM = 48, TICKS = 4, TIP_WIDTH = 500;
let pins = [];

function svg(tag, attributes, text) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const name in attributes)
		e.setAttribute(name, attributes[name]);
	if (text !== undefined)
		e.textContent = text;
	return e;
}

function number(v) {
	return v === null ? "-" : Number.isInteger(v) ? v.toLocaleString("en") : v.toPrecision(5);
}

function tick(v) {
	const m = Math.abs(v);
	return m >= 1e6 ? (v / 1e6).toFixed(2) + "M" : m >= 1e4 ? (v / 1e3).toFixed(0) + "k" :
		m >= 100 ? v.toFixed(0) : String(+v.toPrecision(3));
}

// Commands, and between them what they are: a step of a model has no timeline, its longest operator has.
function again(p) {
	const trace = " --timeline point-" + p.n + ".pftrace";
	return kind === "run" ? [p.run + trace] : p.op ? [p.run, "longest operator: " + p.op, p.with + trace] : [p.run];
}

// Lowest and highest of a figure, and some room beside them.
function range(figure) {
	let low = Infinity, high = -Infinity;
	for (const p of points)
		if (p.f[figure] !== null) {
			low = Math.min(low, p.f[figure]);
			high = Math.max(high, p.f[figure]);
		}
	if (!(high > low)) {
		low = Number.isFinite(low) ? low - 1 : 0;
		high = low + 2;
	}
	const room = (high - low) * 0.03;
	return [low - room, high + room];
}

function scale([low, high], from, to) {
	return v => from + (v - low) / (high - low) * (to - from);
}

function tell(p, event) {
	const figures = names.map((name, i) => name + "  " + number(p.f[i]));
	tip.textContent = [p.at, figures, again(p)].map(lines => lines.join("\n")).join("\n\n");
	tip.style.display = "block";
	tip.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - TIP_WIDTH)) + "px";
	tip.style.top = event.clientY + 14 + "px";
}

function pin(p) {
	pins = pins.includes(p) ? pins.filter(q => q !== p) : [...pins.slice(-1), p];
	draw();
	compare();
}

function draw() {
	const ranges = [range(+across.value), range(+up.value)];
	const x = scale(ranges[0], LEFT, WIDTH - RIGHT), y = scale(ranges[1], HEIGHT - BOTTOM, TOP);
	plot.textContent = "";
	for (let k = 0; k <= TICKS; k++) {
		const [v, w] = ranges.map(([low, high]) => low + (high - low) * k / TICKS);
		plot.append(svg("text", { x: x(v), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle", "font-size": 11 }, tick(v)));
		plot.append(svg("text", { x: LEFT - 6, y: y(w) + 4, "text-anchor": "end", "font-size": 11 }, tick(w)));
		plot.append(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(w), y2: y(w), stroke: "#eee" }));
	}
	for (const p of points) {
		const v = p.f[+across.value], w = p.f[+up.value], pinned = pins.includes(p);
		if (v === null || w === null)
			continue;
		const look = pinned ? { r: 7, fill: "#d33", "fill-opacity": 1 } : { r: 4, fill: "#36c", "fill-opacity": 0.45 };
		const dot = svg("circle", { cx: x(v), cy: y(w), ...look });
		dot.dataset.point = p.n;
		dot.onmousemove = event => tell(p, event);
		dot.onmouseleave = () => tip.style.display = "none";
		dot.onclick = () => pin(p);
		plot.append(dot);
	}
}

// A row a key and a figure, a column a point; of two also the change.
function compare() {
	const into = byId("pins"), table = document.createElement("table");
	const row = (head, cells) => {
		const r = table.insertRow();
		for (const text of [head, ...cells])
			r.insertCell().textContent = text;
	};
	into.textContent = "";
	if (!pins.length)
		return;
	row("point", [...pins.map(p => p.n), ...(pins.length > 1 ? ["change"] : [])]);
	pins[0].at.forEach((word, i) => {
		const key = word.slice(0, word.indexOf("="));
		row(key, pins.map(p => p.at[i].slice(key.length + 1)));
	});
	names.forEach((name, i) => {
		const [was, is] = pins.map(p => p.f[i]);
		const change = was && typeof is === "number" ? [((is / was - 1) * 100).toFixed(1) + " %"] : [];
		row(name, [...pins.map(p => number(p.f[i])), ...change]);
	});
	into.append(table);
	for (const text of pins.flatMap(again)) {
		const line = document.createElement(text.startsWith("npusim") ? "code" : "div");
		line.textContent = text;
		into.append(line);
	}
}

for (const select of [across, up]) {
	names.forEach((name, i) => select.add(new Option(name, i)));
	select.onchange = draw;
}
across.value = Math.max(0, names.indexOf("sram.peak_bytes"));
up.value = 0;
draw();
