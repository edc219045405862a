/*
 * procmaps.h - what exists already, told as records: processes, threads,
 * maps, the kernel and its modules.
 *
 * A process may change or end while it is read; the kernel's own records of
 * that carry a later time and win.
 *
 * Sources: proc(5) for stat, task, maps; the kernel map as perf writes it
 * (tools/perf/util/synthetic-events.c of Linux 6.1): pid -1, start and offset
 * are the address of _text.
 */
#ifndef COLLECT_PROCMAPS_H
#define COLLECT_PROCMAPS_H

#include "collect/recout.h"
#include "share/compat.h"

struct procmaps {
	struct recout *rec;
	bool data_maps;              /* also maps that are not executable: .eh_frame is in those */
	bool namespaces;             /* also the namespaces of each process */
	bool build_ids;              /* identify files by build-id where they have one */
	struct buf text;             /* scratch */
	struct procmaps_file *files; /* hash table: build-ids of files seen */
	size_t nr_files, files_capacity;
	uint64_t nr_processes, nr_threads, nr_maps;
};

void procmaps_init(struct procmaps *maps, struct recout *rec, bool data_maps, bool build_ids);
void procmaps_release(struct procmaps *maps);

/* The kernel's text and its modules; false where addresses are hidden (kptr_restrict). */
bool procmaps_kernel(struct procmaps *maps);

/* The control groups there are. */
void procmaps_cgroups(struct procmaps *maps);

/* One process with its threads; gone processes leave nothing behind. */
void procmaps_process(struct procmaps *maps, uint32_t pid);

/*
 * Every process there is. between is called now and then, so that rings do
 * not overflow meanwhile.
 */
void procmaps_all(struct procmaps *maps, void (*between)(void *), void *arg);

#endif
