/*
 * options.h - the command line of collect, as settings.
 *
 * Decides: names of options, which of them go together. --check and --list
 * are answered here, since they need nothing else.
 */
#ifndef COLLECT_OPTIONS_H
#define COLLECT_OPTIONS_H

#include "collect/countout.h"
#include "collect/events.h"
#include "collect/sampling.h"
#include "collect/target.h"
#include "share/compat.h"

struct settings {
	struct event_list events;
	struct target target;
	struct sampling sampling;
	size_t ring_size;
	uint64_t duration_ns;  /* 0 = no limit */
	uint64_t delay_ns;     /* 0 = none */
	bool switched;         /* SIGUSR1 starts and stops */
	int zstd_level;        /* 0 = no compression */
	uint64_t overwrite_ns; /* flight recorder: keep the last so many ns; 0 = keep all */
	bool some_cpus;        /* -C was given */
	const char *output;
	bool quiet;
	bool whole_machine;
	enum { SAMPLER_ANY, SAMPLER_PERF, SAMPLER_SIGNAL } sampler;
	bool wall;
	bool off_cpu;
	uint64_t min_block_ns; /* of off_cpu: shorter waits are added up */
	bool namespaces;
	const char *follow; /* record processes of this name, or NULL */
	bool freq_given;
	bool counting;
	enum count_format count_format;
	uint64_t interval_ns, nr_runs;
};

/*
 * Fills settings, whose defaults the caller has set; argv is kept by
 * reference. Returns -1 to go on, else an exit status; says what is wrong.
 */
int options_parse(struct settings *settings, int argc, char **argv);

#endif
