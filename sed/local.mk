# SPDX-License-Identifier: Apache-2.0
# Computational workers: the daemon's side, and the program they run in.
# The file of a routine's state: the worker writes it, the server names it.
noinst_LTLIBRARIES += sed/libcheckpoint.la
sed_libcheckpoint_la_SOURCES = sed/checkpoint.c sed/checkpoint.h
noinst_LTLIBRARIES += sed/libworkers.la
sed_libworkers_la_SOURCES = \
	sed/bays.c \
	sed/bays.h \
	sed/folder.c \
	sed/folder.h \
	sed/handoff.c \
	sed/handoff.h \
	sed/handoff_command.c \
	sed/handoff_outputs.c \
	sed/handoff_parallel.c \
	sed/handoff_read.c \
	sed/handoff_write.h \
	sed/processes.c \
	sed/processes.h \
	sed/processes_ask.c \
	sed/processes_create.c \
	sed/processes_link.c \
	sed/processes_monitor.c \
	sed/processes_pool.h \
	sed/processes_workers.c \
	sed/workers_joined.c \
	sed/workers_joined.h \
	sed/program.c \
	sed/program.h \
	sed/rank_board.c \
	sed/rank_board.h \
	sed/rank_link.c \
	sed/rank_link.h \
	sed/ranks.c \
	sed/ranks.h \
	sed/ranks_choose.c \
	sed/ranks_create.c \
	sed/ranks_job.c \
	sed/ranks_launch.c \
	sed/ranks_monitor.c \
	sed/ranks_pool.h \
	sed/ranks_profile.c \
	sed/ring.c \
	sed/ring.h \
	sed/signature.c \
	sed/signature.h \
	sed/spawner.h
sed_libworkers_la_LIBADD = core/libcore.la util/libutil.la
noinst_LTLIBRARIES += sed/libinvoke.la
sed_libinvoke_la_SOURCES = sed/invoke.c sed/invoke.h
sed_libinvoke_la_CPPFLAGS = $(AM_CPPFLAGS) $(FFI_CFLAGS)
sed_libinvoke_la_LIBADD = $(FFI_LIBS)
pkglibexec_PROGRAMS += sed/espalier-crd
sed_espalier_crd_SOURCES = \
	sed/crd.c \
	sed/crd.h \
	sed/crd_areas.c \
	sed/crd_callback.c \
	sed/crd_check.c \
	sed/crd_command.c \
	sed/crd_command.h \
	sed/crd_command_process.c \
	sed/crd_faults.c \
	sed/crd_library.c \
	sed/crd_memory.c \
	sed/crd_query.c \
	sed/crd_section.c \
	sed/crd_service.c \
	sed/crd_texts.c \
	sed/crd_values.c \
	sed/crd_values.h \
	sed/crd_watch.c \
	sed/crd_worker.c \
	sed/crd_xerbla.c \
	sed/spawner.c
sed_espalier_crd_LDADD = util/libown.la sed/libcheckpoint.la sed/libworkers.la sed/libinvoke.la core/libcore.la util/libutil.la -ldl
sed_espalier_crd_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
# What carries pieces of matrices between servers, in daemons and beside ranks.
noinst_LTLIBRARIES += sed/libporter.la
sed_libporter_la_SOURCES = \
	sed/porter.c \
	sed/porter.h \
	sed/porter_fetch.c \
	sed/porter_internal.h \
	sed/porter_message.c \
	sed/porter_order.c \
	sed/porter_order.h \
	sed/porter_serve.c \
	sed/porter_wire.h
sed_libporter_la_LIBADD = core/libcore.la util/libutil.la
# The server daemon as a state machine, without processes and network.
noinst_LTLIBRARIES += sed/libserver.la
sed_libserver_la_SOURCES = \
	sed/checkpoint_mirror.c \
	sed/checkpoint_mirror.h \
	sed/server_checkpoint.c \
	sed/admission.c \
	sed/admission.h \
	sed/accuracy.c \
	sed/accuracy.h \
	sed/call_plan.c \
	sed/call_plan.h \
	sed/errands.c \
	sed/errands.h \
	sed/cpu_quota.c \
	sed/cpu_quota.h \
	sed/machine_memory.c \
	sed/machine_memory.h \
	sed/memory_share.c \
	sed/memory_share.h \
	sed/printed.c \
	sed/printed.h \
	sed/queue.c \
	sed/queue.h \
	sed/server.c \
	sed/server.h \
	sed/server_await.c \
	sed/server_call.c \
	sed/server_chunk.c \
	sed/server_lend.c \
	sed/server_links.c \
	sed/server_contents.c \
	sed/server_clients.c \
	sed/server_administer.c \
	sed/server_figures.c \
	sed/server_idle.c \
	sed/server_cut.c \
	sed/server_data.c \
	sed/server_data.h \
	sed/server_data_internal.h \
	sed/server_moves.c \
	sed/server_tickets.c \
	sed/server_follow.c \
	sed/server_jobs.c \
	sed/server_kept.c \
	sed/server_load.c \
	sed/server_measure.c \
	sed/server_models.c \
	sed/server_operands.c \
	sed/server_operands.h \
	sed/server_parallel.c \
	sed/server_loans.c \
	sed/server_porters.c \
	sed/server_problems.c \
	sed/server_pull.c \
	sed/server_replicas.c \
	sed/server_pull.h \
	sed/server_pull_fetch.c \
	sed/server_run.c \
	sed/server_state.h \
	sed/server_terms.c \
	sed/session.c \
	sed/session.h \
	sed/speed.c \
	sed/speed.h \
	sed/workers.h
sed_libserver_la_LIBADD = sed/libporter.la sed/libcheckpoint.la services/libduty.la core/libcore.la util/libutil.la -lm
# Measuring problems: a program of its own, as it links LAPACK, whose threads no daemon wants.
noinst_LTLIBRARIES += sed/libcalibrate.la
sed_libcalibrate_la_SOURCES = \
	sed/calibrate.c \
	sed/calibrate.h \
	sed/calibrate_again.c \
	sed/calibrate_journal.c \
	sed/calibrate_run.h \
	sed/calibrate_call.c \
	sed/calibrate_call.h
sed_libcalibrate_la_LIBADD = sed/libserver.la sed/libworkers.la services/libfit.la
pkglibexec_PROGRAMS += sed/espalier-calibrate
sed_espalier_calibrate_SOURCES = sed/calibrate_main.c
sed_espalier_calibrate_LDADD = sed/libcalibrate.la services/libservices.la core/libcore.la util/libutil.la
# The daemon: all of it but the choice of the transport, then the program.
noinst_LTLIBRARIES += sed/libservice.la
sed_libservice_la_SOURCES = \
	sed/porters.c \
	sed/porters.h \
	sed/corrections_file.c \
	sed/corrections_file.h \
	sed/directory_watch.c \
	sed/directory_watch.h \
	sed/idle_calibration.c \
	sed/idle_calibration.h \
	sed/sensors.c \
	sed/sensors.h \
	sed/service.c \
	sed/service_internal.h \
	sed/service_models.c \
	sed/service_problems.c \
	sed/service.h
sed_libservice_la_LIBADD = sed/libserver.la sed/libworkers.la services/libnws.la services/libdirectory.la services/libservices.la
if WITH_OMNIORB
sbin_PROGRAMS += sed/espalier-sed
sed_espalier_sed_SOURCES = sed/main.c
nodist_EXTRA_sed_espalier_sed_SOURCES = dummy.cc
sed_espalier_sed_LDADD = sed/libservice.la services/liblinks.la services/libdaemon.la services/libservices.la orb/liborb.la core/libcore.la util/libutil.la
endif
# Distributed data move between the ranks of an MPI job.
if WITH_MPI
noinst_LTLIBRARIES += sed/mpi/libmpi.la
sed_mpi_libmpi_la_SOURCES = \
	sed/mpi/redistribute.c \
	sed/mpi/redistribute.h \
	sed/mpi/shared_slots.c \
	sed/mpi/shared_slots.h
sed_mpi_libmpi_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
sed_mpi_libmpi_la_LIBADD = core/libcore.la $(MPI_LIBS)
pkglibexec_PROGRAMS += sed/mpi/espalier-prd
sed_mpi_espalier_prd_SOURCES = \
	sed/crd_areas.c \
	sed/crd_library.c \
	sed/crd_query.c \
	sed/mpi/prd.c \
	sed/mpi/prd.h \
	sed/mpi/prd_call.c \
	sed/mpi/prd_grid.c \
	sed/mpi/prd_measure.c \
	sed/mpi/prd_parts.c \
	sed/mpi/prd_wait.c
sed_mpi_espalier_prd_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
sed_mpi_espalier_prd_LDADD = util/libown.la sed/libporter.la sed/libworkers.la sed/libinvoke.la core/libcore.la util/libutil.la \
	$(SCALAPACK_LIBS) $(OPENBLAS_LIBS) $(MPI_LIBS) -ldl
sed_mpi_espalier_prd_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
endif
