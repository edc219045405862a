/*
 * target.h - whom to record: CPUs, tasks, or a command of our own.
 *
 * Decides: which (task, CPU) pairs are opened. A command is started stopped,
 * before anything is opened, because events need its pid; it runs on when
 * target_start() lets it.
 */
#ifndef COLLECT_TARGET_H
#define COLLECT_TARGET_H

#include "share/compat.h"
#include "share/err.h"

struct target {
	bool system;      /* every task */
	bool tasks_named; /* -p, -t, -u or --follow was given */
	char **command;   /* NULL, or what to run; borrowed */
	int *cpus;        /* where samples are taken */
	size_t nr_cpus;
	int *online; /* CPUs of the machine, as of the start */
	size_t nr_online;
	bool *gone;    /* which of these are offline by now; NULL = nobody looked yet */
	bool newcomer; /* another one came online and was told */
	int cgroup_fd; /* folder of the control group to record, or 0 */
	int *tids;     /* tasks; for a system-wide recording none */
	size_t nr_tids, tids_capacity;
	int *pids; /* processes they belong to, for their names and maps */
	size_t nr_pids, pids_capacity;

	pid_t child;
	int go_fd, exec_fd; /* to let the command run; to hear that it could not */
};

void target_release(struct target *target);

/* "0-3,7": picks CPUs; all of them must be online. */
int target_cpus(struct target *target, const char *list, struct err *err);

/* "1,2,3": every thread of these processes. */
int target_pids(struct target *target, const char *list, struct err *err);
int target_tids(struct target *target, const char *list, struct err *err);

/* Every process of a user, named or by number. */
int target_user(struct target *target, const char *user, struct err *err);

/* A control group (version 2): its path below the mount, or the id of a container. */
int target_cgroup(struct target *target, const char *name, struct err *err);

/* Whether samples are taken on a CPU. */
bool target_has_cpu(const struct target *target, int cpu);

/* Calls found for each process whose comm is name (at most 15 bytes). */
void target_each_named(const char *name, void (*found)(int pid, void *arg), void *arg);

/* Adds a process and its threads of this moment; the number of threads, 0 where it is gone. */
size_t target_add_process(struct target *target, int pid);

/* The processes that are recorded, kept in step while they fork and exit. */
bool target_has_process(const struct target *target, int pid);
void target_note_fork(struct target *target, int parent, int child);
void target_note_exit(struct target *target, int pid);

/* Fills in what was left open: all CPUs, the whole machine. */
int target_prepare(struct target *target, struct err *err);

/*
 * A CPU that went offline or came back since the last call, or one that is new
 * (told once, the only one): its number; -1 where nothing changed.
 */
enum cpu_change { CPU_GONE, CPU_BACK, CPU_NEW };
int target_cpu_changed(struct target *target, enum cpu_change *change);

/* Forks the command, stopped; it keeps the environment of this moment. */
int target_fork(struct target *target, bool stdout_is_ours, struct err *err);

/* Ends a command that was forked and not started. */
void target_abandon(struct target *target);

/* Lets the command run. -1 where it cannot be executed. */
int target_start(struct target *target, struct err *err);

#endif
