# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += redirector/libredirector.la
redirector_libredirector_la_SOURCES = redirector/redirector.c redirector/redirector.h
redirector_libredirector_la_LIBADD = services/libservices.la
