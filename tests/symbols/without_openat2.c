/*
 * without_openat2.c - runs a command as on a kernel that has no openat2(2).
 *
 * usage: without_openat2 COMMAND ARGUMENTS...
 */
#include "share/compat.h"

#include "share/err.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter rules[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(rules), .filter = rules};

	if (argc < 2)
		return EXIT_MISUSE;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		perror("without_openat2");
		return EXIT_FAILED;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return EXIT_FAILED;
}
