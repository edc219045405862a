#!/bin/bash
# Folded profiles kept by the minute: written whole or not at all, merged back
# to what they were, cleared away by age and size.
. "$TOP/tests/lib/check.sh"
cd "$work" || exit 2
export TZ=UTC

# a recording of many short processes, as bytes that any machine can make
perl -I"$TOP/tests/lib" -MRecording -we '
	srand 5;
	my $r = Recording->new(pipe => 1);
	my $time = 1e9;
	for my $n (1 .. 3000) {
		my $pid = 100 + $n % 40;
		if ($n % 10 == 1) {
			$r->fork($pid, 1, $pid, 1, $time);
			$r->comm($pid, $pid, "job$pid", $time, exec => 1);
			$r->mmap2($pid, 0x400000, 0x10000, 0, "/bin/job$pid", $time);
		}
		$r->sample(tid => [$pid, $pid], time => $time, ip => 0x400000, chain => ["user", map { 0x400000 + 16 * int rand 6 } 0 .. rand 4]);
		$r->exit($pid, $pid, $time + 1) if $n % 50 == 0;
		$r->lost(2, $time) if $n % 1000 == 0;
		$time += 2e6;
		$r->round if $n % 100 == 0;
	}
	$r->write("recording")'
collapse -q --no-header recording >whole 2>/dev/null
count() { ls "$1" | grep -c 'folded\.zst$'; }

# ---- write, merge ----
for alone in '--every=1s' '--keep=7d' '--max-size=1G'; do
	expect "$alone without an archive" 64 "'${alone%%=*}' needs an archive" collapse "$alone" recording
done
for other in --to=pprof --output=file --samples --input-check; do
	expect "$other is another output" 64 "'--archive' and '${other%%=*}' name two outputs" collapse --archive none "$other" recording
done
expect "a recording becomes files by interval" 1 'lost 6 samples' sh -c 'collapse -q --every 1s --archive one <recording'
expect "an archive is no input of one" 2 'one. is an archive' collapse --archive one one
printf 'a;b 3\n' >timeless
collapse --archive undated timeless
check "what tells no time is of now" test "$(count undated)" = "$(ls undated | grep -c "^$(date -u +%Y)")"
check "there is a file for each of the intervals" bash -c "[ \$(ls one | grep -cE '^[0-9]{8}T[0-9]{6}Z-[^ ]+\.folded\.zst$') -ge 6 ]"
check "merged, they are the whole again" bash -c 'collapse -q --no-header one | cmp - whole'
check "totals in the headers add up" bash -c "collapse one | grep -qx '# lost: 6 records'"
check "a file of the archive is read like any other" bash -c 'zstd -qdc one/*.zst | grep -v "^#" | awk "{ n += \$NF } END { exit n != 3000 }"'
check "folded text compresses to under a third, with its header" \
	bash -c 'packed=$(cat one/*.zst | wc -c); plain=$(zstd -qdc one/*.zst | wc -c); [ $((packed * 3)) -lt $plain ]'
perl -I"$TOP/tests/lib" -MRecording -we '
	my $r = Recording->new(pipe => 1);
	$r->comm(10, 10, "go", 1e9);
	$r->fork(10, 10, 11, 10, 1e9 + 1);
	$r->exit(10, 10, 1e9 + 2);
	$r->comm(10, 10, "next", 1e9 + 3, exec => 1);
	$r->mmap2(10, 0x400000, 0x10000, 0, "/bin/next", 1e9 + 4);
	$r->sample(tid => [10, 10], time => $_ * 1e9, chain => ["user", 0x400010]) for 2 .. 5;
	$r->write("executed")'
collapse -q --every 1s --archive threads <executed
check "a program that another thread than the first one started keeps its name and maps" \
	bash -c '[ $(ls threads/*.zst | wc -l) -ge 3 ] && collapse -q --no-header threads | cmp - <(collapse -q --no-header executed)'
first=$(ls one/*.zst | head -n 1)
stamp=$(basename "$first" | cut -c1-16)
check "--until leaves later files out" bash -c "[ -z \"\$(collapse -q one --until $stamp 2>/dev/null)\" ]"
check "--since takes all from then on" bash -c "collapse -q --no-header one --since $stamp | cmp - whole"
check "--since and --until meet without overlap" bash -c "
	middle=\$(ls one/*.zst | sed -n 3p | xargs basename | cut -c1-16)
	(collapse -q --no-header one --until \$middle; collapse -q --no-header one --since \$middle) |
		awk '{ n += \$NF } END { exit n != 3000 }'"
check "an hour ago is a time" bash -c 'collapse -q --no-header one --since 1h | cmp - whole'
expect "a time that is none" 64 "is no time such as" collapse one --since yesterday
expect "a range without files" 2 'no files of that time' collapse one --since 2001-01-01 --until 2001-01-02
mkdir none && expect "an archive without files" 2 "archive 'none' has no files" collapse none

# ---- damage ----
cp -r one damaged
head -c 100 "$first" >"damaged/$(basename "$first")"
echo 'not folded at all' | zstd -q >damaged/20010101T000000Z-x.folded.zst
: >damaged/20010101T000001Z-x.folded
echo 'a;b 1' >damaged/notes.txt
expect "damaged files are named, left out, and make the merge incomplete" 1 "$(basename "$first").*left out" collapse -q damaged
check "what is whole of a damaged archive is there" bash -c '
	left=$(zstd -qdc $(ls one/*.zst | tail -n +2) | grep -v "^#" | awk "{ n += \$NF } END { print n }")
	collapse -q --no-header damaged 2>/dev/null | awk -v n=$left "{ m += \$NF } END { exit n != m }"'

# ---- one writer, who cleans up ----
mkfifo pipe
(exec 9>pipe; sleep 3) &
holder=$!
collapse -q --archive two <pipe &
writer=$!
for ((i = 0; i < 100; i++)); do [ -e two/.lock ] && break; sleep 0.05; done
expect "a second writer is refused" 2 "another collapse writes to the archive 'two'" collapse --archive two recording
kill $holder
wait $writer 2>/dev/null
expect "an archive that cannot be written fails before anything is read" 2 "cannot" timeout 60 bash -c "collapse --archive /dev/null/x < <(exec sleep 70 2>/dev/null)"
: >two/20260101T000000Z-vm.folded.zst.aB3dEf
: >two/keep.me.aB3dEf
collapse -q --every 1s --archive two <recording 2>/dev/null
check "what a killed writer left is removed, other files are not" bash -c '[ ! -e two/20260101T000000Z-vm.folded.zst.aB3dEf ] && [ -e two/keep.me.aB3dEf ]'

# ---- kill -9 ----
bad=0 leftovers=0
for delay in 0.05 0.08 0.11 0.14 0.17 0.2 0.23 0.26; do
	collapse -q --every 20ms --archive killed <recording 2>/dev/null &
	victim=$!
	sleep $delay
	kill -9 $victim 2>/dev/null
	wait $victim 2>/dev/null
	ls killed/*.zst >/dev/null 2>&1 && { zstd -qt killed/*.zst 2>/dev/null || bad=$((bad + 1)); }
	[ "$(ls killed | grep -vc 'folded\.zst$')" -le 1 ] || leftovers=$((leftovers + 1))
done
check "kill -9 leaves whole files ($(count killed) of them)" [ $bad = 0 ]
check "and at most one that is unfinished" [ $leftovers = 0 ]
check "which all merge" bash -c 'collapse -q killed >/dev/null'

# ---- signals ----
mkfifo live
(exec 9>live; cat recording >&9; sleep 20) &
holder=$!
collapse -q --every 1s --archive ended <live 2>/dev/null &
writer=$!
for ((i = 0; i < 100; i++)); do [ "$(count ended 2>/dev/null)" -ge 5 ] 2>/dev/null && break; sleep 0.05; done
kill -TERM $writer
wait $writer
check "SIGTERM ends the last interval first" bash -c 'collapse -q --no-header ended | cmp - whole'
kill $holder 2>/dev/null

# ---- age and size ----
for day in 01 02 03; do
	echo 'old 1' | zstd -q >one/202001${day}T000000Z-vm.folded.zst
done
collapse -q --every 1h --archive one --keep 7d <recording 2>/dev/null
check "--keep removes what is older" bash -c '! ls one | grep -q ^2020'
before=$(count one)
collapse -q --every 1h --archive one --max-size 1K <recording 2>/dev/null
check "--max-size removes the oldest, never the newest" bash -c "[ $before -gt 2 ] && [ $(count one) -ge 1 ] && [ $(count one) -lt $before ]"

# ---- bombs ----
mkdir bombs
cp "$(find one -name '*.zst' | head -n 1)" bombs/20260101T000000Z-vm.folded.zst
yes 'main;a;b 1' | head -n 20000000 | zstd -q >bombs/20260101T000100Z-vm.folded.zst
expect "--max-input leaves out a member that is larger" 1 "larger than the limit of 1048576 bytes; left out" \
	collapse --max-input 1M bombs
check "and keeps the others" bash -c "[ \"\$(collapse -q --max-input 1M --no-header bombs | awk '{ n += \$NF } END { print n }')\" -gt 0 ]"
expect "--max-input bounds a single input" 2 "larger than the limit" \
	collapse --max-input 1M bombs/20260101T000100Z-vm.folded.zst
expect "without it any size is read" 0 "" collapse bombs/20260101T000100Z-vm.folded.zst
expect "--max-input wants a size" 64 "no size such as 1G" collapse --max-input big bombs

# ---- a full disk ----
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k none small 2>/dev/null; then
	head -c 60000 /dev/urandom >small/ballast
	mkfifo slow
	(exec 9>slow; head -c 150000 recording >&9; sleep 1; rm small/ballast; tail -c +150001 recording >&9) &
	expect "a full disk is told once" 1 'No space left.*kept and tried again' sh -c 'collapse --every 500ms --archive small <slow'
	wait $!
	check "and nothing is lost when there is room again" bash -c 'collapse -q --no-header small | cmp - whole'
	umount small
else
	skip "a full disk: cannot mount a small file system here"
fi

# ---- days ----
mkfifo days
(exec collapse -q --every 1s --archive long <days 2>/dev/null) &
writer=$!
sizes=$(perl "$TOP/tests/archive/feed.pl" days long $writer 100)
wait $writer
set -- $sizes
if [ "$MODE" = plain ]; then
	check "memory is flat over 100 intervals of 100 processes (${1:-?} and ${2:-?} KiB)" \
		[ $((${2:-9999999} * 10)) -le $((${1:-0} * 11)) ]
fi
check "all 10,100 processes are there" bash -c "collapse -q --no-header long | awk '{ n += \$NF } END { exit n != 252500 }'"
