#!/bin/bash
# Flame graphs back to stacks: our own exactly, those of other tools by their
# geometry.
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 1

perl -e 'srand(5); my @n = ("main", "a <b> & \"c\"", "x (12 samples, 3%)", "\xc3\xa9", "k_[k]", "f");
	my %s; $s{join ";", map { $n[rand @n] } 1 .. 1 + rand 9} += 1 + int rand 5000 for 1 .. 300;
	print "# event: cpu-clock\n# unit: samples\n"; print "$_ $s{$_}\n" for sort keys %s' >folded
LC_ALL=C sort folded | grep -v '^#' >expected

back() { collapse -q "$@" | grep -v '^#' | LC_ALL=C sort; }

render folded >own.svg
check "our own SVG gives its stacks back" cmp expected <(back own.svg)
render --format html folded >own.html
check "our own HTML gives its stacks back" cmp expected <(back own.html)
render --reverse folded >reverse.svg
check "our own SVG, merged from the leaves" cmp expected <(back reverse.svg)
printf 'a;b 1 2\na;c 3 0\na;d 0 5\n' | render >two.svg
check "of a difference the side before" /usr/bin/diff <(printf 'a;b 1\na;c 3\n') <(back two.svg)
check "or that after" /usr/bin/diff <(printf 'a;b 2\na;d 5\n') <(back --value after two.svg)
check "of which one is left" eval '! collapse -q two.svg | grep "^# columns"'
check "unit and event come along" grep -qx '# unit: samples' <(collapse own.svg)

# as flamegraph.pl and inferno draw: rows, rectangles, titles
group() { printf '<g><title>%s</title><rect x="%s" y="%s" width="%s" height="15"/><text>t</text></g>\n' "$@"; }
{
	echo '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><rect x="0" y="0" width="100" height="90"/>'
	group 'b (1,500 samples, 60%)' 10.0 17 60.0
	group 'all (2,500 samples, 100%)' 10.0 49 100.0
	group 'a &lt;int&gt; (2,000 samples, 80%)' 10.0 33 80.0
	group 'a &lt;int&gt; (400 samples, 16%)' 90.0 33 16.0
	group 'c (3) (100 samples, 4%)' 90.0 17 4.0
	echo '</svg>'
} >other.svg
cat >other.folded <<'END'
[no stack] 100
a <int> 800
a <int>;b 1500
a <int>;c (3) 100
END
check "a picture by others, root below" cmp other.folded <(back other.svg)
sed 's/y="17"/y="65"/' other.svg >icicle.svg
sed -i 's/y="49"/y="1"/; s/y="33"/y="17"/; s/y="65"/y="33"/' icicle.svg
check "a picture by others, root above" cmp other.folded <(back icicle.svg)
head -c 400 other.svg >cut.svg
expect "a picture that is cut" 1 'malformed' collapse cut.svg

if [ -d "$CORPUS/flamegraph" ]; then
	check "flamegraph.pl: example-perf, each stack" cmp \
		<(back "$CORPUS/flamegraph/ref-flamegraph.pl-example-perf.svg") \
		<(grep . "$CORPUS/folded/burn-out.perf-folded" | LC_ALL=C sort)
	check "inferno: flame chart, each stack" cmp \
		<(back "$CORPUS/flamegraph/flamechart-flames.txt.expected-flame.svg") \
		<(back --from folded "$CORPUS/flamegraph/flamechart-flames.txt")
else
	skip "pictures of other tools: no corpus in $CORPUS"
fi
