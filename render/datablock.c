#include "share/compat.h"
#include "render/datablock.h"

#include "render/xmlout.h"
#include "share/mem.h"
#include "share/svgdata.h"

/* Frames of which the memory is asked for early: nodes stand in another order. */
#define AHEAD 16

struct counted_name {
	uint32_t name, nr;
};

/* Common names first; ties in order of first appearance, which is fixed. */
static int by_frequency(const void *a, const void *b)
{
	const struct counted_name *x = a, *y = b;

	return x->nr != y->nr ? (x->nr < y->nr) - (x->nr > y->nr) :
	                        (x->name > y->name) - (x->name < y->name);
}

static int scale_of(const struct frametree *tree)
{
	uint32_t unit = WEIGHT_ONE;
	int scale = 0;

	for (int c = 0; c < tree->nr_columns; c++)
		for (uint32_t i = 0; tree->self[c].fraction && i < tree->nr; i++)
			while (tree->self[c].fraction[i] % unit) {
				unit /= 10;
				scale++;
			}
	return scale;
}

static void write_key(struct output *out, const char *key, const char *value)
{
	output_printf(out, "%s=", key);
	for (; *value; value++) {
		size_t line = strcspn(value, "\r\n");

		xml_text(out, value, line);
		value += line;
		if (!*value)
			break;
		output_string(out, " ");
	}
	output_string(out, "\n");
}

static void write_number_key(struct output *out, const char *key, unsigned value)
{
	if (value)
		output_printf(out, "%s=%u\n", key, value);
}

static bool is_big(const struct frametree *tree)
{
	weight_fx sum = MAX_OF(frametree_total(tree, 0, 0), frametree_total(tree, 0, 1));

	for (int scale = scale_of(tree); scale < 9; scale++)
		sum /= 10;
	return sum >> 53;
}

static void write_keys(const struct picture *picture, const struct frametree *tree,
                       struct output *out)
{
	static const char *const themes[] = {"auto", "light", "dark"};
	const struct folded_header *header = picture->header;
	const char *const texts[][2] = {
	        {"title", picture->title},         {"subtitle", picture->subtitle},
	        {"notes", picture->notes},         {"count", picture->count_name},
	        {"nametype", picture->name_type},  {"search", picture->search},
	        {"theme", themes[picture->theme]}, {"background", picture->background},
	        {"font", picture->font},           {"stroke", picture->stroke},
	};

	output_printf(out, "flame-data 1\ncolumns=%d\nscale=%d\n", MAX_OF(tree->nr_columns, 1),
	              scale_of(tree));
	/* beyond 2^53 the reader needs more than a double */
	write_number_key(out, "big", is_big(tree));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i][1])
			write_key(out, texts[i][0], texts[i][1]);
	write_number_key(out, "inverted", picture->inverted);
	write_number_key(out, "reverse", tree->reverse);
	write_number_key(out, "chart", tree->chart);
	write_number_key(out, "negate", picture->negate);
	write_number_key(out, "width", picture->width);
	write_number_key(out, "height", picture->frame_height);
	write_number_key(out, "fontsize", picture->font_size);
	write_number_key(out, "bywidth", picture->palette == PALETTE_BY_WIDTH);
	for (size_t i = 0; header && i < header->nr; i++) {
		output_string(out, "h.");
		xml_string(out, header->fields[i].key);
		write_key(out, "", header->fields[i].value);
	}
}

static void write_names(const struct picture *picture, const struct frametree *tree,
                        const struct counted_name *names, uint32_t nr, struct output *out)
{
	struct buf clean = {0};
	char colour[8];

	output_printf(out, "names %u\n", nr);
	for (uint32_t i = 0; i < nr; i++) {
		struct slice name = strtab_slice(&tree->names, names[i].name);

		output_add(out, colour,
		           palette_format(colour, palette_colour(picture->palette,
		                                                 picture->palette_map, name)));
		output_string(out, " ");
		buf_reset(&clean);
		folded_clean(&clean, name.at, name.size);
		xml_text(out, clean.at, clean.size);
		output_string(out, "\n");
	}
	buf_release(&clean);
}

static void write_attributes(const struct picture *picture, const struct frametree *tree,
                             const struct counted_name *names, uint32_t nr, struct output *out)
{
	for (uint32_t i = 0; picture->attributes && i < nr; i++) {
		char mark;
		struct slice name = strtab_slice(&tree->names, names[i].name);
		const struct nameattr_entry *entry =
		        nameattr_find(picture->attributes, palette_unmark(name, &mark));
		char key[32];

		if (entry && entry->href) {
			snprintf(key, sizeof(key), "href.%u", i);
			write_key(out, key, entry->href);
		}
		if (entry && entry->title) {
			snprintf(key, sizeof(key), "title.%u", i);
			write_key(out, key, entry->title);
		}
	}
}

static void write_frames(const struct layout *layout, const uint32_t *number, int scale,
                         struct output *out)
{
	const struct frametree *tree = layout->tree;
	struct buf text = {0};
	weight_fx unit = WEIGHT_ONE;
	int nr_columns = MAX_OF(tree->nr_columns, 1);

	for (int i = 0; i < scale; i++)
		unit /= 10;
	output_printf(out, "frames %u\n", layout->nr);
	for (uint32_t i = 0; i < layout->nr; i++) {
		struct layout_frame f = layout->frames[i];
		uint32_t next = i + 1 < layout->nr ? layout->frames[i + 1].depth : 0;
		bool silent = nr_columns == 1;

		if (i + AHEAD < layout->nr) {
			uint32_t ahead = layout->frames[i + AHEAD].node;

			__builtin_prefetch(&tree->nodes[ahead]);
			for (int c = 0; c < tree->nr_columns; c++)
				__builtin_prefetch(&tree->self[c].whole[ahead]);
		}
		if (f.node)
			svgdata_number(&text, number[frametree_name(tree, f.node)]);
		for (int c = 0; c < nr_columns; c++) {
			/* mostly whole numbers: 128-bit divisions only where there is a fraction */
			weight_fx self = scale            ? frametree_self(tree, f.node, c) / unit :
			                 tree->nr_columns ? tree->self[c].whole[f.node] :
			                                    0;

			svgdata_number(&text, self);
			silent = silent && !self;
		}
		/* one that weighs nothing itself has a child, which comes next */
		if (!silent || i + 1 == layout->nr)
			svgdata_number(&text, f.depth + 1 - next);
		if (text.size > 65536) {
			output_add(out, text.at, text.size);
			buf_reset(&text);
		}
	}
	output_add(out, text.at, text.size);
	output_string(out, "\n");
	buf_release(&text);
}

void datablock_write(const struct picture *picture, const struct layout *layout, struct output *out)
{
	const struct frametree *tree = layout->tree;
	uint32_t nr_all = tree->names.nr, nr = 0;
	struct counted_name *names = mem_alloc(((size_t)nr_all + 1) * sizeof(*names));
	uint32_t *number = mem_alloc(((size_t)nr_all + 1) * sizeof(*number));

	memset(number, 0xff, nr_all * sizeof(*number));
	for (uint32_t i = 1; i < layout->nr; i++) {
		uint32_t name = frametree_name(tree, layout->frames[i].node);

		if (i + AHEAD < layout->nr)
			__builtin_prefetch(&tree->nodes[layout->frames[i + AHEAD].node]);
		if (number[name] == UINT32_MAX) {
			number[name] = nr;
			/* the place of first appearance stands in for the name until sorted */
			names[nr++] = (struct counted_name){name, 0};
		}
		names[number[name]].nr++;
	}
	/* input order must not show: ids of names depend on it, places do not */
	for (uint32_t i = 0; i < nr; i++) {
		number[i] = names[i].name;
		names[i].name = i;
	}
	qsort(names, nr, sizeof(*names), by_frequency);
	for (uint32_t i = 0; i < nr; i++)
		names[i].name = number[names[i].name];
	for (uint32_t i = 0; i < nr; i++)
		number[names[i].name] = i;
	write_keys(picture, tree, out);
	if (layout->is_pruned) {
		uint32_t thin = strtab_find(&tree->names, THIN_NAME, strlen(THIN_NAME));

		output_printf(out, "thin=%u\n", number[thin]);
	}
	write_attributes(picture, tree, names, nr, out);
	write_names(picture, tree, names, nr, out);
	write_frames(layout, number, scale_of(tree), out);
	free(names);
	free(number);
}
