#!/bin/bash
# Recordings that are a folder of files, as perf record --threads makes them:
# written by hand in both byte orders, and by perf where it is there.
. "$TOP/tests/lib/check.sh"

fold() { collapse -q --no-symbols --no-header --no-annotate "$@"; }

# the task and its maps in the file that describes the others; samples in two
# files, which only together tell what was mapped when
write_folder() { # BIG
	mkdir -p "$work/rec"
	perl -I "$TOP/tests/lib" -MRecording -we '
		my ($big, $dir) = @ARGV;
		my @o = (big => $big, pipe => 0);
		my $main = Recording->new(@o);
		$main->comm(10, 10, "app", 0);
		$main->mmap(10, 0x1000, 0x4000, 0, "/bin/a", 0);
		$main->feature(24, $main->u64(1));
		$main->write("$dir/data");
		my @part = map { Recording->new(@o) } 0 .. 2;
		my $at = sub { (ip => 0x1100, tid => [10, 10], time => $_[0], chain => ["user", 0x1100]) };
		$part[0]->sample($at->(5));
		$part[0]->mmap(10, 0x1000, 0x4000, 0, "/bin/b", 8);
		$part[0]->sample($at->(12));
		$part[1]->sample($at->($_)) for 6, 7, 9, 10;
		for (0 .. $#part) { # the last one stays empty
			open my $out, ">:raw", "$dir/data.$_" or die;
			print $out $part[$_]{records};
			close $out or die;
		}' "$1" "$work/rec"
}
for big in 0 1; do
	write_folder $big
	for way in "$work/rec" "$work/rec/" "$work/rec/data"; do
		check "big=$big: records of all files in order of time, by ${way#"$work/"}" \
			/usr/bin/diff <(printf 'app;a+0x100 3\napp;b+0x100 3\n') <(fold "$way")
	done
done
check "big=$big: --input-check tells of it" grep -qE '^mode +file, a folder of 4, (our|the other) byte order$' \
	<(collapse --no-symbols --input-check "$work/rec")
(cd "$work/rec" && fold data) >"$work/got"
check "from within the folder" grep -qx 'app;b+0x100 3' "$work/got"
expect "files that cannot be opened are told" 1 'not read to its end: cannot open .*/data.1' \
	bash -c 'ulimit -n 5; collapse -q --no-symbols "$1"' - "$work/rec"
mv "$work/rec/data.1" "$work/rec/data.9"
expect "a gap among the files is said" 1 'its data.1 is missing' fold "$work/rec"
ln -s data.9 "$work/rec/data.1"
expect "and a link in their place" 1 'its data.1 is .*no regular file' fold "$work/rec"
rm "$work/rec/data.1" "$work/rec/data.2" "$work/rec/data.9"
truncate -s -4 "$work/rec/data.0"
expect "a file that is cut short is said, the rest is there" 1 'ends inside a record at offset .* .in its data.0.' fold "$work/rec"
check "with what stands before the cut" /usr/bin/diff <(printf 'app;a+0x100 1\n') "$work/.out"
mv "$work/rec/data.0" "$work/elsewhere"
ln -s "$work/elsewhere" "$work/rec/data.0"
expect "a link leads nowhere" 2 'is one file of a folder' fold "$work/rec"
rm "$work/rec/data.0"
expect "a file without those beside it says so" 2 'no samples: .* is one file of a folder' fold "$work/rec/data"
expect "and by a pipe too" 2 'no samples: .* is one file of a folder' eval 'cat "$work/rec/data" | collapse'
mkfifo "$work/rec/data.0"
expect "a fifo is no part of a recording" 2 'is one file of a folder' timeout 10 collapse "$work/rec"
rm -r "$work/rec"
mkdir "$work/rec"
: >"$work/rec/data"
expect "a folder whose file is empty" 2 "'.*/rec' has no files" collapse "$work/rec"

# ---- perf's own ----
if ! can_sample || ! command -v perf >/dev/null; then
	skip "folders that perf writes: no perf here, or perf events are not permitted"
	exit 0
fi
for options in '' -z; do
	rm -rf "$work/rec"
	# shellcheck disable=SC2086
	perf_record --threads $options -F 1000 -a -g -o "$work/rec" -- "$BUILD/samples/chain" 0.5 >/dev/null 2>&1
	status=$?
	timeout 60 perf script --no-inline -F comm,pid,tid,time,event,ip,sym,dso -i "$work/rec" >"$work/perf" 2>/dev/null
	read_status=$?
	if died $status || died $read_status || [ ! -e "$work/rec/data.0" ]; then
		skip "perf record --threads $options: perf died, or does not know it"
		continue
	fi
	collapse -q --samples --no-inline "$work/rec" >"$work/ours"
	"$TOP/tests/lib/compare-samples" --perf "$work/perf" --ours "$work/ours" >"$work/diff"
	# inside of execs perf keeps maps that are gone
	check "perf record --threads $options: $(tail -n 1 "$work/diff")" \
		perl -ne '/^samples (\d+) same (\d+)/ and exit !($1 && $2 >= $1 * 0.98)' "$work/diff"
done
