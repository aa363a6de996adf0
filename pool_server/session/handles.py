"""The handle table: what the client's numbers stand for."""

from __future__ import annotations

from typing import Any

from cupool.errors import ProtocolViolation
from cupool.proto.messages import Failure

MAX_HANDLES = 4 << 20
MAX_HANDLE = (1 << 63) - 1


class Poisoned:
    """Stands for the output of a failed operation; `failure` is the first one's."""

    __slots__ = ("failure",)

    def __init__(self, failure: Failure) -> None:
        self.failure = failure


class Opaque:
    """A device object that is no array, such as a random generator."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class PoisonedInput(Exception):
    """An operation was given the output of a failed one."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class HandleTable:
    """Handles of one session.

    `arrays` holds live arrays only, so that the common path looks once and checks nothing;
    `others` holds the rest.
    """

    def __init__(self, limit: int = MAX_HANDLES) -> None:
        self.limit = limit
        self.arrays: dict[int, Any] = {}
        self.others: dict[int, Poisoned | Opaque] = {}

    def __len__(self) -> int:
        return len(self.arrays) + len(self.others)

    def array(self, handle: int) -> Any:
        """Return an array.

        Raises:
            PoisonedInput: an operation before it failed.
            ProtocolViolation: no such handle, or not an array's.
        """
        try:
            return self.arrays[handle]
        except KeyError:
            entry = self.others.get(handle)
        if isinstance(entry, Poisoned):
            raise PoisonedInput(entry.failure)
        if entry is None:
            raise ProtocolViolation(f"unknown handle {handle}")
        raise ProtocolViolation(f"handle {handle} is no array")

    def array_or_object(self, handle: int) -> Any:
        """Return an array or another device object; raises as `array`."""
        entry = self.others.get(handle)
        return entry.value if isinstance(entry, Opaque) else self.array(handle)

    def claim(self, handle: Any) -> int:
        """Check that a handle may be given to something new, and return it."""
        if type(handle) is not int or not 0 < handle <= MAX_HANDLE:
            raise ProtocolViolation(f"not a handle: {handle!r:.40}")
        if handle in self.arrays or handle in self.others:
            raise ProtocolViolation(f"handle {handle} is in use")
        if len(self.arrays) + len(self.others) >= self.limit:
            raise ProtocolViolation(f"more than {self.limit} handles")
        return handle

    def poison(self, handle: Any, failure: Failure) -> None:
        """Let a handle stand for a failure, if it is one that is free."""
        try:
            self.others[self.claim(handle)] = Poisoned(failure)
        except ProtocolViolation:
            return

    def drop(self, handle: Any) -> Any:
        """Forget a handle and return its array, or None if it was none.

        Raises:
            ProtocolViolation: no such handle.
        """
        try:
            array = self.arrays.pop(handle, None)
            if array is None and self.others.pop(handle, None) is None:
                raise ProtocolViolation(f"unknown handle {handle!r:.40}")
        except TypeError:
            raise ProtocolViolation(f"not a handle: {handle!r:.40}") from None
        return array

    def clear(self) -> None:
        self.arrays.clear()
        self.others.clear()
