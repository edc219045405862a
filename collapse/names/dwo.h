/*
 * dwo.h - the split part of a unit: out of FILE.dwp or out of its own .dwo.
 *
 * Decides which bytes are the split part of a skeleton: their id must be the
 * skeleton's. Files are opened once and kept.
 *
 * Format: DWARF 5 section 7.3.5 (packages: .debug_cu_index, version 5); GNU
 * version 2 of the same for DWARF 4 (gcc.gnu.org/wiki/DebugFissionDWP).
 */
#ifndef COLLAPSE_DWO_H
#define COLLAPSE_DWO_H

#include "collapse/names/dwarf.h"
#include "share/compat.h"

/* Of one program; a zeroed one is ready. */
struct dwo_files {
	bool package_tried;
	struct elffile *package; /* PROGRAM.dwp, or NULL */
	struct elffile **files;
	size_t nr_files, files_capacity;
	struct dwarf **dwarfs;
	size_t nr_dwarfs, dwarfs_capacity;
};

void dwo_release(struct dwo_files *files);

/*
 * The split unit of a skeleton, ready, with its skeleton set; or NULL. The
 * folder of `program` is where a package, and .dwo files that have moved, are.
 */
struct dwarf_unit *dwo_unit(struct dwo_files *files, struct dwarf_unit *skeleton,
                            const struct elffile *program);

#endif
