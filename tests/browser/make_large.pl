# Prints N distinct stacks, the same on every run: a wide and deep profile
# with names of real length, for measuring how quickly the picture answers.
use strict;
use warnings;
my ($nr, $state, %seen) = (shift, 42);
sub any { $state = ($state * 1103515245 + 12345) & 0x7fffffff; ($state >> 8) % $_[0] }
my @names = map { my $k = $_; join "::", map { ("net", "store", "codec", "vector", "http", "parse", "alloc")[($k * 7 + $_ * $k) % 7] . $k % (13 + $_) } 1 .. 3 + $k % 3 } 1 .. 3000;
while (%seen < $nr) {
	my $at = any(40);
	my @stack = ("process" . any(6), map { $at = ($at * 31 + 7 + any(2)) % @names; $names[$at] } 1 .. 5 + any(30));
	my $stack = join ";", @stack;
	next if $seen{$stack}++;
	print "$stack ", 1 + any(100), "\n";
}
