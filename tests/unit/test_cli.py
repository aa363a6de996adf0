"""The command line: what belongs to cupool, what to the script, and how mistakes read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cupool import cli
from cupool.cli import launch

PLAIN = {key: value for key, value in os.environ.items() if not key.startswith("CUPOOL_")}


def cupool(*arguments: object, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cupool", *map(str, arguments)]
    options: dict[str, object] = {"capture_output": True, "text": True, "timeout": 60, "env": PLAIN}
    return subprocess.run(command, **(options | more))  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(
    ("words", "flags", "python", "command"),
    [
        (["x.py", "--gpus", "3"], {}, ["x.py", "--gpus", "3"], []),
        (["--gpus", "3", "x.py", "-v"], {"gpus": "3"}, ["x.py", "-v"], []),
        (["--gpus=3", "-v", "x.py"], {"gpus": "3", "verbose": "1"}, ["x.py"], []),
        (["--stats", "-m", "pkg", "-x"], {"stats": "1"}, ["-m", "pkg", "-x"], []),
        (["-c", "print()", "--", "a"], {}, ["-c", "print()", "--", "a"], []),
        (["--wait", "1h", "--", "ls", "-l"], {"wait": "1h"}, [], ["ls", "-l"]),
        (["--", "-strange"], {}, [], ["-strange"]),
        (["x.py", "--", "y"], {}, ["x.py", "--", "y"], []),
        (["--mem", "1GiB", "x.py"], {"memory": "1GiB"}, ["x.py"], []),
        (["--mock-race", "x.py", "--mock-race"], {"mock_race": "1"}, ["x.py", "--mock-race"], []),
        (["--mock-race=7", "-c", "1"], {"mock_race": "7"}, ["-c", "1"], []),
        (["--mock-memory", "1GiB", "x.py", "-m", "y"], {"mock_memory": "1GiB"},
         ["x.py", "-m", "y"], []),
    ],
)  # fmt: skip
def test_the_first_word_that_is_no_option_ends_ours(
    words: list[str], flags: dict[str, str], python: list[str], command: list[str]
) -> None:
    plan = launch.parse(words)
    assert plan == launch.Plan(flags, python, command)


@pytest.mark.parametrize("words", [[], ["--gpuz", "3", "x.py"], ["--help"], ["-m"], ["--gpus"]])
def test_mistakes_and_help_are_left_to_typer(words: list[str]) -> None:
    assert launch.parse(words) is None


def test_the_scripts_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/mine")
    one = launch.environment({"gpus": "2", "mock": "2"})
    two = launch.environment({})
    assert one["CUPOOL_GPUS"] == "2" and one["CUPOOL_MOCK"] == "2"
    bootstrap, mine = one["PYTHONPATH"].split(os.pathsep)
    assert mine == "/mine" and os.listdir(bootstrap) != []
    assert os.path.isfile(os.path.join(bootstrap, "sitecustomize.py"))
    assert one["CUPOOL_JOB"] != two["CUPOOL_JOB"]
    assert one["CUPOOL_JOB_TOKEN"] != two["CUPOOL_JOB_TOKEN"]
    assert one["CUPOOL_MAIN_PID"] == str(os.getpid())
    monkeypatch.setenv("PYTHONPATH", one["PYTHONPATH"])
    assert launch.environment({})["PYTHONPATH"] == one["PYTHONPATH"]


def test_exit_status_arguments_and_stdin_are_the_scripts(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("import sys\nprint(sys.argv[1:], sys.stdin.read())\nsys.exit(3)\n")
    done = cupool("run", script, "--gpus", "9", input="hello")
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == "['--gpus', '9'] hello\n"


@pytest.mark.parametrize(
    "source", ["x = (\n", "def f():\n    1 / 0\n\nf()\n", "raise SystemExit('bye')\n"]
)
def test_output_and_traceback_are_those_of_plain_python(source: str, tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text(source)
    plain = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=PLAIN, timeout=60
    )
    ours = cupool("run", script)
    assert ours.returncode == plain.returncode
    assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)


def test_a_signal_ends_the_script_as_it_ends_python() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    assert cupool("run", "-c", code).returncode == -15


def test_a_command_gets_its_pipe_signal_back() -> None:
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert cupool("run", "--", sys.executable, "-c", code).stdout == "True\n"
    done = cupool("run", "--", "sh", "-c", "grep SigIgn /proc/$$/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << 12)  # SIGPIPE is signal 13


def test_the_scripts_folder_wins_over_our_folder_names(tmp_path: Path) -> None:
    for name in ("transport", "proto", "client_shim", "pool_server"):
        (tmp_path / f"{name}.py").write_text(f"mine = '{name}'\n")
    script = tmp_path / "s.py"
    script.write_text(
        "import transport, proto, client_shim, pool_server\n"
        "print(transport.mine, proto.mine, client_shim.mine, pool_server.mine)\n"
    )
    done = cupool("run", script, cwd=tmp_path)
    assert done.stdout == "transport proto client_shim pool_server\n", done.stderr


def test_the_users_own_sitecustomize_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.mine = __file__\n")
    env = PLAIN | {"PYTHONPATH": os.pathsep.join([str(tmp_path), PLAIN.get("PYTHONPATH", "")])}
    done = cupool("run", "-c", "import sys; print(sys.mine)", env=env)
    assert done.stdout == f"{tmp_path / 'sitecustomize.py'}\n", done.stderr


def test_a_broken_sitecustomize_is_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import no_such_thing_at_all\n")
    env = PLAIN | {"PYTHONPATH": os.pathsep.join([str(tmp_path), PLAIN.get("PYTHONPATH", "")])}
    assert "no_such_thing_at_all" in cupool("run", "-c", "", env=env).stderr


def test_mistakes_are_told_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cupool.pool_server.logs.configure", lambda **options: None)
    assert cli.main(["run", "--gpus", "x", "s.py"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("cupool: --gpus is 'x'") and "cupool config" in said
    assert cli.main(["run", "--gpuz", "3", "s.py"]) == 2
    assert "--gpus" in capsys.readouterr().err  # a suggestion
    assert cli.main(["run", "ls"]) == 2
    assert "cupool run -- ls" in capsys.readouterr().err
    assert cli.main(["run", "--", "/no/such/command"]) == 2
    assert "cannot be started" in capsys.readouterr().err
    assert cli.main(["serve", "--cuda", "maybe"]) == 2
    assert cli.main(["broker", "--listen", "grpc://0.0.0.0:0"]) == 2
    assert "--insecure-bind" in capsys.readouterr().err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == "cupool 0.1.0\n"
    assert cli.main(["run", "--help"]) == 0
    said = capsys.readouterr().out
    for option in (*launch.OPTIONS, *launch.SWITCHES):
        assert f"--{option}" in said, "help and parser disagree"


def test_config_shows_flags_as_an_origin(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "--json", "--gpus", "3", "--stats"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["gpus"]["value"], rows["gpus"]["origin"]) == (3, "flag")
    assert cli.main(["config", "--colour", "red"]) == 2
    assert "not options of" in capsys.readouterr().err


def test_completion_scripts_are_offered() -> None:
    env = PLAIN | {"_CUPOOL_COMPLETE": "source_bash"}
    done = cupool(env=env)
    assert "complete" in done.stdout


def test_status_of_nobody_says_what_to_do() -> None:
    done = cupool("status", "--pool", "grpc://127.0.0.1:9")
    assert done.returncode == 2
    assert "no broker answers at grpc://127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr


def test_run_starts_quickly() -> None:
    """`run` stands before every script: it must not import what it does not need."""
    code = "import sys; from cupool.cli import launch; launch.environment({}); print(*sys.modules)"
    command = [sys.executable, "-c", code]
    found = subprocess.check_output(command, text=True, env=PLAIN, timeout=60).split()
    assert not {"typer", "rich", "grpc", "numpy", "asyncio"} & set(found)
