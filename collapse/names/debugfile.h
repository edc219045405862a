/*
 * debugfile.h - the files that belong to a program and lie elsewhere.
 *
 * Decides which separate debug file, which embedded symbols and which shared
 * (dwz) file are those of a given ELF file. A candidate counts only when its
 * build-id, or the CRC that the program carries, is right.
 *
 * Sources: GDB manual, "Debugging Information in Separate Files" (build-id
 * and .gnu_debuglink with its CRC) and "MiniDebugInfo" (.gnu_debugdata); DWZ,
 * .gnu_debugaltlink: a path, NUL, and the build-id of that file.
 */
#ifndef COLLAPSE_DEBUGFILE_H
#define COLLAPSE_DEBUGFILE_H

#include "collapse/names/elffile.h"
#include "share/compat.h"

/* NULL-terminated, never NULL. */
const char *const *debugfile_dirs(const struct module_options *options);

/* Each: looked for once, owned by the file, NULL where there is none. */
struct elffile *debugfile_of(struct elffile *file);   /* separate debug information */
struct elffile *debugfile_mini(struct elffile *file); /* unpacked .gnu_debugdata */
struct elffile *debugfile_alt(struct elffile *file);  /* of .gnu_debugaltlink */

/*
 * Opens what lies beside a file: where that one was opened below a folder, a
 * path below the same folder does not lead out of it by links or "..". Takes
 * the path, from malloc(); NULL where there is no ELF file.
 */
struct elffile *debugfile_open(const struct elffile *beside, char *path_take);

/* The folder of a path, without the last slash; the caller frees. */
char *debugfile_folder(const char *path);

#endif
