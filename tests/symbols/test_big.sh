#!/bin/bash
# Names of random addresses of big programs of this machine, stripped or not,
# and of its kernel: each has to be that of a function that covers the address,
# as their symbol tables say. llvm-symbolizer has to name one of the same. Where
# there is debug information (libc6-dbg), chains and lines are compared too.
# BIG_ADDRESSES: how many of each (1000).
. "$TOP/tests/lib/check.sh"
names_at=$BUILD/symbols/names_at
count=${BIG_ADDRESSES:-1000}
cd "$work" || exit 1

# the same ones each time; stdin: start and size of each piece of code, hexadecimal
pick() {
	perl -e 'srand 7; my $all = 0;
		while (<STDIN>) { my ($start, $size) = map { hex } split; push @pieces, [$start, $size]; $all += $size }
		for (1 .. $ARGV[0]) {
			my $at = int rand $all;
			for (@pieces) {
				if ($at < $_->[1]) { printf "%x\n", $_->[0] + $at; last }
				$at -= $_->[1];
			}
		}' "$count" | sort -u
}

big() { # NAME FILE
	local file id
	file=$(readlink -f "$2") && [ -f "$file" ] || { skip "big programs: $1 is not here"; return; }
	objdump -h "$file" | awk '$2 ~ /^\.text/ { print $4, $3 }' | pick >pcs
	id=$(readelf -n "$file" 2>/dev/null | sed -n 's/.*Build ID: //p')
	readelf -sW "$file" "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" >symbols 2>/dev/null
	if ! grep -q ' FUNC .* [0-9]* ' symbols; then
		skip "big programs: $1 has no symbols"
		return
	fi
	"$names_at" -i -d none "$file" <pcs >ours
	sed 's/^/0x/' pcs | llvm-symbolizer --output-style=GNU --no-demangle -a -f -i -e "$file" | grep -v '^$' >theirs
	check "$1: each name is of a function that covers the address" perl "$TOP/tests/symbols/covering.pl" pcs ours symbols theirs
	grep -qE '[.](c|cc|cpp|S):[0-9]' theirs || return
	"$names_at" -l -d none "$file" <pcs >ours
	check "$1: inlined functions and lines agree with llvm-symbolizer" perl "$TOP/tests/symbols/compare.pl" pcs ours theirs theirs symbols
	sed 's/^/0x/' pcs | eu-addr2line -a -f -i -e "$file" >elfutils
	check "$1: and with eu-addr2line" perl "$TOP/tests/symbols/compare.pl" pcs ours elfutils theirs symbols
}

big cc1plus "$(gcc -print-prog-name=cc1plus)"
big libstdc++ "$(g++ -print-file-name=libstdc++.so.6)"
big libc "$(gcc -print-file-name=libc.so.6)"
big perl "$(command -v perl)"
big python3 /usr/bin/python3
big chromium /usr/lib/chromium/chromium
big node "$(command -v node)"
big libLLVM /usr/lib/x86_64-linux-gnu/libLLVM-14.so.1
big llvm-symbolizer "$(command -v llvm-symbolizer)"

# all that the kernel calls text
grep -v '^0*0 ' /proc/kallsyms 2>/dev/null | awk '$2 !~ /[aA]/ && $1 ~ /^[89a-f]/ && !/\[/' >symbols
if [ -s symbols ]; then
	grep ' [tTwW] ' symbols | cut -d' ' -f1 | sort -u >starts
	perl -ne 'BEGIN { srand 7 } chomp; my $at = hex; print "$_\n"; printf "%x\n", $last + int rand($at - $last) if $last; $last = $at' starts |
		sort -u >pcs
	"$names_at" -i -d none '[kernel]' <pcs >ours
	check "kernel: $(wc -l <pcs) places in all of its functions" perl "$TOP/tests/symbols/covering.pl" pcs ours symbols
else
	skip "kernel: it does not tell its addresses here (kernel.kptr_restrict)"
fi
