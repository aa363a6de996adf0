"""`cupool run --help`, and what is said of mistakes: from the same table as the settings."""

from __future__ import annotations

import difflib
import getopt
import sys
from dataclasses import fields

from cupool.cli import launch
from cupool.config import SPREADS, Settings

_USAGE = """usage: cupool run [OPTIONS] SCRIPT [ARGS]...
       cupool run [OPTIONS] -m MODULE | -c CODE [ARGS]...
       cupool run [OPTIONS] -- COMMAND [ARGS]...

Run a script whose `import cupy` reaches the pool. The first word that is no option ends
cupool's options; the rest belongs to the script.
"""
_SWITCH_HELP = {
    "same-server": "all GPUs on one server",
    "same-rack": "all GPUs within one rack",
    "same-zone": "all GPUs within one zone",
    "spread": "each GPU on a server of its own",
    "verbose": "say which GPUs were granted (-v)",
}


def explain(arguments: list[str]) -> int:
    """Print the help if it was asked for, else what is wrong; returns the exit status."""
    ours = launch._until_python(arguments)[0]
    long = [f"{name}=" for name in launch.OPTIONS] + list(launch.SWITCHES) + ["help"]
    try:
        options, _ = getopt.getopt(ours, "vh", long)
    except getopt.GetoptError as exc:
        return _complain(f"{exc.msg}", exc.opt)
    names = [option.lstrip("-") for option, _ in options]
    if "h" in names or "help" in names:
        print(help_text())
        return 0
    spreads = [name for name in dict.fromkeys(names) if name in SPREADS]
    if len(spreads) > 1:
        return _complain(f"--{spreads[0]} and --{spreads[1]} contradict each other")
    if ours and ours[-1] in ("-m", "-c"):
        return _complain(f"{ours[-1]} needs an argument")
    return _complain("name a script, -m MODULE, -c CODE, or -- COMMAND")


def _complain(what: str, option: str = "") -> int:
    print(f"cupool run: {what}", file=sys.stderr)
    near = difflib.get_close_matches(option, [*launch.OPTIONS, *launch.SWITCHES], 1)
    if near:
        print(f"  did you mean --{near[0]}?", file=sys.stderr)
    print("  see the options:   cupool run --help", file=sys.stderr)
    return 2


def help_text() -> str:
    """Return the help of `cupool run`."""
    docs = {setting.name: setting.metadata["doc"] for setting in fields(Settings)}
    envs = {setting.name: setting.metadata["env"] for setting in fields(Settings)}
    lines = [_USAGE]
    for option, name in launch.OPTIONS.items():
        lines.append(f"  --{option + ' ...':<28} {docs[name]} [{envs[name]}]")
    for option, (name, _) in launch.SWITCHES.items():
        lines.append(f"  --{option:<28} {_SWITCH_HELP.get(option, docs[name])}")
    lines.append("  -h, --help")
    return "\n".join(lines)
