#include "share/compat.h"
#include "collapse/carry.h"

#include "share/mem.h"

static uint32_t carry_text(struct session *to, const struct session *from, uint32_t id)
{
	struct slice text;

	if (id == UINT32_MAX)
		return id;
	text = strtab_slice(&from->texts, id);
	return strtab_id(&to->texts, text.at, text.size);
}

static struct module *carry_module(struct session *to, const struct module *module)
{
	return module ? modules_intern(to->modules, &module->key) : NULL;
}

static void carry_maps(struct session *to, struct maps **maps, const struct session *from,
                       const struct maps *old)
{
	for (size_t i = 0; i < old->nr; i++) {
		struct map map = old->at[i];

		/* without a module the name is all there is */
		if (map.module)
			map.module = carry_module(to, map.module);
		else
			map.name = carry_text(to, from, map.name);
		maps_insert(maps, &map);
	}
}

static void carry_thread(struct session *to, const struct session *from, const struct thread *old)
{
	struct thread *thread = session_thread(to, old->pid, old->tid);
	const struct process *before = old->process;
	struct process *process = thread->process;

	thread->comm = carry_text(to, from, old->comm);
	/* the first thread of a process brings what belongs to all of them */
	if (process->maps->nr || process->replaced)
		return;
	carry_maps(to, &process->maps, from, before->maps);
	if (before->replaced) {
		process->replaced = maps_new();
		carry_maps(to, &process->replaced, from, before->replaced);
	}
	if (before->jitdump)
		process->jitdump =
		        strtab_text(&to->texts, strtab_cstr(&to->texts, before->jitdump));
}

void carry_session(struct session *to, const struct session *from)
{
	for (size_t i = 0; i < from->nr_thread_slots; i++)
		if (from->threads[i] && !from->threads[i]->is_gone)
			carry_thread(to, from, from->threads[i]);
	carry_maps(to, &to->kernel, from, from->kernel);
	to->kernel_module = carry_module(to, from->kernel_module);
	for (size_t i = 0; i < from->nr_cgroups; i++) {
		struct session_cgroup cgroup = from->cgroup[i];

		cgroup.path = carry_text(to, from, cgroup.path);
		MEM_GROW(to->cgroup, to->nr_cgroups, to->cgroups_capacity);
		to->cgroup[to->nr_cgroups++] = cgroup;
	}
}
