# SPDX-License-Identifier: Apache-2.0
# What agents and servers lean on.
noinst_LTLIBRARIES += services/libservices.la
services_libservices_la_SOURCES = \
	services/daemon.c \
	services/daemon.h \
	services/data/files.h \
	services/data/store.h \
	services/settings.c \
	services/settings.h \
	services/settings_tables.c \
	services/settings_tables.h
services_libservices_la_LIBADD = core/libcore.la
