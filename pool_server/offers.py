"""Which devices a server offers: real ones that CuPy finds, mocks and nulls on demand.

The daemon never imports CuPy: a CUDA context in it would cost memory on every GPU.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from importlib.util import find_spec

from cupool.pool_server.server import Offer
from cupool.proto.v1 import pool_pb2 as pb

log = logging.getLogger("cupool.server")

_PROBE_WITHIN_S = 60.0
_PROBE = """
import json
import cupy
found = []
for ordinal in range(cupy.cuda.runtime.getDeviceCount()):
    properties = cupy.cuda.runtime.getDeviceProperties(ordinal)
    name = properties["name"]
    uuid = properties.get("uuid", b"")
    found.append({
        "name": name.decode() if isinstance(name, bytes) else str(name),
        "memory_bytes": int(properties["totalGlobalMem"]),
        "compute_capability": f'{properties["major"]}.{properties["minor"]}',
        "uuid": uuid.hex() if isinstance(uuid, bytes) else str(uuid),
    })
print("cupool-probe " + json.dumps(found))
"""


async def cuda_offers() -> list[Offer]:
    """Ask CuPy, in a process of its own, for the GPUs that CUDA_VISIBLE_DEVICES leaves."""
    if find_spec("cupy") is None:
        return []
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        _PROBE,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), _PROBE_WITHIN_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        log.error("CuPy did not answer which GPUs there are", extra={"after_s": _PROBE_WITHIN_S})
        return []
    for line in out.decode(errors="replace").splitlines():
        if line.startswith("cupool-probe "):
            return [
                Offer(pb.Device(ordinal=ordinal, kind="cuda", **found))
                for ordinal, found in enumerate(json.loads(line.partition(" ")[2]))
            ]
    why = (err.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
    log.warning("CuPy finds no GPU", extra={"why": why})
    return []


def mock_offers(count: int, memory_bytes: int, first: int = 0) -> list[Offer]:
    """Make `count` mock GPUs of so much memory; their names say mock."""
    return [
        Offer(
            pb.Device(
                ordinal=ordinal,
                name="cupool mock GPU",
                kind="mock",
                memory_bytes=memory_bytes,
                compute_capability="9.0",
                uuid=f"mock-{ordinal}",
            ),
            {"memory_bytes": memory_bytes},
        )
        for ordinal in range(first, first + count)
    ]


def null_offers(count: int, first: int = 0) -> list[Offer]:
    """Make devices that answer at once and compute nothing."""
    return [
        Offer(
            pb.Device(
                ordinal=ordinal,
                name="cupool null GPU",
                kind="null",
                memory_bytes=1 << 40,
                compute_capability="9.0",
                uuid=f"null-{ordinal}",
            ),
            {"memory_bytes": 1 << 40},
        )
        for ordinal in range(first, first + count)
    ]
