"""Versions of the data-plane protocol: a number, a name and a reason each.

The two sides exchange (minimum, current) in their first message and use `agree`'s answer.
"""

from __future__ import annotations

VERSIONS: dict[int, tuple[str, str]] = {
    1: ("first", "client-made handles, numbered batches, predictions checked, chunked payloads"),
}
MINIMUM = 1
CURRENT = 1


def agree(
    their_minimum: int,
    their_current: int,
    our_minimum: int = MINIMUM,
    our_current: int = CURRENT,
) -> int | None:
    """Return the newest version that both sides speak, or None."""
    version = min(their_current, our_current)
    return version if version >= max(their_minimum, our_minimum) else None
