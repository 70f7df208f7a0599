# SPDX-License-Identifier: Apache-2.0
core_libcore_a_SOURCES += \
	core/redistribution/block_cyclic.c \
	core/redistribution/block_cyclic.h \
	core/redistribution/block_cyclic_copy.c \
	core/redistribution/block_map.c \
	core/redistribution/block_map.h \
	core/redistribution/edge_chain.c \
	core/redistribution/edge_colouring.c \
	core/redistribution/edge_colouring.h \
	core/redistribution/edge_painter.c \
	core/redistribution/edge_painter.h \
	core/redistribution/pieces.c \
	core/redistribution/pieces.h \
	core/redistribution/redistribution.c \
	core/redistribution/redistribution.h \
	core/redistribution/redistribution_check.c \
	core/redistribution/redistribution_line.c \
	core/redistribution/redistribution_line.h \
	core/redistribution/redistribution_pattern.c \
	core/redistribution/redistribution_pattern.h \
	core/redistribution/redistribution_plan.c \
	core/redistribution/redistribution_plan.h \
	core/redistribution/redistribution_runs.c
