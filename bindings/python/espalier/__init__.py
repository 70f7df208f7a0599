# SPDX-License-Identifier: Apache-2.0
"""Espalier: numerical solvers on other machines, called like functions of this program.

    import espalier
    espalier.connect()
    x = espalier.solve(A, b)

Every problem of the platform is a function of this module, made from its description: help(espalier.dgesv) shows its
arguments and results, espalier.problems() lists all. espalier.submit() calls without waiting, espalier.put() leaves an
array on a server, and espalier.linalg has the linear algebra of the array API standard.
"""
import ctypes as _ctypes
import importlib as _importlib
from collections import namedtuple as _namedtuple

from . import _calls, _connection, _library, _problem
from ._connection import Connection, connect, connected, disconnect
from ._inputs import forget, reuse
from ._interrupt import interruptible as _interruptible
from ._library import (CancelledError, CrashedError, DeadlineError, Error, FailedError, InvalidError, NoMemoryError,
                       NoServerError, NotFoundError, RefusedError, Status, UnknownProblemError, UnreachableError)

__version__ = "0.1.0"

ProblemEntry = _namedtuple("ProblemEntry", "name title gams servers")

_functions = {}


def problems(search=""):
    """The problems of the platform as a list of (name, title, gams, servers); `search`: words in name or title."""
    _connection.ensure()
    entries = _ctypes.POINTER(_library.CProblemEntry)()
    n = _ctypes.c_size_t()
    _interruptible(lambda: _library.check(_library.lib.esp_problem_list(entries, n)))
    try:
        found = [ProblemEntry(entries[i].name.decode(), _library.text_of(entries[i].title),
                              _library.text_of(entries[i].gams), entries[i].servers)
                 for i in range(n.value) if entries[i].name]
    finally:
        _library.lib.esp_problem_list_free(entries)
    words = search.lower().split()
    return [entry for entry in found if all(word in f"{entry.name} {entry.title}".lower() for word in words)]


def problem(name):
    """The function of a problem, also of one whose name is that of something else in this module."""
    which = _problem.problem(name)
    known = _functions.get(name)
    if known is None or known.problem is not which:
        known = _functions[name] = _function(which)
    return known


def _function(which):
    """A function of Python that calls the problem."""
    def function(*args, **kwargs):
        if not _connection.connected():
            _connection.ensure()
        return _calls.call(_problem.problem(which.name), args, kwargs)

    def submit_this(*args, **kwargs):
        """Starts the call and returns a Future at once."""
        from ._futures import submit as start
        return start(which.name, *args, **kwargs)

    function.__name__ = function.__qualname__ = which.name
    function.__module__ = __name__
    function.__doc__ = which.document()
    function.__signature__ = which.signature(_calls.OPTIONS)
    function.problem = which
    function.submit = submit_this
    return function


#: Parts that are imported when they are first used, so that importing this module stays quick.
_PARTS = {"Executor": "_futures", "Future": "_futures", "map": "_futures", "submit": "_futures",
          "RemoteArray": "remote", "put": "remote", "array": "memory", "empty": "memory"}
_MODULES = ("joblib", "linalg", "memory", "remote")


def __getattr__(name):
    if name in _MODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    if name in _PARTS:
        part = globals()[name] = getattr(_importlib.import_module(f"{__name__}.{_PARTS[name]}"), name)
        return part
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return problem(name)


def __dir__():
    names = [name for name in globals() if not name.startswith("_")]
    names += list(_PARTS) + list(_MODULES)
    if connected():
        try:
            names += [entry.name for entry in problems()]
        except Error:
            pass
    return sorted(set(names))


__all__ = ["CancelledError", "Connection", "CrashedError", "DeadlineError", "Error", "Executor", "FailedError",
           "Future", "InvalidError", "NoMemoryError", "NoServerError", "NotFoundError", "ProblemEntry", "RefusedError",
           "Status", "UnknownProblemError", "UnreachableError", "connect", "connected", "disconnect", "forget", "map", "problem",
           "problems", "reuse", "submit"]
