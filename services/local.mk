# SPDX-License-Identifier: Apache-2.0
# What agents and servers lean on.
noinst_LIBRARIES += services/libservices.a
services_libservices_a_SOURCES = \
	services/data/files.h \
	services/data/store.h \
	services/data/transfer.c \
	services/data/transfer.h \
	services/node_name.c \
	services/node_name.h \
	services/nws/host_rate.c \
	services/nws/host_rate.h \
	services/nws/window_habit.c \
	services/nws/window_habit.h \
	services/hostfile.c \
	services/hostfile.h \
	services/scheduler_library.c \
	services/scheduler_library.h \
	services/settings.c \
	services/settings.h \
	services/settings_platform.c \
	services/directory/url.c \
	services/directory/url.h \
	services/settings_directory.c \
	services/settings_tables.c \
	services/settings_tables.h \
	services/state_folder.c \
	services/state_folder.h
LIBSERVICES = services/libservices.a $(LIBCORE)
# What agents and servers do on orders of administrators; no business of the client library.
noinst_LIBRARIES += services/libduty.a
services_libduty_a_SOURCES = \
	services/awaited_file.c \
	services/awaited_file.h \
	services/duty.c \
	services/duty.h \
	services/disowned.c \
	services/disowned.h \
	services/place.c \
	services/place.h
# Cost models out of measurements. Only what measures links it: LAPACK brings threads, which no daemon wants.
noinst_LIBRARIES += services/libfit.a
services_libfit_a_SOURCES = \
	services/fast/design.c \
	services/fast/design.h \
	services/fast/design_sparse.h \
	services/fast/fit.c \
	services/fast/fit.h \
	services/fast/least_squares.c
LIBFIT = services/libfit.a $(LIBCORE) $(OPENBLAS_LIBS) -lm
# What only daemons have: their signals, systemd, the HTTP port. Programs list it before services/libservices.
noinst_LIBRARIES += services/libdaemon.a
services_libdaemon_a_SOURCES = \
	services/daemon.c \
	services/daemon.h \
	services/daemon_internal.h \
	services/daemon_lock.c \
	services/daemon_state_dir.c \
	services/daemon_threads.c \
	services/http.c \
	services/http.h \
	services/environment.c \
	services/environment.h \
	services/notify.c \
	services/notify.h \
	services/process_metrics.c \
	services/process_metrics.h
services_libdaemon_a_CPPFLAGS = $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS)
LIBDAEMON = services/libdaemon.a $(MICROHTTPD_LIBS)
# Sensors of the machine.
noinst_LIBRARIES += services/libnws.a
services_libnws_a_SOURCES = \
	services/nws/memory.c \
	services/nws/memory.h \
	services/nws/processor.c \
	services/nws/processor.h
LIBNWS = services/libnws.a $(LIBUTIL) -lm
# The site's directory. Only what reads or writes it links it: libldap brings ten libraries.
noinst_LIBRARIES += services/libdirectory.a
services_libdirectory_a_SOURCES = \
	services/directory/descriptions.c \
	services/directory/descriptions.h \
	services/directory/directory.c \
	services/directory/directory.h \
	services/directory/file.c \
	services/directory/file_turn.h \
	services/directory/gather.c \
	services/directory/gather.h \
	services/directory/kept.c \
	services/directory/kept.h \
	services/directory/ldap.c \
	services/directory/ldif.c \
	services/directory/ldif.h \
	services/directory/patience.c \
	services/directory/patience.h \
	services/directory/schema.c \
	services/directory/schema.h \
	services/directory/tree.c \
	services/directory/tree.h \
	services/directory/within.c \
	services/directory/within.h
services_libdirectory_a_CPPFLAGS = $(AM_CPPFLAGS) $(LDAP_CFLAGS)
LIBDIRECTORY = services/libdirectory.a $(LIBCORE) $(LDAP_LIBS)
# Links to other daemons, measured by HTTP. Programs list it before services/libdaemon, whose sockets it uses.
noinst_LIBRARIES += services/liblinks.a
services_liblinks_a_SOURCES = \
	services/nws/links.c \
	services/nws/links.h \
	services/nws/probe.c \
	services/nws/probe.h \
	services/nws/probe_port.c \
	services/nws/probe_port.h \
	services/nws/ring_files.c \
	services/nws/ring_files.h \
	services/nws/series.c \
	services/nws/series.h
services_liblinks_a_CPPFLAGS = $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS) $(CURL_CFLAGS)
LIBLINKS = services/liblinks.a $(MICROHTTPD_LIBS) $(CURL_LIBS) -lm
