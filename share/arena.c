#include "share/compat.h"
#include "share/arena.h"

#include "share/mem.h"

struct arena_block {
	struct arena_block *next;
	size_t size; /* of data */
	_Alignas(8) char data[];
};

static void add_block(struct arena *arena, size_t at_least)
{
	size_t size = arena->block_size ? arena->block_size : 64 * 1024;
	struct arena_block *block;

	if (size < at_least)
		size = at_least;
	block = mem_alloc(sizeof(*block) + size);
	block->size = size;
	block->next = arena->blocks;
	arena->blocks = block;
	arena->free = block->data;
	arena->end = block->data + size;
	arena->total_size += size;
}

void arena_release(struct arena *arena)
{
	struct arena_block *block = arena->blocks;

	while (block) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
	*arena = (struct arena){.block_size = arena->block_size};
}

void arena_reset(struct arena *arena)
{
	struct arena_block *block = arena->blocks;

	if (!block)
		return;
	while (block->next) {
		struct arena_block *next = block->next;

		block->next = next->next;
		arena->total_size -= next->size;
		free(next);
	}
	arena->free = block->data;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	uintptr_t aligned = ((uintptr_t)arena->free + 7) & ~(uintptr_t)7;
	void *p;

	if (!arena->free || aligned > (uintptr_t)arena->end ||
	    (size_t)((uintptr_t)arena->end - aligned) < size) {
		add_block(arena, size);
		aligned = (uintptr_t)arena->free;
	}
	p = (void *)aligned;
	arena->free = (char *)p + size;
	return p;
}

char *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
	char *copy;

	if ((size_t)(arena->end - arena->free) < size + 1)
		add_block(arena, size + 1);
	copy = arena->free;
	if (size)
		memcpy(copy, bytes, size);
	copy[size] = '\0';
	arena->free += size + 1;
	return copy;
}
