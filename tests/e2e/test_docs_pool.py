"""Every command of the pages about sharing a pool, as it stands there, against a small pool."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from cupool.cli import launch, main
from cupool.config import Settings
from tests.e2e.pools import WITHIN_S, Pool, said

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("pool.md", "server.md", "slurm.md")
TRAIN = """
import cupy as cp, cupool
print(cp.cuda.runtime.getDeviceCount(), cupool.lease().devices[0].model, int(cp.arange(5).sum()))
"""
HOLD = "import cupy, sys\ncupy.zeros(3).get()\nprint('holds', flush=True)\nsys.stdin.readline()\n"

BROKERS = (
    "cupool broker",
    "cupool broker --state /var/lib/cupool/broker.db",
    "cupool broker --tenants FILE",
    "cupool broker --audit-log FILE",
    "cupool broker --policy fgd",
    "cupool broker --listen grpc://10.0.0.1:7475 --insecure-bind",
    "cupool broker --listen grpc://10.0.0.1:7475 --insecure-bind"
    " --state etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/lab",
)
SERVERS = (
    "cupool serve",
    "cupool serve --mock 2 --mock-model H100",
    "cupool serve --partition-hosts red=10.1.0.2",
    "cupool serve --broker grpc://10.0.0.1:7475,10.0.0.2:7475,10.0.0.3:7475",
    "cupool serve --broker grpc://10.0.0.1:7475 --data-host 10.0.0.2 --insecure-bind",
)
SCRIPTS = {
    "cupool run --gpus 2 --memory 10GiB --share 0.5 --gpu-model H100 --priority high train.py": (
        "2 H100 10"
    ),
    "cupool run --pool grpc://10.0.0.1:7475,10.0.0.2:7475,10.0.0.3:7475 train.py": "1 H100 10",
}
LOOKS = {
    "cupool config": "CUPOOL_MAX_TIME",
    "cupool config --gpus 2": "flag",
    "cupool status": "cupool mock H100",
    "cupool status --tenant vision": "cupool mock H100",
    "cupool queue": "Request User Tenant GPUs Waited Expected Why",
    "cupool explain r6": "1 of 1 in line",
    "cupool explain ID": "expected: in 60m at the latest",
    "cupool audit --last 50 --what lease-granted --about LEASE": "lease-granted epoch=0 lease_id=",
}
COMMANDS = {
    "cupool release LEASE": "released: lease",
    "cupool quota set TENANT --gpus 4 --memory 200GiB --borrow 2 --weight 2 --max-priority high": (
        "tenant vision can count on 4 GPUs, borrows 2"
    ),
    "cupool quota list": "vision",
    "cupool quota remove TENANT": "has no quota any more",
    "cupool pool add NAME --tenant T --server S": "partition red: 1 tenants",
    "cupool pool list": "red",
    "cupool pool remove NAME": "partition red is gone",
    "cupool cordon SERVER": "takes no new leases",
    "cupool uncordon SERVER": "takes leases again",
    'cupool drain SERVER --within 5m --reason "new firmware"': "end within 5 min",
    "cupool audit --last 2": 'server=lab-a reason="new firmware" draining=true',
}
HOLDS = {
    "cupool hold --pool URL --gpus 2 --max-time 4h": "CUPOOL_LEASE=",
    "cupool release $CUPOOL_LEASE": "released: lease",
}


def documented() -> set[str]:
    """Return the commands of the pages: after a prompt, or in a sentence with an argument."""
    found: set[str] = set()
    for name in PAGES:
        text = (DOCS / name).read_text(encoding="utf-8")
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
            found |= {line[2:].split(" #")[0].strip() for line in block.split("\n")}
        found |= set(re.findall(r"`(cupool [^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S)))
    return {each for each in found if each.startswith("cupool ")}


def test_no_command_is_left_out() -> None:
    played = {*BROKERS, *SERVERS, *SCRIPTS, *LOOKS, *COMMANDS, *HOLDS}
    mentioned = {
        "cupool run",
        "cupool audit",
        "cupool hold",
        "cupool release",
    }  # what is spoken of, and run with arguments
    assert documented() - mentioned == played


def test_the_table_of_options_is_that_of_cupool_run() -> None:
    text = (DOCS / "pool.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`--.*?) \| (`CUPOOL.*?) \|", text, re.MULTILINE)
    options = {word for row, _ in rows for word in re.findall(r"`--([\w-]+)", row)}
    not_asked = {"pool", "carrier", "mock", "mock-memory", "mock-model", "mock-race"}
    not_asked |= {"mock-kernel-time", "no-mock-memory-check", "stats", "blocking", "verbose"}
    assert options == {*launch.OPTIONS, *launch.SWITCHES} - not_asked
    named = {word for _, row in rows for word in re.findall(r"`(CUPOOL_\w+)`", row)}
    known = {setting.metadata["env"]: setting.name for setting in fields(Settings)}
    assert named <= known.keys()
    wanted = [launch.OPTIONS.get(each) or launch.SWITCHES[each][0] for each in options]
    assert {known[each] for each in named} == set(wanted)


pytestmark = pytest.mark.timeout(300)  # some twenty processes, one after the other


class Documented(Pool):
    """A pool of H100s and an MI300X, whose address is in the environment of all commands."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.settings = {"CUPOOL_LISTEN": "grpc://127.0.0.1:0"}
        self.others: list[subprocess.Popen[str]] = []
        (folder / "train.py").write_text(TRAIN)
        tokens = '[tokens]\nvision = "sixteen characters and more"\n'
        (folder / "FILE").write_text(tokens)

    def environment(self) -> dict[str, str]:
        return super().environment() | self.settings

    def start(self) -> None:
        self.start_broker()
        memory = ("--mock-memory", "12GiB")
        self.start_server("lab-a", "--mock", "2", "--mock-model", "H100", *memory)
        self.start_server("lab-b", "--mock", "1", "--mock-model", "MI300X", *memory)
        self.settings |= {"CUPOOL_POOL": self.url, "CUPOOL_BROKER": self.url}

    def words(self, command: str, **names: str) -> list[str]:
        """Put what is here in the place of what the page names; returns what follows `cupool`."""
        port = self.url.rpartition(":")[2]
        several = f"grpc://127.0.0.1:{port},127.0.0.1:1,127.0.0.1:2"
        for there, here in {
            "grpc://10.0.0.1:7475,10.0.0.2:7475,10.0.0.3:7475": several,
            "etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/lab": "etcd://127.0.0.1:1/lab",
            "--listen grpc://10.0.0.1:7475": "--listen grpc://127.0.0.1:0",
            "grpc://10.0.0.1:7475": self.url,
            "10.1.0.2": "127.0.0.2",
            "10.0.0.2": "127.0.0.2",
            "/var/lib/cupool": str(self.folder),
        }.items():
            command = command.replace(there, here)
        return [names.get(word, word) for word in shlex.split(command)[1:]]

    def begin(self, command: str, *more: str, **names: str) -> subprocess.Popen[str]:
        process: subprocess.Popen[str] = self._start(
            *self.words(command, **names), *more, cwd=self.folder
        )
        self.others.append(process)
        return process

    def stop(self) -> None:
        for process in self.others:
            process.kill()
            process.communicate(timeout=WITHIN_S)
        super().stop()


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Documented]:
    found = Documented(tmp_path)
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture
def here(
    pool: Documented, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Run a command that only asks the broker, in this process."""
    for name, value in pool.settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "120")

    def run(command: str, **names: str) -> str:
        assert main(pool.words(command, **names)) == 0, command
        return capsys.readouterr().out

    return run


def test_brokers_and_servers_start_as_documented(pool: Documented) -> None:
    pytest.importorskip("aetcd", reason="aetcd is not installed: pip install 'cupool[etcd]'")
    brokers = [pool.begin(command) for command in BROKERS]
    for broker in brokers:
        assert said(broker, "broker listens")["url"].startswith("grpc://127.0.0.1:")
    assert (pool.folder / "broker.db").exists()
    for broker in brokers:
        broker.terminate()
        assert broker.wait(WITHIN_S) == 0
    servers = []
    for number, command in enumerate(SERVERS):
        pool.settings["CUPOOL_NAME"] = f"documented-{number}"
        mock = () if "--mock" in command else ("--mock", "1")  # this machine may have no GPU
        servers.append(pool.begin(command, "--cuda", "none", *mock))
    for server in servers:
        assert said(server, "serving")["server"].startswith("documented-")
    for server in servers:
        server.terminate()
        assert server.wait(WITHIN_S) == 0


def test_scripts_run_as_documented(pool: Documented) -> None:
    for command, words in SCRIPTS.items():
        out, err = pool.begin(command).communicate(timeout=WITHIN_S)
        assert out.strip() == words, err
    text = (DOCS / "pool.md").read_text(encoding="utf-8")
    (refused,) = re.findall(r"^cupool\.errors\.NoDeviceAvailable: .*$", text, re.MULTILINE)
    _, err = pool.begin("cupool run --gpu-model B200 train.py").communicate(timeout=WITHIN_S)
    assert refused in err.splitlines()
    connect, notice = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    connect = connect.replace("grpc://10.0.0.1:7475", pool.url)
    plain = pool.plain("-c", connect, cwd=pool.folder)
    out, err = plain.communicate(timeout=WITHIN_S)
    assert out == f"H100 {10 << 30} None\n", err
    save = f"import cupy, cupool\nstate = [cupy.ones(3)]\n{notice}\nsave(None)\n"
    _, err = pool.run("-c", save, cwd=pool.folder).communicate(timeout=WITHIN_S)
    assert (pool.folder / "checkpoint.npz").exists(), err


def test_commands_that_look_and_change_work_as_documented(
    pool: Documented, here: Callable[..., str]
) -> None:
    model = ("--gpu-model", "H100")
    holder = pool.run("--gpus", "2", "--max-time", "1h", *model, "-c", HOLD, cwd=pool.folder)
    assert holder.stdout is not None and holder.stdout.readline() == "holds\n"
    waiting = pool.run("--wait", "1h", *model, "train.py", cwd=pool.folder)
    while not (status := json.loads(here("cupool status --json")))["waiting"]:
        assert waiting.poll() is None
    request = status["waiting"][0]["request"]
    (lease,) = status["leases"]
    names = {"ID": request, "r6": request, "LEASE": lease["lease_id"]}
    names |= {"SERVER": "lab-a", "TENANT": "vision", "NAME": "red", "T": "rt", "S": "lab-b"}
    for command, words in {**LOOKS, **COMMANDS}.items():
        said_here = " ".join(here(command, **names).split())
        assert " ".join(words.split()) in said_here, command
        if command.startswith("cupool release"):
            assert waiting.communicate(timeout=WITHIN_S)[0].strip() == "1 H100 10"
    for command in ("queue", "status", "quota list", "pool list"):
        json.loads(here(f"cupool {command} --json"))
    here("cupool uncordon SERVER", **names)
    ((hold, words), (release, released)) = HOLDS.items()
    out, err = pool.begin(hold, URL=pool.url).communicate(timeout=WITHIN_S)
    assert words in out, err
    lease_id = dict(line.split("=", 1) for line in out.splitlines())["CUPOOL_LEASE"]
    assert released in here(release, **{"$CUPOOL_LEASE": lease_id})
