"""What a script may ask for: the same by option, environment, file and `cupool.connect`."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from cupool.cli import launch
from cupool.client_shim import grants
from cupool.config import Settings, load
from cupool.proto.v1 import pool_pb2 as pb
from cupool.scripting import _text

ENVS = {setting.name: setting.metadata["env"] for setting in fields(Settings)}
ASKED: dict[str, tuple[str, object, dict[str, object]]] = {
    "gpus": ("2", 2, {"gpus": 2}),
    "memory": ("10GiB", "10GiB", {"memory_bytes": 10 << 30}),
    "share": ("0.5", 0.5, {"share_milli": 500}),
    "cap": ("60%", 0.6, {"cap_milli": 600}),
    "gpu_model": ("h100,A100", ["h100", "A100"], {"models": ["H100", "A100"]}),
    "min_compute_capability": ("8.0", "8.0", {"min_compute_capability": "8.0"}),
    "priority": ("high", "high", {"priority": 2}),
    "tenant": ("vision", "vision", {"tenant": "vision"}),
    "bandwidth": ("25Gbit", "25Gbit", {"bandwidth_mbps": 25_000}),
    "zone": ("r12", "r12", {"zone": "r12"}),
    "policy": ("fgd", "fgd", {"policy": "fgd"}),
    "wait": ("30m", 1800, {"wait_s": 1800.0}),
    "max_time": ("2h", "2h", {"max_time_s": 7200.0}),
    "tolerate": ("flaky,slow", ("flaky", "slow"), {"tolerations": ["flaky", "slow"]}),
}
"""Setting -> as an option, as a value of Python or TOML, and what the broker is asked for."""
SWITCHED: dict[str, tuple[str, object, dict[str, object]]] = {
    "same-server": ("spread", "same-server", {"spread": "same-server"}),
    "same-rack": ("spread", "same-rack", {"spread": "same-rack"}),
    "same-zone": ("spread", "same-zone", {"spread": "same-zone"}),
    "spread": ("spread", "spread", {"spread": "spread"}),
    "overcommit": ("overcommit", True, {"overcommit": True}),
}


@pytest.fixture(autouse=True)
def without_own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("CUPOOL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def request(settings: Settings) -> Any:
    return grants.request(settings, pb)


def by_option(*words: str) -> Any:
    """Ask as the script of `cupool run` does: by the environment that it is given."""
    plan = launch.parse([*words, "x.py"])
    assert plan is not None
    environ = launch.environment({"pool": "grpc://a:1"} | plan.flags)
    return request(load(environ=environ, files=[]).settings)


def by_environment(name: str, text: str) -> Any:
    environ = {"CUPOOL_POOL": "grpc://a:1", ENVS[name]: text}
    return request(load(environ=environ, files=[]).settings)


def by_file(name: str, value: object, folder: Path) -> Any:
    if isinstance(value, tuple):
        value = list(value)
    toml = str(value).lower() if isinstance(value, bool) else repr(value)
    path = folder / "config.toml"
    path.write_text(f"pool = 'grpc://a:1'\n{name} = {toml}\n")
    return request(load(environ={}, files=[str(path)]).settings)


def by_python(name: str, value: object) -> Any:
    words = {"pool": "grpc://a:1", name: _text(value)}
    environ = {ENVS[each]: text for each, text in words.items()}
    return request(load(environ=environ, files=[]).settings)


def check(asked: Any, wanted: dict[str, object]) -> None:
    expected = pb.AcquireRequest()
    expected.CopyFrom(request(load(environ={"CUPOOL_POOL": "grpc://a:1"}, files=[]).settings))
    for name, value in wanted.items():
        if isinstance(value, list):
            getattr(expected, name)[:] = value
        else:
            setattr(expected, name, value)
    assert wanted
    for message in (asked, expected):
        message.client = ""
    assert asked == expected


@pytest.mark.parametrize("name", ASKED)
def test_four_ways_to_ask_are_one(name: str, tmp_path: Path) -> None:
    text, value, wanted = ASKED[name]
    check(by_option(f"--{name.replace('_', '-')}", text), wanted)
    check(by_option(f"--{name.replace('_', '-')}={text}"), wanted)
    check(by_environment(name, text), wanted)
    check(by_file(name, value, tmp_path), wanted)
    check(by_python(name, value), wanted)


@pytest.mark.parametrize("switch", SWITCHED)
def test_so_are_switches(switch: str, tmp_path: Path) -> None:
    name, value, wanted = SWITCHED[switch]
    check(by_option(f"--{switch}"), wanted)
    check(by_environment(name, "1" if value is True else str(value)), wanted)
    check(by_file(name, value, tmp_path), wanted)
    check(by_python(name, value), wanted)


def test_every_option_that_the_broker_hears_of_is_tested() -> None:
    heard = {"host", "client", "carriers", "job_id", "job_token", "hold"}  # said by cupool itself
    for _, _, wanted in (*ASKED.values(), *SWITCHED.values()):
        heard |= wanted.keys()
    assert heard == {each.name for each in pb.AcquireRequest.DESCRIPTOR.fields}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--same-server", "--spread"), "--same-server and --spread contradict each other"),
        (("--same-rack", "--same-zone"), "--same-rack and --same-zone contradict each other"),
        (("--gpus", "0"), "--gpus is '0': must be a whole number from 1 to 1024"),
        (("--gpus", "-1"), "--gpus is '-1': must be a whole number from 1 to 1024"),
        (("--gpus", "1e3"), "--gpus is '1e3'"),
        (("--gpus", "100000"), "from 1 to 1024"),
        (("--memory", "0"), "--memory is '0': must be more than 0"),
        (("--memory", "-4GiB"), "--memory is '-4GiB': must be a size"),
        (("--share", "0"), "--share is '0': must be a part of a GPU: 0.001 to 1"),
        (("--share", "2"), "must be a part of a GPU"),
        (("--share", "nan"), "must be a part of a GPU"),
        (("--cap", "-0.5"), "--cap is '-0.5'"),
        (("--min-compute-capability", "-8"), "must be a compute capability"),
        (("--priority", "now"), "must be one of low, normal, high, urgent"),
        (("--bandwidth", "-25Gbit"), "must be a bandwidth"),
        (("--wait=-5",), "--wait is '-5': must be a time"),
        (("--max-time", "forever"), "--max-time is 'forever': must be a time"),
    ],
)
def test_what_cannot_be_meant_is_said_before_the_script_runs(
    options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from cupool.cli import main

    assert main(["run", *options, "no-such-script.py"]) == 2
    assert words in capsys.readouterr().err
