#!/usr/bin/perl
# compare.pl PCS OURS ADDR2LINE - the chains of names of each address, ours
# (names_at -d none) beside those of `addr2line -a -i -f`
# (llvm-symbolizer and eu-addr2line print the same form). Prints the
# differences that are not explained here, then a line of counts; fails where
# there are any.
#
# Explained:
#   gap     no function covers the address (padding): addr2line gives the last
#           symbol before it, we say that nothing is there
#   suffix  ".cold", ".part.0", ...: we give the linker's name of the outermost
#           function, addr2line the compiler's, which lacks it
#           likewise which of several constructors at one place it is
#   scopes  a function without a linkage name: we name what encloses it
#   symbol  addr2line calls an inlined function without a linkage name by the
#           symbol that is at the address
#   linker  the outermost function: the linker's name in place of a plain one
#   ifunc   at the resolver's address: the function that is there, not the
#           one that it resolves
#   lto     a file's mark of the link-time optimizer taken for a function
#   nothing the other tool knows no function there
#   line    addr2line has no line ("?" or 0)
use strict;
use warnings;

sub plain {
	my ($name) = @_;
	$name =~ s/\.(cold|part|isra|constprop|localalias|llvm|lto_priv)\b.*//;
	$name =~ s/([CD])[0-4](?=E|I)/$1/;
	return $name;
}

my ($pcs, $ours, $theirs) = @ARGV;
open my $p, '<', $pcs or die;
open my $o, '<', $ours or die;
open my $t, '<', $theirs or die;
my (@chains, %count);
while (<$t>) {
	chomp;
	if (/^0x[0-9a-f]+$/) { push @chains, []; next }
	my $name = $_;
	my $line = <$t>;
	chomp $line;
	$line =~ s/ \(discriminator \d+\)$//;
	$line =~ s{.*/}{};
	$line = '' if $line =~ /:(\?|0)$|^<artificial>/;
	push @{$chains[-1]}, [$name, $line];
}
my $shown = 0;
while (defined(my $pc = <$p>)) {
	my $mine = <$o>;
	chomp($pc, $mine);
	my $theirs = shift @chains;
	$count{pcs}++;
	if ($theirs->[0][0] eq '??') { $count{nothing}++; next }
	if ($mine =~ /^\[[^<]*\]( \S+:\d+)?$/) { $count{gap}++; next }
	my @mine = map { my ($n, $l) = /^(.*?)(?: (\S+:\d+))?$/; [$n, $l // ''] } split / < /, $mine;
	my $same = @mine == @$theirs;
	for my $i (0 .. $#mine) {
		last unless $same;
		my ($m, $x) = ($mine[$i], $theirs->[$i]);
		my ($mn, $xn) = ($m->[0], $x->[0]);
		if ($mn ne $xn) {
			$_ = plain($_) for $mn, $xn;
			if ($mn eq $xn) { $count{suffix}++ }
			elsif ($xn !~ /^_Z/ && $mn =~ /(^|::)\Q$xn\E$/) { $count{scopes}++ }
			elsif ($i < $#mine && plain($xn) eq plain($mine[-1][0])) { $count{symbol}++ }
			elsif ($i == $#mine && $mn =~ /^_Z/ && ($xn =~ /^~?operator/ || ($xn =~ /^~?(\w+)/ && $mn =~ /\d\Q$1\E/))) { $count{linker}++ }
			elsif ($xn =~ /^program\.cc\.[0-9a-f]+$/) { $count{lto}++ }
			elsif ("$mn $xn" eq 'resolve_it chosen') { $count{ifunc}++ }
			else { $same = 0 }
		}
		if ($x->[1] eq '' || $m->[1] eq '') { $count{line}++ }
		elsif ($m->[1] ne $x->[1]) { $same = 0 }
	}
	next if $same;
	$count{unexplained}++;
	print "$pc\n  ours   $mine\n  theirs ", join(' < ', map { "$_->[0] $_->[1]" } @$theirs), "\n" if $shown++ < ($ENV{SHOW} // 3);
}
print join(', ', map { "$_ $count{$_}" } sort keys %count), "\n";
exit($count{unexplained} ? 1 : 0);
