"""What every communicator has."""

from __future__ import annotations

import abc
from typing import Any

from cupool.client_shim.cupyx.distributed import _store


class _Backend(abc.ABC):
    """A member of a group of processes; rank 0 keeps the store.

    Args:
        n_devices: members.
        rank: of this one.
        host, port: of the store.
    """

    def __init__(
        self,
        n_devices: int,
        rank: int,
        host: str = _store._DEFAULT_HOST,
        port: int = _store._DEFAULT_PORT,
    ) -> None:
        self._n_devices = n_devices
        self.rank = rank
        self._store_proxy = _store.TCPStoreProxy(host, port)
        if rank == 0:
            self._store = _store.TCPStore(n_devices)

    @abc.abstractmethod
    def all_reduce(
        self, in_array: Any, out_array: Any, op: str = "sum", stream: Any = None
    ) -> None: ...

    @abc.abstractmethod
    def reduce(
        self, in_array: Any, out_array: Any, root: int = 0, op: str = "sum", stream: Any = None
    ) -> None: ...

    @abc.abstractmethod
    def broadcast(self, in_out_array: Any, root: int = 0, stream: Any = None) -> None: ...

    @abc.abstractmethod
    def reduce_scatter(
        self, in_array: Any, out_array: Any, count: int, op: str = "sum", stream: Any = None
    ) -> None: ...

    @abc.abstractmethod
    def all_gather(self, in_array: Any, out_array: Any, count: int, stream: Any = None) -> None: ...

    @abc.abstractmethod
    def send(self, array: Any, peer: int, stream: Any = None) -> None: ...

    @abc.abstractmethod
    def recv(self, out_array: Any, peer: int, stream: Any = None) -> None: ...

    @abc.abstractmethod
    def send_recv(self, in_array: Any, out_array: Any, peer: int, stream: Any = None) -> None: ...

    @abc.abstractmethod
    def scatter(self, in_array: Any, out_array: Any, root: int = 0, stream: Any = None) -> None: ...

    @abc.abstractmethod
    def gather(self, in_array: Any, out_array: Any, root: int = 0, stream: Any = None) -> None: ...

    @abc.abstractmethod
    def all_to_all(self, in_array: Any, out_array: Any, stream: Any = None) -> None: ...

    @abc.abstractmethod
    def barrier(self) -> None: ...

    def stop(self) -> None:
        """Leave the group: who waits for this member is told. Rank 0 ends the store."""
        self._store_proxy.end()
        if self.rank == 0:
            self._store.stop()
