# SPDX-License-Identifier: Apache-2.0
# What agents and servers lean on.
noinst_LTLIBRARIES += services/libservices.la
services_libservices_la_SOURCES = \
	services/daemon.c \
	services/daemon.h \
	services/settings.c \
	services/settings.h \
	services/settings_tables.c \
	services/settings_tables.h
services_libservices_la_LIBADD = core/libcore.la
# Cost models out of measurements. Only what measures links it: LAPACK brings threads, which no daemon wants.
noinst_LTLIBRARIES += services/libfit.la
services_libfit_la_SOURCES = \
	services/fast/design.c \
	services/fast/design.h \
	services/fast/design_fill.c \
	services/fast/fit.c \
	services/fast/fit.h \
	services/fast/least_squares.c
services_libfit_la_LIBADD = core/libcore.la $(OPENBLAS_LIBS) -lm
