#include "share/compat.h"
#include "collapse/profile.h"

#include "share/mem.h"

void profile_init(struct profile *profile, struct folder *folder)
{
	*profile = (struct profile){.folder = folder};
	folder_init(&profile->stacks);
}

void profile_release(struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_modules; i++)
		free(profile->modules[i].path);
	folder_release(&profile->stacks);
	strtab_release(&profile->threads);
	free(profile->frames);
	free(profile->modules);
	free(profile->samples);
	free(profile->stack_of);
	*profile = (struct profile){0};
}

/* ---- filling ---- */

static uint32_t name_of(struct profile *profile, struct slice text)
{
	return text.size ? folder_name(profile->folder, text.at, text.size) : PROFILE_NONE;
}

uint32_t profile_thread_id(struct profile *profile, int32_t pid, int32_t tid, struct slice comm,
                           struct slice cgroup)
{
	struct profile_thread thread = {pid, tid, name_of(profile, comm), name_of(profile, cgroup)};

	return strtab_id(&profile->threads, (const char *)&thread, sizeof(thread));
}

void profile_add_sample(struct profile *profile, const struct profile_sample *sample)
{
	MEM_GROW(profile->samples, profile->nr_samples, profile->samples_capacity);
	profile->samples[profile->nr_samples++] = *sample;
}

uint32_t profile_add_frame(struct profile *profile, const struct profile_frame *frame)
{
	MEM_GROW(profile->frames, profile->nr_frames, profile->frames_capacity);
	profile->frames[profile->nr_frames] = *frame;
	if (frame->module != PROFILE_NONE)
		profile->frames[profile->nr_frames].module += (uint32_t)profile->first_module;
	return (uint32_t)profile->nr_frames++;
}

void profile_set_stack(struct profile *profile, size_t number, uint32_t node)
{
	if (number >= profile->nr_stacks) {
		size_t nr = MAX_OF(number + 1, profile->nr_stacks * 2);

		profile->stack_of = mem_resize(profile->stack_of, nr, sizeof(*profile->stack_of));
		while (profile->nr_stacks < nr)
			profile->stack_of[profile->nr_stacks++] = PROFILE_NONE;
	}
	profile->stack_of[number] = node;
}

static void add_modules(struct profile *profile, const struct modules *modules)
{
	for (size_t i = 0; i < modules_nr(modules); i++) {
		const struct module *module = modules_at(modules, i);

		MEM_GROW(profile->modules, profile->nr_modules, profile->modules_capacity);
		profile->modules[profile->nr_modules++] = (struct profile_module){
		        .path = mem_strdup(module->key.path), .build_id = module->key.build_id};
	}
	for (size_t i = profile->first_frame; i < profile->nr_frames; i++) {
		const struct profile_frame *frame = &profile->frames[i];

		if (frame->module != PROFILE_NONE)
			profile->modules[frame->module].end =
			        MAX_OF(profile->modules[frame->module].end, frame->address + 1);
	}
}

void profile_settle(struct profile *profile, const struct modules *modules)
{
	size_t nr = profile->first_sample;

	for (size_t i = nr; i < profile->nr_samples; i++) {
		struct profile_sample *sample = &profile->samples[i];
		uint32_t node = sample->stack < profile->nr_stacks ?
		                        profile->stack_of[sample->stack] :
		                        PROFILE_NONE;

		if (node == PROFILE_NONE)
			continue;
		sample->stack = node;
		profile->total += sample->weight;
		profile->samples[nr++] = *sample;
	}
	profile->nr_samples = profile->first_sample = nr;
	add_modules(profile, modules);
	profile->first_frame = profile->nr_frames;
	profile->first_module = profile->nr_modules;
	free(profile->stack_of);
	profile->stack_of = NULL;
	profile->nr_stacks = 0;
}

void profile_of_folder(struct profile *profile)
{
	struct folder *folder = profile->folder;

	profile_release(profile);
	profile_init(profile, folder);
	profile_thread_id(profile, -1, -1, (struct slice){0}, (struct slice){0});
	for (uint32_t name = 0; name < folder->names.nr; name++)
		profile_add_frame(profile, &(struct profile_frame){.name = name,
		                                                   .bare = name,
		                                                   .file = PROFILE_NONE,
		                                                   .module = PROFILE_NONE});
	for (uint32_t node = 1; node < folder->nr; node++) {
		folder_append(&profile->stacks, folder->nodes[node].parent,
		              folder->nodes[node].name);
		if (folder->nodes[node].self)
			profile_add_sample(profile, &(struct profile_sample){
			                                    .stack = node,
			                                    .cpu = PROFILE_NONE,
			                                    .weight = folder->nodes[node].self});
	}
	profile->total = folder->total;
}

/* ---- for writers ---- */

struct profile_thread profile_thread_at(const struct profile *profile, uint32_t id)
{
	struct profile_thread thread;

	memcpy(&thread, strtab_text(&profile->threads, id), sizeof(thread));
	return thread;
}

bool profile_is_recorded(const struct profile *profile)
{
	return profile->nr_modules > 0;
}

void profile_functions_init(struct profile_functions *functions, const struct profile *profile)
{
	struct strtab keys = {0};

	functions->of_frame = mem_alloc((profile->nr_frames + 1) * sizeof(uint32_t));
	functions->frame = mem_alloc((profile->nr_frames + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < profile->nr_frames; i++) {
		const struct profile_frame *frame = &profile->frames[i];
		uint32_t key[3] = {frame->name, frame->file, frame->module};
		uint32_t id = strtab_id(&keys, (const char *)key, sizeof(key));

		functions->of_frame[i] = id;
		functions->frame[id] = (uint32_t)i;
	}
	functions->nr = keys.nr;
	strtab_release(&keys);
}

void profile_functions_release(struct profile_functions *functions)
{
	free(functions->of_frame);
	free(functions->frame);
}

void profile_order_init(struct profile_order *order, const struct profile *profile)
{
	size_t nr_threads = profile->threads.nr, at = 0;
	size_t *first = mem_zalloc((nr_threads + 1) * sizeof(*first));

	order->samples = mem_alloc((profile->nr_samples + 1) * sizeof(*order->samples));
	for (size_t i = 0; i < profile->nr_samples; i++)
		first[profile->samples[i].thread]++;
	for (size_t thread = 0; thread <= nr_threads; thread++) {
		size_t nr = first[thread];

		first[thread] = at;
		at += nr;
	}
	/* each thread's mark moves on to where the next thread begins */
	for (size_t i = 0; i < profile->nr_samples; i++)
		order->samples[first[profile->samples[i].thread]++] = i;
	memmove(first + 1, first, nr_threads * sizeof(*first));
	first[0] = 0;
	order->first = first;
}

void profile_order_release(struct profile_order *order)
{
	free(order->samples);
	free(order->first);
}
