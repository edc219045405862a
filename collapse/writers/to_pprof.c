/*
 * to_pprof.c - writes pprof's protocol buffer, gzipped.
 *
 * One value, named after the event, in the header's unit; times with fractions
 * become nanoseconds. Equal stacks of a thread are one sample, which has the
 * thread as labels. What was inlined at an address are lines of one location;
 * marks stay part of the name, so that reading it back gives the same stacks.
 *
 * Source: google/pprof, proto/profile.proto.
 */
#include "share/compat.h"
#include "collapse/writers/to.h"

#include "share/mem.h"

#include <zlib.h>

static void put_varint(struct buf *out, uint64_t value)
{
	while (value > 127) {
		buf_char(out, (char)(value | 128));
		value >>= 7;
	}
	buf_char(out, (char)value);
}

static void put_number(struct buf *out, unsigned field, uint64_t value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

static void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t size)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, size);
	buf_add(out, bytes, size);
}

/* Gzip (RFC 1952) of a stream, fed piece by piece. */
struct gzip {
	z_stream z;
	struct output *out;
};

static void gzip_feed(struct gzip *gzip, struct buf *bytes, int flush)
{
	char chunk[16384];

	gzip->z.next_in = (Bytef *)bytes->at;
	gzip->z.avail_in = (uInt)bytes->size;
	do {
		gzip->z.next_out = (Bytef *)chunk;
		gzip->z.avail_out = sizeof(chunk);
		deflate(&gzip->z, flush);
		output_add(gzip->out, chunk, sizeof(chunk) - gzip->z.avail_out);
	} while (!gzip->z.avail_out);
	buf_reset(bytes);
}

static void maybe_feed(struct gzip *gzip, struct buf *bytes)
{
	if (bytes->size > 1 << 20)
		gzip_feed(gzip, bytes, Z_NO_FLUSH);
}

enum {
	STRING_EMPTY,
	STRING_EVENT,
	STRING_UNIT,
	STRING_COMM,
	STRING_PID,
	STRING_TID,
	STRING_CGROUP,
	NR_OWN_STRINGS,
};

/* What is written of a profile, while it is. */
struct writing {
	const struct profile *profile;
	struct profile_functions functions;
	struct buf strings; /* the table, as fields of the message */
	uint32_t nr_strings;
	uint32_t *string_of; /* by name; 0 = not in the table yet */
	bool *is_used;       /* by frame: locations begin there */
	struct gzip gzip;
	struct buf bytes, part, line;
};

static uint32_t string_of_text(struct writing *w, struct slice text)
{
	put_bytes(&w->strings, 6, text.at, text.size);
	return w->nr_strings++;
}

static uint32_t string_of_cstr(struct writing *w, const char *text)
{
	return string_of_text(w, (struct slice){text, strlen(text)});
}

static uint32_t string_of_name(struct writing *w, uint32_t name)
{
	if (name == PROFILE_NONE)
		return STRING_EMPTY;
	if (!w->string_of[name])
		w->string_of[name] =
		        string_of_text(w, strtab_slice(&w->profile->folder->names, name));
	return w->string_of[name];
}

static void put_label(struct writing *w, unsigned key, unsigned field, uint64_t value)
{
	buf_reset(&w->line);
	put_number(&w->line, 1, key);
	put_number(&w->line, field, value);
	put_bytes(&w->part, 3, w->line.at, w->line.size);
}

static void put_labels(struct writing *w, struct profile_thread thread)
{
	if (thread.comm != PROFILE_NONE)
		put_label(w, STRING_COMM, 2, string_of_name(w, thread.comm));
	put_label(w, STRING_PID, 3, (uint64_t)thread.pid);
	put_label(w, STRING_TID, 3, (uint64_t)thread.tid);
	if (thread.cgroup != PROFILE_NONE)
		put_label(w, STRING_CGROUP, 2, string_of_name(w, thread.cgroup));
}

/* A location is known by its outermost frame: what was inlined there comes with it. */
static void put_sample(struct writing *w, const struct profile_sample *sample, uint64_t value)
{
	const struct profile *profile = w->profile;
	const struct folder_node *nodes = profile->stacks.nodes;

	buf_reset(&w->line);
	for (uint32_t at = sample->stack; at; at = nodes[at].parent) {
		if (profile->frames[nodes[at].name].is_inlined)
			continue;
		put_varint(&w->line, (uint64_t)nodes[at].name + 1);
		w->is_used[nodes[at].name] = true;
	}
	buf_reset(&w->part);
	put_bytes(&w->part, 1, w->line.at, w->line.size);
	buf_reset(&w->line);
	put_varint(&w->line, value);
	put_bytes(&w->part, 2, w->line.at, w->line.size);
	if (profile_is_recorded(profile))
		put_labels(w, profile_thread_at(profile, sample->thread));
	put_bytes(&w->bytes, 2, w->part.at, w->part.size);
	maybe_feed(&w->gzip, &w->bytes);
}

static int compare_samples(const void *a, const void *b, void *ctx)
{
	const struct profile_sample *samples = ctx;
	const struct profile_sample *x = samples + *(const size_t *)a,
	                            *y = samples + *(const size_t *)b;

	return x->stack != y->stack ? (x->stack > y->stack) - (x->stack < y->stack) :
	                              (x->thread > y->thread) - (x->thread < y->thread);
}

static void put_samples(struct writing *w, uint64_t scale)
{
	const struct profile_sample *samples = w->profile->samples;
	size_t nr = w->profile->nr_samples;
	size_t *order = mem_alloc((nr + 1) * sizeof(*order));
	weight_fx weight = 0;

	for (size_t i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(*order), compare_samples, w->profile->samples);
	for (size_t i = 0; i < nr; i++) {
		weight += samples[order[i]].weight;
		if (i + 1 < nr &&
		    compare_samples(&order[i], &order[i + 1], w->profile->samples) == 0)
			continue;
		put_sample(w, &samples[order[i]], (uint64_t)(weight * scale / WEIGHT_ONE));
		weight = 0;
	}
	free(order);
}

static void put_mapping(struct writing *w, size_t number)
{
	const struct profile_module *module = &w->profile->modules[number];
	char id[2 * BUILD_ID_MAX + 1] = "";

	for (uint8_t k = 0; k < module->build_id.size; k++)
		snprintf(id + 2 * k, 3, "%02x", module->build_id.bytes[k]);
	buf_reset(&w->part);
	put_number(&w->part, 1, number + 1);
	put_number(&w->part, 3, module->end); /* addresses are offsets in the file */
	put_number(&w->part, 5, string_of_cstr(w, module->path));
	put_number(&w->part, 6, string_of_cstr(w, id));
	put_number(&w->part, 7, 1); /* has functions; there is no need to look for them */
	put_bytes(&w->bytes, 3, w->part.at, w->part.size);
}

/* A file that is no library; the kernel and what stands for no file have no slash. */
static bool is_program(const struct profile_module *module)
{
	const char *base = strrchr(module->path, '/');

	return module->end && base && module->path[1] != '/' && !strstr(base, ".so");
}

/* The program that most of the weight was sampled in or below; nr_modules: there is none. */
static size_t main_program(const struct profile *profile)
{
	weight_fx *weights = mem_zalloc((profile->nr_modules + 1) * sizeof(*weights));
	size_t best = profile->nr_modules;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		uint32_t at = profile->samples[i].stack, module = PROFILE_NONE;

		for (; at; at = profile->stacks.nodes[at].parent) {
			module = profile->frames[profile->stacks.nodes[at].name].module;
			if (module != PROFILE_NONE && is_program(&profile->modules[module]))
				break;
		}
		if (!at)
			continue;
		weights[module] += profile->samples[i].weight;
		if (best == profile->nr_modules || weights[module] > weights[best])
			best = module;
	}
	free(weights);
	return best;
}

/* The first is "the main binary" by convention of the format: readers name the profile so. */
static void put_mappings(struct writing *w)
{
	size_t first = main_program(w->profile);

	if (first < w->profile->nr_modules)
		put_mapping(w, first);
	for (size_t i = 0; i < w->profile->nr_modules; i++)
		if (i != first && w->profile->modules[i].end)
			put_mapping(w, i);
}

static void put_line(struct writing *w, size_t frame)
{
	buf_reset(&w->line);
	put_number(&w->line, 1, (uint64_t)w->functions.of_frame[frame] + 1);
	if (w->profile->frames[frame].line)
		put_number(&w->line, 2, w->profile->frames[frame].line);
	put_bytes(&w->part, 4, w->line.at, w->line.size);
}

static void put_locations(struct writing *w)
{
	const struct profile *profile = w->profile;

	for (size_t i = 0; i < profile->nr_frames; i++) {
		const struct profile_frame *frame = &profile->frames[i];
		size_t last = i;

		if (!w->is_used[i])
			continue;
		while (last + 1 < profile->nr_frames && profile->frames[last + 1].is_inlined)
			last++;
		buf_reset(&w->part);
		put_number(&w->part, 1, (uint64_t)i + 1);
		if (frame->module != PROFILE_NONE) {
			put_number(&w->part, 2, (uint64_t)frame->module + 1);
			put_number(&w->part, 3, frame->address);
		}
		/* the innermost first */
		for (size_t k = last + 1; k-- > i;)
			put_line(w, k);
		put_bytes(&w->bytes, 4, w->part.at, w->part.size);
		maybe_feed(&w->gzip, &w->bytes);
	}
}

static void put_functions(struct writing *w)
{
	for (size_t i = 0; i < w->functions.nr; i++) {
		const struct profile_frame *frame = &w->profile->frames[w->functions.frame[i]];

		buf_reset(&w->part);
		put_number(&w->part, 1, (uint64_t)i + 1);
		put_number(&w->part, 2, string_of_name(w, frame->bare));
		if (frame->file != PROFILE_NONE)
			put_number(&w->part, 4, string_of_name(w, frame->file));
		put_bytes(&w->bytes, 5, w->part.at, w->part.size);
		maybe_feed(&w->gzip, &w->bytes);
	}
}

static void put_own_strings(struct writing *w, const char *event, const char *unit)
{
	string_of_cstr(w, "");
	string_of_cstr(w, *event ? event : unit);
	string_of_cstr(w, strcmp(unit, "samples") == 0 ? "count" : unit);
	string_of_cstr(w, "comm");
	string_of_cstr(w, "pid");
	string_of_cstr(w, "tid");
	string_of_cstr(w, "cgroup");
}

static void put_all(struct writing *w, uint64_t scale)
{
	const struct profile *profile = w->profile;
	size_t nr = profile->nr_samples;

	profile_functions_init(&w->functions, profile);
	w->string_of = mem_zalloc((profile->folder->names.nr + 1) * sizeof(*w->string_of));
	w->is_used = mem_zalloc(profile->nr_frames + 1);
	put_number(&w->part, 1, STRING_EVENT);
	put_number(&w->part, 2, STRING_UNIT);
	put_bytes(&w->bytes, 1, w->part.at, w->part.size);
	put_samples(w, scale);
	put_mappings(w);
	put_locations(w);
	put_functions(w);
	put_number(&w->bytes, 10,
	           nr ? profile->samples[nr - 1].time - profile->samples[0].time : 0);
	gzip_feed(&w->gzip, &w->bytes, Z_NO_FLUSH);
	gzip_feed(&w->gzip, &w->strings, Z_FINISH);
	profile_functions_release(&w->functions);
	free(w->string_of);
	free(w->is_used);
}

static int write_pprof(const struct profile *profile, const struct folded_header *header,
                       struct output *out, struct err *err)
{
	const char *unit = to_unit(header);
	struct writing w = {.profile = profile, .gzip.out = out};
	uint64_t scale = 1;

	if (!to_all_whole(profile->folder)) {
		scale = to_unit_ns(unit);
		if (!scale)
			return err_set(err,
			               "pprof holds whole numbers, and these %s have fractions",
			               unit);
		unit = "nanoseconds";
	}
	if (profile->total / WEIGHT_ONE > (weight_fx)(INT64_MAX / scale))
		return err_set(err, "pprof holds numbers below 2^63, and these %s are more", unit);
	if (deflateInit2(&w.gzip.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return err_set(err, "zlib cannot begin to compress");
	put_own_strings(&w, to_event(header), unit);
	put_all(&w, scale);
	deflateEnd(&w.gzip.z);
	buf_release(&w.strings);
	buf_release(&w.bytes);
	buf_release(&w.part);
	buf_release(&w.line);
	return 0;
}

const struct to_format to_pprof = {
        .name = "pprof",
        .about = "pprof protocol buffer, gzipped: go tool pprof, Pyroscope, Parca",
        .is_binary = true,
        .write_profile = write_pprof,
};
