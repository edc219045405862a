#include "share/compat.h"
#include "collect/diagnose.h"

#include "collect/caps.h"
#include "collect/elfsyms.h"
#include "collect/events.h"
#include "collect/procfile.h"
#include "collect/sysevents.h"
#include "share/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static void row(struct output *out, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);

static void row(struct output *out, const char *name, const char *format, ...)
{
	char text[1400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	output_printf(out, "%-24s %s\n", name, text);
}

/* ---- settings ---- */

static void print_identity(struct output *out)
{
	static const struct {
		const char *name;
		int number;
	} capabilities[] = {
	        {"CAP_PERFMON", CAP_PERFMON},       {"CAP_SYS_ADMIN", CAP_SYS_ADMIN},
	        {"CAP_SYS_PTRACE", CAP_SYS_PTRACE}, {"CAP_IPC_LOCK", CAP_IPC_LOCK},
	        {"CAP_SYSLOG", CAP_SYSLOG},
	};
	struct buf held = {0};
	struct utsname system;

	if (uname(&system) == 0)
		row(out, "kernel", "%s %s %s", system.sysname, system.release, system.machine);
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
		if (caps_has(capabilities[i].number))
			buf_printf(&held, " %s", capabilities[i].name);
	row(out, "user", "%d, capabilities:%s", (int)geteuid(),
	    held.size ? buf_text(&held) : " none");
	buf_release(&held);
	row(out, "system call filter", "%s", caps_filtered() ? "seccomp filter is active" : "none");
	row(out, "user namespace", "%s",
	    caps_in_namespace() ? "not the first one: root here has no "
	                          "rights over perf events" :
	                          "the first one");
}

static void print_limit(struct output *out, const char *name, int resource, unsigned int unit,
                        const char *unit_name)
{
	struct rlimit limit;
	char soft[32] = "unlimited", hard[32] = "unlimited";

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return;
	if (limit.rlim_cur != RLIM_INFINITY)
		snprintf(soft, sizeof(soft), "%ju%s", (uintmax_t)limit.rlim_cur / unit, unit_name);
	if (limit.rlim_max != RLIM_INFINITY)
		snprintf(hard, sizeof(hard), "%ju%s", (uintmax_t)limit.rlim_max / unit, unit_name);
	row(out, name, "%s, at most %s", soft, hard);
}

static void print_setting(struct output *out, const char *name, const char *path,
                          const char *meaning)
{
	char text[128];

	if (procfile_line(text, sizeof(text), "%s", path) == 0)
		row(out, name, "%s%s%s", text, *meaning ? "  " : "", meaning);
	else
		row(out, name, "unknown (%s: %s)", path, strerror(errno));
}

static const char *meaning_of_paranoid(long level)
{
	switch (level) {
	case -1:
		return "(everything is permitted to everybody)";
	case 0:
		return "(all but raw tracepoints)";
	case 1:
		return "(own processes with their kernel half)";
	case 2:
		return "(own processes, user half)";
	default:
		return level > 2 ? "(as 2; some distributions forbid everything at 3 and 4)" :
		                   "(everything is permitted to everybody)";
	}
}

static void print_settings(struct output *out)
{
	const char *tracefs;
	struct err err;

	print_setting(
	        out, "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid",
	        meaning_of_paranoid(procfile_number("/proc/sys/kernel/perf_event_paranoid", 2)));
	print_setting(out, "kptr_restrict", "/proc/sys/kernel/kptr_restrict",
	              "(0: kernel symbols for all, 1: with CAP_SYSLOG, 2: for nobody)");
	print_setting(out, "highest frequency", "/proc/sys/kernel/perf_event_max_sample_rate",
	              "Hz");
	print_setting(out, "deepest stack", "/proc/sys/kernel/perf_event_max_stack", "frames");
	print_setting(out, "CPU time for samples", "/proc/sys/kernel/perf_cpu_time_max_percent",
	              "%");
	print_setting(out, "buffer for each CPU", "/proc/sys/kernel/perf_event_mlock_kb",
	              "kB (perf_event_mlock_kb), then locked memory");
	print_limit(out, "locked memory", RLIMIT_MEMLOCK, 1024, " kB");
	print_limit(out, "open files", RLIMIT_NOFILE, 1, "");
	print_setting(out, "ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope", "");
	print_setting(out, "lockdown", "/sys/kernel/security/lockdown", "");
	tracefs = sysevents_tracefs(&err);
	row(out, "tracefs", "%s", tracefs ? tracefs : err.text);
	row(out, "control groups", "%s",
	    access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 ?
	            "version 2" :
	            "version 2 is not mounted at /sys/fs/cgroup (-G needs it)");
}

/* ---- requests ---- */

/* Makes one request and says what became of it. */
static void try_event(struct output *out, const char *name, const char *event_text, bool system,
                      bool user_only)
{
	struct event_list events = {0};
	struct sampling sampling = {
	        .freq_hz = SAMPLING_DEFAULT_FREQ, .chain = CHAIN_FP, .clockid = -1};
	struct target target = {.system = system};
	struct err err;
	int fd;

	if (events_parse(&events, event_text, &err) < 0) {
		row(out, name, "no: %s", err.text);
		event_list_release(&events);
		return;
	}
	sampling.only_user = user_only;
	sampling_apply(&sampling, &events, 1);
	/* old kernels refuse what is merely convenient */
	events.at[0].attr.read_format = 0;
	fd = (int)syscall(SYS_perf_event_open, &events.at[0].attr, system ? -1 : 0, system ? 0 : -1,
	                  -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		row(out, name, "yes");
	} else {
		caps_explain(&events.at[0], &target, &sampling, errno, &err);
		row(out, name, "no: %s", err.text);
	}
	event_list_release(&events);
}

/* A uprobe where this very program begins: a place that is an instruction. */
static void try_uprobe(struct output *out)
{
	char self[4096];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct elfsyms elf;
	uint64_t offset;
	struct err err;
	char *probe;

	if (size < 0)
		return;
	self[size] = '\0';
	if (elfsyms_open(&elf, self, &err) < 0)
		return;
	if (elfsyms_entry(&elf, &offset) == 0) {
		probe = mem_printf("uprobe:%s:0x%jx", self, (uintmax_t)offset);
		try_event(out, "uprobe", probe, false, true);
		free(probe);
	}
	elfsyms_close(&elf);
}

void diagnose_print(struct output *out)
{
	print_identity(out);
	print_settings(out);
	output_string(out, "\n");
	try_event(out, "hardware counters", "cycles", false, true);
	try_event(out, "whole machine (-a)", "cpu-clock", true, false);
	try_event(out, "own process, user half", "cpu-clock", false, true);
	try_event(out, "own process, kernel half", "cpu-clock", false, false);
	try_event(out, "tracepoint", "sched:sched_switch", false, false);
	try_uprobe(out);
	try_event(out, "kprobe", "kprobe:do_exit", false, false);
	try_event(out, "breakpoint", "mem:0x1000:w", false, true);
}
