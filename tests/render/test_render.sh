#!/bin/bash
# render from outside: public faults B30 to B41 of drawing, bad input, failing
# output, determinism, options that scripts pass to flamegraph.pl.
source tests/lib/check.sh

valid() { xmllint --noout --huge "$1"; }
# has FILE TEXT...: each text is in the file as it stands
has() {
	local file=$1 text
	shift
	for text in "$@"; do grep -qF -- "$text" "$file" || { echo "no '$text' in $file"; return 1; }; done
}
lacks() { ! grep -qF -- "$2" "$1"; }
draw() { render "$@" >"$work/out.svg" && valid "$work/out.svg"; }
shows() { # NAME TEXT COMMAND...: stdout of the command holds the text
	local name=$1 text=$2
	shift 2
	"$@" >"$work/shown" 2>"$work/shown.err" </dev/null
	if grep -qF -- "$text" "$work/shown"; then ok "$name"; else not_ok "$name" "no '$text' from: $*" "$(head -c 600 "$work/shown.err")"; fi
}

# ---- B30, B31, B32: text into XML ----
printf 'a;long_enough_to_be_text\033[0m 1\na;many_letters_around_it_\006x 2\na;this_is_not_utf8_\xff\xc3 3\na;no_character_\xef\xbf\xbf 1\n' >"$work/b30"
check 'B30 control bytes and invalid UTF-8 are replaced' draw "$work/b30"
check 'B30 in every text of the command line' draw --title $'t\033\001' --subtitle $'\xff' --notes $'n\x7f' --countname $'\002' --nametype $'\003' "$work/b30"
printf 'std::map<int, const char&>;"q" & ]]> %s 5\n' "'x'" >"$work/b31"
check 'B31 markup in names' draw "$work/b31"
check 'B31 markup in title, subtitle, notes, count name' draw --title '<script>alert("1")</script> & ]]>' --subtitle 'a&b' --notes '</svg>' --countname '<"&>' --fonttype '"><x' --search '<|&' "$work/b31"
check 'B31 one script element, ours' eval '[ "$(xmllint --xpath "count(//*[local-name()=\"script\"])" "$work/out.svg")" = 1 ]'
check 'B31 HTML page without an element from names' eval 'render --format=html --title "</title><b>" "$work/b31" >"$work/p.html" && head -n 1 "$work/p.html" | grep -qx "<!DOCTYPE html>" && lacks "$work/p.html" "<b>" && [ "$(grep -c "</script>" "$work/p.html")" = 1 ]'
perl -e 'print "a;", "\xe4\xb8\xad" x 200, " 1\na;b 19\n"' >"$work/b32"
check 'B32 names are cut on whole code points' draw "$work/b32"
check 'B32 cut name keeps whole characters' eval 'iconv -f UTF-8 -t UTF-16 "$work/out.svg" >/dev/null && grep -q "中…</text>" "$work/out.svg"'

# ---- B33, B36: arithmetic ----
printf 'a;b 1.5\na;c 2\n' >"$work/b33"
shows 'B33 fractions add up exactly' '<title>a (3.5 samples, 100.00%)' render "$work/b33"
printf 'a;b -103.7652\na;c 1e3\na;d 4\n' >"$work/neg"
expect 'B33 negative and exponent counts are left out, counted, quoted' 1 "2 lines are not folded stacks.*line 1: its count is negative: 'a.b -103.7652'" render -o "$work/neg.svg" "$work/neg"
check 'B33 the rest is drawn' has "$work/neg.svg" 'd (4 samples, 100.00%)'
printf 'a 9007199254740993\n' >"$work/big"
shows 'B33 2^53 + 1 prints as itself' '9,007,199,254,740,993 samples' render "$work/big"
printf 'a 18446744073709551615\n' >"$work/huge"
shows 'the largest count' '18,446,744,073,709,551,615 samples' render "$work/huge"
printf 'a 18446744073709551615\nb 1\n' >"$work/over"
expect 'a sum of 2^64 is an error' 2 'add up to 2\^64 or more' render "$work/over"
printf 'root 75\nroot;child 25\n' >"$work/b36"
render "$work/b36" >"$work/b36.svg"
shows 'B36 a child has its own share' 'child (25 samples, 25.00%)' render "$work/b36"
printf ';;a;;b; 3\n;c 1\nz;zero 0\n' >"$work/empty"
check 'B36 empty frames and zero weights' eval 'draw "$work/empty" && has "$work/out.svg" "b (3 samples, 75.00%)" "c (1 samples, 25.00%)" && lacks "$work/out.svg" "zero ("'
check 'widths of children never exceed the parent' perl -e '
	my @stack; my $bad = 0;
	open my $in, "-|", "render", "--minwidth", "0", "--inverted", $ARGV[0] or die;
	my %rows;
	my $row;
	while (<$in>) { $row = $1 if /^<svg y="([\d.]+)"/; push @{$rows{$row}}, [$1, $2] if /<svg x="([\d.]+)" width="([\d.]+)"/ }
	my @y = sort { $a <=> $b } keys %rows;
	for my $k (1 .. $#y) { for my $f (@{$rows{$y[$k]}}) {
		$bad++ unless grep { $f->[0] >= $_->[0] - 0.02 && $f->[0] + $f->[1] <= $_->[0] + $_->[1] + 0.52 } @{$rows{$y[$k - 1]}};
	} }
	die "$bad frames outside of every parent" if $bad || @y < 5' "$TOP/tests/browser/samples/small.folded"

# ---- B35: share of a search ----
printf 'm;outer;inner;inner 25\nm;outer 15\nn;outer;inner 55\nn 5\n' >"$work/b35"
shows 'B35 nested matches count once' 'matched by /inner/: 80.00%' render --search inner "$work/b35"
expect 'B35 a bad expression is an error, not a picture' 64 "not a regular expression" render --search '(' "$work/b35"

# ---- B37: depth ----
perl -e 'print join(";", map { "f$_" } 1 .. 10000), " 1\n"' >"$work/deep"
check 'B37 10,000 rows: drawn to a height that browsers show, with a marker' eval 'draw "$work/deep" && has "$work/out.svg" "deeper rows are not drawn here" && [ "$(sed -nE "s/^<svg .* height=\"([0-9]+).*/\1/p" "$work/out.svg" | head -n 1)" -lt 32767 ]'
check 'B37 10,000 rows as JSON and text' eval 'render --format=json "$work/deep" >"$work/deep.json" && node -e "JSON.parse(require(\"fs\").readFileSync(process.argv[1]))" "$work/deep.json" && render --format=text "$work/deep" >/dev/null'
perl -e 'print "a;", "x" x 1000000, ";b 1\n"' >"$work/long"
check 'a name of 1 MB' draw "$work/long"
printf 'main;work 5\n[truncated];rec;rec 3\n' >"$work/b38"
check 'B38 truncated stacks stay apart from main, in grey' eval 'draw "$work/b38" && grep -q "\[truncated\] (3 samples.*fill=\"#ccc\"" "$work/out.svg"'

# ---- B40, B41: two columns ----
printf 'a;x 10 0\n' >"$work/b40"
check 'B40 a profile of which everything is gone is drawn' eval 'draw "$work/b40" && has "$work/out.svg" "x (before 10, 100.00%; after 0, 0.00% samples; change -10, gone)" "url(#hatch)"'
printf 'a;b 1 0\na;c 1 4\n' >"$work/b41"
check 'B41 parents change by the sum of their children' eval 'draw "$work/b41" && has "$work/out.svg" "a (before 2, 100.00%; after 4, 100.00% samples; change +2, +100.00%)" ">b (before 1, 50.00%; after 0, 0.00% samples; change -1, gone)"'
check 'negate swaps the hues' eval '! cmp -s <(render "$work/b41") <(render --negate "$work/b41")'

# ---- determinism ----
sample=$TOP/tests/browser/samples/small.folded
{ grep '^#' "$sample"; grep -v '^#' "$sample" | sort -R --random-source="$sample"; } >"$work/shuffled"
for format in svg html json text; do
	check "order of lines does not matter: $format" cmp <(render --format=$format "$sample") <(render --format=$format "$work/shuffled")
done
check 'a flame chart keeps the order' eval 'printf "a;b 1\na;c 1\na;b 1\n" | render --flamechart --format=json | tr -d "\n" | grep -qF "{\"name\":\"b\",\"value\":1},{\"name\":\"c\",\"value\":1},{\"name\":\"b\",\"value\":1}"'
gzip -c "$sample" >"$work/s.gz"
zstd -q "$sample" -o "$work/s.zst"
check 'gzip, zstd, stdin and - give the same picture' eval 'render "$sample" >"$work/1" && render "$work/s.gz" | cmp - "$work/1" && render "$work/s.zst" | cmp - "$work/1" && render <"$sample" | cmp - "$work/1" && render - <"$sample" | cmp - "$work/1"'
shows 'several files are added up' 'main (350 samples' render "$sample" "$work/s.gz"
expect 'files that differ in columns' 2 "has 2 count columns, the files before it 1" render "$sample" "$TOP/tests/browser/samples/two.folded"

# ---- bad input ----
printf 'a;b 1\r\na;c 2' >"$work/crlf"
shows 'CRLF and no final newline' 'c (2 samples, 66.67%)' render "$work/crlf"
printf 'a;thread 7 12\nb 3\n' >"$work/digits"
shows 'frames that end in digits' 'thread 7 (12 samples' render "$work/digits"
printf 'a;b\tc 1\n' >"$work/tab"
check 'tabs' draw "$work/tab"
printf 'nonsense\na;b 1\n' >"$work/bad"
expect 'a bad line: exit 1 and a quotation' 1 "1 line is not folded stacks? ?.*line 1.*'nonsense'" render -o "$work/bad.svg" "$work/bad"
check 'a bad line: the picture is there' valid "$work/bad.svg"
printf 'what is this\n' >"$work/none"
expect 'no valid line: exit 2, what was expected' 2 "expected lines like .* line 1 is 'what is this'" render -o "$work/none.svg" "$work/none"
check 'no valid line: no picture' test ! -e "$work/none.svg"
printf 'prog  123 1.000: 1 cycles: \n\t  4005 main (/bin/x)\n\n' >"$work/script"
expect 'perf script text: names collapse' 2 'looks like perf script text; pass it through flame-collapse' render "$work/script"
printf 'PERFILE2\20\0\0\0' >"$work/perf.data"
expect 'a recording: names collapse' 2 'is a perf.data recording.*collapse' render "$work/perf.data"
printf 'a;b\n' >"$work/countless"
expect 'a line is quoted as it stands' 2 "line 1 is 'a;b'$" render "$work/countless"
expect 'empty input' 2 'is empty' render /dev/null
printf 'a 0\n' >"$work/zero"
expect 'only zeros' 2 'every count is 0' render "$work/zero"
expect 'no such file' 2 'cannot open .*No such file' render "$work/absent"
expect 'unknown option' 64 "did you mean '--inverted'" render --invertd
expect 'unknown palette' 64 "did you mean 'purple'\?$" render --palette=purpel
expect 'a palette nothing like it' 64 "one that is known: 'hot'$" render --palette=nix
for bad in --width=5 --height=0 --fontsize=x --minwidth=-1 --factor=0 --total=x --bgcolors=nope --theme=blue --format=png --search-color=red; do
	expect "refused: $bad" 64 . render "$bad" "$sample"
done
expect 'refused: --detail=x' 2 "needs a number" render --detail=x "$sample"
expect 'refused: --detail= without a number' 2 "needs a number" render --detail= "$sample"
expect '/dev/full' 2 'No space left' render -o /dev/full "$sample"
check 'a closed pipe ends it quietly' eval 'render "$TOP/tests/browser/samples/small.folded" --minwidth 0 2>"$work/pipe" | head -c 10 >/dev/null; [ ! -s "$work/pipe" ]'

# ---- options ----
shows 'total' 'all (600 samples, 100.00%)' render --total 600 "$sample"
expect 'a total below the sum' 2 'below the sum' render --total 5 "$sample"
shows 'factor' 'all (450 samples' render --factor 1.5 "$sample"
shows 'base' 'all (120 samples' render --base work "$sample"
expect 'base that no stack has' 2 "no stack holds the frame 'nowhere'" render --base nowhere "$sample"
printf 'idle->rgb(1,2,3)\nwork->#abcdef\n' >"$work/map"
check 'palette file' eval 'draw --palette-file "$work/map" "$sample" && has "$work/out.svg" "fill=\"#010203\"" "fill=\"#abcdef\""'
check 'palette file: what was there stays, new names follow in order' eval '[ "$(head -n 2 "$work/map")" = "idle->rgb(1,2,3)
work->#abcdef" ] && tail -n +3 "$work/map" | LC_ALL=C sort -c && grep -q "^main->rgb(" "$work/map"'
cp "$work/map" "$work/map.1"
check 'palette file: nothing new, nothing written' eval 'render --palette-file "$work/map" "$sample" >/dev/null && [ "$work/map" -ot "$work/map.1" ] && cmp "$work/map" "$work/map.1"'
printf '#note\nmain->rgb(9,9,9)' >"$work/map.2"
ln -sf map.2 "$work/map.link"
check 'palette file: comments, a missing end of line and a link stay' eval 'render --palette-file "$work/map.link" "$sample" >/dev/null && [ -L "$work/map.link" ] && [ "$(head -n 2 "$work/map.2")" = "#note
main->rgb(9,9,9)" ] && [ "$(wc -l <"$work/map.2")" -gt 4 ]'
check 'palette file: an absent one comes into being, and gives the same picture' eval 'render --palette-file "$work/map.new" "$sample" >"$work/cp.1" && render --palette-file "$work/map.new" "$sample" >"$work/cp.2" && render "$sample" | cmp - "$work/cp.1" && cmp "$work/cp.1" "$work/cp.2"'
check 'cp keeps palette.map' eval '(cd "$work" && render --cp "$sample" >/dev/null) && cmp "$work/palette.map" "$work/map.new"'
printf 'm;f_[k] 1\nm;f 1\nm;op->x 1\n' >"$work/marks"
check 'palette file: marks, and arrows in names' eval 'render --palette-file "$work/map.marks" --palette java "$work/marks" >"$work/cp.1" && [ "$(sed "s/->rgb.*//" "$work/map.marks" | tr "\n" " ")" = "f f_[k] m op->x " ] && render --palette-file "$work/map.marks" "$work/marks" | cmp - "$work/cp.1"'
expect 'palette file that cannot be written: the picture is complete' 1 'colours of new names are not kept: cannot create' render --palette-file "$work/nowhere/map" "$sample"
printf 'broken\n' >"$work/map.bad"
expect 'a bad palette file' 2 "line 1 is not NAME->rgb" render --palette-file "$work/map.bad" "$sample"
printf 'idle\thref="https://example.org/?a=1&b=2"\ttitle=at <rest>\twork=1\nwork\thref=javascript:alert(1)\tonclick=evil()\n' >"$work/attr"
check 'nameattr: links and titles, no scripts' eval 'draw --nameattr "$work/attr" "$sample" 2>/dev/null && has "$work/out.svg" "<a href=\"https://example.org/?a=1&amp;b=2\"" "at &lt;rest&gt; (50" && lacks "$work/out.svg" javascript: && lacks "$work/out.svg" evil'
check 'color with a palette is colors, as flamegraph.pl shortens it' eval 'render --color=java "$sample" >"$work/c.1" && render --colors=java "$sample" | cmp - "$work/c.1"'
expect 'color with neither' 64 "unknown palette 'purpel'; did you mean 'purple'" render --color=purpel "$sample"
check 'flamegraph.pl options as scripts give them' draw --palette-file "$work/map" --title T --subtitle S --width 800 --height 16 --minwidth 0.1 --fonttype Verdana --fontsize 12 --fontwidth 0.59 --countname ns --nametype Frame: --colors java --bgcolors blue --hash --cp --reverse --inverted --flamechart --negate --notes N --total 1000 --factor 1 --encoding utf-8 "$sample"
check 'inferno-flamegraph options as scripts give them' draw --deterministic --image-width 800 --frame-height 16 --min-width 0.1 --font-type Verdana --font-size 12 --font-width 0.59 --count-name ns --name-type Frame: --search-color '#123456' --no-sort --pretty-xml --flame-chart "$sample"
check 'more options of inferno-flamegraph' draw -q -v -c mem --colordiffusion --truncate-text-right --stroke-color '#101010' --uicolor '#123456' --skip-after main "$sample"
check '--stroke-color, --uicolor: in the static picture and in the other' eval 'draw --stroke-color "#a1b2c3" --uicolor "#123456" "$sample" &&
	[ "$(grep -c "stroke:#a1b2c3\|^stroke=#a1b2c3" "$work/out.svg")" = 2 ] && grep -q "{fill:#123456}.*" "$work/out.svg" && grep -q "{--fg:#123456;--mut:#123456}" "$work/out.svg"'
check 'the last --stroke-color counts' eval 'draw --stroke-color "#a1b2c3" --stroke-color none "$sample" &&
	! grep -q "a1b2c3" "$work/out.svg"'
check '--no-javascript: neither script nor data, and still a picture' eval 'draw --no-javascript "$sample" &&
	! grep -q "<script\|<metadata\|#fg" "$work/out.svg" && grep -q "<title>main" "$work/out.svg"'
check '--skip-after: cut where it is, whole elsewhere' [ "$(printf 'a;main;b 1\nc;d 2\n' | render --skip-after main --format json | tr -d ' \n' | grep -o '"name":"[^"]*"' | tr -d '\n')" = '"name":"all""name":"c""name":"d""name":"main""name":"b"' ]
expect 'an option without effect says so' 0 "'--nthreads' has no effect" render --nthreads 4 "$sample" -o /dev/null
expect '--uicolor that is none' 64 "is not a colour like" render --uicolor blue "$sample"
check 'threshold: what is light is gathered, sums stay' eval 'draw --detail 30 --minwidth 0 "$sample" && has "$work/out.svg" "frames below 30 samples are gathered" "all (300 samples" "[thin frames] (20 samples" && lacks "$work/out.svg" "libdot"'
shows 'text report' '80.00%' env COLUMNS=60 render --format=text "$work/b35"
check 'text report fits its width' eval '! COLUMNS=60 render --format=text "$sample" | grep -E "^.{61}"'

# ---- size ----
perl -e 'for my $i (1 .. 20) { print join(";", map { ("server", "parse_header", "http::route", "json_encode", "write_all")[$_ - 1] . $i } 1 .. 5), " ", $i * 3, "\n" }' >"$work/hundred"
check 'a graph of 100 frames is below 60 kB' eval '[ "$(render "$work/hundred" | wc -c)" -lt 60000 ]'
perl "$TOP/tests/browser/make_large.pl" 50000 >"$work/large"
check '50,000 stacks: below 8 MB with every frame' eval 'render "$work/large" >"$work/large.svg" && [ "$(stat -c %s "$work/large.svg")" -lt 8000000 ] && ! grep -q "^thin=" "$work/large.svg"'
check 'the script has nothing that would end its element' eval '[ "$(grep -c "]]>" "$work/b36.svg")" = 1 ] && ! grep -qE "<!--" "$TOP"/render/flame-*.js && xmllint --xpath "string(//*[local-name()=\"script\"])" "$work/b36.svg" >"$work/script.js" && node --check "$work/script.js"'

# ---- the picture in the README ----
check 'the picture in the README holds the recording it was drawn from' \
	bash -c 'collapse -q --no-header samples/busy.svg | cmp - <(collapse -q --no-header samples/busy.folded.gz)'
check 'and is small, and names no machine' \
	bash -c '[ $(stat -c %s samples/busy.svg) -lt 100000 ] && ! grep -E "h\.(host|kernel|command)=|/(home|root|tmp|work)/" samples/busy.svg'
