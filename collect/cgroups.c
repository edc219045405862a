#include "share/compat.h"
#include "collect/cgroups.h"

#include "share/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* More groups than that are not told; a machine of many containers has hundreds. */
#define MAX_GROUPS 65536

/*
 * Where a hierarchy is mounted: version 2, or that of version 1 with a
 * controller. The caller frees; NULL = nowhere.
 */
static char *mount_of(const char *wanted_type, const char *controller)
{
	FILE *file = fopen("/proc/self/mounts", "re");
	char line[4096], *found = NULL;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *state = NULL, *device = strtok_r(line, " ", &state),
		     *place = strtok_r(NULL, " ", &state), *type = strtok_r(NULL, " ", &state),
		     *options = strtok_r(NULL, " ", &state);

		if (device && place && type && options && strcmp(type, wanted_type) == 0 &&
		    strstr(options, controller))
			found = mem_strdup(place);
	}
	if (file)
		fclose(file);
	return found;
}

struct folders {
	char **at;
	size_t nr, capacity;
};

static void add_children(struct folders *folders, const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && folders->nr < MAX_GROUPS && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		MEM_GROW(folders->at, folders->nr, folders->capacity);
		folders->at[folders->nr++] = mem_printf("%s/%s", folder, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* A folder and all below it, parents first. */
static struct folders all_folders(const char *root)
{
	struct folders folders = {0};

	MEM_GROW(folders.at, folders.nr, folders.capacity);
	folders.at[folders.nr++] = mem_strdup(root);
	for (size_t i = 0; i < folders.nr; i++)
		add_children(&folders, folders.at[i]);
	return folders;
}

static void free_folders(struct folders *folders)
{
	for (size_t i = 0; i < folders->nr; i++)
		free(folders->at[i]);
	free(folders->at);
}

static int open_folder(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The folder whose name holds the id of a container, as docker-ID.scope and ID do. */
static int open_container(const char *mount, const char *id)
{
	struct folders folders = all_folders(mount);
	int fd = -1;

	for (size_t i = 1; i < folders.nr && fd < 0; i++)
		if (strstr(strrchr(folders.at[i], '/'), id))
			fd = open_folder(folders.at[i]);
	free_folders(&folders);
	return fd;
}

int cgroups_open(const char *name, struct err *err)
{
	char *mount = mount_of("cgroup2", ""), *path;
	int fd;

	if (!mount)
		return err_set(
		        err,
		        "-G needs control groups of version 2, which are not mounted; as root: "
		        "mount -t cgroup2 none /sys/fs/cgroup");
	if (strncmp(name, mount, strlen(mount)) == 0)
		path = mem_strdup(name);
	else
		path = mem_printf("%s/%s", mount, name);
	fd = open_folder(path);
	if (fd < 0 && strlen(name) >= 8 && !strchr(name, '/'))
		fd = open_container(mount, name);
	free(path);
	if (fd < 0)
		err_set(err, "there is no control group '%s' below %s", name, mount);
	free(mount);
	return fd;
}

void cgroups_each(void (*visit)(uint64_t id, const char *path, void *arg), void *arg)
{
	char *mount = mount_of("cgroup", "perf_event");
	struct folders folders = {0};
	struct stat st;

	if (!mount)
		mount = mount_of("cgroup2", "");
	if (mount)
		folders = all_folders(mount);
	for (size_t i = 0; i < folders.nr; i++)
		if (stat(folders.at[i], &st) == 0)
			visit(st.st_ino, i ? folders.at[i] + strlen(mount) : "/", arg);
	free_folders(&folders);
	free(mount);
}
