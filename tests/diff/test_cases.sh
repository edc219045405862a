#!/bin/bash
# diff from the command line: inputs of every kind, faults, the cases of public
# bug reports by number.
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 2

# same NAME WANT COMMAND...: stdout is just this text
same() {
	local name=$1 want=$2 got
	shift 2
	got=$("$@" 2>/dev/null)
	if [ "$got" = "$want" ]; then ok "$name"; else not_ok "$name" "got: $got" "not: $want"; fi
}
# refuses NAME PATTERN COMMAND...: status 2, a message, nothing on stdout
refuses() {
	expect "$1" 2 "$2" "${@:3}"
	[ ! -s .out ] && ok "$1: stdout stays empty" || not_ok "$1: stdout stays empty" "$(head -n 3 .out)"
}

printf 'a;b 10\na;c 20\n' >one
printf 'a;b 20\na;c 10\n' >two
: >empty
raw=(diff --no-header --normalize none)
both=$'a;b 10 20\na;c 20 10'

# ---- kinds of input ----
gzip -k one && zstd -qk two
same "gzip and zstd are read as they are" "$both" "${raw[@]}" one.gz two.zst
same "before on stdin" "$both" sh -c "diff --no-header --normalize none - two <one"
same "after on stdin" "$both" sh -c "diff --no-header --normalize none one - <two"
same "sides by name" "$both" "${raw[@]}" --after two --before one
same "a file with its side" "$both" "${raw[@]}" --before=one --after=two
same "runs of a side add up" $'a;b 20 40\na;c 40 20' "${raw[@]}" --before one one --after two two
render one >one.svg && render --format html two >two.html
same "pictures are inputs" "$both" "${raw[@]}" one.svg two.html
same "output goes to a file" "$both" sh -c 'diff --no-header --normalize none -o out one two && cat out'
expect "render reads what diff writes" 0 '' sh -c 'diff one two | render'

# ---- cases by number ----
same "B40 stacks that vanished" 'a;x 10 0' "${raw[@]}" <(echo 'a;x 10') empty
expect "B40 an empty side is no failure" 0 '' diff <(echo 'a;x 10') empty
same "B42 an empty baseline has no factor" 'a;x 0 10' diff --no-header -n empty <(echo 'a;x 10')
same "B42 scaled as real numbers" $'a;x 0.666666666 0\na;y 0.666666667 0\na;z 0.666666667 0\nb 0 2' \
	diff --no-header -n <(printf 'a;x 1\na;y 1\na;z 1\n') <(echo 'b 2')
check "B42 the factor and both totals stand in the header" \
	bash -c "diff one <(echo 'a;b 45') | grep -qx '# totals: 30 before, 45 after' && diff one <(echo 'a;b 45') | grep -qx '# factor: 1.5 times before'"
for format in text markdown json csv; do
	for before in empty one; do
		diff --report $format --fdr 1 $before <(printf 'n 50\n') >report 2>/dev/null
		check "B42 neither inf nor nan: $format, $before" bash -c '! grep -qiwE "inf|nan|-nan" report'
	done
done
printf 'a;b 10\r\nbroken\na;b -3\na;c 20\r\n' >bad
same "B44 bad lines poison nothing" "$both" "${raw[@]}" bad two
expect "B44 bad lines are counted and the first is quoted" 1 "'bad': skipped 2 bad lines; line 2: .*'broken'" "${raw[@]}" bad two
expect "B44 a report over bad lines is incomplete too" 1 'skipped 2 bad lines' diff --report text bad two
for pair in 'App$$Lambda$14/0x0000000800c03000.run App$$Lambda$21/0x0000000800d11400.run' \
	'foo.isra.0 foo' 'core::fmt::write::h0123456789abcdef core::fmt::write::hfedcba9876543210' \
	'f.llvm.123 f.llvm.456' 'bpf_prog_6deef7357e7b4530_x bpf_prog_0123456789abcdef_x' \
	'0x7f12 0x7f34'; do
	set -- $pair
	same "B45 $1 meets $2" "m;$2 1 2" "${raw[@]}" <(echo "m;$1 1") <(echo "m;$2 2")
done
same "B45 threads meet" 'ksoftirqd/0;f 1 2' "${raw[@]}" <(echo 'ksoftirqd/32;f 1') <(echo 'ksoftirqd/0;f 2')
same "B45 and apart where the rule is off" $'ksoftirqd/32;f 1 0\nksoftirqd/0;f 0 2' \
	"${raw[@]}" --canon=-thread <(echo 'ksoftirqd/32;f 1') <(echo 'ksoftirqd/0;f 2')
printf '^old_(.*)\tnew_\\1\n' >names
same "renames by file" 'new_f 1 2' "${raw[@]}" --rename-file names <(echo 'old_f 1') <(echo 'new_f 2')

# ---- bad input ----
refuses "a file that is not there" "cannot open 'nowhere'" diff nowhere two
refuses "a folder" 'is a directory' diff . two
refuses "no valid line" "'junk' has no line that is a stack and a count" sh -c 'printf "hello\nworld\n" >junk; diff junk two'
refuses "a difference for an input" 'has two columns' sh -c 'diff one two >columns; diff one columns'
refuses "counts beyond 2^64" 'add up to 2\^64' sh -c 'printf "a 18446744073709551615\nb 1\n" >large; diff large two'
refuses "cut zstd" 'ends inside its compressed data|damaged' sh -c 'zstd -qc one | head -c 12 >cut.zst; diff cut.zst two'
refuses "a recording by mistake" 'perf.data recording.*flame-collapse' sh -c 'printf "PERFILE2........" >perf.data; diff perf.data two'
refuses "perf script text by mistake" 'perf script text.*flame-collapse' \
	sh -c 'printf "x 1 [000] 1.0: 1 cycles: \n\t  ffff f (d)\n\n" >script; diff one script'
refuses "a picture of another tool" 'no data of ours' sh -c 'echo "<svg></svg>" >other.svg; diff other.svg two'
refuses "time without a duration" 'needs the duration' diff --normalize time one two
refuses "a full device" 'cannot write|No space' sh -c 'diff one two >/dev/full'
refuses "limits on weights that are no samples" 'cannot check' \
	sh -c 'printf "# unit: ns\na 5\nb 9\n" >ns; diff --check "regression>1%" ns ns'
for words in '' 'one' 'one two one' '- -' '--before one two' '--normalize half one two' '--canon=x one two' \
	'--fdr 2 one two' '--check ratio>3% one two' '--report pdf one two' 'one --before two' '--top x one two'; do
	expect "usage: diff $words" 64 'flame-diff: ' diff $words
done
refuses "a rename that is no pattern" "'wrong' line 1" sh -c 'printf "a(\tb\n" >wrong; diff --rename-file wrong one two'

# ---- the same whatever the order ----
perl -we 'srand 7; for (1 .. 3000) { print join(";", map { "f" . int(rand(12)) } 0 .. rand 6), " ", 1 + int(rand(40)), "\n" }' >random.a
perl -we 'srand 8; for (1 .. 3000) { print join(";", map { "f" . int(rand(12)) } 0 .. rand 6), " ", 1 + int(rand(40)), "\n" }' >random.b
perl -we 'srand 9; my @l = <>; for my $i (reverse 1 .. $#l) { my $j = int rand($i + 1); @l[$i, $j] = @l[$j, $i] } print @l' random.b >random.c
for by in self total path; do
	diff --report json --fdr 1 --by $by random.a random.b >report.b
	diff --report json --fdr 1 --by $by random.a random.c >report.c
	check "a report by $by does not depend on the order of lines" cmp report.b report.c
done

# a plain model: sums by stack
awk 'FNR == 1 { file++ } { sum[file, $1] += $2; stacks[$1] } END { for (s in stacks) print s, sum[1, s] + 0, sum[2, s] + 0 }' random.a random.b | sort >model
check "sums are those of a plain model" bash -c "diff --no-header --normalize none random.a random.b | sort | cmp - model"
diff --no-header random.a random.b >scaled
check "scaled sums are equal to the last digit" perl -ne '
	BEGIN { sub units { my ($whole, $part) = split /\./, $_[0]; $whole * 10**9 + substr(($part // "") . "000000000", 0, 9) } }
	if (/ ([0-9.]+) ([0-9.]+)$/) { $a += units($1); $b += units($2) }
	END { exit($a != $b || $a < 10**13) }' scaled
