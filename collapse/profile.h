/*
 * profile.h - what rich formats hold beyond counted stacks: the samples in the
 * order they were taken, each with its thread and time; where in which file a
 * frame lies; what was inlined into what.
 *
 * Filled while recordings are folded (recording.h), or made of counted stacks
 * where nothing more is known. Stacks share their way from the root: a stack
 * is a node of a trie of frames. Memory grows by 48 bytes a sample.
 */
#ifndef COLLAPSE_PROFILE_H
#define COLLAPSE_PROFILE_H

#include "collapse/folder.h"
#include "collapse/names/module.h"
#include "share/compat.h"

#define PROFILE_NONE UINT32_MAX

struct profile_frame {
	uint64_t address; /* offset in the module's file, of the kernel and of JIT code itself */
	uint32_t name;    /* in the folder's names, as folded stacks show it */
	uint32_t bare;    /* the same without the mark of what is inlined */
	uint32_t file;    /* the same, or PROFILE_NONE */
	uint32_t line;    /* 0 = unknown */
	uint32_t module;  /* or PROFILE_NONE */
	bool is_inlined;  /* into the frame before it, which has the same address */
};

struct profile_module {
	char *path;
	struct build_id build_id;
	uint64_t end; /* behind the highest address of its frames; 0 = it has none */
};

struct profile_thread {
	int32_t pid, tid;
	uint32_t comm, cgroup; /* in the folder's names, or PROFILE_NONE */
};

struct profile_sample {
	weight_fx weight;
	uint64_t time; /* ns by the clock of the recording; 0 = unknown */
	uint32_t thread;
	uint32_t stack; /* a node of stacks */
	uint32_t cpu;   /* or PROFILE_NONE */
};

struct profile {
	struct folder *folder; /* borrowed: names, and what is counted all the same */
	struct folder stacks;  /* the names of its nodes are indexes in frames */
	struct profile_frame *frames;
	size_t nr_frames, frames_capacity;
	struct profile_module *modules;
	size_t nr_modules, modules_capacity;
	struct strtab threads; /* struct profile_thread as bytes */
	struct profile_sample *samples;
	size_t nr_samples, samples_capacity;
	weight_fx total;

	/* of the recording that is being read */
	size_t first_sample, first_frame, first_module;
	uint32_t *stack_of; /* by number of the stack there */
	size_t nr_stacks;
};

void profile_init(struct profile *profile, struct folder *folder);
void profile_release(struct profile *profile);

/* ---- filling ---- */

/* The number of a thread; names may be empty (NULL, 0). */
uint32_t profile_thread_id(struct profile *profile, int32_t pid, int32_t tid, struct slice comm,
                           struct slice cgroup);

/* sample->stack is the number, from 1, of a stack of this recording (stacks.h). */
void profile_add_sample(struct profile *profile, const struct profile_sample *sample);

/* Returns the frame's index. module: of this recording, or PROFILE_NONE. */
uint32_t profile_add_frame(struct profile *profile, const struct profile_frame *frame);

/* Says which node a stack of this recording is; those never told of are left out. */
void profile_set_stack(struct profile *profile, size_t number, uint32_t node);

/* The recording is folded: its numbers are no longer needed. */
void profile_settle(struct profile *profile, const struct modules *modules);

/* Of counted stacks: one thread (-1), a sample for each stack, frames that are names. */
void profile_of_folder(struct profile *profile);

/* ---- for writers ---- */

struct profile_thread profile_thread_at(const struct profile *profile, uint32_t id);

/* Whether threads and times are those of a recording. */
bool profile_is_recorded(const struct profile *profile);

/* Frames of the same function, wherever they are in it. */
struct profile_functions {
	uint32_t *of_frame; /* by frame */
	uint32_t *frame;    /* by function: a frame of it */
	size_t nr;
};

void profile_functions_init(struct profile_functions *functions, const struct profile *profile);
void profile_functions_release(struct profile_functions *functions);

/* Numbers of all samples, those of a thread together, in the order they were taken. */
struct profile_order {
	size_t *samples;
	size_t *first; /* by thread, in samples; behind the last thread their number */
};

void profile_order_init(struct profile_order *order, const struct profile *profile);
void profile_order_release(struct profile_order *order);

#endif
