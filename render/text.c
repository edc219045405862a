#include "share/compat.h"
#include "render/text.h"

#include "render/figures.h"
#include "render/xmlout.h"
#include "share/mem.h"
#include "share/num.h"

#include <sys/ioctl.h>

struct function {
	uint32_t name;
	weight_fx self[2], total[2];
};

struct report {
	const struct text_options *options;
	const struct layout *layout;
	struct output *out;
	unsigned width;
	int column; /* that counts */
	weight_fx whole;
	bool before; /* two columns */
	const char *unit;
};

/* Ties by name, so that the report depends on nothing else. */
static int compare(const struct function *x, const struct function *y, weight_fx a, weight_fx b,
                   const struct strtab *names)
{
	struct slice s = strtab_slice(names, x->name), t = strtab_slice(names, y->name);
	int order = memcmp(s.at, t.at, MIN_OF(s.size, t.size));

	if (a != b)
		return a < b ? 1 : -1;
	return order ? order : (s.size > t.size) - (s.size < t.size);
}

static int by_self(const void *a, const void *b, void *report)
{
	const struct report *r = report;
	const struct function *x = a, *y = b;

	return compare(x, y, x->self[r->column], y->self[r->column], &r->layout->tree->names);
}

static int by_total(const void *a, const void *b, void *report)
{
	const struct report *r = report;
	const struct function *x = a, *y = b;

	return compare(x, y, x->total[r->column], y->total[r->column], &r->layout->tree->names);
}

/*
 * A function's total counts each stack once, however often the function
 * recurs in it: only the outermost frame of a name adds.
 */
static struct function *functions_of(const struct layout *layout, uint32_t *nr)
{
	const struct frametree *tree = layout->tree;
	struct function *all = mem_zalloc(((size_t)tree->names.nr + 1) * sizeof(*all));
	uint32_t *open = mem_zalloc(((size_t)tree->names.nr + 1) * sizeof(*open));
	uint32_t *path = mem_alloc(((size_t)layout->max_depth + 1) * sizeof(*path));
	uint32_t depth = 0;

	for (uint32_t i = 1; i < layout->nr; i++) {
		struct layout_frame f = layout->frames[i];
		uint32_t name = frametree_name(tree, f.node);

		while (depth >= f.depth)
			open[path[depth--]]--;
		depth = f.depth;
		path[depth] = name;
		for (int c = 0; c < tree->nr_columns; c++) {
			all[name].self[c] += frametree_self(tree, f.node, c);
			if (!open[name])
				all[name].total[c] += frametree_total(tree, f.node, c);
		}
		open[name]++;
	}
	*nr = 0;
	for (uint32_t i = 0; i < tree->names.nr; i++) {
		if (!all[i].total[0] && !all[i].total[1])
			continue;
		all[*nr] = all[i];
		all[(*nr)++].name = i;
	}
	free(open);
	free(path);
	return all;
}

static void put_style(const struct report *r, const char *codes)
{
	if (r->options->colour)
		output_printf(r->out, "\033[%sm", codes);
}

/* Warmer for a larger share: plain, yellow, bold red. */
static const char *heat(const struct report *r, weight_fx weight)
{
	weight_fx percent = r->whole ? weight * 100 / r->whole : 0;

	return percent >= 20 ? "1;31" : percent >= 5 ? "33" : "0";
}

static void put_name(const struct report *r, struct slice name, size_t taken)
{
	struct buf clean = {0};
	size_t room = r->width > taken + 8 ? r->width - taken : 8, fit;
	char mark;

	name = palette_unmark(name, &mark);
	folded_clean(&clean, name.at, name.size);
	fit = xml_fit(clean.at, clean.size, room, NULL);
	if (fit < clean.size)
		fit = xml_fit(clean.at, clean.size, room - 2, NULL);
	output_add(r->out, clean.at, fit);
	output_string(r->out, fit < clean.size ? "…\n" : "\n");
	buf_release(&clean);
}

static void put_table(const struct report *r, const char *heading, const struct function *functions,
                      uint32_t nr)
{
	char self[FIGURE_TEXT], total[FIGURE_TEXT], a[FIGURE_TEXT], b[FIGURE_TEXT], c[FIGURE_TEXT];
	const struct strtab *names = &r->layout->tree->names;

	put_style(r, "1");
	output_printf(r->out, "%s", heading);
	put_style(r, "0");
	output_printf(r->out, "\n%14s %8s %14s %8s%s  function\n", "self", "", "total", "",
	              r->before ? "         change" : "");
	for (uint32_t i = 0; i < MIN_OF(nr, r->options->top); i++) {
		const struct function *f = &functions[i];
		weight_fx s = f->self[r->column], t = f->total[r->column];

		put_style(r, heat(r, s));
		output_printf(r->out, "%14s %8s ", figure_count(self, s, r->unit),
		              figure_percent(a, s, r->whole));
		put_style(r, heat(r, t));
		output_printf(r->out, "%14s %8s", figure_count(total, t, r->unit),
		              figure_percent(b, t, r->whole));
		put_style(r, "0");
		if (r->before)
			output_printf(r->out, " %14s",
			              figure_change(c, f->total[0], f->total[1], r->unit));
		output_string(r->out, "  ");
		put_name(r, strtab_slice(names, f->name), r->before ? 64 : 49);
	}
	output_string(r->out, "\n");
}

static void put_frame(const struct report *r, struct layout_frame f)
{
	const struct frametree *tree = r->layout->tree;
	weight_fx total = frametree_total(tree, f.node, r->column);
	/* deep recursion must not push names off the line */
	unsigned indent = MIN_OF((f.depth - 1) * 2, r->width / 2);
	char percent[FIGURE_TEXT], change[FIGURE_TEXT];

	put_style(r, heat(r, total));
	output_printf(r->out, "%8s", figure_percent(percent, total, r->whole));
	put_style(r, "0");
	if (r->before)
		output_printf(
		        r->out, " %12s",
		        figure_change(change, frametree_total(tree, f.node, 0), total, r->unit));
	output_printf(r->out, "  %*s", (int)indent, "");
	put_name(r, strtab_slice(&tree->names, frametree_name(tree, f.node)),
	         10 + indent + (r->before ? 13 : 0));
}

/* Lightest first; ties from right to left. */
static int by_weight(const void *a, const void *b, void *report)
{
	const struct report *r = report;
	const uint32_t *x = a, *y = b;
	const struct layout_frame *frames = r->layout->frames;
	weight_fx s = frametree_total(r->layout->tree, frames[*x].node, r->column);
	weight_fx t = frametree_total(r->layout->tree, frames[*y].node, r->column);

	return s != t ? (s > t) - (s < t) : (*x < *y) - (*x > *y);
}

/* The heaviest of siblings first, but a flame chart as it came. */
static void put_tree(const struct report *r)
{
	const struct layout *layout = r->layout;
	weight_fx least = (weight_fx)((double)r->whole * r->options->threshold / 100);
	/* by frame, 0 = none; the root has no siblings */
	uint32_t *parent = mem_zalloc((size_t)layout->nr * sizeof(*parent));
	uint32_t *first = mem_zalloc((size_t)layout->nr * sizeof(*first));
	uint32_t *next = mem_zalloc((size_t)layout->nr * sizeof(*next));
	uint32_t *shown = mem_resize(NULL, layout->nr, sizeof(*shown));
	uint32_t nr = 0;

	put_style(r, "1");
	output_string(r->out, "Call tree");
	put_style(r, "0");
	output_string(r->out, "\n");
	for (uint32_t i = 1, above = 0; i < layout->nr; above = i++) {
		while (layout->frames[above].depth >= layout->frames[i].depth)
			above = parent[above];
		parent[i] = above;
	}
	for (uint32_t i = layout->nr; i-- > 1;) {
		weight_fx total = frametree_total(layout->tree, layout->frames[i].node, r->column);

		if (total && total >= least)
			shown[nr++] = i;
	}
	if (!layout->tree->chart)
		qsort_r(shown, nr, sizeof(*shown), by_weight, (void *)r);
	for (uint32_t i = 0; i < nr; i++) {
		next[shown[i]] = first[parent[shown[i]]];
		first[parent[shown[i]]] = shown[i];
	}
	for (uint32_t i = first[0]; i;) {
		put_frame(r, layout->frames[i]);
		if (first[i]) {
			i = first[i];
			continue;
		}
		while (i && !next[i])
			i = parent[i];
		i = next[i];
	}
	if (nr + 1 < layout->nr)
		output_printf(r->out, "%8s  %llu frames below %g%%\n", "",
		              (unsigned long long)(layout->nr - 1 - nr), r->options->threshold);
	free(parent);
	free(first);
	free(next);
	free(shown);
}

static unsigned terminal_width(const struct output *out)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	uint64_t value;

	if (ioctl(out->fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	if (columns && num_parse_u64(columns, strlen(columns), &value) == 0 && value >= 40 &&
	    value <= 10000)
		return (unsigned)value;
	return 100;
}

void text_write(const struct text_options *options, const struct picture *picture,
                const struct layout *layout, struct output *out)
{
	const struct frametree *tree = layout->tree;
	struct report r = {
	        .options = options,
	        .layout = layout,
	        .out = out,
	        .width = options->width ? options->width : terminal_width(out),
	        .column = tree->nr_columns == 2,
	        .before = tree->nr_columns == 2,
	        .unit = picture->count_name ? picture->count_name : "samples",
	};
	struct function *functions;
	char figure[FIGURE_TEXT];
	uint32_t nr;

	r.whole = frametree_total(tree, 0, r.column);
	functions = functions_of(layout, &nr);
	put_style(&r, "1");
	output_printf(out, "%s", picture->title);
	put_style(&r, "0");
	output_printf(out, "\n%s%s%s\n", figure_count(figure, r.whole, r.unit),
	              figure_is_time(r.unit) ? "" : " ", figure_is_time(r.unit) ? "" : r.unit);
	for (size_t i = 0; picture->header && i < picture->header->nr; i++)
		output_printf(out, "%s: %s\n", picture->header->fields[i].key,
		              picture->header->fields[i].value);
	output_string(out, "\n");
	qsort_r(functions, nr, sizeof(*functions), by_self, &r);
	put_table(&r, "Functions by own weight", functions, nr);
	qsort_r(functions, nr, sizeof(*functions), by_total, &r);
	put_table(&r, "Functions by weight with callees", functions, nr);
	put_tree(&r);
	free(functions);
}
