/*
 * buildid.h - the build-id of an ELF file or of a file of notes.
 *
 * Source: elf(5); note "GNU" of type NT_GNU_BUILD_ID (3), gABI chapter 5.
 */
#ifndef COLLECT_BUILDID_H
#define COLLECT_BUILDID_H

#include "share/compat.h"

#define BUILD_ID_MAX 20

/* Both return the id's size, at most BUILD_ID_MAX, or 0 where there is none. */
size_t build_id_of_file(int fd, uint8_t *id);
size_t build_id_of_note_file(const char *path, uint8_t *id);

/* Looks through size bytes of notes, which are 4-aligned. */
size_t build_id_of_notes(const uint8_t *notes, size_t size, uint8_t *id);

#endif
