#include "share/compat.h"
#include "share/readahead.h"

#include "share/mem.h"

#include <pthread.h>
#include <sys/mman.h>

/* So much is put in place at once, and so far ahead. Both multiples of any page's size. */
#define STEP  ((size_t)2 << 20)
#define AHEAD ((size_t)12 << 20)

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* asm-generic/mman-common.h of Linux 5.14 */
#endif

struct readahead {
	char *map;
	size_t size;
	size_t told; /* the reader's own: where it was when it last said so */

	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t moved;
	size_t at, forgotten;
	size_t gone; /* taken away, or about to be, up to here */
	bool is_over;
};

/* Takes away what is to be forgotten; the lock is held, but not meanwhile. */
static void take_away(struct readahead *ra)
{
	size_t from = ra->gone, until = ra->forgotten;

	ra->gone = until;
	pthread_mutex_unlock(&ra->lock);
	madvise(ra->map + from, until - from, MADV_DONTNEED);
	pthread_mutex_lock(&ra->lock);
}

static void *run(void *arg)
{
	struct readahead *ra = arg;
	size_t placed = 0;

	pthread_mutex_lock(&ra->lock);
	while (!ra->is_over) {
		size_t until = MIN_OF(ra->size, ra->at + AHEAD), size;

		placed = MAX_OF(placed, ra->at / STEP * STEP);
		if (ra->forgotten > ra->gone) {
			take_away(ra);
		} else if (placed < until) {
			size = MIN_OF(STEP, ra->size - placed);
			pthread_mutex_unlock(&ra->lock);
			/* what cannot be had now fails the reader in its own way */
			if (madvise(ra->map + placed, size, MADV_POPULATE_READ) == 0)
				placed += size;
			else
				placed = ra->size;
			pthread_mutex_lock(&ra->lock);
		} else {
			pthread_cond_wait(&ra->moved, &ra->lock);
		}
	}
	pthread_mutex_unlock(&ra->lock);
	return NULL;
}

struct readahead *readahead_start(void *map, size_t size)
{
	struct readahead *ra = mem_zalloc(sizeof(*ra));

	ra->map = map;
	ra->size = size;
	pthread_mutex_init(&ra->lock, NULL);
	pthread_cond_init(&ra->moved, NULL);
	if (pthread_create(&ra->thread, NULL, run, ra) == 0)
		return ra;
	pthread_cond_destroy(&ra->moved);
	pthread_mutex_destroy(&ra->lock);
	free(ra);
	return NULL;
}

void readahead_stop(struct readahead *ra)
{
	if (!ra)
		return;
	pthread_mutex_lock(&ra->lock);
	ra->is_over = true;
	pthread_cond_signal(&ra->moved);
	pthread_mutex_unlock(&ra->lock);
	pthread_join(ra->thread, NULL);
	pthread_cond_destroy(&ra->moved);
	pthread_mutex_destroy(&ra->lock);
	free(ra);
}

void readahead_reached(struct readahead *ra, size_t at, size_t forgotten)
{
	if (at < ra->told + STEP)
		return;
	ra->told = at;
	pthread_mutex_lock(&ra->lock);
	ra->at = at;
	ra->forgotten = forgotten;
	/* the thread gets no processor: memory must not grow for that */
	if (forgotten > ra->gone + AHEAD)
		take_away(ra);
	pthread_cond_signal(&ra->moved);
	pthread_mutex_unlock(&ra->lock);
}
