"""Expected failures of the suites: their files, and how a run is judged by them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from conformance_parts import expected, report, running  # noqa: E402
from conformance_parts.expected import Line  # noqa: E402

UNITS = ["suite/a_tests", "suite/test_b.py"]
A, B = "suite/a_tests/test_x.py::T::test[p-{k='v'}]", "suite/test_b.py::test_b"


def judge(outcomes: dict[str, str], *lines: Line) -> expected.Verdict:
    return expected.compare(outcomes, lines, UNITS)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    lines = [Line(A, "why"), Line("suite/*", "a # in a reason, and `cupy.add`")]
    path = tmp_path / "one.txt"
    expected.write(path, "title", lines)
    assert set(expected.read(path)) == set(lines)


def test_a_line_needs_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text("# title\n\nsuite/test_b.py::test_b\n")
    with pytest.raises(ValueError, match=r"one\.txt:3: no reason"):
        expected.read(path)


def test_no_file_expects_nothing(tmp_path: Path) -> None:
    assert expected.read(tmp_path / "absent.txt") == []


def test_a_failure_is_expected_by_its_name_or_by_a_pattern() -> None:
    verdict = judge({A: "failed", B: "error"}, Line(A, "exact"), Line("suite/test_b.py*", "glob"))
    assert verdict.expected == {A: "exact", B: "glob"}
    assert not verdict.unexpected and not verdict.stale


def test_brackets_of_a_name_are_text_and_not_a_pattern() -> None:
    assert Line(A, "").matches(A)
    assert not Line("suite/test_b.py::test[ab]", "").matches("suite/test_b.py::testa")


@pytest.mark.parametrize("outcome", expected.FAILURES)
def test_any_other_failure_is_unexpected(outcome: str) -> None:
    assert judge({A: outcome, B: "passed"}).unexpected == [A]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (Line(B, "passes now"), "passed"),
        (Line("suite/test_b.py*", "one passes"), f"{B} passes"),
        (Line("suite/a_tests/gone.py::t", "gone"), "there is no such test"),
        (Line("suite/a_tests/gone*", "gone"), "no test that fails is left"),
    ],
)
def test_lines_are_stale_when_their_tests_pass_or_are_gone(line: Line, why: str) -> None:
    assert judge({A: "skipped", B: "passed"}, line).stale == {line: why}


def test_lines_for_what_was_not_run_are_left_alone() -> None:
    assert not judge({B: "passed"}, Line("suite/c_tests/test_z.py::t", "other")).stale


def test_an_update_drops_stale_lines_and_adds_failures() -> None:
    stale, kept = Line(B, "old"), Line("suite/c_tests/*", "other")
    verdict = judge({A: "failed", B: "passed"}, stale, kept)
    lines = expected.updated([stale, kept], verdict, verdict.unexpected, "new")
    assert lines == [kept, Line(A, "new")]


def test_the_table_counts_expected_failures_apart() -> None:
    results = running.Results(outcomes={A: "failed", B: "passed", "suite/test_b.py::c": "failed"})
    verdict = expected.compare(results.outcomes, [Line(A, "why")], UNITS)
    rows = {
        row.split()[0]: row.split()[1:4]
        for row in report.table(UNITS, results, verdict).split("\n")
    }
    assert rows["suite/a_tests"] == ["0", "0", "1"]
    assert rows["suite/test_b.py"] == ["1", "1", "0"]
    assert rows["total"] == ["1", "1", "1"]


def test_faults_of_the_suite_itself_are_told_apart() -> None:
    results = running.Results(outcomes={A: "failed", B: "passed"})
    verdict = expected.compare(results.outcomes, [Line(A, f"{expected.OWN_FAULT}why")], UNITS)
    lines = report.table(UNITS, results, verdict).split("\n")
    assert lines[-2] == "without 1 faults of the suite itself: 100.00 %"
    assert " 50.00 %" in lines[-3]


def test_prediction_mismatches_are_counted_and_named() -> None:
    counts = {"asked": {}, "relaid": {}, "mismatches": {"add: (2,) promised": 2}, "waits": 0}
    results = running.Results()
    results.take({"counts": counts})
    verdict = expected.Verdict()
    assert report.table(UNITS, results, verdict).endswith("prediction mismatches: 2")
    assert "prediction mismatch: 2 times: add: (2,) promised" in report.judgement(results, verdict)


def test_committed_files_can_be_read_and_name_each_test_once() -> None:
    files = sorted((ROOT / "tests" / "conformance_expected").glob("*.txt"))
    assert files
    for path in files:
        patterns = [line.pattern for line in expected.read(path)]
        assert len(patterns) == len(set(patterns)), path
