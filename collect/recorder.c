#include "share/compat.h"
#include "collect/recorder.h"

#include "collect/caps.h"
#include "collect/drain.h"
#include "collect/holdback.h"
#include "share/mem.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MIN_RING 4096

struct recorder_slot {
	int fd;
	uint32_t event, ring;
	uint64_t id;
	int leader_fd; /* -1 outside of groups and for leaders */
	bool hung;     /* its task has ended, or its CPU is gone */
};

struct recorder_id {
	uint64_t id; /* 0 = free */
	uint32_t event;
};

/* ---- opening ---- */

/*
 * Fields that older kernels do not know, newest first: EINVAL takes them away
 * one by one. Returns false once there is nothing left to give up.
 */
static bool give_up_feature(struct event_list *events)
{
	struct perf_event_attr *first = &events->at[0].attr;

#define GIVE_UP(condition, change)                                                                 \
	if (condition) {                                                                           \
		for (size_t i = 0; i < events->nr; i++) {                                          \
			struct perf_event_attr *attr = &events->at[i].attr;                        \
			change;                                                                    \
		}                                                                                  \
		return true;                                                                       \
	}
	GIVE_UP(first->read_format & PERF_FORMAT_LOST,
	        attr->read_format &= ~(uint64_t)PERF_FORMAT_LOST)
	GIVE_UP(first->build_id, attr->build_id = 0)
	GIVE_UP(events_tracker(events)->attr.cgroup, attr->cgroup = 0;
	        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_CGROUP)
	GIVE_UP(first->ksymbol, attr->ksymbol = 0)
	GIVE_UP(first->use_clockid, attr->use_clockid = 0; attr->clockid = 0)
#undef GIVE_UP
	return false;
}

/* Changes the request after a refusal; false where nothing can be given up. */
static bool step_back(struct recorder *recorder, struct event *event, int failure)
{
	struct event_list *events = recorder->events;
	bool first = recorder->nr_slots == 0;

	if ((failure == EOPNOTSUPP || failure == EINVAL) && event->attr.precise_ip &&
	    event->most_precise) {
		event->attr.precise_ip--;
		return true;
	}
	if ((failure == ENOENT || failure == EOPNOTSUPP || failure == ENODEV) &&
	    event->is_default && event->attr.type == PERF_TYPE_HARDWARE) {
		event->attr.type = PERF_TYPE_SOFTWARE;
		event->attr.config = PERF_COUNT_SW_CPU_CLOCK;
		event->attr.precise_ip = 0;
		free(event->name);
		event->name = mem_strdup(event->attr.exclude_kernel ? "cpu-clock:u" : "cpu-clock");
		recorder->without_pmu = true;
		return true;
	}
	if ((failure == EACCES || failure == EPERM) && first && !recorder->without_kernel &&
	    !recorder->target->system && !recorder->sampling->only_kernel) {
		bool changed = false;

		for (size_t i = 0; i < events->nr; i++) {
			struct event *other = &events->at[i];
			char *name;

			if (other->needs_kernel)
				return false;
			if (other->attr.exclude_kernel)
				continue;
			other->attr.exclude_kernel = 1;
			other->attr.exclude_hv = 1;
			name = mem_printf("%s%s", other->name,
			                  strchr(other->name, ':') ? "u" : ":u");
			free(other->name);
			other->name = name;
			changed = true;
		}
		recorder->without_kernel = changed;
		return changed;
	}
	/* until Linux 6.12 groups are read with each sample of one task alone */
	if (failure == EINVAL && event->attr.inherit &&
	    event->attr.sample_type & PERF_SAMPLE_READ) {
		event->attr.inherit = 0;
		recorder->without_children = true;
		return true;
	}
	return failure == EINVAL && first && give_up_feature(events);
}

static int open_event(struct recorder *recorder, struct event *event, int tid, int cpu,
                      int group_fd)
{
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	int fd;

	if (recorder->target->cgroup_fd > 0) {
		/* names and maps of everybody: members may come from outside */
		tid = event->sideband ? -1 : recorder->target->cgroup_fd;
		flags |= event->sideband ? 0 : PERF_FLAG_PID_CGROUP;
	}

	do {
		/* from 3.14 on; older kernels give EINVAL like for any unknown flag */
		fd = (int)syscall(SYS_perf_event_open, &event->attr, tid, cpu, group_fd, flags);
	} while (fd < 0 && step_back(recorder, event, errno));
	return fd;
}

static void add_slot(struct recorder *recorder, int fd, size_t event, size_t ring, int leader_fd)
{
	MEM_GROW(recorder->slots, recorder->nr_slots, recorder->slots_capacity);
	recorder->slots[recorder->nr_slots++] = (struct recorder_slot){
	        .fd = fd,
	        .event = (uint32_t)event,
	        .ring = (uint32_t)ring,
	        .leader_fd = leader_fd,
	};
}

/* All events of one task on one CPU. A task that is gone is no error. */
static int open_pair(struct recorder *recorder, int tid, size_t ring, struct err *err)
{
	struct event_list *events = recorder->events;
	int cpu = recorder->rings[ring].cpu;
	int leader_fd = -1;

	for (size_t i = 0; i < events->nr; i++) {
		struct event *event = &events->at[i];
		bool leads = event->leader == i;
		int group_fd = leads ? -1 : leader_fd;
		int fd;

		if (!event->sideband && !target_has_cpu(recorder->target, cpu))
			continue;
		fd = open_event(recorder, event, tid, cpu, group_fd);
		if (fd < 0 && errno == ESRCH && tid > 0) {
			recorder->nr_vanished++;
			return 0;
		}
		if (fd < 0)
			return caps_explain(event, recorder->target, recorder->sampling, errno,
			                    err);
		add_slot(recorder, fd, i, ring, group_fd);
		if (leads)
			leader_fd = fd;
	}
	return 0;
}

/* Samples are taken on some CPUs; the sideband needs all of them. */
static int open_all(struct recorder *recorder, struct err *err)
{
	const struct target *target = recorder->target;
	bool everywhere = events_tracker(recorder->events)->sideband;

	recorder->nr_rings = everywhere ? target->nr_online : target->nr_cpus;
	if (!recorder->rings)
		recorder->rings = mem_zalloc(recorder->nr_rings * sizeof(*recorder->rings));
	for (size_t c = 0; c < recorder->nr_rings; c++) {
		recorder->rings[c].cpu = everywhere ? target->online[c] : target->cpus[c];
		if (target->system && open_pair(recorder, -1, c, err) < 0)
			return -1;
		for (size_t t = 0; !target->system && t < target->nr_tids; t++)
			if (open_pair(recorder, target->tids[t], c, err) < 0)
				return -1;
	}
	if (!recorder->nr_slots)
		return err_set(err, "every target ended before it could be recorded");
	return 0;
}

/* ---- rings ---- */

static void unmap_rings(struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->nr_rings; i++)
		ring_unmap(&recorder->rings[i]);
}

/* Maps a ring on the first descriptor of each CPU. -1 with errno. */
static int map_rings(struct recorder *recorder, size_t size)
{
	for (size_t i = 0; i < recorder->nr_slots; i++) {
		struct recorder_slot *slot = &recorder->slots[i];
		struct ring *ring = &recorder->rings[slot->ring];

		if (!ring->page &&
		    ring_map(ring, slot->fd, ring->cpu, size, recorder->overwrite) < 0)
			return -1;
	}
	return 0;
}

/*
 * The first event also tells of processes, names and maps. Half a ring wakes
 * us; a timer of ours does at low rates.
 */
static void set_tracking(struct recorder *recorder)
{
	struct event_list *events = recorder->events;
	struct perf_event_attr *first = &events_tracker(events)->attr;

	first->comm = first->comm_exec = first->task = 1;
	first->mmap = first->mmap2 = 1;
	first->build_id = 1;
	first->ksymbol = 1;
	first->cgroup = 1;
	first->namespaces = recorder->namespaces;
	first->context_switch = recorder->switches;
	/* unwinders read .eh_frame through maps that are not executable */
	first->mmap_data = recorder->sampling->stack_size > 0;
	for (size_t i = 0; i < events->nr; i++) {
		struct perf_event_attr *attr = &events->at[i].attr;

		attr->watermark = 1;
		attr->wakeup_watermark = (uint32_t)recorder->ring_size / 4;
		attr->write_backward = recorder->overwrite;
		if (recorder->target->command && !recorder->target->system &&
		    (!recorder->hold || events->at[i].sideband) && events->at[i].leader == i)
			attr->enable_on_exec = 1;
		if (events->at[i].most_precise)
			attr->precise_ip = 3;
	}
}

static void close_all(struct recorder *recorder)
{
	unmap_rings(recorder);
	for (size_t i = 0; i < recorder->nr_slots; i++)
		close(recorder->slots[i].fd);
	recorder->nr_slots = recorder->nr_vanished = 0;
}

/*
 * Opens and maps. Where the locked-memory budget is too small, everything is
 * opened again for smaller rings: descriptors know when to wake us by the
 * size of their ring, and by then smaller stack copies may be in place.
 */
static int open_and_map(struct recorder *recorder, struct err *err)
{
	for (;;) {
		int failure;

		set_tracking(recorder);
		if (open_all(recorder, err) < 0)
			return -1;
		if (map_rings(recorder, recorder->ring_size) == 0)
			return 0;
		failure = errno;
		if ((failure != EPERM && failure != ENOMEM) || recorder->ring_size <= MIN_RING)
			return caps_explain_ring(recorder->nr_rings, recorder->ring_size, failure,
			                         err);
		close_all(recorder);
		recorder->ring_size /= 2;
		sampling_fit(recorder->sampling, recorder->events, recorder->ring_size);
	}
}

static int join_rings(struct recorder *recorder, size_t first_slot, struct err *err)
{
	for (size_t i = first_slot; i < recorder->nr_slots; i++) {
		const struct recorder_slot *slot = &recorder->slots[i];
		const struct ring *ring = &recorder->rings[slot->ring];

		if (slot->fd != ring->fd &&
		    ioctl(slot->fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
			return err_sys(err, "cannot join the buffer of CPU %d", ring->cpu);
	}
	return 0;
}

/* ---- ids ---- */

static struct recorder_id *find_id(const struct recorder *recorder, uint64_t id)
{
	for (size_t i = (size_t)(id * 0x9e3779b97f4a7c15 >> 32);; i++) {
		struct recorder_id *slot = &recorder->ids[i & recorder->ids_mask];

		if (!slot->id || slot->id == id)
			return slot;
	}
}

struct event *recorder_event(const struct recorder *recorder, uint64_t id)
{
	struct recorder_id *found = find_id(recorder, id);

	return found->id ? &recorder->events->at[found->event] : NULL;
}

/* Makes room for the ids of all slots, and forgets those of slots that are closed. */
static void grow_ids(struct recorder *recorder)
{
	struct recorder_id *old = recorder->ids;
	size_t old_size = old ? recorder->ids_mask + 1 : 0, size = 16;

	while (size < recorder->nr_slots * 4)
		size *= 2;
	recorder->ids = mem_zalloc(size * sizeof(*recorder->ids));
	recorder->ids_mask = size - 1;
	recorder->nr_ids = 0;
	for (size_t i = 0; i < old_size; i++) {
		bool is_open = false;

		for (size_t s = 0; s < recorder->nr_slots && old[i].id && !is_open; s++)
			is_open = recorder->slots[s].id == old[i].id;
		if (is_open) {
			*find_id(recorder, old[i].id) = old[i];
			recorder->nr_ids++;
		}
	}
	free(old);
}

/*
 * Learns the ids of the slots from first_slot on. The stream's header names
 * those of the first slots; later ones are renumbered.
 */
static int learn_ids(struct recorder *recorder, size_t first_slot, struct err *err)
{
	for (size_t i = first_slot; i < recorder->nr_slots; i++) {
		struct recorder_slot *slot = &recorder->slots[i];
		struct event *event = &recorder->events->at[slot->event];

		if (ioctl(slot->fd, PERF_EVENT_IOC_ID, &slot->id) < 0)
			return err_sys(err, "cannot ask for the id of event '%s'", event->name);
		if (!recorder->ids || recorder->nr_ids >= recorder->ids_mask / 2)
			grow_ids(recorder);
		recorder->nr_ids++;
		*find_id(recorder, slot->id) = (struct recorder_id){slot->id, slot->event};
		if (first_slot)
			continue;
		MEM_GROW(event->ids, event->nr_ids, event->ids_capacity);
		event->ids[event->nr_ids++] = slot->id;
	}
	return 0;
}

/* 8-byte fields in front of the values read and the chain. */
static size_t words_to_chain(uint64_t type)
{
	return 1 + (size_t)__builtin_popcountll(type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
	                                                PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	                                                PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
	                                                PERF_SAMPLE_PERIOD));
}

static int set_filters(struct recorder *recorder, size_t first_slot, struct err *err)
{
	for (size_t i = first_slot; i < recorder->nr_slots; i++) {
		const struct recorder_slot *slot = &recorder->slots[i];
		const struct event *event = &recorder->events->at[slot->event];

		if (event->filter && ioctl(slot->fd, PERF_EVENT_IOC_SET_FILTER, event->filter) < 0)
			return err_sys(err,
			               "the kernel refuses the filter '%s' of event '%s' (its "
			               "fields are in tracefs, events/%s/format)",
			               event->filter, event->name, event->name);
	}
	return 0;
}

int recorder_open(struct recorder *recorder, struct err *err)
{
	recorder->renumbers = recorder->follows;
	if (!recorder->ring_size)
		recorder->ring_size = sampling_ring_size(recorder->sampling, recorder->events);
	recorder->asked_ring_size = recorder->ring_size;
	if (open_and_map(recorder, err) < 0 || join_rings(recorder, 0, err) < 0 ||
	    learn_ids(recorder, 0, err) < 0 || set_filters(recorder, 0, err) < 0)
		return -1;
	for (size_t i = 0; i < recorder->events->nr; i++) {
		struct event *event = &recorder->events->at[i];

		event->renumbered = recorder->renumbers;
		event->words_to_chain = words_to_chain(event->attr.sample_type);
	}
	recorder->rec->trailer_id = events_tracker(recorder->events)->ids[0];
	recorder->paused = recorder->hold;
	return 0;
}

/* ---- running ---- */

uint64_t recorder_now(const struct recorder *recorder)
{
	struct timespec time;

	if (!recorder->events->at[0].attr.use_clockid ||
	    clock_gettime(recorder->events->at[0].attr.clockid, &time) < 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Enables or disables the sideband, or the events that take samples. */
static int command_from(struct recorder *recorder, size_t first_slot, unsigned long request,
                        bool sideband)
{
	int result = 0;

	for (size_t i = first_slot; i < recorder->nr_slots; i++) {
		const struct recorder_slot *slot = &recorder->slots[i];
		const struct event *event = &recorder->events->at[slot->event];

		if (event->sideband == sideband && slot->leader_fd < 0 &&
		    !(request == PERF_EVENT_IOC_ENABLE && event->attr.enable_on_exec) &&
		    ioctl(slot->fd, request, 0) < 0)
			result = -1;
	}
	return result;
}

static int command_all(struct recorder *recorder, unsigned long request, bool sideband)
{
	return command_from(recorder, 0, request, sideband);
}

int recorder_enable(struct recorder *recorder, struct err *err)
{
	if (command_all(recorder, PERF_EVENT_IOC_ENABLE, true) < 0 ||
	    (!recorder->hold && command_all(recorder, PERF_EVENT_IOC_ENABLE, false) < 0))
		return err_sys(err, "cannot enable event '%s'", recorder->events->at[0].name);
	if (!recorder->hold)
		recorder->enabled_ns = recorder_now(recorder);
	return 0;
}

void recorder_pause(struct recorder *recorder)
{
	command_all(recorder, PERF_EVENT_IOC_DISABLE, false);
	recorder->paused = true;
	recorder->disabled_ns = recorder_now(recorder);
}

void recorder_resume(struct recorder *recorder)
{
	command_all(recorder, PERF_EVENT_IOC_ENABLE, false);
	recorder->paused = false;
	if (!recorder->enabled_ns)
		recorder->enabled_ns = recorder_now(recorder);
}

/* is_last: nothing more comes into the rings. */
static bool drain(struct recorder *recorder, bool is_last)
{
	uint64_t until = is_last ? 0 : recorder_now(recorder);
	bool any;

	if (recorder->holdback)
		any = holdback_drain(recorder->holdback, until ? until : UINT64_MAX);
	else
		any = drain_rings(recorder);
	if (any && recorder->rounds)
		recout_round(recorder->rec);
	return any;
}

bool recorder_drain(struct recorder *recorder)
{
	return drain(recorder, false);
}

/* ---- waiting ---- */

size_t recorder_pollfds(struct recorder *recorder, struct pollfd *fds)
{
	size_t nr = 0;

	/* any descriptor of a ring tells of the ring; one whose task ended tells nothing else */
	for (size_t i = 0, ring = 0; i < recorder->nr_slots && ring < recorder->nr_rings; i++) {
		const struct recorder_slot *slot = &recorder->slots[i];

		if (slot->ring < ring || slot->hung)
			continue;
		fds[nr++] = (struct pollfd){.fd = slot->fd, .events = POLLIN};
		ring = slot->ring + 1;
	}
	return nr;
}

void recorder_polled(struct recorder *recorder, const struct pollfd *fds, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!(fds[i].revents & (POLLHUP | POLLERR)))
			continue;
		for (size_t s = 0; s < recorder->nr_slots; s++)
			if (recorder->slots[s].fd == fds[i].fd)
				recorder->slots[s].hung = true;
	}
}

/* ---- processes and CPUs that come and go ---- */

/* What an event lost, by its descriptor; 0 where the kernel does not say. */
static uint64_t ask_lost(struct recorder *recorder, const struct recorder_slot *slot)
{
	struct event *event = &recorder->events->at[slot->event];
	uint64_t values[64], lost;
	ssize_t got;

	if (!(event->attr.read_format & PERF_FORMAT_LOST))
		return 0;
	got = read(slot->fd, values, sizeof(values));
	/* value, id, lost; groups are read by count: nr, then that for each */
	if (got < 24)
		return 0;
	if (event->attr.read_format & PERF_FORMAT_GROUP)
		lost = got >= 32 ? values[3] : 0;
	else
		lost = values[2];
	event->nr_lost += lost;
	return lost;
}

/* Closes what has ended, but for the owners of rings. */
static void close_ended(struct recorder *recorder)
{
	size_t kept = 0;

	for (size_t i = 0; i < recorder->nr_slots; i++) {
		struct recorder_slot *slot = &recorder->slots[i];
		struct pollfd poll_fd = {.fd = slot->fd};

		if (slot->fd != recorder->rings[slot->ring].fd &&
		    (slot->hung || (poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLHUP))) {
			recorder->lost_before += ask_lost(recorder, slot);
			close(slot->fd);
			continue;
		}
		recorder->slots[kept++] = *slot;
	}
	recorder->nr_slots = kept;
}

/* Lets the slots from first_slot on write into their rings, and count. */
static int begin_from(struct recorder *recorder, size_t first_slot, struct err *err)
{
	if (join_rings(recorder, first_slot, err) < 0 || learn_ids(recorder, first_slot, err) < 0 ||
	    set_filters(recorder, first_slot, err) < 0)
		return -1;
	command_from(recorder, first_slot, PERF_EVENT_IOC_ENABLE, true);
	if (!recorder->paused)
		command_from(recorder, first_slot, PERF_EVENT_IOC_ENABLE, false);
	return 0;
}

int recorder_add(struct recorder *recorder, int pid, struct err *err)
{
	struct target *target = recorder->target;
	size_t first_slot;

	/* what the rings tell of forks decides whether it is recorded already */
	recorder_drain(recorder);
	if (target_has_process(target, pid))
		return 0;
	close_ended(recorder);
	first_slot = recorder->nr_slots;
	target->nr_tids = 0;
	if (!target_add_process(target, pid))
		return 0;
	for (size_t ring = 0; ring < recorder->nr_rings; ring++)
		for (size_t t = 0; t < target->nr_tids; t++)
			if (open_pair(recorder, target->tids[t], ring, err) < 0)
				return -1;
	if (begin_from(recorder, first_slot, err) < 0)
		return -1;
	return recorder->nr_slots > first_slot;
}

/* The ring of a CPU; nr_rings where there is none. */
static size_t ring_of(const struct recorder *recorder, int cpu)
{
	size_t ring = 0;

	while (ring < recorder->nr_rings && recorder->rings[ring].cpu != cpu)
		ring++;
	return ring;
}

void recorder_cpu_gone(struct recorder *recorder, int cpu)
{
	size_t ring = ring_of(recorder, cpu);

	for (size_t i = 0; i < recorder->nr_slots; i++) {
		struct recorder_slot *slot = &recorder->slots[i];

		if (slot->ring != ring)
			continue;
		/* it is over already, unless the list of CPUs is ahead of the kernel */
		ioctl(slot->fd, PERF_EVENT_IOC_DISABLE, 0);
		slot->hung = true;
	}
	/* the one that owns the ring stays open, for those to come */
	close_ended(recorder);
}

static int by_ring(const void *a, const void *b)
{
	const struct recorder_slot *one = a, *other = b;

	if (one->ring != other->ring)
		return one->ring < other->ring ? -1 : 1;
	return one->id < other->id ? -1 : one->id > other->id;
}

int recorder_cpu_back(struct recorder *recorder, int cpu, struct err *err)
{
	size_t ring = ring_of(recorder, cpu), first_slot = recorder->nr_slots;

	if (ring == recorder->nr_rings)
		return 0;
	recorder->renumbers = true;
	for (size_t i = 0; i < recorder->events->nr; i++)
		recorder->events->at[i].renumbered = true;
	if (open_pair(recorder, -1, ring, err) < 0 || begin_from(recorder, first_slot, err) < 0)
		return -1;
	/* as recorder_pollfds() looks through them */
	qsort(recorder->slots, recorder->nr_slots, sizeof(*recorder->slots), by_ring);
	return 0;
}

/* ---- ending ---- */

/*
 * Records that found no room are told in the ring once there is room again;
 * what was lost after that only the descriptors know.
 */
static void tell_lost(struct recorder *recorder)
{
	uint64_t known = recorder->nr_lost, total = recorder->lost_before;

	for (size_t i = 0; i < recorder->nr_slots; i++)
		total += ask_lost(recorder, &recorder->slots[i]);
	if (total > known) {
		recout_lost(recorder->rec, recorder->rec->trailer_id, total - known);
		recorder->nr_lost = total;
	}
}

void recorder_finish(struct recorder *recorder)
{
	recorder_pause(recorder);
	command_all(recorder, PERF_EVENT_IOC_DISABLE, true);
	recorder->rounds = true;
	drain(recorder, true);
	if (recorder->holdback)
		holdback_finish(recorder->holdback);
	tell_lost(recorder);
	if (recorder->enabled_ns && recorder->disabled_ns)
		recout_sample_time(recorder->rec, recorder->enabled_ns, recorder->disabled_ns);
}

void recorder_release(struct recorder *recorder)
{
	drain_release(recorder);
	close_all(recorder);
	free(recorder->slots);
	free(recorder->rings);
	free(recorder->ids);
	recorder->slots = NULL;
	recorder->rings = NULL;
	recorder->ids = NULL;
	recorder->nr_rings = 0;
}
