# SPDX-License-Identifier: Apache-2.0
"""Calls by name: arguments of every kind on their way there and back, and what is wrong told as an exception."""
import asyncio
import ctypes
import inspect
import multiprocessing
import os
import pydoc
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

import espalier

HELLO = "Hello"
rng = np.random.default_rng(31)


def matrix(*shape, order="F", dtype=float):
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return np.array(a, dtype=dtype, order=order)


class Functions(unittest.TestCase):
    def test_a_problem_is_a_function(self):
        self.assertEqual(str(inspect.signature(espalier.dgesv)).split(", *")[0], "(A, B")
        self.assertIn("nrhs=None", str(inspect.signature(espalier.dgesv)))
        self.assertIn("transa='N'", str(inspect.signature(espalier.dgemm)))
        page = pydoc.render_doc(espalier.dgesv, renderer=pydoc.plaintext)
        self.assertIn("Solve A X = B for a general matrix", page)
        self.assertIn("the matrix, then its factors L and U", page)

    def test_problems_are_listed_and_completed(self):
        names = [entry.name for entry in espalier.problems()]
        self.assertIn("dgesv", names)
        self.assertEqual(names, sorted(names))
        self.assertIn("dgesv", dir(espalier))
        self.assertTrue(all("hessenberg" in entry.title.lower() for entry in espalier.problems("hessenberg form")))

    def test_names_of_the_language_get_an_underscore(self):
        result = getattr(espalier, "lambda")(2.5, from_=7)
        self.assertEqual(result, 8.0)

    def test_an_unknown_problem_is_no_attribute(self):
        self.assertFalse(hasattr(espalier, "dgesw"))
        with self.assertRaisesRegex(espalier.UnknownProblemError, "dgesw") as caught:
            espalier.problem("dgesw")
        self.assertEqual(caught.exception.status, espalier.Status.UNKNOWN_PROBLEM)


class Arrays(unittest.TestCase):
    def test_outputs_come_in_the_order_of_the_description_and_by_name(self):
        a, b = matrix(5, 5), matrix(5, 2)
        lu, ipiv, x = espalier.dgesv(a, b)
        np.testing.assert_allclose(a @ x, b, atol=1e-10)
        self.assertEqual(ipiv.dtype, np.int32)
        result = espalier.dgesv(a, b)
        np.testing.assert_array_equal(result.B, x)
        np.testing.assert_array_equal(espalier.dgesv(a, b, want="B"), x)

    def test_inputs_stay_as_they_are_unless_they_are_to_be_overwritten(self):
        a, b = matrix(4, 4), matrix(4)
        a_before, b_before = a.copy(), b.copy()
        x = espalier.dgesv(a, b).B
        np.testing.assert_array_equal(a, a_before)
        np.testing.assert_array_equal(b, b_before)
        self.assertEqual(x.shape, (4,))
        self.assertTrue(x.flags.writeable)
        y = espalier.dgesv(a, b, overwrite="B").B
        self.assertTrue(np.shares_memory(y, b))
        np.testing.assert_array_equal(b, x)
        np.testing.assert_array_equal(a, a_before)

    def test_what_cannot_be_overwritten_is_told(self):
        for wrong in (matrix(4, 4, order="C"), matrix(4, 4).astype(np.float32), matrix(4, 4).tolist()):
            with self.assertRaisesRegex(espalier.InvalidError, "overwritten"):
                espalier.dgesv(wrong, matrix(4), overwrite="A")

    def test_row_major_views_and_lists_are_taken(self):
        a, b = matrix(6, 6, order="C"), matrix(6, 3, order="C")
        expected = np.linalg.solve(a, b)
        np.testing.assert_allclose(espalier.dgesv(a, b).B, expected)
        np.testing.assert_allclose(espalier.dgesv(a.tolist(), b.tolist()).B, expected)
        wide = matrix(12, 12)
        np.testing.assert_allclose(espalier.dgesv(wide[::2, ::-2], b).B, np.linalg.solve(wide[::2, ::-2], b))
        np.testing.assert_allclose(espalier.dgesv(a.astype(">f8"), b).B, expected)
        rows = matrix(3, 5, order="C")
        np.testing.assert_array_equal(espalier.by_rows(rows), rows)
        np.testing.assert_array_equal(espalier.by_rows(np.asfortranarray(rows)), rows)

    def test_an_array_in_the_right_order_is_not_copied(self):
        a = matrix(4, 4)
        from espalier._problem import problem
        prepared = problem("dgetrace").prepare((a,), {})
        self.assertIs(prepared.arrays[1], a)

    def test_every_type_of_number(self):
        for letter, dtype in dict(s=np.float32, d=np.float64, c=np.complex64, z=np.complex128).items():
            a, b = matrix(5, 5, dtype=dtype), matrix(5, dtype=dtype)
            x = espalier.problem(letter + "gesv")(a, b).B
            self.assertEqual(x.dtype, dtype)
            np.testing.assert_allclose(a @ x, b, atol=1e-3 if letter in "sc" else 1e-10)
        for name, dtype in dict(short=np.int16, int=np.int32, long=np.int64, int64=np.int64).items():
            x = np.array([-3, 0, 12345], dtype)
            y = espalier.problem("copy_" + name)(x.astype(np.int64))
            self.assertEqual(y.dtype, dtype)
            np.testing.assert_array_equal(y, x)
        self.assertEqual(espalier.copy_char("some text"), "some text")

    def test_single_precision_and_integers_are_widened_but_never_narrowed_silently(self):
        a = np.arange(9).reshape(3, 3) + 10 * np.eye(3, dtype=int)
        np.testing.assert_allclose(espalier.dgesv(a, [1, 2, 3]).B, np.linalg.solve(a, [1, 2, 3]))
        with self.assertRaisesRegex(espalier.InvalidError, 'argument "x": expected int.*, found 4294967296'):
            espalier.copy_int(np.array([1, 2 ** 32]))
        with self.assertRaisesRegex(espalier.InvalidError, "expected int.*found double"):
            espalier.copy_int(np.array([1.5]))
        with self.assertRaises(OverflowError):
            espalier.copy_float(np.array([1e300]))

    def test_empty_arrays(self):
        self.assertEqual(espalier.dgesv(np.empty((0, 0)), np.empty((0, 2))).B.shape, (0, 2))
        self.assertEqual(espalier.copy_double([]).shape, (0,))

    def test_scalars_have_defaults(self):
        a = matrix(5, 5)
        a = a @ a.T + 5 * np.eye(5)
        upper, lower = espalier.dpotrf(a), espalier.dpotrf(a, uplo="L")
        np.testing.assert_allclose(np.triu(upper).T, np.tril(lower))
        np.testing.assert_allclose(espalier.dgemm(a, a, alpha=2, C=np.ones((5, 5)), beta=1.0), 2 * a @ a + 1)

    def test_a_result_may_come_to_an_array_that_is_there(self):
        a, b = matrix(4, 4), matrix(4, 4)
        c = espalier.empty((4, 4))
        self.assertIs(espalier.dadd(a, b, out={"C": c}), c)
        np.testing.assert_array_equal(c, a + b)
        with self.assertRaisesRegex(espalier.InvalidError, "out"):
            espalier.dadd(a, b, out={"C": np.empty((4, 4))})

    def test_a_count_cuts_what_has_come(self):
        a = np.ones((4, 3))
        self.assertEqual(espalier.dgenull(a).Z.shape, (3, 2))
        self.assertEqual(espalier.dgenull(np.eye(3)).Z.shape, (3, 0))

    def test_packed_and_banded_matrices(self):
        a = matrix(4, 4)
        a = a @ a.T
        packed = np.concatenate([a[:j + 1, j] for j in range(4)])
        x = matrix(4)
        np.testing.assert_allclose(espalier.packed_times(packed, x), a @ x)
        band = np.zeros((3, 5))
        band[0, 1:], band[1], band[2, :-1] = 1, 2, 3
        full = np.diag(np.full(5, 2.0)) + np.diag(np.ones(4), 1) + np.diag(np.full(4, 3.0), -1)
        np.testing.assert_allclose(espalier.banded_times(band, np.arange(5)), full @ np.arange(5))
        for wrong in (packed[:-1], a):
            with self.assertRaisesRegex(espalier.InvalidError, "packed"):
                espalier.packed_times(wrong, x)
        with self.assertRaisesRegex(espalier.InvalidError, "stored"):
            espalier.banded_times(band[:2], np.arange(5))

    def test_large_arrays(self):
        a = np.ones((1500, 1500), order="F")
        np.testing.assert_array_equal(espalier.dadd(a, a), 2 * a)


class Sparse(unittest.TestCase):
    def setUp(self):
        try:
            import scipy.sparse
        except ImportError:
            self.skipTest("scipy is not there")
        self.sparse = scipy.sparse

    def system(self, n=50, dtype=float):
        return (self.sparse.diags([np.full(n, 4), np.full(n - 1, -1), np.full(n - 1, -2)], [0, 1, -1])
                .astype(dtype))

    def test_a_sparse_matrix_goes_in_compressed(self):
        for form in "csc", "csr", "coo", "dia", "lil":
            a, b = self.system().asformat(form), matrix(50)
            x = espalier.dumfpack(a, b, want="X")
            np.testing.assert_allclose(a @ x, b, atol=1e-10)
        a, b = self.system(dtype=complex).tocsc(), matrix(50, 2, dtype=complex)
        np.testing.assert_allclose(a @ espalier.zumfpack(a, b, want="X"), b, atol=1e-10)

    def test_doubled_and_unsorted_elements_are_put_in_order(self):
        a = self.sparse.coo_matrix(([1.0, 2.0, 3.0, 4.0], ([1, 0, 0, 1], [1, 0, 0, 0])), shape=(2, 2))
        x = espalier.dumfpack(a, [5.0, 7.0], want="X")
        np.testing.assert_allclose(a.toarray() @ x, [5, 7])

    def test_a_sparse_result_is_one(self):
        a = self.system().tocsc()
        transposed = espalier.dcsctranspose(a)
        self.assertTrue(self.sparse.issparse(transposed))
        np.testing.assert_array_equal(transposed.toarray(), a.toarray().T)
        product = espalier.dcscproduct(a, a, nzc=(a @ a).nnz)
        np.testing.assert_allclose(product.toarray(), (a @ a).toarray())

    def test_an_abstract_problem_takes_a_small_one(self):
        a, b = self.system(), matrix(50)
        np.testing.assert_allclose(a @ espalier.solve(a, b), b, atol=1e-10)
        with self.assertRaisesRegex(espalier.InvalidError, "too large when it is dense"):
            espalier.solve(self.system(20000), np.ones(20000))

    def test_a_dense_argument_does_not_take_one_silently(self):
        with self.assertRaisesRegex(espalier.InvalidError, "toarray"):
            espalier.dgesv(self.system(), matrix(50))


class Texts(unittest.TestCase):
    def test_strings_go_and_come(self):
        self.assertEqual(espalier.greet("Ada", "Hello"), "Hello, Ada!")
        self.assertEqual(espalier.greet("Jürgen", "Grüß Gott"), "Grüß Gott, Jürgen!")

    def test_files_go_by_their_paths(self):
        with open("in.txt", "w") as file:
            file.write("letters")
        self.assertEqual(espalier.upper_file("in.txt", capitals="out.txt"), "out.txt")
        with open("out.txt") as file:
            self.assertEqual(file.read(), "LETTERS")


class Callbacks(unittest.TestCase):
    def test_a_function_of_python_is_called_by_the_routine(self):
        self.assertAlmostEqual(espalier.quad(lambda x: x * x, 0, 3).integral, 9)
        # y' = -y in two components, one of them twice as fast.
        y = espalier.rk4(lambda t, n, y: -y * [1, 2], 0, 1, [1.0, 1.0])
        np.testing.assert_allclose(y, np.exp([-1, -2]), rtol=1e-6)
        self.assertAlmostEqual(espalier.submit("quad", np.cos, 0, 1).result(20).integral, np.sin(1))

    def test_a_function_that_fails_is_told(self):
        def broken(x):
            raise RuntimeError("not today")
        with self.assertRaisesRegex(espalier.FailedError, "f: RuntimeError: not today"):
            espalier.quad(broken, 0, 1)
        with self.assertRaisesRegex(espalier.FailedError, "expected 1 results|broadcast|reshape"):
            espalier.rk4(lambda t, n, y: [1, 2, 3], 0, 1, [1.0, 1.0])
        with self.assertRaisesRegex(espalier.InvalidError, "cannot be called"):
            espalier.quad(5, 0, 1)

    def test_states_are_texts(self):
        a = np.array([[4.0, 1], [1, 3]])
        try:
            import scipy.sparse
        except ImportError:
            self.skipTest("scipy is not there")
        state = espalier.dumfpack_open(scipy.sparse.csc_matrix(a), want="F")
        self.assertIsInstance(state, str)
        np.testing.assert_allclose(espalier.dumfpack_solve(state, [1.0, 2.0]), np.linalg.solve(a, [1, 2]))
        espalier.sparse_close(state)
        with self.assertRaises(espalier.NotFoundError):
            espalier.dumfpack_solve(state, [1.0, 2.0])


class Lost(unittest.TestCase):
    """The last of all: the server is killed."""

    def test_a_killed_server_is_an_error_and_never_a_hang(self):
        remote = espalier.put([1.0, 2.0])
        future = espalier.submit("nap", 60000, deadline=4)
        while future.info()["state"] != "running":
            time.sleep(0.01)
        folder = os.path.dirname(os.environ["ESPALIER_CONFIG"])
        with open(os.path.join(folder, "processes")) as file:
            server, = [line.split()[1] for line in file if line.startswith("server ")]
        os.kill(int(server), signal.SIGKILL)
        for call in (lambda: future.result(60), lambda: espalier.nap(1, deadline=1), remote.fetch):
            with self.assertRaises(espalier.Error) as caught:
                call()
            self.assertTrue(str(caught.exception))


class BadInput(unittest.TestCase):
    """Each an exception with the library's text."""

    def expect(self, pattern, *args, name="dgesv", error=espalier.InvalidError, **kwargs):
        with self.assertRaisesRegex(error, pattern) as caught:
            espalier.problem(name)(*args, **kwargs)
        return caught.exception

    def test_wrong_shapes(self):
        self.expect("A.*3.*4|4.*3", matrix(3, 4), matrix(3))
        self.expect("B has 4 rows, but n = 3", matrix(3, 3), matrix(4))
        self.expect("n = 2", matrix(3, 3), matrix(3), n=2)
        self.expect("dimension", np.ones((2, 2, 2)), matrix(2))
        self.expect("dimension", np.ones((1,) * 8), matrix(2))

    def test_wrong_types(self):
        self.expect('argument "A": expected double.*, found double complex', np.eye(2) * 1j, [1, 2])
        self.expect('argument "A": expected double.*object', np.array([[1, None], [2, 3]]), [1, 2])
        self.expect('argument "A": expected double', [["a", "b"], ["c", "d"]], [1, 2])
        self.expect('argument "A": expected double', [[1, "b"], [2, 3]], [1, 2])
        self.expect('argument "A": expected double', [[1, 2], [3]], [1, 2])
        self.expect('argument "A": expected double', "a text", [1, 2])
        self.expect('argument "A": expected double', {"a": 1}, [1, 2])
        self.expect("expected int", np.eye(2), [1, 2], n="two")
        self.expect("expected int", np.eye(2), [1, 2], n=2 ** 40)
        self.expect("expected int", np.eye(2), [1, 2], n=1.5)
        self.expect("masked", np.ma.masked_equal(np.eye(2), 0), [1, 2])
        self.expect("char", np.eye(2), np.eye(2), name="dgemm", transa="NN")
        self.expect("transa must be N, T or C", np.eye(2), np.eye(2), name="dgemm", transa="X")
        self.expect("expected string", 5, "Hello", name="greet")
        self.expect("zero byte", "a\0b", "Hello", name="greet")
        self.expect("expected file", 5, name="upper_file", capitals="out")
        self.expect("none.txt", "none.txt", name="upper_file", capitals="out", error=espalier.Error)

    def test_wrong_names_and_numbers_of_arguments(self):
        self.expect('no input is called "C"', np.eye(2), [1, 2], C=3)
        self.expect("at most 2", np.eye(2), [1, 2], 3)
        self.expect("given twice", np.eye(2), [1, 2], A=np.eye(2))
        self.expect('"B"', np.eye(2))
        self.expect('no output is called "Y"', np.eye(2), [1, 2], want="Y")
        self.expect('no output is called "Y"', np.eye(2), [1, 2], keep="Y")
        self.expect("deadline", np.eye(2), [1, 2], deadline="soon")

    def test_numbers_that_are_not_finite(self):
        error = self.expect("A.*nan|nan.*A|NaN", [[np.nan, 1], [1, 2]], [1, 2])
        self.assertEqual(error.status, espalier.Status.INVALID)

    def test_what_the_routine_reports(self):
        error = self.expect(r"U\(2,2\) is exactly zero: the matrix is singular", np.ones((2, 2)), [1, 2],
                            error=np.linalg.LinAlgError)
        self.assertIs(type(error), espalier.FailedError)
        self.assertEqual(error.status, espalier.Status.FAILED)

    def test_a_routine_that_crashes(self):
        error = self.expect("", 1, name="crash", error=espalier.CrashedError)
        self.assertTrue(str(error))

    def test_huge_extents(self):
        self.expect("", 2 ** 31 - 1, 2 ** 31 - 1, np.ones(3), name="dgesv", error=espalier.Error)
        with self.assertRaises((espalier.Error, MemoryError)):
            espalier.dgekron(np.broadcast_to(np.ones((1, 1)), (1, 1)), np.ones((1, 1)), m=2 ** 30)

    def test_servers_and_constraints(self):
        self.expect("nowhere", np.eye(2), [1, 2], server="nowhere", error=espalier.NoServerError)
        self.expect("gpu", np.eye(2), [1, 2], properties=["gpu"], error=espalier.NoServerError)
        np.testing.assert_allclose(espalier.dgesv(np.eye(2), [1, 2], server="S").B, [1, 2])

    def test_a_deadline(self):
        with self.assertRaises(TimeoutError) as caught:
            espalier.nap(30000, deadline=0.2)
        self.assertIs(type(caught.exception), espalier.DeadlineError)

    def test_errors_can_be_pickled(self):
        import pickle
        error = pickle.loads(pickle.dumps(espalier.InvalidError("a text")))
        self.assertEqual((str(error), error.status), ("a text", espalier.Status.INVALID))


class Futures(unittest.TestCase):
    def test_a_call_goes_on_beside_the_program(self):
        a, b = matrix(30, 30), matrix(30)
        futures = [espalier.submit("dgesv", a, b), espalier.submit(espalier.dgesv, a, b), espalier.dgesv.submit(a, b)]
        for future in futures:
            np.testing.assert_allclose(future.result(20).B, np.linalg.solve(a, b))
        self.assertEqual(futures[0].info()["server"], "S")
        self.assertIn("done", repr(futures[0]))

    def test_errors_come_with_the_result(self):
        future = espalier.submit("dgesv", np.ones((2, 2)), [1, 2])
        self.assertIsInstance(future.exception(20), espalier.FailedError)
        with self.assertRaises(espalier.InvalidError):
            espalier.submit("dgesv", np.ones((2, 3)), [1, 2])
        with self.assertRaisesRegex(TypeError, "not sent anywhere"):
            espalier.submit(len, [])

    def test_a_cancelled_call_ends_on_the_server(self):
        future = espalier.submit("nap", 60000)
        self.assertTrue(future.running())
        self.assertTrue(future.cancel())
        self.assertTrue(future.cancelled())
        # The server has one slot: the next call would wait for a minute.
        np.testing.assert_array_equal(espalier.nap(1), [1, 1])
        done = espalier.submit("nap", 1)
        done.result(20)
        self.assertFalse(done.cancel())

    def test_await(self):
        async def both():
            a = espalier.submit("greet", "a", HELLO)
            b = espalier.submit("greet", "b", HELLO)
            return await a, await b
        self.assertEqual(asyncio.run(both()), ("Hello, a!", "Hello, b!"))

    def test_map_keeps_the_order_and_shows_progress(self):
        sides = [np.full(3, k) for k in range(40)]
        results = espalier.map("dgesv", [np.eye(3)] * 40, sides, at_once=7, want="B")
        for side, result in zip(sides, results):
            np.testing.assert_array_equal(result, side)
        self.assertEqual(espalier.map("greet", ["x"], ["Hi"]), ["Hi, x!"])
        code = "import espalier; espalier.map('greet', list('abc'), ['Hi'] * 3, progress=True)"
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
        self.assertIn("3 of 3", told)
        with self.assertRaises(espalier.FailedError):
            espalier.map("dgesv", [np.eye(2), np.zeros((2, 2))], [[1, 2]] * 2)

    def test_an_executor(self):
        with espalier.Executor() as executor:
            self.assertEqual(list(executor.map("greet", "ab", ["Hello"] * 2)), ["Hello, a!", "Hello, b!"])
        with self.assertRaises(RuntimeError):
            executor.submit("greet", "c", HELLO)

    def test_output_and_progress(self):
        future = espalier.submit("prints", 3, follow=True)
        self.assertEqual(future.result(20), 3)
        self.assertEqual(future.output().split(), "line 0 line 1 line 2".split())
        self.assertEqual(future.output(), "")
        pieces = []
        self.assertEqual(espalier.prints(2, follow=pieces.append), 2)
        self.assertEqual("".join(pieces), "line 0\nline 1\n")

    def test_threads_call_beside_each_other(self):
        found = []
        def work(k):
            for _ in range(5):
                found.append(espalier.dgesv(np.eye(3) * k, np.ones(3)).B[0] * k)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_allclose(found, np.ones(25))


def run(code, **kwargs):
    """Another interpreter that runs the code."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **kwargs)


class Signals(unittest.TestCase):
    def interrupted(self, code):
        """Runs the code, which prints a line, and sends SIGINT then."""
        child = subprocess.Popen([sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        out = child.stdout.read()
        child.wait(30)
        return out

    def test_ctrl_c_cancels_the_call_and_leaves_the_program_alive(self):
        out = self.interrupted("import espalier\n"
                               "espalier.greet('x', 'Hello')\n"
                               "try:\n    print('go')\n    espalier.nap(60000)\n"
                               "except KeyboardInterrupt:\n    print('interrupted')\n"
                               "print(espalier.nap(1)[0], espalier.greet('y', 'Hello'))\n")
        self.assertEqual(out, "interrupted\n1.0 Hello, y!\n")

    def test_ctrl_c_at_any_stage(self):
        code = ("import os, signal, threading, time, numpy, espalier\n"
                "a, b = numpy.eye(200), numpy.ones(200)\n"
                "espalier.dgesv(a, b)\n"
                "done = threading.Event()\n"
                "def press():\n"
                "    for k in range(40):\n"
                "        time.sleep(0.004 + k % 7 * 0.001)\n"
                "        if done.is_set(): return\n"
                "        os.kill(os.getpid(), signal.SIGINT)\n"
                "    done.set()\n"
                "presser = threading.Thread(target=press)\n"
                "pressed = calls = 0\n"
                "started = False\n"
                "while True:\n"
                "    try:\n"
                "        while not done.is_set():\n"
                "            if not started:\n"
                "                started = True\n"
                "                presser.start()\n"
                "            espalier.dgesv(a, b)\n"
                "            calls += 1\n"
                "        presser.join()\n"
                "        break\n"
                "    except KeyboardInterrupt:\n"
                "        pressed += 1\n"
                "assert abs(espalier.dgesv(a, b).B - 1).max() == 0\n"
                "print('fine', pressed > 0)\n")
        found = run(code)
        self.assertIn("fine True", found.stdout, found.stderr)

    def test_ctrl_c_while_nobody_answers(self):
        import socket
        with socket.create_server(("127.0.0.1", 0)) as silent:
            out = self.interrupted("import espalier\n"
                                   f"espalier.connect(agent='127.0.0.1:{silent.getsockname()[1]}')\n"
                                   "try:\n    print('go')\n    espalier.greet('x', 'y')\n"
                                   "except KeyboardInterrupt:\n    print('interrupted')\n")
        self.assertEqual(out, "interrupted\n")

    def test_other_handlers_run_while_a_call_is_under_way(self):
        seen = []
        before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            espalier.nap(400)
            ended = time.monotonic()
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(len(seen), 1)
        self.assertLess(seen[0], ended)


class Life(unittest.TestCase):
    def test_exit_with_calls_under_way_is_clean(self):
        found = run("import numpy, espalier\n"
                    "fs = [espalier.submit('nap', 60000) for _ in range(3)]\n"
                    "gs = [espalier.submit('dgesv', numpy.eye(300), numpy.ones(300)) for _ in range(9)]\n"
                    "print('bye')\n")
        self.assertEqual((found.returncode, found.stdout, found.stderr), (0, "bye\n", ""))

    def test_exit_in_the_middle_of_a_call_of_another_thread(self):
        found = run("import threading, espalier\n"
                    "espalier.greet('x', 'Hello')\n"
                    "threading.Thread(target=lambda: espalier.nap(60000), daemon=True).start()\n"
                    "print('bye')\n")
        self.assertEqual((found.returncode, found.stdout), (0, "bye\n"), found.stderr)

    def test_fork(self):
        self.assertEqual(espalier.greet("parent", HELLO), "Hello, parent!")
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as pool:
            self.assertEqual(pool.map(greet_of, "abc"), ["Hello, a!", "Hello, b!", "Hello, c!"])
        self.assertEqual(espalier.greet("parent", HELLO), "Hello, parent!")
        self.assertEqual(espalier.submit("greet", "future", HELLO).result(20), "Hello, future!")

    def test_connections_begin_and_end(self):
        found = run("import espalier\n"
                    "with espalier.connect() as platform:\n"
                    "    print(espalier.greet('a', 'Hello'), espalier.connected())\n"
                    "    f = espalier.greet\n"
                    "print(espalier.connected())\n"
                    "print(f('b', 'Hello'), espalier.connected())\n"
                    "espalier.connect(config='/nowhere/client.conf')\n")
        self.assertEqual(found.stdout, "Hello, a! True\nFalse\nHello, b! True\n")
        self.assertIn("NotFoundError", found.stderr)
        self.assertIn("/nowhere/client.conf", found.stderr)

    def test_no_platform(self):
        found = run("import espalier\n"
                    "espalier.connect(agent='127.0.0.1:1', call_timeout=2)\n"
                    "try:\n    espalier.dgesv([[1]], [1])\n"
                    "except ConnectionError as error:\n    print(type(error).__name__, error)\n")
        self.assertIn("127.0.0.1:1", found.stdout, found.stderr)

    def test_wrong_addresses(self):
        with self.assertRaises(TypeError):
            espalier.connect(agent=5)
        found = run("import espalier\nespalier.connect(agent='one two three')")
        self.assertIn("espalier.", found.stderr.splitlines()[-1])

    def test_structs_are_those_of_the_headers(self):
        from espalier._library import STRUCTS
        lines = []
        for name, made in STRUCTS.items():
            lines.append(f'    printf("{name} %zu\\n", sizeof({name}));')
        with open("sizes.c", "w") as file:
            file.write('#include "espalier.h"\n#include <stdio.h>\nint main(void)\n{\n' + "\n".join(lines)
                       + "\n    return 0;\n}\n")
        include = os.path.join(os.environ["top_srcdir"], "include")
        subprocess.run(["cc", "-I", include, "sizes.c", "-o", "sizes"], check=True)
        told = subprocess.run(["./sizes"], check=True, capture_output=True, text=True).stdout
        expected = "".join(f"{name} {ctypes.sizeof(made)}\n" for name, made in STRUCTS.items())
        self.assertEqual(told, expected)


def greet_of(name):
    return espalier.greet(name, HELLO)


if __name__ == "__main__":
    unittest.main()
