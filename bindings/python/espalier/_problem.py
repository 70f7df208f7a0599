# SPDX-License-Identifier: Apache-2.0
"""Problems as functions: what a description says, and how arguments of Python become an argument vector."""
import ctypes
import keyword
import os
import re
import struct
import threading
from collections import namedtuple
from inspect import Parameter, Signature

import numpy as np

from . import _connection
from ._interrupt import interruptible
from ._library import (CArgument, CHandle, CProblem, InvalidError, NotFoundError, UnknownProblemError, check, free,
                       last_error, lib, text_of)

IN, OUT, INOUT = 0, 1, 2
CHAR, SHORT, INT, LONG, INT64, FLOAT, DOUBLE, COMPLEX, DOUBLE_COMPLEX, STRING, FILE, STATE, CALLBACK = range(1, 14)
ROW_MAJOR = 1 << 4

DTYPES = {
    CHAR: np.dtype("S1"), SHORT: np.dtype(np.int16), INT: np.dtype(np.int32), LONG: np.dtype(np.int64),
    INT64: np.dtype(np.int64), FLOAT: np.dtype(np.float32), DOUBLE: np.dtype(np.float64),
    COMPLEX: np.dtype(np.complex64), DOUBLE_COMPLEX: np.dtype(np.complex128),
}
TYPES = {dtype: type_ for type_, dtype in DTYPES.items() if type_ != LONG}
_FORMATS = {SHORT: "h", INT: "i", LONG: "q", INT64: "q", FLOAT: "f", DOUBLE: "d", COMPLEX: "2f",
            DOUBLE_COMPLEX: "2d"}
_pack = struct.pack_into
_NAMES = {CHAR: "char", SHORT: "short", INT: "int", LONG: "long", INT64: "int64", FLOAT: "float", DOUBLE: "double",
          COMPLEX: "complex", DOUBLE_COMPLEX: "double complex", STRING: "string", FILE: "file", STATE: "state",
          CALLBACK: "callback"}
#: Room for a scalar of any type.
_ROOM = 16
#: Bytes that a sparse matrix may have when it is made dense.
_MOST_DENSE = 1 << 30


def _identifier(name):
    return name + "_" if keyword.iskeyword(name) else name


class Formal:
    """One argument of a problem as its description has it."""
    __slots__ = ("index", "name", "python_name", "text", "mode", "type", "type_name", "dtype", "dims", "n_dims",
                 "row_major", "initial", "storage", "callback", "count", "section", "follows", "is_input",
                 "is_output", "is_scalar", "is_number", "format", "companions", "base")

    def __init__(self, index, described):
        self.index = index
        self.name = text_of(described.name)
        self.python_name = _identifier(self.name)
        self.text = text_of(described.text)
        self.mode = described.mode
        self.type = described.type
        self.type_name = _NAMES.get(self.type, "any")
        self.dtype = DTYPES.get(self.type)
        self.n_dims = described.n_dims
        self.dims = tuple(text_of(described.dims[d]) for d in range(self.n_dims))
        self.row_major = bool(described.properties & ROW_MAJOR)
        self.initial = text_of(described.initial) if described.initial else None
        self.storage = text_of(described.storage)
        self.callback = text_of(described.callback) if described.callback else None
        self.count = text_of(described.count) if described.count else None
        self.section = text_of(described.section)
        self.follows = bool(described.follows)
        self.is_input = self.mode != OUT
        self.is_output = self.mode != IN
        self.is_scalar = self.n_dims == 0
        self.format = _FORMATS.get(self.type)
        self.is_number = self.is_scalar and self.type in (SHORT, INT, LONG, INT64, FLOAT, DOUBLE)
        compressed = re.fullmatch(r"cs[cr]\((\w+), *(\w+)(?:, *(\d+))?\)", self.storage)
        self.companions = compressed.groups()[:2] if compressed else None
        self.base = int(compressed.group(3) or 0) if compressed else 0

    def shape_text(self):
        """ "double[n, n]" """
        return self.type_name + (f"[{', '.join(self.dims)}]" if self.n_dims else "")

    def fault(self, problem, found):
        """The error for something that cannot be this argument, in the library's words."""
        return InvalidError(f'{problem}: argument "{self.name}": expected {self.shape_text()}, found {found}')


def _found(value):
    """What a value is, for an error."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}" if value.dtype != object else "an array of objects"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


# ---- scalars ----

def _store_scalar(problem, formal, value, room, at):
    """Writes a scalar where the vector points to."""
    if isinstance(value, np.ndarray) and value.ndim == 0 or isinstance(value, np.generic):
        value = value.item()
    if formal.type == CHAR:
        if isinstance(value, str):
            value = value.encode("latin-1", "replace") if len(value) == 1 else value
        if isinstance(value, bytes) and len(value) == 1:
            value = value[0]
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255:
            room[at] = value
            return
        raise formal.fault(problem, _found(value) + "; a char is one letter")
    try:
        if formal.type in (COMPLEX, DOUBLE_COMPLEX):
            number = complex(value) if not isinstance(value, str) else None
            struct.pack_into(formal.format, room, at, number.real, number.imag)
        elif formal.type in (FLOAT, DOUBLE):
            if isinstance(value, (str, bytes)):
                raise TypeError
            struct.pack_into(formal.format, room, at, value)
        else:
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            struct.pack_into(formal.format, room, at, value)
    except (TypeError, ValueError, AttributeError, struct.error, OverflowError):
        raise formal.fault(problem, _found(value)) from None


def _load_scalar(formal, room, at):
    if formal.type == CHAR:
        return chr(room[at])
    values = struct.unpack_from(formal.format, room, at)
    return complex(*values) if len(values) == 2 else values[0]


# ---- arrays ----

def _integers(problem, formal, array):
    """Integers of another width, if all of them fit."""
    if array.size:
        limits = np.iinfo(formal.dtype)
        least, most = array.min(), array.max()
        if least < limits.min or most > limits.max:
            outside = least if least < limits.min else most
            raise formal.fault(problem, f"{outside}, which is not from {limits.min} to {limits.max}")
    return array


def _characters(problem, formal, value):
    """Text as an array of characters."""
    if isinstance(value, str):
        value = value.encode("utf-8")
    if isinstance(value, (bytes, bytearray)):
        return np.frombuffer(bytes(value), dtype="S1")
    array = np.asarray(value)
    if array.dtype.kind == "U" and array.dtype.itemsize == 4:
        array = array.astype("S1")
    if array.dtype in (np.int8, np.uint8):
        array = array.view("S1")
    if array.dtype != formal.dtype:
        raise formal.fault(problem, _found(array))
    return array


def as_array(problem, formal, value):
    """The value as an array of numbers, not yet of the wanted type or order."""
    if formal.type == CHAR:
        return _characters(problem, formal, value)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise formal.fault(problem, "a masked array, of which elements are missing")
    try:
        array = value if type(value) is np.ndarray else np.asarray(value)
    except (ValueError, TypeError) as error:
        raise formal.fault(problem, f"{type(value).__name__}: {error}") from None
    if array.dtype == formal.dtype:
        return array
    kind = array.dtype.kind
    if kind not in "biufc":
        raise formal.fault(problem, _found(array))
    wanted = formal.dtype.kind
    if kind == "c" and wanted != "c":
        raise formal.fault(problem, _NAMES.get(TYPES.get(array.dtype), str(array.dtype)))
    if wanted == "i" and kind == "f" or array.dtype.itemsize > 16 and kind in "fc":
        raise formal.fault(problem, _NAMES.get(TYPES.get(array.dtype), str(array.dtype)))
    return _integers(problem, formal, array) if wanted == "i" and kind in "iu" else array


def _is_in_order(array, row_major):
    return array.flags.c_contiguous if row_major or array.ndim < 2 else array.flags.f_contiguous


def in_memory(formal, array, copy):
    """The array as the library takes it: of the wanted type, in the order of the description, without gaps."""
    order = "C" if formal.row_major else "F"
    if not copy and array.dtype == formal.dtype and _is_in_order(array, formal.row_major) and array.flags.aligned:
        return array
    # A scratch copy with a layout of its own: numpy's order= would keep that of arrays which have both.
    made = np.empty(array.shape, dtype=formal.dtype, order=order)
    with np.errstate(over="raise"):
        try:
            np.copyto(made, array, casting="unsafe")
        except FloatingPointError:
            raise OverflowError(f"a number is beyond {formal.type_name}") from None
    return made


# ---- texts ----

def _bytes_of(problem, formal, value):
    """A string or a path for the library."""
    if formal.type == FILE:
        if not isinstance(value, (str, bytes, os.PathLike)):
            raise formal.fault(problem, _found(value) + "; a file is given by its path")
        text = os.fsencode(value)
    elif isinstance(value, str):
        text = value.encode("utf-8")
    elif isinstance(value, bytes):
        text = value
    else:
        raise formal.fault(problem, _found(value))
    if b"\0" in text:
        raise formal.fault(problem, "a text with a zero byte")
    return text


def take_text(address):
    """The text of a malloc'ed string, which is freed."""
    if not address:
        return None
    text = ctypes.string_at(address).decode("utf-8", "surrogateescape")
    free(address)
    return text


# ---- a call in the making ----

class Prepared:
    """An argument vector with all the memory that it points to."""
    __slots__ = ("problem", "vector", "room", "base", "keep", "arrays", "texts", "paths", "ranks", "wanted", "kept",
                 "options", "follower", "given", "sent", "left")

    def __init__(self, problem):
        self.problem = problem
        self.vector = problem.template()
        self.room = problem.make_room()  # for scalars
        self.base = ctypes.addressof(self.room)
        self.keep = []           # memory that only the vector points to
        self.arrays = {}         # by position: arrays that go in or out
        self.texts = {}          # by position: memory of char * that come back
        self.paths = {}
        self.ranks = {}          # by position: the rank of an input as it was given
        self.wanted = ()
        self.kept = {}           # by position: where the identity of what stays comes
        self.options = None
        self.follower = None
        self.given = {}          # by position: arrays that go in, as their owner has them
        self.sent = {}           # by position: what servers have of them already
        self.left = {}           # by position: what is to stay on the server

    def address(self, position):
        """Where the scalar of a position is."""
        return self.base + _ROOM * position


class Results(tuple):
    """Outputs in the order of the description, which also go by their names."""
    __slots__ = ()


class Problem:
    """A problem of the platform: its description, and calls of it."""

    def __init__(self, described):
        self.described = described
        content = described.contents
        self.name = text_of(content.name)
        self.title = text_of(content.title)
        self.text = text_of(content.text)
        self.source = text_of(content.source)
        self.digest = content.digest
        self.is_abstract = self.source.lstrip().startswith("abstract")
        self.formals = [Formal(i, content.arguments[i]) for i in range(content.n_arguments)]
        self.by_name = {formal.name: formal for formal in self.formals}
        self.by_name.update({formal.python_name: formal for formal in self.formals})
        self.preconditions = [text_of(content.preconditions[i]) for i in range(content.n_preconditions)]
        self.inputs = [formal for formal in self.formals if formal.is_input]
        self.outputs = [formal for formal in self.formals if formal.is_output]
        self.required = [formal for formal in self.inputs if not formal.follows]
        self.has_storage = any(formal.storage and not formal.companions for formal in self.formals)
        self.output_companions = {name for formal in self.outputs if formal.companions for name in formal.companions
                                  if self.by_name[name].mode == OUT}
        self.make_room = ctypes.c_ubyte * (_ROOM * max(1, len(self.formals)))
        self.formals = tuple(self.formals)
        self._vector_type = CArgument * len(self.formals)
        vector = self._vector_type()
        for formal, argument in zip(self.formals, vector):
            argument.type = formal.type
        self._template = bytes(vector)
        self._results = {}
        self._handles = {}
        self._usual = tuple(formal for formal in self.outputs if formal.name not in self.output_companions)
        self._needs_extents = any(formal.n_dims for formal in self.formals) or any(
            formal.type >= STRING for formal in self.outputs)
        self._files_out = [formal for formal in self.outputs if not formal.is_input and formal.type == FILE]
        self._gives_numbers = all(formal.is_number and formal.mode == OUT for formal in self.outputs)
        self._counted = any(formal.count for formal in self.outputs)
        self.is_short = False  # the last call that was waited for

    def __del__(self):
        if getattr(self, "described", None) is not None:
            try:
                lib.esp_problem_free(self.described)
            except (AttributeError, TypeError):  # at the exit of the interpreter
                pass

    def template(self):
        """A fresh argument vector with the types of the description."""
        return self._vector_type.from_buffer_copy(self._template)

    def _make_handle(self):
        handle = CHandle()
        if lib.grpc_function_handle_default(handle, self.name.encode()) != 0:
            raise last_error()
        return handle

    def handle(self):
        """A function handle of the connection there is."""
        key = _connection.epoch
        handle = self._handles.get(key)
        if handle is None:
            handle = interruptible(self._make_handle)
            self._handles = {key: handle}
        return handle

    # ---- arguments ----

    def bind(self, args, kwargs):
        """Values by position of the vector, from what a caller has written."""
        if len(args) > len(self.required):
            raise InvalidError(f"{self.name}: expected at most {len(self.required)} arguments by position "
                               f"({', '.join(f.name for f in self.required) or 'none'}), found {len(args)}; "
                               "the others go by name")
        values = {formal.index: value for formal, value in zip(self.required, args)}
        for name, value in kwargs.items():
            formal = self.by_name.get(name)
            if formal is None or not formal.is_input and formal.type != FILE:
                raise InvalidError(f'{self.name}: no input is called "{name}"; there are: '
                                   + ", ".join(f.name for f in self.inputs))
            if formal.index in values:
                raise InvalidError(f'{self.name}: argument "{name}" was given twice')
            if value is not None:
                values[formal.index] = value
        for formal in self.required:
            if formal.index not in values:
                raise formal.fault(self.name, "none")
        return values

    def _compressed(self, values):
        """Sparse matrices become their arrays (Ap, Ai and the elements)."""
        for formal in self.formals:
            value = values.get(formal.index)
            if value is None or not hasattr(value, "tocsc") or not formal.is_input:
                continue
            if not formal.companions:
                if not self.is_abstract:
                    raise formal.fault(self.name, f"a sparse matrix ({type(value).__name__}); toarray() makes it dense")
                if value.shape[0] * value.shape[1] * formal.dtype.itemsize > _MOST_DENSE:
                    raise formal.fault(self.name, f"a sparse matrix of {value.shape[0]} x {value.shape[1]}, which would "
                                       "be too large when it is dense: a problem for sparse matrices takes it as it is "
                                       "(dumfpack, dcholmod, dgmres)")
                values[formal.index] = value.toarray()
                continue
            compact = value.tocsr() if formal.storage.startswith("csr") else value.tocsc()
            if not compact.has_canonical_format:
                compact = compact.copy() if compact is value else compact
                compact.sum_duplicates()
            compact.sort_indices()
            pointers, indices = (self.by_name[name] for name in formal.companions)
            values.setdefault(pointers.index, compact.indptr + formal.base if formal.base else compact.indptr)
            values.setdefault(indices.index, compact.indices + formal.base if formal.base else compact.indices)
            values[formal.index] = _Elements(compact.data, compact.shape)
        return values

    def prepare(self, args, kwargs, overwrite=False, want=None, out=None, keep=None):
        """An argument vector for a call, with memory for its results."""
        prepared = Prepared(self)
        values = self.bind(args, kwargs)
        if self._needs_extents and any(hasattr(value, "tocsc") for value in values.values()):
            values = self._compressed(values)
        over = self._names("overwrite", overwrite) if overwrite else ()
        wanted = self._wanted(want) if want is not None else self._usual
        kept = self._names("keep", keep) if keep else ()
        for formal in self.inputs:
            if formal.index in values:
                # The library writes to an inout array only where its result is wanted in memory.
                copy = (formal.mode == INOUT and formal.index not in over and formal in wanted
                        and formal.index not in kept)
                self._give(prepared, formal, values[formal.index], formal.index in over, copy)
        for formal in self._files_out:
            if formal.index in values:
                self._give(prepared, formal, values[formal.index], False, False)
        if self._needs_extents and lib.esp_arguments_complete(self.described, prepared.vector, len(self.formals)) != 0:
            raise last_error()
        stored = self._stored(prepared) if self.has_storage else None
        self._make_room(prepared, wanted, out or {}, kept, values, stored)
        return prepared

    def _stored(self, prepared):
        """How many elements of packed and banded matrices lie in memory; what was given has as many."""
        stored = (ctypes.c_uint64 * len(self.formals))()
        if lib.esp_arguments_elements(self.described, prepared.vector, len(self.formals), stored) != 0:
            raise last_error()
        for formal in self.inputs:
            array = prepared.arrays.get(formal.index)
            if formal.storage and not formal.companions and array is not None and array.size != stored[formal.index]:
                raise formal.fault(self.name, f"{array.size} elements, where {stored[formal.index]} are stored "
                                   f"({formal.storage})")
        return stored

    def _names(self, what, names):
        """Positions of outputs that an option names: True: all."""
        if names is False or names is None:
            return ()
        if names is True:
            return {formal.index for formal in self.outputs if formal.n_dims}
        if isinstance(names, str):
            names = [names]
        found = set()
        for name in names:
            formal = self.by_name.get(name)
            if formal is None or not formal.is_output:
                raise InvalidError(f'{self.name}: {what}: no output is called "{name}"; there are: '
                                   + ", ".join(f.name for f in self.outputs))
            found.add(formal.index)
        return found

    def _wanted(self, want):
        if want is None:
            return self._usual
        names = self._names("want", want)
        return tuple(formal for formal in self.outputs if formal.index in names)

    def _give(self, prepared, formal, value, overwrite, copy):
        argument = prepared.vector[formal.index]
        if formal.is_number:
            at = _ROOM * formal.index
            argument.data = prepared.base + at
            try:
                _pack(formal.format, prepared.room, at, value)
            except (struct.error, TypeError, OverflowError):
                _store_scalar(self.name, formal, value, prepared.room, at)
            return
        if formal.type == CALLBACK:
            from ._callback import function
            made = function(self.name, formal, value)
            prepared.keep.append(made)
            argument.data = ctypes.cast(made, ctypes.c_void_p).value
        elif formal.type in (STRING, FILE, STATE):
            self._give_text(prepared, formal, value, argument)
        elif formal.is_scalar:
            at = _ROOM * formal.index
            _store_scalar(self.name, formal, value, prepared.room, at)
            argument.data = prepared.address(formal.index)
        else:
            self._give_array(prepared, formal, value, argument, overwrite, copy)

    def _give_text(self, prepared, formal, value, argument):
        if formal.is_scalar:
            text = ctypes.c_char_p(_bytes_of(self.name, formal, value))
            prepared.keep.append(text)
            if formal.mode == INOUT and formal.type != FILE:
                place = (ctypes.c_void_p * 1)(ctypes.cast(text, ctypes.c_void_p).value)
                prepared.texts[formal.index] = (place, place[0])
                argument.data = ctypes.addressof(place)
            else:
                argument.data = ctypes.cast(text, ctypes.c_void_p).value
                prepared.paths[formal.index] = value
            return
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            raise formal.fault(self.name, _found(value) + "; several texts are a list")
        texts = (ctypes.c_char_p * max(1, len(value)))(*[_bytes_of(self.name, formal, item) for item in value])
        argument.n_dims = 1
        argument.dims[0] = len(value)
        argument.data = ctypes.addressof(texts)
        prepared.keep.append(texts)
        if formal.mode == INOUT:
            places = ctypes.cast(texts, ctypes.POINTER(ctypes.c_void_p))
            prepared.texts[formal.index] = (places, [places[i] for i in range(len(value))])
        else:
            prepared.paths[formal.index] = value

    def _give_array(self, prepared, formal, value, argument, overwrite, copy):
        datum = getattr(value, "_espalier_datum", None)
        if datum is not None:
            self._give_datum(prepared, formal, value, argument, datum())
            return
        if type(value) is _Elements:
            array = as_array(self.name, formal, value.data)
            shape = value.shape
        elif formal.storage:
            array, shape = self._packed(formal, value)
        else:
            array = as_array(self.name, formal, value)
            shape = array.shape or (1,)
        if len(shape) > 7:
            raise formal.fault(self.name, f"an array of {len(shape)} dimensions")
        if overwrite and (array is not value or array.dtype != formal.dtype or not array.flags.writeable
                          or not _is_in_order(array, formal.row_major)):
            order = "row-major (C)" if formal.row_major else "column-major (Fortran)"
            raise formal.fault(self.name, f"{_found(value)} that cannot be overwritten in place: it would have to be a "
                               f"writable numpy array of {formal.dtype} in {order} order")
        made = in_memory(formal, array, copy)
        prepared.arrays[formal.index] = made
        # Of a copy, what it was copied from tells whether it was sent before.
        same = (type(value) is np.ndarray and value.dtype == made.dtype
                and (value.flags.c_contiguous or value.flags.f_contiguous))
        prepared.given[formal.index] = value if same else made
        prepared.ranks[formal.index] = np.ndim(value) if type(value) is not _Elements else 2
        argument.data = made.ctypes.data if made.size else ctypes.addressof(argument)
        argument.n_dims = len(shape)
        argument.dims[:len(shape)] = shape

    def _packed(self, formal, value):
        """A packed or banded matrix as it lies in memory, and the extents of the matrix."""
        array = as_array(self.name, formal, value)
        if formal.storage.startswith("packed"):
            n = int((8 * array.size + 1) ** 0.5 - 1) // 2
            if array.ndim != 1 or n * (n + 1) // 2 != array.size:
                raise formal.fault(self.name, f"{_found(array)} of shape {array.shape}; a packed matrix is a vector of "
                                   "n*(n + 1)/2 elements, one column of the triangle after the other")
            return array, (n, n)
        if array.ndim != 2:
            raise formal.fault(self.name, f"{_found(array)} of shape {array.shape}; a band matrix is an array with a "
                               "row for each diagonal, as LAPACK has it")
        return array, (-1, array.shape[1])

    def _give_datum(self, prepared, formal, value, argument, datum):
        if value.dtype != formal.dtype:
            raise formal.fault(self.name, f"a RemoteArray of {value.dtype}")
        argument.datum = datum.encode()
        argument.n_dims = value.ndim or 1
        argument.dims[:value.ndim] = value.shape
        prepared.ranks[formal.index] = value.ndim
        prepared.keep.append(value)

    # ---- results ----

    def _make_room(self, prepared, wanted, out, keep, values, stored):
        prepared.wanted = wanted
        if self._gives_numbers and wanted is self._usual:
            for formal in wanted:
                prepared.vector[formal.index].data = prepared.base + _ROOM * formal.index
            return
        chosen = {formal.index for formal in wanted}
        for formal in wanted:  # a sparse result is made of its arrays
            chosen.update(self.by_name[name].index for name in formal.companions or ())
        given = {}
        for name, array in out.items():
            formal = self.by_name.get(name)
            if formal is None or formal.mode != OUT or formal.is_scalar:
                raise InvalidError(f'{self.name}: out: no output array is called "{name}"')
            given[formal.index] = array
        for formal in self.outputs:
            argument = prepared.vector[formal.index]
            is_wanted = formal.index in chosen
            if formal.index in keep and is_wanted:
                place = ctypes.c_void_p()
                prepared.kept[formal.index] = place
                argument.kept = ctypes.addressof(place)
                continue
            if formal.mode == INOUT:
                if formal.index not in values:
                    if is_wanted:
                        self._make_default(prepared, formal, argument)
                elif formal.n_dims and formal.type < STRING:
                    if not is_wanted:
                        argument.unwanted = 1
                    elif formal.index not in prepared.arrays:  # it comes from a server
                        self._make_array(prepared, formal, argument, None, stored)
                continue
            if not is_wanted or formal.type == FILE:
                continue
            if formal.type in (STRING, STATE):
                n = argument.dims[0] if formal.n_dims else 1
                place = (ctypes.c_void_p * max(1, n))()
                prepared.texts[formal.index] = (place, [None] * n if formal.n_dims else None)
                argument.data = ctypes.addressof(place)
            elif formal.is_scalar:
                argument.data = prepared.address(formal.index)
            else:
                self._make_array(prepared, formal, argument, given.get(formal.index), stored)

    def _make_array(self, prepared, formal, argument, array, stored):
        shape = tuple(argument.dims[:argument.n_dims])
        if array is not None:
            if (type(array) is not np.ndarray or array.dtype != formal.dtype or array.shape != shape
                    or not _is_in_order(array, formal.row_major) or not array.flags.writeable):
                raise formal.fault(self.name, f"out: {_found(array)}, which is not a writable array of "
                                   f"{formal.dtype} and shape {shape} in the order of the description")
        elif formal.storage and not formal.companions:
            array = np.empty(stored[formal.index], dtype=formal.dtype)
        elif formal.companions:
            array = np.empty(prepared.vector[self.by_name[formal.companions[1]].index].dims[0], dtype=formal.dtype)
        else:
            try:
                array = np.empty(shape, dtype=formal.dtype, order="C" if formal.row_major else "F")
            except (ValueError, MemoryError) as error:
                raise InvalidError(f'{self.name}: output "{formal.name}" of {" x ".join(map(str, shape))} elements: '
                                   f"{error}") from None
        prepared.arrays[formal.index] = array
        argument.data = array.ctypes.data if array.size else ctypes.addressof(argument)

    def _make_default(self, prepared, formal, argument):
        """An inout array that was left out: its default goes in, the result comes here."""
        shape = tuple(argument.dims[:argument.n_dims])
        if formal.is_scalar:
            return
        array = np.full(shape, float(formal.initial or 0), dtype=formal.dtype, order="C" if formal.row_major else "F")
        prepared.arrays[formal.index] = array
        argument.data = array.ctypes.data if array.size else ctypes.addressof(argument)

    def collect(self, prepared):
        """What the call has brought, for its caller."""
        if self._counted and any(formal.count for formal in prepared.wanted):
            if lib.esp_arguments_cut(self.described, prepared.vector, len(self.formals)) != 0:
                raise last_error()
        values = [self._result(prepared, formal) for formal in prepared.wanted]
        if len(values) == 1:
            return values[0]
        return self._results_type(prepared.wanted)(*values) if values else None

    def _results_type(self, wanted):
        key = tuple(formal.index for formal in wanted)
        made = self._results.get(key)
        if made is None:
            made = namedtuple(f"{_identifier(self.name)}_results", [f.python_name for f in wanted], rename=True)
            self._results[key] = made
        return made

    def _result(self, prepared, formal):
        if formal.index in prepared.kept:
            from .remote import RemoteArray
            argument = prepared.vector[formal.index]
            shape = tuple(argument.dims[:argument.n_dims])
            identity = take_text(prepared.kept.pop(formal.index).value)
            return RemoteArray._made(identity, self._shape(prepared, formal, shape), formal.dtype)
        if formal.type == FILE:
            return prepared.paths.get(formal.index)
        if formal.index in prepared.texts:
            place, before = prepared.texts.pop(formal.index)
            if formal.is_scalar:
                return self._text(place[0], before)
            return [self._text(place[i], before[i]) for i in range(len(before))]
        if formal.is_scalar:
            return _load_scalar(formal, prepared.room, _ROOM * formal.index)
        array = prepared.arrays.get(formal.index)
        if array is None:
            return None
        if formal.companions:
            return self._sparse(prepared, formal, array)
        if formal.count:
            n = prepared.vector[formal.index].dims[formal.n_dims - 1]
            array = array[..., :n]
        if formal.type == CHAR and array.ndim == 1:
            return array.tobytes().decode("latin-1")
        if formal.storage:
            return array
        shape = self._shape(prepared, formal, array.shape)
        return array if shape == array.shape else array.reshape(shape, order="A")

    @staticmethod
    def _text(address, before):
        if address == before and before is not None:
            return ctypes.string_at(address).decode("utf-8", "surrogateescape")
        return take_text(address)

    def _shape(self, prepared, formal, shape):
        """A matrix of one column is a vector where the right-hand side that it comes from was one."""
        if formal.n_dims != 2 or len(shape) != 2 or shape[1] != 1:
            return shape
        for other in self.inputs:
            if (other.n_dims == 2 and other.dims[1] == formal.dims[1] and not other.dims[1].isdigit()
                    and prepared.ranks.get(other.index) == 1):
                return shape[:1]
        return shape

    def _sparse(self, prepared, formal, elements):
        """A compressed output as a matrix of scipy."""
        import scipy.sparse
        pointers, indices = (prepared.arrays.get(self.by_name[name].index) for name in formal.companions)
        shape = tuple(prepared.vector[formal.index].dims[:2])
        make = scipy.sparse.csr_matrix if formal.storage.startswith("csr") else scipy.sparse.csc_matrix
        if pointers is None or indices is None:
            return elements
        n = int(pointers[-1]) - formal.base
        return make((elements[:n], indices[:n] - formal.base, pointers - formal.base), shape=shape)

    # ---- what people read ----

    def signature(self, options=()):
        """As inspect.signature() gives it."""
        parameters = [Parameter(f.python_name, Parameter.POSITIONAL_OR_KEYWORD) for f in self.required]
        for formal in self.inputs:
            if formal.follows:
                parameters.append(Parameter(formal.python_name, Parameter.KEYWORD_ONLY, default=_default(formal)))
        for formal in self.outputs:
            if formal.type == FILE and formal.mode == OUT:
                parameters.append(Parameter(formal.python_name, Parameter.KEYWORD_ONLY, default=None))
        taken = {parameter.name for parameter in parameters}
        for name, default in options:
            if name not in taken:
                parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default))
        return Signature(parameters)

    def document(self):
        """The docstring."""
        lines = [self.title, ""]
        if self.text:
            lines += [self.text, ""]
        for title, formals in (("Arguments", self.inputs), ("Results", self.outputs)):
            if formals:
                lines += [title, "-" * len(title)]
            for formal in formals:
                lines.append(f"{formal.python_name} : {formal.shape_text()}" + _default_text(formal, title))
                if formal.text:
                    lines.append(f"    {formal.text}")
            if formals:
                lines.append("")
        if self.preconditions:
            lines += ["Conditions", "----------"] + self.preconditions + [""]
        return "\n".join(lines)


class _Elements:
    """The stored elements of a sparse matrix, with the extents of the whole."""
    __slots__ = ("data", "shape")

    def __init__(self, data, shape):
        self.data, self.shape = data, shape


class _Default:
    """A default that is an expression of the description, as signatures show it."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def _default(formal):
    return _Default(formal.initial) if formal.initial is not None else None


def _default_text(formal, title):
    if title == "Results":
        return ""
    if formal.initial is not None:
        return f", default {formal.initial}"
    return ", follows from the other arguments" if formal.follows else ""


# ---- all of them ----

_cache = {}
_cache_lock = threading.Lock()


def _describe(name):
    described = ctypes.POINTER(CProblem)()
    check(lib.esp_problem_describe(name.encode(), described))
    return described


def problem(name):
    """The problem of that name; UnknownProblemError when the platform has none."""
    _connection.ensure()
    known = _cache.get(name)
    if known is not None and known[0] == _connection.epoch:
        return known[1]
    fresh = Problem(interruptible(lambda: _describe(name)))
    with _cache_lock:
        if known is not None and known[1].digest == fresh.digest:
            fresh = known[1]
        _cache[name] = (_connection.epoch, fresh)
    return fresh


__all__ = ["Problem", "Formal", "problem", "NotFoundError", "UnknownProblemError"]
