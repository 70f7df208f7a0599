# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += redirector/libredirector.a
redirector_libredirector_a_SOURCES = redirector/redirector.c redirector/redirector.h
LIBREDIRECTOR = redirector/libredirector.a services/libduty.a $(LIBSERVICES)
if WITH_OMNIORB
sbin_PROGRAMS += redirector/espalier-redirector
redirector_espalier_redirector_SOURCES = $(DAEMON_MAIN) redirector/program.c
nodist_EXTRA_redirector_espalier_redirector_SOURCES = dummy.cc
redirector_espalier_redirector_LDADD = $(LIBDAEMON) $(LIBREDIRECTOR) $(LIBORB) $(LIBCORE) -lm
endif
