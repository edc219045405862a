#!/usr/bin/perl
# folded.pl - two random folded files and what must come of them.
#
# usage: folded.pl SEED BEFORE AFTER JOINED TREE
#
# JOINED: `stack before after` for every stack, sorted; TREE: for every path
# of the tree of AFTER `path total self`, sorted. Plain hashes of whole
# strings, so that nothing here resembles the programs under test.
use strict;
use warnings;

my ($seed, @files) = @ARGV;
die "usage: folded.pl SEED BEFORE AFTER JOINED TREE\n" unless @files == 4;

my $state = $seed * 2654435761 % 2147483647 || 1;
sub any { $state = $state * 48271 % 2147483647; return int($state / 7) % $_[0] }

# names with blanks, digits at the end, brackets, quotes, other alphabets
my @names = ('main', 'a', 'b', 'a b', 'read 7', 'operator<', 'f<x&y>', "it's", '"q"', '[unknown]',
	'vec::<[u8: 4]>', "\xe4\xb8\xad", "\xc3\xa9t\xc3\xa9", 'x' x 60, 'do_sys_open_[k]', '-', '%s', '#one');

my (%before, %after);
for (1 .. 1 + any(60)) {
	my $stack = join ';', map { $names[any(scalar @names)] } 1 .. 1 + any(7);
	$before{$stack} += any(1000) if any(3);
	$after{$stack} += any(1000) if any(3);
}
# neither side may be without a line
$before{main} += 1;
$after{main} += 2;

sub write_file {
	my ($path, @lines) = @_;
	open my $out, '>:raw', $path or die "$path: $!";
	print $out @lines;
	close $out or die "$path: $!";
}
sub shuffled { # each count in one or two lines, in any order
	my ($counts) = @_;
	my @lines;
	for my $stack (sort keys %$counts) {
		my $first = $counts->{$stack} ? any($counts->{$stack} + 1) : 0;
		push @lines, "$stack $first\n" if $first || !$counts->{$stack};
		push @lines, "$stack " . ($counts->{$stack} - $first) . "\n" if $counts->{$stack} - $first;
	}
	for my $i (reverse 1 .. $#lines) {
		my $j = any($i + 1);
		@lines[$i, $j] = @lines[$j, $i];
	}
	return @lines;
}
write_file($files[0], shuffled(\%before));
write_file($files[1], shuffled(\%after));

my %both = (%before, %after);
write_file($files[2], sort map { my ($b, $a) = ($before{$_} // 0, $after{$_} // 0); "$_ $b $a\n" } keys %both);

my (%total, %self);
for my $stack (grep { $after{$_} } keys %after) {
	my @frames = split /;/, $stack;
	$total{join ';', @frames[0 .. $_]} += $after{$stack} for 0 .. $#frames;
	$self{$stack} += $after{$stack};
}
write_file($files[3], sort map { my $s = $self{$_} // 0; "$_ $total{$_} $s\n" } keys %total);
