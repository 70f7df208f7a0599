# SPDX-License-Identifier: Apache-2.0
"""A backend of joblib whose tasks are problems: nothing is pickled, calls go by name.

    import joblib, espalier.joblib
    with joblib.parallel_backend("espalier"):
        xs = joblib.Parallel()(joblib.delayed(espalier.dgesv)(A, b) for b in sides)
"""
import ctypes
import threading

from joblib import register_parallel_backend
from joblib._parallel_backends import ParallelBackendBase

from . import _connection
from ._futures import submit
from ._interrupt import interruptible
from ._library import CNode, check, lib


def slots():
    """How many calls the servers of the platform compute at a time."""
    nodes = ctypes.POINTER(CNode)()
    n = ctypes.c_size_t()
    _connection.ensure()
    interruptible(lambda: check(lib.esp_tree(None, nodes, n)))
    try:
        return max(1, sum(nodes[i].slots for i in range(n.value) if not nodes[i].unreachable))
    finally:
        lib.esp_tree_free(nodes)


class _Batch:
    """The calls of a task of joblib, which are under way at the same time."""

    def __init__(self, tasks, done):
        self.futures = [submit(function, *args, **kwargs) for function, args, kwargs in tasks]
        self.left = len(self.futures)
        self.lock = threading.Lock()
        self.done = done
        for future in self.futures:
            future.add_done_callback(self._ended)

    def _ended(self, _):
        with self.lock:
            self.left -= 1
            last = self.left == 0
        if last and self.done is not None:
            self.done(self)

    def get(self, timeout=None):
        return [future.result(timeout) for future in self.futures]

    result = get

    def cancel(self):
        for future in self.futures:
            future.cancel()


class EspalierBackend(ParallelBackendBase):
    """Two calls a slot are under way, so that no server waits for the next one."""
    supports_timeout = True
    supports_retrieve_callback = True
    uses_threads = True
    supports_sharedmem = True

    def effective_n_jobs(self, n_jobs):
        return 2 * slots() if n_jobs is None or n_jobs < 0 else n_jobs

    def configure(self, n_jobs=1, parallel=None, **_):
        self.parallel = parallel
        self.under_way = []
        return self.effective_n_jobs(n_jobs)

    def apply_async(self, func, callback=None):
        batch = _Batch(func.items, callback)
        self.under_way = [one for one in self.under_way if one.left] + [batch]
        return batch

    submit = apply_async

    def retrieve_result_callback(self, out):
        return out.get()

    def abort_everything(self, ensure_ready=True):
        for batch in self.under_way:
            batch.cancel()
        self.under_way = []


register_parallel_backend("espalier", EspalierBackend)
