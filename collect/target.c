#include "share/compat.h"
#include "collect/target.h"

#include "collect/cgroups.h"
#include "collect/procfile.h"
#include "share/mem.h"
#include "share/num.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CPU 65535

void target_release(struct target *target)
{
	free(target->cpus);
	free(target->online);
	free(target->gone);
	if (target->cgroup_fd > 0)
		close(target->cgroup_fd);
	free(target->tids);
	free(target->pids);
	*target = (struct target){0};
}

/* Appends the numbers of "0-3,7" to *at. */
static int parse_list(const char *text, uint64_t highest, int **at, size_t *nr, size_t *capacity)
{
	while (*text) {
		size_t size = strcspn(text, ",-");
		uint64_t low, high;

		if (num_parse_u64(text, size, &low) < 0)
			return -1;
		high = low;
		text += size;
		if (*text == '-') {
			text++;
			size = strcspn(text, ",");
			if (num_parse_u64(text, size, &high) < 0)
				return -1;
			text += size;
		}
		if (high < low || high > highest)
			return -1;
		for (uint64_t n = low; n <= high; n++) {
			MEM_GROW(*at, *nr, *capacity);
			(*at)[(*nr)++] = (int)n;
		}
		if (*text == ',' && !*++text)
			return -1;
	}
	return *nr ? 0 : -1;
}

/* As sysfs lists them; -1 where it is hidden, as in a container. */
static int listed_cpus(int **cpus, size_t *nr, size_t *capacity)
{
	char text[4096];

	*nr = 0;
	if (procfile_line(text, sizeof(text), "/sys/devices/system/cpu/online") < 0)
		return -1;
	return parse_list(text, MAX_CPU, cpus, nr, capacity);
}

static int online_cpus(int **cpus, size_t *nr, struct err *err)
{
	size_t capacity = 0;

	if (listed_cpus(cpus, nr, &capacity) == 0)
		return 0;
	*nr = 0;
	for (long n = sysconf(_SC_NPROCESSORS_ONLN), i = 0; i < n; i++) {
		MEM_GROW(*cpus, *nr, capacity);
		(*cpus)[(*nr)++] = (int)i;
	}
	return *nr ? 0 : err_set(err, "cannot tell which CPUs are online");
}

static bool is_among(int number, const int *numbers, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

int target_cpu_changed(struct target *target, enum cpu_change *change)
{
	size_t nr = 0, capacity = 0;
	int *cpus = NULL, cpu = -1;

	if (listed_cpus(&cpus, &nr, &capacity) < 0)
		nr = 0;
	if (!target->gone)
		target->gone = mem_zalloc(target->nr_online * sizeof(*target->gone));
	for (size_t i = 0; i < target->nr_online && nr && cpu < 0; i++) {
		bool gone = !is_among(target->online[i], cpus, nr);

		if (gone == target->gone[i])
			continue;
		target->gone[i] = gone;
		cpu = target->online[i];
		*change = gone ? CPU_GONE : CPU_BACK;
	}
	for (size_t i = 0; i < nr && cpu < 0 && !target->newcomer; i++) {
		if (is_among(cpus[i], target->online, target->nr_online))
			continue;
		target->newcomer = true;
		cpu = cpus[i];
		*change = CPU_NEW;
	}
	free(cpus);
	return cpu;
}

int target_cpus(struct target *target, const char *list, struct err *err)
{
	size_t nr_online = 0, capacity = 0;
	int *online = NULL, result = 0;

	if (parse_list(list, MAX_CPU, &target->cpus, &target->nr_cpus, &capacity) < 0)
		return err_set(err, "-C '%s' is no list of CPUs such as 0,2-5", list);
	if (online_cpus(&online, &nr_online, err) < 0)
		return -1;
	for (size_t i = 0; i < target->nr_cpus && result == 0; i++) {
		if (!is_among(target->cpus[i], online, nr_online))
			result = err_set(
			        err, "CPU %d is not online; this machine has %zu CPUs, %d to %d",
			        target->cpus[i], nr_online, online[0], online[nr_online - 1]);
	}
	free(online);
	return result;
}

/* ---- tasks ---- */

static void add_tid(struct target *target, int tid)
{
	if (is_among(tid, target->tids, target->nr_tids))
		return;
	MEM_GROW(target->tids, target->nr_tids, target->tids_capacity);
	target->tids[target->nr_tids++] = tid;
}

bool target_has_process(const struct target *target, int pid)
{
	return is_among(pid, target->pids, target->nr_pids);
}

static void add_pid(struct target *target, int pid)
{
	if (target_has_process(target, pid))
		return;
	MEM_GROW(target->pids, target->nr_pids, target->pids_capacity);
	target->pids[target->nr_pids++] = pid;
}

size_t target_add_process(struct target *target, int pid)
{
	struct dirent *entry;
	size_t nr = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		uint64_t tid;

		if (num_parse_u64(entry->d_name, strlen(entry->d_name), &tid) == 0) {
			add_tid(target, (int)tid);
			nr++;
		}
	}
	if (dir)
		closedir(dir);
	if (nr)
		add_pid(target, pid);
	return nr;
}

int target_pids(struct target *target, const char *list, struct err *err)
{
	size_t nr = 0, capacity = 0;
	int *pids = NULL, result = 0;

	target->tasks_named = true;
	if (parse_list(list, INT32_MAX, &pids, &nr, &capacity) < 0)
		result = err_set(err, "-p '%s' is no list of process ids", list);
	for (size_t i = 0; i < nr && result == 0; i++)
		if (!target_add_process(target, pids[i]))
			result = err_set(err, "there is no process %d", pids[i]);
	free(pids);
	return result;
}

/* The process of a thread, or -1. Source: Tgid of proc(5) status. */
static int process_of(int tid)
{
	char path[64], *line;
	struct buf text = {0};
	int pid = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (procfile_read(&text, path) == 0 && (line = strstr(text.at, "\nTgid:")))
		pid = (int)strtol(line + 6, NULL, 10);
	buf_release(&text);
	return pid;
}

int target_tids(struct target *target, const char *list, struct err *err)
{
	size_t nr = 0, capacity = 0;
	int *tids = NULL, result = 0;

	target->tasks_named = true;
	if (parse_list(list, INT32_MAX, &tids, &nr, &capacity) < 0)
		result = err_set(err, "-t '%s' is no list of thread ids", list);
	for (size_t i = 0; i < nr && result == 0; i++) {
		int pid = process_of(tids[i]);

		if (pid < 0) {
			result = err_set(err, "there is no thread %d", tids[i]);
			break;
		}
		add_tid(target, tids[i]);
		add_pid(target, pid);
	}
	free(tids);
	return result;
}

/* Calls found for each process that wanted() picks. */
static void each_matching(bool (*wanted)(int pid, const void *arg), const void *wanted_arg,
                          void (*found)(int pid, void *arg), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		uint64_t pid;

		if (num_parse_u64(entry->d_name, strlen(entry->d_name), &pid) == 0 &&
		    (pid_t)pid != getpid() && wanted((int)pid, wanted_arg))
			found((int)pid, arg);
	}
	if (dir)
		closedir(dir);
}

static void add_found(int pid, void *arg)
{
	target_add_process(arg, pid);
}

static bool has_owner(int pid, const void *arg)
{
	const uid_t *uid = arg;
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) == 0 && st.st_uid == *uid;
}

/*
 * The number of a user. Reads /etc/passwd itself: getpwnam() of a static
 * program needs the very libc it was linked with at run time.
 */
static int user_number(const char *user, uid_t *uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	size_t size = strlen(user);
	uint64_t number;
	char line[1024];
	int result = -1;

	if (num_parse_u64(user, size, &number) == 0 && number < UINT32_MAX) {
		*uid = (uid_t)number;
		result = 0;
	}
	while (result < 0 && file && fgets(line, sizeof(line), file)) {
		char *field;

		if (strncmp(line, user, size) != 0 || line[size] != ':' ||
		    !(field = strchr(line + size + 1, ':')))
			continue;
		*uid = (uid_t)strtoul(field + 1, NULL, 10);
		result = 0;
	}
	if (file)
		fclose(file);
	return result;
}

int target_user(struct target *target, const char *user, struct err *err)
{
	uid_t uid;

	target->tasks_named = true;
	if (user_number(user, &uid) < 0)
		return err_set(err, "there is no user '%s' in /etc/passwd", user);
	each_matching(has_owner, &uid, add_found, target);
	if (!target->nr_tids)
		return err_set(err, "user '%s' runs no process", user);
	return 0;
}

static bool has_comm(int pid, const void *arg)
{
	char comm[64];

	/* the kernel keeps 15 bytes of a name */
	return procfile_line(comm, sizeof(comm), "/proc/%d/comm", pid) == 0 &&
	       strncmp(comm, arg, 15) == 0;
}

void target_each_named(const char *name, void (*found)(int pid, void *arg), void *arg)
{
	each_matching(has_comm, name, found, arg);
}

void target_note_fork(struct target *target, int parent, int child)
{
	if (target_has_process(target, parent))
		add_pid(target, child);
}

void target_note_exit(struct target *target, int pid)
{
	for (size_t i = 0; i < target->nr_pids; i++)
		if (target->pids[i] == pid)
			target->pids[i--] = target->pids[--target->nr_pids];
}

bool target_has_cpu(const struct target *target, int cpu)
{
	return is_among(cpu, target->cpus, target->nr_cpus);
}

int target_cgroup(struct target *target, const char *name, struct err *err)
{
	target->cgroup_fd = cgroups_open(name, err);
	return target->cgroup_fd < 0 ? -1 : 0;
}

/* ---- the command ---- */

/* In the child: waits for the word to go, then becomes the command. */
static NORETURN void become_command(struct target *target, int go, int report, bool stdout_is_ours)
{
	sigset_t none;
	ssize_t size;
	char word;

	/* records own stdout: what the command prints goes to stderr */
	if (stdout_is_ours)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	do {
		size = read(go, &word, 1);
	} while (size < 0 && errno == EINTR);
	/* the recorder gave up */
	if (size != 1)
		_exit(127);
	execvp(target->command[0], target->command);
	if (write(report, &errno, sizeof(errno)) < 0)
		_exit(126);
	_exit(127);
}

int target_fork(struct target *target, bool stdout_is_ours, struct err *err)
{
	int go[2], report[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_sys(err, "cannot make a pipe");
	if (pipe2(report, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return err_sys(err, "cannot make a pipe");
	}
	target->child = fork();
	if (target->child == 0) {
		close(go[1]);
		close(report[0]);
		become_command(target, go[0], report[1], stdout_is_ours);
	}
	close(go[0]);
	close(report[1]);
	target->go_fd = go[1];
	target->exec_fd = report[0];
	if (target->child < 0)
		return err_sys(err, "cannot fork");
	add_tid(target, target->child);
	return 0;
}

int target_prepare(struct target *target, struct err *err)
{
	if (online_cpus(&target->online, &target->nr_online, err) < 0)
		return -1;
	if (!target->nr_cpus) {
		target->nr_cpus = target->nr_online;
		target->cpus = mem_alloc(target->nr_cpus * sizeof(*target->cpus));
		memcpy(target->cpus, target->online, target->nr_cpus * sizeof(*target->cpus));
	}
	if ((!target->command && !target->tasks_named) || target->cgroup_fd > 0)
		target->system = true;
	return 0;
}

void target_abandon(struct target *target)
{
	close(target->go_fd);
	close(target->exec_fd);
	waitpid(target->child, NULL, 0);
	target->child = 0;
	target->nr_tids = 0;
}

int target_start(struct target *target, struct err *err)
{
	int failure = 0;
	ssize_t got;

	if (write(target->go_fd, "g", 1) != 1)
		return err_sys(err, "cannot start '%s'", target->command[0]);
	close(target->go_fd);
	/* end of file here means that exec took place */
	do {
		got = read(target->exec_fd, &failure, sizeof(failure));
	} while (got < 0 && errno == EINTR);
	close(target->exec_fd);
	if (got != sizeof(failure))
		return 0;
	waitpid(target->child, NULL, 0);
	target->child = 0;
	errno = failure;
	return err_sys(err, "cannot run '%s'", target->command[0]);
}
