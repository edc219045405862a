/*
 * sysprof.c - sysprof's recordings: XML of version 1, binary captures since.
 *
 * The XML is a tree of nodes with their own weights. A capture holds samples
 * of addresses, maps and process names: "libfoo.so+0x1234" below the process.
 *
 * Source: sysprof 1.2, profile.c (profile_save); sysprof 3.48,
 * libsysprof-capture/sysprof-capture-types.h.
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/idmap.h"
#include "collapse/formats/stacktable.h"
#include "collapse/formats/xmlin.h"
#include "share/mem.h"
#include "share/num.h"
#include "share/perfrec.h"

static int detect_xml(struct slice head, bool is_all UNUSED)
{
	return head_has(head, "<profile>") && head_has(head, "<call_tree>") ? 95 : 0;
}

/* ---- XML ---- */

struct tree {
	struct stacktable table;
	weight_fx *self;
	size_t nr, capacity;
	struct idmap rows; /* node id -> row */
	uint64_t *parents; /* node ids, by row */
	size_t nr_parents, parents_capacity;
	struct idmap names; /* object id -> name id */
};

static uint64_t take_number(struct xmlin *xml)
{
	struct slice text = xmlin_text(xml);
	uint64_t value = 0;

	num_parse_u64(text.at, text.size, &value);
	return value;
}

static uint64_t attribute_number(const struct xmlin *xml, const char *name)
{
	struct slice text = xmlin_attribute(xml, name);
	uint64_t value = 0;

	if (text.at)
		num_parse_u64(text.at, text.size, &value);
	return value;
}

static void add_node(struct tree *tree, uint64_t id)
{
	MEM_GROW(tree->self, tree->nr, tree->capacity);
	MEM_GROW(tree->parents, tree->nr_parents, tree->parents_capacity);
	tree->self[tree->nr++] = 0;
	tree->parents[tree->nr_parents++] = 0;
	idmap_set(&tree->rows, id, stacktable_add(&tree->table, STACKTABLE_NONE, STACKTABLE_NONE));
}

/* Objects come before nodes: <object id><name>"x"</name>, <node id><object><parent><self> */
static void take_element(struct tree *tree, struct xmlin *xml, struct folder *folder,
                         uint64_t *object, bool *in_node)
{
	uint32_t row = (uint32_t)tree->nr - 1;

	if (xmlin_is(xml, "object") && !*in_node) {
		*object = attribute_number(xml, "id");
	} else if (xmlin_is(xml, "name")) {
		struct slice text = xmlin_text(xml);

		if (text.size >= 2 && text.at[0] == '"' && text.at[text.size - 1] == '"')
			text = (struct slice){text.at + 1, text.size - 2};
		idmap_set(&tree->names, *object, folder_name(folder, text.at, text.size));
	} else if (xmlin_is(xml, "node")) {
		add_node(tree, attribute_number(xml, "id"));
		*in_node = true;
	} else if (!*in_node) {
		return;
	} else if (xmlin_is(xml, "object")) {
		tree->table.rows[row].name = idmap_get(&tree->names, take_number(xml));
	} else if (xmlin_is(xml, "parent")) {
		tree->parents[row] = take_number(xml);
	} else if (xmlin_is(xml, "self")) {
		tree->self[row] = weight_from_u64(take_number(xml));
	}
}

static int parse_xml(struct input *in, struct folder *folder,
                     const struct format_options *options UNUSED,
                     struct folded_header *header UNUSED, struct format_report *report,
                     struct err *err)
{
	struct tree tree = {0};
	uint64_t object = 0;
	struct xmlin xml;
	bool in_node = false;
	int more, result = 0;

	if (xmlin_open(&xml, in, err))
		return -1;
	format_unit(report, "cpu", "samples");
	while ((more = xmlin_next(&xml)) > 0) {
		if (!xml.is_end)
			take_element(&tree, &xml, folder, &object, &in_node);
		else if (xmlin_is(&xml, "node"))
			in_node = false;
	}
	if (more < 0)
		format_bad(report, "line %d: %s", xml.bad_line, xml.bad);
	xmlin_close(&xml);
	for (uint32_t row = 0; row < tree.nr; row++)
		tree.table.rows[row].parent = tree.parents[row] ?
		                                      idmap_get(&tree.rows, tree.parents[row]) :
		                                      STACKTABLE_NONE;
	for (uint32_t row = 0; row < tree.nr && !result; row++)
		if (tree.self[row] &&
		    !format_count(folder, stacktable_node(&tree.table, folder, 0, row),
		                  tree.self[row], report, err))
			result = -1;
	free(tree.self);
	free(tree.parents);
	stacktable_release(&tree.table);
	idmap_release(&tree.rows);
	idmap_release(&tree.names);
	return result;
}

/* ---- captures ---- */

#define CAPTURE_MAGIC       0xfdca975eu
#define CAPTURE_HEADER_SIZE 256
#define CAPTURE_FRAME_SIZE  24

enum {
	FRAME_SAMPLE = 2,
	FRAME_MAP = 3,
	FRAME_PROCESS = 4,
	FRAME_JITMAP = 7,
};

struct map {
	int32_t pid;
	uint64_t start, end, offset;
	uint32_t name;
};

struct capture {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct map *maps;
	size_t nr_maps, maps_capacity;
	struct idmap processes, jit; /* pid -> name, address -> name */
};

static int detect_capture(struct slice head, bool is_all UNUSED)
{
	uint32_t magic;

	if (head.size < CAPTURE_HEADER_SIZE)
		return 0;
	memcpy(&magic, head.at, 4);
	return magic == CAPTURE_MAGIC || magic == __builtin_bswap32(CAPTURE_MAGIC) ? 100 : 0;
}

static uint32_t last_part(struct capture *capture, struct slice path)
{
	const char *end = path.size ? memchr(path.at, ' ', path.size) : NULL, *slash;

	if (end)
		path.size = (size_t)(end - path.at);
	slash = path.size ? memrchr(path.at, '/', path.size) : NULL;
	if (slash) {
		path.size -= (size_t)(slash + 1 - path.at);
		path.at = slash + 1;
	}
	return folder_name(capture->folder, path.at, path.size);
}

static uint32_t address_name(struct capture *capture, int32_t pid, uint64_t address)
{
	uint32_t id = idmap_get(&capture->jit, address);
	char text[320];
	int size;

	if (id != UINT32_MAX)
		return id;
	size = snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	for (size_t i = capture->nr_maps; i-- > 0;) {
		const struct map *map = &capture->maps[i];

		if (map->pid == pid && address >= map->start && address < map->end) {
			size = snprintf(text, sizeof(text), "%.250s+0x%llx",
			                strtab_text(&capture->folder->names, map->name),
			                (unsigned long long)(address - map->start + map->offset));
			break;
		}
	}
	return folder_name(capture->folder, text, (size_t)MIN_OF(size, (int)sizeof(text) - 1));
}

static int take_sample(struct capture *capture, int32_t pid, struct perfrec_cursor *c,
                       struct err *err)
{
	uint32_t nr = perfrec_u32(c) & 0xffff,
	         process = idmap_get(&capture->processes, (uint32_t)pid);
	int32_t tid = (int32_t)perfrec_u32(c);
	struct slice comm = {0};
	uint32_t node, nr_known = 0;
	struct perfrec_cursor from_root;
	uint64_t *addresses;

	if (process != UINT32_MAX)
		comm = strtab_slice(&capture->folder->names, process);
	node = format_root(capture->folder, capture->options, comm.at, comm.size, pid, tid);
	from_root = *c;
	addresses = mem_resize(NULL, nr + 1, sizeof(*addresses));
	for (uint32_t i = 0; i < nr && !from_root.bad; i++) {
		uint64_t address = perfrec_u64(&from_root);

		if (address < (uint64_t)-4095) /* others are perf's context markers */
			addresses[nr_known++] = address;
	}
	for (; nr_known; nr_known--)
		node = folder_child(capture->folder, node,
		                    address_name(capture, pid, addresses[nr_known - 1]));
	free(addresses);
	if (from_root.bad) {
		format_bad(capture->report, "a sample longer than its frame");
		return 0;
	}
	if (!nr)
		node = folder_child(capture->folder, node,
		                    folder_name(capture->folder, "[no stack]", 10));
	return format_count(capture->folder, node, WEIGHT_ONE, capture->report, err) ? 0 : -1;
}

static int take_frame(struct capture *capture, unsigned type, int32_t pid, struct perfrec_cursor *c,
                      bool samples, struct err *err)
{
	struct map map = {.pid = pid};

	if (type == FRAME_SAMPLE)
		return samples ? take_sample(capture, pid, c, err) : 0;
	if (samples)
		return 0;
	if (type == FRAME_MAP) {
		map.start = perfrec_u64(c);
		map.end = perfrec_u64(c);
		map.offset = perfrec_u64(c);
		perfrec_u64(c);
		map.name = last_part(capture, perfrec_text(c));
		MEM_GROW(capture->maps, capture->nr_maps, capture->maps_capacity);
		capture->maps[capture->nr_maps++] = map;
	} else if (type == FRAME_PROCESS) {
		idmap_set(&capture->processes, (uint32_t)pid, last_part(capture, perfrec_text(c)));
	} else if (type == FRAME_JITMAP) {
		for (uint32_t nr = perfrec_u32(c); nr && !c->bad; nr--) {
			uint64_t address = perfrec_u64(c);
			struct slice name = perfrec_text(c);

			if (!c->bad)
				idmap_set(&capture->jit, address,
				          folder_name(capture->folder, name.at, name.size));
			perfrec_bytes(c, name.size + 1);
		}
	}
	return 0;
}

/* Maps and names first, then samples: both may come late. */
static int walk(struct capture *capture, struct slice bytes, bool swap, bool samples,
                struct err *err)
{
	int result = 0;

	while (bytes.size >= CAPTURE_FRAME_SIZE && !result) {
		struct perfrec_cursor c = {(const uint8_t *)bytes.at,
		                           (const uint8_t *)bytes.at + bytes.size, swap, false};
		uint16_t size = perfrec_u16(&c);
		unsigned type;
		int32_t pid;

		perfrec_u16(&c); /* cpu */
		pid = (int32_t)perfrec_u32(&c);
		perfrec_u64(&c); /* time */
		type = perfrec_u32(&c) & 0xff;
		perfrec_u32(&c);
		if (size < CAPTURE_FRAME_SIZE || size > bytes.size)
			break;
		c.end = (const uint8_t *)bytes.at + size;
		result = take_frame(capture, type, pid, &c, samples, err);
		bytes.at += size;
		bytes.size -= size;
	}
	if (bytes.size && !samples && !result)
		format_bad(capture->report,
		           "the capture is cut or damaged %zu bytes before its end", bytes.size);
	return result;
}

static int parse_capture(struct input *in, struct folder *folder,
                         const struct format_options *options, struct folded_header *header UNUSED,
                         struct format_report *report, struct err *err)
{
	struct capture capture = {.folder = folder, .options = options, .report = report};
	struct slice bytes;
	uint32_t magic;
	int result;

	if (format_whole(in, &bytes, err))
		return -1;
	if (bytes.size < CAPTURE_HEADER_SIZE)
		return err_set(err, "the capture is cut in its header");
	format_unit(report, "cpu", "samples");
	memcpy(&magic, bytes.at, 4);
	bytes.at += CAPTURE_HEADER_SIZE;
	bytes.size -= CAPTURE_HEADER_SIZE;
	result = walk(&capture, bytes, magic != CAPTURE_MAGIC, false, err);
	if (!result)
		result = walk(&capture, bytes, magic != CAPTURE_MAGIC, true, err);
	free(capture.maps);
	idmap_release(&capture.processes);
	idmap_release(&capture.jit);
	return result;
}

const struct format format_sysprof = {
        .name = "sysprof",
        .about = "sysprof captures (.syscap)",
        .detect = detect_capture,
        .parse = parse_capture,
};

const struct format format_sysprof_xml = {
        .name = "sysprof-xml",
        .about = "sysprof 1.x profile in XML",
        .detect = detect_xml,
        .parse = parse_xml,
};
