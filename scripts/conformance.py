"""Run the suites that others wrote against cupool, and compare with what is expected to fail.

    python scripts/conformance.py                       the quick gate: a sample of cupy_tests
    python scripts/conformance.py --full --core         the eleven core folders, all tests
    python scripts/conformance.py scipy_tests --json out.json
    python scripts/conformance.py dask                  a package that uses CuPy, all of its tests
    python scripts/conformance.py --from out.json --update --match "text" --reason "why"
    python scripts/conformance.py --pool URL --within 240   on a pool; no test starts after 240 s
    python scripts/conformance.py --coverage            write docs/coverage.md

Exit status 1: a failure that is not expected, a result of another shape or dtype than the shim
promised, a piece that did not finish, or, on a pool of its own, an expected failure that passes
(what is expected to fail is written down for the mock). Exit status 2: nothing of these, but
--within left some tests out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from pathlib import Path

from conformance_parts import coverage, expected, measured, report, running
from conformance_parts.suites import CORE, EXPECTED, SUITES, Suite


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("suite", nargs="?", default="cupy_tests", choices=sorted(SUITES))
    add("--full", action="store_true", help="all tests, not a sample")
    add("--core", action="store_true", help="the eleven core folders of cupy_tests only")
    add("--only", action="append", default=[], help="folders whose name contains this")
    add("--seed", type=int, default=0, help="of the sample; only 0 is compared")
    add("-n", type=int, default=min(os.cpu_count() or 1, 8), help="processes at a time")
    add(
        "--timeout",
        type=int,
        default=300,
        help="seconds for one test; only what hangs takes longer",
    )
    add("--within", type=float, default=math.inf, help="seconds after which no test starts")
    add("--pool", default="", help="broker of the pool; default: one of its own per process")
    add("--carrier", default="auto", help="how data travels")
    add("--json", type=Path, help="write everything there")
    add("--from", dest="stored", type=Path, action="append", help="take what --json wrote, joined")
    add("--record", action="store_true", help="write the totals down for the coverage page")
    add("--waits", action="store_true", help="list operations whose metadata was asked for")
    add("--layouts", action="store_true", help="list operations whose results were re-laid")
    add("--failures", action="store_true", help="list every unexpected failure with its message")
    add("--update", action="store_true", help="rewrite the expected failures")
    add("--match", default="", help="with --update: new failures whose name or message has this")
    add("--reason", help="with --update: why the new failures are expected")
    add("--coverage", action="store_true", help="write docs/coverage.md instead")
    return parser.parse_args()


def _units(suite: Suite, tests: Path, arguments: argparse.Namespace) -> list[str]:
    units = suite.units(tests)
    if arguments.core:
        units = [unit for unit in units if Path(unit).name.removesuffix("_tests") in CORE]
    if arguments.only:
        units = [unit for unit in units if any(text in unit for text in arguments.only)]
    return units


def _run(suite: Suite, arguments: argparse.Namespace) -> tuple[running.Results, list[str]]:
    if arguments.stored:
        joined, units = running.Results(), []
        for path in arguments.stored:
            stored = json.loads(path.read_text())
            joined.merge(running.Results.from_json(stored["results"]))
            units += stored["units"]
        return joined, units
    place = suite.place()
    units = _units(suite, place.folder, arguments)
    options = running.Options(
        full=arguments.full,
        processes=arguments.n,
        seed=arguments.seed,
        test_timeout_s=arguments.timeout,
        within_s=arguments.within,
        environment={"CUPOOL_POOL": arguments.pool, "CUPOOL_CARRIER": arguments.carrier},
    )
    results = running.run(suite.name, place, units, options, lambda text: print(text, flush=True))
    return results, units


def _update(
    path: Path, results: running.Results, verdict: expected.Verdict, arguments: argparse.Namespace
) -> None:
    if results.broken or results.left_out():
        sys.exit("some pieces did not finish: no update from half a run")
    text = arguments.match
    new = [t for t in verdict.unexpected if text in t or text in results.why.get(t, "")]
    if new and not arguments.reason:
        sys.exit(f"{len(new)} new failures: say why with --reason (and choose with --match)")
    lines = expected.updated(expected.read(path), verdict, new, arguments.reason or "")
    expected.write(path, f"Expected failures of {path.stem}: test, then why.", lines)
    print(f"{path}: {len(verdict.stale)} lines dropped, {len(new)} added")


def main() -> int:
    arguments = _arguments()
    if arguments.coverage:
        coverage.write()
        return 0
    suite = SUITES[arguments.suite]
    arguments.full = arguments.full or not suite.sampled
    mode = "full" if arguments.full else "sample"
    results, units = _run(suite, arguments)
    path = EXPECTED / f"{suite.name}.{mode}.txt"
    whole = [unit for unit in units if unit not in results.left_out()]
    verdict = expected.compare(results.outcomes, expected.read(path), whole)
    if arguments.json:
        stored = {"suite": suite.name, "mode": mode, "units": units, "results": results.as_json()}
        arguments.json.write_text(json.dumps(stored, indent=1))
    print(report.table(units, results, verdict))
    print(report.reasons(results, verdict))
    if arguments.failures:
        print(report.failures(results, verdict))
    if arguments.waits:
        print(report.waits(results))
    if arguments.layouts:
        print(report.counts("results re-laid", results.relaid))
    if arguments.record:
        place = "core folders, " if arguments.core else ""
        measured.store(f"{suite.name} ({place}{mode})", results, verdict)
    if arguments.update:
        _update(path, results, verdict, arguments)
        return 0
    if arguments.seed != 0 and not arguments.full:
        return 0
    if arguments.pool and verdict.stale:
        print(f"\n{len(verdict.stale)} lines of what a mock is expected to fail do not hold here")
        verdict.stale.clear()
    print(report.judgement(results, verdict))
    if verdict.unexpected or verdict.stale or results.broken or results.mismatches:
        return 1
    return 2 if results.left_out() else 0


if __name__ == "__main__":
    sys.exit(main())
