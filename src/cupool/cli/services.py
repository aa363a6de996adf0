"""`cupool service install`: write the systemd units, with this installation's own path in them."""

from __future__ import annotations

import os
import re
import sys
from importlib.resources import files
from pathlib import Path

from cupool.errors import ConfigurationError

UNITS = ("cupool-broker.service", "cupool-server.service")
SYSTEM_FOLDER = "/etc/systemd/system"

_SYSTEM_ONLY = (
    "AmbientCapabilities",
    "CapabilityBoundingSet",
    "DeviceAllow",
    "DevicePolicy",
    "DynamicUser",
    "LimitMEMLOCK",
    "LimitNOFILE",
    "Private",
    "ProcSubset",
    "Protect",
    "RemoveIPC",
    "SupplementaryGroups",
    "Wants",
)
"""Directives that only the system's manager can grant, by how they begin."""


def executable() -> str:
    """Return the command line that starts this installation's cupool."""
    beside = Path(sys.executable).with_name("cupool")
    command = [str(beside)] if beside.is_file() else [sys.executable, "-m", "cupool"]
    return " ".join(_quoted(word) for word in command)


def _quoted(word: str) -> str:
    """Write a word as systemd reads it back: % is a specifier, blanks split."""
    word = word.replace("\\", "\\\\").replace("%", "%%").replace('"', '\\"')
    return f'"{word}"' if any(char in word for char in ' \t";') else word


def render(name: str, *, user: bool, command: str) -> str:
    """Return a unit's text for the system's manager or a user's own.

    Args:
        name: one of `UNITS`.
        command: what starts cupool, in systemd's quoting.
    """
    text = (files("cupool") / "deploy" / name).read_text(encoding="utf-8")
    text = text.replace("/usr/bin/env cupool", command)
    return _for_user(text) if user else text


def _for_user(text: str) -> str:
    """Leave out what a user's own manager cannot do, with the comments that explain it."""
    kept: list[str] = []
    comments: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            comments.append(line)
            continue
        if not line.startswith(_SYSTEM_ONLY):
            kept += [*comments, _user_line(line)]
        comments = []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)) + "\n"


def _user_line(line: str) -> str:
    if line.startswith("After="):
        return "After=cupool-broker.service" if "cupool-broker" in line else "After=basic.target"
    if line.startswith("Environment="):
        return "Environment=CUPY_CACHE_DIR=%C/cupool"
    line = line.replace("EnvironmentFile=-/etc/cupool/", "EnvironmentFile=-%E/cupool/")
    return line.replace("WantedBy=multi-user.target", "WantedBy=default.target")


def install(*, user: bool, dry_run: bool, directory: str = "") -> None:
    """Write the units and say what to do next.

    Raises:
        ConfigurationError: the folder cannot be written.
    """
    command = executable()
    if dry_run:
        for name in UNITS:
            print(f"# ---- {name}\n{render(name, user=user, command=command)}")
        return
    folder = Path(directory or (_user_folder() if user else SYSTEM_FOLDER))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in UNITS:
            (folder / name).write_text(render(name, user=user, command=command), encoding="utf-8")
            print(f"wrote {folder / name}")
    except OSError as exc:
        raise ConfigurationError(
            f"{exc.filename or folder} cannot be written: {exc.strerror}",
            remedy="for the whole machine:   sudo cupool service install\n"
            "for yourself alone:      cupool service install --user",
        ) from None
    if not user and command.startswith(("/home/", "/root/")):
        print(
            f"note: {command} lies in a home folder, and the services cannot see homes "
            "(ProtectHome); install cupool elsewhere, e.g. in /opt, or use --user"
        )
    control = "systemctl --user" if user else "sudo systemctl"
    print(f"\nnext:\n  {control} daemon-reload")
    print(f"  {control} enable --now cupool-broker.service    # on one machine")
    print(f"  {control} enable --now cupool-server.service    # on each machine with GPUs")


def _user_folder() -> str:
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.config")
    return os.path.join(base, "systemd", "user")
