#include "share/compat.h"
#include "collapse/frames.h"

#include "collapse/names/jitdump.h"
#include "share/mem.h"

/* Kernel default of sysctl perf_event_max_stack (PERF_MAX_STACK_DEPTH). */
#define DEFAULT_MAX_STACK 127

void frames_init(struct frames *frames, struct session *session, struct symbolizer *symbolizer,
                 const struct frames_options *options)
{
	*frames = (struct frames){.options = *options};
	places_init(&frames->places, session, symbolizer, options->is_live);
}

void frames_release(struct frames *frames)
{
	unwinder_free(frames->unwinder);
	unwind_rules_free(frames->rules);
	places_release(&frames->places);
	free(frames->space);
	free(frames->at);
	free(frames->ips);
	*frames = (struct frames){0};
}

static void push(struct frames *frames, struct spot spot, uint64_t ip)
{
	if (frames->nr == frames->capacity) {
		frames->capacity = MAX_OF(frames->capacity * 2, (size_t)256);
		frames->at = mem_resize(frames->at, frames->capacity, sizeof(*frames->at));
		frames->ips = mem_resize(frames->ips, frames->capacity, sizeof(*frames->ips));
	}
	frames->at[frames->nr] = spot;
	frames->ips[frames->nr++] = ip;
}

enum context { CONTEXT_USER, CONTEXT_KERNEL, CONTEXT_OTHER };

static void push_ip(struct frames *frames, const struct thread *thread, enum context context,
                    uint64_t ip, bool is_return)
{
	push(frames,
	     context == CONTEXT_KERNEL ?
	             places_spot_of_kernel(&frames->places, ip, is_return) :
	             places_spot_of_user(&frames->places, thread->process, ip, is_return),
	     ip);
}

static void push_foreign(struct frames *frames, const char *name)
{
	uint32_t text = strtab_cstr(&frames->places.session->texts, name);

	push(frames, (struct spot){.place = places_of_text(&frames->places, text, false)}, 0);
}

static enum context context_of_mode(uint16_t cpumode)
{
	switch (cpumode) {
	case PERF_RECORD_MISC_KERNEL:
		return CONTEXT_KERNEL;
	case PERF_RECORD_MISC_USER:
	case PERF_RECORD_MISC_CPUMODE_UNKNOWN: /* a converter wrote none */
		return CONTEXT_USER;
	}
	return CONTEXT_OTHER;
}

static const char *foreign_name(uint64_t marker)
{
	switch (marker) {
	case PERF_CONTEXT_HV:
		return "[hypervisor]";
	case PERF_CONTEXT_GUEST_KERNEL:
		return "[guest kernel]";
	case PERF_CONTEXT_GUEST_USER:
		return "[guest user]";
	}
	return "[guest]";
}

/* Where branches form a call stack (LBR) they replace the user part of the chain. */
static void push_branches(struct frames *frames, const struct thread *thread,
                          const struct sample *sample)
{
	push_ip(frames, thread, CONTEXT_USER, sample->branches[1], false);
	for (uint64_t i = 0; i < sample->nr_branches; i++)
		push_ip(frames, thread, CONTEXT_USER, sample->branches[3 * i], false);
}

static void push_chain(struct frames *frames, const struct thread *thread,
                       const struct sample *sample, const uint64_t *chain, uint64_t nr)
{
	const bool is_lowered = frames->places.session->reader->is_simpleperf;
	enum context context = context_of_mode(sample->cpumode);
	bool is_first = true, is_users = false;

	for (uint64_t i = 0; i < nr; i++) {
		uint64_t ip = chain[i];

		if (ip < PERF_CONTEXT_MAX) {
			if (context == CONTEXT_OTHER)
				continue;
			if (context == CONTEXT_USER && sample->nr_branches) {
				push_branches(frames, thread, sample);
				return;
			}
			push_ip(frames, thread, context, ip, !is_first && !is_lowered);
			is_first = false;
			if (context == CONTEXT_KERNEL)
				frames->nr_kernel = frames->nr;
			continue;
		}
		/* the user's part comes last: here a walk came upon what only looks like a marker */
		if (is_users && ip != PERF_CONTEXT_USER && ip != PERFREC_CONTEXT_USER_DEFERRED) {
			frames->nr_markers_unknown++;
			continue;
		}
		is_first = true;
		switch (ip) {
		case PERF_CONTEXT_KERNEL:
			context = CONTEXT_KERNEL;
			break;
		case PERF_CONTEXT_USER:
			context = CONTEXT_USER;
			is_users = true;
			break;
		case PERFREC_CONTEXT_USER_DEFERRED:
			i++; /* the cookie */
			break;
		case PERF_CONTEXT_HV:
		case PERF_CONTEXT_GUEST:
		case PERF_CONTEXT_GUEST_KERNEL:
		case PERF_CONTEXT_GUEST_USER:
			context = CONTEXT_OTHER;
			push_foreign(frames, foreign_name(ip));
			break;
		default:
			context = CONTEXT_OTHER;
			frames->nr_markers_unknown++;
		}
	}
}

static void push_sampled_ip(struct frames *frames, const struct thread *thread,
                            const struct sample *sample)
{
	switch (sample->cpumode) {
	case PERF_RECORD_MISC_KERNEL:
		push_ip(frames, thread, CONTEXT_KERNEL, sample->ip, false);
		frames->nr_kernel = frames->nr;
		break;
	case PERF_RECORD_MISC_USER:
	case PERF_RECORD_MISC_CPUMODE_UNKNOWN:
		push_ip(frames, thread, CONTEXT_USER, sample->ip, false);
		break;
	case PERF_RECORD_MISC_HYPERVISOR:
		push_foreign(frames, "[hypervisor]");
		break;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		push_foreign(frames, "[guest kernel]");
		break;
	case PERF_RECORD_MISC_GUEST_USER:
		push_foreign(frames, "[guest user]");
		break;
	}
}

/* The kernel stops after so many entries, counted from the leaf: the roots are lost. */
static bool is_cut(const struct event *event, const struct sample *sample)
{
	uint64_t limit =
	        event->attr.sample_max_stack ? event->attr.sample_max_stack : DEFAULT_MAX_STACK;
	uint64_t nr = 0;

	if (sample->nr_chain < limit)
		return false;
	for (uint64_t i = 0; i < sample->nr_chain; i++)
		nr += sample->chain[i] < PERF_CONTEXT_MAX;
	/* above the limit the recording machine had another one, which is not known */
	return nr == limit;
}

static bool find_map(void *ctx, uint64_t ip, struct unwind_map *out)
{
	const struct frames_moment *moment = ctx;
	const struct map *map = maps_find(moment->maps, ip);

	if (!map || !map->module)
		return false;
	*out = (struct unwind_map){.start = map->start,
	                           .end = map->end,
	                           .pgoff = map->pgoff,
	                           .module = map->module,
	                           .executable = !map->is_data};
	return true;
}

static const struct cfi_rule *find_rule(void *ctx, uint64_t ip)
{
	const struct frames_moment *moment = ctx;
	const struct cfi_rule *rule;

	modules_lock();
	rule = jitdump_rule(moment->jitdump, ip, moment->time);
	modules_unlock();
	return rule;
}

struct unwinder *frames_unwinder(struct frames *frames)
{
	if (!frames->unwinder) {
		frames->rules =
		        unwind_rules_new(frames->places.session->modules, &frames->options.unwind);
		frames->unwinder = unwinder_new(frames->rules);
		frames->space = mem_alloc(UNWIND_DEPTH_MAX * sizeof(*frames->space));
	}
	return frames->unwinder;
}

void frames_unwind(uint16_t machine, struct unwinder *unwinder, const struct sample *sample,
                   const struct frames_moment *moment, struct unwind_frame *space,
                   struct unwound *unwound)
{
	const struct unwind_sample what = {
	        .machine = machine,
	        .regs_abi = sample->regs_abi,
	        .regs_mask = sample->regs_mask,
	        .regs = sample->regs,
	        .stack = sample->stack,
	        .stack_size = sample->stack_dyn_size,
	        .stack_request = sample->stack_size,
	        .find = find_map,
	        .rule = moment->jitdump ? find_rule : NULL,
	        .ctx = (void *)moment,
	};

	unwound->at = space;
	unwound->nr = unwind(unwinder, &what, space, UNWIND_DEPTH_MAX, &unwound->result);
}

/*
 * Puts the unwound frames in the place of the user frames of the chain, where
 * they reach the bottom or are more. A recording may carry both because
 * neither is always whole.
 */
static void unwind_user(struct frames *frames, const struct thread *thread,
                        const struct sample *sample, bool *is_truncated)
{
	struct unwinder *unwinder = frames_unwinder(frames);
	const struct unwound *unwound = frames->ready;
	size_t nr_chain = frames->nr - frames->nr_kernel;
	struct unwound own;
	bool is_whole;

	frames->ready = NULL;
	if (!unwound) {
		const struct frames_moment moment = {.maps = thread->process->maps,
		                                     .jitdump = session_jitdump(thread->process),
		                                     .time = frames->places.session->now};

		frames_unwind(frames->options.machine, unwinder, sample, &moment, frames->space,
		              &own);
		unwound = &own;
	}
	unwinder_count(unwinder, &unwound->result);
	is_whole = unwind_is_whole(unwound->result.end);
	if (unwound->nr == 0 && !nr_chain)
		*is_truncated = true;
	if (unwound->nr == 0 || (!is_whole && unwound->nr <= nr_chain))
		return;
	*is_truncated = !is_whole;
	frames->nr = frames->nr_kernel;
	for (size_t i = 0; i < unwound->nr; i++) {
		const struct unwind_frame *frame = &unwound->at[i];

		push_ip(frames, thread, CONTEXT_USER, frame->ip, frame->is_return);
	}
}

bool frames_resolve(struct frames *frames, const struct event *event, const struct sample *sample,
                    const struct thread *thread, bool *is_truncated)
{
	frames->nr = frames->nr_kernel = 0;
	*is_truncated = false;
	if (sample->cpumode == PERF_RECORD_MISC_USER)
		session_has_run(thread->process);
	if (sample->has_chain) {
		push_chain(frames, thread, sample, sample->chain, sample->nr_chain);
		*is_truncated = is_cut(event, sample);
	}
	if (sample_has_stack(sample) && frames->options.only != ONLY_KERNEL)
		unwind_user(frames, thread, sample, is_truncated);
	if (!frames->nr && sample->has_ip && sample->ip)
		push_sampled_ip(frames, thread, sample);
	if (frames->options.only == ONLY_KERNEL) {
		frames->nr = frames->nr_kernel;
		*is_truncated = false;
	} else if (frames->options.only == ONLY_USER && frames->nr_kernel) {
		frames->nr -= frames->nr_kernel;
		memmove(frames->at, frames->at + frames->nr_kernel,
		        frames->nr * sizeof(*frames->at));
		memmove(frames->ips, frames->ips + frames->nr_kernel,
		        frames->nr * sizeof(*frames->ips));
		frames->nr_kernel = 0;
	}
	return frames->options.only == ONLY_ALL || frames->nr;
}
