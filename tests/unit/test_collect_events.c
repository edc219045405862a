/* test_collect_events.c - what is written after -e, and what sampling makes of it. */
#include "share/compat.h"

#include "collect/events.h"
#include "collect/sampling.h"

#include <criterion/criterion.h>
#include <linux/hw_breakpoint.h>

Test(events, rows)
{
	static const struct {
		const char *text;
		size_t nr;
		const char *name; /* of the last */
		uint32_t type;
		uint64_t config;
		bool exclude_user, exclude_kernel;
		unsigned int precise;
		size_t leader; /* of the last */
	} rows[] = {
	        {"cycles", 1, "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, 0, 0, 0},
	        {"cycles:u", 1, "cycles:u", PERF_TYPE_HARDWARE, 0, 0, 1, 0, 0},
	        {"cycles:k", 1, "cycles:k", PERF_TYPE_HARDWARE, 0, 1, 0, 0, 0},
	        {"cycles:uk", 1, "cycles:uk", PERF_TYPE_HARDWARE, 0, 0, 0, 0, 0},
	        {"cycles:upp", 1, "cycles:upp", PERF_TYPE_HARDWARE, 0, 0, 1, 2, 0},
	        {"r1a8", 1, "r1a8", PERF_TYPE_RAW, 0x1a8, 0, 0, 0, 0},
	        {"r1a8:u", 1, "r1a8:u", PERF_TYPE_RAW, 0x1a8, 0, 1, 0, 0},
	        {"cs,faults", 2, "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, 0,
	         1},
	        {"{cs,faults}:u", 2, "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 1,
	         0, 0},
	        {"cs,{cs,faults}", 3, "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0,
	         0, 1},
	        {"L1-dcache-loads", 1, "L1-dcache-loads", PERF_TYPE_HW_CACHE, 0, 0, 0, 0, 0},
	        {"LLC-store-misses", 1, "LLC-store-misses", PERF_TYPE_HW_CACHE, 0x10102, 0, 0, 0,
	         0},
	        {"dTLB-prefetches", 1, "dTLB-prefetches", PERF_TYPE_HW_CACHE, 0x203, 0, 0, 0, 0},
	        {"mem:0x1000:rw", 1, "mem:0x1000:rw", PERF_TYPE_BREAKPOINT, 0, 0, 0, 0, 0},
	        {"mem:0x1000/8:w:u", 1, "mem:0x1000/8:w:u", PERF_TYPE_BREAKPOINT, 0, 0, 1, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct event_list events = {0};
		const struct event *last;
		struct err err = {0};

		cr_assert_eq(events_parse(&events, rows[i].text, &err), 0, "%s: %s", rows[i].text,
		             err.text);
		cr_assert_eq(events.nr, rows[i].nr, "%s", rows[i].text);
		last = &events.at[events.nr - 1];
		cr_assert_str_eq(last->name, rows[i].name, "%s", rows[i].text);
		cr_assert_eq(last->attr.type, rows[i].type, "%s", rows[i].text);
		cr_assert_eq(last->attr.config, rows[i].config, "%s: %jx", rows[i].text,
		             (uintmax_t)last->attr.config);
		cr_assert_eq(last->attr.exclude_user, rows[i].exclude_user, "%s", rows[i].text);
		cr_assert_eq(last->attr.exclude_kernel, rows[i].exclude_kernel, "%s", rows[i].text);
		cr_assert_eq(last->attr.precise_ip, rows[i].precise, "%s", rows[i].text);
		cr_assert_eq(last->leader, rows[i].leader, "%s", rows[i].text);
		event_list_release(&events);
	}
}

Test(events, refused)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
	        {"", "name is missing"},
	        {"cs,,faults", "name is missing"},
	        {"cycels", "did you mean 'cycles'"},
	        {"cycles:x", "unknown modifiers 'x'"},
	        {"cycles:pppp", "highest is ppp"},
	        {"{cs", "closing brace"},
	        {"{cs}x", "stray 'x'"},
	        {"mem:12345678901234567890:r", "hexadecimal"},
	        {"mem:0x10/3:r", "1, 2, 4 or 8"},
	        {"mem:0x10:q", "made of r, w and x"},
	        {"uprobe:", "not of the form"},
	        {"usdt:/bin/true", "PROVIDER:NAME"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct event_list events = {0};
		struct err err = {0};

		cr_assert_eq(events_parse(&events, rows[i].text, &err), -1, "'%s'", rows[i].text);
		cr_assert(strstr(err.text, rows[i].part), "'%s': %s", rows[i].text, err.text);
		event_list_release(&events);
	}
}

Test(events, breakpoint)
{
	struct event_list events = {0};
	struct err err;

	cr_assert_eq(events_parse(&events, "mem:0x1000/2:w,mem:2000:x", &err), 0);
	cr_assert_eq(events.at[0].attr.bp_addr, 0x1000);
	cr_assert_eq(events.at[0].attr.bp_len, 2);
	cr_assert_eq(events.at[0].attr.bp_type, HW_BREAKPOINT_W);
	cr_assert_eq(events.at[1].attr.bp_addr, 0x2000);
	cr_assert_eq(events.at[1].attr.bp_len, sizeof(long));
	cr_assert_eq(events.at[1].attr.bp_type, HW_BREAKPOINT_X);
	event_list_release(&events);
}

Test(sampling, chain_options)
{
	static const struct {
		const char *text;
		int result;
		enum chain_mode chain;
		uint32_t stack_size;
	} rows[] = {
	        {"fp", 0, CHAIN_FP, 0},
	        {"dwarf", 0, CHAIN_DWARF, 16384},
	        {"dwarf,8192", 0, CHAIN_DWARF, 8192},
	        {"dwarf,64K", 0, CHAIN_DWARF, 65528},
	        {"auto", 0, CHAIN_AUTO, 0},
	        {"auto,1M", 0, CHAIN_AUTO, 0},
	        {"lbr", 0, CHAIN_LBR, 0},
	        {"none", 0, CHAIN_NONE, 0},
	        {"dwarf,7", -1, 0, 0},
	        {"dwarf,65536000", -1, 0, 0},
	        {"fp,8192", -1, 0, 0},
	        {"dwarf,x", -1, 0, 0},
	        {"frames", -1, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sampling sampling = {0};
		struct err err;

		cr_assert_eq(sampling_parse_chain(&sampling, rows[i].text, &err), rows[i].result,
		             "%s", rows[i].text);
		if (rows[i].result < 0)
			continue;
		cr_assert_eq(sampling.chain, rows[i].chain, "%s", rows[i].text);
		cr_assert_eq(sampling.stack_size, rows[i].stack_size, "%s", rows[i].text);
	}
}

/* The largest copy that stays under the bandwidth, by frequency and CPUs. */
Test(sampling, automatic_stack)
{
	static const struct {
		uint64_t freq;
		size_t cpus;
		uint32_t stack, after_fit; /* in rings of 256 KiB */
	} rows[] = {
	        {99, 1, 65528, 0}, {99, 2, 65528, 0},     {99, 8, 32768, 0},    {99, 16, 16384, 0},
	        {99, 32, 8192, 0}, {99, 64, 0, 0},        {49, 2, 65528, 8192}, {999, 2, 16384, 0},
	        {4999, 2, 0, 0},   {19, 1, 65528, 16384}, {9, 1, 65528, 32768},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sampling sampling = {
		        .freq_hz = rows[i].freq,
		        .bandwidth = SAMPLING_DEFAULT_BANDWIDTH,
		        .clockid = -1,
		};
		struct event_list events = {0};
		struct err err;
		bool copies = rows[i].stack > 0;

		events_parse(&events, "cpu-clock", &err);
		sampling_apply(&sampling, &events, rows[i].cpus);
		cr_assert_eq(sampling.stack_size, rows[i].stack, "%ju Hz, %zu CPUs: %u",
		             (uintmax_t)rows[i].freq, rows[i].cpus, sampling.stack_size);
		cr_assert_eq(!!(events.at[0].attr.sample_type & PERF_SAMPLE_STACK_USER), copies);
		cr_assert(events.at[0].attr.sample_type & PERF_SAMPLE_CALLCHAIN);
		cr_assert_geq(sampling_ring_size(&sampling, &events),
		              rows[i].freq * (rows[i].stack + 1000u) / 2);
		sampling_fit(&sampling, &events, 256 * 1024);
		cr_assert_eq(sampling.stack_size, rows[i].after_fit, "%ju Hz fitted: %u",
		             (uintmax_t)rows[i].freq, sampling.stack_size);
		cr_assert_eq(events.at[0].attr.sample_stack_user, rows[i].after_fit);
		event_list_release(&events);
	}
}

Test(sampling, periods)
{
	struct sampling sampling = {.freq_hz = 99, .chain = CHAIN_NONE, .clockid = 1};
	struct event_list events = {0};
	struct err err;

	events_parse(&events, "cpu-clock,mem:0x10:w", &err);
	events_add_sideband(&events);
	sampling_apply(&sampling, &events, 1);
	cr_assert(events.at[0].attr.freq);
	cr_assert_eq(events.at[0].attr.sample_freq, 99);
	cr_assert(events.at[0].attr.sample_type & PERF_SAMPLE_PERIOD);
	cr_assert(events.at[0].attr.use_clockid);
	/* the kernel would take a wish for the period as one for every hit */
	cr_assert_not(events.at[1].attr.freq);
	cr_assert_eq(events.at[1].attr.sample_period, 1);
	cr_assert_not(events.at[1].attr.sample_type & PERF_SAMPLE_PERIOD);
	cr_assert_eq(events_tracker(&events), &events.at[2]);
	cr_assert_not(events.at[2].attr.freq);
	event_list_release(&events);
}

/* What libpfm4 knows of a processor that is not ours. */
Test(events, names_of_libpfm4)
{
	struct event_list events = {0};
	struct err err = {0};

	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	if (events_parse(&events, "INST_RETIRED:ANY_P:u,skl::BR_MISP_RETIRED:CONDITIONAL", &err) <
	    0) {
		cr_assert(strstr(err.text, "libpfm") || strstr(err.text, "no tracepoint"), "%s",
		          err.text);
		cr_skip_test("libpfm4 is not here");
	}
	cr_assert_eq(events.nr, 2);
	/* event select 0xc0; 0xc5 with unit mask 1: Intel SDM volume 3, tables of events */
	cr_assert_eq(events.at[0].attr.config & 0xffff, 0xc0);
	cr_assert_eq(events.at[1].attr.config & 0xffff, 0x1c5);
	cr_assert_eq(events.at[0].attr.type, PERF_TYPE_RAW);
	cr_assert(events.at[0].attr.exclude_kernel);
	cr_assert_not(events.at[1].attr.exclude_kernel);
	cr_assert_str_eq(events.at[0].name, "INST_RETIRED:ANY_P:u");
	event_list_release(&events);
}
