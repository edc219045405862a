/*
 * folder.h - frames to counted stacks: the tree every input ends in.
 *
 * A stack is a node of a trie; its path from the root is its frames, root
 * first. Frame names are interned here too. Node 0 is the empty stack.
 * Memory grows with distinct stacks, never with samples.
 *
 * Does not decide names, marks or order of root frames; writes folded text
 * sorted by bytes of the whole stack (as LC_ALL=C sort would).
 */
#ifndef COLLAPSE_FOLDER_H
#define COLLAPSE_FOLDER_H

#include "share/compat.h"
#include "share/output.h"
#include "share/strtab.h"
#include "share/weight.h"

struct folder_node {
	uint32_t parent;
	uint32_t name;  /* id in names */
	weight_fx self; /* weight of samples that end here */
};

/* With the key beside the id a look-up touches one line of the cache, not two. */
struct folder_slot {
	uint32_t parent, name;
	uint32_t node; /* 0 = empty */
};

/* The name that bytes gave last, by their hash: most names come again and again. */
struct folder_recent {
	uint64_t hash; /* 0 = none; of 64 bits, so nothing is compared */
	uint32_t name;
};
#define FOLDER_RECENT 1024

/* Where the path that was asked for last led: the next one often begins alike. */
struct folder_step {
	uint32_t name, node;
};
#define FOLDER_PATH 128

struct folder {
	struct strtab names;
	struct folder_node *nodes;
	uint32_t nr, capacity;
	struct folder_slot *slots; /* open addressing by (parent, name) */
	uint32_t nr_slots;
	uint32_t nr_indexed; /* nodes that are in slots; the rest is entered when asked for */
	uint32_t last;       /* the node that was asked for last */
	weight_fx total;
	struct folder_recent recent[FOLDER_RECENT];
	uint32_t path_root, path_nr;
	struct folder_step path[FOLDER_PATH];
};

void folder_init(struct folder *folder);
void folder_release(struct folder *folder);

/* Any bytes; cleaned to a legal frame (folded_clean) before it is interned. */
uint32_t folder_name(struct folder *folder, const char *text, size_t size);

/* The node of `name` under `parent`, made where it is missing. */
uint32_t folder_child(struct folder *folder, uint32_t parent, uint32_t name);

/* The node that a path of names leads to below `root`; innermost first, as most inputs tell it. */
uint32_t folder_path(struct folder *folder, uint32_t root, const uint32_t *names, size_t nr);

/* The same of folder_name(); quick where inputs come in the same order again. */
uint32_t folder_child_text(struct folder *folder, uint32_t parent, struct slice text);

/* The same for a name that is known not to be there: nothing is looked up. */
uint32_t folder_append(struct folder *folder, uint32_t parent, uint32_t name);

/* false where the total would reach 2^64 (nothing is added then). */
bool folder_count(struct folder *folder, uint32_t node, weight_fx weight);

/* Stacks of weight 0 are left out. */
void folder_write(const struct folder *folder, struct output *out);

#endif
