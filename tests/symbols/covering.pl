#!/usr/bin/perl
# covering.pl PCS OURS SYMBOLS [THEIRS] - is the name of each address (names_at
# -i -d none) that of a function that covers it, and is there a name wherever
# one does? SYMBOLS is the text of `readelf -sW` or of /proc/kallsyms: read
# here without any rule of preference. THEIRS is what `llvm-symbolizer
# --output-style=GNU -a -f -i` says, which has to be one of the same.
#
# Explained:
#   nothing  no function covers the address, and no name is given
#   alias    functions share the address: we name one, the other tool another,
#            or without the suffix of a clone (".isra.0")
#   unknown  the other tool knows no function there
#   label    no function with a size covers the address, but one without is
#            before it; or the other tool takes such a one for a function
#   stub     name@plt, which no symbol says
#   beyond   llvm-symbolizer gives the last symbol before an address that none
#            covers
use strict;
use warnings;

my ($pcs, $ours, $symbols, $theirs) = @ARGV;
my (%at, %end); # start => names; "start name" => end
open my $s, '<', $symbols or die "$symbols: $!";
while (<$s>) {
	if (/^\s*\d+: (\w{8,16})\s+(\w+) (\S+)\s+\S+\s+\S+\s+(\S+) (\S+)/) {
		my ($start, $size, $type, $section, $name) = ($1, $2, $3, $4, $5);
		next if $section =~ /^(UND|ABS)$/ || $type !~ /^(FUNC|IFUNC|NOTYPE)$/ || $name =~ /^\$/;
		$start = hex $start;
		$size = hex $size if $size =~ /^0x/;
		$name =~ s/@.*//;
		$name =~ s/^__GI_//; # glibc's own aliases
		$at{$start}{$name} ||= $type eq 'NOTYPE' ? '' : 'function';
		my $key = "$start $name";
		$end{$key} = $start + $size if $start + $size > ($end{$key} // 0);
	} elsif (/^([0-9a-f]{16}) ([tTwWdDrRbBvV]) (\S+)/) {
		# the end is where the next one starts
		my ($start, $type, $name) = ($1, $2, $3);
		$at{hex $start}{$name} = $type =~ /[tTwW]/ ? 'function' : '';
	}
}
my $kernel = !%end;
my @starts = sort { $a <=> $b } keys %at;
my @reach; # the farthest end of all that start at or before
my $far = 0;
for my $i (0 .. $#starts) {
	for (keys %{$at{$starts[$i]}}) {
		my $e = $kernel ? $starts[$i + 1] // $starts[$i] : $end{"$starts[$i] $_"};
		$end{"$starts[$i] $_"} = $e;
		$far = $e if $e > $far;
	}
	push @reach, $far;
}

sub covering { # the names that may be said, and those of a label before
	my ($pc) = @_;
	my ($low, $high) = (0, scalar @starts);
	while ($low < $high) {
		my $middle = int(($low + $high) / 2);
		if ($starts[$middle] <= $pc) { $low = $middle + 1 } else { $high = $middle }
	}
	my (%names, %labels);
	for (my $i = $low - 1; $i >= 0; $i--) {
		my $names = $at{$starts[$i]};
		for (keys %$names) {
			$names{$_} = 1 if $names->{$_} && $end{"$starts[$i] $_"} > $pc;
			$labels{$_} = 1 if $i == $low - 1 && $end{"$starts[$i] $_"} == $starts[$i];
		}
		last if $reach[$i] <= $pc;
	}
	return (\%names, \%labels);
}

my @theirs;
if ($theirs) {
	open my $t, '<', $theirs or die "$theirs: $!";
	while (<$t>) {
		if (/^0x/) { push @theirs, ''; next }
		chomp;
		$theirs[-1] = s/@.*//r =~ s/^__GI_//r; # the last, which is not inlined
		<$t>;                   # file and line
	}
}
open my $p, '<', $pcs or die "$pcs: $!";
open my $o, '<', $ours or die "$ours: $!";
my (%count, $shown);
for (my $at = 0; defined(my $pc = <$p>); $at++) {
	chomp($pc, my $mine = <$o>);
	my ($names, $labels) = covering(hex $pc);
	my $why;
	if ($names->{$mine}) { $why = 'right' }
	elsif ($mine =~ /^\[.*\]$/) { $why = 'nothing' unless %$names }
	elsif ($mine =~ /\@plt$/) { $why = 'stub' }
	elsif (!%$names && $labels->{$mine}) { $why = 'label' }
	if ($why && $theirs && $why eq 'right' && $theirs[$at] ne $mine) {
		if ($theirs[$at] eq '??') { $count{unknown}++ }
		elsif ($labels->{$theirs[$at]}) { $count{label}++ }
		elsif (grep { $_ eq $theirs[$at] || /^\Q$theirs[$at]\E\./ } keys %$names) { $count{alias}++ }
		else { $why = undef }
	}
	$count{beyond}++ if $theirs && $why && $why eq 'nothing' && $theirs[$at] ne '??';
	if ($why) { $count{$why}++; next }
	$count{unexplained}++;
	print "$pc ours $mine, theirs ", $theirs[$at] // '-', ', covering: ', join(' ', sort keys %$names), "\n" if $shown++ < 5;
}
print join(', ', map { "$_ $count{$_}" } sort keys %count), "\n";
exit($count{unexplained} ? 1 : 0);
