# SPDX-License-Identifier: Apache-2.0
# Benchmarks: a program bench/bench_NAME each, built and run by `make bench` (all) and `make bench BENCH=NAME`.
EXTRA_LTLIBRARIES += bench/libbench.la
bench_libbench_la_SOURCES = bench/bench.c bench/bench.h
bench_libbench_la_LIBADD = -lm
EXTRA_DIST += bench/run
CLEANFILES += bench.tsv bench/libbench.la $(bench_programs)
bench_programs =
EXTRA_PROGRAMS += $(bench_programs)

.PHONY: bench
bench: all
	@programs='$(bench_programs)'; \
	if test -n "$(BENCH)"; then \
	    programs=bench/bench_$(BENCH); \
	    case " $(bench_programs) " in *" $$programs "*) ;; \
	    *) echo "bench: there is no benchmark $(BENCH); there are: $(bench_programs:bench/bench_%=%)" >&2; exit 2;; esac; \
	else rm -f bench.tsv; fi; \
	$(MAKE) $(AM_MAKEFLAGS) $$programs && \
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' $(SHELL) $(srcdir)/bench/run $$programs

bench_programs += bench/bench_worker
bench_bench_worker_SOURCES = bench/bench_worker.c
bench_bench_worker_LDADD = bench/libbench.la sed/libworkers.la sed/libinvoke.la core/libcore.la util/libutil.la $(FFI_LIBS) -lm
bench_programs += bench/bench_hierarchy
bench_bench_hierarchy_SOURCES = bench/bench_hierarchy.c
bench_bench_hierarchy_LDADD = bench/libbench.la tests/inproc/libplatform.la
