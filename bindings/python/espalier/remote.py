# SPDX-License-Identifier: Apache-2.0
"""Arrays whose values live on servers."""
import ctypes
import os
import queue
import threading
import weakref

import numpy as np

from . import _connection, problem
from ._interrupt import interruptible
from ._library import CArgument, CDataInfo, CNode, InvalidError, NoServerError, Status, check, error_of, lib, text_of
from ._problem import DTYPES, TYPES, take_text

_MODES = {"volatile": 0, "persistent": 1, "sticky": 3}
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
_SERVER = 4  # ESP_ROLE_SERVER

# ---- deletion ----

_owned = {}  # identities that this process deletes at its end, and the process that they are of
_dropped = queue.SimpleQueue()
_dropper = None


def _drop(identity, process):
    """The last reference is gone: another thread tells the server, as this one may be inside anything."""
    global _dropper
    if process != os.getpid() or _owned.pop(identity, None) is None or not _connection.connected():
        return
    _dropped.put(identity)
    if _dropper is None or not _dropper.is_alive():
        _dropper = threading.Thread(target=_drop_all, name="espalier data", daemon=True)
        try:
            _dropper.start()
        except RuntimeError:  # the interpreter is ending, and _end() has the rest
            pass


def _drop_all():
    while True:
        identity = _dropped.get()
        if identity is None:
            return
        lib.esp_data_drop(identity.encode())


def _end():
    """Before the connection ends: what this process owns is deleted."""
    global _dropper
    if _dropper is not None and _dropper.is_alive():
        _dropped.put(None)
        _dropper.join(5)
    _dropper = None
    while True:
        try:
            identity = _dropped.get_nowait()
        except queue.Empty:
            break
        if identity is not None:
            lib.esp_data_drop(identity.encode())
    process = os.getpid()
    for identity in [one for one, of in list(_owned.items()) if of == process]:
        _owned.pop(identity, None)
        if lib.esp_data_drop(identity.encode()) in (Status.UNREACHABLE, Status.TIMEOUT):
            break  # a platform that is down takes no deletion at all


def _forked():
    """In a child: the parent's arrays are the parent's."""
    global _owned, _dropped, _dropper
    _owned, _dropped, _dropper = {}, queue.SimpleQueue(), None


_connection.at_end.append(_end)
os.register_at_fork(after_in_child=_forked)


# ---- putting ----

def _best_server():
    """The server with the most free memory."""
    nodes = ctypes.POINTER(CNode)()
    n = ctypes.c_size_t()
    interruptible(lambda: check(lib.esp_tree(None, nodes, n)))
    try:
        found = [(nodes[i].memory_free, text_of(nodes[i].name)) for i in range(n.value)
                 if nodes[i].role == _SERVER and not nodes[i].unreachable and not nodes[i].draining]
    finally:
        lib.esp_tree_free(nodes)
    if not found:
        raise NoServerError("no server of the platform can be reached to keep the array")
    return max(found)[1]


def put(array, server=None, mode="volatile"):
    """Puts an array on a server and returns a RemoteArray.

    server  a name that `espalier tree` shows; None: the server with the most free memory
    mode    "volatile" (may be dropped when the server's memory is short), "persistent" or "sticky"

    The array is deleted from the servers with the last reference to the result.
    """
    if isinstance(array, RemoteArray):
        return array
    if mode not in _MODES:
        raise InvalidError(f"mode: expected {', '.join(_MODES)}, found {mode!r}")
    array = np.asarray(array)
    if array.dtype.kind == "b" or array.dtype not in TYPES and array.dtype.kind in "biuf":
        array = array.astype(np.float64)
    if array.dtype not in TYPES or array.dtype.kind == "S":
        raise InvalidError(f"expected an array of numbers, found one of {array.dtype}")
    if array.ndim == 0 or array.ndim > 7:
        raise InvalidError(f"expected an array of 1 to 7 dimensions, found {array.ndim}")
    _connection.ensure()
    array = np.asfortranarray(array)
    argument = CArgument(data=array.ctypes.data, type=TYPES[array.dtype], n_dims=array.ndim)
    argument.dims[:array.ndim] = array.shape
    server = server or _best_server()

    def put_it():
        place = ctypes.c_void_p()  # this function refers to the array, whose memory lives as long
        check(lib.esp_data_put(server.encode(), argument, _MODES[mode], None, None, place))
        return RemoteArray._made(take_text(place.value), array.shape, array.dtype)

    return interruptible(put_it)


# ---- the array ----

class RemoteArray:
    """An array whose value lives on servers. It never changes; operators and functions of numpy make others, on
    servers where a problem does the work. numpy.asarray(), fetch() and what needs elements bring the value here."""

    __slots__ = ("_identity", "_shape", "_dtype", "_dims", "_here", "_finalizer", "__weakref__")
    __array_priority__ = 1000

    def __init__(self, *_, **__):
        raise TypeError("espalier.put(array) makes a RemoteArray, RemoteArray.attach(identity) takes one that exists")

    @classmethod
    def _made(cls, identity, shape, dtype, owned=True, dims=None):
        made = object.__new__(cls)
        made._identity = identity
        made._shape, made._dtype = tuple(int(n) for n in shape), np.dtype(dtype)
        made._dims = made._shape if dims is None else dims
        made._here = None
        made._finalizer = None
        if owned:
            process = os.getpid()
            _owned[identity] = process
            made._finalizer = weakref.finalize(made, _drop, identity, process)
            made._finalizer.atexit = False
        return made

    @classmethod
    def attach(cls, identity):
        """Returns the array of that identity. The program that made the array deletes it.

        NotFoundError: no server has the array.
        """
        infos = ctypes.POINTER(CDataInfo)()
        n = ctypes.c_size_t()
        _connection.ensure()
        interruptible(lambda: check(lib.esp_data_look(identity.encode(), infos, n)))
        try:
            info = infos[0]
            dtype = DTYPES.get(info.type)
            if dtype is None or info.storage:
                raise InvalidError(f"{identity}: expected an array of numbers that is stored in full")
            return cls._made(identity, info.dims[:info.n_dims], dtype, owned=False)
        finally:
            lib.esp_data_free(infos)

    def release(self):
        """The identity of the array, which is no longer deleted with the last reference (nor by this process)."""
        if self._finalizer is not None:
            self._finalizer.detach()
            _owned.pop(self._identity, None)
        return self.identity

    def delete(self):
        """Deletes the array from the servers now."""
        identity = self.identity
        if self._finalizer is not None:
            self._finalizer.detach()
            _owned.pop(identity, None)
        self._identity = None
        interruptible(lambda: check(lib.esp_data_drop(identity.encode())))

    @property
    def identity(self):
        """The array's name on the platform, "SERVER:32 digits". Any program that knows it can use the array."""
        if self._identity is None:
            raise error_of(Status.NOT_FOUND, "the array was deleted")
        return self._identity

    def _espalier_datum(self):
        return self.identity

    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._dtype)
    ndim = property(lambda self: len(self._shape))
    size = property(lambda self: int(np.prod(self._shape, dtype=np.int64)))
    nbytes = property(lambda self: self.size * self._dtype.itemsize)
    server = property(lambda self: self.identity.rpartition(":")[0])

    def __len__(self):
        if not self._shape:
            raise TypeError("len() of a number")
        return self._shape[0]

    def __repr__(self):
        where = "deleted" if self._identity is None else f"on {self.server}"
        return f"RemoteArray(shape={self._shape}, dtype={self._dtype}, {where})"

    def _repr_html_(self):
        extents = " &times; ".join(str(n) for n in self._shape)
        where = "deleted" if self._identity is None else f"on server <b>{self.server}</b>"
        return (f"<div><code>RemoteArray</code> {extents}, {self._dtype}, {self.nbytes / 1e6:.3g} MB, {where}; "
                "<code>fetch()</code> brings it</div>")

    def __reduce__(self):
        raise TypeError("a RemoteArray is not pickled: pass the identity that release() gives, and attach() there")

    # ---- bringing the value here ----

    def fetch(self):
        """The value as a writable numpy array."""
        _connection.ensure()
        array = np.empty(self._shape, self._dtype, order="F")
        identity = self.identity.encode()
        interruptible(lambda: check(lib.esp_data_get(identity, array.ctypes.data, array.nbytes, None, None)))
        return array

    def __array__(self, dtype=None, copy=None):
        if self._here is None:
            here = self.fetch()
            here.flags.writeable = False
            self._here = here
        return self._here if dtype is None or dtype == self._dtype else self._here.astype(dtype)

    def item(self, *index):
        return np.asarray(self).item(*index)

    def __float__(self):
        return float(np.asarray(self))

    def __complex__(self):
        return complex(np.asarray(self))

    def __int__(self):
        return int(np.asarray(self))

    def __bool__(self):
        return bool(np.asarray(self))

    def __iter__(self):
        return iter(np.asarray(self))

    def tolist(self):
        return np.asarray(self).tolist()

    def copy(self):
        """The array itself: a RemoteArray never changes."""
        return self

    def astype(self, dtype):
        """The array in another type; by way of this program, where that is another one."""
        return self if np.dtype(dtype) == self._dtype else put(np.asarray(self).astype(dtype), self.server)

    # ---- on servers ----

    @property
    def T(self):
        if self.ndim < 2 or self.ndim > 2 or self._dtype.char not in _LETTERS:
            return self if self.ndim < 2 else put(np.asarray(self).T, self.server)
        return _call(self, "transpose", self)

    def transpose(self):
        return self.T

    def conj(self):
        return self if self._dtype.kind != "c" else _call(_call(self, "ctranspose", self), "transpose")

    def __getitem__(self, index):
        bounds = _section(self, index)
        if bounds is None:
            return np.asarray(self)[index]
        rows, columns, dropped = bounds
        keep = len(dropped) < self.ndim
        options = dict(r1=rows[0] + 1, r2=rows[0] + 1 + (rows[2] - 1) * rows[1], rstep=rows[1],
                       c1=columns[0] + 1, c2=columns[0] + 1 + (columns[2] - 1) * columns[1], cstep=columns[1])
        part = problem(_letter(self) + "section")(self, keep=keep or None, **options)
        if not keep:
            return part.reshape(-1)[0]
        if self.ndim == 1:
            return part._of_shape((rows[2],))
        if dropped == [0]:  # a row, as the column that vectors are
            part = _call(part, "transpose")
        return part._of_shape((columns[2],) if dropped == [0] else (rows[2],) if dropped else (rows[2], columns[2]))

    def _of_shape(self, shape):
        """The same elements, of which a column is a vector."""
        self._shape = shape
        return self

    def sum(self, axis=None):
        """Sums of elements; no more than one row and one column come here."""
        if self.ndim != 2 or self._dtype.char not in _LETTERS:
            return np.asarray(self).sum(axis=axis)
        if axis in (0, -2):
            return product(np.ones(self._shape[0], self._dtype), self).fetch()
        rows = product(self, np.ones(self._shape[1], self._dtype)).fetch()
        return rows if axis in (1, -1) else rows.sum()

    def mean(self, axis=None):
        return self.sum(axis) / (self.size if axis is None else self._shape[axis])

    def trace(self):
        """The sum of the diagonal."""
        return problem(_letter(self) + "getrace")(self)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method == "__call__" and not kwargs:
            result = _ufunc(ufunc, inputs)
            if result is not NotImplemented:
                return result
        return getattr(ufunc, method)(*[np.asarray(x) if isinstance(x, RemoteArray) else x for x in inputs], **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        mine = _functions().get(function)
        if mine is not None:
            result = mine(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return function(*_fetched(args), **_fetched(kwargs))


def _operators():
    """Operators are the functions of numpy."""
    pairs = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "matmul": np.matmul,
             "pow": np.power, "floordiv": np.floor_divide, "mod": np.remainder}
    for name, ufunc in pairs.items():
        setattr(RemoteArray, f"__{name}__", lambda self, other, ufunc=ufunc: ufunc(self, other))
        setattr(RemoteArray, f"__r{name}__", lambda self, other, ufunc=ufunc: ufunc(other, self))
    for name, ufunc in {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
                        "ge": np.greater_equal}.items():
        setattr(RemoteArray, f"__{name}__", lambda self, other, ufunc=ufunc: ufunc(self, other))
    for name, ufunc in {"neg": np.negative, "abs": np.absolute, "pos": np.positive}.items():
        setattr(RemoteArray, f"__{name}__", lambda self, ufunc=ufunc: ufunc(self))
    RemoteArray.__hash__ = None


_operators()


def _letter(x):
    letter = _LETTERS.get(x.dtype.char)
    if letter is None:
        raise InvalidError(f"expected real or complex numbers of single or double precision, found {x.dtype}")
    return letter


def _call(x, name, *arrays, **options):
    """A problem of the family for the type of x, the result of which stays."""
    result = problem(_letter(x) + name)(*(arrays or (x,)), keep=True, **options)
    return result


def _fetched(value):
    """Arguments of a function of numpy with arrays in place of remote ones."""
    if isinstance(value, RemoteArray):
        return np.asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_fetched(one) for one in value)
    if isinstance(value, dict):
        return {name: _fetched(one) for name, one in value.items()}
    return value


def _section(array, index):
    """(start, step, count) of rows and of columns, and which dimensions go; None: not what a server cuts out."""
    if array.ndim not in (1, 2) or array.dtype.char not in _LETTERS:
        return None
    index = index if isinstance(index, tuple) else (index,)
    if Ellipsis in [one for one in index if one is Ellipsis]:
        at = [one is Ellipsis for one in index].index(True)
        index = index[:at] + (slice(None),) * (array.ndim - len(index) + 1) + index[at + 1:]
    if len(index) > array.ndim:
        raise IndexError(f"too many indices: the array has {array.ndim} dimensions")
    index += (slice(None),) * (array.ndim - len(index))
    bounds, dropped = [], []
    for dimension, (one, extent) in enumerate(zip(index, array.shape)):
        if isinstance(one, (int, np.integer)):
            if not -extent <= one < extent:
                raise IndexError(f"index {one} is out of bounds for dimension {dimension} of extent {extent}")
            bounds.append((int(one) % extent, 1, 1))
            dropped.append(dimension)
        elif isinstance(one, slice):
            start, stop, step = one.indices(extent)
            count = len(range(start, stop, step))
            if step < 0 or count == 0:
                return None
            bounds.append((start, step, count))
        else:
            return None
    if array.ndim == 1:
        bounds.append((0, 1, 1))
    return bounds[0], bounds[1], dropped


def _scaled(x, factor):
    """factor x: the Kronecker product with a matrix of one element."""
    one = np.array([[factor]], dtype=x.dtype)
    return _call(x, "gekron", x, one)._of_shape(x.shape)


def _shifted(x, number):
    """x + number: a rank-one update with vectors of ones."""
    letter = _letter(x)
    rows, columns = x.shape if x.ndim == 2 else (x.shape[0], 1)
    name = letter + ("ger" if letter in "sd" else "geru")
    made = problem(name)(np.ones(rows, x.dtype), np.ones(columns, x.dtype), x, alpha=number, keep=True)
    return made._of_shape(x.shape)


def _same_type(x1, x2):
    """Both operands in a type that holds them."""
    dtype = np.result_type(*[x.dtype if isinstance(x, RemoteArray) else np.asarray(x) for x in (x1, x2)])
    if dtype.char not in _LETTERS:
        dtype = np.dtype(np.float64)
    return [x.astype(dtype) if isinstance(x, RemoteArray) else np.asarray(x, dtype=dtype) for x in (x1, x2)]


def _binary(name, x1, x2):
    """Element by element; NotImplemented: numpy does it here."""
    x1, x2 = _same_type(x1, x2)
    remote = x1 if isinstance(x1, RemoteArray) else x2
    if remote.ndim not in (1, 2):
        return NotImplemented
    for x, other in ((x1, x2), (x2, x1)):
        if not isinstance(x, RemoteArray) and x.ndim == 0:
            return _with_number(name, other, x[()], other is x1)
    if x1.shape != x2.shape:
        return NotImplemented
    return _call(remote, name, x1, x2)._of_shape(remote.shape)


def _with_number(name, x, number, number_is_second):
    if name == "add":
        return _shifted(x, number)
    if name == "subtract":
        return _shifted(x, -number) if number_is_second else _shifted(_scaled(x, -1), number)
    if name == "times":
        return _scaled(x, number)
    if number_is_second and number != 0:
        return _scaled(x, 1 / number)
    whole = np.full(x.shape, number, dtype=x.dtype)
    pair = (x, whole) if number_is_second else (whole, x)
    return _call(x, "divide", *pair)._of_shape(x.shape)


def product(x1, x2):
    """x1 @ x2, where at least one is a RemoteArray of one or two dimensions; a number for two vectors."""
    x1, x2 = _same_type(x1, x2)
    if x1.ndim not in (1, 2) or x2.ndim not in (1, 2):
        return put(np.matmul(np.asarray(x1), np.asarray(x2)))
    if x1.shape[-1] != x2.shape[0]:
        raise ValueError(f"expected {x1.shape[-1]} rows, as the first operand has columns, found {x2.shape[0]}")
    letter = _letter(x1)
    if x1.ndim == 1 and x2.ndim == 1:
        result = problem(letter + "gemm")(x1, x2, transa="T")
        return np.reshape(result, -1)[0]
    if x1.ndim == 1:  # as a column, which vectors are
        return problem(letter + "gemm")(x2, x1, transa="T", keep=True)._of_shape((x2.shape[1],))
    shape = (x1.shape[0],) if x2.ndim == 1 else (x1.shape[0], x2.shape[1])
    return problem(letter + "gemm")(x1, x2, keep=True)._of_shape(shape)


_BINARY = {"add": "add", "subtract": "subtract", "multiply": "times", "divide": "divide", "true_divide": "divide"}
_UNARY = {"sin": "sin", "cos": "cos", "exp": "exp", "log": "log", "sqrt": "sqrt", "absolute": "abs"}


def _ufunc(ufunc, inputs):
    name = ufunc.__name__
    if name in _BINARY:
        return _binary(_BINARY[name], *inputs)
    if name == "matmul":
        return product(*inputs)
    x = inputs[0]
    if not isinstance(x, RemoteArray) or x.ndim not in (1, 2) or x.dtype.char not in _LETTERS:
        return NotImplemented
    if name in _UNARY:
        return _call(x, _UNARY[name])._of_shape(x.shape)
    if name == "negative":
        return _scaled(x, -1)
    if name == "positive":
        return x
    if name in ("conjugate", "conj") and x.ndim == 2:
        return x.conj()
    if name == "square" or name == "power" and np.ndim(inputs[1]) == 0 and inputs[1] == 2:
        return _binary("times", x, x)
    return NotImplemented


def _functions():
    """Functions of numpy that run on servers."""
    if not _table:
        from . import linalg
        _table.update({
            np.dot: lambda a, b: product(a, b) if np.ndim(a) and np.ndim(b) else NotImplemented,
            np.transpose: lambda a, axes=None: a.T if axes is None else NotImplemented,
            np.trace: lambda a, offset=0, **more: a.trace() if offset == 0 and not more else NotImplemented,
            np.sum: lambda a, axis=None, **more: a.sum(axis) if not more else NotImplemented,
            np.mean: lambda a, axis=None, **more: a.mean(axis) if not more else NotImplemented,
            np.kron: lambda a, b: _kron(a, b),
            np.shape: lambda a: a.shape,
            np.ndim: lambda a: a.ndim,
            np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
            np.copy: lambda a, **more: a.fetch(),
            np.linalg.solve: linalg.solve,
            np.linalg.inv: linalg.inv,
            np.linalg.det: linalg.det,
            np.linalg.slogdet: linalg.slogdet,
            np.linalg.cholesky: linalg.cholesky,
            np.linalg.qr: lambda a, mode="reduced": linalg.qr(a, mode=mode) if mode in ("reduced", "complete")
            else NotImplemented,
            np.linalg.svd: lambda a, full_matrices=True, compute_uv=True, hermitian=False:
            linalg.svd(a, full_matrices=full_matrices) if compute_uv else linalg.svdvals(a),
            np.linalg.eigh: lambda a, UPLO="L": linalg.eigh(a) if UPLO == "L" else NotImplemented,
            np.linalg.eigvalsh: lambda a, UPLO="L": linalg.eigvalsh(a) if UPLO == "L" else NotImplemented,
            np.linalg.pinv: lambda a, rcond=1e-15, hermitian=False: linalg.pinv(a, rtol=rcond),
            np.linalg.matrix_rank: lambda a, tol=None, **more: linalg.matrix_rank(a) if tol is None and not more
            else NotImplemented,
            np.linalg.matrix_power: linalg.matrix_power,
            np.linalg.norm: _norm,
            np.linalg.cond: lambda a, p=None: problem(_letter(a) + "gekappa")(a) if p in (None, 2) else NotImplemented,
        })
    return _table


_table = {}


def _kron(a, b):
    a, b = _same_type(a, b)
    return _call(a, "gekron", a, b) if a.ndim == 2 and b.ndim == 2 else NotImplemented


_KINDS = {None: "F", "fro": "F", 1: "1", np.inf: "I", 2: "2"}


def _norm(x, ord=None, axis=None, keepdims=False):
    if x.ndim not in (1, 2) or axis is not None or keepdims or ord not in _KINDS or x.ndim == 1 and ord not in (None, 2):
        return NotImplemented
    return problem(_letter(x) + "genorm")(x, kind=_KINDS[ord])
