"""How a process joins a group."""

from __future__ import annotations

import os

from cupool.client_shim.cupyx.distributed import _store
from cupool.client_shim.cupyx.distributed._nccl_comm import NCCLBackend

_backends = {"nccl": NCCLBackend}


def init_process_group(
    n_devices: int,
    rank: int,
    *,
    backend: str = "nccl",
    host: str | None = None,
    port: int | None = None,
    use_mpi: bool = False,
) -> NCCLBackend:
    """Join a group of processes and return the communicator of the current device.

    Rank 0 listens at `host` and `port`, where the others come: by default what
    `CUPYX_DISTRIBUTED_HOST` and `CUPYX_DISTRIBUTED_PORT` say, else 127.0.0.1 and 13333.

    Args:
        n_devices: processes in all.
        rank: of this one, 0 to n_devices - 1.
        backend: "nccl", the only one; the pool's own links are used.
        use_mpi: let MPI (`mpi4py`) tell the members of each other.

    Raises:
        ValueError: numbers that cannot be, or another backend.
        RuntimeError: the members do not find each other in time.
    """
    if n_devices <= 0:
        raise ValueError(f"Invalid number of devices {n_devices}")
    if not 0 <= rank < n_devices:
        raise ValueError(f"Invalid number of rank {rank} {n_devices}")
    if backend not in _backends:
        raise ValueError(f"{backend} is not supported")
    if host is None:
        host = os.environ.get("CUPYX_DISTRIBUTED_HOST", _store._DEFAULT_HOST)
    if port is None:
        port = int(os.environ.get("CUPYX_DISTRIBUTED_PORT", _store._DEFAULT_PORT))
    return _backends[backend](n_devices, rank, host, port, use_mpi)
