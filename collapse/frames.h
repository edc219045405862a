/*
 * frames.h - the frames of one sample.
 *
 * Decides which parts of a sample make its stack: the kernel's call chain and
 * above it (towards the root) the user's, from the chain, from branches or by
 * unwinding; which addresses are return addresses; whether the outermost
 * frames are missing.
 */
#ifndef COLLAPSE_FRAMES_H
#define COLLAPSE_FRAMES_H

#include "collapse/places.h"
#include "collapse/records/sample.h"
#include "collapse/unwind/unwind.h"
#include "share/compat.h"

enum frames_only { ONLY_ALL, ONLY_USER, ONLY_KERNEL };

struct frames_options {
	enum frames_only only;
	struct unwind_options unwind;
	uint16_t machine; /* e_machine of the recording, elf.h */
	bool is_live;     /* see struct places */
};

/* The user frames of a sample. */
struct unwound {
	const struct unwind_frame *at; /* innermost first */
	size_t nr;
	struct unwind_result result;
};

struct frames {
	struct frames_options options;
	struct places places;
	struct spot *at; /* of the sample at hand, innermost first */
	uint64_t *ips;   /* their addresses; 0 where a text stands for them */
	size_t nr, capacity;
	size_t nr_kernel; /* of these, the first */
	uint64_t nr_markers_unknown;

	struct unwind_rules *rules; /* made when the first sample needs them */
	struct unwinder *unwinder;
	struct unwind_frame *space;  /* scratch, UNWIND_DEPTH_MAX of them */
	const struct unwound *ready; /* of the sample at hand, if somebody did it ahead;
	                                borrowed, used once */
};

/* symbolizer: see struct places. */
void frames_init(struct frames *frames, struct session *session, struct symbolizer *symbolizer,
                 const struct frames_options *options);
void frames_release(struct frames *frames);

/* Of the caller's thread; it and frames->rules are made by the first call. */
struct unwinder *frames_unwinder(struct frames *frames);

/* What a walk asks of a process at the time of a sample. Borrowed. */
struct frames_moment {
	struct maps *maps;
	struct jitdump *jitdump; /* or NULL */
	uint64_t time;
};

/*
 * Unwinds a sample that has a copy of its stack into space, which has room for
 * UNWIND_DEPTH_MAX frames. On any thread, each with an unwinder of its own;
 * counts nothing.
 */
void frames_unwind(uint16_t machine, struct unwinder *unwinder, const struct sample *sample,
                   const struct frames_moment *moment, struct unwind_frame *space,
                   struct unwound *unwound);

/*
 * Leaves the sample's frames in `at`. False where options.only leaves nothing
 * of them.
 */
bool frames_resolve(struct frames *frames, const struct event *event, const struct sample *sample,
                    const struct thread *thread, bool *is_truncated);

#endif
