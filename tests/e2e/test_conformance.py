"""scripts/conformance.py on a suite of a few lines: a process for each piece, each outcome kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from conformance_parts import expected, running, suites  # noqa: E402
from conformance_parts.places import Place  # noqa: E402

OPTIONS = ("--continue-on-collection-errors",)

TESTS = """
import os
import cupy
import pytest
from cupy import testing

@testing.numpy_cupy_array_equal()
def test_equal(xp):
    return xp.arange(3)

@testing.numpy_cupy_array_equal()
def test_differs(xp):
    return xp.arange(3 if xp is cupy else 4)

def test_asks():
    assert len(cupy.unique(cupy.array([2, 1, 2]))) == 2

def test_is_not_supported():
    cupy.cuda.thrust.get_build_version()

@pytest.mark.xfail
def test_known():
    assert False

def test_skips():
    pytest.skip("no time")

def test_private():
    assert False

def test_ends_the_process():
    os._exit(9)
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[suites.Upstream, Path]:
    tests = tmp_path / "tests"
    for folder, text in (("a_tests", TESTS), ("b_tests", "import nonsense\n")):
        home = tests / "mini" / folder
        home.mkdir(parents=True)
        (home / "__init__.py").touch()
        (home / "test_it.py").write_text(text)
    (tests / "mini" / "__init__.py").touch()
    markers = 'markers = ["slow", "multi_gpu"]'
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{markers}\n")
    expected = tmp_path / "expected"
    expected.mkdir()
    (expected / "mini.skips.txt").write_text("mini/a_tests/test_it.py::test_private  # private\n")
    monkeypatch.setattr(running, "EXPECTED", expected)
    return suites.Upstream("mini", "mini", "1", "mini"), tests


def test_each_outcome_is_kept_though_a_process_ends(suite: tuple[suites.Upstream, Path]) -> None:
    mini, tests = suite
    units = mini.units(tests)
    assert units == ["mini/a_tests", "mini/b_tests"]
    options = running.Options(full=True, processes=2, environment={})
    place = Place(tests, environment={"CUPOOL_CONFORMANCE_PRIVATE": "1"}, options=OPTIONS)
    results = running.run(mini.name, place, units, options, lambda text: None)
    short = {test.rpartition("::")[2]: outcome for test, outcome in results.outcomes.items()}
    assert short == {
        "test_equal": "passed",
        "test_differs": "failed",
        "test_asks": "passed",
        "test_is_not_supported": "failed",
        "test_known": "xfailed",
        "test_skips": "skipped",
        "test_private": "skipped",
        "test_ends_the_process": "crashed",
        "mini/b_tests/test_it.py": "error",
    }
    assert list(results.broken) == ["mini/a_tests"]
    why = {test.rpartition("::")[2]: text for test, text in results.why.items()}
    assert "cupy.cuda.thrust.get_build_version is not supported" in why["test_is_not_supported"]
    assert why["test_private"] == "cupool: private"
    assert "nonsense" in why["mini/b_tests/test_it.py"]


def test_no_test_starts_when_time_is_over(suite: tuple[suites.Upstream, Path]) -> None:
    mini, tests = suite
    options = running.Options(full=True, processes=2, environment={}, within_s=0.0)
    results = running.run(mini.name, Place(tests), mini.units(tests), options, lambda text: None)
    assert results.outcomes == {"mini/a_tests": "not run", "mini/b_tests": "not run"}
    assert results.left_out() == {"mini/a_tests", "mini/b_tests"}
    assert not results.broken


def test_a_piece_in_which_time_ends_is_told_apart(
    suite: tuple[suites.Upstream, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    mini, tests = suite
    place = Place(tests, environment={"CUPOOL_CONFORMANCE_PRIVATE": "1"}, options=OPTIONS)
    options = running.Options(full=True, processes=2, environment={}, within_s=1.0)
    monkeypatch.setattr(running, "monotonic", lambda: 0.0)  # over, by the clock of its process
    results = running.run(mini.name, place, ["mini/a_tests"], options, lambda text: None)
    assert set(results.outcomes.values()) == {"not run"}
    assert len(results.outcomes) == 8
    assert results.left_out() == {"mini/a_tests"}
    lines = [expected.Line("mini/a_tests/test_it.py::test_differs", "a reason")]
    assert not expected.compare(results.outcomes, lines, []).stale
