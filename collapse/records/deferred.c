#include "share/compat.h"
#include "collapse/records/deferred.h"

#include "share/mem.h"

void deferred_release(struct deferred *deferred)
{
	for (size_t i = 0; i < deferred->nr; i++)
		free(deferred->entries[(deferred->first + i) % DEFERRED_MAX].record);
	free(deferred->entries);
	free(deferred->chain);
	*deferred = (struct deferred){0};
}

uint64_t deferred_cookie(const struct sample *sample)
{
	if (sample->nr_chain < 2 ||
	    sample->chain[sample->nr_chain - 2] != PERFREC_CONTEXT_USER_DEFERRED)
		return 0;
	return sample->chain[sample->nr_chain - 1];
}

void deferred_hold(struct deferred *deferred, uint64_t cookie, struct event *event,
                   const struct record *record, struct deferred_entry *given_up)
{
	struct deferred_entry *entry;

	given_up->record = NULL;
	if (!deferred->entries)
		deferred->entries = mem_zalloc(DEFERRED_MAX * sizeof(*deferred->entries));
	if (deferred->nr == DEFERRED_MAX) {
		*given_up = deferred->entries[deferred->first];
		deferred->first = (deferred->first + 1) % DEFERRED_MAX;
		deferred->nr--;
	}
	entry = &deferred->entries[(deferred->first + deferred->nr++) % DEFERRED_MAX];
	*entry = (struct deferred_entry){cookie, event, mem_alloc(record->size)};
	memcpy(entry->record, record->at, record->size);
}

bool deferred_take(struct deferred *deferred, uint64_t cookie, struct deferred_entry *entry)
{
	/* those that were taken out of the middle */
	while (deferred->nr && !deferred->entries[deferred->first].record) {
		deferred->first = (deferred->first + 1) % DEFERRED_MAX;
		deferred->nr--;
	}
	for (size_t i = 0; i < deferred->nr; i++) {
		struct deferred_entry *at =
		        &deferred->entries[(deferred->first + i) % DEFERRED_MAX];

		if (at->record && (!cookie || at->cookie == cookie)) {
			*entry = *at;
			at->record = NULL;
			return true;
		}
	}
	return false;
}

void deferred_merge(struct deferred *deferred, struct sample *sample, const uint64_t *ips,
                    uint64_t nr)
{
	uint64_t nr_kept = sample->nr_chain - 2;

	if (deferred->chain_capacity < nr_kept + nr + 1) {
		deferred->chain_capacity = nr_kept + nr + 1;
		deferred->chain = mem_resize(deferred->chain, deferred->chain_capacity,
		                             sizeof(*deferred->chain));
	}
	if (nr_kept)
		memcpy(deferred->chain, sample->chain, nr_kept * sizeof(*ips));
	/* the record has a marker of its own; a second one in front does no harm */
	deferred->chain[nr_kept] = PERF_CONTEXT_USER;
	if (nr)
		memcpy(deferred->chain + nr_kept + 1, ips, nr * sizeof(*ips));
	sample->chain = deferred->chain;
	sample->nr_chain = nr_kept + 1 + nr;
}
