"""`cupool config`: each setting, its value, and where it came from."""

from __future__ import annotations

import json
import os
from dataclasses import Field, fields
from typing import Any

from cupool.config import Settings, config_files, load


def _shown(setting: Field[Any], value: object) -> object:
    """Return a value as people may see it."""
    return "(set)" if value and setting.metadata["secret"] else value


def show(*, as_json: bool, flags: dict[str, str] | None = None) -> None:
    """Print the settings that are in force here."""
    loaded = load(flags)
    rows = [
        {
            "name": setting.name,
            "value": _shown(setting, getattr(loaded.settings, setting.name)),
            "origin": loaded.origins[setting.name],
            "env": setting.metadata["env"],
            "doc": setting.metadata["doc"],
        }
        for setting in fields(Settings)
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("Setting", "Value", "Origin", "Environment", "Meaning"):
        table.add_column(column, overflow="fold")
    for row in rows:
        value = row["value"] if row["value"] != "" else "(empty)"
        table.add_row(row["name"], str(value), row["origin"], row["env"], row["doc"])
    console = Console()
    console.print(table)
    files = config_files(os.environ)
    console.print(f"\nfiles read: {', '.join(files) or 'none'}")
