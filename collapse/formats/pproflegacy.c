/*
 * pproflegacy.c - what pprof read before protocol buffers: the binary CPU
 * profiles of gperftools and Java's kin of them, heap and growth profiles and
 * contention profiles as text, and Go's counts as text (debug=1).
 *
 * Heap profiles that were sampled are scaled up to all that was allocated, as
 * pprof does. Of the CPU profiles:
 * Values: samples, cpu (microseconds: samples times the period). Addresses
 * have no names here, only the maps at the end: "libfoo.so+0x1234". Java
 * profiles (version 1) end in a list of addresses and names instead.
 *
 * Source: gperftools, docs/cpuprofile-fileformat.html: words of 4 or 8 bytes
 * in either byte order; header 0, 3, version, period, 0; samples of count,
 * number of addresses, addresses from the innermost out; trailer 0, 1, 0;
 * text. Version 1: google/pprof, profile/legacy_java_profile.go.
 * Text: the same, profile/legacy_profile.go, parseHeap, parseContention,
 * parseGoCount. Go writes names below each sample, but for what is its
 * runtime's own: "#\tADDRESS\tNAME+OFFSET\tFILE:LINE"; runtime/pprof/pprof.go,
 * printStackRecord.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/addrmap.h"
#include "collapse/formats/callers.h"
#include "collapse/formats/idmap.h"
#include "share/mem.h"
#include "share/num.h"

#include <math.h>

struct words {
	const uint8_t *at, *end;
	size_t size; /* of a word */
	bool is_big_endian;
};

struct reading {
	struct folder *folder;
	struct addrmap maps;
	struct idmap java_names; /* address -> name id */
};

static uint64_t word_at(const struct words *words, size_t index)
{
	const uint8_t *p = words->at + index * words->size;
	uint64_t v = 0;

	for (size_t i = 0; i < words->size; i++)
		v = v << 8 | p[words->is_big_endian ? i : words->size - 1 - i];
	return v;
}

static size_t words_left(const struct words *words)
{
	return (size_t)(words->end - words->at) / words->size;
}

/* Finds word size and byte order by the header; false where it is none. */
static bool read_header(struct slice bytes, struct words *words, uint64_t *version,
                        uint64_t *period)
{
	for (int kind = 0; kind < 4; kind++) {
		*words = (struct words){(const uint8_t *)bytes.at,
		                        (const uint8_t *)bytes.at + bytes.size, kind < 2 ? 8 : 4,
		                        kind % 2};
		if (words_left(words) < 5)
			continue;
		*version = word_at(words, 2);
		*period = word_at(words, 3);
		if (word_at(words, 0) == 0 && word_at(words, 1) == 3 && *version <= 1 && *period &&
		    *period < 1u << 30 && word_at(words, 4) == 0) {
			words->at += 5 * words->size;
			return true;
		}
	}
	return false;
}

static int detect(struct slice head, bool is_all UNUSED)
{
	uint64_t version, period;
	struct words words;

	return read_header(head, &words, &version, &period) ? 98 : 0;
}

/* Takes one sample and says how it ended: 1 = a sample, 0 = trailer or end, -1 = cut. */
static int next_sample(struct words *words, uint64_t *count, const struct words **addresses,
                       struct words *storage, uint64_t *nr)
{
	if (words_left(words) < 2)
		return words->at == words->end ? 0 : -1;
	*count = word_at(words, 0);
	*nr = word_at(words, 1);
	if (*nr > words_left(words) - 2)
		return -1;
	*storage = *words;
	storage->at += 2 * words->size;
	*addresses = storage;
	if (!*count && *nr == 1 && word_at(storage, 0) == 0) {
		words->at += 3 * words->size;
		return 0;
	}
	words->at += (2 + (size_t)*nr) * words->size;
	return 1;
}

/* " 0x0000006 com.example.Name (File.java:12)" */
static void take_java_name(struct reading *reading, struct slice line)
{
	struct slice address;
	const char *bracket;
	uint64_t value;

	if (!slice_word(&line, &address) || !slice_starts(address, "0x") ||
	    num_parse_hex(address.at, address.size, &value))
		return;
	while (line.size && *line.at == ' ') {
		line.at++;
		line.size--;
	}
	bracket = memmem(line.at, line.size, " (", 2);
	if (bracket)
		line.size = (size_t)(bracket - line.at);
	if (line.size)
		idmap_set(&reading->java_names, value,
		          folder_name(reading->folder, line.at, line.size));
}

static void take_text(struct reading *reading, struct slice rest, bool is_java)
{
	while (rest.size) {
		const char *end = memchr(rest.at, '\n', rest.size);
		struct slice line = {rest.at, end ? (size_t)(end - rest.at) : rest.size};

		if (is_java)
			take_java_name(reading, line);
		else
			addrmap_take(&reading->maps, line);
		rest.size -= line.size + (end != NULL);
		rest.at += line.size + (end != NULL);
	}
}

static uint32_t address_name(struct reading *reading, uint64_t address)
{
	uint32_t id = idmap_get(&reading->java_names, address);
	char text[300];
	size_t size;

	if (id != UINT32_MAX)
		return id;
	size = addrmap_name(&reading->maps, address, text, sizeof(text));
	return folder_name(reading->folder, text, size);
}

static int fold(struct reading *reading, struct words words, uint64_t factor,
                struct format_report *report, struct err *err)
{
	const struct words *addresses;
	uint64_t count, nr;
	struct words storage;

	while (next_sample(&words, &count, &addresses, &storage, &nr) > 0) {
		uint32_t node = 0;
		weight_fx weight;

		for (uint64_t i = nr; i-- > 0;)
			node = folder_child(reading->folder, node,
			                    address_name(reading, word_at(addresses, (size_t)i)));
		if (count > UINT64_MAX / factor)
			return format_too_large(err);
		weight = weight_from_u64(count * factor);
		if (!format_count(reading->folder, node, weight, report, err))
			return -1;
	}
	return 0;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"samples", "cpu"};
	struct reading reading = {.folder = folder};
	const struct words *addresses;
	struct words words, samples, storage;
	uint64_t version, period, count, nr;
	struct slice bytes;
	size_t value;
	int more, result;

	if (format_value(options, values, ARRAY_SIZE(values), options->count == COUNT_TIME, &value,
	                 err) ||
	    format_whole(in, &bytes, err))
		return -1;
	if (!read_header(bytes, &words, &version, &period))
		return err_set(err, "no binary CPU profile: its header is not there");
	format_values_note(header, values, ARRAY_SIZE(values));
	format_unit(report, "cpu", value ? "microseconds" : "samples");
	samples = words;
	while ((more = next_sample(&words, &count, &addresses, &storage, &nr)) > 0)
		;
	if (more < 0)
		format_bad(report, "offset %zu: the file is cut inside of a sample",
		           (size_t)((const char *)words.at - bytes.at));
	else
		take_text(&reading,
		          (struct slice){(const char *)words.at, (size_t)(words.end - words.at)},
		          version == 1);
	result = fold(&reading, samples, value ? period : 1, report, err);
	addrmap_release(&reading.maps);
	idmap_release(&reading.java_names);
	return result;
}

const struct format format_pprof_cpu = {
        .name = "pprof-cpu",
        .about = "binary CPU profile of gperftools; values: samples, cpu",
        .detect = detect,
        .parse = parse,
};

/* ---- text ---- */

#define AMOUNTS_MAX 4

struct legacy_text {
	struct reading reading;
	const struct format_options *options;
	struct format_report *report;
	struct err *err;
	uint64_t line;
	size_t value, nr_amounts;
	double rate;        /* heap: bytes between samples; 1 or less = all were taken */
	double factor;      /* contention: of the chosen value */
	struct idmap names; /* address -> name id */

	/* the sample that is being read */
	bool is_open;
	double weight;
	uint32_t *stack; /* of its addresses, innermost first */
	size_t nr_stack, stack_capacity;
	struct callers callers; /* the names below it */
};

/* The numbers before the "@", parted by ":", brackets and blanks; nr of them, or 0. */
static size_t parse_amounts(struct slice text, uint64_t *amounts)
{
	size_t nr = 0;

	for (size_t at = 0; at < text.size;) {
		size_t end = at;

		if (strchr(" :[]\r", text.at[at]) && text.at[at]) {
			at++;
			continue;
		}
		while (end < text.size && text.at[end] >= '0' && text.at[end] <= '9')
			end++;
		if (nr == AMOUNTS_MAX || num_parse_u64(text.at + at, end - at, &amounts[nr]))
			return 0;
		nr++;
		at = end;
	}
	return nr;
}

static uint32_t text_name(struct legacy_text *text, uint64_t address)
{
	uint32_t name = idmap_get(&text->names, address);

	if (name == UINT32_MAX) {
		name = address_name(&text->reading, address);
		idmap_set(&text->names, address, name);
	}
	return name;
}

/* The weight of the chosen value, as pprof scales it. */
static double scaled(const struct legacy_text *text, const uint64_t *amounts)
{
	double count, size, chosen = (double)amounts[text->value];

	if (text->nr_amounts < 4)
		return chosen * text->factor;
	count = (double)amounts[text->value & 2];
	size = (double)amounts[text->value | 1];
	if (count == 0 || size == 0)
		return 0;
	return text->rate > 1 ? chosen / -expm1(-size / count / text->rate) : chosen;
}

/* Counts the sample at hand; false where the sum is too large. */
static bool end_sample(struct legacy_text *text)
{
	struct folder *folder = text->reading.folder;
	uint32_t node = 0;

	if (!text->is_open)
		return true;
	text->is_open = false;
	if (text->callers.nr)
		node = callers_node(&text->callers, folder, 0);
	else
		for (size_t i = text->nr_stack; i--;)
			node = folder_child(folder, node, text->stack[i]);
	callers_reset(&text->callers);
	if (text->weight >= 0x1p64) {
		format_too_large(text->err);
		return false;
	}
	return text->weight < 1 ||
	       format_count(folder, node, weight_from_u64((uint64_t)text->weight), text->report,
	                    text->err);
}

/* "#\tADDRESS\tNAME+OFFSET\tFILE:LINE", with more tabs where they align. */
static void take_go_name(struct legacy_text *text, struct slice line)
{
	struct slice name, place;
	struct buf frame = {0};
	const char *plus;

	if (!text->is_open || !slice_starts(line, "#\t0x"))
		return;
	name = slice_from(line, 2);
	name = slice_from(name, slice_find(name, "\t") + 1);
	place = slice_trim(slice_from(name, slice_find(name, "\t")));
	name.size = slice_find(name, "\t");
	plus = name.size ? memrchr(name.at, '+', name.size) : NULL;
	if (!plus)
		return;
	buf_add(&frame, name.at, (size_t)(plus - name.at));
	if (text->options->srcline && place.size) {
		buf_char(&frame, ' ');
		buf_add(&frame, place.at, place.size);
	}
	callers_add(&text->callers, text->reading.folder, (struct slice){frame.at, frame.size});
	buf_release(&frame);
}

/* "AMOUNTS @ ADDRESS ADDRESS", or a name of the sample before; false where the sum is too large. */
static bool take_text_line(struct legacy_text *text, struct slice line)
{
	const char *sign = line.size ? memchr(line.at, '@', line.size) : NULL;
	uint64_t amounts[AMOUNTS_MAX] = {0}, address;
	struct slice rest, word;

	if (slice_starts(line, "#")) {
		take_go_name(text, line);
		return true;
	}
	if (!sign)
		return true;
	if (!end_sample(text))
		return false;
	if (parse_amounts((struct slice){line.at, (size_t)(sign - line.at)}, amounts) !=
	    text->nr_amounts) {
		format_bad(text->report, "line %llu: no sample: %.*s",
		           (unsigned long long)text->line, (int)MIN_OF(line.size, (size_t)100),
		           line.at);
		return true;
	}
	rest = (struct slice){sign + 1, (size_t)(line.at + line.size - sign - 1)};
	text->nr_stack = 0;
	while (slice_word(&rest, &word) && !num_parse_hex(word.at, word.size, &address)) {
		MEM_GROW(text->stack, text->nr_stack, text->stack_capacity);
		text->stack[text->nr_stack++] = text_name(text, address);
	}
	text->weight = scaled(text, amounts);
	text->is_open = true;
	return true;
}

/* The text after key in the head of the file, up to the end of its line. */
static bool head_number(struct slice all, const char *key, uint64_t *value)
{
	const char *at = memmem(all.at, MIN_OF(all.size, FORMAT_HEAD), key, strlen(key));
	size_t size = 0;

	if (!at)
		return false;
	at += strlen(key);
	while (at + size < all.at + all.size && at[size] >= '0' && at[size] <= '9')
		size++;
	return !num_parse_u64(at, size, value) && *value;
}

static int fold_text(struct legacy_text *text, struct slice all)
{
	struct slice rest = all;
	int result = 0;

	take_text(&text->reading, all, false);
	take_text(&text->reading, all, true);
	while (rest.size && !result) {
		const char *end = memchr(rest.at, '\n', rest.size);
		struct slice line = {rest.at, end ? (size_t)(end - rest.at) : rest.size};

		if (slice_starts(line, "MAPPED_LIBRARIES:") ||
		    slice_starts(line, "--- Memory map:"))
			break;
		if (text->line++ && !take_text_line(text, line))
			result = -1;
		rest.size -= line.size + (end != NULL);
		rest.at += line.size + (end != NULL);
	}
	if (!result && !end_sample(text))
		result = -1;
	idmap_release(&text->names);
	idmap_release(&text->reading.java_names);
	addrmap_release(&text->reading.maps);
	callers_release(&text->callers);
	free(text->stack);
	return result;
}

static int detect_heap(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "heap profile: ") ? 95 : 0;
}

/* "heap profile: OBJECTS: BYTES [OBJECTS: BYTES] @ KIND/RATE" */
static int parse_heap(struct input *in, struct folder *folder, const struct format_options *options,
                      struct folded_header *header, struct format_report *report, struct err *err)
{
	static const char *const values[] = {"inuse_objects", "inuse_space", "alloc_objects",
	                                     "alloc_space"};
	struct legacy_text text = {.reading = {.folder = folder},
	                           .options = options,
	                           .report = report,
	                           .err = err,
	                           .nr_amounts = 4};
	struct slice all;
	uint64_t rate;

	if (format_whole(in, &all, err) ||
	    format_value(options, values, ARRAY_SIZE(values), 1, &text.value, err))
		return -1;
	format_unit(report, values[text.value], text.value & 1 ? "bytes" : "objects");
	format_values_note(header, values, ARRAY_SIZE(values));
	if (head_number(all, "@ heap/", &rate))
		text.rate = (double)rate / 2; /* Go wrote twice its rate here */
	else if (head_number(all, "@ heap_v2/", &rate) || head_number(all, "@ heapz_v2/", &rate))
		text.rate = (double)rate;
	return fold_text(&text, all);
}

const struct format format_pprof_heap = {
        .name = "pprof-heap",
        .about = "heap and growth profiles of gperftools and Go, as text",
        .detect = detect_heap,
        .parse = parse_heap,
};

static int detect_contention(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "--- contention") || slice_starts(head, "--- mutex:") ? 95 : 0;
}

/* "--- contentionz 1 ---", "KEY = VALUE" lines, "DELAY COUNT @ ADDRESSES" */
static int parse_contention(struct input *in, struct folder *folder,
                            const struct format_options *options, struct folded_header *header,
                            struct format_report *report, struct err *err)
{
	static const char *const values[] = {"delay", "contentions"};
	struct legacy_text text = {.reading = {.folder = folder},
	                           .options = options,
	                           .report = report,
	                           .err = err,
	                           .nr_amounts = 2};
	uint64_t period = 1, hertz;
	const char *unit = "nanoseconds";
	struct slice all;

	if (format_whole(in, &all, err) ||
	    format_value(options, values, ARRAY_SIZE(values), 0, &text.value, err))
		return -1;
	if (!head_number(all, "sampling period = ", &period))
		head_number(all, "sampling period=", &period);
	text.factor = (double)period;
	if (text.value)
		unit = "contentions";
	else if (head_has(all, "resolution = microseconds") ||
	         head_has(all, "resolution=microseconds"))
		unit = "microseconds";
	else if (head_number(all, "cycles/second = ", &hertz) ||
	         head_number(all, "cycles/second=", &hertz))
		text.factor *= 1e9 / (double)hertz;
	format_unit(report, values[text.value], unit);
	format_values_note(header, values, ARRAY_SIZE(values));
	return fold_text(&text, all);
}

const struct format format_pprof_contention = {
        .name = "pprof-contention",
        .about = "contention and mutex profiles of gperftools, Go and Java, as text",
        .detect = detect_contention,
        .parse = parse_contention,
};

/* The name in "NAME profile: total N"; empty where the line is none such. */
static struct slice count_name(struct slice head)
{
	struct slice line = {head.at, slice_find(head, "\n")}, total;
	size_t at = slice_find(line, " profile: total ");

	total = slice_trim(slice_from(line, at + 16));
	return (struct slice){line.at, slice_is_digits(total) ? at : 0};
}

static int detect_count(struct slice head, bool is_all UNUSED)
{
	return count_name(head).size ? 95 : 0;
}

/* "goroutine profile: total 5", "3 @ ADDRESSES" */
static int parse_count(struct input *in, struct folder *folder,
                       const struct format_options *options, struct folded_header *header UNUSED,
                       struct format_report *report, struct err *err)
{
	struct legacy_text text = {.reading = {.folder = folder},
	                           .options = options,
	                           .report = report,
	                           .err = err,
	                           .nr_amounts = 1,
	                           .factor = 1};
	struct slice all;
	char *name;

	if (format_whole(in, &all, err))
		return -1;
	name = mem_strndup(count_name(all).at, MIN_OF(count_name(all).size, (size_t)60));
	format_unit(report, name, name);
	free(name);
	return fold_text(&text, all);
}

const struct format format_pprof_count = {
        .name = "pprof-count",
        .about = "Go's goroutine, threadcreate and other counts, as text (debug=1)",
        .detect = detect_count,
        .parse = parse_count,
};
