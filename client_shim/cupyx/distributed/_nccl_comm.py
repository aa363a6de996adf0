"""`NCCLBackend`: collective operations of processes, on dense and sparse arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from cupool.client_shim.cupy.cuda import nccl
from cupool.client_shim.cupyx.distributed import _dense, _sparse_comm, _store
from cupool.client_shim.cupyx.distributed._comm import _Backend
from cupool.client_shim.cupyx.scipy import sparse

try:
    from mpi4py import MPI  # type: ignore[import-not-found]

    _mpi_available = True
except ImportError:
    _mpi_available = False


def _is_sparse(value: Any) -> bool:
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    return bool(sparse.issparse(first))


class NCCLBackend(_Backend):
    """The communicator of this process's current device.

    Sends never wait. Receives make the device wait, and the program only when it asks the device
    for something. Reductions are in the order of the ranks.

    Args:
        n_devices: processes of the group.
        rank: of this one, 0 to n_devices - 1.
        host, port: where rank 0 listens for the others.
        use_mpi: let MPI (`mpi4py`) tell the members of each other.

    Raises:
        RuntimeError: the members do not find each other in time, or their servers do not.
    """

    __module__ = "cupyx.distributed"

    def __init__(
        self,
        n_devices: int,
        rank: int,
        host: str = _store._DEFAULT_HOST,
        port: int = _store._DEFAULT_PORT,
        use_mpi: bool = False,
    ) -> None:
        super().__init__(n_devices, rank, host, port)
        self._use_mpi = _mpi_available and use_mpi
        if self._use_mpi:
            self._mpi_comm = MPI.COMM_WORLD
            first = self._mpi_comm.Get_rank() == 0
            nccl_id = self._mpi_comm.bcast(nccl.get_unique_id() if first else None, root=0)
        else:
            if rank == 0:
                self._store.run(host, port)
                self._store_proxy["nccl_id"] = nccl.unique_id_at(host)
            self._store_proxy.attend(rank)
            self._store_proxy.barrier()
            nccl_id = self._store_proxy["nccl_id"]
        self._comm = nccl.NcclCommunicator(n_devices, nccl_id, rank)

    @contextlib.contextmanager
    def _call(self, value: Any, stream: Any) -> Iterator[Any]:
        """Give the operations for a kind of array, in a stream of the communicator's device."""
        with self._comm._on(None if stream is None else stream.ptr) as group:
            yield _sparse_comm.Sparse(group) if _is_sparse(value) else _dense.Dense(group)

    def all_reduce(
        self, in_array: Any, out_array: Any, op: str = "sum", stream: Any = None
    ) -> None:
        """Combine the members' arrays in `out_array` of each.

        Args:
            op: "sum", "prod", "min" or "max"; for complex arrays "sum".
        """
        with self._call(in_array, stream) as on:
            on.all_reduce(in_array, out_array, op)

    def reduce(
        self, in_array: Any, out_array: Any, root: int = 0, op: str = "sum", stream: Any = None
    ) -> None:
        """Combine the members' arrays in the root's `out_array`."""
        with self._call(in_array, stream) as on:
            on.reduce(in_array, out_array, root, op)

    def broadcast(self, in_out_array: Any, root: int = 0, stream: Any = None) -> None:
        """Copy the root's array into that of each member."""
        with self._call(in_out_array, stream) as on:
            on.broadcast(in_out_array, root)

    def reduce_scatter(
        self, in_array: Any, out_array: Any, count: int, op: str = "sum", stream: Any = None
    ) -> None:
        """Combine the members' arrays and give `count` elements of the result to each.

        Sparse: `in_array` is a list with a matrix for each member.
        """
        with self._call(in_array, stream) as on:
            on.reduce_scatter(in_array, out_array, count, op)

    def all_gather(self, in_array: Any, out_array: Any, count: int, stream: Any = None) -> None:
        """Put `count` elements of each member in a row; sparse: in the list `out_array`."""
        with self._call(in_array, stream) as on:
            on.all_gather(in_array, out_array, count)

    def send(self, array: Any, peer: int, stream: Any = None) -> None:
        """Send an array to a member."""
        with self._call(array, stream) as on:
            on.send(array, peer)

    def recv(self, out_array: Any, peer: int, stream: Any = None) -> None:
        """Receive into an array what a member sends."""
        with self._call(out_array, stream) as on:
            on.recv(out_array, peer)

    def send_recv(self, in_array: Any, out_array: Any, peer: int, stream: Any = None) -> None:
        """Exchange arrays with a member."""
        with self._call(in_array, stream) as on:
            on.send(in_array, peer)
            on.recv(out_array, peer)

    def scatter(self, in_array: Any, out_array: Any, root: int = 0, stream: Any = None) -> None:
        """Give each member one row of the root's `in_array`, of shape (members, ...)."""
        with self._call(in_array, stream) as on:
            on.scatter(in_array, out_array, root)

    def gather(self, in_array: Any, out_array: Any, root: int = 0, stream: Any = None) -> None:
        """Put the members' arrays into rows of the root's `out_array`, of shape (members, ...)."""
        with self._call(in_array, stream) as on:
            on.gather(in_array, out_array, root)

    def all_to_all(self, in_array: Any, out_array: Any, stream: Any = None) -> None:
        """Give row i of `in_array` to member i, of shape (members, ...)."""
        with self._call(in_array, stream) as on:
            on.all_to_all(in_array, out_array)

    def barrier(self) -> None:
        """Wait until every member is here; devices are not waited for.

        Raises:
            RuntimeError: a member has ended, or does not come in time.
        """
        if self._use_mpi:
            self._mpi_comm.Barrier()
        else:
            self._store_proxy.barrier()
