"""Which devices a server offers: real ones that CuPy finds, mocks and nulls on demand.

The daemon never imports CuPy: a CUDA context in it would cost memory on every GPU.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cupool.proto.v1 import pool_pb2 as pb

log = logging.getLogger("cupool.server")

_PROBE_WITHIN_S = 60.0
_PROBE = """
import json
import cupy
found = []
hip = bool(cupy.cuda.runtime.is_hip)
for ordinal in range(cupy.cuda.runtime.getDeviceCount()):
    properties = cupy.cuda.runtime.getDeviceProperties(ordinal)
    name = properties["name"]
    uuid = properties.get("uuid", b"")
    found.append({
        "name": name.decode() if isinstance(name, bytes) else str(name),
        "memory_bytes": int(properties["totalGlobalMem"]),
        "compute_capability": "" if hip else f'{properties["major"]}.{properties["minor"]}',
        "kind": "rocm" if hip else "cuda",
        "maker": "AMD" if hip else "NVIDIA",
        "uuid": uuid.hex() if isinstance(uuid, bytes) else str(uuid),
    })
print("cupool-probe " + json.dumps(found))
"""


@dataclass(frozen=True)
class Offer:
    """A device of this server, and what its worker must know to make it."""

    device: pb.Device
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Location:
    """Where a server is and whom it is for.

    Attributes:
        links: its networks, name -> Mbit/s.
        hosts: where sessions of a partition listen, if not where all others do.
        cost: of each of its devices, relative to others.
    """

    zone: str = ""
    rack: str = ""
    partition: str = ""
    taints: tuple[str, ...] = ()
    links: Mapping[str, int] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    cost: float = 1.0


def network_links(root: Path = Path("/sys/class/net")) -> dict[str, int]:
    """Return the physical networks of this machine that are up, with their speed in Mbit/s."""
    links = {}
    for path in sorted(root.glob("*/device")):
        try:
            speed = int((path.parent / "speed").read_text())
            if speed > 0 and (path.parent / "operstate").read_text().strip() == "up":
                links[path.parent.name] = speed
        except (OSError, ValueError):
            continue  # a link without a speed
    return links


def model_of(name: str) -> str:
    """Return the short model of a device's name: "NVIDIA H100 80GB HBM3" -> "H100"."""
    words = [word for word in name.replace("-", " ").split() if word.lower() not in _MAKERS]
    if not words:
        return name
    if words[0].upper() in ("RTX", "GTX", "QUADRO", "RADEON") and len(words) > 1:
        return "".join(words[:2]).upper()
    return words[0].upper()


_MAKERS = frozenset({"nvidia", "amd", "instinct", "geforce", "tesla", "graphics", "cupool", "mock"})


async def cuda_offers() -> list[Offer]:
    """Ask CuPy, in a process of its own, for the GPUs that CUDA_VISIBLE_DEVICES leaves.

    With CuPy's ROCm build they are AMD's.
    """
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
                Offer(pb.Device(ordinal=ordinal, model=model_of(found["name"]), **found))
                for ordinal, found in enumerate(json.loads(line.partition(" ")[2]))
            ]
    why = (err.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
    log.warning("CuPy finds no GPU", extra={"why": why})
    return []


MOCK_MODELS: dict[str, tuple[str, str]] = {
    "V100": ("NVIDIA", "7.0"),
    "T4": ("NVIDIA", "7.5"),
    "A100": ("NVIDIA", "8.0"),
    "A10": ("NVIDIA", "8.6"),
    "L4": ("NVIDIA", "8.9"),
    "L40S": ("NVIDIA", "8.9"),
    "H100": ("NVIDIA", "9.0"),
    "H200": ("NVIDIA", "9.0"),
    "B200": ("NVIDIA", "10.0"),
    "MI250X": ("AMD", ""),
    "MI300X": ("AMD", ""),
}
"""Maker and compute capability of what a mock may pass for; any other model is taken as it is."""


def mock_offers(
    count: int,
    memory_bytes: int,
    first: int = 0,
    model: str = "",
    race: int = 0,
    kernel_s: float = 60.0,
    checked: bool = True,
) -> list[Offer]:
    """Make `count` mock GPUs of so much memory; their names say mock.

    Args:
        model: which GPU they pass for towards requests that name one.
        race: seed of the order of what streams leave unordered; 0 = as it comes.
        kernel_s: how long a user kernel may run.
        checked: compare each access of user kernels with what is allocated.
    """
    model = model.upper()
    maker, compute = MOCK_MODELS.get(model, ("", "9.0"))
    options: dict[str, Any] = {"model": model, "kernel_s": kernel_s, "checked": int(checked)}
    if race:
        options["race"] = race
    if compute:
        options["compute"] = compute
    here = uuid.uuid4().hex[:12]
    return [
        Offer(
            pb.Device(
                ordinal=ordinal,
                name=f"cupool mock {model}" if model else "cupool mock GPU",
                kind="mock",
                memory_bytes=memory_bytes,
                compute_capability=compute,
                uuid=f"mock-{here}-{ordinal}",
                model=model,
                maker=maker,
            ),
            options,
        )
        for ordinal in range(first, first + count)
    ]


def null_offers(count: int, first: int = 0) -> list[Offer]:
    """Make devices that answer at once and compute nothing."""
    here = uuid.uuid4().hex[:12]
    return [
        Offer(
            pb.Device(
                ordinal=ordinal,
                name="cupool null GPU",
                kind="null",
                memory_bytes=1 << 40,
                compute_capability="9.0",
                uuid=f"null-{here}-{ordinal}",
            )
        )
        for ordinal in range(first, first + count)
    ]
