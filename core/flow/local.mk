# SPDX-License-Identifier: Apache-2.0
core_libcore_a_SOURCES += \
	core/flow/flow.h \
	core/flow/flow_call.c \
	core/flow/flow_check.c \
	core/flow/flow_graph.c \
	core/flow/flow_graph.h \
	core/flow/flow_instance.c \
	core/flow/flow_outcome.c \
	core/flow/flow_play.c \
	core/flow/flow_record.c \
	core/flow/flow_record.h \
	core/flow/flow_run.c \
	core/flow/flow_run.h \
	core/flow/program.h \
	core/flow/program_load.c \
	core/flow/program_parse.c \
	core/flow/program_plan.c \
	core/flow/program_plan.h \
	core/flow/program_tree.h \
	core/flow/program_unfold.c
