"""The store by which the processes of a group find each other."""

from __future__ import annotations

import multiprocessing
from typing import Any

from cupool.client_shim import rendezvous

_DEFAULT_HOST = "127.0.0.1"
_DEFAULT_PORT = 13333


class ExceptionAwareProcess(multiprocessing.Process):
    """A process whose exception is raised by `join`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._parent_p, self._child_p = multiprocessing.Pipe()

    def run(self) -> None:
        try:
            super().run()
            self._child_p.send(None)
        except Exception as exc:
            self._child_p.send(exc)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end; raise what ended the process."""
        super().join(timeout)
        if self._parent_p.poll():
            exception = self._parent_p.recv()
            if exception is not None:
                raise exception


class TCPStore:
    """Keys, values and barriers of a group; rank 0's process serves them.

    Args:
        world_size: processes of the group.
    """

    def __init__(self, world_size: int) -> None:
        self._world_size = world_size
        self._server: rendezvous.Server | None = None

    def run(self, host: str = _DEFAULT_HOST, port: int = _DEFAULT_PORT) -> None:
        """Listen at an address.

        Raises:
            OSError: it is taken, or none of this machine's.
        """
        self._server = rendezvous.Server(host, port, self._world_size)

    def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.stop()

    def __del__(self) -> None:
        self.stop()


class TCPStoreProxy:
    """A process's view of the store.

    Args:
        host, port: where rank 0 listens; it may still have to begin.
    """

    def __init__(self, host: str = _DEFAULT_HOST, port: int = _DEFAULT_PORT) -> None:
        self.host = host
        self.port = port
        self._rank = -1
        self._attendance: rendezvous.Attendance | None = None

    def attend(self, rank: int) -> None:
        """Be there as a rank: if this process ends, who waits for it at the store is told.

        Raises:
            RuntimeError: nobody answers there.
        """
        self._rank = rank
        self._attendance = rendezvous.Attendance((self.host, self.port), rank)

    def end(self) -> None:
        """Be there no longer."""
        if self._attendance is not None:
            self._attendance.end()

    def __getitem__(self, key: str) -> Any:
        if not isinstance(key, str):
            raise ValueError("Invalid type for key, only str allowed")
        return rendezvous.request((self.host, self.port), "get", key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise ValueError("Invalid type for key, only str allowed")
        if type(value) not in (bytes, bytearray, int):
            raise ValueError("Invalid type for value, only int or bytes allowed")
        sent = value if type(value) is int else bytes(value)
        rendezvous.request((self.host, self.port), "set", key, sent)

    def barrier(self) -> None:
        """Wait until every process of the group is here.

        Raises:
            RuntimeError: one has ended, or does not come in time (the setting `group_wait`); who
                is there but busy is waited for.
        """
        rendezvous.request((self.host, self.port), "barrier", member=self._rank)
