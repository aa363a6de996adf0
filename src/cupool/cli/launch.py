"""`cupool run`: become the user's script, in a Python whose `import cupy` reaches the pool.

The process is replaced, so exit status, signals, stdin and tracebacks are those of plain
Python. One variable changes what Python does (PYTHONPATH); the others are settings.
"""

from __future__ import annotations

import getopt
import os
import shutil
import signal
import sys
from dataclasses import dataclass, field
from typing import NoReturn

from cupool import jobs
from cupool.errors import ConfigurationError, PoolError

OPTIONS = {
    name.replace("_", "-"): name
    for name in (
        "pool",
        "gpus",
        "memory",
        "share",
        "cap",
        "gpu_model",
        "min_compute_capability",
        "priority",
        "tenant",
        "bandwidth",
        "zone",
        "policy",
        "tolerate",
        "wait",
        "max_time",
        "group_wait",
        "notice_signal",
        "carrier",
        "mock",
        "mock_memory",
        "mock_model",
        "mock_race",
        "mock_kernel_time",
    )
}
SWITCHES = {
    "same-server": ("spread", "same-server"),
    "same-rack": ("spread", "same-rack"),
    "same-zone": ("spread", "same-zone"),
    "spread": ("spread", "spread"),
    "overcommit": ("overcommit", "1"),
    "no-mock-memory-check": ("mock_memory_check", "0"),
    "stats": ("stats", "1"),
    "blocking": ("blocking", "1"),
    "verbose": ("verbose", "1"),
}
"""Options without a value: the setting and what it becomes."""
_DEFAULTS = {"--mock-race": "--mock-race=1"}
"""Options that may stand without their value."""


@dataclass
class Plan:
    """What to start: our settings by name, and the command line to become."""

    flags: dict[str, str] = field(default_factory=dict)
    python: list[str] = field(default_factory=list)
    """Arguments for Python: a script, -m or -c, and theirs."""
    command: list[str] = field(default_factory=list)
    """Or a command that is not Python."""


def parse(arguments: list[str]) -> Plan | None:
    """Take our options off; the first word that is none ends them. None: let typer explain."""
    plan = Plan()
    long = [f"{name}=" for name in OPTIONS] + list(SWITCHES) + ["help"]
    ours, python = _until_python(arguments)
    try:
        options, rest = getopt.getopt(ours, "vh", long)
    except getopt.GetoptError:
        return None  # `run_help.complain` says what is wrong
    for option, value in options:
        name = "verbose" if option == "-v" else option.removeprefix("--")
        if name in OPTIONS:
            plan.flags[OPTIONS[name]] = value
        elif name in SWITCHES:
            setting, given = SWITCHES[name]
            if plan.flags.get(setting, given) != given:
                return None  # e.g. --same-server and --spread
            plan.flags[setting] = given
        else:
            return None  # help
    if python and not rest:
        plan.python = python
    elif "--" in ours and rest and ours[len(ours) - len(rest) - 1] == "--":
        plan.command = rest + python
    else:
        plan.python = rest + python
    return plan if plan.python or plan.command else None


def flags_of(arguments: list[str]) -> dict[str, str]:
    """Read `run`'s options alone, for `cupool config`.

    Raises:
        ConfigurationError: something else is among them.
    """
    plan = parse([*arguments, "--", "nothing"])
    if plan is None or plan.command != ["nothing"]:
        raise ConfigurationError(f"not options of `cupool run`: {' '.join(arguments)}")
    return plan.flags


def _until_python(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split off `-m module ...` or `-c code ...`, which are Python's and end our options."""
    arguments = list(arguments)
    index = 0
    while index < len(arguments):
        word = arguments[index] = _DEFAULTS.get(arguments[index], arguments[index])
        if word in ("-m", "-c"):
            if index + 1 == len(arguments):
                return arguments, []
            return arguments[:index], arguments[index:]
        if word == "--" or not word.startswith("-"):
            break
        takes_value = word.startswith("--") and "=" not in word and word[2:] not in SWITCHES
        index += 2 if takes_value and word != "--help" else 1
    return arguments, []


def start(plan: Plan) -> int:
    """Replace this process by the script; returns only if that fails."""
    try:
        environ = environment(plan.flags)
        become(plan, environ)
    except PoolError as exc:
        print(f"cupool: {exc}", file=sys.stderr)
        return 2


def environment(flags: dict[str, str]) -> dict[str, str]:
    """Return the script's environment: settings, a new job, and the injection.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    from dataclasses import fields

    from cupool.config import Settings, load

    environ = dict(os.environ)
    load(flags)  # complain now, not in the middle of the script
    for setting in fields(Settings):
        if setting.name in flags:
            environ[setting.metadata["env"]] = flags[setting.name]
    jobs.begin(environ)
    import cupool.client_shim

    bootstrap = os.path.join(os.path.abspath(cupool.client_shim.__path__[0]), "bootstrap")
    before = environ.get("PYTHONPATH", "")
    paths = [path for path in before.split(os.pathsep) if path and path != bootstrap]
    environ["PYTHONPATH"] = os.pathsep.join([bootstrap, *paths])
    return environ


def become(plan: Plan, environ: dict[str, str]) -> NoReturn:
    """Replace this process.

    Raises:
        ConfigurationError: there is no such command.
    """
    if plan.python:
        _hint(plan.python[0])
    command = [sys.executable, *plan.python] if plan.python else plan.command
    # Python ignores these; a command expects them as usual.
    ignored = [signal.Signals[name] for name in ("SIGPIPE", "SIGXFSZ")]
    before = [signal.signal(each, signal.SIG_DFL) for each in ignored]
    try:
        os.execvpe(command[0], command, environ)
    except OSError as exc:
        raise ConfigurationError(
            f"{command[0]} cannot be started: {exc.strerror}",
            remedy="a script needs no dashes:   cupool run SCRIPT ARGS",
        ) from None
    finally:  # this process goes on: a closed pipe must not end it without a word
        for each, handler in zip(ignored, before, strict=True):
            signal.signal(each, handler)


def _hint(script: str) -> None:
    """A word that is no file but a command: `cupool run jupyter lab` lacks its dashes."""
    if script.startswith("-") or os.path.exists(script) or shutil.which(script) is None:
        return
    raise ConfigurationError(
        f"there is no script {script!r}, but a command of that name",
        remedy=f"run a command:   cupool run -- {script} ...",
    )
