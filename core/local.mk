# The domain in pure C.
noinst_LTLIBRARIES += core/libcore.la
core_libcore_la_SOURCES = core/expr.h core/problem.h
core_libcore_la_LIBADD = util/libutil.la
