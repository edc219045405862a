/*
 * session.h - the processes and threads of a recording at the moment of the
 * record being looked at: names, address spaces, the kernel's own maps.
 *
 * Records must come in order of time. Decides what a fork inherits, what an
 * exec throws away and when an id means a new task. Knows no samples.
 */
#ifndef COLLAPSE_SESSION_H
#define COLLAPSE_SESSION_H

#include "collapse/records/maps.h"
#include "collapse/names/module.h"
#include "collapse/records/reader.h"
#include "share/compat.h"
#include "share/strtab.h"

struct jitdump;

struct process {
	int32_t pid;
	struct maps *maps;      /* never NULL */
	struct maps *replaced;  /* of the program before an exec, until the new one has run */
	struct module *unknown; /* of code outside of every map; made when first needed */
	uint32_t nr_threads;    /* that have not exited, of this life */
	uint32_t life;          /* counts up where the id is given to a new process */
	const char *jitdump;    /* in texts; path of its jit-PID.dump, or NULL */
	struct jitdump *jit;    /* the dump, opened when first needed; NULL */
	bool jit_tried;
};

struct thread {
	int32_t pid, tid;
	struct process *process;
	uint32_t comm; /* in texts, or UINT32_MAX: not known */
	bool is_gone;
	uint32_t life; /* of its process when it was last told of */
};

/* Processes that ended last and still have their maps. */
#define SESSION_NR_ENDED 256u

struct session {
	struct reader *reader;   /* borrowed */
	struct modules *modules; /* borrowed */
	struct strtab texts;

	struct maps *kernel;
	struct module *kernel_module; /* of kernel addresses that no map holds */
	struct session_cgroup {
		uint64_t id;
		uint32_t path; /* in texts */
	} * cgroup;
	size_t nr_cgroups, cgroups_capacity;

	struct thread **threads; /* open addressing by tid */
	struct process **processes;
	size_t nr_thread_slots, nr_threads, nr_process_slots, nr_processes;
	struct process *ended[SESSION_NR_ENDED]; /* a ring; NULL while it fills */
	uint32_t nr_ended;
	bool jit_lines;       /* names from jitdump files carry file and line; set by the user */
	uint64_t now;         /* time of the record at hand; kept by the user */
	uint64_t nr_bad;      /* records too short for their type */
	uint64_t nr_cut_maps; /* processes whose maps the recorder did not read to their end */
};

void session_init(struct session *session, struct reader *reader, struct modules *modules);
void session_release(struct session *session);

/* Takes note of a record; types that say nothing of tasks are passed over. */
void session_record(struct session *session, const struct record *record);

/*
 * Does the record put data where no code is, in a process that is known? Then
 * a stack of that process is unwound alike before and after it.
 */
bool session_is_data_map(const struct session *session, const struct record *record);

/* The thread, made where it is new. Valid while the session lives. */
struct thread *session_thread(struct session *session, int32_t pid, int32_t tid);

/* The same where its process is not told: NULL where it is new. */
struct thread *session_find(const struct session *session, int32_t tid);

/* The program of the process was met outside of the kernel. */
static inline void session_has_run(struct process *process)
{
	if (UNLIKELY(process->replaced != NULL)) {
		maps_unref(process->replaced);
		process->replaced = NULL;
	}
}

/* Its name as a text; ":TID" where none was recorded, as perf has it. */
uint32_t session_comm(struct session *session, const struct thread *thread);

/* The kernel itself, for addresses that no map of it holds. */
struct module *session_kernel_module(struct session *session);

/* Code of a process outside of all its maps: perhaps made there (JIT), so that
   its perf-PID.map may know it. */
struct module *session_unknown_module(struct session *session, struct process *process);

/* The path of a control group, or UINT32_MAX. */
uint32_t session_cgroup_path(const struct session *session, uint64_t id);

/* What the process's JIT wrote of its code, opened when first asked for; NULL: nothing. */
struct jitdump *session_jitdump(struct process *process);

/*
 * The name of the code that the process's JIT had at the address at the time
 * `now`, as its jitdump file tells (jitdump.h); UINT32_MAX where it does not.
 */
uint32_t session_jit_name(struct session *session, struct process *process, uint64_t ip);

#endif
