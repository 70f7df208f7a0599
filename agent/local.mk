# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += agent/libagent.la
agent_libagent_la_SOURCES = agent/agent.c agent/agent.h agent/agent_internal.h agent/configured.c agent/decide.c agent/down.c \
	agent/queries.c agent/question.c agent/submit.c agent/up.c
agent_libagent_la_LIBADD = services/libservices.la
