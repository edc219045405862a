#include "share/compat.h"
#include "share/guard.h"

#include "share/err.h"
#include "share/msg.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A slot is free where start is 0. Never more than files are open at a time. */
struct guard_mapping {
	_Atomic(uintptr_t) start, end;
	atomic_bool is_cut;
};

static struct guard_mapping mappings[4096];
static atomic_uint nr_cut;
static const char *volatile unfinished;
static char shortened[128];

struct guard_mapping *guard_mapping_add(const void *at, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++) {
		struct guard_mapping *mapping = &mappings[i];
		uintptr_t none = 0;

		/* with an end of 0 it holds no address, until the end is known */
		if (!atomic_compare_exchange_strong(&mapping->start, &none, (uintptr_t)at))
			continue;
		mapping->is_cut = false;
		mapping->end = (uintptr_t)at + size;
		return mapping;
	}
	return NULL;
}

void guard_mapping_cut(struct guard_mapping *mapping)
{
	if (mapping && !atomic_exchange(&mapping->is_cut, true))
		nr_cut++;
}

void guard_mapping_remove(struct guard_mapping *mapping)
{
	if (!mapping)
		return;
	mapping->end = 0;
	mapping->start = 0;
}

unsigned guard_nr_cut(void)
{
	return nr_cut;
}

/* Puts zeros in the place of what is gone, from the page on; mmap(2) is a plain system call. */
static bool is_filled(uintptr_t at)
{
	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++) {
		struct guard_mapping *mapping = &mappings[i];
		uintptr_t page = at & ~(uintptr_t)4095, end = mapping->end;

		if (at < mapping->start || at >= end)
			continue;
		if (mmap((void *)page, end - page, PROT_READ | PROT_WRITE,
		         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return false;
		guard_mapping_cut(mapping);
		return true;
	}
	return false;
}

void guard_unfinished(const char *path)
{
	unfinished = path;
}

/* Only calls that signal-safety(7) lists. */
static void on_signal(int number, siginfo_t *info, void *context UNUSED)
{
	bool is_shortened = number == SIGBUS && info->si_code == BUS_ADRERR;

	if (is_shortened && is_filled((uintptr_t)info->si_addr))
		return;
	if (unfinished)
		unlink(unfinished);
	if (is_shortened) {
		ssize_t said UNUSED = write(STDERR_FILENO, shortened, strlen(shortened));

		_exit(EXIT_FAILED);
	}
	signal(number, SIG_DFL);
	raise(number);
}

void guard_init(void)
{
	static const int ends[] = {SIGHUP, SIGINT, SIGTERM, SIGBUS};

	snprintf(shortened, sizeof(shortened),
	         "%s: a file became shorter while it was read; give a copy that nobody writes to\n",
	         msg_program());
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct sigaction old, action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

		if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(ends[i], &action, NULL);
	}
}
