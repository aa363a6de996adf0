"""A pytest plugin that writes down each outcome, and what waited.

It runs inside the pytest processes of the suites, which `cupool run` starts; nothing of it is in
the product.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance_parts import expected, private_names
from cupool import errors as _errors
from cupool.client_shim import session as _session

_UPSTREAM = bool(os.environ.get("CUPOOL_CONFORMANCE_PRIVATE"))
if _UPSTREAM:
    private_names.install()

_RESULTS = os.environ["CUPOOL_CONFORMANCE_RESULTS"]
_UNTIL = float(os.environ["CUPOOL_CONFORMANCE_UNTIL"])  # on this machine's monotonic clock
_SKIPS = expected.read(Path(os.environ["CUPOOL_CONFORMANCE_SKIPS"]))


class _Record:
    """Appends lines of JSON, so that a crash loses nothing."""

    def __init__(self) -> None:
        self._file = open(_RESULTS, "a")
        self.asked: Counter[str] = Counter()
        self.relaid: Counter[str] = Counter()
        self.mismatches: Counter[str] = Counter()
        self.waits = 0

    def write(self, **fields: Any) -> None:
        print(json.dumps(fields), file=self._file, flush=True)


_record = _Record()

# -------------------------------------------------------------------- counting


def _count_waits() -> None:
    emit, close = _session.DeviceSession.emit_unknown, _session.DeviceSession.close

    def emit_unknown(self: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        _record.asked[name] += 1
        return emit(self, name, *args, **kwargs)

    def counted_close(self: Any, *args: Any, **kwargs: Any) -> Any:
        _take_counters(self)
        return close(self, *args, **kwargs)

    _session.DeviceSession.emit_unknown = emit_unknown  # type: ignore[method-assign]
    _session.DeviceSession.close = counted_close  # type: ignore[method-assign]


def _take_counters(one: Any) -> None:
    _record.relaid.update(one.pipeline.relaid)
    _record.waits += one.pipeline.counters.waits
    one.pipeline.relaid = {}
    one.pipeline.counters.waits = 0


def _count_mismatches() -> None:
    """Count them where they arrive: a test may expect any error, or end before the next wait."""
    make = _errors.PredictionMismatch.__init__

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        _record.mismatches[str(args[0]) if args else "no message"] += 1
        make(self, *args, **kwargs)

    _errors.PredictionMismatch.__init__ = made  # type: ignore[method-assign]


_count_waits()
_count_mismatches()

# -------------------------------------------------------------------- what is run


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    path = collection_path.as_posix()
    for line in _SKIPS:
        if "::" not in line.pattern and path.endswith(line.pattern):
            _record.write(test=line.pattern, outcome="skipped", why=f"cupool: {line.reason}")
            return True
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    for item in items:
        for line in _SKIPS:
            if "::" in line.pattern and line.matches(_name(item.nodeid)):
                item.add_marker(pytest.mark.skip(reason=f"cupool: {line.reason}"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: Any) -> bool | None:
    if time.monotonic() < _UNTIL:
        return None
    _record.write(test=_name(item.nodeid), outcome="not run", why="no time was left")
    return True


def pytest_runtest_setup(item: Any) -> None:
    """The same numbers in every run: some tests draw without a seed of their own."""
    seed = zlib.crc32(item.nodeid.encode())
    random.seed(seed)
    np.random.seed(seed)


def pytest_runtest_teardown(item: Any) -> None:
    """Let no test be blamed for an error that another left behind, for the next wait to raise."""
    for one in list(_session._sessions):
        waits = one.pipeline.counters.waits
        with suppress(Exception):
            one.ask("synchronize", (), quiet=True)
        one.pipeline.counters.waits = waits


random.seed(0)  # combinations of dtypes are drawn while the tests are read

# -------------------------------------------------------------------- what came out


def _name(nodeid: str) -> str:
    return nodeid.removeprefix("tests/") if _UPSTREAM else nodeid


def pytest_runtest_logstart(nodeid: str) -> None:
    _record.write(test=_name(nodeid), outcome="crashed", why="the process ended during the test")


def pytest_runtest_logreport(report: Any) -> None:
    outcome, why = _outcome(report)
    if report.when == "call" or outcome != "passed":  # a later line of a test replaces earlier ones
        fields = {"why": why, "seconds": round(report.duration, 3)}
        _record.write(test=_name(report.nodeid), outcome=outcome, **fields)


def _outcome(report: Any) -> tuple[str, str]:
    if hasattr(report, "wasxfail"):
        return ("xfailed", report.wasxfail) if report.skipped else ("passed", "")
    if report.passed:
        return "passed", ""
    if report.skipped:
        return "skipped", str(report.longrepr[2]).removeprefix("Skipped: ")
    return "failed", _message(report)


def _message(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return _telling_line(crash.message if crash is not None else str(report.longrepr))


_TELLING = re.compile(r"([A-Za-z_]+\.)*[A-Z]\w*(Error|Supported|Warning|Exception|Mismatch): \S")


def _telling_line(text: str) -> str:
    """Return the line that tells why: comparing decorators put the error itself further down."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.match(line)]
    inner = [line for line in telling if not line.startswith("AssertionError")]
    if not inner and not telling and lines and lines[0].endswith(":"):
        return " ".join(lines[:2])[:300]
    return (inner or telling or lines or ["no message"])[0][:300]


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        text = "\n".join(
            line[1:] for line in str(report.longrepr).splitlines() if line.startswith("E ")
        )
        _record.write(test=_name(report.nodeid), outcome="error", why=_telling_line(text))


def pytest_sessionfinish() -> None:
    for one in list(_session._sessions):
        _take_counters(one)
    _record.write(
        counts={
            "asked": _record.asked,
            "relaid": _record.relaid,
            "mismatches": _record.mismatches,
            "waits": _record.waits,
        }
    )
    sys.stdout.flush()
