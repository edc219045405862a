/*
 * cgroups.h - control groups of version 2: where they are mounted, which there
 * are, and how the kernel numbers them.
 *
 * Source: cgroups(7). The number of a group in records, cgroup_id(), is that
 * of its folder's inode (kernfs_ino() of include/linux/kernfs.h, Linux 6.1;
 * on 64-bit machines all of it). With version 1 of the perf_event controller
 * mounted, records number the groups of that hierarchy instead.
 */
#ifndef COLLECT_CGROUPS_H
#define COLLECT_CGROUPS_H

#include "share/compat.h"
#include "share/err.h"

/*
 * Opens the folder of a group of version 2, named by its path below the
 * mount, or by the id of a container. -1 where there is none.
 */
int cgroups_open(const char *name, struct err *err);

/* Calls visit for each group that records may name; path is "/" for the root. */
void cgroups_each(void (*visit)(uint64_t id, const char *path, void *arg), void *arg);

#endif
