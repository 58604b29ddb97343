'use strict';
(() => {
// All text from a crawled site reaches the page through textContent or a canvas, never as markup.
const $ = id => document.getElementById(id);
const overview = JSON.parse($('overview').textContent);
const hosts = overview.hosts;
hosts.forEach((h, number) => { h.number = number; });

const kinds = [ // letters: see the map "kinds" of package record
	{name: 'fetched', letters: 'f', color: '--fetched', shape: 'dot'},
	{name: 'unchanged', letters: 'e', color: '--fetched', shape: 'ring'},
	{name: 'moved', letters: 'm', color: '--moved', shape: 'triangle'},
	{name: 'robots.txt', letters: 'r', color: '--robots', shape: 'diamond'},
	{name: 'checked', letters: 'c', color: '--robots', shape: 'dot'},
	{name: 'not found', letters: 'n', color: '--notfound', shape: 'frame'},
	{name: 'put off', letters: 'p', color: '--later', shape: 'square'},
	{name: 'disallowed', letters: 'b', color: '--disallowed', shape: 'no entry'},
	{name: 'lost', letters: 'dgux', color: '--lost', shape: 'cross'},
];
const kindByLetter = {};
for (const k of kinds) for (const letter of k.letters) kindByLetter[letter] = k;
const verdictNames = {
	f: 'fetched', e: 'unchanged', m: 'moved', n: 'not found', d: 'refused', b: 'disallowed',
	p: 'put off', g: 'given up', u: 'unreachable', x: 'failed', r: 'robots.txt', c: 'checked',
};

// ---- helpers

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

// count returns a number with its noun, such as "2 links".
const count = (n, noun) => n.toLocaleString('en') + ' ' + noun + (n === 1 ? '' : 's');

// ---- data

// timeline reads the marks of a host when they are first needed.
function timeline(h) {
	if (!h.timeline) {
		const d = JSON.parse($('timeline-' + h.number).textContent);
		d.pausedUntil = new Map(d.pauses);
		d.earlyBy = new Map(d.early);
		d.matches = null; // one byte for each mark; null: all match
		h.timeline = d;
	}
	return h.timeline;
}

// markURL returns the URL of a mark, which d contains without the host's origin.
const markURL = (h, d, i) => (d.urls[i].startsWith('/') ? h.origin : '') + d.urls[i];

// isTrouble reports whether a request for robots.txt or a check of the server failed.
function isTrouble(d, i) {
	const status = d.status[i];
	const failed = status === 0 || status === 429 || status >= 500;
	return failed && (d.verdicts[i] === 'r' || d.verdicts[i] === 'c');
}

// markColor returns the color of a mark. Usually it is the color of the mark's kind.
function markColor(d, i) {
	const p = colors();
	if (d.earlyBy.has(i)) return p.bad;
	if (isTrouble(d, i)) return p.lost;
	return p[kindByLetter[d.verdicts[i]].color.slice(2)];
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

// pauseLength returns for how long the response to a mark paused the host.
const pauseLength = (d, i) => d.pausedUntil.get(i) - d.at[i] - d.took[i];

// describe returns everything about a mark, in lines.
function describe(h, d, i) {
	const sent = d.took[i] >= 0, status = d.status[i];
	const lines = [visible(markURL(h, d, i))];
	let outcome = verdictNames[d.verdicts[i]] + (status ? ' ' + status : '') + ' at ' + clock(d.at[i], 10);
	if (!sent) outcome += ', no request was sent';
	else outcome += (status ? ', response after ' : ', no response for ') + seconds(d.took[i]);
	lines.push(outcome);
	if (d.note[i]) lines.push(visible(d.notes[d.note[i]]));
	const before = sentBefore(d, i);
	if (sent && before >= 0) {
		let gap = seconds(d.at[i] - d.at[before]) + ' after the previous request';
		if (d.earlyBy.has(i)) gap += ', ' + seconds(d.earlyBy.get(i)) + ' too early';
		lines.push(gap);
	}
	if (sent && d.intervals[i]) lines.push('required interval after it: ' + seconds(d.intervals[i]));
	if (d.pausedUntil.has(i)) lines.push('host paused for ' + seconds(pauseLength(d, i)));
	return lines;
}

// ---- the filter

const filter = {text: '', off: new Set(), generation: 0};
const isFiltering = () => filter.text !== '' || filter.off.size > 0;

function matches(h, d, i) {
	if (filter.off.has(kindByLetter[d.verdicts[i]].name)) return false;
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
	const shown = found.toLocaleString('en') + ' of ' + total.toLocaleString('en') + ' shown';
	$('found').textContent = isFiltering() ? shown : '';
	for (const row of $('host-table').tBodies[0].rows) row.hidden = isFiltering() && !hosts[row.dataset.host].found;
	showLanes();
	showRules();
	showDirectives();
	showLost();
	await showAll();
	document.documentElement.dataset.settled = filter.generation; // for tests: the page shows the result of this filter
}
const total = hosts.reduce((n, h) => n + h.marks, 0);

// glyph returns the shape of a kind, as an image.
function glyph(k) {
	const ns = 'http://www.w3.org/2000/svg';
	const svg = document.createElementNS(ns, 'svg'), path = document.createElementNS(ns, 'path');
	svg.setAttribute('viewBox', '0 0 14 14');
	svg.setAttribute('aria-hidden', 'true');
	path.setAttribute('d', {
		dot: 'M7 2a5 5 0 1 0 .01 0z', ring: 'M7 2a5 5 0 1 0 .01 0z', square: 'M2 2h10v10H2z', frame: 'M3 3h8v8H3z',
		triangle: 'M3 2l9 5-9 5z', diamond: 'M7 1l6 6-6 6-6-6z', cross: 'M3 3l8 8M11 3l-8 8',
		'no entry': 'M7 2a5 5 0 1 0 .01 0zM4 7h6',
	}[k.shape]);
	const outline = ['ring', 'cross', 'frame', 'no entry'].includes(k.shape);
	path.style.fill = outline ? 'none' : `var(${k.color})`;
	path.style.stroke = outline ? `var(${k.color})` : 'none';
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
// slack returns by how much the tightest gap of a host exceeded the required interval.
const slack = h => h.tightest < 0 ? Infinity : h.tightest - h.required;
// trouble orders hosts by their early requests, and then by their URLs that were not fetched.
const trouble = h => [...'pdguxb'].reduce((n, letter) => n + (h.counts[letter] || 0), h.early * 1e6);

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
	$('lanes').replaceChildren(...shown.map(h => hostLane(h).element));
	for (const h of shown) watcher.observe(hostLane(h).canvas);
	$('more-lanes').hidden = shown.length === list.length;
	$('more-lanes').textContent = 'Show all ' + count(list.length, 'host');
	if (list.length === 0) $('lanes').replaceChildren(emptyNote());
	drawAxis();
}
const emptyNote = () => element('p', {class: 'soft'}, isFiltering() ? 'No match.' : 'None.');

// hostLane returns the lane of a host: its heading and its timeline. It makes the lane if there is none.
function hostLane(h) {
	let lane = lanes.get(h);
	if (lane) return lane;
	const canvas = element('canvas', {
		tabindex: 0, role: 'slider', 'aria-label': 'Requests to ' + visible(h.name), 'aria-orientation': 'horizontal',
		'aria-valuemin': 0, 'aria-valuemax': h.marks, 'aria-valuenow': 0, 'aria-valuetext': 'none chosen',
		'data-host': h.number,
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
	const heading = element('div', {}, element('h3', {}, visible(h.name)), laneFacts(h));
	lane = {canvas, chosen: -1, element: element('div', {class: 'lane', id: 'lane-' + h.number}, heading, canvas)};
	lanes.set(h, lane);
	return lane;
}

// laneFacts returns the text beside a timeline.
function laneFacts(h) {
	let interval = 'no interval';
	if (h.interval) interval = 'interval ' + seconds(h.interval);
	if (h.longestInterval) interval += ' to ' + seconds(h.longestInterval);
	const facts = element('p', {}, count(h.requests, 'request') + ', ' + interval, element('br'));
	if (h.early) {
		facts.append(element('span', {class: 'bad'}, h.early.toLocaleString('en') + ' too early'));
	} else if (h.tightest >= 0) {
		const required = h.required !== h.interval ? ' of ' + seconds(h.required) : '';
		facts.append('tightest gap ' + seconds(h.tightest) + required);
	}
	return facts;
}

// pixelX returns the place of a time in a timeline, and timeAt is its inverse.
const pixelX = (t, width) => edge + (t - view.from) / (view.to - view.from) * (width - 2 * edge);
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
function colors() {
	if (!palette) {
		// A canvas does not support light-dark(), so let an element resolve it.
		const probe = document.body.appendChild(element('i', {hidden: true}));
		palette = {};
		for (const name of ['ink', 'soft', 'line', 'card', 'bad', 'bad-paper', ...kinds.map(k => k.color.slice(2))]) {
			probe.style.color = `var(--${name})`;
			palette[name] = getComputedStyle(probe).color;
		}
		probe.remove();
	}
	return palette;
}

// tickSteps are the possible distances of two labels of the axis, up to a day. Longer ones are multiples of eight days.
const tickSteps = [
	10, 20, 50, 100, 200, 500, // ms
	1e3, 2e3, 5e3, 10e3, 15e3, 30e3, // 1 s to 30 s
	6e4, 12e4, 3e5, 6e5, 9e5, 18e5, // 1 min to 30 min
	36e5, 72e5, 216e5, 864e5, // 1 h to 24 h
];
const day = 864e5;

// ticks returns the times at which the axis has labels, and the distance between two labels.
function ticks(width) {
	const span = view.to - view.from;
	const step = tickSteps.find(s => s / span * width >= 70) || Math.ceil(span / day / 8) * day;
	const all = [];
	for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) all.push(t);
	return [all, step];
}

function drawAxis() {
	const [c, width, height] = prepare($('axis'));
	const [all, step] = ticks(width);
	c.fillStyle = colors().soft;
	c.textAlign = 'center';
	for (const t of all) {
		const x = pixelX(t, width), half = c.measureText(clock(t, step)).width / 2;
		if (x + half <= width) c.fillText(clock(t, step), Math.max(x, half), 14);
		c.fillRect(x - .5, height - 5, 1, 5);
	}
}

function draw(canvas) {
	const h = hosts[canvas.dataset.host], d = timeline(h), p = colors();
	const [c, width, height] = prepare(canvas);
	c.fillStyle = p.card;
	c.fillRect(0, 0, width, height);
	c.fillStyle = p.line;
	for (const t of ticks(width)[0]) c.fillRect(pixelX(t, width) - .5, 0, 1, height);

	const last = firstAt(d, view.to + 1);
	let first = firstAt(d, view.from);
	canvas.dataset.marks = last - first; // for tests
	const dense = last - first > (width - 2 * edge) / 5;
	if (dense) drawDense(c, d, first, last, width, height);
	else drawMarks(c, h, d, first, last, width, height);
	drawPauses(c, d, width, height, dense);
	const chosen = hostLane(h).chosen;
	if (chosen >= 0) {
		const x = pixelX(d.at[chosen], width);
		c.strokeStyle = p.ink;
		c.lineWidth = 1.5;
		c.strokeRect(x - 8, 2, 16, height - 4);
	}
}

const baseline = 16; // pixels from the bottom to the baseline: requests are above the line, other URLs below

// drawMarks draws each mark, with the interval that had to pass after it.
function drawMarks(c, h, d, first, last, width, height) {
	const p = colors(), floor = height - baseline;
	const size = Math.min(Math.max(width / (last - first + 1) / 12, .6), 1);
	for (let i = Math.max(sentBefore(d, first), 0); i < last; i++) { // draw the bands first, so that marks cover them
		if (d.took[i] < 0) continue;
		const from = pixelX(d.at[i], width), to = pixelX(d.at[i] + d.intervals[i], width);
		c.globalAlpha = .2;
		c.fillStyle = p.fetched;
		c.fillRect(from, 14, Math.max(to - from - 1, 0), floor - 14);
		c.globalAlpha = 1;
	}
	for (let i = first; i < last; i++) {
		const k = kindByLetter[d.verdicts[i]], x = pixelX(d.at[i], width), sent = d.took[i] >= 0;
		c.globalAlpha = d.matches && !d.matches[i] ? .15 : 1;
		c.fillStyle = c.strokeStyle = markColor(d, i);
		if (sent) c.fillRect(x - 1, 10, 2, floor - 10);
		if (d.earlyBy.has(i)) c.fillRect(pixelX(d.at[i], width), floor, pixelX(d.at[i] + d.earlyBy.get(i), width) - x, 4);
		shape(c, k.shape, x, sent ? 10 : height - 8, size);
	}
	c.globalAlpha = 1;
	c.fillStyle = p.line;
	c.fillRect(0, floor, width, 1);
}

// shape draws the shape of a kind.
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

// requiredGap returns the gap that had to pass between two requests.
function requiredGap(d, before, i) {
	let interval = d.intervals[before];
	if (d.verdicts[i] === 'r') interval = Math.min(interval, d.intervals[i]);
	const pause = (d.pausedUntil.get(before) || 0) - d.at[before];
	return Math.max(interval, pause);
}

// drawDense draws each gap between two requests relative to the gap that was required. If a gap reaches the line, the
// second request was in time. If several gaps share a column of pixels, it shows the smallest one. Ticks at the top are
// responses other than pages. Ticks at the bottom are URLs for which no request was sent.
function drawDense(c, d, first, last, width, height) {
	const p = colors(), floor = height - baseline, top = 16;
	const columns = Math.ceil(width);
	const column = i => Math.min(Math.max(Math.round(pixelX(d.at[i], width)), 0), columns - 1);
	const gaps = new Float32Array(columns).fill(Infinity); // the smallest gap in each column
	const early = new Uint8Array(columns); // 1: a request was too early
	const matching = new Uint8Array(columns); // 1: a mark matches the filter
	const rare = new Map(); // marks other than pages, without those that would look the same
	let before = sentBefore(d, first);
	const begin = before < 0 ? first : before;
	for (let i = first; i < last; i++) {
		const x = column(i), sent = d.took[i] >= 0, faded = d.matches && !d.matches[i];
		if (d.verdicts[i] !== 'f' && !faded) {
			const color = markColor(d, i);
			rare.set(`${color} ${sent} ${x}`, {color, sent, x});
		}
		if (!sent) continue;
		if (before >= 0) {
			const required = requiredGap(d, before, i);
			const share = required ? (d.at[i] - d.at[before]) / required : 1.5;
			for (let at = column(before); at <= x; at++) {
				gaps[at] = Math.min(gaps[at], share);
				if (!faded) matching[at] = 1;
			}
		}
		if (d.earlyBy.has(i)) early[x] = 1;
		before = i;
	}
	for (let x = 0; x < columns; x++) {
		if (gaps[x] === Infinity) continue;
		const barHeight = Math.min(gaps[x], 1.5) / 1.5 * (floor - top);
		c.fillStyle = early[x] ? p.bad : p.fetched;
		c.globalAlpha = early[x] ? 1 : matching[x] ? .38 : .12;
		if (early[x]) c.fillRect(x - 1, floor - barHeight, 3, barHeight);
		else c.fillRect(x, floor - barHeight, 1, barHeight);
	}
	c.globalAlpha = 1;
	for (const {color, sent, x} of rare.values()) {
		c.fillStyle = color;
		if (sent) c.fillRect(x - 1, 3, 2.5, 9); else c.fillRect(x - 1, floor + 4, 2, 8);
	}
	c.fillStyle = p.line;
	c.fillRect(0, floor, width, 1);
	const from = Math.max(pixelX(d.at[begin], width), 0), to = pixelX(d.at[Math.max(before, begin)], width);
	drawRequiredLine(c, from, Math.min(to, width), top + (floor - top) / 3);
}

// drawRequiredLine draws the line that shows the required gap.
function drawRequiredLine(c, from, to, y) {
	c.strokeStyle = colors().ink;
	c.lineWidth = 1;
	c.setLineDash([4, 3]);
	c.beginPath();
	c.moveTo(from, Math.round(y) + .5);
	c.lineTo(to, Math.round(y) + .5);
	c.globalAlpha = .6;
	c.stroke();
	c.globalAlpha = 1;
	c.setLineDash([]);
}

// drawPauses draws the pauses of a host, each with its status and length if there is room.
function drawPauses(c, d, width, height, dense) {
	const p = colors(), floor = height - baseline;
	let labeledTo = -Infinity; // x up to which labels cover the timeline
	for (const [i, until] of d.pauses) {
		const from = Math.max(pixelX(d.at[i] + d.took[i], width), 0), to = Math.min(pixelX(until, width), width);
		if (to < 0 || from > width) continue;
		hatch(c, from, to, floor, height);
		const label = (d.status[i] || 'no response') + ': ' + seconds(pauseLength(d, i));
		const labelWidth = c.measureText(label).width + 8;
		const x = Math.min(from + 8, width - labelWidth);
		const tooShort = to - from < (dense ? labelWidth + 16 : 3);
		const crossed = pixelX(d.at[i + 1], width) < x + labelWidth / 2; // the next mark would be drawn over the label
		if (tooShort || crossed || x < labeledTo) continue;
		c.fillStyle = p.card;
		c.fillRect(x, 20, labelWidth, 15);
		c.fillStyle = p.later;
		c.textAlign = 'left';
		c.fillText(label, x + 4, 31);
		labeledTo = x + labelWidth + 4;
	}
}

// hatch fills the area of a pause with slanted lines.
function hatch(c, from, to, floor, height) {
	c.save();
	c.beginPath();
	c.rect(from, 14, Math.max(to - from, 1), floor - 14);
	c.clip();
	c.fillStyle = c.strokeStyle = colors().later;
	c.globalAlpha = .16;
	c.fillRect(from, 14, Math.max(to - from, 1), floor - 14);
	c.globalAlpha = .6;
	c.lineWidth = 1;
	c.beginPath();
	for (let x = from - height; x < to; x += 7) {
		c.moveTo(x, floor);
		c.lineTo(x + height, floor - height);
	}
	c.stroke();
	c.restore();
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

// setView shows a part of the crawl in all timelines: span milliseconds from a time on.
function setView(from, span) {
	span = Math.min(Math.max(span, 50), end);
	view.from = Math.min(Math.max(from, 0), end - span);
	view.to = view.from + span;
	redraw();
}
// zoom changes the scale of all timelines, but not the place of the time center.
function zoom(factor, center = (view.from + view.to) / 2) {
	const span = (view.to - view.from) / factor;
	setView(center - (center - view.from) / factor, span);
}
$('in').addEventListener('click', () => zoom(2));
$('out').addEventListener('click', () => zoom(.5));
$('fit').addEventListener('click', () => setView(0, end));
$('position').addEventListener('input', e => {
	const span = view.to - view.from;
	setView(e.target.value / 1000 * (end - span), span);
});
$('order').addEventListener('change', showLanes);
$('more-lanes').addEventListener('click', () => { lanesShown = Infinity; showLanes(); });

// choose selects one of a host's marks, or none (-1), and describes it.
function choose(h, i) {
	const lane = hostLane(h), d = timeline(h), canvas = lane.canvas;
	if (lane.chosen === i) return;
	lane.chosen = i;
	if (i >= 0) {
		const span = view.to - view.from;
		if (d.at[i] < view.from || d.at[i] > view.to) setView(d.at[i] - span / 2, span);
		const lines = describe(h, d, i);
		canvas.setAttribute('aria-valuenow', i + 1);
		canvas.setAttribute('aria-valuetext', (i + 1) + ' of ' + h.marks + ': ' + lines.join(', '));
		showTip(canvas, pixelX(d.at[i], canvas.clientWidth), lines);
	}
	draw(canvas);
}

function showTip(canvas, x, lines) {
	const tip = $('tip'), box = canvas.getBoundingClientRect();
	tip.replaceChildren(element('b', {}, lines[0]), ...lines.slice(1).map(line => element('div', {}, line)));
	tip.hidden = false;
	const maxLeft = document.documentElement.clientWidth - tip.offsetWidth - 8;
	const left = Math.min(Math.max(box.left + x - tip.offsetWidth / 2, 8), maxLeft);
	const below = box.bottom + tip.offsetHeight + 12 < innerHeight;
	tip.style.left = left + scrollX + 'px';
	tip.style.top = scrollY + (below ? box.bottom + 4 : box.top - tip.offsetHeight - 4) + 'px';
}
function hideTip() { $('tip').hidden = true; }

function onPointer(e, h) {
	const canvas = hostLane(h).canvas, d = timeline(h);
	if (e.pointerType === 'mouse' && e.buttons === 1 && e.type === 'pointermove' && view.to - view.from < end) {
		const perPixel = (view.to - view.from) / (canvas.clientWidth - 2 * edge);
		hideTip();
		setView(view.from - e.movementX * perPixel, view.to - view.from);
		return;
	}
	const t = timeAt(canvas, e.offsetX), after = firstAt(d, t);
	let nearest = -1, distance = 12; // pixels
	for (let i = Math.max(after - 2, 0); i < Math.min(after + 3, d.at.length); i++) {
		const away = Math.abs(pixelX(d.at[i], canvas.clientWidth) - e.offsetX);
		const isBelow = d.took[i] < 0, pointsBelow = e.offsetY > canvas.clientHeight - baseline;
		const penalty = isBelow !== pointsBelow ? 4 : 0; // prefer marks on the pointer's side of the baseline
		if (away + penalty < distance) {
			nearest = i;
			distance = away + penalty;
		}
	}
	if (nearest < 0) {
		hideTip();
	} else if (hostLane(h).chosen === nearest) {
		showTip(canvas, pixelX(d.at[nearest], canvas.clientWidth), describe(h, d, nearest));
	}
	choose(h, nearest);
}

function onKey(e, h) {
	const d = timeline(h), n = d.at.length;
	let i = hostLane(h).chosen;
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
	case '0': setView(0, end); break;
	case 'Escape': hideTip(); choose(h, -1); return;
	case 'Enter': {
		const rule = i >= 0 && d.verdicts[i] === 'b' && h.rules.find(r => r.note === d.note[i]);
		if (rule) showRule(rule);
		return;
	}
	default: return;
	}
	e.preventDefault();
	if (i < 0 || i >= n) return;
	const lane = hostLane(h);
	if (lane.chosen === i) lane.chosen = -1; // so that choose shows the mark again, perhaps at a new place
	choose(h, i);
}

// showRule shows a line of a robots.txt in the list of lines that disallowed something.
function showRule(rule) {
	const buttons = [...$('rules').querySelectorAll('button')];
	buttons.find(b => b.rule.key === ruleKey(rule))?.click();
	$('disallowed').scrollIntoView();
	$('text')?.focus({preventScroll: true});
}

// A link to a host leads to the host's timeline, even if the timeline is not shown yet.
addEventListener('click', e => {
	const link = e.target.closest?.('a[href^="#lane-"]');
	if (!link) return;
	e.preventDefault();
	const h = hosts[link.getAttribute('href').slice('#lane-'.length)];
	if (!hostLane(h).element.isConnected) { lanesShown = Infinity; showLanes(); }
	hostLane(h).element.scrollIntoView({block: 'center'});
	hostLane(h).canvas.focus({preventScroll: true});
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
	if (objects.length === 0) {
		place.replaceChildren(emptyNote());
		return;
	}
	let shown = 100;
	const showMore = () => { shown += 400; fill(); };
	const body = element('tbody'), more = element('button', {type: 'button', class: 'more', onclick: showMore});
	const row = o => element('tr', {}, ...columns.map(c => element('td', {class: c.class}, ...[c.show(o)].flat())));
	const fill = () => {
		body.replaceChildren(...objects.slice(0, shown).map(row));
		more.hidden = shown >= objects.length;
		more.textContent = 'Show more of ' + objects.length.toLocaleString('en');
	};
	const headings = columns.map(c => element('th', {class: c.class === 'n' ? 'n' : null}, c.head));
	const head = element('tr', {}, ...headings);
	sortable(head, (column, ascending) => {
		const key = columns[column].key, sign = ascending ? 1 : -1;
		objects.sort((a, b) => sign * order(key(a), key(b)));
		fill();
	});
	fill();
	const table = element('table', {class: 'stack'}, element('thead', {}, head), body);
	place.replaceChildren(scrollable(label, table), more);
}

// order returns -1, 0 or 1 if x is less than, equal to or greater than y.
const order = (x, y) => x < y ? -1 : x > y ? 1 : 0;

// scrollable returns a region in which a wide table can be scrolled.
const scrollable = (label, table) =>
	element('div', {class: 'scroll', role: 'region', tabindex: 0, 'aria-label': label}, table);

// kindCell returns the verdict and the status, in the color of the verdict's kind.
function kindCell(letter, status) {
	const k = kindByLetter[letter], text = verdictNames[letter] + (status ? ' ' + status : '');
	const span = element('span', {class: 'kind'}, text);
	span.style.color = `var(${k.color})`;
	return span;
}

// ---- disallowed

let files;
const ruleKey = rule => rule.sha256 + ' ' + rule.line;

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
			places.set(r.robots, h.rules.some(o => urlOrigin(o.robots) !== urlOrigin(r.robots)) ? r.robots : h.name);
			if (!lines.has(r.line)) lines.set(r.line, {...r, key: ruleKey(r), count: 0, of: [], places, lines});
			lines.get(r.line).count += r.count;
			lines.get(r.line).of.push({h, r});
		}
	}
	const items = [];
	for (const {places, lines} of groups.values()) {
		items.push(named('h3', [...new Set(places.values())], 'host'));
		for (const r of [...lines.values()].sort((a, b) => b.count - a.count || a.line - b.line)) {
			const pressed = String(chosenRule === r.key);
			const button = element('button',
				{type: 'button', 'aria-pressed': pressed, tabindex: -1, onclick: () => showFile(r)},
				element('span', {class: 'soft'}, 'line ' + r.line),
				element('code', {}, visible(r.text)),
				element('span', {class: 'n'}, r.count.toLocaleString('en')));
			button.rule = r;
			items.push(button);
		}
	}
	$('rules').replaceChildren(...(items.length ? items : [emptyNote()]));
	const buttons = [...$('rules').querySelectorAll('button')];
	const current = buttons.find(b => b.rule.key === chosenRule) || buttons[0];
	if (!current) { $('file').replaceChildren(); chosenRule = null; return; }
	$('rules').scrollTop = current.offsetTop - $('rules').clientHeight / 2;
	showFile(current.rule);
}

// named shows the first of some names. The others can be unfolded.
function named(kind, names, noun) {
	const first = element(kind, {}, visible(names[0]));
	if (names.length === 1) return first;
	const others = names.slice(1);
	return element('details', {class: 'names'},
		element('summary', {}, first, ' and ' + count(others.length, 'more ' + noun)),
		element('ul', {class: 'urls'}, ...others.map(name => element('li', {}, visible(name)))));
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

const urlOrigin = url => { try { return new URL(url).origin; } catch { return ''; } };

// ruleURLs returns the URLs that a rule disallowed and that match the filter,
// each with its proof if there is one. Two ports of a host have a robots.txt
// each, perhaps with the same rule.
function ruleURLs(h, r) {
	const d = timeline(h), urls = [], origin = urlOrigin(r.robots);
	const isAmbiguous = h.rules.some(o => o !== r && o.note === r.note); // a rule of another port has the same note
	for (let i = 0; i < d.at.length; i++) {
		if (d.note[i] !== r.note || d.verdicts[i] !== 'b' || d.matches && !d.matches[i]) continue;
		const url = markURL(h, d, i);
		if (!isAmbiguous || urlOrigin(url) === origin) urls.push({url, proof: d.proofs?.[i]});
	}
	return urls;
}

// proofLink returns a link to a line of the record. Some browsers scroll to that line.
function proofLink(p) {
	const href = p.file + '#:~:text=' + encodeURIComponent(`"n":${p.line},`);
	return element('a', {href, class: 'proof'}, 'proof: line ' + p.line);
}

let chosenRule = null;
const contextLines = 200; // lines of a long file shown before and after the one that decided
const maxURLs = 200; // disallowed URLs that are shown

// showFile shows a rule in the text of its robots.txt, and the URLs that the rule disallowed.
function showFile(r) {
	chosenRule = r.key;
	for (const b of $('rules').querySelectorAll('button')) {
		b.setAttribute('aria-pressed', String(b.rule === r));
		b.tabIndex = b.rule === r ? 0 : -1;
	}
	const text = fileText(r);
	const title = element('div', {class: 'title'}, named('b', [...r.places.keys()], 'file'),
		element('div', {class: 'soft'}, `line ${r.line} disallowed ${count(r.count, 'URL')}`));
	$('file').replaceChildren(title, text, disallowedURLs(r));
	const here = text.querySelector('.here');
	text.scrollTop = here.offsetTop - text.clientHeight / 2;
}

// fileText returns the lines of a rule's robots.txt around the rule. If the file is not in the report, it returns only
// the rule.
function fileText(r) {
	files ??= JSON.parse($('files').textContent);
	const lines = files[r.sha256], group = new Set(r.group);
	const label = 'Text of ' + visible(r.robots);
	const text = element('div', {id: 'text', tabindex: 0, role: 'region', 'aria-label': label});
	const line = (attributes, n, content) => text.append(
		element('div', attributes, element('span', {}, n), element('code', {}, visible(content))));
	if (!lines) {
		line({class: 'here'}, r.line, r.text);
		return text;
	}
	const from = Math.max(r.line - contextLines, 1), to = Math.min(r.line + contextLines, lines.length);
	const skipped = n => text.append(element('div', {class: 'skipped'}, count(n, 'line') + ' not shown'));
	if (from > 1) skipped(from - 1);
	for (let n = from; n <= to; n++) {
		const kind = n === r.line ? 'here' : r.lines.has(n) ? 'deciding' : group.has(n) ? 'group' : null;
		line({class: kind, 'aria-current': n === r.line ? 'true' : null}, n, lines[n - 1]);
	}
	if (to < lines.length) skipped(lines.length - to);
	return text;
}

// disallowedURLs returns a list of the URLs that a rule disallowed, with their proofs.
function disallowedURLs(r) {
	const all = r.of.flatMap(({h, r}) => ruleURLs(h, r));
	const item = u => element('li', {class: 'code'}, visible(u.url), ...(u.proof ? [' ', proofLink(u.proof)] : []));
	const urls = element('div', {id: 'urls', tabindex: 0, role: 'region', 'aria-label': 'URLs that this line disallowed'},
		element('ul', {class: 'urls'}, ...all.slice(0, maxURLs).map(item)));
	if (all.length > maxURLs) {
		urls.append(element('p', {class: 'soft'}, 'and ' + count(all.length - maxURLs, 'more URL')));
	}
	return urls;
}

// ---- page directives, lost URLs, slow hosts

// showDirectives lists the directives of pages. Hosts whose pages have the same directives share a row.
function showDirectives() {
	const rows = new Map();
	for (const h of hosts) for (const group of h.groups) {
		const urls = group.urls.flatMap(u => [u.url, ...u.links || []]);
		if (![h.name, ...group.flags, ...group.evidence, ...urls].some(textMatches)) continue;
		const key = JSON.stringify([group.flags, group.evidence]);
		if (!rows.has(key)) {
			rows.set(key, {flags: group.flags, evidence: group.evidence, hosts: [], urls: [], pages: 0, links: 0});
		}
		const row = rows.get(key);
		row.hosts.push(h.name);
		row.urls.push(...group.urls);
		row.pages += group.count;
		row.links += group.links;
	}
	const chip = flag => element('span', {class: 'chip no'}, visible(flag));
	const line = text => element('div', {}, visible(text));
	const counts = o => count(o.pages, 'page') + (o.links ? ', ' + count(o.links, 'link') : '');
	list($('directives-list'), 'Page directives', [
		{head: 'host', class: 'hosts', show: o => named('span', o.hosts, 'host'), key: o => o.hosts[0]},
		{head: 'means', show: o => o.flags.map(chip), key: o => o.flags.join()},
		{head: 'directive', class: 'url', show: o => o.evidence.map(line), key: o => o.evidence.join()},
		{head: 'pages', class: 'n', show: counts, key: o => o.pages},
		{head: 'examples', class: 'url', show: o => examplePages(o.urls), key: o => o.urls[0]?.url || ''},
	], [...rows.values()]);
}

// examplePages returns a list of pages, with those of their links that are not followed.
function examplePages(pages) {
	const item = page => {
		const links = page.links || [];
		if (links.length === 0) return element('li', {}, visible(page.url));
		return element('li', {}, visible(page.url), element('details', {},
			element('summary', {}, count(links.length, 'nofollow link')),
			element('ul', {class: 'urls'}, ...links.map(l => element('li', {}, visible(l))))));
	};
	const items = element('ul', {class: 'urls'}, ...pages.slice(0, 20).map(item));
	if (pages.length < 4) return items;
	return element('details', {}, element('summary', {}, visible(pages[0].url)), items);
}

function showLost() {
	const letters = {refused: 'd', 'given up': 'g', unreachable: 'u', failed: 'x'};
	const isShown = o => textMatches(o.url) || textMatches(o.host) || textMatches(o.why);
	const rows = filter.off.has('lost') ? [] : overview.lost.filter(isShown);
	list($('lost-list'), 'Lost URLs', [
		{head: 'URL', class: 'url', show: o => visible(o.url), key: o => o.url},
		{head: 'verdict', show: o => kindCell(letters[o.verdict], o.status), key: o => o.verdict},
		{head: 'reason', class: 'url', show: o => visible(o.why), key: o => o.why},
		{head: 'time', class: 'n', show: o => clock(o.at, 10), key: o => o.at},
	], rows);
}

// showSlow lists the slowest hosts. A host with a single response is omitted, because one response does not show how
// fast the host is.
function showSlow() {
	const measured = hosts.filter(h => h.responses > 1);
	const slow = measured.sort((a, b) => b.median - a.median || b.slowest - a.slowest).slice(0, 10);
	if (slow.length === 0) {
		$('slow-list').replaceWith(element('p', {class: 'soft'}, 'No host has responded twice.'));
		return;
	}
	const slowest = Math.max(...slow.map(h => h.slowest), 1);
	$('slow-list').replaceChildren(...slow.map(h => {
		const bar = element('div', {class: 'bar', 'aria-hidden': 'true'}, element('i'), element('i'));
		bar.firstChild.style.width = 100 * h.slowest / slowest + '%';
		bar.lastChild.style.width = 100 * h.median / slowest + '%';
		const times = {p50: h.median, p90: h.p90, p99: h.p99, 'at most': h.slowest};
		const text = Object.entries(times).map(([name, time]) => name + ' ' + seconds(time)).join(', ');
		const name = element('span', {class: 'name'}, visible(h.name));
		return element('li', {}, name, bar, element('span', {class: 'soft n'}, text));
	}));
}

// ---- everything

const all = {wanted: false, key: 'at', ascending: true, shown: 100};

// allColumns are the columns of the table: each has a heading, the name of its sort key, the key, and a class.
const allColumns = [
	{head: 'time', name: 'at', key: (h, d, i) => d.at[i], class: 'n'},
	{head: 'URL', name: 'url', key: (h, d, i) => markURL(h, d, i), class: ''},
	{head: 'verdict', name: 'what', key: (h, d, i) => verdictNames[d.verdicts[i]], class: ''},
	{head: 'response after', name: 'took', key: (h, d, i) => d.took[i], class: 'n'},
	{head: 'details', name: 'note', key: (h, d, i) => d.notes[d.note[i]], class: ''},
];

// showAll shows the first rows in the chosen order.
async function showAll() {
	if (!all.wanted) return;
	const [rows, n, done] = await firstRows();
	if (!done) return;
	const ariaSort = c => all.key === c.name ? (all.ascending ? 'ascending' : 'descending') : null;
	const headings = allColumns.map(c => element('th', {class: c.class, 'aria-sort': ariaSort(c)}, c.head));
	const head = element('tr', {}, ...headings);
	sortable(head, async (column, ascending) => {
		all.key = allColumns[column].name;
		all.ascending = ascending;
		await showAll();
		$('all-list').querySelectorAll('th button')[column].focus();
	});
	if (n === 0) {
		$('all-list').replaceChildren(emptyNote());
		return;
	}
	const table = element('table', {id: 'all-table', class: 'stack'},
		element('thead', {}, head), element('tbody', {}, ...rows.map(({h, d, i}) => markRow(h, d, i))));
	$('all-list').replaceChildren(scrollable('Everything', table));
	if (n > all.shown) {
		const showMore = () => { all.shown += 400; showAll(); };
		const more = 'Show more of ' + n.toLocaleString('en');
		$('all-list').append(element('button', {type: 'button', class: 'more', onclick: showMore}, more));
	}
}

// firstRows returns the first rows in the chosen order, how many rows there are, and whether the result is complete: it
// is not if the filter changed meanwhile. It never sorts all rows, because only a hundred of a million are shown.
async function firstRows() {
	const rows = [];
	let n = 0;
	const key = allColumns.find(c => c.name === all.key).key, sign = all.ascending ? 1 : -1;
	const compare = (a, b) => sign * order(a.key, b.key) || a.at - b.at;
	const trim = () => {
		rows.sort(compare);
		rows.length = Math.min(rows.length, all.shown);
	};
	const done = await eachHost((h, d) => {
		for (let i = 0; i < d.at.length; i++) {
			if (d.matches && !d.matches[i]) continue;
			n++;
			rows.push({h, d, i, key: key(h, d, i), at: d.at[i]});
			if (rows.length > 4 * all.shown + 1000) trim();
		}
	});
	trim();
	return [rows, n, done];
}

// markRow returns the row of a mark in the table of everything.
function markRow(h, d, i) {
	return element('tr', {},
		element('td', {class: 'n'}, clock(d.at[i], 10)),
		element('td', {class: 'url'}, visible(markURL(h, d, i))),
		element('td', {}, kindCell(d.verdicts[i], d.status[i])),
		element('td', {class: 'n'}, d.took[i] < 0 ? '–' : seconds(d.took[i])),
		element('td', {class: 'url'}, visible(d.notes[d.note[i]])));
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
function updateTheme() {
	palette = null;
	$('theme').textContent = isDark() ? 'Switch to light' : 'Switch to dark';
	redraw();
}
$('theme').addEventListener('click', () => {
	document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
	updateTheme();
});
wantsDark.addEventListener('change', updateTheme);
new ResizeObserver(() => {
	document.documentElement.style.setProperty('--filter-height', $('filter').offsetHeight + 'px');
	redraw();
}).observe(document.body);

showLanes();
showRules();
showDirectives();
showLost();
showSlow();
updateTheme();
document.documentElement.dataset.settled = 0;
})();
