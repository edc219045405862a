// flame-page.js - what stands around the graph, and what the user does with it.
// Follows flame-graph.js. Names only ever become text nodes.

// ---- what is said about a frame ----

const moduleOf = s => (/\[([^\]]+)\]$/.exec(s) || / \(([^():]+)[^()]*\)$/.exec(s) || /^([^`]+)`/.exec(s) || [])[1];
const kinds = {k: "kernel", i: "inlined", j: "JIT-compiled", w: "waker"};
const about = i => {
	const name = nameOf(i), out = [name], n = T.name[i], z = max(state.z, 0), all = T.all;
	const note = n >= 0 && keys["title." + n];
	if (note) out.push(note);
	if (diff) {
		out.push("before " + count(all[0][i]) + " (" + percent(all[0][i], base.all[0][0]) + "), after " + count(all[1][i]) + " (" + percent(all[1][i], base.all[1][0]) + ")" + tail);
		out.push("change " + change(all[0][i], all[1][i]) + ", " + relative(all[0][i], all[1][i]));
	} else {
		out.push(count(all[0][i]) + tail + ", " + percent(all[0][i], base.all[0][0]) + " of all, " + percent(all[0][i], all[0][z]) + " of this view");
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
	e.style.left = max(4, min(x - box.left + 14, box.width - e.offsetWidth - 6)) + "px";
	e.style.top = max(4, y - box.top + 18 + e.offsetHeight > box.height ? y - box.top - e.offsetHeight - 10 : y - box.top + 18) + "px";
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
	refocus();
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
		acts.append(act("Callers and callees", "What calls it and what it calls", () => go({sand: name, z: -1})), act("Hide", "Hide it: its children join its parent", () => go({hide: [...state.hide, name], z: -1})), act("Focus", "Keep only stacks with it", () => go({focus: [...state.focus, name], z: -1})), act("Highlight", "Highlight this name", () => go({hl: [...state.hl, "^" + escapeRegExp(name) + "$"]})));
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
		refocus();
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
	const head = 60, rows = min(top - bottom + 1, MAX_SAVED_ROWS), svg = S("svg", {xmlns: svgns, width: width + 20, height: rows * rowH + head + 10});
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
const drawn = () => new Blob(['<?xml version="1.0" encoding="UTF-8"?>\n' + picture()], {type: "image/svg+xml"});
const saveSvg = () => save(drawn(), "flame-view.svg");
const savePng = () => {
	const image = new Image(), url = URL.createObjectURL(drawn());
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
	return [total + tail, ...["event", "sampled", "host", "command"].filter(field).map(k => k + " " + field(k))].join(" · ");
};
const found = H("span", {role: "status", class: "found"});
const box = H("input", {type: "search", placeholder: "Search (regex)", "aria-label": "Search, regular expression", spellcheck: "false",
	input: () => go({q: box.value}, true),
	keydown: e => { if (e.key === "Enter") { e.preventDefault(); step(e.shiftKey ? -1 : 1); } }});
const toggle = (label, title, k) => {
	const b = button(label, title, () => go({[k]: state[k] ? 0 : 1, ...(k === "leaves" ? {z: -1} : {})}), false);
	b.update = () => b.setAttribute("aria-pressed", !!state[k]);
	return b;
};
const refocus = () => graph.focus({preventScroll: true});
const foldMore = () => go({fold: state.fold > 1 ? 0 : state.fold + 1, z: -1});
const fold = button("Fold", "Fold recursion, then cycles too (r)", foldMore, false);
fold.update = () => {
	fold.setAttribute("aria-pressed", !!state.fold);
	fold.textContent = "Fold" + ["", ": direct", ": cycles"][min(state.fold, 2)];
};
const choice = (title, values, k) => {
	const e = H("select", {"aria-label": title, title, change: () => go({[k]: typeof state[k] === "number" ? +e.value : e.value, z: -1})}, ...values.map(([v, label]) => H("option", {value: v}, label)));
	e.update = () => e.value = state[k];
	return e;
};
const processes = [];
for (let i = 1; i < base.n; i = base.end[i]) if (base.name[i] !== thin) processes.push(names[base.name[i]]);
const tools = [toggle("Aa", "Ignore case", "ci"), toggle("Icicle", "Root on top (v)", "ice"), toggle("Leaves", "Merge from the leaves (m)", "leaves"), fold, toggle("Table", "Table of functions (t)", "table")];
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
const para = (s, look) => s ? [H("p", look, s)] : [];
const head = H("header", {}, H("h1", {}, keys.title || "Flame graph"), ...para(keys.subtitle), ...para(summary()), ...para(losses.join(" · "), {class: "warn"}), ...para(keys.notes));
const app = H("div", {id: "fg"}, head, bar, chips, crumbs, H("main", {}, scroll, panel), status, tip);

const flip = () => go({theme: theme() === "dark" ? "light" : "dark"});
const keep = () => { if (state.q && terms[0]) go({hl: [...state.hl, state.q], q: ""}); };
let helpBox = null;
const help = () => {
	if (helpBox) {
		helpBox.remove();
		helpBox = null;
		refocus();
		return;
	}
	const list = [["↑ ↓ ← →", "move between parent, child and siblings"], ["Enter", "zoom to the frame"], ["Backspace", "zoom out by one frame"], ["Esc", "close, reset the zoom, clear the search"], ["/", "search"], ["n N", "next, previous match"], ["p", "keep the highlight, search for more"], ["i, right click", "details, to select and copy; actions"], ["c C", "copy the name, the stack"], ["s", "callers and callees of the function"], ["h f", "hide the function, focus on it"], ["r", "fold recursion, then cycles too"], ["v", "flame or icicle"], ["m", "merge from root or leaves"], ["t", "table of functions"], ["d", "dark or light"], ["?", "these keys"]];
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
const viewTotal = () => T.w[max(state.z, 0)];

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
		scroll.scrollTop = state.ice ? max(0, y - h / 3) : y + rowH * 6 - h;
	}
	draw();
};
const size = () => {
	width = keys.width ? max(50, +keys.width - 20) : max(50, scroll.clientWidth - 20);
	extent();
	graph.setAttribute("width", width);
	graph.setAttribute("height", (top - bottom + 1) * rowH);
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
	if (y < scroll.scrollTop) scroll.scrollTop = y - rowH;
	else if (y + rowH * 2 > scroll.scrollTop + h) scroll.scrollTop = y + rowH * 2 - h;
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
	const from = max(state.z, 0), end = state.z >= 0 ? T.end[state.z] : T.n;
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
	if (cur < 0) return select(max(state.z, 0));
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
	Backspace: () => { if (state.z >= 0) zoom(max(T.parent[state.z], 0)); },
	"/": () => { box.focus(); box.select(); },
	n: () => step(1), N: () => step(-1), p: keep, "?": help, d: flip,
	v: () => go({ice: state.ice ? 0 : 1}), m: () => go({leaves: state.leaves ? 0 : 1, sand: "", z: -1}), r: foldMore, t: () => go({table: state.table ? 0 : 1}),
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
		if (typing) return refocus();
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
