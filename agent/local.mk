# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += agent/libagent.la
agent_libagent_la_SOURCES = \
	agent/administer.c \
	agent/administer_checks.c \
	agent/agent.c \
	agent/agent.h \
	agent/agent_internal.h \
	agent/ahead.c \
	agent/awaited.c \
	agent/awake.c \
	agent/awake.h \
	agent/configured.c \
	agent/data.c \
	agent/data_given_up.c \
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
	agent/passed.c \
	agent/peers.c \
	agent/peers.h \
	agent/question.c \
	agent/question_group.c \
	agent/registered.c \
	agent/renew.c \
	agent/submit.c \
	agent/up.c
agent_libagent_la_LIBADD = services/libduty.la services/libservices.la
if WITH_OMNIORB
sbin_PROGRAMS += agent/espalier-agent
agent_espalier_agent_SOURCES = agent/main.c agent/directory_parents.c agent/directory_parents.h
nodist_EXTRA_agent_espalier_agent_SOURCES = dummy.cc
agent_espalier_agent_LDADD = services/libdirectory.la services/liblinks.la services/libdaemon.la agent/libagent.la orb/liborb.la core/libcore.la -lm
endif
