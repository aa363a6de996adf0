"""What the sessions of one server's devices know of each other: a table in shared memory.

The daemon makes it and says which session is on which device; a worker process writes what it
uses into its own row. Every word has one writer, so that nobody locks. The file has no name:
workers inherit it, and it goes with the last of them.

    words of a device: sessions on it, how often that has changed
    words of a row:    device + 1 (0 = free), lease, promised compute, memory held,
                       virtual time, active until, time computed
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os

DEVICES = 64
ROWS = 4096
ROW_WORDS = 8
_FIRST_ROW = DEVICES * 2
_WORDS = _FIRST_ROW + ROWS * ROW_WORDS
SIZE_BYTES = _WORDS * 8

DEVICE, LEASE, SHARE, MEMORY, VIRTUAL_TIME, ACTIVE_UNTIL, DEVICE_TIME = range(7)


def sessions_word(ordinal: int) -> int:
    """Return where the number of sessions on a device is."""
    return 2 * ordinal


def row_word(row: int, field: int) -> int:
    return _FIRST_ROW + row * ROW_WORDS + field


class ShareTable:
    """The table, in the daemon (without `descriptor`: a new one) or in a worker.

    Attributes:
        words: signed 64-bit numbers.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is None:
            descriptor = os.memfd_create("cupool-shares", os.MFD_CLOEXEC)
            os.ftruncate(descriptor, SIZE_BYTES)
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, SIZE_BYTES)
        self.words = memoryview(self._memory).cast("q")
        self._free = list(range(ROWS - 1, -1, -1))

    def close(self) -> None:
        self.words.release()
        self._memory.close()
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    # ------------------------------------------------------------ the daemon's side

    def open(self, ordinal: int, lease_id: str, share_milli: int) -> int:
        """Give a session a row; returns -1 if there is none left, or the device has no words."""
        if not self._free or not 0 <= ordinal < DEVICES:
            return -1
        row = self._free.pop()
        words = self.words
        for field in range(ROW_WORDS):
            words[row_word(row, field)] = 0
        digest = hashlib.blake2b(lease_id.encode(), digest_size=7).digest()
        words[row_word(row, LEASE)] = int.from_bytes(digest, "little")
        words[row_word(row, SHARE)] = share_milli
        words[row_word(row, DEVICE)] = ordinal + 1
        self._count(ordinal, 1)
        return row

    def free(self, row: int) -> None:
        """Take back the row of a session whose process has ended; -1 is none."""
        if row < 0:
            return
        ordinal = self.words[row_word(row, DEVICE)] - 1
        self.words[row_word(row, DEVICE)] = 0
        self._count(ordinal, -1)
        self._free.append(row)

    def _count(self, ordinal: int, more: int) -> None:
        self.words[sessions_word(ordinal)] += more
        self.words[sessions_word(ordinal) + 1] += 1

    # ------------------------------------------------------------ the workers' side

    def peers(self, row: int) -> list[int]:
        """Return the rows of the other sessions on the same device."""
        words = self.words
        device = words[row_word(row, DEVICE)]
        found = []
        for other in range(ROWS):
            if words[_FIRST_ROW + other * ROW_WORDS] == device and other != row:
                found.append(other)
        return found

    def try_lock(self, ordinal: int) -> bool:
        """Take a device for this process alone, if nobody has it; it goes with the process."""
        try:
            fcntl.lockf(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, ordinal)
        except OSError:
            return False
        return True

    def unlock(self, ordinal: int) -> None:
        fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 1, ordinal)
