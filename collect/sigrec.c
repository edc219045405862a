#include "share/compat.h"
#include "collect/sigrec.h"

#include "collect/elfsyms.h"
#include "collect/sigring.h"
#include "share/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RING_SIZE (16u << 20)
#define LIBRARY   "libcollect-signal.so"
#define EVENT_ID  1

/* A writer that takes longer has died. */
#define STALL_NS 1000000000ull

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* ---- the command ---- */

/* Beside the program, or where it is installed. The caller frees. */
static char *find_library(struct err *err)
{
	static const char *const places[] = {"", "../lib/", "../lib/flame/", "../../bin/"};
	const char *given = getenv("FLAME_SIGNAL_LIBRARY");
	char self[4096], *slash, *path, *real;
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (given)
		return mem_strdup(given);
	self[MAX_OF(size, 0)] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(places); i++) {
		path = mem_printf("%.*s/%s" LIBRARY, (int)(slash - self), self, places[i]);
		real = access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
		free(path);
		if (real)
			return real;
	}
	err_set(err, "the signal sampler needs " LIBRARY " beside this program; name its path in "
	             "FLAME_SIGNAL_LIBRARY");
	return NULL;
}

/* Where execvp would find the command. The caller frees; NULL = nowhere. */
static char *find_command(const char *command)
{
	const char *path = getenv("PATH");

	if (strchr(command, '/'))
		return mem_strdup(command);
	while (path && *path) {
		size_t size = strcspn(path, ":");
		char *full = mem_printf("%.*s/%s", (int)size, path, command);

		if (access(full, X_OK) == 0)
			return full;
		free(full);
		path += size + (path[size] == ':');
	}
	return NULL;
}

/*
 * A library can be loaded only by the dynamic linker, and it does not for
 * programs that run with other rights (ld.so(8), secure-execution mode).
 */
static int check_command(const char *command, struct err *err)
{
	char *path = find_command(command);
	struct elfsyms elf;
	struct stat st;
	struct err ignored;
	int result = 0;

	if (!path || stat(path, &st) < 0) {
		free(path);
		return 0; /* exec will say so */
	}
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	    (st.st_mode & S_ISGID && st.st_gid != getegid()))
		result = err_set(err,
		                 "'%s' runs with other rights than yours (setuid): no library can "
		                 "be loaded into it, so the signal sampler cannot sample it",
		                 path);
	/* scripts have an interpreter, which is looked at when it runs */
	if (result == 0 && elfsyms_open(&elf, path, &ignored) == 0) {
		if (!elfsyms_is_dynamic(&elf))
			result = err_set(err,
			                 "'%s' is statically linked: no library can be loaded into "
			                 "it, so the signal sampler cannot sample it",
			                 path);
		elfsyms_close(&elf);
	}
	free(path);
	return result;
}

/* ---- opening ---- */

static int make_ring(struct sigrec *sigrec, const struct sampling *sampling, uint64_t regs_mask,
                     uint32_t stack_size, bool wall, struct err *err)
{
	size_t size = SIGRING_DATA_AT + RING_SIZE;
	struct sigring *ring;

	sigrec->fd = memfd_create("flame-signal-ring", MFD_CLOEXEC);
	if (sigrec->fd < 0 || ftruncate(sigrec->fd, (off_t)size) < 0)
		return err_sys(err, "cannot make memory to share with the command");
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, sigrec->fd, 0);
	if (ring == MAP_FAILED)
		return err_sys(err, "cannot map memory to share with the command");
	ring->size = RING_SIZE;
	ring->signal = (uint32_t)SIGRTMAX - 3;
	ring->freq_hz = (uint32_t)MIN_OF(sampling->freq_hz, 10000u);
	ring->wall = wall;
	ring->stack_size = stack_size;
	ring->regs_mask = regs_mask;
	ring->event_id = EVENT_ID;
	ring->magic = SIGRING_MAGIC;
	sigrec->ring = ring;
	return 0;
}

static void set_environment(const struct sigrec *sigrec, const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	char path[64], *preload;

	/* the path works after exec too, when no descriptor is inherited */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), sigrec->fd);
	setenv(SIGRING_ENV, path, 1);
	preload = before && *before ? mem_printf("%s:%s", library, before) : mem_strdup(library);
	setenv("LD_PRELOAD", preload, 1);
	free(preload);
}

int sigrec_open(struct sigrec *sigrec, struct recout *rec, struct event_list *events,
                const struct sampling *sampling, bool wall, const char *command, struct err *err)
{
	struct event *event;
	struct perf_event_attr *attr;
	char *library;

	*sigrec = (struct sigrec){.fd = -1, .rec = rec};
	if (!sampling->freq_hz)
		return err_set(err, "the signal sampler takes samples by time: use -F, not -c");
	if (check_command(command, err) < 0)
		return -1;
	library = find_library(err);
	if (!library)
		return -1;
	event = events_add(events, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
	                   wall ? "wall-clock:u" : "cpu-clock:u");
	attr = &event->attr;
	sampling_describe_copy(
	        attr, MIN_OF(sampling->stack_size ? sampling->stack_size : SAMPLING_DEFAULT_STACK,
	                     (uint32_t)SIGRING_MAX_STACK));
	attr->sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
	                     PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
	                     PERF_SAMPLE_CALLCHAIN;
	attr->exclude_kernel = attr->exclude_hv = 1;
	attr->exclude_callchain_user = 1;
	attr->freq = 1;
	attr->sample_freq = sampling->freq_hz;
	attr->sample_id_all = 1;
	attr->comm = attr->comm_exec = attr->mmap = attr->mmap2 = attr->mmap_data = attr->task = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	MEM_GROW(event->ids, event->nr_ids, event->ids_capacity);
	event->ids[event->nr_ids++] = EVENT_ID;
	if (make_ring(sigrec, sampling, attr->sample_regs_user, attr->sample_stack_user, wall,
	              err) < 0) {
		free(library);
		return -1;
	}
	rec->trailer_id = EVENT_ID;
	set_environment(sigrec, library);
	free(library);
	return 0;
}

/* ---- reading ---- */

/* Copies the record of a slot out and clears the slot. */
static void pass_on(struct sigrec *sigrec, uint64_t at, uint32_t size, bool ready)
{
	struct sigring *ring = sigrec->ring;
	uint64_t from = (at + 8) & (ring->size - 1), start = at & (ring->size - 1);
	uint64_t first = MIN_OF(size - 8, ring->size - from);
	struct perf_event_header header;

	memcpy(&header, sigring_word(ring, at + 8), sizeof(header));
	/* the memory is the command's too, and it may do anything */
	if (ready && header.size == size - 8) {
		recout_bytes(sigrec->rec, sigring_data(ring) + from, first);
		recout_bytes(sigrec->rec, sigring_data(ring), size - 8 - first);
		sigrec->nr_samples += header.type == PERF_RECORD_SAMPLE;
	} else {
		sigrec->nr_malformed++;
	}
	first = MIN_OF((uint64_t)size, ring->size - start);
	memset(sigring_data(ring) + start, 0, first);
	memset(sigring_data(ring), 0, size - first);
}

/* True when the slot at `at` has been busy for too long. */
static bool is_stalled(struct sigrec *sigrec, uint64_t at)
{
	uint64_t now = now_ns();

	if (sigrec->stalled_at != at || !sigrec->stalled_ns) {
		sigrec->stalled_at = at;
		sigrec->stalled_ns = now;
	}
	return now - sigrec->stalled_ns > STALL_NS;
}

void sigrec_drain(struct sigrec *sigrec)
{
	struct sigring *ring = sigrec->ring;
	uint64_t at = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	bool any = false;

	while (at != head) {
		uint64_t word = __atomic_load_n(sigring_word(ring, at), __ATOMIC_ACQUIRE);
		uint32_t state = (uint32_t)word, size = (uint32_t)(word >> 32);

		if (head - at > RING_SIZE ||
		    (state != SIGRING_EMPTY && (size < 16 || size % 8 || size > head - at))) {
			/* somebody wrote over it: begin anew */
			sigrec->nr_malformed++;
			memset(sigring_data(ring), 0, RING_SIZE);
			at = head;
			break;
		}
		if (state != SIGRING_READY) {
			if (!is_stalled(sigrec, at))
				break;
			/* a size that was never written leaves nothing to step over by */
			if (state == SIGRING_EMPTY)
				size = (uint32_t)MIN_OF(head - at, RING_SIZE);
		}
		pass_on(sigrec, at, size, state == SIGRING_READY);
		at += size;
		any = true;
		__atomic_store_n(&ring->tail, at, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&ring->tail, at, __ATOMIC_RELEASE);
	if (any)
		recout_round(sigrec->rec);
}

void sigrec_finish(struct sigrec *sigrec)
{
	sigrec_drain(sigrec);
	sigrec->nr_lost = __atomic_load_n(&sigrec->ring->nr_lost, __ATOMIC_RELAXED);
	if (sigrec->nr_lost)
		recout_lost(sigrec->rec, EVENT_ID, sigrec->nr_lost);
}

uint64_t sigrec_processes(const struct sigrec *sigrec)
{
	return __atomic_load_n(&sigrec->ring->nr_processes, __ATOMIC_RELAXED);
}

uint64_t sigrec_conflicts(const struct sigrec *sigrec)
{
	return __atomic_load_n(&sigrec->ring->nr_conflicts, __ATOMIC_RELAXED);
}

void sigrec_release(struct sigrec *sigrec)
{
	if (sigrec->ring)
		munmap(sigrec->ring, SIGRING_DATA_AT + RING_SIZE);
	if (sigrec->fd >= 0)
		close(sigrec->fd);
	sigrec->ring = NULL;
	sigrec->fd = -1;
}
