#include "share/compat.h"
#include "render/json.h"

static void put_name(struct output *out, struct slice name)
{
	struct buf clean = {0};

	/* clean frames hold no control bytes: only two characters need care */
	folded_clean(&clean, name.at, name.size);
	for (size_t i = 0; i < clean.size; i++) {
		if (clean.at[i] == '"' || clean.at[i] == '\\')
			output_add(out, "\\", 1);
		output_add(out, clean.at + i, 1);
	}
	buf_release(&clean);
}

static void put_weight(struct output *out, const char *key, weight_fx weight)
{
	char text[WEIGHT_TEXT];

	weight_format(text, weight);
	output_printf(out, ",\"%s\":%s", key, text);
}

static void put_frame(const struct layout *layout, uint32_t node, struct output *out)
{
	const struct frametree *tree = layout->tree;
	weight_fx before = frametree_total(tree, node, 0), after = frametree_total(tree, node, 1);
	char text[WEIGHT_TEXT + 1];

	output_string(out, "{\"name\":\"");
	put_name(out, node ? strtab_slice(&tree->names, frametree_name(tree, node)) :
	                     (struct slice){"all", 3});
	output_string(out, "\"");
	if (tree->nr_columns < 2) {
		put_weight(out, "value", before);
		return;
	}
	put_weight(out, "value", after);
	put_weight(out, "before", before);
	text[0] = '-';
	weight_format(text + 1, after >= before ? after - before : before - after);
	output_printf(out, ",\"delta\":%s", text + (after >= before));
}

void json_write(const struct layout *layout, struct output *out)
{
	for (uint32_t i = 0; i < layout->nr; i++) {
		uint32_t depth = layout->frames[i].depth;
		uint32_t next = i + 1 < layout->nr ? layout->frames[i + 1].depth : 0;

		put_frame(layout, layout->frames[i].node, out);
		if (next > depth) {
			output_string(out, ",\"children\":[\n");
			continue;
		}
		output_string(out, "}");
		for (; depth > next; depth--)
			output_string(out, "]}");
		output_string(out, i + 1 < layout->nr ? ",\n" : "\n");
	}
}
