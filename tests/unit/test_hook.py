"""The injection: what `import cupy` gives, and what it costs those who do not import it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cupool.client_shim

BOOTSTRAP = Path(cupool.client_shim.__path__[0]) / "bootstrap"
PLAIN = {key: value for key, value in os.environ.items() if not key.startswith("CUPOOL_")}


def python(code: str, *options: str, **environ: str) -> str:
    """Run code in a Python with the hook and return what it printed; no pool is started."""
    path = os.pathsep.join([str(BOOTSTRAP), PLAIN.get("PYTHONPATH", "")])
    env = PLAIN | {"PYTHONPATH": path, "CUPOOL_POOL": "grpc://127.0.0.1:9"} | environ
    done = subprocess.run(
        [sys.executable, *options, "-c", code], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


def test_cupy_is_ours_under_every_name() -> None:
    code = """
import sys
import cupy, cupyx, cupy_backends
import cupy.linalg
from cupy.cuda import Stream
from cupool.client_shim import cupy as same
assert cupy is same is sys.modules["cupy"]
assert sys.modules["cupy.linalg"] is cupy.linalg
assert sys.modules["cupy.cuda"] is cupy.cuda
assert (cupy.__name__, cupy.linalg.__name__) == ("cupy", "cupy.linalg")
assert cupy.__spec__.name == "cupy"
assert "cupool" in cupy.__file__
print(cupy.__version__)
"""
    assert python(code) == "14.2.0\n"


def test_submodules_that_were_loaded_along_have_their_public_name() -> None:
    code = """
import sys
import cupy
assert sys.modules["cupy.linalg"] is cupy.linalg is sys.modules["cupool.client_shim.cupy.linalg"]
"""
    python(code)


def test_what_is_not_there_is_named_as_the_user_wrote_it() -> None:
    code = """
try:
    import cupy.no_such_module
except ModuleNotFoundError as exc:
    print(exc)
"""
    assert python(code) == "No module named 'cupy.no_such_module'\n"


def test_tools_that_look_without_importing() -> None:
    code = """
import sys
import importlib.metadata, importlib.util
spec = importlib.util.find_spec("cupy")
assert spec.origin.endswith("cupy/__init__.py") and spec.submodule_search_locations
assert importlib.util.find_spec("cupyx") and not importlib.util.find_spec("cupynot")
assert importlib.metadata.version("cupy") == "14.2.0"
names = [each.metadata["Name"] for each in importlib.metadata.distributions()]
assert names.count("cupy") == 1
assert importlib.metadata.version("numpy")
assert "numpy" not in sys.modules and "cupy" not in sys.modules
"""
    python(code)


def test_source_can_be_looked_at() -> None:
    python("import inspect, cupy.linalg; assert inspect.getsource(cupy.linalg)")


def test_a_process_that_does_not_import_cupy_pays_next_to_nothing() -> None:
    show = "import sys; print(*sorted(sys.modules))"
    plain = subprocess.check_output([sys.executable, "-c", show], text=True, env=PLAIN).split()
    added = set(python(show).split()) - set(plain)
    assert added <= {
        "__future__",
        "cupool",
        "cupool.client_shim",
        "cupool.client_shim.hook",
        "importlib",
        "importlib._bootstrap",
        "importlib._bootstrap_external",
        "importlib.machinery",
        "sitecustomize",
        "warnings",
    }


def test_a_child_process_has_it_too() -> None:
    code = """
import subprocess, sys
print(subprocess.check_output([sys.executable, "-c", "import cupy; print(cupy.__name__)"]).decode())
"""
    assert python(code).strip() == "cupy"


def test_the_bootstrap_folder_is_not_left_on_the_path() -> None:
    assert str(BOOTSTRAP) not in python("import sys; print(sys.path)")


def test_a_python_without_cupool_is_left_alone(tmp_path: Path) -> None:
    """A job may start Pythons of other environments: they must not even print."""
    code = "import sys; sys.stdout.write('fine')"
    env = {"PYTHONPATH": str(BOOTSTRAP), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-S", "-c", f"import sitecustomize; {code}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("fine", "", 0)
