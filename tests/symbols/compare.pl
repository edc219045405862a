#!/usr/bin/perl
# compare.pl PCS OURS THEIRS [REFEREE [SYMBOLS]] - the chains of names of each address,
# ours (names_at -d none) beside those of `addr2line -a -i -f`; llvm-symbolizer
# prints the same form, eu-addr2line nearly. Prints the differences that are
# not explained here, then a line of counts; fails where there are any.
#
# Explained:
#   gap      no function covers the address (padding): addr2line gives the last
#            symbol before it, we say that nothing is there
#   suffix   ".cold", ".part.0", ...: we give the linker's name of the outermost
#            function, addr2line the compiler's, which lacks it
#            likewise which of several constructors at one place it is
#   scopes   a function without a linkage name: we name what encloses it
#   symbol   addr2line calls an inlined function without a linkage name by the
#            symbol that is at the address
#   linker   the outermost function: the linker's name in place of a plain one
#   ifunc    at the resolver's address: the function that is there, not the
#            one that it resolves
#   lto      a file's mark of the link-time optimizer taken for a function
#   alias    both names are at one address in SYMBOLS, `readelf -sW`
#   label    a place within a function, which the other tool takes for one
#   nothing  the other tool knows no function there
#   line     addr2line has no line ("?" or 0)
#   outvoted the REFEREE, a third tool, agrees with us. eu-addr2line 0.188
#            names inlined functions that end right before the address, and
#            has none in link-time optimized, split and strict DWARF 2 units,
#            nor without .debug_aranges, which clang does not write
use strict;
use warnings;

sub plain {
	my ($name) = @_;
	$name =~ s/^__second_sect_of_//; # gcc -gstrict-dwarf -gdwarf-2
	$name =~ s/\.(cold|part|isra|constprop|localalias|llvm|lto_priv)\b.*//;
	$name =~ s/([CD])[0-4](?=E|I)/$1/;
	return $name;
}

my (%places, %labels); # of each name in SYMBOLS

# the chains of a tool: [[name, line], ...] for each address
sub chains_of {
	my ($file) = @_;
	my @chains;
	open my $t, '<', $file or die "$file: $!";
	while (<$t>) {
		chomp;
		if (/^0x[0-9a-f]+$/) { push @chains, []; next }
		my $name = s/ inlined at .*//r;
		my $line = <$t>;
		chomp $line;
		$line =~ s/ \(discriminator \d+\)$//;
		$line =~ s/:(\d+):\d+$/:$1/;
		$line =~ s{.*/}{};
		$line = '' if $line =~ /:(\?|0)$|^<artificial>/;
		push @{$chains[-1]}, [$name, $line];
	}
	return \@chains;
}

# what explains a difference of one name; undef: nothing, '' : there is none
sub why_name {
	my ($mine, $theirs, $i, $ours) = @_;
	return '' if $mine eq $theirs;
	$_ = plain($_) for $mine, $theirs;
	return 'suffix' if $mine eq $theirs;
	return 'scopes' if $theirs !~ /^_Z/ && $mine =~ /(^|::)\Q$theirs\E$/;
	return 'symbol' if $i < $#$ours && $theirs eq plain($ours->[-1][0]);
	return 'linker' if $i == $#$ours && $mine =~ /^_Z/
		&& ($theirs =~ /^~?operator/ || ($theirs =~ /^~?(\w+)/ && $mine =~ /\d\Q$1\E/));
	return 'lto' if $theirs =~ /^program\.cc\.[0-9a-f]+$/;
	return 'alias' if $i == $#$ours && grep { $places{$theirs}{$_} } keys %{$places{$mine} // {}};
	return 'label' if $i == $#$ours && $labels{$theirs};
	return 'ifunc' if "$mine $theirs" eq 'resolve_it chosen';
	return undef;
}

# the reasons for all differences of two chains, or undef where one has none
sub why {
	my ($ours, $theirs) = @_;
	return ['nothing'] if $theirs->[0][0] eq '??';
	return undef if @$ours != @$theirs;
	my @why;
	for my $i (0 .. $#$ours) {
		my $why = why_name($ours->[$i][0], $theirs->[$i][0], $i, $ours);
		return undef unless defined $why;
		push @why, $why if $why;
		my ($mine, $line) = ($ours->[$i][1], $theirs->[$i][1]);
		if ($line eq '' || $mine eq '') { push @why, 'line' }
		elsif ($mine ne $line) { return undef }
	}
	return \@why;
}

my ($pcs, $ours, $theirs, $referee, $symbols) = @ARGV;
if ($symbols) {
	open my $s, '<', $symbols or die "$symbols: $!";
	while (<$s>) {
		$places{plain($2)}{$1} = 1 if /^\s*\d+: (\w{8,16})\s+\w+ I?FUNC\s+\S+\s+\S+\s+\d+ ([^@\s]+)/;
		$labels{$1} = 1 if /\sNOTYPE\s+\S+\s+\S+\s+\d+ (\S+)/;
	}
}
open my $p, '<', $pcs or die "$pcs: $!";
open my $o, '<', $ours or die "$ours: $!";
$_ = $_ ? chains_of($_) : undef for $theirs, $referee;
my (%count, $shown);
for (my $at = 0; defined(my $pc = <$p>); $at++) {
	my $mine = <$o>;
	chomp($pc, $mine);
	$count{pcs}++;
	if ($mine =~ /^\[[^<]*\]( \S+:\d+)?$/) { $count{gap}++; next }
	my @mine = map { my ($n, $l) = /^(.*?)(?: (\S+:\d+))?$/; [$n, $l // ''] } split / < /, $mine;
	my $why = why(\@mine, $theirs->[$at]);
	if (!$why && $referee) {
		my $judged = why(\@mine, $referee->[$at]);
		$why = ['outvoted'] if $judged && "@$judged" !~ /nothing/;
	}
	if ($why) {
		$count{$_}++ for @$why;
		next;
	}
	$count{unexplained}++;
	print "$pc\n  ours   $mine\n  theirs ", join(' < ', map { "$_->[0] $_->[1]" } @{$theirs->[$at]}), "\n"
		if $shown++ < ($ENV{SHOW} // 3);
}
print join(', ', map { "$_ $count{$_}" } sort keys %count), "\n";
exit($count{unexplained} ? 1 : 0);
