/* test_guard.c - what a signal leaves behind. */
#include "share/compat.h"

#include "share/err.h"
#include "share/guard.h"
#include "share/input.h"
#include "share/msg.h"
#include "share/output.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/flame-test-guard.XXXXXX";

/* In a child: an unfinished output, then a mapped input that shrinks, or a signal. */
static int end_by(int number, char *said, size_t size)
{
	int status, channel[2];
	ssize_t got;
	pid_t pid;

	cr_assert_eq(pipe(channel), 0);
	pid = fork();
	if (pid == 0) {
		struct output out;
		struct slice line;
		struct err err;

		dup2(channel[1], STDERR_FILENO);
		msg_init("test");
		guard_init();
		if (output_open(&out, "out", &err) < 0)
			_exit(100);
		if (number == SIGBUS) {
			struct input *in = input_open("in", 0, &err);

			if (!in || truncate("in", 0) < 0)
				_exit(101);
			input_line(in, &line, &err);
		} else {
			raise(number);
		}
		_exit(102);
	}
	close(channel[1]);
	got = read(channel[0], said, size - 1);
	said[got > 0 ? got : 0] = '\0';
	close(channel[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void begin(void)
{
	int fd;

	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	fd = open("in", O_WRONLY | O_CREAT, 0600);
	/* behind the block that input_open() reads to recognise compression */
	cr_assert_eq(write(fd, "a 1\n", 4), 4);
	cr_assert_eq(ftruncate(fd, 8 << 20), 0);
	close(fd);
}

/* rmdir fails where anything but the input is left */
static void end(void)
{
	unlink("in");
	cr_expect_eq(rmdir(folder), 0, "a file was left behind");
}

Test(guard, a_file_that_shrinks_is_told, .init = begin, .fini = end)
{
	char said[256];
	int status = end_by(SIGBUS, said, sizeof(said));

	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILED, "status %x", status);
	cr_expect_not_null(strstr(said, "flame-test: a file became shorter"), "%s", said);
}

Test(guard, a_signal_ends_as_ever_and_leaves_no_file, .init = begin, .fini = end)
{
	static const int ends[] = {SIGHUP, SIGINT, SIGTERM};
	char said[256];

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		int status = end_by(ends[i], said, sizeof(said));

		cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == ends[i], "signal %d: %x",
		          ends[i], status);
		cr_expect_str_empty(said);
	}
}

Test(guard, a_mapping_that_is_guarded_reads_as_zeros, .init = begin, .fini = end)
{
	struct guard_mapping *guard;
	unsigned before = guard_nr_cut();
	int fd = open("in", O_RDONLY);
	size_t size = 8 << 20;
	char *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	cr_assert_neq(at, MAP_FAILED);
	msg_init("test");
	guard_init();
	guard = guard_mapping_add(at, size);
	cr_expect_eq(at[0], 'a');
	cr_assert_eq(truncate("in", 0), 0);
	for (size_t i = size; i-- > 0;)
		cr_assert_eq(at[i], 0);
	cr_expect_eq(guard_nr_cut(), before + 1, "counted once, not once a page");
	guard_mapping_remove(guard);
	munmap(at, size);
	close(fd);
}
