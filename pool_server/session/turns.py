"""Shares of one device among the sessions on it: whose turn it is, and whose memory.

Compute: weighted fair queueing. Each session has a virtual time, the time for which it has held
the device divided by its weight; while several want the device, the one with the least is next,
for a slice of a batch. Time is wall time from taking the device to giving it back, not the
processor's: meanwhile nobody else can have it. Who is alone goes ahead at once, and so does
everybody whose peers are idle: nothing that somebody could use is left unused, unless a session
has a cap. What a session was late for is made up, within bounds (`LAG_NS`).

Memory: the sum of what all sessions of a lease hold on a device stays within the lease's share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from cupool.pool_server.devices.errors import OutOfMemoryError
from cupool.pool_server.session.share_table import (
    ACTIVE_UNTIL,
    DEVICE_TIME,
    LEASE,
    MEMORY,
    SHARE,
    VIRTUAL_TIME,
    ShareTable,
    row_word,
    sessions_word,
)

SLICE_NS = 2_000_000
"""How long a session computes at a time while others wait."""
ALONE_NS = 20_000_000
"""After so long a session that is alone looks whether it still is."""
LINGER_NS = 2_000_000
"""A session that has just computed is expected to go on: its next batch is on its way."""
QUEUED_NS = 50_000_000
"""A session whose next batch is here, but not unpacked yet, keeps its place for so long: its
process may wait for a processor meanwhile, which is not idleness."""
LAG_NS = 1_000_000_000
"""Virtual time that an idle session keeps in hand, that is what its share was worth in the last
second. Long enough for clients that wait for each result on a machine where processes wait for a
processor (up to some 100 ms); and who comes back after hours delays others by a second at most."""
STALE_NS = 5_000_000_000
"""A session that has not moved for so long is not waited for."""
CAP_BURST_NS = 20_000_000
"""A capped session may be so much ahead of its cap."""
CAP_CREDIT_NS = 500_000_000
"""A capped session makes up for so much that it was late: its process may have waited for a
processor. Who was idle may for as long compute at more than the cap."""
_WORTH_NS = 500_000  # of a batch: shorter ones need no better guess
_FEW = 8
_DEARER = 4
_PAUSES_S = (20e-6, 400e-6)
_LEAST_WEIGHT = 50  # of those without a promised share, together

Execute = Callable[[Sequence[Any], int, Any], int]


class Turns:
    """When one session may compute.

    Args:
        row: of the session in the table.
        cap_milli: it never computes for more of the time than this; 0 = no cap.
        settle: waits until the device has done what it was given; for devices that compute
            while their host goes on.
        clock: nanoseconds, monotonic, the same in all processes.

    Attributes:
        on_failure: told what `settle` raised: an error that the device has reported late.
    """

    def __init__(
        self,
        table: ShareTable,
        row: int,
        ordinal: int,
        cap_milli: int = 0,
        settle: Callable[[], None] | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._table = table
        self._words = table.words
        self._ordinal = ordinal
        self._row = row
        self._sessions = sessions_word(ordinal)
        self._cap_milli = cap_milli
        self._settle = settle
        self.on_failure: Callable[[Exception], None] = lambda exc: None
        self._clock = clock
        self._sleep = sleep
        self._device_time = row_word(row, DEVICE_TIME)
        self._virtual_time = row_word(row, VIRTUAL_TIME)
        self._active_until = row_word(row, ACTIVE_UNTIL)
        self._share = self._words[row_word(row, SHARE)]
        self._known = -1
        self._peers: list[int] = []
        self._record_ns = 1000.0
        self._capped_until = clock()
        self._spent_ns = 0

    @property
    def device_time_s(self) -> float:
        """Seconds that the session has computed."""
        return self._spent_ns / 1e9

    def run(
        self,
        execute: Execute,
        records: Sequence[Any],
        start: int,
        payloads: Any,
        stopped: Callable[[], bool],
    ) -> int:
        """Execute records from `start` in turn with others; return the first that is left.

        Args:
            stopped: whether the batch cannot go on now, although records are left.
        """
        words = self._words
        expected_ns = (len(records) - start) * self._record_ns
        if expected_ns < ALONE_NS and words[self._sessions] <= 1 and not self._cap_milli:
            clock = self._clock
            began = clock()
            position, asked = self._within(execute, records, start, len(records), payloads)
            spent_ns = clock() - began
            self._spent_ns = words[self._device_time] = self._spent_ns + spent_ns
            if spent_ns > _WORTH_NS or expected_ns > _WORTH_NS:
                self._learn(spent_ns, position - start)
            if position < asked or asked == len(records) or stopped():
                return position
            start = position
        return self._in_slices(execute, records, start, payloads, stopped)

    def _within(
        self,
        execute: Execute,
        records: Sequence[Any],
        start: int,
        end: int,
        payloads: Any,
        most_ns: int = ALONE_NS,
    ) -> tuple[int, int]:
        """Execute records up to `end`, or only a few if these take more than `most_ns`.

        What was cheap so far may be dear now, and a batch must not become a slice of seconds.

        Returns:
            The first record that is left, and up to where it was tried.
        """
        few = start + _FEW
        if few < end:
            began = self._clock()
            reached = execute(records[:few], start, payloads)
            if reached < few or self._clock() - began > most_ns:
                return reached, few
            start = reached
        return execute(records[:end], start, payloads), end

    def _learn(self, spent_ns: int, many: int) -> None:
        """Adapt how long a record is expected to take."""
        if many:
            found_ns = spent_ns / many
            follow = 0.2 if found_ns < _DEARER * self._record_ns else 1.0
            self._record_ns += follow * (found_ns - self._record_ns)

    def _in_slices(
        self,
        execute: Execute,
        records: Sequence[Any],
        start: int,
        payloads: Any,
        stopped: Callable[[], bool],
    ) -> int:
        position, end = start, len(records)
        while position < end:
            contended = self._words[self._sessions] > 1
            if self._cap_milli:
                self._wait_for_cap()
            locked = self._wait_for_turn() if contended else False
            slice_ns = SLICE_NS if contended or self._cap_milli else ALONE_NS
            until = min(end, position + max(1, int(slice_ns / max(self._record_ns, 1.0))))
            began = self._clock()
            try:
                reached, until = self._within(execute, records, position, until, payloads, slice_ns)
                if self._settle is not None and contended:
                    try:
                        self._settle()
                    except Exception as exc:
                        self.on_failure(exc)
            finally:
                now = self._clock()
                if locked:
                    self._table.unlock(self._ordinal)
                self._charge(now - began, now)
            self._spent_ns = self._words[self._device_time] = self._spent_ns + now - began
            self._learn(now - began, reached - position)
            position = reached
            if reached < until or stopped():
                break
        return position

    def expect(self) -> None:
        """Say that more work has arrived: the session is not idle, whatever its process is."""
        words = self._words
        if words[self._sessions] > 1:
            words[self._active_until] = self._clock() + QUEUED_NS

    # ------------------------------------------------------------ whose turn it is

    def _wait_for_turn(self) -> bool:
        """Wait until no session that wants the device has had less of it; take it, if free."""
        words = self._words
        now = self._clock()
        self._join(now)
        patience = now + STALE_NS
        pause_s = _PAUSES_S[0]
        while now < patience:
            words[self._active_until] = now + STALE_NS
            if self._is_next(now) and self._table.try_lock(self._ordinal):
                return True
            self._sleep(pause_s)
            pause_s = min(pause_s * 1.5, _PAUSES_S[1])
            now = self._clock()
        return False  # somebody is stuck: do not wait for ever

    def _join(self, now: int) -> None:
        """Come back from idleness without a claim to all the time that others have had since."""
        words = self._words
        if words[self._active_until] > now:
            return
        active = self._active(now)
        if not active:  # whoever was the last to compute is only between two batches
            seen = {peer: words[row_word(peer, ACTIVE_UNTIL)] for peer in self._peers}
            active = [max(seen, key=seen.__getitem__)] if any(seen.values()) else []
        if active:
            least = min(words[row_word(peer, VIRTUAL_TIME)] for peer in active)
            if words[self._active_until]:  # a newcomer has nothing to make up
                least -= LAG_NS
            words[self._virtual_time] = max(words[self._virtual_time], least)

    def _active(self, now: int) -> list[int]:
        """Return the rows of the peers that want the device."""
        words = self._words
        version = words[self._sessions + 1]
        if version != self._known:
            self._known = version
            self._peers = self._table.peers(self._row)
        return [peer for peer in self._peers if words[row_word(peer, ACTIVE_UNTIL)] > now]

    def _is_next(self, now: int) -> bool:
        words = self._words
        mine = (words[self._virtual_time], self._row)
        return all(mine < (words[row_word(peer, VIRTUAL_TIME)], peer) for peer in self._active(now))

    def _charge(self, spent_ns: int, now: int) -> None:
        words = self._words
        words[self._virtual_time] += spent_ns * 1000 // self._weight(now)
        words[self._active_until] = now + LINGER_NS
        if self._cap_milli:
            earliest = max(self._capped_until, now - spent_ns - CAP_CREDIT_NS)
            self._capped_until = earliest + spent_ns * 1000 // self._cap_milli

    def _weight(self, now: int) -> int:
        """Return the lease's promised share, divided among its sessions that are active.

        Without one: a part of what active peers leave.
        """
        words, active = self._words, self._active(now)
        if self._share:
            lease = words[row_word(self._row, LEASE)]
            kin = sum(words[row_word(peer, LEASE)] == lease for peer in active)
            return max(1, self._share // (1 + kin))
        shares = [words[row_word(peer, SHARE)] for peer in active]
        rest = max(_LEAST_WEIGHT, 1000 - sum(shares))
        return max(1, rest // (1 + shares.count(0)))

    def _wait_for_cap(self) -> None:
        while (ahead_ns := self._capped_until - CAP_BURST_NS - self._clock()) > 0:
            self._sleep(min(ahead_ns / 1e9, 0.05))


class MemoryShare:
    """How much device memory a session may hold, beside the others of its lease.

    Args:
        limit_bytes: of the whole lease on this device.
        words: who says so, for the error: "GPU 0 of server a".
    """

    def __init__(self, table: ShareTable, row: int, limit_bytes: int, device: str) -> None:
        self._table = table
        self._words = table.words
        self._row = row
        self._held = row_word(row, MEMORY)
        self._sessions = sessions_word(self._words[row_word(row, 0)] - 1)
        self._limit_bytes = limit_bytes
        self._device = device
        self._known = -1
        self._kin: list[int] = []

    def hold(self, total_bytes: int) -> None:
        """Write down what the session holds after it gave something back."""
        self._words[self._held] = total_bytes

    def others(self) -> int:
        """Return what the lease's other sessions hold on this device."""
        words = self._words
        if words[self._sessions] <= 1:
            return 0
        version = words[self._sessions + 1]
        if version != self._known:
            self._known = version
            lease = words[row_word(self._row, LEASE)]
            peers = self._table.peers(self._row)
            self._kin = [peer for peer in peers if words[row_word(peer, LEASE)] == lease]
        return sum(words[row_word(peer, MEMORY)] for peer in self._kin)

    def fits(self, total_bytes: int) -> bool:
        """Hold so much, if it is within the share.

        It is written before it is checked: of two sessions that grow at once, both may be told
        no, but never both yes.
        """
        before = self._words[self._held]
        self._words[self._held] = total_bytes
        if total_bytes + self.others() <= self._limit_bytes:
            return True
        self._words[self._held] = before
        return False

    def error(self, size_bytes: int, total_bytes: int, limit_bytes: int) -> OutOfMemoryError:
        """Say that so many bytes more do not fit."""
        others = self.others()
        note = f"The share of {self._device} is {self._limit_bytes:,} bytes"
        note += f", of which other sessions of the job hold {others:,}." if others else "."
        return OutOfMemoryError(size_bytes, total_bytes, limit_bytes, note)
