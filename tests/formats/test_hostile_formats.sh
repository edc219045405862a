#!/bin/bash
# Bad input to the readers of JSON, XML and binary formats: deep, cut, huge
# numbers, the wrong format. Bounded, defined, never silent.
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 1

# a tree as deep as V8 never makes: no recursion, no quadratic time
perl -e 'my $n = 100000; print qq({"head":{"callFrame":{"functionName":"(root)"},"selfSize":1,"children":[);
	print qq({"callFrame":{"functionName":"f"},"selfSize":0,"children":[) x $n; print qq({"callFrame":{"functionName":"leaf"},"selfSize":7,"children":[]});
	print "]}" x $n, "]}}"' >deep.heapprofile
# a sanitizer reserves address space without measure
[ "$MODE" = plain ] && limit='ulimit -v 1000000;' || limit=
check "heap profile 100,000 deep" sh -c \
	"$limit"' timeout 100 collapse -q --no-header deep.heapprofile | awk '\''{ n += $NF; d = gsub(";", ";") } d == 100000 { deep = 1 } END { exit !(n == 8 && deep) }'\'''
for bracket in '[' '{"a":'; do
	perl -e 'print q({"traceEvents":[]},"x":), $ARGV[0] x 100000' "$bracket" >nested
	expect "100,000 times '$bracket'" 2 'malformed|no samples' timeout 100 collapse --from chrome-trace nested
done
perl -e 'print q(<trace-query-result>), "<a>" x 100000' >deep.xml
expect "XML 100,000 deep" 2 '.' timeout 100 collapse deep.xml

# every format there is: nesting, a long line, numbers past 2^64, zero bytes
perl -e 'print "[" x 100000' >deep-arrays
perl -e 'print q({"a":) x 100000' >deep-objects
perl -e 'print "<a>" x 100000' >deep-elements
perl -e 'print "a" x 10000000' >long-line
perl -e 'print "a;" x 100000, "a 1\n"' >deep-stack
perl -e 'print "18446744073709551616 " x 10, "\n99999999999999999999999\n"' >large-numbers
perl -e 'print "\0" x 1000000' >zeros
bad= runs=0
for format in $(collapse --formats | awk '!NF { exit } NR > 1 { print $1 }'); do
	for input in deep-arrays deep-objects deep-elements long-line deep-stack large-numbers zeros; do
		(
			[ "$MODE" = plain ] && ulimit -v 1000000
			timeout 100 collapse -q --from "$format" "$input" >/dev/null 2>one.err
		)
		status=$?
		runs=$((runs + 1))
		{ [ $status -le 2 ] && { [ $status = 0 ] || [ -s one.err ]; }; } || bad="$bad $format:$input=$status"
	done
done
if [ -z "$bad" ] && [ $runs -gt 300 ]; then ok "$runs hostile inputs, each format"; else not_ok "$runs hostile inputs, each format" "$bad"; fi
if [ "$MODE" = plain ]; then
	perl -e 'print "main;a 1\n", "b;" x 50000000, "b 1\n"' >line
	expect "a line of 100 MB, 50 million frames" 1 'line 2: a stack of more than 1000000 frames' \
		sh -c 'ulimit -v 1500000; collapse --no-header line'
	check "what was before it stays" grep -qx 'main;a 1' "$work/.out"
	perl -e 'print "main 12 1.5: 1 cycles: \n\t 1 ", "a" x 100000000, " (/bin/a)\n\n"' >line
	expect "a line of 100 MB in perf script" 0 '' sh -c 'ulimit -v 1500000; collapse --no-header line'
	rm line
fi

# numbers past 2^64
echo '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},
	"profiles":[{"type":"sampled","unit":"none","samples":[[0],[0],[0]],"weights":[1,1e30,18446744073709551616]}]}' >huge.json
expect "weights past 2^64 are left out and counted" 1 '2 malformed' collapse huge.json
check "what is whole stays" grep -qx 'a 1' "$work/.out"
echo '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},
	"profiles":[{"type":"sampled","unit":"none","samples":[[0],[0]],"weights":[18446744073709551615,1]}]}' >sum.json
expect "a sum past 2^64 fails" 2 '2\^64' collapse sum.json
echo '{"cost_centres":[],"profile":{"id":1,"ticks":99999999999999999999,"children":[{"ticks":3}]}}' >ticks.json
expect "ticks past 2^64" 1 'ticks that is no number' collapse ticks.json
check "a count without any frame stays" grep -qx '\[no stack\] 3' "$work/.out"

# each input of the golden cases, cut in several places: exit 0, 1 or 2, soon
cases=0 bad=
for input in "$TOP"/tests/golden/collapse/*/in; do
	name=$(basename "$(dirname "$input")")
	size=$(stat -c %s "$input")
	for ((at = 1; at < size && at < 900; at += 13 + size / 5)); do
		head -c $at "$input" >cut
		timeout 60 collapse -q cut >/dev/null 2>cut.err
		status=$?
		cases=$((cases + 1))
		{ [ $status -le 2 ] && { [ $status = 0 ] || [ -s cut.err ]; }; } || bad="$bad $name@$at=$status"
	done
done
if [ -z "$bad" ] && [ $cases -gt 100 ]; then ok "$cases inputs cut short"; else not_ok "$cases inputs cut short" "$bad"; fi

# named for what it looks like, and mixed up
printf '\x89PNG\r\n\x1a\n0000' >picture
expect "a picture is no profile" 2 'no format known' collapse picture
echo '{"some": "json"}' >plain.json
expect "JSON of another kind" 2 'no format known' collapse plain.json
printf "\n Performance counter stats for 'true' (2 runs):\n\n    53  page-faults  #  112.1 K/sec\n\n   0.001 +- 0.0001 seconds time elapsed  ( +-  7.49%% )\n" >counts
expect "counts are no samples" 2 'looks like counts of events' collapse counts
printf '# event: cycles\n# unit: samples\n' >header.folded
expect "a header of folded stacks alone" 2 'no samples.*read as folded' collapse header.folded
printf 'a;b -3\n' >negative.folded
expect "a negative count first" 2 'line 1: its count is negative' collapse negative.folded
printf 'a;b 99999999999999999999\nc 1\n' >large.folded
expect "a count past 2^64 first" 1 '1 malformed line or record was left out: line 1' collapse large.folded
printf '\n \n' >blank
expect "blank lines" 2 'nothing but blanks' collapse blank
expect "forced into the wrong format" 2 '.' collapse --from jfr plain.json
printf '\xef\xbb\xbf' | cat - "$TOP/tests/golden/collapse/speedscope-mixed/in" >mark.json
expect "a byte order mark before JSON" 1 'malformed' collapse mark.json
expect "an unknown value is answered with those that are there" 2 'total-bytes, total-blocks' \
	collapse --value nothing "$TOP/tests/golden/collapse/dhat/in"
cp "$TOP/tests/golden/collapse/heapprofile/in" bytes.json
cp "$TOP/tests/golden/collapse/sysprof-xml/in" samples.xml
expect "bytes and samples are not added" 2 'unit|add' collapse bytes.json samples.xml

# a mark inside what is compressed is no part of the first name
printf '\xef\xbb\xbfmain;a 1\nmain;b 2\n' >marked
gzip -k marked && zstd -qk marked
for form in marked.gz marked.zst; do
	check "a byte order mark inside $form" sh -c \
		"[ \"\$(collapse --no-header $form)\" = \"\$(collapse --no-header marked)\" ]"
done
