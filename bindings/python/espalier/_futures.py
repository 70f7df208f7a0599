# SPDX-License-Identifier: Apache-2.0
"""Calls that go on by themselves: futures, and many calls at a time."""
import concurrent.futures
import ctypes
import itertools
import os
import sys
import threading
import time

from . import _connection, _inputs
from ._calls import NOT_COMPLETED, VOID, alive, of, prepare, session_data, session_info, start
from ._library import Error, NotFoundError, Status, check, last_error, lib

#: Held while a future is decided: it ends as cancelled or with a result, never as both.
_claims = threading.RLock()


class Future(concurrent.futures.Future):
    """A call that is under way. cancel() stops its computation on the server; it can be awaited."""

    def __init__(self, prepared):
        super().__init__()
        self._prepared = prepared
        self._follower = prepared.follower
        self._session = VOID
        self.problem = prepared.problem.name

    def running(self):
        return not self.done()

    def cancel(self):
        """Stops the call; False when it had ended."""
        with _claims:
            if self.done():
                return self.cancelled()
            if not super().cancel():
                return False
            self.set_running_or_notify_cancel()
        lib.grpc_cancel(self._session)
        return True

    def info(self):
        """What the call took, as a dict: server, state, times in seconds (None until it is known)."""
        return session_info(self._session)

    def progress(self):
        """From 0 to 1, as the routine told a call with follow=True; None: it has not."""
        return self._follower.fraction if self._follower else None

    def output(self):
        """What the routine of a call with follow=True has printed since output() was last called."""
        return self._follower.take() if self._follower else ""

    def __await__(self):
        import asyncio
        return asyncio.wrap_future(self).__await__()

    def __repr__(self):
        return f"<espalier.Future of {self.problem}: {'done' if self.done() else 'under way'}>"


class _Collector:
    """A thread that waits for the sessions of futures, as long as there are some."""

    def __init__(self):
        self.lock = threading.Condition()
        self.pending = {}
        self.thread = None

    def start(self, prepared):
        """Starts a session; its future."""
        future = Future(prepared)
        try:
            self._begin(future, prepared)
        except NotFoundError:
            if not prepared.sent:
                raise
            _inputs.unlearn(prepared)
            self._begin(future, prepared)
        return future

    def _begin(self, future, prepared):
        session = ctypes.c_int(VOID)
        alive[future] = prepared
        with self.lock:
            try:
                check(start(prepared, session))
            except Error:
                alive.pop(future, None)
                raise
            future._session = session.value
            self.pending[session.value] = future
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._loop, name="espalier futures", daemon=True)
                self.thread.start()
            self.lock.notify()

    def _loop(self):
        ended = ctypes.c_int()
        while True:
            with self.lock:
                while not self.pending:
                    self.lock.wait()
            ended.value = VOID
            code = lib.grpc_wait_any(ended)
            error = last_error() if code != 0 else None
            if ended.value == VOID or (error is not None and error.status == Status.INVALID):
                self._lost()
                continue
            with self.lock:
                future = self.pending.pop(ended.value, None)
            if future is not None:
                self._finish(future, error)
                del future

    def _lost(self):
        """Sessions that ended with the connection, or that another wait has reported."""
        with self.lock:
            sessions = list(self.pending)
        for session in sessions:
            code = lib.grpc_probe(session)
            if code == NOT_COMPLETED:
                continue
            failed = lib.grpc_get_error(session) != 0
            error = last_error() if failed or code != 0 else None
            with self.lock:
                future = self.pending.pop(session, None)
            if future is not None:
                self._finish(future, error)
        time.sleep(0.001)

    def _finish(self, future, error):
        """Gives a future the result of its session."""
        prepared, future._prepared = future._prepared, None
        alive.pop(future, None)
        if isinstance(error, NotFoundError) and prepared.sent and not future.cancelled():
            _inputs.unlearn(prepared)
            future._prepared = prepared
            try:
                self._begin(future, prepared)
                return
            except Error as why:
                error = why
        with _claims:
            if future.cancelled():
                return
            future.set_running_or_notify_cancel()
        try:
            if error is not None:
                raise error
            if prepared.left:
                _inputs.learn(prepared, *session_data(future._session))
            result = prepared.problem.collect(prepared)
        except BaseException as why:
            future.set_exception(why)
        else:
            future.set_result(result)

    def end(self):
        """Cancels what is under way, before the connection ends."""
        with self.lock:
            futures = list(self.pending.values())
        for future in futures:
            future.cancel()


_collector = _Collector()
_connection.at_end.append(lambda: _collector.end())


def _forked():
    """In a child: the parent's futures are not the child's."""
    global _collector
    _collector = _Collector()


os.register_at_fork(after_in_child=_forked)


def submit(what, /, *args, **kwargs):
    """Starts a call and returns a Future at once: submit("dgesv", A, b), submit(espalier.dgesv, A, b)."""
    _connection.ensure()
    which = of(what)
    return _collector.start(prepare(which, args, kwargs))


class _Bar:
    """A line on standard error that tells how many calls of a map have ended."""

    def __init__(self, total, wanted):
        self.total, self.done = total, 0
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.since = time.monotonic()

    def step(self):
        self.done += 1
        if self.wanted:
            share = self.done / self.total if self.total else 1
            full = int(30 * share)
            print(f"\r[{'#' * full}{' ' * (30 - full)}] {self.done} of {self.total}, "
                  f"{time.monotonic() - self.since:.0f} s", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.wanted and self.done:
            print(file=sys.stderr)


def map(what, /, *iterables, at_once=64, progress=None, **kwargs):
    """The results of a problem for each set of inputs, in their order, as a list.

    iterables  one for each argument that is given by position: map("dgesv", matrices, sides)
    at_once    so many calls are under way at most
    progress   True: a progress bar on standard error; None: where that is a terminal

    Further arguments by name are the same for every call. The first call that fails cancels the others.
    """
    if at_once < 1:
        raise ValueError(f"at_once: expected at least 1, found {at_once}")
    inputs = list(zip(*iterables))
    results = [None] * len(inputs)
    bar = _Bar(len(inputs), progress)
    under_way = {}
    waiting = iter(enumerate(inputs))
    try:
        while True:
            for index, args in itertools.islice(waiting, at_once - len(under_way)):
                under_way[submit(what, *args, **kwargs)] = index
            if not under_way:
                return results
            ended, _ = concurrent.futures.wait(under_way, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ended:
                results[under_way.pop(future)] = future.result()
                bar.step()
    finally:
        for future in under_way:
            future.cancel()
        bar.end()


class Executor(concurrent.futures.Executor):
    """concurrent.futures with problems in place of functions: Executor().submit("dgesv", A, b)."""

    def __init__(self):
        self._futures = set()
        self._down = False

    def submit(self, what, /, *args, **kwargs):
        if self._down:
            raise RuntimeError("the executor was shut down")
        future = submit(what, *args, **kwargs)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._down = True
        futures = list(self._futures)
        if cancel_futures:
            for future in futures:
                future.cancel()
        if wait:
            concurrent.futures.wait(futures)


__all__ = ["Executor", "Future", "map", "submit"]
