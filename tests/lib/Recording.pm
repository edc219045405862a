# Recording.pm - writes perf.data recordings by hand, for tests: either byte
# order, pipe or file mode, any sample layout. Layouts: linux/perf_event.h.
#
#   my $r = Recording->new(big => 1, pipe => 1, sample_type => 'IP TID TIME CALLCHAIN');
#   $r->comm(10, 10, 'app', 1, exec => 1);
#   $r->sample(ip => 0x1234, tid => [10, 10], time => 5, chain => [...]);
#   $r->write($path);
package Recording;
use strict;
use warnings;

our %bit = (IP => 0, TID => 1, TIME => 2, ADDR => 3, READ => 4, CALLCHAIN => 5, ID => 6,
	CPU => 7, PERIOD => 8, STREAM_ID => 9, RAW => 10, BRANCH_STACK => 11, REGS_USER => 12,
	STACK_USER => 13, WEIGHT => 14, DATA_SRC => 15, IDENTIFIER => 16, TRANSACTION => 17,
	REGS_INTR => 18, PHYS_ADDR => 19, AUX => 20, CGROUP => 21, DATA_PAGE_SIZE => 22,
	CODE_PAGE_SIZE => 23, WEIGHT_STRUCT => 24);
our %context = (kernel => '18446744073709551488', user => '18446744073709551104',
	guest_kernel => '18446744073709549440', hypervisor => '18446744073709551584',
	guest => '18446744073709549568', guest_user => '18446744073709549056', deferred => '18446744073709550976');
our %mode = (unknown => 0, kernel => 1, user => 2, hypervisor => 3, guest_kernel => 4, guest_user => 5);

sub new {
	my ($class, %o) = @_;
	my $self = bless { big => 0, pipe => 1, sample_type => 'IP TID TIME CALLCHAIN',
		read_format => 0, attr_size => 128, id_all => 1, side_id => 1, attrs => [], records => '',
		features => {}, regs => 0, regs_intr => 0, branch => 0, %o }, $class;
	$self->{type} = $self->bits($self->{sample_type});
	$self->event(name => 'cpu-clock', type => 1, config => 0, ids => [1]) unless $o{no_event};
	return $self;
}

sub bits { my ($self, $names) = @_; my $v = 0; $v |= 1 << $bit{$_} for split ' ', $names; $v }
sub u64 { my $s = shift; my $b = $s->{big}; join '', map { pack($b ? 'Q>' : 'Q<', $_) } @_ }
sub u32 { my $s = shift; my $b = $s->{big};
	join '', map { pack($b ? 'L>' : 'L<', $_ & 0xffffffff) } @_ }
sub u16 { my $s = shift; my $b = $s->{big}; join '', map { pack($b ? 'S>' : 'S<', $_) } @_ }
sub text { my ($s, $t) = @_; $t .= "\0"; $t .= "\0" while length($t) % 8; $t }

sub event {
	my ($s, %e) = @_;
	push @{$s->{attrs}}, { type => 1, config => 0, period => 1, freq => 0, ids => [],
		sample_type => $s->{type}, max_stack => 0, inherit => 0, exclude_kernel => 0,
		read_format => $s->{read_format}, branch => $s->{branch}, regs => $s->{regs},
		regs_intr => $s->{regs_intr}, %e };
}

sub attr {
	my ($s, $e) = @_;
	# bits: inherit 1, exclude_kernel 5, freq 10, sample_id_all 18, mmap2 23, comm_exec 24
	my $flags = $e->{inherit} << 1 | $e->{exclude_kernel} << 5 | $e->{freq} << 10 |
		$s->{id_all} << 18;
	my $bytes = pack('Q<', $flags);
	# the other byte order counts bits from the other end
	$bytes = join '', map { pack 'B8', unpack 'b8', $_ } split //, $bytes if $s->{big};
	my $attr = $s->u32($e->{type}, $s->{attr_size}) . $s->u64($e->{config}, $e->{period},
		$e->{sample_type}, $e->{read_format}) . $bytes . $s->u32(0, 0) . $s->u64(0, 0) .
		$s->u64($e->{branch}, $e->{regs}) . $s->u32(16, 0) . $s->u64($e->{regs_intr}) .
		$s->u32(0) . $s->u16($e->{max_stack}, 0) . $s->u32(0, 0) . $s->u64(0);
	$attr .= "\xee" x ($s->{attr_size} - length $attr) if $s->{attr_size} > length $attr;
	return substr $attr, 0, $s->{attr_size};
}

sub frame { my ($s, $type, $misc, $body) = @_;
	$s->u32($type) . $s->u16($misc, 8 + length $body) . $body }
sub record { my ($s, $type, $misc, $body) = @_; $s->raw($s->frame($type, $misc, $body)) }
sub raw { my ($s, $bytes) = @_;
	if (defined $s->{inner}) { $s->{inner} .= $bytes } else { $s->{records} .= $bytes } }

sub trailer {
	my ($s, $time, %o) = @_;
	return '' unless $s->{id_all};
	my $t = $s->{type};
	my $has = sub { $t >> $bit{$_[0]} & 1 };
	my $out = '';
	$out .= $s->u32(@{$o{tid} // [0, 0]}) if $has->('TID');
	$out .= $s->u64($time) if $has->('TIME');
	$out .= $s->u64($o{id} // $s->{side_id}) if $has->('ID');
	$out .= $s->u64(0) if $has->('STREAM_ID');
	$out .= $s->u32($o{cpu} // 0, 0) if $has->('CPU');
	$out .= $s->u64($o{id} // $s->{side_id}) if $has->('IDENTIFIER');
	return $out;
}

sub comm { my ($s, $pid, $tid, $name, $time, %o) = @_;
	$s->record(3, $o{exec} ? 0x2000 : 0,
		$s->u32($pid, $tid) . $s->text($name) . $s->trailer($time)) }
sub fork { my ($s, $pid, $ppid, $tid, $ptid, $time, %o) = @_;
	$s->record(7, $o{misc} // 0,
		$s->u32($pid, $ppid, $tid, $ptid) . $s->u64($time) . $s->trailer($time)) }
sub exit { my ($s, $pid, $tid, $time) = @_;
	$s->record(4, 0, $s->u32($pid, $pid, $tid, $tid) . $s->u64($time) . $s->trailer($time)) }
sub mmap { my ($s, $pid, $start, $size, $pgoff, $path, $time, %o) = @_;
	$s->record(1, $mode{$o{mode} // 'user'}, $s->u32($pid, $pid) .
		$s->u64($start, $size, $pgoff) . $s->text($path) . $s->trailer($time)) }
sub mmap2 { my ($s, $pid, $start, $size, $pgoff, $path, $time, %o) = @_;
	my $id = $o{build_id} ? pack('CCxx', length $o{build_id}, 0) . $o{build_id} .
		"\0" x (20 - length $o{build_id}) :
		$s->u32(8, 1) . $s->u64($o{inode} // 0, 0);
	$s->record(10, $mode{$o{mode} // 'user'} | ($o{build_id} ? 0x4000 : 0),
		$s->u32($pid, $pid) . $s->u64($start, $size, $pgoff) . $id .
		$s->u32($o{prot} // 5, 2) . $s->text($path) . $s->trailer($time)) }
sub ksymbol { my ($s, $address, $size, $name, $time, %o) = @_;
	$s->record(17, 0, $s->u64($address) . $s->u32($size) . $s->u16(1, $o{gone} ? 1 : 0) .
		$s->text($name) . $s->trailer($time)) }
sub cgroup { my ($s, $id, $path, $time) = @_;
	$s->record(19, 0, $s->u64($id) . $s->text($path) . $s->trailer($time)) }
sub deferred { my ($s, $cookie, $ips, $time) = @_;
	my @ips = map { $context{$_} // $_ } @$ips;
	$s->record(22, 2, $s->u64($cookie, scalar @ips, @ips) . $s->trailer($time)) }
sub lost { my ($s, $nr, $time, %o) = @_;
	$s->record(2, 0, $s->u64($o{id} // 1, $nr) . $s->trailer($time)) }
sub lost_samples { my ($s, $nr, $time) = @_;
	$s->record(13, 0, $s->u64($nr) . $s->trailer($time)) }
sub throttle { my ($s, $time) = @_;
	$s->record(5, 0, $s->u64($time, 1, 1) . $s->trailer($time)) }
# in or out; preempt: the thread could have gone on
sub switch { my ($s, $way, $pid, $tid, $time, %o) = @_;
	$s->record(14, ($way eq 'out' ? 0x2000 : 0) | ($o{preempt} ? 0x4000 : 0),
		$s->trailer($time, tid => [$pid, $tid], %o)) }
# what the fields of sched:sched_switch, sched_waking and raw_syscalls hold
sub raw_switch { my ($s, $state, $next) = @_; pack('x32 Q< x16 l< x4', $state, $next) }
sub raw_waking { my ($s, $tid) = @_; pack('x24 l< x8', $tid) }
sub raw_syscall { my ($s, $nr) = @_; pack('x8 q< x4', $nr) }
sub round { my $s = shift; $s->record(68, 0, '') }
sub update_name { my ($s, $id, $name) = @_;
	$s->record(78, 0, $s->u64(2, $id) . $s->text($name)) }

# Fields not given are 0; chain entries may be 'kernel' and so on for markers.
sub sample {
	my ($s, %f) = @_;
	my $t = $f{type} // $s->{type};
	my $has = sub { $t >> $bit{$_[0]} & 1 };
	my $branch = $f{branch} // $s->{branch};
	my $b = '';
	$b .= $s->u64($f{id} // 1) if $has->('IDENTIFIER');
	$b .= $s->u64($f{ip} // 0) if $has->('IP');
	$b .= $s->u32(@{$f{tid} // [0, 0]}) if $has->('TID');
	$b .= $s->u64($f{time} // 0) if $has->('TIME');
	$b .= $s->u64($f{addr} // 0xadd4) if $has->('ADDR');
	$b .= $s->u64($f{id} // 1) if $has->('ID');
	$b .= $s->u64(0x57) if $has->('STREAM_ID');
	$b .= $s->u32($f{cpu} // 0, 0) if $has->('CPU');
	$b .= $s->u64($f{period} // 1) if $has->('PERIOD');
	$b .= $s->u64(@{$f{read} // [0]}) if $has->('READ');
	if ($has->('CALLCHAIN')) {
		my @chain = map { $context{$_} // $_ } @{$f{chain} // []};
		$b .= $s->u64($f{nr_chain} // scalar @chain, @chain);
	}
	if ($has->('RAW')) {
		my $raw = $f{raw} // 'rawdata';
		$raw .= "\0" while (length($raw) + 4) % 8;
		$b .= $s->u32(length $raw) . $raw;
	}
	if ($has->('BRANCH_STACK')) {
		my @branches = @{$f{branches} // []};
		$b .= $s->u64(scalar @branches);
		$b .= $s->u64(7) if $branch >> 17 & 1;
		$b .= $s->u64(@$_[0, 1], 0) for @branches;
		$b .= $s->u64(9) for $branch >> 19 & 1 ? @branches : ();
	}
	$b .= defined $f{regs} ? $s->u64(2, @{$f{regs}}) : $s->u64(0) if $has->('REGS_USER');
	if ($has->('STACK_USER')) {
		my $stack = $f{stack} // '';
		$b .= $s->u64(length $stack) . $stack;
		$b .= $s->u64($f{dyn_size} // length $stack) if length $stack;
	}
	$b .= $s->u64(3) if $has->('WEIGHT') || $has->('WEIGHT_STRUCT');
	$b .= $s->u64(4) if $has->('DATA_SRC');
	$b .= $s->u64(5) if $has->('TRANSACTION');
	my @intr = @{$f{regs_intr} // [11, 12]};
	$b .= $s->u64(@intr ? 2 : 0, @intr) if $has->('REGS_INTR');
	$b .= $s->u64(6) if $has->('PHYS_ADDR');
	$b .= $s->u64($f{cgroup} // 0) if $has->('CGROUP');
	$b .= $s->u64(4096) if $has->('DATA_PAGE_SIZE');
	$b .= $s->u64(4096) if $has->('CODE_PAGE_SIZE');
	$b .= $s->u64(8) . 'auxbytes' if $has->('AUX');
	$s->record(9, $mode{$f{mode} // 'user'}, $b);
}

# Records between begin_inner and end_inner are kept apart: as bytes to compress.
sub begin_inner { $_[0]{inner} = '' }
sub end_inner { my $s = shift; delete $s->{inner} }

sub string { my ($s, $t) = @_; my $b = $s->text($t); $s->u32(length $b) . $b }
sub feature { my ($s, $id, $body) = @_; $s->{features}{$id} = $body }

sub bytes {
	my $s = shift;
	my $magic = $s->{big} ? '2ELIFREP' : 'PERFILE2';
	$magic = 'PERFFILE' if $s->{old_magic};
	my $attrs = '';
	if ($s->{pipe}) {
		$attrs .= $s->frame(64, 0, $s->attr($_) . $s->u64(@{$_->{ids}})) for @{$s->{attrs}};
		$attrs .= $s->frame(80, 0, $s->u64($_) . $s->{features}{$_})
			for sort { $a <=> $b } keys %{$s->{features}};
		return $magic . $s->u64(16 + length($s->{extra} // '')) . ($s->{extra} // '') .
			$attrs . $s->{records};
	}
	my $ids = '';
	my $at = $s->{old_header} ? 72 : 104;
	for my $e (@{$s->{attrs}}) {
		$attrs .= $s->attr($e) . $s->u64($at + length $ids, 8 * @{$e->{ids}});
		$ids .= $s->u64(@{$e->{ids}});
	}
	my $attrs_at = $at + length $ids;
	# names of tracepoints, as Linux before 3.11 had them
	my $types = join '', map { $s->u64($_) . pack 'a64', $s->{types}{$_} } sort keys %{$s->{types} // {}};
	my $data_at = $attrs_at + length($attrs) + length $types;
	my @features = sort { $a <=> $b } keys %{$s->{features}};
	my @bits = (0) x 4;
	$bits[$_ >> 6] |= 1 << ($_ & 63) for @features;
	my $head = $magic . $s->u64($at, $s->{attr_size} + 16, $attrs_at, length $attrs, $data_at,
		$s->{data_size} // length $s->{records}, $types ? $data_at - length $types : 0,
		length $types, $s->{old_header} ? () : @bits);
	my $body_at = $data_at + length($s->{records}) + 16 * @features;
	my ($table, $bodies) = ('', '');
	for my $id (@features) {
		$table .= $s->u64($body_at + length $bodies, length $s->{features}{$id});
		$bodies .= $s->{features}{$id};
	}
	return $head . $ids . $attrs . $types . $s->{records} . $table . $bodies;
}

sub write {
	my ($s, $path) = @_;
	open my $out, '>', $path or die "cannot write $path: $!";
	binmode $out;
	print $out $s->bytes;
	close $out or die "cannot write $path: $!";
}

1;
