#!/bin/bash
# What --to writes is read back to the same stacks and counts: random profiles
# with names that need escaping, and counts up to 2^53.
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 1

# random_profile SEED UNIT MAX: folded text with a header
random_profile() {
	perl -e '
		srand($ARGV[0]);
		my ($unit, $max) = @ARGV[1, 2];
		my @names = ("main", "a b", "quote\"d", "back\\slash", "tab?", "f<int>(x)", "\xc3\xa9\xe4\xb8\xad", "x 12", "_[k]",
			"kernel_[k]", "js_[j]", "0x1234", "name (file.js:3)", "null", "[no stack]", "it'"'"'s", "&amp", "%s%n", "(idle)", "{}[],:");
		print "# event: some \"event\"\n# unit: $unit\n";
		my %seen;
		for (1 .. 200) {
			my @stack = map { $names[rand @names] } 1 .. 1 + int(rand(12));
			$seen{join(";", @stack)} = 1 + int(rand($max));
		}
		print "$_ $seen{$_}\n" for sort keys %seen;' "$@"
}

# round_trip NAME PROFILE FORMAT [OPTION]...: options are for reading back
round_trip() {
	local name=$1 profile=$2 format=$3
	shift 3
	if ! collapse -q --from folded --to "$format" -o "$name.out" "$profile" 2>err ||
		! collapse -q "$@" "$name.out" 2>>err | grep -v '^# ' | LC_ALL=C sort >back; then
		not_ok "round trip $name" "$(head -n 3 err)"
	elif ! grep -v '^# ' "$profile" | LC_ALL=C sort | cmp -s - back; then
		not_ok "round trip $name" "$(grep -v '^# ' "$profile" | LC_ALL=C sort | command -p diff - back | head -n 4)"
	else
		ok "round trip $name"
	fi
}

for seed in 1 2 3; do
	random_profile $seed samples 4000 >small
	random_profile $seed bytes 9007199254740992 >bytes
	random_profile $seed microseconds 1000000000 >times
	for format in pprof speedscope firefox trace json; do
		round_trip "$format samples $seed" small $format
		round_trip "$format bytes $seed" bytes $format
	done
	round_trip "pprof times $seed" times pprof
	round_trip "speedscope times $seed" times speedscope
	round_trip "chrome samples $seed" small chrome
	round_trip "chrome bytes $seed" bytes chrome
	round_trip "chrome times $seed" times chrome --value time
done

# a pipe is as good as a file, and the other way round too
collapse -q --from folded --to pprof <small | collapse -q --no-header | LC_ALL=C sort >piped
check "round trip through pipes" cmp piped <(grep -v '^# ' small | LC_ALL=C sort)

# a recording: its threads come back as root frames
if collect -q -F 499 --duration 1 -o rec.data -- "$BUILD/samples/busy" >/dev/null 2>&1 &&
	collapse -q --no-header rec.data >rec.folded 2>err; then
	for format in pprof firefox trace; do
		round_trip "recording as $format" rec.folded $format
		collapse -q --to $format -o rec.out rec.data
		check "what a recording holds comes back from $format" sh -c \
			"collapse -q --no-header rec.out | cmp - rec.folded"
	done
	collapse -q --to speedscope -o rec.out rec.data
	check "speedscope has its threads, by name" sh -c \
		"collapse -q --no-header rec.out | sed 's/ (tid [0-9]*);/;/' | collapse -q --from folded --no-header | cmp - rec.folded"
	collapse -q --to pprof -o rec.pprof rec.data
	collapse -q --no-header --by tid rec.data | sed 's/;.*//' | sort -u >tids
	check "--by works on what pprof says of threads" sh -c \
		"collapse -q --no-header --by tid rec.pprof | sed 's/;.*//' | sort -u | cmp - tids"
	perl -I"$TOP/tests/lib" -MRecording -we '
	my $r = Recording->new(pipe => 1);
	$r->comm(7, 7, "job", 1);
	$r->mmap2(7, 0x400000, 0x10000, 0, "/lib/libwork.so.6", 2);
	$r->mmap2(7, 0x600000, 0x10000, 0, "/bin/job", 2);
	$r->sample(tid => [7, 7], time => 3, ip => 0x400100, chain => ["user", 0x400100, 0x600200]);
	$r->round; $r->write("library_first")'
check "pprof: the program is the first mapping" test /bin/job = \
	"$(collapse -q --to pprof library_first | gzip -dc | grep -aoE '/(lib|bin)/[a-z]+' | head -n 1)"

if command -v go >/dev/null; then
		raw=$(HOME=$work go tool pprof -raw rec.pprof 2>/dev/null)
		check "go tool pprof knows the program's build-id" grep -qE 'samples/busy [0-9a-f]{40} \[FN\]' <<<"$raw"
		check "go tool pprof knows the threads" grep -qE 'comm:\[worker\]' <<<"$raw"
	fi
else
	skip "recordings in other formats: nothing could be recorded: $(head -n 1 err)"
fi

# what does not fit is refused, in words
printf '# unit: samples\na;b 1.5\n' >fractions
expect "pprof refuses fractions of samples" 2 'whole numbers' collapse --from folded --to pprof fractions
expect "chrome refuses fractions of samples" 2 'single samples' collapse --from folded --to chrome fractions
printf '# unit: milliseconds\na;b 1.5\n' >fractions
check "pprof takes fractions of time as nanoseconds" sh -c \
	"collapse -q --from folded --to pprof fractions | collapse -q | grep -x 'a;b 1500000'"
printf 'a 18446744073709551615\n' >large
expect "pprof refuses 2^63 and more" 2 'below 2\^63' collapse --from folded --to pprof large
expect "an unknown format is named" 64 "did you mean 'speedscope'" collapse --to speedscop small

# rows: time, host, comm, pid, stack, count
printf "it's;b\\\\c 3\n" | collapse -q --from folded --to rows >rows
check "rows are escaped" grep -qxF "$(printf '1970-01-01 00:00:00\t\tit\\'"'"'s\t0\t['"'"'it\\'"'"'s'"'"','"'"'b\\\\c'"'"']\t3')" rows

if command -v node >/dev/null; then
	for format in speedscope firefox chrome trace json; do
		collapse -q --from folded --to $format small >"valid.$format"
		check "$format is JSON" node -e 'JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))' "valid.$format"
	done
else
	skip "JSON by another reader: no node"
fi
if command -v go >/dev/null; then
	collapse -q --from folded --to pprof -o small.pprof small
	total=$(folded_sum <small)
	check "go tool pprof reads our pprof" sh -c \
		"HOME=$work go tool pprof -raw small.pprof 2>/dev/null | awk '/^Locations/ { exit } /^ +[0-9]+: / { n += \$1 } END { exit n != $total }'"
	check "go tool pprof -top finds the total" sh -c \
		"HOME=$work go tool pprof -top small.pprof 2>/dev/null | grep -q 'of $total total'"
else
	skip "go tool pprof: no go here"
fi
