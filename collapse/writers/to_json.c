/*
 * to_json.c - formats of our own: a JSON table of stacks, and rows for
 * databases. The manual page documents both.
 *
 * JSON: {"format": "flame-stacks", "version": 1, "header": {KEY: TEXT},
 * "total": N, "names": [TEXT], "stacks": [[PARENT, NAME, COUNT]]}. A stack is
 * the stack PARENT (its index, -1 for none) and the frame NAME below it;
 * COUNT is what ends there.
 *
 * Rows: tab separated, time, host, comm, pid, stack, count; the stack as an
 * array of ClickHouse's TabSeparated format, root first.
 */
#include "share/compat.h"
#include "collapse/writers/to.h"

static int write_json(const struct folder *folder, const struct folded_header *header,
                      struct output *out, struct err *err UNUSED)
{
	output_string(out, "{\"format\":\"flame-stacks\",\"version\":1,\n\"header\":{");
	for (size_t i = 0; i < header->nr; i++) {
		const struct folded_field *field = &header->fields[i];

		output_string(out, i ? "," : "");
		to_json_string(out, (struct slice){field->key, strlen(field->key)});
		output_string(out, ":");
		to_json_string(out, (struct slice){field->value, strlen(field->value)});
	}
	output_string(out, "},\n\"total\":");
	to_weight(out, folder->total);
	output_string(out, ",\n\"names\":[");
	for (uint32_t name = 0; name < folder->names.nr; name++) {
		output_string(out, name ? ",\n" : "\n");
		to_json_string(out, strtab_slice(&folder->names, name));
	}
	output_string(out, "],\n\"stacks\":[");
	for (uint32_t node = 1; node < folder->nr; node++) {
		output_printf(out, node > 1 ? ",\n[%d,%u," : "\n[%d,%u,",
		              (int)folder->nodes[node].parent - 1, folder->nodes[node].name);
		to_weight(out, folder->nodes[node].self);
		output_string(out, "]");
	}
	output_string(out, "]}\n");
	return 0;
}

const struct to_format to_json = {
        .name = "json",
        .about = "JSON of our own: names, and stacks as (parent, name, count)",
        .write = write_json,
};

/* A text of a tab separated field, or of an array in one (quoted). */
static void put_field(struct output *out, struct slice text, bool is_quoted)
{
	size_t plain = 0;

	output_string(out, is_quoted ? "'" : "");
	for (size_t i = 0; i < text.size; i++) {
		char c = text.at[i];

		if (c != '\\' && c != '\'' && c != '\t' && c != '\n')
			continue;
		output_add(out, text.at + plain, i - plain);
		output_string(out, c == '\t' ? "\\t" :
		                   c == '\n' ? "\\n" :
		                   c == '\'' ? "\\'" :
		                               "\\\\");
		plain = i + 1;
	}
	output_add(out, text.at + plain, text.size - plain);
	output_string(out, is_quoted ? "'" : "");
}

/* The comm is the outermost frame; "pid N", where --by gave one, follows it. */
static void put_row(const struct folder *folder, const uint32_t *path, size_t nr,
                    const struct folded_header *header, struct output *out)
{
	const char *started = folded_header_get(header, "started");
	const char *host = folded_header_get(header, "host");
	const char *pid = nr > 1 ? strtab_text(&folder->names, path[1]) : "";

	pid = strncmp(pid, "pid ", 4) == 0 ? pid + 4 : "0";
	started = started ? started : "1970-01-01 00:00:00";
	host = host ? host : "";
	put_field(out, (struct slice){started, strlen(started)}, false);
	output_string(out, "\t");
	put_field(out, (struct slice){host, strlen(host)}, false);
	output_string(out, "\t");
	put_field(out, strtab_slice(&folder->names, path[0]), false);
	output_printf(out, "\t%s\t[", pid);
	for (size_t i = 0; i < nr; i++) {
		output_string(out, i ? "," : "");
		put_field(out, strtab_slice(&folder->names, path[i]), true);
	}
	output_string(out, "]\t");
}

static int write_rows(const struct folder *folder, const struct folded_header *header,
                      struct output *out, struct err *err UNUSED)
{
	uint32_t *path = NULL;
	size_t capacity = 0;

	for (uint32_t node = 1; node < folder->nr; node++) {
		size_t nr;

		if (!folder->nodes[node].self)
			continue;
		nr = to_path(folder, node, &path, &capacity);
		put_row(folder, path, nr, header, out);
		to_weight(out, folder->nodes[node].self);
		output_string(out, "\n");
	}
	free(path);
	return 0;
}

const struct to_format to_rows = {
        .name = "rows",
        .about = "tab separated time, host, comm, pid, stack, count, for databases",
        .write = write_rows,
};
