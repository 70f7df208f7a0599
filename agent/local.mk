# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += agent/libagent.a
agent_libagent_a_SOURCES = \
	agent/administer.c \
	agent/agent.c \
	agent/agent.h \
	agent/agent_internal.h \
	agent/ahead.c \
	agent/awaited.c \
	agent/awake.c \
	agent/awake.h \
	agent/configured.c \
	agent/data.c \
	agent/decide.c \
	agent/disabled.c \
	agent/down.c \
	agent/explain.c \
	agent/forecast.c \
	agent/figures.c \
	agent/given_up_peers.c \
	agent/links.c \
	agent/lost.c \
	agent/queries.c \
	agent/learning.c \
	agent/peers.c \
	agent/peers.h \
	agent/registered.c \
	agent/renew.c \
	agent/submit.c \
	agent/up.c
LIBAGENT = agent/libagent.a services/libduty.a $(LIBSERVICES)
if WITH_OMNIORB
sbin_PROGRAMS += agent/espalier-agent
agent_espalier_agent_SOURCES = $(DAEMON_MAIN) agent/program.c agent/directory_parents.c agent/directory_parents.h
nodist_EXTRA_agent_espalier_agent_SOURCES = dummy.cc
agent_espalier_agent_LDADD = $(LIBDIRECTORY) $(LIBLINKS) $(LIBDAEMON) $(LIBAGENT) $(LIBORB) $(LIBCORE) -lm
endif
