#include "share/compat.h"
#include "collect/caps.h"

#include "collect/procfile.h"
#include "share/num.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

/* A line of /proc/self/status, its value as text; false where it is absent. */
static bool status_value(const char *key, char *out, size_t size)
{
	struct buf text = {0};
	bool found = false;

	if (procfile_read(&text, "/proc/self/status") == 0) {
		for (char *line = text.at; line && *line; line = strchr(line, '\n')) {
			line += *line == '\n';
			if (strncmp(line, key, strlen(key)) != 0 || line[strlen(key)] != ':')
				continue;
			line += strlen(key) + 1;
			line += strspn(line, " \t");
			snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
			found = true;
			break;
		}
	}
	buf_release(&text);
	return found;
}

bool caps_has(int capability)
{
	char text[32];
	uint64_t mask;

	return status_value("CapEff", text, sizeof(text)) &&
	       num_parse_hex(text, strlen(text), &mask) == 0 && (mask >> capability & 1);
}

static bool may_all(void)
{
	return caps_has(CAP_PERFMON) || caps_has(CAP_SYS_ADMIN);
}

/* Source: seccomp(2): mode 2 is a filter. */
bool caps_filtered(void)
{
	char mode[16];

	return status_value("Seccomp", mode, sizeof(mode)) && mode[0] == '2';
}

bool caps_in_namespace(void)
{
	char line[128];
	unsigned long inside, outside, count;

	if (procfile_line(line, sizeof(line), "/proc/self/uid_map") < 0 ||
	    sscanf(line, "%lu %lu %lu", &inside, &outside, &count) != 3)
		return false;
	return count != UINT32_MAX;
}

void caps_keep(uint64_t keep)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, held) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(held); i++, keep >>= 32) {
		held[i].permitted &= (uint32_t)keep;
		held[i].effective &= (uint32_t)keep;
		held[i].inheritable = 0;
	}
	syscall(SYS_capset, &header, held);
}

void caps_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int explain_permission(const struct event *event, const struct target *target, int failure,
                              struct err *err)
{
	long paranoid = procfile_number(PARANOID, 2);
	const char *remedy = "run as root, or give the program CAP_PERFMON (setcap cap_perfmon+ep)";
	/* the highest setting that lets an ordinary user do this */
	long needs = target->system ? 0 : event->attr.exclude_kernel ? 2 : 1;

	if (event->attr.type == PERF_TYPE_TRACEPOINT && !event->attr.exclude_kernel)
		needs = target->system ? -1 : 1;
	if (may_all() && caps_in_namespace())
		return err_set(err,
		               "event '%s' is not permitted: this user namespace's root has no "
		               "rights over the kernel's perf events; run outside of it, or as "
		               "root of the host set kernel.perf_event_paranoid to %ld (it is "
		               "%ld)",
		               event->name, needs, paranoid);
	if (caps_filtered() && (may_all() || paranoid <= needs || failure == ENOSYS))
		return err_set(err,
		               "event '%s' is not permitted: a seccomp filter refuses "
		               "perf_event_open, as container profiles do; start the container "
		               "with a profile that allows it (docker: --cap-add PERFMON or "
		               "--security-opt seccomp=unconfined)",
		               event->name);
	if (may_all()) {
		char lockdown[128];

		if (procfile_line(lockdown, sizeof(lockdown), "/sys/kernel/security/lockdown") ==
		            0 &&
		    strstr(lockdown, "[confidentiality]"))
			return err_set(err,
			               "event '%s' is not permitted: the kernel is locked down "
			               "for confidentiality (%s); boot without "
			               "lockdown=confidentiality",
			               event->name, lockdown);
		return err_set(err,
		               "event '%s' is refused although this process may use perf "
		               "events (errno %d): a security module forbids it, see the "
		               "kernel log",
		               event->name, failure);
	}
	if (event->probe)
		return err_set(err,
		               "event '%s' is not permitted: probes change the code of others and "
		               "need CAP_SYS_ADMIN; run as root",
		               event->name);
	if (paranoid > needs)
		return err_set(err,
		               "event '%s' %s is not permitted: kernel.perf_event_paranoid is "
		               "%ld and this needs %ld or less (sysctl "
		               "kernel.perf_event_paranoid=%ld); or %s",
		               event->name,
		               target->system             ? "on all processes" :
		               event->attr.exclude_kernel ? "of this task" :
		                                            "with its kernel half",
		               paranoid, needs, needs, remedy);
	if (!target->system && !target->command)
		return err_set(err,
		               "event '%s' is not permitted: a target belongs to another user or "
		               "may not be traced (kernel.yama.ptrace_scope is %ld); %s",
		               event->name,
		               procfile_number("/proc/sys/kernel/yama/ptrace_scope", 0), remedy);
	return err_set(err, "event '%s' is not permitted to user %d; %s", event->name,
	               (int)geteuid(), remedy);
}

static int explain_absence(const struct event *event, struct err *err)
{
	switch (event->attr.type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return err_set(err,
		               "event '%s' needs hardware counters, which this machine does not "
		               "offer (virtual machines often have none); use -e cpu-clock for "
		               "time on the CPU",
		               event->name);
	case PERF_TYPE_TRACEPOINT:
		return err_set(err, "the kernel has no tracepoint '%s' any more", event->name);
	default:
		return err_set(err,
		               "this kernel does not offer event '%s'; 'collect --list' prints "
		               "what it offers",
		               event->name);
	}
}

static int explain(const struct event *event, const struct target *target,
                   const struct sampling *sampling, int failure, struct err *err)
{
	struct rlimit limit = {0};
	long max_rate = procfile_number("/proc/sys/kernel/perf_event_max_sample_rate", 0);

	switch (failure) {
	case EACCES:
	case EPERM:
		return explain_permission(event, target, failure, err);
	case ENOSYS:
		if (caps_filtered())
			return explain_permission(event, target, failure, err);
		return err_set(err,
		               "this kernel is built without perf events (CONFIG_PERF_EVENTS)");
	case ENOENT:
	case ENODEV:
		return explain_absence(event, err);
	case EMFILE:
	case ENFILE:
		getrlimit(RLIMIT_NOFILE, &limit);
		return err_set(err,
		               "%zu tasks on %zu CPUs need more open files than the limit of %ju; "
		               "raise it (ulimit -Hn), record fewer, or the whole machine (-a)",
		               target->nr_tids, target->nr_cpus, (uintmax_t)limit.rlim_cur);
	case EOPNOTSUPP:
		if (event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			return err_set(
			        err,
			        "event '%s' has no branch records here: --call-graph lbr and "
			        "-b need a processor that keeps them, and its counters; use "
			        "--call-graph auto",
			        event->name);
		if (event->attr.precise_ip)
			return err_set(err,
			               "event '%s' cannot be precise on this machine; leave the p "
			               "out",
			               event->name);
		return explain_absence(event, err);
	case EINVAL:
		if (event->attr.freq && max_rate && sampling->freq_hz > (uint64_t)max_rate)
			return err_set(err,
			               "-F %ju is beyond kernel.perf_event_max_sample_rate, which "
			               "is %ld; use -F max, or raise it with sysctl",
			               (uintmax_t)sampling->freq_hz, max_rate);
		if (event->attr.type == PERF_TYPE_HARDWARE || event->attr.type == PERF_TYPE_RAW)
			return explain_absence(event, err);
		/* PMUs that interrupt nobody refuse a period, such as msr and those of uncores */
		if (event->attr.type >= PERF_TYPE_MAX && !event->probe && event->attr.sample_period)
			return err_set(err,
			               "event '%s' can probably be counted only, not sampled; use "
			               "--count",
			               event->name);
		break;
	case ENOSPC:
		return err_set(err,
		               "event '%s': all breakpoint registers of the processor are taken",
		               event->name);
	case EBUSY:
		return err_set(err, "event '%s': another user holds the counters for itself",
		               event->name);
	case ESRCH:
		return err_set(err, "event '%s': the task has ended", event->name);
	}
	errno = failure;
	return err_sys(err, "the kernel refuses event '%s'", event->name);
}

int caps_explain(const struct event *event, const struct target *target,
                 const struct sampling *sampling, int failure, struct err *err)
{
	explain(event, target, sampling, failure, err);
	err->code = failure;
	return -1;
}

int caps_explain_ring(size_t nr_rings, size_t size, int failure, struct err *err)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_MEMLOCK, &limit);
	errno = failure;
	if (failure != EPERM)
		return err_sys(err, "cannot map %zu buffers of %zu bytes", nr_rings, size);
	return err_set(err,
	               "not even %zu buffers of %zu bytes fit the locked-memory budget: "
	               "kernel.perf_event_mlock_kb is %ld a CPU and RLIMIT_MEMLOCK is %ju kB; "
	               "raise one of them, or run with CAP_IPC_LOCK",
	               nr_rings, size, procfile_number("/proc/sys/kernel/perf_event_mlock_kb", 0),
	               (uintmax_t)limit.rlim_cur / 1024);
}
