// flame.js - the interactive picture, made from the data block that
// share/svgdata.h describes. Names only ever become text nodes.
(() => {
"use strict";
const root = document.getElementById("flame"), block = document.getElementById("flame-data");
if (!root || !block) return;

// ---- the data block ----

const text = block.textContent;
let at = 0;
const line = () => {
	const end = text.indexOf("\n", at), s = text.slice(at, end);
	at = end + 1;
	return s;
};
const keys = {}, header = [];
let first = line();
if (first !== "flame-data 1") return;
for (first = line(); !first.startsWith("names "); first = line()) {
	const eq = first.indexOf("=");
	keys[first.slice(0, eq)] = first.slice(eq + 1);
	if (first.startsWith("h.")) header.push([first.slice(2, eq), first.slice(eq + 1)]);
}
const columns = +keys.columns, scale = +keys.scale, big = keys.big === "1", diff = columns === 2;
const nrNames = +first.slice(6), names = [], colours = [], marks = [], full = [];
for (let i = 0; i < nrNames; i++) {
	const s = line(), blank = s.indexOf(" ");
	const name = s.slice(blank + 1), mark = /^.+(?=_\[([kijw])\]$)/.exec(name);
	colours.push(s.slice(0, blank));
	full.push(name);
	names.push(mark ? mark[0] : name);
	marks.push(mark ? mark[1] : "");
}
const thin = keys.thin === undefined ? -1 : +keys.thin;
const ordered = keys.chart === "1", zero = big ? 0n : 0;
const weights = n => big ? new Array(n).fill(zero) : new Float64Array(n);

// ---- trees: preorder arrays; several roots may stand side by side ----
// name -1 is the root of all, -2 that of what is gone; row counts from 0 at
// the root, below 0 are callers. own and all: weights by column. w: what
// gives the width; start: where it begins.

const decode = () => {
	const nr = +line().slice(7), value = new Int8Array(128).fill(-1);
	[..."0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%()*+,-./:;=?@[^_{|}~"].forEach((c, i) => value[c.charCodeAt(0)] = i);
	const number = () => {
		let v = 0, unit = 1, d;
		while ((d = value[text.charCodeAt(at++)]) >= 62) {
			v += unit * d;
			unit *= 24;
		}
		return v + unit * d;
	};
	const exact = !big ? number : () => {
		let v = 0n, unit = 1n, d;
		while ((d = value[text.charCodeAt(at++)]) >= 62) {
			v += unit * BigInt(d);
			unit *= 24n;
		}
		return v + unit * BigInt(d);
	};
	const t = {n: nr, name: new Int32Array(nr), row: new Int32Array(nr), parent: new Int32Array(nr), own: [weights(nr)], all: []};
	if (diff) t.own.push(weights(nr));
	let parent = -1, depth = 0;
	for (let i = 0; i < nr; i++) {
		t.name[i] = i ? number() : -1;
		t.row[i] = depth;
		t.parent[i] = parent;
		let silent = !diff;
		for (let c = 0; c < columns; c++)
			if (t.own[c][i] = exact()) silent = false;
		let up = silent && i + 1 < nr ? 0 : number();
		for (parent = i, depth++; up && parent >= 0; up--, depth--) parent = t.parent[parent];
	}
	return t;
};

// totals, ends of subtrees
const sum = t => {
	t.all = t.own.map(own => own.slice());
	t.end = new Int32Array(t.n);
	for (let i = t.n - 1; i >= 0; i--) {
		if (!t.end[i]) t.end[i] = i + 1;
		const p = t.parent[i];
		if (p < 0) continue;
		for (const all of t.all) all[p] += all[i];
		if (!t.end[p]) t.end[p] = t.end[i];
	}
	return t;
};

const base = sum(decode());
const order = full.map((_, i) => i).sort((a, b) => full[a] < full[b] ? -1 : full[a] > full[b] ? 1 : 0);
const rank = new Int32Array(nrNames);
order.forEach((name, i) => rank[name] = i);

// merges paths; then tree() gives preorder arrays, siblings by name
class Trie {
	constructor(name) {
		this.name = [name];
		this.parent = [-1];
		this.own = [[zero], [zero]];
		this.slots = new Int32Array(1024);
	}
	// where (parent, name) is, or belongs
	slot(parent, name) {
		const hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(name + 3, 0x85ebca6b), slots = this.slots, mask = slots.length - 1;
		let s = (hash ^ hash >>> 15) & mask;
		for (let k; (k = slots[s]) && (this.parent[k] !== parent || this.name[k] !== name);) s = s + 1 & mask;
		return s;
	}
	child(parent, name) {
		return this.slots[this.slot(parent, name)] || this.push(parent, name);
	}
	push(parent, name) {
		const k = this.name.length;
		this.name.push(name);
		this.parent.push(parent);
		this.own[0].push(zero);
		this.own[1].push(zero);
		if (k * 2 > this.slots.length) {
			this.slots = new Int32Array(this.slots.length * 4);
			for (let i = 1; i < k; i++) this.slots[this.slot(this.parent[i], this.name[i])] = i;
		}
		if (!ordered) this.slots[this.slot(parent, name)] = k;
		return k;
	}
	add(k, t, i, from) {
		for (let c = 0; c < columns; c++) this.own[c][k] += from[c][i];
	}
	tree() {
		const n = this.name.length, child = new Int32Array(n).fill(-1), next = new Int32Array(n).fill(-1);
		let list = [...this.name.keys()].slice(1);
		if (!ordered) {
			const starts = new Int32Array(nrNames + 2), sorted = new Int32Array(n - 1);
			for (const k of list) starts[rank[this.name[k]] + 1]++;
			for (let i = 0; i <= nrNames; i++) starts[i + 1] += starts[i];
			for (const k of list) sorted[starts[rank[this.name[k]]]++] = k;
			list = sorted;
		}
		for (let j = list.length - 1; j >= 0; j--) {
			const k = list[j], p = this.parent[k];
			next[k] = child[p];
			child[p] = k;
		}
		const t = {n: n, name: new Int32Array(n), row: new Int32Array(n), parent: new Int32Array(n).fill(-1), own: this.own.slice(0, columns).map(() => weights(n))};
		const place = new Int32Array(n);
		for (let k = 0, i = 0, row = 0; ; i++) {
			place[k] = i;
			t.name[i] = this.name[k];
			t.row[i] = row;
			if (i) t.parent[i] = place[this.parent[k]];
			for (let c = 0; c < columns; c++) t.own[c][i] = this.own[c][k];
			if (child[k] >= 0) {
				k = child[k];
				row++;
				continue;
			}
			while (k && next[k] < 0) {
				k = this.parent[k];
				row--;
			}
			if (!k) break;
			k = next[k];
		}
		return sum(t);
	}
}

const find = name => names.indexOf(name);

// hide, focus, fold recursion, first frame: one walk from the root
const sift = (t, s) => {
	const hidden = new Set(s.hide.map(find)), focus = s.focus.map(find), only = s.first ? find(s.first) : -1;
	if (!hidden.size && !focus.length && !s.fold && !s.first) return t;
	const trie = new Trie(-1), to = new Int32Array(t.n), inside = new Uint8Array(t.n);
	const is = (set, i) => t.name[i] >= 0 && set(names[t.name[i]]);
	for (let i = 0; i < t.n; i++) {
		const p = t.parent[i];
		if (p === 0 && s.first && names[t.name[i]] !== names[only]) {
			i = t.end[i] - 1;
			continue;
		}
		inside[i] = !focus.length || p >= 0 && inside[p] || is(n => s.focus.includes(n), i) ? 1 : 0;
		if (p >= 0) {
			const up = to[p];
			to[i] = is(n => s.hide.includes(n), i) || s.fold && trie.name[up] === t.name[i] ? up : ordered ? trie.push(up, t.name[i]) : trie.child(up, t.name[i]);
		}
		if (inside[i]) trie.add(to[i], t, i, t.own);
	}
	return trie.tree();
};

const callers = (trie, t, i, from) => {
	let k = 0;
	for (let p = i; p > 0; p = t.parent[p]) k = trie.child(k, t.name[p]);
	trie.add(k, t, i, from);
};

const reverse = t => {
	const trie = new Trie(-1);
	for (let i = 1; i < t.n; i++)
		if (t.own.some(own => own[i])) callers(trie, t, i, t.own);
	trie.add(0, t, 0, t.own);
	return trie.tree();
};

// Callees above one function, callers below it; recursion counts once.
const sandwich = (t, name) => {
	const up = new Trie(name), down = new Trie(name), to = new Int32Array(t.n);
	for (let i = 1; i < t.n; i++) {
		if (names[t.name[i]] !== names[name]) continue;
		const end = t.end[i];
		let k = 0;
		for (let p = t.parent[i]; p > 0; p = t.parent[p]) k = down.child(k, t.name[p]);
		down.add(k, t, i, t.all);
		to[i] = 0;
		up.add(0, t, i, t.own);
		for (let j = i + 1; j < end; j++) {
			to[j] = up.child(to[t.parent[j]], t.name[j]);
			up.add(to[j], t, j, t.own);
		}
		i = end - 1;
	}
	const t2 = beside(up.tree(), down.tree(), 1);
	for (let i = t2.split; i < t2.n; i++) t2.row[i] *= -1;
	t2.end[0] = t2.n;
	return t2;
};

// Two trees as one; without: the roots of the second become those of the first.
const beside = (a, b, without) => {
	const n = a.n + b.n - without, shift = a.n - without;
	const join = (x, y, moved) => {
		const out = x instanceof Array ? [] : new x.constructor(n);
		for (let i = 0; i < a.n; i++) out[i] = x[i];
		for (let i = without; i < b.n; i++) out[shift + i] = moved && y[i] >= without ? y[i] + shift : y[i];
		return out;
	};
	const all = k => a[k].map((x, c) => join(x, b[k][c]));
	return {n, split: a.n, name: join(a.name, b.name), row: join(a.row, b.row), parent: join(a.parent, b.parent, 1), end: join(a.end, b.end, 1), own: all("own"), all: all("all")};
};

// What only the first profile has: paths to it, beside the rest.
const gone = t => {
	const trie = new Trie(-2), to = new Int32Array(t.n), weight = t.own[0].slice(), isGone = i => !t.all[1][i];
	for (let i = t.n - 1; i > 0; i--) {
		weight[i] = isGone(i) ? t.all[0][i] : weight[i] - t.own[0][i];
		if (!isGone(t.parent[i]) || !t.parent[i]) weight[t.parent[i]] += weight[i];
	}
	weight[0] -= t.own[0][0];
	if (!weight[0]) return t;
	for (let i = 1; i < t.n; i++) {
		if (!weight[i]) {
			i = t.end[i] - 1;
			continue;
		}
		to[i] = trie.child(to[t.parent[i]], t.name[i]);
		if (isGone(i)) trie.own[0][to[i]] += t.own[0][i];
	}
	const out = beside(t, trie.tree(), 0);
	out.goneAt = t.n;
	return out;
};

// ---- state, kept in the URL's fragment ----

const fresh = () => ({z: -1, q: keys.search || "", ci: 0, hl: [], ice: keys.inverted === "1" ? 1 : 0, leaves: 0, sand: "", hide: [], focus: [], fold: 0, first: "", table: 0, theme: "", col: "after", rel: 0, swap: keys.negate === "1" ? 1 : 0, min: 0});
const lists = ["hl", "hide", "focus"];
let state = fresh(), written = "";
const toHash = s => {
	const plain = fresh(), out = [];
	for (const k in plain) {
		if (lists.includes(k)) s[k].forEach(v => out.push(k + "=" + encodeURIComponent(v)));
		else if (s[k] !== plain[k]) out.push(k + "=" + encodeURIComponent(s[k]));
	}
	return out.join("&");
};
const fromHash = hash => {
	const s = fresh();
	for (const part of hash.replace(/^#/, "").split("&")) {
		const eq = part.indexOf("="), k = part.slice(0, eq);
		let v = part.slice(eq + 1);
		try { v = decodeURIComponent(v); } catch (e) { continue; }
		if (!(k in s)) continue;
		if (lists.includes(k)) s[k].push(v);
		else s[k] = typeof s[k] === "number" ? +v || 0 : v;
	}
	return s;
};

// ---- elements ----

const svgns = "http://www.w3.org/2000/svg", xhtml = "http://www.w3.org/1999/xhtml";
const make = (ns, tag, attributes, ...inside) => {
	const e = document.createElementNS(ns, tag);
	for (const k in attributes) {
		if (typeof attributes[k] === "function") e.addEventListener(k, attributes[k]);
		else if (attributes[k] !== null) e.setAttribute(k, attributes[k]);
	}
	e.append(...inside);
	return e;
};
const H = (tag, attributes, ...inside) => make(xhtml, tag, attributes, ...inside);
const S = (tag, attributes, ...inside) => make(svgns, tag, attributes, ...inside);
const button = (label, title, click, pressed) => H("button", {type: "button", title: title, "aria-label": title, "aria-pressed": pressed === undefined ? null : pressed, click: click}, label);

const unit = keys.count || "samples";
const group = s => s.replace(/\B(?=(\d{3})+$)/g, ",");
const count = v => {
	let s = v.toString(), sign = "";
	if (s[0] === "-") [sign, s] = ["-", s.slice(1)];
	if (!scale) return sign + group(s);
	s = s.padStart(scale + 1, "0");
	const part = s.slice(-scale).replace(/0+$/, "");
	return sign + group(s.slice(0, -scale)) + (part && "." + part);
};
const plain = v => count(v).replace(/,/g, "");
const percent = (v, of) => (Number(of) ? 100 * Number(v) / Number(of) : 0).toFixed(2) + "%";
const change = (b, a) => (a > b ? "+" : "") + count(a - b);
const relative = (b, a) => !b ? a ? "new" : "0.00%" : !a ? "gone" : (a >= b ? "+" : "") + percent(a - b, b);

const family = 'ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace';
const fontSize = +keys.fontsize || 12, rowHeight = +keys.height || 18;
const font = fontSize + "px " + (keys.font ? '"' + keys.font.replace(/["\\]/g, "") + '",' : "") + family;
const pen = H("canvas").getContext("2d");
pen.font = font;
const column = pen.measureText("M".repeat(50)).width / 50, mono = Math.abs(pen.measureText("i".repeat(50)).width / 50 - column) < 0.01;
// the longest beginning that fits, on whole code points
const fit = (s, room) => {
	if (room < column * 2) return "";
	if (mono && s.length * column <= room && /^[ -~]*$/.test(s)) return s;
	if (mono && /^[ -~]*$/.test(s)) return room < column * 3 ? "" : s.slice(0, Math.floor(room / column) - 1) + "…";
	if (s.length < 500 && pen.measureText(s).width <= room) return s;
	const points = [...s];
	let low = 0, high = Math.min(points.length - 1, Math.ceil(room));
	while (low < high) {
		const mid = low + high + 1 >> 1;
		if (pen.measureText(points.slice(0, mid).join("") + "…").width <= room) low = mid;
		else high = mid - 1;
	}
	return low ? points.slice(0, low).join("") + "…" : "";
};

// ---- the current view ----

let T = base, cur = -1, terms = [], largest = 0;
const hues = ["#ea66ea", "#33b5ff", "#58d13a", "#ffb300", "#a68bff", "#ff6f91"];
const nameOf = i => T.name[i] >= 0 ? names[T.name[i]] : T.name[i] === -2 ? "gone: only in the first profile" : "all";
const range = () => state.z >= 0 ? [T.start[state.z], T.start[state.z] + Number(T.w[state.z])] : [0, T.span];

const place = () => {
	const c = state.col === "before" ? 0 : 1;
	if (!diff) T.w = T.all[0];
	else if (state.col === "change") {
		T.w = sum({n: T.n, parent: T.parent, own: [T.own[0].map((b, i) => T.own[1][i] > b ? T.own[1][i] - b : b - T.own[1][i])]}).all[0];
	} else {
		T.w = T.all[c].slice();
		if (T.goneAt) for (let i = T.goneAt; i < T.n; i++) T.w[i] = T.all[0][i];
	}
	T.wide = big ? Float64Array.from(T.w, Number) : T.w;
	T.start = new Float64Array(T.n);
	const cursor = new Float64Array(T.n), main = Number(T.w[0]);
	for (let i = 0; i < T.n; i++) {
		const p = T.parent[i];
		if (i === T.goneAt) T.start[i] = main ? main + (main + T.wide[i]) / 50 : 0;
		else if (i === T.split && p >= 0) cursor[0] = T.start[0];
		if (p >= 0) {
			T.start[i] = cursor[p];
			cursor[p] += T.wide[i];
		}
		cursor[i] = T.start[i];
	}
	T.span = T.goneAt ? T.start[T.goneAt] + Number(T.w[T.goneAt]) : main;
	T.low = T.high = 0;
	for (let i = 0; i < T.n; i++) {
		if (T.row[i] < T.low) T.low = T.row[i];
		if (T.row[i] > T.high) T.high = T.row[i];
	}
	// frames by row, from left to right
	const nr = T.high - T.low + 1;
	T.rows = new Int32Array(nr + 1);
	T.byRow = new Int32Array(T.n);
	for (let i = 0; i < T.n; i++) T.rows[T.row[i] - T.low + 1]++;
	for (let r = 0; r < nr; r++) T.rows[r + 1] += T.rows[r];
	const fill = T.rows.slice();
	for (let i = 0; i < T.n; i++) T.byRow[fill[T.row[i] - T.low]++] = i;
	largest = 0;
	if (diff) for (let i = 1; i < T.n; i++) if (T.parent[i] >= 0) largest = Math.max(largest, Math.abs(Number(T.all[1][i] - T.all[0][i])));
};

let shape = "";
const reshape = () => {
	const s = state, now = JSON.stringify([s.leaves, s.sand, s.hide, s.focus, s.fold, s.first, s.col]);
	if (now === shape) return;
	shape = now;
	T = sift(base, s);
	if (s.sand && find(s.sand) >= 0) T = sandwich(T, find(s.sand));
	else {
		if (s.leaves) T = reverse(T);
		if (diff && s.col === "after") T = gone(T);
	}
	place();
	cur = -1;
	functions = null;
};

const matcher = (source, ignore) => {
	const re = new RegExp(source, ignore ? "iu" : "u"), hit = new Uint8Array(nrNames);
	for (let i = 0; i < nrNames; i++) if (re.test(names[i])) hit[i] = 1;
	return hit;
};
const escapeRegExp = s => s.replace(/[.*+?^${}()|[\]\\\/]/g, "\\$&");
const seek = () => {
	terms = [];
	let bad = "";
	for (const q of [state.q, ...state.hl]) {
		if (!q) {
			terms.push(null);
			continue;
		}
		try {
			terms.push(matcher(q, state.ci));
		} catch (e) {
			terms.push(null);
			if (q === state.q) bad = e.message;
		}
	}
	return bad;
};
// frames that match in the current view, and their weight, nested ones once
const tally = hit => {
	let nr = 0, weight = zero, until = -1;
	const from = Math.max(state.z, 0), to = state.z >= 0 ? T.end[state.z] : T.goneAt || T.n;
	for (let i = from; i < to; i++) {
		if (T.name[i] < 0 || !hit[T.name[i]]) continue;
		nr++;
		if (i >= until && !(T.split && !T.goneAt && i >= T.split && !from)) {
			weight += T.w[i];
			until = T.split && !T.goneAt && !i ? T.split : T.end[i];
		}
	}
	return [nr, weight];
};

const mix = (a, b, share) => "#" + [16, 8, 0].map(s => Math.round((a >> s & 255) + ((b >> s & 255) - (a >> s & 255)) * share).toString(16).padStart(2, "0")).join("");
const colour = i => {
	const name = T.name[i];
	if (name >= 0) for (let t = 0; t < terms.length; t++) if (terms[t] && terms[t][name]) return hues[t % hues.length];
	if (diff) {
		const b = Number(T.all[0][i]), a = Number(T.all[1][i]), d = a - b, of = state.rel ? Math.max(a, b) : largest;
		let share = of ? Math.min(1, Math.abs(d) / of) : 0;
		if (state.min && Math.abs(d) * 100 < state.min * Number(T.all[1][0] || T.all[0][0])) share = 0;
		return mix(0xeeeeee, d < 0 !== !!state.swap ? 0x56a0e0 : 0xf2703a, Math.sqrt(share));
	}
	if (name < 0) return "#ddd";
	if (keys.bywidth) {
		const share = T.wide[i] / Number(T.w[0]);
		return share < 0.5 ? mix(0xf7efdc, 0xffc84a, share * 2) : mix(0xffc84a, 0xf0602c, share * 2 - 1);
	}
	return colours[name];
};

// ---- drawing ----

const rects = S("g"), thins = S("g", {"shape-rendering": "crispEdges"}), words = S("g", {style: "font:" + font});
const ring = S("rect", {id: "fg-cur", role: "treeitem", fill: "none", stroke: "var(--acc)", "stroke-width": 2, rx: 2, "pointer-events": "none"});
const hatch = S("pattern", {id: "fg-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"}, S("path", {d: "M0 0V6", stroke: "#fff", "stroke-width": 4, "stroke-opacity": 0.45}));
const hatched = S("path", {fill: "url(#fg-hatch)", "pointer-events": "none"});
const graph = S("svg", {tabindex: 0, role: "tree", "aria-label": "Flame graph", "aria-activedescendant": "fg-cur"}, S("defs", {}, hatch), rects, thins, hatched, words, ring);
const scroll = H("div", {class: "scroll"}, graph);
let width = 0, top = 0, bottom = 0;

const yOf = row => (state.ice ? row - bottom : top - row) * rowHeight;
const isUnder = (i, z) => z < 0 || i >= z && i < T.end[z];
const isAbove = (i, z) => i < z && z < T.end[i] && !(T.split && !T.goneAt && i && i < T.split && z >= T.split);

// rows that hold something half a pixel wide
const extent = () => {
	const [z0, z1] = range(), least = (z1 - z0) / Math.max(width, 1) / 2, z = state.z;
	top = T.low;
	bottom = Math.min(0, z > 0 ? T.row[z] : 0);
	for (let i = Math.max(z, 0), end = z >= 0 ? T.end[z] : T.n; i < end; i++) {
		if (T.wide[i] < least) {
			if (i !== z) i = T.end[i] - 1;
			continue;
		}
		if (T.row[i] > top) top = T.row[i];
		if (T.row[i] < bottom) bottom = T.row[i];
	}
	top = Math.max(top, 0);
};

// from the frames of rows lowest..highest, calls out(i, x, width, isAbove)
const visible = (lowest, highest, out) => {
	const [z0, z1] = range(), px = width / (z1 - z0 || 1), z = state.z;
	for (let r = lowest; r <= highest; r++) {
		let low = T.rows[r - T.low], end = T.rows[r - T.low + 1], high = end, drawn = -1;
		while (low < high) {
			const mid = low + high >> 1, i = T.byRow[mid];
			if (T.start[i] + T.wide[i] <= z0) low = mid + 1;
			else high = mid;
		}
		for (; low < end; low++) {
			const i = T.byRow[low], s = T.start[i];
			if (s >= z1) break;
			const e = s + T.wide[i], x2 = Math.min(width, (e - z0) * px);
			if (x2 - drawn < 0.8 || e === s) {
				// leap over what is too thin to see: twice as far each time, then halve
				const beyond = k => T.start[T.byRow[k]] + T.wide[T.byRow[k]] >= z0 + (drawn + 0.8) / px;
				let leap = 1;
				while (low + leap < end && !beyond(low + leap)) leap *= 2;
				for (let stop = Math.min(low + leap, end); low + 1 < stop;) {
					const mid = low + stop >> 1;
					if (beyond(mid)) stop = mid;
					else low = mid;
				}
				continue;
			}
			const above = z >= 0 && isAbove(i, z);
			if (!above && !isUnder(i, z)) continue;
			const x = Math.max(0, drawn, (s - z0) * px);
			out(i, x, x2 - x, above);
			drawn = x2;
		}
	}
};

// attributes are written only where they change
const put = (e, k, v) => {
	const was = e.was || (e.was = {});
	if (was[k] !== v) e.setAttribute(k, was[k] = v);
};
const patterns = {rect: S("rect", {height: rowHeight - 1}), text: S("text")};
const pool = (parent, tag) => {
	const list = parent.list || (parent.list = []);
	let used = 0;
	return {
		next: () => {
			const e = list[used++] || (list.push(parent.appendChild(patterns[tag].cloneNode())), list[used - 1]);
			put(e, "display", "inline");
			return e;
		},
		done: () => { for (let k = used; k < list.length && list[k].was.display !== "none"; k++) put(list[k], "display", "none"); }
	};
};
const paint = (lowest, highest, onto) => {
	const boxes = pool(onto.rects, "rect"), texts = pool(onto.words, "text"), slivers = new Map();
	let marked = "";
	visible(lowest, highest, (i, x, w, above) => {
		const y = yOf(T.row[i]), fill = colour(i);
		if (w < 3) {
			// on whole pixels, as strokes: the least that the browser has to parse
			const wide = Math.max(1, Math.round(w)), key = fill + wide, list = slivers.get(key);
			const d = "M" + (Math.round(x) + wide / 2) + " " + y + "v" + (rowHeight - 1);
			if (list) list.push(d);
			else slivers.set(key, [d]);
			return;
		}
		const e = boxes.next(), wide = Math.round((w - 0.5) * 100) / 100;
		put(e, "x", Math.round(x * 100) / 100);
		put(e, "y", y);
		put(e, "width", wide);
		put(e, "fill", fill);
		put(e, "rx", w > 8 ? 2 : 0);
		put(e, "class", above ? "dim" : "");
		put(e, "data-i", i);
		if (T.goneAt && i >= T.goneAt) marked += "M" + x.toFixed(1) + " " + y + "h" + wide + "v" + (rowHeight - 1) + "h-" + wide + "z";
		const s = fit(nameOf(i), w - 7);
		if (s) {
			const t = texts.next();
			put(t, "x", Math.round((x + 3) * 100) / 100);
			put(t, "y", y + rowHeight / 2 + fontSize * 0.35 - 0.5);
			put(t, "class", above ? "dim" : "");
			if (t.textContent !== s) t.textContent = s;
		}
	});
	boxes.done();
	texts.done();
	onto.thins.replaceChildren(...[...slivers].map(([key, d]) => S("path", {stroke: key.slice(0, -1), "stroke-width": key.slice(-1), d: d.join("")})));
	onto.hatched.setAttribute("d", marked);
};

const draw = () => {
	const height = scroll.clientHeight || 400, from = scroll.scrollTop;
	const r0 = Math.floor(from / rowHeight) - 2, r1 = Math.ceil((from + height) / rowHeight) + 2;
	const rowAt = r => state.ice ? r + bottom : top - r;
	const a = rowAt(r0), b = rowAt(r1);
	paint(Math.max(Math.min(a, b), bottom), Math.min(Math.max(a, b), top), {rects, words, thins, hatched});
	mark();
};
// the ring around the selected frame
const mark = () => {
	const [z0, z1] = range(), px = width / (z1 - z0 || 1);
	if (cur < 0 || T.start[cur] >= z1 || T.start[cur] + Number(T.w[cur]) <= z0) {
		ring.setAttribute("display", "none");
		return;
	}
	const x = Math.max(0, (T.start[cur] - z0) * px), x2 = Math.min(width, (T.start[cur] + Number(T.w[cur]) - z0) * px);
	ring.removeAttribute("display");
	for (const [k, v] of [["x", x + 1], ["y", yOf(T.row[cur]) + 1], ["width", Math.max(x2 - x - 2.5, 1)], ["height", rowHeight - 3], ["aria-level", Math.abs(T.row[cur]) + 1], ["aria-label", about(cur)[0] + ", " + about(cur)[1]]]) ring.setAttribute(k, v);
};

const frameAt = event => {
	const box = graph.getBoundingClientRect(), y = event.clientY - box.top, x = event.clientX - box.left;
	const r = Math.floor(y / rowHeight), row = state.ice ? r + bottom : top - r;
	let found = -1;
	if (row >= T.low && row <= T.high && row >= bottom && row <= top && x >= 0 && x <= width)
		visible(row, row, (i, left, w) => { if (x >= left && x < left + Math.max(w, 1)) found = i; });
	return found;
};

// ---- what is said about a frame ----

const moduleOf = s => (/\[([^\]]+)\]$/.exec(s) || / \(([^():]+)[^()]*\)$/.exec(s) || /^([^`]+)`/.exec(s) || [])[1];
const kinds = {k: "kernel", i: "inlined", j: "JIT-compiled", w: "waker"};
const about = i => {
	const name = nameOf(i), out = [name], n = T.name[i], z = Math.max(state.z, 0), all = T.all;
	const note = n >= 0 && keys["title." + n];
	if (note) out.push(note);
	if (diff) {
		out.push("before " + count(all[0][i]) + " (" + percent(all[0][i], base.all[0][0]) + "), after " + count(all[1][i]) + " (" + percent(all[1][i], base.all[1][0]) + ") " + unit);
		out.push("change " + change(all[0][i], all[1][i]) + ", " + relative(all[0][i], all[1][i]));
	} else {
		out.push(count(all[0][i]) + " " + unit + ", " + percent(all[0][i], base.all[0][0]) + " of all, " + percent(all[0][i], all[0][z]) + " of this view");
		out.push("self " + count(T.own[0][i]) + ", " + percent(T.own[0][i], base.all[0][0]));
	}
	const extra = n >= 0 ? [kinds[marks[n]], moduleOf(name) && "module " + moduleOf(name)].filter(Boolean) : [];
	if (extra.length) out.push(extra.join(", "));
	return out;
};
const stackOf = i => {
	const out = [];
	for (; i >= 0; i = T.parent[i]) if (T.name[i] >= 0) out.push(names[T.name[i]]);
	return state.leaves || T.split && !T.goneAt ? out : out.reverse();
};

const tip = H("div", {class: "pop tip", hidden: ""}), status = H("footer", {"aria-live": "polite"});
let pinned = null;
const setPlace = (e, x, y) => {
	const box = app.getBoundingClientRect();
	e.style.left = Math.max(4, Math.min(x - box.left + 14, box.width - e.offsetWidth - 6)) + "px";
	e.style.top = Math.max(4, y - box.top + 18 + e.offsetHeight > box.height ? y - box.top - e.offsetHeight - 10 : y - box.top + 18) + "px";
};
const card = i => about(i).map((s, k) => H(k ? "div" : "b", {}, s.length > 4000 ? s.slice(0, 4000) + "…" : s));
const hover = (i, x, y) => {
	if (i < 0 || pinned) {
		tip.hidden = true;
		return;
	}
	tip.replaceChildren(...card(i));
	tip.hidden = false;
	setPlace(tip, x, y);
	say(i);
};
const say = i => { status.textContent = i < 0 ? "" : about(i).map(s => s.slice(0, 500)).join("  ·  "); };
const unpin = () => {
	if (!pinned) return false;
	pinned.remove();
	pinned = null;
	graph.focus({preventScroll: true});
	return true;
};
const pin = (i, x, y) => {
	unpin();
	tip.hidden = true;
	const n = T.name[i], name = nameOf(i);
	const act = (label, title, f) => button(label, title, () => { unpin(); f(); });
	pinned = H("div", {class: "pop", role: "dialog", "aria-label": "Frame"}, ...card(i));
	const acts = H("div", {class: "acts"}, act("Zoom", "Zoom to this frame", () => zoom(i)), act("Copy name", "Copy the name", () => copy(name)), act("Copy stack", "Copy the stack", () => copy(stackOf(i).join("\n"))));
	if (n >= 0) {
		acts.append(act("Callers and callees", "Show what calls this function and what it calls", () => go({sand: name, z: -1})), act("Hide", "Hide it: its children join its parent", () => go({hide: [...state.hide, name], z: -1})), act("Focus", "Keep only stacks with it", () => go({focus: [...state.focus, name], z: -1})), act("Highlight", "Highlight this name", () => go({hl: [...state.hl, "^" + escapeRegExp(name) + "$"]})));
		if (keys["href." + n]) acts.append(H("a", {href: keys["href." + n], target: "_top"}, "Open link"));
	}
	pinned.append(acts);
	app.append(pinned);
	setPlace(pinned, x, y);
	acts.firstChild.focus({preventScroll: true});
};

const copy = s => {
	const old = () => {
		const area = H("textarea", {style: "position:absolute;opacity:0"});
		area.value = s;
		app.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
		graph.focus({preventScroll: true});
	};
	if (navigator.clipboard) navigator.clipboard.writeText(s).catch(old);
	else old();
	status.textContent = "Copied: " + s.slice(0, 200).replace(/\n/g, " ← ");
};

// ---- saving ----

const save = (blob, name) => {
	const url = URL.createObjectURL(blob), a = H("a", {href: url, download: name});
	app.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
};
const MAX_SAVED_ROWS = 1500;
const picture = () => {
	const head = 60, rows = Math.min(top - bottom + 1, MAX_SAVED_ROWS), svg = S("svg", {xmlns: svgns, width: width + 20, height: rows * rowHeight + head + 10});
	const dark = theme() === "dark", onto = {rects: S("g"), thins: S("g"), hatched: S("path", {fill: "url(#fg-hatch)"}), words: S("g", {style: "font:" + font + ";fill:#161616;white-space:pre"})};
	paint(bottom, bottom + rows - 1, onto);
	onto.words.querySelectorAll(".dim").forEach(e => e.setAttribute("opacity", 0.45));
	onto.rects.querySelectorAll(".dim").forEach(e => e.setAttribute("opacity", 0.45));
	svg.append(S("defs", {}, hatch.cloneNode(true)), S("rect", {width: "100%", height: "100%", fill: dark ? "#1b1d21" : keys.background || "#fff"}),
		S("text", {x: 10, y: 25, style: "font:600 17px system-ui,sans-serif", fill: dark ? "#e8eaed" : "#202124"}, keys.title || ""),
		S("text", {x: 10, y: 44, style: "font:12px system-ui,sans-serif", fill: dark ? "#a6a9ae" : "#5f6368"}, summary() + (state.z >= 0 ? " · " + stackOf(state.z).join(" › ").slice(-150) : "")),
		S("g", {transform: "translate(10 " + (head - (state.ice ? 0 : yOf(bottom + rows - 1))) + ")"}, ...Object.values(onto)));
	return new XMLSerializer().serializeToString(svg);
};
const saveSvg = () => save(new Blob(['<?xml version="1.0" encoding="UTF-8"?>\n' + picture()], {type: "image/svg+xml"}), "flame-view.svg");
const savePng = () => {
	const image = new Image(), s = picture(), url = URL.createObjectURL(new Blob([s], {type: "image/svg+xml"}));
	image.onload = () => {
		const twice = image.height > 8000 ? 1 : 2, canvas = H("canvas");
		canvas.width = image.width * twice;
		canvas.height = image.height * twice;
		canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
		URL.revokeObjectURL(url);
		canvas.toBlob(blob => save(blob, "flame-view.png"), "image/png");
	};
	image.src = url;
};
const folded = () => {
	const out = header.map(([k, v]) => "# " + k + ": " + (/\d$/.test(v) ? '"' + v + '"' : v)), path = [];
	if (diff && !header.some(([k]) => k === "columns")) out.push("# columns: before after");
	for (let i = 1; i < base.n; i++) {
		path.length = base.row[i];
		path[base.row[i] - 1] = full[base.name[i]];
		if (base.own.some(own => own[i])) out.push((keys.reverse ? path.slice().reverse() : path).join(";") + base.own.map(own => " " + plain(own[i])).join(""));
	}
	return out.join("\n") + "\n";
};
const saveFolded = () => save(new Blob([folded()], {type: "text/plain"}), "flame.folded");

// ---- the table of functions ----

let functions = null, sortBy = 0;
const tabulate = () => {
	const own = weights(nrNames), all = weights(nrNames), open = new Int32Array(nrNames), path = [], c = diff && state.col !== "before" ? 1 : 0;
	const end = T.goneAt || T.split || T.n;
	for (let i = 0; i < end; i++) {
		const row = T.row[i], n = T.name[i];
		while (path.length > row) {
			const p = path.pop();
			if (p >= 0) open[p]--;
		}
		path.push(n);
		if (n < 0) continue;
		own[n] += T.own[c][i];
		if (!open[n]++) all[n] += T.all[c][i];
	}
	return functions = names.map((_, n) => [own[n], all[n], n]).filter(f => f[1]);
};
const rows = H("tbody"), filter = H("input", {type: "search", placeholder: "Filter functions", "aria-label": "Filter functions", input: () => fillTable()});
const sorter = (label, k) => H("th", {}, button(label, "Sort by " + label, () => { sortBy = k; fillTable(); }));
const panel = H("aside", {"aria-label": "Functions", hidden: ""}, H("nav", {style: "padding:4px 0"}, filter, button("✕", "Close the table", () => go({table: 0}))), H("div", {}, H("table", {}, H("thead", {}, H("tr", {}, sorter("self", 0), sorter("total", 1), sorter("function", 2))), rows)));
const fillTable = () => {
	let list = functions || tabulate(), re = null;
	try { re = filter.value && new RegExp(filter.value, "iu"); } catch (e) { re = new RegExp(escapeRegExp(filter.value), "i"); }
	if (re) list = list.filter(f => re.test(names[f[2]]));
	list = list.slice().sort((a, b) => sortBy < 2 && a[sortBy] !== b[sortBy] ? (a[sortBy] < b[sortBy] ? 1 : -1) : rank[a[2]] - rank[b[2]]);
	const whole = base.all[base.all.length - 1][0];
	rows.replaceChildren(...list.slice(0, 500).map(f => {
		const pick = () => {
			go({q: "^" + escapeRegExp(names[f[2]]) + "$"});
			step(1, true);
		};
		return H("tr", {tabindex: 0, click: pick, keydown: e => { if (e.key === "Enter") pick(); }}, H("td", {title: percent(f[0], whole)}, count(f[0])), H("td", {title: percent(f[1], whole)}, count(f[1])), H("td", {title: names[f[2]].slice(0, 2000)}, names[f[2]].slice(0, 500)));
	}));
};

// ---- the frame around the graph ----

const field = k => (header.find(h => h[0] === k) || [])[1];
const summary = () => {
	const total = diff ? count(base.all[0][0]) + " → " + count(base.all[1][0]) : count(base.all[0][0]);
	return [total + " " + unit, ...["event", "sampled", "host", "command"].filter(field).map(k => k + " " + field(k))].join(" · ");
};
const found = H("span", {role: "status", class: "found"});
const box = H("input", {type: "search", placeholder: "Search (regular expression)", "aria-label": "Search, regular expression", spellcheck: "false",
	input: () => go({q: box.value}, true),
	keydown: e => { if (e.key === "Enter") { e.preventDefault(); step(e.shiftKey ? -1 : 1); } }});
const toggle = (label, title, k) => {
	const b = button(label, title, () => go({[k]: state[k] ? 0 : 1, ...(["leaves", "fold"].includes(k) ? {z: -1} : {})}), false);
	b.update = () => b.setAttribute("aria-pressed", !!state[k]);
	return b;
};
const choice = (title, values, k) => {
	const e = H("select", {"aria-label": title, title: title, change: () => go({[k]: typeof state[k] === "number" ? +e.value : e.value, z: -1})}, ...values.map(([v, label]) => H("option", {value: v}, label)));
	e.update = () => e.value = state[k];
	return e;
};
const processes = [];
for (let i = 1; i < base.n; i = base.end[i]) if (base.name[i] !== thin) processes.push(names[base.name[i]]);
const tools = [toggle("Aa", "Ignore case", "ci"), toggle("Icicle", "Root on top (v)", "ice"), toggle("Leaves", "Merge from the leaves (m)", "leaves"), toggle("Fold", "Fold direct recursion (r)", "fold"), toggle("Table", "Table of functions (t)", "table")];
if (diff) tools.push(choice("Widths", [["after", "after"], ["before", "before"], ["change", "change"]], "col"), toggle("Relative", "Colour by relative change", "rel"), toggle("Swap", "Swap the hues", "swap"), choice("Least change that is coloured", [[0, "all changes"], [0.1, "≥ 0.1%"], [1, "≥ 1%"], [5, "≥ 5%"]], "min"));
if (processes.length > 1) tools.push(choice("First frame", [["", "everything"], ...[...new Set(processes)].slice(0, 1000).map(p => [p, p.slice(0, 60)])], "first"));
const theme = () => state.theme || (keys.theme !== "auto" && keys.theme) || (matchMedia("(prefers-color-scheme:dark)").matches ? "dark" : "light");
const saveMenu = H("select", {"aria-label": "Save", title: "Save", change: () => { [null, saveSvg, savePng, saveFolded][saveMenu.selectedIndex](); saveMenu.selectedIndex = 0; }}, ...["Save…", "View as SVG", "View as PNG", "Folded stacks"].map(s => H("option", {}, s)));
const crumbs = H("div", {class: "crumbs", "aria-label": "Path"}), chips = H("nav", {hidden: "", "aria-label": "Filters"});
const reset = button("Reset", "Reset the zoom (Esc)", () => go({z: -1}));
const [ignore, ...views] = tools;
const bar = H("nav", {"aria-label": "Tools"}, box, ignore, button("‹", "Previous match (N)", () => step(-1)), button("›", "Next match (n)", () => step(1)), button("+", "Keep this highlight (p)", () => keep()), found, ...views, saveMenu, button("◐", "Dark or light (d)", () => flip()), button("?", "Keys (?)", () => help()), reset);
const losses = ["lost", "throttled", "truncated", "unresolved"].filter(k => field(k) && !/^0(?![\d.]*[1-9.])/.test(field(k))).map(k => k + " " + field(k));
if (thin >= 0) losses.push("the lightest frames are gathered as " + names[thin]);
const head = H("header", {}, H("h1", {}, keys.title || "Flame graph"), ...(keys.subtitle ? [H("p", {}, keys.subtitle)] : []), H("p", {}, summary()), ...(losses.length ? [H("p", {class: "warn"}, losses.join(" · "))] : []), ...(keys.notes ? [H("p", {}, keys.notes)] : []));
const app = H("div", {id: "fg"}, head, bar, chips, crumbs, H("main", {}, scroll, panel), status, tip);

const flip = () => go({theme: theme() === "dark" ? "light" : "dark"});
const keep = () => { if (state.q && terms[0]) go({hl: [...state.hl, state.q], q: ""}); };
let helpBox = null;
const help = () => {
	if (helpBox) {
		helpBox.remove();
		helpBox = null;
		graph.focus({preventScroll: true});
		return;
	}
	const list = [["↑ ↓ ← →", "move between parent, child and siblings"], ["Enter", "zoom to the frame"], ["Backspace", "zoom out by one frame"], ["Esc", "close, reset the zoom, clear the search"], ["/", "search"], ["n N", "next, previous match"], ["p", "keep the highlight, search for more"], ["i, right click", "details of the frame, to select and copy; what can be done with it"], ["c C", "copy the name, the stack"], ["s", "callers and callees of the function"], ["h f", "hide the function, focus on it"], ["r", "fold recursion"], ["v", "flame or icicle"], ["m", "merge from the root or from the leaves"], ["t", "table of functions"], ["d", "dark or light"], ["?", "these keys"]];
	helpBox = H("div", {class: "pop help", role: "dialog", "aria-label": "Keys", tabindex: -1}, H("table", {}, H("tbody", {}, ...list.map(([k, what]) => H("tr", {}, H("td", {}, H("kbd", {}, k)), H("td", {}, what))))));
	app.append(helpBox);
	helpBox.focus();
};

const showCrumbs = () => {
	const path = [];
	for (let i = state.z; i >= 0; i = T.parent[i]) path.unshift(i);
	reset.disabled = state.z < 0;
	crumbs.hidden = state.z < 0;
	crumbs.replaceChildren(button("⌂", "Everything", () => go({z: -1})), ...path.flatMap(i => ["›", button(nameOf(i).slice(0, 80), nameOf(i).slice(0, 400), () => zoom(i))]));
	crumbs.scrollLeft = crumbs.scrollWidth;
};
const showChips = () => {
	const list = [];
	const chip = (label, v, without, hue) => {
		const b = button(label + " " + v + " ✕", "Remove: " + label + " " + v, () => go({...without, ...(hue ? {} : {z: -1})}));
		b.className = "chip";
		if (hue) b.style.borderColor = hue;
		list.push(b);
	};
	if (state.sand) chip("callers and callees of", state.sand, {sand: ""});
	state.focus.forEach(v => chip("only", v, {focus: state.focus.filter(x => x !== v)}));
	state.hide.forEach(v => chip("hidden:", v, {hide: state.hide.filter(x => x !== v)}));
	state.hl.forEach((v, k) => chip("/" + v + "/" + (terms[k + 1] ? " " + percent(tally(terms[k + 1])[1], viewTotal()) : ""), "", {hl: state.hl.filter(x => x !== v)}, hues[(k + 1) % hues.length]));
	chips.hidden = !list.length;
	chips.replaceChildren(...list);
};
const viewTotal = () => T.w[Math.max(state.z, 0)];

const showFound = bad => {
	box.classList.toggle("bad", !!bad);
	box.setAttribute("aria-invalid", !!bad);
	if (document.activeElement !== box) box.value = state.q;
	if (bad) found.textContent = "not a regular expression";
	else if (!terms[0]) found.textContent = "";
	else {
		const [nr, weight] = tally(terms[0]);
		found.textContent = group("" + nr) + (nr === 1 ? " match, " : " matches, ") + percent(weight, viewTotal());
	}
	found.title = bad;
};

// Everything on the page follows from state.
let lastZ = null;
const show = () => {
	reshape();
	if (!(state.z < T.n && state.z >= -1) || state.z !== Math.floor(state.z)) state.z = -1;
	app.setAttribute("data-theme", theme());
	if (keys.background && theme() === "light") app.style.setProperty("--bg", keys.background);
	else app.style.removeProperty("--bg");
	const bad = seek();
	showFound(bad);
	tools.forEach(t => t.update());
	panel.hidden = !state.table;
	showChips();
	showCrumbs();
	if (state.table) fillTable();
	size();
	const now = [state.z, state.ice, shape].join();
	if (now !== lastZ) {
		lastZ = now;
		const y = yOf(state.z >= 0 ? T.row[state.z] : 0), h = scroll.clientHeight;
		scroll.scrollTop = state.ice ? Math.max(0, y - h / 3) : y + rowHeight * 6 - h;
	}
	draw();
};
const size = () => {
	width = keys.width ? Math.max(50, +keys.width - 20) : Math.max(50, scroll.clientWidth - 20);
	extent();
	graph.setAttribute("width", width);
	graph.setAttribute("height", (top - bottom + 1) * rowHeight);
};
// replace: no entry of its own in the history (typing)
const go = (changes, replace) => {
	state = {...state, ...changes};
	show();
	const hash = toHash(state);
	if (hash === written) return;
	written = hash;
	if (replace) location.replace("#" + hash);
	else location.hash = hash;
};
const zoom = i => {
	const was = cur;
	go({z: i === 0 && !T.goneAt ? -1 : i});
	cur = was < 0 ? was : i;
	mark();
	say(i);
};
const select = i => {
	cur = i;
	const y = yOf(T.row[i]), h = scroll.clientHeight;
	if (y < scroll.scrollTop) scroll.scrollTop = y - rowHeight;
	else if (y + rowHeight * 2 > scroll.scrollTop + h) scroll.scrollTop = y + rowHeight * 2 - h;
	draw();
	say(i);
};
const pixels = i => {
	const [z0, z1] = range();
	return T.wide[i] * width / (z1 - z0 || 1);
};
// to the next match, wherever it hides
const step = (direction, from0) => {
	const hit = terms[0];
	if (!hit) return;
	const from = Math.max(state.z, 0), end = state.z >= 0 ? T.end[state.z] : T.n;
	let i = from0 || !isUnder(cur, state.z) || cur < 0 ? (direction > 0 ? from - 1 : end) : cur;
	for (let k = end - from; k > 0; k--) {
		i += direction;
		if (i >= end) i = from;
		if (i < from) i = end - 1;
		if (T.name[i] >= 0 && hit[T.name[i]] && T.w[i]) {
			if (pixels(i) < 3) go({z: T.parent[i]});
			if (pixels(i) < 3) go({z: i});
			select(i);
			return;
		}
	}
};
const walk = (dx, dy) => {
	if (cur < 0) return select(Math.max(state.z, 0));
	const p = T.parent[cur];
	let to = -1;
	const wanted = T.row[cur] + (state.ice ? dy : -dy);
	if (dx) {
		const k = T.byRow.subarray(T.rows[T.row[cur] - T.low], T.rows[T.row[cur] - T.low + 1]);
		let low = 0, high = k.length - 1;
		while (low < high) {
			const mid = low + high >> 1;
			if (k[mid] < cur) low = mid + 1;
			else high = mid;
		}
		for (low += dx; low >= 0 && low < k.length && !T.w[k[low]]; low += dx);
		if (low >= 0 && low < k.length && (isUnder(k[low], state.z))) to = k[low];
	} else if (p >= 0 && T.row[p] === wanted) to = p;
	else {
		let heaviest = zero;
		const from = T.row[cur] === 0 && wanted < 0 ? T.split || T.n : cur + 1;
		for (let i = from, end = T.end[cur]; i < end; i = T.end[i])
			if (T.row[i] === wanted && T.w[i] > heaviest) [heaviest, to] = [T.w[i], i];
	}
	if (to >= 0) select(to);
};

// ---- events ----

graph.addEventListener("click", e => {
	if (unpin()) return;
	const i = frameAt(e);
	if (i >= 0) {
		tip.hidden = true;
		zoom(i);
	}
});
graph.addEventListener("mousemove", e => {
	const i = frameAt(e);
	graph.style.cursor = i >= 0 ? "pointer" : "default";
	hover(i, e.clientX, e.clientY);
});
graph.addEventListener("mouseleave", () => { tip.hidden = true; });
graph.addEventListener("contextmenu", e => {
	const i = frameAt(e);
	if (i < 0) return;
	e.preventDefault();
	pin(i, e.clientX, e.clientY);
});
let waiting = false;
scroll.addEventListener("scroll", () => {
	tip.hidden = true;
	if (waiting) return;
	waiting = true;
	requestAnimationFrame(() => {
		waiting = false;
		draw();
	});
});
const onName = f => { if (cur >= 0 && T.name[cur] >= 0) f(names[T.name[cur]]); };
const onKey = {
	ArrowUp: () => walk(0, -1), ArrowDown: () => walk(0, 1), ArrowLeft: () => walk(-1, 0), ArrowRight: () => walk(1, 0),
	Enter: () => { if (cur >= 0) zoom(cur); },
	Backspace: () => { if (state.z >= 0) zoom(Math.max(T.parent[state.z], 0)); },
	"/": () => { box.focus(); box.select(); },
	n: () => step(1), N: () => step(-1), p: keep, "?": help, d: flip,
	v: () => go({ice: state.ice ? 0 : 1}), m: () => go({leaves: state.leaves ? 0 : 1, sand: "", z: -1}), r: () => go({fold: state.fold ? 0 : 1, z: -1}), t: () => go({table: state.table ? 0 : 1}),
	s: () => onName(name => go({sand: name, z: -1})), h: () => onName(name => go({hide: [...state.hide, name], z: -1})), f: () => onName(name => go({focus: [...state.focus, name], z: -1})),
	c: () => { if (cur >= 0) copy(nameOf(cur)); }, C: () => { if (cur >= 0) copy(stackOf(cur).join("\n")); },
	i: () => { if (cur >= 0) { const r = ring.getBoundingClientRect(); pin(cur, r.left, r.top); } }
};
document.addEventListener("keydown", e => {
	if (e.ctrlKey || e.metaKey || e.altKey) return;
	const typing = e.target instanceof Element && e.target.matches("input,select,textarea");
	if (e.key === "Escape") {
		e.preventDefault();
		if (unpin()) return;
		if (helpBox) return help();
		tip.hidden = true;
		if (typing) return graph.focus({preventScroll: true});
		if (state.z >= 0) return go({z: -1});
		if (state.q) return go({q: ""});
		return go({hide: [], focus: [], sand: "", first: "", hl: []});
	}
	if (typing || e.key === "Enter" && e.target !== graph) return;
	const f = Object.prototype.hasOwnProperty.call(onKey, e.key) && onKey[e.key];
	if (!f) return;
	e.preventDefault();
	tip.hidden = true;
	f();
});
window.addEventListener("hashchange", () => {
	const hash = location.hash.replace(/^#/, "");
	if (hash === written) return;
	written = hash;
	state = fromHash(hash);
	show();
});
window.addEventListener("resize", () => { size(); draw(); });
matchMedia("(prefers-color-scheme:dark)").addEventListener("change", show);

// ---- start: the static picture gives way ----

block.remove();
if (document.documentElement === root) {
	document.getElementById("flame-static").remove();
	root.removeAttribute("viewBox");
	root.removeAttribute("role");
	root.setAttribute("width", "100%");
	root.setAttribute("height", "100%");
	root.append(S("foreignObject", {x: 0, y: 0, width: "100%", height: "100%"}, app));
	document.title = keys.title || "Flame graph";
} else {
	document.body.style.margin = 0;
	root.querySelector("#flame-static").remove();
	root.setAttribute("style", "display:none");
	document.body.append(app);
}
if (keys.width) app.style.minWidth = "0";
written = location.hash.replace(/^#/, "");
state = fromHash(written);
show();
window.flame = {go, zoom, select, get state() { return state; }, get tree() { return T; }, names, folded, picture, frameAt, range, get cur() { return cur; }};
document.documentElement.setAttribute("data-ready", "1");
performance.mark("flame-ready");
})();
