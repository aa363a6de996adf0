"""The command `cupool`. `run` is parsed by hand, because it stands before every script.

Everything else goes to `commands.py` (typer), whose
import alone takes longer than Python's own start.
"""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run a command; returns the exit status (`run` does not return, it becomes the script)."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["run"]:
        from cupool.cli import launch

        plan = launch.parse(arguments[1:])
        if plan is not None:
            return launch.start(plan)
        from cupool.cli import run_help

        return run_help.explain(arguments[1:])
    from cupool.cli.commands import run_app

    return run_app(arguments)
