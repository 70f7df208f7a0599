# SPDX-License-Identifier: Apache-2.0
"""Arrays in memory that servers on the same host use as it is."""
import ctypes
import weakref

import numpy as np

from ._library import NoMemoryError, lib


def empty(shape, dtype=float, order="F"):
    """A zeroed array in memory of esp_alloc(): a server on this host that runs as the same user reads it, and writes
    its results there (out={"C": array}), without any copy. After a fork the memory is shared with the child."""
    dtype = np.dtype(dtype)
    if dtype.hasobject:
        raise TypeError(f"expected a type of numbers, found {dtype}")
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    size = dtype.itemsize
    for extent in shape:
        if extent < 0:
            raise ValueError(f"expected extents >= 0, found {shape}")
        size *= int(extent)
    address = lib.esp_alloc(max(1, size))
    if not address:
        raise NoMemoryError(f"no memory for an array of shape {shape}")
    memory = (ctypes.c_char * max(1, size)).from_address(address)
    weakref.finalize(memory, lib.esp_free, address).atexit = False
    count = size // dtype.itemsize if dtype.itemsize else 0
    return np.frombuffer(memory, dtype=dtype, count=count).reshape(shape, order=order)


def array(values, dtype=None, order="F"):
    """A copy of the values in such memory."""
    values = np.asarray(values, dtype=dtype)
    made = empty(values.shape, values.dtype, order)
    made[...] = values
    return made
