#include "share/compat.h"
#include "collapse/samples.h"

#include "share/mem.h"

#include <inttypes.h>

void samples_release(struct samples_printer *printer)
{
	for (size_t i = 0; i < printer->nr_texts; i++)
		buf_release(&printer->texts[i]);
	free(printer->texts);
	*printer = (struct samples_printer){0};
}

static const char *dso_of(const struct place *place)
{
	if (!place->module)
		return place->is_kernel ? "bpf" : "";
	switch (place->module->key.kind) {
	case MODULE_UNKNOWN:
	case MODULE_JIT:
		return "[unknown]";
	default:
		return place->module->key.path;
	}
}

/* "name (dso)" lines, the innermost inlined function first, parted by newlines. */
static void make_text(const struct samples_printer *printer, const struct stacks *stacks,
                      const struct place *place, struct buf *text)
{
	struct symbol symbols[SYMBOLIZE_MAX];
	size_t nr;

	if (!place->module || !printer->symbolizer) {
		places_describe(&stacks->frames.places, place, text);
		buf_printf(text, " (%s)", dso_of(place));
		return;
	}
	nr = symbolize(printer->symbolizer, place->module, place->off, place->is_return, symbols);
	for (size_t i = 0; i < nr; i++) {
		struct slice name = strtab_slice(printer->names, symbols[i].name);

		if (i)
			buf_char(text, '\n');
		struct buf embedded = {0};

		if (!symbols[i].resolved &&
		    embedded_name(&stacks->session->reader->embedded, place->module, place->off,
		                  place->is_return, stacks->options.demangle, &embedded))
			buf_add(text, embedded.at, embedded.size);
		else if (symbols[i].resolved)
			buf_add(text, name.at, name.size);
		else
			buf_string(text, "[unknown]");
		buf_release(&embedded);
		buf_printf(text, " (%s)", symbols[i].inlined ? "inlined" : dso_of(place));
	}
}

static const struct buf *text_of(struct samples_printer *printer, const struct stacks *stacks,
                                 uint32_t id)
{
	if (id >= printer->nr_texts) {
		size_t nr = MAX_OF((size_t)id + 1, printer->nr_texts * 2);

		printer->texts = mem_resize(printer->texts, nr, sizeof(*printer->texts));
		memset(printer->texts + printer->nr_texts, 0,
		       (nr - printer->nr_texts) * sizeof(*printer->texts));
		printer->nr_texts = nr;
	}
	if (!printer->texts[id].size)
		make_text(printer, stacks, &stacks->frames.places.at[id], &printer->texts[id]);
	return &printer->texts[id];
}

void samples_print(struct samples_printer *printer, struct stacks *stacks,
                   const struct event *event, const struct sample *sample,
                   const struct thread *thread)
{
	struct output *out = printer->out;
	uint32_t comm = session_comm(stacks->session, thread);
	bool is_truncated;

	if (!frames_resolve(&stacks->frames, event, sample, thread, &is_truncated))
		return;
	output_printf(out, "%s %d/%d ", strtab_text(&stacks->session->texts, comm), sample->pid,
	              sample->tid);
	if (sample->cpu != UINT32_MAX)
		output_printf(out, "[%03u] ", sample->cpu);
	if (sample->time)
		output_printf(out, "%" PRIu64 ".%09" PRIu64 ": ", sample->time / 1000000000,
		              sample->time % 1000000000);
	output_printf(out, "%" PRIu64 " %s:\n", sample->period, event->name);
	for (size_t i = 0; i < stacks->frames.nr; i++) {
		uint32_t id = places_of_spot(&stacks->frames.places, &stacks->frames.at[i]);
		const struct buf *text = text_of(printer, stacks, id);
		const char *at = text->at, *end = text->at + text->size;
		const struct place *place = &stacks->frames.places.at[id];
		/* as perf does: of call chains the offset in the file, else the address */
		uint64_t address =
		        place->module && sample->has_chain ? place->off : stacks->frames.ips[i];

		while (at < end) {
			const char *newline = memchr(at, '\n', (size_t)(end - at));
			size_t size = (size_t)((newline ? newline : end) - at);

			output_printf(out, "\t%16" PRIx64 " ", address);
			output_add(out, at, size);
			output_add(out, "\n", 1);
			at += size + 1;
		}
	}
	output_add(out, "\n", 1);
}
