# SPDX-License-Identifier: Apache-2.0
"""The examples of doc/python.md and of the notebook, the wheel, and the backend of joblib."""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

import numpy as np

import espalier

top = os.environ["top_srcdir"]


class Manual(unittest.TestCase):
    def test_the_examples_run(self):
        with open(f"{top}/doc/python.md") as file:
            blocks = re.findall(r"^```python(?: (\w+))?\n(.*?)^```$", file.read(), re.M | re.S)
        self.assertGreater(len(blocks), 8)
        names = {}
        for needs, block in blocks:
            if not needs or importlib.util.find_spec(needs):
                with self.subTest(block):
                    exec(compile(block, "doc/python.md", "exec"), names)
        np.testing.assert_allclose(names["x"], [0.8, 1.4])
        self.assertIsInstance(names["X"], espalier.RemoteArray)

    def test_every_name_of_the_module_has_a_text(self):
        for name in espalier.__all__:
            self.assertTrue(getattr(espalier, name).__doc__, name)

    def test_the_table_of_linalg_is_whole(self):
        with open(f"{top}/doc/python.md") as file:
            text = file.read()
        table = text[text.index("## espalier.linalg"):]
        for name in espalier.linalg.__all__:
            self.assertIn(f"`{name}`", table)


class Notebook(unittest.TestCase):
    def test_each_cell_runs(self):
        with open(f"{top}/examples/python/espalier.ipynb") as file:
            cells = json.load(file)["cells"]
        names = {}
        for cell in cells:
            if cell["cell_type"] == "code":
                with self.subTest("".join(cell["source"])):
                    exec(compile("".join(cell["source"]), "espalier.ipynb", "exec"), names)
        self.assertLess(np.abs(names["A"] @ names["x"] - names["b"]).max(), 1e-8)


class Joblib(unittest.TestCase):
    def test_tasks_are_calls(self):
        if importlib.util.find_spec("joblib") is None:
            self.skipTest("python3-joblib is not there")
        import joblib
        import espalier.joblib
        sides = [np.full(3, float(k)) for k in range(12)]
        with joblib.parallel_backend("espalier"):
            found = joblib.Parallel()(joblib.delayed(espalier.dgesv)(np.eye(3), side, want="B") for side in sides)
        np.testing.assert_array_equal(found, sides)
        with joblib.parallel_backend("espalier", n_jobs=2):
            with self.assertRaises(espalier.FailedError):
                joblib.Parallel()(joblib.delayed(espalier.dgesv)(np.zeros((2, 2)), [1, k]) for k in range(4))
            with self.assertRaisesRegex(TypeError, "not sent anywhere"):
                joblib.Parallel()(joblib.delayed(len)([1]) for k in range(4))


class Wheel(unittest.TestCase):
    def test_a_wheel_is_made_without_a_compiler(self):
        for needed in "setuptools", "wheel":
            if importlib.util.find_spec(needed) is None:
                self.skipTest(f"python3-{needed} is not there")
        shutil.copytree(f"{top}/bindings/python", "source")
        for folder, folders, files in os.walk("source"):
            for name in folders + files:
                os.chmod(os.path.join(folder, name), 0o755)
        os.mkdir("wheels")
        os.mkdir("compilers")  # an empty folder in place of them
        subprocess.run([sys.executable, "-c", "from setuptools import build_meta; build_meta.build_wheel('../wheels')"],
                       cwd="source", check=True, capture_output=True, env=dict(os.environ, CC="/nowhere/cc", PATH="compilers"))
        wheel, = os.listdir("wheels")
        self.assertTrue(wheel.endswith("-py3-none-any.whl"), wheel)
        with zipfile.ZipFile(f"wheels/{wheel}") as archive:
            packed = {name for name in archive.namelist() if name.endswith(".py")}
            archive.extractall("unpacked")
        self.assertEqual(packed, {f"espalier/{name}" for name in os.listdir(f"{top}/bindings/python/espalier")
                                  if name.endswith(".py")})
        told = subprocess.run([sys.executable, "-c", "import espalier; print(espalier.__file__, espalier.det([[2.0]]))"],
                              check=True, capture_output=True, text=True,
                              env=dict(os.environ, PYTHONPATH="unpacked")).stdout
        self.assertIn("unpacked", told)
        self.assertIn("2.0", told)


if __name__ == "__main__":
    unittest.main()
