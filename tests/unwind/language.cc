/* language.cc - C++: a coroutine that is resumed, and destructors that run while a throw unwinds. */
#include <coroutine>
#include <cstdio>
#include <stdexcept>

#define ALONE __attribute__((noipa))

ALONE long burn(long n)
{
	volatile long sum = 0;

	for (long i = 0; i < n; i++)
		sum = sum + i * i;
	return sum;
}

struct task {
	struct promise_type {
		task get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> handle;
};

ALONE task generator()
{
	for (;;) {
		burn(400000);
		co_await std::suspend_always{};
	}
}

ALONE void resume(task &task)
{
	task.handle.resume();
	burn(1);
}

struct guard {
	ALONE ~guard() { burn(300000); }
};

ALONE void thrower(int n)
{
	guard guard;

	if (n == 0)
		throw std::runtime_error("thrown");
	thrower(n - 1);
}

ALONE int catcher(int n)
{
	try {
		thrower(n);
	} catch (std::exception &) {
		return burn(300000) != 0;
	}
	return 0;
}

int main()
{
	task task = generator();
	int sum = 0;

	for (int i = 0; i < 40; i++) {
		resume(task);
		sum += catcher(3);
	}
	std::printf("%d\n", sum);
}
