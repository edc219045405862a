#!/bin/bash
# Every instruction of programs without frame pointers: the frames that the
# unwinder gives against the calls and returns that were made (truth.c).
# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"
truth=$BUILD/unwind/truth
[ "$(uname -m)" = x86_64 ] || { skip "unwind truth: x86-64 only"; exit; }
[ "$MODE" = plain ] || { skip "unwind truth: single steps are too many for mode $MODE"; exit; }

# build COMPILER [FLAG]...: $work/frames
build() { "$@" -fomit-frame-pointer "$TOP/samples/frames.c" -o "$work/frames" 2>"$work/log"; }

# try NAME COMPILER [FLAG]...: builds and follows the program
try() {
	local name=$1
	shift
	if build "$@"; then
		check "truth $name" timeout 100 "$truth" "$work/frames"
	else
		skip "truth $name: $* does not build it here"
	fi
}

for compiler in gcc clang; do
	for level in 0 2 3; do
		try "$compiler -O$level" $compiler -O$level
	done
done
try "static, position independent" gcc -O2 -static-pie

# no .eh_frame of our own code: .debug_frame, plain, compressed, in a file of its own
debug_frame="-O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables"
try ".debug_frame" gcc $debug_frame
try ".debug_frame, compressed" gcc $debug_frame -gz
if build gcc $debug_frame -gz -Wl,--build-id; then
	(cd "$work" && objcopy --only-keep-debug frames frames.debug && strip frames &&
		objcopy --add-gnu-debuglink=frames.debug frames)
	check "truth .debug_frame, separate debug file" timeout 100 "$truth" "$work/frames"
fi
