# SPDX-License-Identifier: Apache-2.0

# The command. Its default platform is the sample file.
command/default_platform.c: etc/platform.conf
	$(AM_V_GEN)$(MKDIR_P) command && { echo '#include "command/launch.h"' && \
	echo 'const char default_platform[] =' && \
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $(srcdir)/etc/platform.conf && echo ';'; } >$@.tmp && \
	mv $@.tmp $@
CLEANFILES += command/default_platform.c
noinst_LIBRARIES += command/libcommand.a
command_libcommand_a_SOURCES = \
	command/asking.c \
	command/asking.h \
	command/bar.c \
	command/bar.h \
	command/abstract_arguments.c \
	command/abstract_arguments.h \
	command/call_abstract.c \
	command/call_abstract.h \
	command/command.h \
	command/complete.c \
	command/complete.h \
	command/complete_platform.c \
	command/deploy.c \
	command/deploy.h \
	command/elsewhere.c \
	command/elsewhere.h \
	command/jobs.c \
	command/jobs.h \
	command/launch.c \
	command/launch.h \
	command/libraries.c \
	command/libraries.h \
	command/option_tables.c \
	command/options.c \
	command/platform_process.c \
	command/platform_state.c \
	command/platform_state.h \
	command/problem_verb.c \
	command/problem_verb.h \
	command/printing.c \
	command/printing.h \
	command/quota.c \
	command/quota.h \
	command/remote.c \
	command/remote.h \
	command/report.c \
	command/constraints.c \
	command/constraints.h \
	command/session.c \
	command/bound_forecast.c \
	command/bound_forecast.h \
	command/session.h \
	command/signals.c \
	command/steps_view.c \
	command/steps_view.h \
	command/csv_rows.c \
	command/csv_rows.h \
	command/sweep.c \
	command/sweep.h \
	command/sweep_resume.c \
	command/sweep_resume.h \
	command/system.h \
	command/system_load.c \
	command/system_solve.c \
	command/table.c \
	command/table.h \
	command/texts_out.c \
	command/texts_out.h \
	command/values.h \
	command/values_job.c \
	command/values_out.c \
	command/values_reading.c \
	command/verb_calibrate.c \
	command/verb_call.c \
	command/plot.c \
	command/plot.h \
	command/verb_accuracy.c \
	command/verb_forecast.c \
	command/forecast_grids.c \
	command/forecast_grids.h \
	command/forecast_machine.c \
	command/forecast_machine.h \
	command/forecast_strategies.c \
	command/forecast_strategies.h \
	command/implementations.c \
	command/implementations.h \
	command/ranks_ask.c \
	command/ranks_ask.h \
	command/forecast_tables.c \
	command/forecast_tables.h \
	command/verb_cancel.c \
	command/verb_config.c \
	command/json_write.c \
	command/json_write.h \
	command/left_note.c \
	command/left_note.h \
	command/verb_data.c \
	command/verb_data.h \
	command/lines.c \
	command/lines.h \
	command/verb_data_get.c \
	command/verb_data_move.c \
	command/verb_data_put.c \
	command/machines.c \
	command/machines.h \
	command/missing.c \
	command/missing.h \
	command/moving.c \
	command/namesakes.c \
	command/moving.h \
	command/namesakes.h \
	command/offers.c \
	command/offers.h \
	command/put_note.c \
	command/put_view.c \
	command/put_view.h \
	command/put_note.h \
	command/verb_directory.c \
	command/verb_data_show.c \
	command/layout.c \
	command/layout.h \
	command/verb_down.c \
	command/verb_fetch.c \
	command/verb_flow.c \
	command/verb_flow_run.c \
	command/verb_jobs.c \
	command/verb_matrix.c \
	command/verb_output.c \
	command/opener.c \
	command/opener.h \
	command/overflow.c \
	command/overflow.h \
	command/pasted.c \
	command/pasted.h \
	command/waiting.c \
	command/waiting.h \
	command/verb_problems.c \
	command/verb_problems_check.c \
	command/verb_solve.c \
	command/verb_submit.c \
	command/verb_sweep.c \
	command/admin.c \
	command/admin.h \
	command/verb_admin.c \
	command/apply.h \
	command/apply_plan.c \
	command/apply_plan.h \
	command/apply_redirectors.c \
	command/apply_return.c \
	command/apply_start.c \
	command/way_in.c \
	command/way_in.h \
	command/settle.c \
	command/settle.h \
	command/spare.c \
	command/verb_admin_add.c \
	command/verb_admin_apply.c \
	command/verb_admin_restart.c \
	command/verb_trace.c \
	command/verb_tree.c \
	command/verb_up.c \
	command/verb_wait.c \
	command/verb_weather.c \
	command/weather.c \
	command/weather_ask.c \
	command/weather.h \
	command/weather_summary.c \
	command/weather_summary.h \
	command/verbs.c \
	command/verbs.h
nodist_command_libcommand_a_SOURCES = command/default_platform.c
command_libcommand_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -DESP_SBINDIR='"$(sbindir)"'
LIBCOMMAND = command/libcommand.a $(LIBFLOW) simulate/libsimulate.a util/libown.a $(LIBSERVICES) $(JANSSON_LIBS) -lm

# Reading and writing a directory: a program of its own, as it links libldap.
pkglibexec_PROGRAMS += command/espalier-directory
command_espalier_directory_SOURCES = command/directory.c command/directory_client.c \
	command/directory_client.h \
	command/directory_command.h \
	command/directory_import.c \
	command/directory_show.c
command_espalier_directory_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
command_espalier_directory_LDADD = $(LIBCOMMAND) $(LIBDIRECTORY) $(LIBSERVICES) $(JANSSON_LIBS) -lm

# The command is linked against the library's parts, not the shared library: it starts faster.
bin_PROGRAMS += command/espalier
command_espalier_SOURCES = command/main.c
command_espalier_LDADD = $(LIBCOMMAND) $(LIBCLIENT) -ldl
if WITH_OMNIORB
command_espalier_LDADD += client/libentry.a $(LIBORB) $(LIBCORE)
nodist_EXTRA_command_espalier_SOURCES = dummy.cc
else
command_espalier_LDADD += client/libentry_none.a
endif
