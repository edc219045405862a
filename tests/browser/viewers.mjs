// Opens what test_viewers.sh wrote; prints ok / not ok lines.
import { chromium } from "playwright-core";
import Ajv from "ajv";
import { readFileSync, writeFileSync } from "node:fs";

const [, , executablePath, dir, total] = process.argv;
const speedscope = new URL("node_modules/speedscope/dist/release/", import.meta.url);
let failed = 0;

const load = name => JSON.parse(readFileSync(`${dir}/${name}`, "utf8"));
const truth = (value, what) => { if (!value) throw new Error(what); };
const test = async (name, run) => {
	try {
		await run();
		console.log(`ok ${name}`);
	} catch (e) {
		failed++;
		console.log(`not ok ${name}\n    ${String(e.message).split("\n")[0]}`);
	}
};

// ---- speedscope ----

const schema = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(new URL("file-format-schema.json", speedscope), "utf8")));
const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"] });
for (const name of ["rec", "plain"]) {
	const file = `${name}.speedscope.json`;
	const profile = load(file);
	await test(`speedscope's schema holds for ${file}`, () => truth(schema(profile), JSON.stringify(schema.errors)));
	await test(`${file} holds all samples`, () => {
		const sum = profile.profiles.flatMap(p => p.weights).reduce((a, b) => a + b, 0);
		truth(String(sum) === total, `the sum is ${sum}, not ${total}`);
	});
	// as speedscope's own command line hands a file to its page
	await test(`speedscope opens ${file}`, async () => {
		const script = `${dir}/${name}.js`;
		writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(file)}, ${JSON.stringify(readFileSync(`${dir}/${file}`).toString("base64"))})`);
		const page = await browser.newPage();
		const troubles = [];
		page.on("pageerror", e => troubles.push(e.message));
		await page.goto(new URL("index.html", speedscope).href + `#localProfilePath=${script}`);
		await page.getByText(profile.profiles[0].name).first().waitFor({ timeout: 20000 });
		await page.screenshot({ path: `${dir}/${name}.png` });
		truth(!troubles.length, troubles[0]);
		await page.close();
	});
}
await browser.close();

// ---- the Firefox profiler: its page is on the network only, so its tables are checked ----

const column = (table, key, what, size, optional) => {
	truth(table[key].length === table.length, `${what}.${key} has ${table[key].length} rows, not ${table.length}`);
	for (const value of table[key])
		truth((optional && (value === null || value === -1)) || (Number.isInteger(value) && value >= 0 && value < size), `${what}.${key} has ${value}, of ${size}`);
};
for (const name of ["rec", "plain"]) {
	const profile = load(`${name}.firefox.json`);
	await test(`the tables of ${name}.firefox.json refer to each other`, () => {
		for (const t of profile.threads) {
			column(t.samples, "stack", "samples", t.stackTable.length, true);
			column(t.stackTable, "frame", "stackTable", t.frameTable.length);
			column(t.stackTable, "prefix", "stackTable", t.stackTable.length, true);
			column(t.stackTable, "category", "stackTable", profile.meta.categories.length);
			column(t.frameTable, "func", "frameTable", t.funcTable.length);
			column(t.funcTable, "name", "funcTable", t.stringArray.length);
			column(t.funcTable, "fileName", "funcTable", t.stringArray.length, true);
			column(t.funcTable, "resource", "funcTable", t.resourceTable.length, true);
			column(t.resourceTable, "lib", "resourceTable", profile.libs.length);
			column(t.resourceTable, "name", "resourceTable", t.stringArray.length);
			t.stackTable.prefix.forEach((p, i) => truth(p === null || p < i, `stack ${i} comes before its prefix ${p}`));
			t.samples.time.forEach((at, i) => truth(i === 0 || at >= t.samples.time[i - 1], "time goes back"));
			truth(t.samples.time.length === t.samples.length && t.samples.weight.length === t.samples.length, "samples lack times or weights");
		}
	});
	await test(`${name}.firefox.json holds all samples`, () => {
		const sum = profile.threads.flatMap(t => t.samples.weight).reduce((a, b) => a + b, 0);
		truth(String(sum) === total, `the sum is ${sum}, not ${total}`);
	});
}
await test("a recording keeps its threads, libraries, lines and times", () => {
	const profile = load("rec.firefox.json");
	truth(profile.threads.length > 1, `${profile.threads.length} threads`);
	truth(profile.libs.some(l => l.name === "busy" && /^[0-9a-f]{40}$/.test(l.codeId)), "no build-id of the program");
	truth(profile.threads.some(t => t.frameTable.line.some(l => l > 0)), "no lines");
	truth(profile.threads.some(t => t.samples.time.at(-1) > 100), "no times");
});
process.exit(failed ? 1 : 0);
