// flame-graph.js - from the state to frames on the screen: what the view
// holds, where each frame is, and how it is drawn. Follows flame-tree.js.

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
const button = (label, title, click, pressed) => H("button", {type: "button", title, "aria-label": title, "aria-pressed": pressed === undefined ? null : pressed, click}, label);

const unit = keys.count || "samples";
const group = s => s.replace(/\B(?=(\d{3})+$)/g, ",");
const digits = v => {
	let s = v.toString(), sign = "";
	if (s[0] === "-") [sign, s] = ["-", s.slice(1)];
	if (!scale) return sign + group(s);
	s = s.padStart(scale + 1, "0");
	const part = s.slice(-scale).replace(/0+$/, "");
	return sign + group(s.slice(0, -scale)) + (part && "." + part);
};
// how many microseconds the unit has, where it is one of time
const us = {microseconds: 1, nanoseconds: 1e-3}[unit], tail = us ? "" : " " + unit;
const count = v => {
	let t = us * Number(v) / 10 ** scale, i = 0;
	for (; Math.abs(t) >= 1e3 && i < 2; i++) t /= 1e3;
	return us ? (t ? t.toFixed(3).replace(/\d+/, group) : 0) + [" us", " ms", " s"][i] : digits(v);
};
const plain = v => digits(v).replace(/,/g, "");
const percent = (v, of) => (Number(of) ? 100 * Number(v) / Number(of) : 0).toFixed(2) + "%";
const change = (b, a) => (a > b ? "+" : "") + count(a - b);
const relative = (b, a) => !b ? a ? "new" : "0.00%" : !a ? "gone" : (a >= b ? "+" : "") + percent(a - b, b);

const family = 'ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace';
const fontSize = +keys.fontsize || 12, rowH = +keys.height || 18;
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
	let low = 0, high = min(points.length - 1, Math.ceil(room));
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
	if (diff) for (let i = 1; i < T.n; i++) if (T.parent[i] >= 0) largest = max(largest, Math.abs(Number(T.all[1][i] - T.all[0][i])));
};

let shape = "";
const reshape = () => {
	const s = state, now = JSON.stringify([s.leaves, s.sand, s.hide, s.focus, s.fold, s.first, s.col]);
	if (now === shape) return;
	shape = now;
	T = sift(base, s);
	if (s.sand && find(s.sand) >= 0) {
		const whole = T;
		T = sandwich(T, find(s.sand));
		T.whole = whole;
	} else {
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
// The weight of stacks through the function in the middle that match above,
// in or below it. The halves do not say which of their stacks are the same.
const tallyStacks = hit => {
	const t = T.whole, w = t.all[diff && state.col === "after" ? 1 : 0], name = names[T.name[0]];
	let weight = zero, hitEnd = 0, middleEnd = 0;
	for (let i = 1; i < t.n; i++) {
		const isHit = hit[t.name[i]], begins = i >= middleEnd && names[t.name[i]] === name;
		if (begins) middleEnd = t.end[i];
		if (begins ? isHit || i < hitEnd : isHit && i < middleEnd && i >= hitEnd) weight += w[i];
		if (isHit && i >= hitEnd) hitEnd = t.end[i];
	}
	return weight;
};
// frames that match in the current view, and their weight, nested ones once
const tally = hit => {
	let nr = 0, weight = zero, until = -1;
	const from = max(state.z, 0), to = state.z >= 0 ? T.end[state.z] : T.goneAt || T.n;
	for (let i = from; i < to; i++) {
		if (T.name[i] < 0 || !hit[T.name[i]]) continue;
		nr++;
		if (i >= until && !(T.whole && i >= T.split && !from)) {
			weight += T.w[i];
			until = T.whole && !i ? T.split : T.end[i];
		}
	}
	// changes of merged frames do not add up to those of stacks
	return [nr, T.whole && !from && (!diff || state.col !== "change") ? tallyStacks(hit) : weight];
};

const mix = (a, b, share) => "#" + [16, 8, 0].map(s => Math.round((a >> s & 255) + ((b >> s & 255) - (a >> s & 255)) * share).toString(16).padStart(2, "0")).join("");
const colour = i => {
	const name = T.name[i];
	if (name >= 0) for (let t = 0; t < terms.length; t++) if (terms[t] && terms[t][name]) return hues[t % hues.length];
	if (diff) {
		const b = Number(T.all[0][i]), a = Number(T.all[1][i]), d = a - b, of = state.rel ? max(a, b) : largest;
		let share = of ? min(1, Math.abs(d) / of) : 0;
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

const yOf = row => (state.ice ? row - bottom : top - row) * rowH;
const isUnder = (i, z) => z < 0 || i >= z && i < T.end[z];
const isAbove = (i, z) => i < z && z < T.end[i] && !(T.split && !T.goneAt && i && i < T.split && z >= T.split);

// rows that hold something half a pixel wide
const extent = () => {
	const [z0, z1] = range(), least = (z1 - z0) / max(width, 1) / 2, z = state.z;
	top = T.low;
	bottom = min(0, z > 0 ? T.row[z] : 0);
	for (let i = max(z, 0), end = z >= 0 ? T.end[z] : T.n; i < end; i++) {
		if (T.wide[i] < least) {
			if (i !== z) i = T.end[i] - 1;
			continue;
		}
		if (T.row[i] > top) top = T.row[i];
		if (T.row[i] < bottom) bottom = T.row[i];
	}
	top = max(top, 0);
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
			const e = s + T.wide[i], x2 = min(width, (e - z0) * px);
			if (x2 - drawn < 0.8 || e === s) {
				// leap over what is too thin to see: twice as far each time, then halve
				const beyond = k => T.start[T.byRow[k]] + T.wide[T.byRow[k]] >= z0 + (drawn + 0.8) / px;
				let leap = 1;
				while (low + leap < end && !beyond(low + leap)) leap *= 2;
				for (let stop = min(low + leap, end); low + 1 < stop;) {
					const mid = low + stop >> 1;
					if (beyond(mid)) stop = mid;
					else low = mid;
				}
				continue;
			}
			const above = z >= 0 && isAbove(i, z);
			if (!above && !isUnder(i, z)) continue;
			const x = max(0, drawn, (s - z0) * px);
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
const patterns = {rect: S("rect", {height: rowH - 1, stroke: keys.stroke || null}), text: S("text")};
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
			const wide = max(1, Math.round(w)), key = fill + wide, list = slivers.get(key);
			const d = "M" + (Math.round(x) + wide / 2) + " " + y + "v" + (rowH - 1);
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
		if (T.goneAt && i >= T.goneAt) marked += "M" + x.toFixed(1) + " " + y + "h" + wide + "v" + (rowH - 1) + "h-" + wide + "z";
		const s = fit(nameOf(i), w - 7);
		if (s) {
			const t = texts.next();
			put(t, "x", Math.round((x + 3) * 100) / 100);
			put(t, "y", y + rowH / 2 + fontSize * 0.35 - 0.5);
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
	const r0 = Math.floor(from / rowH) - 2, r1 = Math.ceil((from + height) / rowH) + 2;
	const rowAt = r => state.ice ? r + bottom : top - r;
	const a = rowAt(r0), b = rowAt(r1);
	paint(max(min(a, b), bottom), min(max(a, b), top), {rects, words, thins, hatched});
	mark();
};
// the ring around the selected frame
const mark = () => {
	const [z0, z1] = range(), px = width / (z1 - z0 || 1);
	if (cur < 0 || T.start[cur] >= z1 || T.start[cur] + Number(T.w[cur]) <= z0) {
		ring.setAttribute("display", "none");
		return;
	}
	const x = max(0, (T.start[cur] - z0) * px), x2 = min(width, (T.start[cur] + Number(T.w[cur]) - z0) * px);
	ring.removeAttribute("display");
	for (const [k, v] of [["x", x + 1], ["y", yOf(T.row[cur]) + 1], ["width", max(x2 - x - 2.5, 1)], ["height", rowH - 3], ["aria-level", Math.abs(T.row[cur]) + 1], ["aria-label", about(cur)[0] + ", " + about(cur)[1]]]) ring.setAttribute(k, v);
};

const frameAt = event => {
	const box = graph.getBoundingClientRect(), y = event.clientY - box.top, x = event.clientX - box.left;
	const r = Math.floor(y / rowH), row = state.ice ? r + bottom : top - r;
	let found = -1;
	if (row >= T.low && row <= T.high && row >= bottom && row <= top && x >= 0 && x <= width)
		visible(row, row, (i, left, w) => { if (x >= left && x < left + max(w, 1)) found = i; });
	return found;
};
