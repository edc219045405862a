/*
 * formats.h - every format that collapse reads besides perf.data: one line
 * each, in the order of --formats. FORMATS(X) gives X(name) for the
 * struct format format_NAME that a file of this folder defines.
 */
#ifndef COLLAPSE_FORMATS_H
#define COLLAPSE_FORMATS_H

/* clang-format off */
#define FORMATS(X) \
	X(perf_script) \
	X(perf_report) \
	X(folded) \
	X(json) \
	X(svg) \
	X(cpuprofile) \
	X(heapprofile) \
	X(chrome_trace) \
	X(firefox) \
	X(speedscope) \
	X(safari) \
	X(dhat) \
	X(ghc_json) \
	X(papyrus) \
	X(pprof) \
	X(pprof_cpu) \
	X(pprof_heap) \
	X(pprof_contention) \
	X(pprof_count) \
	X(pprof_threads) \
	X(pprof_raw) \
	X(pprof_traces) \
	X(simpleperf) \
	X(jfr) \
	X(stackprof) \
	X(pstats) \
	X(mojo) \
	X(austin) \
	X(art_trace) \
	X(heaptrack) \
	X(xctrace) \
	X(sysprof) \
	X(sysprof_xml) \
	X(dtrace) \
	X(bpftrace) \
	X(bcc) \
	X(systemtap) \
	X(ljp) \
	X(wcp) \
	X(pmp) \
	X(gdb) \
	X(eu_stack) \
	X(jstack) \
	X(javacore) \
	X(exceptions) \
	X(faulthandler) \
	X(goroutines) \
	X(sample) \
	X(instruments) \
	X(pmcstat) \
	X(ghc_prof) \
	X(vtune) \
	X(vsprof) \
	X(uftrace) \
	X(uftrace_dump) \
	X(hprof) \
	X(xdebug) \
	X(callgrind) \
	X(gprof) \
	X(massif) \
	X(v8_log)
/* clang-format on */

#endif
