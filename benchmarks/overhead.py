"""What cupool costs, beside what bare carriers and NumPy cost, in one run on one machine.

    python benchmarks/overhead.py            about a minute; table, and out/overhead.json
    python benchmarks/overhead.py --quick    a smoke run: tiny counts, figures mean nothing

Pools, servers and clients are processes of this run's own on loopback and local sockets. The
GPUs are mocks (NumPy), or null: a device that computes nothing, so that only our own overhead
is left. Targets are those of the project; "missed" here is no failure of the run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import bare, starts
from benchmarks.children import Child, pool
from benchmarks.report import Row, Target, machine, show

NUMPY = "NumPy, local"
NULL = "null device, unix"
CARRIERS = {"unix": "zmq+ipc", "ipc": "zmq+ipc", "tcp": "zmq+tcp", "grpc": "grpc"}
"""Carriers of cupool, the default on one machine first, and what each is compared with."""
BARE_NAMES = {
    "tcp": "bare TCP socket",
    "zmq+ipc": "bare ZeroMQ ipc",
    "zmq+tcp": "bare ZeroMQ tcp",
    "grpc": "bare gRPC stream",
}
MOVES = {
    "up": "64 MB up, asarray",
    "up_in_place": "64 MB up, set",
    "down": "64 MB down, get()",
    "down_in_place": "64 MB down, get(out=)",
}


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    rounds: int
    starts: int
    queued: int
    awaited: int
    chain: int
    bulk_bytes: int


FULL = Effort(rounds=7, starts=5, queued=1000, awaited=150, chain=1000, bulk_bytes=64 << 20)
QUICK = Effort(rounds=1, starts=1, queued=100, awaited=10, chain=50, bulk_bytes=4 << 20)


# ---------------------------------------------------------------- subjects


@contextlib.contextmanager
def subjects(folder: Path, log: Any) -> Iterator[dict[str, Child]]:
    """Start every subject; give them by name, and end them."""
    with contextlib.ExitStack() as stack:
        mocks = stack.enter_context(pool(folder, "mocks", log, "--mock", str(len(CARRIERS))))
        nulls = stack.enter_context(pool(folder, "nulls", log, "--null", "1"))
        commands = {NUMPY: [sys.executable, "-m", "benchmarks.local_numpy"]}
        commands |= {_cupool(name): _client(mocks, name) for name in CARRIERS}
        commands[NULL] = _client(nulls, "unix")
        for kind in bare.KINDS:
            serve = [sys.executable, "-m", "benchmarks.bare", "serve", kind]
            server = Child(serve, log)
            stack.callback(_kill, server)
            client = [sys.executable, "-m", "benchmarks.bare", "client", kind]
            commands[BARE_NAMES[kind]] = [*client, server.read()]
        children = {}
        for name, command in commands.items():
            children[name] = Child(command, log)
            stack.callback(children[name].close)
        for child in children.values():
            child.read()
        yield children


def _kill(server: Child) -> None:
    server.process.kill()
    server.close()


def _cupool(carrier: str) -> str:
    return f"cupool, {carrier}"


def _client(url: str, carrier: str) -> list[str]:
    return [*starts.CUPOOL_RUN, "--pool", url, "--carrier", carrier, "-m", "benchmarks.pool_client"]


# ---------------------------------------------------------------- measures


class Table:
    """The rows, and how rounds fill them."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Row] = {}

    def add(
        self,
        measure: str,
        subject: str,
        unit: str,
        beside: str = "",
        target: Target | None = None,
        note: str = "",
    ) -> None:
        """Add a row; the one beside it must be there already."""
        other = self.rows[measure, beside] if beside else None
        self.rows[measure, subject] = Row(measure, subject, unit, [], other, target, note)

    def put(self, measure: str, subject: str, value: float) -> None:
        """Add a round's value."""
        self.rows[measure, subject].rounds.append(value)


def _plan(table: Table) -> None:
    """Lay the rows out: baselines first, ours beside them."""
    table.add("queued a + b", NUMPY, "us")
    for carrier in CARRIERS:
        table.add("queued a + b", _cupool(carrier), "us", NUMPY, Target(6))
    table.add("queued a + b", NULL, "us", NUMPY)
    trip = "awaited (a + b).get()"
    table.add(trip, NUMPY, "us")
    for name in BARE_NAMES.values():
        table.add(trip, name, "us")
    for carrier, kind in CARRIERS.items():
        target = Target(2.5, "ratio") if kind.startswith("zmq") else None
        table.add(trip, _cupool(carrier), "us", BARE_NAMES[kind], target)
    table.add(trip, NULL, "us", BARE_NAMES["zmq+ipc"])
    table.add("1000 adds in a chain, fetch", NUMPY, "ms")
    for carrier in CARRIERS:
        table.add("1000 adds in a chain, fetch", _cupool(carrier), "ms", NUMPY, Target(25))
    table.add("1000 adds in a chain, fetch", NULL, "ms", NUMPY)
    for carrier in CARRIERS:
        table.add("waits of that chain", _cupool(carrier), "", target=Target(1))
    for measure in MOVES.values():
        table.add(measure, NUMPY, "GB/s", note="NumPy's bulk rows are one memory copy")
        for name in BARE_NAMES.values():
            table.add(measure, name, "GB/s")
        for carrier, kind in CARRIERS.items():
            target = Target(0.7, "ratio", most=False) if kind.startswith("zmq") else None
            table.add(measure, _cupool(carrier), "GB/s", BARE_NAMES[kind], target)
        table.add(measure, NULL, "GB/s", BARE_NAMES["zmq+ipc"])


def _plan_starts(table: Table) -> None:
    table.add("import", "numpy", "s")
    table.add("import", "cupy (cupool's)", "s", "numpy", Target(0.5))
    cold = "cold start, embedded pool"
    table.add(cold, "plain python -c ''", "s")
    table.add(cold, "to the first result", "s", "plain python -c ''", Target(2))
    parts = {
        "launch": "  until the script runs",
        "import": "  import cupy",
        "session": "  pool, grant, session",
        "first": "  operation and fetch",
        "whole": "to the end of the process",
    }
    for name in parts.values():
        table.add(cold, name, "s")
    table.add("round trips to that result", "embedded pool", "", target=Target(3))


def run_round(table: Table, children: dict[str, Child], effort: Effort) -> None:
    """Ask every subject for a little of everything; who is compared is asked in turn."""

    def each(measure: str, take: Callable[[str, Any], None], **arguments: Any) -> None:
        for name, child in children.items():
            if measure in ("awaited", "bulk") or "bare" not in name:
                take(name, child.ask(measure, **arguments))

    def queued(name: str, seconds: float) -> None:
        table.put("queued a + b", name, seconds * 1e6)

    def awaited(name: str, seconds: list[float]) -> None:
        middle = statistics.median(seconds)
        table.put("awaited (a + b).get()", name, middle * 1e6)

    def chain(name: str, found: dict[str, float]) -> None:
        table.put("1000 adds in a chain, fetch", name, found["seconds"] * 1e3)
        if ("waits of that chain", name) in table.rows:
            table.put("waits of that chain", name, found["waits"])

    def bulk(name: str, found: dict[str, float]) -> None:
        for move, measure in MOVES.items():
            table.put(measure, name, effort.bulk_bytes / found[move] / 1e9)

    each("queued", queued, count=effort.queued)
    each("awaited", awaited, count=effort.awaited)
    each("chain", chain, count=effort.chain)
    each("bulk", bulk, size_bytes=effort.bulk_bytes)


def run_starts(table: Table, rounds: int, log: Any) -> None:
    """Start processes, and time them; once before, so that bytecode and files are cached."""
    if rounds > 1:
        starts.cold(log)
    names = [name for measure, name in table.rows if measure == "cold start, embedded pool"]
    for _ in range(rounds):
        table.put("import", "numpy", starts.import_numpy(log))
        table.put("import", "cupy (cupool's)", starts.import_cupy(log))
        cold = "cold start, embedded pool"
        values = [starts.plain_python(log), *starts.cold(log).values()]
        for name, value in zip(names, values, strict=True):
            table.put(cold, name, value)
    trips = starts.round_trips(log)
    row = table.rows["round trips to that result", "embedded pool"]
    row.rounds.append(len(trips))
    row.note = f"round trips: {', '.join(trips)}"


def _warm_up(children: dict[str, Child]) -> None:
    """Let imports, allocators and caches get warm; not counted."""
    scratch = Table()
    _plan(scratch)
    run_round(scratch, children, QUICK)


def run(effort: Effort, folder: Path, say: Callable[[str], None]) -> list[Row]:
    """Measure everything."""
    table = Table()
    _plan(table)
    _plan_starts(table)
    with open(folder / "log", "w+", encoding="utf-8") as log:
        say("processes start")
        run_starts(table, effort.starts, log)
        with subjects(folder, log) as children:
            if effort.rounds > 1:
                say("warming up")
                _warm_up(children)
            for number in range(effort.rounds):
                say(f"round {number + 1} of {effort.rounds}")
                run_round(table, children, effort)
    return list(table.rows.values())


def main() -> int:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="smoke run; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=0, help=f"default {FULL.rounds}")
    parser.add_argument("--json", default="out/overhead.json", help="where the JSON goes")
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL
    rounds = options.rounds or effort.rounds
    effort = Effort(**{**vars(effort), "rounds": rounds})

    def say(what: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="cupool-bench-") as folder:
        rows = run(effort, Path(folder), say)
    say("")
    where = machine()
    show(rows, where, rounds)
    path = Path(options.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "quick": options.quick,
        "effort": vars(effort),
        "machine": where,
        "rows": [row.as_dict() for row in rows],
    }
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"written to {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
