# SPDX-License-Identifier: Apache-2.0
# Benchmarks: a program bench/bench_NAME each, built and run by `make bench` (all) and `make bench BENCH=NAME`.
EXTRA_LIBRARIES += bench/libbench.a
bench_libbench_a_SOURCES = bench/bench.c bench/bench.h
LIBBENCH = bench/libbench.a -lm
EXTRA_DIST += bench/run bench/demo.sh bench/failover.sh bench/reshape.sh
CLEANFILES += bench.tsv bench/libbench.a $(bench_programs)
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
bench_bench_worker_LDADD = $(LIBBENCH) $(POOL_LIBS) $(LIBINVOKE) $(LIBCORE) $(FFI_LIBS) -lm
bench_programs += bench/bench_hierarchy
bench_bench_hierarchy_SOURCES = bench/bench_hierarchy.c
bench_bench_hierarchy_LDADD = $(LIBBENCH) $(LIBPLATFORM)

bench_programs += bench/bench_makespan
bench_bench_makespan_SOURCES = bench/bench_makespan.c bench/list_schedule.c bench/list_schedule.h
bench_bench_makespan_LDADD = $(LIBBENCH) $(LIBPLATFORM) -lm

bench_programs += bench/bench_sensors
bench_bench_sensors_SOURCES = bench/bench_sensors.c
bench_bench_sensors_LDADD = $(LIBBENCH) $(LIBNWS) $(LIBCORE) -lm

bench_programs += bench/bench_problems
bench_bench_problems_SOURCES = bench/bench_problems.c
bench_bench_problems_LDADD = $(LIBBENCH) $(LIBCORE) $(JANSSON_LIBS) -lm

bench_programs += bench/bench_redistribution
bench_bench_redistribution_SOURCES = bench/bench_redistribution.c
bench_bench_redistribution_LDADD = $(LIBBENCH) $(LIBCORE) -lm

bench_programs += bench/bench_location
bench_bench_location_SOURCES = bench/bench_location.c
bench_bench_location_LDADD = $(LIBBENCH) $(LIBCORE) -lm

bench_programs += bench/bench_store
bench_bench_store_SOURCES = bench/bench_store.c
bench_bench_store_LDADD = $(LIBBENCH) $(LIBSTORERIG) $(LIBSERVICES) $(CMOCKA_LIBS) -lm
bench_programs += bench/bench_store_speed
bench_bench_store_speed_SOURCES = bench/bench_store_speed.c
bench_bench_store_speed_LDADD = $(LIBBENCH) $(LIBSERVICES) -lm

bench_programs += bench/bench_predictor
bench_bench_predictor_SOURCES = bench/bench_predictor.c
bench_bench_predictor_LDADD = $(LIBBENCH) $(LIBCORE) -lm

bench_programs += bench/bench_forecast
bench_bench_forecast_SOURCES = bench/bench_forecast.c bench/competitor.c bench/competitor.h
bench_bench_forecast_LDADD = $(LIBBENCH) sed/libcalibrate.a $(SED_LIBS) $(LIBFIT) $(LIBSERVICES) -lm

# Calls through the whole hierarchy, against the ORB alone.
if WITH_OMNIORB
EXTRA_LIBRARIES += bench/libplatform.a
EXTRA_LTLIBRARIES += bench/libtiny.la bench/libkept.la
bench_libkept_la_SOURCES = examples/kept/kept.c
bench_libkept_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
bench_libkept_la_LDFLAGS = -module -shared -avoid-version -rpath /nowhere -Wl,--no-as-needed -Wl,-l:liblapack.so.3
bench_libtiny_la_SOURCES = bench/tiny.c
bench_libtiny_la_LDFLAGS = -module -shared -avoid-version -rpath /nowhere
bench_libplatform_a_SOURCES = bench/platform.c bench/platform.h
LIBBENCHPLATFORM = bench/libplatform.a $(LIBBENCH)
EXTRA_PROGRAMS += bench/reference_twoway
bench_reference_twoway_SOURCES = bench/reference_twoway.cc
nodist_bench_reference_twoway_SOURCES = bench/reference_twoway.hh bench/reference_twowaySK.cc
bench_reference_twoway_CPPFLAGS = $(AM_CPPFLAGS) $(OMNIORB_CFLAGS)
bench_reference_twoway_CXXFLAGS = $(AM_CXXFLAGS) -Wno-unused-parameter
bench_reference_twoway_LDADD = $(OMNIORB_LIBS)
EXTRA_PROGRAMS += bench/reference_chain
bench_reference_chain_SOURCES = bench/reference_chain.cc
nodist_bench_reference_chain_SOURCES = bench/reference_twoway.hh bench/reference_twowaySK.cc
bench_reference_chain_CPPFLAGS = $(AM_CPPFLAGS) $(OMNIORB_CFLAGS)
bench_reference_chain_CXXFLAGS = $(AM_CXXFLAGS) -Wno-unused-parameter
bench_reference_chain_LDADD = $(OMNIORB_LIBS)
bench/reference_twoway.hh bench/reference_twowaySK.cc: bench/reference_twoway.stamp
bench/reference_twoway.stamp: bench/reference_twoway.idl
	$(AM_V_GEN)$(MKDIR_P) bench && $(OMNIIDL) -bcxx -Wbh=.hh -Wbs=SK.cc -Wbuse_quotes -Cbench $(srcdir)/bench/reference_twoway.idl && touch $@
bench/reference_twoway-reference_twoway.$(OBJEXT): bench/reference_twoway.hh
bench/reference_chain-reference_chain.$(OBJEXT): bench/reference_twoway.hh
EXTRA_DIST += bench/reference_twoway.idl
CLEANFILES += bench/reference_twoway.hh bench/reference_twowaySK.cc bench/reference_twoway.stamp
BENCH_CALLS = bench/libtiny.la bench/libkept.la bench/libplatform.a bench/reference_twoway bench/reference_chain client/libespalier.la
bench_programs += bench/bench_namespaces
bench_bench_namespaces_SOURCES = bench/bench_namespaces.c bench/list_schedule.c bench/list_schedule.h bench/site.c bench/site.h
bench_bench_namespaces_LDADD = $(LIBBENCHPLATFORM) client/libespalier.la $(LIBCORE) -lm
bench_bench_namespaces_DEPENDENCIES = $(BENCH_CALLS) tests/e2e/slow_link
bench_programs += bench/bench_links
bench_bench_links_SOURCES = bench/bench_links.c bench/site.c bench/site.h
bench_bench_links_LDADD = $(LIBBENCH) client/libespalier.la -lm
bench_bench_links_DEPENDENCIES = bench/libbench.a bench/libtiny.la client/libespalier.la tests/e2e/slow_link
bench_programs += bench/bench_cities
bench_bench_cities_SOURCES = bench/bench_cities.c bench/site.c bench/site.h
bench_bench_cities_LDADD = $(LIBBENCH) client/libespalier.la -lm
bench_bench_cities_DEPENDENCIES = bench/libbench.a client/libespalier.la tests/e2e/slow_link
bench_programs += bench/bench_call bench/bench_state bench/bench_rate bench/bench_memory bench/bench_command
bench_bench_state_SOURCES = bench/bench_state.c
bench_bench_state_LDADD = $(LIBBENCHPLATFORM) client/libespalier.la -lm
bench_bench_state_DEPENDENCIES = $(BENCH_CALLS)
bench_bench_call_SOURCES = bench/bench_call.c
bench_bench_call_LDADD = $(LIBBENCHPLATFORM) client/libespalier.la -lm
bench_bench_call_DEPENDENCIES = $(BENCH_CALLS)
bench_programs += bench/bench_herding
bench_bench_herding_SOURCES = bench/bench_herding.c
bench_bench_herding_LDADD = $(LIBBENCHPLATFORM) client/libespalier.la -lm
bench_bench_herding_DEPENDENCIES = $(BENCH_CALLS)
bench_bench_rate_SOURCES = bench/bench_rate.c
bench_bench_rate_LDADD = $(LIBBENCHPLATFORM) client/libespalier.la -lm
bench_bench_rate_DEPENDENCIES = $(BENCH_CALLS)
bench_bench_memory_SOURCES = bench/bench_memory.c
bench_bench_memory_LDADD = $(LIBBENCHPLATFORM) client/libespalier.la -lm
bench_bench_memory_DEPENDENCIES = $(BENCH_CALLS)
bench_bench_command_SOURCES = bench/bench_command.c
bench_bench_command_LDADD = $(LIBBENCHPLATFORM) -lm
bench_bench_command_DEPENDENCIES = $(BENCH_CALLS)
bench_programs += bench/bench_python
bench_bench_python_SOURCES = bench/bench_python.c
bench_bench_python_LDADD = $(LIBBENCHPLATFORM) client/libespalier.la -lm
bench_bench_python_DEPENDENCIES = bench/libtiny.la bench/libkept.la bench/libplatform.a client/libespalier.la
EXTRA_DIST += bench/python_calls.py
bench_programs += bench/bench_monitoring
bench_bench_monitoring_SOURCES = bench/bench_monitoring.c
bench_bench_monitoring_LDADD = $(LIBBENCHPLATFORM)
bench_bench_monitoring_DEPENDENCIES = bench/libtiny.la bench/libkept.la bench/libplatform.a
bench_programs += bench/bench_bulk
bench_bench_bulk_SOURCES = bench/bench_bulk.c bench/raw_tcp.c bench/raw_tcp.h bench/raw_tls.c bench/raw_tls.h
bench_bench_bulk_LDADD = $(LIBBENCHPLATFORM) client/libespalier.la $(LIBUTIL) $(OPENSSL_LIBS) -lm
bench_bench_bulk_DEPENDENCIES = $(BENCH_CALLS)
bench_programs += bench/bench_moves
bench_bench_moves_SOURCES = bench/bench_moves.c bench/raw_tcp.c bench/raw_tcp.h bench/raw_tls.c bench/raw_tls.h
bench_bench_moves_LDADD = $(LIBBENCHPLATFORM) client/libespalier.la $(LIBUTIL) $(OPENSSL_LIBS) -lm
bench_bench_moves_DEPENDENCIES = $(BENCH_CALLS)
bench_programs += bench/bench_kill
bench_bench_kill_SOURCES = bench/bench_kill.c
nodist_EXTRA_bench_bench_kill_SOURCES = dummy.cc
bench_bench_kill_LDADD = $(LIBBENCH) $(LIBORB) $(LIBCORE)
bench_programs += bench/bench_transport
bench_bench_transport_SOURCES = bench/bench_transport.c
nodist_EXTRA_bench_bench_transport_SOURCES = dummy.cc
bench_bench_transport_LDADD = $(LIBBENCHPLATFORM) $(LIBORB) $(LIBCORE)
EXTRA_bench_bench_transport_DEPENDENCIES = bench/reference_twoway
endif

# Redistributions between ranks, against ScaLAPACK.
if WITH_MPI
EXTRA_PROGRAMS += bench/redistribute_mpi
bench_redistribute_mpi_SOURCES = bench/redistribute_mpi.c
bench_redistribute_mpi_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bench_redistribute_mpi_LDADD = $(LIBMPI) $(LIBCORE) $(SCALAPACK_LIBS) $(MPI_LIBS) -lm
CLEANFILES += bench/redistribute_mpi
bench_programs += bench/bench_pdgemr2d
bench_bench_pdgemr2d_SOURCES = bench/bench_pdgemr2d.c
bench_bench_pdgemr2d_LDADD = $(LIBBENCH) -lm
EXTRA_bench_bench_pdgemr2d_DEPENDENCIES = bench/redistribute_mpi
EXTRA_PROGRAMS += bench/unequal_mpi
bench_unequal_mpi_SOURCES = bench/unequal_mpi.c
bench_unequal_mpi_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bench_unequal_mpi_LDADD = solvers/libunequal.la $(SCALAPACK_LIBS) $(OPENBLAS_LIBS) $(MPI_LIBS) -lm
CLEANFILES += bench/unequal_mpi
bench_programs += bench/bench_unequal
bench_bench_unequal_SOURCES = bench/bench_unequal.c
bench_bench_unequal_LDADD = $(LIBBENCH) -lm
EXTRA_bench_bench_unequal_DEPENDENCIES = bench/unequal_mpi
if WITH_OMNIORB
EXTRA_PROGRAMS += bench/scalapack_mpi
bench_scalapack_mpi_SOURCES = bench/scalapack_mpi.c
bench_scalapack_mpi_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bench_scalapack_mpi_LDADD = $(SCALAPACK_LIBS) $(MPI_LIBS)
CLEANFILES += bench/scalapack_mpi
bench_programs += bench/bench_parallel
bench_bench_parallel_SOURCES = bench/bench_parallel.c
bench_bench_parallel_LDADD = $(LIBBENCHPLATFORM) client/libespalier.la
EXTRA_bench_bench_parallel_DEPENDENCIES = bench/scalapack_mpi bench/libtiny.la bench/libkept.la
endif
bench_programs += bench/bench_grids
bench_bench_grids_SOURCES = bench/bench_grids.c
bench_bench_grids_LDADD = $(LIBBENCH) sed/libcalibrate.a $(SED_LIBS) $(LIBFIT) $(LIBSERVICES) -lm
bench_programs += bench/bench_ranks
bench_bench_ranks_SOURCES = bench/bench_ranks.c
bench_bench_ranks_LDADD = $(LIBBENCH) $(POOL_LIBS) $(LIBCORE) -lm
endif

# Between the ranks of two servers.
bench_programs += bench/bench_porters
bench_bench_porters_SOURCES = bench/bench_porters.c
bench_bench_porters_LDADD = $(LIBBENCH) $(LIBPORTER) $(LIBCORE) -lm
