#include "share/compat.h"
#include "render/picture.h"

#include "render/datablock.h"
#include "render/figures.h"
#include "render/source.h"
#include "render/xmlout.h"
#include "share/mem.h"
#include "share/num.h"
#include "share/svgdata.h"

#define FLUID_WIDTH 1200 /* without scripting, where no width was asked for */
#define MARGIN      10
#define MAX_ROWS    1500 /* browsers give up on canvases beyond 32,767 pixels */
#define STRIP_GAP   24   /* between what is there and what is gone */

struct drawing {
	const struct picture *picture;
	const struct layout *layout;
	struct output *out;
	double width, frame_height, min_width; /* pixels */
	double scale;                          /* pixels per unit of weight_fx */
	double top;                            /* of the frames */
	uint32_t nr_rows;                      /* drawn */
	uint32_t nr_deeper;                    /* rows that were wanted beyond MAX_ROWS */
	int column;                            /* that gives widths */
	weight_fx whole;                       /* 100 % */
	weight_fx largest_change;
	uint8_t *matches; /* by name id, or NULL */
	weight_fx matched;
	const char *count_name;
};

/* ---- numbers ---- */

/* A coordinate with at most two decimals, no needless zeros. */
static void put_number(struct output *out, double value)
{
	char text[32];
	long long hundredths = (long long)(value * 100 + (value < 0 ? -0.5 : 0.5));
	uint64_t left = (uint64_t)llabs(hundredths);
	size_t size = 0;

	if (hundredths < 0)
		text[size++] = '-';
	size += num_format_u64(text + size, left / 100);
	left %= 100;
	if (left) {
		text[size++] = '.';
		text[size++] = (char)('0' + left / 10);
		if (left % 10)
			text[size++] = (char)('0' + left % 10);
	}
	output_add(out, text, size);
}

static void put_attribute(struct output *out, const char *name, double value)
{
	output_add(out, " ", 1);
	output_string(out, name);
	output_add(out, "=\"", 2);
	put_number(out, value);
	output_add(out, "\"", 1);
}

/* ---- what is drawn ---- */

static int change_of(const struct drawing *d, uint32_t node)
{
	weight_fx before = frametree_total(d->layout->tree, node, 0);
	weight_fx after = frametree_total(d->layout->tree, node, 1);
	weight_fx size = after > before ? after - before : before - after;
	int change = d->largest_change ? (int)(size * 255 / d->largest_change) : 0;

	change = MIN_OF(change, 255);
	return (after > before) != d->picture->negate ? change : -change;
}

static uint32_t fill_of(const struct drawing *d, const struct layout_box *box)
{
	const struct frametree *tree = d->layout->tree;

	if (box->gone)
		return palette_change(d->picture->negate ? 255 : -255);
	if (tree->nr_columns == 2)
		return palette_change(change_of(d, box->node));
	if (!box->node)
		return 0xdddddd;
	if (d->picture->palette == PALETTE_BY_WIDTH)
		return palette_share((unsigned)(box->width * 255 / d->whole));
	return palette_colour(d->picture->palette, d->picture->palette_map,
	                      strtab_slice(&tree->names, frametree_name(tree, box->node)));
}

/* What stands behind a figure: nothing where it has a unit of time already. */
static void put_unit(const struct drawing *d)
{
	if (figure_is_time(d->count_name))
		return;
	output_string(d->out, " ");
	xml_string(d->out, d->count_name);
}

static void put_tooltip(const struct drawing *d, const struct layout_box *box, struct slice name,
                        const struct nameattr_entry *entry)
{
	const struct frametree *tree = d->layout->tree;
	weight_fx before = frametree_total(tree, box->node, 0);
	weight_fx after = frametree_total(tree, box->node, 1);
	char a[FIGURE_TEXT], b[FIGURE_TEXT], c[FIGURE_TEXT], e[FIGURE_TEXT], f[FIGURE_TEXT];

	output_string(d->out, "<title>");
	if (entry && entry->title)
		xml_string(d->out, entry->title);
	else
		xml_text(d->out, name.at, name.size);
	output_string(d->out, " (");
	if (tree->nr_columns < 2) {
		output_string(d->out, figure_count(a, box->width, d->count_name));
		put_unit(d);
		output_string(d->out, ", ");
		output_string(d->out, figure_percent(b, box->width, d->whole));
		output_string(d->out, ")</title>");
		return;
	}
	output_printf(d->out, "before %s, %s; after %s, %s", figure_count(a, before, d->count_name),
	              figure_percent(b, before, frametree_total(tree, 0, 0)),
	              figure_count(c, after, d->count_name),
	              figure_percent(e, after, frametree_total(tree, 0, 1)));
	put_unit(d);
	output_printf(d->out, "; change %s, ", figure_change(f, before, after, d->count_name));
	output_printf(d->out, "%s)</title>", figure_relative(a, before, after));
}

static void put_label(const struct drawing *d, struct slice name, double width)
{
	const struct picture *p = d->picture;
	double room = (width - 6) / (p->font_size * p->font_width);
	size_t columns = room > 0 ? (size_t)room : 0, used;
	size_t fit = xml_fit(name.at, name.size, columns, &used);

	if (columns < 3)
		return;
	if (fit < name.size)
		fit = xml_fit(name.at, name.size, columns - 2, &used);
	if (!fit)
		return;
	output_string(d->out, "<text x=\"3\"");
	put_attribute(d->out, "y", d->frame_height / 2 + p->font_size * 0.35 - 0.5);
	output_string(d->out, ">");
	xml_text(d->out, name.at, fit);
	output_string(d->out, fit < name.size ? "…</text>" : "</text>");
}

static bool is_match(const struct drawing *d, uint32_t node)
{
	return d->matches && node && d->matches[frametree_name(d->layout->tree, node)];
}

static double row_top(const struct drawing *d, uint32_t depth)
{
	uint32_t row = d->picture->inverted ? depth : d->nr_rows - 1 - depth;

	return d->top + row * d->frame_height;
}

static void put_frame(const struct drawing *d, const struct layout_box *box, double left,
                      double width)
{
	const struct frametree *tree = d->layout->tree;
	const struct nameattr_entry *entry = NULL;
	const char *root =
	        tree->nr_columns == 2 && d->column == 0 ? "gone: only in the first profile" : "all";
	struct slice name = {root, strlen(root)};
	char colour[8], mark;

	if (box->node)
		name = palette_unmark(strtab_slice(&tree->names, frametree_name(tree, box->node)),
		                      &mark);
	if (d->picture->attributes && box->node)
		entry = nameattr_find(d->picture->attributes, name);
	if (entry && entry->href) {
		output_string(d->out, "<a href=\"");
		xml_string(d->out, entry->href);
		output_string(d->out, "\" target=\"_top\">");
	}
	output_string(d->out, "<svg");
	put_attribute(d->out, "x", left);
	/* a hair between neighbours, taken from the right edge; rows do so below */
	put_attribute(d->out, "width", width > 2 ? width - 0.5 : width);
	output_string(d->out, ">");
	put_tooltip(d, box, name, entry);
	palette_format(colour,
	               is_match(d, box->node) ? d->picture->search_colour : fill_of(d, box));
	output_string(d->out, "<rect width=\"100%\" height=\"100%\" fill=\"");
	output_string(d->out, colour);
	output_string(d->out, "\"/>");
	if (d->column == 0 && tree->nr_columns == 2)
		output_string(d->out,
		              "<rect width=\"100%\" height=\"100%\" fill=\"url(#hatch)\"/>");
	put_label(d, name, width);
	output_string(d->out, "</svg>\n");
	if (entry && entry->href)
		output_string(d->out, "</a>");
}

static int by_depth(const void *a, const void *b)
{
	const struct layout_box *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* One nested svg element for each row, and in it one for each frame, which clips its text. */
static void put_frames(const struct drawing *d, double left)
{
	struct layout_walk walk;
	struct layout_box box, *boxes = NULL;
	bool gone = d->column == 0 && d->layout->tree->nr_columns == 2;
	weight_fx least = (weight_fx)(d->min_width / d->scale);
	size_t nr = 0, capacity = 0;

	layout_walk_init(&walk, d->layout, d->column, gone);
	while (layout_next(&walk, least, &box)) {
		if (box.depth >= d->nr_rows)
			continue;
		MEM_GROW(boxes, nr, capacity);
		boxes[nr++] = box;
	}
	layout_walk_release(&walk);
	if (nr)
		qsort(boxes, nr, sizeof(*boxes), by_depth);
	for (size_t i = 0; i < nr; i++) {
		if (!i || boxes[i].depth != boxes[i - 1].depth) {
			output_string(d->out, i ? "</svg>\n<svg" : "<svg");
			put_attribute(d->out, "y", row_top(d, boxes[i].depth));
			put_attribute(d->out, "height", d->frame_height - 1);
			output_string(d->out, ">\n");
		}
		put_frame(d, &boxes[i], left + (double)boxes[i].start * d->scale,
		          (double)boxes[i].width * d->scale);
	}
	if (nr)
		output_string(d->out, "</svg>\n");
	free(boxes);
}

/* Rows that frames of the least width need, and what a search matched. */
static void survey(struct drawing *d, int column, bool gone)
{
	struct layout_walk walk;
	struct layout_box box;
	weight_fx least = (weight_fx)(d->min_width / d->scale);
	uint32_t inside = UINT32_MAX; /* depth of the outermost match around here */

	layout_walk_init(&walk, d->layout, column, gone);
	while (layout_next(&walk, d->matches ? 1 : least, &box)) {
		if (box.width >= least)
			d->nr_rows = MAX_OF(d->nr_rows, box.depth + 1);
		if (box.depth <= inside)
			inside = UINT32_MAX;
		if (!gone && inside == UINT32_MAX && is_match(d, box.node)) {
			inside = box.depth;
			d->matched += box.width;
		}
	}
	layout_walk_release(&walk);
}

static void find_largest_change(struct drawing *d)
{
	const struct layout *layout = d->layout;

	if (layout->tree->nr_columns != 2)
		return;
	for (uint32_t i = 1; i < layout->nr; i++) {
		weight_fx before = frametree_total(layout->tree, layout->frames[i].node, 0);
		weight_fx after = frametree_total(layout->tree, layout->frames[i].node, 1);
		weight_fx change = after > before ? after - before : before - after;

		d->largest_change = MAX_OF(d->largest_change, change);
	}
}

static void match_names(struct drawing *d)
{
	const struct strtab *names = &d->layout->tree->names;
	struct buf text = {0};

	if (!d->picture->search_regex)
		return;
	d->matches = mem_zalloc((size_t)names->nr + 1);
	for (uint32_t i = 0; i < names->nr; i++) {
		char mark;
		struct slice name = palette_unmark(strtab_slice(names, i), &mark);

		buf_reset(&text);
		folded_clean(&text, name.at, name.size);
		d->matches[i] = regexec(d->picture->search_regex, buf_text(&text), 0, NULL, 0) == 0;
	}
	buf_release(&text);
}

/* ---- what stands above and below the frames ---- */

struct lines {
	struct output *out;
	double y;
};

static void put_line(struct lines *lines, const char *class, double size, const char *text)
{
	lines->y += size + 5;
	output_printf(lines->out, "<text class=\"%s\"", class);
	put_attribute(lines->out, "x", MARGIN);
	put_attribute(lines->out, "y", lines->y);
	output_string(lines->out, ">");
	xml_string(lines->out, text);
	output_string(lines->out, "</text>\n");
}

static void add_part(struct buf *line, const char *label, const char *value)
{
	if (!value || !*value)
		return;
	if (line->size)
		buf_string(line, " · ");
	buf_printf(line, "%s%s", label, value);
}

static void total_line(const struct drawing *d, struct buf *line)
{
	const struct frametree *tree = d->layout->tree;
	const struct folded_header *header = d->picture->header;
	static const char *const fields[][2] = {
	        {"event", "event "},
	        {"sampled", "sampled "},
	        {"host", "host "},
	        {"command", "command "},
	};
	bool is_time = figure_is_time(d->count_name);
	const char *blank = is_time ? "" : " ", *unit = is_time ? "" : d->count_name;
	char a[FIGURE_TEXT], b[FIGURE_TEXT];
	char *total;

	if (tree->nr_columns == 2)
		total = mem_printf(
		        "%s → %s%s%s", figure_count(a, frametree_total(tree, 0, 0), d->count_name),
		        figure_count(b, frametree_total(tree, 0, 1), d->count_name), blank, unit);
	else
		total = mem_printf("%s%s%s", figure_count(a, d->whole, d->count_name), blank, unit);
	add_part(line, "", total);
	free(total);
	for (size_t i = 0; header && i < ARRAY_SIZE(fields); i++)
		add_part(line, fields[i][1], folded_header_get(header, fields[i][0]));
}

/* What the recording lost on its way here; empty where nothing was. */
static void honesty_line(const struct drawing *d, struct buf *line)
{
	static const char *const fields[] = {"lost", "throttled", "truncated", "unresolved"};
	char figure[FIGURE_TEXT];

	for (size_t i = 0; d->picture->header && i < ARRAY_SIZE(fields); i++) {
		const char *value = folded_header_get(d->picture->header, fields[i]);
		weight_fx amount;
		char *label;

		if (!value ||
		    (weight_parse(value, strspn(value, "0123456789."), &amount) == WEIGHT_OK &&
		     !amount))
			continue;
		label = mem_printf("%s ", fields[i]);
		add_part(line, label, value);
		free(label);
	}
	if (d->layout->is_pruned) {
		bool is_time = figure_is_time(d->count_name);
		char *text =
		        mem_printf("frames below %s%s%s are gathered as %s",
		                   figure_count(figure, d->layout->threshold, d->count_name),
		                   is_time ? "" : " ", is_time ? "" : d->count_name, THIN_NAME);

		add_part(line, "", text);
		free(text);
	}
}

static double put_heading(const struct drawing *d)
{
	const struct picture *p = d->picture;
	struct lines lines = {d->out, 8};
	struct buf line = {0};
	char figure[FIGURE_TEXT];

	put_line(&lines, "t", 17, p->title ? p->title : "Flame graph");
	if (p->subtitle)
		put_line(&lines, "s", 13, p->subtitle);
	total_line(d, &line);
	put_line(&lines, "m", 12, buf_text(&line));
	buf_reset(&line);
	honesty_line(d, &line);
	if (line.size)
		put_line(&lines, "w", 12, buf_text(&line));
	if (p->search_regex) {
		buf_reset(&line);
		buf_printf(&line, "matched by /%s/: %s", p->search,
		           figure_percent(figure, d->matched, d->whole));
		put_line(&lines, "m", 12, buf_text(&line));
	}
	buf_release(&line);
	return lines.y + 12;
}

static double put_footing(const struct drawing *d, double y)
{
	struct lines lines = {d->out, y};

	if (d->nr_deeper) {
		char *text =
		        mem_printf("%u deeper rows are not drawn here; the interactive picture has "
		                   "them all",
		                   d->nr_deeper);

		put_line(&lines, "w", 12, text);
		free(text);
	}
	if (d->picture->notes)
		put_line(&lines, "m", 12, d->picture->notes);
	return lines.y + MARGIN;
}

static void put_style(const struct drawing *d)
{
	static const char dark[] =
	        ".bg{fill:#1b1d21}.t{fill:#f0f0f0}.s,.m{fill:#a6a9ae}.w{fill:#f0a860}";
	const struct picture *p = d->picture;

	output_string(d->out, "<style>");
	output_string(d->out, "text{font:12px system-ui,sans-serif}"
	                      ".bg{fill:#fff}.t{fill:#202124;font-size:17px;font-weight:600}"
	                      ".s{fill:#5f6368;font-size:13px}.m{fill:#5f6368}.w{fill:#a04a00}");
	if (p->theme == THEME_AUTO)
		output_printf(d->out, "@media(prefers-color-scheme:dark){%s}", dark);
	else if (p->theme == THEME_DARK)
		output_string(d->out, dark);
	if (p->text_colour)
		output_printf(d->out, ".t,.s,.m{fill:%s}", p->text_colour);
	output_string(d->out, "svg svg rect{rx:1.5px");
	if (p->stroke)
		output_printf(d->out, ";stroke:%s", p->stroke);
	output_printf(d->out, "}svg svg text{fill:#161616;font:%upx ", p->font_size);
	if (p->font) {
		output_string(d->out, "\"");
		xml_string(d->out, p->font);
		output_string(d->out, "\",");
	}
	output_string(d->out, "ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}");
	if (!p->no_script)
		source_style(d->out);
	/* more specific than what the theme says */
	if (p->text_colour && !p->no_script)
		output_printf(d->out, "#fg#fg{--fg:%s;--mut:%s}", p->text_colour, p->text_colour);
	output_string(d->out, "</style>\n");
	if (d->layout->tree->nr_columns == 2)
		output_string(d->out, "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
		                      "patternUnits=\"userSpaceOnUse\" "
		                      "patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" "
		                      "stroke=\"#fff\" stroke-width=\"4\" "
		                      "stroke-opacity=\".45\"/></pattern></defs>\n");
}

/* ---- the whole ---- */

/* Widths, rows and heights that both the static picture and its frame need. */
static void measure(struct drawing *d)
{
	const struct frametree *tree = d->layout->tree;
	const struct picture *p = d->picture;
	weight_fx after = frametree_total(tree, 0, tree->nr_columns == 2);
	weight_fx gone = 0;
	double room;

	d->width = p->width ? p->width : FLUID_WIDTH;
	d->frame_height = p->frame_height;
	room = d->width - 2 * MARGIN;
	if (tree->nr_columns == 2) {
		struct layout_walk walk;

		layout_walk_init(&walk, d->layout, 0, true);
		gone = walk.gone[0];
		layout_walk_release(&walk);
		if (gone && after)
			room -= STRIP_GAP;
	}
	d->whole = after ? after : gone;
	d->column = tree->nr_columns == 2;
	d->scale = after + gone ? room / (double)(after + gone) : 1;
	d->min_width = p->min_is_percent ? p->min_width * room / 100 : p->min_width;
	match_names(d);
	find_largest_change(d);
	d->nr_rows = 1;
	survey(d, d->column, false);
	if (gone)
		survey(d, 0, true);
	if (d->nr_rows > MAX_ROWS) {
		d->nr_deeper = d->nr_rows - MAX_ROWS;
		d->nr_rows = MAX_ROWS;
	}
}

static void put_static(struct drawing *d)
{
	weight_fx after = frametree_total(d->layout->tree, 0, d->column);

	put_frames(d, MARGIN);
	if (d->column == 1) {
		d->column = 0;
		put_frames(d, MARGIN + (double)after * d->scale + (after ? STRIP_GAP : 0));
		d->column = 1;
	}
}

/*
 * The heading's height must be known before the frames are placed and the
 * picture's before its first tag, so both are written to a buffer first.
 */
static void put_svg(struct drawing *d)
{
	const struct picture *p = d->picture;
	struct output *out = d->out;
	struct output heading = {.fd = -1}, footing = {.fd = -1};
	char title[32] = "Flame graph";
	double height;

	d->out = &heading;
	d->top = put_heading(d);
	d->out = &footing;
	height = put_footing(d, d->top + d->nr_rows * d->frame_height);
	d->out = out;

	output_string(out,
	              "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" id=\"flame\"");
	put_attribute(out, "width", d->width);
	put_attribute(out, "height", height);
	output_string(out, " viewBox=\"0 0 ");
	put_number(out, d->width);
	output_string(out, " ");
	put_number(out, height);
	output_string(out, "\" role=\"img\" aria-label=\"");
	xml_string(out, p->title ? p->title : title);
	output_string(out, "\">\n");
	put_style(d);
	output_string(out,
	              "<g id=\"flame-static\">\n<rect class=\"bg\" width=\"100%\" height=\"100%\"");
	if (p->background) {
		output_string(out, " style=\"fill:");
		xml_string(out, p->background);
		output_string(out, "\"");
	}
	output_string(out, "/>\n");
	output_add(out, heading.buf.at, heading.buf.size);
	put_static(d);
	output_add(out, footing.buf.at, footing.buf.size);
	output_string(out, "</g>\n");
	buf_release(&heading.buf);
	buf_release(&footing.buf);
}

/* The data of all frames, and what makes an application of them. */
static void put_script(const struct drawing *d)
{
	bool html = d->picture->html;

	output_string(d->out, html ? "<div hidden id=\"" SVGDATA_ID "\">" :
	                             "<metadata id=\"" SVGDATA_ID "\">");
	datablock_write(d->picture, d->layout, d->out);
	output_string(d->out, html ? "</div>\n<script>\n" : "</metadata>\n<script><![CDATA[\n");
	source_script(d->out);
	output_string(d->out, html ? "</script>\n" : "]]></script>\n");
}

void picture_write(const struct picture *picture, const struct layout *layout, struct output *out)
{
	struct drawing d = {.picture = picture, .layout = layout, .out = out};

	d.count_name = picture->count_name ? picture->count_name : "samples";
	measure(&d);
	if (picture->html) {
		output_string(out, "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>");
		xml_string(out, picture->title ? picture->title : "Flame graph");
		output_string(out, "</title></head><body>\n");
	} else {
		output_string(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	}
	put_svg(&d);
	if (picture->html)
		output_string(out, "</svg>\n");
	if (!picture->no_script)
		put_script(&d);
	output_string(out, picture->html ? "</body></html>\n" : "</svg>\n");
	free(d.matches);
}
