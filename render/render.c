#include "share/compat.h"

#include "render/json.h"
#include "render/palettemap.h"
#include "render/picture.h"
#include "render/text.h"
#include "share/guard.h"
#include "share/input.h"
#include "share/msg.h"
#include "share/num.h"
#include "share/opts.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* The default bound of the data block: a picture stays below 8 MB. */
#define DATA_SIZE      ((size_t)6 << 20)
#define MAP_FILE_LIMIT ((size_t)64 << 20)

enum format { FORMAT_SVG, FORMAT_HTML, FORMAT_JSON, FORMAT_TEXT };

enum option {
	OPT_OUTPUT = 1,
	OPT_FORMAT,
	OPT_TITLE,
	OPT_SUBTITLE,
	OPT_NOTES,
	OPT_COUNTNAME,
	OPT_NAMETYPE,
	OPT_PALETTE,
	OPT_PALETTE_FILE,
	OPT_CP,
	OPT_THEME,
	OPT_BGCOLORS,
	OPT_INVERTED,
	OPT_REVERSE,
	OPT_FLAMECHART,
	OPT_NEGATE,
	OPT_BASE,
	OPT_WIDTH,
	OPT_HEIGHT,
	OPT_MINWIDTH,
	OPT_DETAIL,
	OPT_FONTTYPE,
	OPT_FONTSIZE,
	OPT_FONTWIDTH,
	OPT_FACTOR,
	OPT_TOTAL,
	OPT_NAMEATTR,
	OPT_SEARCH,
	OPT_SEARCH_COLOR,
	OPT_THRESHOLD,
	OPT_TOP,
	OPT_COLOR,
	OPT_STROKE_COLOR,
	OPT_UI_COLOR,
	OPT_NO_SCRIPT,
	OPT_COLOR_DIFFUSION,
	OPT_SKIP_AFTER,
	OPT_QUIET,
	OPT_IGNORED,
	OPT_TRUNCATE,
	OPT_NTHREADS,
	OPT_STRICT,
};

static const struct opt table[] = {
        {OPT_OUTPUT, 'o', "output", "FILE", "write to FILE instead of stdout"},
        {OPT_FORMAT, 0, "format", "svg|html|json|text", "what to write (default: svg)"},
        {OPT_TITLE, 0, "title", "TEXT", "title (default: Flame graph, or what fits the options)"},
        {OPT_SUBTITLE, 0, "subtitle", "TEXT", "a line under the title"},
        {OPT_NOTES, 0, "notes", "TEXT", "a line under the picture"},
        {OPT_COUNTNAME, 0, "countname", "TEXT",
         "what is counted (default: the input's unit, or samples)"},
        {OPT_NAMETYPE, 0, "nametype", "TEXT", "what a frame is (default: Function:)"},
        {OPT_PALETTE, 0, "palette", "NAME",
         "colours: hot mem io java js perl python rust wakeup chain wait red green blue aqua "
         "yellow "
         "purple orange by-module by-type by-width"},
        {OPT_PALETTE, 'c', "colors", "NAME", "the same"},
        {OPT_PALETTE_FILE, 0, "palette-file", "FILE",
         "colours to use and to keep: lines NAME->rgb(R,G,B)"},
        {OPT_THEME, 0, "theme", "light|dark|auto", "of what surrounds the frames (default: auto)"},
        {OPT_BGCOLORS, 0, "bgcolors", "COLOR", "background: yellow blue green grey or #rrggbb"},
        {OPT_INVERTED, 'i', "inverted", NULL, "icicle: the root on top"},
        {OPT_REVERSE, 'r', "reverse", NULL, "merge from the leaves"},
        {OPT_FLAMECHART, 0, "flamechart", NULL,
         "keep the order of the input; merge only neighbours"},
        {OPT_NEGATE, 0, "negate", NULL, "swap the two hues of a difference"},
        {OPT_BASE, 0, "base", "FRAME", "root the graph at FRAME (may be repeated)"},
        {OPT_SKIP_AFTER, 0, "skip-after", "FRAME", "the same, but keep stacks without it"},
        {OPT_WIDTH, 0, "width", "PIXELS", "fixed width (default: that of the window)"},
        {OPT_HEIGHT, 0, "height", "PIXELS", "height of a frame (default: 18)"},
        {OPT_MINWIDTH, 0, "minwidth", "PIXELS|N%",
         "least width in the static picture (default: 0.5)"},
        {OPT_DETAIL, 0, "detail", "N|N%|all",
         "least weight that the file keeps (default: all that fits in 6 MiB)"},
        {OPT_FONTTYPE, 0, "fonttype", "FAMILY", "font of the frames (default: a monospaced one)"},
        {OPT_FONTSIZE, 0, "fontsize", "PIXELS", "its size (default: 12)"},
        {OPT_FONTWIDTH, 0, "fontwidth", "N",
         "its mean width, relative to the size (default: 0.62)"},
        {OPT_FACTOR, 0, "factor", "N", "multiply each count by N"},
        {OPT_TOTAL, 0, "total", "N", "what 100 % is (default: the sum of the counts)"},
        {OPT_NAMEATTR, 0, "nameattr", "FILE",
         "links and tooltips: NAME, then tab-separated href= and title="},
        {OPT_SEARCH, 0, "search", "REGEX", "highlight matching frames and print their share"},
        {OPT_SEARCH_COLOR, 0, "search-color", "#RRGGBB", "for matches (default: #ea66ea)"},
        {OPT_STROKE_COLOR, 0, "stroke-color", "#RRGGBB|none", "outline of frames (default: none)"},
        {OPT_UI_COLOR, 0, "uicolor", "#RRGGBB", "of the texts around the frames"},
        {OPT_NO_SCRIPT, 0, "no-javascript", NULL, "the static picture alone"},
        {OPT_THRESHOLD, 0, "threshold", "N%", "text: least share in the tree (default: 0.5%)"},
        {OPT_TOP, 0, "top", "N", "text: length of the table of functions (default: 20)"},
        {OPT_COLOR, 0, "color", "auto|always|never", "text: colour (default: on a terminal)"},
        {OPT_QUIET, 'q', "quiet", NULL, "no notes on stderr"},
        {OPT_FONTTYPE, 0, "font-type", "FAMILY", NULL},
        {OPT_FONTTYPE, 0, "font", "FAMILY", NULL},
        {OPT_FONTSIZE, 0, "font-size", "PIXELS", NULL},
        {OPT_FONTWIDTH, 0, "font-width", "N", NULL},
        {OPT_WIDTH, 0, "image-width", "PIXELS", NULL},
        {OPT_HEIGHT, 0, "frame-height", "PIXELS", NULL},
        {OPT_MINWIDTH, 0, "min-width", "PIXELS", NULL},
        {OPT_COUNTNAME, 0, "count-name", "TEXT", NULL},
        {OPT_NAMETYPE, 0, "name-type", "TEXT", NULL},
        {OPT_FLAMECHART, 0, "flame-chart", NULL, NULL},
        {OPT_BGCOLORS, 0, "bgcolor", "COLOR", NULL},
        {OPT_IGNORED, 0, "hash", NULL, "accepted: colours come from names in any case"},
        {OPT_IGNORED, 0, "random", NULL, NULL},
        {OPT_IGNORED, 0, "deterministic", NULL, NULL},
        {OPT_CP, 0, "cp", NULL, "the same as --palette-file palette.map"},
        {OPT_IGNORED, 0, "no-sort", NULL, NULL},
        {OPT_IGNORED, 0, "pretty-xml", NULL, NULL},
        {OPT_IGNORED, 0, "encoding", "NAME", NULL},
        {OPT_IGNORED, 'v', "verbose", NULL, NULL},
        {OPT_COLOR_DIFFUSION, 0, "colordiffusion", NULL, NULL},
        {OPT_IGNORED, 0, "truncate-text-right", NULL, NULL},
        {OPT_TRUNCATE, 0, "text-truncate-direction", "left|right", NULL},
        {OPT_NTHREADS, 0, "nthreads", "N", NULL},
        {OPT_STRICT, 0, "strict", NULL, NULL},
};

/* What the command line asks for. */
struct request {
	struct picture picture;
	struct frametree tree;
	struct text_options text;
	enum format format;
	const char *output_path, *palette_path, *nameattr_path, *detail;
	weight_fx factor, total; /* 0: not given */
	const char **paths, **base;
	size_t nr_paths, paths_capacity, base_capacity;
	/* what the above borrow from */
	struct palette_map palette_map;
	struct nameattr attributes;
	struct folded_header header;
	regex_t regex;
	bool has_regex, has_palette;
	uint64_t nr_bad;
	bool is_incomplete; /* for another reason */
};

/* ---- options ---- */

static int choose(const char *arg, const char *const *names, size_t nr, const char *what,
                  int *index, struct err *err)
{
	const char *near;

	for (size_t i = 0; i < nr; i++) {
		if (strcmp(arg, names[i]) == 0) {
			*index = (int)i;
			return 0;
		}
	}
	near = opts_nearest(arg, names, nr);
	return err_set(err, "unknown %s '%s'; %s '%s'%s", what, arg,
	               near ? "did you mean" : "one that is known:", near ? near : names[0],
	               near ? "?" : "");
}

static int number_in(const char *arg, double low, double high, const char *option, double *value,
                     struct err *err)
{
	if (num_parse_real(arg, value) < 0 || *value < low || *value > high)
		return err_set(err, "option '--%s' needs a number from %g to %g, not '%s'", option,
		               low, high, arg);
	return 0;
}

static int weight_arg(const char *arg, const char *option, weight_fx *weight, struct err *err)
{
	if (weight_parse(arg, strlen(arg), weight) != WEIGHT_OK || !*weight)
		return err_set(err, "option '--%s' needs a number above 0, not '%s'", option, arg);
	return 0;
}

static int set_background(struct picture *p, const char *arg, struct err *err)
{
	/* flamegraph.pl's names, as flat and paler tints */
	static const char *const known[][2] = {{"yellow", "#fffbe8"},
	                                       {"blue", "#eef3fb"},
	                                       {"green", "#eef8ee"},
	                                       {"grey", "#f4f4f4"}};
	uint32_t colour;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(arg, known[i][0]) == 0)
			p->background = known[i][1];
	if (palette_parse_hex(arg, strlen(arg), &colour))
		p->background = arg;
	return p->background ? 0 :
	                       err_set(err,
	                               "unknown background '%s'; use yellow, blue, green, grey or "
	                               "#rrggbb",
	                               arg);
}

static int set_colour(const char **colour, const char *arg, struct err *err)
{
	uint32_t value;

	if (!palette_parse_hex(arg, strlen(arg), &value))
		return err_set(err, "'%s' is not a colour like #ea66ea", arg);
	*colour = arg;
	return 0;
}

static int set_search(struct request *r, const char *arg, struct err *err)
{
	int rc;
	char reason[256];

	if (r->has_regex)
		regfree(&r->regex);
	r->has_regex = false;
	rc = regcomp(&r->regex, arg, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		regerror(rc, &r->regex, reason, sizeof(reason));
		return err_set(err, "'%s' is not a regular expression: %s", arg, reason);
	}
	r->has_regex = true;
	r->picture.search = arg;
	r->picture.search_regex = &r->regex;
	return 0;
}

static int set_minwidth(struct picture *p, const char *arg, struct err *err)
{
	size_t size = strlen(arg);
	char *number;
	int rc;

	p->min_is_percent = size && arg[size - 1] == '%';
	number = mem_strndup(arg, size - p->min_is_percent);
	rc = number_in(number, 0, p->min_is_percent ? 100 : 10000, "minwidth", &p->min_width, err);
	free(number);
	return rc;
}

static int take_number(struct request *r, int id, const char *arg, struct err *err)
{
	struct picture *p = &r->picture;
	double value = 0;

	switch (id) {
	case OPT_WIDTH:
		if (number_in(arg, PICTURE_MIN_WIDTH, PICTURE_MAX_WIDTH, "width", &value, err) < 0)
			return -1;
		p->width = (unsigned)value;
		return 0;
	case OPT_HEIGHT:
		if (number_in(arg, 6, 200, "height", &value, err) < 0)
			return -1;
		p->frame_height = (unsigned)value;
		return 0;
	case OPT_FONTSIZE:
		if (number_in(arg, 4, 100, "fontsize", &value, err) < 0)
			return -1;
		p->font_size = (unsigned)value;
		return 0;
	case OPT_FONTWIDTH:
		return number_in(arg, 0.2, 2, "fontwidth", &p->font_width, err);
	case OPT_TOP:
		if (number_in(arg, 0, 100000, "top", &value, err) < 0)
			return -1;
		r->text.top = (unsigned)value;
		return 0;
	default:
		return -1;
	}
}

static int take_choice(struct request *r, int id, const char *arg, struct err *err)
{
	static const char *const formats[] = {"svg", "html", "json", "text"};
	static const char *const themes[] = {"auto", "light", "dark"};
	static const char *const colours[] = {"auto", "always", "never"};
	int index = 0;

	switch (id) {
	case OPT_FORMAT:
		if (choose(arg, formats, ARRAY_SIZE(formats), "format", &index, err) < 0)
			return -1;
		r->format = (enum format)index;
		return 0;
	case OPT_THEME:
		if (choose(arg, themes, ARRAY_SIZE(themes), "theme", &index, err) < 0)
			return -1;
		r->picture.theme = (enum theme)index;
		return 0;
	case OPT_COLOR:
		if (choose(arg, colours, ARRAY_SIZE(colours), "answer to --color", &index, err) ==
		    0) {
			r->text.colour = index == 1 || (index == 0 && isatty(STDOUT_FILENO));
			return 0;
		}
		/* scripts shorten flamegraph.pl's --colors so */
		break;
	default:
		break;
	}
	if (choose(arg, palette_names, PALETTE_NR, "palette", &index, err) < 0)
		return -1;
	r->picture.palette = (enum palette_kind)index;
	r->has_palette = true;
	return 0;
}

static int take_option(struct request *r, int id, const char *arg, struct err *err)
{
	struct picture *p = &r->picture;

	switch (id) {
	case OPTS_OPERAND:
		MEM_GROW(r->paths, r->nr_paths, r->paths_capacity);
		r->paths[r->nr_paths++] = arg;
		return 0;
	case OPT_SKIP_AFTER:
		r->tree.keep_others = true;
		/* fall through */
	case OPT_BASE:
		MEM_GROW(r->base, r->tree.nr_base, r->base_capacity);
		r->base[r->tree.nr_base++] = arg;
		r->tree.base = r->base;
		return 0;
	case OPT_OUTPUT:
		r->output_path = arg;
		return 0;
	case OPT_TITLE:
		p->title = arg;
		return 0;
	case OPT_SUBTITLE:
		p->subtitle = arg;
		return 0;
	case OPT_NOTES:
		p->notes = arg;
		return 0;
	case OPT_COUNTNAME:
		p->count_name = arg;
		return 0;
	case OPT_NAMETYPE:
		p->name_type = arg;
		return 0;
	case OPT_PALETTE_FILE:
		r->palette_path = arg;
		return 0;
	case OPT_CP:
		if (!r->palette_path)
			r->palette_path = "palette.map";
		return 0;
	case OPT_NAMEATTR:
		r->nameattr_path = arg;
		return 0;
	case OPT_BGCOLORS:
		return set_background(p, arg, err);
	case OPT_INVERTED:
		p->inverted = true;
		return 0;
	case OPT_REVERSE:
		r->tree.reverse = true;
		return 0;
	case OPT_FLAMECHART:
		r->tree.chart = true;
		return 0;
	case OPT_NEGATE:
		p->negate = true;
		return 0;
	case OPT_MINWIDTH:
		return set_minwidth(p, arg, err);
	case OPT_DETAIL:
		r->detail = arg;
		return 0;
	case OPT_FONTTYPE:
		p->font = arg;
		return 0;
	case OPT_FACTOR:
		if (weight_arg(arg, "factor", &r->factor, err) < 0)
			return -1;
		/* so that a product stays below 2^128 */
		return r->factor <= weight_from_u64(WEIGHT_ONE) ?
		               0 :
		               err_set(err, "option '--factor' is above %u", WEIGHT_ONE);
	case OPT_TOTAL:
		return weight_arg(arg, "total", &r->total, err);
	case OPT_SEARCH:
		return set_search(r, arg, err);
	case OPT_SEARCH_COLOR:
		if (!palette_parse_hex(arg, strlen(arg), &p->search_colour))
			return err_set(err, "'%s' is not a colour like #ea66ea", arg);
		return 0;
	case OPT_THRESHOLD: {
		size_t size = strlen(arg);
		char *number = mem_strndup(arg, size - (size && arg[size - 1] == '%'));
		int rc = number_in(number, 0, 100, "threshold", &r->text.threshold, err);

		free(number);
		return rc;
	}
	case OPT_FORMAT:
	case OPT_THEME:
	case OPT_COLOR:
	case OPT_PALETTE:
		return take_choice(r, id, arg, err);
	case OPT_STROKE_COLOR:
		p->stroke = NULL;
		return strcmp(arg, "none") == 0 ? 0 : set_colour(&p->stroke, arg, err);
	case OPT_UI_COLOR:
		return set_colour(&p->text_colour, arg, err);
	case OPT_NO_SCRIPT:
		p->no_script = true;
		return 0;
	case OPT_COLOR_DIFFUSION:
		return take_choice(r, OPT_PALETTE, "by-width", err);
	case OPT_QUIET:
		msg_quiet(true);
		return 0;
	case OPT_IGNORED:
		return 0;
	case OPT_TRUNCATE:
		if (strcmp(arg, "right") != 0)
			msg_note("'--text-truncate-direction' has no effect: names are cut at the "
			         "right");
		return 0;
	case OPT_NTHREADS:
		msg_note("'--nthreads' has no effect: one thread draws");
		return 0;
	case OPT_STRICT:
		msg_note("'--strict' has no effect: lines that are no stacks are told in any "
		         "case");
		return 0;
	default:
		return take_number(r, id, arg, err);
	}
}

/* ---- input ---- */

static void merge_header(struct folded_header *all, const struct folded_header *one)
{
	for (size_t i = 0; i < one->nr; i++) {
		const char *key = one->fields[i].key, *value = one->fields[i].value;
		const char *have = folded_header_get(all, key);

		if (!have) {
			folded_header_set(all, key, "%s", value);
		} else if (strcmp(have, value) != 0 && strlen(have) < 1000) {
			char *both = mem_printf("%s; %s", have, value);

			folded_header_set(all, key, "%s", both);
			free(both);
		}
	}
}

/* The sentence for an input without one valid line. */
static int no_stacks(struct input *in, const char *head, size_t head_size,
                     const struct folded_reader *reader, struct err *err)
{
	const char *kind = folded_looks_like(head, head_size);
	static const char wanted[] = "expected lines like 'main;work;read 42'";

	if (kind && (strstr(kind, "perf") || strstr(kind, "recording")))
		return err_set(err,
		               "'%s' holds no folded stacks (%s) but looks like %s; pass it "
		               "through flame-collapse first",
		               input_name(in), wanted, kind);
	if (kind)
		return err_set(err, "'%s' holds no folded stacks (%s) but looks like %s",
		               input_name(in), wanted, kind);
	if (reader->nr_bad)
		return err_set(err, "'%s' holds no folded stacks: %s; line %llu is '%s'",
		               input_name(in), wanted, (unsigned long long)reader->bad_line,
		               reader->bad_text);
	return err_set(err, "'%s' is empty: %s", input_name(in), wanted);
}

static int read_file(struct request *r, const char *path, struct err *err)
{
	struct input *in = input_open(path, 0, err);
	struct folded_reader reader;
	char head[4096];
	const char *at;
	size_t size;
	int rc = -1;

	if (!in)
		return -1;
	folded_reader_init(&reader, in);
	if (input_peek(in, sizeof(head), &at, &size, err) < 0)
		goto out;
	memcpy(head, at, size);
	if (frametree_read(&r->tree, &reader, err) < 0)
		goto out;
	if (!reader.nr_stacks) {
		no_stacks(in, head, size, &reader, err);
		goto out;
	}
	if (reader.nr_bad) {
		msg_warn("'%s': %llu line%s not folded stacks and left out; line %llu: %s: '%s'",
		         input_name(in), (unsigned long long)reader.nr_bad,
		         reader.nr_bad == 1 ? " is" : "s are", (unsigned long long)reader.bad_line,
		         reader.bad_reason, reader.bad_text);
		r->nr_bad += reader.nr_bad;
	}
	merge_header(&r->header, &reader.header);
	rc = 0;
out:
	folded_reader_release(&reader);
	input_close(in);
	return rc;
}

/* All of a small file; *in stays open, the text lives in it. */
static int read_whole(const char *path, struct input **in, struct slice *text, struct err *err)
{
	*in = input_open(path, 0, err);
	return *in ? input_all(*in, MAP_FILE_LIMIT, text, err) : -1;
}

static int read_maps(struct request *r, struct err *err)
{
	struct input *in = NULL;
	struct slice text;
	int rc = 0;

	/* an absent one comes into being */
	if (r->palette_path && (access(r->palette_path, F_OK) == 0 || errno != ENOENT)) {
		rc = read_whole(r->palette_path, &in, &text, err);
		if (rc == 0)
			rc = palette_map_read(&r->palette_map, text, r->palette_path, err);
		input_close(in);
	}
	if (r->palette_path)
		r->picture.palette_map = &r->palette_map;
	if (rc == 0 && r->nameattr_path) {
		rc = read_whole(r->nameattr_path, &in, &text, err);
		if (rc == 0)
			rc = nameattr_read(&r->attributes, text, r->nameattr_path, err);
		input_close(in);
		r->picture.attributes = &r->attributes;
		if (rc == 0 && r->attributes.nr_skipped)
			msg_note("'%s': %llu attributes other than href and title, or unsafe "
			         "links, are left out",
			         r->nameattr_path, (unsigned long long)r->attributes.nr_skipped);
	}
	return rc;
}

/* ---- output ---- */

static int threshold_of(const struct request *r, weight_fx *threshold, size_t *max_size,
                        struct err *err)
{
	const struct frametree *tree = &r->tree;
	size_t size = r->detail ? strlen(r->detail) : 0;
	double percent;
	char *number;
	int rc = 0;

	*threshold = 1;
	*max_size = r->detail || r->format > FORMAT_HTML ? 0 : DATA_SIZE;
	if (!r->detail || strcmp(r->detail, "all") == 0)
		return 0;
	if (!size || r->detail[size - 1] != '%')
		return weight_arg(r->detail, "detail", threshold, err);
	number = mem_strndup(r->detail, size - 1);
	rc = number_in(number, 0, 100, "detail", &percent, err);
	free(number);
	if (rc == 0)
		*threshold = MAX_OF(
		        1, (weight_fx)((double)MAX_OF(tree->sum[0], tree->sum[1]) * percent / 100));
	return rc;
}

static void fill_defaults(struct request *r)
{
	struct picture *p = &r->picture;
	const char *unit = folded_header_get(&r->header, "unit");
	const char *event = folded_header_get(&r->header, "event");

	p->header = &r->header;
	p->html = r->format == FORMAT_HTML;
	/* as collapse calls what it measures in waits and latencies */
	if (!r->has_palette && event && strncmp(event, "time ", 5) == 0)
		p->palette = PALETTE_WAIT;
	if (!p->count_name && unit)
		p->count_name = unit;
	if (!p->title)
		p->title = r->tree.nr_columns == 2 ? "Differential flame graph" :
		           r->tree.chart           ? "Flame chart" :
		           p->inverted             ? "Icicle graph" :
		                                     "Flame graph";
}

/* The map is to keep the colours of this picture, where colours are those of names. */
static void extend_map(struct request *r, const struct layout *layout)
{
	const struct picture *p = &r->picture;

	if (!r->palette_path || r->tree.nr_columns == 2 || p->palette == PALETTE_BY_WIDTH)
		return;
	for (uint32_t i = 1; i < layout->nr; i++) {
		struct slice name = strtab_slice(&r->tree.names,
		                                 frametree_name(&r->tree, layout->frames[i].node));

		palette_map_add(&r->palette_map, name, palette_colour(p->palette, NULL, name));
	}
}

/* The picture is complete without it, so a failure is told and no more. */
static void write_map(struct request *r)
{
	struct stat st;
	struct err err;

	/* what comes through a pipe has no place to be kept in */
	if (!palette_map_has_new(&r->palette_map) ||
	    (stat(r->palette_path, &st) == 0 && !S_ISREG(st.st_mode)))
		return;
	if (palette_map_write(&r->palette_map, r->palette_path, &err) < 0) {
		msg_warn("the colours of new names are not kept: %s", err.text);
		r->is_incomplete = true;
	}
}

static int write_output(struct request *r, struct err *err)
{
	struct layout layout;
	struct output out;
	weight_fx threshold;
	size_t max_size;

	if (threshold_of(r, &threshold, &max_size, err) < 0 ||
	    output_open(&out, r->output_path, err) < 0)
		return -1;
	fill_defaults(r);
	layout_init(&layout, &r->tree, threshold, max_size);
	if (r->format == FORMAT_JSON)
		json_write(&layout, &out);
	else if (r->format == FORMAT_TEXT)
		text_write(&r->text, &r->picture, &layout, &out);
	else {
		extend_map(r, &layout);
		picture_write(&r->picture, &layout, &out);
	}
	layout_release(&layout);
	if (output_close(&out, err) < 0)
		return -1;
	write_map(r);
	return 0;
}

static int run(struct request *r, struct err *err)
{
	static const char *const from_stdin[] = {"-"};
	const char *const *paths = r->nr_paths ? r->paths : from_stdin;
	size_t nr_paths = MAX_OF(r->nr_paths, 1);

	if (read_maps(r, err) < 0)
		return -1;
	r->tree.factor = r->factor;
	for (size_t i = 0; i < nr_paths; i++)
		if (read_file(r, paths[i], err) < 0)
			return -1;
	if (r->tree.nr_outside == r->tree.nr_stacks)
		return err_set(err, "no stack holds the frame '%s' of --base", r->base[0]);
	frametree_build(&r->tree);
	if (!r->tree.sum[0] && !r->tree.sum[1])
		return err_set(err, "every count is 0: there is nothing to draw");
	if (r->total && frametree_set_total(&r->tree, r->total) < 0)
		return err_set(err, "option '--total' is below the sum of the counts");
	return write_output(r, err);
}

static void release(struct request *r)
{
	frametree_release(&r->tree);
	palette_map_release(&r->palette_map);
	nameattr_release(&r->attributes);
	folded_header_release(&r->header);
	if (r->has_regex)
		regfree(&r->regex);
	free(r->paths);
	free(r->base);
}

int main(int argc, char **argv)
{
	struct opts opts = {
	        .usage = "[OPTION]... [FILE]...",
	        .about = "Draws folded stacks as a flame graph: one SVG that needs nothing else.\n"
	                 "Without FILE, or where it is -, reads stdin.",
	        .table = table,
	        .nr = ARRAY_SIZE(table),
	        .argc = argc,
	        .argv = argv,
	};
	struct request r = {
	        .picture = {.frame_height = 18,
	                    .font_size = 12,
	                    .font_width = 0.62,
	                    .min_width = 0.5,
	                    .search_colour = 0xea66ea},
	        .text = {.top = 20, .threshold = 0.5, .colour = isatty(STDOUT_FILENO)},
	};
	const char *arg;
	struct err err = {0};
	int id, status = EXIT_COMPLETE;

	msg_init("render");
	guard_init();
	while ((id = opts_next(&opts, &arg, &err)) != OPTS_END) {
		if (id == OPTS_DONE)
			return EXIT_COMPLETE;
		if (id == OPTS_ERROR || take_option(&r, id, arg, &err) < 0) {
			msg_fail(&err);
			release(&r);
			return EXIT_MISUSE;
		}
	}
	if (run(&r, &err) < 0)
		status = msg_fail(&err);
	else if (r.nr_bad || r.is_incomplete)
		status = EXIT_INCOMPLETE;
	release(&r);
	return status;
}
