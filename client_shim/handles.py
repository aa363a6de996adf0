"""Names of the session's arrays: made by the client, released in order.

A handle is never rebound. Dropping the last reference releases it on the device, after every
operation that was queued before; that may happen in any thread, also inside the garbage
collector, so releasing only appends to a list.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cupool.proto.values import ARRAY

if TYPE_CHECKING:
    from cupool.client_shim.session import DeviceSession

ALIGNMENT_BYTES = 512
"""CuPy's memory pool rounds allocations up to this (cupy.cuda.memory)."""


class Handle:
    """One array or object on the device.

    Attributes:
        ref: how it is written in an operation record.
        charged_bytes: what it takes of the session's memory; 0 for views and objects.
        address: of its first byte on the device, once somebody has asked.
    """

    __slots__ = ("__weakref__", "address", "charged_bytes", "ref", "session")

    address: int

    def __init__(self, session: DeviceSession, size_bytes: int = 0) -> None:
        self.session = session
        self.charged_bytes = charged = -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        self.ref = (ARRAY, next(session.handle_numbers))
        if charged:
            session.used_bytes += charged

    def charge(self, size_bytes: int) -> None:
        """Account for memory that became known after the handle was made."""
        self.charged_bytes = -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        self.session.used_bytes += self.charged_bytes

    def __del__(self) -> None:
        try:
            session = self.session
            session.used_bytes -= self.charged_bytes
            if session.open:
                session.pending.append(self.ref[1])
        except AttributeError:
            # Interrupted in __init__, or the interpreter is going down: the session goes with it.
            return


def crowded(session: DeviceSession) -> bool:
    """Return whether the session's arrays are more than its memory, garbage not counted.

    Called before an operation is queued whose result may not fit: what the collector finds is
    released first. CuPy's pool collects when an allocation failed; here that is known only when
    later operations are on their way, and by then the device's pool is in fragments. So garbage is
    looked for each time half of what was free after the last look is taken.
    """
    if session.used_bytes > session.collect_above_bytes:
        gc.collect()
        midway_bytes = (session.used_bytes + session.limit_bytes) // 2
        session.collect_above_bytes = min(midway_bytes, session.limit_bytes)
    return session.used_bytes > session.limit_bytes


_MOST_FAILURES = 4
"""So often an error answers a question before it is these arrays that were not made."""


def _correct(session: DeviceSession, refs: Sequence[object]) -> tuple[bool, MemoryError | None]:
    """Take the device's word; return whether it gave it, and the first error that came instead.

    An error is of the arrays that are named, or of another thread's: whoever asks is told first.
    """
    failure: MemoryError | None = None
    for _ in range(_MOST_FAILURES):
        before_bytes = session.used_bytes
        try:
            use = session.ask("memory", refs, quiet=True)
        except MemoryError as exc:
            failure = failure or exc
            continue
        # Other threads made and dropped arrays meanwhile, which the device has not counted.
        session.used_bytes += use["used"] + use["outside"] - before_bytes
        return True, failure
    return False, failure


def settle(session: DeviceSession, handles: Sequence[Handle]) -> None:
    """Wait for what is queued, and take the device's word for the memory in use.

    Args:
        handles: of the last operation's results.

    Raises:
        OutOfMemoryError: the last allocations did not fit.
    """
    with session.settling:  # two at once would both correct the same difference
        made, failure = _correct(session, [each.ref for each in handles])
        if not made:
            # They take nothing, which the device's word includes; who keeps the error keeps its
            # frames, and so the handles.
            for each in handles:
                each.charged_bytes = 0
            _correct(session, ())
    if failure is not None:
        raise failure


class PlacedHandle(Handle):
    """An array in memory that was allocated by itself: by another pool, or by address.

    Attributes:
        memory: keeps the memory.
        root: the whole allocation.
        origin_bytes: where in it the array's shadow has its origin.
    """

    __slots__ = ("memory", "origin_bytes", "root")

    def __init__(
        self, session: DeviceSession, memory: object, root: Handle, origin_bytes: int
    ) -> None:
        super().__init__(session)
        self.memory = memory
        self.root = root
        self.origin_bytes = origin_bytes
