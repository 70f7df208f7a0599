# SPDX-License-Identifier: Apache-2.0
"""Blocking calls, which signals interrupt, and what every call has: options and what it took."""
import ctypes
import os
import threading
import time

from . import _connection, _inputs
from ._library import CCallOptions, CSessionInfo, InvalidError, NotFoundError, check, last_error, lib, text_of
from ._problem import Problem, problem

VOID = -1           # GRPC_SESSIONID_VOID
NOT_COMPLETED = 12  # GRPC_NOT_COMPLETED
SHORT_S = 0.02      # a user who presses Ctrl-C does not notice a delay of this length
SMALL = 1 << 20     # bytes that are sent in such a time

#: Options of every call, as signatures show them.
OPTIONS = (("want", None), ("keep", None), ("overwrite", False), ("out", None), ("deadline", None), ("server", None),
           ("properties", None), ("finish", None), ("memory", None), ("follow", False))

alive = {}  # what running sessions read and write, by an object of its own: nothing of it may be freed
_local = threading.local()


def _forked():
    """In a child: no session of the parent is the child's, and descriptors are shared with the parent."""
    global _local
    alive.clear()
    _local = threading.local()


def _descriptor():
    """This thread's descriptor, to which the library writes when a session of the thread has ended."""
    descriptor = getattr(_local, "descriptor", None)
    if descriptor is None:
        descriptor = _local.descriptor = _Descriptor()
    return descriptor


class _Descriptor:
    """An event descriptor that is closed with its thread."""

    def __init__(self):
        if hasattr(os, "eventfd"):
            self.read_end = self.write_end = os.eventfd(0, os.EFD_CLOEXEC)
        else:
            self.read_end, self.write_end = os.pipe()
            os.set_blocking(self.write_end, False)

    def wait(self):
        os.read(self.read_end, 4096)

    def __del__(self):
        for descriptor in {self.read_end, self.write_end}:
            try:
                os.close(descriptor)
            except OSError:
                pass


def split(which, kwargs):
    """Options of a call, apart from its arguments: an argument of the problem that has an option's name wins."""
    options = {}
    for name, default in OPTIONS:
        if name in kwargs and name not in which.by_name:
            value = kwargs.pop(name)
            if value is not None and value is not default:
                options[name] = value
    return options


def _call_options(options, prepared):
    """struct esp_call_options."""
    made = CCallOptions()
    for name, field in (("deadline", "deadline_s"), ("finish", "finish_s"), ("memory", "memory_bytes")):
        if name in options:
            try:
                setattr(made, field, options[name])
            except TypeError:
                raise InvalidError(f"{name}: expected a number, found {options[name]!r}") from None
    if "properties" in options:
        words = [options["properties"]] if isinstance(options["properties"], str) else list(options["properties"])
        array = (ctypes.c_char_p * max(1, len(words)))(*[word.encode() for word in words])
        made.properties = ctypes.cast(array, ctypes.POINTER(ctypes.c_char_p))
        made.n_properties = len(words)
        prepared.keep.append(array)
    if "server" in options:
        made.server = str(options["server"]).encode()
    if options.get("follow"):
        prepared.follower = Follower(options["follow"])
        made.follow = 1
        made.output = ctypes.cast(prepared.follower.output, ctypes.c_void_p)
        made.progress = ctypes.cast(prepared.follower.progress, ctypes.c_void_p)
    return made


_OUTPUT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_PROGRESS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)
_MOST_OUTPUT = 1 << 20  # characters of a call's output kept until the program reads them


class Follower:
    """Takes what the routine of a call prints, and its progress, while it runs, in a thread of the library."""

    def __init__(self, to):
        self.to = to if callable(to) else None
        self.parts, self.kept = [], 0
        self.fraction = None
        self.output = _OUTPUT(self._output)
        self.progress = _PROGRESS(self._progress)

    def _output(self, _, text, length):
        text = ctypes.string_at(text, length).decode("utf-8", "replace")
        if self.to is not None:
            self.to(text)
            return
        self.parts.append(text)
        self.kept += len(text)
        while self.kept > _MOST_OUTPUT and len(self.parts) > 1:
            self.kept -= len(self.parts.pop(0))

    def _progress(self, _, fraction):
        self.fraction = fraction

    def take(self):
        parts, self.parts, self.kept = self.parts, [], 0
        return "".join(parts)


def prepare(which, args, kwargs):
    """An argument vector and options for a call."""
    options = split(which, kwargs) if kwargs else None
    if not options:
        prepared = which.prepare(args, kwargs)
        prepared.options = CCallOptions()
        if prepared.given:
            _inputs.apply(prepared)
        return prepared
    prepared = which.prepare(args, kwargs, options.pop("overwrite", False), options.pop("want", None),
                             options.pop("out", None), options.pop("keep", None))
    prepared.options = _call_options(options, prepared)
    _inputs.apply(prepared)
    return prepared


def start(prepared, session):
    """Starts a session, whose id is in `session` before this returns."""
    which = prepared.problem
    return lib.esp_call_async(which.handle(), prepared.vector, len(which.formals), prepared.options, session)


def _abandon(session):
    """Cancels a session and waits for its end, whatever signals come meanwhile."""
    while True:
        try:
            lib.grpc_cancel(session)
            lib.grpc_wait(session)
            # Whether the end was read from the descriptor is not known: the next call has another one.
            _local.__dict__.pop("descriptor", None)
            return
        except BaseException:
            continue


def _run(prepared):
    """Calls and waits; a signal whose handler raises an exception cancels the call."""
    which = prepared.problem
    if not prepared.left and threading.current_thread() is not threading.main_thread():
        # Signals come to the main thread only.
        check(lib.esp_call(which.handle(), prepared.vector, len(which.formals), prepared.options, None))
        return
    descriptor = _descriptor()
    prepared.options.ended_fd = descriptor.write_end
    # A call that was short before is made by this thread, which takes a signal when the call has ended or waits.
    prepared.options.here = which.is_short and sum(a.nbytes for a in prepared.arrays.values()) < SMALL
    began = time.monotonic()
    session = ctypes.c_int(VOID)
    token = object()
    alive[token] = prepared
    ended = False
    try:
        check(start(prepared, session))
        while lib.grpc_probe(session.value) == NOT_COMPLETED:
            descriptor.wait()
        ended = True
        # Before the wait is over: the library forgets then which servers were tried.
        told = session_data(session.value) if prepared.left else None
        if lib.grpc_wait(session.value) != 0:
            raise last_error()
        which.is_short = time.monotonic() - began < SHORT_S
    except BaseException:
        if session.value != VOID and not ended:
            _abandon(session.value)
            ended = True
        raise
    finally:
        if ended or session.value == VOID:
            alive.pop(token, None)
    if told is not None:
        _inputs.learn(prepared, *told)


def call(which, args, kwargs):
    """A blocking call."""
    _connection.ensure()
    prepared = prepare(which, args, kwargs)
    try:
        _run(prepared)
    except NotFoundError:
        if not prepared.sent:
            raise
        _inputs.unlearn(prepared)
        _run(prepared)
    return which.collect(prepared)


def session_data(session):
    """The address of the server that had a session, and what of the session lives there: (position, side, identity)."""
    info = ctypes.POINTER(CSessionInfo)()
    if lib.esp_session_info_get(session, info) != 0:
        return "", []
    try:
        content = info.contents
        tried = [content.candidates[i] for i in range(content.n_candidates) if content.candidates[i].tried]
        data = [(content.data[i].position, content.data[i].side, text_of(content.data[i].id))
                for i in range(content.n_data) if content.data[i].own]
        return text_of(tried[-1].address) if tried else "", data
    finally:
        lib.esp_session_info_free(info)


def session_info(session):
    """struct esp_session_info as a dict."""
    info = ctypes.POINTER(CSessionInfo)()
    if session == VOID or lib.esp_session_info_get(session, info) != 0:
        return None
    try:
        content = info.contents
        told = {name: getattr(content, name) for name in
                ("submit_s", "wait_s", "transfer_s", "queue_s", "compute_s", "total_s", "forecast_s", "progress")}
        told.update(id=text_of(content.id), problem=text_of(content.problem), server=text_of(content.server),
                    state=text_of(content.state), note=text_of(content.error.text))
        return told
    finally:
        lib.esp_session_info_free(info)


def of(what):
    """The problem that is meant: its name, its function, or itself."""
    if isinstance(what, Problem):
        return what
    if isinstance(what, str):
        return problem(what)
    found = getattr(what, "problem", None)
    if isinstance(found, Problem):
        return problem(found.name)
    raise TypeError(f"expected the name of a problem or its function (espalier.dgesv), found {what!r}: "
                    "functions of Python are not sent anywhere")


os.register_at_fork(after_in_child=_forked)
