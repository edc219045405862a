/*
 * names_at.c - the names of addresses of one file, for tests and for people
 * who look for an error.
 *
 * usage: names_at [-d full|short|none] [-ilot] [-D DEBUGDIR] FILE <addresses
 *   addresses are as linked (vaddr), hexadecimal, one a line; -o: file offsets
 *   -i: without inlined functions; -l: file:line; -t: print what it cost
 *   FILE may be "[kernel]": the running one; addresses are those of its list
 * A line of output for each: name, "<" and the name it is inlined into, ...
 */
#include "share/compat.h"

#include "collapse/names/elffile.h"
#include "collapse/names/kallsyms.h"
#include "collapse/names/symbolize.h"
#include "share/guard.h"
#include "share/msg.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

/* Memory of its own, without what is mapped from files, in kB (proc(5)). */
static unsigned long own_kb(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long kb = 0;
	char line[128];

	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "RssAnon: %lu", &kb);
	if (status)
		fclose(status);
	return kb;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The file offset of an address: the inverse of elffile_vaddr(). */
static uint64_t off_of(const struct elffile *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (s->type == 1 && vaddr - s->vaddr < s->memory_size)
			return vaddr - s->vaddr + s->off;
	}
	return UINT64_MAX;
}

int main(int argc, char **argv)
{
	static const char *const hows[] = {"full", "short", "none"};
	const char *debug_dirs[2] = {NULL, NULL};
	struct module_options options = {0};
	struct strtab names = {0};
	struct symbolize_options how = {.names = &names};
	struct module_key key = {.kind = MODULE_FILE, .pid = -1};
	bool are_offs = false, timed = false;
	struct modules *modules;
	struct symbolizer *symbolizer;
	struct module *module;
	static struct symbol out[SYMBOLIZE_MAX];
	uint64_t address;
	double begin;
	int option;

	msg_init("names_at");
	guard_init();
	while ((option = getopt(argc, argv, "d:iloD:t")) != -1) {
		if (option == 'd')
			for (unsigned i = 0; i < 3; i++)
				if (strcmp(optarg, hows[i]) == 0)
					how.demangle = (enum symbolize_demangle)i;
		if (option == 'D') {
			debug_dirs[0] = optarg;
			options.debug_dirs = debug_dirs;
		}
		how.no_inlines |= option == 'i';
		how.srcline |= option == 'l';
		are_offs |= option == 'o';
		timed |= option == 't';
	}
	if (optind + 1 != argc)
		return EXIT_MISUSE;
	/* a recording has whole paths only */
	if (strcmp(argv[optind], "[kernel]") == 0) {
		key.kind = MODULE_KERNEL;
		key.build_id = kallsyms_running_build_id();
		key.path = strdup("[kernel.kallsyms]");
	} else {
		key.path = realpath(argv[optind], NULL);
	}
	if (!key.path) {
		perror(argv[optind]);
		return EXIT_FAILED;
	}
	modules = modules_new(&options);
	symbolizer = symbolizer_new(modules, &how);
	module = modules_intern(modules, &key);
	if (key.kind == MODULE_FILE && !module_elf(modules, module)) {
		fprintf(stderr, "%s: %s\n", key.path, module_why(module));
		return EXIT_FAILED;
	}
	begin = cpu_seconds();
	while (scanf("%" SCNx64, &address) == 1) {
		uint64_t off = are_offs || !module->elf ? address : off_of(module->elf, address);
		size_t nr = symbolize(symbolizer, module, off, false, out);

		for (size_t i = 0; i < nr; i++) {
			printf("%s%s", i ? " < " : "", strtab_text(&names, out[i].name));
			if (out[i].line)
				printf(" %s:%u", strtab_text(&names, out[i].file), out[i].line);
		}
		putchar('\n');
	}
	if (timed)
		fprintf(stderr, "%.6f s of CPU, %lu kB\n", cpu_seconds() - begin, own_kb());
	symbolizer_free(symbolizer);
	modules_free(modules);
	if (guard_nr_cut())
		fprintf(stderr, "files that became shorter: %u\n", guard_nr_cut());
	strtab_release(&names);
	free((char *)key.path);
	return EXIT_COMPLETE;
}
