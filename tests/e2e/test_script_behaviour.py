"""Under `cupool run` a script behaves as under plain Python."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import TIMEOUT_S, cupool_run, start


def plain(arguments: list[str], cwd: Path, stdin: str) -> subprocess.CompletedProcess[str]:
    """Run plain Python on the same arguments."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


SCRIPTS = {
    "syntax error": "x = = 1\n",
    "raises": "def f():\n    raise ValueError('mine')\n\nf()\n",
    "exits with 3": "import sys\nprint('before')\nsys.exit(3)\n",
    "exits with a text": "import sys\nsys.exit('no good')\n",
    "reads stdin": "import sys\nprint(sys.stdin.read().upper())\n",
    "prints 1 MB": "print('x' * (1 << 20))\n",
    "sees its arguments": "import sys\nprint(sys.argv, __file__, __name__)\n",
    "kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_ends_as_under_plain_python(name: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPTS[name])
    arguments = ["script.py", "--lr", "1", "--help"]
    ours = cupool_run(arguments, tmp_path, stdin="some words")
    theirs = plain(arguments, tmp_path, "some words")
    assert ours.returncode == theirs.returncode
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr


def test_the_same_holds_once_cupy_is_used(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import sys\nimport cupy as cp\nprint(int(cp.arange(5).sum()), sys.stdin.read())\n"
        "sys.exit(3)\n"
    )
    ours = cupool_run(["script.py"], tmp_path, stdin="words")
    assert (ours.returncode, ours.stdout) == (3, "10 words\n")


def test_the_mock_is_announced_in_one_line(tmp_path: Path) -> None:
    ours = cupool_run(["-c", "import cupy; cupy.zeros(3).get()"], tmp_path)
    assert ours.returncode == 0
    assert ours.stdout == ""
    assert len(ours.stderr.splitlines()) == 1 and "mock" in ours.stderr


def test_a_shape_error_points_at_the_users_line(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import cupy as cp\na = cp.zeros(3)\nb = cp.zeros(4)\nc = a + b\n")
    ours = cupool_run(["script.py"], tmp_path)
    assert ours.returncode == 1
    assert 'script.py", line 4, in <module>' in ours.stderr
    last = ours.stderr.strip().splitlines()[-1]
    assert last == "ValueError: operands could not be broadcast together with shapes (3,) (4,)"


def test_an_unsupported_name_says_so(tmp_path: Path) -> None:
    ours = cupool_run(["-c", "import cupy; cupy.cuda.thrust.sort()"], tmp_path)
    assert ours.returncode == 1
    assert "cupy.cuda.thrust.sort is not supported by cupool yet" in ours.stderr


def test_modules_and_commands_and_code_run(tmp_path: Path) -> None:
    (tmp_path / "mod.py").write_text("import cupy, sys\nprint(cupy.__version__, sys.argv[1:])\n")
    for arguments in (["-m", "mod", "a"], ["--", sys.executable, "mod.py", "a"]):
        ours = cupool_run(arguments, tmp_path)
        assert ours.stdout == "14.2.0 ['a']\n", ours.stderr
    assert cupool_run(["-c", "import cupy; print(cupy.__version__)"], tmp_path).stdout == "14.2.0\n"


def test_the_users_own_modules_win(tmp_path: Path) -> None:
    names = ("transport", "proto", "client_shim", "pool_server")
    for name in names:
        (tmp_path / f"{name}.py").write_text("MINE = True\n")
    (tmp_path / "script.py").write_text(
        "import cupy as cp\n"
        "import client_shim, pool_server, proto, transport\n"
        "assert all(m.MINE for m in (client_shim, pool_server, proto, transport))\n"
        "from cupy import linalg\nimport cupy.linalg, sys\n"
        "assert sys.modules['cupy'] is cp and linalg is cupy.linalg\n"
        "print(float(cp.ones(4).sum()))\n"
    )
    ours = cupool_run(["script.py"], tmp_path)
    assert ours.stdout == "4.0\n", ours.stderr


def test_sigterm_ends_a_script_that_waits_for_a_device(tmp_path: Path) -> None:
    code = (
        "import cupy as cp\n"
        "a = cp.ones(4)\nprint(a.sum(), flush=True)\n"
        "import sys\nsys.stdin.read()\n"
    )
    process = start(["-c", code], tmp_path)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "4.0\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == -signal.SIGTERM
