'use strict';
(() => {
// Everything that comes from a crawled site reaches the page through textContent or a canvas, never as markup.
const $ = id => document.getElementById(id);
const overview = JSON.parse($('overview').textContent);
const hosts = overview.hosts;
hosts.forEach((h, number) => { h.number = number; });

const kinds = [ // letters: see the map "kinds" of package record
	{name: 'fetched', letters: 'f', colour: '--fetched', shape: 'dot'},
	{name: 'unchanged', letters: 'e', colour: '--fetched', shape: 'ring'},
	{name: 'moved', letters: 'm', colour: '--moved', shape: 'triangle'},
	{name: 'robots.txt', letters: 'r', colour: '--robots', shape: 'diamond'},
	{name: 'checked', letters: 'c', colour: '--robots', shape: 'dot'},
	{name: 'not found', letters: 'n', colour: '--notfound', shape: 'frame'},
	{name: 'put off', letters: 'p', colour: '--later', shape: 'square'},
	{name: 'disallowed', letters: 'b', colour: '--disallowed', shape: 'no entry'},
	{name: 'lost', letters: 'dgux', colour: '--lost', shape: 'cross'},
];
const kindOf = {};
for (const k of kinds) for (const letter of k.letters) kindOf[letter] = k;
const words = {f: 'fetched', e: 'unchanged', m: 'moved', r: 'robots.txt', c: 'checked', n: 'not found', d: 'refused', p: 'put off', b: 'disallowed', g: 'given up', u: 'unreachable', x: 'failed'};

// ---- small things

// element returns a new element with these attributes and children. A child that is a string becomes text.
function element(name, attributes = {}, ...children) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) {
		if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
		else if (value === true) e.setAttribute(key, '');
		else if (value !== false && value != null) e.setAttribute(key, value);
	}
	e.append(...children);
	return e;
}

// visible escapes control characters and invisible characters in a server's text.
function visible(text) {
	return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
		c => '\\u{' + c.codePointAt(0).toString(16) + '}');
}

function seconds(ms) {
	if (ms < 1000) return ms + ' ms';
	if (ms < 60000) return (ms / 1000).toFixed(2) + ' s';
	return clock(ms);
}

// clock formats a time of the crawl: 1:02:03, or 4.5 s.
function clock(ms, step = 1000) {
	const s = Math.floor(ms / 1000), two = n => String(n).padStart(2, '0');
	const fraction = step < 1000 ? '.' + String(ms % 1000).padStart(3, '0').slice(0, step < 100 ? 2 : 1) : '';
	if (s >= 3600) return Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) + ':' + two(s % 60) + fraction;
	return Math.floor(s / 60) + ':' + two(s % 60) + fraction;
}

const many = (n, noun) => n.toLocaleString('en') + ' ' + noun + (n === 1 ? '' : 's');

// ---- data

// timeline reads the marks of a host when they are first needed.
function timeline(h) {
	if (!h.timeline) {
		const d = JSON.parse($('timeline-' + h.number).textContent);
		d.pausedUntil = new Map(d.pauses);
		d.earlyOf = new Map(d.early);
		d.matches = null; // one byte for each mark; null: all match
		h.timeline = d;
	}
	return h.timeline;
}

const urlOf = (h, d, i) => (d.urls[i].startsWith('/') ? h.origin : '') + d.urls[i];

// colourOf returns the color of a mark. It depends on the kind of the mark, but a request that came too early has the color bad,
// and an unreachable robots.txt or a check that failed the color lost.
function colourOf(d, i) {
	const p = colours(), status = d.status[i];
	if (d.earlyOf.has(i)) return p.bad;
	if ((d.verdicts[i] === 'r' || d.verdicts[i] === 'c') && (status === 0 || status === 429 || status >= 500)) return p.lost;
	return p[kindOf[d.verdicts[i]].colour.slice(2)];
}

// firstAt returns the first mark at or after a time.
function firstAt(d, t) {
	let low = 0, high = d.at.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (d.at[middle] < t) low = middle + 1; else high = middle;
	}
	return low;
}

// sentBefore returns the latest request before a mark, or -1.
function sentBefore(d, i) {
	do i--; while (i >= 0 && d.took[i] < 0);
	return i;
}

// pauseOf returns how long a host is left alone after a mark's answer.
const pauseOf = (d, i) => d.pausedUntil.get(i) - d.at[i] - d.took[i];

// describe returns everything about a mark, in lines.
function describe(h, d, i) {
	const letter = d.verdicts[i], lines = [visible(urlOf(h, d, i))];
	let what = words[letter] + (d.status[i] ? ' ' + d.status[i] : '') + ' at ' + clock(d.at[i], 10);
	what += d.took[i] < 0 ? ', nothing was sent' : (d.status[i] ? ', answered in ' : ', no answer for ') + seconds(d.took[i]);
	lines.push(what);
	if (d.note[i]) lines.push(visible(d.notes[d.note[i]]));
	const before = sentBefore(d, i);
	if (d.took[i] >= 0 && before >= 0) lines.push(seconds(d.at[i] - d.at[before]) + ' after the request before' + (d.earlyOf.has(i) ? ', ' + seconds(d.earlyOf.get(i)) + ' too early' : ''));
	if (d.took[i] >= 0 && d.owed[i]) lines.push('then the host was owed ' + seconds(d.owed[i]));
	if (d.pausedUntil.has(i)) lines.push('and left alone for ' + seconds(pauseOf(d, i)));
	return lines;
}

// ---- the filter

const filter = {text: '', off: new Set(), generation: 0};
const isFiltering = () => filter.text !== '' || filter.off.size > 0;

function matches(h, d, i) {
	if (filter.off.has(kindOf[d.verdicts[i]].name)) return false;
	return textMatches(h.name) || textMatches(d.urls[i]) || textMatches(d.notes[d.note[i]]);
}
const textMatches = s => filter.text === '' || s.toLowerCase().includes(filter.text);

// eachHost calls visit for all hosts without blocking the page. It stops when the filter changes.
async function eachHost(visit) {
	const generation = filter.generation;
	let until = performance.now() + 12;
	for (const h of hosts) {
		if (performance.now() > until) {
			await new Promise(resolve => setTimeout(resolve));
			until = performance.now() + 12;
		}
		if (generation !== filter.generation) return false;
		visit(h, timeline(h));
	}
	return true;
}

async function applyFilter() {
	filter.generation++;
	filter.text = $('find').value.trim().toLowerCase();
	let found = 0;
	const done = await eachHost((h, d) => {
		h.found = d.at.length;
		d.matches = null;
		if (isFiltering()) {
			d.matches = new Uint8Array(d.at.length);
			h.found = 0;
			for (let i = 0; i < d.at.length; i++) if (matches(h, d, i)) { d.matches[i] = 1; h.found++; }
		}
		found += h.found;
	});
	if (!done) return;
	$('found').textContent = isFiltering() ? found.toLocaleString('en') + ' of ' + total.toLocaleString('en') + ' shown' : '';
	for (const row of $('host-table').tBodies[0].rows) row.hidden = isFiltering() && !hosts[row.dataset.host].found;
	showLanes();
	showRules();
	showSaid();
	showLost();
	await showAll();
	document.documentElement.dataset.settled = filter.generation; // for tests: the whole page shows the result of this filter
}
const total = hosts.reduce((n, h) => n + h.marks, 0);

function glyph(k) {
	const ns = 'http://www.w3.org/2000/svg';
	const svg = document.createElementNS(ns, 'svg'), path = document.createElementNS(ns, 'path');
	svg.setAttribute('viewBox', '0 0 14 14');
	svg.setAttribute('aria-hidden', 'true');
	path.setAttribute('d', {
		dot: 'M7 2a5 5 0 1 0 .01 0z', triangle: 'M3 2l9 5-9 5z', diamond: 'M7 1l6 6-6 6-6-6z', square: 'M2 2h10v10H2z',
		ring: 'M7 2a5 5 0 1 0 .01 0z', cross: 'M3 3l8 8M11 3l-8 8', frame: 'M3 3h8v8H3z', 'no entry': 'M7 2a5 5 0 1 0 .01 0zM4 7h6',
	}[k.shape]);
	const outline = ['ring', 'cross', 'frame', 'no entry'].includes(k.shape);
	path.style.fill = outline ? 'none' : `var(${k.colour})`;
	path.style.stroke = outline ? `var(${k.colour})` : 'none';
	path.style.strokeWidth = 2.4;
	svg.append(path);
	return svg;
}

for (const k of kinds) {
	let n = 0;
	for (const h of hosts) for (const letter of k.letters) n += h.counts[letter] || 0;
	if (n === 0) continue;
	$('kinds').append(element('button', {type: 'button', 'aria-pressed': 'true', 'data-kind': k.name, onclick: e => {
		const button = e.currentTarget, on = button.getAttribute('aria-pressed') !== 'true';
		button.setAttribute('aria-pressed', on);
		if (on) filter.off.delete(k.name); else filter.off.add(k.name);
		applyFilter();
	}}, glyph(k), k.name, element('span', {class: 'soft'}, n.toLocaleString('en'))));
}
let typing;
$('find').addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(applyFilter, 150); });
$('filter').addEventListener('submit', e => { e.preventDefault(); applyFilter(); });

// ---- timelines

const end = Math.max(overview.end, 1);
const view = {from: 0, to: end};
const lanes = new Map(); // host → {canvas, chosen}
let lanesShown = 20;
const edge = 10; // pixels left and right of the timeline, so that marks at its ends are whole

const orders = {
	name: (a, b) => a.name < b.name ? -1 : 1,
	requests: (a, b) => b.requests - a.requests || orders.name(a, b),
	tight: (a, b) => slack(a) - slack(b) || orders.name(a, b),
	trouble: (a, b) => trouble(b) - trouble(a) || orders.requests(a, b),
};
const slack = h => h.tightest < 0 ? Infinity : h.tightest - h.owed;
const trouble = h => h.early * 1e6 + ['p', 'd', 'g', 'u', 'x', 'b'].reduce((n, letter) => n + (h.counts[letter] || 0), 0);

const visibleLanes = new Set();
const watcher = new IntersectionObserver(entries => {
	for (const e of entries) {
		if (e.isIntersecting) { visibleLanes.add(e.target); draw(e.target); } else visibleLanes.delete(e.target);
	}
}, {rootMargin: '200px'});

function showLanes() {
	const list = hosts.filter(h => !isFiltering() || h.found).sort(orders[$('order').value]);
	const shown = list.slice(0, lanesShown);
	for (const canvas of visibleLanes) watcher.unobserve(canvas);
	visibleLanes.clear();
	$('lanes').replaceChildren(...shown.map(h => laneOf(h).element));
	for (const h of shown) watcher.observe(laneOf(h).canvas);
	$('more-lanes').hidden = shown.length === list.length;
	$('more-lanes').textContent = 'Show all ' + many(list.length, 'host');
	if (list.length === 0) $('lanes').replaceChildren(nothing());
	drawAxis();
}
const nothing = () => element('p', {class: 'soft'}, isFiltering() ? 'Nothing of that.' : 'Nothing.');

function laneOf(h) {
	let lane = lanes.get(h);
	if (lane) return lane;
	const canvas = element('canvas', {
		tabindex: 0, role: 'slider', 'aria-label': 'Requests to ' + visible(h.name), 'aria-orientation': 'horizontal',
		'aria-valuemin': 0, 'aria-valuemax': h.marks, 'aria-valuenow': 0, 'aria-valuetext': 'none chosen', 'data-host': h.number,
	});
	canvas.addEventListener('keydown', e => onKey(e, h));
	canvas.addEventListener('pointermove', e => onPointer(e, h));
	canvas.addEventListener('pointerdown', e => onPointer(e, h));
	canvas.addEventListener('pointerleave', () => { if (document.activeElement !== canvas) hideTip(); });
	canvas.addEventListener('blur', () => { hideTip(); choose(h, -1); });
	canvas.addEventListener('wheel', e => {
		if (!e.ctrlKey && !e.metaKey) return;
		e.preventDefault();
		zoom(e.deltaY < 0 ? 1.4 : 1 / 1.4, timeAt(canvas, e.offsetX));
	}, {passive: false});
	const facts = element('p', {}, many(h.requests, 'request') + ', ' + (h.interval ? seconds(h.interval) + (h.longest ? ' to ' + seconds(h.longest) : '') + ' owed' : 'no interval'), element('br'));
	if (h.early) facts.append(element('span', {class: 'bad'}, h.early.toLocaleString('en') + ' too early'));
	else if (h.tightest >= 0) facts.append('tightest gap ' + seconds(h.tightest) + (h.owed !== h.interval ? ' of ' + seconds(h.owed) : ''));
	lane = {canvas, chosen: -1, element: element('div', {class: 'lane', id: 'lane-' + h.number}, element('div', {}, element('h3', {}, visible(h.name)), facts), canvas)};
	lanes.set(h, lane);
	return lane;
}

const xOf = (t, width) => edge + (t - view.from) / (view.to - view.from) * (width - 2 * edge);
const timeAt = (canvas, x) => view.from + (x - edge) / (canvas.clientWidth - 2 * edge) * (view.to - view.from);

// prepare sets a canvas's size in pixels and returns its context.
function prepare(canvas) {
	const width = canvas.clientWidth, height = canvas.clientHeight, scale = devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
	}
	const c = canvas.getContext('2d');
	c.setTransform(scale, 0, 0, scale, 0, 0);
	c.clearRect(0, 0, width, height);
	c.font = '11px system-ui, sans-serif';
	return [c, width, height];
}

let palette;
function colours() {
	if (!palette) {
		// A canvas does not support light-dark(), so let an element resolve it.
		const probe = document.body.appendChild(element('i', {hidden: true}));
		palette = {};
		for (const name of ['ink', 'soft', 'line', 'card', 'bad', 'bad-paper', ...kinds.map(k => k.colour.slice(2))]) {
			probe.style.color = `var(--${name})`;
			palette[name] = getComputedStyle(probe).color;
		}
		probe.remove();
	}
	return palette;
}

// ticks returns the times at which the axis has labels.
function ticks(width) {
	const span = view.to - view.from, steps = [10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 864e5];
	const step = steps.find(s => s / span * width >= 70) || Math.ceil(span / 864e5 / 8) * 864e5;
	const all = [];
	for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) all.push(t);
	return [all, step];
}

function drawAxis() {
	const [c, width, height] = prepare($('axis'));
	const [all, step] = ticks(width);
	c.fillStyle = colours().soft;
	c.textAlign = 'center';
	for (const t of all) {
		const x = xOf(t, width), half = c.measureText(clock(t, step)).width / 2;
		if (x + half <= width) c.fillText(clock(t, step), Math.max(x, half), 14);
		c.fillRect(x - .5, height - 5, 1, 5);
	}
}

function draw(canvas) {
	const h = hosts[canvas.dataset.host], d = timeline(h), p = colours();
	const [c, width, height] = prepare(canvas);
	c.fillStyle = p.card;
	c.fillRect(0, 0, width, height);
	c.fillStyle = p.line;
	for (const t of ticks(width)[0]) c.fillRect(xOf(t, width) - .5, 0, 1, height);

	const last = firstAt(d, view.to + 1);
	let first = firstAt(d, view.from);
	canvas.dataset.marks = last - first; // for tests
	const dense = last - first > (width - 2 * edge) / 5;
	if (dense) drawDense(c, d, first, last, width, height);
	else drawMarks(c, h, d, first, last, width, height);
	drawPauses(c, d, width, height, dense);
	const chosen = laneOf(h).chosen;
	if (chosen >= 0) {
		const x = xOf(d.at[chosen], width);
		c.strokeStyle = p.ink;
		c.lineWidth = 1.5;
		c.strokeRect(x - 8, 2, 16, height - 4);
	}
}

const baseline = 16; // pixels from the bottom to the baseline: requests are above the line, URLs for which nothing was sent below

function drawMarks(c, h, d, first, last, width, height) {
	const p = colours(), floor = height - baseline, size = Math.min(Math.max(width / (last - first + 1) / 12, .6), 1);
	for (let i = Math.max(sentBefore(d, first), 0); i < last; i++) { // draw the bands first, so that marks cover them
		if (d.took[i] < 0) continue;
		const from = xOf(d.at[i], width), to = xOf(d.at[i] + d.owed[i], width);
		c.globalAlpha = .2;
		c.fillStyle = p.fetched;
		c.fillRect(from, 14, Math.max(to - from - 1, 0), floor - 14);
		c.globalAlpha = 1;
	}
	for (let i = first; i < last; i++) {
		const k = kindOf[d.verdicts[i]], x = xOf(d.at[i], width), sent = d.took[i] >= 0;
		c.globalAlpha = d.matches && !d.matches[i] ? .15 : 1;
		c.fillStyle = c.strokeStyle = colourOf(d, i);
		if (sent) c.fillRect(x - 1, 10, 2, floor - 10);
		if (d.earlyOf.has(i)) c.fillRect(xOf(d.at[i], width), floor, xOf(d.at[i] + d.earlyOf.get(i), width) - x, 4);
		shape(c, k.shape, x, sent ? 10 : height - 8, size);
	}
	c.globalAlpha = 1;
	c.fillStyle = p.line;
	c.fillRect(0, floor, width, 1);
}

function shape(c, name, x, y, size) {
	c.save();
	c.translate(x, y);
	c.scale(size, size);
	c.lineWidth = 2;
	c.beginPath();
	switch (name) {
	case 'dot': c.arc(0, 0, 4, 0, 7); c.fill(); break;
	case 'ring': c.arc(0, 0, 3.6, 0, 7); c.stroke(); break;
	case 'frame': c.strokeRect(-3.4, -3.4, 6.8, 6.8); break;
	case 'no entry': c.arc(0, 0, 3.6, 0, 7); c.moveTo(-2, 0); c.lineTo(2, 0); c.stroke(); break;
	case 'square': c.fillRect(-4, -4, 8, 8); break;
	case 'triangle': c.moveTo(-3, -5); c.lineTo(6, 0); c.lineTo(-3, 5); c.fill(); break;
	case 'diamond': c.moveTo(0, -6); c.lineTo(5, 0); c.lineTo(0, 6); c.lineTo(-5, 0); c.fill(); break;
	case 'cross': c.moveTo(-4, -4); c.lineTo(4, 4); c.moveTo(4, -4); c.lineTo(-4, 4); c.stroke(); break;
	}
	c.restore();
}

// drawDense draws each gap between two requests relative to the gap that the host was owed. If a gap reaches the line, the second
// request was in time. If several gaps share a column of pixels, it shows the smallest one. Ticks at the top are answers other than
// pages. Ticks at the bottom are URLs for which nothing was sent.
function drawDense(c, d, first, last, width, height) {
	const p = colours(), floor = height - baseline, top = 16, line = top + (floor - top) / 3;
	const columns = Math.ceil(width), least = new Float32Array(columns).fill(Infinity), shade = new Uint8Array(columns); // 1: too early, 2: not faded
	const rare = new Map(); // by color and column
	const columnOf = i => Math.min(Math.max(Math.round(xOf(d.at[i], width)), 0), columns - 1);
	let before = sentBefore(d, first);
	const begin = before < 0 ? first : before;
	for (let i = first; i < last; i++) {
		const x = columnOf(i), letter = d.verdicts[i], faded = d.matches && !d.matches[i];
		if (letter !== 'f' && !faded) rare.set(`${colourOf(d, i)} ${d.took[i] < 0} ${x}`, [colourOf(d, i), d.took[i] >= 0, x]);
		if (d.took[i] < 0) continue;
		if (before >= 0) {
			const owed = Math.max(letter === 'r' ? Math.min(d.owed[i], d.owed[before]) : d.owed[before], (d.pausedUntil.get(before) || 0) - d.at[before]);
			const share = owed ? (d.at[i] - d.at[before]) / owed : 1.5;
			for (let gap = columnOf(before); gap <= x; gap++) {
				least[gap] = Math.min(least[gap], share);
				if (!faded) shade[gap] |= 2;
			}
		}
		if (d.earlyOf.has(i)) shade[x] |= 1;
		before = i;
	}
	for (let x = 0; x < columns; x++) {
		if (least[x] === Infinity) continue;
		const tall = Math.min(least[x], 1.5) / 1.5 * (floor - top);
		c.fillStyle = shade[x] & 1 ? p.bad : p.fetched;
		c.globalAlpha = shade[x] & 1 ? 1 : shade[x] & 2 ? .38 : .12;
		c.fillRect(x - (shade[x] & 1), floor - tall, 1 + 2 * (shade[x] & 1), tall);
	}
	c.globalAlpha = 1;
	for (const [colour, sent, x] of rare.values()) {
		c.fillStyle = colour;
		if (sent) c.fillRect(x - 1, 3, 2.5, 9); else c.fillRect(x - 1, floor + 4, 2, 8);
	}
	c.fillStyle = p.line;
	c.fillRect(0, floor, width, 1);
	c.strokeStyle = p.ink;
	c.lineWidth = 1;
	c.setLineDash([4, 3]);
	c.beginPath();
	c.moveTo(Math.max(xOf(d.at[begin], width), 0), Math.round(line) + .5);
	c.lineTo(Math.min(xOf(d.at[Math.max(before, begin)], width), width), Math.round(line) + .5);
	c.globalAlpha = .6;
	c.stroke();
	c.globalAlpha = 1;
	c.setLineDash([]);
}

function drawPauses(c, d, width, height, dense) {
	const p = colours(), floor = height - baseline;
	let labelled = -Infinity; // x up to which a label covers the timeline
	for (const [i, until] of d.pauses) {
		const from = Math.max(xOf(d.at[i] + d.took[i], width), 0), to = Math.min(xOf(until, width), width);
		if (to < 0 || from > width) continue;
		c.save();
		c.beginPath();
		c.rect(from, 14, Math.max(to - from, 1), floor - 14);
		c.clip();
		c.fillStyle = c.strokeStyle = p.later;
		c.globalAlpha = .16;
		c.fillRect(from, 14, Math.max(to - from, 1), floor - 14);
		c.globalAlpha = .6;
		c.lineWidth = 1;
		c.beginPath();
		for (let x = from - height; x < to; x += 7) { c.moveTo(x, floor); c.lineTo(x + height, floor - height); }
		c.stroke();
		c.restore();
		const text = (d.status[i] || 'no answer') + ': ' + seconds(pauseOf(d, i)), wide = c.measureText(text).width + 8;
		const x = Math.min(from + 8, width - wide);
		if (to - from < (dense ? wide + 16 : 3) || x < labelled || xOf(d.at[i + 1], width) < x + wide / 2) continue; // the next mark would strike it through
		c.fillStyle = p.card;
		c.fillRect(x, 20, wide, 15);
		c.fillStyle = p.later;
		c.textAlign = 'left';
		c.fillText(text, x + 4, 31);
		labelled = x + wide + 4;
	}
}

function redraw() {
	for (const canvas of visibleLanes) draw(canvas);
	drawAxis();
	const whole = view.to - view.from >= end;
	$('position-label').hidden = whole;
	if (!whole) {
		$('position').value = 1000 * view.from / (end - (view.to - view.from));
		$('position').setAttribute('aria-valuetext', clock(view.from, 1000) + ' to ' + clock(view.to, 1000));
	}
}

function look(from, span) {
	span = Math.min(Math.max(span, 50), end);
	view.from = Math.min(Math.max(from, 0), end - span);
	view.to = view.from + span;
	redraw();
}
function zoom(factor, around = (view.from + view.to) / 2) {
	const span = (view.to - view.from) / factor;
	look(around - (around - view.from) / factor, span);
}
$('in').addEventListener('click', () => zoom(2));
$('out').addEventListener('click', () => zoom(.5));
$('fit').addEventListener('click', () => look(0, end));
$('position').addEventListener('input', e => { const span = view.to - view.from; look(e.target.value / 1000 * (end - span), span); });
$('order').addEventListener('change', showLanes);
$('more-lanes').addEventListener('click', () => { lanesShown = Infinity; showLanes(); });

// choose selects one of a host's marks, or none (-1), and describes it.
function choose(h, i) {
	const lane = laneOf(h), d = timeline(h), canvas = lane.canvas;
	if (lane.chosen === i) return;
	lane.chosen = i;
	if (i >= 0) {
		const span = view.to - view.from;
		if (d.at[i] < view.from || d.at[i] > view.to) look(d.at[i] - span / 2, span);
		const lines = describe(h, d, i);
		canvas.setAttribute('aria-valuenow', i + 1);
		canvas.setAttribute('aria-valuetext', (i + 1) + ' of ' + h.marks + ': ' + lines.join(', '));
		showTip(canvas, xOf(d.at[i], canvas.clientWidth), lines);
	}
	draw(canvas);
}

function showTip(canvas, x, lines) {
	const tip = $('tip'), box = canvas.getBoundingClientRect();
	tip.replaceChildren(element('b', {}, lines[0]), ...lines.slice(1).map(line => element('div', {}, line)));
	tip.hidden = false;
	const left = Math.min(Math.max(box.left + x - tip.offsetWidth / 2, 8), document.documentElement.clientWidth - tip.offsetWidth - 8);
	const below = box.bottom + tip.offsetHeight + 12 < innerHeight;
	tip.style.left = left + scrollX + 'px';
	tip.style.top = scrollY + (below ? box.bottom + 4 : box.top - tip.offsetHeight - 4) + 'px';
}
function hideTip() { $('tip').hidden = true; }

function onPointer(e, h) {
	const canvas = laneOf(h).canvas, d = timeline(h);
	if (e.pointerType === 'mouse' && e.buttons === 1 && e.type === 'pointermove' && view.to - view.from < end) {
		const perPixel = (view.to - view.from) / (canvas.clientWidth - 2 * edge);
		hideTip();
		look(view.from - e.movementX * perPixel, view.to - view.from);
		return;
	}
	const t = timeAt(canvas, e.offsetX), after = firstAt(d, t);
	let nearest = -1, distance = 12; // pixels
	for (let i = Math.max(after - 2, 0); i < Math.min(after + 3, d.at.length); i++) {
		const away = Math.abs(xOf(d.at[i], canvas.clientWidth) - e.offsetX);
		const other = (d.took[i] < 0) !== (e.offsetY > canvas.clientHeight - baseline) ? 4 : 0; // prefer marks on the pointer's side of the baseline
		if (away + other < distance) [nearest, distance] = [i, away + other];
	}
	if (nearest < 0) hideTip();
	else if (laneOf(h).chosen === nearest) showTip(canvas, xOf(d.at[nearest], canvas.clientWidth), describe(h, d, nearest));
	choose(h, nearest);
}

function onKey(e, h) {
	const d = timeline(h), n = d.at.length;
	let i = laneOf(h).chosen;
	const step = (i, by) => { do i += by; while (i >= 0 && i < n && d.matches && !d.matches[i]); return i; };
	switch (e.key) {
	case 'ArrowRight': case 'ArrowUp': i = step(i, 1); break;
	case 'ArrowLeft': case 'ArrowDown': i = i < 0 ? step(n, -1) : step(i, -1); break;
	case 'PageDown': i = Math.min(i + 10, n - 1); break;
	case 'PageUp': i = Math.max(i - 10, 0); break;
	case 'Home': i = step(-1, 1); break;
	case 'End': i = step(n, -1); break;
	case '+': case '=': zoom(2, i < 0 ? undefined : d.at[i]); break;
	case '-': zoom(.5, i < 0 ? undefined : d.at[i]); break;
	case '0': look(0, end); break;
	case 'Escape': hideTip(); choose(h, -1); return;
	case 'Enter': {
		const rule = i >= 0 && d.verdicts[i] === 'b' && h.rules.find(r => r.note === d.note[i]);
		if (rule) { [...$('rules').querySelectorAll('button')].find(b => b.rule.key === keyOf(rule))?.click(); $('disallowed').scrollIntoView(); $('text')?.focus({preventScroll: true}); }
		return;
	}
	default: return;
	}
	e.preventDefault();
	if (i < 0 || i >= n) return;
	const lane = laneOf(h);
	if (lane.chosen === i) lane.chosen = -1; // so that choose shows the mark again, perhaps at a new place
	choose(h, i);
}

// A link to a host leads to the host's timeline, even if the timeline is not shown yet.
addEventListener('click', e => {
	const link = e.target.closest?.('a[href^="#lane-"]');
	if (!link) return;
	e.preventDefault();
	const h = hosts[link.getAttribute('href').slice('#lane-'.length)];
	if (!laneOf(h).element.isConnected) { lanesShown = Infinity; showLanes(); }
	laneOf(h).element.scrollIntoView({block: 'center'});
	laneOf(h).canvas.focus({preventScroll: true});
});

// ---- tables

// sortable puts a button into the heading of each column of a table. The button calls sort(column, ascending).
function sortable(head, sort) {
	[...head.cells].forEach((cell, column) => {
		const button = element('button', {type: 'button', onclick: () => {
			// Numbers are sorted in descending order first.
			const ascending = cell.ariaSort ? cell.ariaSort !== 'ascending' : !cell.classList.contains('n');
			for (const other of head.cells) other.removeAttribute('aria-sort');
			cell.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
			sort(column, ascending);
		}}, ...cell.childNodes);
		cell.append(button);
	});
}

sortable($('host-table').tHead.rows[0], (column, ascending) => {
	const body = $('host-table').tBodies[0];
	const value = row => { const cell = row.cells[column]; return cell.dataset.v ?? cell.textContent; };
	const numeric = $('host-table').tHead.rows[0].cells[column].classList.contains('n');
	const rows = [...body.rows].sort((a, b) => {
		const order = numeric ? value(a) - value(b) : value(a).localeCompare(value(b));
		return ascending ? order : -order;
	});
	body.append(...rows);
});

// list shows objects as a sortable table. At first it shows only some rows.
function list(place, label, columns, objects) {
	if (objects.length === 0) { place.replaceChildren(nothing()); return; }
	let shown = 100;
	const body = element('tbody'), more = element('button', {type: 'button', class: 'more', onclick: () => { shown += 400; fill(); }});
	const fill = () => {
		body.replaceChildren(...objects.slice(0, shown).map(o => element('tr', {}, ...columns.map(c => element('td', {class: c.class}, ...[c.show(o)].flat())))));
		more.hidden = shown >= objects.length;
		more.textContent = 'Show more of ' + objects.length.toLocaleString('en');
	};
	const head = element('tr', {}, ...columns.map(c => element('th', {class: c.class === 'n' ? 'n' : null}, c.head)));
	sortable(head, (column, ascending) => {
		const key = columns[column].key;
		objects.sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (ascending ? 1 : -1); });
		fill();
	});
	fill();
	place.replaceChildren(element('div', {class: 'scroll', role: 'region', tabindex: 0, 'aria-label': label}, element('table', {class: 'stack'}, element('thead', {}, head), body)), more);
}

function kindCell(letter, status) {
	const k = kindOf[letter], span = element('span', {class: 'kind'}, words[letter] + (status ? ' ' + status : ''));
	span.style.color = `var(${k.colour})`;
	return span;
}

// ---- disallowed

let files;
const keyOf = rule => rule.sha256 + ' ' + rule.line;

// showRules lists the lines that disallowed something. Hosts whose robots.txt
// is the same are listed once.
function showRules() {
	const groups = new Map(); // by the hash of robots.txt
	for (const h of hosts) {
		const notes = h.rules.length && isFiltering() ? disallowedNotes(timeline(h)) : null;
		for (const r of h.rules) {
			if (notes && !notes.has(r.note)) continue;
			if (!groups.has(r.sha256)) groups.set(r.sha256, {places: new Map(), lines: new Map()});
			const {places, lines} = groups.get(r.sha256);
			places.set(r.robots, h.rules.some(o => originOf(o.robots) !== originOf(r.robots)) ? r.robots : h.name);
			if (!lines.has(r.line)) lines.set(r.line, {...r, key: keyOf(r), count: 0, of: [], places, lines});
			lines.get(r.line).count += r.count;
			lines.get(r.line).of.push({h, r});
		}
	}
	const items = [];
	for (const {places, lines} of groups.values()) {
		items.push(named('h3', [...new Set(places.values())], 'host'));
		for (const r of [...lines.values()].sort((a, b) => b.count - a.count || a.line - b.line)) {
			items.push(element('button', {type: 'button', 'aria-pressed': String(chosenRule === r.key), tabindex: -1, onclick: () => showFile(r)},
				element('span', {class: 'soft'}, 'line ' + r.line), element('code', {}, visible(r.text)), element('span', {class: 'n'}, r.count.toLocaleString('en'))));
			items.at(-1).rule = r;
		}
	}
	$('rules').replaceChildren(...(items.length ? items : [nothing()]));
	const buttons = [...$('rules').querySelectorAll('button')];
	const current = buttons.find(b => b.rule.key === chosenRule) || buttons[0];
	if (!current) { $('file').replaceChildren(); chosenRule = null; return; }
	$('rules').scrollTop = current.offsetTop - $('rules').clientHeight / 2;
	showFile(current.rule);
}

// named shows the first of some names. The others can be unfolded.
function named(kind, names, noun) {
	if (names.length === 1) return element(kind, {}, visible(names[0]));
	return element('details', {class: 'names'}, element('summary', {}, element(kind, {}, visible(names[0])), ' and ' + many(names.length - 1, 'more ' + noun)),
		element('ul', {class: 'urls'}, ...names.slice(1).map(name => element('li', {}, visible(name)))));
}

$('rules').addEventListener('keydown', e => {
	const buttons = [...$('rules').querySelectorAll('button')], at = buttons.indexOf(document.activeElement);
	const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1}[e.key];
	if (to === undefined || !buttons[to]) return;
	e.preventDefault();
	buttons[to].focus();
	buttons[to].click();
});

// disallowedNotes returns the notes of disallowed URLs that match the filter.
function disallowedNotes(d) {
	const notes = new Set();
	for (let i = 0; i < d.at.length; i++) if (d.verdicts[i] === 'b' && d.matches[i]) notes.add(d.note[i]);
	return notes;
}

const originOf = url => { try { return new URL(url).origin; } catch { return ''; } };

// ruleURLs returns the URLs that a rule disallowed and that match the filter,
// each with its proof if there is one. Two ports of a host have a robots.txt
// each, perhaps with the same rule.
function ruleURLs(h, r) {
	const d = timeline(h), urls = [], twins = h.rules.some(o => o !== r && o.note === r.note), origin = originOf(r.robots);
	for (let i = 0; i < d.at.length; i++) {
		if (d.note[i] !== r.note || d.verdicts[i] !== 'b' || d.matches && !d.matches[i]) continue;
		const url = urlOf(h, d, i);
		if (!twins || originOf(url) === origin) urls.push({url, proof: d.proofs?.[i]});
	}
	return urls;
}

// proofLink returns a link to a line of the record. Some browsers scroll to that line.
const proofLink = p => element('a', {href: p.file + '#:~:text=' + encodeURIComponent(`"n":${p.line},`), class: 'proof'}, 'proof: line ' + p.line);

let chosenRule = null;
const around = 200; // lines of a long file shown before and after the one that decided

function showFile(r) {
	chosenRule = r.key;
	for (const b of $('rules').querySelectorAll('button')) {
		b.setAttribute('aria-pressed', String(b.rule === r));
		b.tabIndex = b.rule === r ? 0 : -1;
	}
	files ??= JSON.parse($('files').textContent);
	const lines = files[r.sha256], place = element('div', {id: 'text', tabindex: 0, role: 'region', 'aria-label': 'Text of ' + visible(r.robots)});
	const group = new Set(r.group);
	if (!lines) {
		place.append(element('div', {class: 'here'}, element('span', {}, r.line), element('code', {}, visible(r.text))));
	} else {
		const from = Math.max(r.line - around, 1), to = Math.min(r.line + around, lines.length);
		const skipped = n => place.append(element('div', {class: 'skipped'}, many(n, 'line') + ' not shown'));
		if (from > 1) skipped(from - 1);
		for (let n = from; n <= to; n++) {
			const kind = n === r.line ? 'here' : r.lines.has(n) ? 'deciding' : group.has(n) ? 'group' : null;
			place.append(element('div', {class: kind, 'aria-current': n === r.line ? 'true' : null}, element('span', {}, n), element('code', {}, visible(lines[n - 1]))));
		}
		if (to < lines.length) skipped(lines.length - to);
	}
	const all = r.of.flatMap(({h, r}) => ruleURLs(h, r)), most = 200;
	const urls = element('div', {id: 'urls', tabindex: 0, role: 'region', 'aria-label': 'URLs that this line disallowed'},
		element('ul', {class: 'urls'}, ...all.slice(0, most).map(u => element('li', {class: 'code'}, visible(u.url), ...(u.proof ? [' ', proofLink(u.proof)] : [])))));
	if (all.length > most) urls.append(element('p', {class: 'soft'}, 'and ' + many(all.length - most, 'more URL')));
	$('file').replaceChildren(element('div', {class: 'title'}, named('b', [...r.places.keys()], 'file'),
		element('div', {class: 'soft'}, `line ${r.line} disallowed ${many(r.count, 'URL')}`)), place, urls);
	const here = place.querySelector('.here');
	place.scrollTop = here.offsetTop - place.clientHeight / 2;
}

// ---- page directives, lost URLs, slow hosts

// showSaid lists the directives of pages. Hosts whose pages have the same
// directives share a row.
function showSaid() {
	const rows = new Map();
	for (const h of hosts) for (const s of h.said) {
		if (![h.name, ...s.flags, ...s.evidence, ...s.urls.flatMap(u => [u.url, ...u.links || []])].some(textMatches)) continue;
		const key = JSON.stringify([s.flags, s.evidence]);
		if (!rows.has(key)) rows.set(key, {flags: s.flags, evidence: s.evidence, hosts: [], urls: [], count: 0, links: 0});
		const row = rows.get(key);
		row.hosts.push(h.name);
		row.urls.push(...s.urls);
		row.count += s.count;
		row.links += s.links;
	}
	list($('said-list'), 'Page directives', [
		{head: 'host', class: 'hosts', show: o => named('span', o.hosts, 'host'), key: o => o.hosts[0]},
		{head: 'means', show: o => o.flags.map(f => element('span', {class: 'chip no'}, visible(f))), key: o => o.flags.join()},
		{head: 'directive', class: 'url', show: o => o.evidence.map(e => element('div', {}, visible(e))), key: o => o.evidence.join()},
		{head: 'pages', class: 'n', show: o => many(o.count, 'page') + (o.links ? ', ' + many(o.links, 'link') : ''), key: o => o.count},
		{head: 'such as', class: 'url', show: o => {
			const items = o.urls.slice(0, 20).map(u => element('li', {}, visible(u.url), ...u.links ? [element('details', {}, element('summary', {}, many(u.links.length, 'nofollow link')),
				element('ul', {class: 'urls'}, ...u.links.map(l => element('li', {}, visible(l)))))] : []));
			if (items.length < 4) return element('ul', {class: 'urls'}, ...items);
			return element('details', {}, element('summary', {}, visible(o.urls[0].url)), element('ul', {class: 'urls'}, ...items));
		}, key: o => o.urls[0]?.url || ''},
	], [...rows.values()]);
}

function showLost() {
	const letterOf = {refused: 'd', 'given up': 'g', unreachable: 'u', failed: 'x'};
	const rows = filter.off.has('lost') ? [] : overview.lost.filter(o => textMatches(o.url) || textMatches(o.host) || textMatches(o.why));
	list($('lost-list'), 'What was lost', [
		{head: 'URL', class: 'url', show: o => visible(o.url), key: o => o.url},
		{head: 'what', show: o => kindCell(letterOf[o.verdict], o.status), key: o => o.verdict},
		{head: 'why', class: 'url', show: o => visible(o.why), key: o => o.why},
		{head: 'at', class: 'n', show: o => clock(o.at, 10), key: o => o.at},
	], rows);
}

// showSlow lists the slowest hosts. A host with a single response is omitted,
// because one response does not show how fast it is.
function showSlow() {
	const slow = hosts.filter(h => h.answers > 1).sort((a, b) => b.median - a.median || b.slowest - a.slowest).slice(0, 10);
	const most = Math.max(...slow.map(h => h.slowest), 1);
	if (slow.length === 0) { $('slow-list').replaceWith(element('p', {class: 'soft'}, 'No host has answered twice.')); return; }
	$('slow-list').replaceChildren(...slow.map(h => {
		const bar = element('div', {class: 'bar', 'aria-hidden': 'true'}, element('i'), element('i'));
		bar.firstChild.style.width = 100 * h.slowest / most + '%';
		bar.lastChild.style.width = 100 * h.median / most + '%';
		return element('li', {}, element('span', {class: 'name'}, visible(h.name)), bar, element('span', {class: 'soft n'}, 'p50 ' + seconds(h.median) + ', p90 ' + seconds(h.p90) + ', p99 ' + seconds(h.p99) + ', at most ' + seconds(h.slowest)));
	}));
}

// ---- everything

const all = {wanted: false, key: 'at', ascending: true, shown: 100};
const keys = {
	at: (h, d, i) => d.at[i], url: (h, d, i) => urlOf(h, d, i), what: (h, d, i) => words[d.verdicts[i]],
	status: (h, d, i) => d.status[i], took: (h, d, i) => d.took[i], note: (h, d, i) => d.notes[d.note[i]],
};

// showAll shows the first rows in the chosen order. It never sorts all rows, because only a hundred of a million are shown.
async function showAll() {
	if (!all.wanted) return;
	let rows = [], n = 0;
	const key = keys[all.key], compare = (a, b) => ((a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * (all.ascending ? 1 : -1)) || a.at - b.at;
	const trim = () => { rows.sort(compare); rows.length = Math.min(rows.length, all.shown); };
	const done = await eachHost((h, d) => {
		for (let i = 0; i < d.at.length; i++) {
			if (d.matches && !d.matches[i]) continue;
			n++;
			rows.push({h, d, i, key: key(h, d, i), at: d.at[i]});
			if (rows.length > 4 * all.shown + 1000) trim();
		}
	});
	if (!done) return;
	trim();
	const columns = [['at', 'at', 'n'], ['URL', 'url', ''], ['what', 'what', ''], ['answered in', 'took', 'n'], ['why', 'note', '']];
	const head = element('tr', {}, ...columns.map(([text, name, type]) => element('th', {class: type, 'aria-sort': all.key === name ? (all.ascending ? 'ascending' : 'descending') : null}, text)));
	sortable(head, async (column, ascending) => {
		[all.key, all.ascending] = [columns[column][1], ascending];
		await showAll();
		$('all-list').querySelectorAll('th button')[column].focus();
	});
	$('all-list').replaceChildren(n === 0 ? nothing() : element('div', {class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Everything'}, element('table', {id: 'all-table', class: 'stack'},
		element('thead', {}, head), element('tbody', {}, ...rows.map(({h, d, i}) => element('tr', {},
			element('td', {class: 'n'}, clock(d.at[i], 10)), element('td', {class: 'url'}, visible(urlOf(h, d, i))), element('td', {}, kindCell(d.verdicts[i], d.status[i])),
			element('td', {class: 'n'}, d.took[i] < 0 ? '–' : seconds(d.took[i])), element('td', {class: 'url'}, visible(d.notes[d.note[i]]))))))));
	if (n > all.shown) $('all-list').append(element('button', {type: 'button', class: 'more', onclick: () => { all.shown += 400; showAll(); }}, 'Show more of ' + n.toLocaleString('en')));
}
new IntersectionObserver((entries, observer) => {
	if (!entries.some(e => e.isIntersecting)) return;
	observer.disconnect();
	all.wanted = true;
	showAll();
}, {rootMargin: '400px'}).observe($('all'));

// ---- light and dark

const wantsDark = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (document.documentElement.dataset.theme || (wantsDark.matches ? 'dark' : 'light')) === 'dark';
function themed() {
	palette = null;
	$('theme').textContent = isDark() ? 'Switch to light' : 'Switch to dark';
	redraw();
}
$('theme').addEventListener('click', () => { document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'; themed(); });
wantsDark.addEventListener('change', themed);
new ResizeObserver(() => {
	document.documentElement.style.setProperty('--filter-height', $('filter').offsetHeight + 'px');
	redraw();
}).observe(document.body);

showLanes();
showRules();
showSaid();
showLost();
showSlow();
themed();
document.documentElement.dataset.settled = 0;
})();
