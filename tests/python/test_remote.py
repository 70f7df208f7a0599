# SPDX-License-Identifier: Apache-2.0
"""Arrays that live on servers, and inputs that are sent once."""
import gc
import subprocess
import sys
import unittest

import numpy as np

import espalier
from espalier import _connection, _inputs
from espalier import remote as remote_module
from espalier._inputs import hits

rng = np.random.default_rng(31)


def random(*shape, dtype=np.float64):
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return a.astype(dtype)


def data():
    """How many data the servers keep."""
    found = subprocess.run(["espalier", "data", "ls", "--json"], capture_output=True, text=True, check=True).stdout
    return found.count('"id"')


def settled():
    """The same, when what other tests have left is gone."""
    gc.collect()
    while data() != len(remote_module._owned):  # another thread tells the server
        pass
    return len(remote_module._owned)


class Remote(unittest.TestCase):
    def test_a_value_goes_and_comes(self):
        for a in (random(5, 3), np.asfortranarray(random(4, 2, dtype=complex)), random(7), random(2, 3, 4),
                  np.arange(6, dtype=np.int32), random(3, 3, dtype=np.float32)):
            remote = espalier.put(a)
            self.assertEqual((remote.shape, remote.dtype, remote.ndim, remote.size), (a.shape, a.dtype, a.ndim, a.size))
            fetched = remote.fetch()
            np.testing.assert_array_equal(fetched, a)
            self.assertTrue(fetched.flags.writeable)
            np.testing.assert_array_equal(np.asarray(remote), a)

    def test_it_says_what_it_is_without_being_fetched(self):
        remote = espalier.put(np.zeros((3, 4)))
        self.assertEqual(repr(remote), "RemoteArray(shape=(3, 4), dtype=float64, on S)")
        self.assertIn("3 &times; 4", remote._repr_html_())
        self.assertEqual(len(remote), 3)
        self.assertIsNone(remote._here)

    def test_it_is_an_argument_and_a_result_of_problems(self):
        a, b = random(6, 6), random(6, 2)
        remote = espalier.put(a)
        np.testing.assert_allclose(espalier.dgesv(remote, b).B, np.linalg.solve(a, b))
        x = espalier.dgesv(remote, b, want="B", keep="B")
        self.assertIsInstance(x, espalier.RemoteArray)
        np.testing.assert_allclose(x.fetch(), np.linalg.solve(a, b))
        lu, ipiv, _ = espalier.dgesv(remote, b, keep=True)
        self.assertIsInstance(ipiv, espalier.RemoteArray)
        np.testing.assert_allclose(espalier.dgetrs(lu, ipiv, b), np.linalg.solve(a, b))
        np.testing.assert_allclose(espalier.solve(remote, b), np.linalg.solve(a, b))
        np.testing.assert_allclose(espalier.submit("dgesv", remote, b, want="B", keep="B").result(20).fetch(),
                                   np.linalg.solve(a, b))

    def test_it_is_deleted_with_the_last_reference(self):
        before = settled()
        first = espalier.put(random(3, 3))
        second = first
        self.assertEqual(data(), before + 1)
        del first
        gc.collect()
        self.assertEqual(data(), before + 1)
        del second
        gc.collect()
        self.assertEqual(settled(), before)

    def test_it_is_deleted_at_the_end_of_the_program(self):
        before = settled()
        subprocess.run([sys.executable, "-c", "import espalier\na = espalier.put([[1.0, 2.0]])\nb = a + a\nprint(b)"],
                       check=True, capture_output=True)
        self.assertEqual(data(), before)

    def test_its_identity_can_be_handed_on(self):
        a = random(3, 2)
        identity = espalier.put(a).release()
        gc.collect()
        attached = espalier.RemoteArray.attach(identity)
        np.testing.assert_array_equal(attached.fetch(), a)
        attached.delete()
        with self.assertRaises(espalier.NotFoundError):
            espalier.RemoteArray.attach(identity)
        with self.assertRaises(espalier.NotFoundError):
            attached.fetch()
        self.assertIn("deleted", repr(attached))

    def test_a_datum_that_is_gone_is_told(self):
        remote = espalier.put(random(3, 3))
        subprocess.run(["espalier", "data", "rm", remote.identity], check=True)
        with self.assertRaises(espalier.NotFoundError):
            remote.fetch()
        with self.assertRaises(espalier.Error):
            espalier.dgesv(remote, np.ones(3))

    def test_it_may_be_deleted_while_a_call_has_it(self):
        for _ in range(3):
            remote = espalier.put(random(300, 300))
            future = espalier.submit("dgemm", remote, remote)
            try:
                remote.delete()
                self.assertEqual(future.result(20).shape, (300, 300))
            except espalier.NotFoundError:
                pass
            future = espalier.submit("dgemm", espalier.put(np.eye(300)), np.eye(300))
            gc.collect()
            np.testing.assert_array_equal(future.result(20), np.eye(300))

    def test_what_cannot_be_is_told(self):
        for wrong in (["a"], [object()], 5.0):
            with self.assertRaises(espalier.InvalidError):
                espalier.put(wrong)
        with self.assertRaises(espalier.InvalidError):
            espalier.put([1.0], mode="lasting")
        with self.assertRaises(espalier.NotFoundError):
            espalier.put([1.0], server="nowhere")
        with self.assertRaisesRegex(espalier.InvalidError, "RemoteArray of float32"):
            espalier.dgesv(espalier.put(np.eye(2, dtype=np.float32)), [1, 2])
        with self.assertRaises(espalier.InvalidError):
            espalier.dgesv(espalier.put(np.ones((2, 3))), [1, 2])
        with self.assertRaises(TypeError):
            espalier.RemoteArray("S:00")
        import pickle
        with self.assertRaisesRegex(TypeError, "release"):
            pickle.dumps(espalier.put([1.0]))


class Operators(unittest.TestCase):
    def same(self, remote, expected):
        self.assertIsInstance(remote, espalier.RemoteArray)
        self.assertEqual(remote.shape, expected.shape)
        self.assertEqual(remote.dtype, expected.dtype)
        np.testing.assert_allclose(remote.fetch(), expected, rtol=1e-5 if expected.dtype.char in "fF" else 1e-10,
                                   atol=1e-5 if expected.dtype.char in "fF" else 1e-10)

    def test_element_by_element(self):
        for dtype in (np.float32, np.float64, np.complex64, np.complex128):
            for shape in ((4, 3), (5,)):
                a, b = random(*shape, dtype=dtype), random(*shape, dtype=dtype)
                p, q = espalier.put(a), espalier.put(b)
                self.same(p + q, a + b)
                self.same(p - b, a - b)
                self.same(b - p, b - a)
                self.same(p * q, a * b)
                self.same(p / q, a / b)
                self.same(2 * p + 1, 2 * a + 1)
                self.same(1 - p / 4, 1 - a / 4)
                self.same(2 / p, 2 / a)
                self.same(-p, -a)
                self.same(p ** 2, a ** 2)
                self.same(abs(p), abs(a))
                self.same(np.sin(p) + np.cos(q) + np.exp(p), np.sin(a) + np.cos(b) + np.exp(a))
                self.same(np.sqrt(abs(p)), np.sqrt(abs(a)))
                self.same(np.log(abs(p)), np.log(abs(a)))

    def test_products_and_transposes(self):
        a, b, v, w = random(4, 3), random(3, 5), random(3), random(4)
        p, q, x = espalier.put(a), espalier.put(b), espalier.put(v)
        self.same(p @ q, a @ b)
        self.same(a @ q, a @ b)
        self.same(p @ b, a @ b)
        self.same(p @ x, a @ v)
        self.same(w @ p, w @ a)
        self.same(p.T, a.T)
        self.same((p @ x) + w, a @ v + w)
        self.same(p.T @ (p @ x), a.T @ (a @ v))
        self.assertAlmostEqual(x @ v, v @ v)
        z = espalier.put(random(2, 3, dtype=complex))
        self.same(z.conj().T, np.conj(z.fetch()).T)
        with self.assertRaises(ValueError):
            p @ p

    def test_sections(self):
        a = random(6, 5)
        p = espalier.put(a)
        self.same(p[1:4, 2:], a[1:4, 2:])
        self.same(p[::2, ::-1][...] if False else p[::2, 1:5:3], a[::2, 1:5:3])
        self.same(p[2], a[2])
        self.same(p[:, 3], a[:, 3])
        self.same(p[-1, 1:3], a[-1, 1:3])
        self.same(espalier.put(a[0])[1:4], a[0, 1:4])
        self.assertEqual(p[2, 3], a[2, 3])
        np.testing.assert_array_equal(p[::-1], a[::-1])
        np.testing.assert_array_equal(p[[0, 2]], a[[0, 2]])
        np.testing.assert_array_equal(p[p > 0], a[a > 0])
        with self.assertRaises(IndexError):
            p[6, 0]

    def test_what_servers_do_not_do_is_done_here(self):
        a = random(3, 3)
        p = espalier.put(a)
        np.testing.assert_array_equal(p > 0, a > 0)
        np.testing.assert_allclose(p + np.ones(3), a + 1)
        np.testing.assert_allclose(np.tan(p), np.tan(a))
        np.testing.assert_allclose(np.add.reduce(p), a.sum(axis=0))
        self.assertEqual([row.tolist() for row in p], a.tolist())


class Numpy(unittest.TestCase):
    def test_functions_of_numpy(self):
        a, b = random(4, 4), random(4, 2)
        p, q = espalier.put(a), espalier.put(b)
        for remote, expected in ((np.dot(p, q), a @ b), (np.transpose(p), a.T), (np.kron(p, q), np.kron(a, b)),
                                 (np.linalg.solve(p, q), np.linalg.solve(a, b)),
                                 (np.linalg.inv(p), np.linalg.inv(a)), (np.linalg.pinv(p), np.linalg.pinv(a)),
                                 (np.linalg.matrix_power(p, 3), a @ a @ a)):
            self.assertIsInstance(remote, espalier.RemoteArray)
            np.testing.assert_allclose(remote.fetch(), expected, atol=1e-9)
        for found, expected in ((np.trace(p), np.trace(a)), (np.sum(p), a.sum()), (np.sum(p, axis=0), a.sum(axis=0)),
                                (np.mean(p, axis=1), a.mean(axis=1)), (np.linalg.norm(p), np.linalg.norm(a)),
                                (np.linalg.norm(p, 1), np.linalg.norm(a, 1)), (np.linalg.det(p), np.linalg.det(a)),
                                (np.linalg.cond(p), np.linalg.cond(a)), (np.shape(p), (4, 4)),
                                (np.linalg.svd(p, compute_uv=False), np.linalg.svd(a, compute_uv=False)),
                                (np.linalg.eigvals(p), np.linalg.eigvals(a)), (np.vstack([p, p]), np.vstack([a, a]))):
            np.testing.assert_allclose(found, expected, atol=1e-9)
        u, s, vh = np.linalg.svd(p)
        self.assertIsInstance(u, espalier.RemoteArray)
        np.testing.assert_allclose(u.fetch() * np.asarray(s) @ vh.fetch(), a, atol=1e-9)
        values, vectors = np.linalg.eigh(p + p.T)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(a + a.T))
        self.assertIsInstance(vectors, espalier.RemoteArray)


class Sent(unittest.TestCase):
    """Inputs that were sent before are not sent again."""

    def setUp(self):
        espalier.forget()
        self.addCleanup(espalier.reuse, "auto")

    def calls(self, a, n=1):
        """Calls with the array; how many times it was not sent."""
        before = hits()
        for _ in range(n):
            np.testing.assert_allclose(espalier.dgemm(a, a), a @ a, atol=1e-9)
        return hits() - before

    def test_a_protected_array_is_sent_once(self):
        a = np.asfortranarray(random(100, 100))
        self.assertEqual(self.calls(a, 2), 0)
        a.flags.writeable = False
        self.assertEqual(self.calls(a), 0)
        self.assertEqual(self.calls(a, 3), 6)
        np.testing.assert_allclose(espalier.submit("dgemm", a, a).result(20), a @ a)
        espalier.forget()
        self.assertEqual(self.calls(a), 0)

    def test_a_view_that_somebody_can_write_through_is_not_protected(self):
        a = np.asfortranarray(random(100, 100))
        view = a[:]
        view.flags.writeable = False
        self.assertEqual(self.calls(view, 2), 0)
        a[50, 50] += 1
        self.assertEqual(self.calls(view), 0)

    def test_single_elements_that_change_are_noticed(self):
        espalier.reuse(True)
        a = np.asfortranarray(random(100, 100))
        self.assertEqual(self.calls(a), 0)
        self.assertEqual(self.calls(a), 2)
        for place in [(0, 0), (99, 99), (57, 31), (0, 99), (98, 3)]:
            a[place] += 1
            self.assertEqual(self.calls(a), 0, place)
            self.assertEqual(self.calls(a), 2, place)
        a[1, 1] = np.nextafter(a[1, 1], 2)
        self.assertEqual(self.calls(a), 0)

    def test_where_servers_are_far_what_came_before_is_hashed(self):
        a = np.asfortranarray(random(100, 100))
        self.calls(a)
        epoch = _connection.epoch
        self.assertFalse(_inputs._far[epoch])
        self.addCleanup(_inputs._far.__setitem__, epoch, False)
        _inputs._far[epoch] = True
        self.assertEqual([self.calls(a) for _ in range(3)], [0, 2, 2])
        a[3, 4] += 1
        self.assertEqual([self.calls(a) for _ in range(2)], [0, 2])

    def test_arrays_that_are_equal_are_one(self):
        espalier.reuse(True)
        a = np.asfortranarray(random(100, 100))
        self.calls(a)
        self.assertEqual(self.calls(a.copy(order="F")), 2)
        rows = np.ascontiguousarray(a)
        self.assertEqual(self.calls(rows), 0)  # other memory
        self.assertEqual(self.calls(rows), 2)
        b = random(100)
        np.testing.assert_allclose(espalier.dgesv(a, b).B, np.linalg.solve(a, b))
        np.testing.assert_allclose(espalier.submit("dgesv", a, b).result(20).B, np.linalg.solve(a, b))

    def test_what_is_gone_from_the_server_is_sent_again(self):
        espalier.reuse(True)
        a = np.asfortranarray(random(100, 100))
        self.calls(a)
        for call in (lambda: espalier.dgemm(a, a), lambda: espalier.submit("dgemm", a, a).result(20)):
            self.assertEqual(self.calls(a), 2)
            for known in list(_inputs._known.values()):
                subprocess.run(["espalier", "data", "rm", known.identity], check=True)
            np.testing.assert_allclose(call(), a @ a)
            self.calls(a)

    def test_no_more_than_so_many_bytes_stay(self):
        espalier.reuse(True, most_bytes=200_000)
        self.addCleanup(espalier.reuse, True, 1 << 30)
        for _ in range(4):
            self.calls(np.asfortranarray(random(100, 100)))
        self.assertLessEqual(sum(known.nbytes for known in _inputs._known.values()), 200_000)
        espalier.reuse(False)
        self.assertFalse(_inputs._known)
        a = np.asfortranarray(random(100, 100))
        self.assertEqual(self.calls(a, 2), 0)


if __name__ == "__main__":
    unittest.main()
