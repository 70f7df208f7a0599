# SPDX-License-Identifier: Apache-2.0
# None of these libraries takes in another one: libtool would copy its objects into each that does. Who links one
# lists what it needs behind it, once.
POOL_LIBS = sed/libworkers.a $(LIBPORTER)
STATE_LIBS = sed/libserver.a $(LIBPORTER) sed/libcheckpoint.a services/libduty.a $(LIBNWS)
SED_LIBS = sed/libworkers.a $(STATE_LIBS)
# Computational workers: the daemon's side, and the program they run in.
# The file of a routine's state: the worker writes it, the server names it.
noinst_LIBRARIES += sed/libcheckpoint.a
sed_libcheckpoint_a_SOURCES = sed/crd/checkpoint.c sed/crd/checkpoint.h
noinst_LIBRARIES += sed/libworkers.a
sed_libworkers_a_SOURCES = \
	sed/pool/oom.c \
	sed/pool/oom.h \
	sed/pool/strays.c \
	sed/pool/strays.h \
	sed/pool/bays.c \
	sed/pool/bays.h \
	sed/pool/folder.c \
	sed/pool/folder.h \
	sed/pool/handoff.c \
	sed/pool/handoff.h \
	sed/pool/handoff_command.c \
	sed/pool/handoff_damage.c \
	sed/pool/handoff_faults.c \
	sed/pool/handoff_judge.h \
	sed/pool/handoff_outputs.c \
	sed/pool/handoff_read.c \
	sed/pool/handoff_write.h \
	sed/pool/processes.c \
	sed/pool/processes.h \
	sed/pool/processes_ask.c \
	sed/pool/processes_create.c \
	sed/pool/processes_link.c \
	sed/pool/processes_monitor.c \
	sed/pool/processes_pool.h \
	sed/pool/processes_workers.c \
	sed/pool/workers_joined.c \
	sed/pool/workers_joined.h \
	sed/pool/program.c \
	sed/pool/program.h \
	sed/ranks/envoy.c \
	sed/ranks/envoy.h \
	sed/ranks/envoy_internal.h \
	sed/ranks/envoys.c \
	sed/ranks/gang.c \
	sed/ranks/gang.h \
	sed/ranks/rank_board.c \
	sed/ranks/rank_board.h \
	sed/ranks/rank_far.h \
	sed/ranks/rank_link.c \
	sed/ranks/rank_link.h \
	sed/ranks/rank_secret.c \
	sed/ranks/rank_secret.h \
	sed/ranks/ranks.c \
	sed/ranks/ranks.h \
	sed/ranks/ranks_job.c \
	sed/ranks/ranks_launch.c \
	sed/ranks/ranks_pool.h \
	sed/ranks/ranks_wait.h \
	sed/pool/ring.c \
	sed/pool/ring.h \
	sed/pool/signature.c \
	sed/pool/signature.h \
	sed/crd/spawner.h
noinst_LIBRARIES += sed/libinvoke.a
sed_libinvoke_a_SOURCES = sed/crd/invoke.c sed/crd/invoke.h
sed_libinvoke_a_CPPFLAGS = $(AM_CPPFLAGS) $(FFI_CFLAGS)
LIBINVOKE = sed/libinvoke.a $(FFI_LIBS)
pkglibexec_PROGRAMS += sed/espalier-crd
sed_espalier_crd_SOURCES = \
	sed/crd/crd.c \
	sed/crd/crd.h \
	sed/crd/crd_ahead.c \
	sed/crd/crd_areas.c \
	sed/crd/crd_callback.c \
	sed/crd/crd_command.c \
	sed/crd/crd_files.c \
	sed/crd/crd_files.h \
	sed/crd/crd_command.h \
	sed/crd/crd_faults.c \
	sed/crd/crd_library.c \
	sed/crd/crd_memory.c \
	sed/crd/crd_query.c \
	sed/crd/crd_recurring.c \
	sed/crd/crd_values.c \
	sed/crd/crd_service.c \
	sed/crd/crd_system.c \
	sed/crd/crd_time.c \
	sed/crd/crd_values.h \
	sed/crd/crd_watch.c \
	sed/crd/crd_worker.c \
	sed/crd/spawner.c
sed_espalier_crd_LDADD = util/libown.a sed/libcheckpoint.a $(POOL_LIBS) $(LIBINVOKE) $(LIBCORE) -ldl -lm
sed_espalier_crd_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
# What carries pieces of matrices between servers, in daemons and beside ranks.
noinst_LIBRARIES += sed/libporter.a
sed_libporter_a_SOURCES = \
	sed/porter/porter.c \
	sed/porter/porter.h \
	sed/porter/porter_far.h \
	sed/porter/porter_internal.h \
	sed/porter/porter_message.c \
	sed/porter/porter_order.c \
	sed/porter/porter_order.h \
	sed/porter/porter_stream.h \
	sed/porter/porter_tls.c \
	sed/porter/porter_tls.h \
	sed/porter/porter_wire.h
LIBPORTER = sed/libporter.a -ldl
# The server daemon as a state machine, without processes and network.
noinst_LIBRARIES += sed/libserver.a
sed_libserver_a_SOURCES = \
	sed/data/chores.c \
	sed/data/data.c \
	sed/data/data.h \
	sed/data/data_internal.h \
	sed/data/errands.c \
	sed/data/errands.h \
	sed/data/holders.c \
	sed/data/layings.c \
	sed/data/layings.h \
	sed/data/moves.c \
	sed/data/porters.c \
	sed/data/pull.c \
	sed/data/pull_fetch.c \
	sed/data/rescue.c \
	sed/data/tickets.c \
	sed/server/checkpoint_mirror.c \
	sed/server/checkpoint_mirror.h \
	sed/server/server_checkpoint.c \
	sed/sessions/admission.c \
	sed/sessions/admission.h \
	sed/forecast/accuracy.c \
	sed/forecast/accuracy.h \
	sed/sessions/call_plan.c \
	sed/sessions/call_plan.h \
	sed/machine_memory.c \
	sed/machine_memory.h \
	sed/memory_share.c \
	sed/memory_share.h \
	sed/sessions/promises.c \
	sed/sessions/promises.h \
	sed/sessions/printed.c \
	sed/sessions/printed.h \
	sed/sessions/queue.c \
	sed/sessions/queue.h \
	sed/server/server.c \
	sed/server/server.h \
	sed/server/server_await.c \
	sed/server/server_call.c \
	sed/server/server_chunk.c \
	sed/server/server_lend.c \
	sed/server/server_links.c \
	sed/server/server_contents.c \
	sed/server/server_clients.c \
	sed/server/server_administer.c \
	sed/server/server_figures.c \
	sed/server/server_idle.c \
	sed/server/server_leave.c \
	sed/server/server_follow.c \
	sed/server/server_jobs.c \
	sed/states/states.c \
	sed/states/states.h \
	sed/server/server_load.c \
	sed/server/server_measure.c \
	sed/server/server_models.c \
	sed/server/server_operands.c \
	sed/server/server_operands.h \
	sed/server/server_ranks.c \
	sed/server/server_problems.c \
	sed/server/server_results.c \
	sed/server/server_run.c \
	sed/server/server_sense.c \
	sed/server/server_sessions.c \
	sed/server/server_state.h \
	sed/server/server_terms.c \
	sed/sessions/session.c \
	sed/sessions/session.h \
	sed/forecast/speed.c \
	sed/forecast/speed.h \
	sed/pool/workers.h
# Measuring problems: a program of its own, as it links LAPACK, whose threads no daemon wants.
noinst_LIBRARIES += sed/libcalibrate.a
sed_libcalibrate_a_SOURCES = \
	sed/calibrate/calibrate.c \
	sed/calibrate/calibrate.h \
	sed/calibrate/calibrate_journal.c \
	sed/calibrate/calibrate_run.h \
	sed/calibrate/calibrate_call.h \
	sed/calibrate/calibrate_order.h \
	sed/calibrate/calibrate_ranks.c \
	sed/calibrate/calibrate_ranks.h \
	sed/calibrate/calibrate_state.h \
	sed/kept_problems.c \
	sed/kept_problems.h
pkglibexec_PROGRAMS += sed/espalier-calibrate
sed_espalier_calibrate_SOURCES = \
	sed/calibrate/calibrate_command.h \
	sed/calibrate/calibrate_main.c
sed_espalier_calibrate_LDADD = sed/libcalibrate.a $(SED_LIBS) $(LIBFIT) $(LIBSERVICES) -lm
# The daemon: all of it but the choice of the transport, then the program.
noinst_LIBRARIES += sed/libservice.a
sed_libservice_a_SOURCES = \
	sed/porter/porters.c \
	sed/porter/porters.h \
	sed/corrections_file.c \
	sed/corrections_file.h \
	sed/directory_watch.c \
	sed/directory_watch.h \
	sed/directory_write.c \
	sed/directory_write.h \
	sed/kept_problems.c \
	sed/kept_problems.h \
	sed/calibrate/idle_calibration.c \
	sed/calibrate/idle_calibration.h \
	sed/sensors.c \
	sed/sensors.h \
	sed/service.c \
	sed/service_internal.h \
	sed/service_models.c \
	sed/service_problems.c \
	sed/service.h
include sed/batch/local.mk
if WITH_OMNIORB
sbin_PROGRAMS += sed/espalier-sed
sed_espalier_sed_SOURCES = $(DAEMON_MAIN) sed/program.c
nodist_EXTRA_sed_espalier_sed_SOURCES = dummy.cc
sed_espalier_sed_LDADD = sed/libservice.a $(SED_LIBS) $(LIBLINKS) $(LIBDAEMON) $(LIBDIRECTORY) $(LIBSERVICES) $(LIBORB) $(LIBCORE)
endif
# Distributed data move between the ranks of an MPI job.
if WITH_MPI
noinst_LIBRARIES += sed/mpi/libmpi.a
sed_mpi_libmpi_a_SOURCES = \
	sed/mpi/redistribute.c \
	sed/mpi/redistribute.h \
	sed/mpi/shared_slots.c \
	sed/mpi/shared_slots.h
sed_mpi_libmpi_a_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
LIBMPI = sed/mpi/libmpi.a $(MPI_LIBS)
pkglibexec_PROGRAMS += sed/mpi/espalier-prd
sed_mpi_espalier_prd_SOURCES = \
	sed/crd/crd_ahead.c \
	sed/crd/crd_areas.c \
	sed/crd/crd_library.c \
	sed/crd/crd_memory.c \
	sed/crd/crd_query.c \
	sed/crd/crd_recurring.c \
	sed/crd/crd_system.c \
	sed/crd/crd_watch.c \
	sed/mpi/prd.c \
	sed/mpi/prd.h \
	sed/mpi/prd_call.c \
	sed/mpi/prd_end.c \
	sed/mpi/prd_far.c \
	sed/mpi/prd_far_call.c \
	sed/mpi/prd_grid.c \
	sed/mpi/prd_kept.c \
	sed/mpi/prd_kernels.c \
	sed/mpi/prd_look.c \
	sed/mpi/prd_measure.c \
	sed/mpi/prd_memory.c \
	sed/mpi/prd_moves.c \
	sed/mpi/prd_parts.c \
	sed/mpi/prd_service.c \
	sed/mpi/prd_wait.c \
	sed/mpi/prd_way.c
sed_mpi_espalier_prd_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
sed_mpi_espalier_prd_LDADD = util/libown.a $(LIBMPI) $(POOL_LIBS) $(LIBINVOKE) $(LIBFIT) $(LIBNWS) $(LIBCORE) \
	$(SCALAPACK_LIBS) $(OPENBLAS_LIBS) $(MPI_LIBS) -ldl
sed_mpi_espalier_prd_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
endif
