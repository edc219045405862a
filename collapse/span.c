#include "share/compat.h"
#include "collapse/span.h"

#include "share/mem.h"

/* No machine has more; a damaged record may say so. */
#define MOST_CPUS 65536

static void add_cpu(struct span *span, uint32_t cpu)
{
	size_t word = cpu / 64;

	if (word >= span->nr_words) {
		span->cpus = mem_resize(span->cpus, word + 1, sizeof(*span->cpus));
		memset(span->cpus + span->nr_words, 0,
		       (word + 1 - span->nr_words) * sizeof(*span->cpus));
		span->nr_words = word + 1;
	}
	span->nr_cpus += !(span->cpus[word] >> (cpu % 64) & 1);
	span->cpus[word] |= (uint64_t)1 << (cpu % 64);
}

void span_add(struct span *span, uint64_t time, uint32_t cpu)
{
	if (cpu < MOST_CPUS)
		add_cpu(span, cpu);
	if (!time)
		return;
	if (!span->first_time || time < span->first_time)
		span->first_time = time;
	span->last_time = MAX_OF(span->last_time, time);
}

void span_clear(struct span *span)
{
	span->first_time = span->last_time = 0;
	span->nr_cpus = 0;
	if (span->cpus)
		memset(span->cpus, 0, span->nr_words * sizeof(*span->cpus));
}

void span_release(struct span *span)
{
	free(span->cpus);
	*span = (struct span){0};
}

void span_header(const struct span *span, const struct event *event, size_t nr_cpus,
                 struct folded_header *header)
{
	struct buf text = {0};

	if (span->last_time <= span->first_time)
		return;
	buf_printf(&text, "%.2f s", (double)(span->last_time - span->first_time) / 1e9);
	if (span->nr_cpus)
		nr_cpus = span->nr_cpus;
	if (nr_cpus)
		buf_printf(&text, " on %zu cpu%s", nr_cpus, nr_cpus == 1 ? "" : "s");
	if (event->attr.freq)
		buf_printf(&text, " at %llu Hz", (unsigned long long)event->attr.sample_freq);
	else if (event->attr.sample_period > 1)
		buf_printf(&text, " every %llu %s", (unsigned long long)event->attr.sample_period,
		           event_unit(event));
	folded_header_set(header, "sampled", "%s", buf_text(&text));
	buf_release(&text);
}
