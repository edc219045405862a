#!/usr/bin/perl
# layouts.pl - a random recording of any layout and what its samples are.
#
# usage: layouts.pl SEED RECORDING EXPECTED [perf]
#
# The byte order, the mode, the size of the attributes, the fields of the
# samples of each event, read formats, branches, registers and all kinds of
# records in between are drawn by lot; layouts: linux/perf_event.h of Linux 6.18
# at PERF_RECORD_SAMPLE and struct perf_event_attr. EXPECTED gets a line a
# sample: `event comm pid tid cpu period: address...`, `-` for what its event
# does not record. `perf` leaves out what perf 6.1 does not know. The last line
# on stdout names the fields that all events record.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Recording;

my ($seed, $recording, $expected, $for_perf) = @ARGV;
die "usage: layouts.pl SEED RECORDING EXPECTED [perf]\n" unless defined $expected;

my $state = $seed * 2654435761 % 2147483647 || 1;
sub any { $state = $state * 48271 % 2147483647; return int($state / 7) % $_[0] }
sub chance { return any(100) < $_[0] }
sub one_of { return $_[any(scalar @_)] }

# the size of the attribute that a field of a sample needs: what it is read by stands behind
my %needs = (BRANCH_STACK => 80, REGS_USER => 96, STACK_USER => 96, REGS_INTR => 104);
my @fields = qw(IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER
	STACK_USER WEIGHT DATA_SRC IDENTIFIER TRANSACTION REGS_INTR PHYS_ADDR AUX CGROUP
	DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT);
my $attr_size = one_of(64, 72, 80, 96, 104, 112, 120, 128, $for_perf ? () : (136, 144, 200));
my ($big, $pipe) = (chance(40), chance(50));
$pipe = 0 if $for_perf && $big; # perf 6.1 turns halves of words of a file, not of a stream
my $id_all = chance(85);
my $r = Recording->new(big => $big, pipe => $pipe, no_event => 1, sample_type => '',
	attr_size => $attr_size, id_all => $id_all);

# ---- events: unlike ones must agree where the id stands ----
my $nr_events = 1 + any(3);
my $by_identifier = chance(50);
my @front = grep { chance(80) } qw(IP TID TIME ADDR);
my @back = grep { chance(60) } qw(CPU STREAM_ID);
my @names = (['cpu-clock', 1, 0], ['page-faults', 1, 2], ['instructions', 0, 1]);
my (@events, %common);
my $format = any(32) & ~8 | 4; # one for all is what perf wants
for my $i (0 .. $nr_events - 1) {
	my %has = map { $_ => 1 } grep { chance(45) && ($needs{$_} // 0) <= $attr_size } @fields;
	delete @has{qw(IDENTIFIER ID)};
	delete $has{WEIGHT} if $has{WEIGHT_STRUCT};
	delete $has{AUX} if $for_perf; # an event without a buffer for it is none to perf
	delete $has{RAW} if $for_perf && $big; # its bytes are turned twice
	# perf does not print what has no address at all
	$has{IP} = $has{CALLCHAIN} = 1 if $for_perf;
	if ($by_identifier) {
		$has{IDENTIFIER} = 1;
		$has{TID} = $has{TIME} = 1 if $for_perf;
	} else {
		delete @has{qw(IP TID TIME ADDR CPU STREAM_ID)};
		$has{$_} = 1 for @front, @back, $nr_events > 1 || chance(50) ? 'ID' : ();
		$has{IP} = $has{TID} = $has{TIME} = 1 if $for_perf;
	}
	my $branch = $has{BRANCH_STACK} ? (chance(40) << 17) | (chance(40) && !$for_perf) << 19 | 1 : 0;
	my %e = (name => $names[$i][0], type => $names[$i][1], config => $names[$i][2],
		ids => [map { 100 * $i + $_ } 11 .. 11 + any(3)],
		sample_type => $r->bits(join ' ', keys %has), has => \%has,
		period => 1000 + $i, inherit => chance(50), read_format => $for_perf ? $format : any(32), branch => $branch,
		regs => 0x1ff & ~(1 << any(9)), regs_intr => 7 << any(4));
	# one sample of a whole group stands for several events
	$e{read_format} &= ~8 if $has{READ};
	$r->event(%e);
	push @events, \%e;
	$common{$_}++ for keys %has;
}
$r->{type} = $events[0]{sample_type};
$r->{side_id} = $events[0]{ids}[0];
sub common { return ($common{$_[0]} // 0) == $nr_events }

# ---- records ----
my $now = 1_000_000_000;
my $kernel = '18446744071578845184'; # 0xffffffff81000000
my %comm = (10 => 'app', 11 => 'worker', 20 => 'a b', 0 => 'swapper');
my %pid = (10 => 10, 11 => 10, 20 => 20, 0 => 0);
my @samples;

sub trailer { return $r->trailer($now++, tid => [10, 10], id => $events[0]{ids}[0]) }
sub side { my ($type, $misc, $body) = @_; $r->record($type, $misc, $body . trailer()) }

$r->mmap(-1, $kernel, 0x1000000, $kernel, '[kernel.kallsyms]_text', 0, mode => 'kernel');
for my $tid (10, 11, 20) {
	$r->comm($pid{$tid}, $tid, $comm{$tid}, 0);
	next unless $tid == $pid{$tid};
	# user addresses are printed as offsets in the file: as they are
	$r->mmap2($tid, 0x10000, 0x40000, 0x10000, '/bin/a', 0);
}

# what stands between the samples and must change nothing
my @others = (
	sub { side(2, 0, $r->u64($events[0]{ids}[0], 0)) },                          # LOST
	sub { side(5, 0, $r->u64($now, 1, 1)) }, sub { side(6, 0, $r->u64($now, 1, 1)) }, # THROTTLE
	sub { side(11, 0, $r->u64(0, 64, 1)) },                                      # AUX
	sub { side(12, 0, $r->u32(10, 10)) },                                        # ITRACE_START
	sub { side(13, 0, $r->u64(0)) },                                             # LOST_SAMPLES
	sub { side(14, one_of(0, 0x2000), '') },                                     # SWITCH
	sub { side(15, one_of(0, 0x2000, 0x6000), $r->u32(20, 20)) },                # SWITCH_CPU_WIDE
	sub { side(16, 0, $r->u32(10, 10) . $r->u64(2, 3, 4026531836, 3, 4026531837)) }, # NAMESPACES
	sub { side(19, 0, $r->u64(33) . $r->text('/box')) },                         # CGROUP
	sub { side(20, 1, $r->u64($kernel) . $r->u16(1, 1) . 'ab' . "\0" x 2) },     # TEXT_POKE
	sub { $r->record(69, 0, $r->u64(1, 11, 0, 0, 10)) },                         # ID_INDEX
	sub { $r->record(73, 0, $r->u64(1, 10) . $r->text('app') . "\0" x 8) },      # THREAD_MAP
	sub { $r->record(82, 0, '') },                                               # FINISHED_INIT
	# of the other byte order perf turns these by halves
	$for_perf && $big ? () : (
		sub { side(8, 0, $r->u32(10, 10) . $r->u64(5)) },                    # READ
		sub { side(18, 0, $r->u16(1, 0) . $r->u32(7) . 'taggedbp') },        # BPF_EVENT
	),
	$for_perf ? () : (
		sub { side(21, 0, $r->u64(5)) },                                     # AUX_OUTPUT_HW_ID
		sub { $r->record(one_of(84, 85, 86, 99, 4000), any(65536), 'whatever' x any(9)) },
		sub { $r->record(71, 0, $r->u64(24, 0, 0) . $r->u32(0, 0, 0, 0)); $r->raw('y' x 24) },
	),
);

# counters that a sample carries along: what perf takes its period from
my %counted;
sub read_values {
	my ($format, $id, $period) = @_;
	return ($counted{$id} += $period, (8) x ($format & 1), (9) x ($format >> 1 & 1),
		($id) x ($format >> 2 & 1), (0) x ($format >> 4 & 1));
}

sub sample {
	my $e = one_of(@events);
	my %has = %{$e->{has}};
	my $tid = one_of(0, 10, 11, 20);
	my $in_kernel = $tid == 0 || chance(40);
	my @user = $tid == 0 ? () : map { 0x10000 + any(0x40000) } 1 .. 1 + any(6);
	my @kernel = $in_kernel ? map { $kernel + any(0x100000) } 1 .. 1 + any(4) : ();
	my $ip = $in_kernel ? $kernel[0] : $user[0];
	my $id = one_of(@{$e->{ids}});
	my $period = $has{PERIOD} ? 1 + any(5000) : $e->{period};
	my %s = (type => $e->{sample_type}, id => $id, ip => $ip, tid => [$pid{$tid}, $tid],
		time => $now++, cpu => any(4), period => $period, cgroup => 33,
		mode => $in_kernel ? 'kernel' : 'user', branch => $e->{branch}, raw => 'r' x (4 + 8 * any(4)),
		read => [read_values($e->{read_format}, $id, $period)], branches => [map { [0x11000, 0x12000] } 1 .. any(4)],
		chain => [@kernel ? ('kernel', @kernel) : (), @user ? ('user', @user) : ()]);
	$s{regs} = [1 .. 8] if chance(70);
	# nothing to unwind by: without a stack the chain stands
	$s{stack} = '';
	$s{regs_intr} = chance(70) ? [1 .. 3] : [];
	$r->sample(%s);
	my @frames = $has{CALLCHAIN} ? (@kernel, @user) : $has{IP} ? ($ip) : ();
	push @samples, join(' ', $e->{name}, $has{TID} ? ($comm{$tid}, $pid{$tid}, $tid) : ('-') x 3,
		$has{CPU} ? $s{cpu} : '-', $period) . ':' .
		join '', map { sprintf ' %x', $_ } @frames;
}

for (1 .. 60) {
	if (chance(60)) { sample() }
	else { one_of(@others)->() }
	$r->round if chance(5);
}
$r->feature(3, $r->string('box'));
$r->feature(12, $r->u32($nr_events, $attr_size) . join '', map { $r->attr($_) . $r->u32(scalar @{$_->{ids}}) .
	$r->string($_->{name}) . $r->u64(@{$_->{ids}}) } @{$r->{attrs}});
$r->write($recording);

open my $list, '>', $expected or die "$expected: $!";
print $list map { "$_\n" } sort @samples;
close $list or die "$expected: $!";
print join(' ', grep { common($_) } sort keys %common), "\n";
