"""`cupool audit`: what the broker has decided, for whom, and why."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import typer

from cupool.errors import PoolUnreachable

_KEPT_RECORDS = 1000
"""As many as the broker keeps."""
_PAUSE_S = 0.5
_PATIENCE_S = 60.0


def audit(
    last: Annotated[int, typer.Option(min=0, help="How many records.")] = 50,
    what: Annotated[
        list[str] | None, typer.Option(help="Only these, e.g. lease-granted; repeat it.")
    ] = None,
    about: Annotated[
        str, typer.Option(help="Only what names this lease, server, tenant, client, ...")
    ] = "",
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what comes.")] = False,
    pool: Annotated[str | None, typer.Option("--pool", help="Address of the broker.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, an object a line.")] = False,
) -> None:
    """Show the broker's audit log: grants and their ends, refusals, commands, servers."""
    from cupool.cli import pool_status
    from cupool.config import load
    from cupool.proto.v1 import pool_pb2 as pb

    settings = load({"pool": pool}).settings
    url = settings.pool or settings.broker
    shown: deque[str] = deque(maxlen=_KEPT_RECORDS)

    def show(line: str) -> None:
        record = json.loads(line)
        if line not in shown and _matches(record, what or [], about):
            shown.append(line)
            print(line if as_json else sentence(record), flush=True)

    kept: deque[str] = deque(maxlen=_KEPT_RECORDS)
    request = pb.AuditRequest()
    pool_status.stream(
        url, "Admin", "Audit", request, lambda answer: kept.append(answer.json), endless=False
    )
    chosen = [line for line in kept if _matches(json.loads(line), what or [], about)]
    for line in chosen[len(chosen) - last :] if last else []:
        show(line)
    shown.extend(kept)
    if follow:
        _follow(url, lambda answer: show(answer.json))


def _follow(url: str, show: Callable[[Any], None]) -> None:
    """Show what comes, for ever; a broker that restarts, or another that leads, is waited for.

    Raises:
        PoolUnreachable: there has been none for a minute.
    """
    from cupool.cli import pool_status
    from cupool.proto.v1 import pool_pb2 as pb

    request, heard_at = pb.AuditRequest(follow=True), time.monotonic()
    while True:
        try:
            pool_status.stream(url, "Admin", "Audit", request, show, endless=True)
            heard_at = time.monotonic()
        except PoolUnreachable:
            if time.monotonic() - heard_at > _PATIENCE_S:
                raise
        time.sleep(_PAUSE_S)


def sentence(record: dict[str, Any]) -> str:
    """Write a record for people: its time, what it is, and what is not empty of the rest."""
    at = datetime.fromtimestamp(record["at"]).isoformat(" ", "milliseconds")
    rest = [f"{key}={_short(value)}" for key, value in record.items() if _tells(key, value)]
    return f"{at}  {record['what']:<16} {' '.join(rest)}".rstrip()


def _tells(key: str, value: Any) -> Any:
    return key not in ("at", "what") and (value or type(value) in (int, float))


def _short(value: Any) -> str:
    if isinstance(value, dict):
        value = {key: each for key, each in value.items() if _tells(key, each)}
    if isinstance(value, str) and value.isprintable() and " " not in value:
        return value
    return json.dumps(value, separators=(",", ":"))


def _matches(record: dict[str, Any], what: list[str], about: str) -> bool:
    return (not what or record["what"] in what) and (not about or about in _names(record))


def _names(value: Any) -> set[str]:
    """Return every text, and every key, in a record."""
    if isinstance(value, dict):
        return set(value).union(*map(_names, value.values()))
    if isinstance(value, list):
        return set().union(*map(_names, value))
    return {str(value)}
