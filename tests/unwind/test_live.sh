#!/bin/bash
# Recordings with stack copies made here: how many stacks are whole, and that
# nothing is guessed where that is not wanted.
# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"
# record FILE COMMAND...; perf itself aborts now and then
record() {
	local file=$1
	shift
	for _ in 1 2 3; do
		perf_record -F 999 --call-graph dwarf,32768 -m 4M -o "$file" "$@" \
			>/dev/null 2>&1 && [ -s "$file" ] && return 0
	done 2>/dev/null
	return 1
}

# share FILE [OPTION]...: of the stacks that reached the bottom, in percent
share() {
	local file=$1
	shift
	collapse "$@" --input-check "$file" 2>/dev/null | sed -n '/^unwinding:/,/^$/p' | tr -d , |
		awk '$1 > 0 { all += $1; if (/bottom reached/) whole += $1 }
			END { print all ? int(100 * whole / all) : -1 }'
}

at_least() { [ "$1" -ge "$2" ] || { echo "$1 %, not $2 %"; false; }; }
below() { [ "$1" -ge 0 ] && [ "$1" -lt "$2" ] || { echo "$1 %, not below $2 %"; false; }; }

if ! record "$work/true" perl -e '1 for 1 .. 3000000'; then
	skip "unwind live: perf cannot record here"
	exit
fi
check "perl: whole stacks" at_least "$(share "$work/true")" 97

# fib() calls itself, so its frames are many; without rules there is one
strict_jit() {
	collapse --unwind strict "$work/jit" 2>/dev/null |
		awk '/(JS|LazyCompile|Function):.*fib/ { all += $NF; if (/:[^;]*fib.*;(JS|LazyCompile|Function):[^;]*fib/) deep += $NF }
			END { print deep + 0 " of " all + 0; exit !(all > 20 && deep > all * 0.9) }'
}

cat >"$work/script.js" <<'END'
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
let total = 0;
for (let i = 0; i < 3; i++) total += [5, 3, 1].map((n) => fib(27 + n)).sort((a, b) => a - b)[0];
console.log(total);
END
if command -v node >/dev/null && record "$work/node" node "$work/script.js"; then
	check "node: whole stacks through code made at run time" at_least "$(share "$work/node")" 95
	(cd "$work" && record "$work/jit" -k mono node --perf-prof --perf-prof-unwinding-info "$work/script.js")
	check "node: code that brings its unwinding information" at_least "$(share "$work/jit")" 95
	# node itself has code without: the walk ends there, behind what its JIT made
	check "node: the same by rules alone" strict_jit
	check "node: strict ends there" below "$(share "$work/node" --unwind strict)" 60
else
	skip "unwind live: no node"
fi

for version in 3.12 3.13; do
	python=$(ls -d ~/.pyenv/versions/$version.*/bin/python3 /usr/bin/python$version 2>/dev/null | head -n 1)
	[ -n "$python" ] || { skip "unwind live: no python $version"; continue; }
	echo 'f = lambda n: n if n < 2 else f(n - 1) + f(n - 2)
print(f(24))' >"$work/script.py"
	record "$work/python" "$python" -X perf "$work/script.py"
	check "python $version: whole stacks through its trampolines" at_least "$(share "$work/python")" 95
done
