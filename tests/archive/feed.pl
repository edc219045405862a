# Feeds a recording that never comes to rest through a pipe: each second of it
# 100 new processes are forked, exec one of this machine's programs, run for
# 25 samples and exit. Waits for the archive to have each interval, and
# prints the resident size of the reader after the tenth and the last one.
#
# usage: feed.pl PIPE ARCHIVE READER-PID INTERVALS
use strict;
use warnings;
no warnings "portable"; # addresses have 64 bits
use lib "$ENV{TOP}/tests/lib";
use Recording;

my ($pipe, $archive, $reader, $intervals) = @ARGV;
my @programs = grep { -f && -x && -s > 20000 } glob '/usr/bin/*';
splice @programs, 20 if @programs > 20;
srand 3;
open my $out, '>', $pipe or die "$pipe: $!";
$out->autoflush(1);

my $r = Recording->new(pipe => 1);
my ($pid, $time) = (1000, 1e9);
print $out $r->bytes;
for my $interval (1 .. $intervals + 1) {
	$r->{records} = '';
	for my $n (1 .. 100) {
		$pid = 1000 + ($pid - 999) % 30000;
		my $program = $programs[$n % @programs];
		$r->fork($pid, 1, $pid, 1, $time);
		$r->comm($pid, $pid, "job-$pid", $time + 1, exec => 1);
		$r->mmap2($pid, 0x400000, 0x100000, 0, $program, $time + 2);
		$r->mmap2($pid, 0x7f0000000000 + 0x1000 * int rand 1e6, 0x1000, 0, "/gone/$interval.so", $time + 2);
		my @chain = map { 0x401000 + int rand 0x8000 } 1 .. 8;
		$r->sample(tid => [$pid, $pid], time => $time + 10 + $_, ip => $chain[0], chain => ['user', @chain]) for 1 .. 25;
		$r->exit($pid, $pid, $time + 1000);
		$time += 1e7;
	}
	$r->round;
	print $out $r->{records};
	next if $interval < 2;
	# the first is cut where the second begins, and so on
	my $waited = 0;
	select undef, undef, undef, 0.01 while (() = glob "$archive/*.zst") < $interval - 1 && $waited++ < 3000;
	if ($interval == 11 || $interval == $intervals + 1) {
		select undef, undef, undef, 0.3; # until it waits for more
		open my $status, '<', "/proc/$reader/status" or die;
		print /^VmRSS:\s+(\d+)/, "\n" for grep { /^VmRSS/ } <$status>;
	}
}
