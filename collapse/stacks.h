/*
 * stacks.h - samples to counted stacks of places, and those to folded names.
 *
 * Each sample becomes a run of places, root frames first, looked up as a whole
 * among those that were met; names are asked for once for each distinct
 * place, when all samples are in. Memory grows with distinct stacks, never
 * with samples.
 */
#ifndef COLLAPSE_STACKS_H
#define COLLAPSE_STACKS_H

#include "collapse/folder.h"
#include "collapse/frames.h"
#include "collapse/names/symbolize.h"
#include "collapse/profile.h"
#include "share/compat.h"

enum stacks_root {
	ROOT_COMM,
	ROOT_PID,
	ROOT_TID,
	ROOT_CGROUP,
	ROOT_CPU,
	ROOT_HOST,
	ROOT_NONE, /* stands alone: no root frames */
};
#define STACKS_ROOTS_MAX 6

struct stacks_options {
	struct frames_options frames;
	enum stacks_root roots[STACKS_ROOTS_MAX];
	size_t nr_roots;
	bool event_root; /* name of the event in front of all others */
	bool annotate;   /* _[k], _[i], _[j] */
	bool no_symbols;
	enum symbolize_demangle demangle; /* of names that the recording carries */
	bool addresses;                   /* add the address to names that are not known */
	bool tally;                       /* count the samples of each place */
	struct profile *profile; /* told of frames and stacks when they are folded, or NULL */
};

struct stacks_entry {
	weight_fx weight;
	uint64_t first; /* in the pool */
	uint32_t nr, hash;
};

/* The hash beside the entry: what is another stack is mostly told without looking at it. */
struct stacks_slot {
	uint32_t hash, entry; /* entry + 1; 0 = empty */
};

/* A sample that is counted when its place in the tables has come from memory. */
struct stacks_pending {
	weight_fx weight;
	uint32_t nr, hash; /* of its run */
};

/* So many wait at most; the first caches hold their frames. */
#define STACKS_BATCH       64
#define STACKS_BATCH_SPOTS 512

struct stacks {
	struct session *session; /* borrowed */
	struct stacks_options options;
	struct frames frames;

	/* distinct stacks: runs of places in `pool`, root first */
	struct stacks_entry *entries;
	size_t nr_entries, entries_capacity;
	struct stacks_slot *slots; /* open addressing by hash */
	size_t nr_slots;
	uint32_t *pool;
	size_t pool_size, pool_capacity;
	weight_fx total;

	struct stacks_pending pending[STACKS_BATCH];
	size_t nr_pending;
	struct spot *spots; /* their runs, one behind the other */
	size_t nr_spots, spots_capacity;

	uint32_t text_no_stack, text_truncated;
	uint32_t place_waker; /* of the frame "--"; UINT32_MAX while there is none */

	uint32_t calls[512]; /* places + 1 of system calls, by number; 0 = not made yet */

	uint64_t nr_no_stack, nr_truncated;
};

/*
 * symbolizer: the one that stacks_fold() will be given, where stacks may be
 * counted by function from the start; NULL: by address.
 */
void stacks_init(struct stacks *stacks, struct session *session, struct symbolizer *symbolizer,
                 const struct stacks_options *options);
void stacks_release(struct stacks *stacks);

/*
 * Counts one sample, which is among the entries after stacks_settle() only.
 * 1 = counted, 0 = left out by options.only, -1 = the total would reach 2^64.
 */
int stacks_sample(struct stacks *stacks, const struct event *event, const struct sample *sample,
                  const struct thread *thread, weight_fx weight);

/* Counts the samples that wait; the functions that return numbers of stacks do it themselves. */
void stacks_settle(struct stacks *stacks);

/*
 * The two halves of stacks_sample(), for weights that are known only later:
 * the number of the sample's stack (from 1; 0 = left out by options.only), and
 * adding to it (false where the total would reach 2^64).
 */
size_t stacks_enter(struct stacks *stacks, const struct event *event, const struct sample *sample,
                    const struct thread *thread);
bool stacks_weigh(struct stacks *stacks, size_t entry, weight_fx weight);

/* The number of the stack that is nothing but this text, below the roots of the sample. */
size_t stacks_enter_text(struct stacks *stacks, const struct sample *sample,
                         const struct thread *thread, const char *text);

/* The number of the stack that has this text inside its innermost frame. */
size_t stacks_extend(struct stacks *stacks, size_t entry, const char *text);

/*
 * The number of the stack that has, inside its innermost frame, a frame "--"
 * and then the frames of another one from its innermost to its roots: of who
 * ended what the first one waited for.
 */
size_t stacks_join(struct stacks *stacks, size_t entry, size_t waker);

/* What stacks_fold() did. */
struct stacks_folded {
	weight_fx total, unresolved; /* weight of stacks with a frame that has no name */
	weight_fx filtered;          /* left out by `keep` */
};

/*
 * Adds all stacks, which are settled, to the folder. symbolizer: NULL with options.no_symbols.
 * keep: asked once per distinct name where not NULL; stacks without a name it
 * wants are left out.
 */
int stacks_fold(const struct stacks *stacks, struct symbolizer *symbolizer,
                const struct strtab *names, bool (*keep)(void *ctx, const char *name), void *ctx,
                struct folder *folder, struct stacks_folded *folded, struct err *err);

#endif
