#!/bin/bash
# Stacks of programs that make them in unusual ways, recorded here with copies
# of the stack: the chains are known from the source (programs.c and others).
# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"
here=$TOP/tests/unwind
export LC_ALL=C

# record NAME COMMAND...: $work/NAME.data and its stacks, without marks, as $work/NAME.folded
record() {
	local name=$1
	shift
	for _ in 1 2 3; do
		perf_record -F 1999 --call-graph dwarf,32768 -m 4M -o "$work/$name.data" "$@" \
			>/dev/null 2>&1 && break
	done 2>/dev/null
	collapse -q --no-annotate "$work/$name.data" >"$work/$name.folded" 2>/dev/null
}

if ! record true perl -e '1 for 1 .. 300000' || [ ! -s "$work/true.folded" ]; then
	skip "unwind programs: perf cannot record here"
	exit
fi

# chain NAME PATTERN LEAF [SHARE]: of the stacks whose innermost frames match
# LEAF, in user code, SHARE per cent (98) match PATTERN from behind the name of
# the program on
chain() {
	awk -v pattern="^[^;]*;$2\$" -v leaf=";$3\$" -v least="${4:-98}" '
		/^#/ { next }
		{ n = $NF; sub(/ [0-9]+$/, "") }
		$0 ~ leaf { all += n; if ($0 ~ pattern) right += n; else print "not so: " n " " substr($0, 1, 250) }
		END { print right + 0 " of " all + 0; exit !(all >= 5 && right * 100 >= all * least) }' "$work/$1.folded"
}
# whole NAME PER-CENT: so many of the stacks reach the bottom
whole() {
	awk -v least="$2" '/^#/ { next } { all += $NF; if (!/;[[]truncated[]]/) n += $NF }
		END { print n + 0 " of " all + 0; exit !(all >= 20 && n * 100 >= all * least) }' "$work/$1.folded"
}

# try NAME COMPILER...: programs.c
try() {
	local name=$1
	shift
	"$@" -fomit-frame-pointer "$here/programs.c" -o "$work/program" 2>"$work/log" || {
		skip "unwind programs: $* does not build it here"
		return
	}
	record "$name" "$work/program"
	check "$name: alloca and aligned frames" chain "$name" "_start;.*main;over_aligned;in_alloca;burn[^;]*" "in_alloca;burn[^;]*"
	check "$name: tail calls leave no frame" chain "$name" "_start;.*main;before_tail;(tail_last;)?burn" "before_tail;([^;]*;)?burn"
	check "$name: libc's hand-written functions" chain "$name" "_start;.*main;in_libc[^;]*(;[^;]*)*" "in_libc[^;]*;[^;]*" 95
	# the copy is of the handler's stack; the place that was interrupted is in
	# the signal's frame, its callers are not
	check "$name: handler on an alternate stack" chain "$name" "[[]truncated[]];([^;]*;)?[^;]*;handler;burn[^;]*" "handler;burn[^;]*"
}
try gcc gcc -O2
check "gcc: a stack made by makecontext" chain gcc "__start_context;coroutine;burn[^;]*" "coroutine;burn[^;]*"
try clang clang -O2
check "clang: a stack made by makecontext" chain clang "__start_context;coroutine;burn[^;]*" "coroutine;burn[^;]*"
try static-pie gcc -O3 -static-pie
check "static-pie: a stack made by makecontext" chain static-pie "__start_context;coroutine;burn[^;]*" "coroutine;burn[^;]*"
if command -v musl-gcc >/dev/null; then
	try musl musl-gcc -O2
	try musl-static musl-gcc -O2 -static
else
	skip "unwind programs: no musl-gcc"
fi

# gcc-multilib would bring the headers to where they are looked for, but drives
# out compilers for other machines
try 32-bit gcc -m32 -isystem "/usr/include/$(gcc -print-multiarch)" -O2
if g++ -std=c++20 -O2 -fomit-frame-pointer "$here/language.cc" -o "$work/language" 2>"$work/log"; then
	record language "$work/language"
	check "C++: a coroutine" chain language "_start;.*main;(resume[^;]*;)?generator[^;]*;burn.*" "generator[^;]*;burn.*"
	check "C++: landing pads" chain language "_start;.*main;(catcher[^;]*;)?(thrower[(]int[)];)*(thrower|catcher)[(]int[)] [^;]*cold[^;]*;burn[^;]*" "[^;]*cold[^;]*;burn[^;]*"
	check "C++: whole" whole language 98
else
	skip "unwind programs: no C++20"
fi
if command -v rustc >/dev/null && rustc -O "$here/panic.rs" -o "$work/panic" 2>"$work/log"; then
	record rust "$work/panic"
	check "Rust: panics" chain rust "_start;.*main;.*panic::panicker;.*drop.*;[^;]*burn[^;]*" "panic::panicker;.*drop.*;[^;]*burn[^;]*"
	check "Rust: whole" whole rust 98
else
	skip "unwind programs: no rustc"
fi
if command -v go >/dev/null && GOFLAGS=-mod=mod GO111MODULE=off go build -o "$work/routines" "$here/routines.go" 2>"$work/log"; then
	record go "$work/routines"
	check "Go: goroutines" chain go "runtime.goexit[^;]*;main.main.func1;(main.deep;)+main.burn" "main.deep;main.burn"
	check "Go: deferred calls in a panic" chain go "runtime.goexit[^;]*;main.main.func1;main.panics;.*main.panics.func1;main.burn" "main.panics.func1;main.burn"
	check "Go: whole" whole go 95
else
	skip "unwind programs: no go"
fi
# the pieces are apart: what is in the copy is right, and said to be a part
if gcc -O2 -fsplit-stack -fomit-frame-pointer "$here/split.c" -o "$work/split" 2>"$work/log"; then
	record split "$work/split"
	check "split stacks" chain split "(_start;.*main|[[]truncated[]]);((deep|__morestack);)*deep;burn" "deep;burn"
else
	skip "unwind programs: no -fsplit-stack"
fi

if command -v openssl >/dev/null; then
	record openssl openssl speed -seconds 1 -bytes 16384 -evp aes-128-gcm
	check "libcrypto's assembler" whole openssl 98
	record sha openssl speed -seconds 1 -bytes 16384 sha256
	check "libcrypto's assembler: sha256" whole sha 98
else
	skip "unwind programs: no openssl"
fi
if command -v sqlite3 >/dev/null; then
	echo 'create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 60000)
		insert into t select x, hex(randomblob(8)) from c; select count(*), max(length(b)) from (select a, b from t order by b);' >"$work/sql"
	record sqlite sqlite3 :memory: ".read $work/sql"
	check "sqlite" whole sqlite 98
else
	skip "unwind programs: no sqlite3"
fi
