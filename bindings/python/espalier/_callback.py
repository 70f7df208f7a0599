# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that a problem's routine calls."""
import ctypes
import re

import numpy as np

from ._library import InvalidError, lib

_C = {"char": ctypes.c_char, "short": ctypes.c_int16, "int": ctypes.c_int32, "long": ctypes.c_int64,
      "int64": ctypes.c_int64, "float": ctypes.c_float, "double": ctypes.c_double}
_NUMPY = {"complex": np.complex64, "double complex": np.complex128}
_PARAMETER = re.compile(r"(in|out|inout)\s+(double complex|\w+)\s+(\w+)(\[.*\])?$")


def _split(text):
    """Parameters between commas that are in no brackets."""
    depth, part, parts = 0, "", []
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return parts + [part.strip()] if part.strip() else parts


class _Parameter:
    def __init__(self, text):
        found = _PARAMETER.match(text)
        if not found:
            raise InvalidError(f"a callback with the parameter '{text}' cannot be a function of Python")
        self.mode, self.type, self.name, dims = found.groups()
        self.dims = _split(dims[1:-1]) if dims else []
        if self.type not in _C and self.type not in _NUMPY:
            raise InvalidError(f"a callback with a {self.type} cannot be a function of Python")
        self.by_value = self.mode == "in" and not self.dims and self.type in _C
        self.c_type = _C[self.type] if self.by_value else ctypes.c_void_p

    def array(self, address, sizes):
        """The memory behind the address."""
        dtype = np.dtype(_C[self.type] if self.type in _C else _NUMPY[self.type])
        shape = [int(eval(dim, {"__builtins__": {}}, sizes)) for dim in self.dims] or [1]
        memory = (ctypes.c_char * (dtype.itemsize * int(np.prod(shape)))).from_address(address)
        return np.frombuffer(memory, dtype=dtype).reshape(shape, order="F")


def function(problem, formal, value):
    """The C function for a function of Python: inputs are its arguments, outputs what it returns, in their order."""
    if not callable(value):
        raise formal.fault(problem, f"{type(value).__name__}, which cannot be called")
    inside, _, result = formal.callback.rpartition(")")
    parameters = [_Parameter(text) for text in _split(inside.lstrip("("))]
    result = result.strip(" :")
    if result and result not in _C:
        raise InvalidError(f'{problem}: argument "{formal.name}": a function that returns {result} cannot be one of '
                           "Python")
    for parameter in parameters:
        for dim in parameter.dims:
            if not re.fullmatch(r"[\w+\-* ]+", dim):
                raise InvalidError(f'{problem}: argument "{formal.name}": the extent {dim} is not known to Python')

    def called(*raw):
        try:
            return _answer(parameters, result, value, raw)
        except BaseException as error:
            lib.esp_callback_fail(f"{formal.name}: {type(error).__name__}: {error}".encode())
            return 0

    return ctypes.CFUNCTYPE(_C[result] if result else None, *[p.c_type for p in parameters])(called)


def _answer(parameters, result, value, raw):
    sizes = {p.name: v for p, v in zip(parameters, raw) if p.by_value}
    given, places = [], []
    for parameter, one in zip(parameters, raw):
        if parameter.by_value:
            given.append(one)
            continue
        array = parameter.array(one, sizes)
        if parameter.mode != "out":
            given.append(array.copy() if parameter.dims else array[0].item())
        if parameter.mode != "in":
            places.append(array)
    answer = value(*given)
    answers = answer if isinstance(answer, tuple) else (answer,)
    if result:
        returned, answers = answers[0], answers[1:]
    if places and len(answers) != len(places):
        raise ValueError(f"expected {len(places)} results, found {len(answers)}")
    for place, one in zip(places, answers):
        place[...] = one if np.ndim(one) == place.ndim else np.reshape(one, place.shape, order="F")
    return returned if result else None
