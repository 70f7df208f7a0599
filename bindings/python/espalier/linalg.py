# SPDX-License-Identifier: Apache-2.0
"""The linear algebra extension of the array API standard (2021.12): 23 functions.

Functions that take O(n^3) operations run on servers, the others here, since moving the operands would take longer; the
manual has the table. Arrays may have leading dimensions: then each matrix is a call, and all of them are under way at
once. A RemoteArray stays where it is, and so do the results of most functions of one. A singular matrix, or one that
is not positive definite, raises espalier.FailedError, which is a numpy.linalg.LinAlgError.
"""
from collections import namedtuple

import numpy as np

from . import problem

__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
           "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
           "trace", "vecdot", "vector_norm"]

EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = namedtuple("QRResult", "Q R")
SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = namedtuple("SVDResult", "U S Vh")

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


# ---- how problems are called ----

def _is_remote(x):
    return hasattr(x, "_espalier_datum")


def _array(x, name="x"):
    """Floating-point numbers of one of the four types."""
    if _is_remote(x):
        return x
    x = np.asarray(x)
    if x.dtype.kind in "biu":
        return x.astype(np.float64)
    if x.dtype.char not in _LETTERS:
        raise TypeError(f"{name}: expected real or complex numbers of single or double precision, found {x.dtype}")
    return x


def _arrays(*given):
    """The same for several, with a type that holds all of them."""
    arrays = [_array(x, f"x{i + 1}") for i, x in enumerate(given)]
    dtype = np.result_type(*[x.dtype for x in arrays])
    return [x if x.dtype == dtype else x.astype(dtype) for x in arrays]


def _matrix(x, square=False):
    x = _array(x)
    if x.ndim < 2:
        raise ValueError(f"x: expected a matrix, or a stack of matrices, found {x.ndim} dimension(s)")
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"x: expected square matrices, found {x.shape[-2]} x {x.shape[-1]}")
    return x


def _letter(x):
    return _LETTERS[x.dtype.char]


def _each(name, stacks, core, **kwargs):
    """Calls the problem for each matrix of the stacks, which are broadcast against each other; `core`: the dimensions
    that belong to a matrix, for each stack. Returns the shape of the stack and a list of results."""
    if any(_is_remote(x) for x in stacks):
        return (), [problem(name)(*stacks, **kwargs)]
    shape = np.broadcast_shapes(*[x.shape[:x.ndim - n] for x, n in zip(stacks, core)])
    if shape == ():
        return shape, [problem(name)(*stacks, **kwargs)]
    from ._futures import map as map_calls
    parts = []
    for x, n in zip(stacks, core):
        whole = np.broadcast_to(x, shape + x.shape[x.ndim - n:])
        parts.append([whole[index] for index in np.ndindex(*shape)])
    return shape, map_calls(name, *parts, progress=False, **kwargs)


def _stack(shape, results):
    """One array of the results."""
    if shape == ():
        return results[0]
    if not results:
        return None
    return np.stack([np.asarray(result) for result in results]).reshape(shape + np.shape(results[0]))


def _one(name, stacks, core, empty, **kwargs):
    """The one result of a problem for each matrix; `empty`: the shape and type of one, if there is no matrix."""
    shape, results = _each(name, stacks, core, **kwargs)
    return _stack(shape, results) if results else np.empty(shape + empty[0], dtype=empty[1])


def _several(name, stacks, core, empties, **kwargs):
    """The same for several results."""
    shape, results = _each(name, stacks, core, **kwargs)
    if not results:
        return [np.empty(shape + own, dtype=dtype) for own, dtype in empties]
    return [_stack(shape, [result[k] for result in results]) for k in range(len(empties))]


def _keep(*stacks):
    """Results of arrays that live on servers stay there."""
    return True if any(_is_remote(x) for x in stacks) else None


# ---- systems, factorisations, eigenvalues: on servers ----

def solve(x1, x2, /):
    """X with x1 X = x2, for square matrices x1 and a vector or matrices x2."""
    x1, x2 = _arrays(_matrix(x1, True), x2)
    is_vector = x2.ndim == 1
    if x2.shape[0 if is_vector else -2] != x1.shape[-1]:
        raise ValueError(f"x2: expected {x1.shape[-1]} rows, as x1 has, found {x2.shape[0 if is_vector else -2]}")
    own = x2.shape if is_vector else x2.shape[-2:]
    return _one(_letter(x1) + "gesv", (x1, x2), (2, 1 if is_vector else 2), (own, x1.dtype), want="B",
                keep=_keep(x1, x2))


def inv(x, /):
    """Inverses of square matrices."""
    x = _matrix(x, True)
    return _one(_letter(x) + "geinv", (x,), (2,), (x.shape[-2:], x.dtype), keep=_keep(x))


def cholesky(x, /, *, upper=False):
    """Cholesky factors L with x = L L^H, or U with x = U^H U, of positive definite matrices."""
    x = _matrix(x, True)
    factor = _one(_letter(x) + "potrf", (x,), (2,), (x.shape[-2:], x.dtype), uplo="U" if upper else "L")
    return np.triu(factor) if upper else np.tril(factor)


def qr(x, /, *, mode="reduced"):
    """Factors of x = Q R; mode "reduced" or "complete"."""
    x = _matrix(x)
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode: expected 'reduced' or 'complete', found {mode!r}")
    m, n = x.shape[-2:]
    k = min(m, n)
    letter = _letter(x)
    if mode == "reduced" or m <= n:
        return QRResult(*_several(letter + "gethinqr", (x,), (2,), [((m, k), x.dtype), ((k, n), x.dtype)],
                                  keep=_keep(x)))
    factored, tau = _several(letter + "geqrf", (np.asarray(x),), (2,), [((m, n), x.dtype), ((k,), x.dtype)])
    wide = np.zeros(factored.shape[:-1] + (m,), dtype=x.dtype)
    wide[..., :n] = factored
    q = _one(letter + ("orgqr" if letter in "sd" else "ungqr"), (wide, tau), (2, 1), ((m, m), x.dtype))
    return QRResult(q, np.triu(factored))


def svd(x, /, *, full_matrices=True):
    """U, S and Vh with x = U diag(S) Vh; S is descending."""
    x = _matrix(x)
    m, n = x.shape[-2:]
    k = min(m, n)
    real = np.zeros(0, x.dtype).real.dtype
    rows, columns = (m, n) if full_matrices else (k, k)
    if k == 0:
        lead = x.shape[:-2]
        u, vh = np.empty(lead + (m, rows), x.dtype), np.empty(lead + (columns, n), x.dtype)
        u[...], vh[...] = np.eye(m, rows), np.eye(columns, n)
        return SVDResult(u, np.empty(lead + (0,), real), vh)
    s, u, vh = _several(_letter(x) + "gesdd", (x,), (2,), [((k,), real), ((m, rows), x.dtype), ((columns, n), x.dtype)],
                        jobz="A" if full_matrices else "S", want=("s", "U", "VT"), keep=_keep(x))
    return SVDResult(u, s, vh)


def svdvals(x, /):
    """The singular values, descending."""
    x = _matrix(x)
    k = min(x.shape[-2:])
    real = np.zeros(0, x.dtype).real.dtype
    if k == 0:
        return np.empty(x.shape[:-2] + (0,), real)
    return _one(_letter(x) + "gesdd", (x,), (2,), ((k,), real), jobz="N", want="s")


def eigh(x, /):
    """Eigenvalues, ascending, and eigenvectors as columns of symmetric or Hermitian matrices."""
    x = _matrix(x, True)
    letter, n = _letter(x), x.shape[-1]
    name = letter + ("syevd" if letter in "sd" else "heevd")
    vectors, values = _several(name, (x,), (2,), [((n, n), x.dtype), ((n,), np.zeros(0, x.dtype).real.dtype)],
                               uplo="L", keep=("A",) if _is_remote(x) else None)
    return EighResult(values, vectors)


def eigvalsh(x, /):
    """The eigenvalues, ascending, of symmetric or Hermitian matrices."""
    x = _matrix(x, True)
    letter = _letter(x)
    name = letter + ("syevd" if letter in "sd" else "heevd")
    return _one(name, (x,), (2,), ((x.shape[-1],), np.zeros(0, x.dtype).real.dtype), uplo="L", jobz="N", want="w")


def pinv(x, /, *, rtol=None):
    """Pseudoinverses; singular values below rtol times the largest count as 0."""
    x = _matrix(x)
    m, n = x.shape[-2:]
    if rtol is None:
        rtol = max(m, n) * np.finfo(x.dtype).eps
    if np.ndim(rtol) > 0:
        raise ValueError("rtol: expected one number for all matrices, found an array")
    return _one(_letter(x) + "gepinv", (x,), (2,), ((n, m), x.dtype), tol=float(rtol), want="X", keep=_keep(x))


def det(x, /):
    """Determinants."""
    x = _matrix(x, True)
    value = _one(_letter(x) + "gedet", (x,), (2,), ((), x.dtype), want="det")
    return np.asarray(value, dtype=x.dtype)[()]


def slogdet(x, /):
    """Signs (of modulus 1, or 0) and logarithms of the moduli of determinants, which may be beyond any number."""
    x = _matrix(x, True)
    real = np.zeros(0, x.dtype).real.dtype
    value, logarithm = _several(_letter(x) + "gedet", (x,), (2,), [((), x.dtype), ((), real)])
    value, logarithm = np.asarray(value, dtype=x.dtype), np.asarray(logarithm, dtype=real)
    modulus = np.abs(value)
    if np.all(np.isfinite(modulus) & (modulus > np.finfo(real).tiny) | np.isneginf(logarithm)):
        with np.errstate(invalid="ignore"):
            sign = np.where(np.isneginf(logarithm), 0, value / np.where(modulus == 0, 1, modulus))
        return SlogdetResult(sign.astype(x.dtype)[()], logarithm[()])
    # The product leaves the range of the type: the sign is that of the factors.
    factors, pivots = _several(_letter(x) + "getrf", (np.asarray(x),), (2,),
                               [(x.shape[-2:], x.dtype), ((x.shape[-1],), np.int32)])
    diagonals = np.diagonal(factors, axis1=-2, axis2=-1)
    exchanges = np.count_nonzero(pivots != np.arange(1, x.shape[-1] + 1), axis=-1)
    sign = np.prod(diagonals / np.abs(diagonals), axis=-1) * np.where(exchanges % 2, -1, 1)
    return SlogdetResult(np.asarray(sign, dtype=x.dtype)[()], logarithm[()])


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are above rtol times the largest."""
    x = _matrix(x)
    values = svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * np.finfo(x.dtype).eps
    largest = values.max(axis=-1, keepdims=True, initial=0)
    return np.count_nonzero(values > largest * np.asarray(rtol)[..., np.newaxis], axis=-1)


# ---- products: on servers ----

def _product(x1, x2):
    """Matrices of one stack shape; row-major ones go as they are, as transposes."""
    options = {}
    operands = []
    for x, option in ((x1, "transa"), (x2, "transb")):
        if not _is_remote(x) and x.ndim == 2 and x.flags.c_contiguous and not x.flags.f_contiguous:
            x = x.T
            options[option] = "T"
        operands.append(x)
    return _one(_letter(x1) + "gemm", operands, (2, 2), ((x1.shape[-2], x2.shape[-1]), x1.dtype),
                keep=_keep(x1, x2), **options)


def matmul(x1, x2, /):
    """Products of matrices, as the operator @ has them."""
    x1, x2 = _arrays(x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("expected vectors or matrices, found a number")
    if _is_remote(x1) or _is_remote(x2):
        from .remote import product
        return product(x1, x2)
    first = x1.reshape(1, -1) if x1.ndim == 1 else x1
    second = x2.reshape(-1, 1) if x2.ndim == 1 else x2
    if first.shape[-1] != second.shape[-2]:
        raise ValueError(f"x2: expected {first.shape[-1]} rows, as x1 has columns, found {second.shape[-2]}")
    result = _product(first, second)
    if x2.ndim == 1:
        result = result[..., 0]
    if x1.ndim == 1:
        result = result[0] if x2.ndim == 1 else result[..., 0, :]
    return result


def matrix_power(x, n, /):
    """Powers of square matrices; n below 0: of their inverses."""
    x = _matrix(x, True)
    if n == 0:
        return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape).copy()
    base, left, result = inv(x) if n < 0 else x, abs(n), None
    while left:
        if left & 1:
            result = base if result is None else matmul(result, base)
        left >>= 1
        if left:
            base = matmul(base, base)
    return x.copy() if n == 1 else result


def tensordot(x1, x2, /, *, axes=2):
    """Sums of products over the last `axes` dimensions of x1 and the first of x2, or over two lists of dimensions."""
    x1, x2 = (np.asarray(x) for x in _arrays(x1, x2))
    if np.ndim(axes) == 0:
        first, second = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        first, second = (list(np.atleast_1d(side)) for side in axes)
    first, second = [a % x1.ndim for a in first], [a % x2.ndim for a in second]
    if [x1.shape[a] for a in first] != [x2.shape[a] for a in second]:
        raise ValueError(f"axes: expected dimensions of equal extents, found {[x1.shape[a] for a in first]} and "
                         f"{[x2.shape[a] for a in second]}")
    rest1 = [a for a in range(x1.ndim) if a not in first]
    rest2 = [a for a in range(x2.ndim) if a not in second]
    shape = tuple(x1.shape[a] for a in rest1) + tuple(x2.shape[a] for a in rest2)
    n = int(np.prod([x1.shape[a] for a in first], dtype=int))
    left = x1.transpose(rest1 + first).reshape(-1 if n else int(np.prod([x1.shape[a] for a in rest1])), n)
    right = x2.transpose(second + rest2).reshape(n, -1 if n else int(np.prod([x2.shape[a] for a in rest2])))
    return _product(left, right).reshape(shape)


# ---- what takes O(n^2) operations or less: here, but for norms of singular values ----

def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norms of matrices: "fro", "nuc", 1, -1, 2, -2, inf, -inf."""
    x = _matrix(x)
    if ord in (2, -2, "nuc"):
        values = svdvals(x)
        result = values.sum(axis=-1) if ord == "nuc" else values.max(axis=-1) if ord == 2 else values.min(axis=-1)
        return result[..., np.newaxis, np.newaxis] if keepdims else result
    return np.linalg.norm(np.asarray(x), ord=ord, axis=(-2, -1), keepdims=keepdims)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norms of vectors; axis None: of all elements."""
    x = np.asarray(_array(x))
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(a % x.ndim for a in axes)
    rest = [a for a in range(x.ndim) if a not in axes]
    flat = x.transpose(list(axes) + rest).reshape((-1,) + tuple(x.shape[a] for a in rest))
    result = np.linalg.norm(flat, ord=ord, axis=0)
    if keepdims:
        result = np.reshape(result, [1 if a in axes else x.shape[a] for a in range(x.ndim)])
    return result


def diagonal(x, /, *, offset=0):
    """Diagonals of matrices."""
    return np.diagonal(np.asarray(_matrix(x)), offset=offset, axis1=-2, axis2=-1)


def trace(x, /, *, offset=0):
    """Sums of diagonals."""
    return np.trace(np.asarray(_matrix(x)), offset=offset, axis1=-2, axis2=-1)


def matrix_transpose(x, /):
    """Transposes of matrices."""
    if _is_remote(x):
        return x.T
    return np.swapaxes(_matrix(x), -1, -2)


def outer(x1, x2, /):
    """All products of an element of x1 and one of x2."""
    x1, x2 = (np.asarray(x) for x in _arrays(x1, x2))
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"expected vectors, found {x1.ndim} and {x2.ndim} dimensions")
    return np.outer(x1, x2)


def cross(x1, x2, /, *, axis=-1):
    """Cross products of vectors of three elements."""
    x1, x2 = (np.asarray(x) for x in _arrays(x1, x2))
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"expected vectors of 3 elements, found {x1.shape[axis]} and {x2.shape[axis]}")
    return np.cross(x1, x2, axis=axis)


def vecdot(x1, x2, /, *, axis=-1):
    """Inner products of vectors, the first one conjugated."""
    x1, x2 = (np.asarray(x) for x in _arrays(x1, x2))
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"expected vectors of equal length, found {x1.shape[axis]} and {x2.shape[axis]}")
    return np.sum(np.conj(x1) * x2, axis=axis)
