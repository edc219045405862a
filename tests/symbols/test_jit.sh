#!/bin/bash
# Code made at run time, by real runtimes: names from perf-PID.map and from
# jit-PID.dump.
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 1

if ! can_sample; then
	skip 'JIT names: perf events are not permitted here'
	exit 0
fi

has_chain() { # FILE FRAME...: a stack with these frames in this order
	local file=$1 pattern=
	shift
	for frame; do pattern+="$frame[^;]*;.*"; done
	grep -qE "${pattern%;.\*}" "$file" || { head -n 5 "$file" | cut -c1-400; false; }
}

js='(JS|LazyCompile|Function):[~^*+]' # as node's versions call it
cat >spin.js <<'JS'
function hotLeaf(x) { let s = 0; for (let i = 0; i < 1000; i++) s += i * x % 7; return s; }
function middleFn(x) { return hotLeaf(x) + hotLeaf(x + 1); }
const cpu = () => process.cpuUsage().user / 1000;
const end = cpu() + 700; let t = 0;
while (cpu() < end) for (let i = 0; i < 1000; i++) t += middleFn(t & 7);
JS
if command -v node >/dev/null; then
	collect -q -F 499 --call-graph fp -o map.data -- sh -c 'echo $$ >pid; exec "$@"' - node --perf-basic-prof --no-turbo-inlining spin.js >/dev/null 2>&1
	collapse map.data >map.folded 2>/dev/null
	check 'node --perf-basic-prof: names from the map' has_chain map.folded main "$js*middleFn" "$js*hotLeaf"
	perf_record -k mono -F 499 -g -o dump.data node --perf-prof --no-turbo-inlining spin.js >/dev/null 2>&1
	collapse dump.data >dump.folded 2>/dev/null
	check 'node --perf-prof: names from the jitdump' has_chain dump.folded "$js*middleFn" "$js*hotLeaf"
	collapse --srcline dump.data >dump.lines 2>/dev/null
	check 'node --perf-prof: with lines, the same stacks' cmp <(sed -E 's/ \([^;]*:[0-9]+\)//g' dump.folded | cut -d' ' -f1 | sort -u) <(sed -E 's/ \([^;]*:[0-9]+\)//g' dump.lines | cut -d' ' -f1 | sort -u)
	rm -f "/tmp/perf-$(cat pid).map"
else
	skip 'node: not installed'
fi

# it tells of its code with GDB's interface only: frames of code without a name
if command -v luajit >/dev/null; then
	cat >spin.lua <<'LUA'
local function leaf(x) local s = 0 for i = 1, 1000 do s = s + i * x % 7 end return s end
local t, stop = 0, os.clock() + 0.7
while os.clock() < stop do t = t + leaf(3) end
print(t)
LUA
	collect -q -F 499 --call-graph fp -o lua.data -- luajit spin.lua >/dev/null 2>&1
	collapse lua.data >lua.folded 2>/dev/null
	check 'luajit: its traces, which have no names, are told from what is unknown' grep -qE '^luajit;.*\[(jit|unknown)\]' lua.folded
	check 'luajit: the interpreter has names' grep -qE 'lua_pcall|lj_|\[luajit\]|libluajit' lua.folded
else
	skip 'luajit: not installed'
fi

cat >Spin.java <<'JAVA'
public class Spin {
	static long leaf(long x) { long s = 0; for (int i = 0; i < 1000; i++) s += i * x % 7; return s; }
	static long middle(long x) { return leaf(x) + leaf(x + 1); }
	public static void main(String[] a) throws Exception {
		long t = 0, end = System.currentTimeMillis() + 300000;
		while (System.currentTimeMillis() < end) t += middle(t & 7);
		System.out.println(t);
	}
}
JAVA
# a map is written when the process is asked for it (JDK 17)
if command -v java >/dev/null && command -v jcmd >/dev/null; then
	java -XX:+PreserveFramePointer -XX:CompileCommand=dontinline,Spin::leaf -XX:-UseOnStackReplacement \
		Spin.java >/dev/null 2>&1 &
	java=$!
	mapped() {
		timeout 60 jcmd $java Compiler.perfmap >said 2>&1
		grep -q 'Unknown diagnostic command' said || grep -q 'Spin.middle' /tmp/perf-$java.map
	}
	await mapped
	collect -q -F 499 --call-graph fp --duration 1 -p $java -o java.data >/dev/null 2>&1
	collapse java.data >java.folded 2>/dev/null
	kill $java 2>/dev/null
	wait $java 2>/dev/null
	if [ -s /tmp/perf-$java.map ]; then
		check 'java: names from the map of jcmd Compiler.perfmap' grep -q 'Spin.leaf' java.folded
	else
		skip 'java: this version has no Compiler.perfmap'
	fi
	rm -f /tmp/perf-$java.map
else
	skip 'java: no java and jcmd'
fi
