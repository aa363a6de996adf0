"""etcd clusters on loopback, for tests and benchmarks."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

MISSING = (
    "" if shutil.which("etcd") else "etcd is not installed (Debian: apt-get install etcd-server)"
)
_WITHIN_S = 60.0


class Cluster:
    """Members of etcd in a folder; each can be killed, stopped and started again."""

    def __init__(self, folder: Path, members: int) -> None:
        self._folder = folder
        self._ports = free_ports(2 * members)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self.size = members

    @property
    def endpoints(self) -> list[str]:
        return [f"127.0.0.1:{self._ports[2 * n]}" for n in range(self.size)]

    @property
    def state(self) -> str:
        """What `--state` is told."""
        return f"etcd://{','.join(self.endpoints)}/test"

    def start(self, number: int) -> None:
        """Start a member; it may not answer yet."""
        client, peer = (f"http://127.0.0.1:{port}" for port in self._ports[2 * number :][:2])
        peers = [f"m{n}=http://127.0.0.1:{self._ports[2 * n + 1]}" for n in range(self.size)]
        command = ["etcd", "--name", f"m{number}", "--data-dir", str(self._folder / f"m{number}")]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        command += ["--initial-cluster", ",".join(peers), "--initial-cluster-token", "cupool"]
        with open(self._folder / f"m{number}.log", "ab") as log:
            self._processes[number] = subprocess.Popen(command, stdout=log, stderr=log)

    def wait(self) -> None:
        """Return when every member that runs has a leader."""
        for number in self._processes:
            url = f"http://{self.endpoints[number]}/health"
            for _ in range(int(_WITHIN_S / 0.2)):
                with contextlib.suppress(OSError):
                    with urllib.request.urlopen(url, timeout=5) as reply:
                        if b'"true"' in reply.read():
                            break
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._processes[number].wait(0.2)
                    raise AssertionError((self._folder / f"m{number}.log").read_text()[-3000:])
            else:
                raise AssertionError(f"{url} did not become healthy")

    def signal(self, number: int, what: signal.Signals) -> None:
        self._processes[number].send_signal(what)

    def kill(self, number: int) -> None:
        process = self._processes.pop(number)
        process.kill()
        process.wait()

    def stop(self) -> None:
        for number in list(self._processes):
            self.kill(number)


@contextlib.contextmanager
def cluster(folder: Path, members: int) -> Iterator[Cluster]:
    """Run a cluster until the end of the block."""
    found = Cluster(folder, members)
    try:
        for number in range(members):
            found.start(number)
        found.wait()
        yield found
    finally:
        found.stop()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listened at a moment ago: etcd cannot be given port 0."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
