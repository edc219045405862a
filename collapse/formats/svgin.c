/*
 * svgin.c - flame graphs as SVG, back to the stacks they were drawn from.
 *
 * Our own pictures, SVG and HTML, carry their data (share/svgdata.h). Those of
 * flamegraph.pl and inferno are read by geometry: the title of each rectangle
 * holds name and count, rows are depth, and the rectangle below (or above, in
 * an icicle) that spans its middle is its caller. A frame's own weight is its
 * count without that of its callees; what was too narrow to be drawn thereby
 * stays with its caller, and the total is exact.
 *
 * Source: FlameGraph 1.0, flamegraph.pl: titles "NAME (1,234 COUNTNAME,
 * 1.23%)", attributes x, y, width in pixels to a tenth; inferno 0.11,
 * src/flamegraph/mod.rs: the same titles, and fg:x, fg:w in samples.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/xmlin.h"
#include "share/mem.h"
#include "share/svgdata.h"

struct box {
	double x, width;
	int y;
	uint32_t name, parent;  /* parent: index of a box, UINT32_MAX for none */
	weight_fx count, inner; /* inner: of its callees */
	uint32_t node;
};

struct picture {
	struct folder *folder;
	struct format_report *report;
	struct box *boxes;
	size_t nr, capacity;
	struct buf title; /* of the group at hand, empty where it has none yet */
};

static int detect(struct slice head, bool is_all UNUSED)
{
	return head_has(head, "<svg") || head_has(head, "<html") ? 90 : 0;
}

/* ---- our own ---- */

/* The data block says what render was given: folded text, of one column or two. */
static int fold_own(const char *name, struct slice picture, struct folder *folder,
                    const struct format_options *options, struct folded_header *header,
                    struct format_report *report, struct err *err)
{
	struct buf folded = {0};
	struct input *in;
	int result;

	if (svgdata_to_folded(picture, &folded, err) < 0) {
		buf_release(&folded);
		return -1;
	}
	in = input_of_bytes(name, &folded);
	result = format_folded.parse(in, folder, options, header, report, err);
	input_close(in);
	return result;
}

/* ---- others, by geometry ---- */

/* "12.5", "12.5%": false for anything else */
static bool number_of(struct slice text, double *value)
{
	char copy[40], *end;

	if (!text.at || !text.size || text.size >= sizeof(copy))
		return false;
	memcpy(copy, text.at, text.size);
	copy[text.size] = 0;
	*value = strtod(copy, &end);
	return end != copy && (*end == 0 || *end == '%') && *value >= -1e15 && *value <= 1e15;
}

/* Digits with commas between them and a fraction, up to a blank or ")". */
static bool count_of(struct slice text, weight_fx *count, struct slice *unit)
{
	char digits[48];
	size_t nr = 0, i = 0;

	for (; i < text.size && text.at[i] != ' ' && text.at[i] != ')'; i++) {
		if (text.at[i] == ',')
			continue;
		if (nr == sizeof(digits))
			return false;
		digits[nr++] = text.at[i];
	}
	*unit = (struct slice){text.at + i, text.size - i};
	return weight_parse(digits, nr, count) == WEIGHT_OK;
}

/* "NAME (COUNT COUNTNAME, PERCENT%...)": the last bracket that begins with a count */
static bool split_title(struct slice title, struct slice *name, weight_fx *count,
                        struct slice *unit)
{
	for (size_t i = title.size; i-- > 1;) {
		if (title.at[i] != '(' || title.at[i - 1] != ' ')
			continue;
		if (count_of((struct slice){title.at + i + 1, title.size - i - 1}, count, unit)) {
			const char *comma = unit->size ? memchr(unit->at, ',', unit->size) : NULL;

			*name = (struct slice){title.at, i - 1};
			unit->size = comma ? (size_t)(comma - unit->at) : 0;
			while (unit->size && *unit->at == ' ') {
				unit->at++;
				unit->size--;
			}
			return true;
		}
	}
	return false;
}

static void take_rect(struct picture *picture, const struct xmlin *xml)
{
	struct box box = {.parent = UINT32_MAX};
	struct slice title = {picture->title.at, picture->title.size}, name, unit = {0}, samples;
	bool has_count;
	double y;

	/* until 2014 flamegraph.pl had no titles: onmouseover="s('TITLE')" */
	if (!title.size) {
		title = xmlin_attribute(xml, "onmouseover");
		if (slice_starts(title, "s('") && title.size > 5) {
			buf_add(&picture->title, title.at + 3, title.size - 5);
			title = (struct slice){picture->title.at, picture->title.size};
		} else {
			return; /* the background */
		}
	}
	has_count = split_title(title, &name, &box.count, &unit);
	/* inferno's own number: neither scaled nor replaced, as that of the title may be */
	samples = xmlin_attribute(xml, "fg:w");
	if (samples.at && weight_parse(samples.at, samples.size, &box.count) == WEIGHT_OK) {
		name = has_count ? name : title;
		has_count = true;
	}
	if (!has_count) {
		format_bad(picture->report, "a title without a count: '%.*s'",
		           (int)MIN_OF(picture->title.size, 80), picture->title.at);
		buf_reset(&picture->title);
		return;
	}
	box.name = folder_name(picture->folder, name.at, name.size);
	if (unit.size && unit.size < sizeof(picture->report->unit))
		snprintf(picture->report->unit, sizeof(picture->report->unit), "%.*s",
		         (int)unit.size, unit.at);
	if ((number_of(xmlin_attribute(xml, "fg:x"), &box.x) &&
	     number_of(xmlin_attribute(xml, "fg:w"), &box.width)) ||
	    (number_of(xmlin_attribute(xml, "x"), &box.x) &&
	     number_of(xmlin_attribute(xml, "width"), &box.width))) {
		if (number_of(xmlin_attribute(xml, "y"), &y)) {
			box.y = (int)(y < 0 ? 0 : y > 1e9 ? 1e9 : y);
			MEM_GROW(picture->boxes, picture->nr, picture->capacity);
			picture->boxes[picture->nr++] = box;
		}
	}
	buf_reset(&picture->title);
}

static int by_row(const void *a, const void *b)
{
	const struct box *x = a, *y = b;

	if (x->y != y->y)
		return x->y < y->y ? -1 : 1;
	return x->x < y->x ? -1 : x->x > y->x;
}

/* The box of a sorted row that spans this place, or the one that ends last before it. */
static size_t box_at(const struct box *boxes, size_t first, size_t end, double x)
{
	while (end - first > 1) {
		size_t middle = first + (end - first) / 2;

		if (boxes[middle].x <= x)
			first = middle;
		else
			end = middle;
	}
	return first;
}

static void swap_rows(struct box *boxes, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		boxes[i].y = -boxes[i].y;
	qsort(boxes, nr, sizeof(*boxes), by_row);
}

/* Sorts boxes root row first, and finds each one's caller in the row before. */
static void find_callers(struct picture *picture)
{
	struct box *boxes = picture->boxes;
	size_t row = 0, before = 0;

	if (!picture->nr)
		return;
	qsort(boxes, picture->nr, sizeof(*boxes), by_row);
	/* the root is alone in its row, which is the first or the last */
	if (picture->nr > 1 &&
	    (boxes[0].y == boxes[1].y || (boxes[picture->nr - 1].y != boxes[picture->nr - 2].y &&
	                                  boxes[picture->nr - 1].count > boxes[0].count)))
		swap_rows(boxes, picture->nr);
	for (size_t i = 0; i < picture->nr; i++) {
		if (boxes[i].y != boxes[row].y) {
			before = row;
			row = i;
		}
		if (row == 0)
			continue;
		boxes[i].parent =
		        (uint32_t)box_at(boxes, before, row, boxes[i].x + boxes[i].width / 2);
		boxes[boxes[i].parent].inner += boxes[i].count;
	}
}

static int fold_boxes(struct picture *picture, struct err *err)
{
	uint32_t all = folder_name(picture->folder, "all", 3);

	find_callers(picture);
	for (size_t i = 0; i < picture->nr; i++) {
		struct box *box = &picture->boxes[i];
		bool is_root = box->parent == UINT32_MAX;
		uint32_t parent = is_root ? 0 : picture->boxes[box->parent].node;

		box->node = is_root && box->name == all ?
		                    0 :
		                    folder_child(picture->folder, parent, box->name);
		if (box->inner > box->count) {
			format_bad(picture->report, "the callees of '%s' count more than itself",
			           strtab_text(&picture->folder->names, box->name));
			continue;
		}
		if (box->count == box->inner)
			continue;
		if (!format_count(picture->folder, box->node, box->count - box->inner,
		                  picture->report, err))
			return -1;
	}
	return 0;
}

static int fold_picture(struct input *in, struct slice bytes, struct picture *picture,
                        struct err *err)
{
	struct xmlin xml;
	int more, result;

	if (xmlin_open_bytes(&xml, bytes, input_name(in), err))
		return -1;
	while ((more = xmlin_next(&xml)) > 0) {
		if (xml.is_end)
			continue;
		if (xmlin_is(&xml, "g")) {
			buf_reset(&picture->title);
		} else if (xmlin_is(&xml, "title")) {
			struct slice title = xmlin_text(&xml);

			buf_reset(&picture->title);
			buf_add(&picture->title, title.at, title.size);
		} else if (xmlin_is(&xml, "rect")) {
			take_rect(picture, &xml);
		}
	}
	if (more < 0)
		format_bad(picture->report, "line %d: %s", xml.bad_line, xml.bad);
	xmlin_close(&xml);
	result = fold_boxes(picture, err);
	return result;
}

static int parse(struct input *in, struct folder *folder, const struct format_options *options,
                 struct folded_header *header, struct format_report *report, struct err *err)
{
	struct picture picture = {.folder = folder, .report = report};
	struct slice bytes;
	int result;

	if (format_whole(in, &bytes, err))
		return -1;
	if (memmem(bytes.at, bytes.size, "id=\"" SVGDATA_ID "\"", sizeof(SVGDATA_ID) + 4)) {
		result = fold_own(input_name(in), bytes, folder, options, header, report, err);
	} else {
		result = fold_picture(in, bytes, &picture, err);
	}
	free(picture.boxes);
	buf_release(&picture.title);
	return result;
}

const struct format format_svg = {
        .name = "svg",
        .about = "flame graphs: SVG and HTML of render, SVG of flamegraph.pl and inferno",
        .detect = detect,
        .parse = parse,
};
