// program.cc - what compilers make hard for those who look for names: inlined
// calls in several ranges, templates, lambdas, operators, constructors, cold
// parts, local classes, an IFUNC and an unnamed namespace.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{
struct pair_of {
	int first, second;
	pair_of(int a, int b);
	bool operator<(const pair_of &other) const { return first < other.first; }
	int operator()(int x) const { return x * first + second; }
	const pair_of *operator->() const { return this; }
};
__attribute__((noinline)) pair_of::pair_of(int a, int b) : first(a), second(b) { if (a == 77) puts("77"); }
}

enum Mode { FAST, SLOW };

template <Mode mode> struct run {
	template <typename T> static __attribute__((noinline)) T step(T value)
	{
		T sum = 0;
		for (T i = 0; i < value; i++)
			sum += mode == FAST ? i : i * i % 7;
		return sum;
	}
};

static inline int innermost(int x)
{
	if (__builtin_expect(x == 12345, 0)) {
		fprintf(stderr, "rare %d\n", x);
		abort();
	}
	return x % 3 ? x * 7 : x / 5;
}
static inline int inner(int x) { return innermost(x) + innermost(x + 1); }
static __attribute__((noinline)) int middle(int x)
{
	int sum = 0;
	for (int i = 0; i < x; i++)
		sum += inner(i);
	return sum;
}

extern "C" __attribute__((noinline)) int plain_c(int x)
{
	struct local {
		static __attribute__((noinline)) int method(int y) { return y * 3; }
	};
	return local::method(x) + 1;
}

static int impl_one(int x) { return x + 1; }
extern "C" int (*resolve_it(void))(int) { return impl_one; }
#if defined(__linux__) && !defined(NO_IFUNC)
extern "C" int chosen(int) __attribute__((ifunc("resolve_it")));
#else
static int chosen(int x) { return impl_one(x); }
#endif

static std::function<int(int &)> make(int n)
{
	return [n](int &x) { x += n; return innermost(x); };
}

__attribute__((noinline)) int thrower(const std::string &text)
{
	if (text.size() > 100)
		throw std::runtime_error(text);
	return static_cast<int>(text.size());
}

int main(int argc, char **argv)
{
	pair_of p(argc, 2);
	std::vector<int> v;
	int x = argc;
	for (int i = 0; i < 100 * argc; i++)
		v.push_back(middle(i) + p(i) + p->first);
	try {
		x += thrower(argv[0]);
	} catch (const std::exception &e) {
		puts(e.what());
	}
	x += make(3)(x) + run<FAST>::step(x) + (int)run<SLOW>::step<long>(x) + plain_c(x) + chosen(x);
	printf("%d %zu %d\n", x, v.size(), p < pair_of(1, 2));
	return 0;
}
