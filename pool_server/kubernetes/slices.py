"""The pool's GPUs in the words of Dynamic Resource Allocation (resource.k8s.io/v1).

Pure functions: from the broker's status to a DeviceClass and one ResourceSlice for each server,
and from what the API has to what must be changed there. GPUs of a pool are attached to the
network, so every node may use them (`allNodes`), several pods at a time, by parts of their
memory and compute (consumable capacity).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cupool.pool_server.kubernetes.quantities import mib
from cupool.proto.v1 import pool_pb2 as pb

Object = dict[str, Any]

API = "resource.k8s.io/v1"
DRIVER = "cupool.dev"
CLASS = "gpu.cupool.dev"
LABEL = "cupool.dev/broker"
"""On all that we publish: which broker it is of."""
_ATTRIBUTE_CHARS = 64
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)")


def device_class() -> Object:
    """Return the class by which claims name the pool's GPUs."""
    expression = f'device.driver == "{DRIVER}"'
    return {
        "apiVersion": API,
        "kind": "DeviceClass",
        "metadata": {"name": CLASS},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def resource_slices(status: pb.StatusReply, broker: str) -> list[Object]:
    """Return a slice for each server that takes new sessions, with its healthy GPUs.

    Args:
        broker: a label's value; slices of other brokers are never touched.
    """
    found = []
    for server in status.servers:
        devices = [
            _device(server, each.device) for each in server.devices if not each.device.unhealthy
        ]
        if server.state != "up" or server.note or not devices:
            continue
        name = object_name(server.name)
        found.append(
            {
                "apiVersion": API,
                "kind": "ResourceSlice",
                "metadata": {"name": f"cupool-{broker}-{name}", "labels": {LABEL: broker}},
                "spec": {
                    "driver": DRIVER,
                    "pool": {
                        "name": f"{broker}/{name}",
                        "generation": 1,
                        "resourceSliceCount": 1,
                    },
                    "allNodes": True,
                    "devices": devices,
                },
            }
        )
    return found


def object_name(text: str, most: int = 63) -> str:
    """Return a DNS label for any name; what had to be changed is told apart by a hash."""
    label = re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")
    if label == text and len(label) <= most:
        return label
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{label[: most - 9].rstrip('-') or 'x'}-{digest}"


def _device(server: pb.ServerStatus, device: pb.Device) -> Object:
    texts = {
        "model": device.model or device.name,
        "kind": device.kind,
        "maker": device.maker,
        "uuid": device.uuid,
        "server": server.name,
        "zone": server.zone,
        "rack": server.rack,
        "partition": device.partition or server.partition,
    }
    attributes: Object = {
        name: {"string": text[:_ATTRIBUTE_CHARS]} for name, text in texts.items() if text
    }
    if _VERSION.fullmatch(device.compute_capability):
        attributes["computeCapability"] = {"version": f"{device.compute_capability}.0"}
    memory = mib(device.memory_bytes)
    return {
        "name": f"gpu-{device.ordinal}",
        "allowMultipleAllocations": True,
        "attributes": attributes,
        "capacity": {
            "memory": {
                "value": memory,
                "requestPolicy": {
                    "default": memory,
                    "validRange": {"min": "1Mi", "max": memory, "step": "1Mi"},
                },
            },
            "compute": {
                "value": "100",
                "requestPolicy": {
                    "default": "100",
                    "validRange": {"min": "1", "max": "100", "step": "1"},
                },
            },
        },
    }


@dataclass(frozen=True)
class Change:
    """One call of the API: "create", "update" or "delete", with the object."""

    verb: str
    item: Object


def changes(present: Iterable[Object], wanted: Iterable[Object]) -> list[Change]:
    """Return what turns the slices that are there into those that are wanted.

    A slice that changes gets the next generation of its pool, so that the scheduler does not mix
    old devices with new ones.
    """
    there = {each["metadata"]["name"]: each for each in present}
    todo: list[Change] = []
    for item in wanted:
        old = there.pop(item["metadata"]["name"], None)
        if old is None:
            todo.append(Change("create", item))
        elif not _says(old["spec"], _without_generation(item["spec"])):
            todo.append(Change("update", _next(old, item)))
    return todo + [Change("delete", old) for old in there.values()]


def _without_generation(spec: Mapping[str, Any]) -> Object:
    pool = {key: value for key, value in spec["pool"].items() if key != "generation"}
    return {**spec, "pool": pool}


def _says(old: Any, wanted: Any) -> bool:
    """Whether the API's object says what we want; it may say more (defaults)."""
    if isinstance(wanted, Mapping):
        return isinstance(old, Mapping) and all(
            key in old and _says(old[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(old, list)
            and len(old) == len(wanted)
            and all(_says(a, b) for a, b in zip(old, wanted, strict=True))
        )
    return bool(old == wanted)


def _next(old: Object, item: Object) -> Object:
    generation = int(old["spec"]["pool"].get("generation", 0)) + 1
    pool = {**item["spec"]["pool"], "generation": generation}
    version = {"resourceVersion": old["metadata"].get("resourceVersion", "")}
    return {
        **item,
        "metadata": {**item["metadata"], **version},
        "spec": {**item["spec"], "pool": pool},
    }
