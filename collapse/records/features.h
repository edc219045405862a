/*
 * features.h - the feature sections of a recording: what its writer said of
 * the machine, the command and the files, into the fields of struct reader.
 *
 * Each section is only as good as its writer; a malformed one is passed over,
 * because no stack depends on it.
 */
#ifndef COLLAPSE_FEATURES_H
#define COLLAPSE_FEATURES_H

#include "collapse/records/reader.h"

/* c: the section's bytes. Source of the layouts: see perfrec.h. */
void features_read(struct reader *reader, uint32_t id, struct perfrec_cursor c);

/* The body of a build-id entry: in the section, or a record of its own. */
void features_build_id(struct reader *reader, uint16_t misc, struct perfrec_cursor c);

/*
 * The name of a tracepoint as perf before Linux 3.11 wrote it: u64 config, char
 * name[64]; entries of a section of the file header, or records of their own.
 */
void features_event_type(struct reader *reader, struct perfrec_cursor c);

void features_release(struct reader *reader);

/* Gives modules the build-ids that a recorder which writes into a pipe knows at its end. */
void features_tell_build_ids(const struct reader *reader, struct modules *modules);

/* The EM_... value (elf.h) of the machine that recorded; ours where it is not told. */
uint16_t features_machine(const struct reader *reader);

#endif
