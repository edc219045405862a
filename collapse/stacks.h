/*
 * stacks.h - samples to counted stacks of places, and those to folded names.
 *
 * A place is what one frame is known by before it has a name: an offset in a
 * module, or a text. Each sample becomes a run of places, looked up as a
 * whole among those that were met; names are asked for once for each distinct
 * place, when all samples are in. Memory grows with distinct stacks, never
 * with samples.
 *
 * Decides which parts of a sample make its stack: the kernel's call chain and
 * above it (towards the root) the user's, from the chain, from branches or
 * by unwinding; which addresses are return addresses; the root frames.
 */
#ifndef COLLAPSE_STACKS_H
#define COLLAPSE_STACKS_H

#include "collapse/folder.h"
#include "collapse/sample.h"
#include "collapse/session.h"
#include "collapse/symbolize.h"
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

enum stacks_only { ONLY_ALL, ONLY_USER, ONLY_KERNEL };

struct place {
	uint64_t off;          /* in the module; 0 for a text */
	struct module *module; /* NULL: `text` is all there is */
	uint32_t text;         /* id in the session's texts */
	bool is_return, is_kernel;
	uint64_t nr_samples; /* that were taken right here */
};

struct stacks_options {
	enum stacks_root roots[STACKS_ROOTS_MAX];
	size_t nr_roots;
	bool event_root; /* name of the event in front of all others */
	enum stacks_only only;
	bool annotate; /* _[k], _[i], _[j] */
	bool no_symbols;
	bool addresses;   /* add the address to names that are not known */
	bool is_live;     /* open modules while their processes still run */
	uint16_t machine; /* e_machine of the recording, elf.h */
};

struct stacks_entry {
	weight_fx weight;
	uint64_t first; /* in the pool */
	uint32_t nr, hash;
};

struct stacks_cached {
	uint64_t ip, version;
	uint32_t place;
};

struct stacks {
	struct session *session; /* borrowed */
	struct stacks_options options;
	struct place *places;
	size_t nr_places, places_capacity;
	uint32_t *slots; /* place id + 1 */
	size_t nr_slots;

	/* distinct stacks: runs of places in `pool`, root first */
	struct stacks_entry *entries;
	size_t nr_entries, entries_capacity;
	uint32_t *entry_slots; /* entry + 1 */
	size_t nr_entry_slots;
	uint32_t *pool;
	size_t pool_size, pool_capacity;
	weight_fx total;

	struct stacks_cached *cache;

	uint32_t *frames; /* places of the sample at hand, innermost first */
	uint64_t *ips;    /* their addresses; 0 where a text stands for them */
	size_t nr_frames, frames_capacity;
	size_t nr_kernel_frames; /* of these, the first */
	uint32_t text_no_stack, text_truncated;

	uint64_t nr_no_stack, nr_truncated, nr_markers_unknown;
};

void stacks_init(struct stacks *stacks, struct session *session,
                 const struct stacks_options *options);
void stacks_release(struct stacks *stacks);

/*
 * Finds the frames of a sample and leaves them in frames, innermost first.
 * Returns false where options.only leaves nothing of it.
 */
bool stacks_resolve(struct stacks *stacks, const struct event *event, const struct sample *sample,
                    const struct thread *thread, bool *is_truncated);

/*
 * stacks_resolve() and counting. 1 = counted, 0 = left out by options.only,
 * -1 = the total would reach 2^64.
 */
int stacks_sample(struct stacks *stacks, const struct event *event, const struct sample *sample,
                  const struct thread *thread, weight_fx weight);

/*
 * The two halves of stacks_sample(), for weights that are known only later:
 * the number of the sample's stack (from 1; 0 = left out by options.only), and
 * adding to it (false where the total would reach 2^64).
 */
size_t stacks_enter(struct stacks *stacks, const struct event *event, const struct sample *sample,
                    const struct thread *thread);
bool stacks_weigh(struct stacks *stacks, size_t entry, weight_fx weight);

/* The number of the stack that has this text inside its innermost frame. */
size_t stacks_extend(struct stacks *stacks, size_t entry, const char *text);

/* What stacks_fold() did. */
struct stacks_folded {
	weight_fx total, unresolved; /* weight of stacks with a frame that has no name */
	weight_fx filtered;          /* left out by `keep` */
};

/*
 * Adds all stacks to the folder; no sample may follow. symbolizer: NULL with options.no_symbols.
 * keep: asked once per distinct name where not NULL; stacks without a name it
 * wants are left out.
 */
int stacks_fold(struct stacks *stacks, struct symbolizer *symbolizer, const struct strtab *names,
                bool (*keep)(void *ctx, const char *name), void *ctx, struct folder *folder,
                struct stacks_folded *folded, struct err *err);

/* The name of a place without symbols: "libc.so.6+0x1234", "[unknown]". */
void stacks_place_text(const struct stacks *stacks, const struct place *place, struct buf *out);

#endif
