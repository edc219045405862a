/* fuzz_procmaps.c - the texts of /proc/PID/maps, /proc/PID/stat and /proc/modules. */
#include "collect/procmaps.c"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char paths_of_modules[] = "kernel/fs/ext4/ext4.ko.xz: x\nnonsense\nb/c-d.ko:\n";
	const struct buf paths = {.at = paths_of_modules, .size = sizeof(paths_of_modules) - 1};
	struct recout rec = {0};
	uint64_t nr_threads = 1;
	struct procmaps maps;
	char *text, *comm;
	bool is_kernel;

	/* as many records as wait in a block: nothing is written */
	if (size > 4096)
		return 0;
	procmaps_init(&maps, &rec, true, false);
	text = mem_strndup((const char *)bytes, size);
	add_map_lines(&maps, 1, text);
	free(text);
	text = mem_strndup((const char *)bytes, size);
	if (parse_stat(text, &comm, &is_kernel, &nr_threads))
		recout_comm(&rec, 1, 1, comm);
	free(text);
	text = mem_strndup((const char *)bytes, size);
	text[strcspn(text, "\n")] = '\0';
	add_module(&maps, text, &paths, "6.1");
	free(text);
	for (size_t at = 0; at < rec.block.size;) {
		struct perf_event_header header;

		memcpy(&header, rec.block.at + at, sizeof(header));
		if (header.size < sizeof(header) || header.size % 8 ||
		    header.size > rec.block.size - at)
			abort();
		at += header.size;
	}
	procmaps_release(&maps);
	buf_release(&rec.block);
	buf_release(&rec.record);
	return 0;
}
