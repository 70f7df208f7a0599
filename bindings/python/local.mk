# SPDX-License-Identifier: Apache-2.0
# The Python package: nothing but Python over the installed library, so nothing is compiled.
python_package = bindings/python/espalier/__init__.py bindings/python/espalier/_callback.py bindings/python/espalier/_calls.py \
	bindings/python/espalier/_connection.py bindings/python/espalier/_futures.py bindings/python/espalier/_inputs.py bindings/python/espalier/_interrupt.py \
	bindings/python/espalier/_library.py bindings/python/espalier/_problem.py bindings/python/espalier/joblib.py \
	bindings/python/espalier/linalg.py bindings/python/espalier/memory.py bindings/python/espalier/remote.py
EXTRA_DIST += $(python_package) bindings/python/pyproject.toml bindings/python/README.md
if WITH_PYTHON
espalierpythondir = $(pythondir)/espalier
espalierpython_DATA = $(python_package)
nodist_espalierpython_DATA = bindings/python/_where.py
CLEANFILES += bindings/python/_where.py
endif
# Where this installation has the library, for interpreters whose loader does not look there.
bindings/python/_where.py: Makefile
	$(AM_V_GEN)$(MKDIR_P) bindings/python && printf '%s\n' '# SPDX-License-Identifier: Apache-2.0' \
	    'LIBRARY = "$(libdir)/libespalier.so.0"' >$@.tmp && mv $@.tmp $@
