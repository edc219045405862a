/*
 * pfmnames.h - names of processors' events as libpfm4 knows them, where the
 * library is present: "INST_RETIRED:ANY_P", "skl::UOPS_ISSUED:ANY:c=1".
 *
 * Source: pfm_get_os_event_encoding(3), pfm_get_event_info(3),
 * pfm_get_event_attr_info(3) of libpfm4 4.13, whose structures all tell
 * their size: fields that a later version appends are left alone.
 */
#ifndef COLLECT_PFMNAMES_H
#define COLLECT_PFMNAMES_H

#include "collect/events.h"

/*
 * Appends the event. Returns 0; -1 where there is no such name, with an
 * empty err->text, or where it is known and wrong, or of libpfm4's form
 * ("PMU::...") without the library, with the reason.
 */
int pfmnames_parse(struct event_list *events, const char *text, struct err *err);

/* Calls visit for each event and unit mask of the PMUs that are present. */
void pfmnames_each(void (*visit)(const char *name, const char *about, void *arg), void *arg);

#endif
