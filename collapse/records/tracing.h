/*
 * tracing.h - the names of tracepoints in the tracing data of a recording: a
 * copy of the format files of tracefs, which streams of perf before Linux 4.17
 * carry and nothing else that names their events.
 *
 * Source: tools/perf/util/trace-event-info.c of Linux 6.1. In front: 0x17 0x08
 * 0x44 "tracing", a version with its NUL, u8 big-endian or not, u8 size of a
 * long, u32 page size; "header_page" NUL u64 size, so many bytes;
 * "header_event" the same; u32 nr of files of ftrace, each u64 size and its
 * bytes; u32 nr of systems, each its name with NUL, u32 nr of events, each u64
 * size and the bytes of its format file: "name: NAME", "ID: NUMBER", ...
 */
#ifndef COLLAPSE_TRACING_H
#define COLLAPSE_TRACING_H

#include "share/compat.h"
#include "share/perfrec.h"

/* More than that is not looked into. */
#define TRACING_SIZE_MAX ((uint64_t)16 << 20)

/*
 * Calls tell with "SYSTEM:NAME", which is borrowed for the call, and the number
 * of each tracepoint. What is malformed ends the reading.
 */
void tracing_read(struct perfrec_cursor c,
                  void (*tell)(void *ctx, struct slice name, uint64_t number), void *ctx);

#endif
