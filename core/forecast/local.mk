# SPDX-License-Identifier: Apache-2.0
core_libcore_la_SOURCES += \
	core/forecast/corrections.c \
	core/forecast/corrections.h \
	core/forecast/cost_files.c \
	core/forecast/cost_files.h \
	core/forecast/cost_model.c \
	core/forecast/cost_model.h \
	core/forecast/cost_ranks.c \
	core/forecast/cost_text.c \
	core/forecast/cost_wire.c \
	core/forecast/gauge.c \
	core/forecast/gauge.h \
	core/forecast/grid_table.c \
	core/forecast/grid_table.h \
	core/forecast/link_graph.c \
	core/forecast/link_graph.h \
	core/forecast/outlook.c \
	core/forecast/outlook.h \
	core/forecast/parallel_alike.c \
	core/forecast/parallel_alike.h \
	core/forecast/parallel_choose.c \
	core/forecast/parallel_experience.c \
	core/forecast/parallel_experience.h \
	core/forecast/parallel_factor.c \
	core/forecast/parallel_model.c \
	core/forecast/parallel_model.h \
	core/forecast/parallel_profile.c \
	core/forecast/parallel_profile.h \
	core/forecast/parallel_profile_text.c \
	core/forecast/parallel_trsm.c \
	core/forecast/path.c \
	core/forecast/path.h \
	core/forecast/predictor.c \
	core/forecast/predictor.h \
	core/forecast/told_links.c \
	core/forecast/told_links.h
