# SPDX-License-Identifier: Apache-2.0
"""espalier.linalg against NumPy."""
import unittest

import numpy as np

import espalier
from espalier import linalg

rng = np.random.default_rng(31)
TYPES = (np.float32, np.float64, np.complex64, np.complex128)


def random(*shape, dtype=np.float64):
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return a.astype(dtype)


def hermitian(n, *stack, dtype=np.float64):
    a = random(*stack, n, n, dtype=dtype)
    return a @ np.conj(np.swapaxes(a, -1, -2)) + n * np.eye(n, dtype=dtype)


def close(found, expected, dtype=np.float64):
    rtol = 2e-4 if np.dtype(dtype).char in "fF" else 1e-9
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * 10)


class Standard(unittest.TestCase):
    def test_the_extension_is_whole(self):
        self.assertEqual(len(linalg.__all__), 23)
        for name in linalg.__all__:
            self.assertTrue(getattr(linalg, name).__doc__, name)

    def test_systems_of_equations(self):
        for dtype in TYPES:
            a, b = random(6, 6, dtype=dtype), random(6, 2, dtype=dtype)
            close(linalg.solve(a, b), np.linalg.solve(a, b), dtype)
            close(linalg.solve(a, b[:, 0]), np.linalg.solve(a, b[:, 0]), dtype)
            close(linalg.inv(a), np.linalg.inv(a), dtype)

    def test_factorisations(self):
        for dtype in TYPES:
            a = hermitian(5, dtype=dtype)
            close(linalg.cholesky(a), np.linalg.cholesky(a), dtype)
            close(linalg.cholesky(a, upper=True), np.conj(np.linalg.cholesky(a)).T, dtype)
            for shape in ((6, 4), (4, 6), (5, 5)):
                m = random(*shape, dtype=dtype)
                for mode in "reduced", "complete":
                    q, r = linalg.qr(m, mode=mode)
                    expected = np.linalg.qr(m, mode=mode)
                    self.assertEqual((q.shape, r.shape), (expected[0].shape, expected[1].shape))
                    close(q @ r, m, dtype)
                    close(np.conj(q).T @ q, np.eye(q.shape[1]), dtype)
                    close(r, np.triu(r), dtype)

    def test_singular_values(self):
        for dtype in TYPES:
            for shape in ((6, 4), (4, 6)):
                a = random(*shape, dtype=dtype)
                s = np.linalg.svd(a, compute_uv=False)
                close(linalg.svdvals(a), s, dtype)
                for full in True, False:
                    found = linalg.svd(a, full_matrices=full)
                    expected = np.linalg.svd(a, full_matrices=full)
                    self.assertEqual([x.shape for x in found], [x.shape for x in expected])
                    close(found.S, s, dtype)
                    close(found.U[:, :4] * found.S @ found.Vh[:4], a, dtype)
                close(linalg.pinv(a), np.linalg.pinv(a), dtype)
        self.assertEqual(linalg.svd(np.empty((0, 3))).Vh.shape, (3, 3))
        self.assertEqual(linalg.svdvals(np.empty((4, 0))).shape, (0,))

    def test_eigenvalues(self):
        for dtype in TYPES:
            a = hermitian(5, dtype=dtype)
            values, vectors = linalg.eigh(a)
            close(values, np.linalg.eigvalsh(a), dtype)
            close(a @ vectors, vectors * values, dtype)
            close(linalg.eigvalsh(a), np.linalg.eigvalsh(a), dtype)
            self.assertEqual(linalg.eigvalsh(a).dtype, np.zeros(0, dtype).real.dtype)

    def test_determinants(self):
        for dtype in TYPES:
            a = random(5, 5, dtype=dtype)
            close(linalg.det(a), np.linalg.det(a), dtype)
            self.assertEqual(linalg.det(a).dtype, dtype)
            for found, expected in zip(linalg.slogdet(a), np.linalg.slogdet(a)):
                close(found, expected, dtype)
        for scale in 1e-200, 1e200:
            for a in scale * random(5, 5), scale * random(5, 5, dtype=complex):
                for found, expected in zip(linalg.slogdet(a), np.linalg.slogdet(a)):
                    close(found, expected)
        self.assertEqual(linalg.slogdet(np.zeros((2, 2))), (0, -np.inf))

    def test_products(self):
        for dtype in TYPES:
            a, b = random(4, 5, dtype=dtype), random(5, 3, dtype=dtype)
            close(linalg.matmul(a, b), a @ b, dtype)
            close(linalg.matmul(np.asfortranarray(a), b), a @ b, dtype)
            close(linalg.matmul(a, b[:, 0]), a @ b[:, 0], dtype)
            close(linalg.matmul(a[0], b), a[0] @ b, dtype)
            close(linalg.matmul(a[0], b[:, 0]), a[0] @ b[:, 0], dtype)
            c = random(4, 4, dtype=dtype)
            for n in (0, 1, 2, 5, -1, -3):
                close(linalg.matrix_power(c, n), np.linalg.matrix_power(c, n), dtype)
            t, u = random(3, 4, 5, dtype=dtype), random(4, 5, 2, dtype=dtype)
            close(linalg.tensordot(t, u), np.tensordot(t, u), dtype)
            close(linalg.tensordot(t, u, axes=([2, 1], [1, 0])), np.tensordot(t, u, axes=([2, 1], [1, 0])), dtype)
            close(linalg.tensordot(t[0, 0], u[0, 0], axes=0), np.tensordot(t[0, 0], u[0, 0], axes=0), dtype)

    def test_norms_and_ranks(self):
        for dtype in TYPES:
            a = random(5, 4, dtype=dtype)
            for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
                close(linalg.matrix_norm(a, ord=ord), np.linalg.norm(a, ord), dtype)
                self.assertEqual(linalg.matrix_norm(a, ord=ord, keepdims=True).shape, (1, 1))
            for ord in (0, 1, 2, 3.5, np.inf, -np.inf):
                close(linalg.vector_norm(a, ord=ord), np.linalg.norm(a.ravel(), ord), dtype)
                close(linalg.vector_norm(a, axis=1, ord=ord), np.linalg.norm(a, ord, axis=1), dtype)
            self.assertEqual(linalg.vector_norm(a, axis=0, keepdims=True).shape, (1, 4))
        low = random(6, 2) @ random(2, 5)
        self.assertEqual(linalg.matrix_rank(low), 2)
        self.assertEqual(linalg.matrix_rank(np.diag([1, 1e-3]), rtol=1e-2), 1)

    def test_what_is_done_here(self):
        a, b = random(4, 3), random(4, 3)
        close(linalg.cross(a, b), np.cross(a, b))
        close(linalg.diagonal(a, offset=1), np.diagonal(a, 1))
        close(linalg.trace(a, offset=-1), np.trace(a, -1))
        close(linalg.matrix_transpose(a), a.T)
        close(linalg.outer(a[0], b[1]), np.outer(a[0], b[1]))
        z = a + 1j * b
        close(linalg.vecdot(z, a, axis=0), np.sum(np.conj(z) * a, axis=0))


class Stacks(unittest.TestCase):
    def test_each_matrix_of_a_stack_is_solved(self):
        a, b = random(2, 3, 4, 4), random(3, 4, 2)
        close(linalg.solve(a, b), np.linalg.solve(a, np.broadcast_to(b, (2, 3, 4, 2))))
        close(linalg.inv(a), np.linalg.inv(a))
        close(linalg.det(a), np.linalg.det(a))
        close(linalg.slogdet(a)[1], np.linalg.slogdet(a)[1])
        close(linalg.matmul(a, b), a @ b)
        close(linalg.matmul(a, b[0, :, 0]), a @ b[0, :, 0])
        close(linalg.svdvals(a), np.linalg.svd(a, compute_uv=False))
        q, r = linalg.qr(a)
        close(q @ r, a)
        q, r = linalg.qr(a[..., :2], mode="complete")
        close(q @ r, a[..., :2])
        h = hermitian(4, 2, 3)
        close(linalg.cholesky(h), np.linalg.cholesky(h))
        close(linalg.eigh(h).eigenvalues, np.linalg.eigvalsh(h))
        close(linalg.pinv(a[..., :2]), np.linalg.pinv(a[..., :2]))
        np.testing.assert_array_equal(linalg.matrix_rank(a), np.linalg.matrix_rank(a))
        close(linalg.matrix_power(a, 3), np.linalg.matrix_power(a, 3))
        close(linalg.matrix_norm(a), np.linalg.norm(a, axis=(-2, -1)))

    def test_an_empty_stack(self):
        self.assertEqual(linalg.inv(np.empty((0, 3, 3))).shape, (0, 3, 3))
        self.assertEqual(linalg.qr(np.empty((0, 4, 3))).R.shape, (0, 3, 3))


class Single(unittest.TestCase):
    def test_types_are_kept_and_mixed(self):
        a = random(3, 3, dtype=np.float32)
        self.assertEqual(linalg.inv(a).dtype, np.float32)
        self.assertEqual(linalg.matmul(a, a.astype(np.complex64)).dtype, np.complex64)
        self.assertEqual(linalg.solve(a, random(3)).dtype, np.float64)
        self.assertEqual(linalg.det(np.eye(3, dtype=int)), 1.0)


class Wrong(unittest.TestCase):
    def test_what_cannot_be_is_told(self):
        for error, call in ((ValueError, lambda: linalg.inv(np.ones((2, 3)))),
                            (ValueError, lambda: linalg.inv(np.ones(3))),
                            (ValueError, lambda: linalg.solve(np.eye(3), np.ones(2))),
                            (ValueError, lambda: linalg.matmul(np.ones((2, 3)), np.ones((2, 3)))),
                            (ValueError, lambda: linalg.matmul(1.0, np.eye(2))),
                            (ValueError, lambda: linalg.qr(np.eye(2), mode="r")),
                            (ValueError, lambda: linalg.tensordot(np.eye(2), np.eye(3), axes=1)),
                            (ValueError, lambda: linalg.cross(np.ones(2), np.ones(2))),
                            (TypeError, lambda: linalg.det(np.array([["a", "b"], ["c", "d"]]))),
                            (np.linalg.LinAlgError, lambda: linalg.inv(np.ones((2, 2)))),
                            (np.linalg.LinAlgError, lambda: linalg.cholesky(-np.eye(2))),
                            (espalier.FailedError, lambda: linalg.solve(np.zeros((2, 2)), np.ones(2)))):
            with self.assertRaises(error):
                call()


if __name__ == "__main__":
    unittest.main()
