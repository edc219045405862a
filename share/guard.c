#include "share/compat.h"
#include "share/guard.h"

#include "share/err.h"
#include "share/msg.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char *volatile unfinished;
static char shortened[128];

void guard_unfinished(const char *path)
{
	unfinished = path;
}

/* Only calls that signal-safety(7) lists. */
static void on_signal(int number, siginfo_t *info, void *context UNUSED)
{
	if (unfinished)
		unlink(unfinished);
	if (number == SIGBUS && info->si_code == BUS_ADRERR) {
		ssize_t said UNUSED = write(STDERR_FILENO, shortened, strlen(shortened));

		_exit(EXIT_FAILED);
	}
	/* SA_RESETHAND brought the default back */
	raise(number);
}

void guard_init(void)
{
	static const int ends[] = {SIGHUP, SIGINT, SIGTERM, SIGBUS};

	snprintf(shortened, sizeof(shortened),
	         "%s: a file became shorter while it was read; give a copy that nobody writes to\n",
	         msg_program());
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct sigaction old,
		        action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESETHAND};

		if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(ends[i], &action, NULL);
	}
}
