# SPDX-License-Identifier: Apache-2.0
# Unit tests: tests/unit/test_<module>.c, one program each (cmocka, TAP through the environment).
AM_TESTS_ENVIRONMENT = CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; export top_srcdir top_builddir;
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
T_LOG_DRIVER = $(LOG_DRIVER)
TEST_EXTENSIONS = .t
UNIT_LIBS = $(LIBCORE) $(CMOCKA_LIBS)

# Begun first, as they take longest: most of that time they wait, and unit tests compute meanwhile.
long_tests = tests/e2e/t0105-command-examples.t \
	tests/e2e/t0610-administration.t \
	tests/e2e/t0682-data-programs.t \
	tests/e2e/t0641-links.t \
	tests/e2e/t0640-directory.t \
	tests/e2e/t0600-calibrate.t \
	tests/e2e/t0510-abstract.t \
	tests/e2e/t0631-rivals.t \
	tests/e2e/t0642-directory-of-a-site.t \
	tests/e2e/t0403-stopped-for-half-a-minute.t
if WITH_OMNIORB
TESTS += $(long_tests)
endif
EXTRA_DIST += $(long_tests)

unit_tests =
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)

unit_tests += tests/unit/test_error
tests_unit_test_error_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_config
tests_unit_test_config_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_log
tests_unit_test_log_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_names
tests_unit_test_names_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_random
tests_unit_test_random_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_fingerprint
tests_unit_test_fingerprint_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_timer
tests_unit_test_timer_LDADD = $(UNIT_LIBS)

unit_tests += tests/unit/test_matrix
tests_unit_test_matrix_LDADD = $(UNIT_LIBS) -lm

unit_tests += tests/unit/test_matrix_formats
tests_unit_test_matrix_formats_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/fuzz/fuzz_matrix
tests_fuzz_fuzz_matrix_SOURCES = tests/fuzz/fuzz_matrix.c tests/fuzz/replay.c tests/fuzz/replay.h
tests_fuzz_fuzz_matrix_LDADD = $(LIBCORE) -lm
EXTRA_DIST += tests/fuzz/corpus/matrix/a.npy tests/fuzz/corpus/matrix/a.npy.gz tests/fuzz/corpus/matrix/c.npy
EXTRA_DIST += tests/fuzz/corpus/matrix/f.npy tests/fuzz/corpus/matrix/h.csv tests/fuzz/corpus/matrix/hermitian.hb
EXTRA_DIST += tests/fuzz/corpus/matrix/hermitian.mtx tests/fuzz/corpus/matrix/hermitian.mtx.gz
EXTRA_DIST += tests/fuzz/corpus/matrix/hermitian.rb tests/fuzz/corpus/matrix/integer.hb
EXTRA_DIST += tests/fuzz/corpus/matrix/integer.mtx tests/fuzz/corpus/matrix/integer.rb
EXTRA_DIST += tests/fuzz/corpus/matrix/pattern.hb tests/fuzz/corpus/matrix/pattern.mtx
EXTRA_DIST += tests/fuzz/corpus/matrix/pattern.rb tests/fuzz/corpus/matrix/s.txt tests/fuzz/corpus/matrix/skew.hb
EXTRA_DIST += tests/fuzz/corpus/matrix/skew.mtx tests/fuzz/corpus/matrix/skew.rb tests/fuzz/corpus/matrix/v.npy
EXTRA_DIST += tests/fuzz/corpus/matrix/v2.npy tests/fuzz/corpus/matrix/v3.npy tests/fuzz/corpus/matrix/z.txt
EXTRA_DIST += tests/fuzz/corpus/matrix/array.octave tests/fuzz/corpus/matrix/diagonal.octave
EXTRA_DIST += tests/fuzz/corpus/matrix/error-cell-row.csv tests/fuzz/corpus/matrix/format-1x-and-group.rsa
EXTRA_DIST += tests/fuzz/corpus/matrix/german.csv tests/fuzz/corpus/matrix/heading.csv
EXTRA_DIST += tests/fuzz/corpus/matrix/lost-banner.mtx tests/fuzz/corpus/matrix/matrix.octave
EXTRA_DIST += tests/fuzz/corpus/matrix/rhs-fgx.rua tests/fuzz/corpus/matrix/sparse.octave
EXTRA_DIST += tests/fuzz/corpus/matrix/unsigned-integer.mtx
unit_tests += tests/unit/test_cost_model
tests_unit_test_cost_model_LDADD = $(LIBFIT) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_cost_shapes
tests_unit_test_cost_shapes_SOURCES = tests/unit/test_cost_shapes.c tests/unit/cost_trial.c tests/unit/cost_trial.h
tests_unit_test_cost_shapes_LDADD = $(LIBFIT) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_cost_ranges
tests_unit_test_cost_ranges_SOURCES = tests/unit/test_cost_ranges.c tests/unit/cost_trial.c tests/unit/cost_trial.h
tests_unit_test_cost_ranges_LDADD = $(LIBFIT) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_fit_again
tests_unit_test_fit_again_LDADD = $(LIBFIT) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_design
tests_unit_test_design_LDADD = $(LIBFIT) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_design_sparse
tests_unit_test_design_sparse_LDADD = $(LIBFIT) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_predictor
tests_unit_test_predictor_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_queue_wait
tests_unit_test_queue_wait_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_outlook
tests_unit_test_outlook_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_accuracy
tests_unit_test_accuracy_LDADD = $(SERVER_LIBS)
unit_tests += tests/unit/test_estimate
tests_unit_test_estimate_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_open_sessions
tests_unit_test_open_sessions_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_escape
tests_unit_test_escape_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_told
tests_unit_test_told_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_lost_problems
tests_unit_test_lost_problems_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_returning
tests_unit_test_returning_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_fetchers
tests_unit_test_fetchers_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_namesakes
tests_unit_test_namesakes_LDADD = $(UNIT_LIBS)

unit_tests += tests/unit/test_children
tests_unit_test_children_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_membership
tests_unit_test_membership_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_settings
tests_unit_test_settings_LDADD = $(LIBSERVICES) $(UNIT_LIBS)
unit_tests += tests/unit/test_wire
tests_unit_test_wire_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_message
tests_unit_test_message_SOURCES = tests/unit/test_message.c tests/unit/generated.h
tests_unit_test_message_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_inproc
tests_unit_test_inproc_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_flow
tests_unit_test_flow_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_flow_journal
tests_unit_test_flow_journal_LDADD = $(LIBFLOW) $(UNIT_LIBS)
unit_tests += tests/unit/test_flow_program
tests_unit_test_flow_program_LDADD = $(LIBSIMULATE) $(CMOCKA_LIBS) -lm
unit_tests += tests/fuzz/fuzz_flow
tests_fuzz_fuzz_flow_SOURCES = tests/fuzz/fuzz_flow.c tests/fuzz/replay.c tests/fuzz/replay.h
tests_fuzz_fuzz_flow_LDADD = $(LIBSIMULATE)
EXTRA_DIST += tests/fuzz/corpus/flow/change.flow tests/fuzz/corpus/flow/lu.flow tests/fuzz/corpus/flow/solve.flow
unit_tests += tests/unit/test_star
tests_unit_test_star_LDADD = $(LIBSIMULATE) $(CMOCKA_LIBS)
unit_tests += tests/unit/test_lu
tests_unit_test_lu_LDADD = $(LIBSIMULATE) $(CMOCKA_LIBS)
unit_tests += tests/unit/test_bench
tests_unit_test_bench_LDADD = $(LIBBENCH) $(UNIT_LIBS) -lm

# Shell tests: TAP by tests/e2e/harness.sh; end-to-end ones are tests/e2e/tNNNN-topic.t with the real daemons.
# `shell_tests` runs everywhere, `e2e_tests` where there are daemons (not with --without-omniorb).
shell_tests =
e2e_tests =
TESTS += $(shell_tests)
if WITH_OMNIORB
TESTS += $(e2e_tests)
endif
EXTRA_DIST += tests/e2e/tutorial.sh
EXTRA_DIST += tests/python/python.sh tests/python/python.esp tests/python/test_calls.py tests/python/test_linalg.py tests/python/test_manual.py tests/python/test_remote.py
EXTRA_DIST += tests/e2e/harness.sh tests/e2e/far_hosts.sh $(shell_tests) $(e2e_tests)
EXTRA_DIST += tests/e2e/product.esp tests/e2e/unread.esp
EXTRA_DIST += tests/e2e/kinds.esp tests/e2e/late.esp
shell_tests += tests/check-architecture.t tests/check-headers.t
unit_tests += tests/unit/test_problem
tests_unit_test_problem_LDADD = util/libown.a $(UNIT_LIBS) -ldl

# Unit tests alone, and of all programs only those that they are and that they start: for builds in which shell tests
# would measure the sanitizer.
unit_programs = $(unit_tests) sed/espalier-crd $(pkglib_LTLIBRARIES)
if WITH_MPI
unit_programs += sed/mpi/espalier-prd
endif
# Where tests compute most, which is worth some optimisation in builds that have none.
computing-objects: $(services_libfit_a_OBJECTS) $(tests_problems_libmat_a_OBJECTS)
.PHONY: computing-objects unit-programs check-unit check-further
unit-programs: $(unit_programs) $(check_LIBRARIES) $(check_LTLIBRARIES)
check-unit: unit-programs
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(unit_tests)' check_PROGRAMS='$(unit_tests)'

# What takes too long for each change. Tests look at the variable ESP_NIGHTLY.
nightly_tests = tests/unit/test_many_workers
nightly_tests += tests/e2e/t0840-solutions.t
nightly_tests += tests/e2e/t0760-slurm.t
nightly_programs = tests/unit/test_many_workers tests/e2e/batch_driver
.PHONY: nightly
nightly: all $(nightly_programs) $(check_LIBRARIES) $(check_LTLIBRARIES)
	ESP_NIGHTLY=1 $(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(nightly_tests)' check_PROGRAMS=

# All but the unit tests, for who runs those in a build with sanitizers; with the few of which rows are left out there.
unsanitized_tests = tests/unit/test_workers tests/unit/test_worker_limits tests/unit/test_guard \
	tests/mpi/test_far_ranks tests/mpi/test_rank_deaths
.PHONY: check-but-unit
check-but-unit:
	others() { \
	    echo "$$1" | tr ' ' '\n' | grep -vxF "`echo $(unit_tests) | tr ' ' '\n' | grep -vxF "$$plain"`" | tr '\n' ' '; \
	}; \
	plain=`echo $(unsanitized_tests) | tr ' ' '\n'`; \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="`others '$(TESTS)'`" check_PROGRAMS="`others '$(check_PROGRAMS)'`"

# For a build with other options beside one that runs all: that everything is built and linked, and what the programs
# do then. The unit tests, the problems and what ranks compute are the same objects in both, and so are the sources.
check-further:
	$(MAKE) $(AM_MAKEFLAGS) check \
	    TESTS="`echo $(TESTS) | tr ' ' '\n' | grep -vE '^tests/(unit|inproc|problems|mpi)/|/t070[0-9]-|/check-(architecture|configure)' | tr '\n' ' '`"
shell_tests += tests/check-configure.t

# The tables of the configuration files, for tests/check-manual.t.
check_PROGRAMS += tests/list_settings
tests_list_settings_LDADD = $(LIBSERVICES)
shell_tests += tests/check-manual.t
unit_tests += tests/unit/test_problem_errors
tests_unit_test_problem_errors_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_problem_command
tests_unit_test_problem_command_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_problem_call
tests_unit_test_problem_call_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_problem_family
tests_unit_test_problem_family_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_abstract
tests_unit_test_abstract_SOURCES = tests/unit/test_abstract.c tests/unit/no_entry.c
tests_unit_test_abstract_LDADD = $(LIBCLIENT) $(UNIT_LIBS)
unit_tests += tests/unit/test_texts
tests_unit_test_texts_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_section
tests_unit_test_section_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_problem_storage
tests_unit_test_problem_storage_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_problem_solves
tests_unit_test_problem_solves_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_crd_system
tests_unit_test_crd_system_SOURCES = tests/unit/test_crd_system.c sed/crd/crd_system.c
tests_unit_test_crd_system_LDADD = sed/libcheckpoint.a $(POOL_LIBS) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_problem_load
tests_unit_test_problem_load_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_expr
tests_unit_test_expr_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_fill
tests_unit_test_fill_LDADD = $(UNIT_LIBS) -lm

# Fuzz targets as replays of their corpus (tests/fuzz/replay.h tells how to fuzz for real).
unit_tests += tests/fuzz/fuzz_problem
tests_fuzz_fuzz_problem_SOURCES = tests/fuzz/fuzz_problem.c tests/fuzz/replay.c tests/fuzz/replay.h
tests_fuzz_fuzz_problem_LDADD = $(LIBCORE)
EXTRA_DIST += tests/fuzz/corpus/problem/dgesvd.esp tests/fuzz/corpus/problem/everything.esp
EXTRA_DIST += tests/fuzz/corpus/problem/level1.esp tests/fuzz/corpus/problem/families.esp
# Workers run real routines: LAPACK's, and those of a library of the tests' own.
check_LTLIBRARIES += tests/unit/libroutines.la
tests_unit_libroutines_la_SOURCES = tests/unit/routines.c
tests_unit_libroutines_la_LDFLAGS = -module -shared -avoid-version -rpath /nowhere
check_LIBRARIES += tests/unit/librig.a
tests_unit_librig_a_SOURCES = tests/unit/worker_rig.c tests/unit/worker_rig.h
WORKER_LIBS = tests/unit/librig.a $(POOL_LIBS) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_routine_files
tests_unit_test_routine_files_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_callbacks
tests_unit_test_callbacks_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_command
tests_unit_test_command_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_hostfile
tests_unit_test_hostfile_LDADD = $(LIBSERVICES) $(UNIT_LIBS)
unit_tests += tests/unit/test_spread
tests_unit_test_spread_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_folders
tests_unit_test_folders_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_listen_at
tests_unit_test_listen_at_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_folder
tests_unit_test_folder_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_envoys
tests_unit_test_envoys_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_many_ranks
tests_unit_test_many_ranks_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_ranks_wait
tests_unit_test_ranks_wait_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_workers
tests_unit_test_workers_LDADD = $(WORKER_LIBS)
shell_tests += tests/check-quickstart.t
SERVER_LIBS = $(STATE_LIBS) $(LIBSERVICES) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_queue tests/unit/test_admission tests/unit/test_ranges tests/unit/test_segment tests/unit/test_search_path
tests_unit_test_queue_LDADD = $(SERVER_LIBS)
unit_tests += tests/unit/test_states tests/unit/test_promises
tests_unit_test_promises_LDADD = $(SERVER_LIBS)
tests_unit_test_states_LDADD = $(SERVER_LIBS)
tests_unit_test_admission_LDADD = $(SERVER_LIBS)
tests_unit_test_ranges_LDADD = $(SERVER_LIBS)
tests_unit_test_search_path_LDADD = $(LIBUTIL) $(UNIT_LIBS)
tests_unit_test_segment_LDADD = $(SERVER_LIBS)
unit_tests += tests/unit/test_lenders
tests_unit_test_lenders_LDADD = $(SERVER_LIBS)
unit_tests += tests/unit/test_layings
tests_unit_test_layings_LDADD = $(SERVER_LIBS)
unit_tests += tests/unit/test_memory_share
tests_unit_test_memory_share_LDADD = $(SERVER_LIBS)
unit_tests += tests/unit/test_process_limits
tests_unit_test_process_limits_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_speed
tests_unit_test_speed_LDADD = $(SERVER_LIBS)
unit_tests += tests/unit/test_worker_faults
tests_unit_test_worker_faults_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_worker_limits
tests_unit_test_worker_limits_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_environment
tests_unit_test_environment_LDADD = $(LIBDAEMON) $(LIBSERVICES) $(UNIT_LIBS)
unit_tests += tests/unit/test_many_workers
tests_unit_test_many_workers_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_invoke
tests_unit_test_invoke_LDADD = $(LIBINVOKE) $(POOL_LIBS) $(UNIT_LIBS) $(FFI_LIBS)
unit_tests += tests/unit/test_metrics
tests_unit_test_metrics_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_daemon_watched
tests_unit_test_daemon_watched_LDADD = $(LIBDAEMON) $(LIBSERVICES) $(UNIT_LIBS)
unit_tests += tests/unit/test_daemon
tests_unit_test_daemon_LDADD = $(LIBDAEMON) $(LIBSERVICES) $(UNIT_LIBS)
# A whole hierarchy in one process, in virtual time.
check_LIBRARIES += tests/inproc/libplatform.a
tests_inproc_libplatform_a_SOURCES = tests/inproc/platform.c tests/inproc/platform.h tests/inproc/simulated_server.c \
	tests/inproc/simulated_server.h
LIBPLATFORM = tests/inproc/libplatform.a $(LIBAGENT) $(UNIT_LIBS) -lm
unit_tests += tests/inproc/test_administer
tests_inproc_test_administer_LDADD = $(LIBPLATFORM)
unit_tests += tests/inproc/test_hierarchy
tests_inproc_test_hierarchy_LDADD = $(LIBPLATFORM)

# One suite over both transports.
check_PROGRAMS += tests/inproc/conformance
TESTS += tests/inproc/conformance
tests_inproc_conformance_SOURCES = tests/inproc/conformance.c tests/inproc/conformance.h tests/inproc/recorder.c \
	tests/inproc/recorder.h
tests_inproc_conformance_LDADD = $(UNIT_LIBS)
if WITH_OMNIORB
check_PROGRAMS += tests/inproc/conformance_orb
TESTS += tests/inproc/conformance_orb
unit_tests += tests/unit/test_orb
nodist_EXTRA_tests_unit_test_orb_SOURCES = dummy.cc
tests_unit_test_orb_LDADD = $(LIBORB) $(UNIT_LIBS)
unit_tests += tests/unit/test_orb_near
nodist_EXTRA_tests_unit_test_orb_near_SOURCES = dummy.cc
tests_unit_test_orb_near_LDADD = $(LIBORB) $(UNIT_LIBS)
unit_tests += tests/unit/test_orb_strangers
nodist_EXTRA_tests_unit_test_orb_strangers_SOURCES = dummy.cc
tests_unit_test_orb_strangers_SOURCES = tests/unit/test_orb_strangers.c tests/unit/giop.c tests/unit/giop.h
tests_unit_test_orb_strangers_LDADD = $(LIBORB) $(UNIT_LIBS)
tests_inproc_conformance_orb_SOURCES = $(tests_inproc_conformance_SOURCES) tests/inproc/conformance_orb.c
nodist_EXTRA_tests_inproc_conformance_orb_SOURCES = dummy.cc
tests_inproc_conformance_orb_LDADD = $(LIBORB) $(UNIT_LIBS)
check_PROGRAMS += tests/inproc/conformance_ports
TESTS += tests/inproc/conformance_ports
tests_inproc_conformance_ports_SOURCES = $(tests_inproc_conformance_SOURCES) tests/inproc/conformance_ports.c
nodist_EXTRA_tests_inproc_conformance_ports_SOURCES = dummy.cc
tests_inproc_conformance_ports_LDADD = $(LIBORB) $(UNIT_LIBS)
endif
# The client library over a fake hierarchy.
check_LIBRARIES += tests/unit/libgrpcfixture.a
tests_unit_libgrpcfixture_a_SOURCES = tests/unit/fake.c tests/unit/fake.h \
	tests/unit/fake_agents.c tests/unit/fake_internal.h tests/unit/fake_server.c tests/unit/grpc_fixture.c tests/unit/grpc_fixture.h
# The object stands first: it defines the transport that the library asks for.
LIBGRPCFIXTURE = tests/unit/grpc_fixture.$(OBJEXT) tests/unit/libgrpcfixture.a $(LIBCLIENT) $(UNIT_LIBS)
unit_tests += tests/unit/test_grpc
tests_unit_test_grpc_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_command_values
tests_unit_test_command_values_LDADD = $(LIBCOMMAND) $(LIBCLIENT) $(UNIT_LIBS) $(JANSSON_LIBS) -lm
tests_unit_test_command_values_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
shell_tests += tests/e2e/t0100-command-offline.t
shell_tests += tests/e2e/t0111-flow.t
shell_tests += tests/e2e/t0112-flow-run.t
shell_tests += tests/e2e/t0113-flow-lu.t
unit_tests += tests/inproc/test_server
tests_inproc_test_server_SOURCES = tests/inproc/test_server.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_data tests/inproc/test_server_tree
tests_inproc_test_server_data_SOURCES = tests/inproc/test_server_data.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_data_LDADD = $(SERVER_LIBS)
tests_inproc_test_server_tree_SOURCES = tests/inproc/test_server_tree.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_tree_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_data_room
tests_inproc_test_data_room_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_traffic
tests_inproc_test_server_traffic_SOURCES = tests/inproc/test_server_traffic.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_traffic_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_store
tests_inproc_test_server_store_SOURCES = tests/inproc/test_server_store.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_store_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_moves
tests_inproc_test_server_moves_SOURCES = tests/inproc/test_server_moves.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_moves_LDADD = tests/unit/libcrashingfiles.a $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_full_disk
tests_inproc_test_server_full_disk_SOURCES = tests/inproc/test_server_full_disk.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_full_disk_LDADD = tests/unit/libcrashingfiles.a $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_rescue
tests_inproc_test_server_rescue_SOURCES = tests/inproc/test_server_rescue.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_rescue_LDADD = tests/unit/libcrashingfiles.a $(STATE_LIBS) $(LIBAGENT) $(UNIT_LIBS) -lm
unit_tests += tests/inproc/test_data_places
tests_inproc_test_data_places_SOURCES = tests/inproc/test_data_places.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_data_places_LDADD = $(STATE_LIBS) $(LIBAGENT) $(UNIT_LIBS) -lm
unit_tests += tests/inproc/test_given_up_peers
tests_inproc_test_given_up_peers_SOURCES = tests/inproc/test_given_up_peers.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_given_up_peers_LDADD = $(STATE_LIBS) $(LIBAGENT) $(LIBREDIRECTOR) $(UNIT_LIBS) -lm
unit_tests += tests/inproc/test_server_kept
tests_inproc_test_server_kept_SOURCES = tests/inproc/test_server_kept.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_kept_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_parallel
tests_inproc_test_server_parallel_SOURCES = tests/inproc/test_server_parallel.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_parallel_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_memory
tests_inproc_test_server_memory_SOURCES = tests/inproc/test_server_memory.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_memory_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_jobs
tests_inproc_test_server_jobs_SOURCES = tests/inproc/test_server_jobs.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_jobs_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_await
tests_inproc_test_server_await_SOURCES = tests/inproc/test_server_await.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_await_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_orphans
tests_inproc_test_server_orphans_SOURCES = tests/inproc/test_server_orphans.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_orphans_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_server_acknowledged
tests_inproc_test_server_acknowledged_SOURCES = tests/inproc/test_server_acknowledged.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_server_acknowledged_LDADD = $(SERVER_LIBS)
unit_tests += tests/inproc/test_data_estimates
tests_inproc_test_data_estimates_LDADD = $(LIBPLATFORM)
unit_tests += tests/unit/test_arrivals
tests_unit_test_arrivals_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/inproc/test_memory_choice
tests_inproc_test_memory_choice_LDADD = $(LIBPLATFORM)
unit_tests += tests/inproc/test_ahead
tests_inproc_test_ahead_LDADD = $(LIBPLATFORM)
unit_tests += tests/inproc/test_peers
tests_inproc_test_peers_LDADD = $(LIBPLATFORM) $(LIBREDIRECTOR)
unit_tests += tests/inproc/test_redirector
tests_inproc_test_redirector_LDADD = $(LIBPLATFORM) $(LIBREDIRECTOR)
unit_tests += tests/inproc/test_ties
tests_inproc_test_ties_LDADD = $(LIBPLATFORM)
unit_tests += tests/inproc/test_lost
tests_inproc_test_lost_LDADD = $(LIBPLATFORM) $(LIBREDIRECTOR)
e2e_tests += tests/check-symbols.t
unit_tests += tests/unit/test_jobs tests/unit/test_sweep tests/unit/test_options
tests_unit_test_jobs_LDADD = $(LIBGRPCFIXTURE)
tests_unit_test_sweep_SOURCES = tests/unit/test_sweep.c tests/unit/no_entry.c
tests_unit_test_sweep_LDADD = $(LIBCOMMAND) $(LIBCLIENT) $(UNIT_LIBS) $(JANSSON_LIBS) -lm
tests_unit_test_sweep_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_options_SOURCES = tests/unit/test_options.c tests/unit/no_entry.c
tests_unit_test_options_LDADD = $(tests_unit_test_sweep_LDADD)
tests_unit_test_options_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
unit_tests += tests/unit/test_holding
tests_unit_test_holding_LDADD = $(LIBCLIENT) $(UNIT_LIBS)
unit_tests += tests/unit/test_guard
tests_unit_test_guard_LDADD = $(LIBCLIENT) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_deadline
tests_unit_test_deadline_SOURCES = tests/unit/test_deadline.c tests/unit/engine_rig.c tests/unit/engine_rig.h
tests_unit_test_deadline_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_data_find
tests_unit_test_data_find_SOURCES = tests/unit/test_data_find.c tests/unit/engine_rig.c tests/unit/engine_rig.h
tests_unit_test_data_find_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_data_move
tests_unit_test_data_move_SOURCES = tests/unit/test_data_move.c tests/unit/engine_rig.c tests/unit/engine_rig.h
tests_unit_test_data_move_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_backlog
tests_unit_test_backlog_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_grpc_ahead
tests_unit_test_grpc_ahead_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_grpc_faults tests/unit/test_grpc_vector
tests_unit_test_grpc_faults_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_grpc_many
tests_unit_test_grpc_many_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_grpc_redirectors
tests_unit_test_grpc_redirectors_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_grpc_silence
tests_unit_test_grpc_silence_LDADD = $(LIBGRPCFIXTURE)
tests_unit_test_grpc_vector_LDADD = $(LIBGRPCFIXTURE)
e2e_tests += tests/e2e/t0101-command-platform.t tests/e2e/t0102-command-bad-input.t tests/e2e/t0103-command-up.t
unit_tests += tests/unit/test_scheduler
tests_unit_test_scheduler_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_memory
tests_unit_test_memory_LDADD = $(LIBNWS) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_processor
tests_unit_test_processor_LDADD = $(LIBNWS) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_terms
tests_unit_test_terms_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_aggregate
tests_unit_test_aggregate_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_block_cyclic
tests_unit_test_block_cyclic_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_edge_colouring
tests_unit_test_edge_colouring_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_few_ranks
tests_unit_test_few_ranks_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_unequal
tests_unit_test_unequal_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_redistribution
tests_unit_test_redistribution_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_cost_ranks
tests_unit_test_cost_ranks_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_parallel_experience
tests_unit_test_parallel_experience_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_parallel_profile
tests_unit_test_parallel_profile_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_parallel_gemm
tests_unit_test_parallel_gemm_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_grid_search
tests_unit_test_grid_search_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_parallel_model
tests_unit_test_parallel_model_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_pictures
tests_unit_test_pictures_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_knowledge
tests_unit_test_knowledge_LDADD = $(UNIT_LIBS) -lm
e2e_tests += tests/e2e/t0200-server.t
e2e_tests += tests/e2e/t0310-jobs.t tests/e2e/t0311-jobs-end.t
e2e_tests += tests/e2e/t0501-states.t
e2e_tests += tests/e2e/t0503-commands.t
e2e_tests += tests/e2e/t0680-data.t
e2e_tests += tests/e2e/t0681-data-scheduling.t
e2e_tests += tests/e2e/t0683-one-host.t
e2e_tests += tests/e2e/t0684-large-data.t
e2e_tests += tests/e2e/t0685-data-of-users.t
e2e_tests += tests/e2e/t0686-data-faults.t
e2e_tests += tests/e2e/t0687-data-slow-link.t
e2e_tests += tests/e2e/t0688-strings.t
e2e_tests += tests/e2e/t0692-unread.t
e2e_tests += tests/e2e/t0693-data-below-leaders.t
e2e_tests += tests/e2e/t0694-sequences.t
e2e_tests += tests/e2e/t0695-given-up.t
e2e_tests += tests/e2e/t0689-damaged-data.t
e2e_tests += tests/e2e/t0690-cities.t
e2e_tests += tests/e2e/t0691-exit-codes.t
if WITH_OMNIORB
check_PROGRAMS += tests/e2e/data_steps tests/e2e/stay_steps tests/e2e/city_steps tests/e2e/slow_link
check_PROGRAMS += tests/e2e/lend_steps tests/e2e/abstract_data_steps tests/e2e/sequence_steps
tests_e2e_abstract_data_steps_SOURCES = tests/e2e/abstract_data_steps.c tests/e2e/data_arrays.h tests/e2e/must.h
tests_e2e_abstract_data_steps_LDADD = client/libespalier.la -lm
tests_e2e_lend_steps_SOURCES = tests/e2e/lend_steps.c
tests_e2e_lend_steps_LDADD = client/libespalier.la -lm
tests_e2e_city_steps_SOURCES = tests/e2e/city_steps.c
tests_e2e_city_steps_LDADD = client/libespalier.la -lm
tests_e2e_slow_link_SOURCES = tests/e2e/slow_link.c
check_PROGRAMS += tests/e2e/piece_steps
tests_e2e_piece_steps_SOURCES = tests/e2e/piece_steps.c
tests_e2e_piece_steps_LDADD = client/libespalier.la
check_PROGRAMS += tests/e2e/data_orders tests/e2e/data_kinds tests/e2e/file_steps
tests_e2e_file_steps_SOURCES = tests/e2e/file_steps.c tests/e2e/must.h
tests_e2e_file_steps_LDADD = client/libespalier.la
tests_e2e_data_kinds_SOURCES = tests/e2e/data_kinds.c tests/e2e/must.h
tests_e2e_data_kinds_LDADD = client/libespalier.la
tests_e2e_data_orders_SOURCES = tests/e2e/data_orders.c tests/e2e/must.h
tests_e2e_data_orders_LDADD = client/libespalier.la -lm
check_PROGRAMS += tests/e2e/string_steps
tests_e2e_string_steps_SOURCES = tests/e2e/string_steps.c tests/e2e/must.h
tests_e2e_string_steps_LDADD = client/libespalier.la
check_PROGRAMS += tests/e2e/avail_steps
tests_e2e_avail_steps_SOURCES = tests/e2e/avail_steps.c tests/e2e/must.h
tests_e2e_avail_steps_LDADD = client/libespalier.la
check_PROGRAMS += tests/e2e/unread_steps
tests_e2e_unread_steps_SOURCES = tests/e2e/unread_steps.c tests/e2e/data_arrays.h tests/e2e/must.h
tests_e2e_unread_steps_LDADD = client/libespalier.la -lm
tests_e2e_data_steps_SOURCES = tests/e2e/data_steps.c tests/e2e/data_arrays.h tests/e2e/must.h
tests_e2e_stay_steps_SOURCES = tests/e2e/stay_steps.c tests/e2e/data_arrays.h tests/e2e/must.h
tests_e2e_stay_steps_LDADD = client/libespalier.la -lm
tests_e2e_data_steps_LDADD = client/libespalier.la -lm
check_PROGRAMS += tests/e2e/copies_steps tests/e2e/lost_steps
tests_e2e_copies_steps_SOURCES = tests/e2e/copies_steps.c tests/e2e/data_arrays.h tests/e2e/must.h
tests_e2e_copies_steps_LDADD = client/libespalier.la -lm
tests_e2e_lost_steps_SOURCES = tests/e2e/lost_steps.c tests/e2e/data_arrays.h tests/e2e/must.h
tests_e2e_lost_steps_LDADD = client/libespalier.la -lm
tests_e2e_sequence_steps_SOURCES = tests/e2e/sequence_steps.c tests/e2e/data_arrays.h tests/e2e/must.h
tests_e2e_sequence_steps_LDADD = client/libespalier.la -lm -lpthread
endif
e2e_tests += tests/e2e/t9000-install.t

unit_tests += tests/fuzz/fuzz_message
tests_fuzz_fuzz_message_SOURCES = tests/fuzz/fuzz_message.c tests/fuzz/replay.c tests/fuzz/replay.h
tests_fuzz_fuzz_message_LDADD = $(LIBCORE)

EXTRA_DIST += tests/fuzz/corpus/message/00-post
EXTRA_DIST += tests/fuzz/corpus/message/01-hello
EXTRA_DIST += tests/fuzz/corpus/message/02-welcome
EXTRA_DIST += tests/fuzz/corpus/message/03-report
EXTRA_DIST += tests/fuzz/corpus/message/04-pulse
EXTRA_DIST += tests/fuzz/corpus/message/05-rejoin
EXTRA_DIST += tests/fuzz/corpus/message/06-goodbye
EXTRA_DIST += tests/fuzz/corpus/message/07-ask
EXTRA_DIST += tests/fuzz/corpus/message/08-answer
EXTRA_DIST += tests/fuzz/corpus/message/09-place
EXTRA_DIST += tests/fuzz/corpus/message/10-want
EXTRA_DIST += tests/fuzz/corpus/message/11-catalog
EXTRA_DIST += tests/fuzz/corpus/message/12-texts
EXTRA_DIST += tests/fuzz/corpus/message/32-greet
EXTRA_DIST += tests/fuzz/corpus/message/33-locate
EXTRA_DIST += tests/fuzz/corpus/message/34-submit
EXTRA_DIST += tests/fuzz/corpus/message/35-describe
EXTRA_DIST += tests/fuzz/corpus/message/36-list
EXTRA_DIST += tests/fuzz/corpus/message/37-tree
EXTRA_DIST += tests/fuzz/corpus/message/38-call
EXTRA_DIST += tests/fuzz/corpus/message/39-run
EXTRA_DIST += tests/fuzz/corpus/message/40-await
EXTRA_DIST += tests/fuzz/corpus/message/41-cancel
EXTRA_DIST += tests/fuzz/corpus/message/42-put
EXTRA_DIST += tests/fuzz/corpus/message/43-get
EXTRA_DIST += tests/fuzz/corpus/message/64-greet-reply
EXTRA_DIST += tests/fuzz/corpus/message/65-locate-reply
EXTRA_DIST += tests/fuzz/corpus/message/66-submit-reply
EXTRA_DIST += tests/fuzz/corpus/message/67-describe-reply
EXTRA_DIST += tests/fuzz/corpus/message/68-list-reply
EXTRA_DIST += tests/fuzz/corpus/message/69-tree-reply
EXTRA_DIST += tests/fuzz/corpus/message/70-call-reply
EXTRA_DIST += tests/fuzz/corpus/message/71-await-reply
EXTRA_DIST += tests/fuzz/corpus/message/72-done-reply
EXTRA_DIST += tests/fuzz/corpus/message/73-chunk-reply
EXTRA_DIST += tests/fuzz/corpus/message/44-follow
EXTRA_DIST += tests/fuzz/corpus/message/45-offer
EXTRA_DIST += tests/fuzz/corpus/message/45-offer-lease
EXTRA_DIST += tests/fuzz/corpus/message/45-offer-lease-short
EXTRA_DIST += tests/fuzz/corpus/message/46-open-lease
EXTRA_DIST += tests/fuzz/corpus/message/47-finish
EXTRA_DIST += tests/fuzz/corpus/message/48-drop
EXTRA_DIST += tests/fuzz/corpus/message/49-data
EXTRA_DIST += tests/fuzz/corpus/message/50-pull
EXTRA_DIST += tests/fuzz/corpus/message/51-administer
EXTRA_DIST += tests/fuzz/corpus/message/52-reach
EXTRA_DIST += tests/fuzz/corpus/message/38-call-lends
unit_tests += tests/unit/test_session
tests_unit_test_session_LDADD = $(SERVER_LIBS)
if WITH_OMNIORB
check_LTLIBRARIES += tests/e2e/libclientroutines.la
tests_e2e_libclientroutines_la_SOURCES = tests/e2e/client_routines.c
tests_e2e_libclientroutines_la_LDFLAGS = -module -shared -avoid-version -rpath /nowhere
check_PROGRAMS += tests/e2e/client_steps tests/e2e/follow_steps tests/e2e/abstract_steps
tests_e2e_abstract_steps_SOURCES = tests/e2e/abstract_steps.c
tests_e2e_abstract_steps_LDADD = client/libespalier.la -lm
check_PROGRAMS += tests/e2e/plain_steps
tests_e2e_plain_steps_SOURCES = tests/e2e/plain_steps.c tests/problems/plain_names.h
tests_e2e_plain_steps_LDADD = tests/problems/libmat.a client/libespalier.la $(UNIT_LIBS) -lm
check_PROGRAMS += tests/e2e/attach_steps
tests_e2e_attach_steps_SOURCES = tests/e2e/attach_steps.c tests/e2e/must.h
tests_e2e_attach_steps_LDADD = client/libespalier.la -lm
check_PROGRAMS += tests/e2e/solution_steps
tests_e2e_solution_steps_SOURCES = tests/e2e/solution_steps.c tests/e2e/steps.h
tests_e2e_solution_steps_LDADD = client/libespalier.la -lm
tests_e2e_follow_steps_SOURCES = tests/e2e/follow_steps.c
tests_e2e_follow_steps_LDADD = client/libespalier.la -lm
check_PROGRAMS += tests/e2e/guest_steps
tests_e2e_guest_steps_SOURCES = tests/e2e/guest_steps.c tests/e2e/steps.h
tests_e2e_guest_steps_LDADD = client/libespalier.la
e2e_tests += tests/e2e/t0730-programs-from-elsewhere.t
tests_e2e_client_steps_SOURCES = tests/e2e/client_steps.c tests/e2e/steps.h
tests_e2e_client_steps_LDADD = client/libespalier.la -lm
endif
e2e_tests += tests/e2e/t0300-client.t
e2e_tests += tests/e2e/t0320-lost-servers.t
e2e_tests += tests/e2e/t0321-lost-workers.t
e2e_tests += tests/e2e/t0322-idle-deaths.t
if WITH_OMNIORB
check_PROGRAMS += tests/e2e/construct_steps
tests_e2e_construct_steps_SOURCES = tests/e2e/construct_steps.c
tests_e2e_construct_steps_LDADD = client/libespalier.la
check_LTLIBRARIES += tests/e2e/libargumentroutines.la
tests_e2e_libargumentroutines_la_SOURCES = tests/e2e/argument_routines.c
tests_e2e_libargumentroutines_la_LDFLAGS = -module -shared -avoid-version -rpath /nowhere
check_PROGRAMS += tests/e2e/argument_steps tests/e2e/callback_steps tests/e2e/publish_steps
tests_e2e_publish_steps_SOURCES = tests/e2e/publish_steps.c tests/e2e/steps.h
tests_e2e_publish_steps_LDADD = client/libespalier.la -lm
tests_e2e_callback_steps_SOURCES = tests/e2e/callback_steps.c tests/e2e/steps.h
tests_e2e_callback_steps_LDADD = client/libespalier.la -lm
tests_e2e_argument_steps_SOURCES = tests/e2e/argument_steps.c tests/e2e/steps.h
tests_e2e_argument_steps_LDADD = client/libespalier.la -lm
endif
if WITH_OMNIORB
check_LTLIBRARIES += tests/chaos/libchaosroutines.la
tests_chaos_libchaosroutines_la_SOURCES = tests/chaos/routines.c
tests_chaos_libchaosroutines_la_LDFLAGS = -module -shared -avoid-version -rpath /nowhere
check_PROGRAMS += tests/chaos/client tests/chaos/wire
tests_chaos_client_SOURCES = tests/chaos/client.c
tests_chaos_client_LDADD = client/libespalier.la $(LIBUTIL)
tests_chaos_wire_SOURCES = tests/chaos/wire.c
check_LTLIBRARIES += tests/e2e/other_memory.la
tests_e2e_other_memory_la_SOURCES = tests/e2e/other_memory.c
tests_e2e_other_memory_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_e2e_other_memory_la_LDFLAGS = -module -shared -avoid-version -rpath /nowhere
check_LTLIBRARIES += tests/e2e/shifted_clock.la
tests_e2e_shifted_clock_la_SOURCES = tests/e2e/shifted_clock.c
tests_e2e_shifted_clock_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_e2e_shifted_clock_la_LDFLAGS = -module -shared -avoid-version -rpath /nowhere
tests_chaos_wire_LDADD = $(LIBUTIL)
endif
EXTRA_DIST += tests/chaos/espalier-chaos tests/chaos/platform.bash tests/chaos/faults.bash tests/chaos/watch.bash
e2e_tests += tests/e2e/t0650-chaos.t
e2e_tests += tests/e2e/t0660-restart.t tests/e2e/t0661-apply.t
e2e_tests += tests/e2e/t0665-bad-circumstances.t
e2e_tests += tests/e2e/t0666-lost-master.t tests/e2e/t0667-apply-after-death.t tests/e2e/t0668-idle-peers.t \
	tests/e2e/t0669-restart-one-each.t \
	tests/e2e/t0670-data-below-masters.t tests/e2e/t0671-bounded-waits.t \
	tests/e2e/t0672-sooner-below-masters.t tests/e2e/t0673-signatures-below-masters.t tests/e2e/t0674-honest-queues.t
e2e_tests += tests/e2e/t0662-checkpoints.t
unit_tests += tests/unit/test_checkpoint
tests_unit_test_checkpoint_LDADD = sed/libcheckpoint.a $(UNIT_LIBS)
e2e_tests += tests/e2e/t0104-command-tls.t
e2e_tests += tests/e2e/t0106-command-completion.t
e2e_tests += tests/e2e/t0107-tls-refusals.t
e2e_tests += tests/e2e/t0500-arguments.t
e2e_tests += tests/e2e/t0502-callbacks.t tests/e2e/t0506-published-routines.t
EXTRA_DIST += tests/e2e/publish_routines.c
e2e_tests += tests/e2e/t0504-tutorial.t
e2e_tests += tests/e2e/t0530-tutorial-more.t
e2e_tests += tests/e2e/t0540-pasted-examples.t
e2e_tests += tests/e2e/t0505-worker-limits.t
e2e_tests += tests/e2e/t0620-forecast.t
e2e_tests += tests/e2e/t0621-trace.t
e2e_tests += tests/e2e/t0630-choice.t tests/e2e/t0632-weather.t
e2e_tests += tests/e2e/t0511-sparse-states.t
e2e_tests += tests/e2e/t0840-solutions.t
e2e_tests += tests/e2e/t0521-plain-names.t
unit_tests += tests/inproc/test_client
tests_inproc_test_client_SOURCES = tests/inproc/test_client.c tests/inproc/server_rig.c tests/inproc/server_rig.h \
	tests/unit/no_entry.c
tests_inproc_test_client_LDADD = $(LIBCLIENT) $(SERVER_LIBS)
unit_tests += tests/inproc/test_exactly_once
tests_inproc_test_exactly_once_SOURCES = tests/inproc/test_exactly_once.c tests/inproc/server_rig.c \
	tests/inproc/server_rig.h tests/unit/no_entry.c
tests_inproc_test_exactly_once_LDADD = $(LIBCLIENT) $(STATE_LIBS) $(LIBAGENT) \
	$(LIBSERVICES) $(UNIT_LIBS) -lm
unit_tests += tests/inproc/test_herding
tests_inproc_test_herding_SOURCES = tests/inproc/test_herding.c tests/inproc/server_rig.c tests/inproc/server_rig.h
tests_inproc_test_herding_LDADD = $(LIBAGENT) $(SERVER_LIBS)
e2e_tests += tests/e2e/t0400-sessions-in-logs.t
e2e_tests += tests/e2e/t0401-strangers.t
e2e_tests += tests/e2e/t0402-stopped-daemons.t
e2e_tests += tests/e2e/t0404-one-deadline.t
e2e_tests += tests/e2e/t0405-silent-servers.t
e2e_tests += tests/e2e/t0407-vanished-clients.t
e2e_tests += tests/e2e/t0414-names.t
e2e_tests += tests/e2e/t0406-started-again.t
e2e_tests += tests/e2e/t0601-metrics.t
e2e_tests += tests/e2e/t0611-disabled-problems.t tests/e2e/t0612-second-daemon.t tests/e2e/t0613-ended-servers.t
# Data and the store of a server.
unit_tests += tests/unit/test_datum
unit_tests += tests/unit/test_real_text
tests_unit_test_real_text_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_bytes
tests_unit_test_bytes_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_datum_section
tests_unit_test_datum_section_LDADD = $(UNIT_LIBS)
tests_unit_test_datum_LDADD = $(UNIT_LIBS)
check_LIBRARIES += tests/unit/libcrashingfiles.a tests/unit/libstorerig.a
tests_unit_libcrashingfiles_a_SOURCES = tests/unit/crashing_files.c tests/unit/crashing_files.h
tests_unit_libstorerig_a_SOURCES = tests/unit/store_rig.c tests/unit/store_rig.h tests/unit/store_trial_kills.c \
	tests/unit/store_trial_power.c tests/unit/store_trials.h
LIBSTORERIG = tests/unit/libstorerig.a tests/unit/libcrashingfiles.a
STORE_LIBS = $(LIBSTORERIG) $(LIBSERVICES) $(UNIT_LIBS)
unit_tests += tests/unit/test_store
tests_unit_test_store_LDADD = $(STORE_LIBS)
unit_tests += tests/unit/test_store_stream
tests_unit_test_store_stream_LDADD = $(STORE_LIBS)
unit_tests += tests/unit/test_store_sums
tests_unit_test_store_sums_LDADD = $(STORE_LIBS)
unit_tests += tests/unit/test_store_ends
tests_unit_test_store_ends_LDADD = $(STORE_LIBS)
unit_tests += tests/unit/test_store_untaken
tests_unit_test_store_untaken_LDADD = $(STORE_LIBS)
unit_tests += tests/unit/test_store_crash
tests_unit_test_store_crash_LDADD = $(STORE_LIBS)
unit_tests += tests/unit/test_store_model tests/unit/test_datum_file
tests_unit_test_store_model_LDADD = $(STORE_LIBS)
tests_unit_test_datum_file_LDADD = $(STORE_LIBS)
unit_tests += tests/fuzz/fuzz_datum
tests_fuzz_fuzz_datum_SOURCES = tests/fuzz/fuzz_datum.c tests/fuzz/replay.c tests/fuzz/replay.h
tests_fuzz_fuzz_datum_LDADD = $(LIBSERVICES)
EXTRA_DIST += tests/fuzz/corpus/datum/matrix.datum tests/fuzz/corpus/datum/blocks.datum
EXTRA_DIST += tests/fuzz/corpus/datum/empty.datum
unit_tests += tests/unit/test_pieces
tests_unit_test_pieces_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_porters
tests_unit_test_porters_LDADD = sed/libservice.a $(WORKER_LIBS)
unit_tests += tests/unit/test_porter
tests_unit_test_porter_SOURCES = tests/unit/test_porter.c tests/unit/porter_rig.c tests/unit/porter_rig.h
tests_unit_test_porter_LDADD = $(LIBPORTER) $(UNIT_LIBS)
unit_tests += tests/unit/test_porter_keep
tests_unit_test_porter_keep_SOURCES = tests/unit/test_porter_keep.c tests/unit/porter_rig.c tests/unit/porter_rig.h
tests_unit_test_porter_keep_LDADD = $(WORKER_LIBS)
unit_tests += tests/unit/test_porter_tls
tests_unit_test_porter_tls_SOURCES = tests/unit/test_porter_tls.c tests/unit/porter_rig.c tests/unit/porter_rig.h
tests_unit_test_porter_tls_LDADD = $(LIBPORTER) $(UNIT_LIBS)
unit_tests += tests/unit/test_location
tests_unit_test_location_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_replication
tests_unit_test_replication_LDADD = $(LIBSERVICES) $(UNIT_LIBS) -lm
if WITH_MPI
check_PROGRAMS += tests/mpi/redistribute
tests_mpi_redistribute_SOURCES = tests/mpi/redistribute.c
tests_mpi_redistribute_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_mpi_redistribute_LDADD = $(LIBMPI) $(LIBCORE) $(MPI_LIBS) -lm
check_PROGRAMS += tests/mpi/unequal
tests_mpi_unequal_SOURCES = tests/mpi/unequal.c tests/mpi/unequal.h tests/mpi/unequal_type.h tests/mpi/unequal_s.c
tests_mpi_unequal_SOURCES += tests/mpi/unequal_d.c tests/mpi/unequal_c.c tests/mpi/unequal_z.c
tests_mpi_unequal_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_mpi_unequal_LDADD = solvers/libunequal.la util/libutil.a $(SCALAPACK_LIBS) $(OPENBLAS_LIBS) $(MPI_LIBS) -lm
check_PROGRAMS += tests/mpi/multigrid
tests_mpi_multigrid_SOURCES = tests/mpi/multigrid.c
tests_mpi_multigrid_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_mpi_multigrid_LDADD = solvers/libunequal.la util/libutil.a $(SCALAPACK_LIBS) $(OPENBLAS_LIBS) $(MPI_LIBS) -lm
check_LTLIBRARIES += tests/mpi/librankroutines.la
tests_mpi_librankroutines_la_SOURCES = tests/mpi/rank_routines.c
tests_mpi_librankroutines_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -fvisibility=default
tests_mpi_librankroutines_la_LIBADD = $(MPI_LIBS)
tests_mpi_librankroutines_la_LDFLAGS = -module -shared -avoid-version -rpath /nowhere
RANKS_LIBS = tests/mpi/libranksrig.a $(WORKER_LIBS)
check_LIBRARIES += tests/mpi/libranksrig.a
tests_mpi_libranksrig_a_SOURCES = tests/mpi/ranks_rig.c tests/mpi/ranks_rig.h
check_LIBRARIES += tests/mpi/libfarrig.a
tests_mpi_libfarrig_a_SOURCES = tests/mpi/far_rig.c tests/mpi/far_rig.h
unit_tests += tests/mpi/test_ranks
tests_mpi_test_ranks_LDADD = $(RANKS_LIBS)
EXTRA_tests_mpi_test_ranks_DEPENDENCIES = tests/mpi/librankroutines.la
unit_tests += tests/mpi/test_rank_deaths
tests_mpi_test_rank_deaths_LDADD = $(RANKS_LIBS)
EXTRA_tests_mpi_test_rank_deaths_DEPENDENCIES = tests/mpi/librankroutines.la
unit_tests += tests/mpi/test_rank_service
tests_mpi_test_rank_service_LDADD = $(RANKS_LIBS) -lm
EXTRA_tests_mpi_test_rank_service_DEPENDENCIES = tests/mpi/librankroutines.la
unit_tests += tests/mpi/test_rank_choice
tests_mpi_test_rank_choice_LDADD = $(RANKS_LIBS) -lm
EXTRA_tests_mpi_test_rank_choice_DEPENDENCIES = tests/mpi/librankroutines.la
unit_tests += tests/mpi/test_far_ranks
tests_mpi_test_far_ranks_LDADD = tests/mpi/libfarrig.a $(RANKS_LIBS)
EXTRA_tests_mpi_test_far_ranks_DEPENDENCIES = tests/mpi/librankroutines.la
unit_tests += tests/mpi/test_far_data
tests_mpi_test_far_data_LDADD = tests/mpi/libfarrig.a $(RANKS_LIBS) -lm
EXTRA_tests_mpi_test_far_data_DEPENDENCIES = tests/mpi/librankroutines.la
endif
shell_tests += tests/e2e/t0701-mpi-redistribution.t
shell_tests += tests/e2e/t0724-unequal-ranks.t
shell_tests += tests/e2e/t0725-multigrid.t
shell_tests += tests/e2e/t0726-unequal-server.t
shell_tests += tests/e2e/t0705-ranks-on-hosts.t
shell_tests += tests/e2e/t0702-parallel-servers.t
shell_tests += tests/e2e/t0703-distributed-data.t
shell_tests += tests/e2e/t0704-server-to-server.t
shell_tests += tests/e2e/t0707-encrypted-pieces.t
shell_tests += tests/e2e/t0706-faster-of-two.t
shell_tests += tests/e2e/t0708-limits-of-ranks.t
shell_tests += tests/e2e/t0709-aligned-operands.t
shell_tests += tests/e2e/t0713-data-and-files.t
shell_tests += tests/e2e/t0715-directory-cut.t
shell_tests += tests/e2e/t0714-data-cut-short.t
shell_tests += tests/e2e/t0716-moved-source.t
shell_tests += tests/e2e/t0717-lost-intermediates.t
shell_tests += tests/e2e/t0718-singular-of-one-row.t
shell_tests += tests/e2e/t0719-slower-than-answers.t
shell_tests += tests/e2e/t0720-agent-that-waited.t
shell_tests += tests/e2e/t0721-one-of-two-copies.t
shell_tests += tests/e2e/t0722-bits-turned-over.t
shell_tests += tests/e2e/t0723-limits-of-copies.t
shell_tests += tests/e2e/t0710-straight-from-other-hosts.t
shell_tests += tests/e2e/t0711-far-ranks-fetch.t
shell_tests += tests/e2e/t0712-far-ranks-encrypted.t
unit_tests += tests/unit/test_pages
tests_unit_test_pages_SOURCES = tests/unit/test_pages.c sed/crd/crd_recurring.c
tests_unit_test_pages_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_awaited_file
tests_unit_test_awaited_file_LDADD = services/libduty.a $(LIBSERVICES) $(UNIT_LIBS)
unit_tests += tests/unit/test_disowned
tests_unit_test_disowned_LDADD = services/libduty.a $(LIBSERVICES) $(UNIT_LIBS)
unit_tests += tests/unit/test_regular_file
tests_unit_test_regular_file_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_careful
tests_unit_test_careful_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_crc32c
tests_unit_test_crc32c_LDADD = $(UNIT_LIBS)
unit_tests += tests/unit/test_directory
tests_unit_test_directory_LDADD = $(LIBDIRECTORY) $(LIBSERVICES) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_directory_peers
tests_unit_test_directory_peers_LDADD = $(LIBDIRECTORY) $(LIBSERVICES) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_size_rates
tests_unit_test_size_rates_LDADD = $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_link_learn
tests_unit_test_link_learn_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_link_memory
tests_unit_test_link_memory_LDADD = $(LIBGRPCFIXTURE)
unit_tests += tests/unit/test_links
tests_unit_test_links_LDADD = $(LIBLINKS) $(LIBDAEMON) $(LIBSERVICES) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_link_faults
tests_unit_test_link_faults_LDADD = $(LIBLINKS) $(LIBDAEMON) $(LIBSERVICES) $(UNIT_LIBS) -lm
e2e_tests += tests/e2e/t0643-directory-away.t
shell_tests += tests/e2e/t0740-many-slots.t
shell_tests += tests/e2e/t0741-out-of-memory.t
shell_tests += tests/e2e/t0742-units.t
shell_tests += tests/e2e/t0743-environment.t
shell_tests += tests/e2e/t0744-cleaned-folders.t
shell_tests += tests/e2e/t0745-limits.t
shell_tests += tests/e2e/t0746-small-machine.t

# Batch systems: pure parts, the back ends, and the jobs of a server with a batch system of the test's own.
BATCH_LIBS = $(LIBBATCH) $(UNIT_LIBS) -lm
unit_tests += tests/unit/test_batch_life
tests_unit_test_batch_life_LDADD = $(BATCH_LIBS)
unit_tests += tests/unit/test_batch_script
tests_unit_test_batch_script_LDADD = $(BATCH_LIBS)
unit_tests += tests/unit/test_batch_command
tests_unit_test_batch_command_LDADD = $(BATCH_LIBS)
unit_tests += tests/unit/test_batch_jobs
tests_unit_test_batch_jobs_LDADD = $(BATCH_LIBS)
unit_tests += tests/unit/test_pilots
tests_unit_test_pilots_LDADD = $(BATCH_LIBS)
unit_tests += tests/unit/test_slurm
tests_unit_test_slurm_LDADD = $(BATCH_LIBS)
unit_tests += tests/fuzz/fuzz_slurm
tests_fuzz_fuzz_slurm_SOURCES = tests/fuzz/fuzz_slurm.c tests/fuzz/replay.c tests/fuzz/replay.h
tests_fuzz_fuzz_slurm_LDADD = $(LIBBATCH) $(LIBCORE)
EXTRA_DIST += tests/fuzz/corpus/slurm/squeue tests/fuzz/corpus/slurm/sacct tests/fuzz/corpus/slurm/sbatch
EXTRA_DIST += tests/fuzz/corpus/slurm/scontrol tests/fuzz/corpus/slurm/record tests/fuzz/corpus/slurm/exit
check_PROGRAMS += tests/e2e/batch_driver
tests_e2e_batch_driver_LDADD = $(LIBBATCH) $(LIBCORE)
shell_tests += tests/e2e/t0760-slurm.t
EXTRA_DIST += tests/e2e/slurm.sh
e2e_tests += tests/e2e/t0761-pilot.t
e2e_tests += tests/e2e/t0850-python.t tests/e2e/t0851-python-arrays.t tests/e2e/t0852-python-manual.t
e2e_tests += tests/e2e/t0853-fortran.t
EXTRA_DIST += tests/fortran/more.f90
e2e_tests += tests/e2e/t0900-octave.t
EXTRA_DIST += tests/octave/calls.m tests/octave/octave.esp
