#!/bin/bash
# Small programs that other tools have named wrongly, and what names may cost.
. "$TOP/tests/lib/check.sh"
names_at=$BUILD/symbols/names_at
cd "$work" || exit 1

# a call that is the last instruction of its function
cat >last.s <<'S'
	.text
	.globl outer, other, leaf
	.type outer, @function
	.type other, @function
	.type leaf, @function
outer:	nop
	call leaf
	.size outer, . - outer
other:	nop
	ret
	.size other, . - other
leaf:	nop
	ret
	.size leaf, . - leaf
S
gcc -shared -nostdlib -Wl,-Bsymbolic -o last.so last.s || exit 1
at() { nm last.so | awk -v n="$1" '$3 == n { print $1 }'; }
perl -I"$TOP/tests/lib" -MRecording -e '
	my $r = Recording->new(pipe => 1);
	my ($leaf, $other) = map { 0x400000 + hex } @ARGV[1, 2];
	$r->comm(7, 7, "job", 1);
	$r->mmap2(7, 0x400000, 0x10000, 0, $ARGV[0], 2);
	$r->sample(tid => [7, 7], time => 3, ip => $leaf, chain => ["user", $leaf, $other]);
	$r->round; $r->write("recording")' "$work/last.so" "$(at leaf)" "$(at other)"
check 'B58 a return address right behind a function belongs to it' \
	bash -c '[ "$(collapse -q --no-header recording)" = "job;outer;leaf 1" ]'

if command -v clang++ >/dev/null; then
	cat >parts.cc <<'C'
#include <cstdio>
struct Bar { int x; Bar(int); };
__attribute__((noinline)) Bar::Bar(int y) : x(y) { printf("%d", y); }
static inline __attribute__((always_inline)) int inlined(int x) { if (__builtin_expect(x == 77, 0)) { puts("rare"); __builtin_abort(); } return x * 3; }
__attribute__((noinline)) int caller(int x) { int s = 0; for (int i = 0; i < x; i++) s += inlined(i) + (i & 1); return s; }
int main(int c, char **) { Bar b(c); return caller(b.x); }
C
	clang++ -gdwarf-5 -O2 -o parts parts.cc
	nm -S parts | awk '$4 ~ /caller/ { print $1, $2 }' |
		perl -ne 'no warnings "portable"; my ($a, $s) = map { hex } split; printf "%x\n", $a + $_ for 0 .. $s - 1' >pcs
	"$names_at" parts <pcs >got
	check 'B57 an inlined function in several ranges (DWARF 5)' \
		perl -e '$_ = join "", map { /^inlined.* < caller/ ? "i" : "c" } <>; exit !(() = /i+/g) > 1' got
	clang++ -g1 -O2 -o parts parts.cc
	nm parts | awk '$3 ~ /BarC/ { print $1 }' | sort -u | "$names_at" parts >got
	check 'B57 a constructor with line tables only' grep -qx 'Bar::Bar(int)' got
else
	skip 'B57 ranges of DWARF 5: no clang'
fi

# memory: of every address of a program, against what its debug sections hold
g++ -w -g -O2 -o whole "$TOP/tests/symbols/program.cc"
file=$(gcc -print-file-name=libc.so.6)
id=$(readelf -n "$file" 2>/dev/null | sed -n 's/.*Build ID: //p')
debug=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
if [ "$MODE" != plain ]; then
	skip 'memory of names: measured without sanitizers only'
elif [ -f "$debug" ]; then
	objcopy --decompress-debug-sections "$debug" plain.debug 2>/dev/null
	size=$(readelf -SW plain.debug 2>/dev/null | perl -ne 'no warnings "portable"; $all += hex $2 if /\] (\.debug_\S+|\.symtab|\.strtab)\s+\S+\s+\w+ \w+ (\w+)/; END { print int($all / 1024) }')
	objdump -h "$file" | awk '$2 == ".text" { print $4, $3 }' |
		perl -ne 'no warnings "portable"; my ($a, $s) = map { hex } split; for (my $i = 0; $i < $s; $i += 16) { printf "%x\n", $a + $i }' >pcs
	kb=$("$names_at" -l -t "$file" <pcs 2>&1 >/dev/null | sed -n 's/.* \([0-9]*\) kB$/\1/p')
	check "names of all of libc in less than 3 times its debug sections ($kb of $size kB)" [ "$kb" -lt $((3 * size)) ]
else
	skip 'memory of names: no libc6-dbg'
fi
