"""Check cupool on this machine's GPU: one command, one table, under nine minutes.

    make gpu-check
    python scripts/gpu_check.py [--json out.json] [--only kernels] [--scale 0.1]

A pool of its own serves GPU 0 through CuPy. Exit status: 0 all is well, 1 something failed,
2 the time was not enough for all of it, 3 there is no GPU (or no CuPy) to check.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 530.0
"""For everything; what is left at the end is not started."""
FAILED, UNFINISHED, NO_GPU = 1, 2, 3
_PROBE_WITHIN_S = 60.0
_START_WITHIN_S = 60.0
_STOP_WITHIN_S = 10.0
_TAIL_LINES = 15
_PIECE_BYTES = 8 << 30
"""What a process of CuPy's tests gets at least, if several run at a time."""
_LAST_TEST_S = 60
"""For the test of CuPy's that begins just before time is over, and for its process to end."""
_PROBE = """
import cupy
count = cupy.cuda.runtime.getDeviceCount()
name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
assert int(cupy.arange(5).sum()) == 10
print(f"{name}, CuPy {cupy.__version__}, CUDA {cupy.cuda.runtime.runtimeGetVersion()}")
print(cupy.cuda.runtime.memGetInfo()[1])
"""


@dataclass
class Result:
    """Outcome of a step: "passed", "failed", "unfinished" (all of it that was run passed) or
    "not run"."""

    step: str
    outcome: str
    seconds: float
    detail: str
    output: str = ""


class Check:
    """Runs the steps on a pool.

    Args:
        url: the pool's broker.
        memory_bytes: of its GPU.
        scale: of the benchmark's sizes.
    """

    def __init__(self, url: str, memory_bytes: int, scale: float) -> None:
        self.environment = clients_environment()
        self.url = url
        self.processes = max(1, min(os.cpu_count() or 1, memory_bytes // _PIECE_BYTES, 8))
        self.memory_mib = memory_bytes // self.processes // 2**20
        self.scale = scale
        self.until = time.monotonic() + LIMIT_S
        self.ratios: dict[str, dict[str, float]] = {}

    def step(
        self, name: str, do: Callable[[float], tuple[str, str, str]], within_s: float
    ) -> Result:
        """Run a step unless the time is over; it must end within its own and the whole limit.

        Args:
            do: gets the seconds that it may take; gives the outcome, a line on it, and output.
        """
        begun = time.monotonic()
        within_s = min(within_s, self.until - begun)
        if within_s < 5:
            return Result(name, "not run", 0.0, "no time left")
        try:
            outcome, detail, output = do(within_s)
        except subprocess.TimeoutExpired:
            outcome, detail, output = "failed", f"did not end within {within_s:.0f} s", ""
        return Result(name, outcome, round(time.monotonic() - begun, 1), detail, output)

    def _run(
        self, command: list[str], within_s: float, environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=within_s
        )

    def _said(self, done: subprocess.CompletedProcess[str]) -> tuple[str, str, str]:
        lines = (done.stdout.strip() or done.stderr.strip() or "said nothing").splitlines()
        tail = "\n".join([*lines[-_TAIL_LINES:], *done.stderr.splitlines()[-_TAIL_LINES:]])
        return ("failed", lines[-1], tail) if done.returncode else ("passed", lines[-1], "")

    def device(self, within_s: float) -> tuple[str, str, str]:
        """The CUDA device in this process tree, without a pool."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/gpu"]
        return self._said(self._run(command, within_s, dict(os.environ)))

    def kernels(self, within_s: float) -> tuple[str, str, str]:
        """All tests of kernels, streams, memory, libraries and classes, on the pool."""
        files = [str(path) for path in sorted((ROOT / "tests/cupy").glob("test_kernels_*.py"))]
        files += [str(path) for path in sorted((ROOT / "tests/cupy").glob("test_cuda_*.py"))]
        files += [f"tests/cupy/test_{name}.py" for name in ("bfloat16", "classes", "jit")]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
        environment = self.environment | {"CUPOOL_POOL": self.url}
        return self._said(self._run(command, within_s, environment))

    def sticky(self, within_s: float) -> tuple[str, str, str]:
        """A lost context, and a new session after it."""
        return self._said(self._client("tests/gpu/sticky_error.py", within_s=within_s))

    def conformance(self, within_s: float) -> tuple[str, str, str]:
        """The quick gate, a sample of CuPy's own tests: as much of it as there is time for."""
        command = [sys.executable, "scripts/conformance.py", "--pool", self.url]
        within_s -= _LAST_TEST_S
        command += ["--within", str(within_s), "--timeout", str(_LAST_TEST_S // 2)]
        command += ["-n", str(self.processes)]
        environment = self.environment | {"CUPOOL_WAIT": "60"}
        if self.processes > 1:
            environment["CUPOOL_SHARE"] = str(int(1000 / self.processes) / 1000)
            environment["CUPOOL_MEMORY"] = f"{self.memory_mib}MiB"
        done = self._run(command, within_s + _LAST_TEST_S, environment)
        outcome, detail, output = self._said(done)
        return ("unfinished", detail, "") if done.returncode == 2 else (outcome, detail, output)

    def benchmark(self, within_s: float) -> tuple[str, str, str]:
        """The same calls by CuPy here and through the pool."""
        script = ["benchmarks/local_cupy.py", "--scale", str(self.scale)]
        here = self._run([sys.executable, *script], within_s / 2, dict(os.environ))
        pool = self._client(*script, within_s=within_s / 2)
        if here.returncode or pool.returncode:
            return self._said(here if here.returncode else pool)
        local, remote = json.loads(here.stdout), json.loads(pool.stdout)
        for case, seconds in local.items():
            self.ratios[case] = {"cupy_s": seconds, "cupool_s": remote[case]}
        worst = max(self.ratios, key=lambda case: remote[case] / local[case])
        return "passed", f"worst: {remote[worst] / local[worst]:.2f} times CuPy, {worst}", ""

    def _client(self, *script: str, within_s: float) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cupool", "run", "--pool", self.url, *script]
        return self._run(command, within_s, self.environment)


STEPS: tuple[tuple[str, float], ...] = (
    ("device", 90.0),
    ("kernels", 150.0),
    ("sticky", 45.0),
    ("benchmark", 90.0),
    ("conformance", LIMIT_S),
)
"""Steps with their limits in seconds; the longest comes last, and takes what is left."""


def clients_environment() -> dict[str, str]:
    """Return the environment of this pool's clients.

    This command may itself run under `cupool run`, with another pool's GPU in place of a real
    one; what belongs to that run is not for them.
    """
    found = {k: v for k, v in os.environ.items() if not k.startswith("CUPOOL_")}
    paths = found.get("PYTHONPATH", "").split(os.pathsep)
    kept = [path for path in paths if path and Path(path).name != "bootstrap"]
    return found | {"PYTHONPATH": os.pathsep.join(kept)}


@contextlib.contextmanager
def pool(log: Path) -> Iterator[str]:
    """Serve GPU 0 on a pool of this run's own; give the broker's URL."""
    url_file = log.with_suffix(".url")
    base = [sys.executable, "-m", "cupool"]
    started: list[subprocess.Popen[bytes]] = []
    with log.open("wb") as out:
        try:
            command = [
                *base,
                "broker",
                "--listen",
                "grpc://127.0.0.1:0",
                "--url-file",
                str(url_file),
            ]
            started.append(subprocess.Popen(command, env=clients_environment(), stderr=out))
            url = awaited(
                lambda: url_file.read_text().strip() if url_file.exists() else "", "broker"
            )
            command = [*base, "serve", "--broker", url, "--cuda", "auto", "--name", "gpu-check"]
            started.append(subprocess.Popen(command, stderr=out))
            awaited(lambda: '"serving"' in log.read_text(), "server")
            yield url
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                try:
                    process.wait(_STOP_WITHIN_S)
                except subprocess.TimeoutExpired:
                    process.kill()


def awaited(look: Callable[[], str | bool], what: str) -> str:
    """Return what `look` gives once it gives something."""
    until = time.monotonic() + _START_WITHIN_S
    while time.monotonic() < until:
        if found := look():
            return str(found)
        time.sleep(0.05)
    raise RuntimeError(f"the {what} did not start within {_START_WITHIN_S:.0f} s")


def probe() -> tuple[str, int, str]:
    """Return what the GPU is and the bytes of its memory, or "", 0 and why there is none."""
    command = [sys.executable, "-c", _PROBE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_WITHIN_S)
    except subprocess.TimeoutExpired:
        return "", 0, f"CuPy did not answer within {_PROBE_WITHIN_S:.0f} s"
    if done.returncode:
        return "", 0, (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
    gpu, memory = done.stdout.strip().splitlines()[-2:]
    return gpu, int(memory), ""


def table(gpu: str, results: list[Result], check: Check) -> str:
    """Return the outcome for people."""
    lines = [f"cupool on {gpu}", ""]
    lines += [f"{r.step:12} {r.outcome:10} {r.seconds:6.1f} s  {r.detail}" for r in results]
    if check.ratios:
        lines += ["", f"{'':44} {'CuPy ms':>9} {'cupool ms':>10} {'ratio':>6}"]
    for case, row in check.ratios.items():
        local, remote = row["cupy_s"] * 1e3, row["cupool_s"] * 1e3
        lines.append(f"{case:44} {local:9.3f} {remote:10.3f} {remote / local:6.2f}")
    for result in results:
        if result.output:
            lines += ["", f"--- {result.step}", result.output]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, default=Path("out/gpu-check.json"))
    names = [name for name, _ in STEPS]
    parser.add_argument("--only", action="append", choices=names, help="this step only")
    parser.add_argument("--scale", type=float, default=1.0, help="of the benchmark's sizes")
    options = parser.parse_args()
    gpu, memory_bytes, why = probe()
    if not gpu:
        print(f"gpu-check: there is no GPU to check on: {why}", file=sys.stderr)
        return NO_GPU
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder, pool(Path(folder) / "pool.log") as url:
        check = Check(url, memory_bytes, options.scale)
        for name, within_s in STEPS:
            if not options.only or name in options.only:
                print(f"gpu-check: {name} ...", file=sys.stderr)
                results.append(check.step(name, getattr(check, name), within_s))
    print(table(gpu, results, check))
    found = {"gpu": gpu, "steps": [asdict(one) for one in results], "benchmark": check.ratios}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=1) + "\n")
    outcomes = {one.outcome for one in results}
    return FAILED if "failed" in outcomes else 0 if outcomes == {"passed"} else UNFINISHED


if __name__ == "__main__":
    sys.exit(main())
