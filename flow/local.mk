# SPDX-License-Identifier: Apache-2.0
# Flow graphs on the servers of a platform.
noinst_LIBRARIES += flow/libflow.a
flow_libflow_a_SOURCES = \
	flow/activity.c \
	flow/activity.h \
	flow/cancel.c \
	flow/catalogue.c \
	flow/catalogue.h \
	flow/crew.c \
	flow/crew.h \
	flow/execution.c \
	flow/execution.h \
	flow/flow_data.c \
	flow/flow_data.h \
	flow/inputs.c \
	flow/inputs.h \
	flow/journal.c \
	flow/journal.h \
	flow/outputs.c \
	flow/outputs.h \
	flow/servers.c \
	flow/servers.h \
	flow/settings.c \
	flow/settings.h
LIBFLOW = flow/libflow.a
