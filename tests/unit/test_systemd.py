"""The units as systemd reads them, and the notify protocol against a real socket."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cupool.cli import services
from cupool.errors import ConfigurationError
from cupool.pool_server.notify import feed_watchdog, notify, watchdog_interval_s

ROOT = Path(__file__).resolve().parents[2]
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd is not installed"
)


def analyze(*arguments: object, runtime: Path) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"XDG_RUNTIME_DIR": str(runtime), "HOME": str(runtime)}
    return subprocess.run(
        ["systemd-analyze", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environ,
        timeout=60,
    )


@pytest.fixture(params=services.UNITS)
def unit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / request.param
    command = sys.executable
    path.write_text(services.render(request.param, user=False, command=command))
    return path


@needs_systemd
def test_the_unit_verifies_without_a_word(unit: Path, tmp_path: Path) -> None:
    done = analyze("verify", "--man=no", unit, runtime=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    raw = analyze("verify", "--man=no", ROOT / "deploy" / unit.name, runtime=tmp_path)
    assert (raw.returncode, raw.stdout, raw.stderr) == (0, "", "")


@needs_systemd
def test_the_unit_is_hardened(unit: Path, tmp_path: Path) -> None:
    done = analyze("security", "--offline=true", "--threshold=30", unit, runtime=tmp_path)
    assert done.returncode == 0, done.stdout[-300:]


@needs_systemd
@pytest.mark.parametrize("name", services.UNITS)
def test_the_users_own_unit_verifies(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(services.render(name, user=True, command=sys.executable))
    done = analyze("verify", "--man=no", "--user", path, runtime=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", services.UNITS)
def test_the_users_own_unit_asks_nothing_of_root(name: str) -> None:
    text = services.render(name, user=True, command="/opt/cupool")
    assert "ExecStart=/opt/cupool " in text
    assert "WantedBy=default.target" in text
    for word in ("DynamicUser", "ProtectSystem", "CapabilityBoundingSet", "DeviceAllow"):
        assert word not in text
    assert "Type=notify" in text and "NoNewPrivileges=yes" in text


def test_install_writes_the_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    services.install(user=False, dry_run=False, directory=str(tmp_path / "units"))
    said = capsys.readouterr().out
    for name in services.UNITS:
        text = (tmp_path / "units" / name).read_text()
        assert f"ExecStart={services.executable()} " in text
        assert name in said
    assert "daemon-reload" in said


def test_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    services.install(user=True, dry_run=True, directory=str(tmp_path / "units"))
    assert not (tmp_path / "units").exists()
    assert "[Service]" in capsys.readouterr().out


def test_install_says_what_to_do_without_the_right_to_write(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="--user"):
        services.install(user=False, dry_run=False, directory=str(tmp_path / "file" / "units"))


def test_a_path_is_quoted_as_systemd_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/my env/100%/python")
    assert services.executable() == '"/opt/my env/100%%/python" -m cupool'


@pytest.mark.parametrize("abstract", [False, True])
def test_notify_reaches_a_real_socket(abstract: bool, tmp_path: Path) -> None:
    name = f"\0cupool-test-{os.getpid()}-{tmp_path.name}" if abstract else str(tmp_path / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        assert notify("READY=1", {"NOTIFY_SOCKET": name.replace("\0", "@")})
        assert manager.recv(100) == b"READY=1"


def test_notify_without_a_manager_says_so(tmp_path: Path) -> None:
    assert not notify("READY=1", {})
    assert not notify("READY=1", {"NOTIFY_SOCKET": "relative"})
    assert not notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "nobody")})


def test_the_watchdog_is_fed_by_the_loop(tmp_path: Path) -> None:
    name = str(tmp_path / "n")
    environ = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "20000", "WATCHDOG_PID": str(os.getpid())}
    assert watchdog_interval_s(environ) == 0.01
    assert watchdog_interval_s(environ | {"WATCHDOG_PID": "1"}) is None
    assert watchdog_interval_s({}) is None

    async def watch() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(name)
            manager.setblocking(False)
            feeding = asyncio.create_task(feed_watchdog(environ))
            loop = asyncio.get_running_loop()
            for _ in range(3):
                assert await loop.sock_recv(manager, 100) == b"WATCHDOG=1"
            feeding.cancel()

    asyncio.run(asyncio.wait_for(watch(), 10))
