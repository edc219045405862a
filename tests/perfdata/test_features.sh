#!/bin/bash
# What a recording says of itself: every feature section, as a section of a file
# and as a record of a stream, in both byte orders. Layouts:
# tools/perf/Documentation/perf.data-file-format.txt and util/header.c of Linux 6.18.
. "$TOP/tests/lib/check.sh"

# each NAME PERL COMMAND...: $work/r is the recording in each order and mode
each() {
	local name=$1 perl=$2 big pipe
	shift 2
	for big in 0 1; do
		for pipe in 0 1; do
			perl -I "$TOP/tests/lib" -MRecording -e "my %o = (big => $big, pipe => $pipe); my \$r; $perl; \$r->write('$work/r')"
			"$@" >"$work/got" 2>&1 && continue
			not_ok "$name" "big=$big pipe=$pipe" "$(head -n 12 "$work/got")"
			return
		done
	done
	ok "$name"
}
prints() { # TEXT COMMAND...: each line of TEXT is a line of what it prints
	local text=$1
	shift
	"$@" >"$work/out" 2>&1
	while IFS= read -r line; do
		grep -qxF -- "$line" "$work/out" || { echo "no line '$line'"; cat "$work/out"; return 1; }
	done <<<"$text"
}
new='$r = Recording->new(%o); $r->comm(10, 10, "app", 1); $r->mmap(10, 0x1000, 0x4000, 0, "/bin/a", 1);
	$r->sample(ip => 0x1100, tid => [10, 10], time => 5e9, chain => ["user", 0x1100]);
	$r->sample(ip => 0x1100, tid => [10, 10], time => 7e9, chain => ["user", 0x1100]);'
said="$new "'
	$r->feature(3, $r->string("box")); $r->feature(4, $r->string("6.1.0-9")); $r->feature(5, $r->string("6.1.99"));
	$r->feature(6, $r->string("aarch64")); $r->feature(7, $r->u32(8, 4)); $r->feature(8, $r->string("Fast CPU"));
	$r->feature(11, $r->u32(3) . join "", map { $r->string($_) } "perf", "record", "-g");'

each "host, kernel, command and CPUs stand in the header" "$said" prints '# host: box
# kernel: "6.1.0-9"
# command: perf record -g
# sampled: 2.00 s on 4 cpus' collapse --no-symbols "$work/r"
each "what --input-check tells of them" "$said" prints 'writer             6.1.99
host               box
kernel             6.1.0-9
architecture       aarch64
processor          Fast CPU
command            perf record -g' collapse --no-symbols --input-check "$work/r"
json() {
	collapse --no-symbols --input-check=json "$work/r" | perl -MJSON::PP -e '
		my $d = decode_json(join "", <STDIN>);
		my $e = $d->{events}[0];
		exit !($d->{host} eq "box" && $d->{writer} eq "6.1.99" && $d->{samples} == 2 && $d->{"lost"} == 0 &&
			$d->{processor} eq "Fast CPU" && $d->{span} eq "5.000000 s to 7.000000 s (2.000000 s)" &&
			$e->{event} eq "cpu-clock" && $e->{samples} == 2 && $e->{"call graph"} eq "frame pointers" &&
			$d->{modules}[0]{module} eq "/bin/a" && $d->{modules}[0]{samples} == 2 &&
			grep { $_->{type} eq "SAMPLE" && $_->{records} == 2 } @{$d->{records}})'
}
each "and as JSON" "$said" json

# of sections that say nothing of stacks, and those of later perf, any contents
each "sections hold what they will" "$new"'
	for my $id (1, 9, 10, 13 .. 23, 25 .. 34, 63, 64, 127, 128, 130 .. 134, 191, 192, 255) {
		$r->feature($id, pack "C*", map { ($_ * $id * 7 + 3) % 256 } 1 .. 61);
	}
	$r->feature(3, $r->string("box")); $r->feature(200, "");' \
	prints '# host: box
app;a+0x100 2' collapse --no-symbols --no-annotate "$work/r"
each "a section shorter than what it should hold" "$new"' $r->feature($_, "\1") for 3 .. 12, 29;' \
	prints 'app;a+0x100 2' collapse --no-symbols --no-annotate "$work/r"

# ---- names of events: by id, whatever the order; else in their order ----
names='$r = Recording->new(%o, no_event => 1, sample_type => "IDENTIFIER IP TID TIME");
	$r->event(type => 4, config => 5, ids => [1, 2]); $r->event(type => 4, config => 6, ids => [3]);
	$r->comm(10, 10, "app", 1); $r->sample(id => $_, ip => 0x1100, tid => [10, 10], time => 5) for 1, 2, 3;
	my $desc = sub { my ($i, $name, @ids) = @_; $r->attr($r->{attrs}[$i]) . $r->u32(scalar @ids) . $r->string($name) . $r->u64(@ids) };'
each "names of events by id" "$names"' $r->feature(12, $r->u32(2, 128) . $desc->(1, "b/x=1/", 3) . $desc->(0, "a;b", 1, 2));' \
	prints 'a:b;app;[unknown] 2
b/x=1/;app;[unknown] 1' collapse --no-symbols --all-events "$work/r"
each "names of events in their order" "$names"' $r->feature(12, $r->u32(2, 128) . $desc->(0, "one") . $desc->(1, "two"));' \
	prints 'one;app;[unknown] 2
two;app;[unknown] 1' collapse --no-symbols --all-events "$work/r"
each "names of events that come as records" "$names"' $r->update_name(3, "late");
	$r->record(78, 0, $r->u64(0, 1) . $r->text("unit")); $r->record(78, 0, $r->u64(1, 1) . "\0" x 8);' \
	prints 'late;app;[unknown] 1' collapse --no-symbols --all-events "$work/r"

tracing='sub file { $r->u64(length $_[0]) . $_[0] }
	sub format_of { file("name: $_[0]\nID: $_[1]\nformat:\n\tfield:int x;\toffset:0;\n\nprint fmt: \"name: z\\nID: 9\"\n") }
	$r = Recording->new(%o, no_event => 1, sample_type => "IDENTIFIER IP TID TIME");
	$r->event(type => 2, config => 316, ids => [1]); $r->event(type => 2, config => 317, ids => [2]);
	$r->event(type => 2, config => 400, ids => [3]); $r->event(type => 0, config => 1, ids => [4]);
	my $data = "\x17\x08\x44tracing0.6\0" . chr($o{big}) . chr(8) . $r->u32(4096) . "header_page\0" . file("field") .
		"header_event\0" . file("") . $r->u32(1) . format_of("function", 1) . $r->u32(2) .
		"sched\0" . $r->u32(2) . format_of("sched_switch", 316) . format_of("sched_waking", 317) . "irq\0" . $r->u32(1) . format_of("one", 1) . $r->u32(0);
	if ($o{pipe}) { $r->record(66, 0, $r->u32(length $data)); $r->raw($data . "\0" x (-length($data) % 8)) }
	else { $r->feature(1, $data) }
	$r->comm(10, 10, "app", 1); $r->sample(id => $_, ip => 0x1100, tid => [10, 10], time => 5) for 1 .. 4;'
each "names of tracepoints in tracing data" "$tracing" prints 'sched:sched_switch;app;[unknown] 1
sched:sched_waking;app;[unknown] 1
tracepoint 400;app;[unknown] 1
instructions;app;[unknown] 1' collapse --no-symbols --all-events "$work/r"
each "a description of the events has the last word" "$tracing"' $r->feature(12, $r->u32(1, 128) . $r->attr($r->{attrs}[0]) .
	$r->u32(0) . $r->string("mine"));' prints 'mine;app;[unknown] 1
sched:sched_waking;app;[unknown] 1' collapse --no-symbols --all-events "$work/r"

# ---- build-ids: of the file as it is, or of another one ----
chain=$BUILD/samples/chain
id=$(readelf -n "$chain" 2>/dev/null | sed -n 's/.*Build ID: //p')
hot=$(nm "$chain" | sed -n 's/ [tT] hot$//p')
if [ -z "$id" ] || [ -z "$hot" ]; then
	skip "build-ids: readelf or nm cannot tell of $chain"
	exit 0
fi
# the segment of the code: by the program header, as the file may be laid out
# with code at other offsets than addresses
read -r offset address < <(readelf -lW "$chain" | awk '$1 == "LOAD" && / R E / { print $2, $3 }')
with_id() { # SIZE HEX MISC
	cat <<-END
	\$r = Recording->new(%o); \$r->comm(10, 10, 'app', 1);
	\$r->mmap(10, 0x7f0000000000, 0x100000, $offset, '$chain', 1);
	my \$ip = 0x7f0000000000 + 0x$hot - $address;
	\$r->sample(ip => \$ip, tid => [10, 10], time => 5, chain => ['user', \$ip]);
	my \$id = pack 'H*', '$2';
	\$id .= "\0" x (20 - length \$id) . ($3 & 0x8000 ? chr($1) . "\0" x 3 : "\0" x 4);
	my \$body = \$r->u32(-1) . \$id . \$r->text('$chain');
	if (\$o{pipe}) { \$r->record(67, $3, \$body) } else { \$r->feature(2, \$r->frame(0, $3, \$body)) }
	END
}
other=0123456789abcdef0123456789abcdef01234567
each "the file with the build-id that was recorded" "$(with_id 20 "$id" 2)" prints 'app;hot 1' collapse --no-annotate --no-inline "$work/r"
each "with its size told" "$(with_id 20 "$id" 0x8002)" prints 'app;hot 1' collapse --no-annotate --no-inline "$work/r"
each "a file of another build-id is not asked" "$(with_id 20 $other 2)" prints 'app;[chain] 1' collapse --no-annotate --no-inline "$work/r"
each "nor one whose build-id is shorter" "$(with_id 8 "${id:0:16}" 0x8002)" prints 'app;[chain] 1' collapse --no-annotate --no-inline "$work/r"
