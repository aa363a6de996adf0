"""Settings: where they come from, and what is said of wrong ones."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from cupool.cli import settings_table
from cupool.config import Settings, boolean, config_files, duration, load, size
from cupool.errors import ConfigurationError


def test_flags_beat_environment_beats_file_beats_default(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('gpus = 2\nwait = "5m"\nmemory = "1GiB"\n')
    environ = {"CUPOOL_GPUS": "3", "CUPOOL_WAIT": "10"}
    loaded = load({"gpus": 4, "pool": None}, environ, [str(file)])
    settings = loaded.settings
    assert (settings.gpus, settings.wait, settings.memory, settings.pool) == (4, 10.0, 1 << 30, "")
    origins = [loaded.origins[name] for name in ("gpus", "wait", "memory", "pool")]
    assert origins == ["flag", "environment", str(file), "default"]


def test_the_first_file_wins_value_by_value(tmp_path: Path) -> None:
    mine, system = tmp_path / "mine.toml", tmp_path / "system.toml"
    mine.write_text("gpus = 2\n")
    system.write_text("gpus = 8\nstats = true\n")
    settings = load({}, {}, [str(mine), str(system)]).settings
    assert settings.gpus == 2 and settings.stats


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("4GiB", 4 << 30), ("512M", 512 << 20), ("1.5g", 3 << 29), ("4096", 4096), ("2 kB", 2048)],
)
def test_sizes(text: str, bytes_: int) -> None:
    assert size(text) == bytes_


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1800), ("500ms", 0.5), ("10", 10), ("2h", 7200), ("1d", 86400)]
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


def test_switches() -> None:
    assert boolean("yes") and boolean(True) and not boolean("0") and not boolean("")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gpus", "-1"),
        ("gpus", "x"),
        ("gpus", True),
        ("memory", "4 parsecs"),
        ("wait", "soon"),
        ("carrier", "pigeon"),
        ("stats", "maybe"),
        ("pool", 7),
    ],
)
def test_a_wrong_value_names_its_place_and_key(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"--{name} is"):
        load({name: value}, {}, [])


def test_a_wrong_variable_and_a_wrong_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="environment variable CUPOOL_GPUS is 'many'"):
        load({}, {"CUPOOL_GPUS": "many"}, [])
    file = tmp_path / "c.toml"
    file.write_text('wait = "long"\n')
    with pytest.raises(ConfigurationError, match=rf"wait in {file} is 'long'"):
        load({}, {}, [str(file)])
    file.write_text("gpuz = 3\n")
    with pytest.raises(ConfigurationError, match="sets gpuz, and there is no such setting"):
        load({}, {}, [str(file)])
    file.write_text("gpus = \n")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load({}, {}, [str(file)])


def test_which_files_are_read(tmp_path: Path) -> None:
    mine = tmp_path / "cupool" / "config.toml"
    mine.parent.mkdir()
    mine.touch()
    assert str(mine) in config_files({"XDG_CONFIG_HOME": str(tmp_path)})
    assert config_files({"CUPOOL_CONFIG": str(mine)}) == [str(mine)]
    with pytest.raises(ConfigurationError, match="no such file"):
        config_files({"CUPOOL_CONFIG": str(tmp_path / "none")})


NOT_SAID = ("gpus", "memory", "share", "cap")
"""Their default means that nothing was said; to say it is a mistake."""


@pytest.mark.parametrize("name", NOT_SAID)
def test_nobody_asks_for_nothing(name: str) -> None:
    for zero in ("0", "0.0", 0):
        with pytest.raises(ConfigurationError, match=f"--{name} is {zero!r}"):
            load({name: zero}, {}, [])


def test_secrets_are_not_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    secret = "not for the eyes of others"
    loaded = load({}, {"CUPOOL_TENANT_TOKEN": secret}, [])
    assert loaded.settings.tenant_token == secret and secret not in repr(loaded)
    with pytest.raises(ConfigurationError) as caught:
        load({}, {"CUPOOL_TENANT_TOKEN": "p\u00e4ss"}, [])
    assert "p\u00e4ss" not in str(caught.value)


def test_every_setting_explains_itself() -> None:
    for setting in fields(Settings):
        assert setting.metadata["env"] == f"CUPOOL_{setting.name.upper()}"
        assert setting.metadata["doc"]
        if setting.default != "" and setting.name not in NOT_SAID:
            assert setting.metadata["read"](setting.default) == setting.default


def test_config_prints_value_and_origin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUPOOL_GPUS", "2")
    settings_table.show(as_json=True)
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["gpus"]["value"] == 2 and rows["gpus"]["origin"] == "environment"
    settings_table.show(as_json=False)
    assert "CUPOOL_GPUS" in capsys.readouterr().out
