#include "share/compat.h"
#include "collapse/names/debuginfod.h"

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

struct debuginfod_client;

typedef int find_function(struct debuginfod_client *client, const unsigned char *id, int size,
                          char **path);
typedef int progress_function(struct debuginfod_client *client, long a, long b);

/* One for the process: the library keeps a connection open in its client. */
static struct {
	bool tried;
	void *handle;
	struct debuginfod_client *client;
	find_function *find_debug, *find_program;
	void (*end)(struct debuginfod_client *client);
	struct timespec deadline;
	const struct module_options *options; /* of the question that is open */
	const char *name;
} server;

static struct debuginfod_counts counts;

struct debuginfod_counts debuginfod_counts(void)
{
	return counts;
}

static bool is_too_late(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > server.deadline.tv_sec ||
	       (now.tv_sec == server.deadline.tv_sec && now.tv_nsec >= server.deadline.tv_nsec);
}

/* Called by the library again and again while it waits; not 0 gives up. */
static int waiting(struct debuginfod_client *client UNUSED, long done, long all)
{
	if (server.options->progress)
		server.options->progress(server.name, done, all);
	return is_too_late();
}

static void connect_once(const struct module_options *options)
{
	struct debuginfod_client *(*begin)(void);
	void (*set_progress)(struct debuginfod_client * client, progress_function * function);

	if (server.tried)
		return;
	server.tried = true;
	clock_gettime(CLOCK_MONOTONIC, &server.deadline);
	server.deadline.tv_sec += options->debuginfod_seconds;
	server.handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!server.handle)
		return;
	*(void **)&begin = dlsym(server.handle, "debuginfod_begin");
	*(void **)&set_progress = dlsym(server.handle, "debuginfod_set_progressfn");
	*(void **)&server.end = dlsym(server.handle, "debuginfod_end");
	*(void **)&server.find_debug = dlsym(server.handle, "debuginfod_find_debuginfo");
	*(void **)&server.find_program = dlsym(server.handle, "debuginfod_find_executable");
	if (!begin || !set_progress || !server.end || !server.find_debug || !server.find_program)
		return;
	server.client = begin();
	if (server.client)
		set_progress(server.client, waiting);
}

char *debuginfod_path(const struct module_options *options, const struct build_id *id,
                      const char *name, bool is_debug)
{
	char hex[2 * BUILD_ID_MAX + 1] = "", *path = NULL;
	int fd;

	if (!options || !options->debuginfod_seconds || !id->size)
		return NULL;
	connect_once(options);
	if (!server.client)
		return NULL;
	if (is_too_late()) {
		counts.nr_late++;
		return NULL;
	}
	server.options = options;
	server.name = name;
	for (uint8_t i = 0; i < id->size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	counts.nr_asked++;
	if (options->progress)
		options->progress(name, -1, -1);
	/* size 0: the id is given as hexadecimal digits */
	fd = (is_debug ? server.find_debug :
	                 server.find_program)(server.client, (const unsigned char *)hex, 0, &path);
	if (options->progress)
		options->progress(NULL, 0, 0);
	if (fd < 0) {
		counts.nr_late += is_too_late();
		return NULL;
	}
	counts.nr_found++;
	close(fd);
	return path;
}

void debuginfod_close(void)
{
	if (server.client)
		server.end(server.client);
	if (server.handle)
		dlclose(server.handle);
	server.client = NULL;
	server.handle = NULL;
	server.tried = false;
}
