/*
 * sigring.h - the memory that processes under the signal sampler share with
 * collect: many writers, which may be signal handlers, one reader.
 *
 * A slot is 8 bytes (state, size) and a record of the stream behind them; it
 * is reserved by moving head, filled, then made ready. The reader clears what
 * it has read, so that a slot not yet begun has state 0. A writer that dies
 * half-way leaves a busy slot, which the reader steps over after a while.
 */
#ifndef COLLECT_SIGRING_H
#define COLLECT_SIGRING_H

#include "share/compat.h"

#include <linux/perf_event.h>

#define SIGRING_ENV     "FLAME_SIGNAL_RING" /* path of the memory */
#define SIGRING_MAGIC   0x31676973u
#define SIGRING_DATA_AT 4096

/* The longest record has 16 bits of size; a slot adds its own 8 bytes. */
#define SIGRING_MAX_STACK (64 * 1024 - 1024)

enum sigring_state {
	SIGRING_EMPTY,
	SIGRING_BUSY,
	SIGRING_READY,
};

struct sigring {
	uint32_t magic;
	uint32_t signal;     /* what interrupts threads */
	uint32_t freq_hz;    /* of each thread's clock */
	uint32_t wall;       /* 0: CPU time, 1: wall-clock time */
	uint32_t stack_size; /* bytes copied at most */
	uint32_t unused;
	uint64_t regs_mask; /* as sample_regs_user */
	uint64_t size;      /* data bytes, a power of two */
	uint64_t event_id;
	/* below: changed atomically by everybody */
	uint64_t head, tail;
	uint64_t nr_lost;
	uint64_t nr_processes; /* that loaded the library */
	uint64_t nr_conflicts; /* that use the signal themselves */
};

static inline uint8_t *sigring_data(struct sigring *ring)
{
	return (uint8_t *)ring + SIGRING_DATA_AT;
}

static inline uint64_t *sigring_word(struct sigring *ring, uint64_t position)
{
	return (uint64_t *)(void *)(sigring_data(ring) + (position & (ring->size - 1)));
}

#endif
