# SPDX-License-Identifier: Apache-2.0

# The command. Its default platform is the sample file.
client/command/default_platform.inc: etc/platform.conf
	$(AM_V_GEN)$(MKDIR_P) client/command && \
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $(srcdir)/etc/platform.conf >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += client/command/default_platform.inc
CLEANFILES += client/command/default_platform.inc
noinst_LTLIBRARIES += client/command/libcommand.la
client_command_libcommand_la_SOURCES = client/command/command.h client/command/launch.c client/command/launch.h \
	client/command/options.c client/command/platform_process.c client/command/platform_state.c \
	client/command/platform_state.h client/command/quota.c client/command/quota.h client/command/report.c \
	client/command/session.c client/command/session.h client/command/signature.c client/command/signature.h \
	client/command/table.c client/command/table.h client/command/values.c client/command/values.h \
	client/command/values_out.c client/command/verb_call.c client/command/verb_config.c client/command/verb_down.c \
	client/command/verb_matrix.c client/command/verb_problems.c client/command/verb_solve.c \
	client/command/verb_tree.c client/command/verb_up.c client/command/verbs.c
client_command_libcommand_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -DESP_SBINDIR='"$(sbindir)"'
client_command_libcommand_la_LIBADD = services/libservices.la core/libcore.la $(JANSSON_LIBS) -lm
