# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += redirector/libredirector.la
redirector_libredirector_la_SOURCES = redirector/redirector.c redirector/redirector.h redirector/redirector_internal.h
redirector_libredirector_la_SOURCES += redirector/answers.c
redirector_libredirector_la_SOURCES += redirector/figures.c
redirector_libredirector_la_SOURCES += redirector/masters.c
redirector_libredirector_la_SOURCES += redirector/names.c
redirector_libredirector_la_LIBADD = services/libduty.la services/libservices.la
if WITH_OMNIORB
sbin_PROGRAMS += redirector/espalier-redirector
redirector_espalier_redirector_SOURCES = redirector/main.c
nodist_EXTRA_redirector_espalier_redirector_SOURCES = dummy.cc
redirector_espalier_redirector_LDADD = services/libdaemon.la redirector/libredirector.la orb/liborb.la core/libcore.la -lm
endif
