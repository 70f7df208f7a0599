# SPDX-License-Identifier: Apache-2.0

# The command. Its default platform is the sample file.
client/command/default_platform.c: etc/platform.conf
	$(AM_V_GEN)$(MKDIR_P) client/command && { echo '#include "client/command/launch.h"' && \
	echo 'const char default_platform[] =' && \
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $(srcdir)/etc/platform.conf && echo ';'; } >$@.tmp && \
	mv $@.tmp $@
CLEANFILES += client/command/default_platform.c
noinst_LIBRARIES += client/command/libcommand.a
client_command_libcommand_a_SOURCES = \
	client/command/asking.c \
	client/command/asking.h \
	client/command/bar.c \
	client/command/bar.h \
	client/command/abstract_arguments.c \
	client/command/abstract_arguments.h \
	client/command/call_abstract.c \
	client/command/call_abstract.h \
	client/command/command.h \
	client/command/complete.c \
	client/command/complete.h \
	client/command/complete_platform.c \
	client/command/deploy.c \
	client/command/deploy.h \
	client/command/elsewhere.c \
	client/command/elsewhere.h \
	client/command/jobs.c \
	client/command/jobs.h \
	client/command/launch.c \
	client/command/launch.h \
	client/command/libraries.c \
	client/command/libraries.h \
	client/command/options.c \
	client/command/platform_process.c \
	client/command/platform_state.c \
	client/command/platform_state.h \
	client/command/problem_verb.c \
	client/command/problem_verb.h \
	client/command/printing.c \
	client/command/printing.h \
	client/command/quota.c \
	client/command/quota.h \
	client/command/remote.c \
	client/command/remote.h \
	client/command/report.c \
	client/command/constraints.c \
	client/command/constraints.h \
	client/command/session.c \
	client/command/bound_forecast.c \
	client/command/bound_forecast.h \
	client/command/session.h \
	client/command/steps_view.c \
	client/command/steps_view.h \
	client/command/csv_rows.c \
	client/command/csv_rows.h \
	client/command/sweep.c \
	client/command/sweep.h \
	client/command/sweep_resume.c \
	client/command/sweep_resume.h \
	client/command/system.h \
	client/command/system_load.c \
	client/command/system_solve.c \
	client/command/table.c \
	client/command/table.h \
	client/command/texts_out.c \
	client/command/texts_out.h \
	client/command/values.h \
	client/command/values_job.c \
	client/command/values_out.c \
	client/command/values_reading.c \
	client/command/verb_calibrate.c \
	client/command/verb_call.c \
	client/command/plot.c \
	client/command/plot.h \
	client/command/verb_accuracy.c \
	client/command/verb_forecast.c \
	client/command/forecast_grids.c \
	client/command/forecast_grids.h \
	client/command/forecast_machine.c \
	client/command/forecast_machine.h \
	client/command/forecast_strategies.c \
	client/command/forecast_strategies.h \
	client/command/implementations.c \
	client/command/implementations.h \
	client/command/ranks_ask.c \
	client/command/ranks_ask.h \
	client/command/forecast_tables.c \
	client/command/forecast_tables.h \
	client/command/verb_cancel.c \
	client/command/verb_config.c \
	client/command/json_write.c \
	client/command/json_write.h \
	client/command/left_note.c \
	client/command/left_note.h \
	client/command/verb_data.c \
	client/command/verb_data.h \
	client/command/lines.c \
	client/command/lines.h \
	client/command/verb_data_get.c \
	client/command/verb_data_move.c \
	client/command/verb_data_put.c \
	client/command/machines.c \
	client/command/machines.h \
	client/command/missing.c \
	client/command/moving.c \
	client/command/namesakes.c \
	client/command/moving.h \
	client/command/namesakes.h \
	client/command/offers.c \
	client/command/offers.h \
	client/command/put_note.c \
	client/command/put_view.c \
	client/command/put_view.h \
	client/command/put_note.h \
	client/command/verb_directory.c \
	client/command/verb_data_show.c \
	client/command/layout.c \
	client/command/layout.h \
	client/command/verb_down.c \
	client/command/verb_fetch.c \
	client/command/verb_flow.c \
	client/command/verb_jobs.c \
	client/command/verb_matrix.c \
	client/command/verb_output.c \
	client/command/opener.c \
	client/command/opener.h \
	client/command/overflow.c \
	client/command/overflow.h \
	client/command/pasted.c \
	client/command/pasted.h \
	client/command/waiting.c \
	client/command/waiting.h \
	client/command/verb_problems.c \
	client/command/verb_problems_check.c \
	client/command/verb_solve.c \
	client/command/verb_submit.c \
	client/command/verb_sweep.c \
	client/command/admin.c \
	client/command/admin.h \
	client/command/verb_admin.c \
	client/command/apply.h \
	client/command/apply_plan.c \
	client/command/apply_plan.h \
	client/command/apply_redirectors.c \
	client/command/apply_return.c \
	client/command/apply_start.c \
	client/command/way_in.c \
	client/command/way_in.h \
	client/command/settle.c \
	client/command/settle.h \
	client/command/spare.c \
	client/command/verb_admin_add.c \
	client/command/verb_admin_apply.c \
	client/command/verb_admin_restart.c \
	client/command/verb_trace.c \
	client/command/verb_tree.c \
	client/command/verb_up.c \
	client/command/verb_wait.c \
	client/command/verb_weather.c \
	client/command/weather.c \
	client/command/weather_ask.c \
	client/command/weather.h \
	client/command/weather_summary.c \
	client/command/weather_summary.h \
	client/command/verbs.c
nodist_client_command_libcommand_a_SOURCES = client/command/default_platform.c
client_command_libcommand_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -DESP_SBINDIR='"$(sbindir)"'
LIBCOMMAND = client/command/libcommand.a simulate/libsimulate.a util/libown.a $(LIBSERVICES) $(JANSSON_LIBS) -lm
# The client library. client/libclient.a is all of it but the choice of the transport (client/entry.c), for
# tests over other transports.
noinst_LIBRARIES += client/libclient.a
client_libclient_a_SOURCES = \
	client/administer.c \
	client/describe.c \
	client/problem_list.c \
	client/describe.h \
	client/espalier.c \
	client/fast.c \
	client/fast_nodes.c \
	client/fast_rules.c \
	client/fast_servers.c \
	client/forecast.h \
	client/room.c \
	client/room.h \
	client/grpc.c \
	client/hierarchy.c \
	client/library.c \
	client/library.h \
	client/state_folder.c \
	client/state_folder.h \
	client/tree.c
include client/abstract/local.mk
include client/arguments/local.mk
include client/data/local.mk
include client/jobs/local.mk
include client/session/local.mk
client_libclient_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
LIBCLIENT = client/libclient.a $(LIBSERVICES) $(JANSSON_LIBS) $(FFI_LIBS)

# Reading and writing a directory: a program of its own, as it links libldap.
pkglibexec_PROGRAMS += client/espalier-directory
client_espalier_directory_SOURCES = client/command/directory.c client/command/directory_client.c \
	client/command/directory_client.h \
	client/command/directory_command.h \
	client/command/directory_import.c \
	client/command/directory_show.c
client_espalier_directory_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
client_espalier_directory_LDADD = $(LIBCOMMAND) $(LIBDIRECTORY) $(LIBSERVICES) $(JANSSON_LIBS) -lm

# The command is linked against the library's parts, not the shared library: it starts faster.
bin_PROGRAMS += client/espalier
client_espalier_SOURCES = client/command/main.c
client_espalier_LDADD = $(LIBCOMMAND) $(LIBCLIENT) -ldl
if WITH_OMNIORB
noinst_LIBRARIES += client/libentry.a
client_libentry_a_SOURCES = client/entry.c
client_espalier_LDADD += client/libentry.a $(LIBORB) $(LIBCORE)
nodist_EXTRA_client_espalier_SOURCES = dummy.cc
else
# The text is not in config.h, so that all other objects are the same in both builds.
noinst_LIBRARIES += client/libentry_none.a
client_espalier_LDADD += client/libentry_none.a
client_libentry_none_a_SOURCES = client/entry_none.c
client_libentry_none_a_CPPFLAGS = $(AM_CPPFLAGS) -DESP_NO_NETWORK='"this build of Espalier has no network: install it with \
omniORB (on Debian: apt-get install libomniorb4-dev omniidl, then configure without --without-omniorb and make install)"'
endif

if WITH_OMNIORB
# Linked from the same objects as the command: all of client/, and what client/ needs of the other rooms. The ORB needs
# libstdc++. Libraries stand behind the archives that need them: -Wl keeps libtool from moving them.
lib_LTLIBRARIES += client/libespalier.la
client_libespalier_la_SOURCES =
espalier_parts = client/libentry.a orb/liborb.a services/libservices.a core/libcore.a util/libutil.a
espalier_libraries = $(OMNIORB_LIBS) $(CONFUSE_LIBS) $(JANSSON_LIBS) $(ISAL_LIBS) $(ZLIB_LIBS) $(FFI_LIBS) -lamd -lstdc++ -lm
client_libespalier_la_DEPENDENCIES = client/libclient.a $(espalier_parts) client/libespalier.map
# It keeps threads and per-thread values: unloading would pull the code from under them.
client_libespalier_la_LDFLAGS = $(esp_library_flags) -Wl,-z,nodelete -Wl,--gc-sections $(AM_LDFLAGS) \
	-Wl,--whole-archive -Wl,client/libclient.a -Wl,--no-whole-archive $(espalier_parts:%=-Wl,%) \
	$(espalier_libraries:%=-Wl,%)
endif
