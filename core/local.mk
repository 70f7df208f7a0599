# SPDX-License-Identifier: Apache-2.0
# The domain in pure C.
noinst_LTLIBRARIES += core/libcore.la
core_libcore_la_SOURCES = core/expr.h core/problem.h
core_libcore_la_SOURCES += core/wire.c core/wire.h core/message.c core/message_extensions.c core/message.h core/transport.c core/transport.h
core_libcore_la_SOURCES += core/estimate.h core/membership.h
core_libcore_la_SOURCES += core/batch.c core/batch.h core/inproc.c core/inproc.h core/inproc_call.c core/inproc_net.h
core_libcore_la_SOURCES += core/reply.c core/reply.h
core_libcore_la_SOURCES += core/fortran_format.c core/fortran_format.h core/harwell_boeing.c \
	core/harwell_boeing_write.c core/matrix.c core/matrix.h core/matrix_csv.c core/matrix_entries.c core/matrix_format.h \
	core/matrix_formats.c core/matrix_gzip.c core/matrix_inline.c core/matrix_market.c core/matrix_norms.c \
	core/matrix_npy.c core/matrix_save.c core/matrix_text.c core/matrix_text.h
core_libcore_la_SOURCES += core/estimate.c core/membership.c
core_libcore_la_SOURCES += core/inproc.h core/estimate.h core/membership.h
core_libcore_la_SOURCES += core/lexer.c core/lexer.h core/text.c core/text.h
core_libcore_la_SOURCES += core/expr.c core/expr_linear.c core/expr_parse.c core/expr_print.c core/expr_tree.h
core_libcore_la_SOURCES += core/problem.c core/problem_parse.c core/problem_parser.h core/problem_declare.c
core_libcore_la_SOURCES += core/problem_family.c core/problem_family.h core/problem_spelling.c
core_libcore_la_SOURCES += core/problem_callback.c core/problem_callback.h core/foreign.h
core_libcore_la_SOURCES += core/problem_call.c core/problem_source.c core/problem_load.c
core_libcore_la_SOURCES += core/abstract.c core/abstract.h core/abstract_parse.c
core_libcore_la_SOURCES += core/problem_constants.c core/problem_storage.c core/problem_layout.c core/problem_contents.c
core_libcore_la_SOURCES += core/problem_section.c core/section.h
core_libcore_la_SOURCES += core/problem_storage.c core/problem_layout.c core/problem_contents.c
core_libcore_la_SOURCES += core/problem_section.c core/section.h core/texts.c core/texts.h
core_libcore_la_SOURCES += core/problem_bind.c core/problem_infer.c
core_libcore_la_SOURCES += core/problem_command.c core/problem_command.h
core_libcore_la_LIBADD = util/libutil.la $(ZLIB_LIBS) -lm
core_libcore_la_SOURCES += core/problem_help.c core/problem_help.h core/problem_trial.c
core_libcore_la_SOURCES += core/absent.c core/absent.h core/aggregate.c core/aggregate.h core/catalog.c core/catalog.h core/children.c core/children.h \
	core/knowledge.c core/knowledge.h core/knowledge_internal.h core/knowledge_load.c core/knowledge_tell.c \
	core/scheduler.c core/scheduler.h core/server_index.c core/server_index.h
