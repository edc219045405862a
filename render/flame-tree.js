// flame-tree.js - the data block that share/svgdata.h describes, and the trees
// that views make from it. First of the files that source.c joins into one
// function; names in it are seen by those that follow.

const {min, max} = Math;
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

// Where a name is on the path to k already: at k itself, or anywhere; 0 is nowhere.
const again = (trie, k, name, anywhere) => {
	for (; k && trie.name[k] !== name; k = trie.parent[k]) if (!anywhere) return 0;
	return k;
};

// hide, focus, fold recursion (1: direct, 2: cycles too), first frame: one walk from the root
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
			to[i] = is(n => s.hide.includes(n), i) ? up : s.fold && again(trie, up, t.name[i], s.fold > 1) || (ordered ? trie.push(up, t.name[i]) : trie.child(up, t.name[i]));
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
