#!/usr/bin/perl
# recording.pl - a random recording and what it must fold to.
#
# usage: recording.pl SEED RECORDING EXPECTED [no-exec]
#
# Writes the pipe mode of perf.data (struct layouts: linux/perf_event.h of
# Linux 6.1) with processes, threads, forks, execs, exits, reused pids, maps
# that overlap, kernel chains, two events and rounds whose records are out of
# order; and keeps a plain model of the processes beside it, from which the
# expected stacks of the first event come: `comm;DSO+0xOFFSET;...` and a count.
use strict;
use warnings;

my ($seed, $recording, $expected, $no_exec) = @ARGV;
die "usage: recording.pl SEED RECORDING EXPECTED\n" unless defined $expected;

# a generator of our own: the same numbers from every perl
my $state = $seed * 2654435761 % 2147483647 || 1;
sub any { $state = $state * 48271 % 2147483647; return int($state / 7) % $_[0] }
sub chance { return any(100) < $_[0] }
sub one_of { return $_[any(scalar @_)] }

open my $out, '>:raw', $recording or die "$recording: $!";

# ---- the stream's header ----

use constant {
	IP => 1, TID => 2, TIME => 4, CALLCHAIN => 32, CPU => 128, PERIOD => 256,
	IDENTIFIER => 1 << 16,
};
my $sample_type = IP | TID | TIME | CALLCHAIN | CPU | PERIOD | IDENTIFIER;
my @ids = (101, 102);

# mmap, comm, task, sample_id_all, mmap2, comm_exec
my $flags = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18 | 1 << 23 | 1 << 24;

sub attr { # software event: cpu-clock (0) or page-faults (2)
	my ($config) = @_;
	return pack 'LLQQQQQLLQQQQLlQLSSLLQ', 1, 128, $config, 1000, $sample_type, 0, $flags, (0) x 15;
}
print $out 'PERFILE2', pack('Q', 16);
print $out pack('LSS', 64, 0, 8 + 128 + 8), attr(0), pack('Q', $ids[0]);
print $out pack('LSS', 64, 0, 8 + 128 + 8), attr(2), pack('Q', $ids[1]);

# ---- records ----

my ($now, @round, @delayed) = (1000);
my $cpus = 4;

sub record { # TYPE MISC BODY TID PID: with the sample_id trailer
	my ($type, $misc, $body, $pid, $tid) = @_;
	$now++; # no two records of one moment: their order would be anybody's guess
	my $cpu = any($cpus);
	$body .= pack 'LLQLLQ', $pid, $tid, $now, $cpu, 0, $ids[0];
	push @round, [$cpu, $now, pack('LSS', $type, $misc, 8 + length $body) . $body];
}

sub padded { my $text = $_[0] . "\0"; $text .= "\0" while length($text) % 8; return $text }

sub mmap2 {
	my ($pid, $start, $size, $pgoff, $path) = @_;
	record(10, $path =~ /^\[kernel/ ? 1 : 2,
		pack('lLQQQLLQQLL', $pid, $pid, $start, $size, $pgoff, 8, 1, 1000 + length $path, 0, 5, 2) .
		padded($path), $pid & 0xffffffff, $pid & 0xffffffff);
}
sub comm { my ($pid, $tid, $name, $exec) = @_; record(3, $exec ? 0x2000 : 0, pack('LL', $pid, $tid) . padded($name), $pid, $tid) }
sub task { my ($type, $pid, $ppid, $tid, $ptid) = @_; record($type, 0, pack('LLLLQ', $pid, $ppid, $tid, $ptid, $now), $pid, $tid) }

# Records of one CPU stand in order of time, CPUs one after the other; some
# records of a round arrive only with the next (as a reader sees them that
# drains the rings while they fill).
sub finish_round {
	my @late;
	my @ready = grep { my $r = $_; !(chance(5) && push @late, $r) } @round;
	print $out map { $_->[2] } sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } @delayed, @ready;
	print $out pack 'LSS', 68, 0, 8;
	@delayed = @late;
	@round = ();
}

# ---- the model ----

my (%process, %replaced, %thread, %folded, @announced); # process: pid -> [maps]; thread: tid -> {pid, comm}
my $next_pid = 100;
my $kernel = 18446744071578845184; # 0xffffffff81000000
my @paths = map { "/usr/lib/lib$_.so" } 'a' .. 'h';
push @paths, '/opt/with space/app', '/usr/bin/tool-1.2', '//anon';

sub add_map {
	my ($pid, $start, $size, $pgoff, $path) = @_;
	my @kept;
	for my $map (@{$process{$pid}}) { # the new map takes its range from older ones
		my ($s, $e, $o, $p) = @$map;
		if ($e <= $start || $s >= $start + $size) { push @kept, $map; next }
		push @kept, [$s, $start, $o, $p] if $s < $start;
		push @kept, [$start + $size, $e, $o + $start + $size - $s, $p] if $e > $start + $size;
	}
	$process{$pid} = [@kept, [$start, $start + $size, $pgoff, $path]];
	mmap2($pid, $start, $size, $pgoff, $path);
}
sub random_map {
	my ($pid) = @_;
	add_map($pid, 0x10000 + any(40) * 0x1000, (1 + any(12)) * 0x1000, any(8) * 0x1000, one_of(@paths));
}
sub place {
	my ($pid, $ip, $is_return) = @_;
	# the call that a return address belongs to lies before it
	my $call = $ip - ($is_return ? 1 : 0);
	# until an exec's new program has run, the user's registers may be the old one's
	for my $map (@{$process{$pid}}, @{$replaced{$pid} // []}) {
		my ($s, $e, $o, $p) = @$map;
		next if $call < $s || $call >= $e;
		last if $p =~ m{^//};
		return sprintf '%s+0x%x', $p =~ s{.*/}{}r, $ip - $s + $o;
	}
	return '[unknown]';
}
sub start_process { # like a process that was there before: maps, comm
	my $pid = $next_pid++;
	$process{$pid} = [];
	$thread{$pid} = {pid => $pid, comm => one_of('init', 'sh', 'a b', 'x:y', '7 up')};
	comm($pid, $pid, $thread{$pid}{comm}, 0);
	random_map($pid) for 1 .. 3;
	return $pid;
}
sub sample {
	my $tid = one_of(sort { $a <=> $b } keys %thread);
	my $pid = $thread{$tid}{pid};
	my @user = map { 0x10000 + any(0x36000) } 1 .. 1 + any(8);
	my @kernel = chance(40) ? map { $kernel + any(0x100000) } 1 .. 1 + any(4) : ();
	my @chain;
	push @chain, 18446744073709551488, @kernel if @kernel; # PERF_CONTEXT_KERNEL, -128
	push @chain, 18446744073709551104, @user;               # PERF_CONTEXT_USER, -512
	my $event = any(4) ? 0 : 1;
	my $cpu = any($cpus);
	my $body = pack 'QQLLQLLQQ', $ids[$event], @kernel ? $kernel[0] : $user[0], $pid, $tid, $now, $cpu, 0, 1000, scalar @chain;
	$body .= pack 'Q*', @chain;
	push @round, [$cpu, $now, pack('LSS', 9, @kernel ? 1 : 2, 8 + length $body) . $body];
	return if $event;
	delete $replaced{$pid} unless @kernel;
	my @frames = reverse map { place($pid, $user[$_], $_) } 0 .. $#user;
	push @frames, map { sprintf '[kernel.kallsyms]+0x%x_[k]', $_ } reverse @kernel;
	$folded{join ';', $thread{$tid}{comm}, @frames}++;
}

# A process that begins while the recorder reads /proc is told of there too, with
# a thread that it will have; without a time, in front of what the kernel tells.
sub announce {
	my ($pid, $parent, $tid) = @_;
	my $trailer = pack 'LLQLLQ', 0, 0, 0, 0, 0, $ids[0];
	for my $task ([$pid, $parent], [$tid, $pid]) {
		my ($id, $of) = @$task;
		print $out pack('LSS', 7, 0x2000, 8 + 24 + length $trailer), pack('LLLLQ', $pid, $of, $id, $of, 0), $trailer;
		my $name = pack('LL', $pid, $id) . padded('early');
		print $out pack('LSS', 3, 0, 8 + length($name) + length $trailer), $name, $trailer;
	}
	push @announced, [$tid, $pid];
}
# the kernel's record of such a thread, and its end
sub begin_announced {
	my ($tid, $pid) = @{shift @announced};
	return unless $process{$pid} && $thread{$pid};
	task(7, $pid, $pid, $tid, $pid);
	$thread{$tid} = {pid => $pid, comm => $thread{$pid}{comm}};
}

mmap2(-1, $kernel, 0x1000000, $kernel, '[kernel.kallsyms]_text');
start_process() for 1 .. 3;
for (1 .. 400) {
	$now += 1 + any(50);
	my @pids = sort { $a <=> $b } keys %process;
	my $pid = one_of(@pids);
	my $what = any(100);
	if ($what < 60) {
		sample();
	} elsif ($what < 72) {
		random_map($pid);
	} elsif ($what < 78) { # fork: the child has copies of maps and comm
		my $child = $next_pid++;
		announce($child, $pid, $next_pid++) if chance(30);
		$process{$child} = [@{$process{$pid}}];
		$thread{$child} = {pid => $child, comm => $thread{$pid}{comm}};
		task(7, $child, $pid, $child, $pid);
	} elsif ($what < 83 && @announced) {
		begin_announced();
	} elsif ($what < 83) { # a new thread
		my $tid = $next_pid++;
		$thread{$tid} = {pid => $pid, comm => $thread{$pid}{comm}};
		task(7, $pid, $pid, $tid, $pid);
	} elsif ($what < 88 && !$no_exec) { # exec: maps go, the name changes, new maps come
		$replaced{$pid} = $process{$pid};
		$process{$pid} = [];
		delete $thread{$_} for grep { $thread{$_}{pid} == $pid && $_ != $pid } keys %thread;
		$thread{$pid}{comm} = one_of('ls', 'make', 'cc1', 'java -jar', 'ütf');
		comm($pid, $pid, $thread{$pid}{comm}, 1);
		$now++;
		random_map($pid) for 1 .. 2;
	} elsif ($what < 92 && chance(30)) { # a thread ends
		my ($tid) = grep { $thread{$_}{pid} != $_ } sort { $a <=> $b } keys %thread;
		next unless $tid;
		task(4, $thread{$tid}{pid}, $thread{$tid}{pid}, $tid, $tid);
		delete $thread{$tid};
	} elsif ($what < 92) { # a thread renames itself
		my $tid = one_of(sort { $a <=> $b } keys %thread);
		$thread{$tid}{comm} = 'worker-' . any(3);
		comm($thread{$tid}{pid}, $tid, $thread{$tid}{comm}, 0);
	} elsif ($what < 95 && @pids > 2) { # exit; sometimes the pid is used again at once
		delete $thread{$_} for grep { $thread{$_}{pid} == $pid } keys %thread;
		delete $process{$pid};
		delete $replaced{$pid};
		task(4, $pid, $pid, $pid, $pid);
		if (chance(50)) {
			my $parent = one_of(sort { $a <=> $b } keys %process);
			$now++;
			$process{$pid} = [@{$process{$parent}}];
			$thread{$pid} = {pid => $pid, comm => $thread{$parent}{comm}};
			task(7, $pid, $parent, $pid, $parent);
		}
	} else {
		finish_round();
	}
}
finish_round();
finish_round();
close $out or die "$recording: $!";

open my $list, '>', $expected or die "$expected: $!";
print $list "$_ $folded{$_}\n" for sort keys %folded;
close $list or die "$expected: $!";
